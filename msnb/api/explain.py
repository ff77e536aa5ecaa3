"""Why something was compiled, and how long that took, as text."""

from __future__ import annotations

from typing import Any

from msnb.api.graph_mode import compiled_cell
from msnb.api.jit import CompiledFunction


def explain(fn: Any, timing: bool = False) -> str:
    """Text on every compiled version of a jitted function or Cell: its guards, why it was made, how long it took.

    Args:
        fn: a jitted function, or a Cell that has run in graph mode.
        timing: a table instead that tells where the compile time went: capture, passes, code.

    Raises:
        TypeError: ``fn`` is not compiled by jit.

    Examples:
        >>> import msnb as ms
        >>> f = ms.jit(lambda x: x * 2)
        >>> _ = f(ms.Tensor([1.0]))
        >>> "version 1: first call" in explain(f)
        True
    """
    fn = getattr(fn, "__func__", fn)
    if not isinstance(fn, CompiledFunction):
        fn = compiled_cell(fn)
    if fn is None:
        raise TypeError("explain takes a function compiled with jit, or a Cell that has run in graph mode.")
    return str(fn.explain(timing))
