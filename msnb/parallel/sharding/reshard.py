"""From one layout to another: the cheapest sequence of slices and collectives.

    slice            an unused mesh axis begins to split a tensor axis                no communication
    all_gather       the finest mesh axes of a tensor axis stop splitting it          x p bytes arrive
    all_to_all       they move to another tensor axis                                 1/p stays
    reduce_scatter   an open sum is taken, its mesh axes split a tensor axis
    all_reduce       an open sum is taken, everybody has the result

Layouts are the nodes of a graph, moves its edges with their simulated seconds as lengths; Dijkstra's algorithm gives
the shortest path. Mesh axes that stay together from beginning to end travel together (an *atom*), so the graph is
small.
Source of the moves: MindSpore's tensor redistribution; here the path is shortest instead of greedy.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from msnb.parallel.sharding.device_mesh import EXCHANGE, GATHER, REDUCE, SCATTER, Mesh, sent_bytes
from msnb.parallel.sharding.layout import Axes, TensorLayout

SLICE = "slice"
_EPSILON = 1e-9  # of a slice, so that fewer moves win a tie


@dataclass(frozen=True)
class Move:
    """One step.

    Attributes:
        kind: "slice", "all_gather", "all_to_all", "reduce_scatter" or "all_reduce".
        axes: mesh axes that take part (they form the groups), the coarsest first.
        dim: the tensor axis that loses them (all_gather, all_to_all), else the one that wins them, -1 for all_reduce.
        to: the tensor axis that wins them in an all_to_all.
        before, after: layouts.
        nbytes: bytes that a rank puts in (0 for a slice).
        seconds: simulated.
    """

    kind: str
    axes: Axes
    dim: int
    to: int
    before: TensorLayout
    after: TensorLayout
    nbytes: float
    seconds: float

    @property
    def silent(self) -> bool:
        """True when a rank needs no other for it."""
        return self.kind == SLICE

    def sent(self, mesh: Mesh) -> float:
        """Bytes that a rank sends."""
        return sent_bytes(self.kind, mesh.count(self.axes), int(self.nbytes))


@lru_cache(maxsize=16)
def resharder(mesh: Mesh) -> Resharder:
    """The one of a mesh: what was asked for one program is known for the next, and for every stage of a pipeline."""
    return Resharder(mesh)


class Resharder:
    """Shortest paths on one mesh, remembered."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self._known: dict[Any, tuple[Move, ...]] = {}
        self._costs: dict[Any, float] = {}
        self._asked: dict[Any, float] = {}

    def moves(
        self, source: TensorLayout, target: TensorLayout, shape: Sequence[int], itemsize: int
    ) -> tuple[Move, ...]:
        """The cheapest sequence from ``source`` to ``target`` for a tensor of this shape."""
        if source == target:
            return ()
        key = (source, target, tuple(shape), itemsize)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _shortest(self.mesh, source, target, tuple(shape), itemsize)
        return found

    def cost(self, source: TensorLayout, target: TensorLayout, shape: Sequence[int], itemsize: int) -> float:
        """Simulated seconds of the sequence."""
        if source == target:
            return 0.0
        asked = (source, target, tuple(shape), itemsize)
        known = self._asked.get(asked)
        if known is None:
            key = _canonical(self.mesh, *asked)
            if key not in self._costs:
                self._costs[key] = sum(m.seconds for m in self.moves(source, target, shape, itemsize))
            known = self._asked[asked] = self._costs[key]
        return known

    def backward(self, source: TensorLayout, target: TensorLayout, shape: Sequence[int], itemsize: int) -> float:
        """Simulated seconds of what the gradient takes on the way back.

        A copy that a slice made local leaves a gradient that is split; its adjoint is the all-gather, and so on: the
        gradient of ``source`` is wanted in the layout of ``source``.
        """
        return self.cost(target, source, shape, itemsize)


def _canonical(mesh: Mesh, source: TensorLayout, target: TensorLayout, shape: tuple[int, ...], itemsize: int) -> Any:
    """Equal for pairs that differ in the names of tensor axes only (sizes matter where they limit a move)."""
    n = 1
    for d in shape:
        n *= d
    rows = []
    for size, a, b in zip(shape, source.dims, target.dims):
        loose = size % mesh.size == 0
        rows.append((a, b, 0 if loose else size))
    rows.sort()
    return tuple(rows), source.partial, n * itemsize


Place = tuple[int | None, int | None]  # the tensor axis that a mesh axis splits, in the source and in the target


def _atoms(source: TensorLayout, target: TensorLayout) -> dict[int, Axes]:
    """Every used mesh axis -> the run of axes that it belongs to in source and target alike."""

    def following(layout: TensorLayout) -> dict[int, int]:
        return {a: b for axes in layout.dims for a, b in zip(axes, axes[1:])}

    def place(a: int) -> Place:
        one, other = (next((i for i, axes in enumerate(t.dims) if a in axes), None) for t in (source, target))
        return one, other

    after, before = following(source), following(target)
    used = sorted({*source.used, *target.used, *source.partial})
    places = {a: place(a) for a in used}
    out: dict[int, Axes] = {}
    for a in used:
        joined = [b for b in used if b < a and _glued(b, a, source, after, before, places)]
        run = (*out[joined[-1]], a) if joined else (a,)
        for b in run:
            out[b] = run
    return out


