"""Every load, store and atomic of a kernel, led through ``@simt.access`` of the native runtime.

    %v = load float, ptr %p, align 4     ->      %simt.q7 = call ptr @simt.access(ptr %p, i64 4, i64 4, i32 7, i32 0)
                                                 %v = load float, ptr %simt.q7, align 4

Memory of one thread (``alloca``) and constants of the module are left alone, and what is computed from their addresses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from msnb.base import DeviceError
from msnb.devices.gpu.simt.module_text import size_of
from msnb.devices.gpu.simt.native_runtime import ATOMIC, LOAD, STORE

_POINTER = r"(?P<pointer>ptr(?: addrspace\(\d+\))?) (?P<operand>%[-\w.$]+|@[-\w.$]+|\w+ .*\))"
_TYPE = r"(?P<kind>[<\[].*?[>\]]|ptr(?: addrspace\(\d+\))?|\w+)"
_LOAD = re.compile(rf"^(?P<head>\s*%\S+ = load (?:atomic |volatile )*{_TYPE}, ){_POINTER}(?P<tail>[^,]*, align .*)$")
_STORE = re.compile(rf"^(?P<head>\s*store (?:atomic |volatile )*{_TYPE} .*, ){_POINTER}(?P<tail>[^,]*, align .*)$")
_UPDATE = re.compile(rf"^(?P<head>\s*%\S+ = atomicrmw (?:volatile )?\w+ ){_POINTER}(?P<tail>, {_TYPE} .*, align .*)$")
_EXCHANGE = re.compile(
    rf"^(?P<head>\s*%\S+ = cmpxchg (?:weak )?(?:volatile )?){_POINTER}(?P<tail>, {_TYPE} .*, align .*)$"
)
_ALIGN = re.compile(r", align (\d+)")
_MADE = re.compile(r"^\s*(%[-\w.$]+) = (\w+)")
_SAME_MEMORY = ("getelementptr", "addrspacecast", "bitcast", "select", "phi", "freeze")
_BLOCK_MEMORY = re.compile(r"@llvm\.(?:memcpy|memset|memmove|masked)\.")


@dataclass(frozen=True)
class Access:
    """A place in a kernel that touches memory."""

    kernel: str
    text: str
    kind: int
    size: int
    align: int


def found_access(line: str, kernel: str) -> tuple[Access, re.Match[str]] | None:
    """The access in a line.

    Args:
        line: an instruction.
        kernel: whose it is.

    Raises:
        RuntimeError: DeviceError: memory is touched in a way the simulator does not know.
    """
    word = line.strip().split(" = ")[-1].split(" ", 1)[0]
    if _BLOCK_MEMORY.search(line) and "call " in line:
        raise DeviceError(f"the simulator does not watch {line.strip()}: write loads and stores.")
    if word not in ("load", "store", "atomicrmw", "cmpxchg"):
        return None
    pattern = {"load": _LOAD, "store": _STORE, "atomicrmw": _UPDATE, "cmpxchg": _EXCHANGE}[word]
    found = pattern.match(line)
    if not found:
        raise DeviceError(f"the simulator cannot read {line.strip()}.")
    atomic = word in ("atomicrmw", "cmpxchg") or " atomic " in found["head"]
    kind = ATOMIC if atomic else LOAD if word == "load" else STORE
    aligned = _ALIGN.search(found["tail"])
    size = size_of(found["kind"])
    return Access(kernel, line.strip(), kind, size, int(aligned[1]) if aligned else size), found


def private_names(lines: Iterable[str], constants: frozenset[str]) -> set[str]:
    """Names of pointers into memory of one thread, or to constants of the module."""
    held = {f"@{name}" for name in constants}
    lines = [line for line in lines if _MADE.match(line)]
    for _ in range(2):  # the second time for the phis of loops
        for line in lines:
            made = _MADE.match(line)
            if made and (made[2] == "alloca" or (made[2] in _SAME_MEMORY and _mentions(line[made.end() :], held))):
                held.add(made[1])
    return held


def _mentions(text: str, names: set[str]) -> bool:
    return any(name in names for name in re.findall(r"[%@][-\w.$]+", text))


def is_private(operand: str, private: set[str]) -> bool:
    """Whether an operand points into private memory."""
    return _mentions(operand, private)


def watched(access: Access, found: re.Match[str], site: int) -> list[str]:
    """The lines that stand for an access, the question first."""
    pointer, operand = found["pointer"], found["operand"]
    lines = []
    if pointer != "ptr":
        lines.append(f"  %simt.p{site} = addrspacecast {pointer} {operand} to ptr")
        operand = f"%simt.p{site}"
    asked = f"ptr {operand}, i64 {access.size}, i64 {access.align}, i32 {site}, i32 {access.kind}"
    lines.append(f"  %simt.q{site} = call ptr @simt.access({asked})")
    return [*lines, f"{found['head']}ptr %simt.q{site}{found['tail']}"]
