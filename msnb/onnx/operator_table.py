"""The table of ONNX's operators: one Python function per operator and version, written with msnb's own operators.

    @operator("ReduceSum", 13)
    def reduce_sum(x: Tensor, axes: Known | None = None, *, keepdims: int = 1, ...): ...

    positional        the operator's inputs, in its order; what a model leaves out is None; ``*xs`` takes any number
    keyword-only      its attributes, by their names, with ONNX's defaults; ``opset`` is the version of the model,
                      ``results`` how many outputs the model asks for, and ``between`` the graph around the node: from
                      names of values to the function that computes one value from them
    annotation        how an input is handed on: ``Tensor`` (anything else becomes one), ``Statistic`` (the same; an
                      average that no optimizer trains), ``Known`` (a NumPy array: shapes, axes, storage types, texts),
                      ``Any`` (as it is: a Tensor, an array, a list for a sequence, None for an empty optional)

An operator has the newest entry that is not newer than the model. Attributes that the function does not name are an
error, so that none is ignored.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from msnb.base import DTypeError
from msnb.core import Tensor, dtypes
from msnb.onnx.model_graph import ModelNode

__all__ = ["Known", "Operator", "Statistic", "find", "known", "operator", "tensor"]

Known: TypeAlias = np.ndarray[Any, Any]
Statistic: TypeAlias = Tensor

_TABLE: dict[tuple[str, str], list[Operator]] = {}


@dataclass(frozen=True)
class Operator:
    """An entry of the table.

    Attributes:
        since: the first version that it is for.
        body: the function.
        takes: how each positional input is handed on; the last holds for all further ones.
        attributes: names that it has.
        pure: the same inputs give the same result.
    """

    since: int
    body: Callable[..., Any]
    takes: tuple[str, ...]
    attributes: frozenset[str]
    pure: bool

    def use_of(self, position: int) -> str:
        """How the input at this position is handed on."""
        return self.takes[min(position, len(self.takes) - 1)] if self.takes else "Any"

    def __call__(self, node: ModelNode, inputs: list[Any], opset: int, between: Any = None) -> list[Any]:
        """The node's results."""
        values = [_WAYS[self.use_of(i)](value) for i, value in enumerate(inputs)]
        extra = {"opset": opset, "results": len(node.outputs), "between": between}
        given = {name: extra[name] for name in extra if name in self.attributes} | node.attributes
        found = self.body(*values, **given)
        return list(found) if isinstance(found, tuple) else [found]


def operator(*names: str, since: int = 1, domain: str = "", pure: bool = True) -> Callable[[Any], Any]:
    """Enter a function in the table."""

    def enter(body: Callable[..., Any]) -> Callable[..., Any]:
        takes, attributes = [], set()
        for parameter in inspect.signature(body).parameters.values():
            if parameter.kind is parameter.KEYWORD_ONLY:
                attributes.add(parameter.name)
            else:
                takes.append(str(parameter.annotation).removesuffix(" | None"))
        for name in names:
            entries = _TABLE.setdefault((domain, name), [])
            entries.append(Operator(since, body, tuple(takes), frozenset(attributes), pure))
            entries.sort(key=lambda entry: entry.since)
        return body

    return enter


def find(domain: str, name: str, opset: int) -> Operator | None:
    """The entry for this version; None where there is none."""
    fitting = [entry for entry in _TABLE.get((domain, name), ()) if entry.since <= opset]
    return fitting[-1] if fitting else None


# ---- how inputs are handed on ----


def tensor(value: Any) -> Any:
    """A Tensor of an array; None stays.

    Raises:
        DTypeError: an array of texts or of a storage type.
    """
    if value is None or isinstance(value, Tensor):
        return value
    if isinstance(value, list):
        raise DTypeError("a sequence stands where a tensor is needed.")
    array = np.asarray(value)
    if not has_tensors(array.dtype):
        raise DTypeError(f"tensors of {array.dtype} are stored and cast only; there is no arithmetic for them.")
    return Tensor(array)


def has_tensors(dtype: Any) -> bool:
    """Whether msnb computes with this dtype of NumPy's."""
    return dtypes.of_numpy(np.dtype(dtype)) is not None


def known(value: Any) -> Any:
    """The array of a value; None stays.

    Raises:
        ConcretizationError: it is a tensor of a program that is captured.
    """
    if value is None or isinstance(value, np.ndarray):
        return value
    return value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)


_WAYS: dict[str, Callable[[Any], Any]] = {
    "Tensor": tensor, "Statistic": tensor, "Known": known, "Any": lambda value: value,
}  # fmt: skip
