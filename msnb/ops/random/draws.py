"""Random draws: value = f(philox(seed, draw index, element index)); nothing else decides it.

    key = random_key()            (seed, draw index) of this draw; the stream's draw index grows by one
    random_uniform(key, ...)      element i takes its words by its own index

so recomputing, sharding or changing the mode gives the same draws. Uniform bits are exact everywhere:

    float32   the upper 24 bits of word i, times 2^-24         float16, bfloat16: the upper 11, 8 bits
    float64   the upper 53 bits of the 64-bit word i, times 2^-53
    normal    Box-Muller on the pair 2j, 2j+1 of uniform words: r cos, r sin with r = sqrt(-2 log(1 - u))
    integers  word i times the size of the range, shifted down by 32 bits (ranges above 2^32: 64-bit word modulo range)

What is made of draws by arithmetic (bernoulli, dropout, categorical) is a function of these few ops.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DTypeError, ShapeError
from msnb.core import DType, Tensor, TensorType, as_dtype, dtypes, random as stream, slot, tensor_type
from msnb.ops.definition import example_inputs
from msnb.ops.definition.operand_checks import as_sizes
from msnb.ops.definition.record import Example, InvalidExample, Op, define, find
from msnb.ops.definition.type_inference import need_ints, normal_shape, operand_lines
from msnb.ops.elementwise.identity_and_effects import identity
from msnb.ops.math.sort import topk
from msnb.ops.random.philox import wide_words, words
from msnb.ops.reduction.functional import argmax
from msnb.ops.shape.creation import ones

__all__ = [
    "bernoulli", "categorical", "dropout", "dropout1d", "dropout2d", "dropout3d", "exponential", "gumbel",
    "multinomial", "normal", "rand", "rand_like", "randint", "randn", "randn_like", "random_integers", "random_key",
    "random_normal", "random_permutation", "random_uniform", "randperm", "shuffle", "standard_normal", "trunc_normal",
    "uniform",
]  # fmt: skip

_NO_GRAD = "a draw depends on its key alone"
_KEY = np.array([7, 3], np.uint64)
_BITS = {dtypes.float16: 11, dtypes.bfloat16: 8, dtypes.float32: 24}


def need_key(name: str, key: TensorType) -> None:
    """Raise unless ``key`` is uint64[2]."""
    if key.shape != (2,) or key.dtype is not dtypes.uint64:
        raise ShapeError(
            f"{name} needs a key of type u64[2]: (seed, draw index).",
            operands=operand_lines(key, names=("key",)),
            hint="make one with ops.random_key().",
        )


def _draw_infer(name: str, kinds: int) -> Callable[..., TensorType]:
    def infer(key: TensorType, *, shape: Any, dtype: DType, **attrs: Any) -> TensorType:
        need_key(name, key)
        if dtype.category != kinds:
            kind = "floating-point" if kinds == dtypes.FLOAT else "integer"
            raise DTypeError(f"{name} draws {kind} numbers, not {dtype.name}.")
        return tensor_type(normal_shape(name, shape), dtype)

    return infer


def _count(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))


def _fractions(xp: Any, key: Any, n: int, dtype: DType) -> Any:
    """n numbers in [0, 1) as float64, each a whole multiple of 2^-bits."""
    if dtype is dtypes.float64:
        return (wide_words(xp, key, n) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    bits = _BITS[dtype]
    return (words(xp, key, n) >> np.uint64(32 - bits)).astype(np.float64) * 2.0**-bits


def _uniform(xp: Any, key: Any, *, shape: tuple[int, ...], dtype: DType) -> Any:
    return _fractions(xp, key, _count(shape), dtype).astype(dtype.numpy).reshape(shape)


def _normal(xp: Any, key: Any, *, shape: tuple[int, ...], dtype: DType) -> Any:
    """Pairs of uniforms become pairs of independent normals: a radius and an angle."""
    n = _count(shape)
    width = dtypes.float64 if dtype is dtypes.float64 else dtypes.float32
    u = _fractions(xp, key, n + n % 2, width).reshape(-1, 2)
    radius, angle = xp.sqrt(-2 * xp.log1p(-u[:, 0])), 2 * np.pi * u[:, 1]
    pairs = xp.stack([radius * xp.cos(angle), radius * xp.sin(angle)], axis=1).reshape(-1)
    return pairs[:n].astype(dtype.numpy).reshape(shape)


def _integers(xp: Any, key: Any, *, low: int, high: int, shape: tuple[int, ...], dtype: DType) -> Any:
    n, span = _count(shape), high - low
    if span <= 2**32:
        steps = (words(xp, key, n) * np.uint64(span)) >> np.uint64(32)
    else:
        steps = wide_words(xp, key, n) % np.uint64(span)
    return (steps.astype(np.int64) + np.int64(low)).astype(dtype.numpy).reshape(shape)


def _integers_infer(key: TensorType, *, low: int, high: int, shape: Any, dtype: DType) -> TensorType:
    found = _draw_infer("random_integers", dtypes.INT)(key, shape=shape, dtype=dtype)
    for value in (low, high):
        if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
            raise AttributeValueError(f"random_integers: low and high must be ints of 64 bits, got {value!r}.")
    limits = np.iinfo(dtype.numpy)
    if low >= high or low < limits.min or high - 1 > limits.max:
        raise AttributeValueError(f"random_integers: [{low}, {high}) is no range of {dtype.name}.")
    return found


def _permutation_infer(key: TensorType, *, n: int) -> TensorType:
    need_key("random_permutation", key)
    return tensor_type(normal_shape("random_permutation", (n,)), dtypes.int64)


_FLOAT_EXAMPLES = (
    Example((_KEY,), {"shape": (3, 5)}),
    Example((_KEY,), {"shape": (7,), "dtype": dtypes.float64}),
    Example((_KEY,), {"shape": (4,), "dtype": dtypes.float16}),
    Example((_KEY,), {"shape": ()}),
    Example((_KEY,), {"shape": (0, 2)}),
)
_WRONG_KEY = InvalidExample((example_inputs.ROW,), {"shape": (3,)}, "needs a key", ShapeError)


def _random(name: str, infer: Any, body: Any, doc: str, attrs: Any, examples: Any, wrong: Any, axes: str) -> Op:
    return define(name, "key", attrs=attrs, infer=infer, body=body, doc=doc, no_grad=_NO_GRAD, axes=axes,
                  traits=("random",), examples=examples, wrong=wrong, family="random")  # fmt: skip


def _float_draw(name: str, body: Any, doc: str) -> Op:
    wrong = (
        _WRONG_KEY,
        InvalidExample((_KEY,), {"shape": (3,), "dtype": dtypes.int32}, "floating-point numbers", DTypeError),
    )
    attrs = {"shape": (), "dtype": dtypes.float32}
    return _random(name, _draw_infer(name, dtypes.FLOAT), body, doc, attrs, _FLOAT_EXAMPLES, wrong, "k! -> ...")


RANDOM_UNIFORM = _float_draw("random_uniform", _uniform, "Uniform numbers in [0, 1).")
RANDOM_NORMAL = _float_draw("random_normal", _normal, "Normal numbers of mean 0 and variance 1.")
RANDOM_INTEGERS = _random(
    "random_integers", _integers_infer, _integers, "Whole numbers in [low, high).",
    {"low": 0, "high": 2, "shape": (), "dtype": dtypes.int64},
    (Example((_KEY,), {"low": -3, "high": 4, "shape": (3, 5)}),
     Example((_KEY,), {"low": 0, "high": 2**40, "shape": (4,)}),
     Example((_KEY,), {"shape": (0,), "dtype": dtypes.int32})),
    (_WRONG_KEY, InvalidExample((_KEY,), {"low": 4, "high": 4}, "is no range", AttributeValueError)), "k! -> ...",
)  # fmt: skip
RANDOM_PERMUTATION = _random(
    "random_permutation", _permutation_infer,
    lambda xp, key, *, n: xp.argsort(wide_words(xp, key, n), kind="stable"),
    "The numbers 0 to n-1 in random order.", {"n": 1},
    (Example((_KEY,), {"n": 6}), Example((_KEY,), {"n": 0})),
    (InvalidExample((example_inputs.ROW,), {"n": 3}, "needs a key", ShapeError), InvalidExample((_KEY,), {"n": -1},
    "ints >= 0",
    ValueError)),
    "k! -> n!",
)  # fmt: skip


def _next_key_infer(state: TensorType) -> tuple[TensorType, TensorType]:
    need_key("next_key", state)
    return state, state


NEXT_KEY = define(
    "next_key",
    "state",
    infer=_next_key_infer,
    body=lambda xp, state: (xp.array(state), state + xp.asarray(np.array([0, 1], np.uint64))),
    doc="The key of the next draw, and the state of the stream after it.",
    no_grad=_NO_GRAD,
    axes="k! -> k!, k!",
    traits=("random",),
    examples=(Example((_KEY,)),),
    wrong=(InvalidExample((example_inputs.ROW,), {}, "needs a key", ShapeError),),
    family="random",
)


# ---- the stream ----


def random_key() -> Tensor:
    """The key of the next draw of the stream that ``set_seed`` starts; the stream moves on, in both modes alike.

    Examples:
        >>> import msnb as ms
        >>> ms.set_seed(5)
        >>> ms.ops.random_key().tolist(), ms.ops.random_key().tolist()
        ([5, 0], [5, 1])
    """
    return next_key(stream.state())


def next_key(state: Tensor) -> Tensor:
    """The key of the next draw of a stream, whose state moves on."""
    key, after = slot.engine.apply(NEXT_KEY, (state,), {})
    slot.engine.assign(state, after)
    out: Tensor = key
    return out


def _shape(name: str, size: tuple[Any, ...]) -> Any:
    one = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    return normal_shape(name, as_sizes(name, (one,)) if isinstance(one, Tensor) else one)


def own_key(called: str, seed: Any, generator: Any = None) -> Tensor | None:
    """The key of the next draw of a stream of one's own: of a seed, or of a ``Generator``; None for the one stream.

    Raises:
        TypeError: no Generator. ValueError: no seed, or both.
    """
    if seed is not None and generator is not None:
        raise AttributeValueError(f"{called} takes seed= or generator=, got both.")
    if generator is not None:
        if not isinstance(generator, stream.Generator):
            raise ArgumentError(f"{called}: generator must be a msnb.Generator, got {type(generator).__name__}.")
        return next_key(generator.state)
    if seed is None:
        return None
    return next_key(stream.seeded_state(stream.legal_seed(f"{called}: seed must be None or", seed)))


def _draw(called: str, op: Op, seed: Any, generator: Any, **attrs: Any) -> Tensor:
    return _drawn(op, own_key(called, seed, generator), **attrs)


def _drawn(op: Op, key: Tensor | None, **attrs: Any) -> Tensor:
    """A draw of the one stream, or by a key of another."""
    out: Tensor = slot.engine.apply(op, (random_key() if key is None else key,), op.bind_attrs(attrs))
    return out


def drawn_uniform(shape: Any, key: Tensor | None = None) -> Tensor:
    """Uniform float32 numbers in [0, 1), by a key of one's own where it is given."""
    return _drawn(RANDOM_UNIFORM, key, shape=shape, dtype=dtypes.float32)


