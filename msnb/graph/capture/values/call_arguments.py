"""The arguments of a framework function as tensors and settings: what a call that keeps its name consists of.

layer_norm(x, (4,), weight, eps=1e-5)     tensors: x, weight        settings: normalized_shape (4,), bias None, eps
recurrent("lstm", ..., *tensors)          tensors: "tensors.0", "tensors.1" ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from msnb.core import DType, Tensor
from msnb.ops.definition.keyword_aliases import argument_names, in_own_words

_PLAIN = (type(None), bool, int, float, str, DType)


class CallArguments:
    """Arguments by name; a tuple with tensors in it is one entry per element.

    Args:
        fn: the function.
        args, kwargs: what it is called with.
        plain: from a setting that stands for a value to the value.

    Attributes:
        tensors, settings: by name.
    """

    def __init__(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], plain: Callable[[Any], Any]
    ) -> None:
        if kwargs and getattr(fn, "worded", False):  # it takes keywords of other frameworks
            kwargs = in_own_words(fn.__name__, argument_names(fn), kwargs)
        self.bound = inspect.signature(fn).bind(*args, **kwargs)
        self.bound.apply_defaults()
        given = self.bound.arguments
        self._lists = {name: len(v) for name, v in given.items() if isinstance(v, tuple) and any(map(_is_tensor, v))}
        found = {name: value for name, value in given.items() if name not in self._lists}
        found |= {f"{name}.{i}": x for name in self._lists for i, x in enumerate(given[name])}
        self.tensors: dict[str, Any] = {name: x for name, x in found.items() if _is_tensor(x)}
        self.settings: dict[str, Any] = {name: plain(x) for name, x in found.items() if not _is_tensor(x)}

    @property
    def is_plain(self) -> bool:
        """Whether there are tensors, and everything else can be written down."""
        return bool(self.tensors) and all(map(_is_setting, self.settings.values()))

    def call(self, fn: Callable[..., Any], tensors: Mapping[str, Any]) -> Any:
        """The function's result with other tensors."""
        own: dict[str, Any] = {**self.settings, **tensors}
        own |= {name: tuple(own[f"{name}.{i}"] for i in range(count)) for name, count in self._lists.items()}
        self.bound.arguments.update((name, own[name]) for name in self.bound.arguments)
        return fn(*self.bound.args, **self.bound.kwargs)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def _is_setting(value: Any) -> bool:
    return type(value) in _PLAIN or (type(value) is tuple and all(map(_is_setting, value)))
