"""Every record's examples on the GPU against the CPU: bodies over CuPy, eager kernels, compiled graphs.

An eager operation is done three times: its kernels are made for what comes again.

Integers and truth values are equal; floats are as near as two libraries of functions are. The results of a random
operator are drawn from the same counters, so they are compared like all others.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

import msnb as ms
from msnb.ops.definition.record import REGISTRY, Example, Op

STRUCTURE = {"constant", "custom_gradient", "with_vjp", "refuse_gradient"}
SIGNS = {"svd", "eigh", "eig", "qr"}  # vectors are unique but for their signs, and libraries choose
RECORDS = [op for op in REGISTRY.values() if not op.traits & {"control", "stack", "effect", "collective"}
           and op.name not in STRUCTURE]  # fmt: skip
CASES = [pytest.param(op, e, id=f"{op.name}-{i}") for op in RECORDS for i, e in enumerate(op.examples)]
DIGITS = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "complex64": 1e-5}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def arrays(op: Op, example: Example, device: str, way: str) -> list[np.ndarray]:
    """What an example gives there."""
    with ms.set_context(device_target=device, jit_level="O0" if way == "bodies" else "O1"):
        given = [ms.Tensor(x) if isinstance(x, (np.ndarray, np.generic)) else x for x in example.inputs]
        call = lambda *inputs: op(*inputs, **example.attrs)
        call = ms.jit(call) if way == "graph" else call
        for _ in range(3 if way == "eager" else 1):
            ms.set_seed(3)
            found = call(*given)
        parts = found if isinstance(found, tuple) else (found,)
        assert all(part.device == device for part in parts if isinstance(part, ms.Tensor))
        return [np.asarray(part.asnumpy()) for part in parts if isinstance(part, ms.Tensor)]


def near(found: np.ndarray, want: np.ndarray, loose: bool) -> None:
    """Equal, or as equal as floats of this dtype can be asked to be."""
    assert (found.dtype, found.shape) == (want.dtype, want.shape)
    digits = DIGITS.get(found.dtype.name, 1e-9)
    if found.dtype.name == "bfloat16":
        found, want = found.astype(np.float32), want.astype(np.float32)
    if found.dtype.kind not in "fc":
        np.testing.assert_array_equal(found, want)
        return
    finite = np.abs(want[np.isfinite(want)])
    size = max(float(finite.max()) if finite.size else 0.0, 1e-30)
    if loose:
        found, want = np.abs(found), np.abs(want)
    np.testing.assert_allclose(found, want, rtol=digits, atol=digits * size)


@pytest.mark.parametrize("way", ["bodies", "eager", "graph"])
@pytest.mark.parametrize("op, example", CASES)
def test_as_on_the_cpu(op: Op, example: Example, way: str, gpu: str) -> None:
    want = arrays(op, example, "CPU", "bodies")
    found = arrays(op, example, gpu, way)
    assert len(found) == len(want)
    for here, there in zip(found, want):
        near(here, there, op.name in SIGNS)
