"""A network with its weights as constants: what evaluation runs, call after call.

    capture --> weights become constants --> constants folded, batch norms into convolutions --> compiled

The device brings constants into the order that its library wants when it builds the program, so no call moves a weight.
Nothing becomes stale: a frozen program is run only while every weight is the very buffer that it was frozen with. While
it holds these buffers nobody else is their only owner, so no program writes into them: a weight that changes is another
buffer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msnb.base import MsnbError, device_registry, events, get_context
from msnb.core import EngineRestore, slot
from msnb.core.tensor import Tensor, shared_of
from msnb.eager.dispatch import eager
from msnb.graph.capture import CapturedProgram, trace
from msnb.graph.compile import compile_graph
from msnb.graph.compile.affine_folding import fold_affine
from msnb.graph.compile.pipeline import fuses, optimise
from msnb.ir import Graph, GraphBuilder, python_calls, replay
from msnb.parallel.context import wanted

MOST = 8
"""Programs of one network, for inputs of that many types."""


def _may_freeze() -> bool:
    """Whether a call at this moment can run a frozen program: nothing records or watches, whole programs are wanted."""
    plain = slot.engine is eager and wanted.key is None and not events.op_listeners and not get_context("save_graphs")
    return plain and fuses(device_registry.current()) and device_registry.current().name == "CPU"


class FrozenProgram:
    """A captured program with the weights that it had when it was made.

    Args:
        captured: the program.
        inputs: what it was captured with.

    Attributes:
        buffers: what was gathered beside the inputs; after a change it is compiled again once two calls find the same.
    """

    def __init__(self, captured: CapturedProgram, inputs: Sequence[Tensor]) -> None:
        self._captured = captured
        self._given = captured.of_call()
        gathered = captured.check(tuple(inputs), {})[0]
        self.buffers: list[Any] = [b for b, given in zip(gathered, self._given) if not given]
        self._run: Any = None

    def holds(self, inputs: Sequence[Tensor]) -> bool:
        """Whether all is as the capture found it, but for the weights' values."""
        return not isinstance(self._captured.check(tuple(inputs), {}), int)

    def __call__(self, inputs: Sequence[Tensor]) -> tuple[Any] | None:
        """The result, as the only member of a tuple; None where today's weights are others."""
        gathered, held = self._captured.check(tuple(inputs), {})
        buffers = [b for b, given in zip(gathered, self._given) if not given]
        if any(a is not b for a, b in zip(self.buffers, buffers)):
            self.buffers = buffers
            self._run = None
            return None
        if self._run is None:
            self._run = compile_graph(self._frozen(inputs)).build()
        args = [b for b, given in zip(gathered, self._given) if given]
        return (self._captured.finish(self._run(args), held),)

    def _frozen(self, inputs: Sequence[Tensor]) -> Graph:
        """The graph of the inputs alone."""
        graph = self._captured.graph
        owners = self._captured.owners(tuple(inputs), {})
        with EngineRestore(), GraphBuilder(graph.name) as b:
            args = [b.param(p.type, p.name) if g else o for p, o, g in zip(graph.params, owners, self._given)]
            b.output(*replay(graph, args))
        return fold_affine(optimise(b.graph)[0])


class FrozenPrograms:
    """The frozen programs of a network, by the types of its inputs.

    The first call in evaluation freezes. Weights that changed since are run by the ordinary program until two calls
    find the same ones: whoever evaluates after every step of training does not wait for a compilation each time.
    """

    def __init__(self) -> None:
        self._programs: dict[Any, FrozenProgram | None] = {}

    def run(self, net: Any, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any] | None:
        """The result of the frozen program for these inputs and weights, as the only member of a tuple; None where
        there is none.

        Args:
            net: the network; inputs, named: what it is called with.
        """
        if net.training or net._way or named or not _may_freeze():
            return None
        if not all(isinstance(x, Tensor) and x._rec is None for x in inputs):
            return None
        if any(map(_is_shared, net.get_parameters())):
            return None
        key = tuple(x._type for x in inputs)
        if key not in self._programs:
            self._enter(key, net, inputs)
        program = self._programs[key]
        if program is not None and not program.holds(inputs):
            self._enter(key, net, inputs)
            program = self._programs[key]
        return None if program is None else program(inputs)

    def __deepcopy__(self, memo: Any) -> FrozenPrograms:
        return FrozenPrograms()  # a copy of a network has weights of its own

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenPrograms, ()

    def clear(self) -> None:
        """Forget all: their memory is free."""
        self._programs.clear()

    def _enter(self, key: Any, net: Any, inputs: Sequence[Tensor]) -> None:
        if len(self._programs) >= MOST:
            self._programs.pop(next(iter(self._programs)))
        self._programs[key] = _captured(net, inputs)


def _is_shared(p: Tensor) -> bool:
    """Whether an array of the user's has the memory of a weight: it may be written at any time, and nothing tells."""
    return shared_of(p) is not None and p._data is not None and shared_of(p) is not None


def _captured(net: Any, inputs: Sequence[Tensor]) -> FrozenProgram | None:
    """What may become a frozen program; None where the network writes, draws, or calls Python."""
    try:
        found = trace(net, tuple(inputs), {})
    except MsnbError:
        return None  # the ordinary program says what is wrong, or runs where this one does not
    if found.writes or found.written or python_calls(found.graph) or isinstance(found.check(tuple(inputs), {}), int):
        return None
    return FrozenProgram(found, inputs)
