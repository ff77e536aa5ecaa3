"""The operators, typed.

Made by tools/stubs.py from what msnb.ops is; do not edit."""

# ruff: noqa: I001 - filled lines
# ruff: noqa: F403 - a star means what a module lists

from typing import Any

from msnb.core.tensor import Tensor
from msnb.ops import (
    collective as collective, definition as definition, elementwise as elementwise, indexing as indexing,
    linalg as linalg, math as math, mindspore as mindspore, nn as nn, random as random, reduction as reduction,
    sparse as sparse, spatial as spatial, special as special, tensor as tensor,
)  # fmt: skip
from msnb.ops.collective import *
from msnb.ops.elementwise.cast import (
    cast as cast, complex as complex, is_complex as is_complex, is_floating_point as is_floating_point,
)  # fmt: skip
from msnb.ops.elementwise.identity_and_effects import (
    assign as assign, assign_add as assign_add, assign_sub as assign_sub, print as print, print_ as print_,
)  # fmt: skip
from msnb.ops.elementwise.transcendental import logaddexp as logaddexp
from msnb.ops.indexing.embedding import *
from msnb.ops.indexing.gather import *
from msnb.ops.indexing.grids import (
    block_diag as block_diag, cartesian_prod as cartesian_prod, column_stack as column_stack,
    combinations as combinations, expand_as as expand_as, fmax as fmax, fmin as fmin, logaddexp2 as logaddexp2,
    logspace as logspace, sgn as sgn, signbit as signbit, t as t, type_as as type_as, vander as vander,
    view_as as view_as,
)  # fmt: skip
from msnb.ops.indexing.masked_select import *
from msnb.ops.indexing.pad import pad as pad
from msnb.ops.indexing.rearrange import *
from msnb.ops.indexing.scatter import (
    index_add as index_add, index_copy as index_copy, index_fill as index_fill, scatter as scatter,
    scatter_add as scatter_add, scatter_nd as scatter_nd, scatter_reduce as scatter_reduce,
    scatter_update as scatter_update, tensor_scatter_elements as tensor_scatter_elements,
)  # fmt: skip
from msnb.ops.indexing.slice_updates import *
from msnb.ops.linalg.diagonals import *
from msnb.ops.linalg.eigenvalues import *
from msnb.ops.linalg.einsum import *
from msnb.ops.linalg.factorization import *
from msnb.ops.linalg.grouped_matmul import *
from msnb.ops.linalg.matmul import (
    addbmm as addbmm, addmm as addmm, addmv as addmv, baddbmm as baddbmm, bmm as bmm, dot as dot, inner as inner,
    kron as kron, mm as mm, multi_dot as multi_dot, mv as mv, outer as outer, tensordot as tensordot, vecdot as vecdot,
)  # fmt: skip
from msnb.ops.linalg.matrix_functions import *
from msnb.ops.linalg.solvers import *
from msnb.ops.linalg.triangular import *
from msnb.ops.math.clip_norm_interpolate import *
from msnb.ops.math.log_sums import *
from msnb.ops.math.number_functions import (
    aminmax as aminmax, eps as eps, is_nonzero as is_nonzero, isneginf as isneginf, isposinf as isposinf,
    isreal as isreal, laplace as laplace, ldexp as ldexp, pdist as pdist, polar as polar,
    random_categorical as random_categorical, renorm as renorm, standard_laplace as standard_laplace,
    truncate_div as truncate_div, truncate_mod as truncate_mod, unique_consecutive as unique_consecutive,
    view_as_real as view_as_real,
)  # fmt: skip
from msnb.ops.math.sort import *
from msnb.ops.math.statistics import *
from msnb.ops.mindspore.attention_score import *
from msnb.ops.mindspore.scalar_conversions import *
from msnb.ops.nn.activation import (
    celu as celu, elu as elu, fast_gelu as fast_gelu, gelu as gelu, glu as glu, gumbel_softmax as gumbel_softmax,
    hardshrink as hardshrink, hardsigmoid as hardsigmoid, hardswish as hardswish, hardtanh as hardtanh,
    leaky_relu as leaky_relu, log_sigmoid as log_sigmoid, log_softmax as log_softmax, logsigmoid as logsigmoid,
    mish as mish, prelu as prelu, relu6 as relu6, rrelu as rrelu, selu as selu, silu as silu, softmax as softmax,
    softmin as softmin, softplus as softplus, softshrink as softshrink, softsign as softsign, tanhshrink as tanhshrink,
    threshold as threshold,
)  # fmt: skip
from msnb.ops.nn.attention import scaled_dot_product_attention as scaled_dot_product_attention
from msnb.ops.nn.ctc_loss import *
from msnb.ops.nn.loss import *
from msnb.ops.nn.normalization import *
from msnb.ops.nn.transformer_functions import *
from msnb.ops.random.draws import (
    bernoulli as bernoulli, categorical as categorical, dropout as dropout, exponential as exponential,
    gumbel as gumbel, multinomial as multinomial, normal as normal, rand as rand, rand_like as rand_like,
    randint as randint, randn as randn, randn_like as randn_like, random_key as random_key, randperm as randperm,
    shuffle as shuffle, standard_normal as standard_normal, trunc_normal as trunc_normal, uniform as uniform,
)  # fmt: skip
from msnb.ops.random.gamma_poisson import *
from msnb.ops.reduction.cumulative import *
from msnb.ops.reduction.functional import (
    all as all, amax as amax, amin as amin, any as any, argmax as argmax, argmin as argmin,
    count_nonzero as count_nonzero, logsumexp as logsumexp, max as max, mean as mean, min as min, prod as prod,
    std as std, sum as sum, var as var, var_mean as var_mean,
)  # fmt: skip
from msnb.ops.shape.concat_split import (
    chunk as chunk, concat as concat, dstack as dstack, hstack as hstack, split as split, stack as stack,
    tensor_split as tensor_split, unbind as unbind, unstack as unstack, vstack as vstack,
)  # fmt: skip
from msnb.ops.shape.creation import *
from msnb.ops.shape.slice import slice_
from msnb.ops.shape.views import *
from msnb.ops.sparse.compressed_rows import coo_to_csr as coo_to_csr
from msnb.ops.sparse.segments import *
from msnb.ops.sparse.sparse_functions import (
    coalesce as coalesce, coo_add as coo_add, coo_concat as coo_concat, coo_to_dense as coo_to_dense,
    csr_add as csr_add, csr_div as csr_div, csr_gather as csr_gather, csr_mm as csr_mm, csr_mul as csr_mul,
    csr_mv as csr_mv, csr_reduce_sum as csr_reduce_sum, csr_softmax as csr_softmax, csr_to_coo as csr_to_coo,
    csr_to_dense as csr_to_dense, dense_to_sparse_coo as dense_to_sparse_coo,
    dense_to_sparse_csr as dense_to_sparse_csr,
)  # fmt: skip
from msnb.ops.spatial.bounding_boxes import *
from msnb.ops.spatial.convolution import *
from msnb.ops.spatial.deformable import *
from msnb.ops.spatial.fractional_pooling import *
from msnb.ops.spatial.interpolate import *
from msnb.ops.spatial.pooling import *
from msnb.ops.spatial.resize import *
from msnb.ops.spatial.roi import *
from msnb.ops.spatial.unfold import *
from msnb.ops.spatial.unpooling import *
from msnb.ops.spatial.volumetric import *
from msnb.ops.special.fourier import *
from msnb.ops.special.gamma_functions import (
    betainc as betainc, igamma as igamma, igammac as igammac, mvlgamma as mvlgamma, polygamma as polygamma,
    zeta as zeta,
)  # fmt: skip
from msnb.ops.special.windows import *
from msnb.ops.tensor.properties import *
from msnb.ops.tensor.subscripts import *

