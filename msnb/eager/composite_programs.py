"""Framework functions of several ops, run as one program in eager mode.

    layer_norm(x, ...)  =  mean, subtract, square, mean, add, rsqrt, multiply, ...        nine passes over memory
    whole:                 one program per signature, compiled once                       one pass, one line on the tape

To people such a function is one operation, so nothing is lost when it runs as one: it is pure, and Python in it looks
at types and settings only. These are the key of its program. Where somebody listens to ops, where gradients nest, or
where there is too little work to be worth it, the function runs op by op, as it is written.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from msnb.base import device_registry, events, get_context, reraise_interrupt
from msnb.core import DType, Tensor, TensorType
from msnb.core.engine import LOOPS, EngineRestore
from msnb.ir import Graph, GraphBuilder
from msnb.parallel.context import wanted

if TYPE_CHECKING:
    from msnb.eager.composite_templates import CompositeProgram, CompositeTemplates

CACHE_SIZE = 512
_SETTINGS = (type(None), bool, int, float, str, DType)


_programs: OrderedDict[Any, CompositeProgram | Exception] = OrderedDict()
_templates: OrderedDict[Any, CompositeTemplates] = OrderedDict()


def run_whole(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], worth: int | None = None) -> Any:
    """``fn(*args, **kwargs)`` as one program, or op by op where that is not possible or not worth it.

    Args:
        fn: pure, made of ops; its Python depends on types and settings alone.
        args, kwargs: tensors and settings.
        worth: elements of the largest operand from which on it is worth it; None: where four operations would be.
    """
    loops = fn in LOOPS
    if not runs_whole(loops):
        return fn(*args, **kwargs)
    values = (*args, *kwargs.values())
    least = device_registry.current().features.worth_fusing // 4 if worth is None else worth
    key = _signature(values, 0 if loops else least)
    if key is None:
        return fn(*args, **kwargs)
    level = get_context("jit_level") if loops else "O1"
    key = (fn, len(args), tuple(kwargs), device_registry.current().name, level, *key)
    if key not in _programs:
        _remember(key, _found(fn, args, kwargs, key))
    program = _programs[key]
    if isinstance(program, Exception):
        return _op_by_op(fn, args, kwargs, program)
    _programs.move_to_end(key)
    return program([v for v in values if isinstance(v, Tensor)])


def runs_whole(loops: bool = False) -> bool:
    """True when this device has machine code for groups of operations, the session wants it, and nobody listens; a
    function that ``loops`` needs no machine code to be better off."""
    quiet = not events.op_listeners and wanted.key is None  # under a parallel context programs are planned, ops are not
    return quiet and (loops or (get_context("jit_level") != "O0" and device_registry.current().features.fuses))


def _op_by_op(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], reason: Exception) -> Any:
    """The function as it is written. It says itself what is wrong with its arguments; if it finds nothing, it is the
    function that is no program, and that is told once."""
    result = fn(*args, **kwargs)
    why = str(reason).partition("\n")[0]
    events.notice(
        f"{fn.__name__} runs operation by operation, for it is no pure function of tensors: {why}", fn.__name__
    )
    return result


def _remember(key: Any, program: CompositeProgram | Exception) -> None:
    _programs[key] = program
    if len(_programs) > CACHE_SIZE:
        _programs.popitem(last=False)


def _signature(values: tuple[Any, ...], worth: int) -> tuple[Any, ...] | None:
    """What the program depends on; None for arguments it cannot have, or less work than it is worth."""
    found: list[Any] = []
    work = 0
    for v in values:
        if isinstance(v, Tensor):
            t = v._type
            if v._data is None or not isinstance(t, TensorType) or not t.is_static:
                return None
            work = max(work, t.size)
            found.append(t)
        elif _is_setting(v):
            found.append((v, type(v)))
        else:
            return None
    return tuple(found) if work >= worth else None


def _is_setting(value: Any) -> bool:
    return isinstance(value, _SETTINGS) or (isinstance(value, tuple) and all(map(_is_setting, value)))


def _found(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], key: Any
) -> CompositeProgram | Exception:
    """The program, bound from one with symbols or traced; or why there is none."""
    from msnb.eager.composite_templates import CompositeProgram, CompositeTemplates

    types = tuple(v._type for v in (*args, *kwargs.values()) if isinstance(v, Tensor))
    erased = tuple((t.dtype, t.ndim, t.weak) if isinstance(t, TensorType) else t for t in key)
    known = _templates.setdefault(erased, CompositeTemplates())
    _templates.move_to_end(erased)
    if len(_templates) > CACHE_SIZE:
        _templates.popitem(last=False)
    trace = partial(_traced, fn, args, kwargs)
    found = known.fitting(types, trace)
    if found is not None:
        template, sizes = found
        return template.program(sizes)
    try:
        return CompositeProgram(*trace(types))
    except Exception as reason:
        reraise_interrupt(reason)
        return reason.with_traceback(None)


def _traced(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], types: tuple[TensorType, ...]
) -> tuple[Graph, bool]:
    """The function as a graph over params of these types, and whether it has a single result."""
    with EngineRestore(), GraphBuilder(fn.__name__) as b:
        params = [b.param(t, f"x{i}") for i, t in enumerate(types)]
        left = iter(params)
        given = [next(left) if isinstance(a, Tensor) else a for a in args]
        out = fn(*given, **{k: next(left) if isinstance(a, Tensor) else a for k, a in kwargs.items()})
        b.output(*(out if isinstance(out, tuple) else (out,)))
    return b.graph, not isinstance(out, tuple)
