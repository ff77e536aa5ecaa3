"""The code of a program as text, rendered again on request: nothing of it is kept while programs only run."""

from __future__ import annotations

from typing import Any

from msnb.devices.cpu.codegen.kernel_function import render
from msnb.devices.cpu.codegen.kernel_library import KernelRecipe, module_of
from msnb.devices.cpu.llvm.jit import assembly_of, attributes, host
from msnb.devices.inspection import Listing, NodeLowering
from msnb.ir.kernel.kernel_ir import Kernel
from msnb.ops.elementwise.constant import constant

LANGUAGE = "LLVM IR"
SOURCES = {"onednn": "oneDNN", "builtin": "built-in kernel"}


def listings(program: Any) -> list[Listing]:
    """The generated kernels of a native program, each with its loops, its LLVM IR and its assembly."""
    return [_listing(f"k{i}", kernel) for i, kernel in enumerate(program.kernels)]


def _listing(name: str, kernel: Kernel) -> Listing:
    text, declared, _ = render(kernel, name, attributes(), host().target)
    code = "\n".join([*declared.values(), text])
    return Listing(name, str(kernel), code, LANGUAGE, assembly_of(module_of([text], declared)))


def ways(program: Any) -> list[NodeLowering]:
    """How each node of a native program runs."""
    names = {id(kernel): f"k{i}" for i, kernel in enumerate(program.kernels)}
    nodes = [n for n in program.graph.nodes if n.op is not constant]
    return [NodeLowering(n, _how(n, program, names)) for n in nodes]


def _how(node: Any, program: Any, names: dict[int, str]) -> str:
    recipe = program.recipes.get(node)
    if isinstance(recipe, KernelRecipe):
        found = dict.fromkeys(names[id(k)] for k in recipe.kernels)
        return f"generated kernel {', '.join(found)}"
    if recipe is not None:
        room = type(recipe).__module__.split(".devices.cpu.")[-1].split(".")[0]
        return SOURCES.get(room, room)
    if "view" in node.op.traits:
        return "nothing to do (a view)"
    if program.built.choice.given.of(node):
        return "known before the program runs"
    if "control" in node.op.traits:
        return "jumps of the native program"
    return "Python" if node.op.name in program.host_steps else "part of another node"
