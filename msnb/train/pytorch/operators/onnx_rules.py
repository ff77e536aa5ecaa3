"""What nodes of ONNX are in ATen's words; ``t`` is the Translator, which adds the calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.core import dtypes
from msnb.onnx.model_reader import numpy_dtype
from msnb.train.pytorch.exported_program import DtypeArgument, Ref

Rule = Callable[[Any, Any], None]
_SAME = (
    "Relu", "Sigmoid", "Tanh", "Exp", "Log", "Sqrt", "Neg", "Abs", "Erf", "Floor", "Ceil", "Round", "Sin", "Cos", "Tan",
    "Reciprocal", "Sign", "Softsign", "Mish", "HardSwish", "Softplus", "IsNaN", "IsInf", "Selu", "Asin", "Acos", "Atan",
    "Sinh", "Cosh", "Asinh", "Acosh", "Atanh",
)  # fmt: skip
_UNARY = {**{kind: kind.lower() for kind in _SAME}, "Not": "logical_not", "Swish": "silu"}
_BINARY = {
    "Add": "add", "Sub": "sub", "Mul": "mul", "Pow": "pow", "Equal": "eq", "Less": "lt", "LessOrEqual": "le",
    "Greater": "gt", "GreaterOrEqual": "ge", "And": "logical_and", "Or": "logical_or", "Xor": "logical_xor",
    "Max": "maximum", "Min": "minimum", "Sum": "add",
}  # fmt: skip
_REDUCTIONS = {"ReduceMean": "mean", "ReduceSum": "sum", "ReduceMax": "amax", "ReduceMin": "amin", "ReduceProd": "prod",
               "ReduceLogSumExp": "logsumexp"}  # fmt: skip
_ARITHMETIC = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "//"}


def _unary(target: str) -> Rule:
    return lambda t, n: t.call(f"aten.{target}.default", {"self": t.value(n.inputs[0])})


def _binary(target: str) -> Rule:
    def rule(t: Any, n: Any) -> None:
        if _of_numbers(t, n):
            return
        values = [t.value(name) for name in n.inputs]
        for other in values[1:-1]:
            values[0] = t.step(f"aten.{target}.Tensor", {"self": values[0], "other": other})
        t.call(f"aten.{target}.Tensor", {"self": values[0], "other": values[-1]})

    return rule


def _divide(t: Any, n: Any) -> None:
    if _of_numbers(t, n):
        return
    left, right = (t.value(name) for name in n.inputs)
    if isinstance(right, int) or (isinstance(right, list) and all(isinstance(v, int) for v in right)):
        raise ValueError("a division of integers, or not: the file does not say")
    t.call("aten.div.Tensor", {"self": left, "other": right})


def _of_numbers(t: Any, n: Any) -> bool:
    """Arithmetic of shapes stays Python's."""
    if n.kind not in _ARITHMETIC or not any(name in t.numbers for name in n.inputs):
        return False
    t.numbers.add(n.outputs[0])
    t.call("size.arithmetic", {"left": t.value(n.inputs[0]), "right": t.value(n.inputs[1]), "sign": n.kind})
    return True


def _convolution(t: Any, n: Any) -> None:
    x, settings = t.value(n.inputs[0]), n.attributes
    weight = t.array(n.inputs[1])
    rank = weight.ndim - 2
    padding, x = _padding(t, x, settings, rank)
    bias = t.value(n.inputs[2]) if len(n.inputs) > 2 else None
    arguments = {
        "input": x, "weight": t.value(n.inputs[1]), "bias": bias, "padding": padding,
        "stride": list(settings.get("strides", [1] * rank)),
        "dilation": list(settings.get("dilations", [1] * rank)), "groups": settings.get("group", 1),
    }  # fmt: skip
    if n.kind == "ConvTranspose":
        arguments["output_padding"] = list(settings.get("output_padding", [0] * rank))
        t.call(f"aten.conv_transpose{rank}d.default", arguments)
    else:
        t.call(f"aten.conv{rank}d.default", arguments)


def _padding(t: Any, x: Any, settings: dict[str, Any], rank: int, value: float | None = 0.0) -> tuple[list[int], Any]:
    """(the same padding on both sides, x): what is not the same is a pad of its own."""
    if settings.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID", b"NOTSET", b"VALID"):
        raise ValueError("padding that depends on sizes")
    pads = list(settings.get("pads", [0] * 2 * rank))
    if pads[:rank] == pads[rank:]:
        return pads[:rank], x
    if value is None:
        raise ValueError("padding that is not the same on both sides")
    both = [number for i in reversed(range(rank)) for number in (pads[i], pads[rank + i])]
    return [0] * rank, t.step("aten.constant_pad_nd.default", {"self": x, "pad": both, "value": value})


