"""Names below MindSpore's private paths that programs import, with the meaning that they have here."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Iterable
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

from msnb.api.transforms.custom_gradient import custom_vjp
from msnb.base import events
from msnb.base.errors import ArgumentError, AttributeValueError, GradientError
from msnb.core import dtypes
from msnb.core.engine import slot
from msnb.core.tensor import Tensor
from msnb.core.types import TensorType
from msnb.eager.autocast import wear, worn_by
from msnb.eager.dispatch import EagerEngine
from msnb.eager.recording import is_eager
from msnb.nn.cells.cell import Cell
from msnb.nn.layers import activation, normalization
from msnb.nn.training.loss import LossBase
from msnb.ops.elementwise.identity_and_effects import stop_gradient
from msnb.ops.sparse.row_tensor import RowTensor
from msnb.parallel.context import get_auto_parallel_context, reset_auto_parallel_context, set_auto_parallel_context
from msnb.train.callbacks.callback import RunParams
from msnb.train.files.checkpoint import load_param_into_net


def _get_device_num() -> int:
    """How many devices a program runs on."""
    return int(get_auto_parallel_context("device_num") or 1)


def _get_gradients_mean() -> bool:
    """Whether gradients of the devices are averaged."""
    return bool(get_auto_parallel_context("gradients_mean"))


_get_mirror_mean = _get_gradients_mean


def _get_parallel_mode() -> str:
    """The parallel mode of the context."""
    return str(get_auto_parallel_context("parallel_mode"))


def _get_global_rank() -> int:
    """The rank of this process."""
    return int(get_auto_parallel_context("global_rank") or 0)


def _is_sharding_propagation() -> bool:
    """Whether strategies are spread from a few operators to all."""
    return str(get_auto_parallel_context("search_mode")) == "sharding_propagation"


def _is_in_auto_parallel_mode() -> bool:
    """Whether a planner splits the program."""
    return _get_parallel_mode() in ("semi_auto_parallel", "auto_parallel")


def _get_parameter_broadcast() -> bool:
    """Whether the first rank's parameters are given to all."""
    return bool(get_auto_parallel_context("parameter_broadcast"))


def _get_pipeline_stages() -> int:
    """How many stages a pipeline has."""
    return int(get_auto_parallel_context("pipeline_stages") or 1)


def _get_enable_parallel_optimizer() -> bool:
    """Whether the optimizer's state is split over the devices."""
    return bool(get_auto_parallel_context("enable_parallel_optimizer"))


def _device_number_check(parallel_mode: str, device_number: int) -> None:
    """One device is a stand-alone mode; raises ValueError."""
    if parallel_mode == "stand_alone" and device_number != 1:
        raise AttributeValueError(f"a program of {device_number} devices is not stand_alone; set a parallel_mode.")


def _make_directory(path: str, arg_name: str = "path") -> str:
    """The real path of a folder, made if need be; raises TypeError."""
    if not isinstance(path, str) or not path.strip():
        raise ArgumentError(f"{arg_name} is a path as a text, not {path!r}.")
    os.makedirs(path, exist_ok=True)
    return os.path.realpath(path)


_is_role_worker: Callable[[], bool] = lambda: True  # every process computes, there are no parameter servers
_is_ps_mode: Callable[[], bool] = lambda: False

security: SimpleNamespace = SimpleNamespace(enable_security=lambda: False)
"""``_c_expression.security``: builds of MindSpore that leave out dumps and summaries say so here."""


class _AutoParallelContext:
    """``auto_parallel_context()``: ``get_x()`` and ``set_x(value)`` for every key x of the context."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        verb, _, key = name.partition("_")
        if verb == "get" and key:
            return lambda: get_auto_parallel_context(key)
        if verb == "set" and key:
            return lambda value, *rest: set_auto_parallel_context(**{key: value})
        raise AttributeError(f"auto_parallel_context() has get_... and set_... of the context's keys, not {name!r}.")

    def reset(self) -> None:
        """Back to the defaults."""
        reset_auto_parallel_context()


def auto_parallel_context() -> _AutoParallelContext:
    """MindSpore's object of the parallel settings."""
    return _AutoParallelContext()


