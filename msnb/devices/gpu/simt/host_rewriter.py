"""Kernels for the GPU rewritten for the host, line by line.

    tid, ctaid ...   variables that the native runtime sets before a thread runs
    barrier          the thread says what it waits for and suspends; so does a shuffle, which then takes its value
    load, store      through ``@simt.access`` (see access_watch.py)
    rcp, ex2 ...     functions of the module (see device_math.py)
    mma, cp.async    what a warp does together, and copies that take their time (see matrix_unit.py)
    shared memory    pieces of one arena, apart from each other

A kernel K becomes ``@simt.thread.K``, one thread of it, and ``@simt.start.K``, which takes its arguments from a table.
Helpers that other functions call keep their place, but cannot wait: LLVM inlines those that say ``alwaysinline``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from msnb.base import DeviceError
from msnb.devices.gpu.simt import matrix_unit
from msnb.devices.gpu.simt.access_watch import Access, found_access, is_private, private_names, watched
from msnb.devices.gpu.simt.device_math import declared, device_function, unknown
from msnb.devices.gpu.simt.module_text import KernelFunction, KernelText, SharedArray, split_list
from msnb.devices.gpu.simt.native_runtime import AT_BARRIER, AT_SHUFFLE, AT_WARP_BARRIER, MODES, compiler

SHARED_LIMIT = 227 << 10
_GAP, _ARENA_ALIGN = 64, 128
_INTRINSIC = re.compile(r"@llvm\.nvvm\.([\w.]+)\(")
_REGISTER = re.compile(r"^(\s*%\S+ = ).*@llvm\.nvvm\.read\.ptx\.sreg\.([\w.]+)\(\)")
_SHUFFLE = re.compile(r"^\s*(%\S+) = .*@llvm\.nvvm\.shfl\.sync\.(\w+)\.(i32|f32)\((.*)\)")
_WARP_BARRIER = re.compile(r"@llvm\.nvvm\.bar\.warp\.sync\((.*)\)")
_BARRIER = re.compile(r"@llvm\.nvvm\.(barrier0\(\)|barrier\.cta\.sync(?:\.aligned)?\.all\(i32 (\S+)\))")
_LABEL = re.compile(r'^("?[-\w.$]+"?):')
_SCOPE = re.compile(r' syncscope\("[^"]*"\)')
_KNOWN_REGISTERS = re.compile(r"(?:tid|ctaid|ntid|nctaid)\.[xyz]|laneid|warpid|nwarpid")
_RUNTIME = """
declare ptr @simt.access(ptr, i64, i64, i32, i32)
declare void @simt.wait(i32, i32, i32, i32, i32, i32, i32)
declare i32 @simt.got()
declare void @simt.end()
declare token @llvm.coro.id(i32, ptr, ptr, ptr)
declare i64 @llvm.coro.size.i64()
declare ptr @llvm.coro.begin(token, ptr)
declare i8 @llvm.coro.suspend(token, i1)
declare ptr @llvm.coro.free(token, ptr)
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
"""


@dataclass(frozen=True)
class HostKernel:
    """What a launch needs to know of a kernel: parameter types, whether threads wait, its shared memory."""

    name: str
    kinds: tuple[str, ...]
    waits: bool
    shared: tuple[SharedArray, ...]


@dataclass
class HostText:
    """A module for the host.

    Attributes:
        text: LLVM IR.
        kernels: by name.
        sites: accesses and waits, as the native runtime numbers them.
        places: where each piece of shared memory lies in the arena.
    """

    text: str = ""
    kernels: dict[str, HostKernel] = field(default_factory=dict)
    sites: list[Access] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    arena: int = 0

    @property
    def granule_bits(self) -> int:
        """A granule is as large as every access and every alignment allows: 1 to 8 bytes."""
        sizes = [min(s.size & -s.size, s.align) for s in self.sites if s.size]
        return min(8, *sizes, 8).bit_length() - 1


class HostRewriter:
    """Rewrites the kernels of a module.

    Args:
        module: the kernels.
        checks: whether accesses are watched.
    """

    def __init__(self, module: KernelText, checks: bool) -> None:
        self.module: KernelText = module
        self.checks: bool = checks
        self.host: HostText = HostText()
        self._math: dict[str, str] = {}
        self._unit = False
        self._registers: set[str] = set()

    def rewrite(self) -> HostText:
        """The module for the host.

        Raises:
            RuntimeError: DeviceError: something in it has no stand-in.
        """
        memory = self._arena()
        functions = [self._function(f) for f in self.module.functions]
        others = [line for line in self.module.others if "@llvm.nvvm." not in line]
        known = "\n".join(others) + _RUNTIME
        needed = {declared(text) for text in self._math.values()} - {""}
        needed = {line for line in needed if line.partition("(")[0].split(" ")[-1] + "(" not in known}
        registers = [f"@simt.{name} = external global i32" for name in sorted(self._registers)]
        parts = [
            *others,
            *registers,
            memory,
            _RUNTIME,
            f"declare {_end_kind()} @llvm.coro.end(ptr, i1, token)",
            *([matrix_unit.code()] if self._unit else []),
            *sorted(needed),
            *self._math.values(),
            *functions,
        ]
        self.host.text = "\n".join(parts)
        return self.host

    def _arena(self) -> str:
        """Shared memory: one array, and a name for each piece."""
        names, at = [], 0
        for array in sorted(self.module.shared, key=lambda a: not a.size):
            at = -(-at // _ARENA_ALIGN) * _ARENA_ALIGN
            self.host.places[array.name] = at
            inside = f"getelementptr (i8, ptr addrspace(3) @simt.arena, i64 {at})"
            names.append(f"@{array.name} = internal alias {array.kind}, ptr addrspace(3) {inside}")
            at += (array.size or SHARED_LIMIT) + _GAP
        self.host.arena = at
        size = max(at, _GAP)
        return "\n".join([f"@simt.arena = addrspace(3) global [{size} x i8] zeroinitializer, align 128", *names])

    def _function(self, function: KernelFunction) -> str:
        waits = any(_waits(line) for line in function.lines)
        if not function.kernel:
            if waits:
                raise DeviceError(f"@{function.name} waits for other threads and is no kernel: mark it alwaysinline.")
            head = function.head.replace("ptx_device ", "")
            return "\n".join([head, *self._body(function), "}"])
        kinds = tuple(p.kind for p in function.parameters)
        self.host.kernels[function.name] = HostKernel(function.name, kinds, waits, self._shared_of(function))
        body = self._begun(function, self._body(function))
        body = _coroutine(body) if waits else body
        listed = ", ".join(f"{p.kind} {p.name}" for p in function.parameters)
        result, kind = ("ptr", " presplitcoroutine") if waits else ("void", "")
        head = f"define internal {result} @simt.thread.{function.name}({listed}) {kind} {{"
        return "\n".join([head, *body, "}", _start(function, waits)])

    def _begun(self, function: KernelFunction, body: list[str]) -> list[str]:
        """A kernel that uses the matrix unit forgets what another launch left there."""
        if not any(map(matrix_unit.is_known, function.lines)):
            return body
        self._unit = True
        named = 1 if body and _LABEL.match(body[0]) else 0
        return [*body[:named], matrix_unit.BEGIN, *body[named:]]

    def _shared_of(self, function: KernelFunction) -> tuple[SharedArray, ...]:
        text = "\n".join(function.lines)
        if any(f"@{f.name}(" in text for f in self.module.functions if not f.kernel):
            return self.module.shared
        return tuple(a for a in self.module.shared if re.search(rf"@{re.escape(a.name)}(?![-\w.$])", text))

    def _body(self, function: KernelFunction) -> list[str]:
        private = private_names(function.lines, self.module.constants)
        out: list[str] = []
        label, last = _entry(function), {}
        for line in function.lines:
            found = _LABEL.match(line)
            label = found[1] if found else label
            lines = self._line(_SCOPE.sub("", line), function.name, private)
            out += lines
            for made in filter(None, map(_LABEL.match, lines)):
                last[label] = made[1]
        moved = {a: b for a, b in last.items() if a != b}
        return [_phi(line, moved) for line in out] if moved else out

    def _line(self, line: str, kernel: str, private: set[str]) -> list[str]:
        if "@llvm.nvvm." in line:
            return self._intrinsic(line, kernel)
        if " asm " in line:
            raise DeviceError(f"the simulator cannot run assembly: {line.strip()}")
        if not self.checks:
            return [line]
        found = found_access(line, kernel)
        if found is None or is_private(found[1]["operand"], private):
            return [line]
        self.host.sites.append(found[0])
        return watched(*found, len(self.host.sites) - 1)

    def _intrinsic(self, line: str, kernel: str) -> list[str]:
        register = _REGISTER.match(line)
        if register:
            return [self._register(register[1], register[2])]
        if matrix_unit.is_known(line):
            return self._together(line, kernel)
        if _waits(line):
            return self._wait(line, kernel)
        names = _INTRINSIC.findall(line)
        for name in names:
            self._math[name] = device_function(name)
        if not names or "call " not in line:
            raise DeviceError(f"the simulator cannot read {line.strip()}.")
        return [line.replace("@llvm.nvvm.", "@nvvm.")]

    def _register(self, out: str, name: str) -> str:
        if name == "warpsize":
            return f"{out}add i32 32, 0"
        if not _KNOWN_REGISTERS.fullmatch(name):
            raise unknown(f"read.ptx.sreg.{name}")
        self._registers.add(name)
        return f"{out}load i32, ptr @simt.{name}"

    def _together(self, line: str, kernel: str) -> list[str]:
        site = len(self.host.sites)
        self.host.sites.extend(matrix_unit.sites_of(line, kernel))
        before, asked, after = matrix_unit.stand_in(line, site, self.checks)
        return [*before, *(_suspend(site, asked) if asked else []), *after]

    def _wait(self, line: str, kernel: str) -> list[str]:
        site = len(self.host.sites)
        self.host.sites.append(Access(kernel, line.strip(), -1, 0, 0))
        shuffle, warp, barrier = _SHUFFLE.match(line), _WARP_BARRIER.search(line), _BARRIER.search(line)
        if shuffle:
            return _shuffle(site, shuffle)
        if warp:
            return _suspend(site, f"i32 {AT_WARP_BARRIER}, {warp[1]}, i32 0, i32 0, i32 0, i32 0")
        if barrier and (barrier[2] or "0") == "0":
            return _suspend(site, f"i32 {AT_BARRIER}, i32 0, i32 0, i32 0, i32 0, i32 0")
        name = _INTRINSIC.findall(line)
        raise unknown(name[0] if name else line.strip())


def _waits(line: str) -> bool:
    found = any(f"@llvm.nvvm.{n}" in line for n in ("barrier", "bar.", "shfl."))
    return "call " in line and (found or matrix_unit.meets(line))


def _suspend(site: int, asked: str) -> list[str]:
    return [
        f"  call void @simt.wait({asked}, i32 {site})",
        f"  %simt.s{site} = call i8 @llvm.coro.suspend(token none, i1 false)",
        f"  switch i8 %simt.s{site}, label %simt.leave [ i8 0, label %simt.go{site}",
        "    i8 1, label %simt.drop ]",
        f"simt.go{site}:",
    ]


def _shuffle(site: int, found: re.Match[str]) -> list[str]:
    out, mode, kind, listed = found.groups()
    mask, value, lane, clamp = (part.split(" ")[-1] for part in split_list(listed))
    before, after = [], [f"  {out} = call i32 @simt.got()"]
    if kind == "f32":
        before = [f"  %simt.v{site} = bitcast float {value} to i32"]
        after = [f"  %simt.r{site} = call i32 @simt.got()", f"  {out} = bitcast i32 %simt.r{site} to float"]
        value = f"%simt.v{site}"
    numbers = f"i32 {MODES.index(mode)}, i32 {value}, i32 {lane}, i32 {clamp}"
    return [*before, *_suspend(site, f"i32 {AT_SHUFFLE}, i32 {mask}, {numbers}"), *after]


def _entry(function: KernelFunction) -> str:
    return str(sum(bool(re.fullmatch(r"%\d+", p.name)) for p in function.parameters))


def _phi(line: str, moved: dict[str, str]) -> str:
    """A phi names the block that it is reached from: the last piece of one that was cut."""
    if not re.match(r"^\s*%\S+ = phi ", line):
        return line
    return re.sub(r'%("?[-\w.$]+"?) \]', lambda found: f"%{moved.get(found[1], found[1])} ]", line)


def _coroutine(body: Iterable[str]) -> list[str]:
    lines = [line.replace("ret void", "br label %simt.final") if line.strip() == "ret void" else line for line in body]
    begin = [
        "  %simt.id = call token @llvm.coro.id(i32 0, ptr null, ptr null, ptr null)",
        "  %simt.size = call i64 @llvm.coro.size.i64()",
        "  %simt.more = add i64 %simt.size, 63",
        "  %simt.room = and i64 %simt.more, -64",
        "  %simt.memory = call ptr @aligned_alloc(i64 64, i64 %simt.room)",  # vectors of a frame may be that wide
        "  %simt.handle = call ptr @llvm.coro.begin(token %simt.id, ptr %simt.memory)",
    ]
    end = f"""simt.final:
  call void @simt.end()
  %simt.last = call i8 @llvm.coro.suspend(token none, i1 true)
  switch i8 %simt.last, label %simt.leave [ i8 1, label %simt.drop ]