def _matrix(t: Any, n: Any) -> None:
    settings, weight = n.attributes, n.inputs[1]
    plain = settings.get("alpha", 1.0) == settings.get("beta", 1.0) == 1.0 and not settings.get("transA")
    if not plain:
        _scaled_product(t, n)
        return
    bias = t.value(n.inputs[2]) if len(n.inputs) > 2 else None
    if settings.get("transB"):
        t.call("aten.linear.default", {"input": t.value(n.inputs[0]), "weight": t.value(weight), "bias": bias})
        return
    product = {"self": t.value(n.inputs[0]), "other": t.value(weight)}
    if bias is None:
        t.call("aten.matmul.default", product)
    else:
        t.call("aten.add.Tensor", {"self": t.step("aten.matmul.default", product), "other": bias})


def _scaled_product(t: Any, n: Any) -> None:
    settings = n.attributes
    sides = [t.value(name) for name in n.inputs[:2]]
    for i, key in enumerate(("transA", "transB")):
        if settings.get(key):
            sides[i] = t.step("aten.t.default", {"self": sides[i]})
    scale = _short(settings.get("alpha", 1.0))
    if len(n.inputs) > 2:
        t.call("aten.addmm.default", {"self": t.value(n.inputs[2]), "mat1": sides[0], "mat2": sides[1],
                                      "beta": _short(settings.get("beta", 1.0)), "alpha": scale})  # fmt: skip
    else:
        product = t.step("aten.mm.default", {"self": sides[0], "mat2": sides[1]})
        t.call("aten.mul.Tensor", {"self": product, "other": scale})


def _batch_norm(t: Any, n: Any) -> None:
    names = ("input", "weight", "bias", "running_mean", "running_var")
    arguments = dict(zip(names, (t.value(name) for name in n.inputs), strict=True))
    t.call("aten.batch_norm.default", arguments | {"training": False, "eps": _short(n.attributes.get("epsilon", 1e-5))},
           [t.name(n.outputs[0])])  # fmt: skip


def _short(number: float) -> float:
    """A number that was float32 in the file, as a person writes it: 1e-05."""
    return float(str(np.float32(number)))


def _layer_norm(t: Any, n: Any) -> None:
    if n.attributes.get("axis", -1) != -1:
        raise ValueError("a norm over several axes")
    weight = t.array(n.inputs[1])
    t.call("aten.layer_norm.default", {
        "input": t.value(n.inputs[0]), "normalized_shape": list(weight.shape), "weight": t.value(n.inputs[1]),
        "bias": t.value(n.inputs[2]) if len(n.inputs) > 2 else None,
        "eps": _short(n.attributes.get("epsilon", 1e-5))}, [t.name(n.outputs[0])])  # fmt: skip


def _instance_norm(t: Any, n: Any) -> None:
    x, weight, bias = (t.value(name) for name in n.inputs)
    eps = _short(n.attributes.get("epsilon", 1e-5))
    t.call("aten.instance_norm.default", {"input": x, "weight": weight, "bias": bias, "eps": eps})


def _pool(t: Any, n: Any) -> None:
    settings, kernel = n.attributes, list(n.attributes["kernel_shape"])
    rank, largest = len(kernel), n.kind == "MaxPool"
    outside = float("-inf") if largest else 0.0 if settings.get("count_include_pad") else None
    padding, x = _padding(t, t.value(n.inputs[0]), settings, rank, outside)
    if any(number != 1 for number in settings.get("dilations", ())) or len([o for o in n.outputs if o]) > 1:
        raise ValueError("windows with holes, or places")
    arguments = {"self": x, "kernel_size": kernel, "stride": list(settings.get("strides", [1] * rank)),
                 "padding": padding, "ceil_mode": bool(settings.get("ceil_mode", 0))}  # fmt: skip
    if not largest:
        arguments["count_include_pad"] = bool(settings.get("count_include_pad", 0))
    t.call(f"aten.{'max' if largest else 'avg'}_pool{rank}d.default", arguments)


def _softmax(t: Any, n: Any) -> None:
    name = {"Softmax": "softmax", "LogSoftmax": "log_softmax"}[n.kind]
    x = t.value(n.inputs[0])
    if t.opset >= 13:
        t.call(f"aten.{name}.int", {"self": x, "dim": n.attributes.get("axis", -1)})
        return
    flat = t.step("aten.flatten.using_ints", {"self": x, "start_dim": n.attributes.get("axis", 1)})
    t.call("aten.view_as.default", {"self": t.step(f"aten.{name}.int", {"self": flat, "dim": -1}), "other": x})


