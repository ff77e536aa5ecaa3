"""A function of trees of tensors as a graph, in whatever mode: what vjp, jvp and vmap start from.

eager        the tracer runs the Python once and notes what depends on the inputs
capturing    the program being built traces it as a nested graph
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msnb.autodiff.owed import written_out
from msnb.core import tree
from msnb.core.errors import ArgumentError
from msnb.core.parameter import Parameter
from msnb.core.slot import slot
from msnb.core.tensor import Tensor
from msnb.core.types import TensorType
from msnb.eager.gradient import is_eager
from msnb.eager.tracer import EagerTracer, trace
from msnb.ir.builder import GraphBuilder, Traced
from msnb.ir.graph import Graph

Fn = Callable[..., Any]


class Program:
    """A traced function.

    Args:
        fn: a function of trees of tensors.
        args: its arguments.
        types: the types of the traced tensors where they differ from those of the arguments (one lane under vmap).
        known: in eager mode, whether Python may look at values.

    Attributes:
        inputs: the tensors in ``args``, in order: the first params of ``graph``.
        outer: values of the params after them.
        graph: params ``inputs + outer``; outputs are the tensors of the result (and of state writes, see ``settle``).
    """

    def __init__(
        self, fn: Fn, args: Sequence[Any], types: Sequence[TensorType] | None = None, known: bool = True
    ) -> None:
        self._sources: list[Any] = []
        leaves, self._shape = tree.flatten(tuple(args))
        self._leaves = leaves
        self.inputs: list[Any] = [x for x in leaves if isinstance(x, Tensor)]
        types = [x._type for x in self.inputs] if types is None else list(types)
        engine = slot.engine
        if is_eager(engine) or isinstance(engine, EagerTracer):
            self._traced = self._eagerly(fn, types, known)
        else:
            self._traced = self._nested(engine, fn, types)
        self.graph: Graph = written_out(self._traced.graph)
        self.outer: list[Any] = self._traced.outer
        self._sources = self._sources or self.outer

    def _call(self, fn: Fn, tensors: Sequence[Any]) -> Any:
        rest = iter(tensors)
        given = [next(rest) if isinstance(x, Tensor) else x for x in self._leaves]
        return fn(*tree.unflatten(self._shape, given))

    def _eagerly(self, fn: Fn, types: Sequence[TensorType], known: bool) -> Traced:
        tracer, result = trace(lambda *xs: self._call(fn, xs), self.inputs, types, known)
        self._sources = tracer.sources
        leaves, shape = tree.flatten(result)
        with tracer:
            tracer.output(*(x for x in leaves if isinstance(x, Tensor)))
        return Traced(tracer.graph, tracer.outer, shape, leaves)

    def _nested(self, engine: Any, fn: Fn, types: Sequence[TensorType]) -> Traced:
        assert isinstance(engine, GraphBuilder)
        run = engine.convert(fn)
        traced: Traced = engine.trace(lambda *xs: self._call(run, xs), self.inputs, types)
        return traced

    @property
    def n_results(self) -> int:
        """How many tensors the result has."""
        return self._traced.n_results

    @property
    def args(self) -> list[Any]:
        """Values for all params of the graph."""
        return [*self.inputs, *self.outer]

    def result(self, tensors: Sequence[Any]) -> Any:
        """The function's result with these tensors in it."""
        return self._traced.rebuild(tensors)

    def place(self, weight: Parameter) -> int | None:
        """The position among the graph's params at which a Parameter comes in; None when it is not read."""
        engine = slot.engine
        for k, x in enumerate(self._sources):
            if x is weight or (isinstance(engine, GraphBuilder) and engine.lift(x) is engine.lift(weight)):
                return len(self.inputs) + k
        return None

    def settle(self, tensors: Sequence[Any]) -> None:
        """Assign the new values of state that the function wrote (the outputs after the results)."""
        for target, new in zip(self._traced.writes, tensors):
            slot.engine.assign(target, new)

    @property
    def writes(self) -> list[Tensor]:
        """State that the function wrote."""
        return self._traced.writes


def tensors_of(what: str, value: Any) -> list[Any]:
    """The tensors in a tree; Python floats and arrays become tensors."""
    leaves = [x if isinstance(x, Tensor) else Tensor(x) for x in tree.flatten(value)[0]]
    if not leaves:
        raise ArgumentError(f"{what} holds no tensor.")
    return leaves
