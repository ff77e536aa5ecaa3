"""One op, once: the record that answers everything anyone asks about an operation.

    who                                  reads
    dispatch, capture, printer           inputs, attrs (positional = tensors, keyword-only = static attributes)
    eager, graph, error messages         infer
    both engines                         grad (written in ops), traits
    vmap, parallel planner               axes, batch, windows
    code generators                      scalar
    fusion, simulator, profiler          work
    fusion, eager kernels, planner       reduction, view
    channels-last layout                 images
    models of ONNX                       onnx, scalar, reduction, view, decomposition
    reference executor, every test       body
    docs, tests, benches, pictures       doc, examples, wrong

A record is made with ``define(...)`` next to its relatives and is called like a function:

    add = define("add", "x, y", infer=broadcast, body=lambda xp, x, y: xp.add(x, y), scalar="x + y",
                 grad=lambda dout: (dout, dout), axes="..., ... -> ...", promotes=True, ...)
    add(a, b)        ->  slot.engine.apply(add, (a, b), {})

Conventions
-----------
infer(*types, **attrs) -> Type or tuple of Types; raises ShapeError, DTypeError, AttributeValueError. ``types`` are
    TensorTypes, weak ones for Python scalars.
body(xp, *arrays, **attrs) -> array or tuple: runs over the array module ``xp`` (numpy, cupy), never writes its inputs.
    With ``promotes`` the kernel has converted all inputs to their common dtype before the body sees them; the result
    is converted to the dtype that ``infer`` gave.
grad(...) -> one gradient per input (a tuple; a bare value for one input), None where there is none. It asks for what it
    wants by parameter name: ``dout`` (a tuple ``douts`` for several results), input names, ``out`` (``outs``),
    attribute names, ``attrs`` (all of them), ``types`` (the input types, nothing is kept alive) and ``out_type``.
    Naming an input or ``out`` declares that it must be kept alive. Rules are written in ops. Inputs that broadcast or
    promote: the rule ignores that; the autodiff engine sums to the input's shape and casts to its dtype. A variadic
    input ``*xs`` is named ``xs`` and the rule returns a flat sequence of its gradients. ``grad=None`` needs
    ``no_grad="why"``.
axes: labels per input and result, ``"... m k, ... k n -> ... m n"``; ``...`` are leading axes that broadcast. A label
    that vanishes is summed over. Suffixes give kinds: ``k^`` max-reduced, ``c!`` whole (cannot be split), ``n@``
    indexed, ``h~`` seen by windows: a piece of the windows sees a rim of the neighbouring pieces (``windows`` says how
    much); tensors with one value per window name the label without a mark. Or a function of (types, attrs) that gives
    such a string.
windows: how windows slide along the labels marked ``~``: a function of (types, attrs) that gives a
    ``msnb.ops.definition.window_geometry.Slide`` per label. The pads (and sizes) of a piece's own call are written by
    ``window.of_part``.
batch: vmap rule where ``axes`` cannot say it: batch(axis_size, inputs, batched, **attrs) -> (result, batched_out);
    batched inputs carry the new axis at 0.
work(types, out_types, attrs) -> Work(cube=, vector=) in flops. Default: one vector flop per result element.
traits: "commutative", "pure" (default), "random", "effect", "view", "elementwise", "linear", "floating" (integers
    compute as float32), "scalars" (the body takes Python scalars as they are), "ufunc" (``xp`` has a ufunc of this
    name), "modular" (integers may wrap around before the op: the result is the same), "contraction" (sums of products:
    work for a matrix unit, BLAS in the body), "indexed" (an index operand names the rows that are moved),
    "independent_indices" (no entry of it asks what the others name), "dynamic" (sizes that only the data tell: every
    call mints Dims) ...
reduction: the op's whole meaning is to reduce its one input so: "sum", "mean", "prod", "max", "min", "any", "all",
    "count_nonzero" or "var" (attribute ``ddof``). Either over the axes that the attributes ``axis`` and ``keepdims``
    name, or (attribute ``shape``) over those that broadcasting this shape to the input's repeats. Half precision is
    summed in float32, other sums in what the record's result promises.
view: the elements of the first input seen otherwise, so that the op is looked through: "reshape" (in the same order),
    "broadcast" (repeated along axes that are new or were 1), "transpose" (attribute ``perm``), "slice" (``begin``,
    ``end``, ``step``), "index" (``spec``; with further inputs it is no view), "identity". The trait "view" says of the
    body that it copies nothing.
restore: of an op whose results are views in other libraries: restore(source, changed, at, **attrs) -> the source with
    the changed result in it (``at``: which, -1: the only one), see ``msnb.core.temporary_writes``.
images: which inputs are images in the attribute ``data_format`` (-1: the result too); such an op would rather have
    "NHWC", and is given it with the operators around it.
onnx: the op in ONNX where the other facts do not say it: operators over inputs and attributes, such as
    "Reciprocal(Sqrt(x))" or "Concat(*xs, axis=axis)", or the name of a rule of ``msnb.onnx``.
numpy: (types, result types, **attrs) -> a function of NumPy arrays (and Python scalars, where types are weak) that does
    what the body does with fewer questions, or None: what small tensors cost in eager mode. Sizes are known.
decomposition: the op as a function of other ops, for targets that have no such operator of their own.
examples: Example((inputs...), {attrs}) with NumPy arrays or scalars; wrong: Wrong((inputs...), {attrs}, "piece of the
    sentence").
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from msnb.base import ArgumentError, MsnbError, plugins
from msnb.core import DType, Tensor, TensorType, Type, dtypes, result_dtype, slot
from msnb.core.temporary_writes import mark
from msnb.core.types import unequal
from msnb.ops.definition.docstring import LazyAttribute, documentation_of, signature_of
from msnb.ops.definition.keyword_aliases import in_own_words


@dataclass(frozen=True)
class Work:
    """Arithmetic of one call in flops: on the matrix (cube) unit and on the vector unit."""

    cube: float = 0.0
    vector: float = 0.0


def moves_only(types: Any, out_types: Any, attrs: Any) -> Work:
    """The work of an operation that only moves numbers."""
    return Work()


@dataclass(frozen=True)
class Example:
    """A right call: NumPy arrays (or Python scalars) and attributes."""

    inputs: tuple[Any, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class InvalidExample:
    """A wrong call and a piece of the sentence it must give."""

    inputs: tuple[Any, ...]
    attrs: Mapping[str, Any]
    sentence: str
    error: type[Exception] = MsnbError


REQUIRED: Any = inspect.Parameter.empty
Infer = Callable[..., Any]
Body = Callable[..., Any]

REDUCTIONS = ("sum", "mean", "prod", "max", "min", "any", "all", "count_nonzero", "var")
VIEWS = {"reshape": (), "broadcast": (), "identity": (), "transpose": ("perm",), "slice": ("begin", "end", "step"),
         "index": ("spec",)}  # fmt: skip
REGISTRY: dict[str, Op] = {}
_NONE: dict[str, Any] = {}


@dataclass(eq=False, frozen=True)
class Op:
    __doc__ = LazyAttribute(
        "__doc__", documentation_of, "The record of one operation; the file's head says every field."
    )
    __signature__: ClassVar[LazyAttribute] = LazyAttribute("__signature__", signature_of, None)

    name: str
    inputs: tuple[str, ...]
    attrs: Mapping[str, Any]
    infer: Infer
    body: Body
    doc: str
    grad: Callable[..., Any] | None
    no_grad: str
    scalar: str | None
    axes: str | Callable[..., str] | None
    batch: Callable[..., Any] | None
    work: Callable[..., Work] | None
    traits: frozenset[str]
    promotes: bool
    optional: frozenset[str]
    examples: tuple[Example, ...]
    wrong: tuple[InvalidExample, ...]
    family: str
    windows: Callable[..., Mapping[str, Any]] | None = None
    reduction: str = ""
    view: str = ""
    restore: Callable[..., Tensor] | None = None
    images: tuple[int, ...] = ()
    onnx: str = ""
    decomposition: Callable[..., Any] | None = None
    numpy: Callable[..., Any] | None = None
    wanted_by_grad: frozenset[str] = frozenset()
    arity: int = -1  # the number of inputs where it is fixed
    fast: dict[Any, Any] = field(default_factory=dict)  # eager dispatch's table: signature -> entry
    _inferred: dict[Any, tuple[Type, ...]] = field(default_factory=dict)

    @property
    def variadic(self) -> bool:
        """True when the last input stands for any number of tensors."""
        return bool(self.inputs) and self.inputs[-1].startswith("*")

    @property
    def __name__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (find, (self.name,))

    def __call__(self, *inputs: Any, **attrs: Any) -> Tensor:
        if len(inputs) != self.arity:
            inputs, attrs = self._named_inputs(inputs, attrs)
        # several results are a tuple, which type checkers may unpack too: a Tensor can be iterated over
        return slot.engine.apply(self, inputs, self.bind_attrs(attrs) if attrs or self.attrs else _NONE)  # type: ignore[no-any-return]

    # ---- signature ----

    def _named_inputs(self, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Tensors that are given by name, beside those given by place; the attributes that are left."""
        if attrs:
            names = [name.lstrip("*") for name in self.inputs]
            attrs = in_own_words(self.name, (*names, *self.attrs), attrs)
            for name in names[len(inputs) :]:
                if name not in attrs:
                    break
                inputs = (*inputs, *attrs.pop(name)) if self.variadic else (*inputs, attrs.pop(name))
        return self.bind_inputs(inputs), attrs

    def bind_inputs(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Check the number of tensors."""
        low = len(self.inputs) - len(self.optional) - self.variadic
        if low <= len(inputs) and (self.variadic or len(inputs) <= len(self.inputs)):
            return inputs
        wanted = ", ".join(self.inputs)
        raise ArgumentError(f"{self.name} takes the tensors ({wanted}), got {len(inputs)}.")

    def bind_attrs(self, attrs: Mapping[str, Any]) -> dict[str, Any]:
        """All attributes in declared order with defaults filled in and values made hashable."""
        if not attrs and not self.attrs:
            return {}
        for name in attrs:
            if name not in self.attrs:
                known = ", ".join(self.attrs) or "none"
                raise ArgumentError(f"{self.name} has no attribute {name!r}; it takes {known}.")
        out = {}
        for name, default in self.attrs.items():
            value = attrs.get(name, default)
            if value is REQUIRED:
                raise ArgumentError(f"{self.name} needs the attribute {name!r}.")
            out[name] = static(value)
        return out

    # ---- types ----

    def result_types(self, types: tuple[Type, ...], attrs: Mapping[str, Any]) -> tuple[Type, ...]:
        """The types of the results, cached by signature (not where every call mints Dims of its own). Raises what
        ``infer`` raises."""
        if "dynamic" in self.traits:
            made = self.infer(*types, **attrs)
            return made if isinstance(made, tuple) else (made,)
        key = (types, tuple(attrs.values()))
        found = self._inferred.get(key)
        if found is None:
            result = self._infer(types, attrs)
            found = result if isinstance(result, tuple) else (result,)
            if len(self._inferred) > 4096:
                self._inferred.clear()
            self._inferred[key] = found
        return found

    def _infer(self, types: tuple[Type, ...], attrs: Mapping[str, Any]) -> Any:
        """What ``infer`` says. Its comparisons of sizes need not be told: when the sizes are known it runs again."""
        if not unequal.lists:
            return self.infer(*types, **attrs)
        told, unequal.lists = unequal.lists, []
        try:
            return self.infer(*types, **attrs)
        finally:
            unequal.lists = told


class ViewOp(Op):
    __doc__ = LazyAttribute("__doc__", documentation_of, "An op with ``restore``.")

    def __call__(self, *inputs: Any, **attrs: Any) -> Tensor:
        if len(inputs) != 1:
            inputs, attrs = self._named_inputs(inputs, attrs)
        attrs = self.bind_attrs(attrs)
        out: Any = slot.engine.apply(self, inputs, attrs)
        source = inputs[0]
        if isinstance(source, Tensor):
            if out.__class__ is tuple:
                for i, part in enumerate(out):
                    mark(part, source, [self, attrs, i])
            elif out is not source:
                mark(out, source, [self, attrs, -1])
        return out  # type: ignore[no-any-return]


_AS_THEY_ARE = frozenset({type(None), int, float, bool, str, DType})


def static(value: Any) -> Any:
    """A static attribute in hashable form: lists become tuples, NumPy scalars and tensors of one number Python ones,
    dtype names DTypes. A tensor whose value is not known refuses."""
    # by how often they come: every eager call takes this way, with plain values in most attributes
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is tuple:
        return value if _AS_THEY_ARE.issuperset(map(type, value)) else tuple([static(v) for v in value])
    if isinstance(value, list):
        return tuple(static(v) for v in value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Tensor):
        return value.__index__() if value.dtype.is_int else value.item()
    return dtypes.as_dtype(value) if isinstance(value, (np.dtype, type)) else value


def _parse_attrs(attrs: Mapping[str, Any] | Iterable[str]) -> dict[str, Any]:
    return dict(attrs) if isinstance(attrs, Mapping) else dict.fromkeys(attrs, REQUIRED)


def family_of(function: Callable[..., Any]) -> str:
    """The family of a record: ``FAMILY`` of the module where the function stands, else the module's name."""
    module = function.__module__
    return str(getattr(sys.modules.get(module), "FAMILY", module.rsplit(".", 1)[-1]))


def define(
    name: str, inputs: str, *, infer: Infer, body: Body, doc: str, attrs: Mapping[str, Any] | Iterable[str] = (),
    grad: Callable[..., Any] | None = None, no_grad: str = "", scalar: str | None = None,
    axes: str | Callable[..., str] | None = None, batch: Callable[..., Any] | None = None,
    work: Callable[..., Work] | None = None, traits: Iterable[str] = ("pure",), promotes: bool = False,
    optional: Iterable[str] = (), examples: Sequence[Example] = (), wrong: Sequence[InvalidExample] = (),
    family: str = "", windows: Callable[..., Mapping[str, Any]] | None = None, reduction: str = "", view: str = "",
    restore: Callable[..., Tensor] | None = None, images: tuple[int, ...] = (), onnx: str = "",
    decomposition: Callable[..., Any] | None = None, numpy: Callable[..., Any] | None = None,
) -> Op:  # fmt: skip
    """Make and register a record. ``inputs`` is ``"x, y"`` or ``"*xs"``; ``attrs`` maps names to defaults."""
    names = tuple(part.strip() for part in inputs.split(",") if part.strip())
    left_out = frozenset(optional)
    fixed = not left_out and not any(name.startswith("*") for name in names)
    record = (Op if restore is None else ViewOp)(
        name=name, inputs=names, attrs=_parse_attrs(attrs), infer=infer, body=body, doc=doc, grad=grad, no_grad=no_grad,
        scalar=scalar, axes=axes, batch=batch, work=work, traits=frozenset(traits), promotes=promotes,
        optional=left_out, examples=tuple(examples), wrong=tuple(wrong), family=family or family_of(infer),
        windows=windows, reduction=reduction, view=view, restore=restore, images=images, onnx=onnx,
        decomposition=decomposition, numpy=numpy, arity=len(names) if fixed else -1,
        wanted_by_grad=frozenset(inspect.signature(grad).parameters) if grad is not None else frozenset(),
    )  # fmt: skip
    return register(record)


def register(record: Op) -> Op:
    """Make an op known by name (plug-ins call this too)."""
    if record.name in REGISTRY:
        raise ValueError(f"an op called {record.name!r} exists already; plug-ins need a name of their own.")
    _check_facts(record)
    REGISTRY[record.name] = record
    return record


def _check_facts(op: Op) -> None:
    """What a record says about its op must be something that code generators and planner can follow.

    Raises:
        ArgumentError: there is no such kind, or the attributes that it stands for are missing.
    """
    # one branch for each fact that readers outside of ops go by, see the head of this file
    over = "shape" in op.attrs or {"axis", "keepdims"} <= op.attrs.keys()
    if op.reduction and (op.reduction not in REDUCTIONS or len(op.inputs) != 1 or not over):
        raise ArgumentError(
            f"{op.name}: reduction={op.reduction!r} needs one tensor and the attributes axis and keepdims, or shape; "
            f"kinds are {', '.join(REDUCTIONS)}. Leave the field out where the op does more than that."
        )
    if op.view and not op.attrs.keys() >= set(VIEWS.get(op.view, ("?",))):
        kinds = ", ".join(" ".join((kind, *attrs)) for kind, attrs in VIEWS.items())
        raise ArgumentError(f"{op.name}: view={op.view!r} is none of the kinds (each with its attributes) {kinds}.")
    if op.images and "data_format" not in op.attrs:
        raise ArgumentError(f"{op.name}: images={op.images} needs the attribute data_format, 'NCHW' or 'NHWC'.")


def find(name: str) -> Op:
    """The op called ``name``.

    Raises:
        KeyError: there is none, in msnb or among the plug-ins.
    """
    if name not in REGISTRY:
        plugin = plugins.get(plugins.OPS, name)
        if plugin is not None:
            plugin.load()
    return REGISTRY[name]


def common_type(*types: TensorType) -> DType:
    """The dtype in which operands meet."""
    return result_dtype(types)


def operand_dtype(op: Op, *types: TensorType, fits: bool = True) -> DType:
    """The dtype to which an op that promotes converts its operands before it computes.

    Ops with the trait ``floating`` compute integers and bools as float32, the dtype of their result. A Python integer
    beyond the range of the dtype keeps its value: unless the op is ``modular``, it computes in int64, and only its
    result wraps around.

    Args:
        fits: whether all Python integers among the operands lie in the range of the dtype in which they meet.
    """
    found = common_type(*types)
    if "floating" in op.traits and not found.differentiable:
        return dtypes.float32
    return found if fits or not found.is_int or "modular" in op.traits else dtypes.int64


def in_range(number: int, met: DType) -> bool:
    """Whether an integer dtype holds a Python integer; where it does not, ``operand_dtype`` falls back on int64.

    Raises:
        OverflowError: int64 does not hold it either, or the values of ``met`` are not all in int64.
    """
    if met.holds(number):
        return True
    if met is dtypes.uint64 or not dtypes.int64.holds(number):
        raise OverflowError(f"Python integer {number} out of bounds for {met.name} and int64")
    return False
