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
from msnb.core.dtypes import bool_ as bool_
from msnb.core.dtypes import float16 as float16
from msnb.core.dtypes import float32 as float32
from msnb.core.dtypes import float32 as float_
from msnb.core.dtypes import float64 as float64
from msnb.core.dtypes import int8 as int8
from msnb.core.dtypes import int16 as int16
from msnb.core.dtypes import int32 as int32
from msnb.core.dtypes import int32 as int_
from msnb.core.dtypes import int64 as int64
from msnb.core.dtypes import uint8 as uint8
from msnb.core.dtypes import uint16 as uint16
from msnb.core.dtypes import uint32 as uint32
from msnb.core.dtypes import uint64 as uint64
from msnb.core.tensor import Tensor as Tensor
from msnb.numpy.creation import arange as arange
from msnb.numpy.creation import array as array
from msnb.numpy.creation import asarray as asarray
from msnb.numpy.creation import asfarray as asfarray
from msnb.numpy.creation import copy as copy
from msnb.numpy.creation import diag as diag
from msnb.numpy.creation import diagflat as diagflat
from msnb.numpy.creation import empty as empty
from msnb.numpy.creation import empty_like as empty_like
from msnb.numpy.creation import eye as eye
from msnb.numpy.creation import full as full
from msnb.numpy.creation import full_like as full_like
from msnb.numpy.creation import geomspace as geomspace
from msnb.numpy.creation import identity as identity
from msnb.numpy.creation import indices as indices
from msnb.numpy.creation import linspace as linspace
from msnb.numpy.creation import logspace as logspace
from msnb.numpy.creation import meshgrid as meshgrid
from msnb.numpy.creation import mgrid as mgrid
from msnb.numpy.creation import ogrid as ogrid
from msnb.numpy.creation import ones as ones
from msnb.numpy.creation import ones_like as ones_like
from msnb.numpy.creation import promote_types as promote_types
from msnb.numpy.creation import rand as rand
from msnb.numpy.creation import randint as randint
from msnb.numpy.creation import randn as randn
from msnb.numpy.creation import result_type as result_type
from msnb.numpy.creation import tri as tri
from msnb.numpy.creation import zeros as zeros
from msnb.numpy.creation import zeros_like as zeros_like
from msnb.numpy.manipulation import append as append
from msnb.numpy.manipulation import array_split as array_split
from msnb.numpy.manipulation import array_str as array_str
from msnb.numpy.manipulation import broadcast_arrays as broadcast_arrays
from msnb.numpy.manipulation import concatenate as concatenate
from msnb.numpy.manipulation import digitize as digitize
from msnb.numpy.manipulation import expand_dims as expand_dims
from msnb.numpy.manipulation import flip as flip
from msnb.numpy.manipulation import in1d as in1d
from msnb.numpy.manipulation import isin as isin
from msnb.numpy.manipulation import isscalar as isscalar
from msnb.numpy.manipulation import nonzero as nonzero
from msnb.numpy.manipulation import pad as pad
from msnb.numpy.manipulation import repeat as repeat
from msnb.numpy.manipulation import roll as roll
from msnb.numpy.manipulation import rollaxis as rollaxis
from msnb.numpy.manipulation import rot90 as rot90
from msnb.numpy.manipulation import searchsorted as searchsorted
from msnb.numpy.manipulation import split as split
from msnb.numpy.manipulation import stack as stack
from msnb.numpy.manipulation import take as take
from msnb.numpy.manipulation import tril as tril
from msnb.numpy.manipulation import tril_indices as tril_indices
from msnb.numpy.manipulation import triu as triu
from msnb.numpy.manipulation import triu_indices as triu_indices
from msnb.numpy.manipulation import unique as unique
from msnb.numpy.manipulation import where as where
from msnb.numpy.mathematics import array_equal as array_equal
from msnb.numpy.mathematics import blackman as blackman
from msnb.numpy.mathematics import cbrt as cbrt
from msnb.numpy.mathematics import clip as clip
from msnb.numpy.mathematics import convolve as convolve
from msnb.numpy.mathematics import corrcoef as corrcoef
from msnb.numpy.mathematics import cov as cov
from msnb.numpy.mathematics import cross as cross
from msnb.numpy.mathematics import divmod as divmod
from msnb.numpy.mathematics import gradient as gradient
from msnb.numpy.mathematics import hamming as hamming
from msnb.numpy.mathematics import hanning as hanning
from msnb.numpy.mathematics import heaviside as heaviside
from msnb.numpy.mathematics import histogram as histogram
from msnb.numpy.mathematics import interp as interp
from msnb.numpy.mathematics import polyval as polyval
from msnb.numpy.mathematics import radians as radians
from msnb.numpy.statistics import amax as amax
from msnb.numpy.statistics import amin as amin
from msnb.numpy.statistics import cumprod as cumprod
from msnb.numpy.statistics import cumsum as cumsum
from msnb.numpy.statistics import max as max
from msnb.numpy.statistics import mean as mean
from msnb.numpy.statistics import min as min
from msnb.numpy.statistics import nancumsum as nancumsum
from msnb.numpy.statistics import nanmax as nanmax
from msnb.numpy.statistics import nanmean as nanmean
from msnb.numpy.statistics import nanmin as nanmin
from msnb.numpy.statistics import nanstd as nanstd
from msnb.numpy.statistics import nansum as nansum
from msnb.numpy.statistics import nanvar as nanvar
from msnb.numpy.statistics import norm as norm
from msnb.numpy.statistics import prod as prod
from msnb.numpy.statistics import std as std
from msnb.numpy.statistics import sum as sum
from msnb.numpy.statistics import var as var
from msnb.ops import abs as abs
from msnb.ops import abs as fabs
from msnb.ops import absolute as absolute
from msnb.ops import add as add
from msnb.ops import all as all
from msnb.ops import any as any
from msnb.ops import any as sometrue
from msnb.ops import arccos as arccos
from msnb.ops import arccosh as arccosh
from msnb.ops import arcsin as arcsin
from msnb.ops import arcsinh as arcsinh
from msnb.ops import arctan as arctan
from msnb.ops import arctan2 as arctan2
from msnb.ops import arctanh as arctanh
from msnb.ops import argmax as argmax
from msnb.ops import argmin as argmin
from msnb.ops import atleast_1d as atleast_1d
from msnb.ops import atleast_2d as atleast_2d
from msnb.ops import atleast_3d as atleast_3d
from msnb.ops import average as average
from msnb.ops import bincount as bincount
from msnb.ops import bitwise_and as bitwise_and
from msnb.ops import bitwise_not as invert
from msnb.ops import bitwise_or as bitwise_or
from msnb.ops import bitwise_xor as bitwise_xor
from msnb.ops import broadcast_to as broadcast_to
from msnb.ops import ceil as ceil
from msnb.ops import column_stack as column_stack
from msnb.ops import copysign as copysign
from msnb.ops import cos as cos
from msnb.ops import cosh as cosh
from msnb.ops import count_nonzero as count_nonzero
from msnb.ops import deg2rad as deg2rad
from msnb.ops import diagonal as diagonal
from msnb.ops import diff as diff
from msnb.ops import divide as divide
from msnb.ops import dot as dot
from msnb.ops import dsplit as dsplit
from msnb.ops import dstack as dstack
from msnb.ops import equal as equal
from msnb.ops import exp as exp
from msnb.ops import exp2 as exp2
from msnb.ops import expm1 as expm1
from msnb.ops import fliplr as fliplr
from msnb.ops import flipud as flipud
from msnb.ops import float_power as float_power
from msnb.ops import floor as floor
from msnb.ops import floor_divide as floor_divide
from msnb.ops import fmod as fmod
from msnb.ops import greater as greater
from msnb.ops import greater_equal as greater_equal
from msnb.ops import hsplit as hsplit
from msnb.ops import hstack as hstack
from msnb.ops import hypot as hypot
from msnb.ops import inner as inner
from msnb.ops import isclose as isclose
from msnb.ops import isfinite as isfinite
from msnb.ops import isinf as isinf
from msnb.ops import isnan as isnan
from msnb.ops import kron as kron
from msnb.ops import less as less
from msnb.ops import less_equal as less_equal
from msnb.ops import log as log
from msnb.ops import log1p as log1p
from msnb.ops import log2 as log2
from msnb.ops import log10 as log10
from msnb.ops import logaddexp as logaddexp
from msnb.ops import logaddexp2 as logaddexp2
from msnb.ops import logical_and as logical_and
from msnb.ops import logical_not as logical_not
from msnb.ops import logical_or as logical_or
from msnb.ops import logical_xor as logical_xor
from msnb.ops import matmul as matmul
from msnb.ops import matrix_power as matrix_power
from msnb.ops import maximum as maximum
from msnb.ops import minimum as minimum
from msnb.ops import mod as mod
from msnb.ops import moveaxis as moveaxis
from msnb.ops import multi_dot as multi_dot
from msnb.ops import multiply as multiply
from msnb.ops import negative as negative
from msnb.ops import not_equal as not_equal
from msnb.ops import outer as outer
from msnb.ops import positive as positive
from msnb.ops import power as power
from msnb.ops import ptp as ptp
from msnb.ops import rad2deg as rad2deg
from msnb.ops import ravel as ravel
from msnb.ops import reciprocal as reciprocal
from msnb.ops import remainder as remainder
from msnb.ops import reshape as reshape
from msnb.ops import round as around
from msnb.ops import round as rint
from msnb.ops import round as round
from msnb.ops import sign as sign
from msnb.ops import signbit as signbit
from msnb.ops import sin as sin
from msnb.ops import sinh as sinh
from msnb.ops import size as size
from msnb.ops import sqrt as sqrt
from msnb.ops import square as square
from msnb.ops import squeeze as squeeze
from msnb.ops import subtract as subtract
from msnb.ops import swapaxes as swapaxes
from msnb.ops import take_along_axis as take_along_axis
from msnb.ops import tan as tan
from msnb.ops import tanh as tanh
from msnb.ops import tensordot as tensordot
from msnb.ops import tile as tile
from msnb.ops import trace as trace
from msnb.ops import transpose as transpose
from msnb.ops import trapz as trapz
from msnb.ops import true_divide as true_divide
from msnb.ops import trunc as fix
from msnb.ops import trunc as trunc
from msnb.ops import vander as vander
from msnb.ops import vsplit as vsplit
from msnb.ops import vstack as vstack

pi, e, inf, PINF, NINF, nan, newaxis = math.pi, math.e, math.inf, math.inf, -math.inf, math.nan, None

if not TYPE_CHECKING:  # a type checker must go on to report names that do not exist

    def __getattr__(name: str) -> object:
        """A sentence on what is missing."""
        return missing_names.attribute(__name__, name)
