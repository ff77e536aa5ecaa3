"""First values of Parameters.

    initializer("he_uniform", (6, 1, 5, 5))        ->  Tensor
    Normal(0.02)((6, 1, 5, 5), dtype)              ->  NumPy array (what Tensor(shape=, init=) calls)
    Normal(0.02)(array or tensor)                  ->  None: it is filled

Draw number k after ``set_seed(s)`` comes from a generator of its own, seeded by (s, k): the same program gets the same
network, and in both modes. For a weight [out, in, positions...]: fan_in = in * positions, fan_out = out * positions.
Source: Glorot and Bengio 2010 (Xavier); He et al. 2015; Saxe et al. 2014 (orthogonal);
https://www.mindspore.cn/docs/en/master/api_python/mindspore.common.initializer.html
"""

from __future__ import annotations

import math
import typing
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from msnb.core import Array, DType, Tensor, as_dtype, dtypes, random as core_random
from msnb.core.tensor import blank

if typing.TYPE_CHECKING:
    from collections.abc import Callable

Shape = Sequence[int]
_draws = [(-1, 0)]


def _generator() -> np.random.Generator:
    """A fresh generator for the next draw; counting starts anew at every ``set_seed``."""
    restarts, count = _draws[0]
    now = core_random.seed_version
    count = 0 if now != restarts else count
    _draws[0] = (now, count + 1)
    return np.random.default_rng([core_random.get_seed() or 0, count])


class Initializer:
    """A rule for first values. Subclasses write ``draw(rng, shape) -> array of float64`` or
    ``_initialize(array)``, which fills one.

    Examples:
        >>> from msnb.nn.initializer import Constant
        >>> Constant(2.0)((2,)).tolist()
        [2.0, 2.0]
    """

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Values of this shape."""
        raise NotImplementedError(f"{type(self).__name__} has no draw(rng, shape).")

    def _initialize(self, arr: Array) -> None:
        arr[...] = self.draw(_generator(), arr.shape)

    @typing.overload
    def __call__(self, shape: int | Sequence[int], dtype: Any = dtypes.float32) -> Array: ...
    @typing.overload
    def __call__(self, shape: Array | Tensor, dtype: Any = dtypes.float32) -> None: ...
    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Array | None:
        """Values of this shape as a NumPy array of this dtype; an array or a tensor is filled instead."""
        if isinstance(shape, np.ndarray):
            self._initialize(shape)
            return None
        if isinstance(shape, Tensor):
            shape.assign_value(Tensor(self(shape.shape, shape.dtype)))
            return None
        sizes = (shape,) if isinstance(shape, int) else tuple(int(d) for d in shape)
        array = np.zeros(sizes, as_dtype(dtype).numpy)
        self._initialize(array)
        return array

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={v!r}" for k, v in self.__dict__.items())
        return f"{type(self).__name__}({inside})"


class Constant(Initializer):
    """Every value is ``value`` (a number, or an array that broadcasts to the shape)."""

    def __init__(self, value: Any = 0) -> None:
        self.value = value

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """The constant."""
        return np.broadcast_to(np.asarray(self.value), shape)


class Zero(Initializer):
    """Zeros."""

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Zeros."""
        return np.zeros(shape)


class One(Initializer):
    """Ones."""

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Ones."""
        return np.ones(shape)


class Identity(Initializer):
    """Ones on the diagonal of a matrix, zeros elsewhere."""

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """The identity."""
        if len(shape) != 2:
            raise ValueError(f"Identity makes matrices, not shape {list(shape)}.")
        return np.eye(*shape)


class Normal(Initializer):
    """Normal values with standard deviation ``sigma`` around ``mean``."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0) -> None:
        self.sigma: float = sigma
        self.mean: float = mean

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Normal values."""
        return rng.normal(self.mean, self.sigma, shape)


class TruncatedNormal(Initializer):
    """Normal values, those outside [a, b] standard deviations drawn again."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0) -> None:
        if not a < b:
            raise ValueError(f"TruncatedNormal needs a < b, got {a} and {b}.")
        self.sigma: float = sigma
        self.mean: float = mean
        self.a: float = a
        self.b: float = b

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Truncated normal values."""
        z = rng.standard_normal(shape)
        outside = (z < self.a) | (z > self.b)
        while outside.any():
            z[outside] = rng.standard_normal(int(outside.sum()))
            outside = (z < self.a) | (z > self.b)
        return self.mean + self.sigma * z


class Uniform(Initializer):
    """Uniform values from [-scale, scale)."""

    def __init__(self, scale: float = 0.07) -> None:
        self.scale = scale

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Uniform values."""
        return rng.uniform(-self.scale, self.scale, shape)


