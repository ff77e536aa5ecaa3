"""Optimizers and learning rates. ``msnb.nn`` shows them too, as MindSpore does."""

from typing import TYPE_CHECKING

from msnb.base import missing_names
from msnb.optim.adam import *
from msnb.optim.adamax_adadelta_rprop import *
from msnb.optim.dynamic_lr import *
from msnb.optim.ftrl_adafactor_asgd import *
from msnb.optim.lars import *
from msnb.optim.lr_schedules import *
from msnb.optim.optimizer import Optimizer as Optimizer
from msnb.optim.rmsprop_adagrad import *
from msnb.optim.sgd import *

if not TYPE_CHECKING:  # a type checker must go on to report names that do not exist

    def __getattr__(name: str) -> object:
        """A sentence on what is missing."""
        return missing_names.attribute(__name__, name)


def __dir__() -> list[str]:
    return missing_names.public_names(__name__)
