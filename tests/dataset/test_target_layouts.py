"""Pictures, faces and talks whose targets lie in other files: the values, and files that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb.dataset as ds
from msnb.base.errors import MsnbError
from tests.dataset import scene_layouts as scenes
from tests.dataset.layouts import pixels


def rows(data: Any) -> list[dict[str, Any]]:
    return list(data.create_dict_iterator(num_epochs=1, output_numpy=True))


def test_objects_of_caltech_and_kitti(tmp_path: Path) -> None:
    scenes.caltech101(tmp_path)
    data = ds.Caltech101Dataset(tmp_path, "all", shuffle=False, decode=True)
    assert data.get_class_indexing() == {"Faces": 0, "ant": 1}
    assert [int(row["category"]) for row in rows(data)] == [0, 0, 1]
    assert rows(data)[1]["annotation"].tolist() == [[2, 3, 4], [5, 6, 7]]
    assert rows(data)[0]["image"][..., 0].tolist() == pixels(4, 8).tolist()
    scenes.kitti(tmp_path)
    first, second = rows(ds.KITTIDataset(tmp_path, shuffle=False))
    assert first["label"].tolist() == [[0], [1], [2]] and second["label"].tolist() == [[3]]
    assert first["occluded"].tolist() == [[1], [2**32 - 1], [0]] and first["occluded"].dtype == np.uint32
    assert first["bbox"].tolist() == [[1, 2.5, 3, 4], [5, 6, 7, 8], [1, 2, 3, 4]]
    assert second["location"].tolist() == [[2, 2, 2]] and second["rotation_y"].dtype == np.float32
    assert ds.KITTIDataset(tmp_path, "test").get_col_names() == ["image"]


def test_patches_and_boundaries(tmp_path: Path) -> None:
    scenes.phototour(tmp_path)
    page = pixels(1024, 1024)
    train = rows(ds.PhotoTourDataset(tmp_path, "liberty", shuffle=False))
    assert len(train) == 5 and (train[1]["image"][..., 0] == page[:64, 64:128]).all()
    test = rows(ds.PhotoTourDataset(tmp_path, "liberty", "test", shuffle=False))
    assert [int(row["matches"]) for row in test] == [1, 0]
    assert (test[1]["image2"][..., 0] == page[:64, 192:256]).all()
    scenes.sbd(tmp_path)
    found = rows(ds.SBDataset(tmp_path, shuffle=False))
    assert all((row["task"] == scenes.boundaries(i)).all() for i, row in enumerate(found))
    assert rows(ds.SBDataset(tmp_path, "Segmentation", "val"))[0]["task"].tolist() == pixels(4, 8).tolist()


def test_faces_talks_and_translations(tmp_path: Path) -> None:
    scenes.lfw(tmp_path)
    assert [int(row["label"]) for row in rows(ds.LFWDataset(tmp_path, shuffle=False))] == [0, 0, 1, 2, 2]
    pairs = ds.LFWDataset(tmp_path, "pairs", "train", "original", shuffle=False)
    assert [int(row["label"]) for row in rows(pairs)] == [1, 0]
    scenes.wider(tmp_path)
    face, nobody = rows(ds.WIDERFaceDataset(tmp_path, "train", shuffle=False))
    assert face["bbox"].tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]] and nobody["bbox"].tolist() == [[0] * 4]
    assert face["occlusion"].tolist() == [2, 0] and face["invalid"].tolist() == [0, 1]
    scenes.tedlium(tmp_path)
    talk = rows(ds.TedliumDataset(tmp_path, "release2", "dev", shuffle=False))
    assert [str(row["transcript"]) for row in talk][::2] == ["hello  there (2)", "good {breath} bye"]
    samples = np.arange(8000, 16000) % 3000 - 1500
    np.testing.assert_allclose(talk[2]["waveform"][0], samples / 32768, rtol=1e-6)
    assert talk[2]["waveform"].dtype == np.float32 and str(talk[2]["speaker_id"]) == "spk"
    scenes.iwslt(tmp_path)
    both = rows(ds.IWSLT2016Dataset(tmp_path, "valid", ("de", "en"), "tst2010", shuffle=False))
    assert [(str(r["text"]), str(r["translation"])) for r in both] == [
        ("eins tst2010 & de", "eins tst2010 & en"), ("zwei de", "zwei en")]  # fmt: skip


WRONG: list[tuple[Callable[[Path], Any], str, str, Callable[[Path], Any], str]] = [
    (scenes.kitti, "data_object_label_2/training/label_2/000000.txt", "Car 1 2\n",
     lambda f: ds.KITTIDataset(f), "row 0 of .* is no kind and 14 numbers"),
    (scenes.lfw, "peopleDevTrain.txt", "1\nNobody\t2\n", lambda f: ds.LFWDataset(f), "is no name of lfw-names.txt"),
    (scenes.lfw, "pairsDevTrain.txt", "1\nAnn_A\t1\t../../x\n", lambda f: ds.LFWDataset(f, "pairs"), "no number of a"),
    (scenes.phototour, "liberty/m50_100000_100000_0.txt", "0 0 0 99 0 0 0\n",
     lambda f: ds.PhotoTourDataset(f, "liberty", "test"), "patch 99 is not among the 5"),
    (scenes.wider, "wider_face_split/wider_face_train_bbx_gt.txt", "0--Parade/a.jpg\n999999999\n1 2\n",
     lambda f: ds.WIDERFaceDataset(f), "stand no number and rows of 10 numbers"),
    (scenes.wider, "wider_face_split/wider_face_train_bbx_gt.txt", "../../a.jpg\n1\n1 2 3 4 5 6 7 8 9 0\n",
     lambda f: ds.WIDERFaceDataset(f), "leads out of"),
    (scenes.tedlium, "train/stm/TalkTrain_2010.stm", "a 1 a nan 2 <x> y\n",
     lambda f: ds.TedliumDataset(f, "release1"), "which are no seconds"),
    (scenes.tedlium, "train/sph/TalkTrain_2010.sph", "NIST_1A\n   1024\nsample_rate -i 99999999999\nend_head\n",
     lambda f: rows(ds.TedliumDataset(f, "release1", "train")), "its header says sample_rate '99999999999'"),
    (scenes.iwslt, "texts/de/en/de-en/train.tags.de-en.en", "one\n", lambda f: ds.IWSLT2016Dataset(f), "it has 1 rows"),
    (scenes.sbd, "cls/a0.mat", "no matlab", lambda f: rows(ds.SBDataset(f)), "no MATLAB file of version 5"),
]  # fmt: skip


@pytest.mark.parametrize(("write", "file", "content", "opened", "sentence"), WRONG)
def test_files_that_do_not_fit(
    tmp_path: Path, write: Callable[[Path], Any], file: str, content: str, opened: Callable[[Path], Any], sentence: str
) -> None:
    write(tmp_path)
    (tmp_path / file).write_text(content)
    with pytest.raises(MsnbError, match=sentence):
        opened(tmp_path)


@pytest.mark.parametrize(("opened", "sentence"), [
    (lambda f: ds.Caltech101Dataset(f, "x"), "target_type must be one of"),
    (lambda f: ds.KITTIDataset(f, "all"), "usage must be one of"),
    (lambda f: ds.LFWDataset(f, image_set="x"), "image_set must be one of"),
    (lambda f: ds.PhotoTourDataset(f, "x"), "name must be one of"),
    (lambda f: ds.SBDataset(f, "x"), "task must be one of"),
    (lambda f: ds.TedliumDataset(f, "release3", "train"), "usage must be one of"),
    (lambda f: ds.TedliumDataset(f, "release1", extensions=".wav"), "extensions must be one of"),
    (lambda f: ds.IWSLT2016Dataset(f, language_pair=("de", "fr")), "language_pair must be one of"),
    (lambda f: ds.IWSLT2017Dataset(f, language_pair=("fr", "en")), "language_pair must be one of"),
])  # fmt: skip
def test_arguments_that_do_not_fit(tmp_path: Path, opened: Callable[[Path], Any], sentence: str) -> None:
    scenes.caltech101(tmp_path)
    with pytest.raises(ValueError, match=sentence):
        opened(tmp_path)
