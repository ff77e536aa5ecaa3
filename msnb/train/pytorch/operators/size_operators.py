"""Sizes as numbers of Python: what models of ONNX compute of shapes."""

from __future__ import annotations

from typing import Any

_SIGNS = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "//"}


def _joined(a: dict[str, Any]) -> str:
    parts = []
    for i, part in enumerate(a["tensors"]):
        parts += [str(int(n)) for n in part] if isinstance(part, list) else [f"*{{tensors_{i}}}"]
    return f"({', '.join(parts)}{',' * (len(parts) == 1)})"


def _parts(a: dict[str, Any]) -> str:
    places = [f"{{self}}[{int(place)}]" for place in a["places"]]
    return f"({', '.join(places)}{',' * (len(places) == 1)})"


TABLE: dict[str, Any] = {
    "size.shape": "{self}.shape", "size.axis": "{self}.shape[{axis}]", "size.part": "{self}[{index}]",
    "size.parts": _parts, "size.tuple": "({self},)", "size.first": "{self}[0]", "size.joined": _joined,
    "size.arithmetic": lambda a: f"{{left}} {_SIGNS[a['sign']]} {{right}}",
}  # fmt: skip
