"""Layer norm and softmax of 4096 rows of 1024 float32: forward, and forward with all gradients.

The loss is the sum of the result times fixed weights, so that nothing of the gradient cancels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness import Unavailable, per_call, run_case

ROWS, COLUMNS = 4096, 1024


def _data() -> tuple[Any, ...]:
    import numpy as np

    rng = np.random.default_rng(0)
    shapes = ((ROWS, COLUMNS), (COLUMNS,), (COLUMNS,), (ROWS, COLUMNS))
    return tuple(rng.standard_normal(s).astype(np.float32) for s in shapes)


def _timed(**what: Callable[[], Any]) -> dict[str, float]:
    return {name.replace("_", " "): per_call(fn, seconds=1.0, loop=0.05) for name, fn in what.items()}


def with_numpy() -> dict[str, float]:
    import numpy as np

    x, w, b, _ = _data()

    def norm() -> Any:
        apart = x - x.mean(1, keepdims=True)
        return apart / np.sqrt((apart * apart).mean(1, keepdims=True) + 1e-5) * w + b

    def softmax() -> Any:
        e = np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    return _timed(layer_norm_forward=norm, softmax_forward=softmax)


def _msnb(level: str) -> dict[str, float]:
    import numpy as np

    import msnb as ms
    from msnb import ops

    ms.set_context(mode=ms.GRAPH_MODE, jit_level=level)
    x, w, b, d = map(ms.Tensor, _data())
    norm = ms.jit(lambda x, w, b: ops.layer_norm(x, (COLUMNS,), w, b))
    soft = ms.jit(lambda x: ops.softmax(x))
    norm_grad = ms.value_and_grad(lambda x, w, b, d: (ops.layer_norm(x, (COLUMNS,), w, b) * d).sum(), (0, 1, 2))
    soft_grad = ms.value_and_grad(lambda x, d: (ops.softmax(x) * d).sum())
    assert np.allclose(soft(x).asnumpy().sum(1), 1, atol=1e-5)
    return _timed(
        layer_norm_forward=lambda: norm(x, w, b),
        layer_norm_with_gradients=lambda: norm_grad(x, w, b, d),
        softmax_forward=lambda: soft(x),
        softmax_with_gradient=lambda: soft_grad(x, d),
    )


def msnb() -> dict[str, float]:
    return _msnb("O1")


def msnb_reference() -> dict[str, float]:
    return _msnb("O0")


def _torch(compiled: bool) -> dict[str, float]:
    try:
        import torch
        from torch.nn.functional import layer_norm, softmax
    except ImportError as missing:
        raise Unavailable("torch is not installed") from missing
    x, w, b, d = map(torch.from_numpy, _data())
    made = torch.compile if compiled else lambda fn: fn
    norm, soft = made(lambda x, w, b: layer_norm(x, (COLUMNS,), w, b)), made(lambda x: softmax(x, -1))
    xg, wg, bg = (t.clone().requires_grad_() for t in (x, w, b))

    def quiet(fn: Any, *args: Any) -> Any:
        with torch.no_grad():
            return fn(*args)

    try:
        return _timed(
            layer_norm_forward=lambda: quiet(norm, x, w, b),
            layer_norm_with_gradients=lambda: torch.autograd.grad((norm(xg, wg, bg) * d).sum(), (xg, wg, bg)),
            softmax_forward=lambda: quiet(soft, x),
            softmax_with_gradient=lambda: torch.autograd.grad((soft(xg) * d).sum(), xg),
        )
    except RuntimeError as broken:
        raise Unavailable(f"torch.compile does not work here: {str(broken)[:60]}") from broken


def torch_eager() -> dict[str, float]:
    return _torch(False)


def torch_compiled() -> dict[str, float]:
    return _torch(True)


if __name__ == "__main__":
    run_case(
        "Layer norm and softmax, 4096 rows of 1024",
        {"torch": torch_eager, "torch compiled": torch_compiled, "numpy": with_numpy, "msnb": msnb,
         "msnb reference": msnb_reference},
        baseline="torch",
    )  # fmt: skip
