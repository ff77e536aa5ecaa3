"""Native programs that differ in their sizes alone: one image with symbols, bound to sizes and loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from msnb.core import ConcretizationError
from msnb.devices.cpu.program.build.image_template import ImageTemplate
from msnb.devices.cpu.program.program_image import FIXED, Image
from msnb.ir.graph import Graph


class NativeTemplate:
    """See ``devices.device.ProgramTemplate``.

    Args:
        images: the image for every size.
        program: one that was built; others are loaded as it was.
    """

    def __init__(self, images: ImageTemplate, program: Any) -> None:
        self._images, self._kind, self._device = images, type(program), program.device

    def bound(self, sizes: Mapping[str, int], remake: Callable[[], Graph]) -> Any:
        """The program for these sizes; None where they make another one."""
        image = self._images.bound(sizes)
        return None if image is None else self._kind(self._device, remake, image=image)


def native_template(
    program: Any, graph: Graph, sizes: Mapping[str, int], passes: Callable[[Graph], Graph]
) -> NativeTemplate | None:
    """``Device.template`` of a native program; None where its code depends on sizes, or where what follows from symbols
    is not what was built for numbers."""
    try:
        found = None if program.image is None else ImageTemplate(graph, sizes, passes)
    except ConcretizationError:
        return None
    if found is None or (found.exact and not _alike(found.image, program.image)):
        return None
    return NativeTemplate(found, program)


def _alike(a: Image, b: Image) -> bool:
    """Whether two images are one program."""
    return _numbers(a) == _numbers(b) and all(
        np.array_equal(x, y) for x, y in ((a.table.rows, b.table.rows), (a.table.words, b.table.words))
    )


def _numbers(image: Image) -> tuple[Any, ...]:
    table = image.table
    places = [link.data() for link in table.links], table.row_links, table.word_links
    steps = [(s.node.op, s.reads, s.writes, [v.type for v in (*s.node.inputs, *s.node.outputs)]) for s in image.steps]
    consts = [(slot, const.type) for slot, const in image.consts]
    answers = [(kind, None if kind == FIXED else which) for kind, which in image.answers]
    rest = image.counts, image.peak, image.swaps, image.arena, image.params, image.tensors, image.numbers
    return (*places, steps, consts, answers, *rest, image.bottoms, image.fresh)
