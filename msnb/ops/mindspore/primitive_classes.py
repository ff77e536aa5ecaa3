"""MindSpore's operators as classes: attributes first, tensors later.

    ops.Softmax(axis=-1)(x)             =  ops.softmax(x, axis=-1)
    ops.MatMul(transpose_b=True)(x, w)  =  ops.matmul(x, w.T)

Each class is made when it is first asked for: from the table below where attributes or results differ from those of our
function, else from the function whose name has the same letters (``LogicalNot`` -> ``logical_not``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import msnb.ops.mindspore.primitive_results as results
from msnb import ops
from msnb.base import ArgumentError, AttributeValueError
from msnb.core import WORLD_GROUP, ShardRequest, Tensor, dtypes, sharding, slot
from msnb.ops.definition.keyword_aliases import argument_names, in_own_words
from msnb.ops.definition.operand_checks import as_sizes, as_tensor
from msnb.ops.mindspore.array_primitives import ARRAYS
from msnb.ops.mindspore.attention_score import FAR
from msnb.ops.mindspore.convolution_primitives import CONVOLUTIONS
from msnb.ops.mindspore.optimizer_primitives import OPTIMIZERS
from msnb.ops.mindspore.pooling_primitives import POOLINGS
from msnb.ops.mindspore.primitives.box_primitives import BOXES, DRAWN_BOXES
from msnb.ops.mindspore.primitives.dtype_groups import GROUPS, need_dtypes
from msnb.ops.mindspore.primitives.gradient_primitives import GRADIENTS
from msnb.ops.mindspore.primitives.image_primitives import IMAGES
from msnb.ops.mindspore.primitives.number_primitives import DRAWN_NUMBERS, NUMBERS
from msnb.ops.mindspore.primitives.sequence_primitives import SEQUENCES
from msnb.ops.mindspore.sampling_primitives import SAMPLERS
from msnb.ops.mindspore.sparse_primitives import SPARSE
from msnb.ops.random import draws
from msnb.ops.shape.slice import slice_


class Primitive:
    """An operator with its attributes set; call it with tensors. Base of ``ops.ReLU`` and all others, and of
    operators of a program, which say their name: they write ``__call__``, or the operator of that name computes them.

    Attributes:
        name: the operator's name.
        attrs: its attributes by name.
    """

    fn: ClassVar[Callable[..., Any]]
    defaults: ClassVar[dict[str, Any]] = {}
    named_only: ClassVar[frozenset[str]] = frozenset()
    positional: ClassVar[tuple[str, ...]] = ()
    sharding: ShardRequest | None = None
    FIXED: ClassVar[tuple[str, ...]] = ("settings",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.name: str = type(self).__name__
        if self.defaults is Primitive.defaults:  # an operator of a program
            _name_own(self, *args, **kwargs)
            return
        names = list(self.defaults or self.positional)
        if len(args) > len(names):
            raise ArgumentError(self._legal(f"takes {len(names)} attributes, {len(args)} were given"))
        kwargs = in_own_words(self.name, {*names, *self.defaults, *self.named_only}, kwargs)
        twice = [name for name in kwargs if name in names[: len(args)]]
        if twice:
            raise ArgumentError(self._legal(f"takes {twice[0]} once"))
        given = dict(zip(names, args)) | kwargs
        unknown = [name for name in given if name not in self.defaults and name not in self.named_only]
        if unknown:
            raise ArgumentError(self._legal(f"has no attribute {unknown[0]!r}"))
        self.attrs: dict[str, Any] = {**self.defaults, **given}
        missing = [name for name, value in self.attrs.items() if value is _NEEDED]
        if missing:
            raise ArgumentError(self._legal(f"needs {', '.join(missing)}"))
        self.settings: tuple[Any, ...] = tuple(self.attrs.items())  # what a program that calls the operator relies on

    def _legal(self, what: str) -> str:
        legal = [*self.defaults, *sorted(self.named_only)]
        return f"ops.{self.name} {what}; its attributes: {', '.join(legal) or 'none'}."

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        if not hasattr(type(self), "fn"):
            return self._operator()(*inputs, **named)
        fn = type(self).fn
        named = {**self._given(), **(in_own_words(self.name, argument_names(fn), named) if named else {})}
        return fn(*inputs, **named) if self.sharding is None else slot.engine.sharded(self.sharding, fn, inputs, named)

    def _operator(self) -> Primitive:
        kind = primitive(self.name) if self.name[:1].isupper() else None
        if kind is None:
            raise ArgumentError(f"{self.name} computes nothing: no operator of msnb has this name.",
                                hint="write its __call__ in operators, or its infer_value; ops.Custom takes a function "
                                     "of NumPy arrays.")  # fmt: skip
        legal = {*kind.defaults, *kind.named_only}
        noted: dict[str, Any] = self.__dict__.get("attrs_noted", {})
        return kind(**{key: value for key, value in noted.items() if key in legal})

    def _given(self) -> dict[str, Any]:
        """What the function gets by name."""
        slot.engine.read(self, "settings")
        return self.attrs

    def shard(self, in_strategy: Any = None, out_strategy: Any = None) -> Primitive:
        """Split this operator over devices, in programs that are planned (semi_auto_parallel, auto_parallel).

        Args:
            in_strategy: per tensor a tuple of split counts, one per axis; or a Layout; or None for any.
            out_strategy: the same for the results: a sum that the splits leave open may be spread over an axis.

        Returns:
            The operator itself. On one device the strategy has no effect.

        Raises:
            TypeError: something else. What does not fit the shapes is reported when the program is planned.

        Source: `mindspore.ops.Primitive` (shard)

        Examples:
            >>> import msnb as ms
            >>> matmul = ms.ops.MatMul().shard(((2, 1), (1, 4)))
            >>> plan = ms.parallel.plan(matmul, ms.ops.ones((8, 16)), ms.ops.ones((16, 8)), device_num=8)
            >>> plan.strategies["matmul"]
            ((2, 1), (1, 4))
        """
        self.sharding = sharding(self.name, in_strategy, out_strategy)
        return self

    set_strategy = shard  # its name in MindSpore 0.x

    def add_prim_attr(self, name: str, value: Any) -> Primitive:
        """A note on the operator, kept in ``attrs_noted`` and by its name; no effect. Returns the operator."""
        self.__dict__.setdefault("attrs_noted", {})[name] = value
        if name not in _OWN:
            self.__dict__[name] = value
        return self

    def init_prim_io_names(self, inputs: list[str], outputs: list[str]) -> None:
        """Names of operands and results, as notes."""
        self.add_prim_attr("input_names", list(inputs))
        self.add_prim_attr("output_names", list(outputs))

    def add_attr(self, name: str, value: Any) -> None:
        """``add_prim_attr``, without a result."""
        self.add_prim_attr(name, value)

    def del_prim_attr(self, name: str) -> Primitive:
        """Forget a note. Returns the operator."""
        self.__dict__.get("attrs_noted", {}).pop(name, None)
        return self

    def set_prim_instance_name(self, name: str) -> Primitive:
        """A name of this operator, as the note ``instance_name``."""
        return self.add_prim_attr("instance_name", name)

    def set_device(self, device_target: str) -> Primitive:
        """Where MindSpore would run the operator; here it runs on the device of the context. Returns the operator."""
        return self.add_prim_attr("primitive_target", device_target)

    def set_user_data(self, name: str, value: Any) -> None:
        """Keep an object of the program with the operator."""
        self.__dict__.setdefault("user_data", {})[name] = value

    def get_user_data(self, name: str) -> Any:
        """What ``set_user_data`` kept under this name. KeyError: nothing."""
        return self.__dict__.get("user_data", {})[name]

    def recompute(self, mode: bool = True) -> Primitive:
        """A note that changes no result: ``Cell.recompute`` and ``ms.recompute`` save memory. Returns the operator."""
        return self.add_prim_attr("recompute", mode)

    def set_stage(self, stage: int) -> Primitive:
        """A stage of a pipeline, as a note. Returns the operator."""
        return self.add_prim_attr("stage", stage)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{k}={v!r}' for k, v in self.attrs.items())})"


_OWN = frozenset({"attrs", "name", "settings", "sharding"})


def _name_own(op: Primitive, name: str = "") -> None:
    op.name = name or op.name
    op.attrs, op.settings = {}, ()


def begin(op: Primitive, attrs: dict[str, Any]) -> None:
    """What a class's own ``__init__`` begins with: an operator of msnb takes its attributes, another one its name."""
    op.name = type(op).__name__
    legal = {*op.defaults, *op.named_only}
    op.attrs = {**op.defaults, **{name: value for name, value in attrs.items() if name in legal}}
    op.settings = tuple(op.attrs.items())


