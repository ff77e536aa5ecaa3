"""Pictures of plans: devices and who holds what, time against memory, pipelines, buckets of gradients, bytes.

    devices      servers of eight, two groups of four; devices of one colour hold the same part of a value
    front        bytes across, seconds up; a ring around the plan that is shown
    pipeline     a row per stage: forward, backward, the number of the micro-batch; what is grey is the bubble
    segments     a row per way to cut: backward pass, all-reduces, and the tail behind the dashed line

Seconds are simulated, and every picture says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msnb.notebook.charts.html_fragments import bytes_word, count
from msnb.notebook.charts.plot import GRID, HUES, RIGHT, Scale, W, card, grid
from msnb.notebook.charts.timeline import Lane, lanes_svg
from msnb.notebook.drawing import ALARM, EDGE, INK, LINE_COLOUR, SOFT, escaped, number, rect, shortened, text
from msnb.notebook.views.roofline_view import seconds_word
from msnb.parallel.partition.gradient_buckets import Segments
from msnb.parallel.partition.step_simulator import Timeline
from msnb.parallel.planner.pareto_front import Point
from msnb.parallel.sharding.device_mesh import Mesh
from msnb.parallel.sharding.layout import TensorLayout
from msnb.parallel.sharding.pipeline_schedule import PipelineTimeline

CHIP, GAP, GROUP = 40.0, 6.0, 4
MOST_CHIPS = 128
FILLS = ("#dbe8fb", "#fdeecb", "#d4efec", "#e8dffa", "#e1f1d3", "#fbdcd7", "#f5e2ef", "#e4e8ee")
FORWARD, COMPUTE, NETWORK, WAIT = "#a9c7ee", "#8f70c4", "#b07d16", "#eceff4"
HOLDS = (("weights", "#5f8fd0"), ("gradients", "#cb952b"), ("optimizer", "#3f9a98"), ("activations", "#8f70c4"))


def mesh_svg(mesh: Mesh, name: str, layout: TensorLayout, shape: Sequence[int],
             stages: Sequence[int] = ()) -> str:  # fmt: skip
    """Devices with their rank and the part of a value that they hold.

    Args:
        mesh: the devices, of the first stage where there are several; stages: the number of devices of every stage.
        name, layout, shape: the value.
    """
    total = sum(stages) or mesh.size
    shown = min(total, MOST_CHIPS)
    marks = [s for s, n in enumerate(stages) for _ in range(n)][:shown] or _parts(mesh, layout, shape, shown)
    servers, height = _servers(marks, "stage" if stages else "part")
    splits = " x ".join(map(str, layout.splits(mesh))) or "1"
    said = f"{name} {list(shape)} in {splits} parts: devices of one colour hold the same part"
    if stages:
        said = "devices of one colour are a stage of the pipeline"
    more = f"{shown} of {total} devices shown. " if shown < total else ""
    out = [*servers, text(16, 46, shortened(more + said, 110), 11, INK, anchor="start")]
    words = " x ".join(map(str, mesh.factors)) or "1"
    title = f"device mesh {words}" + (f", {len(stages)} stages" if stages else "") + f", cluster {mesh.cluster.name}"
    return card(W, height, title, out)


def _parts(mesh: Mesh, layout: TensorLayout, shape: Sequence[int], shown: int) -> list[int]:
    """Per device the number of the part that it holds."""
    parts = [tuple((s.start, s.stop) for s in layout.part(mesh, shape, r)) for r in range(min(mesh.size, shown))]
    kinds = {part: i for i, part in enumerate(dict.fromkeys(parts))}
    return [kinds[part] for part in parts]


def _servers(marks: Sequence[int], noun: str) -> tuple[list[str], float]:
    """Servers of two groups of devices, row by row, and the height that they need."""
    side = 2 * CHIP + 3 * GAP
    server = 2 * side + 3 * GAP, side + 2 * GAP + 18
    across = max(1, int((W - 32) // (server[0] + 12)))
    out, servers = [], -(-len(marks) // 8)
    for s in range(servers):
        x, y = 16 + (s % across) * (server[0] + 12), 66 + (s // across) * (server[1] + 12)
        out.append(rect(x, y, *server, "#ffffff", LINE_COLOUR, 9))
        out.append(text(x + 10, y + 14, f"server {s}", 10.5, SOFT, weight=600, anchor="start"))
        groups = [g for g in (0, 1) if 8 * s + 4 * g < len(marks)]
        out += [_group(x + GAP + g * (side + GAP), y + 18 + GAP, 8 * s + 4 * g, marks, noun) for g in groups]
    return out, 66 + -(-servers // across) * (server[1] + 12) + 6


def _group(x: float, y: float, first: int, marks: Sequence[int], noun: str) -> str:
    side = 2 * CHIP + 3 * GAP
    out = [rect(x, y, side, side, "#f6f8fb", LINE_COLOUR, 7, dash="3 3")]
    for i in range(min(GROUP, len(marks) - first)):
        rank, kind = first + i, marks[first + i]
        at_x, at_y = x + GAP + (i % 2) * (CHIP + GAP), y + GAP + (i // 2) * (CHIP + GAP)
        box = rect(at_x, at_y, CHIP, CHIP, FILLS[kind % len(FILLS)], EDGE, 6, width=0.9)
        out.append(f"<g><title>device {rank}: {noun} {kind}</title>{box}"
                   f"{text(at_x + CHIP / 2, at_y + 18, str(rank), 12, INK, weight=600)}"
                   f"{text(at_x + CHIP / 2, at_y + 32, f'{noun} {kind}', 9, SOFT)}</g>")  # fmt: skip
    return "".join(out)


def front_svg(points: Sequence[Point], now: tuple[float, float] | None = None) -> str:
    """Plans of which none is better in both; hollow: with layers computed twice.

    Args:
        points: the front; now: (bytes, seconds) of the plan that is shown.
    """
    every = [(p.nbytes, p.seconds) for p in points] + ([now] if now else [])
    unit, size = ("GB", 1e9) if max(n for n, _ in every) >= 1e9 else ("MB", 1e6)
    x, y = _front_scales(every, size)
    out = grid(x, y, f"{unit} per device", "ms, simulated")
    step = "".join(f"{'L' if i else 'M'}{number(x(p.nbytes / size))} {number(y(p.seconds * 1e3))}"
                   for i, p in enumerate(points))  # fmt: skip
    out.append(f'<path d="{step}" fill="none" stroke="{HUES[0]}" stroke-width="1.6"/>')
    out += [_front_dot(p, x(p.nbytes / size), y(p.seconds * 1e3)) for p in points]
    if now:
        at = f'cx="{number(x(now[0] / size))}" cy="{number(y(now[1] * 1e3))}"'
        out.append(f'<circle {at} r="8" fill="none" stroke="{ALARM}" stroke-width="1.8"/>')
        out.append(text(x(now[0] / size) - 12, y(now[1] * 1e3) - 10, "this plan", 11, ALARM, 600, "end", halo=True))
    out.append(text(W - RIGHT, 44, "dots: strategies; hollow: some layers computed twice", 10.5, SOFT, anchor="end"))
    return card(W, 346, "time against memory: no plan is better in both", out)


def _front_scales(every: Sequence[tuple[float, float]], size: float) -> tuple[Scale, Scale]:
    """Bytes in units of ``size`` across and milliseconds up, with a margin around all plans."""
    big, slow = max(n for n, _ in every), max(t for _, t in every)
    low, fast = min(n for n, _ in every), min(t for _, t in every)
    margin = (big - low or big) * 0.06 / size, (slow - fast or slow) * 1e3 * 0.1
    x = Scale(max(0.0, low / size - margin[0]), big / size + margin[0], 66, W - RIGHT)
    return x, Scale(max(0.0, fast * 1e3 - margin[1]), slow * 1e3 + margin[1], 300, 66)


def _front_dot(p: Point, x: float, y: float) -> str:
    again = f", {len(p.rematerialized)} layers computed twice" if p.rematerialized else ""
    words = f"{bytes_word(int(p.nbytes))}, {seconds_word(p.seconds)}{again}"
    look = f'fill="#ffffff" stroke="{HUES[0]}" stroke-width="1.6"' if p.rematerialized else f'fill="{HUES[0]}"'
    return f'<g><title>{escaped(words)}</title><circle cx="{number(x)}" cy="{number(y)}" r="4" {look}/></g>'


def step_svg(line: Timeline) -> str:
    """The two streams of a device, compute and network, over a step."""
    last = max([end for _, _, end, _ in line.events] or [0.0])
    update = [("compute", last, line.seconds, "optimizer")] if line.seconds > last else []
    lanes = [
        Lane(name, [(a, b, what) for stream, a, b, what in (*line.events, *update) if stream == name], colour)
        for name, colour in (("compute", COMPUTE), ("network", NETWORK))
    ]
    return lanes_svg(f"one step of a device, simulated: {seconds_word(line.seconds)}", lanes, line.seconds)


def pipeline_svg(line: PipelineTimeline) -> str:
    """A row per stage; blocks carry the number of their micro-batch."""
    left, row, top = 66.0, 30.0, 62.0
    unit, scale = ("ms", 1e3) if line.seconds > 0.01 else ("us", 1e6)
    bottom = top + row * line.stages
    x = Scale(0.0, line.seconds * scale, left, W - RIGHT)
    out = []
    for s, events in enumerate(line.events):
        at = top + s * row
        out.append(text(left - 8, at + 15, f"stage {s}", 11, INK, anchor="end"))
        out.append(rect(left, at, W - RIGHT - left, row - 8, WAIT, "", 3))
        for a, b, kind, piece, i in events:
            look = {"F": (FORWARD, INK), "B": (COMPUTE, "#ffffff")}.get(kind, (NETWORK, "#ffffff"))
            wide = max(x(b * scale) - x(a * scale), 0.8)
            word = {"F": "forward", "B": "backward"}.get(kind, "gradients and optimizer")
            said = f"{word} {i if kind != 'tail' else ''} of piece {piece}: {seconds_word(b - a)}"
            fits = kind != "tail" and wide > 9
            name = text(x(a * scale) + wide / 2, at + 15, str(i), 10, look[1], 600) if fits else ""
            box = rect(x(a * scale), at, wide, row - 8, look[0], "#ffffff" if wide > 3 else "", 2 if wide > 6 else 0,
                       width=0.7)  # fmt: skip
            out.append(f"<g><title>{escaped(said)}</title>{box}{name}</g>")
    for tick in x.ticks():
        out.append(text(x(tick), bottom + 12, f"{tick:g}", 10.5, SOFT))
    out.append(text((left + W - RIGHT) / 2, bottom + 30, f"simulated {unit}", 11, INK))
    known = ("forward", FORWARD), ("backward", COMPUTE), ("gradients, optimizer", NETWORK), ("bubble", WAIT)
    out += _legend(known, 36)
    title = (f"{line.scheduler}, {line.stages} stages, {line.micro} micro-batches: step {seconds_word(line.seconds)}, "
             f"bubble {line.bubble:.0%}")  # fmt: skip
    return card(W, bottom + 42, title, out)


def segments_svg(ways: Sequence[Segments]) -> str:
    """Ways to cut gradients into buckets, one below the other; the tail is what ends behind the backward pass."""
    left, row, top = 96.0, 40.0, 62.0
    end = max([w.computed + w.tail for w in ways] or [0.0])
    start = min([g.ready for w in ways for g in w.gradients] or [0.0])
    start = max(0.0, start - 0.06 * (end - start))
    unit, scale = ("ms", 1e3) if end > 0.01 else ("us", 1e6)
    x = Scale(start * scale, end * scale * 1.001, left, W - RIGHT - 74)
    bottom, out = top + row * len(ways), []
    for i, w in enumerate(ways):
        at = top + i * row
        out.append(text(left - 8, at + 19, w.algorithm.replace("_", " "), 11, INK, anchor="end"))
        out.append(rect(left, at, x(w.computed * scale) - left, 9, COMPUTE, "", 2))
        for j, (a, b, n) in enumerate(w.events):
            wide = max(x(b * scale) - x(a * scale), 1.0)
            fill = NETWORK if j % 2 else "#d09a2c"
            said = f"{bytes_word(int(n))}, {len(w.buckets[j])} gradients, {seconds_word(b - a)}"
            out.append(f"<g><title>{escaped(said)}</title>{rect(x(a * scale), at + 12, wide, 13, fill, '', 2)}</g>")
        out.append(text(W - RIGHT - 68, at + 15, count(len(w.events), "bucket"), 10.5, SOFT, anchor="start"))
        out.append(text(W - RIGHT - 68, at + 28, f"tail {seconds_word(w.tail)}", 10.5, ALARM, 600, "start"))
    computed = max([w.computed for w in ways] or [0.0])
    dash = f'stroke="{ALARM}" stroke-width="1.2" stroke-dasharray="4 3"'
    out.append(f'<path d="M{number(x(computed * scale))} {number(top - 6)}V{number(bottom)}" {dash}/>')
    for tick in x.ticks():
        out.append(f'<path d="M{number(x(tick))} {number(bottom)}v4" stroke="{EDGE}"/>')
        out.append(text(x(tick), bottom + 16, f"{tick:g}", 10.5, SOFT))
    out.append(text((left + W - RIGHT - 74) / 2, bottom + 34, f"simulated {unit}", 11, INK))
    out += _legend([("backward pass", COMPUTE), ("all-reduce of a bucket", NETWORK)], 36)
    return card(W, bottom + 46, "gradients summed in buckets: what is behind the dashed line is the tail", out)


def holdings_svg(title: str, rows: Sequence[tuple[str, Mapping[str, float]]], limit: float = 0.0) -> str:
    """Bytes per device by what they hold, one bar per row; a dashed line where memory ends."""
    left, row, top = 96.0, 30.0, 62.0
    most = max([sum(r[k] for k, _ in HOLDS) for _, r in rows] or [1.0]) or 1.0
    shown = 0.0 < limit < 4 * most
    x = Scale(0.0, max(most, limit if shown else 0.0) * 1.02, left, W - RIGHT - 84)
    bottom, out = top + row * len(rows), []
    for i, (name, r) in enumerate(rows):
        at, done = top + i * row, 0.0
        out.append(text(left - 8, at + 15, shortened(name, 14), 11, INK, anchor="end"))
        for kind, colour in HOLDS:
            wide = x(done + r[kind]) - x(done)
            if wide > 0:
                box = rect(x(done), at, wide, row - 8, colour, "#ffffff" if wide > 3 else "", 2, width=0.7)
                out.append(f"<g><title>{kind}: {bytes_word(int(r[kind]))}</title>{box}</g>")
            done += r[kind]
        out.append(text(x(done) + 7, at + 15, bytes_word(int(done)), 10.5, SOFT, anchor="start"))
    if shown:
        dash = f'stroke="{ALARM}" stroke-width="1.2" stroke-dasharray="4 3"'
        out.append(f'<path d="M{number(x(limit))} {number(top - 6)}V{number(bottom)}" {dash}/>')
        out.append(text(x(limit) - 5, top - 10, f"a device has {bytes_word(int(limit))}", 10.5, ALARM, 600, "end"))
    out.append(f'<path d="M{number(left)} {number(bottom)}H{number(W - RIGHT)}" stroke="{GRID}"/>')
    out += _legend(HOLDS, 36)
    return card(W, bottom + 14, title, out)


def _legend(words: Sequence[tuple[str, str]], y: float) -> list[str]:
    out, x = [], 16.0
    for word, colour in words:
        out.append(rect(x, y, 11, 11, colour, EDGE if colour == WAIT else "", 2))
        out.append(text(x + 16, y + 9.5, word, 10.5, SOFT, anchor="start"))
        x += 34 + 6.1 * len(word)
    return out
