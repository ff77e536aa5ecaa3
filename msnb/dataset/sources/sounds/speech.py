"""Speech and music in WAV files: column waveform float32[channels,n], sample_rate, and what names and lists say.

    SpeechCommands   cat/b433eff_nohash_0.wav, validation_list.txt, testing_list.txt
    YesNo            0_1_0_0_1_1_0_1.wav                     GTZAN        blues/blues.00000.wav
    LJSpeech         metadata.csv: LJ001-0001|text|text      CMUArctic    etc/txt.done.data: ( arctic_a0001 "text" )
    LibriTTS         116/288045/116_288045.trans.tsv

Source: the pages of these classes in `mindspore.dataset`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from msnb.base import DatasetError
from msnb.dataset.pipeline.rows import Array, Row
from msnb.dataset.row_cache import DatasetCache
from msnb.dataset.sources.sounds.wave_file import read_wave
from msnb.dataset.sources.tables import file_parts as parts
from msnb.dataset.sources.tables.families import SampledDataset, WholeDataset
from msnb.dataset.sources.tables.record_file import refusal
from msnb.dataset.sources.tables.table_source import Order, RowChoice, Table, TableDataset

__all__ = [
    "CMUArcticDataset", "GTZANDataset", "LJSpeechDataset", "LibriTTSDataset", "SpeechCommandsDataset", "YesNoDataset",
]  # fmt: skip

Sound = tuple[Path, tuple[Array, ...]]


def sounds(name: str, columns: Sequence[str], rows: Sequence[Sound], rate_type: Any = np.int32) -> Table:
    """Sounds with what is known of each."""
    if not rows:
        raise DatasetError(f"{name}: there is no sound in the folder.", hint="is it the folder that the page shows?")

    def read(row: Sound) -> Row:
        waveform, rate = read_wave(name, row[0])
        return waveform, parts.number(rate, rate_type), *(np.array(part) for part in row[1])

    return Table(("waveform", "sample_rate", *columns), rows, read)


class SpeechCommandsDataset(SampledDataset):
    """Spoken words: columns waveform, sample_rate i32[], label, speaker_id, utterance_number i32[].

    Args:
        dataset_dir: the folder of the words' folders, with testing_list.txt and validation_list.txt.
        usage: "train", "test", "valid" or "all" (default).
        num_samples and the others: as of every data set.

    Source: Warden 2018 (arXiv:1804.03209); `mindspore.dataset.SpeechCommandsDataset`.
    """

    usages: ClassVar[tuple[str, ...]] = ("train", "test", "valid", "all")

    def table(self, folder: Path, usage: str) -> Table:
        name = type(self).__name__
        every = {f"{p.name}/{f.name}": f for p in parts.folders_in(folder) if p.name != "_background_noise_"
                 for f in sorted(p.glob("*.wav"))}  # fmt: skip
        if usage != "all":
            lists = {"test": "testing_list.txt", "valid": "validation_list.txt"}
            held = {
                part: set(parts.words_of(name, parts.file_in(name, folder, title))) for part, title in lists.items()
            }
            out = set().union(*held.values())
            every = {k: f for k, f in every.items() if (k not in out if usage == "train" else k in held[usage])}
        return sounds(name, ("label", "speaker_id", "utterance_number"), [(f, self._facts(f)) for f in every.values()])

    def _facts(self, path: Path) -> tuple[Array, ...]:
        speaker, mark, count = path.stem.partition("_nohash_")
        if not mark or not re.fullmatch("[0-9]{1,9}", count):
            raise refusal(type(self).__name__, path)("its name has no speaker and number around '_nohash_'")
        return parts.text(path.parent.name), parts.text(speaker), parts.number(int(count), np.int32)


class YesNoDataset(WholeDataset):
    """Eight words yes or no: columns waveform, sample_rate i32[] and label i32[8], 1 for yes.

    Args:
        dataset_dir: the folder with 0_1_0_0_1_1_0_1.wav and its siblings.
        num_samples and the others: as of every data set.

    Source: openslr.org/1; `mindspore.dataset.YesNoDataset`.
    """

    def table(self, folder: Path) -> Table:
        name, rows = type(self).__name__, []
        for path in sorted(folder.glob("*.wav")):
            if not re.fullmatch("[01](_[01])*", path.stem):
                raise refusal(name, path)("its name is no row of 0 and 1")
            rows.append((path, (np.array([int(word) for word in path.stem.split("_")], np.int32),)))
        return sounds(name, ("label",), rows)


class GTZANDataset(SampledDataset):
    """Music of ten kinds: columns waveform, sample_rate u32[] and label.

    Args:
        dataset_dir: the folder with blues, classical, ... usage: "all" (default), or "train", "valid", "test" with
            lists train_filtered.txt, valid_filtered.txt, test_filtered.txt of "blues/blues.00029.wav" beside them.
        num_samples and the others: as of every data set.

    Source: Tzanetakis, Cook 2002; `mindspore.dataset.GTZANDataset`.
    """

    usages: ClassVar[tuple[str, ...]] = ("train", "valid", "test", "all")

    def table(self, folder: Path, usage: str) -> Table:
        name = type(self).__name__
        files = [f for p in parts.folders_in(folder) for f in sorted(p.glob("*.wav"))]
        if usage != "all":
            lines = parts.words_of(name, parts.file_in(name, folder, f"{usage}_filtered.txt"))
            files = [parts.inner(name, folder, line) for line in lines]
        return sounds(name, ("label",), [(f, (parts.text(f.parent.name),)) for f in files], np.uint32)


class LJSpeechDataset(WholeDataset):
    """A reader's sentences: columns waveform, sample_rate i32[], transcription and normalized_transcription.

    Args:
        dataset_dir: the folder with metadata.csv and wavs.
        num_samples and the others: as of every data set.

    Source: Ito, Johnson 2017; `mindspore.dataset.LJSpeechDataset`.
    """

    def table(self, folder: Path) -> Table:
        name, rows = type(self).__name__, []
        path = parts.file_in(name, folder, "metadata.csv")
        for index, line in enumerate(parts.words_of(name, path)):
            found = line.split("|")
            if len(found) != 3:
                raise refusal(name, path, index)(f"it has {len(found)} parts between '|', and not 3")
            file = parts.inner(name, folder, f"wavs/{found[0]}.wav")
            rows.append((file, (parts.text(found[1]), parts.text(found[2]))))
        return sounds(name, ("transcription", "normalized_transcription"), rows)


_SPEAKERS = ("aew", "ahw", "aup", "awb", "axb", "bdl", "clb", "eey", "fem", "gka", "jmk", "ksp", "ljm", "lnh", "rms",
             "rxr", "slp", "slt")  # fmt: skip


class CMUArcticDataset(TableDataset):
    """Sentences of 18 speakers: columns waveform, sample_rate u32[], transcript and utterance_id.

    Args:
        dataset_dir: the folder with cmu_us_aew_arctic and its siblings. name: the speaker; default: "aew".
        num_samples and the others: as of every data set.

    Source: Kominek, Black 2004; `mindspore.dataset.CMUArcticDataset`.
    """

    def __init__(
        self, dataset_dir: parts.Name, name: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Order = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        own = type(self).__name__
        speaker = parts.chosen(own, "name", name, _SPEAKERS, "aew")
        folder = parts.folder_of(own, parts.folder_of(own, dataset_dir) / f"cmu_us_{speaker}_arctic")
        path, rows = parts.file_in(own, folder, "etc", "txt.done.data"), []
        for index, line in enumerate(parts.words_of(own, path)):
            found = re.fullmatch(r'\(\s*(\S+)\s+"(.*)"\s*\)', line)
            if found is None:
                raise refusal(own, path, index)(f"{line[:60]!r} is no name and sentence")
            title, sentence = found.groups()
            rows.append(
                (
                    parts.inner(own, folder, f"wav/{title}.wav"),
                    (parts.text(sentence), parts.text(title.rpartition("_")[2])),
                )
            )
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(sounds(own, ("transcript", "utterance_id"), rows, np.uint32), choice)


class LibriTTSDataset(SampledDataset):
    """Books read aloud: columns waveform, sample_rate u32[], original_text, normalized_text,
    speaker_id u32[], chapter_id u32[] and utterance_id.

    Args:
        dataset_dir: the folder with dev-clean and its siblings.
        usage: "dev-clean", "dev-other", "test-clean", "test-other", "train-clean-100", "train-clean-360",
            "train-other-500" or "all" (default), which is all that the folder has.
        num_samples and the others: as of every data set.

    Source: Zen et al. 2019 (arXiv:1904.02882); `mindspore.dataset.LibriTTSDataset`.
    """

    usages: ClassVar[tuple[str, ...]] = (
        "dev-clean", "dev-other", "test-clean", "test-other", "train-clean-100", "train-clean-360", "train-other-500",
        "all",
    )  # fmt: skip

    def table(self, folder: Path, usage: str) -> Table:
        name, rows = type(self).__name__, []
        for part in [p for p in self.parts(usage) if usage != "all" or (folder / p).is_dir()]:
            for path in sorted(parts.folder_of(name, folder / part).glob("*/*/*.trans.tsv")):
                rows += [self._sound(path, index, line) for index, line in enumerate(parts.words_of(name, path))]
        columns = ("original_text", "normalized_text", "speaker_id", "chapter_id", "utterance_id")
        return sounds(name, columns, rows, np.uint32)

    def _sound(self, path: Path, index: int, line: str) -> Sound:
        name = type(self).__name__
        fields = line.split("\t")
        ids = fields[0].split("_")
        if len(fields) != 3 or len(ids) < 3 or not all(re.fullmatch("[0-9]{1,9}", i) for i in ids[:2]):
            raise refusal(name, path, index)("it is no utterance, text and normalized text between tabs")
        facts = (
            parts.text(fields[1]),
            parts.text(fields[2]),
            parts.number(int(ids[0])),
            parts.number(int(ids[1])),
            parts.text(fields[0]),
        )
        return parts.inner(name, path.parent, f"{fields[0]}.wav"), facts
