"""Training: the Model, its callbacks and metrics, checkpoints."""

from typing import TYPE_CHECKING

from msnb.base import missing_names
from msnb.train.callbacks.callback import *
from msnb.train.callbacks.control_callbacks import *
from msnb.train.callbacks.exit_callbacks import *
from msnb.train.callbacks.logging_callbacks import *
from msnb.train.callbacks.model_checkpoint import *
from msnb.train.callbacks.summary_collector import SummaryCollector as SummaryCollector
from msnb.train.dataset_helper import *
from msnb.train.files.checkpoint import *
from msnb.train.files.file_conversion import *
from msnb.train.learning_rate_search import *
from msnb.train.metrics.mask_metrics import *
from msnb.train.metrics.metric import *
from msnb.train.metrics.score_metrics import *
from msnb.train.model import Model as Model
from msnb.train.summary.summary_record import SummaryRecord as SummaryRecord

missing_names.show_imports(__name__)

if TYPE_CHECKING:
    from msnb.train.lazy_names import *

missing_names.answer_for(__name__)
