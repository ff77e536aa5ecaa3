"""``msnb.experimental.optim``: PyTorch's way to train."""

from msnb.optim.experimental import epoch_schedulers as lr_scheduler
from msnb.optim.experimental.grouped_methods import (
    ASGD,
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    NAdam,
    RAdam,
    RMSprop,
    Rprop,
)
from msnb.optim.experimental.grouped_optimizer import GroupedOptimizer as Optimizer

__all__ = [
    "ASGD", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop",
    "lr_scheduler",
]  # fmt: skip
