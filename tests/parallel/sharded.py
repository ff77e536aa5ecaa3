"""An op under a strategy, run on simulated ranks: what tests of strategies share."""

from __future__ import annotations

from msnb.core.tensor import type_of_buffer
from msnb.core.types import WEAK
from msnb.parallel.engine.comm.shards import LocalCall, part_of, put_together
from msnb.parallel.engine.comm.simulated_collectives import bytes_sent, run_move
from msnb.parallel.program.spmd_program import moves_closing, moves_opening
from msnb.parallel.sharding.strategies import OpSignature


def call_of(op, inputs, attrs):
    types = tuple(WEAK[type(x)] if type(x) in WEAK else type_of_buffer(x) for x in inputs)
    full = op.bind_attrs(dict(attrs))
    return OpSignature(op, types, op.result_types(types, full), full)


def run(mesh, call, strategy, inputs):
    """The whole results; bytes that were sent are those that the moves promise."""
    parts = [[part_of(mesh, layout, x, r) for r in range(mesh.size)] for layout, x in zip(strategy.inputs, inputs)]
    for i, moves in enumerate(moves_opening(mesh, call, strategy)):
        parts[i] = moved(mesh, moves, parts[i], "sum") if moves else parts[i]
    kernel, behind = LocalCall(mesh, call, strategy), moves_closing(mesh, call, strategy)
    rows = list(zip(*parts)) if parts else [()] * mesh.size
    out = []
    for i, local in enumerate(zip(*(kernel(r, row) for r, row in enumerate(rows)))):
        closed = moved(mesh, behind[i], list(local), strategy.reducer)
        for r in range(mesh.size):
            assert closed[r].shape == strategy.outputs[i].local_shape(mesh, call.outs[i].shape)
        out.append(put_together(mesh, strategy.outputs[i], closed, call.outs[i].shape))
    return out


def moved(mesh, moves, parts, reducer):
    for move in moves:
        assert bytes_sent(mesh, move, parts) == round(move.sent(mesh) * mesh.size)
        parts = run_move(mesh, move, parts, reducer)
    return parts
