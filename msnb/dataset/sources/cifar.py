"""`Cifar10Dataset`, `Cifar100Dataset`: small photographs from the original binary files.

    CIFAR-10     label      | 1024 red, 1024 green, 1024 blue     3,073 bytes per picture of 32 x 32
    CIFAR-100    coarse, fine label | pixels the same way         3,074 bytes

Source: Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from msnb.base import AttributeValueError, DatasetError
from msnb.base.files.bounded_reader import read_file
from msnb.dataset.pipeline import Array, Dataset, choose, workers_of
from msnb.dataset.row_cache import DatasetCache, as_cache
from msnb.dataset.sources.mnist import damaged
from msnb.dataset.sources.numpy_slices import sliced
from msnb.dataset.sources.tables.file_parts import folder_of

__all__ = ["Cifar100Dataset", "Cifar10Dataset"]

_PIXELS = 3 * 32 * 32


class _Cifar(Dataset):
    """Pictures uint8[32,32,3] and their labels uint32[].

    Args:
        dataset_dir: the folder with the ``.bin`` files.
        usage: "train", "test" or "all" (default).
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; None and
            True shuffle.
        cache: a DatasetCache or None; rows are kept in memory anyway.

    Raises:
        FileNotFoundError: a folder or file is missing.
        DatasetError: a file is cut short or holds labels that there are not.
    """

    files: ClassVar[dict[str, tuple[str, ...]]]
    labels: ClassVar[dict[str, int]]  # column -> how many classes

    def __init__(
        self, dataset_dir: str | os.PathLike[str], usage: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        as_cache(type(self).__name__, cache)  # all rows are in memory anyway
        name, wanted = type(self).__name__, ("train", "test") if usage in (None, "all") else (usage,)
        if any(part not in self.files for part in wanted):
            raise AttributeValueError(f"{name}: usage is 'train', 'test' or 'all', got {usage!r}")
        folder = folder_of(name, dataset_dir)
        order = choose(sampler, shuffle, num_samples, num_shards, shard_id)
        parts = [_read(name, folder, file, self.labels) for part in wanted for file in self.files[str(part)]]
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        super().__init__(sliced(name, ("image", *self.labels), columns, order, workers_of(num_parallel_workers)))


class Cifar10Dataset(_Cifar):
    __doc__ = f"""CIFAR-10, columns image and label. {_Cifar.__doc__}
    Source: `mindspore.dataset.Cifar10Dataset`."""

    files: ClassVar[dict[str, tuple[str, ...]]] = {
        "train": tuple(f"data_batch_{i}.bin" for i in range(1, 6)), "test": ("test_batch.bin",)
    }  # fmt: skip
    labels: ClassVar[dict[str, int]] = {"label": 10}


class Cifar100Dataset(_Cifar):
    __doc__ = f"""CIFAR-100, columns image, coarse_label and fine_label. {_Cifar.__doc__}
    Source: `mindspore.dataset.Cifar100Dataset`."""

    files: ClassVar[dict[str, tuple[str, ...]]] = {"train": ("train.bin",), "test": ("test.bin",)}
    labels: ClassVar[dict[str, int]] = {"coarse_label": 20, "fine_label": 100}


def _read(name: str, folder: Path, file: str, labels: dict[str, int]) -> Sequence[Array]:
    path = folder / file
    if not path.is_file():
        present = sorted(entry.name for entry in folder.iterdir())[:10]
        raise FileNotFoundError(f"{name}: {file} is missing in {str(folder)!r}, which holds {present}")
    content, width = np.frombuffer(read_file(path, damaged(path)), np.uint8), len(labels) + _PIXELS
    if content.size % width:
        raise DatasetError(
            f"{file} has {content.size} bytes, which is no multiple of {width}: it was cut short",
            hint="download the file again",
        )
    rows = content.reshape(-1, width)
    for column, (label, classes) in enumerate(labels.items()):
        if rows.size and rows[:, column].max() >= classes:
            raise DatasetError(f"{file} holds the {label} {rows[:, column].max()}, expected 0 to {classes - 1}")
    images = rows[:, len(labels) :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return [np.asarray(images, order="C"), *(rows[:, i].astype(np.uint32) for i in range(len(labels)))]
