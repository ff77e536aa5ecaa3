"""Transforms for any column (MindSpore's `mindspore.dataset.transforms`), all callables on NumPy arrays."""

from msnb.dataset.transforms.basic import (
    Compose,
    Concatenate,
    Duplicate,
    Fill,
    Mask,
    OneHot,
    PadEnd,
    Relational,
    Slice,
    Transform,
    TypeCast,
    Unique,
)
from msnb.dataset.transforms.random import RandomApply, RandomChoice, RandomOrder

__all__ = [
    "Compose", "Concatenate", "Duplicate", "Fill", "Mask", "OneHot", "PadEnd", "RandomApply", "RandomChoice",
    "RandomOrder", "Relational", "Slice", "Transform", "TypeCast", "Unique",
]  # fmt: skip
