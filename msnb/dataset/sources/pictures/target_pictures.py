"""Scenes and objects whose targets lie in files of their own.

    Caltech101   101_ObjectCategories/ant/image_0001.jpg, Annotations/ant/annotation_0001.mat
    KITTI        data_object_image_2/training/image_2/000000.png, data_object_label_2/training/label_2/000000.txt
    PhotoTour    liberty/patches0000.bmp: 16 x 16 patches of 64 x 64, info.txt, m50_100000_100000_0.txt
    SBD          img/2008_000002.jpg, cls/2008_000002.mat, train.txt

Source: the pages of these classes in `mindspore.dataset`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from msnb.base import DatasetError
from msnb.dataset.pipeline.rows import Array, Row
from msnb.dataset.row_cache import DatasetCache
from msnb.dataset.sources.pictures.matlab_file import read_matlab, read_structure
from msnb.dataset.sources.tables import file_parts as parts
from msnb.dataset.sources.tables.families import PicturesDataset
from msnb.dataset.sources.tables.record_file import refusal
from msnb.dataset.sources.tables.table_source import Order, RowChoice, Table, TableDataset

__all__ = ["Caltech101Dataset", "KITTIDataset", "PhotoTourDataset", "SBDataset"]

_RENAMED = {"Faces": "Faces_2", "Faces_easy": "Faces_3", "Motorbikes": "Motorbikes_16", "airplanes": "Airplanes_Side_2"}


class Caltech101Dataset(TableDataset):
    """Objects in 101 classes: columns image, category i64[] and annotation f64[2,n], the contour.

    Args:
        dataset_dir: the folder with 101_ObjectCategories and Annotations.
        target_type: "category" (default), "annotation" or "all": which columns stand behind image.
        decode: pixels at once.
        num_samples and the others: as of every data set.

    Source: Fei-Fei, Fergus, Perona 2004; `mindspore.dataset.Caltech101Dataset`.
    """

    def __init__(
        self, dataset_dir: parts.Name, target_type: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = 1, shuffle: Order = None, decode: bool = False, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None,
    ) -> None:  # fmt: skip
        name, folder = type(self).__name__, parts.folder_of(type(self).__name__, dataset_dir)
        wanted = parts.chosen(name, "target_type", target_type, ("category", "annotation", "all"), "category")
        columns = ("category", "annotation") if wanted == "all" else (wanted,)
        places = [
            p
            for p in parts.folders_in(parts.folder_of(name, folder / "101_ObjectCategories"))
            if p.name != "BACKGROUND_Google"
        ]
        classes = {place.name: label for label, place in enumerate(places)}
        rows = [path for place in places for path in parts.pictures_in(place)]

        def read(path: Path) -> Row:
            kind, count = path.parent.name, path.stem.rpartition("_")[2]
            found = {"category": parts.number(classes[kind], np.int64)}
            if "annotation" in columns:
                place = folder / "Annotations" / _RENAMED.get(kind, kind) / f"annotation_{count}.mat"
                found["annotation"] = read_matlab(name, place, ("obj_contour",))["obj_contour"]
            return parts.picture(name, path, decode), *(found[column] for column in columns)

        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)
        super().__init__(Table(("image", *columns), rows, read), choice)
        self._node.classes = classes


_KITTI = {"truncated": ([1], np.float32), "occluded": ([2], np.uint32), "alpha": ([3], np.float32),
          "bbox": ([4, 5, 6, 7], np.float32), "dimensions": ([8, 9, 10], np.float32),
          "location": ([11, 12, 13], np.float32), "rotation_y": ([14], np.float32)}  # fmt: skip


class KITTIDataset(PicturesDataset):
    """Streets: column image; in training also, for n objects, label u32[n,1] (the place of its kind in the
    alphabet), truncated f32[n,1], occluded u32[n,1], alpha f32[n,1], bbox f32[n,4], dimensions f32[n,3], location
    f32[n,3] and rotation_y f32[n,1].

    Args:
        dataset_dir: the folder with data_object_image_2 and data_object_label_2. usage: "train" (default) or "test".
        decode: pixels at once.
        num_samples and the others: as of every data set.

    Source: Geiger, Lenz, Urtasun 2012; `mindspore.dataset.KITTIDataset`.
    """

    usages: ClassVar[tuple[str, ...]] = ("train", "test")
    default: ClassVar[str] = "train"

    def table(self, folder: Path, usage: str) -> Table:
        name, decode = type(self).__name__, self.decode
        part = "training" if usage == "train" else "testing"
        paths = parts.pictures_in(parts.folder_of(name, folder / "data_object_image_2" / part / "image_2"))
        if usage == "test":
            return Table(("image",), paths, lambda path: (parts.picture(name, path, decode),))
        labels = parts.folder_of(name, folder / "data_object_label_2" / part / "label_2")
        rows = [(path, self._objects(name, parts.file_in(name, labels, f"{path.stem}.txt"))) for path in paths]
        kinds = {kind: i for i, kind in enumerate(sorted({fields[0] for _, found in rows for fields in found}))}

        def read(row: tuple[Path, list[list[str]]]) -> Row:
            numbers = np.array([fields[1:15] for fields in row[1]], np.float64).reshape(-1, 14)
            label = parts.number([[kinds[fields[0]]] for fields in row[1]]).reshape(-1, 1)
            targets = [_cast(numbers[:, np.array(places) - 1], dtype) for places, dtype in _KITTI.values()]
            return parts.picture(name, row[0], decode), label, *targets

        return Table(("image", "label", *_KITTI), rows, read)

    def _objects(self, name: str, path: Path) -> list[list[str]]:
        found = [line.split() for line in parts.words_of(name, path)]
        for index, fields in enumerate(found):
            if len(fields) < 15 or not all(_is_number(field) for field in fields[1:15]):
                raise refusal(name, path, index)(f"{' '.join(fields)[:60]!r} is no kind and 14 numbers")
        return found


def _cast(numbers: Array, dtype: Any) -> Array:
    return numbers.astype(np.int64).astype(dtype) if dtype is np.uint32 else numbers.astype(dtype)


def _is_number(field: str) -> bool:
    try:
        return bool(np.isfinite(float(field)))
    except ValueError:
        return False


_TOURS = ("notredame", "yosemite", "liberty", "notredame_harris", "yosemite_harris", "liberty_harris")
_SIDE, _PATCH = 16, 64  # patches along a side of a page, pixels along a side of a patch


class PhotoTourDataset(TableDataset):
    """Patches of photographs: column image u8[64,64,1]; in the test image1, image2 and matches u32[], 1 for
    two patches of one point.

    Args:
        dataset_dir: the folder with liberty and its siblings.
        name: "notredame", "yosemite", "liberty", or one of these with _harris.
        usage: "train" (default) or "test".
        num_samples and the others: as of every data set.

    Source: Winder, Brown 2007; `mindspore.dataset.PhotoTourDataset`.
    """

    def __init__(
        self, dataset_dir: parts.Name, name: str, usage: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Order = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        title, folder = type(self).__name__, parts.folder_of(type(self).__name__, dataset_dir)
        place = parts.folder_of(title, folder / parts.chosen(title, "name", name, _TOURS, "liberty"))
        wanted = parts.chosen(title, "usage", usage, ("train", "test"), "train")
        count = len(parts.words_of(title, parts.file_in(title, place, "info.txt")))
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        patches = _Patches(title, place)
        if wanted == "train":
            super().__init__(Table(("image",), range(count), lambda index: (patches.patch(index),)), choice)
            return
        path = parts.file_in(title, place, "m50_100000_100000_0.txt")
        pairs = [self._pair(path, index, line, count) for index, line in enumerate(parts.words_of(title, path))]

        def read(pair: tuple[int, int, bool]) -> Row:
            return patches.patch(pair[0]), patches.patch(pair[1]), parts.number(pair[2])

        super().__init__(Table(("image1", "image2", "matches"), pairs, read), choice)

    def _pair(self, path: Path, index: int, line: str, count: int) -> tuple[int, int, bool]:
        fields = line.split()
        if len(fields) < 6 or not all(f.isascii() and f.isdigit() and len(f) < 10 for f in fields[:6]):
            raise refusal(type(self).__name__, path, index)(f"{line[:60]!r} is no row of 7 numbers")
        first, second = int(fields[0]), int(fields[3])
        if max(first, second) >= count:
            raise refusal(type(self).__name__, path, index)(f"patch {max(first, second)} is not among the {count}")
        return first, second, fields[1] == fields[4]


class _Patches:
    """The patches of a tour; the pages that were read last are kept."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self._page = functools.lru_cache(maxsize=16)(self._read)

    def _read(self, index: int) -> Array:
        path = self.folder / f"patches{index:04}.bmp"
        pixels = parts.picture(self.name, path, True)
        if pixels.shape[:2] != (_SIDE * _PATCH, _SIDE * _PATCH):
            raise refusal(self.name, path)(f"it has {pixels.shape[:2]} pixels, and not 1024 x 1024")
        return pixels[..., :1]

    def patch(self, index: int) -> Array:
        """A patch by its number."""
        page, place = divmod(index, _SIDE * _SIDE)
        top, left = (n * _PATCH for n in divmod(place, _SIDE))
        return self._page(page)[top : top + _PATCH, left : left + _PATCH].copy()


