"""Transforms of sounds, all callables on NumPy arrays [..., time] (`mindspore.dataset.audio`)."""

from msnb.base import missing_names
from msnb.dataset.audio.loudness import *
from msnb.dataset.audio.pitch_scales import *
from msnb.dataset.audio.sound_effects import *
from msnb.dataset.audio.sound_enums import *
from msnb.dataset.audio.sound_filters import *
from msnb.dataset.audio.spectra import *

missing_names.show_imports(__name__)
