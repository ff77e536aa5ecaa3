"""Objects of MindSpore's executors and compiler switches that programs touch; they have little to do here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class _PyNativeExecutor:
    """MindSpore's eager executor: launches are asynchronous there, ``sync`` waits for them; here results are ready."""

    def sync(self) -> None:
        """Nothing is under way: an operation returns when its result is there."""

    def set_grad_flag(self, flag: bool) -> None:
        """Accepted: gradients are recorded inside ``ms.grad`` and ``ms.value_and_grad`` only."""

    def enable_grad(self) -> bool:
        """Whether gradients are recorded outside of ``ms.grad``: never."""
        return False


_pynative_executor = _PyNativeExecutor()
compile_config: SimpleNamespace = SimpleNamespace()
"""Switches of MindSpore's compiler, by name: they are kept, and no one of them means anything to msnb's."""


def cell_attr_register(fn: Any = None, attrs: Any = None) -> Any:
    """A decorator of constructors that notes attributes for MindSpore's cache of graphs; it changes nothing here."""
    return fn if fn is not None else lambda constructor: constructor


def is_stub_tensor(tensor: Any) -> bool:
    """Whether a tensor's value is still to come: never."""
    return False
