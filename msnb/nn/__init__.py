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
from msnb.nn.mindspore.array_layers import PSNR as PSNR, MatMul as MatMul, Range as Range
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
from msnb.optim.adam import *
from msnb.optim.adamax_adadelta_rprop import *
from msnb.optim.dynamic_lr import *
from msnb.optim.ftrl_adafactor_asgd import *
from msnb.optim.lars import *
from msnb.optim.lr_schedules import *
from msnb.optim.optimizer import Optimizer as Optimizer
from msnb.optim.rmsprop_adagrad import *
from msnb.optim.sgd import *

if TYPE_CHECKING:
    from msnb.nn.lazy_names import *

missing_names.answer_for(__name__)
