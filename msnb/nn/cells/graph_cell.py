"""The Cell that runs a network without its Python.

ms.export(net, x, file_name="net")     net.mindir holds the graph of net's forward pass and the weights it reads
graph = ms.load("net.mindir")          a SavedGraph
net = nn.GraphCell(graph)              runs its nodes like any program: eagerly, compiled, inside a gradient

Called in evaluation it runs a frozen program (``frozen_program``): weights are constants there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msnb.base import ArgumentError, AttributeValueError
from msnb.core import ParameterTuple
from msnb.ir.frozen_graph import SavedGraph
from msnb.nn.cells.cell import Cell


class GraphCell(Cell):
    """Runs a graph that ``ms.load`` read.

    Args:
        graph: a SavedGraph.
        params_init: values for Parameters by name, instead of those in the file.
        obf_random_seed: None; files here are not obfuscated.

    Inputs:
        The tensors that the network was exported with, of the same shapes and dtypes.

    Raises:
        TypeError: ``graph`` is something else, or ``params_init`` no dict; inputs in another number or of other dtypes.
        ValueError: ``params_init`` names a Parameter that is not there or has another shape; inputs of other shapes.

    Source: `mindspore.nn.GraphCell`

    Examples:
        >>> import os, tempfile
        >>> import msnb as ms
        >>> path = os.path.join(tempfile.mkdtemp(), "net.mindir")
        >>> x = ms.Tensor([[1.0, 2.0]])
        >>> net = ms.nn.Dense(2, 3)
        >>> ms.export(net, x, file_name=path)
        >>> same = ms.nn.GraphCell(ms.load(path))
        >>> same(x).tolist() == net(x).tolist(), list(same.parameters_dict())
        (True, ['weight', 'bias'])
    """

    def __init__(self, graph: Any, params_init: Mapping[str, Any] | None = None, obf_random_seed: Any = None) -> None:
        super().__init__()
        if not isinstance(graph, SavedGraph):
            raise ArgumentError(
                f"GraphCell runs a graph that ms.load('net.mindir') gives, got {type(graph).__name__}.",
                hint="a Cell runs by itself; ms.export(net, *inputs, file_name='net') writes it as a graph.",
            )
        if obf_random_seed is not None:
            raise ArgumentError("GraphCell: obf_random_seed is for obfuscated files, which msnb does not write.")
        self.graph = graph
        self.weights: ParameterTuple = ParameterTuple(p.clone() for p in graph.weights.values())
        from msnb.nn.cells.frozen_program import FrozenPrograms  # compiling is loaded when something is compiled

        self._frozen = FrozenPrograms()
        self._begin_with({} if params_init is None else params_init)

    def _begin_with(self, given: Mapping[str, Any]) -> None:
        """Exchange first values, after a check of all names."""
        if not isinstance(given, Mapping):
            raise ArgumentError(f"GraphCell: params_init is a dict from names to Tensors, got {type(given).__name__}.")
        own = dict(zip(self.graph.weights, self.weights))
        for name in given:
            if name not in own:
                known = ", ".join(own) or "none"
                raise AttributeValueError(f"GraphCell: params_init has {name!r}; the graph's Parameters: {known}.")
        for name, value in given.items():
            own[name].set_data(value)

    def set_train(self, mode: bool = True) -> GraphCell:
        """Switch between training and evaluation; what was frozen is given up where it would be in the way."""
        if mode:
            assert self._frozen is not None
            self._frozen.clear()
        return super().set_train(mode)

    def construct(self, *inputs: Any) -> Any:
        """The result of the program that was exported."""
        return self.graph.run(self.weights, inputs)

    def extend_repr(self) -> str:
        """The program's signature."""
        return repr(self.graph)