def drawn_normal(shape: Any, key: Tensor | None = None) -> Tensor:
    """Normal float32 numbers of mean 0 and variance 1; as ``drawn_uniform``."""
    return _drawn(RANDOM_NORMAL, key, shape=shape, dtype=dtypes.float32)


def drawn_integers(shape: Any, low: int, high: int, key: Tensor | None = None) -> Tensor:
    """Whole int32 numbers in [low, high); as ``drawn_uniform``."""
    return _drawn(RANDOM_INTEGERS, key, low=low, high=high, shape=shape, dtype=dtypes.int32)


def drawn_order(n: int, key: Tensor | None = None) -> Tensor:
    """The numbers below n in random order; as ``drawn_uniform``."""
    return _drawn(RANDOM_PERMUTATION, key, n=n)


def rand(*size: Any, dtype: Any = None, seed: Any = None, generator: Any = None) -> Tensor:
    """Uniform numbers in [0, 1) of shape ``size``, float32 by default.

    Args:
        size: ints, or a tuple of them.
        dtype: of the result.
        seed: an int draws from a stream of its own, as in ``dropout``; so for all draws.
        generator: a ``Generator`` draws from its stream; so for all draws.

    Source: `mindspore.ops.rand`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.rand(2, 3).shape
        (2, 3)
    """
    sizes, kind = _shape("rand", size), as_dtype(dtype or dtypes.float32)
    return _draw("rand", RANDOM_UNIFORM, seed, generator, shape=sizes, dtype=kind)


