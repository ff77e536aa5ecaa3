"""Building graphs by running code: the engine whose answer to an op is a Node.

While a GraphBuilder sits in the slot, tensors are *symbolic*: they have a type and a Value, no data. Gradient rules,
composites and captured programs are ordinary functions of tensors, and run unchanged.

    with GraphBuilder("f") as b:                graph f(x: f32[3]) -> (f32[3])
        x = b.param(f32_3, "x")         ==>       %1 = mul(x, x) : f32[3]
        b.output(x * x)                           return %1

Closed bodies: a builder with a ``parent`` turns a symbolic tensor of an outer graph into a param of its own and
remembers it in ``captured``; the node that owns the body passes it as an argument.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import numpy as np

from msnb.base import ArgumentError, MsnbError, Origin, device_registry
from msnb.base.errors import ConcretizationError
from msnb.core import WEAK, Array, Tensor, TensorType, Type, pytree, slot
from msnb.core.engine import Engine, EngineRestore, PlainReads
from msnb.core.shard_annotation import Region, ShardRequest
from msnb.core.types import need_index, plain_number
from msnb.ir.graph import Graph, Module, Node, Value
from msnb.ops.definition.operand_checks import as_tensor, is_operand, no_operand, plain_scalar
from msnb.ops.definition.record import Op
from msnb.ops.elementwise.constant import constant

Lane = Callable[[], Sequence[Tensor]]
"""Gives the inputs of the first lane of a batch."""


class SymbolicTensor(Tensor):
    """A tensor whose value will exist when the graph runs."""

    __slots__ = ("_builder", "_value")

    _builder: GraphBuilder
    _value: Value

    def _buffer(self) -> Any:
        raise self._builder.no_value(self)

    @property
    def device(self) -> str:
        """The device the program is built for."""
        return str(device_registry.current().name)

    def __hash__(self) -> int:
        return self._builder.hash_of(self)

    def __bool__(self) -> bool:
        return bool(self._builder.concrete(self, "bool"))

    def __int__(self) -> int:
        return int(self._builder.concrete(self, "int"))

    def __float__(self) -> float:
        return float(self._builder.concrete(self, "float"))

    def __index__(self) -> int:
        if self._type.is_static:
            need_index(self, truth=True)
        return int(self._builder.concrete(self, "index"))

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self.shape))
        return f"Tensor(shape=[{shape}], dtype={self.dtype!r}, value=<not known while the graph is built>)"

    __str__ = __repr__

    def __copy__(self) -> Tensor:
        return self._builder.wrap(self._value)

    def __deepcopy__(self, memodict: Any) -> Tensor:
        return self._builder.wrap(self._value)

    def _repr_html_(self) -> str:
        return repr(self).replace("<", "&lt;")


# Python names the class in its own errors ("'Tensor' object is not callable"): the same words in both modes
SymbolicTensor.__name__ = "Tensor"


def symbol_type(value: Value) -> TensorType:
    """The type a symbolic tensor shows; stacks and tokens show as 0-d, no op takes them by mistake (infer refuses)."""
    return value.type  # type: ignore[return-value]


class GraphBuilder(PlainReads):
    """An engine that appends a Node for every op.

    Args:
        name: the graph's name.
        module: the module it belongs to (a new one by default).
        parent: the builder around a nested body.

    Attributes:
        graph: the graph under construction.
        captured: for a nested body, (outer tensor, own param) in the order of the params they became.
        scope: the path of Cells that new nodes get.
        why, primal: stamped on new nodes (transforms set them).
        region: splits that somebody asked for of what is built now.
        twins: nodes that were replayed into this graph -> the nodes they became, so that gradients find their primal.
    """

    def __init__(self, name: str, module: Module | None = None, parent: GraphBuilder | None = None) -> None:
        self.parent = parent
        self.graph: Graph = Graph(name, parent.graph.module if parent is not None and module is None else module)
        self.captured: list[tuple[SymbolicTensor, Value]] = []
        self.scope: str = parent.scope if parent is not None else ""
        self.why: str = parent.why if parent is not None else ""
        self.primal: Node | None = None
        self.origin: Origin | None = None
        self.region: Region | None = None
        self.twins: dict[Node, Node] = {}
        self._captured_index: dict[Value, Value] = {}
        self._before: list[Engine] = []

    # ---- in the slot ----

    def __enter__(self) -> GraphBuilder:
        self._before.append(slot.engine)
        slot.engine = self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        slot.engine = self._before.pop()

    def apply(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Append ``op``; the results are symbolic. A batch of several results is a tuple."""
        values = [self.lift_operand(op, inputs, i) for i in range(len(inputs))]
        types = op.result_types(tuple(v.type for v in values), attrs)
        outs = self.add(op, values, attrs, types)
        return outs[0] if len(outs) == 1 else outs

    def lift_operand(self, op: Op, inputs: tuple[Any, ...], at: int) -> Value:
        """The Value of one operand; what cannot be one is told by name."""
        x = plain_scalar(inputs, at)
        if not is_operand(x):
            raise no_operand(op, inputs, at)
        return self.lift(as_tensor(x) if isinstance(x, (list, tuple)) else x)

    def assign(self, target: Tensor, value: Tensor) -> None:
        """The tensor object ``target`` stands for ``value`` from here on."""
        if not isinstance(target, SymbolicTensor):
            raise MsnbError("a transform cannot assign to a tensor outside its graph.")
        target._value = self.lift(value)
        target._type = symbol_type(target._value)
        target._builder = self

    # ---- making values ----

    def add(
        self, op: Op, values: Sequence[Value], attrs: dict[str, Any], types: Sequence[Type],
        graphs: Sequence[Graph] = (),
    ) -> tuple[SymbolicTensor, ...]:  # fmt: skip
        """Append a node on Values and wrap its results."""
        node = self.graph.add(op, values, attrs, types, graphs)
        node.where = self.origin if self.origin is not None else self.locate()
        node.scope, node.why, node.primal = self.scope, self.why, self.primal
        if self.region is not None:
            self.region.mark(node)
        return tuple(self.wrap(v) for v in node.outputs)

    def locate(self) -> Origin | None:
        """Where in the user's text we are; capture overrides it, transforms inherit from their primal."""
        return None

    def wrap(self, value: Value) -> SymbolicTensor:
        """The symbolic tensor of a value of this graph."""
        t: SymbolicTensor = object.__new__(SymbolicTensor)
        t._data = None
        t._type = symbol_type(value)
        t._rec = None
        t._value = value
        t._builder = self
        return t

    @contextmanager
    def scoped(self, name: str) -> Iterator[None]:
        """New nodes get ``name`` appended to their scope path."""
        before = self.scope
        self.scope = f"{before}/{name}" if before else name
        try:
            yield
        finally:
            self.scope = before

    def sharded(self, asked: ShardRequest, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """New nodes that read the arguments get a mark, and so do those that make the results."""
        tensors = [x for x in pytree.flatten((args, kwargs))[0] if isinstance(x, Tensor)]
        before = self.region
        self.region = region = Region(asked, [self.lift(x) for x in tensors], before)
        try:
            out = fn(*args, **kwargs)
        finally:
            self.region = before
        region.conclude([self.lift(x) for x in pytree.flatten(out)[0] if isinstance(x, Tensor)])
        return out

    def param(self, type_: Type, name: str) -> SymbolicTensor:
        """A new param of the graph."""
        return self.wrap(self.graph.add_param(type_, name))

    def output(self, *tensors: Any) -> None:
        """Append to the graph's outputs."""
        self.graph.outputs.extend(self.lift(t) for t in tensors)

    def lift(self, x: Any) -> Value:
        """The Value that ``x`` is in this graph: a symbolic tensor, a Python scalar, an array or a tensor."""
        if isinstance(x, SymbolicTensor):
            return x._value if x._builder is self or x._builder.graph is self.graph else self.lift_outer(x)
        weak = WEAK.get(type(x))
        if weak is not None:
            return self.constant(x, weak)
        if isinstance(x, Tensor):
            return self.lift_tensor(x)
        if isinstance(x, (np.ndarray, np.generic, list, tuple)):
            t = Tensor(x)
            return self.constant(t._host(), t._type)
        if isinstance(x, (int, float, complex)):
            return self.lift(plain_number(x))
        raise ArgumentError(f"an operation takes tensors and numbers, not {type(x).__name__}.")

    def lift_tensor(self, x: Tensor) -> Value:
        """A tensor with a known value becomes a constant (capture makes it an input instead)."""
        return self.constant(x._host(), x._type)

    def lift_outer(self, x: SymbolicTensor) -> Value:
        """A tensor of an enclosing graph becomes a param of this one."""
        if self.parent is None:
            raise MsnbError(
                f"a tensor of graph {x._builder.graph.name} is used in {self.graph.name}: a graph is closed."
            )
        outer = self.parent.lift(x)
        if outer not in self._captured_index:
            own = self.graph.add_param(outer.type, outer.name or f"c{len(self.captured)}")
            self._captured_index[outer] = own
            self.captured.append((self.parent.wrap(outer), own))
        return self._captured_index[outer]

    def constant(self, data: Any, type_: TensorType) -> Value:
        """A constant node. ``data``: a NumPy array, or a Python scalar for a weak type."""
        node = self.graph.add(constant, (), {"value": Const(data, type_)}, (type_,))
        node.scope, node.why, node.primal = self.scope, self.why, self.primal
        return node.out

    # ---- gradients ----

    def owe_gradient(
        self, graph: Graph, wrt: Sequence[int], outputs: Sequence[int], args: Sequence[Any], douts: Sequence[Any]
    ) -> tuple[SymbolicTensor, ...] | None:
        """The results of a traced graph and its gradients as one node, written out later; None: not here. Capture
        overrides it."""
        return None

    # ---- functions as graphs ----

    def trace(
        self, fn: Any, inputs: Sequence[Tensor], types: Sequence[Type] | None = None, lane: Lane | None = None
    ) -> ClosedFunction:
        """``fn(*inputs)`` as a closed graph of its own; ``inputs`` are tensors of this builder, ``types`` those of the
        params where they differ (one lane of a batch); ``lane()`` gives the inputs of the first lane.

        Capture overrides it: there ``fn`` is converted first and what it writes outside comes back as ``writes``.
        """
        body = GraphBuilder(getattr(fn, "__name__", "fn"), parent=self)
        with body:
            own = [self.lift(x).type for x in inputs] if types is None else types
            params = [body.param(t, f"x{i}") for i, t in enumerate(own)]
            result = fn(*params)
            leaves, shape = pytree.flatten(result)
            tensors = [x for x in leaves if isinstance(x, Tensor)]
            body.output(*tensors)
        traced = ClosedFunction(body.graph, [t for t, _ in body.captured], shape, leaves)
        traced.write_inputs(inputs, params)
        return traced

    @contextmanager
    def telling_apart(self, tensors: Sequence[Tensor]) -> Iterator[None]:
        """Inside, each of these tensors has a value that no other tensor has: capture, which knows tensors by their
        objects, overrides it."""
        yield

    # ---- questions that only a running program can answer ----

    def no_value(self, x: SymbolicTensor) -> Exception:
        """The error for asking the value of a symbolic tensor."""
        return ConcretizationError(
            f"the value of this tensor ({x._type!r}) is not known while a graph is built.",
            hint="use tensor operations instead of asnumpy(), item(), print formatting or NumPy functions here, or "
            "compute it outside the compiled function.",
        )

    def hash_of(self, x: SymbolicTensor) -> int:
        """The hash of an object."""
        return object.__hash__(x)

    def concrete(self, x: SymbolicTensor, kind: str) -> Any:
        """The value of ``x`` as a Python bool, int, float; capture may know some."""
        raise self.no_value(x)


class ClosedFunction:
    """A function as a closed graph.

    Attributes:
        graph: params are the traced inputs, then ``outer``; outputs are the tensors of the result, then of ``writes``.
        outer: the values of the enclosing program that it reads.
        writes: Parameters (or tensors) outside that it assigned; the new values are the last outputs.
        of_inputs: which of the writes (by place) go to an input (by place): the function assigned its argument.
    """

    def __init__(self, graph: Graph, outer: Sequence[Any], shape: pytree.Shape, leaves: Sequence[Any]) -> None:
        self.graph = graph
        self.outer: list[Any] = list(outer)
        self.writes: list[Tensor] = []
        self.of_inputs: dict[int, int] = {}
        self._shape = shape
        self._leaves = list(leaves)

    def write_inputs(self, inputs: Sequence[Tensor], params: Sequence[SymbolicTensor]) -> None:
        """Note the arguments that the function assigned: ``params`` stood for ``inputs`` while it ran."""
        for i, (x, stand, first) in enumerate(zip(inputs, params, self.graph.params)):
            if stand._value is not first:
                self.of_inputs[len(self.writes)] = i
                self.writes.append(x)
                self.graph.outputs.append(stand._value)

    def keep_inputs(self) -> ClosedFunction:
        """For callers whose inputs are values of their own: an assignment to one ends with the function."""
        del self.graph.outputs[len(self.graph.outputs) - len(self.of_inputs) :]
        del self.writes[len(self.writes) - len(self.of_inputs) :]
        self.of_inputs = {}
        return self

    @property
    def n_results(self) -> int:
        """How many tensors the result has."""
        return sum(isinstance(x, Tensor) for x in self._leaves)

    def rebuild(self, tensors: Sequence[Any]) -> Any:
        """The function's result with these tensors in it."""
        rest = iter(tensors)
        return pytree.unflatten(self._shape, [next(rest) if isinstance(x, Tensor) else x for x in self._leaves])


class Const:
    """The payload of a constant node: a value and its type, compared by value: CSE and hashing see through it."""

    __slots__ = ("_key", "data", "type")

    def __init__(self, data: Any, type_: TensorType) -> None:
        if isinstance(data, (np.ndarray, np.generic)):
            data = np.asarray(data)
        self.data: Array | bool | int | float | complex = data
        self.type: TensorType = type_
        self._key = (type_, _content(data) if isinstance(data, np.ndarray) else (type(data).__name__, repr(data)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"Const({self.type!r})"


_MOST_RAW = 1024  # bytes


def _content(data: Array) -> bytes:
    """The elements of an array, or their digest where they are many: weights are not held twice."""
    if data.nbytes <= _MOST_RAW:
        return data.tobytes()
    return hashlib.blake2b(np.asarray(data, order="C").reshape(-1).view(np.uint8).data, digest_size=32).digest()


def build(name: str, types: Iterable[Type], fn: Any, names: Sequence[str] = ()) -> Graph:
    """The graph of a function of symbolic tensors: one param per type; results may be one tensor or a sequence."""
    with EngineRestore(), GraphBuilder(name) as b:
        params = [b.param(t, names[i] if i < len(names) else f"x{i}") for i, t in enumerate(types)]
        result = fn(*params)
        b.output(*(result if isinstance(result, (tuple, list)) else (result,)))
    return b.graph