class _OneDtype(Primitive):
    """An operator that converts no operand, as MindSpore says of it; under automatic mixed precision its rule does."""

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        need_dtypes(self.name, inputs)
        return super().__call__(*inputs, **named)


class _SplitByResult(_OneDtype):
    """An operator whose result has one axis more than its first input; MindSpore says the splits of the result."""

    def __call__(self, *inputs: Any) -> Any:
        asked = self.sharding
        split = asked.inputs[0] if asked is not None and asked.inputs else None
        if asked is None or not isinstance(split, tuple) or len(split) != inputs[0].ndim + 1:
            return super().__call__(*inputs)
        axis = self.attrs["axis"] % len(split)
        own = (*split[:axis], *split[axis + 1 :])
        turned = replace(asked, inputs=(own, *asked.inputs[1:]), outputs=asked.outputs or (split,))
        return slot.engine.sharded(turned, type(self).fn, inputs, self.attrs)


class _SeededPrimitive(Primitive):
    """An operator that draws; with a seed of its own, from a stream of its own that starts with the object."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        words = [name for name in self.defaults if name.lower().startswith("seed")]
        seeds = [0 if self.attrs[name] == -1 == self.defaults[name] else self.attrs[name] for name in words]  # -1: any
        self._stream = results.seed_state(self.name, *seeds)

    def _given(self) -> dict[str, Any]:
        named = {name: v for name, v in super()._given().items() if not name.lower().startswith("seed")}
        stream = slot.engine.read(self, "_stream")
        return named if stream is None else {**named, "key": draws.next_key(stream)}


_DRAWING = ("Dropout", "StandardNormal", "UniformReal", "UniformInt", *SAMPLERS, *DRAWN_BOXES, *DRAWN_NUMBERS)
_BASES = {**dict.fromkeys(GROUPS, _OneDtype), "OneHot": _SplitByResult, **dict.fromkeys(_DRAWING, _SeededPrimitive)}
_SAME: dict[tuple[str, ...], tuple[str, ...]] = {
    ("alpha",): ("CeLU", "Elu"), ("axis",): ("CountNonZero", "Cummax", "GLU", "InplaceIndexAdd"),
    ("reduction",): ("BinaryCrossEntropy", "SoftMarginLoss"), ("beta", "reduction"): ("SmoothL1Loss",),
    ("p",): ("Cdist", "Pdist"), ("upper",): ("Cholesky", "CholeskyInverse", "CholeskySolve"),
    ("dim",): ("Cross",), ("batch_dims",): ("Gather",),
    ("rtol", "atol", "equal_nan"): ("IsClose",), ("eps",): ("Logit",), ("nan", "posinf", "neginf"): ("NanToNum",),
    ("lambd",): ("SoftShrink",), ("diagonal",): ("Tril", "Triu"),
    ("output_size",): ("AdaptiveAvgPool2D", "AdaptiveAvgPool3D"),
    ("align_corners",): ("AffineGrid",), ("periodic", "dtype"): ("BartlettWindow", "BlackmanWindow"),
    ("periodic", "alpha", "beta", "dtype"): ("HammingWindow",),
    ("indices",): ("InplaceAdd", "InplaceSub"), ("adjoint",): ("MatrixSolve",),
    ("steps", "base", "dtype"): ("LogSpace",), ("unpack_data", "unpack_pivots"): ("LuUnpack",),
    ("n",): ("MatrixPower",),
    ("left", "transpose"): ("Ormqr",),
    ("p", "swap", "eps", "reduction"): ("TripletMarginLoss",),
    ("use_locking",): (
        "ScatterDiv", "ScatterMax", "ScatterMin", "ScatterMul", "ScatterNdAdd", "ScatterNdDiv", "ScatterNdMax",
        "ScatterNdMin", "ScatterNdMul", "ScatterNdSub", "ScatterNdUpdate", "ScatterSub",
    ),
}  # fmt: skip
_POSITIONAL = {name: order for order, names in _SAME.items() for name in names}
"""The order of attributes where they are those of our function."""
_NEEDED: Any = inspect.Parameter.empty
_made: dict[str, type[Primitive]] = {}


def primitive(name: str) -> type[Primitive] | None:
    """The class called ``name``, or None if no operator is called so."""
    if name not in _made:
        made = _of_table(name) or _of_function(name)
        if made is None:
            return None
        _made[name] = made
    return _made[name]


def _class(name: str, fn: Callable[..., Any], defaults: dict[str, Any], named: frozenset[str], doc: str) -> Any:
    members = {"fn": staticmethod(fn), "defaults": defaults, "named_only": named, "__doc__": doc}
    return type(name, (_BASES.get(name, Primitive),), {**members, "__module__": "msnb.ops"})


def operator_class(name: str, fn: Callable[..., Any]) -> type[Primitive]:
    """A function as an operator class without attributes: what it takes comes with the call."""
    if name not in _made:
        doc = f"A function of PyTorch's names as an operator class.\n\n{fn.__doc__}"
        _made[name] = _class(name, fn, {}, frozenset(), doc)
    return _made[name]


def _of_table(name: str) -> type[Primitive] | None:
    row = _TABLE.get(name)
    if row is None:
        return None
    fn, defaults = row
    made: type[Primitive] = _class(name, fn, defaults, frozenset(), f"MindSpore's operator {name}: attributes first.")
    return made


def _of_function(name: str) -> type[Primitive] | None:
    wanted = name.lower()  # underscores do not count: LayerNorm is layer_norm
    every = (*vars(ops), *dir(ops))  # those loaded on first use as well
    found = next((n for n in every if n.replace("_", "") == wanted and n[:1] != "_"), None)
    fn = None if found is None else getattr(ops, found)
    if fn is None or not callable(fn) or isinstance(fn, type) or not name[:1].isupper():
        return None
    if str(getattr(fn, "__module__", "")).startswith("msnb.api."):  # a transform (grad, jet) is no operator
        return None
    doc = f"``ops.{found}`` as an operator class.\n\n{fn.__doc__}"
    positional = _POSITIONAL.get(name, ())
    made: type[Primitive] = _class(name, fn, {}, _keywords(fn) | {*positional}, doc)
    made.positional = positional
    return made


def _keywords(fn: Any) -> frozenset[str]:
    """Parameters with a default: those may be given as attributes."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    return frozenset(p.name for p in parameters if p.default is not inspect.Parameter.empty)