def randn(*size: Any, dtype: Any = None, seed: Any = None, generator: Any = None) -> Tensor:
    """Normal numbers of mean 0 and variance 1 of shape ``size``, float32 by default."""
    sizes, kind = _shape("randn", size), as_dtype(dtype or dtypes.float32)
    return _draw("randn", RANDOM_NORMAL, seed, generator, shape=sizes, dtype=kind)


def rand_like(x: Tensor, seed: Any = None, *, dtype: Any = None) -> Tensor:
    """Uniform numbers with the shape and dtype of ``x``."""
    return rand(x.shape, dtype=dtype or x.dtype, seed=seed)


def randn_like(x: Tensor, seed: Any = None, *, dtype: Any = None) -> Tensor:
    """Normal numbers with the shape of ``x``: float32 unless said otherwise, as in MindSpore (``rand_like`` has the
    dtype of ``x``)."""
    return randn(x.shape, dtype=dtype, seed=seed)


def randint(
    low: int, high: int | None = None, size: Any = (), seed: Any = None, *, dtype: Any = None, generator: Any = None
) -> Tensor:
    """Whole numbers in [low, high), or [0, low) with one bound; int64 by default."""
    need_ints("randint", low=low, high=high)
    first, last = (0, low) if high is None else (low, high)
    shape = normal_shape("randint", size)
    bounds = {"low": int(first), "high": int(last), "shape": shape, "dtype": as_dtype(dtype or dtypes.int64)}
    return _draw("randint", RANDOM_INTEGERS, seed, generator, **bounds)


