"""What msnb.nn imports when it is asked for.

Made by tools/stubs.py from what msnb.ops is; do not edit."""

from msnb.core.parameter import Parameter as Parameter
from msnb.core.parameter import ParameterTuple as ParameterTuple
from msnb.nn import probability as probability
from msnb.nn.initializer import no_init_parameters as no_init_parameters
from msnb.nn.layers.basic import Dropout2d as Dropout2dExt
from msnb.nn.mindspore.auto_parallel import PipelineGradReducer as PipelineGradReducer
from msnb.nn.mindspore.mint_layers import AvgPool2d as AvgPool2dExt
from msnb.nn.mindspore.mint_layers import Dropout as DropoutExt
from msnb.nn.mindspore.mint_layers import Embedding as EmbeddingExt
from msnb.nn.mindspore.mint_layers import LayerNorm as LayerNormExt
from msnb.nn.mindspore.mint_layers import LogSoftmax as LogSoftmaxExt
from msnb.nn.mindspore.mint_layers import MaxPool2d as MaxPool2dExt
from msnb.nn.mindspore.mint_layers import PReLU as PReLUExt
from msnb.nn.training.loss import L1Loss as L1LossExt
from msnb.train.metrics import F1 as F1
from msnb.train.metrics import MAE as MAE
from msnb.train.metrics import MSE as MSE
from msnb.train.metrics import ROC as ROC
from msnb.train.metrics import Accuracy as Accuracy
from msnb.train.metrics import BleuScore as BleuScore
from msnb.train.metrics import ConfusionMatrix as ConfusionMatrix
from msnb.train.metrics import ConfusionMatrixMetric as ConfusionMatrixMetric
from msnb.train.metrics import Dice as Dice
from msnb.train.metrics import Fbeta as Fbeta
from msnb.train.metrics import HausdorffDistance as HausdorffDistance
from msnb.train.metrics import Loss as Loss
from msnb.train.metrics import MeanSurfaceDistance as MeanSurfaceDistance
from msnb.train.metrics import Metric as Metric
from msnb.train.metrics import OcclusionSensitivity as OcclusionSensitivity
from msnb.train.metrics import Perplexity as Perplexity
from msnb.train.metrics import Precision as Precision
from msnb.train.metrics import Recall as Recall
from msnb.train.metrics import RootMeanSquareDistance as RootMeanSquareDistance
from msnb.train.metrics import Top1CategoricalAccuracy as Top1CategoricalAccuracy
from msnb.train.metrics import Top5CategoricalAccuracy as Top5CategoricalAccuracy
from msnb.train.metrics import TopKCategoricalAccuracy as TopKCategoricalAccuracy
from msnb.train.metrics import auc as auc
from msnb.train.metrics import get_metric_fn as get_metric_fn
from msnb.train.metrics import get_metrics as get_metrics
from msnb.train.metrics import rearrange_inputs as rearrange_inputs

__all__ = [
    "Accuracy",
    "AvgPool2dExt",
    "BleuScore",
    "ConfusionMatrix",
    "ConfusionMatrixMetric",
    "Dice",
    "Dropout2dExt",
    "DropoutExt",
    "EmbeddingExt",
    "F1",
    "Fbeta",
    "HausdorffDistance",
    "L1LossExt",
    "LayerNormExt",
    "LogSoftmaxExt",
    "Loss",
    "MAE",
    "MSE",
    "MaxPool2dExt",
    "MeanSurfaceDistance",
    "Metric",
    "OcclusionSensitivity",
    "PReLUExt",
    "Parameter",
    "ParameterTuple",
    "Perplexity",
    "PipelineGradReducer",
    "Precision",
    "ROC",
    "Recall",
    "RootMeanSquareDistance",
    "Top1CategoricalAccuracy",
    "Top5CategoricalAccuracy",
    "TopKCategoricalAccuracy",
    "auc",
    "get_metric_fn",
    "get_metrics",
    "no_init_parameters",
    "probability",
    "rearrange_inputs",
]
