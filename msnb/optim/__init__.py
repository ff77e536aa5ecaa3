"""Optimizers and learning rates. ``msnb.nn`` shows them too, as MindSpore does."""

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

missing_names.answer_for(__name__)
