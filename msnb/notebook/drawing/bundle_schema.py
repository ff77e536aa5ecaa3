"""The schema of ``application/vnd.msnb.graph.v1+json``, as JSON Schema: what a renderer may rely on.

    {schema, version, kind, title, nodes, edges,            a picture; kind says which view made it
     columns, kept,                                         sides of a gradient program, lines between them
     calls, notes, data, overlays, truncated}               called graphs, lines to read, numbers, left-out groups

An edge is ``[source id, target id, operand, type]``; in a group, boxes of kind ``in`` and ``out`` are the places where
edges pass its border: edge ``[a, group, k, type]`` goes on at the group's k-th ``in``, edge ``[group, b, k, type, j]``
comes from its j-th ``out`` (the first, where j is left out). A kept line is ``[source id, target id, type]``. ``loc``
is ``[file or cell, line, column, end column]``. ``ports`` is how many operands a node has (left out up to two).

An overlay is a number per node that can be painted over the picture: ``{"bytes": {"title", "unit", "nodes": {id:
number}, "marks": {id: word}}}``. A closed group without contents has its own number, the sum of what it holds; a
renderer sums up the others (a ``norm`` is not summed: the largest counts).

Fields may be added within version 1; none is taken away or given another meaning without another version (and another
MIME type). There are no coordinates: places follow from the parts (``layout.py``), and a renderer that opens a group
needs new ones anyway.
"""

from __future__ import annotations

from typing import Any

from msnb.notebook.drawing.picture_tree import SCHEMA, VERSION

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_PICTURE: dict[str, Any] = {
    "title": _TEXT,
    "nodes": {"type": "array", "items": {"$ref": "#/$defs/node"}},
    "edges": {"type": "array", "items": {"$ref": "#/$defs/edge"}},
    "columns": {"type": "array", "items": {"$ref": "#/$defs/picture"}},
    "kept": {"type": "array", "items": {"type": "array", "prefixItems": [_TEXT, _TEXT, _TEXT], "minItems": 3}},
    "label": _TEXT,
    "upwards": {"type": "boolean"},
}
_NODE: dict[str, Any] = {
    "id": _TEXT,
    "kind": {"enum": ["param", "again", "state", "node", "constant", "result", "group", "in", "out"]},
    "title": _TEXT,
    "lines": {"type": "array", "items": _TEXT},
    "family": _TEXT,
    "scope": _TEXT,
    "place": _TEXT,
    "why": _TEXT,
    "mark": _TEXT,
    "tint": {"type": "array", "prefixItems": [_COUNT, _TEXT], "minItems": 2, "maxItems": 2},
    "heat": {"type": "number", "minimum": 0, "maximum": 1},
    "loc": {"type": "array", "prefixItems": [_TEXT, *[{"type": "integer"}] * 3], "minItems": 4, "maxItems": 4},
    "bodies": {"type": "array", "items": {"$ref": "#/$defs/picture"}},
    "inside": {"$ref": "#/$defs/picture"},
    "open": {"type": "boolean"},
    "size": _COUNT,
    "ports": _COUNT,
}
_TOP: dict[str, Any] = {
    "schema": {"const": SCHEMA},
    "version": {"const": VERSION},
    "kind": _TEXT,
    "calls": {"type": "array", "items": {"$ref": "#/$defs/picture"}},
    "notes": {"type": "array", "items": _TEXT},
    "data": {"type": "object"},
    "overlays": {"type": "object", "additionalProperties": {"$ref": "#/$defs/overlay"}},
    "truncated": {"type": "boolean"},
}
_OVERLAY: dict[str, Any] = {
    "title": _TEXT,
    "unit": _TEXT,
    "nodes": {"type": "object", "additionalProperties": {"type": "number"}},
    "marks": {"type": "object", "additionalProperties": _TEXT},
}
_NEEDED = ["title", "nodes", "edges"]

JSON_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {**_TOP, **_PICTURE},
    "required": ["schema", "version", "kind", *_NEEDED],
    "additionalProperties": False,
    "$defs": {
        "picture": {
            "type": "object", "properties": _PICTURE, "required": _NEEDED, "additionalProperties": False,
        },
        "node": {
            "type": "object", "properties": _NODE, "required": ["id", "kind", "title", "lines"],
            "additionalProperties": False,
        },
        "edge": {"type": "array", "prefixItems": [_TEXT, _TEXT, _COUNT, _TEXT, _COUNT], "minItems": 4, "maxItems": 5},
        "overlay": {
            "type": "object", "properties": _OVERLAY, "required": ["title", "unit", "nodes"],
            "additionalProperties": False,
        },
    },
}  # fmt: skip
