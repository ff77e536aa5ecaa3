"""Layers that are computed twice, as steps: before the first gradient that asks for what a layer made inside, the steps
that made it are taken once more.

    forward    in -> a -> b -> out              a and b are let go when the layer's own steps have read them
    backward   in -> a -> b  (again)  gradients of b, a ...

A step is what it was: the same operator on the same parts makes the same numbers (random draws too, their key is a
value), and its collectives are sent again. What leaves the layer (``out``, ``in`` of the next one) is kept, and what no
gradient asks for (moving averages) is not made again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from msnb.parallel.program import BACKWARD, FORWARD, Buffer, Local, MoveStep, Program, RunStep
from msnb.parallel.recompute import layer_name


def reads(step: Local) -> list[Buffer]:
    """The buffers that a step reads."""
    return [(step.value, step.source)] if isinstance(step, MoveStep) else list(step.operands)


def makes(step: Local) -> list[Buffer]:
    """The buffers that a step makes."""
    return [(step.value, step.target)] if isinstance(step, MoveStep) else list(step.results)


def taken_again(program: Program, layers: Collection[str]) -> list[Local]:
    """The steps of a program of one team with these layers computed twice."""
    steps = [step for step in program.steps if isinstance(step, Local)]
    todo = {name: found for name in layers if (found := _Layer(steps, program, name)).again}
    out: list[Local] = []
    for step in steps:
        for name in [n for n, layer in todo.items() if step.phase != FORWARD and layer.inner.intersection(reads(step))]:
            layer = todo.pop(name)
            out += [replace(steps[k], phase=BACKWARD, where=f"{steps[k].where} again") for k in layer.again]
        out.append(step)
    return out


class _Layer:
    """A layer's steps.

    Attributes:
        inner: buffers that it makes and that nobody else's forward steps read; again: the steps to take once more.
    """

    def __init__(self, steps: list[Local], program: Program, name: str) -> None:
        mine = [k for k, step in enumerate(steps) if step.phase == FORWARD and _layer_of(step) == name]
        own = {v for k in mine if isinstance(step := steps[k], RunStep) for v, _ in step.results}
        leaving = {v for v, _ in (*program.outputs, *program.gradients)}
        leaving |= {v for k, step in enumerate(steps) if step.phase == FORWARD and _layer_of(step) != name
                    for v, _ in reads(step)}  # fmt: skip
        self.makers: dict[Buffer, int] = {b: k for k in mine for b in makes(steps[k]) if b[0] in own - leaving}
        self.inner = set(self.makers)
        self.again = self._needed(steps)

    def _needed(self, steps: list[Local]) -> list[int]:
        """What makes the buffers that steps behind the forward pass read; nothing where it has an effect."""
        todo = [b for step in steps if step.phase != FORWARD for b in reads(step) if b in self.makers]
        found: set[int] = set()
        while todo:
            k = self.makers[todo.pop()]
            if k not in found:
                found.add(k)
                todo += [b for b in reads(steps[k]) if b in self.makers]
        effects = any(isinstance(step := steps[k], RunStep) and "effect" in step.node.op.traits for k in found)
        return [] if effects else sorted(found)


def _layer_of(step: Local) -> str:
    """The layer of the operator that a step belongs to."""
    node = step.node if isinstance(step, RunStep) else None
    return layer_name(node.scope) if node is not None else layer_name(step.where.rpartition("/")[0])


