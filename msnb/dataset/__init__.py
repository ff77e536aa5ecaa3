"""Data pipelines with MindSpore's names: sources, operations, samplers, transforms. See `Dataset`."""

from typing import TYPE_CHECKING

from msnb.base import missing_names
from msnb.dataset import audio, pipeline_text, text, transforms, vision
from msnb.dataset.map_callbacks import DSCallback
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
from msnb.dataset.pipeline_text import compare, deserialize, serialize, show
from msnb.dataset.row_cache import DatasetCache
from msnb.dataset.sources.cifar import Cifar10Dataset, Cifar100Dataset
from msnb.dataset.sources.digits import DigitsDataset
from msnb.dataset.sources.generator import GeneratorDataset
from msnb.dataset.sources.image_folder import ImageFolderDataset
from msnb.dataset.sources.mindrecord.record_readers import MindDataset
from msnb.dataset.sources.mnist import FashionMnistDataset, KMnistDataset, MnistDataset
from msnb.dataset.sources.numpy_slices import NumpySlicesDataset
from msnb.dataset.sources.pictures.face_pictures import LFWDataset, WIDERFaceDataset
from msnb.dataset.sources.pictures.object_boxes import CocoDataset, VOCDataset
from msnb.dataset.sources.pictures.packed_pictures import (
    EMnistDataset,
    FakeImageDataset,
    QMnistDataset,
    SemeionDataset,
    STL10Dataset,
    SVHNDataset,
    USPSDataset,
)
from msnb.dataset.sources.pictures.picture_lists import (
    Caltech256Dataset,
    CelebADataset,
    Flowers102Dataset,
    Food101Dataset,
    LSUNDataset,
    ManifestDataset,
    OmniglotDataset,
    Places365Dataset,
    RenderedSST2Dataset,
    SUN397Dataset,
)
from msnb.dataset.sources.pictures.picture_pairs import CityscapesDataset, DIV2KDataset, FlickrDataset, SBUDataset
from msnb.dataset.sources.pictures.target_pictures import Caltech101Dataset, KITTIDataset, PhotoTourDataset, SBDataset
from msnb.dataset.sources.records.padded import PaddedDataset
from msnb.dataset.sources.records.random_rows import RandomDataset
from msnb.dataset.sources.records.schema import Schema
from msnb.dataset.sources.records.tfrecord import TFRecordDataset
from msnb.dataset.sources.sounds.speech import (
    CMUArcticDataset,
    GTZANDataset,
    LibriTTSDataset,
    LJSpeechDataset,
    SpeechCommandsDataset,
    YesNoDataset,
)
from msnb.dataset.sources.sounds.tedlium import TedliumDataset
from msnb.dataset.sources.tables.table_source import Shuffle
from msnb.dataset.sources.texts.corpora import (
    CLUEDataset,
    CoNLL2000Dataset,
    IMDBDataset,
    SQuADDataset,
    SST2Dataset,
    UDPOSDataset,
)
from msnb.dataset.sources.texts.csv_files import (
    AGNewsDataset,
    AmazonReviewDataset,
    CSVDataset,
    DBpediaDataset,
    SogouNewsDataset,
    YahooAnswersDataset,
    YelpReviewDataset,
)
from msnb.dataset.sources.texts.line_files import (
    EnWik9Dataset,
    Multi30kDataset,
    PennTreebankDataset,
    TextFileDataset,
    WikiTextDataset,
)
from msnb.dataset.sources.texts.translations import IWSLT2016Dataset, IWSLT2017Dataset

__all__ = [
    "AGNewsDataset", "AmazonReviewDataset", "BatchInfo", "CLUEDataset", "CMUArcticDataset", "CSVDataset",
    "Caltech101Dataset", "Caltech256Dataset", "CelebADataset", "Cifar100Dataset", "Cifar10Dataset",
    "CityscapesDataset", "CoNLL2000Dataset", "CocoDataset", "DBpediaDataset", "DIV2KDataset", "DSCallback",
    "Dataset", "DatasetCache", "DigitsDataset", "DistributedSampler", "EMnistDataset", "EnWik9Dataset",
    "FakeImageDataset", "FashionMnistDataset", "FlickrDataset", "Flowers102Dataset", "Food101Dataset",
    "GTZANDataset", "GeneratorDataset", "IMDBDataset", "IWSLT2016Dataset", "IWSLT2017Dataset",
    "ImageFolderDataset", "IterSampler", "KITTIDataset", "KMnistDataset", "LFWDataset", "LJSpeechDataset",
    "LSUNDataset", "LibriTTSDataset", "ManifestDataset", "MindDataset", "MnistDataset", "Multi30kDataset",
    "NumpySlicesDataset", "OmniglotDataset", "PKSampler", "PaddedDataset", "PennTreebankDataset",
    "PhotoTourDataset", "Places365Dataset", "QMnistDataset", "RandomDataset", "RandomSampler",
    "RenderedSST2Dataset", "SBDataset", "SBUDataset", "SQuADDataset", "SST2Dataset", "STL10Dataset",
    "SUN397Dataset", "SVHNDataset", "Sampler", "Schema", "SemeionDataset", "SequentialSampler", "Shuffle",
    "SogouNewsDataset", "SpeechCommandsDataset", "SubsetRandomSampler", "SubsetSampler", "TFRecordDataset",
    "TedliumDataset", "TextFileDataset", "UDPOSDataset", "USPSDataset", "VOCDataset", "WIDERFaceDataset",
    "WeightedRandomSampler", "WikiTextDataset", "YahooAnswersDataset", "YelpReviewDataset", "YesNoDataset",
    "audio", "compare", "config", "deserialize", "samplers", "serialize", "show", "text", "transforms",
    "vision", "zip",
]  # fmt: skip

_rooms = (globals(), vars(audio), vars(text), vars(transforms), vars(vision))
pipeline_text.enter(room[name] for room in _rooms for name in room["__all__"])

if not TYPE_CHECKING:  # a type checker must go on to report names that do not exist

    def __getattr__(name: str) -> object:
        """A sentence on what is missing."""
        return missing_names.attribute(__name__, name)


def __dir__() -> list[str]:
    return missing_names.public_names(__name__)
