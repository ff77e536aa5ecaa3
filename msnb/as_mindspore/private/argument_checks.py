"""MindSpore's checks of arguments, ``mindspore._checkparam``, in its words: tests of programs go by them.

A wrong type is a TypeError, a wrong value a ValueError.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Iterable
from enum import IntEnum
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

from msnb.base import ArgumentError, AttributeValueError
from msnb.core import TensorType

_Name: TypeAlias = "str | None"


class Rel(IntEnum):
    """Relations that a number is checked for; the short names are the legal ones."""

    EQ, NE, LT, LE, GT, GE, INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH, IN, NOT_IN = range(1, 13)


EQ, NE, LT, LE, GT, GE, INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH, IN, NOT_IN = Rel

_HOLDS: dict[Rel, tuple[str, Callable[[Any, Any], bool]]] = {
    EQ: ("=", lambda a, b: a == b), NE: ("!=", lambda a, b: a != b),
    LT: ("<", lambda a, b: a < b), LE: ("<=", lambda a, b: a <= b),
    GT: (">", lambda a, b: a > b), GE: (">=", lambda a, b: a >= b),
    IN: ("in", lambda a, b: a in b), NOT_IN: ("not in", lambda a, b: a not in b),
}  # fmt: skip
_WITHIN: dict[Rel, tuple[str, Callable[[Any, Any, Any], bool]]] = {
    INC_NEITHER: ("()", lambda x, a, b: a < x < b), INC_LEFT: ("[)", lambda x, a, b: a <= x < b),
    INC_RIGHT: ("(]", lambda x, a, b: a < x <= b), INC_BOTH: ("[]", lambda x, a, b: a <= x <= b),
}  # fmt: skip


def _subject(arg_name: _Name, prim_name: _Name, of: str = "") -> str:
    return f"{f'For {prim_name!r}, the' if prim_name else 'The'} {of}{repr(arg_name) if arg_name else 'input value'}"


def check_bool(value: Any, arg_name: _Name = None, prim_name: _Name = None) -> bool:
    """``value``, a bool."""
    if not isinstance(value, bool):
        raise ArgumentError(f"{_subject(arg_name, prim_name)} must be a bool, but got {type(value).__name__}.")
    return value


def check_string(value: Any, legal: Any, arg_name: _Name = None, prim_name: _Name = None) -> str:
    """``value``, one of the legal words."""
    if not isinstance(value, str) or value not in legal:
        subject = _subject(arg_name or "parameter", prim_name)
        raise AttributeValueError(f"{subject} must be str and must be in '{legal}', but got '{value}'.")
    return value


def check_value_type(arg_name: str, value: Any, types: Any, prim_name: _Name = None) -> Any:
    """``value``, of one of these types."""
    kinds = tuple(types) if isinstance(types, (list, tuple)) else (types,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        words = [getattr(kind, "__name__", str(kind)) for kind in kinds]
        wanted = f"one of '{words}'" if len(words) > 1 else repr(words[0])
        subject = _subject(arg_name, prim_name, "type of ")
        raise ArgumentError(f"{subject} should be {wanted}, but got type {type(value).__name__!r}.")
    return value


def check_isinstance(arg_name: str, value: Any, classes: Any) -> Any:
    """``value``, of one of these classes."""
    if not isinstance(value, classes):
        raise AttributeValueError(f"The parameter {arg_name!r} must be isinstance of {classes}, but got {value}.")
    return value


def check_number_range(value: Any, low: Any, high: Any, rel: Rel, kind: Any, arg_name: _Name = None,
                       prim_name: _Name = None) -> Any:  # fmt: skip
    """``value``, a number of an interval."""
    ends, holds = _WITHIN[Rel(rel)]
    subject, got = f"{_subject(arg_name, prim_name)} must be", type(value).__name__
    if isinstance(value, bool) or not isinstance(value, (np.ndarray, np.generic, kind)):
        raise ArgumentError(f"{subject} {kind.__name__!r},  but got {got!r}.")
    if not holds(value, low, high):
        text = f"{ends[0]}{low}, {high}{ends[1]}"
        raise AttributeValueError(f"{subject} in range of {text}, but got {value} with type {got!r}.")
    return value


def check_number(arg_name: str, value: Any, limit: Any, rel: Rel, prim_name: _Name = None) -> Any:
    """``value``, in this relation to ``limit``."""
    sign, holds = _HOLDS[Rel(rel)]
    if not holds(value, limit):
        raise AttributeValueError(f"{_subject(arg_name, prim_name, 'argument ')} must {sign} {limit}, but got {value}.")
    return value


def check(
    arg_name: str, value: Any, limit_name: str, limit: Any, rel: Rel = EQ, prim_name: _Name = None,
    excp_cls: type[Exception] = AttributeValueError,
) -> Any:  # fmt: skip
    """``value``, in this relation to ``limit``, which has a name."""
    words, holds = _HOLDS[Rel(rel)]
    if not holds(value, limit):
        raise excp_cls(f"{_subject(arg_name, prim_name)} should be {words} {limit_name}: {limit}, but got {value}.")
    return value


def check_type_name(arg_name: str, found: Any, valid_types: Any, prim_name: _Name = None) -> Any:
    """``found``, one of these dtypes or classes, or the dtype of such a tensor type."""
    kinds = tuple(valid_types) if isinstance(valid_types, Iterable) else (valid_types,)
    kind = found.dtype if isinstance(found, TensorType) else found
    if kind not in kinds:
        words = " or ".join(getattr(k, "__name__", str(k)) for k in kinds)
        raise ArgumentError(f"{_subject(arg_name, prim_name)} must be {words}, got {kind!r}.")
    return kind


def check_subclass(
    arg_name: str, found: Any, template_types: Any, prim_name: _Name = None, addition_error_info: _Name = None
) -> None:
    """``found`` is one of these types, or of one of these kinds of types."""
    kinds = tuple(template_types) if isinstance(template_types, Iterable) else (template_types,)
    if not any(found == kind or (isinstance(kind, type) and isinstance(found, kind)) for kind in kinds):
        words, more = " or ".join(map(str, kinds)), f" {addition_error_info}" if addition_error_info else ""
        raise ArgumentError(f"{_subject(arg_name, prim_name)} must be {words}, got {found!r}.{more}")


def check_types_same_and_valid(args: dict[str, Any], valid_values: Any, prim_name: _Name = None) -> None:
    """The types of these arguments are the same, and one of ``valid_values``."""
    for name, found in args.items():
        check_subclass(name, found, valid_values, prim_name)
    (first, kind), *rest = args.items()
    for name, found in rest:
        if found != kind:
            raise ArgumentError(f"{_subject(name, prim_name)} must have the type of {first}, {kind}, got {found}.")


def args_type_check(*types: Any, **named: Any) -> Callable[[Any], Any]:
    """A decorator: each argument is None or an instance of the type given for it."""

    def decorated(function: Any) -> Any:
        signature = inspect.signature(function)
        kinds = signature.bind_partial(*types, **named).arguments

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs).arguments
            wanted, found = kinds.get("kwargs", kinds), given.get("kwargs", given)
            for name, value in found.items():
                if name in wanted and value is not None and not isinstance(value, wanted[name]):
                    raise ArgumentError(f"{name} must be {wanted[name]}, got {value!r}.")
            return function(*args, **kwargs)

        return checked

    return decorated


def check_is_number(value: Any, kind: Any, arg_name: _Name = None, prim_name: _Name = None) -> Any:
    """``value``, a number of this kind, and finite."""
    if isinstance(value, bool) or not isinstance(value, kind):
        subject = _subject(arg_name, prim_name, "type of ")
        raise ArgumentError(f"{subject} must be {kind.__name__!r}, but got {type(value).__name__!r}.")
    if not math.isfinite(value):
        raise AttributeValueError(f"{_subject(arg_name, prim_name)} must be a legal float, but got '{value}'.")
    return value


def check_tensors_dtypes_same_and_valid(args: dict[str, Any], valid_dtypes: Any, prim_name: _Name = None) -> None:
    """These tensors have one dtype, one of ``valid_dtypes``."""
    found = {name: check_type_name(name, kind, valid_dtypes, prim_name) for name, kind in args.items()}
    check_types_same_and_valid(found, valid_dtypes, prim_name)


def check_element_type_of_iterable(arg_name: str, values: Any, types: Any, prim_name: _Name = None) -> None:
    """Every element is of one of these types."""
    for i, value in enumerate(values):
        check_value_type(f"{arg_name}[{i}]", value, types, prim_name)


def check_valid_input(arg_name: str, value: Any, prim_name: _Name = None) -> Any:
    """``value``, anything but None."""
    if value is None:
        raise AttributeValueError(f"{_subject(arg_name, prim_name)} must not be None.")
    return value


def check_str_by_regular(target: str, reg: _Name = None, flag: Any = re.ASCII, prim_name: _Name = None) -> bool:
    """True for a text that matches a pattern, by itself that of names."""
    wanted = r"^\w+[0-9a-zA-Z\_\.]*$" if reg is None else reg
    if not re.match(wanted, target, flag):
        raise AttributeValueError(f"{_subject(None, prim_name)} {target!r} does not match {wanted!r}.")
    return True


def check_input_format(input_param: str) -> str:
    """ "NCHW", the one layout."""
    return check_string(input_param, ("NCHW",), "the data format")


def _expand_tuple(n_dimensions: int) -> Callable[[Any], tuple[int, ...]]:
    def expanded(value: Any) -> tuple[int, ...]:
        """An int as a tuple of it, a tuple of so many ints as it is."""
        found: tuple[int, ...] = value if isinstance(value, tuple) else (value,) * n_dimensions
        if len(found) != n_dimensions or any(isinstance(x, bool) or not isinstance(x, int) for x in found):
            raise ArgumentError(f"this takes an int or a tuple of {n_dimensions} ints, not {value!r}.")
        return found

    return expanded


_Expander: TypeAlias = Callable[[Any], tuple[int, ...]]
once: _Expander = _expand_tuple(1)
twice: _Expander = _expand_tuple(2)
triple: _Expander = _expand_tuple(3)


def _checks(kind: Any) -> dict[str, Callable[..., Any]]:
    """The checks of ints or of floats: ``check_int(value, limit, rel)``, ``check_positive_int(value)``, its
    ``_sequence``, and so on; each gives the value."""

    def compared(value: Any, limit: Any, rel: Rel, arg_name: _Name = None, prim_name: _Name = None) -> Any:
        subject, got, (sign, holds) = _subject(arg_name, prim_name), type(value).__name__, _HOLDS[Rel(rel)]
        if not isinstance(value, kind):
            raise ArgumentError(f"{subject} must be {word}, but got {got!r}")
        if not math.isfinite(value):
            raise AttributeValueError(f"{subject} must be a legal value, but got '{value}'.")
        if isinstance(value, bool) or not holds(value, limit):
            error = ArgumentError if isinstance(value, bool) else AttributeValueError
            raise error(f"{subject} must be {word} and must {sign} {limit}, but got '{value}' with type {got!r}.")
        return value

    def related(rel: Rel) -> Callable[..., Any]:
        return lambda value, *names, **named: compared(value, 0, rel, *names, **named)

    def of_all(check_one: Callable[..., Any]) -> Callable[..., Any]:
        def check_all(sequence: Any, arg_name: Any = None, prim_name: Any = None) -> Any:
            for i, value in enumerate(sequence):
                check_one(value, f"{arg_name or 'arg_name'}[{i}]", prim_name)
            return sequence

        return check_all

    word, signs = kind.__name__, {"positive": GT, "negative": LT, "non_positive": LE, "non_negative": GE}
    found = {f"check_{sign}_{word}": related(rel) for sign, rel in signs.items()}
    found |= {f"{name}_sequence": of_all(one) for name, one in found.items()}
    found[f"check_{word}"] = compared
    found[f"check_equal_{word}"] = lambda value, limit, *names, **named: compared(value, limit, EQ, *names, **named)
    found[f"check_{word}_range"] = lambda value, low, high, rel, *names, **named: check_number_range(
        value, low, high, rel, kind, *names, **named
    )
    found[f"check_is_{word}"] = lambda value, *names, **named: check_is_number(value, kind, *names, **named)
    return found


check_tensor_dtype_valid = check_type_name
globals().update({**_checks(int), **_checks(float)})
Validator: Any = SimpleNamespace(
    **{name: found for name, found in globals().items() if name.startswith("check") or isinstance(found, Rel)},
    check_integer=check_number,
)
"""The checks as MindSpore 1 had them, and the words for comparisons beside them."""