def fans(shape: Shape) -> tuple[int, int]:
    """(fan_in, fan_out) of a weight [out, in, positions...]. Raises ValueError below two axes."""
    if len(shape) < 2:
        raise ValueError(f"fan_in and fan_out need a weight of at least two axes, got shape {list(shape)}.")
    positions = math.prod(shape[2:])
    return shape[1] * positions, shape[0] * positions


def gain_of(nonlinearity: str, negative_slope: float = 0.0) -> float:
    """The factor that keeps the variance through an activation."""
    known = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2.0),
             **dict.fromkeys((f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)), 1.0)}  # fmt: skip
    if nonlinearity == "leaky_relu":
        if isinstance(negative_slope, bool) or not isinstance(negative_slope, (int, float)):
            raise ValueError(f"negative_slope is a number, not {negative_slope!r}.")
        return math.sqrt(2.0 / (1.0 + negative_slope**2))
    if nonlinearity not in known:
        raise ValueError(f"nonlinearity must be one of {', '.join(known)}, leaky_relu; got {nonlinearity!r}.")
    return known[nonlinearity]


_calculate_in_and_out = lambda arr: fans(arr.shape)
_calculate_fan_in_and_fan_out = fans  # MindSpore's private names, which networks import


def _calculate_correct_fan(shape: Shape, mode: str) -> int:
    """fan_in or fan_out of a weight."""
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"mode must be 'fan_in' or 'fan_out', got {mode!r}.")
    return fans(shape)[mode.lower() == "fan_out"]


def _calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """``gain_of`` with MindSpore's slope of leaky_relu, 0.01."""
    return gain_of(nonlinearity, 0.01 if param is None else param)


def _assignment(arr: Array, num: Any) -> Array:
    """Fills an array."""
    arr[...] = num
    return arr


def _filled(draw: Callable[..., Any]) -> Callable[..., None]:
    def fill(seed: int, data: Any, *settings: float) -> None:
        if data.dtype != np.float32:
            raise RuntimeError(f"random first values are float32, not {data.dtype}.")
        data[...] = draw(np.random.default_rng(seed), data.shape, *settings)

    return fill


_random_normal = _filled(lambda rng, shape, mean, sigma: rng.normal(mean, sigma, shape))
_random_uniform = _filled(lambda rng, shape, a, b: a + (b - a) * rng.random(shape))
_truncated_normal = _filled(lambda rng, shape, a, b, mean, sigma: np.clip(
    TruncatedNormal(sigma, mean, (a - mean) / sigma, (b - mean) / sigma).draw(rng, shape), a, b))  # fmt: skip


def _numpy_seed() -> int:
    return np.random.randint(1, 2**63 - 1, dtype=np.int64)  # type: ignore[return-value]  # noqa: NPY002


def _made(fill: Callable[..., None], shape: Any, *settings: float) -> Array:
    fill(*settings, array := np.zeros(shape, np.float32))
    return array


_init_random_normal_inplace = lambda mean, sigma, arr: _random_normal(_numpy_seed(), arr, mean, sigma)
_init_random_uniform_inplace = lambda a, b, arr: _random_uniform(_numpy_seed(), arr, a, b)
_init_truncated_normal_inplace = lambda a, b, mean, sigma, arr: _truncated_normal(_numpy_seed(), arr, a, b, mean, sigma)
_init_random_normal = lambda mean, sigma, shape: _made(_init_random_normal_inplace, shape, mean, sigma)
_init_random_uniform = lambda a, b, shape: _made(_init_random_uniform_inplace, shape, a, b)
_init_truncated_normal = lambda a, b, mean, sigma, shape: _made(
    _init_truncated_normal_inplace, shape, a, b, mean, sigma
)


class _WithGain(Initializer):
    """Values times ``gain``."""

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain


class XavierUniform(_WithGain):
    """Uniform with variance gain^2 * 2 / (fan_in + fan_out)."""

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Uniform values."""
        bound = self.gain * math.sqrt(6.0 / sum(fans(shape)))
        return rng.uniform(-bound, bound, shape)


class XavierNormal(_WithGain):
    """Normal with variance gain^2 * 2 / (fan_in + fan_out)."""

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Normal values."""
        return rng.normal(0.0, self.gain * math.sqrt(2.0 / sum(fans(shape))), shape)


