"""What an operator record is, and the checks that all families share."""

from msnb.ops.definition.data_format import NCHW, NHWC, TO_LAST, channel_axis, need_format, places_of
from msnb.ops.definition.keyword_aliases import ValuesAndIndices, worded
from msnb.ops.definition.operand_checks import (
    all_spread,
    as_float,
    as_floats,
    as_ints,
    as_size,
    as_sizes,
    as_tensor,
    no_operand,
    strong_dtype,
    wide_integers,
)
from msnb.ops.definition.record import Example, InvalidExample, Op, Work, define, find
from msnb.ops.definition.symbolic_sizes import bound_of, fresh, has_sizes, product, sliced
from msnb.ops.definition.type_inference import (
    alike,
    common_shape,
    elementwise,
    int_error,
    need_bools,
    need_float,
    need_ints,
    normal_axes,
    normal_axis,
    operand_lines,
)
from msnb.ops.definition.window_geometry import IntOrInts, pair, per_axis, reach, resolve_pads

__all__ = [
    "Example", "IntOrInts", "InvalidExample", "NCHW", "NHWC", "Op", "TO_LAST", "ValuesAndIndices", "Work", "alike",
    "all_spread", "as_float", "as_floats", "as_ints", "as_size", "as_sizes", "as_tensor", "bound_of", "channel_axis",
    "common_shape", "define", "elementwise", "find", "fresh", "has_sizes", "int_error", "need_bools", "need_float",
    "need_format", "need_ints", "no_operand", "normal_axes", "normal_axis", "operand_lines", "pair", "per_axis",
    "places_of", "product", "reach", "resolve_pads", "sliced", "strong_dtype", "wide_integers", "worded",
]  # fmt: skip