def abs(x: Any, /) -> Tensor:
    """Absolute value (modulus of complex numbers)."""

def acos(x: Any, /) -> Tensor:
    """Inverse cosine in radians."""

def acosh(x: Any, /) -> Tensor:
    """Inverse hyperbolic cosine."""

def add(x: Any, y: Any, /) -> Tensor:
    """Sum of two tensors."""

def angle(x: Any, /) -> Tensor:
    """The angle in radians, from -pi to pi."""

def asin(x: Any, /) -> Tensor:
    """Inverse sine in radians."""

def asinh(x: Any, /) -> Tensor:
    """Inverse hyperbolic sine."""

def atan(x: Any, /) -> Tensor:
    """Inverse tangent in radians."""

def atan2(x: Any, y: Any, /) -> Tensor:
    """Angle of the point (y, x) in radians, from -pi to pi."""

def atanh(x: Any, /) -> Tensor:
    """Inverse hyperbolic tangent."""

def bessel_i0(x: Any, /) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""

def bessel_i0e(x: Any, /) -> Tensor:
    """exp(-|x|) times the modified Bessel function of the first kind of order 0."""

def bessel_i1(x: Any, /) -> Tensor:
    """The modified Bessel function of the first kind of order 1."""

def bessel_i1e(x: Any, /) -> Tensor:
    """exp(-|x|) times the modified Bessel function of the first kind of order 1."""

