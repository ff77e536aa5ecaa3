"""Training: the Model, its callbacks and metrics, checkpoints."""

from typing import TYPE_CHECKING

from msnb.base import missing_names
from msnb.train.callbacks.callback import Callback, RunContext, RunParams
from msnb.train.callbacks.control_callbacks import EarlyStopping, LearningRateScheduler, ReduceLROnPlateau
from msnb.train.callbacks.exit_callbacks import BackupAndRestore, OnRequestExit
from msnb.train.callbacks.logging_callbacks import History, LambdaCallback, LossMonitor, ProgressBar, TimeMonitor
from msnb.train.callbacks.model_checkpoint import CheckpointConfig, ModelCheckpoint
from msnb.train.callbacks.summary_collector import SummaryCollector
from msnb.train.dataset_helper import DatasetHelper, connect_network_with_dataset
from msnb.train.files.checkpoint import load_checkpoint, load_param_into_net, save_checkpoint
from msnb.train.files.file_conversion import (
    async_ckpt_thread_status,
    ckpt_to_safetensors,
    load_checkpoint_async,
    safetensors_to_ckpt,
)
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
    "Accuracy", "BackupAndRestore", "BleuScore", "Callback", "CheckpointConfig", "ConfusionMatrix",
    "ConfusionMatrixMetric", "CosineSimilarity", "DatasetHelper", "Dice", "EarlyStopping", "F1", "Fbeta",
    "HausdorffDistance", "History", "LambdaCallback", "LearningRateScheduler", "LearningRateSearch", "Loss",
    "LossMonitor", "MAE", "MSE", "MeanSurfaceDistance", "Metric", "Model", "ModelCheckpoint", "OcclusionSensitivity",
    "OnRequestExit", "Perplexity", "Precision", "ProgressBar", "ROC", "Recall", "ReduceLROnPlateau",
    "RootMeanSquareDistance", "RunContext", "RunParams", "SummaryCollector", "SummaryRecord", "TimeMonitor",
    "Top1CategoricalAccuracy", "Top5CategoricalAccuracy", "TopKCategoricalAccuracy", "async_ckpt_thread_status",
    "auc", "ckpt_to_safetensors", "connect_network_with_dataset", "get_metric_fn", "get_metrics", "load_checkpoint",
    "load_checkpoint_async", "load_param_into_net", "lr_find", "names", "rearrange_inputs", "safetensors_to_ckpt",
    "save_checkpoint",
]  # fmt: skip

if TYPE_CHECKING:
    from msnb.train.lazy_names import *
else:  # a type checker must go on to report names that do not exist

    def __getattr__(name: str) -> object:
        """MindSpore's module paths, and a sentence on what is missing."""
        return missing_names.attribute(__name__, name)


def __dir__() -> list[str]:
    return missing_names.public_names(__name__)