class _He(Initializer):
    """Variance gain(nonlinearity)^2 / fan."""

    def __init__(self, negative_slope: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> None:
        if mode not in ("fan_in", "fan_out"):
            raise ValueError(f"mode must be 'fan_in' or 'fan_out', got {mode!r}.")
        self.negative_slope, self.mode, self.nonlinearity = negative_slope, mode, nonlinearity

    def deviation(self, shape: Shape) -> float:
        """The standard deviation for this shape."""
        fan = fans(shape)[0 if self.mode == "fan_in" else 1]
        return gain_of(self.nonlinearity, self.negative_slope) / math.sqrt(fan)


class HeUniform(_He):
    """Uniform with variance gain^2 / fan (Kaiming uniform)."""

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Uniform values."""
        bound = math.sqrt(3.0) * self.deviation(shape)
        return rng.uniform(-bound, bound, shape)


class HeNormal(_He):
    """Normal with variance gain^2 / fan (Kaiming normal)."""

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Normal values."""
        return rng.normal(0.0, self.deviation(shape), shape)


class Orthogonal(_WithGain):
    """Rows (or columns, whichever are fewer) orthonormal, times ``gain``."""

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """An orthogonal matrix in the given shape."""
        if len(shape) < 2:
            raise ValueError(f"Orthogonal needs at least two axes, got shape {list(shape)}.")
        rows, columns = shape[0], math.prod(shape[1:])
        q, r = np.linalg.qr(rng.standard_normal((max(rows, columns), min(rows, columns))))
        q = q * np.sign(np.diag(r))
        return self.gain * (q if rows >= columns else q.T).reshape(shape)


_NAMES: dict[str, type[Initializer]] = {
    "zeros": Zero, "zero": Zero, "ones": One, "one": One, "normal": Normal, "uniform": Uniform, "identity": Identity,
    "xavier_uniform": XavierUniform, "xavier_normal": XavierNormal, "he_uniform": HeUniform, "he_normal": HeNormal,
    "truncatednormal": TruncatedNormal, "truncated_normal": TruncatedNormal, "orthogonal": Orthogonal,
}  # fmt: skip
_CLASSES = {kind.__name__.lower(): kind for kind in _NAMES.values()}  # "HeUniform" is a name too
_INITIALIZER_ALIAS: dict[str, type[Initializer]] = {**_CLASSES, **_NAMES}


def _register(*aliases: str) -> Any:
    """A decorator that lets ``initializer`` find a class by its name and by these, unless others have them."""

    def named(kind: type[Initializer]) -> type[Initializer]:
        for name in (kind.__name__.lower(), *aliases):
            _INITIALIZER_ALIAS.setdefault(name, kind)
        return kind

    return named


@_register()
class Dirac(Initializer):
    """One at the middle of the kernel of every input channel's own output channel: a convolution that changes nothing.

    Args:
        groups: the output channels fall into so many parts, each of which keeps the input channels.

    Raises:
        ValueError: ``groups`` below 1, a weight that has not 3, 4 or 5 axes, or output channels that do not divide.

    Source: `mindspore.common.initializer`

    Examples:
        >>> from msnb.nn.initializer import Dirac
        >>> Dirac()((2, 2, 3)).tolist()
        [[[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]
    """

    def __init__(self, groups: int = 1) -> None:
        if isinstance(groups, bool) or not isinstance(groups, int) or groups < 1:
            raise ValueError(f"Dirac: groups must be an int of at least 1, got {groups!r}.")
        self.groups: int = groups

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """The kernels."""
        if len(shape) not in (3, 4, 5) or shape[0] % self.groups:
            raise ValueError(f"Dirac takes a weight of 3, 4 or 5 axes whose first is a multiple of {self.groups}, "
                             f"not {list(shape)}.")  # fmt: skip
        found, part = np.zeros(shape), shape[0] // self.groups
        middle = tuple(size // 2 for size in shape[2:])
        for k in range(shape[0]):
            if k % part < shape[1]:
                found[(k, k % part, *middle)] = 1
        return found


@_register()
class Sparse(Initializer):
    """Normal values of a matrix, some of every column replaced by zeros.

    Args:
        sparsity: the share of zeros, 0 to 1; the number of them is rounded up.
        sigma: the standard deviation of the others.

    Raises:
        ValueError: a number outside, or a shape of other than two axes. TypeError: no numbers.

    Source: `mindspore.common.initializer`

    Examples:
        >>> from msnb.nn.initializer import Sparse
        >>> (Sparse(0.3)((10, 2)) == 0).sum(0).tolist()
        [3, 3]
    """

    def __init__(self, sparsity: float, sigma: float = 0.01) -> None:
        if not 0 <= sparsity <= 1 or not sigma >= 0:
            raise ValueError(f"Sparse: sparsity is from 0 to 1, sigma from 0, not {sparsity!r} and {sigma!r}.")
        self.sparsity: float = sparsity
        self.sigma: float = sigma

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """The matrix."""
        if len(shape) != 2:
            raise ValueError(f"Sparse makes matrices, not shape {list(shape)}.")
        found = rng.normal(0.0, self.sigma, shape)
        for column in found.T:
            column[rng.permutation(shape[0])[: math.ceil(self.sparsity * shape[0])]] = 0
        return found


@_register()
class VarianceScaling(Initializer):
    """Values of variance scale / fan.

    Args:
        scale: above 0. mode: "fan_in", "fan_out" or "fan_avg", the mean of both.
        distribution: "truncated_normal" (within two standard deviations of what is cut), "untruncated_normal" or
            "uniform".

    Raises:
        ValueError: another word, or a scale of 0 or less. TypeError: the scale is no number.

    Source: `mindspore.common.initializer`

    Examples:
        >>> from msnb.nn.initializer import VarianceScaling
        >>> bool(abs(VarianceScaling(2.0, distribution="uniform")((4, 6))).max() <= 1)
        True
    """

    def __init__(self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal") -> None:
        kinds = ("truncated_normal", "untruncated_normal", "uniform")
        for word, legal in ((mode, ("fan_in", "fan_out", "fan_avg")), (distribution, kinds)):
            if word not in legal:
                raise ValueError(f"VarianceScaling: {word!r} is not one of {', '.join(legal)}.")
        if not scale > 0:
            raise ValueError(f"VarianceScaling: scale must be above 0, got {scale!r}.")
        self.scale, self.mode, self.distribution = scale, mode, distribution

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """The values."""
        into, out = fans(shape)
        fan = {"fan_in": into, "fan_out": out, "fan_avg": (into + out) / 2}[self.mode]
        sigma = math.sqrt(self.scale / fan)
        if self.distribution == "truncated_normal":
            return TruncatedNormal(sigma / _CUT).draw(rng, shape)
        wide = math.sqrt(3.0) * sigma
        return rng.uniform(-wide, wide, shape) if self.distribution == "uniform" else rng.normal(0.0, sigma, shape)


_CUT = 0.87962566103423978  # the standard deviation of a normal distribution cut at -2 and 2


def as_initializer(init: Any) -> Initializer:
    """The Initializer that a name, a number or an Initializer means."""
    if isinstance(init, Initializer):
        return init
    if isinstance(init, str):
        found = _INITIALIZER_ALIAS.get(init.lower())
        if found is None:
            raise ValueError(f"there is no initializer {init!r}; legal: {', '.join(sorted(_NAMES))}.")
        return found()
    if isinstance(init, (bool, int, float, complex)):
        return Constant(init)
    raise TypeError(f"an initializer is a name, a number, an Initializer or a Tensor, not {type(init).__name__}.")


def initializer(init: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """A Tensor of first values.

    Args:
        init: a name ("normal", "he_uniform", ...), a number, an Initializer, or a Tensor (must have the shape).
        shape: int or ints.
        dtype: element type; None: float32, or that of the Tensor, which with ``mindspore`` counts in any case.

    Returns:
        Tensor.

    Raises:
        ValueError: an unknown name, or a Tensor of another shape.

    Source: `mindspore.common.initializer`

    Examples:
        >>> from msnb.nn.initializer import initializer
        >>> initializer("ones", (2, 2)).tolist()
        [[1.0, 1.0], [1.0, 1.0]]
    """
    want: DType = as_dtype(dtype or (init.dtype if isinstance(init, Tensor) else dtypes.float32))
    if isinstance(init, (Tensor, np.ndarray)):
        value = init if isinstance(init, Tensor) else Tensor(init)
        sizes = value.shape if shape is None else ((shape,) if isinstance(shape, int) else tuple(shape))
        if value.shape != sizes:
            raise ValueError(f"the initial value has shape {list(value.shape)}, wanted {list(sizes)}.")
        return Tensor(value, dtype=value.dtype if _keeps[0] and isinstance(init, Tensor) else want)
    if shape is None:
        raise TypeError("initializer needs a shape.")
    rule = as_initializer(init)
    return blank(shape, want) if _blank[0] else Tensor(rule(shape, want))


_blank, _keeps = [0], [False]


def keep_dtypes(on: bool) -> None:
    """Whether a Tensor of first values keeps its dtype whatever is asked for, as in MindSpore."""
    _keeps[0] = on


@contextmanager
def no_init_parameters() -> Iterator[None]:
    """A ``with`` block in which layers are made without first values: no memory, no draws.

    For networks that are planned or predicted (``ms.parallel.plan``), or whose weights are loaded next: until then
    every Parameter reads as zeros.

    Source: `mindspore.nn.utils.no_init_parameters`

    Examples:
        >>> import msnb as ms
        >>> with ms.nn.no_init_parameters():
        ...     net = ms.nn.Dense(65536, 65536)
        >>> net.weight.shape
        (65536, 65536)
    """
    _blank[0] += 1
    try:
        yield
    finally:
        _blank[0] -= 1
