"""What msnb.nn imports when it is asked for.

Made by tools/stubs.py from what msnb.ops is; do not edit."""

# ruff: noqa: I001 - filled lines

from msnb.core.parameter import Parameter as Parameter, ParameterTuple as ParameterTuple
from msnb.nn import probability as probability
from msnb.nn.initializer import no_init_parameters as no_init_parameters
from msnb.nn.layers.basic import Dropout2d as Dropout2dExt
from msnb.nn.mindspore.auto_parallel import PipelineGradReducer as PipelineGradReducer
from msnb.nn.mindspore.mint_layers import (
    AvgPool2d as AvgPool2dExt, Dropout as DropoutExt, Embedding as EmbeddingExt, LayerNorm as LayerNormExt,
    LogSoftmax as LogSoftmaxExt, MaxPool2d as MaxPool2dExt, PReLU as PReLUExt,
)  # fmt: skip
from msnb.nn.training.loss import L1Loss as L1LossExt
from msnb.train.metrics import (
    F1 as F1, MAE as MAE, MSE as MSE, ROC as ROC, Accuracy as Accuracy, BleuScore as BleuScore,
    ConfusionMatrix as ConfusionMatrix, ConfusionMatrixMetric as ConfusionMatrixMetric, Dice as Dice, Fbeta as Fbeta,
    HausdorffDistance as HausdorffDistance, Loss as Loss, MeanSurfaceDistance as MeanSurfaceDistance, Metric as Metric,
    OcclusionSensitivity as OcclusionSensitivity, Perplexity as Perplexity, Precision as Precision, Recall as Recall,
    RootMeanSquareDistance as RootMeanSquareDistance, Top1CategoricalAccuracy as Top1CategoricalAccuracy,
    Top5CategoricalAccuracy as Top5CategoricalAccuracy, TopKCategoricalAccuracy as TopKCategoricalAccuracy, auc as auc,
    get_metric_fn as get_metric_fn, get_metrics as get_metrics, rearrange_inputs as rearrange_inputs,
)  # fmt: skip

__all__ = [
    "Accuracy", "AvgPool2dExt", "BleuScore", "ConfusionMatrix", "ConfusionMatrixMetric", "Dice", "Dropout2dExt",
    "DropoutExt", "EmbeddingExt", "F1", "Fbeta", "HausdorffDistance", "L1LossExt", "LayerNormExt", "LogSoftmaxExt",
    "Loss", "MAE", "MSE", "MaxPool2dExt", "MeanSurfaceDistance", "Metric", "OcclusionSensitivity", "PReLUExt",
    "Parameter", "ParameterTuple", "Perplexity", "PipelineGradReducer", "Precision", "ROC", "Recall",
    "RootMeanSquareDistance", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy", "TopKCategoricalAccuracy", "auc",
    "get_metric_fn", "get_metrics", "no_init_parameters", "probability", "rearrange_inputs",
]  # fmt: skip
