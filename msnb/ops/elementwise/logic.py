"""Logic of truth values and of bits. Truth: a number is true when it is not zero (NaN is true)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.core import dtypes
from msnb.ops.definition import Op, example_inputs
from msnb.ops.elementwise.factory import binary, unary

__all__ = [
    "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "invert", "left_shift", "logical_and", "logical_not", "logical_or", "logical_xor", "right_shift",
]  # fmt: skip

_TRUTH = "the result is bool"
_WHOLE = "integers have no derivative"


def _logical(name: str, scalar: str, doc: str) -> Op:
    def body(xp: Any, x: Any, y: Any) -> Any:
        return getattr(xp, name)(x.astype(np.bool_), y.astype(np.bool_))

    return binary(
        name, body, scalar, doc, no_grad=_TRUTH, dtype=dtypes.bool_, x=example_inputs.BOOLS, y=~example_inputs.BOOLS[:,
        ::-1],
        weak=True, traits=("commutative",),
    )  # fmt: skip


logical_and: Op = _logical("logical_and", "(x != 0) & (y != 0)", "Both are true.")
logical_or: Op = _logical("logical_or", "(x != 0) | (y != 0)", "At least one is true.")
logical_xor: Op = _logical("logical_xor", "(x != 0) ^ (y != 0)", "Exactly one is true.")
logical_not: Op = unary(
    "logical_not", lambda xp, x: xp.logical_not(x.astype(np.bool_)), "x == 0", "Not true.", no_grad=_TRUTH,
    dtype=dtypes.bool_, x=example_inputs.BOOLS,
)  # fmt: skip


def _bits(name: str, body: Callable[..., Any], scalar: str, doc: str, *traits: str, kinds: str = "bi") -> Op:
    shift = kinds == "i"
    return binary(
        name, body, scalar, doc, no_grad=_WHOLE, kinds=kinds, x=example_inputs.INTS, weak=2,
        y=example_inputs.COUNTS if shift else example_inputs.DIVISORS, traits=traits,
    )  # fmt: skip


_BY_BITS = ("modular", "commutative", "ufunc")

bitwise_and: Op = _bits("bitwise_and", lambda xp, x, y: xp.bitwise_and(x, y), "x & y", "And of every bit.", *_BY_BITS)
bitwise_or: Op = _bits("bitwise_or", lambda xp, x, y: xp.bitwise_or(x, y), "x | y", "Or of every bit.", *_BY_BITS)
bitwise_xor: Op = _bits(
    "bitwise_xor", lambda xp, x, y: xp.bitwise_xor(x, y), "x ^ y", "Exclusive or of every bit.", *_BY_BITS
)
bitwise_left_shift: Op = _bits(
    "bitwise_left_shift", lambda xp, x, y: xp.left_shift(x, y), "x << y", "Bits moved up by y places.", kinds="i"
)
bitwise_right_shift: Op = _bits(
    "bitwise_right_shift", lambda xp, x, y: xp.right_shift(x, y), "x >> y",
    "Bits moved down by y places; the sign stays.", kinds="i",
)  # fmt: skip
bitwise_invert: Op = unary(
    "bitwise_invert", lambda xp, x: xp.invert(x), "~x", "Every bit turned over; a bool is negated.",
    no_grad=_WHOLE, kinds="bi", x=example_inputs.INTS,
)  # fmt: skip
bitwise_not: Op = bitwise_invert
left_shift: Op = bitwise_left_shift
right_shift: Op = bitwise_right_shift


# names of MindSpore and PyTorch for the same
invert = bitwise_not
