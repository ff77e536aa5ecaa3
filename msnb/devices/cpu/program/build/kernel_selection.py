"""Which node runs how: recipes for all nodes of a program, the views that cost nothing, and what is needed at all.

    node --providers--> recipe                                  one native kernel
    reshape, leading slice, ...  --views--> a place in the buffer of its base: nothing runs
    a transpose whose readers all absorb it                     nothing runs either
    a product whose only reader is the group of its bias        one kernel for both
    arange, eye, a mask made of them                            known before the program runs (``given``)
    the rest                                                    a step in Python on the reference body

Small single operations are left to Python outside loops: there a call costs microseconds once, compiling milliseconds.
Not so in a program that writes into state at positions: it can write in place only if what follows cannot fail.
"""

from __future__ import annotations

from collections.abc import Iterator

from msnb.core import StackType, TensorType, TokenType, Type, size_hint
from msnb.devices.codegen.constant_evaluation import ConstantEvaluator
from msnb.devices.codegen.value_views import Views
from msnb.devices.cpu.native_kernel import NativeKernel, find_joint, find_recipe
from msnb.devices.cpu.program.build.instructions import NotLowerable
from msnb.ir import Graph, Node, Value, control_flow
from msnb.ir.analysis.state_update import writes_at_positions
from msnb.ir.kernel.iteration_space import kind_of

WORTH = 16384
_STACKS = frozenset((control_flow.STACK_NEW, control_flow.STACK_PUSH, control_flow.STACK_POP))


def is_empty(value: Value) -> bool:
    """True for a tensor without elements."""
    return isinstance(value.type, TensorType) and 0 in value.type.shape


