"""Images moved by a matrix: rotated, sheared, shifted, seen from the side; by fixed or drawn amounts.

    output pixel (x, y)  --inverse matrix-->  place in the input  --interpolation-->  value; fill_value outside

Source: `mindspore.dataset.vision` (Affine, Rotate, Perspective, RandomAffine ...)
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import AttributeValueError
from msnb.dataset.pipeline import Array, draws
from msnb.dataset.transforms.random import check_probability
from msnb.dataset.vision.enums import Inter
from msnb.dataset.vision.images import ImageTransform, as_range, check_interpolation, check_number, like

__all__ = ["Affine", "Perspective", "RandomAffine", "RandomPerspective", "RandomRotation", "Rotate"]


def _tap(distance: Array, method: str) -> Array:
    """How much a pixel at a distance counts: OpenCV's kernels, of which "bicubic" has a = -0.75."""
    d = np.abs(distance)
    if method != "bicubic":
        return np.asarray(np.maximum(1 - d, 0))
    far = -0.75 * (((d - 5) * d + 8) * d - 4)
    return np.where(d <= 1, (1.25 * d - 2.25) * d * d + 1, np.where(d < 2, far, 0))


def sampled(image: Array, xs: Array, ys: Array, method: str, fill: Any) -> Array:
    """The image [..., h, w, c] at places (xs, ys), each [h', w']; `fill` outside."""
    height, width = image.shape[-3:-1]
    filling = np.broadcast_to(np.asarray(fill, np.float32), (image.shape[-1],))
    if method == "nearest":
        near_x, near_y = np.floor(xs + 0.5).astype(np.int64), np.floor(ys + 0.5).astype(np.int64)
        inside = (near_x >= 0) & (near_x < width) & (near_y >= 0) & (near_y < height)
        found = image[..., near_y.clip(0, height - 1), near_x.clip(0, width - 1), :]
        return np.where(inside[..., np.newaxis], found, like(filling, image))
    left, top = np.floor(xs).astype(np.int64), np.floor(ys).astype(np.int64)
    out = np.zeros((*image.shape[:-3], *xs.shape, image.shape[-1]), np.float32)
    taps = (-1, 0, 1, 2) if method == "bicubic" else (0, 1)
    for y, x in ((top + dy, left + dx) for dy in taps for dx in taps):
        weight = _tap(xs - x, method) * _tap(ys - y, method)
        inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
        part = image[..., y.clip(0, height - 1), x.clip(0, width - 1), :].astype(np.float32)
        out += weight[..., np.newaxis].astype(np.float32) * np.where(inside[..., np.newaxis], part, filling)
    return like(out, image)


def _places(matrix: Array, height: int, width: int, method: str) -> tuple[Array, Array]:
    """Where the pixels of an output come from: a 3x3 matrix applied to (x, y, 1), as exactly as OpenCV counts.

    The places between pixels are multiples of 1/32; an affine sum has its two parts rounded to 1/1024 before.
    """
    xs, ys = np.meshgrid(np.arange(width, dtype=np.float64), np.arange(height, dtype=np.float64))
    if matrix[2].tolist() != [0, 0, 1]:
        x, y, scale = (row[0] * xs + row[1] * ys + row[2] for row in matrix)
        fine = 1 if method == "nearest" else 32
        return np.rint(x / scale * fine) / fine, np.rint(y / scale * fine) / fine
    step, half = (1024, 512) if method == "nearest" else (32, 16)
    x, y = (np.rint(row[0] * xs * 1024) + np.rint((row[1] * ys + row[2]) * 1024) for row in matrix[:2])
    return np.floor((x + half) / step) * step / 1024, np.floor((y + half) / step) * step / 1024


def _about(x: float, y: float) -> Array:
    return np.array([[1, 0, x], [0, 1, y], [0, 0, 1.0]])


def affine_matrix(degrees: float, translate: Sequence[float], scale: float, shear: Sequence[float]) -> Array:
    """Rotation (clockwise), shear in degrees, scale and shift in pixels, about the origin: 3x3, input to output."""
    angle, sx, sy = (math.radians(v) for v in (degrees, shear[0], shear[1]))
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    slant = np.array([[1, 0], [-math.tan(sy), 1]]) @ np.array([[1, -math.tan(sx)], [0, 1]])
    out = np.eye(3)
    out[:2, :2] = scale * (turn @ slant)
    out[:2, 2] = translate
    return out


