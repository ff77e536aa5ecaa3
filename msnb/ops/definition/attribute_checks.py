"""What static attributes may be, by name: one table for every record, since a name means the same wherever it stands.

    axis       an int, ints or None          shape    sizes (ints from 0, or Dims)         dtype   a DType
    keepdims   True or False                 spec     an index: sizes, "t", None, tuples   fn      a HostFn

Calls from Python are checked by inference, and by bodies that Python itself stops. A program that comes out of a file
has been through neither, so ``msnb.ir.analysis.verifier`` asks here. Whether a value fits the operands is inference's
to say; that an operator knows the name at all, and that the value is of a class (and a range) that bodies are written
for, is said here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from msnb.core import Dim, DType, HostType, StackType, SymbolicInt, TensorType, TokenType
from msnb.ops.definition.record import Op

Check = Callable[[Any], bool]
_MOST = 1 << 63
_INTEGERS = (int, SymbolicInt)


def _int(value: Any) -> bool:
    return type(value) in _INTEGERS and -_MOST <= value < _MOST


def _count(value: Any) -> bool:
    return type(value) in _INTEGERS and 0 <= value < _MOST


def _size(value: Any) -> bool:
    return _count(value) or isinstance(value, Dim)


def _flag(value: Any) -> bool:
    return type(value) is bool


def _text(value: Any) -> bool:
    return type(value) is str


def _number(value: Any) -> bool:
    return _int(value) or type(value) in (bool, float, complex)


def _real(value: Any) -> bool:
    return _int(value) or (type(value) is float and math.isfinite(value)) or isinstance(value, Dim)


def _end(value: Any) -> bool:
    return value is None or _int(value) or isinstance(value, Dim)


def _tuple(of: Check) -> Check:
    return lambda value: type(value) is tuple and all(map(of, value))


def _either(*checks: Check) -> Check:
    return lambda value: any(check(value) for check in checks)


def _none(value: Any) -> bool:
    return value is None


def _word(*legal: str) -> Check:
    return lambda value: type(value) is str and value in legal


def _type(value: Any) -> bool:
    return isinstance(value, (TensorType, StackType, TokenType, HostType))


def _of_class(name: str) -> Check:
    """By name: these classes live above this package."""
    return lambda value: type(value).__name__ == name


def _index(value: Any) -> bool:
    """An entry of an index: a place, a new axis, an index tensor, or the ends and the step of a slice."""
    return _end(value) or value == "t" or value is Ellipsis or (type(value) is tuple and all(map(_end, value)))


def _block(value: Any) -> bool:
    """A function's name, the names of its tensors, and its settings by name."""
    if not (isinstance(value, tuple) and len(value) == 3 and _text(value[0]) and _tuple(_text)(value[1])):
        return False
    settings = value[2]
    return isinstance(settings, tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 and _text(pair[0]) for pair in settings
    )


_INTS, _SIZES = _tuple(_int), _tuple(_size)
KINDS: dict[str, tuple[str, Check]] = {
    **dict.fromkeys(("concat", "diagonal", "high", "ignore", "k", "low", "root", "split"), ("an int", _int)),
    **dict.fromkeys(
        ("classes", "columns", "groups", "minlength", "n_carry", "n_in", "n_out", "n_xs", "num", "summarize"),
        ("an int from 0", _count),
    ),
    **dict.fromkeys(("length", "m", "n"), ("a size", _size)),
    **dict.fromkeys(
        ("ceil_mode", "count_include_pad", "descending", "effect", "exclusive", "inverse", "is_causal", "keepdims",
         "largest", "lower", "maximize", "odd", "own", "recompute", "reverse", "right", "transposed", "twice",
         "unit_diagonal"), ("True or False", _flag),
    ),
    **dict.fromkeys(("callee", "equation", "layer", "name", "operand", "plugin", "sentence", "sep"),
                    ("a string", _text)),
    **dict.fromkeys(("dilation", "kernel", "stride"), ("ints from 0", _tuple(_count))),
    **dict.fromkeys(("group", "order", "outputs", "perm", "recv", "send", "wrt"), ("ints", _INTS)),
    "shape": ("sizes, one of them perhaps -1", _tuple(lambda value: _size(value) or value == -1)),
    "sizes": ("sizes", _SIZES),
    **dict.fromkeys(("element", "type"), ("a type", _type)),
    **dict.fromkeys(("ddof", "scale", "start"), ("a number", _real)),
    "stop": ("a number or a size", _either(_real, _size)),
    "axis": ("an int, ints or None", _either(_none, _int, _INTS)),
    "begin": ("ints or None", _tuple(_end)),
    "block": ("a name, names of tensors, and settings", _either(_none, _block)),
    "data_format": ("'NCHW' or 'NHWC'", _word("NCHW", "NHWC")),
    "norm": ("'backward', 'ortho' or 'forward'", _word("backward", "ortho", "forward")),
    "dtype": ("a dtype", lambda value: isinstance(value, DType)),
    "end": ("ints or None, or a string", _either(_tuple(_end), _text)),
    "fn": ("a Python function", _of_class("HostFn")),
    "inner": ("pairs of ints", _tuple(_tuple(_count))),
    "op": ("a string", _text),
    "pads": ("ints, or pairs of them", _either(_INTS, _tuple(_INTS))),
    "reduce": ("a string", _text),
    "shapes": ("shapes", _tuple(_SIZES)),
    "size": ("a size, or sizes", _either(_size, _SIZES)),
    "spec": ("an index", _tuple(_index)),
    "step": ("a number, or ints", _either(_real, _tuple(_int))),
    "ties": ("'share' or 'first'", _word("share", "first")),
    "template": ("strings and None", _tuple(_either(_none, _text))),
    "value": ("a number or a constant", _either(_number, _of_class("Const"))),
}  # fmt: skip


def misfit(op: Op, name: str, value: Any) -> str:
    """Why this cannot be an attribute of an operator, or ''.

    Args:
        op: the record.
        name: of the attribute.
        value: what it is given.

    Examples:
        >>> from msnb.ops.definition.record import find
        >>> misfit(find("sum"), "keepdims", 1)
        "the attribute 'keepdims' is 1, not True or False"
        >>> misfit(find("sum"), "axes", 1)
        "it has no attribute 'axes'; it takes axis, keepdims"
    """
    if name not in op.attrs:
        return f"it has no attribute {name!r}; it takes {', '.join(op.attrs) or 'none'}"
    if name not in KINDS:  # an attribute of a plug-in: its own inference knows
        return ""
    legal, check = KINDS[name]
    return "" if check(value) else f"the attribute {name!r} is {_shown(value)}, not {legal}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
