"""`ImageFolderDataset`: pictures in folders, one folder per class.

    flowers/daisy/1.jpg  flowers/daisy/2.jpg  flowers/rose/7.png      daisy is class 0, rose class 1

Files are read when their row is asked for; `vision.Decode` makes pixels of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DatasetError
from msnb.base.files.bounded_reader import read_file
from msnb.dataset.pipeline import Dataset, IndexedSource, Row, choose, workers_of
from msnb.dataset.row_cache import DatasetCache, cached
from msnb.dataset.vision.decode import decoded

_EXTENSIONS = (".jpg", ".jpeg", ".bmp", ".png")


class ImageFolderDataset(Dataset):
    """Columns image (the file's bytes, uint8[n]; with ``decode`` pixels uint8[h,w,3]) and label int32[].

    Args:
        dataset_dir: a folder with one folder per class.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; None and
            True shuffle.
        extensions: which files are pictures; default: .jpg, .jpeg, .bmp, .png.
        class_indexing: folder -> label, for the folders to read; default: all, in alphabetical order.
        decode: read pixels at once.
        cache: a DatasetCache keeps the rows; None: the system keeps files that were read in memory.
        decrypt: ``decrypt(path)`` gives the bytes of the picture, for files that are encrypted.

    Raises:
        FileNotFoundError: the folder, or a class of ``class_indexing``, is missing.
        ValueError: it holds no picture.

    Source: `mindspore.dataset.ImageFolderDataset`.
    """

    def __init__(
        self, dataset_dir: str | os.PathLike[str], num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
        extensions: Sequence[str] | None = None, class_indexing: Mapping[str, int] | None = None,
        decode: bool = False, num_shards: int | None = None, shard_id: int | None = None,
        cache: DatasetCache | None = None, decrypt: Callable[[str], bytes] | None = None,
    ) -> None:  # fmt: skip
        if decrypt is not None and not callable(decrypt):
            raise ArgumentError(f"ImageFolderDataset: decrypt is a function of a path, got {type(decrypt).__name__}.")
        order = choose(sampler, shuffle, num_samples, num_shards, shard_id)
        classes = _classes(Path(dataset_dir), class_indexing)
        wanted = tuple(e.lower() for e in extensions or _EXTENSIONS)
        files = [(path, label) for name, label in classes.items()
                 for path in _pictures(Path(dataset_dir) / name, wanted)]  # fmt: skip
        if not files:
            raise AttributeValueError(
                f"ImageFolderDataset: {str(dataset_dir)!r} has no picture ({', '.join(wanted)}) in its class folders "
                f"{list(classes)}",
                hint="pictures lie in one folder per class: dataset_dir/rose/1.jpg",
            )

        def fetch(index: int) -> Row:
            path, label = files[index]
            plain = read_file(path, _unreadable(path)) if decrypt is None else decrypt(str(path))
            content = np.frombuffer(plain, np.uint8)
            return (decoded(content, str(path)) if decode else content), np.array(label, np.int32)

        workers, kept = workers_of(num_parallel_workers), cached("ImageFolderDataset", cache, fetch)
        super().__init__(
            IndexedSource("ImageFolderDataset", kept, lambda: len(files), ("image", "label"), order, workers)
        )
        self._node.classes = classes


def _unreadable(path: Path) -> Callable[..., DatasetError]:
    return lambda why, hint="": DatasetError(f"{str(path)!r} cannot be read: {why}.", hint=hint)


def _classes(folder: Path, chosen: Mapping[str, int] | None) -> dict[str, int]:
    if not folder.is_dir():
        raise FileNotFoundError(f"ImageFolderDataset: {str(folder)!r} is not a folder")
    present = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
    if chosen is None:
        return {name: label for label, name in enumerate(present)}
    missing = next((name for name in chosen if name not in present), None)
    if missing is not None:
        raise FileNotFoundError(f"ImageFolderDataset: {str(folder)!r} has no folder {missing!r}; it has {present}")
    return dict(chosen)


def _pictures(folder: Path, extensions: tuple[str, ...]) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in extensions)