def _reshape(t: Any, n: Any) -> None:
    x, shape = t.value(n.inputs[0]), t.value(n.inputs[1])
    if isinstance(shape, list):
        if 0 in shape and n.attributes.get("allowzero"):
            raise ValueError("sizes of zero")
        shape = [t.step("size.axis", {"self": x, "axis": i}) if size == 0 else size for i, size in enumerate(shape)]
    elif n.inputs[1] not in t.numbers:
        raise ValueError("a shape that the data tell")
    t.call("aten.reshape.default", {"self": x, "shape": shape})


def _flatten(t: Any, n: Any) -> None:
    if n.attributes.get("axis", 1) != 1:
        raise ValueError("two axes of many")
    t.call("aten.flatten.using_ints", {"self": t.value(n.inputs[0]), "start_dim": 1})


def _axes(t: Any, n: Any, default: Any = None) -> Any:
    """Axes: an attribute once, an input since 13."""
    if len(n.inputs) > 1 and n.inputs[1]:
        return [int(axis) for axis in t.array(n.inputs[1]).ravel()]
    return list(n.attributes["axes"]) if "axes" in n.attributes else default


def _squeeze(t: Any, n: Any) -> None:
    axes = _axes(t, n)
    if n.inputs[0] in t.numbers:
        t.numbers.add(n.outputs[0])
        t.call("size.first", {"self": t.value(n.inputs[0])})
        return
    t.call("aten.squeeze.dims", {"self": t.value(n.inputs[0]), "dim": axes} if axes else {"self": t.value(n.inputs[0])})


def _unsqueeze(t: Any, n: Any) -> None:
    x, axes = t.value(n.inputs[0]), sorted(_axes(t, n))
    if n.inputs[0] in t.numbers:
        t.numbers.add(n.outputs[0])
        t.call("size.tuple", {"self": x})
        return
    for axis in axes[:-1]:
        x = t.step("aten.unsqueeze.default", {"self": x, "dim": axis})
    t.call("aten.unsqueeze.default", {"self": x, "dim": axes[-1]})


def _reduction(target: str) -> Rule:
    def rule(t: Any, n: Any) -> None:
        axes = _axes(t, n)
        keep = bool(n.attributes.get("keepdims", 1))
        if axes is None and (keep or n.attributes.get("noop_with_empty_axes")):
            raise ValueError("all axes, kept")
        arguments = {"self": t.value(n.inputs[0])}
        t.call(f"aten.{target}.dim", arguments | ({} if axes is None else {"dim": axes, "keepdim": keep}))

    return rule


def _shape(t: Any, n: Any) -> None:
    t.numbers.add(n.outputs[0])
    t.call("size.shape", {"self": t.value(n.inputs[0])})


def _gather(t: Any, n: Any) -> None:
    x, index, axis = t.value(n.inputs[0]), t.value(n.inputs[1]), n.attributes.get("axis", 0)
    if n.inputs[0] in t.numbers and isinstance(index, (int, list)):
        t.numbers.add(n.outputs[0])
        if isinstance(index, list):
            t.call("size.parts", {"self": x, "places": index})
        else:
            t.call("size.part", {"self": x, "index": index})
    elif isinstance(index, int):
        t.call("aten.select.int", {"self": x, "dim": axis, "index": index})
    elif axis == 0 and n.inputs[0] in t.arrays and t.arrays[n.inputs[0]].ndim == 2 and isinstance(index, Ref):
        t.call("aten.embedding.default", {"weight": x, "indices": index})
    elif axis >= 0 and isinstance(index, Ref):
        t.call("aten.index.Tensor", {"self": x, "indices": [None] * axis + [index]})
    else:
        raise ValueError("places from the end")


def _concat(t: Any, n: Any) -> None:
    values = [t.value(name) for name in n.inputs]
    if any(name in t.numbers for name in n.inputs):
        t.numbers.add(n.outputs[0])
        t.call("size.joined", {"tensors": values})
    else:
        t.call("aten.cat.default", {"tensors": values, "dim": n.attributes["axis"]})


