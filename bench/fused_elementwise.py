"""A chain of elementwise functions over four million float32: relu(sigmoid(tanh(x))), forward and with its gradient.

A chain costs one pass over memory when it is one kernel and one pass per function when it is not. `compile` is what a
user waits for before the first result of a compiled program.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from harness import Unavailable, per_call, run_case

SIZE = 4_000_000


def _data() -> Any:
    import numpy as np

    return np.random.default_rng(0).standard_normal(SIZE).astype(np.float32)


def _check(y: Any, x: Any) -> None:
    import numpy as np

    want = np.maximum(1 / (1 + np.exp(-np.tanh(x[:1000].astype(np.float64)))), 0)
    assert np.allclose(np.asarray(y)[:1000], want, rtol=1e-5), "a wrong result is never fast"


def _timed(forward: Callable[[], Any], gradient: Callable[[], Any]) -> dict[str, float]:
    start = time.perf_counter()
    forward()
    first = time.perf_counter() - start
    gradient()
    return {
        "forward": per_call(forward, seconds=1.0, loop=0.05),
        "forward and gradient": per_call(gradient, seconds=1.0, loop=0.05),
        "first call": first,
    }


def with_numpy() -> dict[str, float]:
    import numpy as np

    x = _data()

    def forward() -> Any:
        return np.maximum(1 / (1 + np.exp(-np.tanh(x))), 0)

    def gradient() -> Any:
        t = np.tanh(x)
        s = 1 / (1 + np.exp(-t))
        return s.sum(), (s > 0) * s * (1 - s) * (1 - t * t)

    _check(forward(), x)
    return _timed(forward, gradient)


def _msnb(level: str) -> dict[str, float]:
    import msnb as ms
    from msnb import ops

    ms.set_context(mode=ms.GRAPH_MODE, jit_level=level)
    x = ms.Tensor(_data())
    chain = lambda x: ops.relu(ops.sigmoid(ops.tanh(x)))
    forward = ms.jit(chain)
    gradient = ms.value_and_grad(lambda x: chain(x).sum())
    found = _timed(lambda: forward(x), lambda: gradient(x))
    _check(forward(x).asnumpy(), x.asnumpy())
    return found


def msnb() -> dict[str, float]:
    return _msnb("O1")


def msnb_reference() -> dict[str, float]:
    return _msnb("O0")


def _torch(compiled: bool) -> dict[str, float]:
    try:
        import torch
    except ImportError as missing:
        raise Unavailable("torch is not installed") from missing
    x = torch.from_numpy(_data())
    wanted = x.clone().requires_grad_()

    def chain(x: Any) -> Any:
        return torch.relu(torch.sigmoid(torch.tanh(x)))

    run = torch.compile(chain) if compiled else chain

    def forward() -> Any:
        with torch.no_grad():
            return run(x)

    def gradient() -> Any:
        return torch.autograd.grad(run(wanted).sum(), wanted)

    try:
        _check(forward().numpy(), _data())
    except RuntimeError as broken:
        raise Unavailable(f"torch.compile does not work here: {str(broken)[:60]}") from broken
    return _timed(forward, gradient)


def torch_eager() -> dict[str, float]:
    return _torch(False)


def torch_compiled() -> dict[str, float]:
    return _torch(True)


if __name__ == "__main__":
    run_case(
        "A chain of elementwise functions, 4M float32",
        {"torch": torch_eager, "torch compiled": torch_compiled, "numpy": with_numpy, "msnb": msnb,
         "msnb reference": msnb_reference},
        baseline="torch",
    )  # fmt: skip
