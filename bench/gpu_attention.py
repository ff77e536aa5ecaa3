"""Attention by our kernels beside PyTorch's scaled_dot_product_attention, forward and backward, in bfloat16.

    python -m bench.gpu_attention              ms and TFLOP/s, and how far results are from float32
    python -m bench.gpu_attention --program    as a compiled program of msnb, with everything around the kernels
    python -m bench.gpu_attention --tune       our kernels in other tilings

Times are the device's own, between two events around many launches; rounds are interleaved and the best one counts. A
forward pass is 4 b h l s d flops (half of it where causal), a backward pass 2.5 times as much. What is compared with
float32 is the first two heads; the bound is a few roundings of bfloat16.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from msnb.core import dtypes
from msnb.devices.gpu.codegen.gpu_kernel import GpuKernel
from msnb.devices.gpu.kernels.attention import attention_kernels
from msnb.devices.gpu.kernels.attention.attention_case import AttentionCase, Rows, Tiling
from msnb.devices.gpu.loaded_kernels import KernelCache

from .gpu_libraries import device_seconds

# b, h, l, d, causal
SIZES = ((8, 12, 1024, 64, True), (4, 16, 4096, 128, False), (4, 16, 4096, 128, True), (4, 16, 4096, 64, False))
TOLERANCE = 0.03
# own, other, warps, blocks, held: what compiles without spills
FORWARD = {
    64: ((128, 64, 4, 2, True), (128, 64, 8, 1, True), (64, 64, 4, 3, True), (64, 64, 4, 4, True),
         (128, 32, 4, 2, True), (64, 128, 4, 2, True)),
    128: ((128, 64, 4, 2, False), (128, 32, 4, 2, False), (128, 64, 8, 1, True), (64, 64, 4, 2, True),
          (64, 32, 4, 3, True), (128, 64, 8, 1, False)),
}  # fmt: skip
KEYS = {
    64: ((128, 64, 8, 1, False), (128, 64, 8, 1, True), (64, 64, 4, 2, True), (64, 64, 4, 3, False),
         (128, 32, 4, 2, False), (128, 32, 8, 2, False), (64, 32, 4, 4, False)),
    128: ((128, 64, 8, 1, False), (64, 64, 4, 2, False), (128, 32, 8, 1, False), (128, 32, 8, 1, True),
          (64, 32, 4, 2, False), (64, 32, 4, 2, True)),
}  # fmt: skip
QUERIES = {
    64: ((128, 64, 8, 1, True), (64, 64, 4, 2, True), (64, 64, 4, 3, True), (128, 32, 4, 2, True),
         (64, 32, 4, 4, True)),
    128: ((128, 64, 8, 1, True), (64, 64, 4, 2, True), (128, 32, 8, 1, True), (64, 32, 4, 2, True)),
}  # fmt: skip


class Given(NamedTuple):
    """Tensors of PyTorch and what they are for."""

    case: AttentionCase
    q: Any
    k: Any
    v: Any
    dy: Any

    @property
    def flops(self) -> float:
        """Of the forward pass."""
        c = self.case
        pairs = c.batch * c.q.heads * c.q.count * c.k.count
        return 4.0 * pairs * c.features * (0.5 if c.causal else 1.0)


def given(torch: Any, b: int, h: int, n: int, d: int, causal: bool) -> Given:
    """Random operands."""
    torch.manual_seed(0)
    rows = Rows(h, n, (h * n * d, n * d, d))
    case = AttentionCase(b, d, rows, rows, rows, dtypes.bfloat16, 1 / math.sqrt(d), causal, rows)
    tensors = [torch.randn(b, h, n, d, device="cuda", dtype=torch.bfloat16) for _ in range(4)]
    return Given(case, *tensors)


class Ours:
    """Our kernels on tensors of PyTorch.

    Args:
        torch, cupy: the modules.
        at: the operands.
        cache: of kernels.
    """

    def __init__(self, torch: Any, cupy: Any, at: Given, cache: KernelCache) -> None:
        self.torch, self.cupy, self.at, self.cache = torch, cupy, at, cache
        rows = at.q.shape[:3]
        self.out, self.dq, self.dk, self.dv = (torch.full_like(x, math.nan) for x in (at.q, at.q, at.k, at.v))
        self.lse, self.delta = (torch.full(rows, math.nan, device="cuda") for _ in range(2))

    def launch(self, kernel: GpuKernel, *tensors: Any) -> Callable[[], None]:
        """What launches a kernel."""
        (launch,) = kernel.launches
        function, args = self.cache.function(launch.function), tuple(t.data_ptr() for t in tensors)
        stream = self.cupy.cuda.ExternalStream(self.torch.cuda.current_stream().cuda_stream)
        return lambda: function(launch.grid, launch.block, args, shared_mem=launch.shared_bytes, stream=stream)

    def forward(self, kernel: GpuKernel) -> Callable[[], None]:
        """The forward pass."""
        at = self.at
        return self.launch(kernel, at.q, at.k, at.v, self.out, self.lse)

    def sums(self) -> None:
        """delta; in a program of msnb this is a generated kernel."""
        self.delta.copy_((self.at.dy.float() * self.out.float()).sum(-1))

    def keys(self, kernel: GpuKernel) -> Callable[[], None]:
        """dk and dv."""
        at = self.at
        return self.launch(kernel, at.q, at.k, at.v, at.dy, self.lse, self.delta, self.dk, self.dv)

    def queries(self, kernel: GpuKernel) -> Callable[[], None]:
        """dq."""
        at = self.at
        return self.launch(kernel, at.q, at.k, at.v, at.dy, self.lse, self.delta, self.dq)


def reference(torch: Any, at: Given) -> dict[str, Any]:
    """The first two heads in float32."""
    q, k, v = (x[:1, :2].float().requires_grad_() for x in (at.q, at.k, at.v))
    scores = q @ k.transpose(-1, -2) * at.case.scale
    if at.case.causal:
        hidden = torch.ones(scores.shape[-2:], device="cuda", dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, -math.inf)
    out = scores.softmax(-1) @ v
    grads = torch.autograd.grad(out, (q, k, v), at.dy[:1, :2].float())
    names = ("out", "lse", "dq", "dk", "dv")
    return dict(zip(names, (out.detach(), scores.logsumexp(-1).detach(), *grads)))


def distance(got: Any, want: Any) -> float:
    """The largest difference on the first two heads, as a part of the largest number."""
    return float((got[:1, :2].float() - want).abs().max() / want.abs().max())


def told(name: str, seconds: float, flops: float, more: str = "") -> str:
    """One line."""
    return f"  {name:<38}{seconds * 1e3:9.3f} ms{flops / seconds / 1e12:9.1f} TFLOP/s  {more}"


def best(torch: Any, ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The best time of each."""
    found: dict[str, float] = {}
    for _ in range(rounds):
        for name, run in ways.items():
            seconds = device_seconds(torch, run)
            found[name] = min(seconds, found.get(name, seconds))
    return found