def _slice(t: Any, n: Any) -> None:
    if n.inputs[0] in t.numbers:
        raise ValueError("a part of a shape")
    if "starts" in n.attributes:
        starts, ends = n.attributes["starts"], n.attributes["ends"]
        axes, steps = n.attributes.get("axes", range(len(starts))), [1] * len(starts)
    else:
        given: list[Any] = [[int(v) for v in t.array(name).ravel()] if name else None for name in n.inputs[1:]]
        starts, ends, *rest = given
        axes = rest[0] if rest and rest[0] is not None else range(len(starts))
        steps = rest[1] if len(rest) > 1 and rest[1] is not None else [1] * len(starts)
    x = t.value(n.inputs[0])
    parts = [{"dim": axis, "start": start, "end": min(end, (1 << 63) - 1), "step": step}
             for axis, start, end, step in zip(axes, starts, ends, steps, strict=True)]  # fmt: skip
    if any(step < 0 for step in steps):
        raise ValueError("backwards")
    for part in parts[:-1]:
        x = t.step("aten.slice.Tensor", {"self": x, **part})
    t.call("aten.slice.Tensor", {"self": x, **parts[-1]})


def _split(t: Any, n: Any) -> None:
    x, axis = t.value(n.inputs[0]), n.attributes.get("axis", 0)
    names = [[t.name(name) for name in n.outputs]]
    sizes = t.array(n.inputs[1]).tolist() if len(n.inputs) > 1 and n.inputs[1] else n.attributes.get("split")
    if sizes is None:
        t.call("aten.chunk.default", {"self": x, "chunks": len(n.outputs), "dim": axis}, names)
    else:
        t.call("aten.split_with_sizes.default", {"self": x, "split_sizes": list(sizes), "dim": axis}, names)


def _clip(t: Any, n: Any) -> None:
    least, most = n.attributes.get("min"), n.attributes.get("max")
    if len(n.inputs) > 1:
        least = t.value(n.inputs[1])
        most = t.value(n.inputs[2]) if len(n.inputs) > 2 else None
    if (least, most) == (0.0, 6.0):
        t.call("aten.relu6.default", {"self": t.value(n.inputs[0])})
    else:
        t.call("aten.clamp.default", {"self": t.value(n.inputs[0]), "min": least, "max": most})


def _cast(t: Any, n: Any) -> None:
    if n.inputs[0] in t.numbers:
        t.numbers.add(n.outputs[0])
        t.call("aten.alias.default", {"self": t.value(n.inputs[0])})
        return
    kind = dtypes.of_numpy(numpy_dtype(n.attributes["to"]))
    if kind is None:
        raise ValueError("a dtype that is not here")
    name = {"bool": "bool_"}.get(kind.numpy.name, kind.numpy.name)
    t.call("aten.to.dtype", {"self": t.value(n.inputs[0]), "dtype": DtypeArgument(name)})


def _pad(t: Any, n: Any) -> None:
    mode = n.attributes.get("mode", "constant")
    pads = list(n.attributes["pads"]) if "pads" in n.attributes else t.array(n.inputs[1]).tolist()
    value = n.attributes.get("value", 0.0) if len(n.inputs) < 3 or not n.inputs[2] else t.value(n.inputs[2])
    half = len(pads) // 2
    both = [number for i in reversed(range(half)) for number in (pads[i], pads[half + i])]
    while len(both) > 2 and both[-2:] == [0, 0]:
        both = both[:-2]
    if len(n.inputs) > 3 and n.inputs[3]:
        raise ValueError("axes")
    names = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}
    kind = names[mode.decode() if isinstance(mode, bytes) else mode]
    t.call("aten.pad.default", {"self": t.value(n.inputs[0]), "pad": both, "mode": kind,
                                **({"value": value} if kind == "constant" else {})})  # fmt: skip


def _leaky(t: Any, n: Any) -> None:
    t.call("aten.leaky_relu.default", {"self": t.value(n.inputs[0]),
                                       "negative_slope": _short(n.attributes.get("alpha", 0.01))})  # fmt: skip


def _elu(t: Any, n: Any) -> None:
    t.call("aten.elu.default", {"self": t.value(n.inputs[0]), "alpha": _short(n.attributes.get("alpha", 1.0))})


def _gelu(t: Any, n: Any) -> None:
    kind = n.attributes.get("approximate", "none")
    kind = kind.decode() if isinstance(kind, bytes) else kind
    t.call("aten.gelu.default", {"self": t.value(n.inputs[0]), "approximate": kind})


def _hard_sigmoid(t: Any, n: Any) -> None:
    slope, offset = _short(n.attributes.get("alpha", 0.2)), _short(n.attributes.get("beta", 0.5))
    x = t.step("aten.mul.Tensor", {"self": t.value(n.inputs[0]), "other": slope})
    x = t.step("aten.add.Tensor", {"self": x, "other": offset})
    t.call("aten.clamp.default", {"self": x, "min": 0.0, "max": 1.0})