def disable_multi_thread() -> None:
    """Kept for programs that call it: threads of kernels are ``set_context(runtime_num_threads=)`` here."""
    events.notice("disable_multi_thread() changes nothing: ms.set_context(runtime_num_threads=1) says it.", "threads")


class Rel(IntEnum):
    """Relations that a number is checked for; the short names are the legal ones."""

    EQ, NE, LT, LE, GT, GE, INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH = range(1, 11)


EQ, NE, LT, LE, GT, GE, INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH = Rel

_HOLDS: dict[Rel, tuple[str, Callable[[Any, Any], bool]]] = {
    Rel.EQ: ("be", lambda a, b: a == b), Rel.NE: ("not be", lambda a, b: a != b),
    Rel.LT: ("be below", lambda a, b: a < b), Rel.LE: ("be at most", lambda a, b: a <= b),
    Rel.GT: ("be above", lambda a, b: a > b), Rel.GE: ("be at least", lambda a, b: a >= b),
}  # fmt: skip
_WITHIN: dict[Rel, tuple[str, Callable[[Any, Any, Any], bool]]] = {
    Rel.INC_NEITHER: ("()", lambda x, a, b: a < x < b), Rel.INC_LEFT: ("[)", lambda x, a, b: a <= x < b),
    Rel.INC_RIGHT: ("(]", lambda x, a, b: a < x <= b), Rel.INC_BOTH: ("[]", lambda x, a, b: a <= x <= b),
}  # fmt: skip


def _subject(arg_name: str | None, prim_name: str | None) -> str:
    where = f"{prim_name}: " if prim_name else ""
    return f"{where}{arg_name or 'the argument'}"


def _number(value: Any, kinds: tuple[type, ...], arg_name: str | None, prim_name: str | None) -> Any:
    if isinstance(value, bool) or not isinstance(value, kinds):
        words = " or ".join(kind.__name__ for kind in kinds)
        raise ArgumentError(f"{_subject(arg_name, prim_name)} must be {words}, got {value!r}.")
    return value


def _compared(value: Any, limit: Any, rel: Rel, arg_name: str | None, prim_name: str | None) -> Any:
    words, holds = _HOLDS[Rel(rel)]
    if not holds(value, limit):
        raise AttributeValueError(f"{_subject(arg_name, prim_name)} must {words} {limit}, got {value!r}.")
    return value


def check_bool(value: Any, arg_name: str | None = None, prim_name: str | None = None) -> bool:
    """``value``, a bool; raises TypeError."""
    if not isinstance(value, bool):
        raise ArgumentError(f"{_subject(arg_name, prim_name)} must be a bool, got {value!r}.")
    return value


def check_string(value: Any, legal: Any, arg_name: str | None = None, prim_name: str | None = None) -> str:
    """``value``, one of the legal words; raises ValueError."""
    if not isinstance(value, str) or value not in legal:
        words = ", ".join(map(repr, legal))
        raise AttributeValueError(f"{_subject(arg_name, prim_name)} must be one of {words}, got {value!r}.")
    return value


