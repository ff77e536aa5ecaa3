"""Kernels of a program: compiled together, and handed out as recipes.

    fused nodes --lower--> kernels --render--> one LLVM module --> addresses --> recipes

A generated kernel is called with the slots of what it reads, of what it writes, and of its scratch memory if it has
any. Equal kernels are compiled once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from msnb.core import dtypes
from msnb.core.events import notice
from msnb.devices.cpu import threads
from msnb.devices.cpu.codegen.engine import Library, attributes, host
from msnb.devices.cpu.codegen.entry import render
from msnb.devices.cpu.codegen.lower import lower
from msnb.devices.cpu.codegen.plan import Plan
from msnb.devices.cpu.program.recipe import Call, Recipe
from msnb.ir.control import FUSED
from msnb.ir.graph import Graph, Node
from msnb.ir.kernel import Kernel
from msnb.ir.scalars import Unsupported

_RARELY = '!0 = !{!"branch_weights", i32 1, i32 100000}'


@dataclass(frozen=True)
class GeneratedKernel:
    """Machine code of a kernel.

    Attributes:
        kernel: what it was made from.
        address: of ``i32 f(slots, words, env)``.
        per_thread: bytes of scratch memory for one thread.
        inplace: pairs (read, write) that may be one memory.
        library: keeps the code.
    """

    kernel: Kernel
    address: int
    per_thread: int
    inplace: tuple[tuple[int, int], ...]
    library: Library

    def scratch(self, threads: int) -> int:
        """Bytes of scratch memory for that many threads."""
        return self.per_thread * threads


def compile_kernels(kernels: Sequence[Kernel]) -> list[GeneratedKernel | None]:
    """Machine code for kernels, all in one module; None for one that there is no code for (told once)."""
    texts, declared, plans = list[str](), dict[str, str](), list[Plan | None]()
    for i, kernel in enumerate(kernels):
        try:
            text, needs, plan = render(kernel, f"msnb_k{i}", attributes(), host().target)
        except Unsupported as reason:
            _refused(reason)
            plans.append(None)
            continue
        texts.append(text)
        declared.update(needs)
        plans.append(plan)
    if not texts:
        return [None] * len(kernels)
    head = ["@msnb_parallel = global ptr null", "@msnb_thread = global ptr null", *declared.values(), _RARELY]
    library = Library("\n".join([*head, *texts]))
    return [
        None if p is None else GeneratedKernel(k, library.address(f"msnb_k{i}"), p.scratch, p.inplace(), library)
        for i, (k, p) in enumerate(zip(kernels, plans))
    ]


def lowered(body: Graph) -> Kernel | None:
    """The kernel of a fused body, or None where there is no code for it (told once; the reference bodies serve)."""
    try:
        kernel = lower(body, "kernel")
        if not host().half and any(i.dtype is dtypes.float16 for i in kernel.insts()):
            raise Unsupported("float16 on a CPU that cannot convert it")
        return kernel
    except Unsupported as reason:
        _refused(reason)
        return None


def same(kernel: Kernel) -> str:
    """Equal for kernels with equal code."""
    return str(kernel) + "".join(f" {b.dtype.short}[{b.size}]" for b in (*kernel.reads, *kernel.writes))


def _refused(reason: Unsupported) -> None:
    notice(f"a group of operations runs without code generation: {reason}.", key=f"codegen {reason}")


# ---- recipes --------------------------------------------------------------------------------------------------------


class KernelRecipe(Recipe):
    """A fused node as one call of a generated kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.made: GeneratedKernel | None = None

    @classmethod
    def prepare(cls, recipes: Sequence[KernelRecipe]) -> None:
        """Compile every kernel once."""
        groups: dict[str, list[KernelRecipe]] = {}
        for recipe in recipes:
            groups.setdefault(same(recipe.kernel), []).append(recipe)
        made = compile_kernels([g[0].kernel for g in groups.values()])
        for kernel, group in zip(made, groups.values()):
            for recipe in group:
                recipe._take(kernel)

    def _take(self, made: GeneratedKernel | None) -> None:
        self.made = self.keep = made
        self.refused = made is None
        if made is not None:
            scratch = made.scratch(threads.cores())
            self.temps = (scratch,) if scratch else ()
            self.inplace = made.inplace

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[Call]:
        """One call."""
        if self.made is None:
            raise Unsupported("a kernel without code")
        return [Call(self.made.address, (*ins, *outs, *temps))]


def recipe(node: Node, view_of: Callable[..., Any]) -> KernelRecipe | None:
    """A recipe for a fused node, if there is code for it."""
    if node.op is not FUSED:
        return None
    kernel = lowered(node.graphs[0])
    return None if kernel is None else KernelRecipe(kernel)