def _argument(target: str) -> Rule:
    def rule(t: Any, n: Any) -> None:
        if n.attributes.get("select_last_index"):
            raise ValueError("the last of equal ones")
        t.call(f"aten.{target}.default", {"self": t.value(n.inputs[0]), "dim": n.attributes.get("axis", 0),
                                          "keepdim": bool(n.attributes.get("keepdims", 1))})  # fmt: skip

    return rule


def _expand(t: Any, n: Any) -> None:
    shape = t.value(n.inputs[1])
    if not isinstance(shape, list) or 1 in shape:
        raise ValueError("a shape that the data tell, or sizes that may be larger in the operand")
    t.call("aten.broadcast_to.default", {"self": t.value(n.inputs[0]), "size": shape})


def _slope(t: Any, n: Any) -> None:
    x, slope = t.value(n.inputs[0]), t.value(n.inputs[1])
    if t.opset < 7 and isinstance(slope, Ref):  # a slope per channel
        t.call("aten.prelu.default", {"self": x, "weight": slope})
        return
    below = t.step("aten.mul.Tensor", {"self": t.step("aten.clamp.default", {"self": x, "max": 0.0}), "other": slope})
    t.call("aten.add.Tensor", {"self": t.step("aten.relu.default", {"self": x}), "other": below})


def _local_norm(t: Any, n: Any) -> None:
    size = n.attributes["size"]
    if size % 2 == 0:
        raise ValueError("a window without a middle")
    t.call("aten.local_response_norm.default", {
        "self": t.value(n.inputs[0]), "radius": size // 2, "bias": _short(n.attributes.get("bias", 1.0)),
        "alpha": _short(n.attributes.get("alpha", 1e-4)) / size, "beta": _short(n.attributes.get("beta", 0.75))})


def _global(target: str) -> Rule:
    def rule(t: Any, n: Any) -> None:
        t.call(f"aten.{target}.default", {"self": t.value(n.inputs[0]), "dim": [-2, -1], "keepdim": True})

    return rule


def _first(t: Any, n: Any) -> None:
    t.call("aten.alias.default", {"self": t.value(n.inputs[0])}, [t.name(n.outputs[0])])


def _transpose(t: Any, n: Any) -> None:
    if "perm" not in n.attributes:
        t.call("aten.numpy_T.default", {"self": t.value(n.inputs[0])})
    else:
        t.call("aten.permute.default", {"self": t.value(n.inputs[0]), "dims": list(n.attributes["perm"])})


def _where(t: Any, n: Any) -> None:
    condition, yes, no = (t.value(name) for name in n.inputs)
    t.call("aten.where.self", {"condition": condition, "self": yes, "other": no})


def _tile(t: Any, n: Any) -> None:
    t.call("aten.tile.default", {"self": t.value(n.inputs[0]), "dims": t.array(n.inputs[1]).tolist()})


def _matmul(t: Any, n: Any) -> None:
    t.call("aten.matmul.default", {"self": t.value(n.inputs[0]), "other": t.value(n.inputs[1])})


RULES: dict[str, Rule] = {
    **{kind: _unary(target) for kind, target in _UNARY.items()},
    **{kind: _binary(target) for kind, target in _BINARY.items()},
    **{kind: _reduction(target) for kind, target in _REDUCTIONS.items()},
    "Div": _divide, "Conv": _convolution, "ConvTranspose": _convolution, "Gemm": _matrix, "MatMul": _matmul,
    "BatchNormalization": _batch_norm, "LayerNormalization": _layer_norm, "InstanceNormalization": _instance_norm,
    "MaxPool": _pool, "AveragePool": _pool, "GlobalAveragePool": _global("mean"), "GlobalMaxPool": _global("amax"),
    "Softmax": _softmax, "LogSoftmax": _softmax, "Reshape": _reshape, "Flatten": _flatten, "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze, "Shape": _shape, "Gather": _gather, "Concat": _concat, "Slice": _slice, "Split": _split,
    "Clip": _clip, "Cast": _cast, "Pad": _pad, "LeakyRelu": _leaky, "Elu": _elu, "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid, "ArgMax": _argument("argmax"), "ArgMin": _argument("argmin"), "Expand": _expand,
    "Identity": _first, "Dropout": _first, "Transpose": _transpose, "Where": _where, "Tile": _tile,
    "PRelu": _slope, "LRN": _local_norm,
}  # fmt: skip