def bessel_j0(x: Any, /) -> Tensor:
    """The Bessel function of the first kind of order 0."""

def bessel_j1(x: Any, /) -> Tensor:
    """The Bessel function of the first kind of order 1."""

def bessel_k0(x: Any, /) -> Tensor:
    """The modified Bessel function of the second kind of order 0."""

def bessel_k0e(x: Any, /) -> Tensor:
    """exp(x) times the modified Bessel function of the second kind of order 0."""

def bessel_k1(x: Any, /) -> Tensor:
    """The modified Bessel function of the second kind of order 1."""

def bessel_k1e(x: Any, /) -> Tensor:
    """exp(x) times the modified Bessel function of the second kind of order 1."""

def bessel_y0(x: Any, /) -> Tensor:
    """The Bessel function of the second kind of order 0."""

def bessel_y1(x: Any, /) -> Tensor:
    """The Bessel function of the second kind of order 1."""

def bitwise_and(x: Any, y: Any, /) -> Tensor:
    """And of every bit."""

def bitwise_invert(x: Any, /) -> Tensor:
    """Every bit turned over; a bool is negated."""

def bitwise_left_shift(x: Any, y: Any, /) -> Tensor:
    """Bits moved up by y places."""

def bitwise_or(x: Any, y: Any, /) -> Tensor:
    """Or of every bit."""

def bitwise_right_shift(x: Any, y: Any, /) -> Tensor:
    """Bits moved down by y places; the sign stays."""

def bitwise_xor(x: Any, y: Any, /) -> Tensor:
    """Exclusive or of every bit."""

def ceil(x: Any, /) -> Tensor:
    """The next integer above."""

def conj(x: Any, /) -> Tensor:
    """The complex conjugate."""

def coo_abs(x: Any) -> Any:
    """abs of the stored values, at the same places."""

def coo_acos(x: Any) -> Any:
    """acos of the stored values, at the same places."""

def coo_acosh(x: Any) -> Any:
    """acosh of the stored values, at the same places."""

def coo_asin(x: Any) -> Any:
    """asin of the stored values, at the same places."""

def coo_asinh(x: Any) -> Any:
    """asinh of the stored values, at the same places."""

def coo_atan(x: Any) -> Any:
    """atan of the stored values, at the same places."""

def coo_atanh(x: Any) -> Any:
    """atanh of the stored values, at the same places."""

def coo_ceil(x: Any) -> Any:
    """ceil of the stored values, at the same places."""

def coo_cos(x: Any) -> Any:
    """cos of the stored values, at the same places."""

def coo_cosh(x: Any) -> Any:
    """cosh of the stored values, at the same places."""

def coo_exp(x: Any) -> Any:
    """exp of the stored values, at the same places."""

def coo_expm1(x: Any) -> Any:
    """expm1 of the stored values, at the same places."""

def coo_floor(x: Any) -> Any:
    """floor of the stored values, at the same places."""

def coo_inv(x: Any) -> Any:
    """inv of the stored values, at the same places."""

def coo_isfinite(x: Any) -> Any:
    """isfinite of the stored values, at the same places."""

def coo_isinf(x: Any) -> Any:
    """isinf of the stored values, at the same places."""

def coo_isnan(x: Any) -> Any:
    """isnan of the stored values, at the same places."""

def coo_log(x: Any) -> Any:
    """log of the stored values, at the same places."""

def coo_log1p(x: Any) -> Any:
    """log1p of the stored values, at the same places."""

def coo_neg(x: Any) -> Any:
    """neg of the stored values, at the same places."""

