"""Training: the Model, its callbacks and metrics, checkpoints."""

from typing import TYPE_CHECKING

from msnb.base import missing_names
from msnb.train.callbacks.callback import Callback, RunContext, RunParams
from msnb.train.callbacks.control_callbacks import EarlyStopping, LearningRateScheduler, ReduceLROnPlateau
from msnb.train.callbacks.logging_callbacks import History, LambdaCallback, LossMonitor, ProgressBar, TimeMonitor
from msnb.train.callbacks.model_checkpoint import CheckpointConfig, ModelCheckpoint
from msnb.train.callbacks.summary_collector import SummaryCollector
from msnb.train.files.checkpoint import load_checkpoint, load_param_into_net, save_checkpoint
from msnb.train.learning_rate_search import LearningRateSearch, lr_find
from msnb.train.metrics import (
    F1,
    MAE,
    MSE,
    ROC,
    Accuracy,
    BleuScore,
    ConfusionMatrix,
    ConfusionMatrixMetric,
    CosineSimilarity,
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
    names,
    rearrange_inputs,
)
from msnb.train.model import Model
from msnb.train.summary.summary_record import SummaryRecord

__all__ = [
    "Accuracy", "BleuScore", "Callback", "CheckpointConfig", "ConfusionMatrix", "ConfusionMatrixMetric",
    "CosineSimilarity", "Dice", "EarlyStopping", "F1", "Fbeta", "HausdorffDistance", "History", "LambdaCallback",
    "LearningRateScheduler", "LearningRateSearch", "Loss", "LossMonitor", "MAE", "MSE", "MeanSurfaceDistance",
    "Metric", "Model", "ModelCheckpoint", "OcclusionSensitivity", "Perplexity", "Precision", "ProgressBar", "ROC",
    "Recall", "ReduceLROnPlateau", "RootMeanSquareDistance", "RunContext", "RunParams", "SummaryCollector",
    "SummaryRecord", "TimeMonitor", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy", "TopKCategoricalAccuracy",
    "auc", "get_metric_fn", "get_metrics", "load_checkpoint", "load_param_into_net", "lr_find", "names",
    "rearrange_inputs", "save_checkpoint",
]  # fmt: skip

if TYPE_CHECKING:
    from msnb.train.lazy_names import *
else:  # a type checker must go on to report names that do not exist

    def __getattr__(name: str) -> object:
        """MindSpore's module paths, and a sentence on what is missing."""
        return missing_names.attribute(__name__, name)


def __dir__() -> list[str]:
    return missing_names.public_names(__name__)
