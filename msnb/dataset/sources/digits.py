"""`DigitsDataset`: 1,797 real handwritten digits that ship with scikit-learn, so no download is needed.

The scans are 8x8 with ink 0..16. They are given as MNIST images are (uint8, 0..255, a trailing channel axis), so a
pipeline written for MNIST runs unchanged with `size=28`; enlarging interpolates bilinearly before rounding.

Source: E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", UCI, the test half of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError
from msnb.dataset.pipeline import Array, Dataset, check_count, choose, workers_of
from msnb.dataset.sources.numpy_slices import sliced
from msnb.dataset.vision.resampling import resize


class DigitsDataset(Dataset):
    """Columns image uint8[h,w,1] and label uint32[].

    Args:
        usage: "train", "test" or "all" (default). The halves are cut by chance, the same cut for the same `split_seed`.
        size: None (8x8 as scanned), or a side length or (height, width) to enlarge to, such as 28 or 32.
        test_fraction: part of the rows in "test", between 0 and 1.
        split_seed: seed of the cut.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; None and
            True shuffle.

    Raises:
        ImportError: scikit-learn is not installed.
        ValueError: a bad usage, size or fraction.

    >>> DigitsDataset("train", size=28).get_dataset_size()
    1438
    """

    def __init__(
        self, usage: str | None = None, size: int | tuple[int, int] | None = None, test_fraction: float = 0.2,
        split_seed: int = 0, num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
    ) -> None:  # fmt: skip
        order = choose(sampler, shuffle, num_samples, num_shards, shard_id)
        shape = _shape(size)
        images, labels = _load()
        rows = _rows(usage, len(labels), test_fraction, split_seed)
        columns = [_pictures(images[rows], shape), labels[rows]]
        super().__init__(sliced("DigitsDataset", ("image", "label"), columns, order, workers_of(num_parallel_workers)))


def _load() -> tuple[Array, Array]:
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise ImportError(
            "DigitsDataset reads digits that ship with scikit-learn, which is not installed: pip install scikit-learn"
        ) from error
    bunch = load_digits()
    return np.asarray(bunch.images, np.float64), np.asarray(bunch.target).astype(np.uint32)


def _shape(size: Any) -> tuple[int, int]:
    if size is None:
        return (8, 8)
    sides = size if isinstance(size, (tuple, list)) else (size, size)
    if len(sides) != 2:
        raise AttributeValueError(f"size must be a side length or (height, width), got {size!r}")
    return check_count(sides[0], "height"), check_count(sides[1], "width")


def _rows(usage: str | None, total: int, fraction: float, seed: int) -> Array:
    if usage not in (None, "train", "test", "all"):
        raise AttributeValueError(f"usage must be one of ['train', 'test', 'all'], got {usage!r}")
    if not isinstance(fraction, (int, float)) or isinstance(fraction, bool):
        raise ArgumentError(f"test_fraction must be a number, got {fraction!r}")
    if not 0 < fraction < 1:
        raise AttributeValueError(f"test_fraction must lie between 0 and 1, got {fraction}")
    if usage in (None, "all"):
        return np.arange(total)
    order = np.random.Generator(np.random.PCG64(check_count(seed, "split_seed", least=0))).permutation(total)
    cut = round(total * fraction)
    return np.sort(order[:cut] if usage == "test" else order[cut:])


def _pictures(images: Array, shape: tuple[int, int]) -> Array:
    scaled = resize(images[..., np.newaxis] * (255.0 / 16.0), shape, "bilinear")
    return np.rint(scaled).clip(0, 255).astype(np.uint8)
