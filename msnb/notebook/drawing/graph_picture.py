"""From a graph to a picture: groups by Cell, sides of a gradient program, edges through the borders of groups.

    u in A, v in B, both in G       in A: u -> out port      in G: A -> B      in B: in port -> v

Every edge is cut at the borders that it passes, so each group's picture holds all that its drawing needs: its children,
its ports, the edges between them. Values that the backward side reads from the forward side are not cut; they are
``kept``, drawn from column to column. A param that only one group reads stands in that group; each side has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from msnb.ir.graph import Graph, Node, Value
from msnb.ir.text.literals import write_type
from msnb.ir.text.printer import body_labels
from msnb.notebook.drawing.box_labels import LONG_TITLE, constant_word, lines_of, shortened, title_of
from msnb.notebook.drawing.node_groups import BACKWARD, Group, common_scope, is_drawn, open_groups, sides_of, tree_of
from msnb.notebook.drawing.picture_tree import Box, BoxOrigin, Edge, Frame, Picture
from msnb.ops.elementwise.constant import constant

MOST_BOXES = 40
MANY_RESULTS = 3
LONG_TIP = 200


def picture_of(graph: Graph, max_boxes: int = MOST_BOXES) -> Picture:
    """The picture of a graph.

    Args:
        graph: the graph; called graphs stay boxes.
        max_boxes: how many boxes may show: groups deeper than that are closed.

    Returns:
        A tree of parts that holds every node; closed groups hold theirs too.
    """
    return _Painter(graph, "", max_boxes).paint(graph.name)


@dataclass(eq=False)
class BoxInGroup:
    """A box and the group it stands in."""

    box: Box
    group: Group


@dataclass
class Canvas:
    """What the picture of one group is made of while edges are being cut."""

    box: Box
    boxes: list[Box] = field(default_factory=list)
    edges: dict[tuple[str, str, int], Edge] = field(default_factory=dict)
    ins: dict[Value, Box] = field(default_factory=dict)
    outs: dict[Value, Box] = field(default_factory=dict)


class _Painter:
    def __init__(self, graph: Graph, path: str, budget: int, body: bool = False) -> None:
        self.graph, self.path, self.budget = graph, path, budget
        self.nodes = [n for n in graph.nodes if is_drawn(n)]
        self.position = {n: i for i, n in enumerate(graph.nodes)}
        self.skip = common_scope(self.nodes)
        sides = [("", self.nodes)] if body else sides_of(self.nodes)
        few = len(graph.outputs) if len(graph.outputs) <= MANY_RESULTS else 0
        limit = max(budget // len(sides) - few - sum("." not in p.name for p in graph.params), 8)
        self.roots = [tree_of(name, members, len(self.skip), limit) for name, members in sides]
        self.canvas: dict[Group, Canvas] = {}
        self.leaf: dict[Node, BoxInGroup] = {}
        self.params: dict[tuple[int, Group], BoxInGroup] = {}
        self.made: dict[Value, BoxInGroup] = {}
        self.crossing: list[tuple[BoxInGroup, BoxInGroup, Value]] = []
        self.count = 0

    def paint(self, title: str) -> Picture:
        readers = self._readers()
        for root in self.roots:
            self._boxes(root, self._placed_params(root, readers))
        for root in self.roots:
            for node in root.nodes():
                self._read(node.inputs, self.leaf[node], root)
        self._results()
        self._open()
        return self._assemble(title)

    # ---- boxes ----

    def _readers(self) -> dict[tuple[Value, Group], list[Group]]:
        """Per param and side: the innermost groups of its readers."""
        at = {n: g for root in self.roots for g in root.groups() for n in g.children if isinstance(n, Node)}
        out: dict[tuple[Value, Group], list[Group]] = {}
        for root in self.roots:
            for node in root.nodes():
                for v in node.inputs:
                    if v.is_param:
                        out.setdefault((v, root), []).append(at[node])
        for v in self.graph.outputs:
            if v.is_param:
                out.setdefault((v, self.roots[0]), []).append(self.roots[0])
        return out

    def _placed_params(
        self, root: Group, readers: dict[tuple[Value, Group], list[Group]]
    ) -> dict[Group, list[tuple[int, Value]]]:
        out: dict[Group, list[tuple[int, Value]]] = {}
        for i, p in enumerate(self.graph.params):
            found = readers.get((p, root))
            if found:
                outer = root is self.roots[0] and "." not in p.name
                out.setdefault(root if outer else _shared(found), []).append((i, p))
        return out

    def _boxes(self, group: Group, params: dict[Group, list[tuple[int, Value]]]) -> None:
        canvas = self.canvas[group] = Canvas(self._group_box(group))
        for i, p in params.get(group, ()):
            canvas.boxes.append(self._param(i, p, group))
        for child in group.children:
            if isinstance(child, Group):
                self._boxes(child, params)
                canvas.boxes.append(self.canvas[child].box)
            else:
                self.leaf[child] = BoxInGroup(self._node(child), group)
                canvas.boxes.append(self.leaf[child].box)
                self.made.update((v, self.leaf[child]) for v in child.outputs)

    def _group_box(self, group: Group) -> Box:
        self.count += 1
        nodes = list(group.nodes())
        box = Box(f"{self.path}g{self.count - 1}", "group", shortened(group.title, LONG_TITLE), size=len(nodes))
        kinds = list(dict.fromkeys(title_of(n) for n in nodes))
        box.lines = [f"{len(nodes)} nodes", shortened(", ".join(kinds))]
        return box

    def _param(self, i: int, p: Value, group: Group) -> Box:
        seen = sum(key[0] == i for key in self.params)
        kind = "again" if seen else "state" if i in self.graph.state else "param"
        name = f"{self.path}p{i}" + (f".{seen}" if seen else "")
        box = Box(name, kind, shortened(p.name or f"p{i}", LONG_TITLE), [write_type(p.type)])
        self.params[i, _root(group)] = BoxInGroup(box, group)
        return box

    def _node(self, node: Node) -> Box:
        name = f"{self.path}{self.position[node]}"
        box = Box(name, "constant" if node.op is constant else "node", title_of(node), family=node.op.family)
        box.lines = lines_of(node)
        box.origin, box.ports = _origin(node), len(node.inputs)
        for k, (label, body) in enumerate(zip(body_labels(node), node.graphs)):
            inner = _Painter(body, f"{name}/{k}/", max(self.budget // 2, 8), body=True).paint(label)
            box.frames.append(Frame(label, inner))
        return box

    # ---- edges ----

    def _read(self, values: Sequence[Value], target: BoxInGroup, root: Group) -> None:
        port = 0
        for v in values:
            source = self._source(v, root)
            if source is None:
                continue
            if _root(source.group) is root:
                self._cut(source, target, v, port)
                port += 1
            else:
                self.crossing.append((source, target, v))

    def _source(self, value: Value, root: Group) -> BoxInGroup | None:
        if value.is_param:
            return self.params.get((value.index, root)) or self.params.get((value.index, self.roots[0]))
        return self.made.get(value)

    def _cut(self, source: BoxInGroup, target: BoxInGroup, value: Value, port: int) -> None:
        """The pieces of one edge, group by group."""
        label = write_type(value.type)
        a, b = source.group, target.group
        above = set(_chain(a))
        top = next(g for g in _chain(b) if g in above)
        start, leaving = source.box, 0
        while a is not top:
            leaving = self._port(a, value, start, leaving, label)
            start, a = self.canvas[a].box, _parent(a)
        end, enter = target.box, port
        while b is not top:
            fresh = value not in self.canvas[b].ins
            gate = self._gate(b, value)
            self._edge(b, Edge(gate.id, end.id, enter, label))
            enter, end, b = list(self.canvas[b].ins).index(value), self.canvas[b].box, _parent(b)
            if not fresh:
                return
        self._edge(top, Edge(start.id, end.id, enter, label, leaving))

    def _gate(self, group: Group, value: Value) -> Box:
        canvas = self.canvas[group]
        if value not in canvas.ins:
            canvas.ins[value] = Box(f"{canvas.box.id}i{len(canvas.ins)}", "in", "")
            canvas.box.ports = len(canvas.ins)
        return canvas.ins[value]

    def _port(self, group: Group, value: Value, start: Box, leaving: int, label: str) -> int:
        canvas = self.canvas[group]
        if value not in canvas.outs:
            canvas.outs[value] = Box(f"{canvas.box.id}o{len(canvas.outs)}", "out", "")
            self._edge(group, Edge(start.id, canvas.outs[value].id, 0, label, leaving))
        return list(canvas.outs).index(value)

    def _edge(self, group: Group, edge: Edge) -> None:
        key = edge.source + f":{edge.leaving}", edge.target, edge.port
        self.canvas[group].edges.setdefault(key, edge)

    # ---- results ----

    def _results(self) -> None:
        names = {j: self.graph.params[i].name for i, j in self.graph.state.items()}
        outputs = self.graph.outputs
        apart = len(outputs) > MANY_RESULTS or len(self.roots) > 1
        for j, v in enumerate(outputs):
            title = f"new {names[j]}" if j in names else "result" if len(outputs) == 1 else f"result {j}"
            source = self._source(v, self.roots[0])
            if source is not None:
                group = self._result_group(source, apart or j in names)
                box = self._result_box(j, title, [write_type(v.type)], group)
                self._cut(source, BoxInGroup(box, group), v, 0)
            elif v.node is not None and v.node.op is constant:  # it has no box of its own
                self._result_box(j, title, [constant_word(v), write_type(v.type)], self.roots[-1])

    def _result_group(self, source: BoxInGroup, inside: bool) -> Group:
        """Where a result stands: beside its maker, or outside of all groups where that is on the first side."""
        first = self.roots[0]
        return source.group if inside or _root(source.group) is not first else first

    def _result_box(self, j: int, title: str, lines: list[str], group: Group) -> Box:
        box = Box(f"{self.path}r{j}", "result", shortened(title, LONG_TITLE), lines, ports=1)
        self.canvas[group].boxes.append(box)
        return box

    # ---- the whole ----

    def _open(self) -> None:
        extra = {g: len(c.boxes) - len(g.children) for g, c in self.canvas.items()}
        for group in open_groups(self.roots, extra, self.budget):
            self.canvas[group].box.open = True

    def _assemble(self, title: str) -> Picture:
        pictures = [self._picture(root) for root in self.roots]
        scope = "/".join(self.skip)
        name = shortened(f"{title}   in {scope}" if scope not in title else title, 80)
        if len(pictures) == 1:
            pictures[0].title = name
            return pictures[0]
        return Picture(name, columns=pictures, kept=self._kept())

    def _picture(self, group: Group) -> Picture:
        canvas = self.canvas[group]
        for child in group.children:
            if isinstance(child, Group):
                self.canvas[child].box.inside = self._picture(child)
        boxes = [*canvas.ins.values(), *canvas.boxes, *canvas.outs.values()]
        backward = _root(group).title == BACKWARD
        return Picture(canvas.box.title, boxes, list(canvas.edges.values()), upwards=backward)

    def _kept(self) -> list[Edge]:
        """Values from column to column, between the boxes that show."""
        found: dict[tuple[str, str], Edge] = {}
        for source, target, value in self.crossing:
            a, b = self._visible(source), self._visible(target)
            found.setdefault((a.id, b.id), Edge(a.id, b.id, 0, write_type(value.type)))
        return list(found.values())

    def _visible(self, leaf: BoxInGroup) -> Box:
        closed = [g for g in _chain(leaf.group) if not self.canvas[g].box.open]
        return self.canvas[closed[-1]].box if closed else leaf.box


def _origin(node: Node) -> BoxOrigin:
    scope, place = shortened(node.scope, LONG_TIP), node.where.where if node.where is not None else None
    if place is None:
        return BoxOrigin(scope, why=node.why)
    loc = shortened(place.shown_file, LONG_TIP), place.line, place.col, place.end_col
    return BoxOrigin(scope, shortened(str(place), LONG_TIP), node.why, loc)


def _parent(group: Group) -> Group:
    assert group.parent is not None, "a side has no border to pass."
    return group.parent


def _chain(group: Group) -> list[Group]:
    """The group and those around it, innermost first."""
    out = [group]
    while out[-1].parent is not None:
        out.append(out[-1].parent)
    return out


def _root(group: Group) -> Group:
    return _chain(group)[-1]


def _shared(groups: Sequence[Group]) -> Group:
    """The innermost group that holds all of them."""
    chains = [_chain(g)[::-1] for g in groups]
    depth = 0
    while all(len(c) > depth + 1 for c in chains) and len({id(c[depth + 1]) for c in chains}) == 1:
        depth += 1
    return chains[0][depth]
