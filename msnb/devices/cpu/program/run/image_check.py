"""Is an image what a program can be? Asked of images from the disk before native code sees them.

Every number that the interpreter takes for a slot, a counter, a free list, an instruction or a word must be one, every
count must fit its table, every link must lie where words of its width lie. What a kernel makes of the words that it is
given is its own affair: they are checked as far as all calls are alike (they begin inside the table of words).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from msnb.core import StackType, TensorType
from msnb.devices.cpu.program import bytecode as m
from msnb.devices.cpu.program.program_image import FIXED, FRESH, PARAM, Image, ProgramTable

# what the words behind the opcode are: s slot, c counter, f free list, t instruction, h host step, n any number
# (not negative), b bits of a test, u unused
_WORDS = {
    m.RETURN: "uuuuu", m.KERNEL: "uwhtu", m.HOST: "huuuu", m.JUMP: "tuuuu", m.JUMP_IF: "tsbnu", m.JUMP_UNLESS: "tsbnu",
    m.COPY: "ssnuu", m.ZERO: "snuuu", m.SWAP: "ssuuu", m.MOVE: "ssuuu", m.LEA: "ssnuu", m.ROW: "sscxu", m.SET: "cxuuu",
    m.LOOP: "cxxtu", m.PUSH: "sssnf", m.POP: "sssuu", m.RELEASE: "sfuuu", m.COMMIT: "uuuuu", m.PUSH_STACK: "sssnf",
    m.POP_STACK: "sssuu",
}  # fmt: skip
_MOST = 1 << 46


def need_sound(image: Image) -> None:
    """Raises a ValueError where the image cannot be a program."""
    (slots, counters, pools), table = image.counts, image.table
    _need(all(isinstance(n, int) and 0 <= n < 1 << 24 for n in (slots, counters, pools)), "counts")
    _need(isinstance(image.peak, int) and 0 <= image.peak < _MOST, "the arena")
    _need(table.rows.ndim == 2 and table.rows.shape[1] == m.WORDS and len(table.rows) > 0, "the table")
    _need(set(table.rows[:, 0].tolist()) <= set(_WORDS), "instructions")
    _need(int(table.rows[-1, 0]) in (m.RETURN, m.JUMP), "the end")  # nothing runs past it
    first = m.FREE
    ends = {"s": (0, slots), "c": (first, first + counters), "f": (first + counters, first + counters + pools),
            "t": (0, len(table.rows)), "h": (-1, len(image.steps)), "w": (0, len(table.words)), "n": (0, _MOST),
            "b": (8, 65)}  # fmt: skip
    for op, kinds in _WORDS.items():
        rows = table.rows[table.rows[:, 0] == op]
        for at, kind in enumerate(kinds, 1):
            if kind in ends and len(rows):
                low, high = ends[kind]
                _need(bool(((rows[:, at] >= low) & (rows[:, at] < high)).all()), m.NAMES[op])
    _links(table)
    _outside(image, slots)


def _links(table: ProgramTable) -> None:
    kernels = set(np.flatnonzero(table.rows[:, 0] == m.KERNEL).tolist())
    _need({row for row, _ in table.row_links} == kernels, "functions of kernels")
    _need(all(0 <= k < len(table.links) for _, k in (*table.row_links, *table.word_links)), "links")
    _need(all(table.links[k].width == 1 for _, k in table.row_links), "functions")
    for at, k in table.word_links:
        _need(0 <= at <= len(table.words) - table.links[k].width, "words of links")


def _outside(image: Image, slots: int) -> None:
    """What lies around the table: slots, params, results."""
    _need(isinstance(image.params, int) and 0 <= image.params < 1 << 20, "params")
    _need(all(0 <= s < slots and 0 <= o <= image.peak for s, o in image.arena), "places in the arena")
    _indices((s for s, _ in image.consts), slots, "constants")
    _indices((s for s, _ in image.bottoms), slots, "stacks")
    _need(all(isinstance(t, StackType) for _, t in image.bottoms), "stacks")
    _params(image, slots)
    _results(image, slots)
    for step in image.steps:
        for places, values in ((step.reads, step.node.inputs), (step.writes, step.node.outputs)):
            _need(len(places) == len(values), "operands of steps in Python")
            _indices(places, slots, "operands of steps in Python", least=-1)
    _indices(image.forms, image.params, "blocks")
    _stacks(image)


def _params(image: Image, slots: int) -> None:
    for what in (image.tensors, image.numbers):
        _indices((i for i, _, _ in what), image.params, "params")
        _indices((s for _, s, _ in what), slots, "slots of params", least=-1)
    _need(all(isinstance(t, TensorType) and t.is_static for _, _, t in image.tensors), "types of params")


def _results(image: Image, slots: int) -> None:
    known = {i: t for i, _, t in image.tensors}
    for f in image.fresh:
        _indices([f.slot], slots, "slots of results", least=-1)
        _need(isinstance(f.type, TensorType) and f.type.is_static, "types of results")
        if f.lender != -1:
            _need(f.lender in known and known[f.lender].nbytes == f.type.nbytes, "memory of results")
    for kind, which in image.answers:
        _need(kind in (FRESH, PARAM, FIXED), "answers")
        if kind != FIXED:
            _indices([which], len(image.fresh) if kind == FRESH else image.params, "answers")


def _stacks(image: Image) -> None:
    """What lies on a stack was somewhere in the program before, so it is no larger than what is there."""
    types = [*(t for _, _, t in image.tensors), *(f.type for f in image.fresh), *(c.type for _, c in image.consts)]
    _need(all(d >= 0 for t in types for d in t.ints()), "sizes")
    most = max([image.peak, 8, *(t.nbytes for t in types)])
    for _, stack in image.bottoms:
        element: object = stack.element
        while isinstance(element, StackType):
            element = element.element
        if isinstance(element, TensorType):
            _need(element.is_static and all(d >= 0 for d in element.ints()) and element.nbytes <= most, "stacks")


def _indices(found: Iterable[object], end: int, what: str, least: int = 0) -> None:
    _need(all(type(i) is int and least <= i < end for i in found), what)


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"a program from the disk is damaged: {what}")