def moved(image: Array, matrix: Array, method: str, fill: Any) -> Array:
    """The image under an affine matrix about its centre, size kept."""
    height, width = image.shape[-3:-1]
    cx, cy = (width - 1) / 2, (height - 1) / 2
    inverse = _about(cx, cy) @ np.linalg.inv(matrix) @ _about(-cx, -cy)
    return sampled(image, *_places(inverse, height, width, method), method, fill)


class Affine(ImageTransform):
    """Rotation, shift, scale and shear at once, about the centre.

    Args:
        degrees: clockwise, from -180 to 180.
        translate: shift right and down, as parts of width and height, from -1 to 1.
        scale: above 0.
        shear: degrees from -180 to 180, along x or (x, y).
        resample, fill_value: interpolation, and the value outside.
    """

    def __init__(
        self, degrees: float, translate: Sequence[float], scale: float, shear: float | Sequence[float],
        resample: Inter = Inter.NEAREST, fill_value: Any = 0,
    ) -> None:  # fmt: skip
        self.degrees: float = check_number(degrees, "Affine: degrees", -180, 180)
        self.translate: list[float] = [check_number(t, "Affine: translate", -1, 1) for t in translate]
        slant = shear if isinstance(shear, (tuple, list)) else (shear, 0.0)
        self.scale: float = check_number(scale, "Affine: scale", 1e-12)
        self.shear: list[float] = [check_number(s, "Affine: shear", -180, 180) for s in slant]
        if len(self.translate) != 2 or len(self.shear) != 2:
            raise AttributeValueError(f"Affine: translate and shear have two numbers, got {translate!r} and {shear!r}")
        self.method: str = check_interpolation(resample)
        self.fill: Any = fill_value

    def image(self, value: Array) -> Array:
        height, width = value.shape[-3:-1]
        shift = self.translate[0] * width, self.translate[1] * height
        return moved(value, affine_matrix(self.degrees, shift, self.scale, self.shear), self.method, self.fill)


class Rotate(ImageTransform):
    """Turned counter-clockwise by `degrees`, about the centre or `center` (x, y); `expand` keeps all of the image."""

    center: list[float] | None

    def __init__(
        self, degrees: float, resample: Inter = Inter.NEAREST, expand: bool = False,
        center: Sequence[float] | None = None, fill_value: Any = 0,
    ) -> None:  # fmt: skip
        self.degrees: float = check_number(degrees, "Rotate: degrees")
        self.method: str = check_interpolation(resample)
        self.expand: bool = bool(expand)
        self.fill: Any = fill_value
        self.center = None if center is None else [check_number(c, "Rotate: center") for c in center]

    def image(self, value: Array) -> Array:
        return self.turned(value, self.degrees)

    def turned(self, value: Array, degrees: float) -> Array:
        height, width = value.shape[-3:-1]
        cx, cy = self.center or ((width - 1) / 2, (height - 1) / 2)
        back = affine_matrix(degrees, (0, 0), 1, (0, 0))  # the way back of a turn to the other side
        high, wide, to_x, to_y = height, width, cx, cy
        if self.expand:  # all is shifted from the middle of the image to that of the result, whatever `center` is
            cos, sin = abs(back[0, 0]), abs(back[0, 1])
            full, tall = height * sin + width * cos, height * cos + width * sin
            wide, high, to_x, to_y = round(full), round(tall), cx + (full - width) / 2, cy + (tall - height) / 2
        inverse = _about(cx, cy) @ back @ _about(-to_x, -to_y)
        return sampled(value, *_places(inverse, high, wide, self.method), self.method, self.fill)


class Perspective(ImageTransform):
    """Four points [x, y] of the image (upper left, upper right, lower right, lower left) moved to four others."""

    def __init__(
        self,
        start_points: Sequence[Sequence[float]],
        end_points: Sequence[Sequence[float]],
        interpolation: Inter = Inter.BILINEAR,
    ) -> None:
        self.start: Any = np.asarray(start_points, np.float64)
        self.end: Any = np.asarray(end_points, np.float64)
        if self.start.shape != (4, 2) or self.end.shape != (4, 2):
            raise AttributeValueError(
                f"Perspective takes four points [x, y] twice, got {self.start.shape} and {self.end.shape}"
            )
        self.method: str = check_interpolation(interpolation)

    def image(self, value: Array) -> Array:
        return seen(value, self.start, self.end, self.method, 0)

    def of_picture(self, value: Any) -> Any:
        return _picture_seen(value, self.start, self.end, self.method)


