"""Faces.

    LFW         lfw_funneled/Ann_A/Ann_A_0001.jpg, lfw-names.txt, peopleDevTrain.txt, pairsDevTrain.txt and siblings
    WIDERFace   WIDER_train/images/0--Parade/a.jpg, wider_face_split/wider_face_train_bbx_gt.txt

Source: the pages of these classes in `mindspore.dataset`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from msnb.dataset.pipeline.rows import Array, Row
from msnb.dataset.row_cache import DatasetCache
from msnb.dataset.sources.tables.families import PicturesDataset
from msnb.dataset.sources.tables.file_parts import Name, chosen, file_in, folder_of, inner, number, picture, words_of
from msnb.dataset.sources.tables.record_file import refusal
from msnb.dataset.sources.tables.table_source import Order, RowChoice, Table, TableDataset

__all__ = ["LFWDataset", "WIDERFaceDataset"]

_SETS = {"original": "lfw", "funneled": "lfw_funneled", "deepfunneled": "lfw-deepfunneled"}
_LISTS = {"10fold": ("",), "train": ("DevTrain",), "test": ("DevTest",), "all": ("DevTrain", "DevTest")}


class LFWDataset(TableDataset):
    """Faces of known people: columns image and label u32[] (the line of the name in lfw-names.txt), or
    image1, image2 and label u32[], 1 for two pictures of one person.

    Args:
        dataset_dir: the folder with lfw_funneled, lfw-names.txt and the lists.
        task: "people" (default) or "pairs". usage: "10fold", "train", "test" or "all" (default).
        image_set: "original", "funneled" (default) or "deepfunneled". decode: pixels at once.
        num_samples and the others: as of every data set.

    Source: Huang et al. 2007; `mindspore.dataset.LFWDataset`.
    """

    def __init__(
        self, dataset_dir: Name, task: str | None = None, usage: str | None = None, image_set: str | None = None,
        num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: Order = None,
        decode: bool = False, sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
        cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        name, folder = type(self).__name__, folder_of(type(self).__name__, dataset_dir)
        wanted = chosen(name, "task", task, ("people", "pairs"), "people")
        part = chosen(name, "usage", usage, tuple(_LISTS), "all")
        place = folder_of(name, folder / _SETS[chosen(name, "image_set", image_set, tuple(_SETS), "funneled")])
        lists = [file_in(name, folder, f"{wanted}{ending}.txt") for ending in _LISTS[part]]
        rows = self._people(name, folder, lists) if wanted == "people" else self._pairs(name, lists)

        def read(row: tuple[list[tuple[str, int]], int]) -> Row:
            images = [picture(name, inner(name, place, f"{who}/{who}_{n:04}.jpg"), decode) for who, n in row[0]]
            return *images, number(row[1])

        columns = ("image", "label") if wanted == "people" else ("image1", "image2", "label")
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(Table(columns, rows, read), choice)

    def _people(self, name: str, folder: Path, lists: list[Path]) -> list[Any]:
        every = words_of(name, file_in(name, folder, "lfw-names.txt"))
        labels = {line.split()[0]: label for label, line in enumerate(every)}
        rows: list[Any] = []
        for path in lists:
            for index, line in enumerate(words_of(name, path)):
                fields = line.split()
                if len(fields) == 1:  # how many lines follow
                    continue
                if len(fields) != 2 or fields[0] not in labels:
                    raise refusal(name, path, index)(f"{line[:60]!r} is no name of lfw-names.txt and number")
                rows += [
                    ([(fields[0], n)], labels[fields[0]]) for n in range(1, _whole(name, path, index, fields[1]) + 1)
                ]
        return rows

    def _pairs(self, name: str, lists: list[Path]) -> list[Any]:
        rows: list[Any] = []
        for path in lists:
            for index, line in enumerate(words_of(name, path)):
                fields = line.split()
                if index == 0 and len(fields) < 3:  # how many lines follow
                    continue
                if len(fields) not in (3, 4):
                    raise refusal(name, path, index)(f"{line[:60]!r} is no name and two numbers, or two of each")
                other = fields[0] if len(fields) == 3 else fields[2]
                first, second = (_whole(name, path, index, field) for field in (fields[1], fields[-1]))
                rows.append(([(fields[0], first), (other, second)], int(len(fields) == 3)))
        return rows


def _whole(name: str, path: Path, index: int, field: str) -> int:
    if not field.isascii() or not field.isdigit() or len(field) > 5:
        raise refusal(name, path, index)(f"{field[:20]!r} is no number of a picture")
    return int(field)


_TITLES = (
    "blur",
    "expression",
    "illumination",
    "invalid",
    "occlusion",
    "pose",
)  # behind the box, as the lists have them
_WIDER = ("blur", "expression", "illumination", "occlusion", "pose", "invalid")


class WIDERFaceDataset(PicturesDataset):
    """Faces in crowds: columns image, bbox i32[n,4], blur, expression, illumination, occlusion, pose and
    invalid i32[n]; the test has image alone. The last three are those of the publisher (invalid, occlusion, pose in the
    lists), which MindSpore gives under each other's names.

    Args:
        dataset_dir: the folder with WIDER_train, WIDER_val, WIDER_test and wider_face_split.
        usage: "train", "test", "valid" or "all" (default: train and valid). decode: pixels at once.
        num_samples and the others: as of every data set.

    Source: Yang et al. 2016 (arXiv:1511.06523); `mindspore.dataset.WIDERFaceDataset`.
    """

    usages: ClassVar[tuple[str, ...]] = ("train", "test", "valid", "all")

    def table(self, folder: Path, usage: str) -> Table:
        name, decode = type(self).__name__, self.decode
        lists = folder_of(name, folder / "wider_face_split")
        if usage == "test":
            place = folder / "WIDER_test/images"
            found = words_of(name, file_in(name, lists, "wider_face_test_filelist.txt"))
            return Table(("image",), found, lambda line: (picture(name, inner(name, place, line), decode),))
        rows: list[tuple[Path, Array]] = []
        for part in self.parts(usage, ("train", "valid")):
            rows += self._faces(name, folder, lists, {"valid": "val"}.get(part, part))

        def read(row: tuple[Path, Array]) -> Row:
            parts = dict(zip(_TITLES, row[1][:, 4:].T))
            return picture(name, row[0], decode), row[1][:, :4].copy(), *(parts[title].copy() for title in _WIDER)

        return Table(("image", "bbox", *_WIDER), rows, read)

    def _faces(self, name: str, folder: Path, lists: Path, part: str) -> list[tuple[Path, Array]]:
        path, place = file_in(name, lists, f"wider_face_{part}_bbx_gt.txt"), folder / f"WIDER_{part}/images"
        lines, at, rows = words_of(name, path), 0, []
        while at < len(lines):
            count = lines[at + 1] if at + 1 < len(lines) else ""
            stop = at + 2 + max(int(count), 1) if count.isascii() and count.isdigit() and len(count) < 10 else 0
            faces = [line.split() for line in lines[at + 2 : stop]]
            legal = all(
                len(f) == 10 and all(n.isascii() and n.lstrip("-").isdigit() and len(n) < 10 for n in f) for f in faces
            )
            if not at < stop <= len(lines) or not legal:
                raise refusal(name, path, at)(f"behind {lines[at][:60]!r} stand no number and rows of 10 numbers")
            rows.append((inner(name, place, lines[at]), np.array(faces, np.int32)))
            at = stop
        return rows
