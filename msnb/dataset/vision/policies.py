"""Drawn chains of image transforms: AutoAugment, RandAugment, TrivialAugmentWide, UniformAugment, subpolicies.

    strength of an operation = its row of the table below, at the magnitude (bin) that was drawn or learned

Source: `mindspore.dataset.vision`; Cubuk et al., "AutoAugment", 2019 (policies), "RandAugment", 2020; Müller and
Hutter, "TrivialAugment", 2021.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError
from msnb.dataset.pipeline import Array, check_count, draws
from msnb.dataset.transforms.basic import flatten
from msnb.dataset.transforms.random import check_probability
from msnb.dataset.vision.color import brightened, contrasted, saturated
from msnb.dataset.vision.enums import Inter
from msnb.dataset.vision.images import ImageTransform, check_interpolation
from msnb.dataset.vision.tones import equalized, posterized, sharpened, solarized, stretched
from msnb.dataset.vision.warp import affine_matrix, moved

__all__ = [
    "AutoAugment", "AutoAugmentPolicy", "RandAugment", "RandomSelectSubpolicy", "TrivialAugmentWide", "UniformAugment",
]  # fmt: skip

_SIGNED = {"ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness"}
_WARPS: dict[str, Callable[[float], Array]] = {
    "ShearX": lambda m: np.array([[1, m, 0], [0, 1, 0], [0, 0, 1.0]]),
    "ShearY": lambda m: np.array([[1, 0, 0], [m, 1, 0], [0, 0, 1.0]]),
    "TranslateX": lambda m: affine_matrix(0, (int(m), 0), 1, (0, 0)),
    "TranslateY": lambda m: affine_matrix(0, (0, int(m)), 1, (0, 0)),
    "Rotate": lambda m: affine_matrix(-m, (0, 0), 1, (0, 0)),
}
_TONES: dict[str, Callable[[Array, float], Array]] = {
    "Identity": lambda image, m: image,
    "Brightness": lambda image, m: brightened(image, 1 + m),
    "Color": lambda image, m: saturated(image, 1 + m),
    "Contrast": lambda image, m: contrasted(image, 1 + m),
    "Sharpness": lambda image, m: sharpened(image, 1 + m),
    "Posterize": lambda image, m: posterized(image, int(m)),
    "Solarize": lambda image, m: solarized(image, m, 255),
    "AutoContrast": lambda image, m: stretched(image),
    "Equalize": lambda image, m: equalized(image),
    "Invert": lambda image, m: np.asarray(255 - image, image.dtype),
}


def _strengths(bins: int, shape: Sequence[int], wide: bool) -> dict[str, Array]:
    """Operation -> strength by bin."""
    up = np.linspace(0, 1, bins)
    height, width = shape[-3:-1]
    shear, factor, turn = (0.99, 0.99, 135.0) if wide else (0.3, 0.9, 30.0)
    shifts = (32.0, 32.0) if wide else (150 / 331 * width, 150 / 331 * height)
    bits = 8 - np.round(np.arange(bins) / ((bins - 1) / (6 if wide else 4)))
    found = dict.fromkeys(("Brightness", "Color", "Contrast", "Sharpness"), up * factor)
    found |= {"ShearX": up * shear, "ShearY": up * shear, "Rotate": up * turn, "Posterize": bits,
              "Solarize": 255 - up * 255, "TranslateX": up * shifts[0], "TranslateY": up * shifts[1]}  # fmt: skip
    return found


class _Policy(ImageTransform):
    """Operations by name and strength, with one interpolation and fill value."""

    def __init__(self, interpolation: Inter, fill_value: Any) -> None:
        self.method, self.fill = check_interpolation(interpolation), fill_value

    def done(self, image: Array, name: str, strength: float) -> Array:
        """An operation applied; those that know two directions draw one."""
        if name in _SIGNED and draws().integers(2):
            strength = -strength
        if name in _WARPS:
            return moved(image, _WARPS[name](strength), self.method, self.fill)
        return _TONES[name](image, strength)


class AutoAugmentPolicy(enum.Enum):
    """On which data a policy was learned."""

    IMAGENET = 1
    CIFAR10 = 2
    SVHN = 3


# per line, subpolicies of two operations: name, probability in tenths, magnitude (- for none)
_LEARNED = {
    AutoAugmentPolicy.IMAGENET: """
        Posterize 4 8 Rotate 6 9, Solarize 6 5 AutoContrast 6 -, Equalize 8 - Equalize 6 -, Posterize 6 7 Posterize 6 6,
        Equalize 4 - Solarize 2 4, Equalize 4 - Rotate 8 8, Solarize 6 3 Equalize 6 -, Posterize 8 5 Equalize 10 -,
        Rotate 2 3 Solarize 6 8, Equalize 6 - Posterize 4 6, Rotate 8 8 Color 4 0, Rotate 4 9 Equalize 6 -,
        Equalize 0 - Equalize 8 -, Invert 6 - Equalize 10 -, Color 6 4 Contrast 10 8, Rotate 8 8 Color 10 2,
        Color 8 8 Solarize 8 7, Sharpness 4 7 Invert 6 -, ShearX 6 5 Equalize 10 -, Color 4 0 Equalize 6 -,
        Equalize 4 - Solarize 2 4, Solarize 6 5 AutoContrast 6 -, Invert 6 - Equalize 10 -, Color 6 4 Contrast 10 8,
        Equalize 8 - Equalize 6 -""",
    AutoAugmentPolicy.CIFAR10: """
        Invert 1 - Contrast 2 6, Rotate 7 2 TranslateX 3 9, Sharpness 8 1 Sharpness 9 3, ShearY 5 8 TranslateY 7 9,
        AutoContrast 5 - Equalize 9 -, ShearY 2 7 Posterize 3 7, Color 4 3 Brightness 6 7, Sharpness 3 9 Brightness 7 9,
        Equalize 6 - Equalize 5 -, Contrast 6 7 Sharpness 6 5, Color 7 7 TranslateX 5 8, Equalize 3 - AutoContrast 4 -,
        TranslateY 4 3 Sharpness 2 6, Brightness 9 6 Color 2 8, Solarize 5 2 Invert 0 -, Equalize 2 - AutoContrast 6 -,
        Equalize 2 - Equalize 6 -, Color 9 9 Equalize 6 -, AutoContrast 8 - Solarize 2 8, Brightness 1 3 Color 7 0,
        Solarize 4 5 AutoContrast 9 -, TranslateY 9 9 TranslateY 7 9, AutoContrast 9 - Solarize 8 3,
        Equalize 8 - Invert 1 -, TranslateY 7 9 AutoContrast 9 -""",
    AutoAugmentPolicy.SVHN: """
        ShearX 9 4 Invert 2 -, ShearY 9 8 Invert 7 -, Equalize 6 - Solarize 6 6, Invert 9 - Equalize 6 -,
        Equalize 6 - Rotate 9 3, ShearX 9 4 AutoContrast 8 -, ShearY 9 8 Invert 4 -, ShearY 9 5 Solarize 2 6,
        Invert 9 - AutoContrast 8 -, Equalize 6 - Rotate 9 3, ShearX 9 4 Solarize 3 3, ShearY 8 8 Invert 7 -,
        Equalize 9 - TranslateY 6 6, Invert 9 - Equalize 6 -, Contrast 3 3 Rotate 8 4, Invert 8 - TranslateY 0 2,
        ShearY 7 6 Solarize 4 8, Invert 6 - Rotate 8 4, ShearY 3 7 TranslateX 9 3, ShearX 1 6 Invert 6 -,
        Solarize 7 2 TranslateY 6 7, ShearY 8 4 Invert 8 -, ShearX 7 9 TranslateY 8 3, ShearY 8 5 AutoContrast 7 -,
        ShearX 7 2 Invert 1 -""",
}


def _subpolicies(policy: AutoAugmentPolicy) -> list[list[tuple[str, float, int]]]:
    found = []
    for line in _LEARNED[policy].split(","):
        words = line.split()
        triples = zip(words[::3], words[1::3], words[2::3], strict=True)
        found.append([(name, int(p) / 10, 0 if m == "-" else int(m)) for name, p, m in triples])
    return found


class AutoAugment(_Policy):
    """One of the 25 subpolicies (two operations each) that were learned for a kind of data; uint8 pixels."""

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: Inter = Inter.NEAREST,
        fill_value: Any = 0,
    ) -> None:
        super().__init__(interpolation, fill_value)
        if not isinstance(policy, AutoAugmentPolicy):
            raise ArgumentError(f"AutoAugment takes an AutoAugmentPolicy, got {policy!r}")
        self.subpolicies: list[list[tuple[str, float, int]]] = _subpolicies(policy)

    def image(self, value: Array) -> Array:
        table = _strengths(10, value.shape, wide=False)
        for name, prob, magnitude in self.subpolicies[int(draws().integers(len(self.subpolicies)))]:
            if draws().random() < prob:
                value = self.done(value, name, float(table[name][magnitude]) if name in table else 0.0)
        return value


class RandAugment(_Policy):
    """`num_ops` drawn operations of one `magnitude` (a bin of `num_magnitude_bins`); uint8 pixels."""

    def __init__(
        self, num_ops: int = 2, magnitude: int = 9, num_magnitude_bins: int = 31, interpolation: Inter = Inter.NEAREST,
        fill_value: Any = 0,
    ) -> None:  # fmt: skip
        super().__init__(interpolation, fill_value)
        self.ops: int = check_count(num_ops, "num_ops")
        self.bins: int = check_count(num_magnitude_bins, "num_magnitude_bins", 2)
        self.magnitude: int = check_count(magnitude, "magnitude", 0)
        if self.magnitude >= self.bins:
            raise AttributeValueError(f"RandAugment: magnitude {magnitude} is no bin of {self.bins}")

    def image(self, value: Array) -> Array:
        table = _strengths(self.bins, value.shape, wide=False)
        names = ["Identity", "AutoContrast", "Equalize", *sorted(table)]
        for _ in range(self.ops):
            name = names[int(draws().integers(len(names)))]
            value = self.done(value, name, float(table[name][self.magnitude]) if name in table else 0.0)
        return value


class TrivialAugmentWide(_Policy):
    """One drawn operation of a drawn magnitude, over wide ranges; uint8 pixels."""

    def __init__(self, num_magnitude_bins: int = 31, interpolation: Inter = Inter.NEAREST, fill_value: Any = 0) -> None:
        super().__init__(interpolation, fill_value)
        self.bins: int = check_count(num_magnitude_bins, "num_magnitude_bins", 2)

    def image(self, value: Array) -> Array:
        table = _strengths(self.bins, value.shape, wide=True)
        names = ["Identity", "AutoContrast", "Equalize", *sorted(table)]
        name, magnitude = names[int(draws().integers(len(names)))], int(draws().integers(self.bins))
        return self.done(value, name, float(table[name][magnitude]) if name in table else 0.0)


class UniformAugment:
    """`num_ops` of the `transforms`, drawn, each done with probability one half."""

    def __init__(self, transforms: Sequence[Callable[..., Any]], num_ops: int = 2) -> None:
        self.transforms: list[Any] = flatten(transforms, "UniformAugment")
        self.ops: int = check_count(num_ops, "num_ops")
        if self.ops > len(self.transforms):
            raise AttributeValueError(f"UniformAugment: num_ops {num_ops} of {len(self.transforms)} transforms")

    def __call__(self, image: Any) -> Any:
        for place in draws().permutation(len(self.transforms))[: self.ops]:
            if draws().integers(2):
                image = self.transforms[place](image)
        return image


class RandomSelectSubpolicy:
    """One drawn subpolicy: a list of (transform, probability), done in turn."""

    policy: list[Any]

    def __init__(self, policy: Sequence[Sequence[tuple[Callable[..., Any], float]]]) -> None:
        if not isinstance(policy, (list, tuple)) or not policy:
            raise ArgumentError(f"RandomSelectSubpolicy takes a list of subpolicies, got {policy!r}")
        for subpolicy in policy:
            flatten([operation for operation, _ in subpolicy], "RandomSelectSubpolicy")
        self.policy = [[(op, check_probability(p, "RandomSelectSubpolicy")) for op, p in sub] for sub in policy]

    def __call__(self, image: Any) -> Any:
        for operation, prob in self.policy[int(draws().integers(len(self.policy)))]:
            if draws().random() < prob:
                image = operation(image)
        return image
