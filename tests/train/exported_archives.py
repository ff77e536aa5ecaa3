"""Writes .pt2 files as PyTorch does, from pages of JSON and arrays: for tests that run without PyTorch."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "exported_programs"
_DTYPES = {1: "uint8", 4: "int32", 5: "int64", 7: "float32", 8: "float64", 12: "bool"}
_KINDS = {"parameter": "parameter_name", "buffer": "buffer_name", "tensor_constant": "tensor_constant_name"}


def page(name: str) -> Any:
    """The graph of a program that PyTorch exported."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def weights(graph: Any, seed: int = 0) -> dict[str, Any]:
    """Numbers for all weights of a program."""
    rng = np.random.default_rng(seed)
    module = graph["graph_module"]
    found = {}
    for spec in module["signature"]["input_specs"]:
        ((kind, entry),) = spec.items()
        if kind in _KINDS:
            meta = module["graph"]["tensor_values"][entry["arg"]["name"]]
            shape = tuple(size["as_int"] for size in meta["sizes"])
            values = rng.standard_normal(shape) * 0.3
            name = entry[_KINDS[kind]]
            found[name] = (np.abs(values) + 0.5 if name.endswith("running_var") else values).astype(
                _DTYPES[meta["dtype"]]
            )
    return found


def write(path: Path, graph: Any, arrays: dict[str, Any], changed: dict[str, bytes] | None = None) -> str:
    """The archive; ``changed`` replaces entries."""
    rows, entries = {}, {}
    for i, (name, array) in enumerate(arrays.items()):
        strides = [stride // array.itemsize for stride in array.strides]
        meta = {"dtype": next(k for k, v in _DTYPES.items() if v == array.dtype.name),
                "sizes": [{"as_int": n} for n in array.shape], "strides": [{"as_int": n} for n in strides],
                "storage_offset": {"as_int": 0}}  # fmt: skip
        rows[name] = {"path_name": f"weight_{i}", "is_param": True, "use_pickle": False, "tensor_meta": meta}
        entries[f"m/data/weights/weight_{i}"] = array.tobytes()
    entries |= {"m/models/model.json": json.dumps(graph).encode(), "m/byteorder": b"little",
                "m/data/weights/model_weights_config.json": json.dumps({"config": rows}).encode()}  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (entries | (changed or {})).items():
            archive.writestr(name, content)
    return str(path)
