"""MindSpore's NumPy: arrays by NumPy's names, with gradients, in both modes.

    import msnb.numpy as mnp
    mnp.concatenate((mnp.zeros((2, 3)), mnp.ones((1, 3)))).mean(axis=0)

Arrays are Tensors. What ``msnb.ops`` has under NumPy's name with NumPy's arguments is that very function; the
modules of this package hold what differs: new arrays are 32 bits wide, arguments come in NumPy's order, lists are
taken for arrays.

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.numpy.html
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msnb.base import missing_names
from msnb.core.tensor import Tensor as Tensor
from msnb.numpy import fft as fft
from msnb.numpy.creation import *
from msnb.numpy.manipulation import *
from msnb.numpy.mathematics import *
from msnb.numpy.selections import *
from msnb.numpy.statistics import *

# isort: off
from msnb.core.dtypes import (
    bool_ as bool_, float16 as float16, float32 as float32, float64 as float64, int8 as int8, int16 as int16,
    int32 as int32, int64 as int64, uint8 as uint8, uint16 as uint16, uint32 as uint32, uint64 as uint64,
)  # fmt: skip
from msnb.ops import argwhere as argwhere, gcd as gcd, isneginf as isneginf, isposinf as isposinf, lcm as lcm
from msnb.ops import (
    abs as abs, absolute as absolute, add as add, all as all, any as any, arccos as arccos, arccosh as arccosh,
    arcsin as arcsin, arcsinh as arcsinh, arctan as arctan, arctan2 as arctan2, arctanh as arctanh, argmax as argmax,
    argmin as argmin, atleast_1d as atleast_1d, atleast_2d as atleast_2d, atleast_3d as atleast_3d, average as average,
    bincount as bincount, bitwise_and as bitwise_and, bitwise_or as bitwise_or, bitwise_xor as bitwise_xor,
    broadcast_to as broadcast_to, ceil as ceil, column_stack as column_stack, copysign as copysign, cos as cos,
    cosh as cosh, count_nonzero as count_nonzero, deg2rad as deg2rad, diagonal as diagonal, diff as diff,
    divide as divide, dot as dot, dsplit as dsplit, dstack as dstack, equal as equal, exp as exp, exp2 as exp2,
    expm1 as expm1, fliplr as fliplr, flipud as flipud, float_power as float_power, floor as floor,
    floor_divide as floor_divide, fmod as fmod, greater as greater, greater_equal as greater_equal, hsplit as hsplit,
    hstack as hstack, hypot as hypot, inner as inner, invert as invert, isclose as isclose, isfinite as isfinite,
    isinf as isinf, isnan as isnan, kron as kron, less as less, less_equal as less_equal, log as log, log10 as log10,
    log1p as log1p, log2 as log2, logaddexp as logaddexp, logaddexp2 as logaddexp2, logical_and as logical_and,
    logical_not as logical_not, logical_or as logical_or, logical_xor as logical_xor, matmul as matmul,
    matrix_power as matrix_power, maximum as maximum, minimum as minimum, mod as mod, moveaxis as moveaxis,
    multi_dot as multi_dot, multiply as multiply, negative as negative, not_equal as not_equal, outer as outer,
    positive as positive, power as power, ptp as ptp, rad2deg as rad2deg, ravel as ravel, reciprocal as reciprocal,
    remainder as remainder, reshape as reshape, round as round, sign as sign, signbit as signbit, sin as sin,
    sinh as sinh, size as size, sqrt as sqrt, square as square, squeeze as squeeze, subtract as subtract,
    swapaxes as swapaxes, take_along_axis as take_along_axis, tan as tan, tanh as tanh, tensordot as tensordot,
    tile as tile, trace as trace, transpose as transpose, trapz as trapz, true_divide as true_divide, trunc as trunc,
    vander as vander, vsplit as vsplit, vstack as vstack,
)  # fmt: skip
# isort: on

# MindSpore's and NumPy's other names for them
float_, int_ = float32, int32
fabs, sometrue, around, rint, fix = abs, any, round, round, trunc
pi: float = math.pi
e: float = math.e
inf: float = math.inf
PINF = math.inf
NINF = -math.inf
nan: float = math.nan
newaxis = None

if not TYPE_CHECKING:  # a type checker must go on to report names that do not exist

    def __getattr__(name: str) -> object:
        """A sentence on what is missing."""
        return missing_names.attribute(__name__, name)


def __dir__() -> list[str]:
    return missing_names.public_names(__name__)