def coo_relu(x: Any) -> Any:
    """relu of the stored values, at the same places."""

def coo_relu6(x: Any) -> Any:
    """relu6 of the stored values, at the same places."""

def coo_round(x: Any) -> Any:
    """round of the stored values, at the same places."""

def coo_sigmoid(x: Any) -> Any:
    """sigmoid of the stored values, at the same places."""

def coo_sin(x: Any) -> Any:
    """sin of the stored values, at the same places."""

def coo_sinh(x: Any) -> Any:
    """sinh of the stored values, at the same places."""

def coo_softsign(x: Any) -> Any:
    """softsign of the stored values, at the same places."""

def coo_sqrt(x: Any) -> Any:
    """sqrt of the stored values, at the same places."""

def coo_square(x: Any) -> Any:
    """square of the stored values, at the same places."""

def coo_tan(x: Any) -> Any:
    """tan of the stored values, at the same places."""

def coo_tanh(x: Any) -> Any:
    """tanh of the stored values, at the same places."""

def cos(x: Any, /) -> Tensor:
    """Cosine of radians."""

def cosh(x: Any, /) -> Tensor:
    """Hyperbolic cosine."""

def csr_abs(x: Any) -> Any:
    """abs of the stored values, at the same places."""

def csr_acos(x: Any) -> Any:
    """acos of the stored values, at the same places."""

def csr_acosh(x: Any) -> Any:
    """acosh of the stored values, at the same places."""

def csr_asin(x: Any) -> Any:
    """asin of the stored values, at the same places."""

def csr_asinh(x: Any) -> Any:
    """asinh of the stored values, at the same places."""

def csr_atan(x: Any) -> Any:
    """atan of the stored values, at the same places."""

def csr_atanh(x: Any) -> Any:
    """atanh of the stored values, at the same places."""

def csr_ceil(x: Any) -> Any:
    """ceil of the stored values, at the same places."""

def csr_cos(x: Any) -> Any:
    """cos of the stored values, at the same places."""

def csr_cosh(x: Any) -> Any:
    """cosh of the stored values, at the same places."""

def csr_exp(x: Any) -> Any:
    """exp of the stored values, at the same places."""

def csr_expm1(x: Any) -> Any:
    """expm1 of the stored values, at the same places."""

def csr_floor(x: Any) -> Any:
    """floor of the stored values, at the same places."""

def csr_inv(x: Any) -> Any:
    """inv of the stored values, at the same places."""

def csr_isfinite(x: Any) -> Any:
    """isfinite of the stored values, at the same places."""

def csr_isinf(x: Any) -> Any:
    """isinf of the stored values, at the same places."""

def csr_isnan(x: Any) -> Any:
    """isnan of the stored values, at the same places."""

def csr_log(x: Any) -> Any:
    """log of the stored values, at the same places."""

def csr_log1p(x: Any) -> Any:
    """log1p of the stored values, at the same places."""

def csr_neg(x: Any) -> Any:
    """neg of the stored values, at the same places."""

def csr_relu(x: Any) -> Any:
    """relu of the stored values, at the same places."""

def csr_relu6(x: Any) -> Any:
    """relu6 of the stored values, at the same places."""

def csr_round(x: Any) -> Any:
    """round of the stored values, at the same places."""

def csr_sigmoid(x: Any) -> Any:
    """sigmoid of the stored values, at the same places."""

def csr_sin(x: Any) -> Any:
    """sin of the stored values, at the same places."""

def csr_sinh(x: Any) -> Any:
    """sinh of the stored values, at the same places."""

def csr_softsign(x: Any) -> Any:
    """softsign of the stored values, at the same places."""

def csr_sqrt(x: Any) -> Any:
    """sqrt of the stored values, at the same places."""

def csr_square(x: Any) -> Any:
    """square of the stored values, at the same places."""

def csr_tan(x: Any) -> Any:
    """tan of the stored values, at the same places."""

def csr_tanh(x: Any) -> Any:
    """tanh of the stored values, at the same places."""

def digamma(x: Any, /) -> Tensor:
    """The derivative of lgamma."""

def divide(x: Any, y: Any, /) -> Tensor:
    """True quotient; integers give float32."""

