"""Vision transforms beyond crops and flips: against Pillow's own operations, against hand-made values, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

import msnb.dataset as ds
import msnb.dataset.vision as vision
from msnb.base.errors import ArgumentError, AttributeValueError, DatasetError

Inter = vision.Inter


@pytest.fixture
def photo():
    """A picture of few frequencies, with an uneven histogram."""
    y, x = np.mgrid[0:37, 0:52]
    waves = [np.sin(x / 9 + c) * np.cos(y / (7 + c)) for c in range(3)]
    return (np.stack(waves, -1) * 80 + 110 + (x[..., None] % 3)).astype(np.uint8)


def batch_of(image):
    return np.stack([image, image[::-1], image[:, ::-1]])


# ---- against Pillow --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mine", "pillows"),
    [
        (vision.AutoContrast(), ImageOps.autocontrast),
        (vision.AutoContrast(10.0), lambda p: ImageOps.autocontrast(p, 10)),
        (vision.AutoContrast(0.0, [0, 30, 111]), lambda p: ImageOps.autocontrast(p, 0, [0, 30, 111])),
        (vision.Posterize(3), lambda p: ImageOps.posterize(p, 3)),
        (vision.Solarize((100, 255)), lambda p: ImageOps.solarize(p, 100)),
        (vision.Invert(), ImageOps.invert),
        (vision.ConvertColor(vision.ConvertMode.COLOR_RGB2GRAY), lambda p: p.convert("L")),
    ],
)
def test_levels_are_pillows(photo, mine, pillows):
    wanted = np.asarray(pillows(Image.fromarray(photo)))
    most = 0 if photo.shape == wanted.shape else 1
    np.testing.assert_allclose(mine(photo).astype(int), wanted.astype(int), atol=most)


def test_equalized_levels():
    """Of an array 255 times the share of the pixels that are brighter than the darkest level; of a picture Pillow's."""
    pixels = np.array([[0, 3, 3, 9, 200]], np.uint8)
    for equalize in (vision.Equalize(), vision.RandomEqualize(1.0)):
        assert equalize(pixels).tolist() == [[0, 128, 128, 191, 255]]
        assert equalize(np.full((2, 2), 7, np.uint8)).tolist() == [[7, 7], [7, 7]]
        picture = Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3) ** 2)
        np.testing.assert_array_equal(np.asarray(equalize(picture)), np.asarray(ImageOps.equalize(picture)))


@pytest.mark.parametrize("factor", [0.0, 0.4, 1.0, 2.0])
def test_sharpness_is_pillows(photo, factor):
    wanted = np.asarray(ImageEnhance.Sharpness(Image.fromarray(photo)).enhance(factor)).astype(int)
    assert np.abs(vision.AdjustSharpness(factor)(photo).astype(int) - wanted).max() <= 1 + factor


@pytest.mark.parametrize("degrees", [0, 30, 90, -75.5, 180])
@pytest.mark.parametrize("expand", [False, True])
def test_rotation_is_pillows(photo, degrees, expand):
    mine = vision.Rotate(degrees, Inter.BILINEAR, expand)(photo)
    wanted = np.asarray(Image.fromarray(photo).rotate(degrees, Image.Resampling.BILINEAR, expand))
    assert all(abs(a - b) <= 2 for a, b in zip(mine.shape, wanted.shape)), (mine.shape, wanted.shape)
    if not expand:
        inside = np.abs(mine.astype(int) - wanted)[8:-8, 8:-8]
        assert np.median(inside) <= 3


def test_blur_softens_and_keeps_the_mean(photo):
    out = vision.GaussianBlur(5, 1.2)(photo)
    wanted = np.asarray(Image.fromarray(photo).filter(ImageFilter.GaussianBlur(1.2))).astype(int)
    assert np.abs(out.astype(int) - wanted)[4:-4, 4:-4].max() <= 12
    np.testing.assert_array_equal(vision.GaussianBlur((1, 1))(photo), photo)
    assert vision.GaussianBlur((3, 5), (0.5, 2.0))(photo[..., 0]).shape == photo.shape[:2]
    line = np.zeros((1, 5, 1), np.float32)
    line[0, 0] = 1
    blurred = vision.GaussianBlur((3, 1), 1.0)(line).ravel()  # mirrored without repeating the border
    weights = np.exp([-0.5, 0, -0.5]) / np.exp([-0.5, 0, -0.5]).sum()
    np.testing.assert_allclose(blurred[:2], [weights[1], weights[0]], rtol=1e-5)


# ---- geometry --------------------------------------------------------------------------------------------------------


