"""Data pipelines with MindSpore's names: sources, operations, samplers, transforms. See `Dataset`."""

from typing import TYPE_CHECKING

from msnb.base import missing_names
from msnb.dataset import text, transforms, vision
from msnb.dataset.pipeline import config, samplers
from msnb.dataset.pipeline.batch import BatchInfo
from msnb.dataset.pipeline.dataset import Dataset, zip
from msnb.dataset.pipeline.samplers import (
    DistributedSampler,
    IterSampler,
    PKSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    SubsetSampler,
    WeightedRandomSampler,
)
from msnb.dataset.sources.cifar import Cifar10Dataset, Cifar100Dataset
from msnb.dataset.sources.digits import DigitsDataset
from msnb.dataset.sources.generator import GeneratorDataset
from msnb.dataset.sources.image_folder import ImageFolderDataset
from msnb.dataset.sources.mindrecord import MindDataset
from msnb.dataset.sources.mnist import FashionMnistDataset, KMnistDataset, MnistDataset
from msnb.dataset.sources.numpy_slices import NumpySlicesDataset

__all__ = [
    "BatchInfo", "Cifar100Dataset", "Cifar10Dataset", "Dataset", "DigitsDataset", "DistributedSampler",
    "FashionMnistDataset", "GeneratorDataset", "ImageFolderDataset", "IterSampler", "KMnistDataset", "MindDataset",
    "MnistDataset", "NumpySlicesDataset", "PKSampler", "RandomSampler", "Sampler", "SequentialSampler",
    "SubsetRandomSampler", "SubsetSampler", "WeightedRandomSampler", "config", "samplers", "text", "transforms",
    "vision", "zip",
]  # fmt: skip


if not TYPE_CHECKING:  # a type checker must go on to report names that do not exist

    def __getattr__(name: str) -> object:
        """A sentence on what is missing."""
        return missing_names.attribute(__name__, name)


def __dir__() -> list[str]:
    return missing_names.public_names(__name__)
