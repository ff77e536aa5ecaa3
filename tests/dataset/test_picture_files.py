"""Pictures: CIFAR's files, folders of picture files, and transforms of their colours."""

from __future__ import annotations

import colorsys

import numpy as np
import pytest

import msnb as ms
import msnb.dataset as ds
from msnb.base.errors import MsnbError
from msnb.dataset import transforms, vision


def record(labels, seed):
    pixels = np.random.default_rng(seed).integers(0, 256, (3, 32, 32), np.uint8)
    return np.concatenate([np.array(labels, np.uint8), pixels.ravel()]), pixels.transpose(1, 2, 0)


def test_cifar10(tmp_path):
    for i, name in enumerate([f"data_batch_{k}.bin" for k in range(1, 6)] + ["test_batch.bin"]):
        (tmp_path / name).write_bytes(np.concatenate([record([i], i)[0], record([9], 10 + i)[0]]).tobytes())
    rows = list(ds.Cifar10Dataset(tmp_path, "train", shuffle=False).create_dict_iterator(output_numpy=True))
    assert len(rows) == 10 and [int(row["label"]) for row in rows[::2]] == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(rows[2]["image"], record([1], 1)[1])
    assert rows[0]["image"].dtype == np.uint8 and rows[0]["label"].dtype == np.uint32
    assert ds.Cifar10Dataset(tmp_path, "test").get_dataset_size() == 2 and ds.Cifar10Dataset(
        tmp_path).get_dataset_size() == 12  # fmt: skip


def test_cifar100(tmp_path):
    (tmp_path / "train.bin").write_bytes(record([3, 77], 0)[0].tobytes())
    row = next(ds.Cifar100Dataset(tmp_path, "train").create_dict_iterator(output_numpy=True))
    assert (int(row["coarse_label"]), int(row["fine_label"])) == (3, 77)
    with pytest.raises(FileNotFoundError, match="test.bin is missing"):
        ds.Cifar100Dataset(tmp_path)


def test_cifar_files_that_are_damaged(tmp_path):
    (tmp_path / "test_batch.bin").write_bytes(record([1], 0)[0].tobytes()[:-1])
    with pytest.raises(MsnbError, match="no multiple of 3073: it was cut short"):
        ds.Cifar10Dataset(tmp_path, "test")
    (tmp_path / "test_batch.bin").write_bytes(record([10], 0)[0].tobytes())
    with pytest.raises(MsnbError, match="holds the label 10, expected 0 to 9"):
        ds.Cifar10Dataset(tmp_path, "test")
    with pytest.raises(MsnbError, match="usage is 'train', 'test' or 'all'"):
        ds.Cifar10Dataset(tmp_path, "valid")
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        ds.Cifar10Dataset(tmp_path / "nowhere")


