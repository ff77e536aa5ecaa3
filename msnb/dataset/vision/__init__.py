"""Image transforms (MindSpore's `mindspore.dataset.vision`) on NumPy arrays [..., height, width, channel].

Axes before the last three are carried along, so a transform works on one image and, after `batch`, on a whole batch.
"""

from typing import TYPE_CHECKING

from msnb.base import missing_names
from msnb.dataset.picture_files import *
from msnb.dataset.vision import chain_records
from msnb.dataset.vision.boxes import *
from msnb.dataset.vision.color import *
from msnb.dataset.vision.decode import *
from msnb.dataset.vision.enums import *
from msnb.dataset.vision.geometry import *
from msnb.dataset.vision.mixing import *
from msnb.dataset.vision.patches import *
from msnb.dataset.vision.pixel_values import *
from msnb.dataset.vision.policies import *
from msnb.dataset.vision.random import *
from msnb.dataset.vision.tones import *
from msnb.dataset.vision.warp import *

missing_names.show_imports(__name__)
chain_records.enter_all()

if not TYPE_CHECKING:  # a type checker must go on to report names that do not exist

    def __getattr__(name: str) -> object:
        """A sentence on what is missing."""
        return missing_names.attribute(__name__, name)
