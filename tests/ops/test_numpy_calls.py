"""What a record says of NumPy (``numpy``, ``view``) is what its body does, bit by bit, for every dtype and layout."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from msnb.core import dtypes
from msnb.core.types import WEAK, tensor_type
from msnb.devices.device import body_kernel, numpy_call
from msnb.ops.definition.record import REGISTRY, Op

NAMES = sorted(name for name, op in REGISTRY.items() if op.numpy is not None or op.view)
DTYPES = [dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.bool_, dtypes.float16, dtypes.complex64]


def layouts(array: Any) -> list[Any]:
    """The same values as they may lie: densely, with the axes turned, as every second element."""
    wide = np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array
    return [array, np.asfortranarray(array), wide]


def cast(x: Any, dtype: dtypes.DType) -> Any:
    """Floats of an example in another dtype; whole numbers and truth values are indices and masks, and stay."""
    return x.astype(dtype.numpy) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x


def types_of(inputs: Any) -> Any:
    return tuple(
        tensor_type(x.shape, dtypes.of_numpy(x.dtype)) if isinstance(x, np.ndarray) else WEAK[type(x)] for x in inputs
    )


def plain(op: Op, types: Any, attrs: Any, monkeypatch: Any) -> Any:
    """The kernel without what the record says of NumPy."""
    with monkeypatch.context() as m:
        m.setattr("msnb.devices.device.numpy_call", lambda *args: None)
        return body_kernel(np, op, types, attrs)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_the_body(name: str, monkeypatch: Any) -> None:
    op, tried, legal = REGISTRY[name], 0, 0
    for example in op.examples:
        attrs = op.bind_attrs(example.attrs)
        for dtype in DTYPES:
            inputs = [cast(np.asarray(x) if isinstance(x, np.generic) else x, dtype) for x in example.inputs]
            types = types_of(inputs)
            try:
                op.result_types(types, attrs)
            except Exception:  # this operation does not take the dtype
                continue
            legal += 1
            direct = numpy_call(np, op, types, attrs)
            if direct is None:
                continue
            body = plain(op, types, attrs, monkeypatch)
            for way in range(3):
                given = [layouts(x)[way] if isinstance(x, np.ndarray) else x for x in inputs]
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    mine, theirs = direct(*given), body(*given)
                pairs = zip(mine, theirs, strict=True) if isinstance(theirs, tuple) else [(mine, theirs)]
                for a, b in pairs:
                    assert type(a) is np.ndarray and a.dtype == b.dtype and a.shape == b.shape, (example, dtype)
                    assert a.tobytes() == b.tobytes(), (example, dtype, way)
                tried += 1
    assert legal
    assert tried or name not in REQUIRED, "no example takes the short way"


@pytest.mark.parametrize("index", [np.int32, np.int64, np.uint8, np.int8, np.uint64])
@pytest.mark.parametrize("lay", range(3))
def test_rows_are_those_of_the_body(index: Any, lay: int, monkeypatch: Any) -> None:
    full = (None, None, None)
    x = layouts(np.arange(60.0, dtype=np.float32).reshape(3, 4, 5))[lay]
    specs: list[Any] = [
        ("t",), (full, "t"), ((0, 3, 1), "t"), (full, full, "t"), ("t", (0, 4, 1)), ("t", (1, 4, 1)), (full, "t", 1),
        ("t", None), ((0, 3, 2), "t"), ("t", (3, None, -1)), (-1, "t"), ("t", "t"), ("t", full, "t"), ("t", "t", "t"),
    ]  # fmt: skip
    for spec in specs:
        for shape in ((), (3,), (2, 2), (0,)):
            sign = -1 if np.issubdtype(index, np.signedinteger) else 1
            places = np.array([i % 3 * sign for i in range(np.prod(shape, dtype=int))], index).reshape(shape)
            given = (x, *[places] * spec.count("t"))
            types = types_of(given)
            direct = numpy_call(np, REGISTRY["index"], types, {"spec": spec})
            body = plain(REGISTRY["index"], types, {"spec": spec}, monkeypatch)
            want = body(*given)
            if direct is None:
                assert want.ndim == 0
                continue
            mine = direct(*given)
            assert type(mine) is np.ndarray and mine.dtype == want.dtype and mine.shape == want.shape, (spec, shape)
            assert mine.tobytes() == want.tobytes() and not np.may_share_memory(mine, x), (spec, shape)


@pytest.mark.parametrize("name", ["sort", "top_k"])
@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_order_with_ties_and_nan_is_that_of_the_body(name: str, axis: int, monkeypatch: Any) -> None:
    rng = np.random.default_rng(3)
    for dtype in (np.float32, np.int32, np.float16):
        for lay in range(3):
            x = rng.integers(0, 4, (3, 4, 5)).astype(dtype)
            if dtype is not np.int32:
                x[rng.random(x.shape) < 0.2] = np.nan
            x = layouts(x)[lay]
            for turned in (False, True):
                for k in range(x.shape[axis] + 1) if name == "top_k" else (0,):
                    attrs: Any = {"axis": axis, "descending": turned}
                    attrs = attrs if name == "sort" else {"k": k, "axis": axis, "largest": turned}
                    direct = numpy_call(np, REGISTRY[name], types_of((x,)), attrs)
                    assert direct is not None
                    for a, b in zip(direct(x), plain(REGISTRY[name], types_of((x,)), attrs, monkeypatch)(x)):
                        assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes(), attrs


@pytest.mark.parametrize("size", [3, 40_000])
def test_stacks_of_any_size_and_layout_are_those_of_the_body(size: int, monkeypatch: Any) -> None:
    for shape in ((size,), (2, size), (size, 0), (1, size, 1), ()):
        for axis in range(-len(shape) - 1, len(shape) + 1):
            for lay in range(3):
                xs = [layouts(np.random.default_rng(i).random(shape))[lay] for i in range(2)]
                types = types_of(xs)
                direct = numpy_call(np, REGISTRY["stack"], types, {"axis": axis})
                want = plain(REGISTRY["stack"], types, {"axis": axis}, monkeypatch)(*xs)
                assert direct is not None
                mine = direct(*xs)
                assert mine.shape == want.shape and mine.tobytes() == want.tobytes(), (shape, axis, lay)
                assert mine.dtype == want.dtype and not any(np.may_share_memory(mine, x) for x in xs)


REQUIRED = {
    "argmax", "argmin", "broadcast_to", "cast", "class_index", "concat", "expand_dims", "index", "index_update",
    "matmul", "max", "mean", "min", "reshape", "sort", "split", "squeeze", "stack", "sum", "sum_to", "top_k",
    "transpose", "unindex", "where",
}  # fmt: skip
