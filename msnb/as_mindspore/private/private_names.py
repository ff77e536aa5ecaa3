"""Names below MindSpore's private paths that programs import, with the meaning that they have here."""

from __future__ import annotations

import functools
import inspect
import itertools
import os
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from msnb.api import runtime
from msnb.api.jit import jit
from msnb.api.transforms.custom_gradient import custom_vjp
from msnb.as_mindspore.private import argument_checks
from msnb.base import ArgumentError, AttributeValueError, GradientError, events
from msnb.core import Tensor, dtypes, random, slot
from msnb.eager.autocast import wear, worn_by
from msnb.eager.dispatch import EagerEngine
from msnb.eager.recording import is_eager
from msnb.nn.cells.cell import Cell
from msnb.nn.layers import activation, normalization
from msnb.nn.training.loss import LossBase
from msnb.ops.elementwise.identity_and_effects import stop_gradient
from msnb.ops.sparse.row_tensor import RowTensor
from msnb.optim.lr_schedules import count
from msnb.parallel.context import get_auto_parallel_context, reset_auto_parallel_context, set_auto_parallel_context
from msnb.train.callbacks.callback import RunParams
from msnb.train.files.checkpoint import load_param_into_net

globals().update({name: found for name, found in vars(argument_checks).items() if name not in globals()})


def _setting(key: str, kind: Callable[[Any], Any]) -> Callable[[], Any]:
    """``_get_...()``: a setting of the parallel context."""
    return lambda: kind(get_auto_parallel_context(key))


_SETTINGS: dict[str, Callable[[Any], Any]] = {
    "device_num": int, "gradients_mean": bool, "parallel_mode": str, "global_rank": int, "parameter_broadcast": bool,
    "pipeline_stages": int, "enable_parallel_optimizer": bool,
}  # fmt: skip
globals().update({f"_get_{key}": _setting(key, kind) for key, kind in _SETTINGS.items()})
_get_mirror_mean = _setting("gradients_mean", bool)


def _is_sharding_propagation() -> bool:
    """Whether strategies are spread from a few operators to all."""
    return str(get_auto_parallel_context("search_mode")) == "sharding_propagation"


def _is_in_auto_parallel_mode() -> bool:
    """Whether a planner splits the program."""
    return get_auto_parallel_context("parallel_mode") in ("semi_auto_parallel", "auto_parallel")


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


_seeds_given: Counter[tuple[int, int, str, int]] = Counter()


def _get_graph_seed(op_seed: int | None, kernel_name: str) -> tuple[int, int]:
    """Two seeds for an operator that draws: the session's, and one of its own, another one each time until ``set_seed``
    begins anew; zeros where neither is set."""
    key = (random.get_seed() or 0, op_seed or 0, kernel_name, random.seed_version)
    if key[1] < 0:
        raise AttributeValueError(f"{kernel_name}: a seed is 0 or above, not {op_seed}.")
    if not any(key[:2]):
        return 0, 0
    _seeds_given[key] += 1
    return key[0], key[1] + _seeds_given[key] - 1


_is_role_worker: Callable[[], bool] = lambda: True  # every process computes, there are no parameter servers
_is_role_sched: Callable[[], bool] = lambda: False
_is_ps_mode: Callable[[], bool] = lambda: False
_SERVERS: dict[str, Any] = {
    "server_mode": "", "ms_role": "MS_NOT_PS", "enable_ps": False, "worker_num": 0, "server_num": 0,
    "scheduler_ip": "127.0.0.1", "scheduler_port": 6667, "enable_ssl": False, "config_file_path": "",
}  # fmt: skip
_server_settings: dict[str, Any] = {}


def set_ps_context(**settings: Any) -> None:
    """Keep settings of parameter servers, of which there are none.

    Raises:
        ValueError: no such setting. TypeError: a value of another type.
    """
    for key, value in settings.items():
        if type(value) is not type(get_ps_context(key)):
            raise ArgumentError(f"set_ps_context({key}=) is a {type(_SERVERS[key]).__name__}, not {value!r}.")
    events.ignored("set_ps_context", "every process holds its Parameters, there are no parameter servers")
    _server_settings.update(settings)


def get_ps_context(attr_key: str) -> Any:
    """A setting of parameter servers; raises ValueError where there is none of that name."""
    if attr_key not in _SERVERS:
        raise AttributeValueError(f"no setting {attr_key!r} of parameter servers; legal: {', '.join(_SERVERS)}.")
    return {**_SERVERS, **_server_settings}[attr_key]


def data_sink(
    fn: Callable[..., Any], dataset: Any, sink_size: int = 1, jit_config: Any = None, input_signature: Any = None
) -> Callable[..., Any]:
    """A function that calls ``fn`` with the next ``sink_size`` rows of a data set, which begins anew at its end, and
    gives the last result; compiled where ``jit_config`` is given.

    Raises:
        TypeError, ValueError: ``sink_size`` is no int above 0. ValueError: the data set has no rows.
    """
    if not dataset.get_dataset_size():
        raise AttributeValueError("data_sink: the data set has no rows.")
    run = fn if jit_config is input_signature is None else jit(fn, input_signature=input_signature)
    rows = (row for _ in itertools.count() for row in dataset.create_tuple_iterator(num_epochs=1))
    steps = count("sink_size", sink_size)
    return functools.wraps(fn)(lambda: [run(*next(rows)) for _ in range(steps)][-1])


reset_ps_context: Callable[[], None] = _server_settings.clear
ms_memory_recycle: Callable[[], None] = runtime.empty_cache

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
