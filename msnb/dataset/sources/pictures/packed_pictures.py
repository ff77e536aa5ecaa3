"""Small pictures that lie in few files, all of them in memory: pixels uint8[h,w,c] and a label uint32[].

    SVHN       train_32x32.mat                 X uint8[32,32,3,n], y 1..10, where 10 is the digit 0
    STL10      train_X.bin, train_y.bin        uint8[n,3,96,96], columns before rows; labels 1..10
    EMnist     emnist-digits-train-...-idx3    as MNIST, rows and columns changed        QMnist: labels of eight numbers
    USPS       label 1:v 2:v ... 256:v         16x16, values -1..1
    Semeion    256 numbers 0. or 1., then ten flags

Source: the pages of these classes in `mindspore.dataset`.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from msnb.base import ArgumentError, DatasetError
from msnb.base.files.bounded_reader import need_room, read_file, room
from msnb.dataset.pipeline.rows import Array, Row, check_count
from msnb.dataset.row_cache import DatasetCache
from msnb.dataset.sources.mnist import read_idx
from msnb.dataset.sources.pictures.matlab_file import read_matlab
from msnb.dataset.sources.tables.families import SampledDataset, TextsDataset, WholeDataset
from msnb.dataset.sources.tables.file_parts import Name, chosen, file_in, number
from msnb.dataset.sources.tables.record_file import RecordFile, refusal
from msnb.dataset.sources.tables.table_source import Order, RowChoice, Table, TableDataset, records

__all__ = [
    "EMnistDataset", "FakeImageDataset", "QMnistDataset", "STL10Dataset", "SVHNDataset", "SemeionDataset",
    "USPSDataset",
]  # fmt: skip

_COLUMNS = ("image", "label")
Part = tuple[Array, Array]


def packed(parts: Sequence[Part]) -> Table:
    """Pictures and labels in memory as a table."""
    images, labels = (np.concatenate(column) for column in zip(*parts))

    def read(index: int) -> Row:
        return np.array(images[index]), np.array(labels[index])

    return Table(_COLUMNS, range(len(labels)), read, [len(label) for _, label in parts])


def _same_length(name: str, path: Path, images: Array, labels: Array) -> Part:
    if len(images) != len(labels):
        raise refusal(name, path)(f"it belongs to {len(images)} images and {len(labels)} labels")
    return images, labels


class SVHNDataset(SampledDataset):
    """House numbers from the street: columns image uint8[32,32,3] and label uint32[].

    Args:
        dataset_dir: the folder with train_32x32.mat, test_32x32.mat and extra_32x32.mat.
        usage: "train", "test", "extra" or "all" (default).
        num_samples and the others: as of every data set.

    Source: Netzer et al. 2011; `mindspore.dataset.SVHNDataset`.
    """

    usages: ClassVar[tuple[str, ...]] = ("train", "test", "extra", "all")

    def table(self, folder: Path, usage: str) -> Table:
        return packed([self._part(file_in(type(self).__name__, folder, f"{p}_32x32.mat")) for p in self.parts(usage)])

    def _part(self, path: Path) -> Part:
        name = type(self).__name__
        found = read_matlab(name, path, ("X", "y"))
        images, labels = found["X"], found["y"].ravel()
        if images.shape[:3] != (32, 32, 3) or images.ndim != 4 or images.dtype != np.uint8:
            raise refusal(name, path)(f"its pictures are {images.dtype}{list(images.shape)}, and not uint8[32,32,3,n]")
        if labels.size and not ((labels >= 1) & (labels <= 10)).all():
            raise refusal(name, path)("a label is not in 1..10")
        return _same_length(name, path, images.transpose(3, 0, 1, 2), labels.astype(np.uint32) % 10)


class STL10Dataset(SampledDataset):
    """Pictures in ten classes: columns image uint8[96,96,3] and label int32[], -1 where there is none.

    Args:
        dataset_dir: the folder with train_X.bin, train_y.bin, test_X.bin, test_y.bin and unlabeled_X.bin.
        usage: "train", "test", "unlabeled", "train+unlabeled" or "all" (default).
        num_samples and the others: as of every data set.

    Source: Coates, Ng, Lee 2011; `mindspore.dataset.STL10Dataset`.
    """

    usages: ClassVar[tuple[str, ...]] = ("train", "test", "unlabeled", "train+unlabeled", "all")

    def table(self, folder: Path, usage: str) -> Table:
        every = ("train", "test", "unlabeled")
        return packed([self._part(folder, p) for p in (every if usage == "all" else usage.split("+"))])

    def _part(self, folder: Path, part: str) -> Part:
        name = type(self).__name__
        path = file_in(name, folder, f"{part}_X.bin")
        pixels = np.frombuffer(read_file(path, refusal(name, path)), np.uint8)
        if pixels.size % (3 * 96 * 96):
            raise refusal(name, path)(f"its {pixels.size} bytes are no multiple of {3 * 96 * 96}; it was cut short")
        images = pixels.reshape(-1, 3, 96, 96).transpose(0, 3, 2, 1)
        if part == "unlabeled":
            return images, np.full(len(images), -1, np.int32)
        path = file_in(name, folder, f"{part}_y.bin")
        labels = np.frombuffer(read_file(path, refusal(name, path)), np.uint8)
        if labels.size and not (labels.min() >= 1 and labels.max() <= 10):
            raise refusal(name, path)("a label is not in 1..10")
        return _same_length(name, path, images, labels.astype(np.int32) - 1)


def _idx_file(name: str, folder: Path, stem: str) -> Path:
    """A file, or the same packed by gzip."""
    return folder / f"{stem}.gz" if (folder / f"{stem}.gz").is_file() else file_in(name, folder, stem)


class EMnistDataset(TableDataset):
    """Handwritten letters and digits: columns image uint8[28,28,1] and label uint32[].

    Args:
        dataset_dir: the folder with emnist-<name>-train-images-idx3-ubyte and its siblings, each with or without .gz.
        name: "byclass", "bymerge", "balanced", "letters", "digits" or "mnist".
        usage: "train", "test" or "all" (default).
        num_samples and the others: as of every data set.

    Pictures stand as they do in the files: rows and columns changed.
    Source: Cohen et al. 2017 (arXiv:1702.05373); `mindspore.dataset.EMnistDataset`.
    """

    names: ClassVar[tuple[str, ...]] = ("byclass", "bymerge", "balanced", "letters", "digits", "mnist")

    def __init__(
        self, dataset_dir: Name, name: str, usage: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Order = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        own, wanted = type(self).__name__, chosen(type(self).__name__, "usage", usage, ("train", "test", "all"), "all")
        split, folder = chosen(own, "name", name, self.names, ""), Path(dataset_dir)
        parts = ("train", "test") if wanted == "all" else (wanted,)
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(packed([self._part(folder, f"emnist-{split}-{part}") for part in parts]), choice)

    def _part(self, folder: Path, stem: str) -> Part:
        name = type(self).__name__
        images = read_idx(_idx_file(name, folder, f"{stem}-images-idx3-ubyte"), 0x803)
        path = _idx_file(name, folder, f"{stem}-labels-idx1-ubyte")
        return _same_length(name, path, images[..., np.newaxis], read_idx(path, 0x801).astype(np.uint32))


class QMnistDataset(TableDataset):
    """MNIST with more facts of a digit: columns image uint8[28,28,1] and label uint32[] or uint32[8].

    Args:
        dataset_dir: the folder with qmnist-train-images-idx3-ubyte and its siblings, each with or without .gz.
        usage: "train", "test", "test10k", "test50k", "nist" or "all" (default).
        compat: True: the label is the digit; False: all eight numbers.
        num_samples and the others: as of every data set.

    Source: Yadav, Bottou 2019 (arXiv:1905.10498); `mindspore.dataset.QMnistDataset`.
    """

    usages: ClassVar[tuple[str, ...]] = ("train", "test", "test10k", "test50k", "nist", "all")

    def __init__(
        self, dataset_dir: Name, usage: str | None = None, compat: bool = True, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Order = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(compat, bool):
            raise ArgumentError(f"QMnistDataset: compat is True or False, got {compat!r}")
        wanted = chosen("QMnistDataset", "usage", usage, self.usages, "all")
        parts = ("train", "test", "nist") if wanted == "all" else (wanted,)
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(packed([self._part(Path(dataset_dir), part, compat) for part in parts]), choice)

    def _part(self, folder: Path, part: str, compat: bool) -> Part:
        name, stem = type(self).__name__, {"nist": "xnist", "train": "qmnist-train"}.get(part, "qmnist-test")
        images = read_idx(_idx_file(name, folder, f"{stem}-images-idx3-ubyte"), 0x803)
        path = _idx_file(name, folder, f"{stem}-labels-idx2-int")
        labels = _label_rows(name, path, _unpacked(name, path))
        images, labels = _same_length(name, path, images[..., np.newaxis], labels)
        cut = {"test10k": slice(0, 10_000), "test50k": slice(10_000, None)}.get(part, slice(None))
        return images[cut], labels[cut, 0] if compat else labels[cut]


def _unpacked(name: str, path: Path) -> bytes:
    """The content of a file that may be packed by gzip, no more than is believable."""
    refuse = refusal(name, path)
    content = read_file(path, refuse)
    if path.suffix != ".gz":
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            plain = file.read(room(len(content)) + 1)
    except (EOFError, zlib.error, OSError) as error:
        raise refuse(f"it is a damaged or cut gzip file: {error}") from None
    need_room(len(content), len(plain), refuse)
    return plain


def _label_rows(name: str, path: Path, content: bytes) -> Array:
    head = np.frombuffer(content[:12], ">u4") if len(content) >= 12 else np.zeros(3, ">u4")
    if head[0] != 0xC02 or head[2] != 8 or len(content) != 12 + 32 * int(head[1]):
        raise refusal(name, path)("it is no idx file of 8 numbers per row, or it was cut short")
    return np.frombuffer(content, ">u4", offset=12).reshape(-1, 8).astype(np.uint32)


class USPSDataset(TextsDataset):
    """Digits of postal codes: columns image uint8[16,16,1] and label uint32[].

    Args:
        dataset_dir: the folder with usps (train) and usps.t (test). usage: "train", "test" or "all" (default).
        num_samples and the others: as of every data set.

    Source: Hull 1994; `mindspore.dataset.USPSDataset`.
    """

    def table(self, folder: Path, usage: str) -> Table:
        name, called = type(self).__name__, {"train": "usps", "test": "usps.t"}
        rows, parts = records([RecordFile(name, file_in(name, folder, called[p])) for p in self.parts(usage)])

        def read(place: tuple[RecordFile, int]) -> Row:
            file, index = place
            try:
                label, *values = file.record(index).split()
                pairs = [value.split(":") for value in values]
                if [int(at) for at, _ in pairs] != list(range(1, 257)) or not 1 <= int(label) <= 10:
                    raise ValueError("the places are 1 to 256, and the label is in 1..10")
                pixels = (np.array([float(v) for _, v in pairs]) + 1) / 2 * 255
                if not ((pixels >= 0) & (pixels <= 255)).all():
                    raise ValueError("values lie in -1..1")
            except ValueError as error:
                raise refusal(name, file.path, index)(f"it is no picture of 16x16: {error}") from None
            return pixels.astype(np.uint8).reshape(16, 16, 1), number(int(label) - 1)

        return Table(_COLUMNS, rows, read, parts)


class SemeionDataset(WholeDataset):
    """Handwritten digits of two colours: columns image uint8[16,16] of 0 and 1, and label uint32[].

    Args:
        dataset_dir: the folder with semeion.data.
        num_samples and the others: as of every data set.

    Source: Buscema, Terzi 1994; `mindspore.dataset.SemeionDataset`.
    """

    def table(self, folder: Path) -> Table:
        name = type(self).__name__
        file = RecordFile(name, file_in(name, folder, "semeion.data"))

        def read(index: int) -> Row:
            try:
                values = np.array([float(v) for v in file.record(index).split()])
                if values.shape != (266,) or not np.isin(values, (0, 1)).all() or values[256:].sum() != 1:
                    raise ValueError("266 numbers 0 or 1, the last ten of which have one 1")
            except ValueError as error:
                raise refusal(name, file.path, index)(f"it is no picture of 16x16: {error}") from None
            return values[:256].astype(np.uint8).reshape(16, 16), number(values[256:].argmax())

        return Table(_COLUMNS, range(len(file)), read)


class FakeImageDataset(TableDataset):
    """Random pictures, to try a program: columns image uint8[h,w,c] and label uint32[].

    Args:
        num_images, image_size, num_classes: how many, of which shape, of how many classes.
        base_seed: row i is drawn from base_seed + i.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset.
        cache: None.

    Source: `mindspore.dataset.FakeImageDataset`.

    >>> FakeImageDataset(4, (2, 3, 1), 5).output_shapes()
    [[2, 3, 1], []]
    """

    def __init__(
        self, num_images: int = 1000, image_size: Sequence[int] = (224, 224, 3), num_classes: int = 10,
        base_seed: int = 0, num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: Order = None, sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
        cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        shape = tuple(check_count(n, "image_size") for n in image_size)
        classes, seed = check_count(num_classes, "num_classes"), check_count(base_seed, "base_seed", least=0)
        if len(shape) != 3:
            raise DatasetError(f"FakeImageDataset: image_size is (height, width, channels), got {image_size!r}")

        def read(index: int) -> Row:
            drawn = np.random.Generator(np.random.PCG64(seed + index))
            return drawn.integers(0, 256, shape, np.uint8), number(drawn.integers(classes))

        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(Table(_COLUMNS, range(check_count(num_images, "num_images")), read), choice)
