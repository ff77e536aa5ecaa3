"""Exact search: variables are eliminated one by one, a table of the rest's best remains.

    f(a,b) + g(b,c)   --eliminate b-->   h(a,c) = min over b of f(a,b) + g(b,c)

This is dynamic programming on a graph of any shape (bucket elimination in min-plus algebra); MindSpore's operator,
edge, merge, contract, triangle and star eliminations are special cases. Nodes go in the order of the smallest table
they leave.

Memory: with a limit, an entry is a list of (seconds, bytes) points of which none is better in both (Pareto), so the
fastest plan that fits is found, and none that fits is lost on the way. Without a limit a list has one point.

Folding: joins and eliminations are remembered by the keys of their operands, so 96 identical layers cost one. Nothing
is assumed by this: layers may still get different strategies.

A price of bytes changes the numbers of nodes, not which tables there are nor in what order they are made: each of the
few different contents knows how it was made, and is made again in its place (``Eliminator.priced``). So a search for
the right price walks through thousands of nodes once.
Source: Dechter, "Bucket elimination: A unifying framework for reasoning", 1999; Jia et al., OptCNN, 2018.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from msnb.parallel.search.cost_graph import CostGraph, Floats, NoPlan

Ints = NDArray[np.int64]
_LARGEST = 40_000_000  # entries of a table
_MOST_AXES = 30  # NumPy's limit is 32, one axis more holds the points of a front
_FUSED = 2_000_000  # entries of a joined table above which it is not written down
_LONGEST = 3e9  # additions of one elimination
PARETO = 600  # choices in all, up to which lists are kept whole


@dataclass(eq=False)
class Content:
    """The numbers of a table: [choices..., points]; ``memory`` is None where no limit is asked for."""

    time: Floats
    memory: Floats | None
    key: int
    origin: Ints | None = None  # which points (join) or which choice and point (elimination) an entry comes from

    def become(self, other: Content) -> None:
        """Take over the numbers of another content, made in the same way of other numbers."""
        self.time, self.memory, self.origin = other.time, other.memory, other.origin


@dataclass(eq=False)
class ChoiceTable:
    """Numbers over the choices of some nodes."""

    scope: tuple[int, ...]
    content: Content
    made_of: tuple[ChoiceTable, ...] = ()  # a join of two; or, with ``gone``, what a node was eliminated from
    gone: int = -1


class Eliminator:
    """One search, or several over one problem (what was folded is kept)."""

    def __init__(self, graph: CostGraph, limit: float | None = None, points: int | None = None) -> None:
        self.graph: CostGraph = graph
        self.limit: float | None = limit
        self.points: int | None = points
        self.price: float = 0.0
        self._keys: dict[Hashable, int] = {}
        self._folded: dict[Hashable, Content] = {}
        self._made: list[tuple[Content, Callable[[], Content]]] = []

    # ---- tables ----

    def _key(self, key: Hashable) -> int:
        return self._keys.setdefault(key, len(self._keys))

    def _fold(self, key: Hashable, make: Callable[[], Content]) -> Content:
        """The content that goes by a key, made if there is none."""
        found = self._folded.get(key)
        if found is None:
            found = self._folded[key] = make()
            self._made.append((found, make))
        return found

    def _tables(self) -> list[ChoiceTable]:
        g = self.graph
        out = [ChoiceTable((v,), self._node(v)) for v in range(g.size)]
        return out + [ChoiceTable((u, v), self._edge(m, key)) for (u, v, m), key in zip(g.edges, g.edge_keys)]

    def _node(self, v: int) -> Content:
        time, memory, key = self.graph.time[v], self.graph.memory[v], ("node", self.graph.node_keys[v])
        return self._fold(key, lambda: self._content((time + self.price * memory)[:, None], memory[:, None], key))

    def _edge(self, seconds: Floats, edge_key: Hashable) -> Content:
        key = ("edge", edge_key)
        return self._fold(key, lambda: self._content(seconds[:, :, None], 0.0 * seconds[:, :, None], key))

    def _content(self, time: Floats, memory: Floats, key: Hashable) -> Content:
        return Content(time, None if self.limit is None else memory, self._key(key))

    def join(self, a: ChoiceTable, b: ChoiceTable) -> ChoiceTable:
        """The sum of two tables over the union of their nodes."""
        scope = a.scope + tuple(v for v in b.scope if v not in a.scope)
        place = tuple(scope.index(v) for v in b.scope)
        key = ("join", a.content.key, b.content.key, len(a.scope), place)
        one, other, n = a.content, b.content, len(scope)
        found = self._fold(key, lambda: self._joined(one, other, n, place, self._key(key)))
        return ChoiceTable(scope, found, (a, b))

    def _joined(self, a: Content, b: Content, n: int, place: tuple[int, ...], key: int) -> Content:
        if n > _MOST_AXES:
            raise TooLarge
        left, right = _widened(a.time, range(a.time.ndim - 1), n), _widened(b.time, place, n)
        shape = np.broadcast_shapes(left.shape[:-1], right.shape[:-1])
        if np.prod(shape, dtype=np.float64) * left.shape[-1] * right.shape[-1] > _LARGEST:
            raise TooLarge
        if a.memory is None or b.memory is None:
            return Content(left + right, None, key)
        time = (left[..., :, None] + right[..., None, :]).reshape(*shape, -1)
        left, right = _widened(a.memory, range(a.memory.ndim - 1), n), _widened(b.memory, place, n)
        more = left[..., :, None] + right[..., None, :]
        return self._pruned(time, more.reshape(*shape, -1), key)

    def eliminate(self, table: ChoiceTable, v: int) -> ChoiceTable:
        """The best over the choices of ``v``."""
        at = table.scope.index(v)
        rest = tuple(u for u in table.scope if u != v)
        key = ("min", table.content.key, at)
        content = table.content
        found = self._fold(key, lambda: self._minimum(content, at, self._key(key)))
        return ChoiceTable(rest, found, (table,), v)

    def _minimum(self, content: Content, at: int, key: int) -> Content:
        time = np.moveaxis(content.time, at, -2)
        flat = time.reshape(*time.shape[:-2], -1)
        if content.memory is None:
            best = flat.argmin(axis=-1)[..., None]
            return Content(np.take_along_axis(flat, best, -1), None, key, best)
        memory = np.moveaxis(content.memory, at, -2).reshape(flat.shape)
        return self._pruned(flat, memory, key)

    def _pruned(self, time: Floats, memory: Floats, key: int) -> Content:
        """The points of each entry that no other beats, fastest first."""
        assert self.limit is not None
        time = np.where(memory > self.limit, np.inf, time)
        order = np.lexsort((memory, time), axis=-1)
        time, memory = (np.take_along_axis(x, order, -1) for x in (time, memory))
        least = np.minimum.accumulate(memory, axis=-1)
        kept = np.isfinite(time)
        kept[..., 1:] &= memory[..., 1:] < least[..., :-1]
        back = np.argsort(~kept, axis=-1, kind="stable")
        most = max(1, int(kept.sum(-1).max(initial=1)))
        back = back[..., :most]
        time = np.where(np.take_along_axis(kept, back, -1), np.take_along_axis(time, back, -1), np.inf)
        memory, order = np.take_along_axis(memory, back, -1), np.take_along_axis(order, back, -1)
        if self.points is not None and most > self.points:
            time, memory, order = _thinned(time, memory, order, self.points)
        return Content(time, memory, key, order)

    # ---- the search ----

    def solve(self) -> list[int]:
        """The best choice of every node.

        Raises:
            NoPlan: no plan fits the limit. TooLarge: a table would not fit into this machine's memory.
        """
        if not self.graph.size:
            return []
        last = self._last
        best = int(np.argmin(last.content.time.reshape(-1)))
        if not np.isfinite(last.content.time.reshape(-1)[best]):
            raise NoPlan
        return self._choices(last, best)

    def priced(self, price: float) -> list[int]:
        """The choices with the least seconds + price * bytes (of a search without a limit)."""
        if price != self.price:
            self.price = price
            for content, make in self._made:
                content.become(make())
        return self.solve()

    def front(self) -> list[list[int]]:
        """The choices of every point of the last list, the fastest first (all of the limit's plans that none beats)."""
        last = self._last
        fine = np.flatnonzero(np.isfinite(last.content.time.reshape(-1)))
        return [self._choices(last, int(k)) for k in fine]

    @cached_property
    def _last(self) -> ChoiceTable:
        """The table that is left when all nodes are gone."""
        done = self._eliminated()
        last = done[0]
        for table in done[1:]:
            last = self.join(last, table)
        return last

    def _choices(self, last: ChoiceTable, point: int) -> list[int]:
        choices: dict[int, int] = {}
        _unwind(last, point, choices)
        return [choices[v] for v in range(self.graph.size)]

    def _eliminated(self) -> list[ChoiceTable]:
        """All nodes gone: tables without scope."""
        at: dict[int, list[ChoiceTable]] = {v: [] for v in range(self.graph.size)}
        for table in self._tables():
            for v in table.scope:
                at[v].append(table)
        done = []
        for v in elimination_order(self.graph):
            mine = at.pop(v)
            gone = {id(t) for t in mine}
            table = self._without(mine, v)
            for u in table.scope:
                at[u] = [t for t in at[u] if id(t) not in gone] + [table]
            if not table.scope:
                done.append(table)
        return done

    def _without(self, mine: list[ChoiceTable], v: int) -> ChoiceTable:
        """The tables that know ``v``, joined and ``v`` eliminated."""
        scope = tuple(dict.fromkeys(u for t in mine for u in t.scope if u != v))
        entries = np.prod([len(self.graph.time[u]) for u in (*scope, v)], dtype=np.float64)
        if self.limit is None and entries > _FUSED:
            return self._fused(mine, v, scope, float(entries))
        table = mine[0]
        for other in mine[1:]:
            table = self.join(table, other)
        return self.eliminate(table, v)

    def _fused(self, mine: list[ChoiceTable], v: int, scope: tuple[int, ...], entries: float) -> ChoiceTable:
        """Join and minimum in one, slice by slice, where the joined table would be large."""
        if entries > _LONGEST:
            raise TooLarge
        places = tuple(tuple((*scope, v).index(u) for u in t.scope) for t in mine)
        key = ("fused", tuple(t.content.key for t in mine), places)
        sizes, contents = [len(self.graph.time[u]) for u in scope], [t.content for t in mine]
        found = self._fold(key, lambda: _sliced_minimum(contents, places, sizes, self._key(key)))
        return ChoiceTable(scope, found, tuple(mine), v)


def _sliced_minimum(contents: Sequence[Content], places: Sequence[tuple[int, ...]], sizes: Sequence[int],
                    key: int) -> Content:  # fmt: skip
    """The minimum over the last axis of the contents' sum, one index of the first axis after the other."""
    time, origin = np.empty((*sizes, 1)), np.empty((*sizes, 1), np.int64)
    wide = [_widened(c.time, p, len(sizes) + 1)[..., 0] for c, p in zip(contents, places)]
    for i in range(sizes[0]):
        total = sum(w[i if w.shape[0] > 1 else 0] for w in wide)
        origin[i, ..., 0] = best = np.argmin(total, axis=-1)
        time[i, ..., 0] = np.take_along_axis(total, best[..., None], -1)[..., 0]
    return Content(time, None, key, origin)


class TooLarge(Exception):
    """A table would be too large."""


def _widened(x: Floats, place: Iterable[int], n: int) -> Floats:
    """Axes of ``x`` moved to their places among ``n``; the last one (points) stays last."""
    order = sorted(range(len(tuple(place := tuple(place)))), key=lambda i: place[i])
    shape = [1] * n + [x.shape[-1]]
    for i in order:
        shape[place[i]] = x.shape[i]
    return x.transpose(*order, x.ndim - 1).reshape(shape)


def _thinned(time: Floats, memory: Floats, order: Ints, points: int) -> tuple[Floats, Floats, Ints]:
    """At most ``points`` of each list, evenly spread: the fastest and the smallest stay."""
    count = np.isfinite(time).sum(-1, keepdims=True)
    grid = np.arange(points) * np.maximum(count - 1, 0) / (points - 1)
    at = np.where(count > points, np.rint(grid), np.arange(points)).astype(np.int64)
    return np.take_along_axis(time, at, -1), np.take_along_axis(memory, at, -1), np.take_along_axis(order, at, -1)


def _unwind(table: ChoiceTable, point: int, choices: dict[int, int]) -> None:
    """From the last table back to the choices that made its entry."""
    stack = [(table, point)]
    while stack:
        t, k = stack.pop()
        entry = tuple(choices[u] for u in t.scope)
        if t.gone >= 0 and len(t.made_of) != 1:
            assert t.content.origin is not None
            choices[t.gone] = int(t.content.origin[(*entry, 0)])
            stack += [(inner, 0) for inner in t.made_of]
        elif t.gone >= 0:
            inner = t.made_of[0]
            assert t.content.origin is not None
            flat = int(t.content.origin[(*entry, k)])
            points = inner.content.time.shape[-1]
            choices[t.gone] = flat // points
            stack.append((inner, flat % points))
        elif t.made_of:
            a, b = t.made_of
            flat = 0 if t.content.origin is None else int(t.content.origin[(*entry, k)])
            stack += [(a, flat // b.content.time.shape[-1]), (b, flat % b.content.time.shape[-1])]


def elimination_order(graph: CostGraph) -> Sequence[int]:
    """Nodes by the size of the table that their elimination makes, or by the size of the one that it leaves, or by the
    number of neighbours that it ties together: whichever order needs the fewest additions."""
    orders = [_greedy_order(graph, rule) for rule in (_joined_size, _left_size, _fill)]
    return min(orders, key=lambda found: found[0])[1]


Near = list[set[int]]


def _left_size(near: Near, width: Sequence[int], v: int) -> float:
    return math.prod(width[u] for u in near[v])


def _joined_size(near: Near, width: Sequence[int], v: int) -> float:
    return float(width[v]) * math.prod(width[u] for u in near[v])


def _fill(near: Near, width: Sequence[int], v: int) -> float:
    """New pairs of neighbours, weighted by their sizes; then the size of the table."""
    mine = sorted(near[v])
    new = sum(width[a] * width[b] for i, a in enumerate(mine) for b in mine[i + 1 :] if b not in near[a])
    return new + 1e-9 * _joined_size(near, width, v)


def _greedy_order(graph: CostGraph, rule: Callable[[Near, Sequence[int], int], float]) -> tuple[float, list[int]]:
    """(Additions, order) when always the node with the least ``rule`` goes next."""
    near: Near = [set() for _ in range(graph.size)]
    for u, v, _ in graph.edges:
        near[u].add(v)
        near[v].add(u)
    width = [len(t) for t in graph.time]
    heap = [(rule(near, width, v), v) for v in range(graph.size)]
    heapq.heapify(heap)
    out: list[int] = []
    work, gone = 0.0, [False] * graph.size
    while heap:
        w, v = heapq.heappop(heap)
        if gone[v] or w != rule(near, width, v):
            continue
        gone[v] = True
        out.append(v)
        work += _joined_size(near, width, v) ** 2  # large tables hurt most: equal ones of identical layers are folded
        for u in near[v]:
            near[u] |= near[v]
            near[u] -= {u, v}
        for u in near[v]:
            heapq.heappush(heap, (rule(near, width, u), u))
    return work, out


def dynamic_programming(graph: CostGraph, limit: float | None = None, points: int | None = None) -> list[int]:
    """The fastest plan; with ``limit`` the fastest one whose bytes do not exceed it.

    Args:
        graph: choices and costs.
        limit: bytes per device.
        points: keep at most so many points per entry (None: all, exact).

    Raises:
        NoPlan: nothing fits.
    """
    free = Eliminator(graph)
    choices = free.solve()
    if limit is None or graph.bytes(choices) <= limit:
        return choices
    if sum(map(len, graph.time)) > PARETO:
        return by_multiplier(free, limit)
    try:
        return Eliminator(graph, limit, points).solve()
    except TooLarge:
        return by_multiplier(free, limit)


def steep(graph: CostGraph) -> float:
    """Seconds per byte at which bytes are all that counts."""
    bytes_ = sum(float(m.max()) for m in graph.memory)
    return max(1e-12, sum(float(t.max()) for t in graph.time) * 1e6 / max(1.0, bytes_))


def by_multiplier(free: Eliminator, limit: float, rounds: int = 24) -> list[int]:
    """For graphs whose Pareto lists are too long: minimise seconds + price * bytes, the price by the secant between the
    best plan that fits and the best that does not.

    The result fits; it is the best on the convex hull of (seconds, bytes), which may miss plans inside of it.

    Args:
        free: a search without a limit; limit: bytes per device; rounds: prices to try at most.
    """
    graph = free.graph
    large, small = free.priced(0.0), free.priced(steep(graph))
    if graph.bytes(large) <= limit:
        return large
    if graph.bytes(small) > limit:
        small = [int(np.argmin(m)) for m in graph.memory]
        if graph.bytes(small) > limit:
            raise NoPlan
    for _ in range(rounds):
        price = (graph.cost(small) - graph.cost(large)) / (graph.bytes(large) - graph.bytes(small))
        found = free.priced(max(price, 0.0))
        line = graph.cost(large) + price * graph.bytes(large)
        if graph.cost(found) + price * graph.bytes(found) >= line * (1 - 1e-12):
            break
        large, small = (large, found) if graph.bytes(found) <= limit else (found, small)
    return small
