"""Metrics, of classes and regressions, of sentences and scores, of masks; ``names()`` lists them."""

from msnb.base import missing_names
from msnb.train.metrics import mask_metrics, score_metrics
from msnb.train.metrics.mask_metrics import *
from msnb.train.metrics.metric import *
from msnb.train.metrics.metric import NAMES as NAMES, as_array as as_array, as_metrics as as_metrics, classes as classes
from msnb.train.metrics.score_metrics import *

missing_names.show_imports(__name__)
NAMES |= {
    "bleu_score": score_metrics.BleuScore, "confusion_matrix_metric": mask_metrics.ConfusionMatrixMetric,
    "cosine_similarity": score_metrics.CosineSimilarity, "dice": mask_metrics.Dice,
    "hausdorff_distance": mask_metrics.HausdorffDistance, "mean_surface_distance": mask_metrics.MeanSurfaceDistance,
    "occlusion_sensitivity": mask_metrics.OcclusionSensitivity, "perplexity": score_metrics.Perplexity,
    "roc": score_metrics.ROC, "auc": score_metrics.auc,
    "root_mean_square_distance": mask_metrics.RootMeanSquareDistance,
}  # fmt: skip
