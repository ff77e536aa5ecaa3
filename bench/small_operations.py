"""What a call costs when there is almost nothing to compute: microseconds of common operations on [4, 8], eagerly, and
of some where there is a little, on [256, 1000] and [64, 128, 768], or of the size that they say.

    python -m bench.small_operations                 all, here and in PyTorch (make bench-peers PEERS=torch)
    python -m bench.small_operations softmax sum     these

Two numbers for each: alone, and while a gradient is recorded. Every side runs in a process of its own on one thread;
the best of several rounds of its thread's time counts, whatever else the machine does.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
ROUNDS, TIMES, PASSES = 7, 300, 3
# name: (here, in PyTorch), with x and y [4, 8], v [8], w [16, 8], p [256, 4], i [2] of integers, classes [4], dense a
# layer 8 -> 16
CASES: dict[str, tuple[str, str]] = {
    "add": ("x + x", "x + x"),
    "multiply by a number": ("x * 2.0", "x * 2.0"),
    "number minus it": ("1.0 - x", "1.0 - x"),
    "exp": ("ops.exp(x)", "torch.exp(x)"),
    "relu": ("ops.relu(x)", "F.relu(x)"),
    "sigmoid": ("ops.sigmoid(x)", "torch.sigmoid(x)"),
    "clamp": ("ops.clamp(x, -1.0, 1.0)", "torch.clamp(x, -1.0, 1.0)"),
    "where": ("ops.where(x > 0, x, 0.0)", "torch.where(x > 0, x, 0.0)"),
    "index": ("x[0]", "x[0]"),
    "slice": ("x[:, 1:3]", "x[:, 1:3]"),
    "index by a tensor": ("x[i]", "x[i]"),
    "write at an index": ("y.__setitem__(0, v)", "y.__setitem__(0, v)"),
    "write a number": ("y.__setitem__((0, 1), 2.0)", "y.__setitem__((0, 1), 2.0)"),
    "index_add": ("y.index_add(0, i, x[:2])", "y.index_add(0, i, x[:2])"),
    "reshape": ("x.reshape(8, 4)", "x.reshape(8, 4)"),
    "transpose": ("x.T", "x.T"),
    "unsqueeze": ("x.unsqueeze(0)", "x.unsqueeze(0)"),
    "flatten": ("x.flatten()", "x.flatten()"),
    "expand": ("v.expand(4, 8)", "v.expand(4, 8)"),
    "concat": ("ops.cat([x, x])", "torch.cat([x, x])"),
    "stack": ("ops.stack([x, x])", "torch.stack([x, x])"),
    "split": ("ops.split(x, 2)", "torch.split(x, 2)"),
    "sum": ("x.sum()", "x.sum()"),
    "mean of an axis": ("x.mean(-1)", "x.mean(-1)"),
    "max": ("x.max()", "x.max()"),
    "argmax": ("x.argmax(1)", "x.argmax(1)"),
    "std": ("x.std()", "x.std()"),
    "norm": ("ops.norm(x)", "torch.linalg.norm(x)"),
    "cumsum": ("x.cumsum(0)", "x.cumsum(0)"),
    "topk": ("ops.topk(v, 2)", "torch.topk(v, 2)"),
    "gather": ("ops.gather_elements(x, 1, places)", "torch.gather(x, 1, places)"),
    "one_hot": ("ops.one_hot(i, 5)", "F.one_hot(i, 5)"),
    "zeros": ("ops.zeros((4, 8))", "torch.zeros(4, 8)"),
    "matmul": ("x @ w.T", "x @ w.T"),
    "einsum": ("ops.einsum('ij,kj->ik', x, w)", "torch.einsum('ij,kj->ik', x, w)"),
    "dense layer": ("dense(x)", "dense(x)"),
    "layer_norm": ("norm(x)", "norm(x)"),
    "gelu": ("ops.gelu(x)", "F.gelu(x)"),
    "silu": ("ops.silu(x)", "F.silu(x)"),
    "softmax": ("ops.softmax(x, -1)", "F.softmax(x, -1)"),
    "log_softmax": ("ops.log_softmax(x, -1)", "F.log_softmax(x, -1)"),
    "mse_loss": ("ops.mse_loss(x, x)", "F.mse_loss(x, x)"),
    "cross_entropy": ("ops.cross_entropy(x, classes)", "F.cross_entropy(x, classes)"),
    "smooth_l1_loss": ("ops.smooth_l1_loss(x, x)", "F.smooth_l1_loss(x, x)"),
    "kl_div": ("ops.kl_div(x, x)", "F.kl_div(x, x, reduction='batchmean')"),
    "bce_with_logits": ("ops.binary_cross_entropy_with_logits(x, x)", "F.binary_cross_entropy_with_logits(x, x)"),
    "cosine_similarity": ("ops.cosine_similarity(x, x, -1)", "F.cosine_similarity(x, x, -1)"),
    "logsumexp": ("ops.logsumexp(x, -1)", "torch.logsumexp(x, -1)"),
    "cube": ("x ** 3", "x ** 3"),
    "erf": ("ops.erf(x)", "torch.erf(x)"),
    "atan2": ("ops.atan2(x, x)", "torch.atan2(x, x)"),
    "tan": ("ops.tan(x)", "torch.tan(x)"),
    "sinh": ("ops.sinh(x)", "torch.sinh(x)"),
    "minimum of pairs": ("ops.minimum(p[:, None], p[None])", "torch.minimum(p[:, None], p[None])"),
    "cdist": ("ops.cdist(p, p)", "torch.cdist(p, p)"),
    "item": ("v[0].item()", "v[0].item()"),
    "remainder [256, 1000]": ("m % rowsm", "m % rowsm"),
    "erfinv [256, 1000]": ("ops.erfinv(u)", "torch.erfinv(u)"),
    "lgamma [256, 1000]": ("ops.lgamma(m)", "torch.lgamma(m)"),
    "cummax [256, 1000]": ("ops.cummax(m, 1)", "torch.cummax(m, 1)"),
    "cummax down [256, 1000]": ("ops.cummax(m, 0)", "torch.cummax(m, 0)"),
    "prod [256, 1000]": ("ops.prod(m, 1)", "torch.prod(m, 1)"),
    "clamp [256, 1000]": ("ops.clamp(m, -1.0, 1.0)", "torch.clamp(m, -1.0, 1.0)"),
    "nll_loss [256, 1000]": ("ops.nll_loss(m, classesm)", "F.nll_loss(m, classesm)"),
    "unique [20000]": ("ops.unique(many, True, True)", "torch.unique(many, return_inverse=True, return_counts=True)"),
    "triangle [200, 200]": ("ops.solve_triangular(t, t)", "torch.linalg.solve_triangular(t, t, upper=True)"),
    "rfft [256, 1024]": ("ops.rfft(q)", "torch.fft.rfft(q)"),
    "irfft [256, 1024]": ("ops.irfft(ops.rfft(q))", "torch.fft.irfft(torch.fft.rfft(q))"),
    "fft [256, 1024]": ("ops.fft(c)", "torch.fft.fft(c)"),
    "fft2 [256, 1024]": ("ops.fft2(c)", "torch.fft.fft2(c)"),
    "fft [65536]": ("ops.fft(c65536)", "torch.fft.fft(c65536)"),
}
MEDIUM = ("softmax", "log_softmax", "gelu", "silu", "sigmoid", "layer_norm", "cross_entropy", "cumsum", "norm", "std",
          "relu", "sum", "mse_loss", "smooth_l1_loss", "kl_div", "bce_with_logits", "cosine_similarity", "logsumexp",
          "cube", "erf", "atan2", "tan", "sinh")  # fmt: skip
for _name in MEDIUM:
    for _size, _letter in {"[256, 1000]": "m", "[64, 128, 768]": "z"}.items():
        CASES[f"{_name} {_size}"] = tuple(  # type: ignore[assignment]
            re.sub(r"\bx\b", _letter, side).replace("norm(", f"norm{_letter}(" if _name == "layer_norm" else "norm(")
            .replace(f"{_letter}, classes", f"rows{_letter}, classes{_letter}")
            for side in CASES[_name]
        )  # fmt: skip
Names = dict[str, Any]


def arrays() -> Names:
    """The operands of every case."""
    rng = np.random.default_rng(0)
    shapes = {"x": (4, 8), "v": (8,), "w": (16, 8), "y": (4, 8), "p": (256, 4), "m": (256, 1000), "z": (64, 128, 768)}
    shapes |= {"rowsm": (256, 1000), "rowsz": (8192, 768)}
    found: Names = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    found |= {"many": rng.integers(0, 500, 20000), "u": rng.uniform(-1, 1, (256, 1000)).astype(np.float32)}
    found |= {"q": rng.standard_normal((256, 1024)).astype(np.float32), "c": found["m"][:, :1] + 1j * np.arange(1024)}
    found["c"] = found["c"].astype(np.complex64)
    found |= {"c65536": found["c"].reshape(-1)[:65536].copy(), "t": found["m"][:200, :200] / 20 + np.eye(200)}
    return found | {"t": found["t"].astype(np.float32)}


def here() -> tuple[Names, Callable[[Callable[[Names], None], Names], None]]:
    """The names that expressions read, and what runs something while a gradient is recorded."""
    import msnb as ms
    from msnb import nn, ops

    ms.set_context(mode=ms.PYNATIVE_MODE, runtime_num_threads=1)
    names = {name: ms.Tensor(a) for name, a in arrays().items()}
    names |= {"i": ms.Tensor([1, 2]), "classes": ms.Tensor([0, 1, 2, 3]), "places": ops.zeros((4, 1), ms.int64)}
    names |= {"ops": ops, "dense": nn.Dense(8, 16), "norm": nn.LayerNorm((8,))}
    names |= {"normm": nn.LayerNorm((1000,)), "normz": nn.LayerNorm((768,))}
    names |= {f"classes{k}": ops.zeros((n,), ms.int64) for k, n in {"m": 256, "z": 8192}.items()}

    def recorded(run: Callable[[Names], None], names: Names) -> None:
        def loss(x: Any, v: Any, w: Any) -> Any:
            run({**names, "x": x, "v": v, "w": w, "y": names["x"].copy()})
            return x.sum()

        ms.grad(loss, (0, 1, 2))(names["x"], names["v"], names["w"])

    return names, recorded


def in_torch() -> tuple[Names, Callable[[Callable[[Names], None], Names], None]]:
    """The same of PyTorch."""
    import torch
    from torch.nn import functional

    torch.set_num_threads(1)
    names = {name: torch.from_numpy(a) for name, a in arrays().items()}
    names |= {"i": torch.tensor([1, 2]), "classes": torch.arange(4), "places": torch.zeros(4, 1, dtype=torch.int64)}
    names |= {"torch": torch, "F": functional, "dense": torch.nn.Linear(8, 16), "norm": torch.nn.LayerNorm(8)}
    names |= {"normm": torch.nn.LayerNorm(1000), "normz": torch.nn.LayerNorm(768)}
    names |= {f"classes{k}": torch.zeros(n, dtype=torch.int64) for k, n in {"m": 256, "z": 8192}.items()}

    def recorded(run: Callable[[Names], None], names: Names) -> None:
        run({**names, **{k: names[k].clone().requires_grad_() for k in "xvw"}, "y": names["y"].clone()})

    return names, recorded


def measure(side: str, chosen: list[str]) -> None:
    """Print name, microseconds alone, microseconds while recorded."""
    names, recorded = in_torch() if side == "torch" else here()
    for name in chosen:
        source = f"lambda: {CASES[name][side == 'torch']}"
        found: list[float] = []

        def run(scope: Names, source: str = source, found: list[float] = found) -> None:
            found.append(best(eval(source, scope)))  # the expressions of this file

        run(dict(names))
        recorded(run, names)
        print(f"{name}\t{found[0]:.2f}\t{found[1]:.2f}", flush=True)


def best(call: Callable[[], Any]) -> float:
    """Microseconds of a call."""
    for _ in range(60):
        start = time.thread_time()
        call()
    times = max(1, min(TIMES, int(0.01 / max(time.thread_time() - start, 1e-6))))
    rounds = []
    for _ in range(ROUNDS):
        start = time.thread_time()
        for _ in range(times):
            call()
        rounds.append(time.thread_time() - start)
    return min(rounds) / times * 1e6


def rows(side: str, python: Path, cases: list[str]) -> list[list[str]]:
    """What ``measure`` prints in a process of its own."""
    command = [str(python), "-m", "bench.small_operations", "--measure", side, *cases]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    printed = subprocess.run(command, cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE, check=True).stdout
    return [line.split("\t") for line in printed.splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=[*CASES])
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure, given.cases)
        return 0
    from bench.contestants import python_of

    pythons = {"here": Path(sys.executable), "torch": python_of("torch")}
    if pythons["torch"] is None:
        print("PyTorch is not installed: make bench-peers PEERS=torch")
    found: dict[str, dict[str, list[float]]] = {}
    for _ in range(PASSES):  # in turn: what the machine does beside meets both
        for side, python in pythons.items():
            for name, *numbers in rows(side, python, given.cases) if python is not None else ():
                before = found.setdefault(name, {}).get(side, [float("inf")] * 2)
                found[name][side] = [min(old, float(new)) for old, new in zip(before, numbers)]
    print(f"{'microseconds':24}{'here':>8}{'recorded':>10}{'torch':>10}{'recorded':>10}   (PyTorch's / these)")
    for name, sides in found.items():
        mine, peer = sides["here"], sides.get("torch", [float("nan")] * 2)
        ratios = "  ".join(f"{theirs / own:.2f}" for own, theirs in zip(mine, peer))
        print(f"{name:24}{mine[0]:8.1f}{mine[1]:10.1f}{peer[0]:10.1f}{peer[1]:10.1f}   {ratios}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
