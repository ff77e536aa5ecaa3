"""Data sets in the layouts of their publishers: what is read, samplers on all of them, and files that are damaged."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb.dataset as ds
from msnb.base.errors import DatasetError, MsnbError
from tests.dataset import layouts, scene_layouts

Open = Callable[[Path], Any]
# name -> (what writes the folder, what reads it, number of rows, (dtype kind and rank of each column))
CASES: dict[str, tuple[Callable[[Path], Any], Open, int, list[str]]] = {
    "svhn": (layouts.svhn, lambda f: ds.SVHNDataset(f), 6, ["u3", "u0"]),
    "stl10": (layouts.stl10, lambda f: ds.STL10Dataset(f, "train+unlabeled"), 3, ["u3", "i0"]),
    "emnist": (layouts.emnist, lambda f: ds.EMnistDataset(f, "digits"), 5, ["u3", "u0"]),
    "qmnist": (layouts.qmnist, lambda f: ds.QMnistDataset(f, compat=False), 6, ["u3", "u1"]),
    "usps": (layouts.usps, lambda f: ds.USPSDataset(f), 3, ["u3", "u0"]),
    "semeion": (layouts.semeion, lambda f: ds.SemeionDataset(f), 1, ["u2", "u0"]),
    "celeba": (layouts.celeba, lambda f: ds.CelebADataset(f, usage="valid"), 1, ["u1", "u1"]),
    "coco": (layouts.coco, lambda f: ds.CocoDataset(f / "pictures", f / "boxes.json"), 2, ["u1", "f2", "u2", "u2"]),
    "voc boxes": (layouts.voc, lambda f: ds.VOCDataset(f, "Detection"), 2, ["u1", "f2", "u2", "u2", "u2"]),
    "voc": (layouts.voc, lambda f: ds.VOCDataset(f, extra_metadata=True), 2, ["u1", "u1", "U0"]),
    "speech": (layouts.speech, lambda f: ds.SpeechCommandsDataset(f, "train"), 1, ["f2", "i0", "U0", "U0", "i0"]),
    "yesno": (layouts.yesno, lambda f: ds.YesNoDataset(f), 1, ["f2", "i0", "i1"]),
    "ljspeech": (layouts.ljspeech, lambda f: ds.LJSpeechDataset(f), 1, ["f2", "i0", "U0", "U0"]),
    "gtzan": (layouts.gtzan, lambda f: ds.GTZANDataset(f), 2, ["f2", "u0", "U0"]),
    "arctic": (layouts.arctic, lambda f: ds.CMUArcticDataset(f), 1, ["f2", "u0", "U0", "U0"]),
    "libri": (layouts.libri, lambda f: ds.LibriTTSDataset(f), 1, ["f2", "u0", "U0", "U0", "u0", "u0", "U0"]),
    "imdb": (layouts.imdb, lambda f: ds.IMDBDataset(f), 4, ["U0", "i0"]),
    "conll": (layouts.tagged, lambda f: ds.CoNLL2000Dataset(f), 4, ["U1"] * 3),
    "udpos": (layouts.tagged, lambda f: ds.UDPOSDataset(f, "valid"), 2, ["U1"] * 3),
    "squad": (layouts.squad, lambda f: ds.SQuADDataset(f), 2, ["U0", "U0", "U1", "u1"]),
    "sst2": (layouts.lines, lambda f: ds.SST2Dataset(f), 2, ["U0", "U0"]),
    "wikitext": (layouts.lines, lambda f: ds.WikiTextDataset(f), 9, ["U0"]),
    "penn": (layouts.lines, lambda f: ds.PennTreebankDataset(f, "test"), 2, ["U0"]),
    "enwik9": (layouts.lines, lambda f: ds.EnWik9Dataset(f), 3, ["U0"]),
    "multi30k": (layouts.lines, lambda f: ds.Multi30kDataset(f, language_pair=["de", "en"]), 6, ["U0", "U0"]),
    "agnews": (lambda f: layouts.reviews(f, 3), lambda f: ds.AGNewsDataset(f), 4, ["U0"] * 3),
    "amazon": (lambda f: layouts.reviews(f, 3), lambda f: ds.AmazonReviewDataset(f), 4, ["U0"] * 3),
    "dbpedia": (lambda f: layouts.reviews(f, 3), lambda f: ds.DBpediaDataset(f), 4, ["U0"] * 3),
    "sogou": (lambda f: layouts.reviews(f, 3), lambda f: ds.SogouNewsDataset(f), 4, ["U0"] * 3),
    "yahoo": (lambda f: layouts.reviews(f, 4), lambda f: ds.YahooAnswersDataset(f, "test"), 2, ["U0"] * 4),
    "caltech": (scene_layouts.caltech101, lambda f: ds.Caltech101Dataset(f, "all"), 3, ["u1", "i0", "f2"]),
    "kitti": (scene_layouts.kitti, lambda f: ds.KITTIDataset(f), 2, ["u1", "u2", "f2", "u2", *["f2"] * 5]),
    "lfw": (scene_layouts.lfw, lambda f: ds.LFWDataset(f), 5, ["u1", "u0"]),
    "lfw pairs": (scene_layouts.lfw, lambda f: ds.LFWDataset(f, "pairs", "10fold"), 4, ["u1", "u1", "u0"]),
    "sbd": (scene_layouts.sbd, lambda f: ds.SBDataset(f), 2, ["u1", "u3"]),
    "wider": (scene_layouts.wider, lambda f: ds.WIDERFaceDataset(f), 4, ["u1", "i2", *["i1"] * 6]),
    "tedlium": (scene_layouts.tedlium, lambda f: ds.TedliumDataset(f, "release1"), 9, ["f2", "i0", *["U0"] * 4]),
    "iwslt16": (scene_layouts.iwslt, lambda f: ds.IWSLT2016Dataset(f), 6, ["U0", "U0"]),
    "iwslt17": (scene_layouts.iwslt, lambda f: ds.IWSLT2017Dataset(f, "valid"), 2, ["U0", "U0"]),
    "yelp": (lambda f: layouts.reviews(f, 2), lambda f: ds.YelpReviewDataset(f), 4, ["U0"] * 2),
}  # fmt: skip


def rows(data: Any) -> list[Any]:
    return list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))


def same(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(np.array_equal(a, b) for r, s in zip(one, other) for a, b in zip(r, s))


@pytest.mark.parametrize("name", CASES)
def test_rows_of_a_layout(name: str, tmp_path: Path) -> None:
    write, open_it, count, kinds = CASES[name]
    write(tmp_path)
    ds.config.set_seed(3)
    data = open_it(tmp_path)
    found = rows(data)
    assert data.get_dataset_size() == len(found) == count and len(data.get_col_names()) == len(kinds)
    assert [f"{a.dtype.kind}{a.ndim}" for a in found[0]] == kinds
    ds.config.set_seed(3)
    assert same(found, rows(open_it(tmp_path)))  # the order follows the seed


@pytest.mark.parametrize("name", CASES)
def test_damaged_files_are_answered_with_a_sentence(name: str, tmp_path: Path) -> None:
    write, open_it, _, _ = CASES[name]
    write(tmp_path / "good")
    for seed in range(30):
        drawn = random.Random(f"{name} {seed}")
        shutil.rmtree(tmp_path / "bad", ignore_errors=True)
        shutil.copytree(tmp_path / "good", tmp_path / "bad")
        path = drawn.choice(sorted(p for p in (tmp_path / "bad").rglob("*") if p.is_file()))
        content = bytearray(path.read_bytes())
        for _ in range(drawn.randint(1, 4)):
            at = drawn.randrange(len(content) + 1)
            change = drawn.randrange(4)
            if change == 0:
                del content[at:]
            elif change == 1:
                content[at : at + 4] = b"\xff\xff\xff\xff"
            else:
                content[at : at + 1] = bytes([drawn.randrange(256)])
        path.write_bytes(content)
        try:
            rows(open_it(tmp_path / "bad"))
        except (MsnbError, FileNotFoundError) as error:
            assert str(error).count("\n") < 12, f"seed {seed}"
        except Exception as error:
            raise AssertionError(f"seed {seed}, {path.name}: {type(error).__name__}: {error}") from error


def test_values(tmp_path: Path) -> None:
    layouts.svhn(tmp_path / "s")
    images, labels = zip(*rows(ds.SVHNDataset(tmp_path / "s", "train", shuffle=False)))
    whole = layouts.pixels(32, 32, 3, 3)
    assert [int(label) for label in labels] == [1, 0, 3] and np.array_equal(images[1], whole[..., 1])
    layouts.voc(tmp_path / "v")
    data = ds.VOCDataset(tmp_path / "v", "Detection", shuffle=False)
    assert data.get_class_indexing() == {"cat": 0, "dog": 1}
    assert data.map(lambda image: image, "image").skip(1).batch(1).get_class_indexing() == {"cat": 0, "dog": 1}
    assert data.use_sampler(ds.SequentialSampler()).get_class_indexing() == {"cat": 0, "dog": 1}
    assert ds.NumpySlicesDataset([1, 2]).batch(2).get_class_indexing() == {}
    assert data.num_classes() == data.shuffle(2).batch(1).num_classes() == 2
    assert ds.NumpySlicesDataset([1, 2]).num_classes() is None
    (_, box, label, difficult, truncate), _ = rows(data)
    assert box.tolist() == [[1, 2, 10, 20]] * 2 and label.tolist() == [[1], [0]] and difficult.tolist() == [[0], [1]]
    assert truncate.tolist() == [[1], [1]]
    layouts.coco(tmp_path / "c")
    data = ds.CocoDataset(tmp_path / "c" / "pictures", tmp_path / "c" / "boxes.json", "Stuff", shuffle=False)
    assert rows(data)[0][1].tolist() == [[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, -1, -1]]
    assert data.get_class_indexing() == {"cat": [3], "dog": [7]}
    data = ds.CocoDataset(tmp_path / "c" / "pictures", tmp_path / "c" / "captions.json", "Captioning", shuffle=False)
    assert [r[1].tolist() for r in rows(data)] == [[["a cat 0"], ["a cat 2"]], [["a cat 1"]]]
    layouts.reviews(tmp_path / "r", 2)
    assert [str(a) for a in rows(ds.YelpReviewDataset(tmp_path / "r", "test", shuffle=False))[1]] == [
        "4",
        'test said "0", and',
    ]
    layouts.squad(tmp_path / "q")
    context, question, answers, starts = rows(ds.SQuADDataset(tmp_path / "q", "dev"))[0]
    assert (str(context), str(question)) == ("Ann ran", "who?")
    assert answers.tolist() == ["Ann", "ran"] and starts.tolist() == [0, 4]


@pytest.mark.parametrize("samples", [
    np.array([0, 128, 255], np.uint8), np.array([-32768, 0, 16384], np.int16), np.array([-(2**31), 0, 2**30], np.int32),
    np.array([-1, 0, 0.5], np.float32), np.array([-1, 0, 0.5], np.float64),
], ids=lambda a: str(a.dtype))  # fmt: skip
def test_waves_of_all_types(samples: np.ndarray, tmp_path: Path) -> None:
    layouts.put(tmp_path / "1_0.wav", layouts.wave(samples, 8000))
    waveform, rate, label = rows(ds.YesNoDataset(tmp_path))[0]
    wanted = [-1, 0, 127 / 128] if samples.dtype == np.uint8 else [-1, 0, 0.5]
    assert waveform.shape == (1, 3) and np.allclose(waveform, [wanted if samples.dtype.kind != "f" else samples])
    assert rate == 8000 and label.tolist() == [1, 0]


def test_orders_shards_and_samplers_work_on_all(tmp_path: Path) -> None:
    for part in ("a", "b", "c"):
        layouts.put(tmp_path / f"{part}.txt", "".join(f"{part}{i}\n" for i in range(4)))

    def read(**more: Any) -> list[str]:
        return [str(t) for (t,) in rows(ds.TextFileDataset(str(tmp_path / "*.txt"), **more))]

    plain = [f"{p}{i}" for p in "abc" for i in range(4)]
    ds.config.set_seed(1)
    assert read(shuffle=False) == plain and sorted(read()) == plain != read()
    whole = read(shuffle=ds.Shuffle.FILES)
    assert sorted(whole) == plain and all(whole[i : i + 4] == sorted(whole[i : i + 4]) for i in (0, 4, 8))
    inside = read(shuffle=ds.Shuffle.INFILE)
    assert inside != plain and [w[0] for w in inside] == [w[0] for w in plain]
    for name in (ds.Shuffle.ADAPTIVE, ds.Shuffle.PARTIAL):
        assert sorted(read(shuffle=name)) == plain != read(shuffle=name)
    shards = [read(shuffle=ds.Shuffle.FILES, num_shards=3, shard_id=i) for i in range(3)]
    assert sorted(sum(shards, [])) == plain
    assert read(shuffle=False, num_samples=2) == ["a0", "a1"]
    layouts.imdb(tmp_path / "imdb")
    of_files = ds.IMDBDataset(tmp_path / "imdb", sampler=ds.RandomSampler(shuffle=ds.Shuffle.FILES))
    assert {int(label) for _, label in rows(of_files)} == {0, 1}
    sampler = ds.SubsetSampler([3, 0])
    sampler.add_child(ds.SequentialSampler())
    assert [int(label) for _, label in rows(ds.IMDBDataset(tmp_path / "imdb", sampler=sampler))] == [0, 1]
    pairs = ds.PKSampler(1)
    assert sorted(int(label) for _, label in rows(ds.IMDBDataset(tmp_path / "imdb", sampler=pairs))) == [0, 1]


def test_csv(tmp_path: Path) -> None:
    path = layouts.put(tmp_path / "a.csv", '1;"a\n; ""b"""\n;\n')
    data = ds.CSVDataset(str(path), ";", [7, "none"], ["n", "word"], shuffle=False)
    assert [(int(n), str(w)) for n, w in rows(data)] == [(1, 'a\n; "b"'), (7, "none")]
    path = layouts.put(tmp_path / "b.csv", "n,word\n1,a\n2,b\n")
    data = ds.CSVDataset([path, path], shuffle=False)
    assert data.get_col_names() == ["n", "word"] and [str(n) for n, _ in rows(data)] == ["1", "2", "1", "2"]


