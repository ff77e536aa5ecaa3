"""Strategies of every op: each of them, run on simulated ranks, gives the single device's result; wrong ones
explain."""

from __future__ import annotations

import numpy as np
import pytest
from sharded import call_of, run

from msnb import ops
from msnb.core.types import TensorType
from msnb.devices.device import body_kernel
from msnb.ops.definition.record import REGISTRY, find
from msnb.parallel.sharding.device_mesh import Mesh
from msnb.parallel.sharding.strategies import candidates, chosen, runs

assert ops  # registers all of them


def doubled(inputs):
    """The example with its axes doubled in a way that keeps most shapes legal (so that there is something to split)."""
    return tuple(np.concatenate([x, x], 0) if isinstance(x, np.ndarray) and x.ndim else x for x in inputs)


def cases():
    for name, op in sorted(REGISTRY.items()):
        if {"effect", "control", "stack", "random", "dynamic"} & op.traits or not op.examples:
            continue
        yield name


@pytest.mark.parametrize("name", list(cases()))
def test_every_strategy_of_every_op_gives_the_same_result(name):
    op = find(name)
    for example in op.examples:
        for inputs in (example.inputs, doubled(example.inputs)):
            try:
                call = call_of(op, inputs, example.attrs)
                if not all(isinstance(t, TensorType) and t.is_static for t in call.outs):
                    continue
                want = body_kernel(np, op, call.types, dict(call.attrs))(*inputs)
            except (ValueError, TypeError, IndexError):
                assert inputs is not example.inputs
                continue
            want = want if isinstance(want, tuple) else (want,)
            for mesh in (Mesh.over(2), Mesh.over(4), Mesh.over(6)):
                for strategy in candidates(call, mesh):
                    for got, expected in zip(run(mesh, call, strategy, inputs), want):
                        np.testing.assert_allclose(
                            got, expected, rtol=1e-5 if got.dtype == np.float32 else 1e-9, atol=1e-6,
                            err_msg=f"{name} {call.types} {example.attrs} {strategy.blocks} {strategy.scatter}")


def f32(*shape):
    return np.zeros(shape, np.float32)


def splits(call, mesh):
    return {s.splits(mesh) for s in candidates(call, mesh)}


def test_strategies_of_a_product():
    found = splits(call_of(find("matmul"), (f32(8, 4), f32(4, 16)), {}), Mesh.over(4))
    assert {((4, 1), (1, 1)), ((1, 4), (4, 1)), ((1, 1), (1, 4)), ((2, 2), (2, 1)), ((2, 1), (1, 2)),
            ((1, 2), (2, 2)), ((1, 1), (1, 1)), ((2, 1), (1, 1)), ((1, 1), (1, 2)), ((1, 2), (2, 1))} == found


def test_convolutions_split_images_channels_and_pixels():
    call = call_of(find("conv2d"), (f32(8, 4, 16, 16), f32(8, 4, 3, 3)), {"pads": (1, 1, 1, 1)})
    found = splits(call, Mesh.over(2))
    assert found == {((1, 1, 1, 1), (1, 1, 1, 1)), ((2, 1, 1, 1), (1, 1, 1, 1)), ((1, 2, 1, 1), (1, 2, 1, 1)),
                     ((1, 1, 1, 1), (2, 1, 1, 1)), ((1, 1, 2, 1), (1, 1, 1, 1)), ((1, 1, 1, 2), (1, 1, 1, 1))}


def test_a_table_splits_by_rows_and_columns():
    call = call_of(find("gather"), (f32(32, 8), np.zeros(16, np.int64)), {"axis": 0})
    assert splits(call, Mesh.over(2)) == {((1, 1), (1,)), ((2, 1), (1,)), ((1, 2), (1,)), ((1, 1), (2,))}


def test_heads_of_attention_split_through_a_reshape():
    call = call_of(find("reshape"), (f32(4, 6, 32),), {"shape": (4, 6, 8, 4)})
    assert ((1, 1, 8),) in splits(call, Mesh.over(8))
    merged = call_of(find("reshape"), (f32(4, 6, 32),), {"shape": (24, 32)})
    assert ((4, 1, 1),) in splits(merged, Mesh.over(4))
    assert ((1, 2, 1),) not in splits(merged, Mesh.over(2))


def test_a_chosen_strategy_may_leave_devices_with_copies():
    call = call_of(find("matmul"), (f32(8, 4), f32(4, 16)), {})
    got = chosen("fc", call, ((2, 1), (1, 2)), Mesh.over(8))
    assert got.splits(Mesh.over(8)) == ((2, 1), (1, 2))
    assert got.outputs[0].dims == ((0,), (1,))


@pytest.mark.parametrize("name, inputs, strategy, pieces", [
    ("matmul", (f32(6, 4), f32(4, 8)), ((4, 1), (1, 1)), ["fc: axis 0 of input 0", "size 6", "4 ways", "legal: 1, 2"]),
    ("matmul", (f32(8, 4), f32(4, 8)), ((1, 2), (4, 1)), ["axis 1 of input 0 and axis 0 of input 1", "'k'", "2 and 4"]),
    ("matmul", (f32(64, 64), f32(64, 64)), ((8, 1), (1, 2)), ["needs 16 devices, there are 8"]),
    ("matmul", (f32(8, 4), f32(4, 8)), ((3, 1), (1, 1)), ["3 ways over 8 devices; legal: 1, 2, 4, 8"]),
    ("matmul", (f32(8, 4), f32(4, 8)), ((2, 1),), ["one tuple per input", "[8, 4]"]),
    ("matmul", (f32(8, 4), f32(4, 8)), ((2,), (1, 1)), ["one split count per axis"]),
    ("conv2d", (f32(8, 4, 15, 16), f32(8, 4, 3, 3)), ((1, 1, 2, 1), (1, 1, 1, 1)), ["13 windows, size 15", "legal: 1"]),
    ("cumsum", (f32(8, 8),), ((8, 1),), ["whole axis", "legal: 1"]),
])
def test_wrong_strategies_tell_op_axis_sizes_and_choices(name, inputs, strategy, pieces):
    op = find(name)
    call = call_of(op, inputs, {"axis": 0} if name == "cumsum" else {})
    with pytest.raises(ValueError) as told:
        chosen("fc", call, strategy, Mesh.over(8))
    for piece in pieces:
        assert piece in str(told.value)


def test_runs_are_few_on_many_devices():
    assert len(list(runs(Mesh.over(8)))) == 3 and len(list(runs(Mesh.over(8), 3))) == 4
    assert len(list(runs(Mesh.over(1024)))) <= 4
    call = call_of(find("matmul"), (f32(64, 8, 64, 64), f32(64, 8, 64, 64)), {})
    assert len(candidates(call, Mesh.over(1024))) < 250