def uniform(shape: Any, minval: Any = 0.0, maxval: Any = 1.0, seed: Any = None, dtype: Any = None) -> Tensor:
    """Uniform numbers in [minval, maxval); gradients reach the bounds. An int dtype: whole numbers, no gradient.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.uniform((2,), ms.Tensor(5), ms.Tensor(6), dtype=ms.int32).tolist()
        [5, 5]
    """
    if dtype is not None and not dtypes.as_dtype(dtype).is_float:
        low, high = (find("cast")(b, dtype=dtypes.float64) if isinstance(b, Tensor) else b for b in (minval, maxval))
        whole = find("floor")(rand(shape, dtype=dtypes.float64, seed=seed) * (high - low) + low)
        return find("cast")(whole, dtype=dtypes.as_dtype(dtype))
    out: Tensor = rand(shape, dtype=dtype, seed=seed) * (maxval - minval) + minval
    return out


def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, seed: Any = None, *, dtype: Any = None) -> Tensor:
    """Normal numbers; gradients reach mean and stddev (reparametrised)."""
    out: Tensor = randn(shape, dtype=dtype, seed=seed) * stddev + mean
    return out


def standard_normal(*size: Any, seed: Any = None, shape: Any = None, dtype: Any = None) -> Tensor:
    """``randn``; the shape may be called ``shape``, and a seed may follow it, as in MindSpore."""
    if seed is None and len(size) == 2 and isinstance(size[0], (tuple, list)):
        size, seed = size[:1], size[-1]
    return randn(*(size if shape is None else (shape,)), dtype=dtype, seed=seed)


def bernoulli(p: Any, shape: Any = None, *, seed: Any = None, generator: Any = None) -> Tensor:
    """1 with probability ``p``, else 0, in the shape of ``p`` (or ``shape``) and its dtype."""
    p = p if isinstance(p, Tensor) else Tensor(p)
    wide = dtypes.float64 if p.dtype is dtypes.float64 else None
    draws = rand(p.shape if shape is None else shape, dtype=wide, seed=seed, generator=generator)
    return find("cast")(draws < p, dtype=p.dtype if p.dtype.is_float else dtypes.float32)


def exponential(shape: Any, rate: Any = 1.0, *, dtype: Any = None) -> Tensor:
    """Exponential numbers of the given rate."""
    out: Tensor = -find("log1p")(-rand(shape, dtype=dtype)) / rate
    return out


def gumbel(shape: Any, *, dtype: Any = None, seed: Any = None, generator: Any = None) -> Tensor:
    """Gumbel numbers: -log(-log(u)). The largest of logits + gumbel is a draw from softmax(logits)."""
    tiny = 2.0**-26
    u = rand(shape, dtype=dtype, seed=seed, generator=generator) + tiny
    return -find("log")(-find("log")(u))


def trunc_normal(shape: Any, mean: Any = 0.0, std: Any = 1.0, a: float = -2.0, b: float = 2.0, *,
                 dtype: Any = None) -> Tensor:  # fmt: skip
    """Normal numbers conditioned to lie between ``a`` and ``b`` standard deviations, by inverting the distribution.

    Raises:
        ValueError: ``a`` is not below ``b``.
    """
    if not a < b:
        raise AttributeValueError(f"trunc_normal: a must be below b, got {a!r} and {b!r}.")
    low, high = (math.erf(bound / math.sqrt(2)) for bound in (a, b))
    draws = find("erfinv")(rand(shape, dtype=dtype) * (high - low) + low) * math.sqrt(2)
    inside = find("minimum")(find("maximum")(draws, a), b)
    out: Tensor = inside * std + mean
    return out