def compared(torch: Any, cupy: Any, size: Sequence[Any], cache: KernelCache, rounds: int) -> bool:
    """One size: print our kernels and PyTorch's; false where ours are wrong."""
    at = given(torch, *size)
    ours = Ours(torch, cupy, at, cache)
    makers = (attention_kernels.key_gradient, attention_kernels.query_gradient)
    kernels = [attention_kernels.forward(at.case.with_dy(None)), *(make(at.case) for make in makers)]
    cache.load(kernels)
    forward, keys, queries = ours.forward(kernels[0]), ours.keys(kernels[1]), ours.queries(kernels[2])
    for run in (forward, ours.sums, keys, queries):
        run()
    want = reference(torch, at)
    far = {name: distance(getattr(ours, name), want[name]) for name in want}
    leaves = [x.detach().requires_grad_() for x in (at.q, at.k, at.v)]
    attend = torch.nn.functional.scaled_dot_product_attention
    theirs = attend(*leaves, is_causal=at.case.causal)
    ways = {
        "forward": forward,
        "keys": keys,
        "queries": queries,
        "torch forward": lambda: attend(at.q, at.k, at.v, is_causal=at.case.causal),
        "torch backward": lambda: torch.autograd.grad(theirs, leaves, at.dy, retain_graph=True),
    }
    t = best(torch, ways, rounds)
    fine = all(x < TOLERANCE for x in far.values())
    print(f"b={size[0]} h={size[1]} l={size[2]} d={size[3]} causal={size[4]}   {'right' if fine else 'WRONG'}: "
          + ", ".join(f"{name} {x:.1e}" for name, x in far.items()))  # fmt: skip
    print(told("forward", t["forward"], at.flops))
    print(told("torch forward", t["torch forward"], at.flops, f"ours/torch {t['torch forward'] / t['forward']:.2f}x"))
    back = t["keys"] + t["queries"]
    print(told("backward", back, 2.5 * at.flops, f"keys {t['keys'] * 1e3:.3f} + queries {t['queries'] * 1e3:.3f} ms"))
    print(told("torch backward", t["torch backward"], 2.5 * at.flops, f"ours/torch {t['torch backward'] / back:.2f}x"))
    return fine