class Choice:
    """How the nodes of a graph, its bodies and the graphs it calls run.

    Attributes:
        recipes: of the nodes that run natively.
        views: which values lie in others; given: those that are known before the program runs.
        linear: no stack is read twice, so a popped entry can be used again.
    """

    linear: bool

    def __init__(self, graph: Graph) -> None:
        self.views: Views = Views()
        self.given: ConstantEvaluator = ConstantEvaluator()
        self.recipes: dict[Node, NativeKernel] = {}
        self.linear = True
        self._needed: dict[int, list[Node]] = {}
        self._graphs: list[Graph] = []
        for value in graph.outputs:
            if not isinstance(value.type, (TensorType, TokenType)):
                raise NotLowerable(f"a result of type {value.type}")
        self._walk(graph, writes_at_positions(graph), ())
        self._prepare()

    def _walk(self, graph: Graph, in_loop: bool, callers: tuple[str, ...]) -> None:
        self._graphs.append(graph)
        for value in graph.params:
            _check(value, not callers and len(self._graphs) == 1)
        uses = graph.uses()
        stacks = {v: n for v, n in uses.items() if isinstance(v.type, StackType)}
        self.linear &= all(n == 1 or v.node is not None and v.node.op is control_flow.STACK_NEW for v, n in stacks.items())
        for node in graph.nodes:
            self._visit(graph, node, in_loop, callers)
            self._join(node, uses)

    def _visit_call(self, graph: Graph, name: str, in_loop: bool, callers: tuple[str, ...]) -> None:
        if name in callers:
            raise NotLowerable(f"{name} calls itself")
        self._walk(graph.module.graphs[name], in_loop, (*callers, name))

    def _visit_bodies(self, node: Node, in_loop: bool, callers: tuple[str, ...]) -> None:
        branches = node.op is control_flow.IF
        for body in node.graphs:
            self._walk(body, in_loop or not branches, callers)
        self.linear &= branches or not _keeps_stacks(node)

    def _visit(self, graph: Graph, node: Node, in_loop: bool, callers: tuple[str, ...]) -> None:
        for value in node.outputs:
            _check(value, False)
        if "stack" in node.op.traits and node.op not in _STACKS:
            raise NotLowerable(f"{node.op.name} on a stack")
        if node.op is control_flow.CALL:
            self._visit_call(graph, node.attrs["callee"], in_loop, callers)
        elif node.op in (control_flow.IF, control_flow.WHILE, control_flow.SCAN):
            self._visit_bodies(node, in_loop, callers)
        elif any(isinstance(v.type, StackType) for v in node.inputs) and node.op not in _STACKS:
            raise NotLowerable(f"{node.op.name} of a stack")
        elif node.op not in _STACKS and not self.given.add(node) and self._may(node, in_loop):
            found = find_recipe(node, self.views.of)
            if found is not None:
                self.recipes[node] = found

    def _join(self, node: Node, uses: dict[Value, int]) -> None:
        """A group takes over what makes one of its operands, where one recipe does both."""
        if node.op is not control_flow.FUSED or node not in self.recipes:
            return
        for maker in [v.node for v in node.inputs if v.node in self.recipes and uses[v] == 1]:
            assert maker is not None
            if not self.recipes[maker].joins:
                continue
            found = find_joint(maker, node, self.views.of)
            if found is not None:
                self.recipes[node] = found
                del self.recipes[maker]
                return

    def _may(self, node: Node, in_loop: bool) -> bool:
        """Whether a native kernel is worth asking for."""
        values = (*node.inputs, *node.outputs)
        if (
            node.op is control_flow.HOST_CALL
            or any(not isinstance(v.type, TensorType) or is_empty(v) for v in values)
            or node in self.recipes
        ):
            return False
        small = all(size_hint(v.type.size) < WORTH for v in values if isinstance(v.type, TensorType))
        free = node.op.view == "transpose"  # a library copies it: there is nothing to compile
        return in_loop or not small or free or not kind_of(node)

    def _prepare(self) -> None:
        """All recipes of one class compile together; those that then have no code are left out."""
        groups: dict[type[NativeKernel], list[NativeKernel]] = {}
        for recipe in self.recipes.values():
            groups.setdefault(type(recipe), []).append(recipe)
        for kind, recipes in groups.items():
            kind.prepare(recipes)
        self.recipes = {n: r for n, r in self.recipes.items() if not r.refused}

    # ---- what is needed ----

    def reads(self, node: Node) -> list[Value]:
        """The values that must lie somewhere when ``node`` runs."""
        if self.given.of(node):
            return []
        recipe = self.recipes.get(node)
        if recipe is None or recipe.reads is None:
            return node.inputs
        return [*recipe.reads, *(node.inputs if recipe.declines else ())]

    def needed(self, graph: Graph) -> list[Node]:
        """The nodes that run, in order: no views, nothing that nobody reads."""
        found = self._needed.get(id(graph))
        if found is None:
            found = self._needed[id(graph)] = list(self._find_needed(graph))[::-1]
        return found

    def _find_needed(self, graph: Graph) -> Iterator[Node]:
        wanted = {self.views.base(v) for v in graph.outputs}
        for node in reversed(graph.nodes):
            if any(v in wanted for v in node.outputs) or not node.outputs or _acts(node):
                wanted.update(self.views.base(v) for v in self.reads(node))
                yield node


def _acts(node: Node) -> bool:
    """True where running it is the point. Loops may run for ever, so they count."""
    return "effect" in node.op.traits or node.op in (
        control_flow.HOST_CALL, control_flow.IF, control_flow.WHILE, control_flow.SCAN, control_flow.CALL
    )  # fmt: skip


def _keeps_stacks(node: Node) -> bool:
    """A loop reads the same stack in every turn."""
    bodies = [node.graphs[-1]]
    first = node.attrs["n_carry"]
    return any(isinstance(p.type, StackType) for g in bodies for p in g.params[first:])


def _check(value: Value, entry: bool) -> None:
    t = value.type
    if isinstance(t, TensorType) and not t.is_static:
        raise NotLowerable("a size that only the data tells")
    if isinstance(t, StackType) and entry:
        raise NotLowerable("a stack as an argument")
    if not isinstance(t, (TensorType, StackType, TokenType)):
        raise NotLowerable(f"a value of type {t}")
    if isinstance(t, StackType):
        _check_element(t)


def _check_element(t: StackType) -> None:
    inner: Type = t
    while isinstance(inner, StackType):
        inner = inner.element
    if not isinstance(inner, TensorType) or not inner.is_static:
        raise NotLowerable(f"a stack of {inner}")
