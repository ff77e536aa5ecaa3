"""What msnb.nn imports when it is asked for.

Made by tools/stubs.py from what msnb.ops is; do not edit."""

from msnb.core.parameter import Parameter, ParameterTuple
from msnb.nn import probability
from msnb.nn.initializer import no_init_parameters
from msnb.nn.layers.basic import Dropout2d as Dropout2dExt
from msnb.nn.mindspore.auto_parallel import PipelineGradReducer
from msnb.nn.mindspore.mint_layers import AvgPool2d as AvgPool2dExt
from msnb.nn.mindspore.mint_layers import Dropout as DropoutExt
from msnb.nn.mindspore.mint_layers import Embedding as EmbeddingExt
from msnb.nn.mindspore.mint_layers import LayerNorm as LayerNormExt
from msnb.nn.mindspore.mint_layers import LogSoftmax as LogSoftmaxExt
from msnb.nn.mindspore.mint_layers import MaxPool2d as MaxPool2dExt
from msnb.nn.mindspore.mint_layers import PReLU as PReLUExt
from msnb.nn.training.loss import L1Loss as L1LossExt
from msnb.train.metrics import (
    F1,
    MAE,
    MSE,
    ROC,
    Accuracy,
    BleuScore,
    ConfusionMatrix,
    ConfusionMatrixMetric,
    Dice,
    Fbeta,
    HausdorffDistance,
    Loss,
    MeanSurfaceDistance,
    Metric,
    OcclusionSensitivity,
    Perplexity,
    Precision,
    Recall,
    RootMeanSquareDistance,
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
    auc,
    get_metric_fn,
    get_metrics,
    rearrange_inputs,
)

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
