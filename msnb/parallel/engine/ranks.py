"""One op on all simulated ranks: every rank runs the op's body on its own parts.

The bodies are those of the reference executor (NumPy), so a sharded run differs from the single device's by the order of
its sums alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.devices.base import body_kernel
from msnb.parallel.engine.collectives import Parts, run_move
from msnb.parallel.layout import TensorLayout
from msnb.parallel.local import local_attrs, local_type, own_rows
from msnb.parallel.mesh import REDUCE, SCATTER, Mesh
from msnb.parallel.reshard import Move
from msnb.parallel.strategies import Call, Strategy


def split_up(mesh: Mesh, layout: TensorLayout, whole: Any) -> list[Any]:
    """The parts of a value that everybody could have; Python numbers go to every rank as they are."""
    if isinstance(whole, (bool, int, float, complex)):
        return [whole] * mesh.size
    array = np.asarray(whole)
    return [array[layout.part(mesh, array.shape, r)] for r in range(mesh.size)]


def put_together(mesh: Mesh, layout: TensorLayout, parts: list[Any], shape: tuple[int, ...]) -> Any:
    """The whole of which the ranks hold parts."""
    if isinstance(parts[0], (bool, int, float, complex)):
        return parts[0]
    out = np.empty(shape, parts[0].dtype)
    for rank in range(mesh.size):
        out[layout.part(mesh, shape, rank)] = parts[rank]
    return out


def run_call(mesh: Mesh, call: Call, strategy: Strategy, inputs: list[list[Any]]) -> list[Parts]:
    """Every rank's local results, one list of parts per output; the open sum is not taken yet."""
    opened = strategy.open_outputs()
    shapes = [t.local_shape(mesh, o.ints()) for t, o in zip(opened, call.outs)]
    if not call.types:
        made = _results(body_kernel(np, call.op, (), dict(call.attrs))())
        return [split_up(mesh, layout, whole) for layout, whole in zip(opened, made)]
    types = tuple(local_type(t, s.local_shape(mesh, t.ints())) for t, s in zip(call.types, strategy.inputs))
    outs = [local_type(o, shape) for o, shape in zip(call.outs, shapes)]
    kernel = body_kernel(np, call.op, types, local_attrs(call.op, call.attrs, outs))
    if call.op.name == "gather" and _indexed(call, strategy):
        rows = [_gathered(mesh, call, strategy, kernel, r, [parts[r] for parts in inputs]) for r in range(mesh.size)]
    else:
        rows = [_results(kernel(*[parts[r] for parts in inputs])) for r in range(mesh.size)]
    return [list(column) for column in zip(*rows)]


def close_up(mesh: Mesh, strategy: Strategy, parts: Parts, output: int = 0) -> Parts:
    """Take the open reduction behind an op."""
    if not strategy.partial:
        return parts
    before, after = strategy.open_outputs()[output], strategy.outputs[output]
    kind = REDUCE if strategy.scatter < 0 else SCATTER
    move = Move(kind, strategy.partial, strategy.scatter, strategy.scatter, before, after, parts[0].nbytes, 0.0)
    return run_move(mesh, move, parts, strategy.reducer)


def _results(made: Any) -> tuple[Any, ...]:
    return tuple(made) if isinstance(made, (tuple, list)) else (made,)


def _indexed(call: Call, strategy: Strategy) -> str:
    """The label of the table's rows when it is split."""
    label = call.axes.inputs[0][call.attrs["axis"] % call.types[0].ndim]
    return label if label is not None and strategy.axes_of(label) else ""


def _gathered(mesh: Mesh, call: Call, strategy: Strategy, kernel: Any, rank: int, operands: list[Any]) -> tuple[Any]:
    """A rank answers for the rows it holds and gives zeros for the others."""
    table, index = operands
    at = call.attrs["axis"] % call.types[0].ndim
    mine = strategy.inputs[0].part(mesh, call.types[0].ints(), rank)[at]
    size = call.types[0].ints()[at]
    if np.any((index < -size) | (index >= size)):
        raise IndexError(f"an index is outside axis {at} of size {size}.")
    local, own = own_rows(index, size, mine.stop - mine.start, mine.start)
    rows = kernel(table, local)
    shape = (1,) * at + own.shape + (1,) * (rows.ndim - at - own.ndim)
    return (np.where(own.reshape(shape), rows, np.zeros((), rows.dtype)),)