class SBDataset(TableDataset):
    """Pictures with the boundaries of 20 kinds of objects: columns image and task: u8[20,h,w] boundaries, or
    u8[h,w] the kind of each pixel.

    Args:
        dataset_dir: the folder with img, cls, train.txt, val.txt and train_noval.txt.
        task: "Boundaries" (default) or "Segmentation". usage: "train", "val", "train_noval" or "all" (default).
        decode: pixels at once.
        num_samples and the others: as of every data set.

    Source: Hariharan et al. 2011; `mindspore.dataset.SBDataset`.
    """

    def __init__(
        self, dataset_dir: parts.Name, task: str = "Boundaries", usage: str = "all", num_samples: int | None = None,
        num_parallel_workers: int | None = 1, shuffle: Order = None, decode: bool | None = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None,
    ) -> None:  # fmt: skip
        name, folder = type(self).__name__, parts.folder_of(type(self).__name__, dataset_dir)
        wanted = parts.chosen(name, "task", task, ("Boundaries", "Segmentation"), "Boundaries")
        part = parts.chosen(name, "usage", usage, ("train", "val", "train_noval", "all"), "all")
        lists = ("train", "val") if part == "all" else (part,)
        rows = [line for title in lists for line in parts.words_of(name, parts.file_in(name, folder, f"{title}.txt"))]

        def read(line: str) -> Row:
            path = parts.inner(name, folder, f"cls/{line}.mat")
            image = parts.picture(name, parts.inner(name, folder, f"img/{line}.jpg"), bool(decode))
            return image, _target(read_structure(name, path, "GTcls").get(wanted), wanted, refusal(name, path))

        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)
        super().__init__(Table(("image", "task"), rows, read), choice)


def _target(value: Any, task: str, refuse: Any) -> Array:
    if task == "Segmentation" and isinstance(value, np.ndarray) and value.ndim == 2:
        return value.astype(np.uint8)
    if task == "Boundaries" and _are_pictures(value):
        return np.stack(value).astype(np.uint8)
    raise DatasetError(str(refuse(f"its {task!r} is no picture (or 20 of one size)")))


def _are_pictures(value: Sequence[Any] | Any) -> bool:
    if not isinstance(value, list) or len(value) != 20 or not all(isinstance(part, np.ndarray) for part in value):
        return False
    return len({part.shape for part in value}) == 1
