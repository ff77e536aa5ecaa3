"""The engine in the slot while a program is captured: a GraphBuilder that knows the outside.

Builders nest: the root makes the program's graph, each branch and loop body has a builder of its own whose closed graph
takes outer values as params. All share one Session.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from msnb.autodiff import deferred_gradient
from msnb.base.errors import ConcretizationError, MsnbError
from msnb.base.gc_pause import at_rest
from msnb.base.source_location import Origin, here, users_frames
from msnb.core import Parameter, Tensor
from msnb.core.types import WEAK, TensorType, Type, truth_of_many
from msnb.graph.capture.interpreter import reads
from msnb.graph.capture.interpreter.capture_session import Session
from msnb.graph.capture.values import sources
from msnb.graph.capture.values.call_arguments import CallArguments
from msnb.graph.capture.values.lazy_values import TrackedArray, concrete, is_lazy
from msnb.graph.capture.values.mutation_journal import TensorPlace
from msnb.graph.capture.values.values_as_sizes import known_values
from msnb.ir import control_flow
from msnb.ir.builder import ClosedFunction, GraphBuilder, Lane, SymbolicTensor
from msnb.ir.graph import Graph, Value
from msnb.ops.definition.record import Op, find

_KINDS = {
    "bool": "the truth of a tensor is needed by Python here, and it is not known while the function is captured.",
    "int": "int() needs the value of a tensor, which is not known while the function is captured.",
    "float": "float() needs the value of a tensor, which is not known while the function is captured.",
    "index": "Python needs the value of a tensor as an index or size, and it is not known while the "
    "function is captured.",
}


class Capture(GraphBuilder):
    """Captures a program into a graph.

    Args:
        name: the graph's name.
        session: what the capture knows of the outside.
        parent: the builder around a branch or loop body.
    """

    def __init__(self, name: str, session: Session, parent: GraphBuilder | None = None) -> None:
        super().__init__(name, parent=parent)
        self.session: Session = session
        self.keeps_names: bool = session.keeps_blocks
        if self.session.inputs.root is None:
            self.session.inputs.root = self

    # ---- operations ----

    def apply(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Append a node, in the precision that the rule in force asks for."""
        rule = self.session.autocast
        return self._append(op, inputs, attrs) if rule is None else rule.apply(self._append, op, inputs, attrs)

    def number_kind(self, value: Any) -> type | None:
        """What a number that the graph computes is to the program."""
        return type(self.session.pythonic.shown(value)) if self.session.pythonic.has(value) else None

    def whole(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Op by op, in the precision that the rule in force asks for."""
        rule = self.session.autocast
        if rule is not None:
            return rule.whole(fn, args, kwargs)
        return self._block(fn, args, kwargs) if self.session.keeps_blocks else fn(*args, **kwargs)

    def _block(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of the function as a graph of its name, its settings beside it; op by op where an argument is neither
        a tensor nor a setting, or a result no tensor."""
        given = CallArguments(fn, args, kwargs, _static)
        if not given.is_plain:
            return fn(*args, **kwargs)
        values = {name: self.lift(x) for name, x in given.tensors.items()}
        body = Capture(fn.__name__, self.session, self)
        with body:
            found = given.call(fn, {name: body.param(v.type, name) for name, v in values.items()})
            results = found if isinstance(found, tuple) else (found,)
            if plain := all(isinstance(x, Tensor) for x in results):
                body.output(*results)
        if not plain:
            return fn(*args, **kwargs)
        callee = self.graph.module.add(body.graph, fn.__name__)
        block = (fn.__name__, tuple(values), tuple(given.settings.items()))
        operands = [*map(self.wrap, values.values()), *(outer for outer, _ in body.captured)]
        made = control_flow.call(self, callee, operands, block=block)
        return made if isinstance(found, tuple) else made[0]

    def _append(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Append a node; lazy numbers among the attributes become constants with a guard."""
        if attrs:
            attrs = {k: _static(v) for k, v in attrs.items()}
        inputs, number = self.session.pythonic.operands(self, op, inputs)
        result = super().apply(op, inputs, attrs)
        return self.session.pythonic.mark(result) if number else result

    def lift_outer(self, x: SymbolicTensor) -> Value:
        """A tensor of an enclosing graph becomes a param of this one."""
        own = super().lift_outer(x)
        self.session.pythonic.adopt(x._value, own)
        return own

    def lift(self, x: Any) -> Value:
        """Outside values become inputs, program values stay or pass through the params of this body."""
        if isinstance(x, SymbolicTensor) and type(x) is SymbolicTensor:
            return super().lift(x)
        if is_lazy(x):
            return super().lift(self.session.inputs.scalar(x))
        if isinstance(x, TrackedArray) and x._source is not None:
            return super().lift(x.plain() if self.session.is_written(x) else self.session.inputs.array(x))
        return super().lift(x)

    def lift_tensor(self, x: Tensor) -> Value:
        """A Tensor object: state of the program, unless the program itself made it."""
        if self.session.objects.is_fresh(x) and id(x) not in self.session.states.own:
            return super().lift_tensor(x)
        return super().lift(self.session.state(x).current)

    def lift_as(self, x: Any, want: TensorType) -> Value:
        """``x`` as a value of exactly this type: numbers are converted."""
        if not is_lazy(x) and type(x) in WEAK and not want.weak:
            return self.constant(np.asarray(x, want.dtype.numpy), want)
        if not is_lazy(x) and type(x) in WEAK:
            return self.constant({2: float, 3: complex}.get(want.dtype.category, type(x))(x), want)
        value = self.lift(x)
        if value.type is want:
            return value
        cast = find("cast")
        return self.add(cast, [value], cast.bind_attrs({"dtype": want.dtype}), (want,))[0]._value

    def assign(self, target: Tensor, value: Tensor) -> None:
        """``target`` takes the value of ``value`` (``x[i] = v``, assignments to parameters)."""
        self.put(target, value)
        self.session.aliases.written(self, target)

    def put(self, target: Tensor, value: Tensor) -> None:
        """``assign``, of this one object."""
        lifted = self.wrap(self.lift(value))
        self.session.aliases.shared.add(lifted._value)
        if isinstance(target, SymbolicTensor):
            if self.session.pythonic.has(target):
                self.session.pythonic.mark(lifted)
            if target._builder.graph is not self.graph:
                self.lift(target)  # a value of no enclosing graph is refused here
            self.session.assign(target, lifted, "the tensor")
        else:
            state = self.session.state(target)
            self.session.assign(state.current, lifted, getattr(target, "name", "the tensor"))

    @contextmanager
    def telling_apart(self, tensors: Sequence[Tensor]) -> Iterator[None]:
        """A gradient by a tensor is none by the tensor that was assigned to it, or that it was assigned to.

        Inside, a value that several tensors have is the tensor's own as a copy: whoever reads it, also a branch that
        hands on what it does not write, comes to the copy."""
        self.session.inputs.apart |= bool(tensors)
        known = {**self.session.states.own, **self.session.states.outside}
        copies: list[tuple[TensorPlace, Tensor, Value]] = []
        for current in (known[id(t)].current for t in tensors if id(t) in known):
            if current._value in self.session.aliases.shared:
                place, lifted = TensorPlace(current), super().lift(current)
                before, copy = place.get(), self.add(find("identity"), [lifted], {}, (lifted.type,))[0]
                place.set(copy)
                copies.append((place, before, copy._value))
        try:
            yield
        finally:
            for place, before, value in copies:
                if place.tensor._value is value:
                    place.set(before)

    def current(self, owner: Tensor) -> SymbolicTensor:
        """The symbolic value that a Parameter has at this point of the program."""
        return self.wrap(self.lift(owner))

    def parameter(self, *args: Any) -> Parameter:
        """A Parameter that the program makes."""
        made: Parameter = self.session.interpreter.call(Parameter, *args)
        return made

    # ---- the outside ----

    def convert(self, fn: Any) -> Any:
        """The converted twin of a function or method."""

        def converted(*args: Any, **kwargs: Any) -> Any:
            return self.session.interpreter.call(fn, *args, **kwargs)

        owner = getattr(fn, "__self__", None)
        if owner is not None and not self.session.objects.is_fresh(owner):
            source, name = self.session.anchor(owner), _attribute(owner, fn)
            if name:
                self.session.guard("is", (sources.function(sources.attr(source, name)),), (fn.__func__,))
        return converted

    def read(self, owner: Any, name: str) -> Any:
        """An attribute that framework code reads for the program, guarded."""
        if not self.session.objects.is_fresh(owner):
            self.session.anchor(owner)
        return reads.attr(self.session, owner, name)

    def rely_on(self, owner: sources.Source, name: str, value: Any) -> None:
        """Assume that an attribute of an outside object equals ``value``."""
        self.session.guard("eq", (sources.attr(owner, name),), (value,))

    def given(self, value: Any) -> Any:
        """A tree that framework code looks into for the program, guarded all the way down."""
        return reads.given(self.session, value)

    def trace(
        self, fn: Any, inputs: Sequence[Tensor], types: Sequence[Type] | None = None, lane: Lane | None = None
    ) -> ClosedFunction:
        """``fn(*inputs)`` as a closed graph of its own; what it writes comes back as ``writes``."""
        return self.session.interpreter.trace(self, fn, inputs, types, lane)

    # ---- gradients ----

    def owe_gradient(
        self, graph: Graph, wrt: Sequence[int], outputs: Sequence[int], args: Sequence[Any], douts: Sequence[Any]
    ) -> tuple[SymbolicTensor, ...] | None:
        """The results of a traced graph and its gradients, as one node; None where rules of precision or splits in
        force would be lost, or the graph cannot wait."""
        if self.session.autocast is not None or self.region is not None or not deferred_gradient.may_wait(graph):
            return None
        found = control_flow.gradient(
            self, graph, wrt, outputs, args, douts, deferred_gradient.owed_types(graph, wrt, outputs)
        )
        for value, out in zip(graph.outputs, found):
            self.session.pythonic.adopt(value, out._value)
        return found

    # ---- places and refusals ----

    def locate(self) -> Origin | None:
        """The user's frames up to the captured function."""
        return Origin(users_frames(sys._getframe(2), end=_RUN))

    def no_value(self, x: SymbolicTensor) -> Exception:
        """The error for asking the value of a tensor that does not exist yet."""
        return _refusal(
            f"the value of this tensor ({x._type!r}) is not known while the function is captured.",
            "use tensor operations (also float(t) and int(t)) instead of asnumpy(), item() and NumPy functions, "
            "or compute it outside the compiled function.",
        )

    def hash_of(self, x: SymbolicTensor) -> int:
        """As a key of a dict a number is its value."""
        if self.session.pythonic.has(x):
            raise self.no_value(x)
        return object.__hash__(x)

    def concrete(self, x: SymbolicTensor, kind: str) -> Any:
        """Python asks for a value in a place that is not converted."""
        if kind == "bool" and x._type.is_static and x._type.size != 1:
            raise truth_of_many(x)
        found = known_values(self.session, x) if kind == "index" and x._type.size == 1 else None
        if found is not None:
            return found.item()
        hint = "write the decision as if/while/and/or in a function that is captured, or use ops.where."
        raise _refusal(
            _KINDS[kind], hint if kind == "bool" else "keep it a tensor, or compute it outside the function."
        )

    def body(self, name: str) -> Capture:
        """A builder for a nested body."""
        return Capture(name, self.session, parent=self)


def _attribute(owner: Any, method: Any) -> str:
    """The name under which the class of ``owner`` holds a method (a lambda does not know it)."""
    function = getattr(method, "__func__", None)
    if function is None or getattr(type(owner), function.__name__, None) is function:
        return "" if function is None else str(function.__name__)
    return next((n for kind in type(owner).__mro__ for n, v in vars(kind).items() if v is function), "")


def _refusal(sentence: str, hint: str) -> MsnbError:
    error = ConcretizationError(sentence, hint=hint)
    error.where = here(2).where
    return error


def _static(value: Any) -> Any:
    if is_lazy(value):
        return concrete(value) if value._dim is None else value._dim
    return tuple(map(_static, value)) if type(value) is tuple else value


def run_root(session: Session, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the captured function; frames outside of this one are not the program's."""
    with at_rest():
        return session.interpreter.call(fn, *args, **kwargs)


_RUN = run_root.__code__
