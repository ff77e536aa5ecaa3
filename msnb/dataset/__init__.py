"""Data pipelines with MindSpore's names: sources, operations, samplers, transforms. See `Dataset`."""

from typing import TYPE_CHECKING

from msnb.dataset import config, samplers, text, transforms, vision
from msnb.dataset.arrays import NumpySlicesDataset
from msnb.dataset.batching import BatchInfo
from msnb.dataset.cifar import Cifar10Dataset, Cifar100Dataset
from msnb.dataset.datasets import Dataset, zip
from msnb.dataset.digits import DigitsDataset
from msnb.dataset.folder import ImageFolderDataset
from msnb.dataset.generator import GeneratorDataset
from msnb.dataset.mnist import FashionMnistDataset, KMnistDataset, MnistDataset
from msnb.dataset.records import MindDataset
from msnb.dataset.samplers import (
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

__all__ = [
    "BatchInfo",
    "Cifar100Dataset",
    "Cifar10Dataset",
    "Dataset",
    "DigitsDataset",
    "DistributedSampler",
    "FashionMnistDataset",
    "GeneratorDataset",
    "ImageFolderDataset",
    "IterSampler",
    "KMnistDataset",
    "MindDataset",
    "MnistDataset",
    "NumpySlicesDataset",
    "PKSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "SubsetSampler",
    "WeightedRandomSampler",
    "config",
    "samplers",
    "text",
    "transforms",
    "vision",
    "zip",
]


if not TYPE_CHECKING:  # a type checker must go on to report names that do not exist

    def __getattr__(name: str) -> object:
        """A sentence on what is missing."""
        from msnb.core import elsewhere

        return elsewhere.attribute(__name__, name)
