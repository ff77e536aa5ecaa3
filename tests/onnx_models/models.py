"""Models for tests, written in ONNX's textual syntax."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, checker, numpy_helper, parser

HEAD = '<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 4, "own" : 1]>\n'

MLP = """
mlp (float[batch, 4] x) => (float[batch, 3] y) {
   h = MatMul(x, w1)
   b = Add(h, b1)
   r = Relu(b)
   z = Gemm(r, w2, b2)
   y = LogSoftmax <axis = -1> (z)
}
"""

CONVOLUTIONS = """
net (float[n, 3, 8, 8] x) => (float[n, 5] y) {
   c = Conv <pads = [1, 1, 1, 1]> (x, k)
   m = BatchNormalization <epsilon = 0.001> (c, scale, shift, mean, var)
   r = Relu(m)
   p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r)
   shape = Shape(p)
   zero = Constant <value_ints = [0]> ()
   first = Gather(shape, zero)
   rest = Constant <value_ints = [-1]> ()
   target = Concat <axis = 0> (first, rest)
   flat = Reshape(p, target)
   y = MatMul(flat, w)
}
"""


def model(text: str, **weights: Any) -> ModelProto:
    """A checked model of this text; arrays by name become initializers."""
    made = parser.parse_model(HEAD + text)
    made.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), name) for name, v in weights.items())
    checker.check_model(made)
    return made


def saved(path: Path, text: str, **weights: Any) -> str:
    """The file of such a model."""
    path.write_bytes(model(text, **weights).SerializeToString())
    return str(path)


def mlp_weights(seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    shapes = {"w1": (4, 6), "b1": (6,), "w2": (6, 3), "b2": (3,)}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def convolution_weights(seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    shapes = {"k": (4, 3, 3, 3), "scale": (4,), "shift": (4,), "mean": (4,), "var": (4,), "w": (64, 5)}
    found = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    return found | {"var": np.abs(found["var"]) + 0.5}
