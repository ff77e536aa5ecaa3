"""Copies with strides, and rows of tables by index, against the reference bodies."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.ops.definition.record import REGISTRY, find
from tests.devices.cpu.codegen_programs import REFERENCE, buffers, one_op
from tests.devices.cpu.test_codegen_calls import Declined, find_recipe, run

pytest.importorskip("llvmlite")
MOVES = ["reshape", "transpose", "expand_dims", "squeeze", "broadcast_to", "slice", "index", "concat", "stack", "split",
         "unslice", "unindex", "index_update", "slice_update", "gather", "class_index"]  # fmt: skip


def compare(op: Any, inputs: list[ms.Tensor], attrs: dict[str, Any], threads: int = 1) -> bool:
    """False where there is no recipe."""
    graph = one_op(op, inputs, attrs)
    if find_recipe(graph.nodes[-1], lambda v: _whole(v)) is None:
        return False
    for got, want in zip(run(graph.nodes[-1], buffers(inputs), threads), REFERENCE.compile(graph)(buffers(inputs))):
        np.testing.assert_array_equal(got, want)
    return True


def _whole(value: Any) -> Any:
    from msnb.ir.kernel.strided_views import whole

    return whole(value)


@pytest.mark.parametrize("name", MOVES)
def test_examples_of_the_record(name: str) -> None:
    found = 0
    for example in REGISTRY[name].examples:
        arrays = [np.asarray(x) for x in example.inputs]
        for dtype in (np.float32, np.float64, np.int32, np.bool_, np.int8):
            cast = [a.astype(dtype) if a.dtype.kind == "f" else a for a in arrays]
            found += compare(find(name), [ms.Tensor(a) for a in cast], dict(example.attrs))
    assert found, f"no example of {name} has a recipe"


@pytest.mark.parametrize("name", ["concat", "stack", "split"])
def test_parts_that_differ_in_their_place_have_one_code(name: str, rng: np.random.Generator) -> None:
    x = [ms.Tensor(rng.standard_normal((1 + (name == "split") * 11, 5)).astype(np.float32)) for _ in range(12)]
    inputs, attrs = (x[:1], {"sizes": (1,) * 12, "axis": 0}) if name == "split" else (x, {"axis": 0})
    assert compare(find(name), inputs, attrs)
    made = find_recipe(one_op(find(name), inputs, attrs).nodes[-1], _whole)
    assert made is not None
    type(made).prepare([made])
    assert len(made.parts) == 12
    assert len(made.made) == 1
    begins = [(name != "split", 5 * k) for k in range(1, 12)]
    assert [each for p in made.parts for each in p.kernel.shifts.items()] == begins, "the caller adds them"
    assert not made.inplace, "a part is no whole result"


def test_a_part_of_a_result_is_no_chain_of_any_extent() -> None:
    from msnb.devices.codegen.size_generic import generic
    from msnb.ir.kernel.kernel_ir import Access, Buffer, Inst, Kernel

    load = Inst("load", (), ms.float32, Access(0, (1,)), frozenset({0}))
    for offset in (0, 2):
        kernel = Kernel("k", (4,), frozenset({0}), [Buffer(ms.float32, 4)], [Buffer(ms.float32, 4 + offset)])
        kernel.stores = [(Access(1, (1,), offset), load)]
        assert (generic(kernel.take_offsets()) is None) == bool(offset)
        assert kernel.shifts == ({1: 2} if offset else {})


@pytest.mark.parametrize("shape", [(5, 7), (64, 48), (130, 33), (3, 65, 17), (2, 16, 5, 9), (1, 1000), (1000, 3)])
def test_transposes_of_odd_sizes(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    for dtype in (np.float32, np.int8, np.float64, np.int16):
        x = ms.Tensor((rng.standard_normal(shape) * 50).astype(dtype))
        axes = range(len(shape))
        for perm in {tuple(reversed(axes)), (*axes[1:], 0), (axes[-1], *axes[:-1]), (0, *reversed(axes[1:]))}:
            assert compare(find("transpose"), [x], {"perm": perm}, threads=2)


@pytest.mark.parametrize("n", [1, 3, 63, 64, 65, 1000, 200_001])
def test_uniform_draws_have_the_bits_of_the_body(n: int) -> None:
    for key in ([7, 3], [2**64 - 1, 2**63 + 5], [2**40, 2**33]):
        for threads in (1, 3):
            assert compare(find("random_uniform"), [ms.Tensor(np.array(key, np.uint64))], {"shape": (n,)}, threads)


def test_rows_by_index(rng: np.random.Generator) -> None:
    x = ms.Tensor(rng.standard_normal((50, 130)).astype(np.float32))
    for kind in (np.int32, np.int64):
        index = ms.Tensor(rng.integers(-50, 50, (7, 30)).astype(kind))
        assert compare(find("gather"), [x, index], {"axis": 0}, threads=3)
        assert compare(find("gather"), [x, index], {"axis": 1}, threads=3)


@pytest.mark.parametrize("shape", [(900, 300), (20, 3), (1000, 1)])
def test_adding_to_rows_by_index(shape: tuple[int, int], rng: np.random.Generator) -> None:
    index = ms.Tensor(rng.integers(-shape[0], shape[0], 2000).astype(np.int32))
    for dtype in (np.float32, np.float64, np.int32):
        y = ms.Tensor((rng.standard_normal((2000, shape[1])) * 9).astype(dtype))
        spec = ("t", (None, None, None))
        for threads in (1, 3):
            assert compare(find("unindex"), [y, index], {"spec": spec, "shape": shape}, threads)


def test_indices_out_of_range_are_declined(rng: np.random.Generator) -> None:
    x = ms.Tensor(rng.standard_normal((5, 4)).astype(np.float32))
    for bad in (5, -6, 2**40):
        index = ms.Tensor(np.array([0, bad, 1]))
        graph = one_op(find("gather"), [x, index], {"axis": 0})
        with pytest.raises(Declined):
            run(graph.nodes[-1], buffers([x, index]))
    labels = ms.Tensor(np.array([0, 3, -100], np.int32))
    node = one_op(find("class_index"), [labels], {"classes": 3, "ignore": -100}).nodes[-1]
    with pytest.raises(Declined):
        run(node, buffers([labels]))


def test_views_of_views_are_read_where_they_lie(rng: np.random.Generator) -> None:
    """The recipe reads the base of the view it is given."""
    from msnb.devices.cpu.codegen import kernel_library
    from msnb.ir.kernel.strided_views import apply_view, whole

    x = ms.Tensor(rng.standard_normal((6, 10)).astype(np.float32))
    graph = one_op(find("transpose"), [x], {"perm": (1, 0)})
    second = graph.add(find("slice"), [graph.nodes[0].out], {"begin": (2, 1), "end": (9, 6), "step": (3, 2)},
                       [ms.Tensor(np.zeros((3, 3), np.float32))._type])  # fmt: skip
    found = kernel_library.recipe(
        second, lambda v: whole(v) if v.node is None else apply_view(v.node, whole(v.node.inputs[0]))
    )
    assert found is not None and found.reads == (graph.params[0],)


def moved(x: ms.Tensor, at: tuple[slice, ...], perm: tuple[int, ...]) -> ms.Tensor:
    return x[at].transpose(perm)


def test_transposes_of_slices_with_steps() -> None:
    """Layouts with gaps, which the library does not copy from in every order of axes."""
    rng = np.random.default_rng(SEED := int(os.environ.get("MSNB_SEED", time.time_ns() % 10**6)))
    for turn in range(40):
        shape = tuple(int(n) for n in rng.integers(1, 6, rng.integers(2, 5)))
        x = rng.standard_normal(shape).astype(rng.choice([np.float32, np.int32, np.float64]))
        at = tuple(slice(None, None, int(rng.choice([-2, -1, 1, 2, 3]))) for _ in shape)
        perm = tuple(int(p) for p in rng.permutation(len(shape)))
        found = ms.jit(moved)(ms.Tensor(x), at, perm)
        np.testing.assert_array_equal(found.asnumpy(), x[at].transpose(perm), f"seed {SEED}, turn {turn}: {at}, {perm}")
