"""The methods that msnb.ops gives to Tensor, typed.

Made by tools/stubs.py from what msnb.ops is; do not edit."""

from builtins import bool as _bool, float as _float, int as _int
from typing import Any

from typing_extensions import Self

from msnb.api.function_tracing import Fn
from msnb.api.transforms.tensor_hooks import HookHandle
from msnb.core.tensor import Tensor
from msnb.ops.definition.keyword_aliases import ValuesAndIndices
from msnb.ops.definition.window_geometry import IntOrInts
from msnb.ops.sparse.compressed_rows import CSRTensor
from msnb.ops.sparse.coordinates import COOTensor

class TensorMethods:
    """What Tensor can do beside what its class says."""

    def _become(self, *args: Any, **options: Any) -> Self:
        """Become what the method without the underscore gives."""
    @property
    def H(self) -> Tensor:
        """Matrices with their last two axes exchanged and complex numbers conjugated."""
    @property
    def T(self) -> Tensor:
        """Two axes exchanged, or all of them in another order; without arguments, reversed."""
    def abs(self) -> Tensor:
        """Absolute value (modulus of complex numbers)."""
    abs_ = _become
    absolute = abs
    def acos(self) -> Tensor:
        """Inverse cosine in radians."""
    def acosh(self) -> Tensor:
        """Inverse hyperbolic cosine."""
    def add(self, other: Any, *, alpha: Any = ...) -> Tensor:
        """Sum of two tensors. ``alpha`` scales the other operand."""
    add_ = _become
    def addbmm(self, x: Any, y: Any, *, beta: Any = ..., alpha: Any = ...) -> Tensor:
        """``beta * c + alpha * sum(x @ y)``: the products of a stack added up."""
    def addcdiv(self, tensor1: Any, tensor2: Any, value: Any = ...) -> Tensor:
        """input + value tensor1 / tensor2."""
    addcdiv_ = _become
    def addcmul(self, tensor1: Any, tensor2: Any, value: Any = ...) -> Tensor:
        """input + value tensor1 tensor2."""
    addcmul_ = _become
    def addmm(self, x: Any, y: Any, *, beta: Any = ..., alpha: Any = ...) -> Tensor:
        """``beta * c + alpha * (x @ y)`` for matrices."""
    addmm_ = _become
    def addmv(self, x: Any, v: Any, *, beta: Any = ..., alpha: Any = ...) -> Tensor:
        """``beta * c + alpha * (x @ v)``."""
    def addr(self, vec1: Any, vec2: Any, beta: Any = ..., alpha: Any = ...) -> Any:
        """beta x + alpha times the outer product of two vectors."""
    addr_ = _become
    def adjoint(self) -> Tensor:
        """Matrices with their last two axes exchanged and complex numbers conjugated."""
    def all(self, axis: Any = ..., keepdims: _bool = ...) -> Tensor:
        """True where every element over the axes is true (not zero)."""
    def allclose(self, y: Any, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> Tensor:
        """True when every element ``isclose``."""
    def amax(self, axis: Any = ..., keepdims: _bool = ..., *, initial: Any = ..., where: Any = ...) -> Tensor:
        """Largest element over axes, never with its index; as ``max``."""
    def amin(self, axis: Any = ..., keepdims: _bool = ..., *, initial: Any = ..., where: Any = ...) -> Tensor:
        """Smallest element over axes, never with its index; as ``amax``."""
    def aminmax(self, *, axis: _int | None = ..., keepdims: _bool = ...) -> tuple[Any, Any]:
        """The smallest and the largest value along an axis (None: of all)."""
    def angle(self) -> Tensor:
        """The angle in radians, from -pi to pi."""
    def any(self, axis: Any = ..., keepdims: _bool = ...) -> Tensor:
        """True where some element over the axes is true (not zero)."""
    def approximate_equal(self, other: Any, tolerance: _float = ...) -> Tensor:
        """True where two tensors differ by less than ``tolerance``."""
    arccos = acos
    arccosh = acosh
    def arcsin(self) -> Tensor:
        """Inverse sine in radians."""
    def arcsinh(self) -> Tensor:
        """Inverse hyperbolic sine."""
    def arctan(self) -> Tensor:
        """Inverse tangent in radians."""
    def arctan2(self, other: Any) -> Tensor:
        """Angle of the point (y, x) in radians, from -pi to pi."""
    def arctanh(self) -> Tensor:
        """Inverse hyperbolic tangent."""
    def argmax(self, axis: Any = ..., keepdims: _bool = ...) -> Tensor:
        """Index of the first largest element along ``axis`` (None: of the flattened tensor), int64."""
    def argmax_with_value(self, axis: _int = ..., keep_dims: _bool = ...) -> tuple[Tensor, Tensor]:
        """The largest values along an axis, and their places, to which the gradient goes."""
    def argmin(self, axis: Any = ..., keepdims: _bool = ...) -> Tensor:
        """Index of the first smallest element; as ``argmax``."""
    def argmin_with_value(self, axis: _int = ..., keep_dims: _bool = ...) -> tuple[Tensor, Tensor]:
        """The smallest values along an axis, and their places, to which the gradient goes."""
    def argsort(self, axis: _int = ..., descending: _bool = ..., stable: _bool = ...) -> Tensor:
        """The indices that would sort ``x`` along ``axis`` (see ``sort``)."""
    def argwhere(self) -> Tensor:
        """Same as ``nonzero``: one row per element that is not zero."""
    asin = arcsin
    asinh = arcsinh
    def assign_value(self, value: Any) -> Tensor:
        """Take the value with its shape and dtype (in a compiled program they must be the variable's); gradients of a
        tensor that is no Parameter go on to what it was computed from."""
    def astype(self, dtype: Any, copy: _bool = ...) -> Tensor:
        """The same values in another dtype; with ``copy`` a tensor of its own, also where nothing changes."""
    atan = arctan
    atan2 = arctan2
    atanh = arctanh
    def baddbmm(self, x: Any, y: Any, beta: Any = ..., alpha: Any = ...) -> Tensor:
        """``beta * c + alpha * (x @ y)`` for stacks of matrices, or for two matrices."""
    def bernoulli(self, shape: Any = ..., *, seed: Any = ..., generator: Any = ...) -> Tensor:
        """1 with probability ``p``, else 0, in the shape of ``p`` (or ``shape``) and its dtype."""
    bernoulli_ = _become
    def bfloat16(self) -> Tensor:
        """The values as bfloat16."""
    def bincount(self, weights: Any = ..., minlength: _int = ...) -> Tensor:
        """How often every integer from 0 on occurs in the vector ``x``, or the sums of its weights."""
    def bitwise_and(self, other: Any) -> Tensor:
        """And of every bit."""
    def bitwise_left_shift(self, other: Any) -> Tensor:
        """Bits moved up by y places."""
    def bitwise_not(self) -> Tensor:
        """Every bit turned over; a bool is negated."""
    def bitwise_or(self, other: Any) -> Tensor:
        """Or of every bit."""
    def bitwise_right_shift(self, other: Any) -> Tensor:
        """Bits moved down by y places; the sign stays."""
    def bitwise_xor(self, other: Any) -> Tensor:
        """Exclusive or of every bit."""
    def bmm(self, y: Any) -> Tensor:
        """Matrix products of two stacks of matrices, [b,m,k] and [b,k,n]."""
    def bool(self) -> Tensor:
        """The values as bool."""
    def broadcast_to(self, *sizes: Any, shape: Any = ...) -> Tensor:
        """Repeat ``x`` along new axes and axes of size 1."""
    def byte(self) -> Tensor:
        """The values as uint8."""
    def cauchy(self, median: _float = ..., sigma: _float = ...) -> Tensor:
        """Draws of the Cauchy distribution in the shape of the tensor."""
    def cdist(self, x2: Any, p: _float = ...) -> Tensor:
        """The distances of all pairs of rows."""
    def ceil(self) -> Tensor:
        """The next integer above."""
    ceil_ = _become
    def cholesky(self, upper: _bool = ...) -> Tensor:
        """The lower triangular L with L L' = x (or its transpose, ``upper``)."""
    def cholesky_inverse(self, upper: _bool = ...) -> Any:
        """The inverse of the matrix whose Cholesky factor is given: (L L')^-1, or (U' U)^-1 with ``upper``."""
    def cholesky_solve(self, input2: Any, upper: _bool = ...) -> Any:
        """The x with A x = ``input``, where ``input2`` is the Cholesky factor of A."""
    def choose(self, choices: Any, mode: str = ...) -> Tensor:
        """At each place the element of ``choices[x]``; places outside are clipped or counted on from 0 ('wrap')."""
    def chunk(self, chunks: _int, axis: _int = ...) -> tuple[Tensor, ...]:
        """At most ``chunks`` parts of one size, the last one smaller (PyTorch's and MindSpore's rule)."""
    def clamp(self, min: Any = ..., max: Any = ...) -> Tensor:
        """x between ``min`` and ``max`` (numbers or tensors; None: no bound). On a bound the derivative by x is 1."""
    clamp_ = _become
    clip = clamp
    clip_ = _become
    def clone(self) -> Tensor:
        """The same value as a Tensor of its own."""
    def col2im(
        self,
        output_size: Any,
        kernel_size: IntOrInts,
        dilation: IntOrInts,
        padding_value: IntOrInts,
        stride: IntOrInts,
    ) -> Any:
        """``fold`` of columns that have an axis for the places of a window."""
    def conj(self) -> Tensor:
        """The complex conjugate."""
    def copy(self) -> Tensor:
        """The same value as a Tensor of its own."""
    copy_ = _become
    def copysign(self, other: Any) -> Tensor:
        """|x| with the sign of ``other``; of the two zeros the negative one counts as negative."""
    def corrcoef(self) -> Tensor:
        """Pearson's correlations of the rows of ``x`` [variables, observations]."""
    def cos(self) -> Tensor:
        """Cosine of radians."""
    cos_ = _become
    def cosh(self) -> Tensor:
        """Hyperbolic cosine."""
    def count_nonzero(self, axis: Any = ..., keepdims: _bool = ...) -> Tensor:
        """How many elements over the axes are not zero, int64."""
    def cov(self, *, correction: _int = ..., fweights: Any = ..., aweights: Any = ..., rowvar: _bool = ...) -> Tensor:
        """The covariances of variables."""
    def cross(self, y: Any, dim: _int | None = ...) -> Tensor:
        """Cross products of vectors of three elements along an axis."""
    def cummax(self, axis: _int = ...) -> tuple[Tensor, Tensor]:
        """(largest so far, where it stands) along ``axis``."""
    def cummin(self, axis: _int = ...) -> tuple[Tensor, Tensor]:
        """(smallest so far, where it stands) along ``axis``."""
    def cumprod(self, axis: _int = ..., dtype: Any = ..., *, exclusive: _bool = ..., reverse: _bool = ...) -> Tensor:
        """Running product along ``axis``; arguments as ``cumsum``."""
    def cumsum(self, axis: _int = ..., dtype: Any = ..., *, exclusive: _bool = ..., reverse: _bool = ...) -> Tensor:
        """Running sum along ``axis``."""
    def deg2rad(self) -> Tensor:
        """Degrees to radians."""
    def det(self) -> Tensor:
        """The determinant of every matrix."""
    def detach(self) -> Tensor:
        """The same value, through which no gradient flows."""
    def diag(self, diagonal_: _int = ..., *, diagonal: _int | None = ...) -> Tensor:
        """A vector becomes a diagonal matrix, a matrix gives its diagonal."""
    def diag_embed(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
        """Matrices with the last axis of ``x`` on a diagonal and zeros elsewhere."""
    def diagflat(self, offset: _int = ...) -> Tensor:
        """A matrix of zeros with all elements of a tensor on a diagonal."""
    def diagonal(self, offset: _int = ..., axis1: _int = ..., axis2: _int = ...) -> Tensor:
        """The diagonals of the matrices that two axes span, along a new last axis."""
    def diagonal_scatter(self, src: Any, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Any:
        """A copy of ``input`` with ``src`` on a diagonal of the axes ``dim1`` and ``dim2``."""
    def diff(self, n: _int = ..., axis: _int = ..., prepend: Any = ..., append: Any = ...) -> Tensor:
        """Neighbour minus neighbour along an axis, ``n`` times over."""
    def digamma(self) -> Tensor:
        """The derivative of lgamma."""
    def dist(self, x2: Any, p: _float = ...) -> Tensor:
        """The norm of the difference of two tensors as a whole."""
    def div(self, other: Any, *, rounding_mode: str | None = ...) -> Tensor:
        """The quotient; rounded down with 'floor', towards zero with 'trunc'."""
    div_ = _become
    divide = div
    def dot(self, y: Any) -> Tensor:
        """Inner product of two vectors; for more axes NumPy's: last axis of x with the last but one of y."""
    def double(self) -> Tensor:
        """The values as float64."""
    def dsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """``tensor_split`` along axis 2."""
    def eigvals(self) -> Tensor:
        """The eigenvalues of square matrices, as ``eig`` gives them."""
    def eq(self, other: Any) -> Tensor:
        """x equals y; NaN equals nothing."""
    equal = eq
    def erf(self) -> Tensor:
        """The error function, 2/sqrt(pi) times the integral of exp(-t*t) from 0 to x."""
    erf_ = _become
    def erfc(self) -> Tensor:
        """1 - erf(x), exact where erf is close to 1."""
    def erfinv(self) -> Tensor:
        """The inverse of the error function, on (-1, 1)."""
    erfinv_ = _become
    def exp(self) -> Tensor:
        """e to the power of x."""
    def exp2(self) -> Tensor:
        """2 to the power of x."""
    exp_ = _become
    expand = broadcast_to
    def expand_as(self, other: Any) -> Tensor:
        """``x`` broadcast to the shape of ``other``."""
    def expand_dims(self, axis: Any) -> Tensor:
        """A new axis of size 1 at position ``axis`` of the result (several for a tuple)."""
    def expm1(self) -> Tensor:
        """exp(x) - 1, exact near 0."""
    exponential_ = _become
    def fill(self, value: Any) -> Tensor:
        """A tensor of this shape and dtype with ``value`` everywhere."""
    fill_ = _become
    def fill_diagonal(self, fill_value: _float, wrap: _bool = ...) -> Tensor:
        """A copy with a number on the main diagonal; of a tall matrix, with ``wrap``, again below each square."""
    fill_diagonal_ = _become
    def fills(self, value: Any) -> Tensor:
        """A tensor of this shape and dtype with ``value`` everywhere."""
    def flatten(
        self, order: Any = ..., end: _int | None = ..., *, start_dim: _int = ..., end_dim: _int = ...
    ) -> Tensor:
        """All elements as a vector; or the axes from ``start_dim`` to ``end_dim`` merged."""
    def flip(self, *axes: Any, axis: Any = ...) -> Tensor:
        """Elements in reverse order along the given axes (all where none are given; ``()`` gives none and turns
        none)."""
    def fliplr(self) -> Tensor:
        """Reversed along axis 1."""
    def flipud(self) -> Tensor:
        """Reversed along axis 0."""
    def float(self) -> Tensor:
        """The values as float32."""
    def float_power(self, exponent: Any) -> Tensor:
        """Power in float64, of complex numbers in complex128."""
    def floor(self) -> Tensor:
        """The next integer below."""
    floor_ = _become
    def floor_divide(self, other: Any) -> Tensor:
        """Quotient rounded towards minus infinity."""
    floor_divide_ = _become
    def fmax(self, other: Any) -> Tensor:
        """The larger of two; of a number and NaN the number. At a tie the gradient goes to ``x``."""
    def fmin(self, other: Any) -> Tensor:
        """The smaller of two; of a number and NaN the number. At a tie the gradient goes to ``x``."""
    def fmod(self, other: Any) -> Tensor:
        """Remainder with the sign of the dividend, as C's fmod."""
    def fold(
        self,
        output_size: Any,
        kernel_size: IntOrInts,
        dilation: IntOrInts = ...,
        padding: IntOrInts = ...,
        stride: IntOrInts = ...,
    ) -> Any:
        """Columns of windows back into an image; where windows overlap, they are summed (col2im)."""
    def frac(self) -> Tensor:
        """x less its integer part."""
    def gather(self, index: Any, axis: Any = ..., batch_dims: _int = ..., *, dim: _int | None = ...) -> Tensor:
        """The slices of ``x`` along ``axis`` that ``index`` names."""
    def gather_elements(self, axis: _int, index: Any) -> Tensor:
        """One index per element of the result: ``out[i][j] = x[index[i][j]][j]`` for axis 0."""
    def gather_nd(self, index: Any) -> Tensor:
        """The elements (or slices) of ``x`` at coordinates."""
    def gcd(self, other: Any) -> Tensor:
        """The greatest common divisor."""
    def ge(self, other: Any) -> Tensor:
        """x is y or above."""
    def gelu(self, approximate: str = ...) -> Tensor:
        """x times the normal distribution function of x; ``approximate='tanh'`` uses the tanh formula."""
    def geqrf(self) -> tuple[Any, Any]:
        """The QR factors as LAPACK stores them: R above, the vectors of the reflections below the diagonal."""
    def ger(self, vec2: Any) -> Any:
        """The outer product of two vectors."""
    def get_bytes(self) -> bytes:
        """The elements as they lie in memory."""
    def greater(self, other: Any) -> Tensor:
        """x is above y."""
    greater_equal = ge
    gt = greater
    def half(self) -> Tensor:
        """The values as float16."""
    def hardshrink(self, lambd: _float = ...) -> Tensor:
        """0 where |x| <= lambd, else x; NaN stays."""
    def heaviside(self, values: Any) -> Tensor:
        """0 below 0, 1 above, ``values`` at 0."""
    def histc(self, bins: _int = ..., min: _float = ..., max: _float = ...) -> Tensor:
        """How many values fall into each of ``bins`` equal intervals."""
    def hooks(self) -> tuple[Fn, ...]:
        """The hooks of a tensor's gradient, in the order in which they were registered; a write in place ends them."""
    def hsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """``tensor_split`` along axis 1 (a vector: along axis 0)."""
    def hypot(self, other: Any) -> Tensor:
        """sqrt(x*x + y*y) without overflow."""
    def i0(self) -> Tensor:
        """The modified Bessel function of the first kind of order 0."""
    def igamma(self, other: Any) -> Any:
        """The regularized lower incomplete gamma function P(input, other)."""
    def igammac(self, other: Any) -> Any:
        """The regularized upper incomplete gamma function, 1 - igamma(input, other), exact where that is small."""
    @property
    def imag(self) -> Tensor:
        """The imaginary part."""
    def index_add(
        self,
        *operands: Any,
        axis: Any = ...,
        index: Any = ...,
        src: Any = ...,
        alpha: Any = ...,
        **named: Any,
    ) -> Tensor:
        """``x`` with the slices of ``src`` added to the slices along ``axis`` that ``index`` names."""
    index_add_ = _become
    def index_copy(self, axis: _int, index: Any, src: Any) -> Tensor:
        """``x`` with the slices along ``axis`` that ``index`` names replaced by those of ``src``."""
    index_copy_ = _become
    def index_fill(self, axis: _int, index: Any, value: Any) -> Tensor:
        """``x`` with one number in the slices along ``axis`` that ``index`` names."""
    index_fill_ = _become
    def index_put(self, indices: Any, values: Any, accumulate: _bool = ...) -> Tensor:
        """A copy with ``values`` written at (or, with ``accumulate``, added to) the places that index tensors name; one
        of bools stands for the places where it is True."""
    index_put_ = _become
    def index_select(self, axis: _int, index: Any) -> Tensor:
        """``gather`` with the arguments in PyTorch's order; ``index`` is a vector."""
    def inner(self, y: Any) -> Tensor:
        """Products summed over the last axis of both."""
    def inplace_update(self, v: Any, indices: Any) -> Any:
        """A copy of x with the rows of v at ``indices``."""
    def int(self) -> Tensor:
        """The values as int32."""
    def interpolate(
        self,
        size: Any = ...,
        scale_factor: Any = ...,
        mode: str = ...,
        align_corners: _bool | None = ...,
        recompute_scale_factor: _bool | None = ...,
    ) -> Any:
        """Images (or rows, or volumes) of another size."""
    def inv(self) -> Tensor:
        """1 / x."""
    def inverse(self) -> Tensor:
        """The inverse of every matrix."""
    def invert(self) -> Tensor:
        """All bits turned round: ``~x``."""
    def is_complex(self) -> _bool:
        """True when the tensor's dtype is complex."""
    def is_pinned(self) -> _bool:
        """False: a tensor lies in memory of its own, neither shared with other processes nor pinned."""
    def is_shared(self) -> _bool:
        """False: a tensor lies in memory of its own, neither shared with other processes nor pinned."""
    def is_signed(self) -> _bool:
        """Whether the dtype has negative numbers."""
    def isclose(self, y: Any, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> Tensor:
        """|x - y| <= atol + rtol |y|; equal infinities are close."""
    def isfinite(self) -> Tensor:
        """True where x is neither NaN nor infinite."""
    def isinf(self) -> Tensor:
        """True where x is plus or minus infinity."""
    def isnan(self) -> Tensor:
        """True where x is not a number."""
    def isneginf(self) -> Any:
        """True where a number is minus infinity."""
    def isposinf(self) -> Any:
        """True where a number is plus infinity."""
    def isreal(self) -> Any:
        """True where the imaginary part is 0."""
    def itemset(self, *args: Any) -> Tensor:
        """A copy with one element replaced: ``x.itemset((0, 1), 3.0)``."""
    @property
    def kept_hooks(self) -> Tensor:
        """The hooks that a plain Tensor keeps."""
    def kthvalue(self, k: _int, dim: _int = ..., keepdim: _bool = ...) -> ValuesAndIndices:
        """The k-th smallest element along an axis (k counts from 1) and where it stood."""
    def lcm(self, other: Any) -> Tensor:
        """The least common multiple."""
    def ldexp(self, other: Any) -> Any:
        """x times 2 to the power of ``other``."""
    def le(self, other: Any) -> Tensor:
        """x is y or below."""
    def lerp(self, end: Any, weight: Any) -> Tensor:
        """input + weight (end - input)."""
    lerp_ = _become
    def less(self, other: Any) -> Tensor:
        """x is below y."""
    less_equal = le
    def lgamma(self) -> Tensor:
        """The logarithm of the absolute value of the gamma function."""
    def log(self) -> Tensor:
        """Natural logarithm."""
    def log10(self) -> Tensor:
        """Logarithm to base 10."""
    def log1p(self) -> Tensor:
        """log(1 + x), exact near 0."""
    def log2(self) -> Tensor:
        """Logarithm to base 2."""
    log_ = _become
    def log_matrix_determinant(self) -> tuple[Any, Any]:
        """Sign and logarithm of the absolute value of the determinant of every matrix."""
    def log_normal(self, mean: _float = ..., std: _float = ...) -> Tensor:
        """exp of normal draws in the shape of the tensor."""
    def log_softmax(self, axis: _int = ..., dtype: Any = ...) -> Tensor:
        """log(softmax(x)) along ``axis``, exact where softmax is close to 0."""
    def logaddexp(self, y: Any) -> Tensor:
        """log(exp(x) + exp(y)) without overflow."""
    def logaddexp2(self, other: Any) -> Tensor:
        """log2(2^x + 2^other), without overflow."""
    def logcumsumexp(self, axis: _int) -> Tensor:
        """log(exp(x[0]) + ... + exp(x[i])) along an axis."""
    def logdet(self) -> Tensor:
        """The logarithm of the determinant; NaN where that is negative."""
    def logical_and(self, other: Any) -> Tensor:
        """Both are true."""
    def logical_not(self) -> Tensor:
        """Not true."""
    def logical_or(self, other: Any) -> Tensor:
        """At least one is true."""
    def logical_xor(self, other: Any) -> Tensor:
        """Exactly one is true."""
    def logit(self, eps: _float | None = ...) -> Tensor:
        """log(x / (1 - x)), the inverse of sigmoid; ``eps`` keeps x in [eps, 1 - eps]."""
    def logsumexp(self, axis: Any = ..., keepdims: _bool = ...) -> Tensor:
        """log(sum(exp(x))) over axes, without overflow: the largest element is taken out first."""
    def long(self) -> Tensor:
        """The values as int64."""
    def lstsq(self, b: Any) -> Any:
        """The solution of x y = b in least squares, the shortest one where there are several."""
    lt = less
    def lu_solve(self, LU_data: Any, LU_pivots: Any) -> Any:
        """The x with A x = b, from the LU factors of A."""
    mH = H
    @property
    def mT(self) -> Tensor:
        """The last two axes exchanged."""
    def masked_fill(self, mask: Any, value: Any) -> Tensor:
        """``x`` with ``value`` (one number) where ``mask`` is True; x and mask broadcast."""
    masked_fill_ = _become
    def masked_scatter(self, mask: Any, source: Any) -> Tensor:
        """``x`` with the first elements of ``source``, in order, where ``mask`` is True."""
    masked_scatter_ = _become
    def masked_select(self, mask: Any) -> Tensor:
        """The elements of ``x`` where ``mask`` is True, as a vector; both broadcast."""
    def matmul(self, other: Any) -> Tensor:
        """Matrix product over the last axis of x and the last but one of y; leading axes broadcast."""
    matrix_determinant = det
    def matrix_power(self, n: _int) -> Tensor:
        """The product of n copies of every matrix; a negative n takes the inverse, which integers have not."""
    def max(self, *place: Any, **words: Any) -> Any:
        """Largest element: of all, or along an axis together with its index. NaN wins. Ties share the gradient, except
        along an axis with indices: there it goes to the element whose index is given."""
    def maximum(self, other: Any) -> Tensor:
        """The larger of two; NaN wins. Ties share the gradient."""
    def mean(self, axis: Any = ..., keepdims: _bool = ..., *, dtype: Any = ...) -> Tensor:
        """Mean over axes; arguments as ``sum``. Ints give float32."""
    def median(self, axis: _int | None = ..., keepdims: _bool = ...) -> Any:
        """The middle element, of an even number the lower of the two: of all, or along an axis together with its index.
        Where there is a NaN it is the result; ``nanmedian`` leaves them out."""
    def min(self, *place: Any, **words: Any) -> Any:
        """Smallest element; as ``max``, with ``initial`` from above. By ``axis=``, ``keepdims=``, ``initial=`` or
        ``where=`` the values alone."""
    def minimum(self, other: Any) -> Tensor:
        """The smaller of two; NaN wins. Ties share the gradient."""
    def mm(self, y: Any) -> Tensor:
        """Matrix product of two matrices (PyTorch's name; ``matmul`` takes more)."""
    def moveaxis(self, source: Any, destination: Any) -> Tensor:
        """Axes moved to other positions, the rest in their old order."""
    movedim = moveaxis
    def msort(self) -> Tensor:
        """``x`` sorted along its first axis."""
    def mul(self, other: Any) -> Tensor:
        """Product of two tensors."""
    mul_ = _become
    def multinomial(
        self,
        num_samples: _int,
        replacement: _bool = ...,
        seed: Any = ...,
        *,
        generator: Any = ...,
    ) -> Tensor:
        """Draws of classes with probabilities proportional to ``weights`` along the last axis."""
    multiply = mul
    def mv(self, v: Any) -> Tensor:
        """Matrix times vector."""
    def mvlgamma(self, p: _int) -> Any:
        """The logarithm of the multivariate gamma function of dimension ``p``."""
    def nan_to_num(self, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ...) -> Tensor:
        """NaN replaced by a number, 0 for None; infinities by the largest finite numbers of the dtype unless given."""
    nan_to_num_ = _become
    def nanmean(self, axis: Any = ..., keepdims: _bool = ..., *, dtype: Any = ...) -> Tensor:
        """Mean over axes of what is not NaN, in a dtype if one is asked for."""
    def nanmedian(self, axis: _int | None = ..., keepdims: _bool = ...) -> Tensor:
        """The middle of the values that are numbers; of two middle ones the lower, as for ``median``."""
    def nanquantile(self, q: Any, axis: _int | None = ..., keepdims: _bool = ...) -> Tensor:
        """``quantile`` of the values that are numbers: NaNs do not count."""
    def nansum(self, axis: Any = ..., keepdims: _bool = ...) -> Tensor:
        """Sum over axes, NaN counting as 0."""
    def narrow(self, axis: _int, start: _int, length: _int) -> Tensor:
        """``length`` elements of an axis from ``start`` on."""
    def ndimension(self) -> _int:
        """The number of axes (PyTorch's word)."""
    def ne(self, other: Any) -> Tensor:
        """x differs from y."""
    def neg(self) -> Tensor:
        """The negated value."""
    neg_ = _become
    negative = neg
    def nelement(self) -> _int:
        """The number of elements: ``x.size``."""
    def new_empty(self, size: Any, *, dtype: Any = ..., device: str | None = ...) -> Tensor:
        """A tensor of another shape in this one's dtype, its values unknown; ``device`` names where it is."""
    def new_full(self, size: Any, fill_value: Any, *, dtype: Any = ...) -> Tensor:
        """A tensor of another shape in this one's dtype."""
    def new_ones(self, *size: Any, shape: Any = ..., dtype: Any = ...) -> Tensor:
        """A tensor of another shape full of 1, in this one's dtype."""
    def new_zeros(self, *size: Any, shape: Any = ..., dtype: Any = ...) -> Tensor:
        """A tensor of another shape full of 0, in this one's dtype."""
    def nextafter(self, other: Any) -> Tensor:
        """The next number that the dtype has after x on the way to y."""
    def nonzero(self, as_tuple: _bool = ...) -> Any:
        """The positions of the elements that are not zero."""
    def norm(self, ord: Any = ..., dim: Any = ..., keepdim: _bool = ..., *, p: Any = ..., dtype: Any = ...) -> Tensor:
        """The norm of vectors or of matrices."""
    normal_ = _become
    not_equal = ne
    def orgqr(self, input2: Any) -> Any:
        """The first n columns of Q, from the factors and scales that ``geqrf`` gives."""
    def ormqr(self, tau: Any, other: Any, left: _bool = ..., transpose: _bool = ...) -> Any:
        """Q other (or Q' other, other Q, other Q'; Q' is conjugated too), from the factors and scales that ``geqrf``
        gives."""
    def outer(self, y: Any) -> Tensor:
        """Every product of an element of x with one of y, [m] and [n] to [m,n] (other shapes are flattened)."""
    def permute(self, *axes: Any, perm: Any = ...) -> Tensor:
        """The axes of ``x`` in another order; without arguments, reversed."""
    def pinv(self, rtol: Any = ..., *, atol: Any = ..., hermitian: _bool = ...) -> Tensor:
        """The pseudo-inverse (Moore and Penrose)."""
    def positive(self) -> Tensor:
        """The values themselves: ``+x``."""
    def pow(self, other: Any) -> Tensor:
        """x to the power of y; integers to a negative power are truncated."""
    pow_ = _become
    def prod(self, axis: Any = ..., keepdims: _bool = ..., dtype: Any = ...) -> Tensor:
        """Product over axes; arguments as ``sum``."""
    def ptp(self, axis: Any = ..., keepdims: _bool = ...) -> Tensor:
        """Largest less smallest element over axes."""
    put_ = _become
    def qr(self, some: _bool | str = ...) -> tuple[Any, Any]:
        """Q and R; of ``some`` false, or the mode 'complete', all columns of Q."""
    def quantile(self, q: Any, axis: _int | None = ..., keepdims: _bool = ..., interpolation: str = ...) -> Tensor:
        """The value below which a share ``q`` of all values lies."""
    def rad2deg(self) -> Tensor:
        """Radians to degrees."""
    random_ = _become
    def random_categorical(self, num_sample: _int, seed: _int = ..., dtype: Any = ...) -> Any:
        """``num_sample`` classes drawn for each row of logits."""
    def ravel(self) -> Tensor:
        """All elements as a vector."""
    @property
    def real(self) -> Tensor:
        """The real part."""
    def reciprocal(self) -> Tensor:
        """1 / x; integers give float32."""
    reciprocal_ = _become
    def register_hook(self, hook: Fn) -> HookHandle:
        """Call ``hook(grad)`` when the gradient of ``x`` is known."""
    def relu(self) -> Tensor:
        """x where positive, else 0."""
    relu_ = _become
    def remainder(self, other: Any) -> Tensor:
        """Remainder of floor division; it has the sign of the divisor, as Python's %."""
    remainder_ = _become
    def renorm(self, p: _float, axis: _int, maxnorm: _float) -> Any:
        """Every slice along ``axis`` with a p-norm above ``maxnorm`` is scaled down to it."""
    def repeat(self, repeats: Any, *rest: Any, axis: Any = ...) -> Tensor:
        """Every element ``repeats`` times, along ``axis`` or flattened, as in NumPy; of three numbers or more,
        ``tile``, as in PyTorch; warns where that may be meant."""
    def repeat_interleave(self, repeats: Any, axis: _int | None = ..., *, output_size: _int | None = ...) -> Tensor:
        """Every element repeated in place."""
    def reshape(self, *sizes: Any, shape: Any = ...) -> Tensor:
        """The same elements in the same order under another shape."""
    def reshape_as(self, other: Any) -> Tensor:
        """``x`` in the shape of ``other``, which holds as many elements."""
    def resize(self, *new_shape: Any) -> Tensor:
        """The elements in another shape: as many as it holds, zeros behind them where it holds more; of none: as it
        is."""
    def reverse(self, axis: Any) -> Any:
        """x in the other order along an axis or several."""
    def reverse_sequence(self, seq_lengths: Any, seq_dim: _int = ..., batch_dim: _int = ...) -> Any:
        """The first ``seq_lengths[i]`` elements along ``seq_dim`` of batch i in the other order; the rest as it is."""
    def roll(self, shifts: Any, dims: Any = ...) -> Tensor:
        """Elements moved along axes; those that fall off one end come back at the other."""
    def rot90(self, k: _int = ..., dims: Any = ...) -> Tensor:
        """The plane of two axes turned by k quarter turns, from the first axis towards the second."""
    def round(self) -> Tensor:
        """The nearest integer, halves to the even one."""
    round_ = _become
    def rsqrt(self) -> Tensor:
        """Reciprocal of the square root."""
    rsqrt_ = _become
    def scatter(self, axis: _int, index: Any, src: Any = ..., reduce: str = ..., *, value: Any = ...) -> Tensor:
        """``tensor_scatter_elements`` with PyTorch's order of arguments; of a larger ``src`` the part that index
        spans."""
    scatter_ = _become
    def scatter_add(self, axis: Any, index: Any, src: Any = ...) -> Tensor:
        """One addition per element of ``index`` along ``axis``; or, called as ``x.scatter_add(indices, updates)``, of
        parts at places [..., k]."""
    scatter_add_ = _become
    def scatter_div(self, index: Any, updates: Any) -> Tensor:
        """``x`` with ``updates`` divided out at the coordinates ``index[..., k]``; x itself stays as it is."""
    def scatter_max(self, index: Any, updates: Any) -> Tensor:
        """``x`` with ``updates`` combined by max at the coordinates ``index[..., k]``; x itself stays as it is."""
    def scatter_min(self, index: Any, updates: Any) -> Tensor:
        """``x`` with ``updates`` combined by min at the coordinates ``index[..., k]``; x itself stays as it is."""
    def scatter_mul(self, index: Any, updates: Any) -> Tensor:
        """``x`` with ``updates`` multiplied in at the coordinates ``index[..., k]``; x itself stays as it is."""
    def scatter_reduce(self, axis: _int, index: Any, src: Any, reduce: str, *, include_self: _bool = ...) -> Tensor:
        """``x`` with one number per element of ``index`` combined in, in PyTorch's words."""
    def scatter_sub(self, index: Any, updates: Any) -> Tensor:
        """``x`` with ``updates`` subtracted at the coordinates ``index[..., k]``; x itself stays as it is."""
    def searchsorted(
        self,
        values: Any,
        *,
        out_int32: _bool = ...,
        right: _bool = ...,
        side: str | None = ...,
        sorter: Any = ...,
    ) -> Tensor:
        """Where each value would stand in a sorted vector: before equal elements, or behind them (``right``)."""
    def select(self, dim: Any, index: Any) -> Tensor:
        """One slice along ``dim``, without that axis: ``x[:, index]`` for dim 1; or, called as ``x.select(condition,
        y)`` with a tensor of booleans, the elements of x where it holds and those of y elsewhere."""
    def select_scatter(self, src: Any, axis: _int, index: _int) -> Any:
        """A copy of ``input`` with ``src`` as its slice ``index`` along an axis."""
    def sgn(self) -> Tensor:
        """-1, 0 or 1; of a complex number x / |x|, and 0 of 0."""
    def short(self) -> Tensor:
        """The values as int16."""
    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-x)), from 0 to 1."""
    sigmoid_ = _become
    def sign(self) -> Tensor:
        """-1, 0 or 1 by the sign; NaN stays NaN."""
    sign_ = _become
    def signbit(self) -> Tensor:
        """Whether a number is negative; -0.0 is, NaN is not."""
    def sin(self) -> Tensor:
        """Sine of radians."""
    sin_ = _become
    def sinc(self) -> Tensor:
        """sin(pi x) / (pi x), 1 at 0."""
    def sinh(self) -> Tensor:
        """Hyperbolic sine."""
    def slice_scatter(self, src: Any, axis: _int = ..., start: Any = ..., end: Any = ..., step: _int = ...) -> Any:
        """A copy of ``input`` with ``src`` at the places start, start + step ... of an axis, in the dtype of both."""
    slogdet = log_matrix_determinant
    def soft_shrink(self, lambd: _float = ...) -> Tensor:
        """x moved towards 0 by lambd, and 0 within; NaN stays."""
    def softmax(self, axis: _int = ..., dtype: Any = ...) -> Tensor:
        """exp(x) / sum(exp(x)) along ``axis``."""
    softshrink = soft_shrink
    def sort(self, axis: _int = ..., descending: _bool = ..., *, stable: _bool = ...) -> ValuesAndIndices:
        """The elements along ``axis`` in order."""
    def split(self, split_size_or_sections: Any = ..., axis: _int = ..., *, sizes: Any = ...) -> tuple[Tensor, ...]:
        """Take a tensor apart along an axis."""
    def sqrt(self) -> Tensor:
        """Square root."""
    sqrt_ = _become
    def square(self) -> Tensor:
        """x times x."""
    square_ = _become
    def squeeze(self, axis: Any = ...) -> Tensor:
        """``x`` without axes of size 1: without all of them, or without those named."""
    def std(self, axis: Any = ..., ddof: Any = ..., keepdims: _bool = ..., *, dim: Any = ...) -> Tensor:
        """Square root of the variance; arguments as ``var``. Where all elements are equal its derivative is 0."""
    def std_mean(self, axis: Any = ..., ddof: _int = ..., keepdims: _bool = ...) -> tuple[Any, Any]:
        """Standard deviation and mean together."""
    def stft(
        self,
        n_fft: _int,
        hop_length: Any = ...,
        win_length: Any = ...,
        window: Any = ...,
        center: _bool = ...,
        pad_mode: str = ...,
        normalized: _bool = ...,
        onesided: Any = ...,
        return_complex: Any = ...,
    ) -> Any:
        """The spectrum of every piece of a signal."""
    def storage_offset(self) -> _int:
        """Where in its memory a tensor starts: 0, for values have memory of their own."""
    def sub(self, other: Any, *, alpha: Any = ...) -> Tensor:
        """Difference of two tensors. ``alpha`` scales the other operand."""
    sub_ = _become
    subtract = sub
    def sum(self, *place: Any, initial: Any = ..., **words: Any) -> Tensor:
        """Sum over axes: ``sum(axis, keepdims, dtype=)``, or in NumPy's order ``sum(axis, dtype, keepdims, initial)``;
        ``initial`` is added to it."""
    def sum_to_size(self, *sizes: Any, shape: Any = ...) -> Tensor:
        """Add up what broadcasting ``shape`` to the shape of ``x`` repeated."""
    def svd(self, full_matrices: _bool = ..., compute_uv: _bool = ...) -> Any:
        """Singular values and vectors."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """Two axes exchanged."""
    swapdims = swapaxes
    def t(self) -> Tensor:
        """A matrix with its axes exchanged; vectors and numbers as they are."""
    def take(self, index: Any, axis: _int | None = ..., mode: str = ...) -> Tensor:
        """NumPy's take: along an axis, or from the flattened tensor."""
    def take_along_dim(self, indices: Any, dim: _int | None = ...) -> Tensor:
        """``take_along_axis`` in PyTorch's words; without ``dim`` the indices are flattened, too."""
    def tan(self) -> Tensor:
        """Tangent of radians."""
    def tanh(self) -> Tensor:
        """Hyperbolic tangent."""
    tanh_ = _become
    def tensor_scatter_add(self, index: Any, updates: Any) -> Tensor:
        """``x`` with ``updates`` added at the coordinates ``index[..., k]``; x itself stays as it is."""
    def tensor_scatter_div(self, index: Any, updates: Any) -> Tensor:
        """``x`` with ``updates`` divided out at the coordinates ``index[..., k]``; x itself stays as it is."""
    def tensor_scatter_max(self, index: Any, updates: Any) -> Tensor:
        """``x`` with ``updates`` combined by max at the coordinates ``index[..., k]``; x itself stays as it is."""
    def tensor_scatter_min(self, index: Any, updates: Any) -> Tensor:
        """``x`` with ``updates`` combined by min at the coordinates ``index[..., k]``; x itself stays as it is."""
    def tensor_scatter_mul(self, index: Any, updates: Any) -> Tensor:
        """``x`` with ``updates`` multiplied in at the coordinates ``index[..., k]``; x itself stays as it is."""
    def tensor_scatter_sub(self, index: Any, updates: Any) -> Tensor:
        """``x`` with ``updates`` subtracted at the coordinates ``index[..., k]``; x itself stays as it is."""
    def tensor_scatter_update(self, index: Any, updates: Any) -> Tensor:
        """``x`` with ``updates`` written at the coordinates ``index[..., k]``; x itself stays as it is."""
    def tensor_split(self, indices_or_sections: Any, axis: _int = ...) -> tuple[Tensor, ...]:
        """Parts as equal as possible (a number of parts), or cut before the given positions: numpy.array_split."""
    def tile(self, *reps: Any, dims: Any = ...) -> Tensor:
        """The whole tensor repeated along its axes; more counts than axes give new leading axes."""
    def to(
        self,
        target: Any = ...,
        dtype: Any = ...,
        *,
        device: str | None = ...,
        other: Any = ...,
        non_blocking: _bool = ...,
        copy: _bool = ...,
    ) -> Tensor:
        """On another device (a name: 'CPU', 'GPU', PyTorch's 'cuda'), with another dtype, or both."""
    def to_coo(self) -> COOTensor:
        """The elements of a dense tensor that are not zero, with their coordinates (int64)."""
    def to_csr(self) -> CSRTensor:
        """The elements of a dense matrix that are not zero, row by row; pointers and columns are int32."""
    def top_k(self, k: _int, sorted: _bool = ...) -> Any:
        """The largest ``k`` along the last axis, and their places."""
    def topk(self, k: _int, dim: _int | None = ..., largest: _bool = ..., sorted: _bool = ...) -> ValuesAndIndices:
        """The ``k`` largest (or smallest) elements along an axis, in order, and where they stood."""
    def trace(self, offset: _int = ..., axis1: _int = ..., axis2: _int = ..., dtype: Any = ...) -> Tensor:
        """The sum of a diagonal, in a dtype if one is asked for."""
    def transpose(self, *axes: Any, perm: Any = ..., dim0: _int | None = ..., dim1: _int | None = ...) -> Tensor:
        """Two axes exchanged, or all of them in another order; without arguments, reversed."""
    def triangular_solve(self, A: Any, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ...) -> Any:
        """The x with A x = b for a triangular A, and A."""
    def tril(self, diagonal: _int = ...) -> Tensor:
        """``x`` with zeros above a diagonal."""
    tril_ = _become
    def triu(self, diagonal: _int = ...) -> Tensor:
        """``x`` with zeros below a diagonal."""
    triu_ = _become
    true_divide = div
    def trunc(self) -> Tensor:
        """The fraction cut off."""
    trunc_ = _become
    def type(self, dtype: Any = ...) -> Any:
        """The values with another dtype; without one, the dtype."""
    def type_as(self, other: Any) -> Tensor:
        """``x`` in the dtype of ``other``."""
    def unbind(self, axis: _int = ...) -> tuple[Tensor, ...]:
        """The slices of ``x`` along ``axis``, without that axis: the inverse of ``stack``."""
    def unflatten(self, dim: _int, sizes: Any) -> Tensor:
        """One axis taken apart into several: the inverse of ``flatten``."""
    def unfold(self, *place: Any, **words: Any) -> Tensor:
        """``unfold(dimension, size, step)``: windows along an axis, their elements in a new last axis; or, by
        ``kernel_size``, ``dilation``, ``padding``, ``stride``, those of images as columns: ``ops.unfold``."""
    def uniform(self, from_: _float = ..., to: _float = ..., generator: Any = ...) -> Tensor:
        """Draws between two bounds in the shape of the tensor."""
    uniform_ = _become
    def unique(
        self, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: Any = ...
    ) -> Any:
        """The different elements (slices along ``dim``) in increasing order, ``sorted`` or not; places and counts if
        asked for."""
    def unique_consecutive(
        self, return_inverse: _bool = ..., return_counts: _bool = ..., axis: _int | None = ...
    ) -> Any:
        """The values (or, with ``axis``, slices) without those that repeat the one before."""
    def unsorted_segment_max(self, segment_ids: Any, num_segments: _int) -> Tensor:
        """The largest entry of each segment; segments without entries hold the smallest number of the dtype."""
    def unsorted_segment_min(self, segment_ids: Any, num_segments: _int) -> Tensor:
        """The smallest entry of each segment; segments without entries hold the largest number of the dtype."""
    def unsorted_segment_prod(self, segment_ids: Any, num_segments: _int) -> Any:
        """The entries of each segment multiplied; segments without entries are 1."""
    def unsorted_segment_sum(self, segment_ids: Any, num_segments: _int) -> Tensor:
        """Entries added up by the segment that each belongs to."""
    unsqueeze = expand_dims
    def value(self) -> Tensor:
        """The same value as a Tensor of its own."""
    def var(self, axis: Any = ..., ddof: Any = ..., keepdims: _bool = ..., *, dim: Any = ...) -> Tensor:
        """Variance over axes: the sum of squared distances from the mean divided by n - ddof."""
    view = reshape
    view_as = reshape_as
    def vsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """``tensor_split`` along axis 0."""
    def where(self, condition: Any, y: Any) -> Tensor:
        """The tensor's own elements where ``condition`` holds, else those of ``y``."""
    def xdivy(self, y: Any) -> Tensor:
        """x / y; 0 where both are 0."""
    def xlogy(self, y: Any) -> Tensor:
        """x log(y); 0 where x is 0, with the slope log(y) there, unless y is NaN."""
    zero_ = _become
