"""Numbers that a renderer can paint over a picture: one per node, and one per group that is left out.

    {"memory": {"title": "bytes of results", "unit": "B", "nodes": {"3": 4096, "g2": 65536}}}

Ids are those of the picture's boxes. A renderer adds up what an open group holds (of a ``norm`` the largest counts); a
group whose contents were left out of the JSON carries its own number. Nothing is run for them: sizes and arithmetic
follow from types. Zeros are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from msnb.ir.graph import Graph, Node
from msnb.ir.node_cost import flops_of, size_of
from msnb.notebook.drawing.node_groups import is_drawn
from msnb.notebook.drawing.picture_tree import Picture


@dataclass
class Overlay:
    """A number per node.

    Attributes:
        name: a key: ``memory``, ``flops``, ``time``, ``norm``.
        title: in words.
        unit: ``B``, ``flops``, ``s`` or nothing.
        nodes: the numbers by id.
        marks: words for nodes that need attention.
        adds_up: a group's number is the sum; else the largest.
    """

    name: str
    title: str
    unit: str
    nodes: dict[str, float] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)
    adds_up: bool = True


def ids_of(graph: Graph, path: str = "") -> Iterator[tuple[str, Node]]:
    """Every drawn node with its box's id, those in bodies included."""
    for i, node in enumerate(graph.nodes):
        if is_drawn(node):
            yield f"{path}{i}", node
        for k, body in enumerate(node.graphs):
            yield from ids_of(body, f"{path}{i}/{k}/")


def cost_overlays(graph: Graph) -> list[Overlay]:
    """What follows from types: bytes of results, arithmetic."""
    memory, flops = Overlay("memory", "bytes of results", "B"), Overlay("flops", "arithmetic", "flops")
    for name, node in ids_of(graph):
        memory.nodes[name] = sum(size_of(v.type) or 0 for v in node.outputs)
        flops.nodes[name] = flops_of(node)
    return [memory, flops]


def overlays_json(overlays: Sequence[Overlay], picture: Picture, out: dict[str, Any], room: int) -> dict[str, Any]:
    """The overlays of the boxes that a picture's JSON holds.

    Args:
        overlays: numbers for every node of the picture.
        picture: the picture.
        out: its JSON, perhaps with groups left out.
        room: at most this many characters; what does not fit is left out.
    """
    present, emptied = set[str](), set[str]()
    _collect(out, present, emptied)
    inside = {b.id: [x.id for x in b.inside.walk()] for b in picture.walk() if b.id in emptied and b.inside is not None}
    found: dict[str, Any] = {}
    for overlay in overlays:
        entry = _entry(overlay, present, inside)
        if entry["nodes"]:
            room -= len(json.dumps(entry))
            if room >= 0:
                found[overlay.name] = entry
    return found


def _entry(overlay: Overlay, present: set[str], inside: dict[str, list[str]]) -> dict[str, Any]:
    numbers = {name: x for name, x in overlay.nodes.items() if name in present}
    for group, members in inside.items():
        held = [overlay.nodes[m] for m in members if m in overlay.nodes]
        numbers[group] = (sum(held) if overlay.adds_up else max(held, default=0.0)) if held else 0.0
    marks = {name: word for name, word in overlay.marks.items() if name in present and word}
    shown = {name: _short(x) for name, x in numbers.items() if x}
    return {"title": overlay.title, "unit": overlay.unit, "nodes": shown, **({"marks": marks} if marks else {})}


def _short(x: float) -> float | int:
    """Four digits; JSON knows neither infinity nor NaN, so what is not finite is the largest number."""
    if x != x or x in (float("inf"), float("-inf")):
        return 1.797e308
    return int(x) if x == int(x) and abs(x) < 1e15 else float(f"{x:.4g}")


def _collect(out: dict[str, Any], present: set[str], emptied: set[str]) -> None:
    for node in out["nodes"]:
        present.add(node["id"])
        if node["kind"] == "group" and "inside" not in node:
            emptied.add(node["id"])
        for inner in [*node.get("bodies", ()), *([node["inside"]] if "inside" in node else [])]:
            _collect(inner, present, emptied)
    for column in out.get("columns", ()):
        _collect(column, present, emptied)
