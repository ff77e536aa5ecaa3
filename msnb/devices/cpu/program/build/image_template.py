"""The image of a program for every size: built once with sizes that are written down (``core.symbolic_int``).

    graph f(x: f32[s1,8])  --build, s1 = 24 for now-->  image with v1, v7 ... in it  + lines, guards
                                                                  | s1 = 40
    guards hold: v1 = 320, v7 = 5120 ...                image of f(x: f32[40,8]), nothing lowered or planned anew

What the program relied on is a guard: which kernels are worth it, what shares memory, how the library likes its
operands. Offsets in the arena and the library's primitives are found anew for every size. A program whose code has a
size in it, as the stride of a transposed operand, has no template.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from msnb.core.symbolic_int import PARTS, ConcretizationError, SizeTrace, Symbolic, trace_of
from msnb.core import Type
from msnb.devices.cpu.codegen.kernel_library import KernelRecipe
from msnb.devices.cpu.native_kernel import NativeKernel, Relocation
from msnb.devices.cpu.onednn.trampoline import SymbolicRun
from msnb.devices.cpu.program.build.builder import ProgramBuild
from msnb.devices.cpu.program.build.encoder import InstructionTable
from msnb.devices.cpu.program.build.instructions import NotLowerable
from msnb.devices.cpu.program.program_image import Image, ProgramTable, Step
from msnb.ir import Const, Graph, Node, SizeError, bind_sizes

PARTS[Const] = lambda const: (Const, (const.data, const.type))


class ImageTemplate:
    """A program with symbolic sizes, as an image.

    Args:
        graph: a program with symbols.
        sizes: their values for now.
        passes: make of it, bound to sizes, what the device compiles.

    Attributes:
        image: the image for these.
        exact: it is the one that is built for numbers; else some of its code reads sizes that would be in the code.

    Raises:
        ConcretizationError: its code depends on a size.
    """

    def __init__(self, graph: Graph, sizes: Mapping[str, int], passes: Callable[[Graph], Graph]) -> None:
        trace = SizeTrace()
        try:
            build = ProgramBuild(passes(bind_sizes(graph, trace.symbols(sizes))))
        except (SizeError, NotLowerable) as error:
            raise ConcretizationError(str(error)) from error
        self._words = [k for k, _ in build.table.varying]
        self._rows = tuple(np.array([at for at, _ in build.table.varying_rows], np.int64).reshape(-1, 2).T)
        self._bound = trace.function(_varying(trace, build.image, build.table))
        if trace.refusal:
            raise trace.refused(trace.refusal)
        self.exact: bool = trace.exact and not any(map(_has_numbers, build.choice.recipes.values()))
        self.image: Image = build.image
        found = self.bound(sizes)
        if found is None:
            raise trace.refused("what another call finds otherwise")
        self.image = found

    def bound(self, sizes: Mapping[str, int]) -> Image | None:
        """The image for these sizes; None where they make another program."""
        found = self._bound(**sizes)
        if found is None:
            return None
        words, numbers, links, peak, arena, tensors, fresh, consts, bottoms, nodes = found
        image, table = self.image, self.image.table
        rows, all_words = table.rows.copy(), table.words.copy()
        rows[self._rows], all_words[self._words] = numbers, words
        return replace(
            image, table=ProgramTable(rows, all_words, links, table.row_links, table.word_links), peak=peak,
            arena=[(slot, offset) for (slot, _), offset in zip(image.arena, arena)],
            tensors=[(i, slot, t) for (i, slot, _), t in zip(image.tensors, tensors)],
            fresh=[f._replace(type=t) for f, t in zip(image.fresh, fresh)],
            consts=[(slot, const) for (slot, _), const in zip(image.consts, consts)],
            bottoms=[(slot, t) for (slot, _), t in zip(image.bottoms, bottoms)],
            steps=[Step(node, s.reads, s.writes) for s, node in zip(image.steps, nodes)],
        )  # fmt: skip


def _varying(trace: SizeTrace, image: Image, table: InstructionTable) -> tuple[Any, ...]:
    """What depends on sizes, as ``ImageTemplate.bound`` takes it apart."""
    return (
        [word for _, word in table.varying], [word for _, word in table.varying_rows],
        [_again(link) for link in table.links], image.peak, [offset for _, offset in image.arena],
        [t for _, _, t in image.tensors], [f.type for f in image.fresh], [c for _, c in image.consts],
        [t for _, t in image.bottoms],
        [_node(trace, step.node) for step in image.steps],
    )  # fmt: skip


def _has_numbers(recipe: NativeKernel) -> bool:
    return isinstance(recipe, KernelRecipe) and any(kernel.numbers for kernel in recipe.kernels)


def _again(link: Relocation) -> Any:
    """What stands for a link."""
    if isinstance(link, SymbolicRun):
        return link.again
    if (trace := trace_of(link.data())) is not None:
        raise trace.refused("a part of a link")
    return link


def _node(trace: SizeTrace, node: Node) -> Any:
    """What stands for a node that runs in Python."""
    types = tuple(v.type for v in node.inputs), tuple(v.type for v in node.outputs)
    if trace_of((types, tuple(node.attrs.values()))) is None:
        return node
    if node.graphs:
        raise trace.refused("a group that runs in Python")
    make = functools.partial(_alone, node.op, node.where, node.scope)
    return trace.call(make, (*types, tuple(node.attrs.items())), functools.partial(Symbolic, trace))


def _alone(
    op: Any, where: Any, scope: Any, inputs: tuple[Type, ...], outputs: tuple[Type, ...],
    attrs: tuple[tuple[str, Any], ...],
) -> Node:  # fmt: skip
    """A node of these types, in a graph of its own."""
    graph = Graph(op.name)
    made = graph.add(op, [graph.add_param(t, "") for t in inputs], dict(attrs), outputs)
    made.where, made.scope = where, scope
    return made
