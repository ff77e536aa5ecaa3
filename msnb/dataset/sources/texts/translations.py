"""Talks and their translations: columns text and translation.

    IWSLT2016   texts/de/en/de-en/train.tags.de-en.de, IWSLT16.TED.tst2013.de-en.de.xml and the same ending in .en
    IWSLT2017   texts/DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo/train.tags.de-en.de, IWSLT17.TED.dev2010.de-en.de.xml

Lines of a file of tags that begin with < are passed over; of the others, the segments are read.
Source: the pages of these classes in `mindspore.dataset`.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Sequence
from pathlib import Path

from msnb.base import AttributeValueError
from msnb.base.files.bounded_reader import read_text
from msnb.dataset.pipeline.rows import Row
from msnb.dataset.row_cache import DatasetCache
from msnb.dataset.sources.tables.file_parts import Name, chosen, file_in, folder_of, text
from msnb.dataset.sources.tables.record_file import refusal
from msnb.dataset.sources.tables.table_source import Order, RowChoice, Shuffle, Table, TableDataset

__all__ = ["IWSLT2016Dataset", "IWSLT2017Dataset"]

_USAGES = ("train", "valid", "test", "all")
_SETS = ("dev2010", "tst2010", "tst2011", "tst2012", "tst2013", "tst2014")
_SEGMENT = re.compile(r"<seg\b[^>]*>([^<]*)</seg>")
_MOST = 256 << 20
_PAIRS_2016 = {
    *(("en", other) for other in ("fr", "de", "cs", "ar")),
    *((other, "en") for other in ("fr", "de", "cs", "ar")),
}
_PAIRS_2017 = set(itertools.permutations(("en", "nl", "de", "it", "ro"), 2))


def _lines(name: str, path: Path) -> list[str]:
    content = read_text(path, refusal(name, path), _MOST)
    if path.suffix == ".xml":
        return [html.unescape(found).strip() for found in _SEGMENT.findall(content)]
    return [line.strip() for line in content.splitlines() if line.strip() and not line.lstrip().startswith("<")]


def _table(name: str, folder: Path, pair: tuple[str, str], stems: Sequence[str]) -> Table:
    rows: list[tuple[str, str]] = []
    parts = []
    for stem in stems:
        ending = ".xml" if stem.startswith("IWSLT") else ""
        paths = [file_in(name, folder, f"{stem}.{'-'.join(pair)}.{language}{ending}") for language in pair]
        sides = [_lines(name, path) for path in paths]
        if len(sides[0]) != len(sides[1]):
            raise refusal(name, paths[1])(f"it has {len(sides[1])} rows, and {paths[0].name} has {len(sides[0])}")
        rows += zip(*sides)
        parts.append(len(sides[0]))

    def read(row: tuple[str, str]) -> Row:
        return text(row[0]), text(row[1])

    return Table(("text", "translation"), rows, read, parts)


def _pair(name: str, pair: Sequence[str] | None, legal: set[tuple[str, str]]) -> tuple[str, str]:
    found = ("de", "en") if pair is None else tuple(pair)
    if found not in legal:
        raise AttributeValueError(f"{name}: language_pair must be one of {sorted(legal)}, got {pair!r}")
    return found[0], found[1]


def _stems(usage: str, mark: str, valid: str, test: str) -> list[str]:
    stems = {"train": "train.tags", "valid": f"{mark}.TED.{valid}", "test": f"{mark}.TED.{test}"}
    return list(stems.values()) if usage == "all" else [stems[usage]]


class IWSLT2016Dataset(TableDataset):
    """Talks in English and Arabic, Czech, French or German: columns text and translation.

    Args:
        dataset_dir: the folder with texts. usage: "train", "valid", "test" or "all" (default).
        language_pair: from and to; default: ("de", "en").
        valid_set, test_set: "dev2010", "tst2010" to "tst2014"; default: "tst2013" and "tst2014".
        num_samples and the others: as of every data set.

    Source: Cettolo, Girardi, Federico 2012; `mindspore.dataset.IWSLT2016Dataset`.
    """

    def __init__(
        self, dataset_dir: Name, usage: str | None = None, language_pair: Sequence[str] | None = None,
        valid_set: str | None = None, test_set: str | None = None, num_samples: int | None = None,
        shuffle: Order = Shuffle.GLOBAL, num_shards: int | None = None, shard_id: int | None = None,
        num_parallel_workers: int | None = None, cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        name, folder = type(self).__name__, folder_of(type(self).__name__, dataset_dir)
        pair = _pair(name, language_pair, _PAIRS_2016)
        valid = chosen(name, "valid_set", valid_set, _SETS, "tst2013")
        test = chosen(name, "test_set", test_set, _SETS, "tst2014")
        stems = _stems(chosen(name, "usage", usage, _USAGES, "all"), "IWSLT16", valid, test)
        table = _table(name, folder_of(name, folder.joinpath("texts", *pair, "-".join(pair))), pair, stems)
        super().__init__(
            table, RowChoice(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache)
        )


class IWSLT2017Dataset(TableDataset):
    """Talks in two of German, English, Italian, Dutch and Romanian: columns text and translation.

    Args:
        dataset_dir: the folder with texts. usage: "train", "valid", "test" or "all" (default).
        language_pair: from and to; default: ("de", "en").
        num_samples and the others: as of every data set.

    Source: Cettolo et al. 2017; `mindspore.dataset.IWSLT2017Dataset`.
    """

    def __init__(
        self, dataset_dir: Name, usage: str | None = None, language_pair: Sequence[str] | None = None,
        num_samples: int | None = None, shuffle: Order = Shuffle.GLOBAL, num_shards: int | None = None,
        shard_id: int | None = None, num_parallel_workers: int | None = None, cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        name, folder = type(self).__name__, folder_of(type(self).__name__, dataset_dir)
        pair = _pair(name, language_pair, _PAIRS_2017)
        stems = _stems(chosen(name, "usage", usage, _USAGES, "all"), "IWSLT17", "dev2010", "tst2010")
        every = "DeEnItNlRo"
        table = _table(name, folder_of(name, folder / "texts" / every / every / f"{every}-{every}"), pair, stems)
        super().__init__(
            table, RowChoice(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache)
        )
