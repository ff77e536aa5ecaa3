"""Groups: the nodes of a program as a tree, so that a picture of it can be opened where one looks.

    scope   net/conv1  net/conv1  net/relu  net/fc  net/relu         nodes in program order
    runs    (net: (conv1: . .)  .  (fc ...)  .)                      equal scopes are a group, one of one is none

A group is a run, never a set: a layer that is called twice stands twice. So groups, like nodes, have an order in which
everything read comes earlier, and the drawing of each group knows nothing but its own children. Where a group has more
children than a picture may show (a long function without Cells, a stack of 24 blocks), pieces of it become groups.

A gradient program falls into sides: forward, backward (nodes with a primal), and update (what reads gradients).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from msnb.ir.graph import Node
from msnb.ir.text.literals import is_inline
from msnb.ops.elementwise.constant import constant

FORWARD, BACKWARD, UPDATE = "forward", "backward", "update"
LEAST_PIECE = 4
SPAN = " … "


@dataclass(eq=False)
class Group:
    """A run of nodes under one title; children are groups and nodes, in program order."""

    title: str
    children: list[Group | Node] = field(default_factory=list)
    parent: Group | None = None

    def nodes(self) -> Iterator[Node]:
        """All nodes in it."""
        for child in self.children:
            if isinstance(child, Group):
                yield from child.nodes()
            else:
                yield child

    def groups(self) -> Iterator[Group]:
        """This group and all inside it, outer ones first."""
        yield self
        for child in self.children:
            if isinstance(child, Group):
                yield from child.groups()


def is_drawn(node: Node) -> bool:
    """Small constants stand in the words of their readers."""
    return not (node.op is constant and is_inline(node.attrs["value"]))


def sides_of(nodes: Sequence[Node]) -> list[tuple[str, list[Node]]]:
    """The nodes by side, in program order; one side without a name if there is no gradient."""
    side: dict[Node, str] = {}
    for node in nodes:
        side[node] = _side(node, side)
    if BACKWARD not in side.values() or FORWARD not in side.values():
        return [("", list(nodes))]
    found = [(name, [n for n in nodes if side[n] == name]) for name in (FORWARD, BACKWARD, UPDATE)]
    return [(name, members) for name, members in found if members]


def _side(node: Node, side: dict[Node, str]) -> str:
    if node.primal is not None:
        return BACKWARD
    late = any(v.node is not None and side.get(v.node, FORWARD) != FORWARD for v in node.inputs)
    return UPDATE if late else FORWARD


def common_scope(nodes: Sequence[Node]) -> tuple[str, ...]:
    """The Cells that all scoped nodes share: they need no frame."""
    paths = [_path(n) for n in nodes if n.scope]
    if not paths:
        return ()
    low, high = min(paths), max(paths)
    count = next((i for i, (a, b) in enumerate(zip(low, high)) if a != b), min(len(low), len(high)))
    return low[:count]


def _path(node: Node) -> tuple[str, ...]:
    return tuple(node.scope.split("/")) if node.scope else ()


def tree_of(title: str, nodes: Sequence[Node], skip: int, limit: int) -> Group:
    """The tree of one side.

    Args:
        title: what the side is called.
        nodes: its nodes.
        skip: how many Cells of every path need no frame.
        limit: how many children a group may have before it falls into pieces.
    """
    root = Group(title, _children(nodes, skip, limit))
    return _adopted(root)


def _children(nodes: Sequence[Node], depth: int, limit: int) -> list[Group | Node]:
    out: list[Group | Node] = []
    for name, run in groupby(nodes, key=lambda n: _path(n)[depth] if len(_path(n)) > depth else None):
        members = list(run)
        if name is None:
            out += members
            continue
        inner = _children(members, depth + 1, limit)
        out += inner if len(members) == 1 else [Group(name, inner)]
    while len(out) > limit:
        out = _pieces(out, limit)
    return [_flat(child) for child in out]


def _flat(child: Group | Node) -> Group | Node:
    """A group that holds one group only is that group, under both titles."""
    if isinstance(child, Group) and len(child.children) == 1 and isinstance(child.children[0], Group):
        inner = child.children[0]
        return Group(f"{child.title}/{inner.title}", inner.children)
    return child


def _pieces(children: list[Group | Node], limit: int) -> list[Group | Node]:
    size = min(limit, max(LEAST_PIECE, -(-len(children) // limit)))
    runs = [children[i : i + size] for i in range(0, len(children), size)]
    return [Group(_span(run), run) if len(run) > 1 else run[0] for run in runs]


def _span(run: Sequence[Group | Node]) -> str:
    """``block.0 … block.3``; for bare nodes the lines they come from."""
    first, last = run[0], run[-1]
    names = [child.title if isinstance(child, Group) else _place(child) for child in (first, last)]
    ends = names[0].split(SPAN)[0], names[1].split(SPAN)[-1]
    return ends[0] if ends[0] == ends[1] else SPAN.join(ends)


def _place(node: Node) -> str:
    place = node.where.where if node.where is not None else None
    return node.op.name if place is None else str(place)


def _adopted(root: Group) -> Group:
    for group in root.groups():
        for child in group.children:
            if isinstance(child, Group):
                child.parent = group
    return root


def open_groups(roots: Sequence[Group], extra: dict[Group, int], budget: int) -> set[Group]:
    """Which groups stand open: level by level, as long as at most ``budget`` boxes show.

    Of the first level that does not fit as a whole, those groups open that do; below it none.

    Args:
        roots: the sides; they are open.
        extra: boxes per group beside its children (params, results).
        budget: how many boxes may show.
    """
    shown = sum(len(r.children) + extra.get(r, 0) for r in roots)
    opened = set(roots)
    level = _groups_in(roots)
    while level:
        fitting: list[Group] = []
        for twins in [level, *_twins(level)]:
            cost = sum(len(g.children) + extra.get(g, 0) - 1 for g in twins)
            if shown + cost <= budget and not opened.issuperset(twins):
                shown += cost
                fitting += twins
                opened.update(twins)
        level = _groups_in(fitting) if len(fitting) == len(level) else []
    return opened


def _groups_in(groups: Sequence[Group]) -> list[Group]:
    return [child for g in groups for child in g.children if isinstance(child, Group)]


def _twins(level: Sequence[Group]) -> list[list[Group]]:
    """A layer and its gradient open together or not: groups of one title are one choice; pieces are none."""
    found: dict[str, list[Group]] = {}
    for group in level:
        found.setdefault(group.title, []).append(group)
    return [twins for title, twins in found.items() if SPAN not in title]