def dropout1d(x: Tensor, p: float = ..., training: bool = ...) -> Tensor:
    """Dropout of whole channels: the last 1 axes are kept or dropped together."""

def dropout2d(x: Tensor, p: float = ..., training: bool = ...) -> Tensor:
    """Dropout of whole channels: the last 2 axes are kept or dropped together."""

def dropout3d(x: Tensor, p: float = ..., training: bool = ...) -> Tensor:
    """Dropout of whole channels: the last 3 axes are kept or dropped together."""

def dsplit(x: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """``tensor_split`` along axis 2."""

def equal(x: Any, y: Any, /) -> Tensor:
    """x equals y; NaN equals nothing."""

def erf(x: Any, /) -> Tensor:
    """The error function, 2/sqrt(pi) times the integral of exp(-t*t) from 0 to x."""

def erfc(x: Any, /) -> Tensor:
    """1 - erf(x), exact where erf is close to 1."""

def erfinv(x: Any, /) -> Tensor:
    """The inverse of the error function, on (-1, 1)."""

def exp(x: Any, /) -> Tensor:
    """e to the power of x."""

def exp2(x: Any, /) -> Tensor:
    """2 to the power of x."""

def expm1(x: Any, /) -> Tensor:
    """exp(x) - 1, exact near 0."""

def floor(x: Any, /) -> Tensor:
    """The next integer below."""

def floor_divide(x: Any, y: Any, /) -> Tensor:
    """Quotient rounded towards minus infinity."""

def fmod(x: Any, y: Any, /) -> Tensor:
    """Remainder with the sign of the dividend, as C's fmod."""

def gcd(x: Any, y: Any, /) -> Tensor:
    """The greatest common divisor."""

def greater(x: Any, y: Any, /) -> Tensor:
    """x is above y."""

def greater_equal(x: Any, y: Any, /) -> Tensor:
    """x is y or above."""

def hsplit(x: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """``tensor_split`` along axis 1 (a vector: along axis 0)."""

def hypot(x: Any, y: Any, /) -> Tensor:
    """sqrt(x*x + y*y) without overflow."""

def identity(x: Any, /) -> Tensor:
    """The value itself."""

def imag(x: Any, /) -> Tensor:
    """The imaginary part."""

def index(x: Any, /, *indices: Any, spec: Any) -> Tensor:
    """x[...] with NumPy's meaning: ints, slices, new axes and index tensors."""

def isfinite(x: Any, /) -> Tensor:
    """True where x is neither NaN nor infinite."""

def isinf(x: Any, /) -> Tensor:
    """True where x is plus or minus infinity."""

def isnan(x: Any, /) -> Tensor:
    """True where x is not a number."""

def lcm(x: Any, y: Any, /) -> Tensor:
    """The least common multiple."""

def less(x: Any, y: Any, /) -> Tensor:
    """x is below y."""

def less_equal(x: Any, y: Any, /) -> Tensor:
    """x is y or below."""

def lgamma(x: Any, /) -> Tensor:
    """The logarithm of the absolute value of the gamma function."""

def log(x: Any, /) -> Tensor:
    """Natural logarithm."""

def log10(x: Any, /) -> Tensor:
    """Logarithm to base 10."""

def log1p(x: Any, /) -> Tensor:
    """log(1 + x), exact near 0."""

def log2(x: Any, /) -> Tensor:
    """Logarithm to base 2."""

def logical_and(x: Any, y: Any, /) -> Tensor:
    """Both are true."""

def logical_not(x: Any, /) -> Tensor:
    """Not true."""

def logical_or(x: Any, y: Any, /) -> Tensor:
    """At least one is true."""

def logical_xor(x: Any, y: Any, /) -> Tensor:
    """Exactly one is true."""

def matmul(x: Any, y: Any, /) -> Tensor:
    """Matrix product over the last axis of x and the last but one of y; leading axes broadcast."""

def maximum(x: Any, y: Any, /) -> Tensor:
    """The larger of two; NaN wins. Ties share the gradient."""

def minimum(x: Any, y: Any, /) -> Tensor:
    """The smaller of two; NaN wins. Ties share the gradient."""

def multiply(x: Any, y: Any, /) -> Tensor:
    """Product of two tensors."""

def negative(x: Any, /) -> Tensor:
    """The negated value."""

def nextafter(x: Any, y: Any, /) -> Tensor:
    """The next number that the dtype has after x on the way to y."""

def not_equal(x: Any, y: Any, /) -> Tensor:
    """x differs from y."""

def population_count(x: Any, /) -> Tensor:
    """How many bits of the two's complement are set, as uint8."""

def positive(x: Any, /) -> Tensor:
    """The value itself."""

def power(x: Any, y: Any, /) -> Tensor:
    """x to the power of y; integers to a negative power are truncated."""

def random_integers(key: Any, /, *, low: Any = ..., high: Any = ..., shape: Any = ..., dtype: Any = ...) -> Tensor:
    """Whole numbers in [low, high)."""

def random_normal(key: Any, /, *, shape: Any = ..., dtype: Any = ...) -> Tensor:
    """Normal numbers of mean 0 and variance 1."""

def random_permutation(key: Any, /, *, n: Any = ...) -> Tensor:
    """The numbers 0 to n-1 in random order."""

def random_uniform(key: Any, /, *, shape: Any = ..., dtype: Any = ...) -> Tensor:
    """Uniform numbers in [0, 1)."""

def real(x: Any, /) -> Tensor:
    """The real part."""

def reciprocal(x: Any, /) -> Tensor:
    """1 / x; integers give float32."""

def relu(x: Any, /) -> Tensor:
    """x where positive, else 0."""

def remainder(x: Any, y: Any, /) -> Tensor:
    """Remainder of floor division; it has the sign of the divisor, as Python's %."""

def round(x: Any, /) -> Tensor:
    """The nearest integer, halves to the even one."""

def rsqrt(x: Any, /) -> Tensor:
    """Reciprocal of the square root."""

def scatter_div(input_x: Any, indices: Any, updates: Any, use_locking: bool = ...) -> Tensor:
    """The Parameter ``input_x`` with ``updates`` divided out at the rows ``indices``; it takes the new value."""

def scatter_max(input_x: Any, indices: Any, updates: Any, use_locking: bool = ...) -> Tensor:
    """The Parameter ``input_x`` with ``updates`` combined by max at the rows ``indices``; it takes the new value."""

def scatter_min(input_x: Any, indices: Any, updates: Any, use_locking: bool = ...) -> Tensor:
    """The Parameter ``input_x`` with ``updates`` combined by min at the rows ``indices``; it takes the new value."""

def scatter_mul(input_x: Any, indices: Any, updates: Any, use_locking: bool = ...) -> Tensor:
    """The Parameter ``input_x`` with ``updates`` multiplied in at the rows ``indices``; it takes the new value."""

def scatter_nd_add(input_x: Any, indices: Any, updates: Any, use_locking: bool = ...) -> Tensor:
    """The Parameter ``input_x`` with ``updates`` added at the coordinates ``indices[..., k]``; it takes the new
    value."""

def scatter_nd_div(input_x: Any, indices: Any, updates: Any, use_locking: bool = ...) -> Tensor:
    """The Parameter ``input_x`` with ``updates`` divided out at the coordinates ``indices[..., k]``; it takes the new
    value."""

def scatter_nd_max(input_x: Any, indices: Any, updates: Any, use_locking: bool = ...) -> Tensor:
    """The Parameter ``input_x`` with ``updates`` combined by max at the coordinates ``indices[..., k]``; it takes the
    new value."""

def scatter_nd_min(input_x: Any, indices: Any, updates: Any, use_locking: bool = ...) -> Tensor:
    """The Parameter ``input_x`` with ``updates`` combined by min at the coordinates ``indices[..., k]``; it takes the
    new value."""

def scatter_nd_mul(input_x: Any, indices: Any, updates: Any, use_locking: bool = ...) -> Tensor:
    """The Parameter ``input_x`` with ``updates`` multiplied in at the coordinates ``indices[..., k]``; it takes the new
    value."""

def scatter_nd_sub(input_x: Any, indices: Any, updates: Any, use_locking: bool = ...) -> Tensor:
    """The Parameter ``input_x`` with ``updates`` subtracted at the coordinates ``indices[..., k]``; it takes the new
    value."""

def scatter_nd_update(input_x: Any, indices: Any, updates: Any, use_locking: bool = ...) -> Tensor:
    """The Parameter ``input_x`` with ``updates`` written at the coordinates ``indices[..., k]``; it takes the new
    value."""

def scatter_non_aliasing_add(input_x: Any, indices: Any, updates: Any, use_locking: bool = ...) -> Tensor:
    """The Parameter ``input_x`` with ``updates`` added at the coordinates ``indices[..., k]``; it takes the new
    value."""

def scatter_sub(input_x: Any, indices: Any, updates: Any, use_locking: bool = ...) -> Tensor:
    """The Parameter ``input_x`` with ``updates`` subtracted at the rows ``indices``; it takes the new value."""

def select(condition: Any, x: Any, y: Any, /) -> Tensor:
    """x where the condition holds (is not zero), else y."""

def sigmoid(x: Any, /) -> Tensor:
    """1 / (1 + exp(-x)), from 0 to 1."""

def sign(x: Any, /) -> Tensor:
    """-1, 0 or 1 by the sign; NaN stays NaN."""

def sin(x: Any, /) -> Tensor:
    """Sine of radians."""

def sinh(x: Any, /) -> Tensor:
    """Hyperbolic sine."""

def slice_update(x: Any, value: Any, /, *, begin: Any, end: Any, step: Any) -> Tensor:
    """A tensor with a box of it replaced."""

def sqrt(x: Any, /) -> Tensor:
    """Square root."""

def square(x: Any, /) -> Tensor:
    """x times x."""

def stop_gradient(x: Any, /) -> Tensor:
    """The value itself, without a gradient."""

def subtract(x: Any, y: Any, /) -> Tensor:
    """Difference of two tensors."""

def tan(x: Any, /) -> Tensor:
    """Tangent of radians."""

def tanh(x: Any, /) -> Tensor:
    """Hyperbolic tangent."""

def tensor_scatter_add(x: Any, index: Any, updates: Any) -> Tensor:
    """``x`` with ``updates`` added at the coordinates ``index[..., k]``; x itself stays as it is."""

def tensor_scatter_div(x: Any, index: Any, updates: Any) -> Tensor:
    """``x`` with ``updates`` divided out at the coordinates ``index[..., k]``; x itself stays as it is."""

def tensor_scatter_max(x: Any, index: Any, updates: Any) -> Tensor:
    """``x`` with ``updates`` combined by max at the coordinates ``index[..., k]``; x itself stays as it is."""

def tensor_scatter_min(x: Any, index: Any, updates: Any) -> Tensor:
    """``x`` with ``updates`` combined by min at the coordinates ``index[..., k]``; x itself stays as it is."""

def tensor_scatter_mul(x: Any, index: Any, updates: Any) -> Tensor:
    """``x`` with ``updates`` multiplied in at the coordinates ``index[..., k]``; x itself stays as it is."""

def tensor_scatter_sub(x: Any, index: Any, updates: Any) -> Tensor:
    """``x`` with ``updates`` subtracted at the coordinates ``index[..., k]``; x itself stays as it is."""

def tensor_scatter_update(x: Any, index: Any, updates: Any) -> Tensor:
    """``x`` with ``updates`` written at the coordinates ``index[..., k]``; x itself stays as it is."""

def trunc(x: Any, /) -> Tensor:
    """The fraction cut off."""

def vsplit(x: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """``tensor_split`` along axis 0."""

absolute = abs
arccos = acos
arccosh = acosh
arcsin = asin
arcsinh = asinh
arctan = atan
arctan2 = atan2
arctanh = atanh
bitwise_not = bitwise_invert
cat = concat
concatenate = concat
div = divide
eq = equal
floor_div = floor_divide
floor_mod = remainder
ge = greater_equal
gt = greater
hard_sigmoid = hardsigmoid
hard_swish = hardswish
hard_tanh = hardtanh
i0 = bessel_i0
inv = reciprocal
invert = bitwise_invert
le = less_equal
left_shift = bitwise_left_shift
lt = less
mod = remainder
mul = multiply
ne = not_equal
neg = negative
pow = power
reduce_all = all
reduce_any = any
reduce_max = amax
reduce_mean = mean
reduce_min = amin
reduce_prod = prod
reduce_sum = sum
right_shift = bitwise_right_shift
row_stack = vstack
slice = slice_
sub = subtract
swish = silu
true_divide = divide