# ---- operators whose attributes or results are not those of our functions ----


def _matmul(x: Any, y: Any, transpose_a: bool, transpose_b: bool) -> Any:
    return ops.matmul(x.swapaxes(-1, -2) if transpose_a else x, y.swapaxes(-1, -2) if transpose_b else y)


def _reduce(name: str) -> Callable[..., Any]:
    values = {"max": "amax", "min": "amin"}.get(name, name)  # the values alone, also along one axis

    def reduce(x: Any, axis: Any = (), *, keep_dims: bool) -> Any:
        return getattr(ops, values)(x, axis, keep_dims)

    return reduce


def _total(name: str) -> Callable[..., Any]:
    """Sums and products; those of integers have the dtype of x, in which they wrap."""

    def total(x: Any, axis: Any = (), *, keep_dims: bool, skip_mode: bool = False) -> Any:
        if skip_mode and axis == ():
            return x
        found, dtype = getattr(ops, name)(x, axis, keep_dims), as_tensor(x).dtype
        return found.astype(dtype) if dtype.is_int else found

    return total


def _arg_with_value(name: str) -> Callable[..., Any]:
    def both(x: Any, axis: int, keep_dims: bool) -> Any:
        if x.ndim == 0 and axis in (0, -1):
            return ops.zeros((), dtypes.int32), x
        value, place = getattr(ops, name)(x, axis, keep_dims)  # among equals, the gradient goes to the place
        return place, value

    return both


