"""If, Loop and Scan: bodies are Python functions; what is known is decided at once, the rest becomes control flow.

The branch that asks a tensor stands in ``tensor_branch``, which is converted while a program is captured.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb import ops
from msnb.api.transforms.scan import scan as scan_rows
from msnb.core import Tensor, slot
from msnb.onnx.operator_table import known, operator, tensor
from msnb.onnx.tensor_branch import choose


@operator("If")
def if_(condition: Any, *, then_branch: Any, else_branch: Any) -> Any:
    """One of two bodies."""
    if not isinstance(condition, Tensor):
        return tuple((then_branch if bool(np.asarray(condition).reshape(())) else else_branch)())
    ways = [lambda body=body: tuple(_settled(v) for v in body()) for body in (then_branch, else_branch)]
    return tuple(slot.engine.convert(choose)(ops.reshape(condition, ()), *ways))


def _settled(value: Any) -> Any:
    """A value that both branches can give: known arrays are tensors there."""
    return tensor(value) if isinstance(value, np.ndarray) else value


@operator("Loop")
def loop(trips: Any, condition: Any, *carried: Any, body: Any) -> Any:
    """A body until its condition fails or its turns are over; what it gives beside is stacked."""
    most = None if trips is None else int(known(trips).reshape(()))
    going, values, rows, turn = condition, list(carried), [], 0
    while (most is None or turn < most) and (going is None or bool(known(going).reshape(()))):
        going, *found = body(np.array(turn, np.int64), np.array(True), *values)
        values, more = found[: len(values)], found[len(values) :]
        rows.append(more)
        turn += 1
    count = len(body.graph.outputs) - 1 - len(values)
    stacked = [_stack([row[i] for row in rows], body.graph.outputs[1 + len(values) + i]) for i in range(count)]
    return (*values, *stacked)


def _stack(rows: list[Any], declared: Any) -> Any:
    if not rows:
        sizes = tuple(n if isinstance(n, int) else 0 for n in declared.shape or ())
        return np.zeros((0, *sizes), declared.dtype or np.float32)
    return ops.stack([tensor(row) for row in rows], 0)


@operator("Scan", since=8)
def old_scan(lengths: Any, *inputs: Any, body: Any, num_scan_inputs: int, directions: Any = None) -> Any:
    """Version 8: a batch of scans."""
    states = len(inputs) - num_scan_inputs
    batches = [
        scan(*(tensor(x)[i] for x in inputs), body=body, num_scan_inputs=num_scan_inputs,
             scan_input_directions=directions)
        for i in range(inputs[0].shape[0])
    ]  # fmt: skip
    return tuple(ops.stack([tensor(b[k]) for b in batches], 0) for k in range(len(batches[0]))) if states >= 0 else ()


@operator("Scan", since=9)
def scan(*inputs: Any, body: Any, num_scan_inputs: int, scan_input_axes: Any = None, scan_input_directions: Any = None,
         scan_output_axes: Any = None, scan_output_directions: Any = None) -> Any:  # fmt: skip
    """A body over the rows of tensors, carrying states."""
    split = len(inputs) - num_scan_inputs
    carry, xs = [tensor(v) for v in inputs[:split]], [tensor(v) for v in inputs[split:]]
    xs = [ops.moveaxis(x, a, 0) for x, a in zip(xs, scan_input_axes or [0] * len(xs))]
    xs = [ops.flip(x, 0) if d else x for x, d in zip(xs, scan_input_directions or [0] * len(xs))]
    found = scan_rows(lambda *v: tuple(tensor(out) for out in body(*v)), carry, xs)
    states, ys = list(found[:split]), list(found[split:])
    ys = [ops.flip(y, 0) if d else y for y, d in zip(ys, scan_output_directions or [0] * len(ys))]
    ys = [ops.moveaxis(y, 0, a) for y, a in zip(ys, scan_output_axes or [0] * len(ys))]
    return (*states, *ys)
