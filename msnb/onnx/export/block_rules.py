"""Functions that keep their names in a captured program, as operators of ONNX.

    call softmax(x)[axis=-1]     ->   Softmax(x, axis=-1)

Where the model's version has no such operator, or the settings are none that it knows, the body of the call is
written instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from msnb.base import CaptureError
from msnb.core import TensorType, dtypes
from msnb.onnx.export.expression import evaluate
from msnb.onnx.export.node_writer import ModelValue, NodeWriter

__all__ = ["write_block"]

Scope = Mapping[str, Any]


def write_block(name: str, writer: NodeWriter, scope: Scope, types: Mapping[str, TensorType]) -> Any:
    """The results of a call; None where its body must be written.

    Args:
        name: of the function.
        scope: its tensors (``ModelValue``) and settings by name.
        types: the types of its tensors.
    """
    rule = _RULES.get(name)
    if rule is None:
        return None
    count = len(writer.nodes)
    try:
        return evaluate(rule, writer, scope) if isinstance(rule, str) else rule(writer, scope, types)
    except CaptureError:  # an older version, a dtype or a setting without an operator
        del writer.nodes[count:]
        return None


def _plain_softmax(kind: str) -> Any:
    def rule(writer: NodeWriter, scope: Scope, types: Mapping[str, TensorType]) -> Any:
        if scope.get("dtype") is not None or not scope["x"].dtype.is_float:
            return None
        return writer.emit(kind, scope["x"], axis=scope["axis"])

    return rule


def _softplus(writer: NodeWriter, scope: Scope, types: Mapping[str, TensorType]) -> Any:
    return writer.emit("Softplus", scope["x"]) if scope["beta"] == 1 and scope["threshold"] >= 20 else None


def _vector(writer: NodeWriter, value: Any, size: int, fill: float, like: ModelValue) -> ModelValue:
    """A weight as a vector, or ones, or zeros."""
    if value is None:
        return writer.array(np.full(size, fill), like.dtype)
    if value.value is not None:
        return value if value.value.shape == (size,) else writer.array(value.value.reshape(size))
    found: ModelValue = writer.emit("Reshape", value, writer.ints([size]))
    return found


def _layer_norm(writer: NodeWriter, scope: Scope, types: Mapping[str, TensorType]) -> Any:
    given = scope["normalized_shape"]
    shape = (given,) if isinstance(given, int) else tuple(given)
    x, weight, bias = (scope[name] for name in ("x", "weight", "bias"))
    if weight is None:
        weight = writer.array(np.ones(shape), x.dtype)
    if any(types[n].shape != shape for n in ("weight", "bias") if n in types):
        return None
    return writer.emit("LayerNormalization", x, weight, bias, axis=-len(shape), epsilon=scope["eps"])


def _rms_norm(writer: NodeWriter, scope: Scope, types: Mapping[str, TensorType]) -> Any:
    x, weight = scope["x"], scope["weight"]
    shape = types["weight"].shape if weight is not None else scope["normalized_shape"] or types["x"].shape[-1:]
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    weight = writer.array(np.ones(shape), x.dtype) if weight is None else weight
    return writer.emit("RMSNormalization", x, weight, axis=-len(shape), epsilon=scope["eps"])


def _group_norm(writer: NodeWriter, scope: Scope, types: Mapping[str, TensorType]) -> Any:
    x, size = scope["x"], types["x"].shape[1]
    if writer.opset < 21 or not isinstance(size, int):  # before, the weights were per group
        return None
    weight, bias = _vector(writer, scope["weight"], size, 1, x), _vector(writer, scope["bias"], size, 0, x)
    return writer.emit("GroupNormalization", x, weight, bias, num_groups=scope["num_groups"], epsilon=scope["eps"])


def _instance_norm(writer: NodeWriter, scope: Scope, types: Mapping[str, TensorType]) -> Any:
    x, size = scope["x"], types["x"].shape[1]
    if not isinstance(size, int):
        return None
    weight, bias = _vector(writer, scope["weight"], size, 1, x), _vector(writer, scope["bias"], size, 0, x)
    return writer.emit("InstanceNormalization", x, weight, bias, epsilon=scope["eps"])


def _batch_norm(writer: NodeWriter, scope: Scope, types: Mapping[str, TensorType]) -> Any:
    x, size = scope["x"], types["x"].shape[scope["axis"]]
    if scope["training"] or scope["axis"] != 1 or not isinstance(size, int):
        return None
    wanted = (("weight", 1), ("bias", 0), ("running_mean", 0), ("running_var", 1))
    vectors = [_vector(writer, scope[name], size, fill, x) for name, fill in wanted]
    return writer.emit("BatchNormalization", x, *vectors, epsilon=scope["eps"])


def _clip(low: str | float, high: str | float) -> Any:
    def rule(writer: NodeWriter, scope: Scope, types: Mapping[str, TensorType]) -> Any:
        x = scope["x"]
        bounds = [scope[b] if isinstance(b, str) else b for b in (low, high)]
        return writer.emit("Clip", x, *(writer.array(np.asarray(b), x.dtype) for b in bounds))

    return rule


def _prelu(writer: NodeWriter, scope: Scope, types: Mapping[str, TensorType]) -> Any:
    """One slope, or one per channel: along axis 1."""
    weight, rank = scope["weight"], len(types["x"].shape)
    if weight.value is None:
        return None
    shape = (-1, *(1,) * (rank - 2)) if weight.value.size > 1 else (1,)
    return writer.emit("PRelu", scope["x"], writer.array(weight.value.reshape(shape)))


# ---- recurrent layers ----

_GATES = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn tanh": (0,), "rnn relu": (0,)}  # ONNX's order of ours
_KINDS = {"lstm": "LSTM", "gru": "GRU", "rnn tanh": "RNN", "rnn relu": "RNN"}


def _recurrent(writer: NodeWriter, scope: Scope, types: Mapping[str, TensorType]) -> Any:
    """Layers on top of each other, each an operator of both directions; weights must be known."""
    kind, layers, ways = scope["kind"], scope["layers"], scope["directions"]
    states, each = (2 if kind == "lstm" else 1), (4 if scope["has_bias"] else 2)
    given = [scope.get(f"tensors.{i}") for i in range(states + each * layers * ways)]
    first = given[:states]
    weights = [_in_order(kind, w.value) for w in given[states:] if w is not None and w.value is not None]
    time, n = types["x"].shape[:2]
    if len(weights) < len(given) - states:
        return None
    x, ends = scope["x"], []
    lengths = None if scope["lengths"] is None else writer.cast(scope["lengths"], dtypes.int32)
    for layer in range(layers):
        rows = weights[layer * ways * each :][: ways * each]
        begin = [None if s is None else _rows(writer, s, layer * ways, ways, layers) for s in first]
        y, *end = _layer(writer, kind, [x, *_stacked(writer, rows, each), lengths, *begin], ways)
        ends.append(end)
        y = writer.emit("Transpose", y, perm=(0, 2, 1, 3)) if ways == 2 else y
        x = writer.reshape(y, (time, n, ways * rows[1].shape[1]))
    joined = [e[0] if layers == 1 else writer.emit("Concat", *e, axis=0) for e in zip(*ends)]
    return (x, *joined)


def _layer(writer: NodeWriter, kind: str, inputs: list[Any], ways: int) -> Any:
    """The operator of a layer: outputs per direction, and the last states."""
    return writer.emit(
        _KINDS[kind], *inputs, outputs=3 if kind == "lstm" else 2, hidden_size=inputs[2].value.shape[2],
        direction="bidirectional" if ways == 2 else "forward", linear_before_reset=1 if kind == "gru" else None,
        activations=["Relu"] * ways if kind == "rnn relu" else None,
    )  # fmt: skip


def _stacked(writer: NodeWriter, rows: list[Any], each: int) -> list[Any]:
    """W, R and B of both directions."""
    columns = [np.stack(rows[i::each]) for i in range(each)]
    bias = writer.array(np.concatenate(columns[2:], 1)) if each == 4 else None
    return [writer.array(columns[0]), writer.array(columns[1]), bias]


def _in_order(kind: str, weight: Any) -> Any:
    gates = np.split(weight, len(_GATES[kind]))
    return np.concatenate([gates[i] for i in _GATES[kind]])


def _rows(writer: NodeWriter, x: ModelValue, at: int, count: int, layers: int) -> ModelValue:
    if layers == 1:
        return x
    found: ModelValue = writer.emit("Slice", x, writer.ints([at]), writer.ints([at + count]), writer.ints([0]))
    return found


_RULES: dict[str, str | Callable[[NodeWriter, Scope, Mapping[str, TensorType]], Any]] = {
    "softmax": _plain_softmax("Softmax"),
    "log_softmax": _plain_softmax("LogSoftmax"),
    "elu": "Elu(x, alpha=alpha)",
    "selu": "Selu(x)",
    "gelu": lambda writer, scope, types: writer.emit("Gelu", scope["x"], approximate=scope["approximate"]),
    "silu": "Mul(x, Sigmoid(x))",
    "mish": "Mish(x)",
    "softplus": _softplus,
    "relu6": _clip(0.0, 6.0),
    "hardtanh": _clip("min_val", "max_val"),
    "leaky_relu": "LeakyRelu(x, alpha=alpha)",
    "celu": "Celu(x, alpha=alpha)",
    "prelu": _prelu,
    "hardsigmoid": f"HardSigmoid(x, alpha={1 / 6})",
    "hardswish": "HardSwish(x)",
    "hardshrink": "Shrink(x, lambd=lambd)",
    "softshrink": "Shrink(x, lambd=lambd, bias=lambd)",
    "softsign": "Softsign(x)",
    "recurrent": _recurrent,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "group_norm": _group_norm,
    "instance_norm": _instance_norm,
    "batch_norm": _batch_norm,
}
