"""Where the boxes of a picture go: a layered drawing in plain Python.

    1 layers     a box stands below everything it reads (longest path); params move down next to their first reader
    2 dummies    an edge that passes layers gets an invisible point in each, so that it bends around boxes
    3 order      sweeps up and down, each layer sorted by the mean place of its neighbours (Sugiyama's barycentres)
    4 places     sweeps again: every box wants to stand under the mean of its neighbours; the closest places that keep
                 the order and the gaps are an isotonic regression, solved exactly by pooling neighbours that collide
    5 edges      cubic curves through the points, vertical at both ends, spread over the width of a box

Each body and each open group is laid out by itself first and becomes the inside of its box; ports on a group's border
tell where its edges go on outside. Steps are linear in boxes and edges per sweep; no step looks at anything but
positions, so a graph always gives the same drawing. ``upwards`` turns it over: the backward side flows up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from msnb.notebook.drawing.picture_tree import Box, Edge, Picture

CHAR, TITLE_CHAR = 6.4, 7.9
LINE, TITLE_LINE = 14.0, 18.0
PAD_X, PAD_Y = 12.0, 7.0
GAP_X, GAP_Y = 22.0, 30.0
FRAME_HEAD, FRAME_GAP = 20.0, 12.0
STRETCH = 70.0  # at most this much more room between layers, to make two columns equally high
SWEEPS = 8
MAX_DUMMIES = 4000
LIGHT = 4.0  # (1 + 1) ** 2: at most one op below its params


@dataclass
class BoxPlacement:
    """A box with its rectangle (left, top, width, height) and its frames' drawings (offset from its corner).

    ``inner`` is the drawing of an open group, ``entry`` and ``exit`` where its ports stand on its border.
    """

    box: Box
    w: float
    h: float
    x: float = 0.0
    y: float = 0.0
    inside: list[tuple[str, float, float, Drawing]] = field(default_factory=list)
    inner: Drawing | None = None
    entry: list[float] = field(default_factory=list)
    exit: list[float] = field(default_factory=list)


@dataclass
class Curve:
    """An edge as points from source to target."""

    edge: Edge
    points: list[tuple[float, float]]


@dataclass
class Drawing:
    """A picture with places. Coordinates start at 0, 0."""

    picture: Picture
    boxes: list[BoxPlacement]
    curves: list[Curve]
    w: float
    h: float


def lay_out(picture: Picture, height: float = 0.0) -> Drawing:
    """Place the boxes and edges of a picture without columns.

    Args:
        picture: the parts.
        height: stretch the drawing towards this height.

    Returns:
        Rectangles and curves in pixels of a 12-pixel font.
    """
    return _Layout(picture).run(height)


def _size(box: Box) -> BoxPlacement:
    """The rectangle that a box needs for its words and bodies."""
    if box.kind in ("in", "out"):
        return BoxPlacement(box, 6.0, 0.0)
    if box.open and box.inside is not None:
        return _opened(box, box.inside)
    width = max([len(box.title) * TITLE_CHAR, *(len(line) * CHAR for line in box.lines)]) + 2 * PAD_X
    width += 0 if box.kind == "node" else 10  # rounded ends
    width = max(width, min(14.0 * box.ports + 10, 300.0))
    height = TITLE_LINE + LINE * len(box.lines) + 2 * PAD_Y - 2
    placed = BoxPlacement(box, width, height)
    if box.frames:
        _nest(placed)
    return placed


def _opened(box: Box, inside: Picture) -> BoxPlacement:
    """A group as large as its drawing; its ports in the order of their boxes."""
    drawing = lay_out(inside)
    width = max(drawing.w, len(box.title) * CHAR + 3 * PAD_X)
    placed = BoxPlacement(box, width, drawing.h, inner=drawing)
    shift = (width - drawing.w) / 2
    for p in drawing.boxes:
        p.x += shift
    for curve in drawing.curves:
        curve.points = [(x + shift, y) for x, y in curve.points]
    drawing.w = width
    placed.entry = [p.x + p.w / 2 for p in drawing.boxes if p.box.kind == "in"]
    placed.exit = [p.x + p.w / 2 for p in drawing.boxes if p.box.kind == "out"]
    return placed


def _nest(placed: BoxPlacement) -> None:
    """Bodies side by side below the words."""
    drawings = [(frame.label, lay_out(frame.picture)) for frame in placed.box.frames]
    x, top = FRAME_GAP, placed.h + 2
    for label, drawing in drawings:
        width = max(drawing.w, len(label) * CHAR + 2 * PAD_X)
        placed.inside.append((label, x, top, drawing))
        x += width + FRAME_GAP
    placed.w = max(placed.w, x)
    spare = (placed.w - x) / 2
    placed.inside = [(label, left + spare, y, drawing) for label, left, y, drawing in placed.inside]
    placed.h = top + max((d.h for _, d in drawings), default=0.0) + FRAME_GAP


class _Spot:
    """A box or a dummy in a layer."""

    __slots__ = ("above", "below", "center", "layer", "order", "placed", "pull", "tilt", "weight", "width")

    def __init__(self, placed: BoxPlacement | None, layer: int, pull: float) -> None:
        self.placed, self.layer = placed, layer
        self.width = placed.w if placed is not None else 6.0
        self.weight = 1.0 if placed is not None else 4.0
        self.pull = pull  # what comes from far above pulls more: the program's spine stays straight
        self.above: list[_Spot] = []
        self.below: list[_Spot] = []
        self.tilt = 0.0  # by which operand it enters its reader: breaks ties between operands of one node
        self.center = 0.0
        self.order = 0.0


class _Layout:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.placed = [_size(b) for b in picture.boxes]
        self.index = {b.id: i for i, b in enumerate(picture.boxes)}
        self.edges = self._distinct()
        self.layers: list[list[_Spot]] = []
        self.chains: list[tuple[Edge, list[_Spot]]] = []

    def _distinct(self) -> list[Edge]:
        """The edges; several from one box into one closed group are one."""
        out: dict[tuple[str, int, str, int], Edge] = {}
        for e in self.picture.edges:
            ends = self.placed[self.index[e.source]], self.placed[self.index[e.target]]
            leaving = e.leaving if ends[0].exit else 0
            port = 0 if ends[1].box.kind == "group" and not ends[1].entry else e.port
            out.setdefault((e.source, leaving, e.target, port), e)
        return list(out.values())

    def run(self, height: float = 0.0) -> Drawing:
        if not self.placed:
            return Drawing(self.picture, [], [], 40.0, 10.0)
        self._make_layers()
        for sweep in range(SWEEPS):
            self._sort(down=sweep % 2 == 0)
        self._first_places()
        for sweep in range(SWEEPS + 1):
            self._place(down=sweep % 2 == 0)
        self._gather()
        found = self._finish(GAP_Y)
        rows = len(self.layers) - 1
        if height <= found.h or not rows:
            return found
        return self._finish(GAP_Y + min((height - found.h) / rows, STRETCH))

    # ---- 1, 2: layers and dummies ----

    def _levels(self) -> tuple[list[int], list[int]]:
        level = [0] * len(self.placed)
        for e in self.edges:  # edges stand in program order of their targets
            s, t = self.index[e.source], self.index[e.target]
            level[t] = max(level[t], level[s] + 1)
        depth = list(level)
        self._pull_down(level)
        self._to_the_border(level)
        return level, depth

    def _to_the_border(self, level: list[int]) -> None:
        """Ports get the first and the last layer to themselves."""
        kinds = [p.box.kind for p in self.placed]
        inner = [n for n, kind in zip(level, kinds) if kind not in ("in", "out")] or [0]
        first, last = min(inner) - 1, max(inner) + 1
        for i, kind in enumerate(kinds):
            level[i] = first if kind == "in" else last if kind == "out" else level[i]

    def _pull_down(self, level: list[int]) -> None:
        """Everything stands right above its first reader: weights next to their products, masks next to their use."""
        readers: dict[int, list[int]] = {}
        for e in self.edges:
            readers.setdefault(self.index[e.source], []).append(self.index[e.target])
        for i in reversed(range(len(self.placed))):
            if i in readers and self.placed[i].box.kind != "in":
                level[i] = min(level[t] for t in readers[i]) - 1

    def _make_layers(self) -> None:
        level, depth = self._levels()
        lowest = min(level)
        spots = [_Spot(p, n - lowest, (1.0 + d) ** 2) for p, n, d in zip(self.placed, level, depth)]
        self.layers = [[] for _ in range(max(level) - lowest + 1)]
        for spot in spots:
            self.layers[spot.layer].append(spot)
        spare = MAX_DUMMIES
        for e in self.edges:
            spare -= self._chain(e, spots[self.index[e.source]], spots[self.index[e.target]], spare)
        for layer in self.layers:
            for i, spot in enumerate(layer):
                spot.order = float(i)

    def _chain(self, edge: Edge, source: _Spot, target: _Spot, spare: int) -> int:
        between = range(source.layer + 1, target.layer) if target.layer - source.layer <= spare else range(0)
        chain = [source]
        for layer in between:
            dummy = _Spot(None, layer, source.pull)
            self.layers[layer].append(dummy)
            chain.append(dummy)
        chain.append(target)
        for a, b in zip(chain, chain[1:]):
            a.below.append(b)
            b.above.append(a)
        chain[-2].tilt = 0.01 * edge.port
        self.chains.append((edge, chain))
        return len(between)

    # ---- 3: order ----

    def _sort(self, down: bool) -> None:
        for layer in self.layers if down else self.layers[::-1]:
            for spot in layer:
                near = spot.above if down else spot.below
                if near:
                    spot.order = sum(n.order for n in near) / len(near) + (0.0 if down else spot.tilt)
            layer.sort(key=lambda spot: spot.order)
            for i, spot in enumerate(layer):
                spot.order = i - len(layer) / 2

    # ---- 4: places ----

    def _first_places(self) -> None:
        for layer in self.layers:
            x = -sum(s.width + GAP_X for s in layer) / 2
            for spot in layer:
                spot.center = x + spot.width / 2
                x += spot.width + GAP_X

    def _place(self, down: bool) -> None:
        for layer in self.layers if down else self.layers[::-1]:
            wish = [_wish(s, down) for s in layer]
            for spot, x in zip(layer, _spread(layer, wish)):
                spot.center = x

    def _gather(self) -> None:
        """Params and what little hangs on them alone move to their readers; the spine stays where it is."""
        for layer in self.layers[::-1]:
            light = [s.placed is not None and s.pull <= LIGHT and bool(s.below) for s in layer]
            wish = [_wish(s, down=False) if free else s.center for s, free in zip(layer, light)]
            before = [s.weight for s in layer]
            for spot, free in zip(layer, light):
                spot.weight = 1.0 if free else 1e6
            for spot, x, weight in zip(layer, _spread(layer, wish), before):
                spot.center, spot.weight = x, weight

    # ---- 5: the drawing ----

    def _finish(self, gap: float) -> Drawing:
        left = min(s.center - s.width / 2 for layer in self.layers for s in layer) - FRAME_GAP
        tops, height = self._tops(gap)
        for layer, (top, tall) in zip(self.layers, tops):
            for s in layer:
                s.center -= left
                if s.placed is not None:
                    s.placed.x, s.placed.y = s.center - s.width / 2, top + self._down(s.placed) * (tall - s.placed.h)
        width = max(s.center + s.width / 2 for layer in self.layers for s in layer) + FRAME_GAP
        return Drawing(self.picture, self.placed, self._curves(tops), width, height)

    def _down(self, placed: BoxPlacement) -> float:
        """Params stand near their readers, all else in the middle of its layer."""
        if placed.box.kind not in ("param", "state", "again"):
            return 0.5
        return 0.0 if self.picture.upwards else 1.0

    def _tops(self, gap: float) -> tuple[list[tuple[float, float]], float]:
        """Top and height of every layer, and the height of all; layers of ports lie on the border."""
        order = range(len(self.layers))
        rows = list(reversed(order)) if self.picture.upwards else list(order)
        found: dict[int, tuple[float, float]] = {}
        y = FRAME_HEAD + (FRAME_GAP if self._is_border(rows[0]) else 0.0)
        for n in rows:
            if self._is_border(n):
                found[n] = (0.0 if n == rows[0] else y - gap + FRAME_GAP, 0.0)
                continue
            tall = max((s.placed.h for s in self.layers[n] if s.placed is not None), default=0.0)
            found[n] = (y, tall)
            y += tall + gap
        bottom = y - gap + FRAME_GAP + (4.0 if self._is_border(rows[-1]) else 0.0)
        if self._is_border(rows[-1]):
            found[rows[-1]] = (bottom, 0.0)
        return [found[n] for n in order], bottom

    def _is_border(self, layer: int) -> bool:
        return any(s.placed is not None and s.placed.box.kind in ("in", "out") for s in self.layers[layer])

    def _curves(self, tops: Sequence[tuple[float, float]]) -> list[Curve]:
        ports = self._ports()
        up = self.picture.upwards
        return [Curve(edge, _points(edge, chain, tops, ports[i], up)) for i, (edge, chain) in enumerate(self.chains)]

    def _ports(self) -> dict[int, float]:
        """Where each edge enters its target: operands from left to right; for nodes with bodies as the edges come."""
        entering: dict[str, list[int]] = {}
        for i, (edge, _) in enumerate(self.chains):
            entering.setdefault(edge.target, []).append(i)
        out: dict[int, float] = {}
        for target, edges in entering.items():
            placed = self.placed[self.index[target]]
            if placed.entry:
                out.update((i, placed.x + placed.entry[self.chains[i][0].port]) for i in edges)
                continue
            if placed.inside or placed.box.kind == "group":
                edges.sort(key=lambda i: self.chains[i][1][-2].center)
            step = min(16.0, (placed.w - 20) / len(edges))
            for k, i in enumerate(edges):
                out[i] = placed.x + placed.w / 2 + (k - (len(edges) - 1) / 2) * step
        return out


def _points(
    edge: Edge, chain: Sequence[_Spot], tops: Sequence[tuple[float, float]], port: float, up: bool
) -> list[tuple[float, float]]:
    source, target = chain[0].placed, chain[-1].placed
    assert source is not None and target is not None
    start = source.x + (source.exit[edge.leaving] if source.exit else source.w / 2)
    points = [(start, source.y if up else source.y + source.h)]
    points += [(start, y) for y in [_border(tops[chain[0].layer], not up)] if abs(y - points[0][1]) > 1]
    for dummy in chain[1:-1]:
        points += [(dummy.center, _border(tops[dummy.layer], below)) for below in (up, not up)]
    last = (port, target.y + target.h if up else target.y)
    points += [(port, y) for y in [_border(tops[chain[-1].layer], up)] if abs(y - last[1]) > 1]
    return [*points, last]


def _border(layer: tuple[float, float], below: bool) -> float:
    """The top of a layer, or its bottom: lines bend between layers only, never beside a tall box."""
    return layer[0] + layer[1] if below else layer[0]


def _wish(spot: _Spot, down: bool) -> float:
    """Where a spot wants to be: the mean place of its neighbours; of its operands the deeper ones count more."""
    near = (spot.above + spot.below) if spot.placed is None else spot.above if down else spot.below
    if not near:
        return spot.center
    if not down or spot.placed is None:
        return sum(n.center for n in near) / len(near)
    return sum(n.center * n.pull for n in near) / sum(n.pull for n in near)


def _spread(layer: Sequence[_Spot], wish: Sequence[float]) -> list[float]:
    """The centers closest to ``wish`` (least squares) that keep the order and the gaps.

    With the offsets o that boxes have when they touch, x - o must not decrease: pool neighbours that would collide.
    """
    offsets = [0.0]
    for a, b in zip(layer, layer[1:]):
        gap = GAP_X if a.placed is not None and b.placed is not None else GAP_X / 2
        offsets.append(offsets[-1] + (a.width + b.width) / 2 + gap)
    pools: list[tuple[float, float, int]] = []  # mean, weight, members
    for spot, x, offset in zip(layer, wish, offsets):
        mean, weight, members = x - offset, spot.weight, 1
        while pools and pools[-1][0] > mean:
            other, more, count = pools.pop()
            mean = (mean * weight + other * more) / (weight + more)
            weight, members = weight + more, members + count
        pools.append((mean, weight, members))
    flat = [mean for mean, _, members in pools for _ in range(members)]
    return [mean + offset for mean, offset in zip(flat, offsets)]
