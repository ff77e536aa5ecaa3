"""Tracing in eager mode: a function becomes a graph while its Python runs, for forward mode and vmap.

Only what depends on the traced inputs enters the graph; the rest runs at once, and its tensors come in as further
params (``outer``), so that gradients outside still flow through them.

    known      traced tensors have values too, so Python may branch on them (jvp)
    batched    a traced tensor stands for every lane of a batch; asking for its value has no answer (vmap), and neither
               has asking for one that was computed from it by another transform inside (vmap of jvp)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msnb.core.errors import ConcretizationError, GradientError
from msnb.core.parameter import Parameter
from msnb.core.slot import slot
from msnb.core.tensor import Tensor, make
from msnb.core.types import TensorType
from msnb.core.where import Origin, here
from msnb.eager.dispatch import EagerEngine, eager
from msnb.ir.builder import GraphBuilder, SymbolicTensor
from msnb.ir.graph import Value
from msnb.ops.record import Op


class KnownTensor(SymbolicTensor):
    """A symbolic tensor that also has a value."""

    __slots__ = ()
    __hash__ = object.__hash__

    def _buffer(self) -> Any:
        return self._data

    def __bool__(self) -> bool:
        return Tensor.__bool__(self)

    def __int__(self) -> int:
        return Tensor.__int__(self)

    def __float__(self) -> float:
        return Tensor.__float__(self)

    def __index__(self) -> int:
        return Tensor.__index__(self)

    def __repr__(self) -> str:
        return repr(make(self._data, self._type))

    __str__ = Tensor.__str__


class EagerTracer(GraphBuilder):
    """Builds a graph of what depends on its params; runs everything else.

    Args:
        known: whether traced tensors carry values.

    Attributes:
        outer: the values of the params after the traced ones: tensors that were met on the way.
        sources: the tensor objects they were read from.
    """

    def __init__(self, known: bool) -> None:
        super().__init__("traced")
        self.known = known
        self.outer: list[Tensor] = []
        self.sources: list[Tensor] = []
        self._outer_values: dict[tuple[int, int], Value] = {}

    def input(self, type_: TensorType, name: str, value: Tensor | None = None) -> SymbolicTensor:
        """A traced param."""
        t = self.param(type_, name)
        return t if value is None or is_unknown(value) or not self.known else self._know(t, value._data)

    def _know(self, t: SymbolicTensor, data: Any) -> SymbolicTensor:
        known: KnownTensor = object.__new__(KnownTensor)
        known._data, known._type, known._rec = data, t._type, None
        known._value, known._builder = t._value, self
        return known

    def locate(self) -> Origin | None:
        """The user's line."""
        return here(3)

    def apply(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Run what does not depend on a traced tensor; append a Node for what does."""
        if not any(isinstance(x, SymbolicTensor) for x in inputs):
            return self._run(op, inputs, attrs)
        outs = super().apply(op, inputs, attrs)
        if not self.known or any(map(is_unknown, inputs)):
            return outs
        many = outs if isinstance(outs, tuple) else (outs,)
        values = eager.apply(op, tuple(_plain(x) for x in inputs), attrs)
        values = values if isinstance(values, tuple) else (values,)
        found = tuple(self._know(t, v._data) for t, v in zip(many, values))
        return found if isinstance(outs, tuple) else found[0]

    def _run(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        engine = self._before[-1]
        slot.engine = engine
        try:
            return engine.apply(op, inputs, attrs)
        finally:
            slot.engine = self

    def lift_tensor(self, x: Tensor) -> Value:
        """A tensor from outside becomes a param, once per object and value."""
        key = (id(x) if isinstance(x, Parameter) else 0, id(x._data))
        if key not in self._outer_values or x._rec is not None:
            self._outer_values[key] = self.graph.add_param(x._type, f"c{len(self.outer)}")
            self.outer.append(make(x._data, x._type, x._rec))
            self.sources.append(x)
        return self._outer_values[key]

    def lift_outer(self, x: SymbolicTensor) -> Value:
        """A tensor traced by an enclosing transform is a param like any other."""
        return self.lift_symbol(x)

    def lift_symbol(self, x: SymbolicTensor) -> Value:
        """The param for a tensor of an enclosing tracer."""
        key = (0, id(x._value))
        if key not in self._outer_values:
            self._outer_values[key] = self.graph.add_param(x._type, f"c{len(self.outer)}")
            self.outer.append(x)
            self.sources.append(x)
        return self._outer_values[key]

    def assign(self, target: Tensor, value: Tensor) -> None:
        """Index assignment on a traced tensor; state outside takes only values that do not depend on a batch."""
        if isinstance(target, SymbolicTensor):
            super().assign(target, value)
            target._data = value._data if isinstance(value, KnownTensor) else target._data
        elif isinstance(value, SymbolicTensor) and not self.known:
            raise GradientError(
                f"vmap: {getattr(target, 'name', 'a tensor')} outside the mapped function would get a value of its own "
                "in every lane.",
                hint="return the value from the function instead of assigning it.",
            )
        else:
            eager.assign(target, _plain(value))

    def no_value(self, x: SymbolicTensor) -> Exception:
        """Asking for the value of a batched tensor."""
        return ConcretizationError(
            f"vmap: the value of this tensor ({x._type!r}) differs from lane to lane.",
            hint="use tensor operations such as ops.where instead of Python's if, float() or NumPy functions.",
        )


def is_unknown(x: Any) -> bool:
    """A tensor without a value: one that stands for every lane of a batch."""
    return isinstance(x, SymbolicTensor) and not isinstance(x, KnownTensor)


def _plain(x: Any) -> Any:
    return make(x._data, x._type) if isinstance(x, KnownTensor) else x


def trace(fn: Any, inputs: Sequence[Tensor], types: Sequence[TensorType], known: bool) -> tuple[EagerTracer, Any]:
    """Run ``fn`` on traced tensors of these types; returns the tracer and what ``fn`` returned."""
    tracer = EagerTracer(known)
    symbols = [tracer.input(t, f"x{i}", x) for i, (t, x) in enumerate(zip(types, inputs))]
    with tracer:
        result = fn(*symbols)
    return tracer, result


def is_plain_eager(engine: Any) -> bool:
    """True when nothing is recorded or traced."""
    return isinstance(engine, EagerEngine)
