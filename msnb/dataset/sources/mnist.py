"""`MnistDataset`: handwritten digits from the original idx files, packed with gzip or not.

    bytes    0..3      4..7      8..11    12..15   16..
    images   0x803     count     28       28       count * 784 pixels, row by row, 0 (paper) to 255 (ink)
    bytes    0..3      4..7      8..
    labels   0x801     count     count labels, 0..9

Numbers are big-endian. Source: LeCun, Cortes, Burges, "The MNIST database of handwritten digits".
"""

from __future__ import annotations

import gzip
import math
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, DatasetError
from msnb.base.files.bounded_reader import Refuse, need_room, open_file, room
from msnb.dataset.pipeline import Array, Dataset, choose, workers_of
from msnb.dataset.row_cache import DatasetCache, as_cache
from msnb.dataset.sources.numpy_slices import sliced
from msnb.dataset.sources.tables.file_parts import folder_of

__all__ = ["FashionMnistDataset", "KMnistDataset", "MnistDataset"]

PARTS = {"train": ("train",), "test": ("t10k",), "all": ("train", "t10k")}
_IMAGES, _LABELS = 0x803, 0x801


class MnistDataset(Dataset):
    """Columns image uint8[28,28,1] and label uint32[].

    Args:
        dataset_dir: folder with train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte,
            t10k-labels-idx1-ubyte, each with or without .gz.
        usage: "train" (60,000 rows), "test" (10,000) or "all" (default), which is all that the folder has.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; None and
            True shuffle.
        cache: a DatasetCache or None; rows are kept in memory anyway.

    Raises:
        FileNotFoundError: a folder or file is missing.
        DatasetError: a file is damaged, cut short, of another kind, or images and labels do not match.

    Source: `mindspore.dataset.MnistDataset`.
    """

    def __init__(
        self, dataset_dir: str | os.PathLike[str], usage: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        as_cache(type(self).__name__, cache)  # all rows are in memory anyway
        wanted = "all" if usage is None else usage
        if wanted not in PARTS:
            raise AttributeValueError(f"usage must be one of {list(PARTS)}, got {usage!r}")
        order = choose(sampler, shuffle, num_samples, num_shards, shard_id)
        folder = folder_of("MnistDataset", dataset_dir)
        present = [part for part in PARTS[wanted] if any(folder.glob(f"{part}-*"))]  # "all" is all that the folder has
        pairs = [_read_pair(folder, part) for part in present or PARTS[wanted]]
        columns = [np.concatenate(column) for column in zip(*pairs, strict=True)]
        super().__init__(sliced("MnistDataset", ("image", "label"), columns, order, workers_of(num_parallel_workers)))


class FashionMnistDataset(MnistDataset):
    """Clothes in ten classes, in files like MNIST's; columns and arguments as ``MnistDataset``.

    Source: Xiao, Rasul, Vollgraf 2017 (arXiv:1708.07747); `mindspore.dataset.FashionMnistDataset`.
    """


class KMnistDataset(MnistDataset):
    """Cursive Japanese characters in ten classes, in files like MNIST's; columns and arguments as ``MnistDataset``.

    Source: Clanuwat et al. 2018 (arXiv:1812.01718); `mindspore.dataset.KMnistDataset`.
    """


def _read_pair(folder: Path, part: str) -> tuple[Array, Array]:
    image_file, label_file = _find(folder, f"{part}-images", "idx3"), _find(folder, f"{part}-labels", "idx1")
    images, labels = read_idx(image_file, _IMAGES), read_idx(label_file, _LABELS)
    if len(images) != len(labels):
        raise DatasetError(f"{image_file.name} holds {len(images)} images but {label_file.name} {len(labels)} labels")
    if len(labels) and labels.max() > 9:
        raise DatasetError(f"{label_file.name} holds the label {labels.max()}, expected 0 to 9")
    return images[..., np.newaxis], labels.astype(np.uint32)


def _find(folder: Path, stem: str, kind: str) -> Path:
    names = [f"{stem}{dot}{kind}-ubyte{pack}" for dot in "-." for pack in ("", ".gz")]
    for name in names:
        if (folder / name).is_file():
            return folder / name
    present = sorted(entry.name for entry in folder.iterdir())[:10]
    raise FileNotFoundError(
        f"MnistDataset: {names[0]} (or {names[1]}) is missing in {str(folder)!r}, which holds {present}"
    )


def read_idx(path: Path, magic: int) -> Array:
    """The array in an idx file of unsigned bytes. The header is read first, then no more than it allows.

    Raises:
        DatasetError: not such a file, cut short, or longer than its header says.
    """
    refuse = damaged(path)
    with open_file(path, refuse) as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if not packed:
            return _idx(file, magic, path, refuse)
        try:
            with gzip.GzipFile(fileobj=file) as unpacked:
                return _idx(unpacked, magic, path, refuse)
        except (EOFError, zlib.error, OSError) as error:
            raise DatasetError(
                f"{path.name} is a damaged or cut gzip file: {error}", hint="download the file again"
            ) from error


def damaged(path: Path) -> Callable[..., DatasetError]:
    """What makes the error of a file that cannot be read."""

    def refuse(why: str, hint: str = "download the file again") -> DatasetError:
        return DatasetError(f"{path.name} cannot be read: {why}.", hint=hint)

    return refuse


def _idx(file: Any, magic: int, path: Path, refuse: Refuse) -> Array:
    first, rank = file.read(4), magic & 0xFF
    if len(first) < 4 or struct.unpack(">I", first)[0] != magic:
        raise DatasetError(
            f"{path.name} is not an idx file of this kind: it starts with {first.hex()!r}, expected {magic:08x}"
        )
    head, start = file.read(4 * rank), 4 + 4 * rank
    if len(head) < 4 * rank:
        raise DatasetError(f"{path.name} is cut short: {4 + len(head)} bytes, the header alone needs {start}")
    shape = struct.unpack(f">{rank}I", head)
    count = math.prod(shape)
    size = path.stat().st_size
    content = file.read(min(count, room(size)) + 1)  # one more, to see whether it ends there
    if len(content) > room(size):
        need_room(size, count, refuse)
    if len(content) != count:
        fault = "cut short" if len(content) < count else "too long"
        found = str(start + len(content)) if len(content) < count else "more"
        raise DatasetError(
            f"{path.name} is {fault}: its header says {shape}, which makes {start + count} bytes, it has {found}",
            hint="download the file again",
        )
    if shape[1:] not in ((), (28, 28)):
        raise DatasetError(f"{path.name} holds images of {shape[1:]} pixels, expected (28, 28)")
    return np.frombuffer(content, np.uint8).reshape(shape)