@pytest.fixture
def flowers(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for i, name in enumerate(["rose/1.png", "daisy/1.png", "daisy/2.png"]):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        image.fromarray(np.full((4 + i, 6, 3), 10 * i, np.uint8)).save(tmp_path / name)
    (tmp_path / "daisy" / "notes.txt").write_text("no picture")
    return tmp_path


def test_folders_of_pictures(flowers):
    rows = ds.ImageFolderDataset(flowers, shuffle=False)
    assert rows.get_class_indexing() == {"daisy": 0, "rose": 1} and rows.get_dataset_size() == 3
    read = rows.map([vision.Decode(), vision.Resize((2, 2)), vision.HWC2CHW()], "image")
    found = [(row["image"][0, 0, 0], int(row["label"])) for row in read.create_dict_iterator(output_numpy=True)]
    assert [(int(value), label) for value, label in found] == [(10, 0), (20, 0), (0, 1)]
    one = ds.ImageFolderDataset(flowers, decode=True, class_indexing={"rose": 5}, shuffle=False)
    picture, label = next(one.create_tuple_iterator(output_numpy=True))
    assert picture.shape == (4, 6, 3) and int(label) == 5


def test_a_random_part_of_a_picture_file(flowers):
    part = vision.RandomCropDecodeResize(3)
    rows = ds.ImageFolderDataset(flowers, shuffle=False).map([part, vision.ToPIL(), vision.ToNumpy()], "image")
    assert [row[0].shape for row in rows.create_tuple_iterator(output_numpy=True)] == [(3, 3, 3)] * 3


def test_pictures_of_pillow():
    pytest.importorskip("PIL.Image")
    picture = vision.ToPIL()(PIXELS)
    assert picture.size == (3, 1) and callable(picture.show)
    np.testing.assert_array_equal(vision.ToNumpy()(picture), PIXELS)
    assert vision.HWC2CHW()(picture).shape == (3, 1, 3) and vision.ToPIL()(PIXELS[..., :1]).size == (3, 1)
    rows = ds.NumpySlicesDataset({"image": PIXELS[None]}).map(vision.ToPIL(), "image")
    np.testing.assert_array_equal(next(rows.create_tuple_iterator(output_numpy=True))[0], PIXELS)


def test_pictures_stay_pictures(flowers):
    image = pytest.importorskip("PIL.Image")
    picture = vision.ToPIL()(np.arange(8 * 9 * 3, dtype=np.uint8).reshape(8, 9, 3))
    assert vision.CenterCrop(4)(picture).size == (4, 4) and vision.Grayscale(1)(picture).mode == "L"
    assert [crop.size for crop in vision.FiveCrop((4, 5))(picture)] == [(5, 4)] * 5
    tiles = vision.SlicePatches(2, 1)(picture)
    assert all(type(tile) is np.ndarray for tile in tiles)
    np.testing.assert_array_equal(
        vision.ToNumpy()(vision.HorizontalFlip()(picture)), vision.HorizontalFlip()(vision.ToNumpy()(picture))
    )
    seen = []

    def turned(picture):
        seen.append(picture)
        return picture.rotate(180)

    for listed in (
        [vision.Decode(to_pil=True), vision.Resize((2, 3)), turned, vision.ToTensor()],
        [transforms.Compose([vision.Decode(True), vision.Resize((2, 3)), turned, vision.ToTensor()])],
    ):
        rows = ds.ImageFolderDataset(flowers, shuffle=False).map(listed, "image").batch(3)
        assert next(rows.create_tuple_iterator(output_numpy=True))[0].shape == (3, 3, 2, 3)
    assert len(seen) == 6 and all(isinstance(each, image.Image) and each.size == (3, 2) for each in seen)
    plain = [vision.Decode(), vision.Resize((2, 2)), vision.ToTensor()]
    for to_pil in (False, True):
        rows = ds.ImageFolderDataset(flowers, shuffle=False).map([vision.Decode(to_pil), *plain[1:]], "image").batch(3)
        found = next(rows.create_tuple_iterator(output_numpy=True))[0]
        want = [row[0] for row in ds.ImageFolderDataset(flowers, shuffle=False).map(plain, "image")]
        np.testing.assert_array_equal(found, np.stack([w.asnumpy() for w in want]))


def test_pictures_are_resized_as_pillow_does():
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(1).integers(0, 256, (24, 20, 3), np.uint8)
    picture = image.fromarray(pixels)
    part = picture.crop((2, 3, 17, 19))
    whole = {"scale": (1.0, 1.0), "ratio": (20 / 24, 20 / 24)}
    for transform, want in (
        (vision.Resize((7, 9)), picture.resize((9, 7), image.Resampling.BILINEAR)),
        (vision.Resize(10, vision.Inter.BICUBIC), picture.resize((10, 12), image.Resampling.BICUBIC)),
        (vision.Resize((11, 9), vision.Inter.NEAREST), picture.resize((9, 11), image.Resampling.NEAREST)),
        (vision.ResizedCrop(3, 2, 16, 15, (9, 7)), part.resize((7, 9), image.Resampling.BILINEAR)),
        (vision.RandomResizedCrop((7, 9), **whole), picture.resize((9, 7), image.Resampling.BILINEAR)),
    ):
        np.testing.assert_array_equal(np.asarray(transform(picture)), np.asarray(want))
        rows = ds.NumpySlicesDataset({"image": pixels[None]}, shuffle=False)
        rows = rows.map([vision.ToPIL(), transform, vision.HWC2CHW()], "image").batch(1)
        found = next(rows.create_tuple_iterator(output_numpy=True))[0]
        np.testing.assert_array_equal(found[0].transpose(1, 2, 0), np.asarray(want))
    with pytest.raises(MsnbError, match=r"not resized with 'area'"):
        vision.Resize((7, 9), vision.Inter.AREA)(picture)


def test_folders_and_files_that_do_not_fit(flowers):
    with pytest.raises(FileNotFoundError, match="has no folder 'tulip'; it has"):
        ds.ImageFolderDataset(flowers, class_indexing={"tulip": 0})
    with pytest.raises(MsnbError, match="pictures lie in one folder per class"):
        ds.ImageFolderDataset(flowers, extensions=[".gif"])
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        ds.ImageFolderDataset(flowers / "nowhere")
    with pytest.raises(MsnbError, match=r"these look like pixels: leave Decode out"):
        vision.Decode()(np.zeros((4, 4, 3), np.uint8))
    with pytest.raises(MsnbError, match="is no picture that can be read"):
        vision.Decode()(np.frombuffer(b"hello, this is text", np.uint8))


PIXELS = np.array([[[200, 30, 60], [10, 250, 128], [77, 77, 77]]], np.uint8)


def test_colours_by_a_fixed_amount():
    assert vision.AdjustBrightness(2.0)(PIXELS)[0, 0].tolist() == [255, 60, 120]
    assert vision.AdjustBrightness(brightness_factor=0.0)(PIXELS).max() == 0
    same = (vision.AdjustContrast(contrast_factor=1), vision.AdjustSaturation(saturation_factor=1))
    for operation in (*same, vision.AdjustHue(hue_factor=0)):
        assert np.abs(operation(PIXELS).astype(int) - PIXELS).max() <= 1
    for same in (vision.AdjustContrast(1.0), vision.AdjustSaturation(1.0), vision.AdjustHue(0.0)):
        np.testing.assert_array_equal(same(PIXELS), PIXELS)
    grey = np.rint(PIXELS @ np.array([0.299, 0.587, 0.114]))
    np.testing.assert_array_equal(vision.AdjustSaturation(0.0)(PIXELS), np.repeat(grey[..., None], 3, -1))
    np.testing.assert_array_equal(vision.Grayscale(3)(PIXELS), vision.AdjustSaturation(0.0)(PIXELS))
    assert len(np.unique(vision.AdjustContrast(0.0)(PIXELS))) == 1 and vision.Grayscale()(PIXELS).shape == (1, 3, 1)


def test_hues_turn_as_the_standard_library_turns_them():
    image = np.random.default_rng(0).random((5, 5, 3)).astype(np.float32)
    found = vision.AdjustHue(0.2)(image)
    for pixel, turned in zip(image.reshape(-1, 3), found.reshape(-1, 3)):
        h, s, v = colorsys.rgb_to_hsv(*map(float, pixel))
        np.testing.assert_allclose(turned, colorsys.hsv_to_rgb((h + 0.2) % 1, s, v), atol=1e-5)


def test_colours_by_a_drawn_amount():
    ds.config.set_seed(3)
    rows = ds.NumpySlicesDataset({"image": np.tile(PIXELS, (8, 1, 1, 1))}, shuffle=False)
    changed = rows.map(vision.RandomColorAdjust(0.5, (0.5, 2.0), 0.5, 0.1), "image")
    first, again = ([row[0] for row in changed.create_tuple_iterator(output_numpy=True)] for _ in range(2))
    assert len({image.tobytes() for image in first}) > 1 and first[0].dtype == np.uint8 and len(again) == 8
    np.testing.assert_array_equal(vision.RandomColorAdjust()(PIXELS), PIXELS)
    assert {len(np.unique(vision.RandomGrayscale(p)(PIXELS)[0, 0])) for p in (0.0, 1.0)} == {1, 3}


def test_a_cubic_between_pixels():
    image = np.random.default_rng(0).random((5, 4, 3)).astype(np.float32)
    found = vision.Resize((7, 9), vision.Inter.BICUBIC)(image)
    want = ms.ops.interpolate(ms.Tensor(image.transpose(2, 0, 1)[None]), size=(7, 9), mode="bicubic")
    np.testing.assert_allclose(found.transpose(2, 0, 1), want.asnumpy()[0], atol=1e-5)


@pytest.mark.parametrize("wrong, sentence", [
    (lambda: vision.AdjustHue(0.7), "the factor lies from -0.5 to 0.5"),
    (lambda: vision.AdjustContrast(-1), "the factor lies from 0.0"),
    (lambda: vision.RandomColorAdjust(brightness=(2, 1)), "brightness is a number or"),
    (lambda: vision.RandomColorAdjust(hue=0.6), "hue lies within"),
    (lambda: vision.Grayscale(2), "num_output_channels is 1 or 3"),
    (lambda: vision.AdjustHue(0.1)(np.zeros((2, 2, 1), np.uint8)), "three colours on the last axis"),
])  # fmt: skip
def test_wrong_colours(wrong, sentence):
    with pytest.raises(MsnbError, match=sentence):
        wrong()