def test_affine_moves_by_whole_pixels_and_turns_clockwise(photo):
    moved = vision.Affine(0, (0.25, 0), 1, 0)(photo)
    np.testing.assert_array_equal(moved[:, 13:], photo[:, :-13])
    assert not moved[:, :13].any()
    square = photo[:30, :30]
    np.testing.assert_array_equal(vision.Affine(90, (0, 0), 1, 0)(square), np.rot90(square, -1))
    np.testing.assert_array_equal(vision.Rotate(90)(square), np.rot90(square))
    np.testing.assert_array_equal(vision.Affine(0, (0, 0), 1, (0, 0), Inter.BILINEAR)(square), square)
    filled = vision.Affine(0, (0.5, 0), 1, 0, fill_value=(1, 2, 3))(square)
    np.testing.assert_array_equal(filled[:, 0], [[1, 2, 3]] * 30)


def test_perspective_of_the_corners(photo):
    corners = [[0, 0], [51, 0], [51, 36], [0, 36]]
    np.testing.assert_array_equal(vision.Perspective(corners, corners)(photo), photo)
    mirrored = [corners[i] for i in (1, 0, 3, 2)]
    np.testing.assert_array_equal(vision.Perspective(corners, mirrored)(photo), photo[:, ::-1])
    with pytest.raises(AttributeValueError, match="one line"):
        vision.Perspective(corners, [[0, 0], [1, 0], [2, 0], [3, 0]])(photo)


def test_crops_patches_and_padding(photo):
    five = vision.FiveCrop((10, 20))(photo)
    assert [c.shape for c in five] == [(10, 20, 3)] * 5
    np.testing.assert_array_equal(five[3], photo[-10:, -20:])
    ten = vision.TenCrop(10, use_vertical_flip=True)(photo)
    np.testing.assert_array_equal(ten[5], photo[::-1][:10, :10])
    tiles = vision.SlicePatches(2, 3)(photo)
    assert len(tiles) == 6 and tiles[0].shape == (19, 18, 3)
    dropped = vision.SlicePatches(2, 3, vision.SliceMode.DROP)(photo)
    np.testing.assert_array_equal(dropped[5], photo[18:36, 34:51])
    padded = vision.PadToSize((40, 60), 2, 7)(photo)
    np.testing.assert_array_equal(padded[2:39, 2:54], photo)
    assert padded.shape == (40, 60, 3) and padded[0, 0, 0] == 7
    np.testing.assert_array_equal(vision.ResizedCrop(3, 4, 5, 6, (5, 6))(photo), photo[3:8, 4:10])
    erased = vision.Erase(1, 2, 3, 4, (9, 8, 7))(photo)
    assert (erased[1:4, 2:6] == [9, 8, 7]).all() and (erased[5:] == photo[5:]).all()
    with pytest.raises((ValueError, RuntimeError)):
        vision.FiveCrop(100)(photo)
    with pytest.raises((ValueError, RuntimeError)):
        vision.PadToSize(10)(photo)


# ---- colours ---------------------------------------------------------------------------------------------------------


def test_colour_spaces_there_and_back(photo):
    real = photo.astype(np.float32) / 255
    hsv = vision.RgbToHsv(is_hwc=True)(real)
    wanted = np.asarray(Image.fromarray(photo).convert("HSV")).astype(float) / 255
    assert np.abs(hsv[..., 1:] - wanted[..., 1:]).max() < 0.01
    np.testing.assert_allclose(vision.HsvToRgb(is_hwc=True)(hsv), real, atol=1e-5)
    chw = np.moveaxis(real, -1, 0)
    np.testing.assert_allclose(vision.RgbToHsv()(chw), np.moveaxis(hsv, -1, 0))
    mode = vision.ConvertMode
    rgba = vision.ConvertColor(mode.COLOR_RGB2RGBA)(photo)
    assert rgba.shape[-1] == 4 and (rgba[..., 3] == 255).all()
    np.testing.assert_array_equal(vision.ConvertColor(mode.COLOR_RGBA2BGR)(rgba), photo[..., ::-1])
    with pytest.raises((ValueError, RuntimeError)):
        vision.ConvertColor(mode.COLOR_RGBA2BGR)(photo)
    with pytest.raises(ArgumentError):
        vision.ConvertColor("COLOR_RGB2BGR")


def test_normalize_pad_gamma_and_whitening(photo):
    out = vision.NormalizePad([1, 2, 3], [1, 1, 2], "float16")(photo)
    assert out.dtype == np.float16 and out.shape[-1] == 4 and not out[..., 3].any()
    half = vision.AdjustGamma(0.5)(np.full((1, 1, 1), 64, np.uint8))
    assert half.item() == round(255 * (64 / 255) ** 0.5)
    chw = np.arange(12.0).reshape(3, 2, 2)
    np.testing.assert_allclose(vision.LinearTransformation(np.eye(12) * 2, np.ones(12))(chw), (chw - 1) * 2)


