"""Methods of NumPy arrays from outside read what the arrays hold at each call, in both modes."""

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor


class Held:
    array = np.zeros(3)


EXPRESSIONS = [
    "a.tolist()", "a.copy()", "a.copy()[0]", "a.item(0)", "a[:1].item()", "a.astype(np.float32)", "a.reshape(1, 3)",
    "a.T", "a.transpose()", "a.flatten()", "a.ravel()", "a.tobytes()", "a.dot(a)", "a @ a", "a.argmax()",
    "a.argmin()", "a.argsort()", "a.nonzero()", "a.searchsorted(1.5)", "a.cumsum()", "a.cumprod()", "a.take([0, 2])",
    "a.repeat(2)", "a.round()", "a.clip(0, 2)", "a.sum()", "a.mean()", "a.max()", "a.min()", "a.std()", "a.prod()",
    "a.any()", "a.all()", "a.squeeze()", "a.view(np.int64)", "a.trace() if a.ndim > 1 else 0",
    "a.diagonal() if a.ndim > 1 else 0", "len(a)", "list(a)", "a[0] if a[0] else 5", "5 if a[:1] else 6", "1.0 in a",
    "f'{a}'", "str(a)", "a.swapaxes(0, 0)", "a.conj()", "a.real", "a.flat[0]", "np.asarray(a)[0]", "np.array(a)",
    "x * a.astype(np.float32)", "x * Tensor(a.reshape(-1))", "x + Tensor(a.T.copy(), ms.float32)",
    "x[int(a.argmax()) :]", "Tensor(a[::-1].copy())", "a.shape", "a.dtype", "a.size",
]  # fmt: skip


def shown(value):
    if isinstance(value, Tensor):
        return str(value.dtype), value.shape, value.tolist()
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.tolist()
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(shown, value)]
    return type(value).__name__, str(value)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_both_modes(expression):
    space = {**globals(), "np": np, "ms": ms}
    exec(f"def f(x):\n    a = Held.array\n    return {expression}\n", space)
    found, x = [], Tensor([1.0, 2.0, 3.0])
    for run in (space["f"], ms.jit(space["f"])):
        Held.array = np.array([1.0, 0.0, 2.0])
        told = []
        for at, value in ((0, 3.0), (1, 7.0), (0, 0.0), (0, 1.0), (2, 5.0)):
            Held.array[at] = value
            told.append(shown(run(x)))
        found.append(told)
    assert found[0] == found[1]
