"""Layers that are computed twice, as steps: before the first gradient that asks for what a layer made inside, the steps
that made it are taken once more.

    forward    in -> a -> b -> out              a and b are let go when the layer's own steps have read them
    backward   in -> a -> b  (again)  gradients of b, a ...

A step is what it was: the same operator on the same parts makes the same numbers (random draws too, their key is a
value), and its collectives are sent again. What leaves the layer (``out``, ``in`` of the next one) is kept, and what no
gradient asks for (moving averages) is not made again. In a pipeline a layer's steps for one micro-batch are taken again
on their own, in the backward task of that micro-batch: between them others go forward.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from msnb.core.microbatch_scope import micro_of
from msnb.ir.graph import Value
from msnb.parallel.planner.rematerialization import layer_name
from msnb.parallel.program.spmd_program import BACKWARD, FORWARD, Buffer, Local, MoveStep, RunStep

Block = tuple[int | None, str]  # part of the batch (None where it is in one piece), layer


def reads(step: Local) -> list[Buffer]:
    """The buffers that a step reads."""
    return [(step.value, step.source)] if isinstance(step, MoveStep) else list(step.operands)


def makes(step: Local) -> list[Buffer]:
    """The buffers that a step makes."""
    return [(step.value, step.target)] if isinstance(step, MoveStep) else list(step.results)


def taken_again(steps: Sequence[Local], leaving: Collection[Value], layers: Collection[str],
                said: frozenset[str] = frozenset()) -> list[Local]:  # fmt: skip
    """The steps of a team with these layers computed twice.

    Args:
        steps: in the order in which they are taken; leaving: values that are asked for elsewhere: results, and what
            other teams read; layers: their names; said: those that the program says itself (``layers_said``).
    """
    blocks = {k: block_of(step, said) for k, step in enumerate(steps) if step.phase == FORWARD}
    makers = _makers(steps, leaving, layers, blocks)
    todo = _needed(steps, makers, blocks)
    out: list[Local] = []
    for step in steps:
        for buffer in reads(step) if step.phase != FORWARD else ():
            block = blocks[makers[buffer]] if buffer in makers else None
            for k in todo.pop(block, ()) if block else ():
                out.append(replace(steps[k], phase=BACKWARD, where=f"{steps[k].where} again"))
        out.append(step)
    return out


def block_of(step: Local, said: frozenset[str]) -> Block:
    """The layer that a step belongs to, of a move the one that made the value, and the part of the batch."""
    node = step.node if isinstance(step, RunStep) else step.value.node
    scope = "" if node is None else node.scope
    return micro_of(scope), layer_name(scope, said)


def _makers(steps: Sequence[Local], leaving: Collection[Value], layers: Collection[str],
            forward: Mapping[int, Block]) -> dict[Buffer, int]:  # fmt: skip
    """Buffers that a layer makes and that nobody else's forward steps read -> the number of the step.

    A step that makes something that leaves its layer is not taken again, so that every value is made once for others.
    """
    made = {v: forward[k] for k in forward if isinstance(step := steps[k], RunStep) for v, _ in step.results}
    out = {v for v in made if v in leaving}
    out |= {v for k, block in forward.items() for v, _ in reads(steps[k]) if v in made and made[v] != block}
    for k in forward:
        step = steps[k]
        if isinstance(step, RunStep) and any(v in out for v, _ in step.results):
            out |= {v for v, _ in step.results}
    return {b: k for k, (_, layer) in forward.items() if layer in layers
            for b in makes(steps[k]) if b[0] in made and b[0] not in out}  # fmt: skip


def _needed(steps: Sequence[Local], makers: Mapping[Buffer, int],
            blocks: Mapping[int, Block]) -> dict[Block, list[int]]:  # fmt: skip
    """Per layer and part what makes the buffers that its gradients read; nothing where it has an effect."""
    todo = [b for step in steps if step.phase != FORWARD for b in reads(step) if b in makers]
    found: set[int] = set()
    while todo:
        k = makers[todo.pop()]
        if k not in found:
            found.add(k)
            todo += [b for b in reads(steps[k]) if b in makers]
    out: dict[Block, list[int]] = {}
    for k in sorted(found):
        out.setdefault(blocks[k], []).append(k)
    return {block: again for block, again in out.items() if not any(_acts(steps[k]) for k in again)}


def _acts(step: Local) -> bool:
    return isinstance(step, RunStep) and "effect" in step.node.op.traits
