"""Metrics, of classes and regressions, of sentences and scores, of masks; ``names()`` lists them."""

from msnb.train.metrics.mask_metrics import (
    ConfusionMatrixMetric,
    Dice,
    HausdorffDistance,
    MeanSurfaceDistance,
    OcclusionSensitivity,
    RootMeanSquareDistance,
)
from msnb.train.metrics.metric import (
    F1,
    MAE,
    MSE,
    NAMES,
    Accuracy,
    ConfusionMatrix,
    Fbeta,
    Loss,
    Metric,
    Precision,
    Recall,
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
    as_array,
    as_metrics,
    classes,
    get_metric_fn,
    get_metrics,
    names,
    rearrange_inputs,
)
from msnb.train.metrics.score_metrics import ROC, BleuScore, CosineSimilarity, Perplexity, auc

__all__ = [
    "F1", "MAE", "MSE", "NAMES", "ROC", "Accuracy", "BleuScore", "ConfusionMatrix", "ConfusionMatrixMetric",
    "CosineSimilarity", "Dice", "Fbeta", "HausdorffDistance", "Loss", "MeanSurfaceDistance", "Metric",
    "OcclusionSensitivity", "Perplexity", "Precision", "Recall", "RootMeanSquareDistance", "Top1CategoricalAccuracy",
    "Top5CategoricalAccuracy", "TopKCategoricalAccuracy", "as_array", "as_metrics", "auc", "classes", "get_metric_fn",
    "get_metrics", "names", "rearrange_inputs",
]  # fmt: skip
NAMES |= {
    "bleu_score": BleuScore, "confusion_matrix_metric": ConfusionMatrixMetric, "cosine_similarity": CosineSimilarity,
    "dice": Dice, "hausdorff_distance": HausdorffDistance, "mean_surface_distance": MeanSurfaceDistance,
    "occlusion_sensitivity": OcclusionSensitivity, "perplexity": Perplexity, "roc": ROC, "auc": auc,
    "root_mean_square_distance": RootMeanSquareDistance,
}  # fmt: skip