def check_value_type(arg_name: str, value: Any, types: Any, prim_name: str | None = None) -> Any:
    """``value``, of one of these types; raises TypeError."""
    kinds = tuple(types) if isinstance(types, (list, tuple)) else (types,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        words = " or ".join(kind.__name__ for kind in kinds)
        raise ArgumentError(f"{_subject(arg_name, prim_name)} must be {words}, got {value!r}.")
    return value


def check_number_range(
    value: Any, low: Any, high: Any, rel: Rel, kinds: Any, arg_name: str | None = None, prim_name: str | None = None
) -> Any:
    """``value``, a number of an interval; raises TypeError or ValueError."""
    types = tuple(kinds) if isinstance(kinds, (list, tuple)) else (kinds,)
    _number(value, types, arg_name, prim_name)
    ends, holds = _WITHIN[Rel(rel)]
    if not holds(value, low, high):
        text = f"{ends[0]}{low}, {high}{ends[1]}"
        raise AttributeValueError(f"{_subject(arg_name, prim_name)} must lie in {text}, got {value!r}.")
    return value


def check_number(arg_name: str, value: Any, limit: Any, rel: Rel, prim_name: str | None = None) -> Any:
    """``value``, in this relation to ``limit``; raises ValueError."""
    return _compared(value, limit, rel, arg_name, prim_name)


def check(
    arg_name: str, value: Any, limit_name: str, limit: Any, rel: Rel = EQ, prim_name: str | None = None,
    excp_cls: type[Exception] = AttributeValueError,
) -> Any:  # fmt: skip
    """``value``, in this relation to ``limit``, which has a name; raises ``excp_cls``."""
    words, holds = _HOLDS[Rel(rel)]
    if not holds(value, limit):
        raise excp_cls(f"{_subject(arg_name, prim_name)} must {words} {limit_name} ({limit}), got {value!r}.")
    return value


def check_type_name(arg_name: str, found: Any, valid_types: Any, prim_name: str | None = None) -> Any:
    """``found``, one of these dtypes or classes, or the dtype of such a tensor type; raises TypeError."""
    kinds = tuple(valid_types) if isinstance(valid_types, Iterable) else (valid_types,)
    kind = found.dtype if isinstance(found, TensorType) else found
    if kind not in kinds:
        words = " or ".join(getattr(k, "__name__", str(k)) for k in kinds)
        raise ArgumentError(f"{_subject(arg_name, prim_name)} must be {words}, got {kind!r}.")
    return kind


def check_subclass(
    arg_name: str, found: Any, template_types: Any, prim_name: str | None = None, addition_error_info: str | None = None
) -> None:
    """``found`` is one of these types, or of one of these kinds of types; raises TypeError."""
    kinds = tuple(template_types) if isinstance(template_types, Iterable) else (template_types,)
    if not any(found == kind or (isinstance(kind, type) and isinstance(found, kind)) for kind in kinds):
        words, more = " or ".join(map(str, kinds)), f" {addition_error_info}" if addition_error_info else ""
        raise ArgumentError(f"{_subject(arg_name, prim_name)} must be {words}, got {found!r}.{more}")


def check_types_same_and_valid(args: dict[str, Any], valid_values: Any, prim_name: str | None = None) -> None:
    """The types of these arguments are the same, and one of ``valid_values``; raises TypeError."""
    for name, found in args.items():
        check_subclass(name, found, valid_values, prim_name)
    (first, kind), *rest = args.items()
    for name, found in rest:
        if found != kind:
            raise ArgumentError(f"{_subject(name, prim_name)} must have the type of {first}, {kind}, got {found}.")


def args_type_check(*types: Any, **named: Any) -> Callable[[Any], Any]:
    """A decorator: each argument is None or an instance of the type given for it; raises TypeError."""

    def decorated(function: Any) -> Any:
        signature = inspect.signature(function)
        kinds = signature.bind_partial(*types, **named).arguments

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs).arguments
            wanted, found = kinds.get("kwargs", kinds), given.get("kwargs", given)
            for name, value in found.items():
                if name in wanted and value is not None and not isinstance(value, wanted[name]):
                    raise ArgumentError(f"{name} must be {wanted[name]}, got {value!r}.")
            return function(*args, **kwargs)

        return checked

    return decorated


