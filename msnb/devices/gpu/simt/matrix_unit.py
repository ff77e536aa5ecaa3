"""Instructions that the lanes of a warp do together, for the host: products of small matrices, and their loading.

    mma        every lane shows its part of A and B, all lanes meet, and each computes its own four sums
    ldmatrix   every lane shows the address of one row of eight 16-bit elements; behind the meeting each takes its own
    cp.async   what is read now lands when the thread waits for its group; until then NaNs lie there, so that a wait
               that is missing shows in the result, and a barrier that is missing is a race

A meeting is what shuffles use (``AT_SHUFFLE``, with a mode of its own). The code is ``matrix_unit.ll``; it becomes part
of the modules that need it.

Source: https://docs.nvidia.com/cuda/parallel-thread-execution, mma.m16n8k16, ldmatrix, cp.async.
"""

from __future__ import annotations

import re
from pathlib import Path

from msnb.devices.gpu.simt.access_watch import Access
from msnb.devices.gpu.simt.module_text import split_list
from msnb.devices.gpu.simt.native_runtime import AT_SHUFFLE, LOAD, MODES, STORE

_MMA = re.compile(r"^\s*(%\S+) = .*@llvm\.nvvm\.mma\.m16n8k16\.row\.col\.(bf16|f32\.f32)\((.*)\)")
_ROWS = re.compile(r"^\s*(%\S+) = .*@llvm\.nvvm\.ldmatrix\.sync\.aligned\.m8n8\.x4(\.trans)?\.b16\.p3\((.*)\)")
_COPY = re.compile(r"@llvm\.nvvm\.cp\.async\.c[ag]\.shared\.global\.(4|8|16)(\.s)?\((.*)\)")
_GROUP = re.compile(r"@llvm\.nvvm\.cp\.async\.(commit\.group|wait\.group|wait\.all)\((.*)\)")
_WORDS = "{ i32, i32, i32, i32 }"
_FLOATS = "{ float, float, float, float }"
_MEETING = len(MODES)  # the modes behind those of shuffles: mma, ldmatrix


def meets(line: str) -> bool:
    """Whether a warp does it together."""
    return "call " in line and ("@llvm.nvvm.mma." in line or "@llvm.nvvm.ldmatrix." in line)


def is_known(line: str) -> bool:
    """Whether there is a stand-in for it here."""
    return any(pattern.search(line) for pattern in (_MMA, _ROWS, _COPY, _GROUP))


def sites_of(line: str, kernel: str) -> list[Access]:
    """What a fault may name: the meeting, and the accesses behind it."""
    text = line.strip()
    copy = _COPY.search(line)
    if copy:
        size = int(copy[1])
        return [Access(kernel, text, LOAD, size, size), Access(kernel, text, STORE, size, size)]
    if _ROWS.match(line):
        return [Access(kernel, text, -1, 0, 0), Access(kernel, text, LOAD, 16, 16)]
    return [Access(kernel, text, -1, 0, 0)] if _MMA.match(line) else []


def stand_in(line: str, site: int, checks: bool) -> tuple[list[str], str, list[str]]:
    """What stands for an instruction: lines before the meeting, what is asked of it ('' for none), lines behind it.

    Args:
        line: the instruction.
        site: the number of its first site.
        checks: whether accesses are watched.
    """
    flag = "true" if checks else "false"
    product, rows, copy, group = _MMA.match(line), _ROWS.match(line), _COPY.search(line), _GROUP.search(line)
    if product:
        return _product(product, site)
    if rows:
        cast, row = _generic(rows[3], f"%simt.row{site}")
        before = [*cast, f"  call void @unit.show({row}, i32 {site + 1}, i1 {flag})"]
        turned = "true" if rows[2] else "false"
        return before, _asked(1), [f"  {rows[1]} = call {_WORDS} @unit.matrices(i1 {turned})"]
    if copy:
        return _copy(copy, site, flag), "", []
    assert group is not None
    if group[1] == "commit.group":
        return ["  call void @unit.commit()"], "", []
    left = group[2] if group[1] == "wait.group" else "i32 -1"
    return [f"  call void @unit.wait({left}, i1 {flag})"], "", []


def _asked(mode: int) -> str:
    return f"i32 {AT_SHUFFLE}, i32 -1, i32 {_MEETING + mode}, i32 0, i32 0, i32 31"


def _generic(operand: str, name: str) -> tuple[list[str], str]:
    """A pointer as one that the runtime takes."""
    pieces = re.match(r"(ptr(?: addrspace\(\d+\))?)(?: (?:align \d+|noundef|nonnull))* (.*)", operand)
    assert pieces is not None
    if pieces[1] == "ptr":
        return [], f"ptr {pieces[2]}"
    return [f"  {name} = addrspacecast {pieces[1]} {pieces[2]} to ptr"], f"ptr {name}"


def _product(found: re.Match[str], site: int) -> tuple[list[str], str, list[str]]:
    out, kind, listed = found.groups()
    parts = split_list(listed)
    before, words = list[str](), list[str]()
    for i, part in enumerate(parts[:6]):
        if kind == "bf16":
            words.append(part)
            continue
        before.append(f"  %simt.w{site}.{i} = bitcast {part} to i32")
        words.append(f"i32 %simt.w{site}.{i}")
    before.append(f"  call void @unit.give({', '.join(words)})")
    brain = "true" if kind == "bf16" else "false"
    return before, _asked(0), [f"  {out} = call {_FLOATS} @unit.take({', '.join(parts[6:])}, i1 {brain})"]


def _copy(found: re.Match[str], site: int, flag: str) -> list[str]:
    size, some, listed = found.groups()
    parts = split_list(listed)
    to_cast, to = _generic(parts[0], f"%simt.to{site}")
    from_cast, source = _generic(parts[1], f"%simt.from{site}")
    count = parts[2] if some else f"i32 {size}"
    call = f"  call void @unit.copy({to}, {source}, i32 {size}, {count}, i32 {site}, i1 {flag})"
    return [*to_cast, *from_cast, call]


BEGIN = "  call void @unit.begin()"
"""The first line of a kernel that has such instructions."""


def code() -> str:
    """The functions that stand-ins call."""
    text = Path(__file__).with_suffix(".ll").read_text(encoding="utf-8")
    return "@simt.thread = external global i32\n" + text
