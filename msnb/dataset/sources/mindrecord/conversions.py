"""Data sets as they are published, turned into MindRecord files.

    Cifar10ToMR("cifar-10-batches-py", "cifar.mindrecord").transform()     cifar.mindrecord, cifar.mindrecord_test

Pictures of CIFAR and MNIST become JPEG, as in MindSpore.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DatasetError
from msnb.dataset.picture_files import encode_jpeg
from msnb.dataset.pipeline.rows import as_columns, positions
from msnb.dataset.sources.mindrecord.file_writer import FileWriter
from msnb.dataset.sources.mindrecord.python_batch import read_batch
from msnb.dataset.sources.mnist import read_idx
from msnb.dataset.sources.records.schema import Schema
from msnb.dataset.sources.records.tfrecord import TFRecordDataset
from msnb.dataset.sources.tables.file_parts import file_in, folder_of, inner, words_of
from msnb.dataset.sources.tables.record_file import RecordFile
from msnb.dataset.sources.tables.table_source import say_in_full
from msnb.dataset.sources.texts.csv_files import fields

_BRIEF = "destination: the file to write."
_FULL = """destination: the file to write, which must not be there; with several files a number is put behind.

Raises:
    FileNotFoundError: something is missing. FileExistsError: the file is there. DatasetError: a file is damaged."""
_BATCH = 256
Values = Mapping[str, Any]


class _Conversion:
    """Reads a data set and writes it: subclasses define ``run``."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """The destination and the errors are explained here once."""
        super().__init_subclass__(**kwargs)
        say_in_full(cls, _BRIEF, _FULL)

    def run(self) -> None:
        """Write the files."""
        raise NotImplementedError(f"{type(self).__name__} must define run()")

    def transform(self) -> None:
        """Write the files."""
        self.run()


def _write(
    writer: FileWriter, schema: Mapping[str, str | Values], desc: str, index: Any, rows: Iterable[Values]
) -> None:
    writer.add_schema({k: {"type": v} if isinstance(v, str) else v for k, v in schema.items()}, desc)
    if index:
        writer.add_index(index)
    batch: list[Values] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _BATCH:
            writer.write_raw_data(batch)
            batch = []
    if batch:
        writer.write_raw_data(batch)
    writer.commit()


class _CifarToMR(_Conversion):
    """A version of CIFAR for Python as MindRecord; the test goes to a file with ``_test`` behind its name."""

    labels: ClassVar[Mapping[str, str]]  # column -> name in the files
    parts: ClassVar[tuple[str, str]]  # patterns of the files of training and test

    def __init__(self, source: str, destination: str) -> None:
        name = type(self).__name__
        self.source: Path = folder_of(name, source)
        self.destination: str = destination
        self._files = [sorted(self.source.glob(pattern)) for pattern in self.parts]
        for pattern, files in zip(self.parts, self._files):
            if not files:
                raise FileNotFoundError(f"{name}: {pattern} is missing in {source!r}")

    def run(self, fields: list[str] | None = None) -> None:
        """Write both files; ``fields``: columns of the index."""
        schema = {"id": "int64", **dict.fromkeys(self.labels, "int64"), "data": "bytes"}
        index = as_columns(fields, "fields")
        for files, ending, desc in zip(self._files, ("", "_test"), ("img_train", "img_test")):
            _write(FileWriter(self.destination + ending), schema, desc, index, self._rows(files))

    def transform(self, fields: list[str] | None = None) -> None:
        """Write both files; ``fields``: columns of the index."""
        self.run(fields)

    def _rows(self, files: Sequence[Path]) -> Iterator[Values]:
        number = 0
        for file in files:
            images, labels = read_batch(type(self).__name__, file, tuple(self.labels.values()))
            for row in zip(images, *labels):
                yield {"id": number, "data": encode_jpeg(row[0], 95), **dict(zip(self.labels, row[1:]))}
                number += 1


class Cifar10ToMR(_CifarToMR):
    """CIFAR-10 in its version for Python: columns id, label and data (a JPEG).

    Args:
        source: the folder with data_batch_1 and its siblings and test_batch.
        destination: the file to write.

    The files are pickles; only plain data is read of them, and nothing is run.
    Source: `mindspore.mindrecord.Cifar10ToMR`.
    """

    labels: ClassVar[Mapping[str, str]] = {"label": "labels"}
    parts: ClassVar[tuple[str, str]] = ("data_batch_*", "test_batch*")


class Cifar100ToMR(_CifarToMR):
    """CIFAR-100 in its version for Python: columns id, fine_label, coarse_label and data (a JPEG).

    Args:
        source: the folder with train and test.
        destination: the file to write.

    The files are pickles; only plain data is read of them, and nothing is run.
    Source: `mindspore.mindrecord.Cifar100ToMR`.
    """

    labels: ClassVar[Mapping[str, str]] = {"fine_label": "fine_labels", "coarse_label": "coarse_labels"}
    parts: ClassVar[tuple[str, str]] = ("train", "test")


class MnistToMR(_Conversion):
    """MNIST: columns label and data (a JPEG), in DESTINATION_train.mindrecord and DESTINATION_test.mindrecord.

    Args:
        source: the folder with train-images-idx3-ubyte.gz and its siblings.
        destination: how the files' names begin.
        partition_number: how many files each becomes.

    Raises:
        FileNotFoundError: something is missing. FileExistsError: a file is there. DatasetError: a file is damaged.

    Source: `mindspore.mindrecord.MnistToMR`.
    """

    def __init__(self, source: str, destination: str, partition_number: int = 1) -> None:
        self.source: Path = folder_of("MnistToMR", source)
        names = [f"{destination}_{part}.mindrecord" for part in ("train", "test")]
        self._writers = [FileWriter(name, partition_number) for name in names]

    def run(self) -> None:
        """Write the files of training and test."""
        for writer, part in zip(self._writers, ("train", "t10k")):
            _write(writer, {"label": "int64", "data": "bytes"}, "mnist_schema", ["label"], self._rows(part))

    def _rows(self, part: str) -> Iterator[Values]:
        images = read_idx(file_in("MnistToMR", self.source, f"{part}-images-idx3-ubyte.gz"), 0x803)
        labels = read_idx(file_in("MnistToMR", self.source, f"{part}-labels-idx1-ubyte.gz"), 0x801)
        if len(images) != len(labels):
            raise DatasetError(f"MnistToMR: {part} has {len(images)} images and {len(labels)} labels")
        for image, label in zip(images, labels):
            yield {"label": int(label), "data": encode_jpeg(image, 95)}


class ImageNetToMR(_Conversion):
    """Pictures in folders by class: columns label, image (the file's bytes) and file_name.

    Args:
        map_file: lines of a folder's name and its label. image_dir: the folder with these folders.
        partition_number: how many files.
        destination: the file to write.

    Source: `mindspore.mindrecord.ImageNetToMR`.
    """

    def __init__(self, map_file: str, image_dir: str, destination: str, partition_number: int = 1) -> None:
        name = "ImageNetToMR"
        self.image_dir: Path = folder_of(name, image_dir)
        self._labels = {}
        for line in words_of(name, file_in(name, Path(map_file).parent, Path(map_file).name)):
            words = line.split()
            if len(words) != 2 or not words[1].isascii() or not words[1].isdigit():
                raise DatasetError(f"{name}: {line[:60]!r} of {map_file!r} is no folder and label")
            self._labels[inner(name, self.image_dir, words[0])] = int(words[1])
        self._writer = FileWriter(destination, partition_number)

    def run(self) -> None:
        """Write the files."""
        self._writer.set_page_size(1 << 26)
        schema = {"label": "int32", "image": "bytes", "file_name": "string"}
        _write(self._writer, schema, "imagenet_schema", ["label", "file_name"], self._rows())

    def _rows(self) -> Iterator[Values]:
        there = {folder: label for folder, label in self._labels.items() if folder.is_dir()}
        if not there:
            raise FileNotFoundError(f"ImageNetToMR: no folder of the list is in {str(self.image_dir)!r}")
        for folder, label in there.items():
            for path in sorted(p for p in folder.iterdir() if p.name.endswith(("JPEG", "jpg"))):
                content = path.read_bytes()
                if content:
                    yield {"label": label, "image": content, "file_name": str(path)}


class CsvToMR(_Conversion):
    """A CSV file: a column is int64 or float64 if all its fields are such numbers, int32 if all are True or
    False, else a text; its first line names the columns.

    Args:
        source: the file. columns_list: which columns; default: all. partition_number: how many files.
        destination: the file to write.

    Source: `mindspore.mindrecord.CsvToMR`.
    """

    def __init__(
        self, source: str, destination: str, columns_list: list[str] | None = None, partition_number: int = 1
    ) -> None:
        self._file = RecordFile("CsvToMR", Path(source), "quoted")
        if not len(self._file):
            raise DatasetError(f"CsvToMR: {source!r} is empty, and its first line should name the columns")
        titles = as_columns(fields((self._file, 0), ",", None), "the first line")
        digits = next((title for title in titles if title.isdigit()), None)
        if digits is not None:
            raise AttributeValueError(f"CsvToMR: the first line of {source!r} names a column {digits!r}")
        self.columns: tuple[str, ...] = as_columns(columns_list, "columns_list") or titles
        self._places = positions(self.columns, titles, "columns_list")
        self._width = len(titles)
        self._writer = FileWriter(destination, partition_number)

    def run(self) -> None:
        """Write the files."""
        self._writer.set_page_size(1 << 26)
        kinds = [self._kind(place) for place in self._places]
        makers = [_FIELD_KINDS[kind] for kind in kinds]
        rows = ({n: m(row[p]) for n, m, p in zip(self.columns, makers, self._places)} for row in self._records())
        _write(self._writer, dict(zip(self.columns, kinds)), "csv_schema", list(self.columns), rows)

    def _records(self) -> Iterator[list[str]]:
        return (fields((self._file, i), ",", self._width) for i in range(1, len(self._file)))

    def _kind(self, place: int) -> str:
        left = list(_FIELD_KINDS)
        for row in self._records():
            while not _is(_FIELD_KINDS[left[0]], row[place]):
                left.pop(0)
        return left[0] if len(self._file) > 1 else "string"


def _flag(field: str) -> int:
    return {"True": 1, "False": 0, "TRUE": 1, "FALSE": 0, "true": 1, "false": 0}[field]


def _whole(field: str) -> int:
    value = int(field)
    if "_" in field or not -(1 << 63) <= value < 1 << 63:
        raise ValueError(field)
    return value


def _real(field: str) -> float:
    if "_" in field:
        raise ValueError(field)
    return float(field) if field.strip() else float("nan")  # an empty field among numbers is none


_FIELD_KINDS: dict[str, Any] = {"int32": _flag, "int64": _whole, "float64": _real, "string": str}


def _is(convert: Any, field: str) -> bool:
    try:
        convert(field)
    except (KeyError, ValueError):
        return False
    return True


_FROM_TF = {"string": "string", "float16": "float32", "float32": "float32", "float64": "float64", "double": "float64",
            "int64": "int64", "uint32": "int64", "uint64": "int64",
            **dict.fromkeys(("bool", "int8", "int16", "int32", "uint8", "uint16"), "int32")}  # fmt: skip


class TFRecordToMR(_Conversion):
    """A TFRecord file; TensorFlow is not needed.

    Args:
        source: the file.
        feature_dict: columns and features: objects with ``shape`` ([] or [n]) and ``dtype``, as
            ``tf.io.FixedLenFeature``; a dtype is one of TensorFlow, msnb or NumPy, or its name. Signs in the names of
            columns become _.
        bytes_fields: columns of strings that are bytes; default: none.
        destination: the file to write.

    Source: `mindspore.mindrecord.TFRecordToMR`.
    """

    def __init__(
        self, source: str, destination: str, feature_dict: Mapping[str, Any], bytes_fields: list[str] | None = None
    ) -> None:
        if not isinstance(feature_dict, Mapping) or not feature_dict:
            raise ArgumentError(f"TFRecordToMR: feature_dict is a dict of features, got {feature_dict!r}")
        raw = as_columns(bytes_fields, "bytes_fields")
        positions(raw, tuple(feature_dict), "bytes_fields")
        self.source: str = source
        self.destination: str = destination
        self._schema: dict[str, Values] = {}
        self._fields: dict[str, tuple[str, bool]] = {}
        self._types = Schema()
        for name, feature in feature_dict.items():
            self._enter(name, feature, name in raw)

    def _enter(self, name: str, feature: Any, raw: bool) -> None:
        kind, shape = _feature(name, feature)
        if (shape and kind == "string") or (raw and kind != "string"):
            fault = "bytes are of dtype string" if raw else "strings have the shape []"
            raise AttributeValueError(f"TFRecordToMR: feature {name!r}: {fault}")
        cast = "".join("_" if sign in string.punctuation + " " else sign for sign in name)
        if cast in self._schema:
            raise AttributeValueError(f"TFRecordToMR: two columns would be called {cast!r}")
        self._schema[cast] = {"type": "bytes" if raw else kind, **({"shape": shape} if shape else {})}
        self._fields[cast] = name, bool(shape)
        self._types.add_column(name, *_stored(kind, shape, raw))

    def run(self) -> None:
        """Write the file."""
        rows = TFRecordDataset(self.source, self._types, shuffle=False, num_parallel_workers=1)
        found = rows.create_dict_iterator(num_epochs=1, output_numpy=True)
        _write(FileWriter(self.destination), self._schema, "TFRecord to MindRecord", None, map(self._row, found))

    def _row(self, row: Values) -> Values:
        values = {}
        for cast, (name, many) in self._fields.items():
            value = np.asarray(row[name])
            plain = not many and self._schema[cast]["type"] != "bytes"
            values[cast] = value.reshape(-1)[0] if plain and value.size == 1 else value
        return values


def _feature(name: str, feature: Any) -> tuple[str, list[int]]:
    """The type of the column, and its shape."""
    shape, dtype = getattr(feature, "shape", None), getattr(feature, "dtype", None)
    called = dtype.__name__ if isinstance(dtype, type) else str(getattr(dtype, "name", dtype))
    kind = _FROM_TF.get(called.rpartition(".")[2].lower())
    if kind is None or shape is None or len(shape) > 1 or any(type(n) is not int or n < 1 for n in shape):
        raise AttributeValueError(
            f"TFRecordToMR: feature {name!r} has dtype {dtype!r} and shape {shape!r}; a shape is [] or [n], a dtype a "
            "number or a string"
        )
    return kind, list(shape)


def _stored(kind: str, shape: list[int], raw: bool) -> tuple[str, list[int] | None]:
    """Type and shape of a column as it is read."""
    if kind == "string":
        return ("uint8", [-1]) if raw else ("string", None)
    return "float32" if kind.startswith("float") else "int64", shape or [1]


def set_enc_key(enc_key: str | None) -> None:
    """Say that files are not encrypted (None); anything else is refused.

    Source: `mindspore.mindrecord.set_enc_key`.
    """
    _no_encryption("set_enc_key", enc_key)


def set_enc_mode(enc_mode: Any = "AES-GCM") -> None:
    """Refused: there is no encryption of MindRecord files here.

    Source: `mindspore.mindrecord.set_enc_mode`.
    """
    _no_encryption("set_enc_mode", enc_mode)


def set_dec_mode(dec_mode: Any = "AES-GCM") -> None:
    """Refused, but for None: there is no encryption of MindRecord files here.

    Source: `mindspore.mindrecord.set_dec_mode`.
    """
    _no_encryption("set_dec_mode", dec_mode)


def _no_encryption(what: str, value: Any) -> None:
    if value is not None:
        raise AttributeValueError(
            f"{what}: msnb writes and reads MindRecord files as they are, not encrypted.",
            hint="encrypt the folder that they lie in",
        )
