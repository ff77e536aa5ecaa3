"""Networks: Cell, layers, losses, initializers; as in MindSpore also the optimizers and learning rates."""

from typing import TYPE_CHECKING

import msnb.nn.mindspore.inner_operators
from msnb.base import missing_names
from msnb.nn import initializer as initializer
from msnb.nn.cells.cell import Cell as Cell
from msnb.nn.cells.container import *
from msnb.nn.cells.graph_cell import GraphCell as GraphCell
from msnb.nn.layers.activation import *
from msnb.nn.layers.attention import MultiheadAttention as MultiheadAttention
from msnb.nn.layers.basic import *
from msnb.nn.layers.convolution import *
from msnb.nn.layers.image_layers import *
from msnb.nn.layers.key_value_cache import KeyValueCache as KeyValueCache
from msnb.nn.layers.normalization import *
from msnb.nn.layers.operator_pooling import *
from msnb.nn.layers.pooling import *
from msnb.nn.layers.recurrent import *
from msnb.nn.layers.recurrent_cells import *
from msnb.nn.layers.sync_batch_norm import SyncBatchNorm as SyncBatchNorm
from msnb.nn.layers.transformer import *
from msnb.nn.layers.volumetric import *
from msnb.nn.mindspore.array_layers import PSNR as PSNR
from msnb.nn.mindspore.array_layers import MatMul as MatMul
from msnb.nn.mindspore.array_layers import Range as Range
from msnb.nn.mindspore.composed_layers import *
from msnb.nn.mindspore.former_layers import *
from msnb.nn.mindspore.fused_layers import *
from msnb.nn.mindspore.operator_layers import *
from msnb.nn.mindspore.sparse_layers import *
from msnb.nn.training.gradient_cells import *
from msnb.nn.training.gradient_reducer import DistributedGradReducer as DistributedGradReducer
from msnb.nn.training.loss import *
from msnb.nn.training.loss_scale import *
from msnb.nn.training.margin_losses import *
from msnb.nn.training.training_cells import *
from msnb.optim import ASGD as ASGD
from msnb.optim import FTRL as FTRL
from msnb.optim import LARS as LARS
from msnb.optim import SGD as SGD
from msnb.optim import Adadelta as Adadelta
from msnb.optim import AdaFactor as AdaFactor
from msnb.optim import Adagrad as Adagrad
from msnb.optim import Adam as Adam
from msnb.optim import AdaMax as AdaMax
from msnb.optim import AdamOffload as AdamOffload
from msnb.optim import AdamW as AdamW
from msnb.optim import AdamWeightDecay as AdamWeightDecay
from msnb.optim import CosineDecayLR as CosineDecayLR
from msnb.optim import ExponentialDecayLR as ExponentialDecayLR
from msnb.optim import InverseDecayLR as InverseDecayLR
from msnb.optim import Lamb as Lamb
from msnb.optim import LazyAdam as LazyAdam
from msnb.optim import LearningRateSchedule as LearningRateSchedule
from msnb.optim import Momentum as Momentum
from msnb.optim import NaturalExpDecayLR as NaturalExpDecayLR
from msnb.optim import Optimizer as Optimizer
from msnb.optim import PolynomialDecayLR as PolynomialDecayLR
from msnb.optim import ProximalAdagrad as ProximalAdagrad
from msnb.optim import RMSProp as RMSProp
from msnb.optim import Rprop as Rprop
from msnb.optim import WarmUpLR as WarmUpLR
from msnb.optim import cosine_decay_lr as cosine_decay_lr
from msnb.optim import exponential_decay_lr as exponential_decay_lr
from msnb.optim import inverse_decay_lr as inverse_decay_lr
from msnb.optim import natural_exp_decay_lr as natural_exp_decay_lr
from msnb.optim import piecewise_constant_lr as piecewise_constant_lr
from msnb.optim import polynomial_decay_lr as polynomial_decay_lr
from msnb.optim import warmup_lr as warmup_lr

if TYPE_CHECKING:
    from msnb.nn.lazy_names import *
else:  # a type checker must go on to report names that do not exist

    def __getattr__(name: str) -> object:
        """What MindSpore has here and msnb elsewhere (metrics), and a sentence on what is missing."""
        return missing_names.attribute(__name__, name)


def __dir__() -> list[str]:
    return missing_names.public_names(__name__)
