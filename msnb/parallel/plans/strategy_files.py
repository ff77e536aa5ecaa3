"""Strategy files: JSON in MindSpore's schema, and what is checked of a page before anybody follows it.

    {"current_stage": 0,
     "parallel_strategy_item": {"Net/fc/matmul": {"stage": 0, "parallel_strategy": [[2, 1], [1, 4]]}},
     "parallel_layout_item": {"fc.weight": {"dev_matrix": [2, 4], "tensor_map": [0, -1], "tensor_shape": [64, 32]}},
     "msnb": {"device_num": 8, "operators": {"Net/fc/matmul": {"blocks": [["m", [0]]], "scatter": -1}}}}

People edit such files, so a wrong page is an error that names the place in it. ``msnb`` may be missing: MindSpore's own
files have no such key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msnb.base import CheckpointError
from msnb.base.files.atomic_write import write_all, write_whole
from msnb.base.files.bounded_reader import MOST_JSON, read_file, read_json
from msnb.base.files.json_schema import shown

Check = Callable[[Any], bool]


def write_strategies(path: str | Path, page: Mapping[str, Any]) -> None:
    """Write a strategy file; until the last moment an old one stays."""
    content = (json.dumps(page, indent=1) + "\n").encode()
    write_whole(str(path), lambda file: write_all(file.fileno(), content))


def read_strategies(path: str | Path, devices: int) -> dict[str, Any]:
    """The page of a strategy file for so many devices.

    Raises:
        CheckpointError: the file is none, or was made for another number of devices.
    """

    def refuse(why: str, hint: str = "") -> CheckpointError:
        return CheckpointError(f"{path} cannot be read as a strategy file: {why}.", hint=hint)

    try:
        page = read_json(read_file(path, refuse, MOST_JSON), refuse)
    except FileNotFoundError:
        raise refuse("there is no such file") from None
    for place, value, legal, check in _places(page):
        if not check(value):
            raise CheckpointError(f"{path} is no strategy file: {place} is {shown(value)}, not {legal}.")
    made_for = page.get("msnb", {}).get("device_num", devices)
    if made_for != devices:
        raise CheckpointError(f"{path} was made for {made_for} devices, this plan has {devices}.")
    return dict(page)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_stages(value: Any) -> bool:
    """One number for all parts of a model, or one for each."""
    return _is_int(value) or (_ints(value) and bool(value))


def _ints(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_int, value))


def _splits(value: Any) -> bool:
    return isinstance(value, list) and all(map(_ints, value))


def _tensor_map(value: Any) -> bool:
    return isinstance(value, list) and all(_is_int(m) or _ints(m) for m in value)


def _blocks(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(b, list) and len(b) == 2 and isinstance(b[0], str) and _ints(b[1]) for b in value
    )


def _places(page: Any) -> Iterator[tuple[str, Any, str, Check]]:
    """(place, value, what it has to be, check), from the outside in: a table is checked before it is entered."""
    yield "the page", page, "a table", _is_table
    items = page.get("parallel_strategy_item")
    yield "parallel_strategy_item", items, "a table of operators", _is_table
    for name, item in items.items():
        yield f"the entry of {name}", item, "a table with a parallel_strategy", _is_table
        splits = item.get("parallel_strategy")
        yield f"the parallel_strategy of {name}", splits, "a list of split counts per input", _splits
    layouts = page.get("parallel_layout_item", {})
    yield "parallel_layout_item", layouts, "a table of weights", _is_table
    for name, item in layouts.items():
        yield f"the layout of {name}", item, "a table with a tensor_map", _is_table
        yield f"the tensor_map of {name}", item.get("tensor_map"), "a list of device axes", _tensor_map
    yield from _own_places(page.get("msnb", {}))


def _own_places(own: Any) -> Iterator[tuple[str, Any, str, Check]]:
    """The same of what MindSpore's schema cannot say."""
    yield "msnb", own, "a table", _is_table
    yield "device_num of msnb", own.get("device_num", 1), "an int", _is_int
    yield "stages of msnb", own.get("stages", 1), "an int or a list of ints", _is_stages
    yield "pieces of msnb", own.get("pieces", []), "a list", lambda value: isinstance(value, list)
    for piece in (own, *own.get("pieces", [])):
        yield "a piece of msnb", piece, "a table", _is_table
        operators = piece.get("operators", {})
        yield "operators of msnb", operators, "a table of operators", _is_table
        for name, exact in operators.items():
            yield f"msnb's entry of {name}", exact, "a table with blocks and scatter", _is_table
            yield f"the blocks of {name}", exact.get("blocks"), "a list of [axis, device axes]", _blocks
            yield f"the scatter of {name}", exact.get("scatter"), "an int", _is_int
