"""``mindspore.hal``, and process groups under ``mindspore.ops``."""

from __future__ import annotations

import pytest
from msnb.mint import distributed

import msnb as ms


def test_questions_of_hal() -> None:
    from mindspore import hal

    assert hal.device_count("CPU") == 1 and hal.is_available("CPU") and hal.is_initialized("CPU")
    assert not hal.is_initialized("GPU") and hal.get_device_name(0) == "CPU:0"
    assert hal.get_device_properties(0) is None and hal.get_device_capability(0, "CPU") is None
    with pytest.raises(ValueError, match="TPU"):
        hal.is_available("TPU")


def test_process_groups_are_names_of_ops_too() -> None:
    from mindspore import ops
    from mindspore.ops.communication import get_rank

    assert ops.get_rank is get_rank is distributed.get_rank and ops.barrier is distributed.barrier
    assert ops.all_reduce(ms.Tensor([1.0])).tolist() == [1], "ops has functions of these names that give their results"