# ---- other tilings ---------------------------------------------------------------------------------------------------


def tuned(torch: Any, cupy: Any, size: Sequence[Any], cache: KernelCache, rounds: int) -> None:
    """Every tiling's time, and whether its results are those of the first one."""
    at = given(torch, *size)
    ours = Ours(torch, cupy, at, cache)
    print(f"b={size[0]} h={size[1]} l={size[2]} d={size[3]} causal={size[4]}")
    plain = at.case.with_dy(None)
    made = {
        "forward": [(t, attention_kernels.forward(plain, tiling=Tiling(*t))) for t in FORWARD[size[3]]],
        "keys": [(t, attention_kernels.key_gradient(at.case, tiling=Tiling(*t))) for t in KEYS[size[3]]],
        "queries": [(t, attention_kernels.query_gradient(at.case, tiling=Tiling(*t))) for t in QUERIES[size[3]]],
    }
    cache.load([kernel for many in made.values() for _, kernel in many])
    work = {"forward": 1.0, "keys": 2.0, "queries": 1.5}
    results = {"forward": ("out",), "keys": ("dk", "dv"), "queries": ("dq",)}
    want = reference(torch, at)
    for kind, kernels in made.items():
        ways = {f"{kind} {t}": getattr(ours, kind)(kernel) for t, kernel in kernels}
        far = dict[str, float]()
        for name, run in ways.items():
            for result in results[kind]:
                getattr(ours, result).fill_(math.nan)
            run()
            far[name] = max(distance(getattr(ours, r), want[r]) for r in results[kind])
        for name, seconds in best(torch, ways, rounds).items():
            print(told(name, seconds, work[kind] * at.flops, "" if far[name] < TOLERANCE else f"WRONG {far[name]:.1e}"))
        sys.stdout.flush()
        if kind == "forward":
            ours.sums()


# ---- a program of msnb -----------------------------------------------------------------------------------------------


def program(size: Sequence[Any], rounds: int) -> None:
    """Gradients through ``scaled_dot_product_attention``, compiled by msnb."""
    import numpy as np

    import msnb as ms

    b, h, n, d, causal = size
    ms.set_context(device_target="GPU", jit_level="O1")
    rng = np.random.default_rng(0)
    q, k, v, dy = (ms.Tensor(rng.normal(size=(b, h, n, d)).astype(np.float32)).astype("bfloat16") for _ in range(4))

    def loss(q: Any, k: Any, v: Any) -> Any:
        out = ms.ops.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return (out.astype("float32") * dy.astype("float32")).sum()

    step = ms.jit(ms.grad(loss, (0, 1, 2)))
    step(q, k, v)
    least = math.inf
    for _ in range(rounds):
        step(q, k, v)
        ms.runtime.synchronize()
        begin = time.perf_counter()
        for _ in range(10):
            step(q, k, v)
        ms.runtime.synchronize()
        least = min(least, (time.perf_counter() - begin) / 10)
    flops = 3.5 * 4.0 * b * h * n * n * d * (0.5 if causal else 1.0)
    print(told(f"program {size}", least, flops))


def main() -> int:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--program", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    import cupy
    import torch

    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CuPy {cupy.__version__}", flush=True)
    torch.zeros(1, device="cuda")
    major, minor = torch.cuda.get_device_capability()
    cache, fine = KernelCache(cupy, f"sm_{major}{minor}"), True
    for size in SIZES:
        if options.tune:
            tuned(torch, cupy, size, cache, options.rounds)
        elif options.program:
            program(size, options.rounds)
        else:
            fine &= compared(torch, cupy, size, cache, options.rounds)
        sys.stdout.flush()
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
