"""MindSpore's NumPy: arrays by NumPy's names, with gradients, in both modes.

    import msnb.numpy as mnp
    mnp.concatenate((mnp.zeros((2, 3)), mnp.ones((1, 3)))).mean(axis=0)

Arrays are Tensors. What ``msnb.ops`` has under NumPy's name with NumPy's arguments is that very function; the
modules of this package hold what differs: new arrays are 32 bits wide, arguments come in NumPy's order, lists are
taken for arrays.

Source: `mindspore.numpy`
"""

from __future__ import annotations

import math

from msnb.base import missing_names
from msnb.core.tensor import Tensor as Tensor
from msnb.numpy import fft as fft
from msnb.numpy.array_functions import *
from msnb.numpy.creation import *
from msnb.numpy.dtype_results import *
from msnb.numpy.manipulation import *
from msnb.numpy.mathematics import *
from msnb.numpy.selections import *
from msnb.numpy.statistics import *

# isort: off
from msnb.core.dtypes import (
    bool_ as bool_, float16 as float16, float32 as float32, float64 as float64, int8 as int8, int16 as int16,
    int32 as int32, int64 as int64, uint8 as uint8, uint16 as uint16, uint32 as uint32, uint64 as uint64,
)  # fmt: skip
from msnb.ops import (
    argwhere as argwhere, isneginf as isneginf, isposinf as isposinf, all as all, any as any, argmax as argmax,
    argmin as argmin, atleast_1d as atleast_1d, atleast_2d as atleast_2d, atleast_3d as atleast_3d, broadcast_to
    as broadcast_to, column_stack as column_stack, count_nonzero as count_nonzero, diagonal as diagonal,
    dot as dot, dsplit as dsplit, dstack as dstack, fliplr as fliplr, flipud as flipud, hsplit as hsplit,
    hstack as hstack, inner as inner, isclose as isclose, matrix_power as matrix_power, moveaxis
    as moveaxis, multi_dot as multi_dot, outer as outer, ptp as ptp, ravel as ravel, reshape as reshape,
    squeeze as squeeze, take_along_axis as take_along_axis, tensordot as tensordot,
    tile as tile, transpose as transpose, vander as vander, vsplit as vsplit, vstack as vstack,
)  # fmt: skip
# isort: on

# MindSpore's and NumPy's other names for them
float_, int_ = float32, int32
sometrue, around = any, round
pi, e, inf, PINF, NINF, nan, newaxis = math.pi, math.e, math.inf, math.inf, -math.inf, math.nan, None
missing_names.answer_for(__name__)
