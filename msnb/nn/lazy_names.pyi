"""What msnb.nn imports when it is asked for.

Made by tools/stubs.py from what msnb.ops is; do not edit."""

from msnb.core.parameter import Parameter as Parameter
from msnb.core.parameter import ParameterTuple as ParameterTuple
from msnb.nn import probability as probability
from msnb.nn.initializer import no_init_parameters as no_init_parameters
from msnb.train.metrics import F1 as F1
from msnb.train.metrics import MAE as MAE
from msnb.train.metrics import MSE as MSE
from msnb.train.metrics import Accuracy as Accuracy
from msnb.train.metrics import ConfusionMatrix as ConfusionMatrix
from msnb.train.metrics import Fbeta as Fbeta
from msnb.train.metrics import Loss as Loss
from msnb.train.metrics import Metric as Metric
from msnb.train.metrics import Precision as Precision
from msnb.train.metrics import Recall as Recall
from msnb.train.metrics import Top1CategoricalAccuracy as Top1CategoricalAccuracy
from msnb.train.metrics import Top5CategoricalAccuracy as Top5CategoricalAccuracy
from msnb.train.metrics import TopKCategoricalAccuracy as TopKCategoricalAccuracy
from msnb.train.metrics import get_metric_fn as get_metric_fn

__all__ = [
    "Accuracy",
    "ConfusionMatrix",
    "F1",
    "Fbeta",
    "Loss",
    "MAE",
    "MSE",
    "Metric",
    "Parameter",
    "ParameterTuple",
    "Precision",
    "Recall",
    "Top1CategoricalAccuracy",
    "Top5CategoricalAccuracy",
    "TopKCategoricalAccuracy",
    "get_metric_fn",
    "no_init_parameters",
    "probability",
]
