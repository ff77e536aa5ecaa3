"""A file .pt2 of ``torch.export.save``: a zip of JSON and raw numbers, read without PyTorch and without any pickle.

    name/models/model.json                          the graph
    name/data/weights/model_weights_config.json     weight -> file, dtype, sizes, strides
    name/data/weights/weight_0 ...                  the numbers
    name/data/constants/...                         tensors that the program holds beside its weights

Source: https://docs.pytorch.org/docs/stable/export/program_archive.html
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from msnb.base import CheckpointError, MsnbError
from msnb.base.files.array_archive import Array
from msnb.base.files.bounded_reader import Refuse, need_room, read_json
from msnb.base.files.json_schema import ANYTHING
from msnb.base.files.zip_archive import ZipArchive, open_archive
from msnb.core import dtypes
from msnb.train.pytorch.exported_program import DTYPES, ExportedProgram, decode_program

MOST_GRAPH = 1 << 28  # bytes of JSON


def read_program(path: str) -> ExportedProgram:
    """The program and weights of a file.

    Raises:
        ValueError: CheckpointError: the file is damaged, or another one than ``torch.export.save`` writes.
        FileNotFoundError: there is none.
    """

    def refuse(why: str, hint: str = "") -> CheckpointError:
        return CheckpointError(f"the exported program {path!r} cannot be read: {why}.", hint=hint)

    with open_archive(path, refuse) as archive:
        models = [name for name in archive.names if name.endswith("/models/model.json")]
        if len(models) != 1:
            raise refuse("the archive holds no models/model.json", "torch.export.save(torch.export.export(...), path).")
        folder = models[0][: -len("models/model.json")]
        if archive.content(folder + "byteorder").strip() != b"little":
            raise refuse("its numbers are big-endian")
        program = decode_program(_page(archive, models[0], refuse), refuse)
        for kind in ("weights", "constants"):
            program.arrays |= _arrays(archive, f"{folder}data/{kind}/", kind, refuse)
    missing = sorted(set(program.weights.values()) - set(program.arrays))
    if missing:
        raise refuse(f"the weight {missing[0]!r} is missing")
    return program


def _page(archive: ZipArchive, name: str, refuse: Refuse) -> Any:
    return read_json(archive.content(name), refuse, ANYTHING, f"the entry {name}", MOST_GRAPH)


def _arrays(archive: ZipArchive, folder: str, kind: str, refuse: Refuse) -> dict[str, Array]:
    """All arrays of a folder, by name."""
    config = f"{folder}model_{kind}_config.json"
    if config not in archive.names:
        return {}
    try:
        rows = _page(archive, config, refuse).get("config", {})
        return {name: _array(archive, folder, row, refuse) for name, row in rows.items() if row.get("tensor_meta")}
    except MsnbError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise refuse(f"its table of {kind} has another form ({error!r})") from None


def _array(archive: ZipArchive, folder: str, row: Any, refuse: Refuse) -> Array:
    """One array; its elements lie in the order of its strides, and others may lie between them."""
    meta = row["tensor_meta"]
    if row.get("use_pickle"):
        raise refuse(f"{row['path_name']!r} is a pickle, which could run code when read")
    dtype = getattr(dtypes, DTYPES[meta["dtype"]]).numpy
    shape = tuple(int(size["as_int"]) for size in meta["sizes"])
    strides = tuple(int(stride["as_int"]) for stride in meta["strides"])
    content = archive.content(folder + str(row["path_name"]))
    flat = np.frombuffer(content[: len(content) // dtype.itemsize * dtype.itemsize], dtype)
    first = int(meta["storage_offset"]["as_int"])
    if math.prod(shape) == 0:
        return np.zeros(shape, dtype)
    if len(shape) != len(strides) or min((*shape, *strides, first), default=first) < 0:
        raise refuse(f"{row['path_name']!r} has sizes that make no sense")
    need_room(flat.nbytes, math.prod(shape) * flat.itemsize, refuse)
    last = first + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if last >= flat.size:
        if math.prod(shape) != flat.size:
            raise refuse(f"{row['path_name']!r} has {flat.size} numbers, its sizes ask for {last + 1}")
        return flat.reshape(shape).copy()  # a weight that was a part of another: written alone
    view = np.lib.stride_tricks.as_strided(flat[first:], shape, tuple(s * flat.itemsize for s in strides))
    return np.array(view, order="C")
