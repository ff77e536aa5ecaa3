"""Convolution 3 x 3, 64 to 64 channels, 56 x 56, batch 32: the output and both gradients, plain layouts in and out."""

from __future__ import annotations

from typing import Any

from bench.case import Case, Seeded, several

BATCH, CHANNELS, SIDE = 32, 64, 56


def _image(seeded: Seeded) -> tuple[Any, ...]:
    image = (BATCH, CHANNELS, SIDE, SIDE)
    return seeded.normal(*image), seeded.normal(CHANNELS, CHANNELS, 3, 3, scale=0.05), seeded.normal(*image)


def _torch(side: Any) -> Any:
    conv2d = side.torch.nn.functional.conv2d
    return side.pulled(side.made(lambda x, w: conv2d(x, w, padding=1)), 2)


def _jax(side: Any) -> Any:
    """`inside` keeps the plain layouts of the others at the door and computes with channels last."""
    if side.variant == "inside":
        return side.pulled(lambda x, w: _channels_last(side, x, w), 2)
    return side.pulled(lambda x, w: side.conv(x, w, 1, 1), 2)


def _channels_last(side: Any, x: Any, w: Any) -> Any:
    names = ("NHWC", "HWIO", "NHWC")
    x, w = x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)
    y = side.jax.lax.conv_general_dilated(x, w, (1, 1), [(1, 1)] * 2, dimension_numbers=names)
    return y.transpose(0, 3, 1, 2)


def _msnb(side: Any) -> Any:
    ops = side.ops

    def conv(x: Any, w: Any) -> Any:
        return ops.conv2d(x, w, pad_mode="pad", padding=1)

    return side.pulled(conv, 2)


def _mindspore(side: Any) -> Any:
    ops = side.ops

    def conv(x: Any, w: Any) -> Any:
        return ops.conv2d(x, w, pad_mode="pad", padding=1)

    return side.pulled_by_sum(conv, 2)


# On a CPU with AVX-512 its convolutions fall back to a reference kernel, a hundred times slower.
MINDSPORE = {"mindspore": {"ONEDNN_MAX_CPU_ISA": "AVX2"}}

CASES = [
    Case(
        "conv2d",
        "conv2d 3x3, forward and backward",
        {"msnb": _msnb, "mindspore": _mindspore, "torch": _torch, "jax": _jax},
        several(_image),
        flops=3 * 2.0 * BATCH * CHANNELS * CHANNELS * 9 * SIDE * SIDE,
        bytes=4.0 * 4 * BATCH * CHANNELS * SIDE * SIDE,
        tolerance=1e-3,
        variants={"jax": ("plain", "inside")},
        environment=MINDSPORE,
        share=2,
    )
]
