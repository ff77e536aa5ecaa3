"""Weights in several files, and the index that says which file has which: ``model.safetensors.index.json``.

    {"metadata": {...}, "weight_map": {"wte.weight": "model-00001-of-00002.safetensors", ...}}

The files are those of the index's own folder, named without a path and no links; each must hold the weights that the
index says, and no others. Source: https://huggingface.co/docs/safetensors/metadata_parsing
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msnb.base.files.bounded_reader import Refuse, read_file, read_json
from msnb.base.files.json_schema import ANYTHING, TEXT, Record, Table
from msnb.train.files import safetensors_file

ENDING = ".index.json"
_INDEX = Record({"weight_map": Table(TEXT)}, {"metadata": ANYTHING})


def is_index(path: str) -> bool:
    """Whether a file's name is that of an index."""
    return path.endswith(ENDING)


def read(path: str, refuse: Refuse, read_one: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """All weights, in the order of the index.

    Args:
        path: the index. refuse: makes the error. read_one: reads one of the files.

    Raises:
        What ``refuse`` makes: no such index, a file of another folder, weights that are missing or too many.
    """
    safetensors_file.need_file(path)
    places = read_json(read_file(path, refuse), refuse, _INDEX, "the index")["weight_map"]
    folder = Path(path).parent
    found: dict[str, Any] = {}
    for name in dict.fromkeys(places.values()):
        if name != os.path.basename(name) or name in ("", ".", "..") or (folder / name).is_symlink():
            raise refuse(f"the index names the file {name!r}, which is not one of its own folder")
        part = read_one(str(folder / name))
        wanted = {weight for weight, place in places.items() if place == name}
        apart = sorted(wanted.symmetric_difference(part))
        if apart:
            raise refuse(f"the index and the file {name!r} differ about the weight {apart[0]!r}")
        found |= part
    return {weight: found[weight] for weight in places}
