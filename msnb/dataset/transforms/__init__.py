"""Transforms for any column (MindSpore's `mindspore.dataset.transforms`), all callables on NumPy arrays."""

from msnb.base import missing_names
from msnb.dataset.transforms.basic import *
from msnb.dataset.transforms.random import *

missing_names.show_imports(__name__)
