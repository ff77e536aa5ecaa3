"""What an operation of eager mode costs the host on a GPU, beside PyTorch.

    python -m bench.gpu_dispatch                 microseconds per operation on small tensors, both frameworks
    python -m bench.gpu_dispatch --rounds 9      more rounds (5); they are interleaved, and the best one counts
    python -m bench.gpu_dispatch --parts         besides: what CuPy's allocation and launch cost alone

Small tensors keep the device ahead of the host, so the clock shows what Python, the frameworks and the driver need.
``host`` is the time until the calls have returned, ``all`` the time until the device is done with them as well. A line
"gradient" is forward and backward of one function.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import msnb as ms

SIDE, CALLS = 64, 2000


class Case(NamedTuple):
    """One line: its name, and the same call of both frameworks."""

    name: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any] | None


class Seconds(NamedTuple):
    """Of one call: until it returned, and until the device was done."""

    host: float
    whole: float


def timed(call: Callable[[], Any], wait: Callable[[], Any], calls: int) -> Seconds:
    """One round."""
    wait()
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    returned = time.perf_counter()
    wait()
    return Seconds((returned - begin) / calls, (time.perf_counter() - begin) / calls)


def best(call: Callable[[], Any], wait: Callable[[], Any], calls: int, warm: int = 20) -> Callable[[], Seconds]:
    """A round of a call that has been made often enough to be compiled."""
    for _ in range(warm):
        call()
    return lambda: timed(call, wait, calls)


def tensors() -> tuple[Any, ...]:
    """What the cases work on, for NumPy."""
    rng = np.random.default_rng(0)
    square, row = rng.normal(size=(SIDE, SIDE)), rng.normal(size=SIDE)
    return tuple(a.astype(np.float32) for a in (square, square.T.copy(), row, np.ones(SIDE)))


def cases(torch: Any) -> list[Case]:
    """All lines; without PyTorch its column stays empty."""
    arrays = tensors()
    x, y, row, scale = (ms.Tensor(a) for a in arrays)
    norm = ms.nn.LayerNorm([SIDE])
    grad = {name: ms.grad(f) for name, f in {
        "add": lambda v: (v + y).sum(), "mul": lambda v: (v * y).sum(), "matmul": lambda v: (v @ y).sum(),
        "softmax": lambda v: ms.ops.softmax(v, -1).sum(), "layer_norm": lambda v: norm(v).sum(),
    }.items()}  # fmt: skip
    ours: dict[str, Callable[[], Any]] = {
        "add": lambda: x + y, "mul by a number": lambda: x * 2.5, "add a row": lambda: x + row,
        "exp": lambda: ms.ops.exp(x), "sum": lambda: x.sum(), "mean of rows": lambda: x.mean(1),
        "matmul": lambda: x @ y, "matmul of a transpose": lambda: x @ y.T,
        "softmax": lambda: ms.ops.softmax(x, -1), "layer_norm": lambda: norm(x),
        "concat": lambda: ms.ops.concat((x, y)), "transpose and add": lambda: x.T + y,
    }  # fmt: skip
    ours |= {f"{name}, gradient": (lambda g=g: g(x)) for name, g in grad.items()}
    theirs = {} if torch is None else _of_torch(torch, arrays)
    return [Case(name, call, theirs.get(name)) for name, call in ours.items()]


def _of_torch(torch: Any, arrays: tuple[Any, ...]) -> dict[str, Callable[[], Any]]:
    x, y, row, scale = (torch.from_numpy(a).cuda() for a in arrays)
    functional, zero = torch.nn.functional, torch.zeros_like(scale)
    leaf = x.clone().requires_grad_()
    forward = {
        "add": lambda v: (v + y).sum(), "mul": lambda v: (v * y).sum(), "matmul": lambda v: (v @ y).sum(),
        "softmax": lambda v: functional.softmax(v, -1).sum(),
        "layer_norm": lambda v: functional.layer_norm(v, (SIDE,), scale, zero).sum(),
    }  # fmt: skip
    found: dict[str, Callable[[], Any]] = {
        "add": lambda: x + y, "mul by a number": lambda: x * 2.5, "add a row": lambda: x + row,
        "exp": lambda: x.exp(), "sum": lambda: x.sum(), "mean of rows": lambda: x.mean(1),
        "matmul": lambda: x @ y, "matmul of a transpose": lambda: x @ y.T,
        "softmax": lambda: functional.softmax(x, -1),
        "layer_norm": lambda: functional.layer_norm(x, (SIDE,), scale, zero),
        "concat": lambda: torch.cat((x, y)), "transpose and add": lambda: x.T + y,
    }  # fmt: skip
    return found | {f"{n}, gradient": (lambda f=f: torch.autograd.grad(f(leaf), leaf)) for n, f in forward.items()}


def parts() -> None:
    """What the parts of a call cost by themselves."""
    from msnb.base import device_registry

    device = device_registry.current()
    xp, a = device.xp, ms.Tensor(tensors()[0])._data
    (ms.Tensor(a) * 2.5).asnumpy()
    name = next(n for n in device.cache.made if n.endswith("nv1"))
    function, number = device.cache.function(name), np.int64(SIDE * SIDE // 4)
    out = xp.ndarray((SIDE, SIDE), np.dtype(np.float32))
    lines: dict[str, Callable[[], Any]] = {
        "an array of the pool": lambda: xp.ndarray((SIDE, SIDE), a.dtype),
        "a launch": lambda: function((4, 1, 1), (256, 1, 1), (a, 2.5, out, number)),
        "two questions about an operand": lambda: a._c_contiguous and a.data.ptr & 15,
        "the current stream": device.current_stream,
    }
    for what, call in lines.items():
        print(f"{what:34}{min(best(call, device.synchronize, CALLS)().host for _ in range(5)) * 1e6:8.2f}")


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--parts", action="store_true", help="what CuPy's allocation and launch cost alone")
    options = parser.parse_args()
    ms.set_context(device_target="GPU", mode=ms.PYNATIVE_MODE, jit_level="O1")
    try:
        import torch
    except ImportError:
        torch = None
    wait = ms.runtime.synchronize
    print(f"{'microseconds per call':26}{'host':>8}{'all':>8}{'PyTorch':>10}{'all':>8}{'times':>8}")
    for case in cases(torch):
        rounds = [best(case.ours, wait, options.calls)]
        if case.theirs is not None:
            rounds.append(best(case.theirs, torch.cuda.synchronize, options.calls))
        taken = [[r() for r in rounds] for _ in range(options.rounds)]
        found = [Seconds(min(t[k].host for t in taken), min(t[k].whole for t in taken)) for k in range(len(rounds))]
        numbers = "".join(f"{1e6 * f.host:{8 if k == 0 else 10}.2f}{1e6 * f.whole:8.2f}" for k, f in enumerate(found))
        ratio = f"{found[0].whole / found[1].whole:8.2f}" if len(found) > 1 else ""
        print(f"{case.name:26}{numbers}{ratio}", flush=True)
    if options.parts:
        parts()


if __name__ == "__main__":
    main()
