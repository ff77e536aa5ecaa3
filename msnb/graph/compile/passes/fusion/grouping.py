"""Fusion: neighbours that walk one index space become one kernel.

    %1 = subtract(x, %0)                 fused(x, %0)
    %2 = exp(%1)                 ->        %1 = subtract(x, %0) ; %2 = exp(%1) ; %3 = sum(%2) ; %4 = divide(%2, %3)
    %3 = sum(%2)                           yield %4
    %4 = divide(%2, %3)

Law: a node joins the group that makes one of its operands if it has a place in the group's index space
(``ir.kernel.iteration_space``) and the group stays a unit that can run at one moment. For that every unit has a key,
its moment: a node that is not fused has (its number, 0); a group has the smallest key behind everything it reads. A
group that another group has read is sealed, its key is final. A node may join an open group if the key stays below the
first unfused reader of the group. Keys then order the program, no cycle can arise, and each edge is looked at once. In
the end, a group that reduces a large value joins a group that reads this value too and can run at the same moment.

Groups that do the same to different tensors, as the updates of all parameters, become one kernel too (``batches``).

Views cost nothing and are looked through: a group reads the base with strides. For other readers they are made as soon
as their base is there; where there are none they go.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from msnb.core import TensorType, size_hint
from msnb.graph.compile.passes.fusion.horizontal import FREE, NEVER, Group, Key, batched
from msnb.graph.compile.passes.fusion.rematerialize import Recompute
from msnb.graph.compile.rewriting.pass_record import Pass
from msnb.ir.analysis.state_update import writes_at_positions
from msnb.ir.control_flow import FUSED, SCAN, WHILE
from msnb.ir.graph import Graph, Node, Value, copy_node
from msnb.ir.kernel.iteration_space import Space, kind_of
from msnb.ir.kernel.scalar_expressions import is_heavy, is_number
from msnb.ops.elementwise.constant import constant

MOST_NODES = 48
WORTH = 16384
LONG = 24


def fuse(graph: Graph, every: bool = False) -> Graph:
    """The graph with groups of nodes as ``fused`` nodes, bodies of control flow included.

    Args:
        graph: a verified graph; it is not changed.
        every: make groups that are not worth it too, single small operations (for tests).

    Examples:
        >>> from msnb.ir.text.parser import parse
        >>> g = parse("graph f(x: f32[8]) -> (f32[8])\\n %1 = exp(x) : f32[8]\\n %2 = add(%1, x) : f32[8]\\n return %2")
        >>> [n.op.name for n in fuse(g).nodes]
        ['fused']
    """
    return _GroupWriter(_Fusion(graph, every)).result()


class _Views:
    """What groups read through: views, and constants of one number.

    Attributes:
        through: the view that makes a value, where it is one and no group's work; constants: likewise.
    """

    def __init__(self) -> None:
        self.through: dict[Value, Node] = {}
        self.constants: dict[Value, Node] = {}
        self._bases: dict[Value, Value] = {}

    def add(self, view: Node) -> None:
        """A view that is looked through from now on."""
        self.through[view.out] = view
        self._bases.clear()

    def has(self, node: Node) -> bool:
        """Is a node a view that is looked through?"""
        return len(node.outputs) == 1 and node.out in self.through

    def base(self, value: Value) -> Value:
        """What a view is a view of, in the end. Remembered, for a chain of views is asked at every one of them."""
        known, met, v = self._bases, [], value
        while v not in known and v in self.through:
            met.append(v)
            v = self.through[v].inputs[0]
        found = known.get(v, v)
        known.update(dict.fromkeys(met, found))
        return found

    def way(self, value: Value) -> Iterable[Value]:
        """A value and what it is a view of."""
        yield value
        while value in self.through:
            value = self.through[value].inputs[0]
            yield value

    def space(self, members: list[tuple[int, Node]]) -> Space | None:
        """One space of all these nodes, if there is one."""
        space = Space()
        for _, member in members:
            self.prepare(space, member)
            if not space.add(member):
                return None
        return space

    def prepare(self, space: Space, node: Node) -> None:
        """Tell the space what the operands are: constants, or views that are looked through."""
        for v in node.inputs:
            if self.base(v) in self.constants:
                space.constant(self.base(v))
            for view in self.chain(v):
                if not space.add(view):
                    del self.through[view.out]  # no strides can say it: read as it is
                    self._bases.clear()

    def chain(self, value: Value) -> list[Node]:
        found: list[Node] = []
        while value in self.through:
            found.append(self.through[value])
            value = self.through[value].inputs[0]
        return found[::-1]

    def let_through(self, view: Node, group: Group) -> bool:
        """Whether a group that looks through a view too keeps the places of its nodes, and the loops of its results."""
        space = Space()
        if not space.add(view):
            return False
        for _, node in group.nodes:
            self.prepare(space, node)
            if not space.add(node):
                return False
        # stored when all have their places, as in lowering
        return all(group.space.stored(n.out) is None or space.stored(n.out) is not None for _, n in group.nodes)


class _Fusion:
    def __init__(self, graph: Graph, every: bool) -> None:
        self.graph, self.every = graph, every or writes_at_positions(graph)
        self.home: dict[Value, Group] = {}
        self.moment: dict[Value, Key] = dict.fromkeys(graph.params, FREE)
        self.views = _Views()
        self._groups: dict[int, Group] = {}
        self.single: dict[Node, int] = {}
        for i, node in enumerate(graph.nodes):
            self._visit(i, node)
        self._join_siblings()
        self.groups = list(self._groups.values())
        self._turn_out()
        self.outputs = self._outputs()
        Recompute(self.groups, self.outputs, self._fixed(), self.views.prepare, MOST_NODES).run()
        made = [g for g in self.groups if id(g) in self.outputs]
        self.batches = batched(made, self.outputs, self._bounds(), self._tensors_read, self._fit)

    # ---- who belongs where ----

    def _visit(self, i: int, node: Node) -> None:
        if node.op is constant:
            self.single[node] = i
            self.moment[node.out] = FREE
            if _is_scalar(node):
                self.views.constants[node.out] = node
        elif not kind_of(node) or not self._place(i, node):
            self._alone(i, node)

    def _alone(self, i: int, node: Node) -> None:
        self.single[node] = i
        for v in node.inputs:
            group = self.home.get(v)
            if group is not None:
                group.reader = min(group.reader, (i, 0))
        for v in node.outputs:
            self.moment[v] = (i, 0)
        if kind_of(node) == "view":
            self.views.through[node.out] = node

    def _place(self, i: int, node: Node) -> bool:
        open_ = {self.home[v]: None for v in node.inputs if v in self.home and not self.home[v].sealed}
        if kind_of(node) == "view" and not open_:
            return False
        choices = sorted(open_, key=lambda g: -len(g.nodes))
        if len(choices) > 1 and self._merge(choices, i, node):
            return True
        if any(self._join(group, i, node) for group in choices):
            return True
        return kind_of(node) != "view" and self._join(Group(), i, node)

    def _join(self, group: Group, i: int, node: Node) -> bool:
        self.views.prepare(group.space, node)
        key = self._key([group], node, group.key)
        if key is None or not key < group.reader or len(group.nodes) >= MOST_NODES:
            return False
        if not group.space.add(node, spanned=True):
            return False
        self._enter(group, i, node, key)
        return True

    def _merge(self, groups: list[Group], i: int, node: Node) -> bool:
        """One group of several: all their nodes once more into a fresh space, in program order."""
        members = sorted((m for g in groups for m in g.nodes), key=lambda m: m[0])
        bound = min(g.reader for g in groups)
        merged = Group()
        self.views.prepare(merged.space, node)
        key = self._key(groups, node, max(g.key for g in groups))
        if key is None or not key < bound or len(members) >= MOST_NODES:
            return False
        for _, member in [*members, (i, node)]:
            self.views.prepare(merged.space, member)
            if not merged.space.add(member):
                return False
        if not merged.space.spanned():
            return False
        merged.nodes, merged.reader = members, bound
        for _, member in members:
            self.home[member.out] = merged
        for group in groups:
            self._groups.pop(id(group), None)
        self._groups[id(merged)] = merged
        self._enter(merged, i, node, key)
        return True

    def _join_siblings(self) -> None:
        """A group that reduces a large value made elsewhere joins one that reads all it reads: it is read once."""
        self.groups = list(self._groups.values())
        reads = {id(g): {v for v in self.reads(g) if _elements(v) >= WORTH} for g in self.groups}
        bounds: dict[int, Key] | None = None
        for group in self.groups:
            mine, reduced = reads[id(group)], (n.inputs[0] for _, n in group.nodes if kind_of(n) == "reduce")
            if not mine or not any(self.views.base(v) in mine for v in reduced):
                continue
            for other in [g for g in self._groups.values() if g is not group and mine <= reads.get(id(g), set())]:
                bounds = self._bounds() if bounds is None else bounds
                bound = min(bounds.get(id(g), NEVER) for g in (group, other))
                if self._unite(group, other, bound):
                    bounds[id(other)] = bound  # those of others can only have become later
                    reads[id(other)] |= mine
                    break

    def _unite(self, group: Group, other: Group, bound: Key) -> bool:
        """``group`` in ``other``, if both can run at one moment and walk one space."""
        key, members = max(group.key, other.key), sorted([*group.nodes, *other.nodes], key=lambda m: m[0])
        if not key < bound or len(members) > MOST_NODES:
            return False
        space = self.views.space(members)
        if space is None or len(space.sizes) > len(other.space.sizes) or not space.spanned():
            return False
        other.nodes, other.space, other.key = members, space, key
        for _, member in group.nodes:
            self.home[member.out] = other
        del self._groups[id(group)]
        return True

    def _fit(self, groups: list[Group]) -> bool:
        """Whether groups walk one space, in which all that they give is stored."""
        space = self.views.space(sorted((m for g in groups for m in g.nodes), key=lambda m: m[0]))
        given = (v for g in groups for v in self.outputs[id(g)])
        return space is not None and all(space.stored(v) is not None for v in given)

    def _tensors_read(self, group: Group) -> set[Value]:
        """What a group reads that is more than a number."""
        return {v for v in self.reads(group) if _elements(v) != 1}

    def _enter(self, group: Group, i: int, node: Node, key: Key) -> None:
        if not group.nodes:
            self._groups[id(group)] = group
        for v in node.inputs:
            other = self.home.get(self.views.base(v))
            if other is not None and other is not group:
                other.sealed = True
        group.nodes.append((i, node))
        group.key, self.home[node.out] = key, group

    def _key(self, mine: list[Group], node: Node, key: Key) -> Key | None:
        """The moment of the group with this node; None where a view of the group's own value stands between."""
        for v in node.inputs:
            base = self.views.base(v)
            group = self.home.get(base)
            if group is None:
                moment = self.moment[base]
                key = max(key, (moment[0], 1) if moment != FREE else FREE)
            elif group not in mine:
                key = max(key, (group.key[0], group.key[1] + 1))
            elif base is not v:
                return None
        return key

    def moment_of(self, value: Value) -> Key:
        """When a value is there."""
        group = self.home.get(value)
        return self.moment[value] if group is None else group.key

    # ---- what groups give ----

    def _bounds(self) -> dict[int, Key]:
        """Up to which moment (exclusive) each group may be put off: that of its first reader."""
        bounds: dict[int, Key] = {}
        moments = [(n, (i, 0)) for n, i in self.single.items() if not self.views.has(n)]
        moments += [(n, g.key) for g in self.groups for _, n in g.nodes]
        for node, moment in moments:
            for v in node.inputs:
                group = self.home.get(self.views.base(v))
                if group is not None and not (node.outputs and group is self.home.get(node.outputs[0])):
                    bounds[id(group)] = min(bounds.get(id(group), NEVER), moment)
        return bounds

    def _outputs(self) -> dict[int, list[Value]]:
        """What each group gives to others; groups that cannot or are not worth it have no entry."""
        wanted = set(self.graph.outputs)
        for group in self.groups:
            for _, node in group.nodes:
                wanted |= {self.views.base(v) for v in node.inputs if self.home.get(self.views.base(v)) is not group}
        self._keep_views(wanted)
        found: dict[int, list[Value]] = {}
        for group in self.groups:
            outs = [n.out for _, n in group.nodes if n.out in wanted]
            if outs and self._worth(group) and all(group.space.stored(v) is not None for v in outs):
                found[id(group)] = outs
            else:
                wanted.update(v for _, n in group.nodes for v in n.inputs)
        self._keep_views(wanted)
        return found

    def _turn_out(self) -> None:
        """A view that ends a group, and that no group reads, is none of its work: it may cost nothing as it is. Nor is
        one that no loops of the group could store (numbers that were laid beside a larger tensor), where its readers
        can lay them there themselves."""
        read = {u for g in self.groups for _, n in g.nodes for v in n.inputs for u in self.views.way(v)}
        for group in self.groups:
            for i, node in reversed(group.nodes):
                if kind_of(node) != "view" or any(node.out in n.inputs for _, n in group.nodes):
                    continue
                if node.out not in read or (group.space.stored(node.out) is None and self._is_laid_by_readers(node)):
                    group.nodes.remove((i, node))
                    del self.home[node.out]
                    self.single[node] = i
                    self.views.add(node)
                    self.moment[node.out] = group.key
        self.groups = [g for g in self.groups if g.nodes]

    def _is_laid_by_readers(self, view: Node) -> bool:
        """Whether all groups that read a view keep their places when they look through it."""
        if any(kind_of(n) == "view" and view.out in n.inputs for n in self.graph.nodes):
            return False
        readers = [g for g in self.groups if any(view.out in n.inputs for _, n in g.nodes)]
        return all(self.views.let_through(view, g) for g in readers)

    def _fixed(self) -> set[Value]:
        """Values that lie in memory whatever the groups do: read as they are, or through a view."""
        base = self.views.base
        found = {base(v) for v in self.graph.outputs}
        found.update(base(v) for node in self.single for v in node.inputs if node in self.alive)
        for group in self.groups:
            read = (v for _, node in group.nodes for v in node.inputs)
            found.update(base(v) for v in read if base(v) is not v or id(group) not in self.outputs)
        return found

    def _keep_views(self, wanted: set[Value]) -> None:
        """The views that somebody reads as they are; everything unfused is alive anyway."""
        self.alive: set[Node] = set()
        for node in sorted(self.single, key=lambda n: -self.single[n]):
            if node.op is constant:
                continue
            if not self.views.has(node) or node.out in wanted:
                self.alive.add(node)
                wanted.update(node.inputs)

    def _worth(self, group: Group) -> bool:
        """Two operations at least, or one on much data, or one in a program that is compiled for its length anyway, or
        behind a write into state: one step in Python there, and the whole state is copied."""
        work = [n for _, n in group.nodes if kind_of(n) != "view"]
        if not work:
            return False
        size = math.prod(group.space.sizes)
        if self.every or len(work) > 1 or len(self.graph.nodes) >= LONG:
            return True
        return size >= WORTH or (size >= WORTH // 16 and is_heavy(work[0].op))

    def reads(self, group: Group) -> list[Value]:
        """What a group is given by others."""
        own = {n.out for _, n in group.nodes}
        bases = (self.views.base(v) for _, node in group.nodes for v in node.inputs)
        return list(dict.fromkeys(b for b in bases if b not in own and b not in self.views.constants))


class _GroupWriter:
    """The graph of a fusion: units in the order of their keys."""

    def __init__(self, fusion: _Fusion) -> None:
        self.fusion = fusion

    def result(self) -> Graph:
        """The graph with groups as single nodes."""
        fusion, graph = self.fusion, self.fusion.graph
        out = Graph(graph.name, graph.module)
        seen = {p: out.add_param(p.type, p.name) for p in graph.params}
        for _, unit in sorted(self._units(), key=lambda u: u[0]):
            if isinstance(unit, list):
                self._emit(unit, out, seen)
            else:
                new, every = copy_node(unit, out, seen), fusion.every or unit.op in (WHILE, SCAN)
                new.graphs = tuple(fuse(g, every) for g in new.graphs)
        out.outputs = [seen[v] for v in graph.outputs]
        out.state = dict(graph.state)
        return out

    def _units(self) -> Iterable[tuple[tuple[int, int, int], Node | list[Group]]]:
        """What runs and its place; a view of a group's result is behind all groups of that moment: any may make it."""
        fusion, views = self.fusion, self.fusion.views
        for node, i in fusion.single.items():
            if views.has(node):
                if node in fusion.alive:
                    base = views.base(node.out)
                    yield (*fusion.moment_of(base), i + (base in fusion.home) * len(fusion.graph.nodes)), node
            else:
                yield (-2 if node.op is constant else i, 0, i), node
        for batch in fusion.batches:
            yield (*batch[0].key, batch[0].nodes[0][0]), batch
        for group in fusion.groups:
            if id(group) not in fusion.outputs:
                for i, node in group.nodes:
                    yield (*group.key, i), node

    def _emit(self, batch: list[Group], out: Graph, seen: dict[Value, Value]) -> None:
        """One fused node for groups that run at one moment."""
        body, inner = Graph("fused", out.module), dict[Value, Value]()
        reads = list(dict.fromkeys(v for group in batch for v in self.fusion.reads(group)))
        for v in reads:
            inner[v] = body.add_param(v.type, v.name)
        for group in batch:
            for _, node in group.nodes:
                self._copy(node, body, inner)
        outs = [v for group in batch for v in self.fusion.outputs[id(group)]]
        body.outputs = [inner[v] for v in outs]
        new = out.add(FUSED, [seen[v] for v in reads], {}, [v.type for v in outs], (body,))
        last = batch[-1].nodes[-1][1]
        new.where, new.scope = last.where, last.scope
        seen.update(zip(outs, new.outputs))

    def _copy(self, node: Node, body: Graph, inner: dict[Value, Value]) -> None:
        """The node with the constants and views that it reads through."""
        views = self.fusion.views
        for v in node.inputs:
            base = views.constants.get(views.base(v))
            for member in [*([] if base is None else [base]), *views.chain(v)]:
                if member.out not in inner:
                    copy_node(member, body, inner)
        copy_node(node, body, inner)


def _is_scalar(node: Node) -> bool:
    """A constant that is one number, and so can stand in the code."""
    value, t = node.attrs["value"], node.out.type
    if not isinstance(t, TensorType) or t.dtype.is_complex or not t.is_static or t.size != 1:
        return False
    return is_number(value.data) if t.weak else True


def _elements(value: Value) -> int:
    t = value.type
    return size_hint(t.size) if isinstance(t, TensorType) and t.is_static else 0


def _groups(graph: Graph) -> int:
    return sum(node.op is FUSED for _, node in graph.walk())


LAW, _STAGE = "Operations that walk one index space become one kernel.", "hardware_dependent"
FUSE = Pass("fuse", LAW, _STAGE, _STAGE, (), lambda graph, log: fuse(graph), count=_groups)
