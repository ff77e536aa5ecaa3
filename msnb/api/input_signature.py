"""What a user says of the arguments of a program before its first call: which axes change.

    jit(input_signature=(ms.Tensor(shape=[None, 8], dtype=ms.float32),))       of a function
    net.set_inputs(ms.Tensor(shape=[None, 8], dtype=ms.float32))               of a Cell

Such an axis is a symbol from the first capture on, so its second size costs no other one. What is said holds: arguments
of another dtype, rank or fixed size are refused when they would be compiled.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msnb.api.cell_inputs import declared_inputs
from msnb.base import DTypeError, ShapeError
from msnb.core.tensor import AbstractTensor, Tensor
from msnb.core.types import Symbol
from msnb.graph.capture.size_template import SizeChange
from msnb.graph.capture.values import sources as paths
from msnb.graph.capture.values.size_symbols import Axis
from msnb.graph.capture.values.sources import Source

_HINT = "call it with such a tensor, or write None for each axis that changes."


class InputSignature:
    """Types of arguments, with open axes.

    Args:
        inputs: per positional argument a Tensor, ``Tensor(shape=[None, 8], dtype=...)`` where axes change, a list or
            tuple of them, or anything else for what is no tensor.
        named: the same by name.
    """

    def __init__(self, inputs: Sequence[Any], named: Mapping[str, Any] | None = None) -> None:
        self.inputs: tuple[Any, ...] = tuple(inputs)
        self.named: dict[str, Any] = dict(named or {})

    def axes(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[Axis, SizeChange]:
        """The axes that change, with their sizes in a call.

        Raises:
            ShapeError: a tensor has another rank or size than was said; DTypeError: another dtype.
        """
        found: dict[Axis, SizeChange] = {}
        unique: dict[Symbol, int] = {}
        for said, given, source in self._pairs(fn, args, kwargs):
            _need(said, given, source)
            _need_symbols(said, given, source, unique)
            for k, (want, size) in enumerate(zip(said._type.shape, given._type.ints())):
                if want == -1:
                    found[source.ident, k] = SizeChange(size, size, f"{source.label}.shape[{k}]")
        return found

    def _pairs(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[Tensor, Tensor, Source]]:
        box, named = paths.root("args"), paths.root("kwargs")
        first = int(len(args) > len(self.inputs) and not isinstance(args[0], Tensor))  # the object of a method
        names = _names(fn)
        said = {first + i: each for i, each in enumerate(self.inputs)}
        said.update({i: self.named[name] for i, name in enumerate(names) if name in self.named})
        for i, given in enumerate(args):
            yield from _tensors(said.get(i), given, paths.item(box, i, names[i] if i < len(names) else ""))
        for name, given in kwargs.items():
            at = names.index(name) if name in names else -1
            yield from _tensors(said.get(at), given, paths.item(named, name, name))


def _tensors(said: Any, given: Any, source: Source) -> Iterator[tuple[Tensor, Tensor, Source]]:
    if isinstance(said, Tensor) and isinstance(given, Tensor):
        yield said, given, source
    elif isinstance(said, (list, tuple)) and isinstance(given, (list, tuple)):
        for k, (one, other) in enumerate(zip(said, given)):
            yield from _tensors(one, other, paths.item(source, k))


def _need(said: Tensor, given: Tensor, source: Source) -> None:
    want, t = said._type, given._type
    text = f"{source.label} is {t!r}, and was declared as {list(want.shape)} of {want.dtype!r} (-1: any size)."
    if t.dtype is not want.dtype:
        raise DTypeError(text, hint=_HINT)
    if want.shape == (-2,):  # any number of axes: nothing is a symbol, another shape is another version
        return
    if t.ndim != want.ndim or any(w not in (-1, d) for w, d in zip(want.shape, t.shape)):
        raise ShapeError(text, hint=_HINT)


def _need_symbols(said: Tensor, given: Tensor, source: Source, unique: dict[Symbol, int]) -> None:
    for k, symbol in said.symbols.items() if isinstance(said, AbstractTensor) else ():
        size = given._type.ints()[k]
        if not symbol.allows(size):
            raise ShapeError(f"{source.label}.shape[{k}] is {size}, and was declared as {symbol}.", hint=_HINT)
        if symbol.unique and unique.setdefault(symbol, size) != size:
            told = f"{source.label}.shape[{k}] is {size}, and another axis of the same {symbol} is {unique[symbol]}."
            raise ShapeError(told, hint="axes of a unique symbol have one size; without unique=True they may differ.")


def _names(fn: Any) -> list[str]:
    try:
        return list(inspect.signature(getattr(fn, "construct", fn)).parameters)
    except (TypeError, ValueError):
        return []


def declared_axes(
    signature: InputSignature | None, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Mapping[Axis, SizeChange]:
    """The axes of a call that are symbols from the first one on: as ``signature`` says, or what was declared for a Cell
    (``set_inputs``) or for the Cell that a method belongs to."""
    said = declared_inputs(getattr(fn, "__self__", fn))
    signature = InputSignature(*said) if signature is None and said is not None else signature
    return {} if signature is None else signature.axes(fn, args, kwargs)