def randperm(n: int, seed: Any = None, offset: int = 0, dtype: Any = None, *, generator: Any = None) -> Tensor:
    """The numbers 0 to n-1 in random order, int64 by default; with ``offset``, each has a stream of its own seed."""
    need_ints("randperm", n=n)
    own = (seed or 0) + (offset << 32) if offset else seed
    order = _draw("randperm", RANDOM_PERMUTATION, own, generator, n=int(n))
    return order if dtype is None else find("cast")(order, dtype=as_dtype(dtype))


def shuffle(x: Tensor, seed: Any = None) -> Tensor:
    """The rows of ``x`` in random order; of a number, the number.

    Raises:
        TypeError: ``x`` is no Tensor, or ``seed`` no int. ValueError: ``seed`` is below 0.
    """
    if not isinstance(x, Tensor):
        raise ArgumentError(f"shuffle takes a Tensor, got {type(x).__name__}.")
    order = drawn_order(x._type.ints()[0] if x.ndim else 1, own_key("shuffle", seed))
    return find("gather")(x, order, axis=0) if x.ndim else x


def categorical(logits: Tensor, num_samples: int | None = None, *, seed: Any = None, generator: Any = None) -> Tensor:
    """Draws from softmax(logits) along the last axis (with replacement), by the Gumbel-max trick.

    Args:
        logits: [..., classes].
        num_samples: draws per row; None gives one without an axis of its own.

    Returns:
        int64 [...] or [..., num_samples].
    """
    if num_samples is None:
        return argmax(logits + gumbel(logits.shape, dtype=logits.dtype, seed=seed, generator=generator), -1)
    rows = find("expand_dims")(logits, axis=-2)
    sizes = (*logits.shape[:-1], num_samples, logits.shape[-1])
    return argmax(rows + gumbel(sizes, dtype=logits.dtype, seed=seed, generator=generator), -1)


def multinomial(
    weights: Tensor, num_samples: int, replacement: bool = True, seed: Any = None, *, generator: Any = None
) -> Tensor:
    """Draws of classes with probabilities proportional to ``weights`` along the last axis.

    Source: `mindspore.ops.multinomial`
    """
    logits = find("log")(weights)
    if replacement:
        return categorical(logits, num_samples, seed=seed, generator=generator)
    noise = gumbel(logits.shape, dtype=logits.dtype, seed=seed, generator=generator)
    out: Tensor = topk(logits + noise, num_samples)[1]
    return out


def dropout(x: Tensor, p: float = 0.5, training: bool = True, seed: int | None = None) -> Tensor:
    """Zeros with probability ``p`` and x / (1 - p) otherwise, so that the mean stays; ``x`` itself when not training.

    Args:
        x: tensor.
        p: the probability of a zero.
        training: False gives ``x`` itself.
        seed: None draws from the stream that ``set_seed`` starts. An int draws from a stream of its own, so that other
            draws do not change the masks: every call has the next mask of it, ``set_seed`` starts it anew.

    Raises:
        ValueError: ``p`` is not in [0, 1], or ``seed`` is no int >= 0.

    Source: Srivastava et al., "Dropout", JMLR 15, 2014;
        `mindspore.ops.dropout`
    """
    if not 0.0 <= p <= 1.0:
        raise AttributeValueError(f"dropout: p must be in [0, 1], got {p!r}.")
    if not training or p == 0.0:
        return identity(x) if training else x
    draws = drawn_uniform(x.shape, own_key("dropout", seed))
    scaled = x * (1.0 / (1.0 - p)) if p < 1.0 else x * 0.0
    return find("where")(draws >= p, scaled, 0.0)


def _channel_dropout(name: str, axes: int) -> Callable[..., Tensor]:
    def drop(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
        if x.ndim < axes + 1:
            raise ShapeError(f"{name} needs at least {axes + 1} axes.", operands=operand_lines(x._type))
        if not training:
            return x
        return x * dropout(ones((*x.shape[:-axes], *[1] * axes), dtype=x.dtype), p)

    drop.__name__ = name
    drop.__doc__ = f"Dropout of whole channels: the last {axes} axes are kept or dropped together."
    return drop


dropout1d, dropout2d, dropout3d = (_channel_dropout(f"dropout{n}d", n) for n in (1, 2, 3))


# names of MindSpore and PyTorch for the same
random_integers = RANDOM_INTEGERS
random_normal = RANDOM_NORMAL
random_permutation = RANDOM_PERMUTATION
random_uniform = RANDOM_UNIFORM
