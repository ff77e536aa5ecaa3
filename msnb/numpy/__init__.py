"""MindSpore's NumPy: arrays by NumPy's names, with gradients, in both modes.

    import msnb.numpy as mnp
    mnp.concatenate((mnp.zeros((2, 3)), mnp.ones((1, 3)))).mean(axis=0)

Arrays are Tensors. What ``msnb.ops`` has under NumPy's name with NumPy's arguments is that very function; the other
pages of this room are what differs: new arrays are 32 bits wide, arguments come in NumPy's order, lists are taken for
arrays.

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.numpy.html
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msnb.base import missing_names
from msnb.core.dtypes import (
    bool_ as bool_,
)  # fmt: skip
from msnb.core.dtypes import (
    float16 as float16,
)
from msnb.core.dtypes import (
    float32 as float32,
)
from msnb.core.dtypes import (
    float32 as float_,
)
from msnb.core.dtypes import (
    float64 as float64,
)
from msnb.core.dtypes import (
    int8 as int8,
)
from msnb.core.dtypes import (
    int16 as int16,
)
from msnb.core.dtypes import (
    int32 as int32,
)
from msnb.core.dtypes import (
    int32 as int_,
)
from msnb.core.dtypes import (
    int64 as int64,
)
from msnb.core.dtypes import (
    uint8 as uint8,
)
from msnb.core.dtypes import (
    uint16 as uint16,
)
from msnb.core.dtypes import (
    uint32 as uint32,
)
from msnb.core.dtypes import (
    uint64 as uint64,
)
from msnb.core.tensor import Tensor as Tensor
from msnb.numpy.creation import *
from msnb.numpy.manipulation import *
from msnb.numpy.mathematics import *
from msnb.numpy.statistics import *
from msnb.ops import (
    abs as abs,
)  # fmt: skip
from msnb.ops import (
    abs as fabs,
)
from msnb.ops import (
    absolute as absolute,
)
from msnb.ops import (
    add as add,
)
from msnb.ops import (
    all as all,
)
from msnb.ops import (
    any as any,
)
from msnb.ops import (
    any as sometrue,
)
from msnb.ops import (
    arccos as arccos,
)
from msnb.ops import (
    arccosh as arccosh,
)
from msnb.ops import (
    arcsin as arcsin,
)
from msnb.ops import (
    arcsinh as arcsinh,
)
from msnb.ops import (
    arctan as arctan,
)
from msnb.ops import (
    arctan2 as arctan2,
)
from msnb.ops import (
    arctanh as arctanh,
)
from msnb.ops import (
    argmax as argmax,
)
from msnb.ops import (
    argmin as argmin,
)
from msnb.ops import (
    atleast_1d as atleast_1d,
)
from msnb.ops import (
    atleast_2d as atleast_2d,
)
from msnb.ops import (
    atleast_3d as atleast_3d,
)
from msnb.ops import (
    average as average,
)
from msnb.ops import (
    bincount as bincount,
)
from msnb.ops import (
    bitwise_and as bitwise_and,
)
from msnb.ops import (
    bitwise_not as invert,
)
from msnb.ops import (
    bitwise_or as bitwise_or,
)
from msnb.ops import (
    bitwise_xor as bitwise_xor,
)
from msnb.ops import (
    broadcast_to as broadcast_to,
)
from msnb.ops import (
    ceil as ceil,
)
from msnb.ops import (
    column_stack as column_stack,
)
from msnb.ops import (
    copysign as copysign,
)
from msnb.ops import (
    cos as cos,
)
from msnb.ops import (
    cosh as cosh,
)
from msnb.ops import (
    count_nonzero as count_nonzero,
)
from msnb.ops import (
    deg2rad as deg2rad,
)
from msnb.ops import (
    diagonal as diagonal,
)
from msnb.ops import (
    diff as diff,
)
from msnb.ops import (
    divide as divide,
)
from msnb.ops import (
    dot as dot,
)
from msnb.ops import (
    dsplit as dsplit,
)
from msnb.ops import (
    dstack as dstack,
)
from msnb.ops import (
    equal as equal,
)
from msnb.ops import (
    exp as exp,
)
from msnb.ops import (
    exp2 as exp2,
)
from msnb.ops import (
    expm1 as expm1,
)
from msnb.ops import (
    fliplr as fliplr,
)
from msnb.ops import (
    flipud as flipud,
)
from msnb.ops import (
    float_power as float_power,
)
from msnb.ops import (
    floor as floor,
)
from msnb.ops import (
    floor_divide as floor_divide,
)
from msnb.ops import (
    fmod as fmod,
)
from msnb.ops import (
    greater as greater,
)
from msnb.ops import (
    greater_equal as greater_equal,
)
from msnb.ops import (
    hsplit as hsplit,
)
from msnb.ops import (
    hstack as hstack,
)
from msnb.ops import (
    hypot as hypot,
)
from msnb.ops import (
    inner as inner,
)
from msnb.ops import (
    isclose as isclose,
)
from msnb.ops import (
    isfinite as isfinite,
)
from msnb.ops import (
    isinf as isinf,
)
from msnb.ops import (
    isnan as isnan,
)
from msnb.ops import (
    kron as kron,
)
from msnb.ops import (
    less as less,
)
from msnb.ops import (
    less_equal as less_equal,
)
from msnb.ops import (
    log as log,
)
from msnb.ops import (
    log1p as log1p,
)
from msnb.ops import (
    log2 as log2,
)
from msnb.ops import (
    log10 as log10,
)
from msnb.ops import (
    logaddexp as logaddexp,
)
from msnb.ops import (
    logaddexp2 as logaddexp2,
)
from msnb.ops import (
    logical_and as logical_and,
)
from msnb.ops import (
    logical_not as logical_not,
)
from msnb.ops import (
    logical_or as logical_or,
)
from msnb.ops import (
    logical_xor as logical_xor,
)
from msnb.ops import (
    matmul as matmul,
)
from msnb.ops import (
    matrix_power as matrix_power,
)
from msnb.ops import (
    maximum as maximum,
)
from msnb.ops import (
    minimum as minimum,
)
from msnb.ops import (
    mod as mod,
)
from msnb.ops import (
    moveaxis as moveaxis,
)
from msnb.ops import (
    multi_dot as multi_dot,
)
from msnb.ops import (
    multiply as multiply,
)
from msnb.ops import (
    negative as negative,
)
from msnb.ops import (
    not_equal as not_equal,
)
from msnb.ops import (
    outer as outer,
)
from msnb.ops import (
    positive as positive,
)
from msnb.ops import (
    power as power,
)
from msnb.ops import (
    ptp as ptp,
)
from msnb.ops import (
    rad2deg as rad2deg,
)
from msnb.ops import (
    ravel as ravel,
)
from msnb.ops import (
    reciprocal as reciprocal,
)
from msnb.ops import (
    remainder as remainder,
)
from msnb.ops import (
    reshape as reshape,
)
from msnb.ops import (
    round as around,
)
from msnb.ops import (
    round as rint,
)
from msnb.ops import (
    round as round,
)
from msnb.ops import (
    sign as sign,
)
from msnb.ops import (
    signbit as signbit,
)
from msnb.ops import (
    sin as sin,
)
from msnb.ops import (
    sinh as sinh,
)
from msnb.ops import (
    size as size,
)
from msnb.ops import (
    sqrt as sqrt,
)
from msnb.ops import (
    square as square,
)
from msnb.ops import (
    squeeze as squeeze,
)
from msnb.ops import (
    subtract as subtract,
)
from msnb.ops import (
    swapaxes as swapaxes,
)
from msnb.ops import (
    take_along_axis as take_along_axis,
)
from msnb.ops import (
    tan as tan,
)
from msnb.ops import (
    tanh as tanh,
)
from msnb.ops import (
    tensordot as tensordot,
)
from msnb.ops import (
    tile as tile,
)
from msnb.ops import (
    trace as trace,
)
from msnb.ops import (
    transpose as transpose,
)
from msnb.ops import (
    trapz as trapz,
)
from msnb.ops import (
    true_divide as true_divide,
)
from msnb.ops import (
    trunc as fix,
)
from msnb.ops import (
    trunc as trunc,
)
from msnb.ops import (
    vander as vander,
)
from msnb.ops import (
    vsplit as vsplit,
)
from msnb.ops import (
    vstack as vstack,
)

pi, e, inf, PINF, NINF, nan, newaxis = math.pi, math.e, math.inf, math.inf, -math.inf, math.nan, None

if not TYPE_CHECKING:  # a type checker must go on to report names that do not exist

    def __getattr__(name: str) -> object:
        """A sentence on what is missing."""
        return missing_names.attribute(__name__, name)
