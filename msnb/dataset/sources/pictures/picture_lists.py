"""Pictures one file each, with a label: in folders by class, or named in lists.

    Caltech256   001.ak47/001_0001.jpg        the folder's number        SUN397   a/abbey/sun_x.jpg, ClassName.txt
    Food101      images/pie/1.jpg, meta/train.txt              Places365   places365_val.txt: /path.jpg 12
    LSUN         bedroom_train/1.jpg                           Omniglot    images_background/alphabet/character/1.png
    CelebA       list_attr_celeba.txt: 000001.jpg -1 1 ...     Flowers102  imagelabels.mat, setid.mat
    Manifest     one JSON object per line

Source: the pages of these classes in `mindspore.dataset`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from msnb.base import AttributeValueError, DatasetError
from msnb.base.files.bounded_reader import read_json
from msnb.dataset.pipeline.rows import Array, Row
from msnb.dataset.row_cache import DatasetCache
from msnb.dataset.sources.pictures.matlab_file import read_matlab
from msnb.dataset.sources.tables.families import PicturesDataset, WholePicturesDataset
from msnb.dataset.sources.tables.file_parts import (
    Name,
    chosen,
    file_in,
    folder_of,
    folders_in,
    inner,
    number,
    picture,
    pictures_in,
    text,
    words_of,
)
from msnb.dataset.sources.tables.record_file import refusal
from msnb.dataset.sources.tables.table_source import Order, RowChoice, Table, TableDataset

__all__ = [
    "Caltech256Dataset", "CelebADataset", "Flowers102Dataset", "Food101Dataset", "LSUNDataset", "ManifestDataset",
    "OmniglotDataset", "Places365Dataset", "RenderedSST2Dataset", "SUN397Dataset",
]  # fmt: skip

Listed = list[tuple[Path, int]]
_COLUMNS = ("image", "label")


def labeled(name: str, rows: Listed, decode: bool) -> Table:
    """Pictures with numbers as labels."""

    def read(row: tuple[Path, int]) -> Row:
        return picture(name, row[0], decode), number(row[1])

    if not rows:
        raise DatasetError(f"{name}: there is no picture in the folder.", hint="is it the folder that the page shows?")
    return Table(_COLUMNS, rows, read)


class Caltech256Dataset(WholePicturesDataset):
    """Pictures in 257 classes: columns image and label uint32[], the number of the folder less one.

    Args:
        dataset_dir: the folder with 001.ak47 and its siblings. decode: pixels at once.
        num_samples and the others: as of every data set.

    Source: Griffin, Holub, Perona 2007; `mindspore.dataset.Caltech256Dataset`.
    """

    def table(self, folder: Path) -> Table:
        rows = [(path, label) for label, place in enumerate(folders_in(folder)) for path in pictures_in(place)]
        return labeled(type(self).__name__, rows, self.decode)


class SUN397Dataset(WholePicturesDataset):
    """Scenes in 397 classes: columns image and label uint32[], the line of the class in ClassName.txt.

    Args:
        dataset_dir: the folder with ClassName.txt. decode: pixels at once.
        num_samples and the others: as of every data set.

    Source: Xiao et al. 2010; `mindspore.dataset.SUN397Dataset`.
    """

    def table(self, folder: Path) -> Table:
        name = type(self).__name__
        classes = words_of(name, file_in(name, folder, "ClassName.txt"))
        places = [inner(name, folder, line.lstrip("/")) for line in classes]
        missing = next((line for line, place in zip(classes, places) if not place.is_dir()), None)
        if missing is not None:
            raise FileNotFoundError(f"{name}: the folder {missing!r} of ClassName.txt is missing in {str(folder)!r}")
        rows = [(path, label) for label, place in enumerate(places) for path in pictures_in(place)]
        return labeled(name, rows, self.decode)


class RenderedSST2Dataset(PicturesDataset):
    """Sentences as pictures: columns image and label uint32[], 0 negative and 1 positive.

    Args:
        dataset_dir: the folder with train, test and valid. usage: "train", "val", "test" or "all" (default).
        decode: pixels at once.
        num_samples and the others: as of every data set.

    Source: Socher et al. 2013; `mindspore.dataset.RenderedSST2Dataset`.
    """

    usages: ClassVar[tuple[str, ...]] = ("train", "val", "test", "all")

    def table(self, folder: Path, usage: str) -> Table:
        name, rows = type(self).__name__, []
        for part in self.parts(usage):
            place = folder_of(name, folder / {"val": "valid"}.get(part, part))
            for label, kind in enumerate(("negative", "positive")):
                rows += [(path, label) for path in pictures_in(folder_of(name, place / kind))]
        return labeled(name, rows, self.decode)


class Food101Dataset(PicturesDataset):
    """Dishes in 101 classes: columns image and label, a text.

    Args:
        dataset_dir: the folder with images and meta. usage: "train", "test" or "all" (default).
        decode: pixels at once.
        num_samples and the others: as of every data set.

    Source: Bossard, Guillaumin, Van Gool 2014; `mindspore.dataset.Food101Dataset`.
    """

    def table(self, folder: Path, usage: str) -> Table:
        name, decode = type(self).__name__, self.decode
        lines = [w for part in self.parts(usage) for w in words_of(name, file_in(name, folder, "meta", f"{part}.txt"))]

        def read(line: str) -> Row:
            return picture(name, inner(name, folder, f"images/{line}.jpg"), decode), text(line.partition("/")[0])

        return Table(_COLUMNS, lines, read)


class LSUNDataset(TableDataset):
    """Scenes: columns image and label uint32[], the place of the class in the alphabet (or in ``classes``).

    Args:
        dataset_dir: the folder with bedroom_train, bedroom_val, ... and test.
        usage: "train", "test", "valid" or "all" (default).
        classes: the classes to read; default: all. decode: pixels at once.
        num_samples and the others: as of every data set.

    Source: Yu et al. 2015 (arXiv:1506.03365); `mindspore.dataset.LSUNDataset`.
    """

    def __init__(
        self, dataset_dir: Name, usage: str | None = None, classes: str | Sequence[str] | None = None,
        num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: Order = None,
        decode: bool = False, sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
        cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        name, folder = type(self).__name__, folder_of(type(self).__name__, dataset_dir)
        wanted = chosen(name, "usage", usage, ("train", "test", "valid", "all"), "all")
        listed = [classes] if isinstance(classes, str) else list(classes or ())
        present = sorted({p.name.rpartition("_")[0] for p in folders_in(folder) if p.name.endswith(("_train", "_val"))})
        unknown = next((c for c in listed if c not in present), None)
        if unknown is not None:
            raise AttributeValueError(f"{name}: there is no class {unknown!r}; {str(folder)!r} has {present}")
        rows: Listed = []
        for label, title in enumerate(listed or present):
            for part in {"all": ("train", "val"), "train": ("train",), "valid": ("val",)}.get(wanted, ()):
                rows += [(path, label) for path in self._in(folder / f"{title}_{part}")]
        if wanted in ("test", "all"):
            rows += [(path, 0) for path in self._in(folder / "test")]
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(labeled(name, rows, decode), choice)

    def _in(self, folder: Path) -> list[Path]:
        return pictures_in(folder) if folder.is_dir() else []


class OmniglotDataset(TableDataset):
    """Characters of 50 alphabets: columns image and label uint32[], the place of the character's folder.

    Args:
        dataset_dir: the folder with images_background and images_evaluation.
        background: True (default): the first, False: the second. decode: pixels at once.
        num_samples and the others: as of every data set.

    Source: Lake, Salakhutdinov, Tenenbaum 2015; `mindspore.dataset.OmniglotDataset`.
    """

    def __init__(
        self, dataset_dir: Name, background: bool | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Order = None, decode: bool = False, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        name = type(self).__name__
        part = "images_evaluation" if background is False else "images_background"
        folder = folder_of(name, folder_of(name, dataset_dir) / part)
        characters = [p for alphabet in folders_in(folder) for p in (folders_in(alphabet) or [alphabet])]
        rows = [(path, label) for label, place in enumerate(characters) for path in pictures_in(place)]
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(labeled(name, rows, decode), choice)


class Places365Dataset(TableDataset):
    """Places in 365 classes: columns image and label uint32[].

    Args:
        dataset_dir: the folder with places365_train-standard.txt, places365_train-challenge.txt, places365_val.txt.
        usage: "train-standard" (default), "train-challenge" or "val".
        small: pictures of 256x256 (data_256_standard, val_256), else the large ones. decode: pixels at once.
        num_samples and the others: as of every data set.

    Source: Zhou et al. 2017; `mindspore.dataset.Places365Dataset`.
    """

    def __init__(
        self, dataset_dir: Name, usage: str | None = None, small: bool = True, decode: bool = False,
        num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: Order = None,
        sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
        cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        name, folder = type(self).__name__, folder_of(type(self).__name__, dataset_dir)
        wanted = chosen(name, "usage", usage, ("train-standard", "train-challenge", "val"), "train-standard")
        size, kind = "256" if small else "large", wanted.rpartition("-")[2]
        place = f"val_{size}" if kind == "val" else f"data_{size}_{kind}"
        path = file_in(name, folder, f"places365_{wanted}.txt")
        rows: Listed = []
        for index, line in enumerate(words_of(name, path)):
            title, _, label = line.rpartition(" ")
            if not label.isascii() or not label.isdigit() or int(label) >= 365:
                raise refusal(name, path, index)(f"{line!r} is no name and label in 0..364")
            rows.append((inner(name, folder, f"{place}/{title.strip().lstrip('/')}"), int(label)))
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(labeled(name, rows, decode), choice)


class CelebADataset(TableDataset):
    """Faces: columns image and attr uint32[40], 1 for an attribute that the face has.

    Args:
        dataset_dir: the folder with list_attr_celeba.txt, list_eval_partition.txt (unless usage is "all") and the
            pictures. usage: "train", "valid", "test" or "all" (default).
        decode: pixels at once. extensions: which files are pictures; default: all that the list names.
        decrypt: ``decrypt(path)`` gives the bytes of the picture, for files that are encrypted.
        num_samples and the others: as of every data set.

    Source: Liu et al. 2015 (arXiv:1411.7766); `mindspore.dataset.CelebADataset`.
    """

    def __init__(
        self, dataset_dir: Name, num_parallel_workers: int | None = None, shuffle: Order = None, usage: str = "all",
        sampler: Any = None, decode: bool = False, extensions: Sequence[str] | None = None,
        num_samples: int | None = None, num_shards: int | None = None, shard_id: int | None = None,
        cache: DatasetCache | None = None, decrypt: Callable[[str], bytes] | None = None,
    ) -> None:  # fmt: skip
        name, folder = type(self).__name__, folder_of(type(self).__name__, dataset_dir)
        wanted = chosen(name, "usage", usage, ("train", "valid", "test", "all"), "all")
        refuse_decrypt(name, decrypt)
        rows = self._listed(name, folder, wanted)
        if extensions is not None:
            rows = [row for row in rows if row[0].suffix.lower() in extensions]

        def read(row: tuple[Path, Array]) -> Row:
            return picture(name, row[0], decode), row[1].copy()

        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(Table(("image", "attr"), rows, read), choice)

    def _listed(self, name: str, folder: Path, usage: str) -> list[tuple[Path, Array]]:
        path = file_in(name, folder, "list_attr_celeba.txt")
        count, titles, *lines = words_of(name, path) or [""] * 2
        width = len(titles.split())
        rows = []
        for index, line in enumerate(lines):
            title, *flags = line.split()
            if len(flags) != width or any(flag not in ("1", "-1") for flag in flags):
                raise refusal(name, path, index)(f"{line[:60]!r} is no name and {width} flags 1 or -1")
            rows.append((inner(name, folder, title), np.array([flag == "1" for flag in flags], np.uint32)))
        if count != str(len(rows)):
            raise refusal(name, path)(f"its first line says {count!r} rows, it has {len(rows)}")
        if usage == "all":
            return rows
        part = str(("train", "valid", "test").index(usage))
        listed = words_of(name, file_in(name, folder, "list_eval_partition.txt"))
        mine = {words[0] for words in map(str.split, listed) if words[-1] == part}
        return [row for row in rows if row[0].name in mine]


def refuse_decrypt(name: str, decrypt: Any) -> None:
    """Only ImageFolderDataset reads encrypted pictures."""
    if decrypt is not None:
        raise AttributeValueError(
            f"{name} reads no encrypted files, so decrypt must be None.", hint="ImageFolderDataset takes decrypt."
        )


class Flowers102Dataset(TableDataset):
    """Flowers in 102 classes: columns image, segmentation (with that task) and label uint32[].

    Args:
        dataset_dir: the folder with imagelabels.mat, setid.mat, jpg and segmim.
        task: "Classification" (default) or "Segmentation". usage: "train", "valid", "test" or "all" (default).
        decode: pixels at once.
        num_samples and the others: as of every data set.

    Source: Nilsback, Zisserman 2008; `mindspore.dataset.Flowers102Dataset`.
    """

    def __init__(
        self, dataset_dir: Name, task: str = "Classification", usage: str = "all", num_samples: int | None = None,
        num_parallel_workers: int | None = 1, shuffle: Order = None, decode: bool = False, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None,
    ) -> None:  # fmt: skip
        name, folder = type(self).__name__, folder_of(type(self).__name__, dataset_dir)
        both = chosen(name, "task", task, ("Classification", "Segmentation"), "Classification") == "Segmentation"
        wanted = chosen(name, "usage", usage, ("train", "valid", "test", "all"), "all")
        sets = {"train": ("trnid",), "valid": ("valid",), "test": ("tstid",), "all": ("trnid", "valid", "tstid")}[
            wanted
        ]
        path = file_in(name, folder, "setid.mat")
        numbers = np.concatenate([a.ravel() for a in read_matlab(name, path, sets).values()]).astype(np.int64)
        labels = read_matlab(name, file_in(name, folder, "imagelabels.mat"), ("labels",))["labels"].ravel()
        if numbers.size and not (numbers.min() >= 1 and numbers.max() <= len(labels)):
            raise refusal(name, path)(f"it names pictures outside 1..{len(labels)}")

        def read(index: int) -> Row:
            parts = [picture(name, folder / "jpg" / f"image_{index:05d}.jpg", decode)]
            if both:
                parts.append(picture(name, folder / "segmim" / f"segmim_{index:05d}.jpg", decode))
            return (*parts, number(int(labels[index - 1]) - 1))

        columns = ("image", "segmentation", "label") if both else _COLUMNS
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)
        super().__init__(Table(columns, numbers.tolist(), read), choice)


class ManifestDataset(TableDataset):
    """Pictures that a manifest names: columns image and label uint64[].

        {"source": "/pictures/1.jpg", "usage": "train", "annotation": [{"name": "cat"}]}     one such line per row

    Args:
        dataset_file: the manifest; a path that is not absolute begins at its folder.
        usage: "train" (default), "eval" or "inference".
        class_indexing: name -> label, for the classes to read; default: all, numbered in alphabetical order.
        decode: pixels at once.
        num_samples and the others: as of every data set.

    A row of several annotations has a row of labels.
    Source: `mindspore.dataset.ManifestDataset`.
    """

    def __init__(
        self, dataset_file: Name, usage: str = "train", num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Order = None, sampler: Any = None,
        class_indexing: Mapping[str, int] | None = None, decode: bool = False, num_shards: int | None = None,
        shard_id: int | None = None, cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        name, path = type(self).__name__, Path(dataset_file)
        if not path.is_file():
            raise FileNotFoundError(f"{name}: there is no file {str(path)!r}")
        wanted = chosen(name, "usage", usage, ("train", "eval", "inference"), "train")
        entries = [entry for index, line in enumerate(words_of(name, path))
                   if (entry := _annotated(name, path, index, line, wanted)) is not None]  # fmt: skip
        names = sorted({label for _, labels in entries for label in labels})
        known = dict(class_indexing) if class_indexing is not None else {n: i for i, n in enumerate(names)}
        rows = [(file, [known[n] for n in labels if n in known]) for file, labels in entries]
        kept = [row for row, (_, labels) in zip(rows, entries) if row[1] or not labels]

        def read(row: tuple[Path, list[int]]) -> Row:
            labels = row[1][0] if len(row[1]) == 1 else row[1]
            return picture(name, row[0], decode), np.array(labels, np.uint64)

        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(Table(_COLUMNS, kept, read), choice)
        self._node.classes = known


def _annotated(name: str, path: Path, index: int, line: str, usage: str) -> tuple[Path, list[str]] | None:
    """The picture and its classes of a line, or None where it is of another usage."""
    refuse = refusal(name, path, index)
    entry = read_json(line, refuse, what="the line")
    try:
        if entry["usage"] != usage:
            return None
        source, labels = entry["source"], [str(a["name"]) for a in entry.get("annotation", [])]
    except (KeyError, TypeError, AttributeError) as error:
        raise refuse(f"it is no entry of a manifest: {type(error).__name__} {error}") from None
    if not isinstance(source, str) or "\0" in source:
        raise refuse(f"its source is {source!r}, and no path")
    return path.parent / source, labels
