"""Marks that MindSpore programs put on functions, classes and arguments to steer its compiler.

Here capture finds out by itself what they say (which values are constants, which classes belong to the program, what
may change between calls), so they hand back what they are given; ``mutable`` says too what has gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from msnb.base import ArgumentError, AttributeValueError
from msnb.core import Tensor, pytree, slot

Marked = TypeVar("Marked")


class Mutable:
    """A container that ``mutable`` was given."""

    plain: ClassVar[type]


_MUTABLE: dict[type, type] = {kind: type(f"Mutable{kind.__name__.title()}", (Mutable, kind), {"plain": kind})
                              for kind in (tuple, list, dict)}  # fmt: skip


def mutable(input_data: Marked, dynamic_len: bool = False) -> Marked:
    """A value that may change between calls, as tensors and numbers in arguments may anyhow. Tensors in containers
    marked so count as inputs of ``GradOperation(get_all=True)`` within programs.

    Raises:
        TypeError: no number, tensor or tuple, list or dict of these; ``dynamic_len`` of others than a tuple or list.

    Source: `mindspore.mutable`

    Examples:
        >>> mutable((1, 2))
        (1, 2)
    """
    for leaf in pytree.flatten(input_data)[0]:
        if not isinstance(leaf, (bool, int, float, Tensor)):
            raise ArgumentError(f"mutable takes numbers, tensors and tuples, lists and dicts of them, not {leaf!r}.")
    if not isinstance(dynamic_len, bool) or (dynamic_len and not isinstance(input_data, (tuple, list))):
        raise ArgumentError("mutable: dynamic_len is a bool, True for a tuple or list alone.")
    kind = _MUTABLE.get(type(input_data))
    return slot.engine.convert(kind)(input_data) if kind else input_data  # a program knows that it made it


def constexpr(
    fn: Any = None, get_instance: bool = True, name: str | None = None, reuse_result: bool = True, check: bool = True
) -> Any:
    """A function of Python values, computed while the program is captured: every such function is.

    Args:
        fn: the function; without it a decorator comes.
        get_instance: False gives a class: its objects are called like the function.
        name, reuse_result, check: MindSpore's, for an operator that is not needed here.

    Source: `mindspore.ops.constexpr`

    Examples:
        >>> double = constexpr(lambda n: 2 * n, get_instance=False)
        >>> double()(3)
        6
    """

    def made(fn: Any) -> Any:
        return fn if get_instance else type(fn.__name__, (), {"__call__": staticmethod(fn)})

    return made if fn is None else made(fn)


def jit_class(cls: Marked) -> Marked:
    """A class whose methods compiled programs may call: all of them may.

    Source: `mindspore.jit_class`
    """
    return cls


def lazy_inline(fn: Any = None, attrs: Any = None, policy: Any = None) -> Any:
    """A hint on when the body of a Cell is copied into its caller; results do not depend on it.

    Raises:
        AttributeValueError: a ``policy`` that is neither None nor "front".
    """
    if policy not in (None, "front"):
        raise AttributeValueError(f"lazy_inline: policy={policy!r}; legal: None, 'front'.")
    return _mark(fn)


def no_inline(fn: Any = None) -> Any:
    """A hint that a function be compiled once and called; results do not depend on it."""
    return _mark(fn)


def _mark(fn: Any) -> Any:
    plain: Callable[[Any], Any] = lambda marked: marked
    return plain if fn is None else fn


STRICT, COMPATIBLE, LAX = 0, 1, 2  # MindSpore's levels of Python in graph mode; all of it is captured here


class JitConfig:
    """Settings of a compilation as MindSpore bundles them; ``net.set_jit_config`` takes it, and results do not depend
    on it.

    Source: `mindspore.JitConfig`

    Examples:
        >>> JitConfig(jit_level="O1").jit_config_dict["jit_level"]
        'O1'
    """

    def __init__(
        self, jit_level: str = "", exc_mode: str = "auto", jit_syntax_level: str = "", debug_level: str = "RELEASE",
        infer_boost: str = "off", **options: Any,
    ) -> None:  # fmt: skip
        if jit_level not in ("", "O0", "O1", "O2"):
            raise AttributeValueError(f"JitConfig: jit_level is 'O0', 'O1' or 'O2', not {jit_level!r}.")
        self.jit_config_dict: dict[str, Any] = {
            "jit_level": jit_level, "exc_mode": exc_mode, "jit_syntax_level": jit_syntax_level,
            "debug_level": debug_level, "infer_boost": infer_boost, **options,
        }  # fmt: skip
