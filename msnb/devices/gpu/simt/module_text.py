"""The text of a module of kernels, taken apart: functions, shared memory, the rest.

LLVM reads the text first and prints it again, with helpers inlined where they say so (``alwaysinline``): one
instruction a line, every alignment written out. What follows goes by that form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from msnb.base import DeviceError
from msnb.devices.gpu.simt.native_runtime import compiler

_SCALARS = {"i1": 1, "i8": 1, "i16": 2, "half": 2, "bfloat": 2, "i32": 4, "float": 4, "i64": 8, "double": 8, "ptr": 8}
_DEFINITION = re.compile(r'^define .*?@"?([-\w.$]+)"?\(')
_SHARED = re.compile(r"^@([-\w.$]+) = .*?addrspace\(3\) (?:global|constant) (.*?)(?:, align (\d+))?(?:, .*)?$")
_GLOBAL = re.compile(r"^@([-\w.$]+) = .*?(?:global|constant) ")


class KernelFault(DeviceError):
    """A kernel that does what no kernel may do: a wrong address, a race, a barrier that not all threads reach."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function: its LLVM type without attributes, and its name with the percent sign."""

    kind: str
    name: str


@dataclass(frozen=True)
class KernelFunction:
    """A function of the module: a kernel, or a helper that kernels call."""

    name: str
    kernel: bool
    head: str
    parameters: tuple[Parameter, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class SharedArray:
    """Shared memory with a name; ``size`` is 0 where the launch says how much there is."""

    name: str
    kind: str
    size: int
    align: int


@dataclass(frozen=True)
class KernelText:
    """A module: functions, shared memory, names of its constants, and all other lines."""

    functions: tuple[KernelFunction, ...]
    shared: tuple[SharedArray, ...]
    constants: frozenset[str]
    others: tuple[str, ...]


def size_of(kind: str) -> int:
    """Bytes of a type in memory.

    Raises:
        RuntimeError: DeviceError: a type that no kernel is expected to have.
    """
    kind = kind.strip()
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind.startswith("ptr "):
        return 8
    found = re.match(r"^[<\[](\d+) x (.*)[>\]]$", kind)
    if not found:
        raise DeviceError(f"the simulator knows no type {kind}: write scalars, vectors and arrays of them.")
    return int(found[1]) * size_of(found[2])


def split_list(text: str) -> list[str]:
    """The parts of a list in the text, at its outermost commas."""
    parts, depth, last = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            parts.append(text[last:i].strip())
            last = i + 1
    return [*parts, text[last:].strip()] if text.strip() else []


def closing(text: str, opened: int) -> int:
    """Where the parenthesis at ``opened`` closes."""
    depth = 0
    for i in range(opened, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i
    raise DeviceError(f"the simulator cannot read this line of the kernel: {text}")


def canonical(text: str) -> str:
    """The module as LLVM prints it, helpers inlined.

    Raises:
        RuntimeError: KernelFault: it is not LLVM IR.
    """
    llvm = compiler()
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise KernelFault(f"the text of the kernels is not LLVM IR: {error}") from None
    if "alwaysinline" in text:
        machine = llvm.Target.from_default_triple().create_target_machine()
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0))
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(module, builder)
    return str(module)


def _parameters(text: str) -> tuple[Parameter, ...]:
    found = []
    for i, part in enumerate(split_list(text)):
        words = part.split()
        kind = re.match(r"ptr(?: addrspace\(\d+\))?|[<\[].*?[>\]]|\S+", part)
        found.append(Parameter(kind[0] if kind else "", words[-1] if words[-1].startswith("%") else f"%{i}"))
    return tuple(found)


def _functions(lines: Iterator[str], others: list[str]) -> Iterator[KernelFunction]:
    for line in lines:
        found = _DEFINITION.match(line)
        if not found:
            others.append(line)
            continue
        body = []
        for inner in lines:
            if inner == "}":
                break
            body.append(inner.split(" ; preds")[0].rstrip() if inner.lstrip().startswith(";") is False else "")
        opened = found.end() - 1
        inside = line[opened + 1 : closing(line, opened)]
        kept = tuple(b for b in body if b.strip())
        yield KernelFunction(found[1], "ptx_kernel" in line, line, _parameters(inside), kept)


def read_kernels(text: str) -> KernelText:
    """Takes a module apart.

    Args:
        text: LLVM IR for the GPU.

    Raises:
        RuntimeError: KernelFault: it is not LLVM IR.
    """
    others: list[str] = []
    functions = tuple(_functions(iter(canonical(text).splitlines()), others))
    shared, constants, rest = [], set(), []
    for line in others:
        array, other = _SHARED.match(line), _GLOBAL.match(line)
        if array:
            shared.append(_shared(array[1], array[2], int(array[3] or 16)))
        elif not line.startswith(("target ", "source_filename", "!nvvm")):
            constants |= {other[1]} if other else set()
            rest.append(line)
    return KernelText(functions, tuple(shared), frozenset(constants), tuple(rest))


def _shared(name: str, rest: str, align: int) -> SharedArray:
    kind = rest[: _end_of_type(rest)]
    return SharedArray(name, kind, size_of(kind), align)


def _end_of_type(text: str) -> int:
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter in "[<{") - (letter in "]>}")
        if depth == 0 and (i + 1 == len(text) or text[i + 1] == " "):
            return i + 1
    return len(text)