WRONG: list[tuple[Callable[[Path], Any], str]] = [
    (lambda f: ds.TextFileDataset(f / "none.txt"), "there is no file"),
    (lambda f: ds.TextFileDataset([]), "list of files is empty"),
    (lambda f: ds.TextFileDataset(3), "a file, a pattern"),
    (lambda f: ds.TextFileDataset(f / "a.csv", shuffle="yes"), "shuffle must be"),
    (lambda f: ds.TextFileDataset(f / "a.csv", cache=1), "no cache server"),
    (lambda f: ds.CSVDataset(f / "a.csv", ",,"), "one character"),
    (lambda f: ds.CSVDataset(f / "a.csv", ",", [1], ["a", "b"]), "1 entries for 2 columns"),
    (lambda f: rows(ds.CSVDataset(f / "a.csv", ",", None, ["a"], shuffle=False)), "row 0 .* has 2 fields"),
    (lambda f: rows(ds.CSVDataset(f / "a.csv", ",", [1, 1], ["a", "b"])), "another type than its default"),
    (lambda f: ds.WikiTextDataset(f, "dev"), "usage must be one of"),
    (lambda f: ds.WikiTextDataset(f), "wiki.train.tokens is missing"),
    (lambda f: ds.WikiTextDataset(f / "none"), "is not a folder"),
    (lambda f: ds.VOCDataset(f, class_indexing={}), "belongs to the task"),
    (lambda f: ds.CelebADataset(f, decrypt=print), "decrypt must be None"),
    (lambda f: ds.EMnistDataset(f, "letter"), "name must be one of"),
    (lambda f: ds.DIV2KDataset(f, downgrade="mild", scale=2), "scale is one of"),
    (lambda f: ds.Multi30kDataset(f, language_pair=("en", "fr")), "language_pair"),
    (lambda f: ds.PaddedDataset([]), "no row"),
    (lambda f: ds.PaddedDataset([{"a": 1}, {"b": 1}]), "a row has"),
    (lambda f: ds.CLUEDataset(f / "a.csv", "X"), "task must be one of"),
]


