"""MindSpore's primitives of gradients that are the ``vjp`` of a primitive: ``MaxPoolGrad``, ``Conv2DBackpropInput``.

Each is made from the primitive it belongs to, with that primitive's attributes; ``_ROWS`` says where among the inputs
the gradient of the result and the operands stand. Under the alias ``ops.operations._grad_ops`` finds them here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb import ops
from msnb.api.transforms.custom_gradient import custom_vjp
from msnb.api.transforms.vjp_jvp_vmap import vjp
from msnb.ops.definition.operand_checks import as_sizes
from msnb.ops.mindspore.primitive_classes import Primitive, primitive

Pulled = Callable[..., Any]


def _by(forward: Callable[..., Any], x: Any, dout: Any) -> Any:
    if not dout.dtype.differentiable:
        return _by(forward, x.astype("float64"), dout.astype("float64")).astype(dout.dtype)
    found = vjp(forward, x)[1](dout)
    return found[0] if isinstance(found, tuple) else found


def _zeros(shape: Any, like: Any) -> Any:
    return ops.zeros(as_sizes("a gradient", (shape,)), dtype=like.dtype)


def _put_back(net: Any, dout: Any, shape: Any, *part: Any) -> Any:
    """``dout`` at the places that ``net`` takes of a tensor of ``shape``, of any dtype; zeros elsewhere."""
    flat = _zeros(shape, dout).reshape(-1)
    places = net(ops.arange(flat.size).reshape(as_sizes("a gradient", (shape,))), *part)
    return flat.index_put((places.reshape(-1),), dout.reshape(-1)).reshape(as_sizes("a gradient", (shape,)))


def _inside(dout: Any, pads: Any) -> Any:
    """Zeros of the size that ``dout`` has without its border: pairs by axis, or widths from the last axis on."""
    widths = pads.tolist() if hasattr(pads, "tolist") else [*pads]
    by_axis = isinstance(widths[0], (list, tuple))
    ends = widths if by_axis else [*((0, 0) for _ in dout.shape), *reversed([*zip(widths[::2], widths[1::2])])]
    return _zeros([n - sum(pair) for n, pair in zip(dout.shape, ends[-dout.ndim :])], dout)


def _by_distance(p: float, dout: Any, x1: Any, x2: Any, distance: Any) -> Any:
    """The gradient by ``x1`` of distances that were worked out before."""
    d, far = x1.expand_dims(-2) - x2.expand_dims(-3), distance.expand_dims(-1)
    if p == float("inf"):
        part = (ops.abs(d) == far).astype(d.dtype)
    else:
        part = ops.where((far == 0) | (d == 0), 0, (ops.abs(d) / far) ** (p - 1)) if p else ops.zeros_like(d)
    return (ops.sign(d) * part * dout.expand_dims(-1)).sum(-2)


def _of_first(net: Any, x: Any, out: Any, dout: Any) -> Any:
    return _by(net, x, dout)


_ROWS: dict[str, tuple[str, Pulled]] = {
    **{f"{name}Grad": (name, lambda net, dout, x: _by(net, x, dout))
       for name in ("Mvlgamma", "Logit", "SiLU", "HSwish", "HSigmoid")},
    **{f"{name}Grad": (own, lambda net, dout, x: _by(net, x, dout))
       for name, own in (("Glu", "GLU"), ("FastGeLU", "FastGelu"))},
    **{f"{name}Grad": (name, lambda net, x, y, dout: vjp(net, x, y)[1](dout)) for name in ("Minimum", "Maximum")},
    "AvgPoolGrad": ("AvgPool", _of_first),
    "BiasAddGrad": ("BiasAdd", lambda net, dout: dout.sum(tuple(
        i for i in range(dout.ndim) if i != (dout.ndim - 1 if net.attrs["data_format"] == "NHWC" else 1))).astype(
            dout.dtype)),
    "Conv2DBackpropFilter": ("Conv2D", lambda net, dout, x, size: _by(lambda w: net(x, w), _zeros(size, x), dout)),
    "KLDivLossGrad": ("KLDivLoss", lambda net, dout, x, target: _by(lambda x: net(x, target), x, dout)),
    "L2NormalizeGrad": ("L2Normalize", _of_first),
    "LRNGrad": ("LRN", lambda net, dout, x, out: _by(net, x, dout)), "MaxPoolGrad": ("MaxPool", _of_first),
    "DeformableOffsetsGrad": ("DeformableOffsets", lambda net, dout, x, offsets: vjp(net, x, offsets)[1](dout)),
    "MedianGrad": ("Median", lambda net, dout, x, y, at: _by(lambda x: net(x)[0], x, dout)),
    "CdistGrad": ("Cdist", lambda net, dout, x1, x2, out: _by_distance(net.attrs["p"], dout, x1, x2, out)),
    "PdistGrad": ("Pdist", lambda net, dout, x, out: _by(net, x, dout)),
    "MultiMarginLossGrad": ("MultiMarginLoss", lambda net, dout, x, y, *w: _by(lambda x: net(x, y, *w), x, dout)),
    "PReLUGrad": ("PReLU", lambda net, dout, x, w: vjp(net, x, w)[1](dout)),
    "TraceGrad": ("Trace", lambda net, dout, shape: _by(net, _zeros(shape, dout), dout)),
    "MaskedSelectGrad": ("MaskedSelect", lambda net, x, mask, dout: ops.masked_scatter(ops.zeros_like(x), mask, dout)),
    **{f"{name}Grad": (name, lambda net, dout, pads: _by(lambda x: net(x, pads), _inside(dout, pads), dout))
       for name in ("MirrorPad", "PadV3")},
    "ResizeLinear1DGrad": ("ResizeLinear1D", lambda net, dout, x: _by(lambda x: net(x, dout.shape[-1]), x, dout)),
    "ROIAlignGrad": ("ROIAlign", lambda net, dout, rois, shape: _by(
        lambda x: net(x, rois), _zeros(shape, dout), dout)),
    "MaxPoolGradWithArgmax": ("MaxPoolWithArgmax",
                              lambda net, x, dout, argmax: _by(lambda x: net(x)[0], x, dout)),
    "ResizeBilinearGrad": ("ResizeBilinearV2",
                           lambda net, dout, x, *size: _by(lambda x: net(x, dout.shape[2:]), x, dout)),
    "SigmoidCrossEntropyWithLogitsGrad": ("SigmoidCrossEntropyWithLogits",
                                          lambda net, x, y, dout: _by(lambda x: net(x, y), x, dout)),
    "SliceGrad": ("Slice", lambda net, dout, x, *part: _put_back(net, dout, x.shape, *part)),
    "StridedSliceGrad": ("StridedSlice", lambda net, dout, shape, *part: _put_back(net, dout, shape, *part)),
    "AcoshGrad": ("Sinh", lambda net, out, dout: dout / net(out)),
    "AsinhGrad": ("Cosh", lambda net, out, dout: dout / net(out)),
    "RsqrtGrad": ("Rsqrt", lambda net, out, dout: -0.5 * out * out * out * dout),
    "AbsGrad": ("Abs", lambda net, x, dout: ops.sign(x) * dout),
    "GeLUGrad": ("GeLU", lambda net, dout, x, out: _by(net, x, dout)),
    "LogSoftmaxGrad": ("LogSoftmax", lambda net, out, dout: dout - ops.exp(out) * dout.sum(net.attrs["axis"], True)),
    "SoftmaxGrad": ("Softmax", lambda net, out, dout: out * (dout - (out * dout).sum(-1, True))),
    "FlattenGrad": ("Flatten", lambda net, dout, shape: dout.reshape(tuple(shape))),
    "GatherDGradV2": ("GatherD", lambda net, x, dim, index, dout: _by(lambda x: net(x, dim, index), x, dout)),
    "SmoothL1LossGrad": ("SmoothL1Loss", lambda net, x, y, dout: _by(lambda x: net(x, y), x, dout)),
    "BinaryCrossEntropyGrad": ("BinaryCrossEntropy",
                               lambda net, x, y, dout, weight=None: _by(lambda x: net(x, y, weight), x, dout)),
    **{f"{name}GradGrad": (name, lambda net, x, y, dx, dy: (
        ops.zeros_like(x), ops.zeros_like(y), ops.where(ops.equal(net(x, y), x), dx, dy)))
       for name in ("Maximum", "Minimum")},
    "MaxPool3DGrad": ("MaxPool3D", _of_first),
    "ResizeBicubicGrad": ("ResizeBicubic", lambda net, dout, x: _by(lambda x: net(x, dout.shape[2:]), x, dout)),
    "ResizeNearestNeighborV2Grad": ("ResizeNearestNeighborV2", lambda net, dout, size: _by(
        lambda x: net(x, dout.shape[2:]), _zeros((*dout.shape[:2], *size), dout), dout)),
    **{f"{name}Grad": (name, lambda net, dout, x, grid: vjp(net, x, grid)[1](dout))
       for name in ("GridSampler2D", "GridSampler3D")},
    "NLLLossGrad": ("NLLLoss", lambda net, x, dout, target, weight, total: _by(
        lambda x: net(x, target, weight)[0], x, dout)),
    "ResizeNearestNeighborGrad": ("ResizeNearestNeighbor", lambda net, dout, size: _by(
        lambda x: ops.resize_nearest_neighbor(x, dout.shape[2:], net.attrs["align_corners"]),
        _zeros((*dout.shape[:2], *size), dout), dout)),
}  # fmt: skip
_WITHOUT_EFFECT = dict.fromkeys(("MinimumGrad", "MaximumGrad", "MaximumGradGrad", "MinimumGradGrad"),
                                {"grad_x": True, "grad_y": True})  # fmt: skip
"""Attributes that choose nothing in MindSpore either: both gradients come, whatever they say."""


class _BpropGetters:
    """``bprop_getters``: gradients for operators of a program, which MindSpore's programs give beside the class.

    Examples:
        >>> from msnb.as_mindspore.gradient_operators import bprop_getters
        >>> class Twice(Primitive):
        ...     def __call__(self, x):
        ...         return x + x
        >>> @bprop_getters.register(Twice)
        ... def rule(self):
        ...     return lambda x, out, dout: (2 * dout,)
    """

    def register(self, kind: type[Primitive]) -> Callable[[Pulled], Pulled]:
        """Decorates the function that gives, for an operator of this class, ``bprop(*inputs, out, dout)``.

        Raises:
            TypeError: no class of operators.
        """
        if not (isinstance(kind, type) and issubclass(kind, Primitive)):
            raise TypeError(f"bprop_getters.register takes a class of operators, not {kind!r}.")
        plain = kind.__call__

        def keep(rule_of: Pulled) -> Pulled:
            def call(self: Primitive, *inputs: Any) -> Any:
                return custom_vjp(lambda *given: plain(self, *given), rule_of(self))(*inputs)

            kind.__call__ = call  # type: ignore[method-assign]
            return rule_of

        return keep


bprop_getters = _BpropGetters()


def _made(name: str) -> type[Primitive]:
    belongs, pulled = _ROWS[name]
    base = primitive(belongs)
    assert base is not None, belongs

    def call(self: Primitive, *inputs: Any) -> Any:
        given = {name: value[2:] if isinstance(value, tuple) and len(value) == 5 else value  # sizes of n, c, d, h, w
                 for name, value in self._given().items() if name not in further}
        return pulled(base(*given.values()) if base.defaults else base(**given), *inputs)

    further = _WITHOUT_EFFECT.get(name, {})
    defaults = {"kernel_size" if k == "ksize" else k: (1, 1) if k == "size" else v for k, v in base.defaults.items()}
    defaults = further | defaults
    doc = f"MindSpore's gradient of ``{belongs}``, by its ``vjp``."
    members = {"__call__": call, "defaults": defaults, "named_only": base.named_only, "positional": base.positional}
    return type(name, (Primitive,), {**members, "__doc__": doc, "__module__": "msnb.ops"})


def __getattr__(name: str) -> type[Primitive]:
    if name not in _ROWS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = made = _made(name)
    return made


def __dir__() -> list[str]:
    return [*globals(), *_ROWS]