simt.drop:
  %simt.held = call ptr @llvm.coro.free(token %simt.id, ptr %simt.handle)
  call void @free(ptr %simt.held)
  br label %simt.leave
simt.leave:
  {_coroutine_end()}
  ret ptr %simt.handle""".splitlines()
    named = 1 if lines and _LABEL.match(lines[0]) else 0
    return [*lines[:named], *begin, *lines[named:], *end]


def _coroutine_end() -> str:
    call = f"call {_end_kind()} @llvm.coro.end(ptr %simt.handle, i1 false, token none)"
    return call if _end_kind() == "void" else f"%simt.ended = {call}"


def _end_kind() -> str:
    return "void" if compiler().llvm_version_info[0] >= 22 else "i1"


def _start(function: KernelFunction, waits: bool) -> str:
    lines, passed = [], []
    for i, parameter in enumerate(function.parameters):
        lines.append(f"  %at{i} = getelementptr i64, ptr %args, i64 {i}")
        lines.append(f"  %a{i} = load {parameter.kind}, ptr %at{i}")
        passed.append(f"{parameter.kind} %a{i}")
    listed = f"@simt.thread.{function.name}({', '.join(passed)})"
    last = [f"  %handle = call ptr {listed}", "  ret ptr %handle"]
    if not waits:
        last = [f"  call void {listed}", "  ret ptr null"]
    return "\n".join([f"define ptr @simt.start.{function.name}(ptr %args) {{", *lines, *last, "}"])
