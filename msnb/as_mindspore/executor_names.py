"""Objects of MindSpore's executors, compiler switches and settings of ``device_context`` that programs touch.

They have little to do here: threads have a meaning, choices of CUDA algorithms have none.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from msnb.api.jit import jit, prepare
from msnb.base import events
from msnb.base.settings import set_context
from msnb.nn.cells.cell import Cell


class _PyNativeExecutor:
    """MindSpore's eager executor: launches are asynchronous there, ``sync`` waits for them; here results are ready."""

    def sync(self) -> None:
        """Nothing is under way: an operation returns when its result is there."""

    def set_grad_flag(self, flag: bool) -> None:
        """Accepted: gradients are recorded inside ``ms.grad`` and ``ms.value_and_grad`` only."""

    def enable_grad(self) -> bool:
        """Whether gradients are recorded outside of ``ms.grad``: never."""
        return False


class _CellGraphExecutor:
    """MindSpore's executor of Cells in graph mode."""

    def compile(self, obj: Any, *args: Any, **kwargs: Any) -> None:
        """Compile a Cell, or a function, for these arguments and do not run it."""
        for name in ("phase", "do_convert", "jit_config_dict"):
            kwargs.pop(name, None)
        if isinstance(obj, Cell):
            obj.compile(*args, **kwargs)
        else:
            prepare(jit(obj), args, kwargs)


_pynative_executor = _PyNativeExecutor()
_cell_graph_executor = _CellGraphExecutor()
compile_config: SimpleNamespace = SimpleNamespace()
"""Switches of MindSpore's compiler, by name: they are kept, and no one of them means anything to msnb's."""


def cell_attr_register(fn: Any = None, attrs: Any = None) -> Any:
    """A decorator of constructors that notes attributes for MindSpore's cache of graphs; it changes nothing here."""
    return fn if fn is not None else lambda constructor: constructor


def is_stub_tensor(tensor: Any) -> bool:
    """Whether a tensor's value is still to come: never."""
    return False


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
