"""Single kernels and products, and what a small operation costs in eager mode."""

from __future__ import annotations

from dataclasses import replace

from bench.case import Batch, Case, Seeded, norm
from bench.cases import dispatch, elementwise, matmul, norm as norms
from bench.gpu_cases.gpu_case import COPY, PEER, GpuCase, once

CHAIN, ROWS, SIDE = 64 << 20, 32 << 10, 8192


def _three(seeded: Seeded) -> Batch:
    return tuple(seeded.normal(CHAIN) for _ in "xwb")


def _rows(seeded: Seeded) -> Batch:
    scale, shift = norm(norms.WIDTH)
    return seeded.normal(ROWS, norms.WIDTH), scale, shift, seeded.normal(ROWS, norms.WIDTH)


def _square(side: int) -> Case:
    def two(seeded: Seeded) -> Batch:
        return seeded.normal(side, side), seeded.normal(side, side)

    (found,) = matmul.CASES
    return replace(found, title=f"matmul {side}", batches=once(two), flops=2.0 * side**3, bytes=0.0)


_forward, _gradient = elementwise.CASES
_pair, _pair_gradient = dispatch.CASES
(_norm,) = norms.CASES

CASES = [
    GpuCase(
        "fused_elementwise",
        replace(_forward, title="elementwise chain, 64M, forward", batches=once(_three), bytes=4.0 * 4 * CHAIN),
        measure=COPY,
        bar=0.85,
    ),
    GpuCase(
        "fused_elementwise_grad",
        replace(_gradient, title="elementwise chain, 64M, with gradients", batches=once(_three), bytes=6.0 * 4 * CHAIN),
        measure=COPY,
        bar=0.85,
    ),
    GpuCase(
        "layernorm_softmax",
        replace(
            _norm,
            title="softmax(layer_norm), 32768 rows, forward and backward",
            batches=once(_rows),
            bytes=4.0 * 4 * ROWS * norms.WIDTH,
        ),
        measure=COPY,
        bar=0.85,
    ),
    GpuCase("matmul_bf16", _square(SIDE), "narrow", measure=PEER, bar=0.95),
    GpuCase("matmul_tf32", _square(SIDE // 2), "tf32", measure=PEER, bar=0.95),
    GpuCase("matmul_float32", _square(SIDE // 2), "float32", measure=PEER, bar=0.95),
    GpuCase("dispatch", _pair, measure=PEER),
    GpuCase("dispatch_grad", _pair_gradient, measure=PEER),
]
