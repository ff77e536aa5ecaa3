"""Parts of tensors: slices, positions, gather and scatter."""

from __future__ import annotations

from typing import Any

_END = (1 << 63) - 1


def place_text(arguments: dict[str, Any], suffix: str = "") -> str:
    """The template for one axis, of ``aten.select`` or ``aten.slice``: "{index}" or "{start}:{end}"."""
    if "index" in arguments:
        return f"{{index{suffix}}}"
    start, end, step = arguments.get("start"), arguments.get("end"), arguments.get("step", 1)
    place = (f"{{start{suffix}}}" if start not in (None, 0) else "") + ":"
    place += f"{{end{suffix}}}" if end is not None and not (isinstance(end, int) and end >= _END) else ""
    return place + (f":{{step{suffix}}}" if step != 1 else "")


def _position(arguments: dict[str, Any]) -> str:
    """All axes: ":, 2" or "..., 1:3, :"."""
    dim: int = arguments.get("dim", 0)
    if dim >= 0:
        return ":, " * dim + place_text(arguments)
    return "..., " + place_text(arguments) + ", :" * (-1 - dim)


def _part(arguments: dict[str, Any]) -> str:
    return "{self}" if place_text(arguments) == ":" else f"{{self}}[{_position(arguments)}]"


def _index(a: dict[str, Any]) -> str:
    """``x[i, :, j]``: None among the positions takes an axis whole."""
    places = [f"{{indices_{i}}}" if index is not None else ":" for i, index in enumerate(a["indices"])]
    return f"{{self}}[{', '.join(places)}]"


def _index_put(a: dict[str, Any]) -> str:
    places = "".join(f"{{indices_{i}}}, " for i, index in enumerate(a["indices"]))
    if any(index is None for index in a["indices"]):
        raise ValueError("index_put with axes that are taken whole")
    return f"{{self}}.index_put(({places}), {{values}}{{, accumulate=accumulate|False}})"


TABLE: dict[str, Any] = {
    "select": _part, "slice": _part, "index": _index, "index_put": _index_put,
    "narrow": "mint.narrow({self}, {dim}, {start}, {length})",
    "index_select": "mint.index_select({self}, {dim}, {index})",
    "gather": "mint.gather({self}, {dim}, {index})",
    "take_along_dim": "ops.take_along_dim({self}, {indices}, {dim})",
    "take": "ops.take({self}, {index})",
    "scatter": lambda a: "mint.scatter({self}, {dim}, {index}, " + ("{src}" if "src" in a else "{value}") + ")",
    "scatter_add": "mint.scatter_add({self}, {dim}, {index}, {src})",
    "scatter_reduce": "ops.scatter_reduce({self}, {dim}, {index}, {src}, {reduce}"
                      "{, include_self=include_self|True})",
    "index_add": "mint.index_add({self}, {dim}, {index}, {source}{, alpha=alpha|1})",
    "index_copy": "ops.index_copy({self}, {dim}, {index}, {source})",
    "index_fill": "ops.index_fill({self}, {dim}, {index}, {value})",
    "masked_fill": "mint.masked_fill({self}, {mask}, {value})",
    "masked_select": "mint.masked_select({self}, {mask})",
    "masked_scatter": "ops.masked_scatter({self}, {mask}, {source})",
    "nonzero": "mint.nonzero({self})",
    "select_scatter": "ops.select_scatter({self}, {src}, {dim}, {index})",
    "slice_scatter": "ops.slice_scatter({self}, {src}{, axis=dim|0}{, start=start}{, end=end}{, step=step|1})",
    "renorm": "ops.renorm({self}, {p}, {dim}, {maxnorm})",
    "fill": "mint.full_like({self}, {value})", "zero": "mint.zeros_like({self})",
    "copy": "{src}.expand_as({self}).to({self}.dtype)",
}  # fmt: skip
