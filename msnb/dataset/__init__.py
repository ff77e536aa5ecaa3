"""Data pipelines with MindSpore's names: sources, operations, samplers, transforms. See `Dataset`."""

from msnb.dataset import config, samplers, transforms, vision
from msnb.dataset.arrays import NumpySlicesDataset
from msnb.dataset.batching import BatchInfo
from msnb.dataset.datasets import Dataset, zip
from msnb.dataset.digits import DigitsDataset
from msnb.dataset.generator import GeneratorDataset
from msnb.dataset.mnist import MnistDataset
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
    "Dataset",
    "DigitsDataset",
    "DistributedSampler",
    "GeneratorDataset",
    "IterSampler",
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
    "transforms",
    "vision",
    "zip",
]
