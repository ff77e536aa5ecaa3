"""Pictures that come in pairs, or with sentences.

    Flickr      1000.jpg#0 <tab> a sentence         SBU          line i of two lists: an address, a sentence
    DIV2K       high and low resolution             Cityscapes   leftImg8bit and gtFine

Source: the pages of these classes in `mindspore.dataset`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, DatasetError
from msnb.dataset.pipeline.rows import Array, Row
from msnb.dataset.row_cache import DatasetCache
from msnb.dataset.sources.tables import file_parts as parts
from msnb.dataset.sources.tables.families import WholePicturesDataset
from msnb.dataset.sources.tables.record_file import refusal
from msnb.dataset.sources.tables.table_source import Order, RowChoice, Table, TableDataset

__all__ = ["CityscapesDataset", "DIV2KDataset", "FlickrDataset", "SBUDataset"]


class FlickrDataset(TableDataset):
    """Pictures with five sentences: columns image and annotation, texts [5].

    Args:
        dataset_dir: the folder of the pictures. annotation_file: lines such as "1000.jpg#0 <tab> A child climbs".
        decode: pixels at once.
        num_samples and the others: as of every data set.

    Source: Hodosh, Young, Hockenmaier 2013; `mindspore.dataset.FlickrDataset`.
    """

    def __init__(
        self, dataset_dir: parts.Name, annotation_file: parts.Name, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Order = None, decode: bool | None = None,
        sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
        cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        name, path = type(self).__name__, Path(annotation_file)
        folder = parts.folder_of(name, dataset_dir)
        if not path.is_file():
            raise FileNotFoundError(f"{name}: there is no file {str(path)!r}")
        found: dict[str, list[str]] = {}
        for index, line in enumerate(parts.words_of(name, path)):
            title, tab, sentence = line.partition("\t")
            if not tab or "#" not in title:
                raise refusal(name, path, index)(f"{line[:60]!r} is no picture, number and sentence")
            found.setdefault(title.rpartition("#")[0], []).append(sentence)
        rows = [(parts.inner(name, folder, title), np.array(sentences)) for title, sentences in found.items()]

        def read(row: tuple[Path, Array]) -> Row:
            return parts.picture(name, row[0], bool(decode)), row[1].copy()

        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(Table(("image", "annotation"), rows, read), choice)


class SBUDataset(WholePicturesDataset):
    """Pictures with a sentence: columns image and caption.

    Args:
        dataset_dir: the folder with SBU_captioned_photo_dataset_captions.txt, ..._urls.txt and sbu_images.
        decode: pixels at once.
        num_samples and the others: as of every data set.

    Pictures that are not there (many were never to be had) are left out.
    Source: Ordonez, Kulkarni, Berg 2011; `mindspore.dataset.SBUDataset`.
    """

    def table(self, folder: Path) -> Table:
        name, decode = type(self).__name__, self.decode
        urls, captions = (
            parts.words_of(name, parts.file_in(name, folder, f"SBU_captioned_photo_dataset_{kind}.txt"))
            for kind in ("urls", "captions")
        )
        if len(urls) != len(captions):
            raise DatasetError(f"{name}: there are {len(urls)} addresses and {len(captions)} captions.")
        # http://static.flickr.com/3326/3596303505_3ce4c20529.jpg is m_3326_3596303505_3ce4c20529.jpg
        files = [folder / "sbu_images" / f"m_{'_'.join(url.split('/')[-2:])}" for url in urls]
        rows = [(file, caption) for file, caption in zip(files, captions) if "\0" not in file.name and file.is_file()]

        def read(row: tuple[Path, str]) -> Row:
            return parts.picture(name, row[0], decode), parts.text(row[1])

        return Table(("image", "caption"), rows, read)


_SCALES = {"bicubic": (2, 3, 4, 8), "unknown": (2, 3, 4), "mild": (4,), "difficult": (4,), "wild": (4,)}


class DIV2KDataset(TableDataset):
    """Pictures in high and low resolution: columns hr_image and lr_image.

    Args:
        dataset_dir: the folder with DIV2K_train_HR and its siblings. usage: "train" (default), "valid" or "all".
        downgrade: "bicubic" (default), "unknown", "mild", "difficult" or "wild".
        scale: 2 (default), 3, 4 or 8, as far as the downgrade has it. decode: pixels at once.
        num_samples and the others: as of every data set.

    Source: Agustsson, Timofte 2017; `mindspore.dataset.DIV2KDataset`.
    """

    def __init__(
        self, dataset_dir: parts.Name, usage: str = "train", downgrade: str = "bicubic", scale: int = 2,
        num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: Order = None,
        decode: bool | None = None, sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
        cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        name, folder = type(self).__name__, parts.folder_of(type(self).__name__, dataset_dir)
        wanted = parts.chosen(name, "usage", usage, ("train", "valid", "all"), "train")
        kind = parts.chosen(name, "downgrade", downgrade, tuple(_SCALES), "bicubic")
        if scale not in _SCALES[kind]:
            raise AttributeValueError(f"{name}: with downgrade {kind!r} scale is one of {_SCALES[kind]}, got {scale!r}")
        rows: list[tuple[Path, Path]] = []
        for part in ("train", "valid") if wanted == "all" else (wanted,):
            for high in parts.pictures_in(parts.folder_of(name, folder / f"DIV2K_{part}_HR")):
                rows.append((high, folder / _lower(part, kind, scale, high.stem)))

        def read(row: tuple[Path, Path]) -> Row:
            return parts.picture(name, row[0], bool(decode)), parts.picture(name, row[1], bool(decode))

        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(Table(("hr_image", "lr_image"), rows, read), choice)


def _lower(part: str, kind: str, scale: int, stem: str) -> str:
    """Where the small picture lies."""
    if scale == 8:
        return f"DIV2K_{part}_LR_x8/{stem}x8.png"
    if kind in ("bicubic", "unknown"):
        return f"DIV2K_{part}_LR_{kind}/X{scale}/{stem}x{scale}.png"
    return f"DIV2K_{part}_LR_{kind}/{stem}x4{kind[0]}.png"


class CityscapesDataset(TableDataset):
    """Streets: columns image and task, a picture of labels or (task "polygon") a text of JSON.

    Args:
        dataset_dir: the folder with leftImg8bit and gtFine or gtCoarse.
        usage: "train" (default), "test", "val" or "all"; with quality_mode "coarse" "train_extra" and no "test".
        quality_mode: "fine" (default) or "coarse". task: "instance" (default), "semantic", "polygon" or "color".
        decode: pixels at once.
        num_samples and the others: as of every data set.

    Source: Cordts et al. 2016; `mindspore.dataset.CityscapesDataset`.
    """

    def __init__(
        self, dataset_dir: parts.Name, usage: str = "train", quality_mode: str = "fine", task: str = "instance",
        num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: Order = None,
        decode: bool | None = None, sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
        cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        name, folder = type(self).__name__, parts.folder_of(type(self).__name__, dataset_dir)
        quality = parts.chosen(name, "quality_mode", quality_mode, ("fine", "coarse"), "fine")
        splits = ("train", "test", "val") if quality == "fine" else ("train", "train_extra", "val")
        wanted = parts.chosen(name, "usage", usage, (*splits, "all"), "train")
        kind = parts.chosen(name, "task", task, ("instance", "semantic", "polygon", "color"), "instance")
        ending = {
            "instance": "instanceIds.png",
            "semantic": "labelIds.png",
            "polygon": "polygons.json",
            "color": "color.png",
        }
        truth, rows = f"gt{quality.title()}", []
        for part in splits if wanted == "all" else (wanted,):
            for city in parts.folders_in(parts.folder_of(name, folder / "leftImg8bit" / part)):
                rows += [(file, folder / truth / part / city.name /
                          file.name.replace("leftImg8bit.png", f"{truth}_{ending[kind]}"))
                         for file in parts.pictures_in(city)]  # fmt: skip

        def read(row: tuple[Path, Path]) -> Row:
            if kind == "polygon":
                target = parts.text("\n".join(parts.words_of(name, row[1], 64 << 20)))
            else:
                target = parts.picture(name, row[1], bool(decode))
            return parts.picture(name, row[0], bool(decode)), target

        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(Table(("image", "task"), rows, read), choice)
