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


REQUIRED = {
    "broadcast_to", "cast", "class_index", "concat", "expand_dims", "index", "matmul", "max", "mean", "min", "reshape",
    "split", "squeeze", "stack", "sum", "sum_to", "transpose", "unindex", "where",
}  # fmt: skip