def _way_back(start: Array, end: Array) -> Array:
    """The eight coefficients that take the points `end` to `start`."""
    rows, target = [], []
    for (x, y), (u, v) in zip(end, start, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        target += [u, v]
    try:
        return np.linalg.solve(np.array(rows), np.array(target))
    except np.linalg.LinAlgError:
        raise AttributeValueError("Perspective: three of the points lie on one line.") from None


def _picture_seen(value: Any, start: Array, end: Array, method: str) -> Any:
    """The same of a picture of Pillow's, which takes the middles of pixels."""
    image = sys.modules["PIL.Image"]
    resample = getattr(image.Resampling, method.upper())
    return value.transform(value.size, image.Transform.PERSPECTIVE, _way_back(start, end).tolist(), resample)


def seen(value: Array, start: Array, end: Array, method: str, fill: Any) -> Array:
    """The image with the points `start` at `end`."""
    height, width = value.shape[-3:-1]
    matrix = np.append(_way_back(start, end), 1).reshape(3, 3)
    return sampled(value, *_places(matrix, height, width, method), method, fill)


class RandomAffine(ImageTransform):
    """`Affine` by drawn amounts.

    Args:
        degrees: d for (-d, d), or (low, high).
        translate: (low x, high x, low y, high y) or (low x, high x), as parts of the sides.
        scale: (low, high). shear: s for (-s, s) along x, (low, high), or (low x, high x, low y, high y).
        resample, fill_value: as in `Affine`.
    """

    shift: tuple[tuple[float, float], tuple[float, float]]
    shear: tuple[tuple[float, float], tuple[float, float]]

    def __init__(
        self, degrees: float | Sequence[float], translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None, shear: float | Sequence[float] | None = None,
        resample: Inter = Inter.NEAREST, fill_value: Any = 0,
    ) -> None:  # fmt: skip
        self.degrees: tuple[float, float] = as_range(degrees, "RandomAffine: degrees")
        shift = [*(translate or (0, 0)), 0, 0][:4]
        slant = (-shear, shear) if isinstance(shear, (int, float)) else (shear or (0, 0))
        slant = [*slant, 0, 0][:4]
        self.shift = as_range(shift[:2], "RandomAffine: translate"), as_range(shift[2:], "RandomAffine: translate")
        self.shear = as_range(slant[:2], "RandomAffine: shear"), as_range(slant[2:], "RandomAffine: shear")
        self.scale: tuple[float, float] = as_range(scale or (1, 1), "RandomAffine: scale")
        self.method: str = check_interpolation(resample)
        self.fill: Any = fill_value

    def image(self, value: Array) -> Array:
        height, width = value.shape[-3:-1]
        degrees, scale, *rest = (draws().uniform(*r) for r in (self.degrees, self.scale, *self.shift, *self.shear))
        shift = round(rest[0] * width), round(rest[1] * height)
        return moved(value, affine_matrix(degrees, shift, scale, rest[2:]), self.method, self.fill)


class RandomRotation(Rotate):
    """`Rotate` by an angle drawn from (-degrees, degrees) or (low, high)."""

    def __init__(
        self, degrees: float | Sequence[float], resample: Inter = Inter.NEAREST, expand: bool = False,
        center: Sequence[float] | None = None, fill_value: Any = 0,
    ) -> None:  # fmt: skip
        super().__init__(0, resample, expand, center, fill_value)
        self.range: tuple[float, float] = as_range(degrees, "RandomRotation: degrees")

    def image(self, value: Array) -> Array:
        return self.turned(value, draws().uniform(*self.range))


class RandomPerspective(ImageTransform):
    """With probability `prob` each corner moves inwards by a drawn part, up to `distortion_scale`, of half a side."""

    def __init__(self, distortion_scale: float = 0.5, prob: float = 0.5, interpolation: Inter = Inter.BICUBIC) -> None:
        self.distortion: float = check_number(distortion_scale, "RandomPerspective: distortion_scale", 0, 1)
        self.prob: float = check_probability(prob, "RandomPerspective")
        self.method: str = check_interpolation(interpolation)

    def image(self, value: Array) -> Array:
        if draws().random() >= self.prob:
            return value
        height, width = value.shape[-3:-1]
        right, low = width - 1, height - 1
        start = np.array([[0, 0], [right, 0], [right, low], [0, low]], np.float64)
        inwards = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
        room = np.floor(self.distortion * np.array([width // 2, height // 2]))
        return seen(value, start, start + inwards * np.floor(draws().uniform(0, room + 1, (4, 2))), self.method, 0)
