"""ONNX's operators in msnb's: a module per family; importing them fills ``operator_table``."""

from __future__ import annotations

from msnb.onnx.operators import (
    activation,
    arithmetic,
    cast,
    control_flow,
    convolution,
    indexing,
    normalization,
    pooling,
    quantization,
    recurrent,
    reduction,
    resize,
    sequence,
    shape,
    spectral,
    training,
)

__all__ = [
    "activation", "arithmetic", "cast", "control_flow", "convolution", "indexing", "normalization", "pooling",
    "quantization", "recurrent", "reduction", "resize", "sequence", "shape", "spectral",
    "training",
]  # fmt: skip
