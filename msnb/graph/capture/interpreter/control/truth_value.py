"""The truth of a value: known to Python, or a tensor of the program."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from msnb.core import Tensor, dtypes, slot
from msnb.core.types import not_one, tensor_type, truth_of_many
from msnb.graph.capture.interpreter.capture_engine import Capture
from msnb.graph.capture.values import sources
from msnb.graph.capture.values.lazy_values import TrackedArray, is_lazy
from msnb.graph.capture.values.object_table import ABSENT, on_class
from msnb.ir.builder import SymbolicTensor
from msnb.ops.definition.record import find


def symbolic_test(value: Any) -> SymbolicTensor | None:
    """The tensor that decides, or None where Python knows the answer.

    Raises:
        ValueError: a tensor of more than one element has no truth.
    """
    engine = slot.engine
    if is_lazy(value) or not isinstance(value, Tensor) or not isinstance(engine, Capture):
        return None
    found = engine.wrap(engine.lift(value))
    if found._type.is_static and found._type.size != 1:
        raise truth_of_many(found)
    return found


def truth(value: Any) -> bool:
    """The truth of a Python value; what it depends on outside is guarded."""
    engine = slot.engine
    if not isinstance(engine, Capture) or type(value) is bool or is_lazy(value) or isinstance(value, TrackedArray):
        return bool(value)
    kind = type(value)
    asked = [] if isinstance(value, Tensor) else [on_class(kind, name) for name in ("__bool__", "__len__")]
    method = next((fn for fn in asked if fn is not ABSENT), None)
    if isinstance(method, FunctionType):
        return bool(engine.session.interpreter.call(method, value))
    source, answer = engine.session.objects.source_of(value), bool(value)
    if source is not None and isinstance(value, (list, dict, tuple, set, frozenset)):
        if not engine.session.journal.written(("content", id(value))):
            engine.session.guard("is", (sources.called(bool, (source,)),), (answer,))
    return answer


def as_bool(x: Any) -> Any:
    """A tensor (or number) as a bool: true where not zero."""
    return find("not_equal")(x, 0) if isinstance(x, Tensor) and x._type.dtype.category != 0 else x


def negate(value: Any) -> Any:
    """``not value``."""
    pred = symbolic_test(value)
    if pred is None:
        return not truth(value)
    return slot.engine.session.pythonic.mark(find("logical_not")(as_bool(pred)))  # type: ignore[attr-defined]


def number_of(engine: Capture, kind: type, dtype: str, tensor: Tensor) -> Tensor:
    """int(t), float(t) or bool(t): a number that the graph computes. No gradient goes back to the tensor."""
    if kind is not bool and tensor._type.is_static and tensor._type.size != 1:
        raise not_one(tensor, f"{kind.__name__}()")
    found = symbolic_test(find("stop_gradient")(tensor) if kind is float else tensor)
    assert found is not None
    flat = find("reshape")(found, shape=()) if found.shape else found
    if kind is bool and found.dtype.category:
        flat = find("not_equal")(flat, 0)
    want = tensor_type((), dtypes.as_dtype(dtype))
    cast = find("cast")  # a value of its own, even where the tensor has this dtype
    number = engine.add(cast, [engine.lift(flat)], cast.bind_attrs({"dtype": want.dtype}), (want,))[0]
    marked: Tensor = engine.session.pythonic.mark(number)
    return marked
