"""Optimizers and learning rates. ``msnb.nn`` shows them too, as MindSpore does."""

from typing import TYPE_CHECKING

from msnb.optim.adam import Adam as Adam
from msnb.optim.adam import AdamW as AdamW
from msnb.optim.adam import AdamWeightDecay as AdamWeightDecay
from msnb.optim.adam import Lamb as Lamb
from msnb.optim.adaptive import Adagrad as Adagrad
from msnb.optim.adaptive import RMSProp as RMSProp
from msnb.optim.descent import SGD as SGD
from msnb.optim.descent import Momentum as Momentum
from msnb.optim.optimizer import Optimizer as Optimizer
from msnb.optim.rates import cosine_decay_lr as cosine_decay_lr
from msnb.optim.rates import exponential_decay_lr as exponential_decay_lr
from msnb.optim.rates import inverse_decay_lr as inverse_decay_lr
from msnb.optim.rates import natural_exp_decay_lr as natural_exp_decay_lr
from msnb.optim.rates import piecewise_constant_lr as piecewise_constant_lr
from msnb.optim.rates import polynomial_decay_lr as polynomial_decay_lr
from msnb.optim.rates import warmup_lr as warmup_lr
from msnb.optim.scaled import Adadelta as Adadelta
from msnb.optim.scaled import AdaMax as AdaMax
from msnb.optim.scaled import Rprop as Rprop
from msnb.optim.schedules import CosineDecayLR as CosineDecayLR
from msnb.optim.schedules import ExponentialDecayLR as ExponentialDecayLR
from msnb.optim.schedules import InverseDecayLR as InverseDecayLR
from msnb.optim.schedules import LearningRateSchedule as LearningRateSchedule
from msnb.optim.schedules import NaturalExpDecayLR as NaturalExpDecayLR
from msnb.optim.schedules import PolynomialDecayLR as PolynomialDecayLR
from msnb.optim.schedules import WarmUpLR as WarmUpLR

if not TYPE_CHECKING:  # a type checker must go on to report names that do not exist

    def __getattr__(name: str) -> object:
        """A sentence on what is missing."""
        from msnb.core import elsewhere

        return elsewhere.attribute(__name__, name)
