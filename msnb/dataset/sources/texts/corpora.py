"""Text corpora in layouts of their own: reviews as files, tagged sentences, questions with answers.

    IMDB         train/pos/0_9.txt ...                     one review per file
    CoNLL2000    "word tag chunk" lines, an empty line between sentences        UDPOS: fields between tabs
    SST2         sentence <tab> label, the first line is a title
    SQuAD        one JSON file per part                    CLUE: one JSON object per line

Source: the pages of these classes in `mindspore.dataset`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from msnb.base.files.bounded_reader import read_file, read_json, read_text
from msnb.dataset.pipeline.rows import Row
from msnb.dataset.row_cache import DatasetCache
from msnb.dataset.sources.tables.families import SampledDataset, SentencesDataset, TextsDataset
from msnb.dataset.sources.tables.file_parts import Name, chosen, file_in, number, text
from msnb.dataset.sources.tables.record_file import RecordFile, refusal
from msnb.dataset.sources.tables.table_source import Order, Place, RowChoice, Table, TableDataset, records
from msnb.dataset.sources.texts.line_files import listed_files

__all__ = ["CLUEDataset", "CoNLL2000Dataset", "IMDBDataset", "SQuADDataset", "SST2Dataset", "UDPOSDataset"]

_MOST_JSON = 256 << 20


class IMDBDataset(SampledDataset):
    """Reviews of films: columns text and label int32[], 0 for neg and 1 for pos.

    Args:
        dataset_dir: the folder with train/pos, train/neg, test/pos, test/neg.
        usage: "train", "test" or "all" (default).
        num_samples and the others: as of every data set.

    Source: Maas et al. 2011; `mindspore.dataset.IMDBDataset`.
    """

    def table(self, folder: Path, usage: str) -> Table:
        name, rows = type(self).__name__, []
        for part in self.parts(usage):
            for label, kind in ((1, "pos"), (0, "neg")):
                place = folder / part / kind
                if not place.is_dir():
                    raise FileNotFoundError(f"{name}: {part}/{kind} is missing in {str(folder)!r}")
                rows += [(path, label) for path in sorted(place.glob("*.txt"))]

        def read(row: tuple[Path, int]) -> Row:
            return text(read_text(row[0], refusal(name, row[0]), 16 << 20)), number(row[1], np.int32)

        return Table(("text", "label"), rows, read)


def _tagged(name: str, files: Sequence[Path], columns: Sequence[str], separator: str | None) -> Table:
    """A row per sentence; column i has the field i of all its words."""
    rows, parts = records([RecordFile(name, file, "blocks") for file in files])

    def read(place: Place) -> Row:
        file, index = place
        words = [line.split(separator) for line in file.record(index).splitlines() if line.strip()]
        wrong = next((w for w in words if len(w) != len(columns)), None)
        if wrong is not None:
            raise refusal(name, file.path, index)(
                f"a word has the fields {wrong}, and there are {len(columns)} columns"
            )
        return tuple(np.array(column) for column in zip(*words))

    return Table(columns, rows, read, parts)


class CoNLL2000Dataset(SentencesDataset):
    """Sentences with parts of speech and chunks: columns word, pos_tag and chunk_tag, a text per word.

    Args:
        dataset_dir: the folder with train.txt and test.txt. usage: "train", "test" or "all" (default).
        num_samples and the others: as of every data set.

    Source: Tjong Kim Sang, Buchholz 2000; `mindspore.dataset.CoNLL2000Dataset`.
    """

    def table(self, folder: Path, usage: str) -> Table:
        name = type(self).__name__
        files = [file_in(name, folder, f"{part}.txt") for part in self.parts(usage)]
        return _tagged(name, files, ("word", "pos_tag", "chunk_tag"), None)


class UDPOSDataset(SentencesDataset):
    """Sentences with two kinds of parts of speech: columns word, universal and stanford, a text per word.

    Args:
        dataset_dir: the folder with en-ud-tag.v2.train.txt and its siblings (test, dev).
        usage: "train", "test", "valid" or "all" (default).
        num_samples and the others: as of every data set.

    Source: Silveira et al. 2014; `mindspore.dataset.UDPOSDataset`.
    """

    usages: ClassVar[tuple[str, ...]] = ("train", "test", "valid", "all")

    def table(self, folder: Path, usage: str) -> Table:
        name, called = type(self).__name__, {"train": "train", "test": "test", "valid": "dev"}
        files = [file_in(name, folder, f"en-ud-tag.v2.{called[part]}.txt") for part in self.parts(usage)]
        return _tagged(name, files, ("word", "universal", "stanford"), "\t")


class SST2Dataset(TextsDataset):
    """Sentences of reviews: columns sentence and label (text "0" or "1"); the test has no label.

    Args:
        dataset_dir: the folder with train.tsv, dev.tsv and test.tsv. usage: "train" (default), "dev" or "test".
        num_samples and the others: as of every data set.

    Source: Socher et al. 2013; `mindspore.dataset.SST2Dataset`.
    """

    usages: ClassVar[tuple[str, ...]] = ("train", "test", "dev")
    default: ClassVar[str] = "train"

    def table(self, folder: Path, usage: str) -> Table:
        name = type(self).__name__
        file = RecordFile(name, file_in(name, folder, f"{usage}.tsv"))
        columns = ("sentence",) if usage == "test" else ("sentence", "label")

        def read(index: int) -> Row:
            found = file.record(index).split("\t")
            if len(found) != 2:
                raise refusal(name, file.path, index)(f"it has {len(found)} fields between tabs, and not 2")
            # the test has a number before the sentence, the others a label behind it
            return (text(found[1]),) if usage == "test" else (text(found[0]), text(found[1]))

        return Table(columns, range(1, max(len(file), 1)), read)


class SQuADDataset(TextsDataset):
    """Questions on texts: columns context, question, text (the answers) and answer_start uint32[n].

    Args:
        dataset_dir: the folder with train-v1.1.json and dev-v1.1.json, or those of v2.0.
        usage: "train", "dev" or "all" (default).
        num_samples and the others: as of every data set.

    A question without an answer has the text "" and answer_start 0, as in MindSpore.
    Source: Rajpurkar et al. 2016, 2018; `mindspore.dataset.SQuADDataset`.
    """

    usages: ClassVar[tuple[str, ...]] = ("train", "dev", "all")

    def table(self, folder: Path, usage: str) -> Table:
        name = type(self).__name__
        rows: list[Any] = []
        parts = []
        for part in self.parts(usage):
            found = sorted(folder.glob(f"{part}-v*.json"))
            if not found:
                raise FileNotFoundError(f"{name}: {part}-v1.1.json (or -v2.0) is missing in {str(folder)!r}")
            questions = [q for file in found for q in _questions(name, file)]
            rows += questions
            parts.append(len(questions))
        return Table(("context", "question", "text", "answer_start"), rows, _question, parts)


def _question(row: tuple[str, str, list[str], list[int]]) -> Row:
    context, question, answers, starts = row
    return text(context), text(question), np.array(answers or [""]), np.array(starts or [0], np.uint32)


def _questions(name: str, path: Path) -> Iterator[tuple[str, str, list[str], list[int]]]:
    refuse = refusal(name, path)
    page = read_json(read_file(path, refuse, _MOST_JSON), refuse, most=_MOST_JSON)
    try:
        for article in page["data"]:
            for paragraph in article["paragraphs"]:
                for entry in paragraph["qas"]:
                    answers = entry["answers"]
                    starts = [int(a["answer_start"]) for a in answers]
                    if any(not 0 <= start < 2**32 for start in starts):
                        raise ValueError("answer_start")
                    yield str(paragraph["context"]), str(entry["question"]), [str(a["text"]) for a in answers], starts
    except (KeyError, TypeError, ValueError) as error:
        raise refuse(f"it is no file of questions and answers: {type(error).__name__} {error}") from None


_CLUE: dict[str, dict[str, dict[str, str]]] = {
    "AFQMC": {"": {"sentence1": "sentence1", "sentence2": "sentence2"}, "labeled": {"label": "label"},
              "test": {"id": "id"}},
    "CMNLI": {"": {"sentence1": "sentence1", "sentence2": "sentence2"}, "labeled": {"label": "label"},
              "test": {"id": "id"}},
    "TNEWS": {"": {"sentence": "sentence", "keywords": "keywords"},
              "labeled": {"label": "label", "label_desc": "label_desc"}, "test": {"id": "id"}},
    "IFLYTEK": {"": {"sentence": "sentence"}, "labeled": {"label": "label", "label_des": "label_des"},
                "test": {"id": "id"}},
    "CSL": {"": {"id": "id", "abst": "abst", "keyword": "keyword"}, "labeled": {"label": "label"}, "test": {}},
    "WSC": {"": {"span1_index": "target/span1_index", "span2_index": "target/span2_index",
                 "span1_text": "target/span1_text", "span2_text": "target/span2_text", "idx": "idx", "text": "text"},
            "labeled": {"label": "label"}, "test": {}},
}  # fmt: skip


class CLUEDataset(TableDataset):
    """Tasks of Chinese language understanding: the columns are those of the task, all text but the numbers.

    Args:
        dataset_files: a file, a pattern, or a list of these.
        task: "AFQMC" (default), "TNEWS", "IFLYTEK", "CMNLI", "WSC" or "CSL". usage: "train" (default), "test", "eval".
        num_samples and the others: as of every data set.

    Source: Xu et al. 2020 (arXiv:2004.05986); `mindspore.dataset.CLUEDataset`.
    """

    def __init__(
        self, dataset_files: Name | Sequence[Name], task: str = "AFQMC", usage: str = "train",
        num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: Order = True,
        num_shards: int | None = None, shard_id: int | None = None, cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        name = type(self).__name__
        fields = _CLUE[chosen(name, "task", task, tuple(_CLUE), "AFQMC")]
        part = "test" if chosen(name, "usage", usage, ("train", "test", "eval"), "train") == "test" else "labeled"
        wanted = {**fields[""], **fields[part]}
        rows, parts = records([RecordFile(name, file) for file in listed_files(name, dataset_files)])

        def read(place: Place) -> Row:
            file, index = place
            refuse = refusal(name, file.path, index)
            entry = read_json(file.record(index), refuse, what="the line")
            return tuple(_value(entry, path, refuse) for path in wanted.values())

        choice = RowChoice(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache)
        super().__init__(Table(tuple(wanted), rows, read, parts), choice)


def _value(entry: Any, path: str, refuse: Any) -> Any:
    for key in path.split("/"):
        if not isinstance(entry, Mapping) or key not in entry:
            raise refuse(f"it has no {path!r}")
        entry = entry[key]
    if isinstance(entry, list) and entry and all(isinstance(part, str) for part in entry):
        return np.array(entry)
    if isinstance(entry, bool) or not isinstance(entry, (int, str)):
        raise refuse(f"its {path!r} is {entry!r}, and no text or number")
    if isinstance(entry, int) and not 0 <= entry < 2**32:
        raise refuse(f"its {path!r} is {entry}, and no number of 32 bits")
    return text(entry) if isinstance(entry, str) else number(entry)
