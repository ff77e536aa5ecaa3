"""What msnb.train imports when it is asked for.

Made by tools/stubs.py from what msnb.ops is; do not edit."""

# ruff: noqa: I001 - filled lines

from msnb.train import amp as amp
from msnb.train.amp import (
    DynamicLossScaleManager as DynamicLossScaleManager, FixedLossScaleManager as FixedLossScaleManager,
    build_train_network as build_train_network,
)  # fmt: skip
from msnb.train.files.model_files import export as export, load as load
from msnb.train.files.torch_weights import load_torch_state_dict as load_torch_state_dict
from msnb.train.pytorch.conversion import (
    from_torch as from_torch, pytorch2mindspore as pytorch2mindspore, source_of as source_of,
)  # fmt: skip

__all__ = [
    "DynamicLossScaleManager", "FixedLossScaleManager", "amp", "build_train_network", "export", "from_torch", "load",
    "load_torch_state_dict", "pytorch2mindspore", "source_of",
]  # fmt: skip
