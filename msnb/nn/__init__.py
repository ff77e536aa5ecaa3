"""Networks: Cell, layers, losses, initializers; as in MindSpore also the optimizers and learning rates."""

from typing import TYPE_CHECKING

from msnb.nn import initializer as initializer
from msnb.nn.activation import CELU as CELU
from msnb.nn.activation import ELU as ELU
from msnb.nn.activation import GELU as GELU
from msnb.nn.activation import HSigmoid as HSigmoid
from msnb.nn.activation import HSwish as HSwish
from msnb.nn.activation import LeakyReLU as LeakyReLU
from msnb.nn.activation import LogSigmoid as LogSigmoid
from msnb.nn.activation import LogSoftmax as LogSoftmax
from msnb.nn.activation import Mish as Mish
from msnb.nn.activation import PReLU as PReLU
from msnb.nn.activation import ReLU as ReLU
from msnb.nn.activation import ReLU6 as ReLU6
from msnb.nn.activation import SeLU as SeLU
from msnb.nn.activation import Sigmoid as Sigmoid
from msnb.nn.activation import SiLU as SiLU
from msnb.nn.activation import Softmax as Softmax
from msnb.nn.activation import Softplus as Softplus
from msnb.nn.activation import Softsign as Softsign
from msnb.nn.activation import Tanh as Tanh
from msnb.nn.activation import get_activation as get_activation
from msnb.nn.attention import MultiheadAttention as MultiheadAttention
from msnb.nn.basic import Dense as Dense
from msnb.nn.basic import Dropout as Dropout
from msnb.nn.basic import Embedding as Embedding
from msnb.nn.basic import Flatten as Flatten
from msnb.nn.basic import Identity as Identity
from msnb.nn.basic import Linear as Linear
from msnb.nn.cell import Cell as Cell
from msnb.nn.container import CellDict as CellDict
from msnb.nn.container import CellList as CellList
from msnb.nn.container import SequentialCell as SequentialCell
from msnb.nn.convolution import Conv1d as Conv1d
from msnb.nn.convolution import Conv1dTranspose as Conv1dTranspose
from msnb.nn.convolution import Conv2d as Conv2d
from msnb.nn.convolution import Conv2dTranspose as Conv2dTranspose
from msnb.nn.loss import BCELoss as BCELoss
from msnb.nn.loss import BCEWithLogitsLoss as BCEWithLogitsLoss
from msnb.nn.loss import CosineEmbeddingLoss as CosineEmbeddingLoss
from msnb.nn.loss import CrossEntropyLoss as CrossEntropyLoss
from msnb.nn.loss import HingeEmbeddingLoss as HingeEmbeddingLoss
from msnb.nn.loss import HuberLoss as HuberLoss
from msnb.nn.loss import KLDivLoss as KLDivLoss
from msnb.nn.loss import L1Loss as L1Loss
from msnb.nn.loss import LossBase as LossBase
from msnb.nn.loss import MAELoss as MAELoss
from msnb.nn.loss import MarginRankingLoss as MarginRankingLoss
from msnb.nn.loss import MSELoss as MSELoss
from msnb.nn.loss import NLLLoss as NLLLoss
from msnb.nn.loss import RMSELoss as RMSELoss
from msnb.nn.loss import SmoothL1Loss as SmoothL1Loss
from msnb.nn.loss import SoftmaxCrossEntropyWithLogits as SoftmaxCrossEntropyWithLogits
from msnb.nn.loss_scale import DynamicLossScaleUpdateCell as DynamicLossScaleUpdateCell
from msnb.nn.loss_scale import FixedLossScaleUpdateCell as FixedLossScaleUpdateCell
from msnb.nn.loss_scale import TrainOneStepWithLossScaleCell as TrainOneStepWithLossScaleCell
from msnb.nn.normalization import BatchNorm1d as BatchNorm1d
from msnb.nn.normalization import BatchNorm2d as BatchNorm2d
from msnb.nn.normalization import GroupNorm as GroupNorm
from msnb.nn.normalization import InstanceNorm2d as InstanceNorm2d
from msnb.nn.normalization import LayerNorm as LayerNorm
from msnb.nn.normalization import RMSNorm as RMSNorm
from msnb.nn.pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from msnb.nn.pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from msnb.nn.pooling import AvgPool1d as AvgPool1d
from msnb.nn.pooling import AvgPool2d as AvgPool2d
from msnb.nn.pooling import MaxPool1d as MaxPool1d
from msnb.nn.pooling import MaxPool2d as MaxPool2d
from msnb.nn.recurrent import GRU as GRU
from msnb.nn.recurrent import LSTM as LSTM
from msnb.nn.recurrent import RNN as RNN
from msnb.nn.recurrent_cells import GRUCell as GRUCell
from msnb.nn.recurrent_cells import LSTMCell as LSTMCell
from msnb.nn.recurrent_cells import RNNCell as RNNCell
from msnb.nn.transformer import Transformer as Transformer
from msnb.nn.transformer import TransformerDecoder as TransformerDecoder
from msnb.nn.transformer import TransformerDecoderLayer as TransformerDecoderLayer
from msnb.nn.transformer import TransformerEncoder as TransformerEncoder
from msnb.nn.transformer import TransformerEncoderLayer as TransformerEncoderLayer
from msnb.nn.transformer import causal_mask as causal_mask
from msnb.nn.wrap import PipelineCell as PipelineCell
from msnb.nn.wrap import TrainOneStepCell as TrainOneStepCell
from msnb.nn.wrap import WithEvalCell as WithEvalCell
from msnb.nn.wrap import WithLossCell as WithLossCell
from msnb.optim import SGD as SGD
from msnb.optim import Adagrad as Adagrad
from msnb.optim import Adam as Adam
from msnb.optim import AdamW as AdamW
from msnb.optim import AdamWeightDecay as AdamWeightDecay
from msnb.optim import CosineDecayLR as CosineDecayLR
from msnb.optim import ExponentialDecayLR as ExponentialDecayLR
from msnb.optim import InverseDecayLR as InverseDecayLR
from msnb.optim import Lamb as Lamb
from msnb.optim import LearningRateSchedule as LearningRateSchedule
from msnb.optim import Momentum as Momentum
from msnb.optim import NaturalExpDecayLR as NaturalExpDecayLR
from msnb.optim import Optimizer as Optimizer
from msnb.optim import PolynomialDecayLR as PolynomialDecayLR
from msnb.optim import RMSProp as RMSProp
from msnb.optim import WarmUpLR as WarmUpLR
from msnb.optim import cosine_decay_lr as cosine_decay_lr
from msnb.optim import exponential_decay_lr as exponential_decay_lr
from msnb.optim import inverse_decay_lr as inverse_decay_lr
from msnb.optim import natural_exp_decay_lr as natural_exp_decay_lr
from msnb.optim import piecewise_constant_lr as piecewise_constant_lr
from msnb.optim import polynomial_decay_lr as polynomial_decay_lr
from msnb.optim import warmup_lr as warmup_lr

if not TYPE_CHECKING:  # a type checker must go on to report names that do not exist

    def __getattr__(name: str) -> object:
        """What MindSpore has here and msnb elsewhere (metrics), and a sentence on what is missing."""
        from msnb.core import elsewhere

        return elsewhere.attribute(__name__, name)