@pytest.mark.parametrize(("wrong", "sentence"), WRONG, ids=[s for _, s in WRONG])
def test_wrong_uses(wrong: Callable[[Path], Any], sentence: str, tmp_path: Path) -> None:
    layouts.put(tmp_path / "a.csv", "x,y\nz,w\n")
    with pytest.raises((MsnbError, FileNotFoundError), match=sentence):
        wrong(tmp_path)


def test_lists_lead_nowhere_else(tmp_path: Path) -> None:
    layouts.put(tmp_path / "d" / "ClassName.txt", "/../../etc\n")
    with pytest.raises(DatasetError, match="leads out of"):
        ds.SUN397Dataset(tmp_path / "d")
    layouts.put(tmp_path / "m", '{"source": "1.jpg", "usage": "train", "annotation": [{"name": "cat"}]}\n')
    layouts.put(tmp_path / "1.jpg", layouts.png())
    image, label = rows(ds.ManifestDataset(tmp_path / "m", decode=True))[0]
    assert image.tolist() == [[[255, 0, 0]]] and label.tolist() == 0 and label.dtype == np.uint64


def test_pictures_in_folders(tmp_path: Path) -> None:
    for place in ("001.ak47/1.jpg", "002.flag/1.jpg", "002.flag/2.jpg"):
        layouts.put(tmp_path / "c" / place, layouts.JPEG)
    assert sorted(int(label) for _, label in rows(ds.Caltech256Dataset(tmp_path / "c"))) == [0, 1, 1]
    for part in ("train", "valid", "test"):
        for kind in ("negative", "positive"):
            layouts.put(tmp_path / "r" / part / kind / "1.png", layouts.JPEG)
    assert len(rows(ds.RenderedSST2Dataset(tmp_path / "r"))) == 6
    layouts.put(tmp_path / "f" / "images" / "pie" / "1.jpg", layouts.JPEG)
    layouts.put(tmp_path / "f" / "meta" / "train.txt", "pie/1\n")
    assert str(rows(ds.Food101Dataset(tmp_path / "f", "train"))[0][1]) == "pie"
    for place in ("bedroom_train/1.jpg", "church_val/1.jpg", "test/1.jpg"):
        layouts.put(tmp_path / "l" / place, layouts.JPEG)
    assert [int(label) for _, label in rows(ds.LSUNDataset(tmp_path / "l", shuffle=False))] == [0, 1, 0]
    layouts.put(tmp_path / "o" / "images_background" / "Greek" / "character01" / "1.png", layouts.JPEG)
    assert len(rows(ds.OmniglotDataset(tmp_path / "o"))) == 1
    layouts.put(tmp_path / "p" / "places365_val.txt", "1.jpg 17\n")
    layouts.put(tmp_path / "p" / "val_256" / "1.jpg", layouts.JPEG)
    assert int(rows(ds.Places365Dataset(tmp_path / "p", "val"))[0][1]) == 17
    layouts.put(tmp_path / "k.token", "".join(f"1.jpg#{i}\tsentence {i}\n" for i in range(5)))
    assert rows(ds.FlickrDataset(tmp_path / "c" / "001.ak47", tmp_path / "k.token"))[0][1].shape == (5,)
    layouts.put(tmp_path / "h" / "DIV2K_train_HR" / "1.png", layouts.png())
    layouts.put(tmp_path / "h" / "DIV2K_train_LR_bicubic" / "X2" / "1x2.png", layouts.png())
    assert rows(ds.DIV2KDataset(tmp_path / "h", decode=True))[0][1].shape == (1, 1, 3)
    layouts.put(tmp_path / "y" / "leftImg8bit" / "train" / "ulm" / "u_leftImg8bit.png", layouts.png())
    layouts.put(tmp_path / "y" / "gtFine" / "train" / "ulm" / "u_gtFine_polygons.json", "{}")
    assert str(rows(ds.CityscapesDataset(tmp_path / "y", task="polygon"))[0][1]) == "{}"
    for kind, lines in (("urls", "http://x/3326/35.jpg\nhttp://x/1/2.jpg\n"), ("captions", "a\nb\n")):
        layouts.put(tmp_path / "u" / f"SBU_captioned_photo_dataset_{kind}.txt", lines)
    layouts.put(tmp_path / "u" / "sbu_images" / "m_3326_35.jpg", layouts.JPEG)
    assert [str(c) for _, c in rows(ds.SBUDataset(tmp_path / "u"))] == ["a"]
    numbers = {"trnid": np.array([[2.0]]), "valid": np.array([[1.0]]), "tstid": np.array([[1.0]])}
    layouts.put(tmp_path / "w" / "setid.mat", layouts.matlab(**numbers))
    layouts.put(tmp_path / "w" / "imagelabels.mat", layouts.matlab(True, labels=np.array([[5.0, 77.0]])))
    layouts.put(tmp_path / "w" / "jpg" / "image_00002.jpg", layouts.JPEG)
    assert int(rows(ds.Flowers102Dataset(tmp_path / "w", usage="train"))[0][1]) == 76
    line = '{"id": 1, "sentence1": "a", "sentence2": "b", "label": "0"}\n'
    assert [str(v) for v in rows(ds.CLUEDataset(layouts.put(tmp_path / "clue.json", line)))[0]] == ["a", "b", "0"]
    assert len(rows(ds.FakeImageDataset(3, (2, 2, 3)))) == 3
    padded = ds.PaddedDataset([{"x": 1}, {"x": 2}])
    assert [int(x) for (x,) in rows(padded + padded)] == [1, 2, 1, 2]