def _glued(b: int, a: int, source: TensorLayout, after: dict[int, int], before: dict[int, int],
           places: dict[int, Place]) -> bool:  # fmt: skip
    """``a`` follows ``b`` wherever either of them splits something, and both are open sums or neither is."""
    if (a in source.partial) != (b in source.partial) or places[a] != places[b]:
        return False
    in_source, in_target = places[a]
    if in_source is not None and after.get(b) != a:
        return False
    if in_target is not None and before.get(b) != a:
        return False
    return in_source is not None or in_target is not None or a == b + 1


State = tuple[tuple[tuple[Axes, ...], ...], tuple[Axes, ...]]


def _state(layout: TensorLayout, atoms: dict[int, Axes]) -> State:
    rows = tuple(tuple(dict.fromkeys(atoms[a] for a in axes)) for axes in layout.dims)
    return rows, tuple(dict.fromkeys(atoms[a] for a in layout.partial))


def _layout(state: State) -> TensorLayout:
    rows, partial = state
    return TensorLayout(tuple(tuple(a for atom in row for a in atom) for row in rows),
                        tuple(a for atom in partial for a in atom))  # fmt: skip


def _shortest(
    mesh: Mesh, source: TensorLayout, target: TensorLayout, shape: tuple[int, ...], itemsize: int
) -> tuple[Move, ...]:
    """Dijkstra's algorithm over layouts."""
    search = _Search(mesh, source, target, shape, itemsize)
    begin, end = search.begin, search.end
    best: dict[State, float] = {begin: 0.0}
    path: dict[State, tuple[State, Hop]] = {}
    heap: list[tuple[float, int, State]] = [(0.0, 0, begin)]
    order = 0
    while heap:
        so_far, _, state = heapq.heappop(heap)
        if state == end:
            break
        if so_far > best[state]:
            continue
        for after, hop in search.neighbours(state):
            cost = so_far + max(hop[-1], _EPSILON)
            if cost < best.get(after, float("inf")):
                best[after], path[after] = cost, (state, hop)
                order += 1
                heapq.heappush(heap, (cost, order, after))
    out = []
    state = end
    while state != begin:
        before, hop = path[state]
        out.append(search.move(before, hop, state))
        state = before
    return tuple(reversed(out))


Hop = tuple[str, tuple[Axes, ...], int, int, float, float]  # kind, atoms, dim, to, bytes, seconds


class _Search:
    """The neighbours of a layout on the way to a target."""

    def __init__(self, mesh: Mesh, source: TensorLayout, target: TensorLayout, shape: Axes, itemsize: int) -> None:
        atoms = _atoms(source, target)
        self.mesh, self.shape = mesh, shape
        self.nbytes = itemsize
        for n in shape:
            self.nbytes *= n
        self.count = {atom: mesh.count(atom) for atom in atoms.values()}
        self.begin, self.end = _state(source, atoms), _state(target, atoms)
        self.goal = {atom: i for i, row in enumerate(self.end[0]) for atom in row}

    def neighbours(self, state: State) -> Iterator[tuple[State, Hop]]:
        """Layouts that one move leads to."""
        rows, partial = state
        used = [atom for row in rows for atom in row]
        nbytes = float(self.nbytes)
        for atom in used:
            nbytes /= self.count[atom]
        for atom, dim in self.goal.items():
            if atom in used or not self._room(rows[dim], (atom,), dim):
                continue
            rest = tuple(p for p in partial if p != atom)
            kind = SCATTER if atom in partial else SLICE
            yield (_pushed(rows, dim, (atom,)), rest), self._hop(kind, (atom,), dim, dim, nbytes)
        if partial:
            yield (rows, ()), self._hop(REDUCE, partial, -1, -1, nbytes)
            for atom in partial if len(partial) > 1 else ():
                yield (rows, tuple(p for p in partial if p != atom)), self._hop(REDUCE, (atom,), -1, -1, nbytes)
        yield from self._letting_go(state, nbytes)

    def _letting_go(self, state: State, nbytes: float) -> Iterator[tuple[State, Hop]]:
        rows, partial = state
        for dim, row in enumerate(rows):
            for k in range(len(row)):
                moved, left = row[k:], _popped(rows, dim, k)
                yield (left, partial), self._hop(GATHER, moved, dim, dim, nbytes)
                to = self.goal.get(moved[0])
                if to is not None and to != dim and self._room(rows[to], moved, to):
                    yield (_pushed(left, to, moved), partial), self._hop(EXCHANGE, moved, dim, to, nbytes)

    def _room(self, row: tuple[Axes, ...], more: tuple[Axes, ...], dim: int) -> bool:
        """Whether an axis divides by what splits it and by these atoms too."""
        ways = 1
        for atom in (*row, *more):
            ways *= self.count[atom]
        return self.shape[dim] % ways == 0

    def _hop(self, kind: str, atoms: tuple[Axes, ...], dim: int, to: int, nbytes: float) -> Hop:
        if kind == SLICE:
            return kind, atoms, dim, to, 0.0, 0.0
        axes = atoms[0] if len(atoms) == 1 else tuple(a for atom in atoms for a in atom)
        return kind, atoms, dim, to, nbytes, self.mesh.seconds(kind, axes, nbytes)

    def move(self, before: State, hop: Hop, after: State) -> Move:
        """A hop as a Move."""
        kind, atoms, dim, to, nbytes, seconds = hop
        axes = tuple(a for atom in atoms for a in atom)
        return Move(kind, axes, dim, to, _layout(before), _layout(after), nbytes, seconds)


def _pushed(rows: Any, dim: int, atoms: tuple[Axes, ...]) -> Any:
    return (*rows[:dim], rows[dim] + atoms, *rows[dim + 1 :])


def _popped(rows: Any, dim: int, k: int) -> Any:
    return (*rows[:dim], rows[dim][:k], *rows[dim + 1 :])
