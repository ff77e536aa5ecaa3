"""Settings below ``mindspore.device_context``: threads have a meaning here, choices of CUDA algorithms have none."""

from __future__ import annotations

from collections.abc import Callable

from msnb.base import events
from msnb.base.settings import set_context


def threads_num(num: int) -> None:
    """How many threads a kernel may use: ``set_context(runtime_num_threads=num)``."""
    set_context(runtime_num_threads=num)


def _without_effect(name: str) -> Callable[[object], None]:
    def setting(value: object) -> None:
        """Accepted, and told once: kernels are generated here, there is no such choice."""
        events.notice(f"device_context: {name}({value!r}) changes nothing: kernels are generated here.", name)

    return setting


conv_allow_tf32: Callable[[object], None] = _without_effect("conv_allow_tf32")
matmul_allow_tf32: Callable[[object], None] = _without_effect("matmul_allow_tf32")
matmul_allow_hf32: Callable[[object], None] = _without_effect("matmul_allow_hf32")
conv_allow_hf32: Callable[[object], None] = _without_effect("conv_allow_hf32")
conv_fprop_algo: Callable[[object], None] = _without_effect("conv_fprop_algo")
conv_dgrad_algo: Callable[[object], None] = _without_effect("conv_dgrad_algo")
conv_wgrad_algo: Callable[[object], None] = _without_effect("conv_wgrad_algo")
precision_mode: Callable[[object], None] = _without_effect("precision_mode")
op_precision_mode: Callable[[object], None] = _without_effect("op_precision_mode")