def _running(name: str) -> Callable[..., Any]:
    def run(x: Any, axis: Any, *, exclusive: bool, reverse: bool) -> Any:
        along = axis.item() if isinstance(axis, Tensor) else axis
        return getattr(ops, name)(x, along, x.dtype, exclusive=exclusive, reverse=reverse)

    return run


def _on_the_diagonal(x: Any) -> Any:
    """[a, b] as [a, b, a, b]: x[i, j] at [i, j, i, j], 0 elsewhere."""
    return ops.diag(x.reshape((-1,))).reshape((*x.shape, *x.shape))


def _in_rows(x: Any) -> Any:
    return ops.flatten(x) if x.ndim > 1 else x.reshape((-1, 1))


def _arg(name: str) -> Callable[..., Any]:
    return lambda x, axis, output_type: getattr(ops, name)(x, axis).astype(output_type)


def _split(x: Any, axis: int, output_num: int) -> Any:
    n = x.shape[axis]
    if n % output_num:
        raise AttributeValueError(f"Split: axis {axis} of size {n} cannot be split into {output_num} equal parts.")
    return ops.split(x, n // output_num, axis)


def _pool(name: str) -> Callable[..., Any]:
    def pool(x: Any, kernel_size: Any, strides: Any, pad_mode: str, data_format: str) -> Any:
        return getattr(ops, name)(x, kernel_size, strides, pad_mode.lower(), data_format=data_format)

    return pool


def _drawn(fn: str) -> Callable[..., Any]:
    def draw(shape: Any, key: Any = None) -> Any:
        return getattr(draws, fn)(as_sizes(fn, (shape,)), key)

    return draw


def _drawn_ints(shape: Any, minval: Any, maxval: Any, key: Any = None) -> Any:
    low, high = (int(v.item() if isinstance(v, Tensor) else v) for v in (minval, maxval))
    return draws.drawn_integers(as_sizes("UniformInt", (shape,)), low, high, key)


def _with_gradient(logits: Any, labels: Any) -> Any:
    labels = ops.stop_gradient(labels.astype(logits.dtype))
    lse = ops.logsumexp(logits, -1)  # the loss's gradient is softmax - labels, also of labels whose sum is not 1
    loss = ops.cross_entropy(logits, labels, reduction="none") + (1 - labels.sum(-1)) * (lse - ops.stop_gradient(lse))
    return loss, ops.softmax(logits, -1) - labels


def _sparse(logits: Any, labels: Any, is_grad: bool) -> Any:
    if not is_grad:
        return ops.cross_entropy(logits, labels)
    return (ops.softmax(logits, -1) - ops.one_hot(labels, logits.shape[-1])) / logits.shape[0]


def _layer_norm(x: Any, gamma: Any, beta: Any, begin_norm_axis: int, begin_params_axis: int, epsilon: float) -> Any:
    axes, start = tuple(range(begin_norm_axis % x.ndim, x.ndim)), begin_params_axis % x.ndim
    wide_x = x if x.dtype is dtypes.float64 else x.astype(dtypes.float32)
    mean, var = ops.mean(wide_x, axes, True), ops.var(wide_x, axes, 0, True)
    wide = (*gamma.shape, *(1,) * (x.ndim - start - gamma.ndim))
    normal = ((wide_x - mean) * ops.rsqrt(var + epsilon)).astype(x.dtype)
    y = normal * gamma.reshape(wide) + beta.reshape(wide)
    return y.astype(x.dtype) if x.dtype.is_float else y, *map(ops.stop_gradient, (mean, var))


def _strided(
    x: Any, begin: Any, end: Any, strides: Any, *, begin_mask: int, end_mask: int, ellipsis_mask: int,
    new_axis_mask: int, shrink_axis_mask: int,
) -> Any:  # fmt: skip
    def part(i: int, first: int, last: int, step: int) -> Any:
        if ellipsis_mask >> i & 1:
            return ...
        if new_axis_mask >> i & 1:
            return None
        if shrink_axis_mask >> i & 1:
            return 0 if begin_mask >> i & 1 else first
        return slice(None if begin_mask >> i & 1 else first, None if end_mask >> i & 1 else last, step)

    return x[tuple([part(i, *bounds) for i, bounds in enumerate(zip(begin, end, strides))])]


def _narrow(found: Any) -> Any:
    """(values, places) with places in int32, as MindSpore's operators give them."""
    values, places = found
    return values, places.astype(dtypes.int32)


def _padded(x: Any, paddings: Any) -> Any:
    pairs = tuple((int(a), int(b)) for a, b in paddings)
    return ops.pad(x, [side for pair in reversed(pairs) for side in pair])


def _range(start: Any, limit: Any, delta: Any = 1, *, maxlen: int) -> Any:
    return ops.arange(*[v.item() if isinstance(v, Tensor) else v for v in (start, limit, delta)])


def _std(x: Any, axis: Any, unbiased: bool, keep_dims: bool) -> Any:
    return ops.std(x, axis, int(unbiased), keep_dims), ops.mean(x, axis, keep_dims)


def _lp_norm(x: Any, axis: Any, p: int, keep_dims: bool, epsilon: float) -> Any:
    axes, size = axis if isinstance(axis, int) else tuple(axis), ops.abs(x)
    top = ops.stop_gradient(ops.amax(size, axes, True))  # high powers of what is far from it leave the range
    share = size / ops.where(ops.logical_and(top > 0, ops.isfinite(top)), top, ops.ones_like(top))
    total = ops.maximum(ops.sum(ops.pow(share, p), axes, True), 0.5)  # 1 at least, but of zeros
    found = ops.maximum(top * ops.pow(total, 1 / p), dtypes.guard(epsilon, total.dtype))
    return found if keep_dims else ops.squeeze(found, axes)


_SIDES = {"align_corners": False, "half_pixel_centers": False}
_TABLE: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    **GRADIENTS,
    **OPTIMIZERS,
    **ARRAYS,
    **CONVOLUTIONS, **POOLINGS,
    **SAMPLERS,
    **IMAGES, **BOXES, **DRAWN_BOXES, **NUMBERS, **DRAWN_NUMBERS, **SEQUENCES,
    **SPARSE,
    "MatMul": (_matmul, {"transpose_a": False, "transpose_b": False}),
    "BatchMatMul": (_matmul, {"transpose_a": False, "transpose_b": False}),
    **{f"Reduce{n.capitalize()}": (_reduce(n), {"keep_dims": False})
       for n in ("mean", "max", "min", "all", "any")},
    "ReduceProd": (_total("prod"), {"keep_dims": False}),
    "ReduceStd": (_std, {"axis": (), "unbiased": True, "keep_dims": False}),
    "Argmax": (_arg("argmax"), {"axis": -1, "output_type": "int32"}),
    "Argmin": (_arg("argmin"), {"axis": -1, "output_type": "int32"}),
    "ArgMaxWithValue": (_arg_with_value("max"), {"axis": 0, "keep_dims": False}),
    "ArgMinWithValue": (_arg_with_value("min"), {"axis": 0, "keep_dims": False}),
    "CumSum": (_running("cumsum"), {"exclusive": False, "reverse": False}),
    "CumProd": (_running("cumprod"), {"exclusive": False, "reverse": False}), "Diag": (_on_the_diagonal, {}),
    "Flatten": (_in_rows, {}),
    "Inv": (lambda x: ops.reciprocal(x).astype(x.dtype), {}),  # of integers an integer, unlike Reciprocal
    "Softmax": (lambda x, axis: ops.softmax(x, axis[0] if isinstance(axis, (tuple, list)) and len(axis) == 1 else axis),
                {"axis": -1}),
    "LogSoftmax": (ops.log_softmax, {"axis": -1}),
    **dict.fromkeys(("GeLU", "Gelu"), (lambda x: ops.gelu(x, approximate="tanh"), {})),
    "HSwish": (ops.hardswish, {}), "HSigmoid": (ops.hardsigmoid, {}),
    "L2Normalize": (ops.l2_normalize, {"axis": 0, "epsilon": 1e-4}),
    "Concat": (lambda xs, axis: ops.concat(xs, axis=axis), {"axis": 0}), "Stack": (ops.stack, {"axis": 0}),
    "Unstack": (results.unstack, {"axis": 0, "num": None}), "Split": (_split, {"axis": 0, "output_num": 1}),
    "OneHot": (lambda x, depth, on, off, axis: ops.one_hot(x, depth, on, off, axis), {"axis": -1}),
    "TopK": (lambda x, k, sorted: _narrow(ops.topk(x, k, sorted=sorted)), {"sorted": True}),
    "InTopK": (ops.intopk, {"k": _NEEDED}), "BroadcastTo": (ops.broadcast_to, {"shape": _NEEDED}),
    "ReverseSequence": (ops.reverse_sequence, {"seq_dim": _NEEDED, "batch_dim": 0}),
    "MirrorPad": (ops.mirror_pad, {"mode": "REFLECT"}),
    "LRN": (ops.lrn, {"depth_radius": 5, "bias": 1.0, "alpha": 1.0, "beta": 0.5, "norm_region": "ACROSS_CHANNELS"}),
    "Mvlgamma": (ops.mvlgamma, {"p": _NEEDED}),
    "Renorm": (lambda x, p, dim, maxnorm: ops.renorm(x, p, dim, maxnorm),
               {"p": _NEEDED, "dim": _NEEDED, "maxnorm": _NEEDED}),
    "ReverseV2": (lambda x, axis: ops.flip(x, tuple(axis)), {"axis": _NEEDED}),
    "Pad": (_padded, {"paddings": _NEEDED}),
    "StridedSlice": (_strided, {"begin_mask": 0, "end_mask": 0, "ellipsis_mask": 0, "new_axis_mask": 0,
                                "shrink_axis_mask": 0}),
    "ReduceSum": (_total("sum"), {"keep_dims": False, "skip_mode": False}),
    "SearchSorted": (lambda sequence, values, *, dtype, right:
                     ops.searchsorted(sequence, values, right=right).astype(dtype),
                     {"dtype": dtypes.int64, "right": False}),
    "Roll": (ops.roll, {"shifts": _NEEDED, "dims": ()}),
    "Diagonal": (lambda x, offset, dim1, dim2: ops.diagonal(x, offset, dim1, dim2),
                 {"offset": 0, "dim1": 0, "dim2": 1}),
    "TensorScatterElements": (lambda x, indices, updates, axis, reduction:
                              ops.tensor_scatter_elements(x, indices, updates, axis, reduction),
                              {"axis": 0, "reduction": "none"}),
    "Sort": (lambda x, axis, descending: _narrow(ops.sort(x, axis, descending)), {"axis": -1, "descending": False}),
    "Cummin": (lambda x, axis: _narrow(ops.cummin(x, axis)), {"axis": _NEEDED}),
    "Slice": (lambda x, begin, size: slice_(x, begin, size), {}),
    "Einsum": (lambda xs, equation: ops.einsum(equation, *xs), {"equation": _NEEDED}),
    "Meshgrid": (lambda xs, indexing: ops.meshgrid(*xs, indexing=indexing), {"indexing": "xy"}),
    "Range": (_range, {"maxlen": 1000000}),
    "Qr": (lambda x, full_matrices: ops.qr(x, "complete" if full_matrices else "reduced"), {"full_matrices": False}),
    "ScalarToTensor": (lambda value, dtype="float32": Tensor(value, dtype), {}),
    "ScalarCast": (lambda value, dtype: Tensor(value, dtype).item(), {}),
    "LpNorm": (_lp_norm, {"axis": _NEEDED, "p": 2, "keep_dims": False, "epsilon": 1e-12}),
    "SigmoidCrossEntropyWithLogits": (
        lambda x, y: ops.binary_cross_entropy_with_logits(x, y, reduction="none"), {}),
    "ResizeBilinear": (ops.resize_bilinear, {"size": _NEEDED, **_SIDES}),
    "ResizeBilinearV2": (ops.resize_bilinear, _SIDES),
    "ResizeNearestNeighbor": (ops.resize_nearest_neighbor, {"size": _NEEDED, **_SIDES}),
    "DepthToSpace": (ops.depth_to_space, {"block_size": _NEEDED}),
    "SpaceToDepth": (ops.space_to_depth, {"block_size": _NEEDED}), "IOU": (ops.iou, {"mode": "iou"}),
    "BoundingBoxEncode": (ops.bounding_box_encode, {"means": (0.0,) * 4, "stds": (1.0,) * 4}),
    "BoundingBoxDecode": (ops.bounding_box_decode,
                          {"max_shape": _NEEDED, "means": (0.0,) * 4, "stds": (1.0,) * 4, "wh_ratio_clip": 0.016}),
    "NMSWithMask": (ops.nms_with_mask, {"iou_threshold": 0.5}),
    "CropAndResize": (ops.crop_and_resize, {"method": "bilinear", "extrapolation_value": 0.0}),
    "ROIAlign": (ops.roi_align,
                 {"pooled_height": _NEEDED, "pooled_width": _NEEDED, "spatial_scale": _NEEDED, "sample_num": 2,
                  "roi_end_mode": 1}),
    "TensorShape": (lambda x: Tensor(x.shape), {}),
    "TensorAdd": (lambda x, y: ops.add(x, y), {}), "TensorSub": (lambda x, y: ops.sub(x, y), {}),
    "GatherV2": (lambda x, indices, axis: ops.gather(x, indices, axis), {}),
    "InvertPermutation": (results.inverted_permutation, {}), "ScalarToArray": (lambda value: Tensor(value), {}),
    "FloatStatus": (results.float_status, {}),
    "Mod": (lambda x, y: ops.fmod(x, y), {}),  # the sign of x; FloorMod has the sign of y
    "RealDiv": (lambda x, y: ops.divide(x, y), {}), "BiasAdd": (results.bias_add, {"data_format": "NCHW"}),
    "MaxPool": (_pool("max_pool2d"), {"kernel_size": 1, "strides": 1, "pad_mode": "valid", "data_format": "NCHW"}),
    "AvgPool": (_pool("avg_pool2d"), {"kernel_size": 1, "strides": 1, "pad_mode": "valid", "data_format": "NCHW"}),
    "LayerNorm": (_layer_norm, {"begin_norm_axis": 1, "begin_params_axis": 1, "epsilon": 1e-7}),
    "BatchNorm": (results.batch_norm, {"is_training": False, "epsilon": 1e-5, "momentum": 0.1, "data_format": "NCHW"}),
    "ChannelShuffle": (lambda x, group: ops.channel_shuffle(x, group), {"group": _NEEDED}),
    "Lstsq": (results.lstsq, {"fast": True, "l2_regularizer": 0.0}),
    "Svd": (results.svd, {"full_matrices": False, "compute_uv": True}),
    "RmsNorm": (results.rms_norm, {"epsilon": 1e-6}),
    "NLLLoss": (results.nll_loss, {"reduction": "mean", "ignore_index": -100}), "Unique": (results.unique, {}),
    "UniqueConsecutive": (results.unique_consecutive, {"return_inverse": False, "return_counts": False, "dim": None}),
    "GroupNorm": (results.group_norm, {}),
    "MultiMarginLoss": (results.multi_margin_loss, {"p": 1, "margin": 1.0, "reduction": "mean"}),
    "Median": (results.median, {"global_median": False, "axis": 0, "keep_dims": False, "ignore_nan": False}),
    "Dropout": (results.dropout, {"keep_prob": 0.5, "Seed0": 0, "Seed1": 0}),
    "Dropout2D": (results.channel_dropout("Dropout2D", 2), {"keep_prob": 0.5}),
    "Dropout3D": (results.channel_dropout("Dropout3D", 3), {"keep_prob": 0.5}),
    "StandardNormal": (_drawn("drawn_normal"), {"seed": 0, "seed2": 0}),
    "UniformReal": (_drawn("drawn_uniform"), {"seed": 0, "seed2": 0}),
    "UniformInt": (_drawn_ints, {"seed": 0, "seed2": 0}), "SoftmaxCrossEntropyWithLogits": (_with_gradient, {}),
    "AllReduce": (ops.all_reduce, {"op": "sum", "group": WORLD_GROUP}),
    "AllGather": (ops.all_gather, {"group": WORLD_GROUP}),
    "ReduceScatter": (ops.reduce_scatter, {"op": "sum", "group": WORLD_GROUP}),
    "Broadcast": (ops.broadcast, {"root_rank": _NEEDED, "group": WORLD_GROUP}),
    "AlltoAll": (ops.all_to_all,
                 {"split_count": _NEEDED, "split_dim": _NEEDED, "concat_dim": _NEEDED, "group": WORLD_GROUP}),
    "NeighborExchange": (ops.neighbor_exchange,
                         {**dict.fromkeys(("send_rank_ids", "recv_rank_ids", "recv_shapes", "send_shapes", "recv_type"),
                                          _NEEDED), "group": WORLD_GROUP}),
    "FlashAttentionScore": (results.attention_score,
                            {"head_num": _NEEDED, "keep_prob": 1.0, "scale_value": 1.0, "pre_tokens": FAR,
                             "next_tokens": FAR, "inner_precise": 0, "input_layout": "BSH", "sparse_mode": 0}),
    "SparseSoftmaxCrossEntropyWithLogits": (_sparse, {"is_grad": False}),
}  # fmt: skip
