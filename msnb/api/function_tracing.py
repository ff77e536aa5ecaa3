"""A function of trees of tensors as a graph in the program that is being captured: what vjp, jvp and vmap transform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msnb.autodiff.deferred_gradient import written_out
from msnb.base import ArgumentError, GradientError
from msnb.core import Parameter, Tensor, TensorType, pytree, slot
from msnb.ir.builder import ClosedFunction, GraphBuilder, Lane
from msnb.ir.graph import Graph
from msnb.ops import identity

Fn = Callable[..., Any]


class FunctionTrace:
    """A traced function.

    Args:
        fn: a function of trees of tensors.
        args: its arguments.
        types: the types of the traced tensors where they differ from those of the arguments (one lane under vmap).
        lane: gives the tensors of the first lane.

    Attributes:
        inputs: the tensors in ``args``, in order: the first params of ``graph``.
        outer: values of the params after them.
        graph: params ``inputs + outer``; outputs are the tensors of the result (and of state writes, see ``settle``).
    """

    def __init__(
        self, fn: Fn, args: Sequence[Any], types: Sequence[TensorType] | None = None, lane: Lane | None = None
    ) -> None:
        leaves, self._shape = pytree.flatten(tuple(args))
        self._leaves = leaves
        self.inputs: list[Any] = [x for x in leaves if isinstance(x, Tensor)]
        engine = slot.engine
        assert isinstance(engine, GraphBuilder)
        run = engine.convert(fn)
        self._traced: ClosedFunction = engine.trace(lambda *xs: self._call(run, xs), self.inputs, types, lane)
        self.graph: Graph = written_out(self._traced.graph)
        self.outer: list[Any] = self._traced.outer

    def _call(self, fn: Fn, tensors: Sequence[Any]) -> Any:
        rest = iter(tensors)
        given = [next(rest) if isinstance(x, Tensor) else x for x in self._leaves]
        return fn(*pytree.unflatten(self._shape, given))

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

    def places(self, weights: Sequence[Parameter]) -> list[int | None]:
        """The positions among the graph's params at which Parameters come in; see ``places_of``."""
        return places_of(weights, self.outer, len(self.inputs))

    def written_input(self, k: int) -> int | None:
        """Which of ``inputs`` the k-th write goes to; None for state outside."""
        return self._traced.of_inputs.get(k)

    def settle(self, tensors: Sequence[Any]) -> None:
        """Assign the new values of state that the function wrote (the outputs after the results)."""
        for target, new in zip(self._traced.writes, tensors):
            slot.engine.assign(target, new)

    @property
    def writes(self) -> list[Tensor]:
        """State that the function wrote."""
        return self._traced.writes


def places_of(weights: Sequence[Parameter], outer: Sequence[Any], n_inputs: int) -> list[int | None]:
    """Where Parameters come into a traced graph: its params are ``n_inputs`` traced ones, then ``outer``.

    None says that the graph does not read the Parameter: a traced graph is closed, so what is not among its params
    cannot lead to its results, and the gradient is zero. Only capture knows Parameters by their objects; elsewhere
    their values lie in the graph as constants, and nothing can be said.

    Raises:
        GradientError: Parameters are asked for where they are constants.
    """
    b = slot.engine
    assert isinstance(b, GraphBuilder)
    if weights and not hasattr(b, "session"):
        name = getattr(weights[0], "name", "a Parameter")
        raise GradientError(
            f"a gradient by {name} is asked for inside a gradient rule: Parameters are constants there.",
            hint="give it to the function as an argument and differentiate by its position.",
        )
    places = {id(b.lift(x)): n_inputs + k for k, x in enumerate(outer)}
    return [places.get(id(b.lift(w))) for w in weights]


def snapshot_of(value: Any) -> Any:
    """A result of a transform, whose Parameters are taken by the values that they have now."""
    leaves, shape = pytree.flatten(value)
    if not any(isinstance(x, Parameter) for x in leaves):
        return value
    return pytree.unflatten(shape, [identity(x) if isinstance(x, Parameter) else x for x in leaves])


def tensors_of(what: str, value: Any) -> list[Any]:
    """The tensors in a tree; Python floats and arrays become tensors."""
    leaves = [x if isinstance(x, Tensor) else Tensor(x) for x in pytree.flatten(value)[0]]
    if not leaves:
        raise ArgumentError(f"{what} holds no tensor.")
    return leaves
