"""Graphviz, for those who have it: a picture as DOT text, and drawn by ``dot`` within a time limit.

Nothing here is needed to see a program; the built-in drawing is the picture of record. ``dot`` finds no layout of a
large training graph in useful time, so it gets a few seconds, and then the built-in drawing stands in and says so,
once. Every word is quoted; ids are positions, so equal programs give equal text.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

from msnb.base.events import notice
from msnb.notebook.drawing.colors import CARD, KEPT, heat_of, look_of, tint_look
from msnb.notebook.drawing.picture_tree import Box, Edge, Picture

LIMIT = 5.0


def dot_of(picture: Picture) -> str:
    """The picture in Graphviz's language.

    Args:
        picture: the parts; open groups, bodies and columns become clusters, closed groups single boxes.
    """
    lines = ["digraph {", "  rankdir=TB; nslimit=1; nslimit1=1; mclimit=0.1; splines=true; compound=true;"]
    lines.append(f'  bgcolor="{CARD}"; fontname="Helvetica"; labelloc=t; label={_quoted(picture.title)};')
    lines.append('  node [shape=box, style="filled,rounded", fontname="Helvetica", fontsize=11];')
    lines.append('  edge [color="#8a94a3", arrowsize=0.6];')
    lines += [f"  {line}" for line in _inside(picture, picture.upwards)]
    for edge in picture.kept:
        lines.append(f"  {_quoted(edge.source)} -> {_quoted(edge.target)} "
                     f'[style=dashed, color="{KEPT}", constraint=false];')  # fmt: skip
    return "\n".join([*lines, "}", ""])


def _inside(picture: Picture, upwards: bool) -> Iterator[str]:
    for k, column in enumerate(picture.columns):
        yield from _cluster(f"column{k}", column.title, column)
    for box in picture.boxes:
        if box.kind in ("in", "out"):
            yield f"{_quoted(box.id)} [shape=point, width=0.03];"
        elif box.open and box.inside is not None:
            yield from _cluster(box.id, box.title, box.inside)
        else:
            yield _node(box)
        for k, frame in enumerate(box.frames):
            yield from _cluster(f"{box.id}/{k}", f"{box.title}: {frame.label}", frame.picture)
    opened = {b.id: b for b in picture.boxes if b.open and b.inside is not None}
    for edge in picture.edges:
        yield _edge(edge, opened, upwards)


def _cluster(name: str, title: str, picture: Picture) -> Iterator[str]:
    yield f"subgraph {_quoted('cluster_' + name)} {{"
    yield f'  label={_quoted(title)}; style=rounded; color="#c3ccd8"; fontsize=11;'
    for line in _inside(picture, picture.upwards):
        yield f"  {line}"
    yield "}"


def _node(box: Box) -> str:
    fill, border = look_of(box.kind, box.family) if box.heat is None else heat_of(box.heat)
    fill, border = tint_look(box.tint[0]) if box.tint is not None else (fill, border)
    ink = ', fontcolor="white"' if box.kind == "result" else ""
    heavy = ", penwidth=2.5" if box.mark else ""
    label = _quoted("\n".join([box.title, *box.lines]))
    return f'{_quoted(box.id)} [label={label}, fillcolor="{fill}", color="{border}"{ink}{heavy}];'


def _edge(edge: Edge, opened: dict[str, Box], upwards: bool) -> str:
    source = _port(opened, edge.source, "out", edge.leaving)
    target = _port(opened, edge.target, "in", edge.port)
    back = " [dir=back]" if upwards else ""
    ends = (target, source) if upwards else (source, target)
    return f"{_quoted(ends[0])} -> {_quoted(ends[1])}{back};"


def _port(opened: dict[str, Box], name: str, kind: str, k: int) -> str:
    box = opened.get(name)
    if box is None or box.inside is None:
        return name
    ports = [b.id for b in box.inside.boxes if b.kind == kind]
    return ports[k] if k < len(ports) else next((b.id for b in box.inside.boxes), name)


def _quoted(words: str) -> str:
    clean = "".join(c if c.isprintable() or c == "\n" else " " for c in words)
    return '"' + clean.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def drawn_by_dot(picture: Picture, limit: float = LIMIT) -> str | None:
    """The SVG that Graphviz makes of a picture.

    Args:
        picture: the parts.
        limit: seconds that ``dot`` may take.

    Returns:
        The SVG, or None (announced once) where there is no ``dot``, it fails, or it takes too long.
    """
    program = shutil.which("dot")
    if program is None:
        return _without("Graphviz's program dot is not installed")
    try:
        done = subprocess.run([program, "-Tsvg"], input=dot_of(picture), text=True, capture_output=True,
                              timeout=limit, check=True)  # fmt: skip
    except subprocess.TimeoutExpired:
        return _without(f"dot found no layout within {limit:g} s")
    except (OSError, subprocess.CalledProcessError):
        return _without("dot failed on this program")
    return done.stdout[done.stdout.index("<svg") :] if "<svg" in done.stdout else _without("dot gave no picture")


def _without(why: str) -> str | None:
    notice(f"{why}: the built-in drawing is shown.", key=f"graphviz {why}")
    return None
