"""ONNX's operators by family: importing this package fills the table."""

from msnb.onnx.operators import (
    activations,
    axis_reductions,
    control_operators,
    convolutions,
    interpolation,
    math_operators,
    normalizations,
    optimizer_steps,
    place_operators,
    quantization,
    recurrences,
    sequence,
    shape_manipulation,
    spectral,
    window_pooling,
)

__all__ = [
    "activations", "control_operators", "convolutions", "math_operators", "place_operators", "interpolation",
    "normalizations", "optimizer_steps", "quantization", "recurrences", "axis_reductions", "sequence",
    "shape_manipulation", "spectral", "window_pooling",
]  # fmt: skip