def check_is_number(value: Any, kind: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
    """``value``, a number of one of these kinds; raises TypeError."""
    return _number(value, kind if isinstance(kind, tuple) else (kind,), arg_name, prim_name)


def check_tensors_dtypes_same_and_valid(args: dict[str, Any], valid_dtypes: Any, prim_name: str | None = None) -> None:
    """These tensors have one dtype, one of ``valid_dtypes``; raises TypeError."""
    found = {name: check_type_name(name, kind, valid_dtypes, prim_name) for name, kind in args.items()}
    check_types_same_and_valid(found, valid_dtypes, prim_name)


def check_element_type_of_iterable(arg_name: str, values: Any, types: Any, prim_name: str | None = None) -> None:
    """Every element is of one of these types; raises TypeError."""
    for i, value in enumerate(values):
        check_value_type(f"{arg_name}[{i}]", value, types, prim_name)


def check_valid_input(arg_name: str, value: Any, prim_name: str | None = None) -> Any:
    """``value``, anything but None; raises ValueError."""
    if value is None:
        raise AttributeValueError(f"{_subject(arg_name, prim_name)} must not be None.")
    return value


def check_str_by_regular(
    target: str, reg: str | None = None, flag: Any = re.ASCII, prim_name: str | None = None
) -> bool:
    """True for a text that matches a pattern, by itself that of names; raises ValueError."""
    wanted = r"^\w+[0-9a-zA-Z\_\.]*$" if reg is None else reg
    if not re.match(wanted, target, flag):
        raise AttributeValueError(f"{_subject(None, prim_name)} {target!r} does not match {wanted!r}.")
    return True


def check_input_format(input_param: str) -> str:
    """ "NCHW", the one layout; raises ValueError."""
    return check_string(input_param, ("NCHW",), "the data format")


def _expand_tuple(n_dimensions: int) -> Callable[[Any], tuple[int, ...]]:
    def expanded(value: Any) -> tuple[int, ...]:
        """An int as a tuple of it, a tuple of so many ints as it is; raises TypeError."""
        found: tuple[int, ...] = value if isinstance(value, tuple) else (value,) * n_dimensions
        if len(found) != n_dimensions or any(isinstance(x, bool) or not isinstance(x, int) for x in found):
            raise ArgumentError(f"this takes an int or a tuple of {n_dimensions} ints, not {value!r}.")
        return found

    return expanded


once, twice, triple = _expand_tuple(1), _expand_tuple(2), _expand_tuple(3)


def _checks(kind: type) -> dict[str, Callable[..., Any]]:
    """The checks of ints or of floats: ``check_int(value, limit, rel)``, ``check_positive_int(value)``, its
    ``_sequence``, and so on; each gives the value, or raises TypeError or ValueError."""

    def compared(value: Any, limit: Any, rel: Rel, arg_name: str | None = None, prim_name: str | None = None) -> Any:
        return _compared(_number(value, (kind,), arg_name, prim_name), limit, rel, arg_name, prim_name)

    def related(rel: Rel) -> Callable[..., Any]:
        return lambda value, arg_name=None, prim_name=None: compared(value, 0, rel, arg_name, prim_name)

    def of_all(check_one: Callable[..., Any]) -> Callable[..., Any]:
        def check_all(sequence: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
            for value in check_value_type(arg_name or "the argument", sequence, (list, tuple), prim_name):
                check_one(value, arg_name, prim_name)
            return sequence

        return check_all

    signs = {"positive": Rel.GT, "negative": Rel.LT, "non_positive": Rel.LE, "non_negative": Rel.GE}
    word = kind.__name__
    found = {f"check_{sign}_{word}": related(rel) for sign, rel in signs.items()}
    found |= {f"{name}_sequence": of_all(one) for name, one in found.items()}
    found[f"check_{word}"] = compared
    found[f"check_equal_{word}"] = lambda value, limit, *names, **named: compared(value, limit, EQ, *names, **named)
    found[f"check_{word}_range"] = lambda value, low, high, rel, *names, **named: check_number_range(
        value, low, high, rel, kind, *names, **named
    )
    found[f"check_is_{word}"] = lambda value, *names, **named: check_is_number(value, kind, *names, **named)
    return found


check_isinstance, check_tensor_dtype_valid = check_value_type, check_type_name
globals().update({**_checks(int), **_checks(float)})
Validator: Any = SimpleNamespace(
    **{name: found for name, found in globals().items() if name.startswith("check") or isinstance(found, Rel)},
    check_integer=check_number,
)
"""The checks as MindSpore 1 had them, and the words for comparisons beside them."""


def deprecated(version: str, substitute: str, use_substitute_name: bool = False) -> Callable[[Any], Any]:
    """A decorator that marks an old name; the function stays as it is."""
    return lambda function: function


def _get_cache_prim(primitive: Any) -> Any:
    """MindSpore's cache of primitives: they cost nothing to make here."""
    return primitive


def opt_init_args_register(function: Any) -> Any:
    """A decorator for the ``__init__`` of an optimizer: its arguments are kept as ``init_params`` (the weights),
    ``init_learning_rate`` (None for a schedule) and ``init_args`` (the others, by name)."""

    @functools.wraps(function)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = inspect.signature(function).bind(self, *args, **kwargs)
        bound.apply_defaults()
        given = dict([*bound.arguments.items()][1:])
        kept: dict[str, Any] = {}
        if "params" in given:
            kept["init_params"] = {"params": given.pop("params")}
        if "optimizer" in given:
            kept["init_params"] = {"params": given.pop("optimizer").init_params["params"]}
        if "learning_rate" in given:
            rate = given.pop("learning_rate")
            rate = rate.asnumpy().tolist() if isinstance(rate, Tensor) else rate
            kept["init_learning_rate"] = None if isinstance(rate, Cell) else rate
        for name, value in {**kept, "init_args": given}.items():
            object.__setattr__(self, name, value)
        function(self, *args, **kwargs)

    return init


RowTensorInner = RowTensor
"""``common.sparse_tensor`` has it under this name."""


class _no_grad:
    """A block, or a decorated function, in which no gradient is noted: ``with _no_grad(): y = net(x)``.

    In programs that are captured it is refused, as in MindSpore; so is a gradient that PyNative mode takes within it.
    """

    def __enter__(self) -> None:
        self._before: Any = slot.engine
        if not is_eager(self._before):
            raise ArgumentError("_no_grad is for PyNative mode; a program of its own reads through ops.stop_gradient.")
        engine = wear(EagerEngine(), worn_by(self._before))
        engine.in_no_grad = True
        slot.engine = engine

    def __exit__(self, *error: object) -> None:
        slot.engine = self._before

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """``fn``, always run so."""

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            with _no_grad():
                return fn(*args, **kwargs)

        return call


class _Function:
    """An operation with a gradient of one's own: ``forward(ctx, *args)`` and ``backward(ctx, *gradients)``, called by
    ``apply(*args)``. Gradients of results that nobody used come as zeros.

    Attributes:
        saved_tensors: what ``forward`` gave to ``save_for_backward``.
        needs_input_grad: per argument, whether it is a tensor that has gradients.
    """

    saved_tensors: tuple[Any, ...] = ()
    needs_input_grad: tuple[bool, ...] = ()
    _marked: tuple[Any, ...] = ()
    _written: tuple[Any, ...] = ()

    @staticmethod
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        """The operation, to be written."""
        raise NotImplementedError("a _Function needs forward(ctx, ...).")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """A gradient per argument (None for those that have none), to be written."""
        raise NotImplementedError("a _Function needs backward(ctx, ...).")

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for ``backward``."""
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *results: Any) -> None:
        """Results through which no gradient goes."""
        self._marked = results

    def mark_dirty(self, *tensors: Any) -> None:
        """Arguments that ``forward`` wrote: they must be among its results."""
        self._written = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Only True, the default, is there: gradients that are zero come as zeros."""
        if not value:
            raise ArgumentError("set_materialize_grads(False) is not there: gradients that are zero come as zeros.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the operation."""
        ctx, ends, written, places = cls(), list[int](), dict[int, Tensor](), list[int | None]()
        bound = inspect.signature(cls.forward).bind(ctx, *args, **kwargs)
        bound.apply_defaults()
        given = (*bound.args[1:], *bound.kwargs.values())
        ctx.needs_input_grad = tuple(isinstance(x, Tensor) and x.dtype.differentiable for x in given)

        def run(*inputs: Any) -> Any:
            out = cls.forward(ctx, *inputs)
            results = out if isinstance(out, tuple) else (out,)
            if not all(any(x is y for y in results) for x in ctx._written):
                raise GradientError("mark_dirty: an argument that forward wrote is no result of it.",
                                    hint="return it too.")  # fmt: skip
            written.update((i, y) for i, y in enumerate(results) if any(y is x for x in ctx._written))
            ends[:] = [i for i, y in enumerate(results) if any(y is x for x in ctx._marked)]
            known = (*inputs, *results)
            places[:] = [next((i for i, y in enumerate(known) if y is x), None) for x in ctx.saved_tensors]
            return out

        def rule(*parts: Any) -> Any:
            *inputs, out, dout = parts
            known = (*inputs, *(out if isinstance(out, tuple) else (out,)))  # by which gradients go on, unlike in run
            ctx.saved_tensors = tuple(x if i is None else known[i] for x, i in zip(ctx.saved_tensors, places))
            found = cls.backward(ctx, *(dout if isinstance(dout, tuple) else (dout,)))
            for k, (gradient, x) in enumerate(zip(found if isinstance(found, (tuple, list)) else (found,), given)):
                if gradient is not None and not (isinstance(gradient, Tensor) and isinstance(x, Tensor)):
                    kinds = f"gave {type(gradient).__name__} for argument {k}, of {x.__class__.__name__}"
                    raise GradientError(
                        f"{cls.__name__}.backward {kinds}.",
                        hint="a gradient is a tensor, or None; it is None for what is no tensor.",
                    )
            return found

        out = custom_vjp(run, rule)(*given)
        results = [*out] if isinstance(out, tuple) else [out]
        results = [stop_gradient(y) if i in ends else y for i, y in enumerate(results)]
        for i, x in written.items():
            slot.engine.assign(x, results[i])
        return tuple(results) if isinstance(out, tuple) else results[0]


class _Loss(LossBase):
    """The base of losses, as it was called in MindSpore 1."""


class _VirtualDatasetCell(Cell):
    """A network whose inputs are split over devices; the planner sees to that here."""

    def __init__(self, backbone: Cell) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = backbone

    def construct(self, *inputs: Any) -> Any:
        """The network's results."""
        return self._backbone(*inputs)


_activation: dict[str, Any] = activation._BY_NAME
_BatchNorm: type[Cell] = normalization._BatchNorm
TensorPy = Tensor
InternalCallbackParam = _InternalCallbackParam = RunParams
cells_compile_cache: dict[Any, Any] = {}
"""MindSpore's programs by Cell, which programs clear; here a Cell has its own."""


def _handle_loss(loss: Any) -> Any:
    """The first of several results, or the mean of a tensor as a float."""
    if isinstance(loss, (tuple, list)):
        return loss[0]
    return float(loss.asnumpy().mean()) if isinstance(loss, Tensor) else loss


def _check_input_3d(input_shape: Any, op_name: str) -> bool:
    """True for a shape of three axes; raises ValueError."""
    if len(input_shape) != 3:
        raise AttributeValueError(f"{op_name}: the input has 3 axes, not {len(input_shape)}.")
    return True


def _transfer_tensor_to_tuple(inputs: Any) -> Any:
    """A tensor as a tuple of one; others as they are."""
    return (inputs,) if isinstance(inputs, Tensor) else inputs


def _raise_value_error(*words: Any) -> None:
    """Raise a ValueError of these words."""
    raise AttributeValueError("".join(map(str, words)))


def _raise_type_error(*words: Any) -> None:
    """Raise a TypeError of these words."""
    raise ArgumentError("".join(map(str, words)))


def _update_param(param: Any, new_param: Any, strict_load: bool) -> None:
    """Give a parameter the value of another one; ``load_param_into_net`` names what does not fit."""
    load_param_into_net(_Holder(param), {param.name: new_param}, strict_load)


class _Holder(Cell):
    """A Cell of one parameter, under its own name."""

    def __init__(self, param: Any) -> None:
        super().__init__(auto_prefix=False)
        self.param = param


def tensor_to_np_type(tensor_type_str: str) -> Any:
    """NumPy's dtype for the name of a dtype: "Float32"."""
    return getattr(dtypes, tensor_type_str.lower().replace("bool", "bool_")).numpy


tensor_to_ms_type = {repr(t): t for t in dtypes.ALL}


def _to_tensor(*args: Any) -> Any:
    """Numbers, lists and tuples as tensors of 32 bits, tensors as they are: one, or a tuple of several."""
    made = []
    for x in args:
        if not isinstance(x, (bool, int, float, list, tuple, Tensor)):
            raise ArgumentError(f"_to_tensor takes numbers, lists and tensors, not {type(x).__name__}.")
        found = x if isinstance(x, Tensor) else Tensor(x)
        narrow = None if isinstance(x, Tensor) else {"int64": dtypes.int32, "float64": dtypes.float32}
        made.append(found.astype(narrow[found.dtype.name]) if narrow and found.dtype.name in narrow else found)
    return made[0] if len(made) == 1 else tuple(made)
