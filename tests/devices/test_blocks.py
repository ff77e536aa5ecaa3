"""Orders of memory in blocks, and tensors whose value lies so: every look finds the plain value."""

from __future__ import annotations

import copy
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import msnb as ms
from msnb import ops
from msnb.core.storage.memory_format import BlockedFormat
from msnb.core.storage.packed_storage import give, kept_of, take
from msnb.core.types import tensor_type

BLOCKS = BlockedFormat((0, 1, 2, 3), ((1, 4), (0, 2)))


@st.composite
def orders(draw: Any) -> tuple[BlockedFormat, tuple[int, ...]]:
    axes = draw(st.integers(1, 4))
    inner = draw(st.lists(st.tuples(st.integers(0, axes - 1), st.integers(1, 4)), max_size=3))
    blocks = BlockedFormat(tuple(draw(st.permutations(range(axes)))), tuple(inner))
    outer = draw(st.lists(st.integers(0, 3), min_size=axes, max_size=axes))
    sizes = np.array(outer)
    for axis, size in inner:
        sizes[axis] *= size
    return blocks, tuple(int(n) for n in sizes)


@given(orders())
def test_blocks_move_every_element_and_bring_it_back(case: tuple[BlockedFormat, tuple[int, ...]]) -> None:
    blocks, dims = case
    plain = np.arange(np.prod(dims, dtype=int)).reshape(dims)
    there = blocks.block(np, plain)
    assert blocks.fits(dims) and there.shape == blocks.shape(dims) and blocks.dims(there.shape) == dims
    assert there.flags.c_contiguous and not np.shares_memory(there, plain)
    np.testing.assert_array_equal(blocks.unblock(np, there), plain)


def test_the_last_block_lies_together() -> None:
    plain = np.arange(2 * 4).reshape(2, 4)
    there = BlockedFormat((0, 1), ((1, 2), (0, 2))).block(np, plain)
    assert there.ravel().tolist() == [0, 4, 1, 5, 2, 6, 3, 7]


def test_a_name_says_the_order() -> None:
    assert str(BlockedFormat((0, 1, 2, 3), ((1, 16), (0, 16)))) == "ABcd16b16a"
    assert str(BlockedFormat((0, 2, 3, 1), ((0, 64),))) == "Acdb64a"


def test_sizes_that_do_not_divide_do_not_fit() -> None:
    assert not BLOCKS.fits((2, 6, 3, 3)) and not BLOCKS.fits((2, 4, 3)) and BLOCKS.fits((4, 8, 3, 3))


# ---- tensors in blocks -------------------------------------------------------------------------------------------


def parameter(rng: np.random.Generator) -> tuple[ms.Parameter, np.ndarray[Any, Any]]:
    value = rng.standard_normal((4, 8, 3, 2)).astype(np.float32)
    return ms.Parameter(ms.Tensor(value), name="w"), value


def in_blocks(rng: np.random.Generator) -> tuple[ms.Parameter, np.ndarray[Any, Any]]:
    p, value = parameter(rng)
    take(p, BLOCKS)
    return p, value


LOOKS = {
    "asnumpy": lambda p: p.asnumpy(),
    "array": np.asarray,
    "dlpack": lambda p: np.from_dlpack(p),
    "value": lambda p: p.value().asnumpy(),
    "copy": lambda p: copy.copy(p).asnumpy(),
    "deepcopy": lambda p: copy.deepcopy(p).asnumpy(),
    "pickle": lambda p: pickle.loads(pickle.dumps(p)).asnumpy(),
    "clone": lambda p: p.clone().asnumpy(),
    "tensor": lambda p: ms.Tensor(p).asnumpy(),
    "list": lambda p: np.array(p.tolist(), np.float32),
    "operation": lambda p: (p + 0).asnumpy(),
    "unary": lambda p: (-(-p)).asnumpy(),
    "slice": lambda p: ops.stack([p[i] for i in range(4)]).asnumpy(),
    "graph": lambda p: ms.jit(lambda: p * 1)().asnumpy(),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_every_look_finds_the_plain_value(look: Any, rng: np.random.Generator) -> None:
    p, value = in_blocks(rng)
    for _ in range(2):
        np.testing.assert_array_equal(look(p), value)
    assert p.shape == value.shape and p.dtype is ms.float32 and p.device == "CPU"


def test_it_prints_as_ever(rng: np.random.Generator) -> None:
    p, _ = parameter(rng)
    texts = repr(p), str(p), p._repr_html_()
    take(p, BLOCKS)
    assert (repr(p), str(p), p._repr_html_()) == texts


def test_a_gradient_flows_through_it(rng: np.random.Generator) -> None:
    p, value = in_blocks(rng)
    gradient = ms.grad(lambda: (p * p).sum(), None, [p])()
    np.testing.assert_allclose(gradient[0].asnumpy(), 2 * value, rtol=1e-6)


def test_a_checkpoint_holds_plain_values(rng: np.random.Generator, tmp_path: Path) -> None:
    p, value = in_blocks(rng)
    ms.save_checkpoint([{"name": "w", "data": p}], str(tmp_path / "w.ckpt"))
    np.testing.assert_array_equal(ms.load_checkpoint(str(tmp_path / "w.ckpt"))["w"].asnumpy(), value)


def test_a_new_value_counts_and_the_old_blocks_go(rng: np.random.Generator) -> None:
    p, value = in_blocks(rng)
    p.set_data(ms.Tensor(value + 1))
    assert kept_of(p) is None and p._kept is None
    np.testing.assert_array_equal(p.asnumpy(), value + 1)
    p[0] = 5.0
    assert p.asnumpy()[0].min() == p.asnumpy()[0].max() == 5


def test_a_plain_copy_lasts_until_the_next_step(rng: np.random.Generator) -> None:
    p, value = in_blocks(rng)
    kept = kept_of(p)
    assert kept is not None and not kept.looked_at
    assert p._data is p._data and kept.looked_at
    array = take(p, BLOCKS)
    again = kept_of(p)
    assert again is not None and array is kept.array is again.array and not again.looked_at
    give(p, array * 2, BLOCKS, tensor_type(value.shape, ms.float32))
    np.testing.assert_array_equal(p.asnumpy(), value * 2)


def test_other_blocks_are_made_of_the_value(rng: np.random.Generator) -> None:
    p, value = in_blocks(rng)
    other = BlockedFormat((0, 2, 3, 1), ((0, 4),))
    np.testing.assert_array_equal(other.unblock(np, take(p, other)), value)
    np.testing.assert_array_equal(p.asnumpy(), value)


def test_looks_from_several_threads_agree(rng: np.random.Generator) -> None:
    p, value = in_blocks(rng)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(p.asnumpy())) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 8 and all(np.array_equal(a, value) for a in found)


def test_a_tensor_without_a_value_says_so() -> None:
    with pytest.raises(AttributeError, match="_kept"):
        _ = object.__new__(ms.Tensor)._data
