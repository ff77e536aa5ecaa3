"""A compiled program inside an eager recording: one line on the tape.

    eager op, eager op, [program: forward + residuals], eager op      the tape sees with_vjp(x..., out..., residual...)
                                 |
                        its gradient replays the program's backward graph into the tape's

The pair (forward, backward) is made once per program and set of tracked inputs. With nested recorders the program's
nodes are replayed one by one instead: then every recorder notes what it tracks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from msnb.autodiff import vjp
from msnb.core.engine import slot, using
from msnb.core.tensor import Tensor, made
from msnb.eager.dispatch import eager
from msnb.eager.residual_selection import slim
from msnb.eager.tape import NestedRecordingEngine, RecordingEngine
from msnb.ir.control_flow import HostFn, replay
from msnb.ir.custom_gradient import WITH_VJP
from msnb.ir.graph import Graph

if TYPE_CHECKING:
    from msnb.graph.compile.pipeline import CompiledProgram


class CompiledVjp:
    """A program's forward, compiled, and its backward, to be replayed."""

    backward: Graph

    def __init__(self, graph: Graph, wrt: tuple[int, ...]) -> None:
        from msnb.graph.compile import compile_graph

        self.n_in: int = len(wrt)
        self.n_out: int = len(graph.outputs)
        pair = vjp(graph, wrt)
        self.outputs: tuple[int, ...] = pair.outputs
        forward, self.backward = slim(pair)
        self.types: list[Any] = [v.type for v in forward.outputs]
        self.run: CompiledProgram = compile_graph(forward, name=graph.name).build()
        self.fn: HostFn = HostFn(self._backward, graph.name)

    def _backward(self, *args: Any) -> list[Any]:
        residuals = args[self.n_in + self.n_out : len(args) - self.n_out]
        douts = args[len(args) - self.n_out :]
        return replay(self.backward, [*residuals, *(douts[i] for i in self.outputs)])


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
        pair = _pairs[graph][wrt] = CompiledVjp(graph, wrt)
    with using(eager):
        buffers = pair.run([x._data if isinstance(x, Tensor) else x for x in inputs])
    found = [made(b, t) for b, t in zip(buffers, pair.types)]  # stacks of loops too: the tape keeps them like tensors
    attrs = {"n_in": pair.n_in, "n_out": pair.n_out, "own": False, "fn": pair.fn}
    results = engine.apply(WITH_VJP, (*(inputs[i] for i in wrt), *found), attrs)
    return list(results) if isinstance(results, tuple) else [results]
