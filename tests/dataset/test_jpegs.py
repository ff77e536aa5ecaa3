"""JPEGs by simplejpeg and by Pillow: the same pixels, the same errors, whole or at a fraction of their size."""

import io
import re

import numpy as np
import pytest
from PIL import Image

import msnb.dataset as ds
from msnb.base.errors import DatasetError
from msnb.dataset import vision
from msnb.dataset.pipeline.epoch_rng import Epoch
from msnb.dataset.vision import decode

pytest.importorskip("simplejpeg")


def smooth(height, width, mode="RGB"):
    rng = np.random.default_rng(height * width)
    channels = {"L": (), "CMYK": (4,)}.get(mode, (3,))
    coarse = rng.integers(0, 256, (max(2, height // 20), max(2, width // 20), *channels)).astype(np.uint8)
    return Image.fromarray(coarse, mode).resize((width, height), Image.BICUBIC)


def jpeg(height, width, mode="RGB", **options):
    kept = io.BytesIO()
    smooth(height, width, mode).save(kept, "JPEG", **{"quality": 90, **options})
    return np.frombuffer(kept.getvalue(), np.uint8)


def both(monkeypatch, run):
    fast = run()
    with monkeypatch.context() as patch:
        patch.setattr(decode, "simplejpeg", None)
        return fast, run()


@pytest.mark.parametrize("size", [(1, 1), (7, 9), (64, 48), (123, 161)])
@pytest.mark.parametrize(
    "options",
    [{}, {"subsampling": 0}, {"subsampling": 1}, {"subsampling": 2}, {"progressive": True}, {"quality": 20},
     {"mode": "L"}, {"mode": "CMYK"}],
)  # fmt: skip
def test_pixels_are_pillows(monkeypatch, size, options):
    content = jpeg(*size, **options)
    fast, plain = both(monkeypatch, lambda: vision.Decode()(content))
    assert fast.shape == (*size, 3)
    np.testing.assert_array_equal(fast, plain)


@pytest.mark.parametrize("least", [(300, 300), (80, 60), (76, 20), (30, 40), (5, 5)])
def test_fractions_are_pillows(monkeypatch, least):
    content = jpeg(303, 401)
    fast, plain = both(monkeypatch, lambda: decode.scaled(content, lambda height, width: least))
    assert fast.shape[0] >= least[0] and fast.shape[1] >= least[1]
    np.testing.assert_array_equal(fast, plain)


@pytest.mark.parametrize("wrong", ["cut", "head", "noise", "bomb"])
def test_damaged_files_are_one_sentence(monkeypatch, wrong):
    content = jpeg(64, 64)
    if wrong == "noise":
        content = np.concatenate([content[:2], np.random.default_rng(0).integers(0, 255, 300).astype(np.uint8)])
    elif wrong == "bomb":  # sides of 65,500 in the header
        content = content.copy()
        at = content.tobytes().index(b"\xff\xc0") + 5
        content[at : at + 4] = [255, 220, 255, 220]
    else:
        content = content[: {"cut": len(content) // 2, "head": 30}[wrong]]

    def refused():
        with pytest.raises(DatasetError) as caught:
            decode.decoded(content)
        return re.sub("0x[0-9a-f]+", "", str(caught.value))

    fast, plain = both(monkeypatch, refused)
    assert fast == plain


def chained(operations, contents, workers):
    dataset = ds.GeneratorDataset(contents, "image", shuffle=False)
    return dataset.map(operations, num_parallel_workers=workers).batch(3)


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize(
    "operations",
    [
        [vision.Decode(), vision.RandomResizedCrop(40), vision.RandomHorizontalFlip(), vision.ToTensor()],
        [vision.Decode(), vision.Resize((50, 60)), vision.CenterCrop(48), vision.HWC2CHW()],
        [vision.RandomCropDecodeResize(31), vision.RandomHorizontalFlip(), vision.HWC2CHW()],
        [vision.RandomCropDecodeResize((31, 50), interpolation=vision.Inter.BICUBIC)],
    ],
)
def test_chains_from_files(operations, workers):
    contents = [jpeg(100 + 60 * i, 140 + 31 * i) for i in range(7)]
    dataset = chained(operations, contents, workers)
    plain, fused = (list(node.rows(Epoch.start(2, 0))) for node in (dataset._node, dataset.plan()))
    assert [len(batch[0]) for batch in fused] == [3, 3, 1]
    for (a,), (b,) in zip(plain, fused, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_large_file_is_decoded_no_larger_than_it_must_be():
    content, crop = jpeg(800, 1200), vision.RandomCropDecodeResize(100, scale=(0.9, 1.0), ratio=(1.4, 1.6))
    image, (top, left, height, width) = crop.opened(content)
    assert image.shape[0] < 250 and height >= 100 and width >= 100
    assert top + height <= image.shape[0] and left + width <= image.shape[1]
    whole = np.asarray(smooth(800, 1200).resize((100, 100)), np.int16)
    near = np.asarray(vision.RandomCropDecodeResize(100, (1.0, 1.0), (1.5, 1.5))(content), np.int16)
    assert np.abs(near - whole).mean() < 4


def test_other_formats_are_decoded_whole():
    kept = io.BytesIO()
    smooth(300, 400).save(kept, "PNG")
    image, part = vision.RandomCropDecodeResize(10).opened(np.frombuffer(kept.getvalue(), np.uint8))
    assert image.shape == (300, 400, 3) and part[2] <= 300
    with pytest.raises(DatasetError, match="no picture"):
        vision.RandomCropDecodeResize(10)(np.arange(40, dtype=np.uint8))