# ---- drawn -----------------------------------------------------------------------------------------------------------

DRAWN = [
    vision.RandomAffine(15, (-0.1, 0.1), (0.8, 1.2), 5), vision.RandomRotation(30), vision.RandomPerspective(0.4, 1.0),
    vision.RandomAutoContrast(prob=1.0), vision.RandomEqualize(1.0), vision.RandomInvert(1.0), vision.RandomColor(),
    vision.RandomAdjustSharpness(2.0, 1.0), vision.RandomSharpness(), vision.RandomPosterize((2, 6)),
    vision.RandomSolarize((10, 200)), vision.RandomLighting(0.3), vision.CutOut(9, 2), vision.RandomResize((20, 30)),
    vision.AutoAugment(), vision.AutoAugment(vision.AutoAugmentPolicy.CIFAR10),
    vision.AutoAugment(vision.AutoAugmentPolicy.SVHN), vision.RandAugment(3), vision.TrivialAugmentWide(),
    vision.UniformAugment([vision.Invert(), vision.HorizontalFlip(), vision.Equalize()]),
    vision.RandomSelectSubpolicy([[(vision.Invert(), 0.5), (vision.Equalize(), 1.0)], [(vision.VerticalFlip(), 1.0)]]),
]  # fmt: skip


@pytest.mark.parametrize("transform", DRAWN, ids=lambda t: type(t).__name__)
def test_what_is_drawn_follows_the_seed_and_changes_with_the_row(photo, transform):
    def rows(seed, **how):
        ds.config.set_seed(seed)
        data = ds.NumpySlicesDataset(batch_of(photo[:24, :24]).repeat(8, 0), "image", shuffle=False)
        data = data.map(transform, "image", **how)
        return [row["image"] for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]

    one, two = rows(1), rows(1, num_parallel_workers=3)
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert all(row.dtype == np.uint8 for row in one)
    if not isinstance(transform, (vision.RandomEqualize, vision.RandomInvert, vision.RandomAutoContrast,
                                  vision.RandomAdjustSharpness)):  # fmt: skip
        assert any(not np.array_equal(a, b) for a, b in zip(one, rows(2), strict=True))
    assert all(row.shape == one[0].shape for row in one)


def test_random_erasing_of_channels_first():
    ds.config.set_seed(3)
    image = np.ones((3, 20, 30), np.float32)
    out = vision.RandomErasing(1.0, value=(5, 6, 7))(image)
    where = out[0] == 5
    assert where.any() and (out[1][where] == 6).all() and (out[2][~where] == 1).all() and (image == 1).all()
    assert (vision.RandomErasing(1.0, value="random")(image) != 1).any()
    with pytest.raises(AttributeValueError):
        vision.RandomErasing(value="noise")


# ---- batches and boxes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mix", [vision.MixUpBatch(0.4), vision.MixUp(3, 0.4),
                                 vision.CutMixBatch(vision.ImageBatchFormat.NHWC)])  # fmt: skip
def test_labels_say_what_was_mixed(mix):
    """Image i holds i everywhere, so its mean says how much of which image it holds."""
    ds.config.set_seed(8)
    images = np.broadcast_to(np.arange(3, dtype=np.float32)[:, None, None, None], (3, 16, 16, 1)).copy()
    mixed, labels = mix(images, np.eye(3, dtype=np.float32))
    np.testing.assert_allclose(labels.sum(1), 1, rtol=1e-6)
    np.testing.assert_allclose(mixed.mean((1, 2, 3)), labels @ np.arange(3), atol=1e-5)
    with pytest.raises((ValueError, RuntimeError)):
        mix(images, np.arange(3))


def test_mixing_in_a_pipeline(photo):
    data = ds.NumpySlicesDataset((batch_of(photo), np.eye(3, dtype=np.float32)), ["image", "label"])
    data = data.batch(3).map(vision.CutMixBatch(vision.ImageBatchFormat.NHWC, prob=0.5), ["image", "label"])
    (image, label), = data.create_tuple_iterator(num_epochs=1, output_numpy=True)  # fmt: skip
    assert image.shape == (3, *photo.shape) and label.shape == (3, 3)


def marked_image():
    """A black image with one white box, and that box."""
    image = np.zeros((40, 50, 3), np.uint8)
    image[10:20, 15:35] = 255
    return image, np.array([[15, 10, 20, 10, 1]], np.float32)


