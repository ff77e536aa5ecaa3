"""Optimizers and learning rates. ``msnb.nn`` shows them too, as MindSpore does."""

from typing import TYPE_CHECKING

from msnb.base import missing_names
from msnb.optim.adam import Adam as Adam
from msnb.optim.adam import AdamW as AdamW
from msnb.optim.adam import AdamWeightDecay as AdamWeightDecay
from msnb.optim.adam import Lamb as Lamb
from msnb.optim.adamax_adadelta_rprop import Adadelta as Adadelta
from msnb.optim.adamax_adadelta_rprop import AdaMax as AdaMax
from msnb.optim.adamax_adadelta_rprop import Rprop as Rprop
from msnb.optim.dynamic_lr import cosine_decay_lr as cosine_decay_lr
from msnb.optim.dynamic_lr import exponential_decay_lr as exponential_decay_lr
from msnb.optim.dynamic_lr import inverse_decay_lr as inverse_decay_lr
from msnb.optim.dynamic_lr import natural_exp_decay_lr as natural_exp_decay_lr
from msnb.optim.dynamic_lr import piecewise_constant_lr as piecewise_constant_lr
from msnb.optim.dynamic_lr import polynomial_decay_lr as polynomial_decay_lr
from msnb.optim.dynamic_lr import warmup_lr as warmup_lr
from msnb.optim.lr_schedules import CosineDecayLR as CosineDecayLR
from msnb.optim.lr_schedules import ExponentialDecayLR as ExponentialDecayLR
from msnb.optim.lr_schedules import InverseDecayLR as InverseDecayLR
from msnb.optim.lr_schedules import LearningRateSchedule as LearningRateSchedule
from msnb.optim.lr_schedules import NaturalExpDecayLR as NaturalExpDecayLR
from msnb.optim.lr_schedules import PolynomialDecayLR as PolynomialDecayLR
from msnb.optim.lr_schedules import WarmUpLR as WarmUpLR
from msnb.optim.optimizer import Optimizer as Optimizer
from msnb.optim.rmsprop_adagrad import Adagrad as Adagrad
from msnb.optim.rmsprop_adagrad import RMSProp as RMSProp
from msnb.optim.sgd import SGD as SGD
from msnb.optim.sgd import Momentum as Momentum

if not TYPE_CHECKING:  # a type checker must go on to report names that do not exist

    def __getattr__(name: str) -> object:
        """A sentence on what is missing."""
        return missing_names.attribute(__name__, name)
