"""Help on an operator, made from its record: ``ops.matmul?``, ``help(ops.add)``, ``inspect.signature(ops.relu)``.

    first sentence    doc                      Args, dtypes     inputs, attrs, promotes, traits
    shapes            axes, and an example     Raises           the wrong examples
    gradient          grad, no_grad            Examples         the first example, with its result

Nothing is made before somebody asks: the two attributes are descriptors, and the text is kept in the record's own
``__dict__``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from msnb.base import MsnbError
from msnb.core import TensorType, dtypes, result_dtype, tensor_type

if TYPE_CHECKING:
    from msnb.ops.definition.record import Example, Op

SMALL = 8  # elements of an operand that is written out in an example
_AXIS_KIND = re.compile("[^a-zA-Z0-9_.]")
_DEFAULT_DTYPES = ("bool", "int64", "float32", "complex64")  # what Tensor makes of Python's numbers


class LazyAttribute:
    """An attribute of a record that is made when it is first read; the class itself has ``of_class`` instead."""

    def __init__(self, name: str, make: Any, of_class: Any) -> None:
        self._name, self._make, self._of_class = name, make, of_class

    def __get__(self, op: Any, owner: type) -> Any:
        if op is None:
            return self._of_class
        found = op.__dict__[self._name] = self._make(op)
        return found


def signature_of(op: Op) -> inspect.Signature:
    """The call as Python sees it: tensors by position, attributes by keyword."""
    tensors = [
        inspect.Parameter(name[1:], inspect.Parameter.VAR_POSITIONAL)
        if name.startswith("*")
        else inspect.Parameter(
            name, inspect.Parameter.POSITIONAL_ONLY, default=None if name in op.optional else inspect.Parameter.empty
        )
        for name in op.inputs
    ]
    for place, p in enumerate(tensors):  # after one that may be left out, all may
        if place and tensors[place - 1].default is None and p.kind is not inspect.Parameter.VAR_POSITIONAL:
            tensors[place] = p.replace(default=None)
    attrs = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=value) for n, value in op.attrs.items()]
    return inspect.Signature([*tensors, *attrs])


def documentation_of(op: Op) -> str:
    """The docstring of an operator."""
    parts = [op.doc, "\n".join(_arguments(op)), "\n".join(_returns(op)), "\n".join(_raises(op)), _examples(op)]
    return "\n\n".join(part for part in parts if part)


def _arguments(op: Op) -> Iterator[str]:
    yield "Args:"
    for name in op.inputs:
        left_out = ", may be left out" if name in op.optional else ""
        yield f"    {name}: {'any number of tensors' if name.startswith('*') else 'a tensor or a number'}{left_out}."
    for name, default in op.attrs.items():
        needed = "needed" if default is inspect.Parameter.empty else f"{default!r} where it is left out"
        yield f"    {name}: a fixed value, by keyword; {needed}."


def _returns(op: Op) -> Iterator[str]:
    yield "Returns:"
    found = _first_types(op)
    if found is not None:
        yield f"    {_listed(found[1])} for {_listed(found[0])}, for example."
    if isinstance(op.axes, str):
        yield f"    Shapes: {_shapes(op.axes)}"
    if op.promotes and len(op.inputs) > 1:
        yield "    Operands of different dtypes are converted to the dtype that holds both."
    if "floating" in op.traits:
        yield "    Integers and bools are computed as float32."
    yield f"    Gradient: {'yes' if op.grad is not None else f'none ({op.no_grad})'}."


def _shapes(axes: str) -> str:
    """``"... m k, ... k n -> ... m n"`` as lists of axis names."""

    def listed(side: str) -> str:
        return ", ".join(f"[{', '.join(_AXIS_KIND.sub('', label) for label in p.split())}]" for p in side.split(","))

    before, _, after = axes.partition("->")
    dots = "; ... are leading axes, which broadcast." if "..." in axes else "."
    return f"{listed(before)} -> {listed(after)}{dots}"


def _raises(op: Op) -> Iterator[str]:
    found = {f"{wrong.error.__name__}: ... {wrong.sentence} ...": None for wrong in op.wrong}
    if found:
        yield "Raises:"
        yield from (f"    {line}" for line in found)


# ---- examples ----


def _examples(op: Op) -> str:
    shown = next((text for text in (_example(op, e) for e in op.examples) if text), "")
    return "" if not shown else f"Examples:\n    >>> import msnb as ms\n{shown}"


def _example(op: Op, example: Example) -> str:
    """A call that can be typed, with what it gives; nothing where an operand is too large to be written."""
    inputs = [_small(op, value, example) for value in example.inputs]
    if not all(_writable(value) for value in inputs) or not all(map(_plain, example.attrs.values())):
        return ""
    try:
        results = _computed(op, inputs, example.attrs)
    except (MsnbError, TypeError, ValueError):  # the example's numbers are another dtype here than the record's own
        return ""
    names = [name.lstrip("*") for name in op.inputs]
    names += [f"{names[-1]}{k}" for k in range(2, 2 + len(inputs) - len(names))]
    attrs = "".join(f", {name}={value!r}" for name, value in example.attrs.items())
    call = f"ms.ops.{op.name}({', '.join(names[: len(inputs)])}{attrs})"
    lines = [f"    >>> {name} = ms.Tensor({_literal(value)})" for name, value in zip(names, inputs)]
    return "\n".join([*lines, *_result(call, results)])


def _result(call: str, results: list[Any]) -> list[str]:
    """The line that prints what a call gives, and what it prints."""
    if len(results) != 1:
        return [f"    >>> [y.shape for y in {call}]", f"    {[y.shape for y in results]}"]
    if results[0].dtype.kind in "biu":
        return [f"    >>> {call}.tolist()", f"    {results[0].tolist()}"]
    printed = str(results[0].round(3)).split("\n")
    return [f"    >>> print({call}.asnumpy().round(3))", *(f"    {line}" for line in printed)]


def _plain(value: Any) -> bool:
    return isinstance(value, (int, float, str, type(None))) or (
        isinstance(value, (tuple, list)) and all(map(_plain, value))
    )


def _writable(value: Any) -> bool:
    return np.size(value) <= SMALL and np.asarray(value).dtype.kind in "biufc" and bool(np.all(np.isfinite(value)))


def _small(op: Op, value: Any, example: Example) -> Any:
    """Three elements are enough for an operator that works element by element."""
    if "elementwise" in op.traits and np.size(value) > 3:
        whole = np.broadcast_to(value, np.broadcast_shapes(*map(np.shape, example.inputs)))
        value = whole.reshape(-1)[:3]
    array = np.asarray(value)
    if array.dtype.kind in "fc":
        array = array.astype({2: "f4", 4: "f4", 8: "f4" if array.dtype.kind == "f" else "c8", 16: "c8"}[array.itemsize])
        return np.round(array, 2) + 0.0
    return array


def _literal(value: Any) -> str:
    """The first argument of Tensor, and its dtype where the numbers do not tell it."""
    exact = np.complex128 if value.dtype.kind == "c" else np.float64 if value.dtype.kind == "f" else value.dtype
    text = repr(np.round(value.astype(exact), 2).tolist() if value.dtype.kind in "fc" else value.tolist())
    return text if value.dtype.name in _DEFAULT_DTYPES else f"{text}, ms.{value.dtype.name}"


def _types(inputs: list[Any]) -> tuple[TensorType, ...] | None:
    found = []
    for value in inputs:
        array = np.asarray(value)
        dtype = dtypes.of_numpy(array.dtype)
        if dtype is None:
            return None
        found.append(tensor_type(array.shape, dtype))
    return tuple(found)


def _first_types(op: Op) -> tuple[list[str], list[str]] | None:
    """The types of the first example, and of what it gives."""
    for example in op.examples:
        types = None if any(x is None for x in example.inputs) else _types(list(example.inputs))
        if types is not None:
            results = op.result_types(types, op.bind_attrs(example.attrs))
            return [repr(t) for t in types], [repr(t) for t in results]
    return None


def _listed(types: list[str]) -> str:
    return " and ".join(types)


def _computed(op: Op, inputs: list[Any], attrs: Mapping[str, Any]) -> list[Any]:
    """The reference body over NumPy, in the dtypes that the record says."""
    types = _types(inputs)
    assert types is not None
    bound = op.bind_attrs(attrs)
    if op.promotes:
        want = result_dtype(types)
        want = dtypes.float32 if "floating" in op.traits and not want.differentiable else want
        inputs = [np.asarray(value).astype(want.numpy) for value in inputs]
    results = op.body(np, *inputs, **bound)
    results = results if isinstance(results, tuple) else (results,)
    wanted = op.result_types(types, bound)
    return [np.asarray(r).astype(t.dtype.numpy) for r, t in zip(results, wanted) if isinstance(t, TensorType)]