@pytest.mark.parametrize(
    "transform",
    [vision.RandomHorizontalFlipWithBBox(1.0), vision.RandomVerticalFlipWithBBox(1.0), vision.ResizeWithBBox((80, 100)),
     vision.RandomResizeWithBBox((20, 25)), vision.RandomCropWithBBox((30, 40), 3),
     vision.RandomResizedCropWithBBox((64, 64), (0.5, 1.0))],
    ids=lambda t: type(t).__name__,
)  # fmt: skip
def test_boxes_follow_the_image(transform):
    ds.config.set_seed(4)
    for _ in range(5):
        image, boxes = transform(*marked_image())
        x, y, w, h = boxes[0, :4]
        bright = np.argwhere(image[..., 0] > 127)
        top, left = bright.min(0)
        low, right = bright.max(0) + 1
        np.testing.assert_allclose([x, y, x + w, y + h], [left, top, right, low], atol=1.5)
        assert boxes[0, 4] == 1


def test_boxes_that_are_wrong_and_boxes_that_go():
    image, boxes = marked_image()
    augmented, same = vision.BoundingBoxAugment(vision.Invert(), 1.0)(image, boxes)
    assert not augmented.any() and (same == boxes).all()
    with pytest.raises((ValueError, RuntimeError), match="does not lie in the image"):
        vision.ResizeWithBBox(10)(image, boxes + 30)
    with pytest.raises((ValueError, RuntimeError), match="expects boxes"):
        vision.ResizeWithBBox(10)(image, boxes[:, :3])
    ds.config.set_seed(1)
    corner = np.array([[0, 0, 1, 1, 5]], np.float32)
    gone = [vision.RandomCropWithBBox(5)(image, corner)[1] for _ in range(20)]
    assert any((g == [[0, 0, 5, 5, 0]]).all() for g in gone)


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: vision.Affine(200, (0, 0), 1, 0), lambda: vision.Affine(0, (2, 0), 1, 0), lambda: vision.Rotate("a"),
        lambda: vision.Posterize(9), lambda: vision.AutoContrast(60), lambda: vision.GaussianBlur(4),
        lambda: vision.RandomRotation((5, 1)), lambda: vision.RandomPosterize((0, 9)), lambda: vision.Solarize(300),
        lambda: vision.RandomPerspective(2.0), lambda: vision.AutoAugment("cifar"), lambda: vision.RandAugment(2, 40),
        lambda: vision.MixUp(3, 0.1, False), lambda: vision.MixUpBatch(0), lambda: vision.CutMixBatch("NHWC"),
        lambda: vision.UniformAugment([vision.Invert()], 2), lambda: vision.RandomSelectSubpolicy([]),
        lambda: vision.SlicePatches(2, 2, "PAD"), lambda: vision.LinearTransformation(np.ones((2, 3)), np.ones(2)),
        lambda: vision.BoundingBoxAugment(vision.Invert), lambda: vision.NormalizePad([1], [1], "int32"),
    ],
)  # fmt: skip
def test_wrong_arguments(make):
    with pytest.raises((ArgumentError, AttributeValueError)):
        make()


def test_levels_of_floats_are_refused_with_the_row(photo):
    data = ds.NumpySlicesDataset(photo[None].astype(np.float32), "image").map(vision.Equalize(), "image")
    with pytest.raises(DatasetError, match=r"Equalize failed at row 0.*uint8"):
        next(iter(data))


def test_one_threshold_inverts_all_from_there_on() -> None:
    levels = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    wanted = np.where(levels >= 100, 255 - levels, levels)
    for threshold in (100, (100, 100), (100.0, 255)):
        assert np.array_equal(vision.Solarize(threshold)(levels), wanted)
    assert np.array_equal(vision.RandomSolarize((100, 100))(levels), wanted)
    assert np.array_equal(vision.Solarize((0, 99))(levels), np.where(levels < 100, 255 - levels, levels))
    with pytest.raises(ValueError, match="threshold"):
        vision.Solarize((9, 8))


def test_gamma_cuts_levels_off() -> None:
    levels = np.array([0, 12, 20, 251, 252, 255], np.uint8).reshape(1, 6, 1)
    assert vision.AdjustGamma(2.0)(levels).ravel().tolist() == [0, 0, 1, 248, 250, 255]
    assert vision.AdjustGamma(1.0, 0.77)(levels).ravel().tolist() == [0, 9, 15, 194, 194, 197]
    assert vision.AdjustGamma(1.0, 5.0)(levels).ravel().tolist() == [0, 60, 100, 255, 255, 255]
    assert np.allclose(vision.AdjustGamma(2.0)(np.array([[[0.5], [1.0]]], np.float32)).ravel(), [0.25, 1.0])
    with pytest.raises(ValueError, match="gamma"):
        vision.AdjustGamma(-1.0)
