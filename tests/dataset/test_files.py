"""MnistDataset on small idx files written here, whole and damaged; DigitsDataset on the real digits."""

import gzip
import struct
import sys

import numpy as np
import pytest

import msnb.dataset as ds
from msnb.core.dtypes import float32, int32
from msnb.dataset import transforms, vision


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


def pictures(n, start=0):
    return (np.arange(n * 784) + start).astype(np.uint8).reshape(n, 28, 28)


def write(folder, pack=False, train=5, test=3, dot="-"):
    for part, n in (("train", train), ("t10k", test)):
        files = {f"{part}-images{dot}idx3-ubyte": pictures(n, n), f"{part}-labels{dot}idx1-ubyte": np.arange(n) % 10}
        for name, array in files.items():
            data = idx(array)
            (folder / (name + ".gz" if pack else name)).write_bytes(gzip.compress(data) if pack else data)
    return folder


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize("dot", ["-", "."])
def test_mnist_reads_images_and_labels(tmp_path, pack, dot):
    dataset = ds.MnistDataset(str(write(tmp_path, pack, dot=dot)), "train", shuffle=False)
    assert dataset.get_dataset_size() == 5 and dataset.get_col_names() == ["image", "label"]
    rows = list(dataset.create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert rows[0][0].shape == (28, 28, 1) and rows[0][0].dtype == np.uint8
    assert rows[0][1].shape == () and rows[0][1].dtype == np.uint32
    assert np.array_equal(np.stack([image[..., 0] for image, _ in rows]), pictures(5, 5))
    assert [int(label) for _, label in rows] == [0, 1, 2, 3, 4]


def test_mnist_usage_and_order(tmp_path):
    write(tmp_path)
    sizes = {usage: ds.MnistDataset(tmp_path, usage).get_dataset_size() for usage in ("train", "test", "all", None)}
    assert sizes == {"train": 5, "test": 3, "all": 8, None: 8}
    ds.config.set_seed(2)
    labels = [int(label) for _, label in ds.MnistDataset(tmp_path).create_tuple_iterator(output_numpy=True)]
    assert sorted(labels) == [0, 0, 1, 1, 2, 2, 3, 4] and labels != [0, 1, 2, 3, 4, 0, 1, 2]
    assert ds.MnistDataset(tmp_path, "test", num_samples=2).get_dataset_size() == 2
    with pytest.raises(ValueError, match="usage must be one of"):
        ds.MnistDataset(tmp_path, "validate")


def test_mnist_reads_what_the_folder_has(tmp_path):
    whole = write(tmp_path)
    (tmp_path / "train").mkdir()
    for file in whole.glob("train-*"):
        file.rename(tmp_path / "train" / file.name)
    assert len(list(ds.MnistDataset(tmp_path / "train"))) > 0
    with pytest.raises(FileNotFoundError, match="t10k-images"):
        ds.MnistDataset(tmp_path / "train", "test")


def test_mnist_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        ds.MnistDataset(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="train-images-idx3-ubyte .* is missing"):
        ds.MnistDataset(tmp_path, "train")
    write(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte").unlink()
    assert ds.MnistDataset(tmp_path, "train").get_dataset_size() == 5
    with pytest.raises(FileNotFoundError, match="t10k-labels"):
        ds.MnistDataset(tmp_path, "test")


DAMAGE = {
    "cut pixels": ("train-images-idx3-ubyte", lambda b: b[:-1], "cut short"),
    "cut header": ("train-images-idx3-ubyte", lambda b: b[:9], "header alone needs 16"),
    "empty": ("train-labels-idx1-ubyte", lambda b: b"", "not an idx file"),
    "too long": ("train-labels-idx1-ubyte", lambda b: b + b"\0", "too long"),
    "other kind": ("train-images-idx3-ubyte", lambda b: b"\x89PNG" + b[4:], "not an idx file"),
    "labels for images": ("train-images-idx3-ubyte", lambda b: idx(np.zeros(5)), "not an idx file"),
    "image size": ("train-images-idx3-ubyte", lambda b: idx(np.zeros((5, 8, 8))), r"expected \(28, 28\)"),
    "fewer labels": ("train-labels-idx1-ubyte", lambda b: idx(np.zeros(4)), "5 images but .* 4 labels"),
    "wrong label": ("train-labels-idx1-ubyte", lambda b: idx(np.array([0, 1, 2, 3, 10])), "label 10"),
    "cut gzip": ("train-images-idx3-ubyte", lambda b: gzip.compress(b)[:-12], "damaged or cut gzip"),
    "broken gzip": ("train-images-idx3-ubyte", lambda b: gzip.compress(b)[:20] + b"\xff" * 60, "damaged or cut gzip"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_mnist_damaged_files(tmp_path, case):
    name, damage, message = DAMAGE[case]
    file = write(tmp_path) / name
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(ValueError, match=message) as caught:
        ds.MnistDataset(tmp_path, "train")
    assert name in str(caught.value)


def everything(dataset):
    columns = list(zip(*dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)))
    return np.stack(columns[0]), np.stack(columns[1])


@pytest.mark.long
def test_digits_are_the_real_ones():
    from sklearn.datasets import load_digits

    images, labels = everything(ds.DigitsDataset(shuffle=False))
    assert images.shape == (1797, 8, 8, 1) and images.dtype == np.uint8 and labels.dtype == np.uint32
    assert np.array_equal(labels, load_digits().target)
    assert np.abs(images[..., 0] / 255 * 16 - load_digits().images).max() <= 16 / 255 / 2 + 1e-9


@pytest.mark.parametrize("size", [28, 32, (16, 24)])
def test_digits_enlarged(size):
    images, _ = everything(ds.DigitsDataset("test", size=size, shuffle=False))
    height, width = size if isinstance(size, tuple) else (size, size)
    assert images.shape == (359, height, width, 1) and images.max() > 200
    small, _ = everything(ds.DigitsDataset("test", shuffle=False))
    assert np.abs(images.mean((1, 2, 3)) - small.mean((1, 2, 3))).max() < 8


def test_digits_halves_are_disjoint_and_follow_the_split_seed():
    def rows(usage, **more):
        images, labels = everything(ds.DigitsDataset(usage, shuffle=False, **more))
        return {image.tobytes() + bytes([label]) for image, label in zip(images, labels)}

    train, test = rows("train"), rows("test")
    assert not train & test and train | test == rows("all")
    assert rows("test") == test and rows("test", split_seed=1) != test
    assert ds.DigitsDataset("test", test_fraction=0.5).get_dataset_size() == 898


def test_digits_refusals(monkeypatch):
    for arguments, message in [
        (dict(usage="validate"), "usage"),
        (dict(size=0), "at least 1"),
        (dict(size=(1, 2, 3)), "height, width"),
        (dict(test_fraction=1.0), "between 0 and 1"),
        (dict(test_fraction="x"), "must be a number"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            ds.DigitsDataset(**arguments)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ImportError, match="pip install scikit-learn"):
        ds.DigitsDataset()


def test_the_usual_pipeline_gives_what_lenet_takes():
    ds.config.set_seed(1)
    images = [vision.Rescale(1 / 255, 0), vision.Normalize([0.1307], [0.3081]), vision.HWC2CHW()]
    train = ds.DigitsDataset("train", size=32).map(images, "image").map(transforms.TypeCast("int32"), "label")
    batches = list(train.shuffle(256).batch(32, drop_remainder=True).prefetch(2))
    assert len(batches) == 1438 // 32
    image, label = batches[0]
    assert image.shape == (32, 1, 32, 32) and image.dtype == float32
    assert label.shape == (32,) and label.dtype == int32
    assert abs(np.mean([b[0].asnumpy().mean() for b in batches])) < 2
