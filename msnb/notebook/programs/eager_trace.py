"""``ms.show.eager``: what eager mode really ran for a call, as a graph like any other.

    op event   (op, inputs, attrs, outputs)     buffers are known again: what an earlier op made is an edge,
    ...                                         what nobody made is an input of the program

Loops stand unrolled and branches decided, because Python decided them; the lines are the user's own. So the graph of an
eager run can be compared with the one that graph mode captures (``ms.show.compare``). Parameters keep their names. The
backward sweep of a gradient is no row of ops: it runs as one compiled program, so what it gives enters as an input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msnb.base import PYNATIVE_MODE, events, set_context
from msnb.base.source_location import here
from msnb.core import WEAK, Parameter, Tensor
from msnb.ir import Const, Graph, Value
from msnb.ops.definition.record import Op
from msnb.ops.elementwise.constant import constant


class EagerTrace:
    """Listens to ops and makes nodes of them.

    Attributes:
        graph: what ran so far.
    """

    def __init__(self, name: str, args: Mapping[str, Any]) -> None:
        self.graph: Graph = Graph(name)
        self._values: dict[int, Value] = {}
        self._alive: list[Any] = []  # an id is only a name as long as the object lives
        for key, value in args.items():
            if isinstance(value, Tensor):
                self._enter(value, key)

    def op(self, op: Op, inputs: Sequence[Any], outputs: Any, attrs: Mapping[str, Any], **_: Any) -> None:
        """One op ran."""
        made = outputs if isinstance(outputs, tuple) else (outputs,)
        read = [self._value(x) for x in inputs]
        node = self.graph.add(op, read, dict(attrs), [t._type for t in made])
        node.where = here(2)
        for tensor, value in zip(made, node.outputs):
            self._know(tensor, value)

    def _know(self, tensor: Tensor, value: Value) -> None:
        self._values[id(tensor._data)] = value
        self._alive.append(tensor._data)

    def _value(self, x: Any) -> Value:
        if type(x) in WEAK:
            node = self.graph.add(constant, (), {"value": Const(x, WEAK[type(x)])}, (WEAK[type(x)],))
            return node.out
        tensor = x if isinstance(x, Tensor) else Tensor(x)
        known = self._values.get(id(tensor._data))
        if known is None or known.type is not tensor._type:
            return self._enter(tensor, tensor.name if isinstance(tensor, Parameter) else "")
        return known

    def _enter(self, x: Tensor, name: str) -> Value:
        value = self.graph.add_param(x._type, name or f"in{len(self.graph.params)}")
        self._know(x, value)
        return value

    def close(self, result: Any) -> Graph:
        """The graph, with the tensors of ``result`` as its results."""
        found = list(_tensors(result))
        self.graph.outputs = [self._value(t) for t in found]
        return self.graph


def _tensors(value: Any) -> Any:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def record(name: str, run: Callable[[], Any], args: Mapping[str, Any] | None = None) -> tuple[Graph, Any]:
    """Run something in eager mode and keep what it did.

    Args:
        name: what to call the graph.
        run: the program; it runs once, with all its effects.
        args: tensors that have a name.

    Returns:
        The graph of the ops that ran, and the program's result.
    """
    tape = EagerTrace(name, args or {})
    with set_context(mode=PYNATIVE_MODE), events.listening("op", tape.op):
        result = run()
    return tape.close(result), result
