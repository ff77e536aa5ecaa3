"""A compiled program inside an eager recording: one line on the tape.

    eager op, eager op, [program: forward + residuals], eager op      the tape sees with_vjp(x..., out..., residual...)
                                 |
                        its gradient replays the program's backward graph into the tape's

The pair (forward, backward) is made once per program and set of tracked inputs. With nested recorders the program's
nodes are replayed one by one instead: then every recorder notes what it tracks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from msnb.autodiff import vjp
from msnb.core.engine import EngineRestore, slot, using
from msnb.core.tensor import Tensor, made
from msnb.eager.dispatch import EagerEngine, eager
from msnb.eager.residual_selection import slim
from msnb.eager.tape import NestedRecordingEngine, RecordingEngine
from msnb.ir import WITH_VJP, BoundGraph, Graph, HostFn, replay

if TYPE_CHECKING:
    from msnb.graph.compile import CompiledProgram, SymbolicSource

Sized = Graph | BoundGraph
"""A program, or the sizes for which it is one with symbols."""


class CompiledVjp:
    """A program's forward, compiled, and its backward: replayed into a program, or compiled too.

    Args:
        name: of the program; outputs: the positions of its results that have a cotangent.
        n_in, n_out: how many inputs are differentiated by, and results there are.
        forward, backward: the pair; symbolic: the programs with symbols that they were bound from.
    """

    def __init__(
        self, name: str, n_in: int, n_out: int, outputs: tuple[int, ...], forward: Sized, backward: Sized,
        symbolic: tuple[SymbolicSource | None, SymbolicSource | None] = (None, None),
    ) -> None:  # fmt: skip
        from msnb.graph.compile import compile_graph

        self.n_in, self.n_out, self.outputs = n_in, n_out, outputs
        self.types: list[Any] = types_of(forward)
        self.run: CompiledProgram = compile_graph(forward, name=name, symbolic=symbolic[0]).build()
        self.fn: HostFn = HostFn(self._backward, name)
        self._given, self._compile = backward, partial(compile_graph, backward, symbolic=symbolic[1])
        self._program: CompiledProgram | None = None
        self._uses = 0

    @property
    def backward(self) -> Graph:
        """The backward graph."""
        return self._given if isinstance(self._given, Graph) else self._given.graph

    def _backward(self, *args: Any) -> list[Any]:
        residuals = args[self.n_in + self.n_out : len(args) - self.n_out]
        douts = args[len(args) - self.n_out :]
        operands = [*residuals, *(douts[i] for i in self.outputs)]
        self._uses += 1
        if not isinstance(slot.engine, EagerEngine) or not self._is_worth_compiling():
            return replay(self.backward, operands)
        self._program = self._program or self._compile().build()
        return [made(b, t) for b, t in zip(self._program([x._data for x in operands]), types_of(self._given))]

    def _is_worth_compiling(self) -> bool:
        given = self._given
        return self._uses > 1 or not isinstance(given, Graph) or any("control" in n.op.traits for n in given.nodes)


def vjp_of(graph: Graph, wrt: tuple[int, ...]) -> CompiledVjp:
    """The derivative of a program by some of its params."""
    pair = vjp(graph, wrt)
    return CompiledVjp(graph.name, len(wrt), len(graph.outputs), pair.outputs, *slim(pair))


def types_of(given: Sized) -> list[Any]:
    """The types of a program's results."""
    if isinstance(given, Graph):
        return [v.type for v in given.outputs]
    return [given.type_of(v) for v in given.like.outputs]


_pairs: WeakKeyDictionary[Graph, dict[tuple[int, ...], CompiledVjp]] = WeakKeyDictionary()


def tracked_inputs(inputs: Sequence[Any]) -> tuple[int, ...]:
    """Positions of the inputs through which a gradient of the engine in the slot flows."""
    engine = slot.engine
    if not isinstance(engine, RecordingEngine):
        return ()
    recorders = engine.recorders if isinstance(engine, NestedRecordingEngine) else (engine.recorder,)
    return tuple(
        i
        for i, x in enumerate(inputs)
        if isinstance(x, Tensor) and x.dtype.differentiable and any(r.number_of(x) >= 0 for r in recorders)
    )


def call_recorded(graph: Graph, inputs: Sequence[Any], wrt: tuple[int, ...]) -> list[Any]:
    """Run a program on real tensors while a gradient is wanted.

    Args:
        graph: the program.
        inputs: one tensor (or Python scalar) per param.
        wrt: what ``tracked_inputs`` gave.

    Returns:
        One tensor per output, tracked.
    """
    engine = slot.engine
    if isinstance(engine, NestedRecordingEngine):
        return replay(graph, inputs)
    pair = _pairs.setdefault(graph, {}).get(wrt)
    if pair is None:
        pair = _pairs[graph][wrt] = vjp_of(graph, wrt)
    return call_pair(pair, inputs, wrt)


def call_pair(pair: CompiledVjp, inputs: Sequence[Any], wrt: tuple[int, ...]) -> list[Any]:
    """``call_recorded`` by a derivative that is there, where one recorder listens."""
    with EngineRestore(), using(eager):
        buffers = pair.run([x._data if isinstance(x, Tensor) else x for x in inputs])
    found = [made(b, t) for b, t in zip(buffers, pair.types)]  # stacks of loops too: the tape keeps them like tensors
    attrs = {"n_in": pair.n_in, "n_out": pair.n_out, "own": False, "fn": pair.fn}
    results = slot.engine.apply(WITH_VJP, (*(inputs[i] for i in wrt), *found), attrs)
    return list(results) if isinstance(results, tuple) else [results]
