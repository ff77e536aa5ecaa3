"""Data pipelines with MindSpore's names: sources, operations, samplers, transforms. See `Dataset`."""

from msnb.base import missing_names
from msnb.dataset import audio as audio, pipeline_text, text as text, transforms as transforms, vision as vision
from msnb.dataset.map_callbacks import DSCallback as DSCallback
from msnb.dataset.pipeline import config as config, samplers as samplers
from msnb.dataset.pipeline.batch import BatchInfo as BatchInfo
from msnb.dataset.pipeline.dataset import Dataset as Dataset, zip as zip
from msnb.dataset.pipeline.samplers import (
    DistributedSampler as DistributedSampler,
    IterSampler as IterSampler,
    PKSampler as PKSampler,
    RandomSampler as RandomSampler,
    Sampler as Sampler,
    SequentialSampler as SequentialSampler,
    SubsetRandomSampler as SubsetRandomSampler,
    SubsetSampler as SubsetSampler,
    WeightedRandomSampler as WeightedRandomSampler,
)
from msnb.dataset.pipeline_text import *
from msnb.dataset.row_cache import DatasetCache as DatasetCache
from msnb.dataset.sources.cifar import *
from msnb.dataset.sources.digits import DigitsDataset as DigitsDataset
from msnb.dataset.sources.generator import GeneratorDataset as GeneratorDataset
from msnb.dataset.sources.image_folder import ImageFolderDataset as ImageFolderDataset
from msnb.dataset.sources.mindrecord.record_readers import MindDataset as MindDataset
from msnb.dataset.sources.mnist import *
from msnb.dataset.sources.numpy_slices import NumpySlicesDataset as NumpySlicesDataset
from msnb.dataset.sources.pictures.face_pictures import *
from msnb.dataset.sources.pictures.object_boxes import *
from msnb.dataset.sources.pictures.packed_pictures import *
from msnb.dataset.sources.pictures.picture_lists import *
from msnb.dataset.sources.pictures.picture_pairs import *
from msnb.dataset.sources.pictures.target_pictures import *
from msnb.dataset.sources.records.padded import PaddedDataset as PaddedDataset
from msnb.dataset.sources.records.random_rows import RandomDataset as RandomDataset
from msnb.dataset.sources.records.schema import Schema as Schema
from msnb.dataset.sources.records.tfrecord import TFRecordDataset as TFRecordDataset
from msnb.dataset.sources.sounds.speech import *
from msnb.dataset.sources.sounds.tedlium import TedliumDataset as TedliumDataset
from msnb.dataset.sources.tables.table_source import Shuffle as Shuffle
from msnb.dataset.sources.texts.corpora import *
from msnb.dataset.sources.texts.csv_files import *
from msnb.dataset.sources.texts.line_files import *
from msnb.dataset.sources.texts.translations import *

missing_names.show_imports(__name__, "audio", "config", "samplers", "text", "transforms", "vision")

_rooms = (globals(), vars(audio), vars(text), vars(transforms), vars(vision))
pipeline_text.enter(room[name] for room in _rooms for name in room["__all__"])
missing_names.answer_for(__name__)
