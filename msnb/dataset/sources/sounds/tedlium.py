"""`TedliumDataset`: talks in SPHERE files, cut into what a transcript says.

    train/sph/Talk_2010.sph      NIST_1A, 1024 bytes of "name -type value", samples of 16 bits
    train/stm/Talk_2010.stm      Talk_2010 1 Talk_2010 12.5 16.25 <o,f0,male> the words

Source: Rousseau et al. 2012; "NIST SPeech HEader REsources"; `mindspore.dataset.TedliumDataset`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from msnb.base import DatasetError
from msnb.base.files.bounded_reader import open_file, read_bytes, size_of
from msnb.dataset.pipeline.rows import Array, Row
from msnb.dataset.row_cache import DatasetCache
from msnb.dataset.sources.tables.file_parts import Name, chosen, folder_of, inner, number, text, words_of
from msnb.dataset.sources.tables.record_file import refusal
from msnb.dataset.sources.tables.table_source import Order, RowChoice, Table, TableDataset

_HEAD, _LINE = 1024, 7
_PARTS = ("dev", "test", "train")


class TedliumDataset(TableDataset):
    """Talks: columns waveform f32[1,n], sample_rate i32[], and the texts transcript, talk_id, speaker_id,
    identifier.

    Args:
        dataset_dir: the folder with train, test and dev, or data in the third release.
        release: "release1", "release2" or "release3".
        usage: "train", "test", "dev" or "all" (default); of the third release "all" only.
        extensions: None or ".sph".
        num_samples and the others: as of every data set.

    The first rows of all files come first, then the second ones, as in MindSpore.
    Source: Rousseau et al. 2012; `mindspore.dataset.TedliumDataset`.
    """

    def __init__(
        self, dataset_dir: Name, release: str, usage: str | None = None, extensions: str | None = None,
        num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: Order = None,
        sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
        cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        name, folder = type(self).__name__, folder_of(type(self).__name__, dataset_dir)
        third = chosen(name, "release", release, ("release1", "release2", "release3"), "") == "release3"
        wanted = chosen(name, "usage", usage, ("all",) if third else (*_PARTS, "all"), "all")
        chosen(name, "extensions", extensions, (".sph",), ".sph")
        places = ("data",) if third else _PARTS if wanted == "all" else (wanted,)
        files = [path for part in places for path in sorted(folder_of(name, folder / part / "stm").glob("*.stm"))]
        if not files:
            raise DatasetError(f"{name}: there is no transcript in {str(folder)!r}")
        found = [
            (index, at, path, line) for at, path in enumerate(files) for index, line in enumerate(words_of(name, path))
        ]
        rows = [_segment(name, path, index, line) for index, _, path, line in sorted(found, key=lambda row: row[:2])]

        def read(row: _Segment) -> Row:
            waveform, rate = read_sphere(name, row.sound, row.start, row.stop)
            return waveform, number(rate, np.int32), *map(text, row.texts)

        columns = ("waveform", "sample_rate", "transcript", "talk_id", "speaker_id", "identifier")
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(Table(columns, rows, read), choice)


@dataclass(frozen=True)
class _Segment:
    """A row: the sound, from when to when in seconds, and its texts."""

    sound: Path
    start: float
    stop: float
    texts: tuple[str, ...]


def _segment(name: str, path: Path, index: int, line: str) -> _Segment:
    refuse = refusal(name, path, index)
    fields = line.split(None, _LINE - 1)
    if len(fields) < _LINE - 1:
        raise refuse(f"{line[:60]!r} is no row of talk, channel, speaker, start, end, identifier and words")
    talk, _, speaker, start, stop, identifier = fields[: _LINE - 1]
    try:
        times = float(start), float(stop)
    except ValueError:
        times = (math.nan, math.nan)
    if not 0 <= times[0] <= times[1] < 1e6:
        raise refuse(f"it goes from {start!r} to {stop!r}, which are no seconds")
    words = fields[_LINE - 1] if len(fields) == _LINE else ""
    sound = inner(name, path.parent.parent / "sph", f"{talk}.sph")
    return _Segment(sound, *times, (words, talk, speaker, identifier))


def read_sphere(name: str, path: Path, start: float, stop: float) -> tuple[Array, int]:
    """The samples float32[channels, n] of a SPHERE file from one second to another, and its rate.

    Raises:
        DatasetError: there is none, or it is no such file, damaged, or packed.
    """
    refuse = refusal(name, path)
    try:
        file = open_file(path, refuse)
    except FileNotFoundError:
        raise DatasetError(f"{name}: the sound {str(path)!r} is missing.") from None
    with file:
        lines = read_bytes(file, min(_HEAD, size_of(file)), refuse).decode("latin-1").splitlines()
        facts = {words[0]: words[2] for words in (line.split(None, 2) for line in lines[2:]) if len(words) == 3}
        if lines[:2] != ["NIST_1A", f"{_HEAD:7}"] and [line.strip() for line in lines[:2]] != ["NIST_1A", str(_HEAD)]:
            raise refuse("it is no SPHERE file")
        rate, channels, width = (
            _fact(facts, key, refuse) for key in ("sample_rate", "channel_count", "sample_n_bytes")
        )
        order = facts.get("sample_byte_format", "01").strip()
        if width != 2 or order not in ("01", "10") or facts.get("sample_coding", "pcm").strip() != "pcm":
            raise refuse(
                f"samples of {width} bytes, {facts.get('sample_coding')!r} are not read; save it as PCM of 16 bits"
            )
        there = (size_of(file) - _HEAD) // (width * channels)
        first, last = min(int(start * rate), there), min(int(stop * rate), there)
        file.seek(_HEAD + first * width * channels)
        content = read_bytes(file, (last - first) * width * channels, refuse)
    samples = np.frombuffer(content, "<i2" if order == "01" else ">i2").reshape(-1, channels).T
    return np.asarray(samples / np.float32(1 << 15), np.float32, order="C"), rate


def _fact(facts: dict[str, str], key: str, refuse: Any) -> int:
    value = facts.get(key, "").strip()
    if not value.isascii() or not value.isdigit() or not 0 < int(value[:9]) < 1 << 24 or len(value) > 9:
        raise refuse(f"its header says {key} {value!r}")
    return int(value)
