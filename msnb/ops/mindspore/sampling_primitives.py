"""MindSpore's primitives that draw samples: classes for a sampled loss, places of a mask, gamma and Poisson numbers.

Each takes ``key``: the next key of the operator's own stream where seeds are given, else None for the stream of all
draws. Samplers without replacement order all classes by a random score and take the highest (Gumbel top-k).

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.ops.primitive.html (Sampling Operator)
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb import ops
from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import Tensor, dtypes
from msnb.ops.definition import as_sizes, as_tensor, operand_lines
from msnb.ops.random.draws import drawn_order, drawn_uniform, own_key

NEEDED: Any = inspect.Parameter.empty
_SEEDS = {"seed": 0, "seed2": 0}


def _classes(name: str, chances: Any, x: Any, sampled: int, unique: bool, remove_hits: bool, key: Any) -> Any:
    """(sampled classes, how often each true class is expected, how often each sampled one)."""
    n = len(chances)
    if unique and sampled > n:
        raise AttributeValueError(f"{name}: {sampled} different classes of {n} cannot be sampled.")
    share = Tensor(chances.astype(np.float32))
    size = (n,) if unique else (sampled, n)
    score = ops.log(share) - ops.log(-ops.log(1.0 - drawn_uniform(size, key)))
    if unique:
        if remove_hits:
            hit = ops.equal(ops.arange(n).reshape((-1, 1)), x.reshape((1, -1))).any(1)
            score = ops.where(hit, float("-inf"), score)
        picked = ops.topk(score, sampled)[1]
        counts = 1.0 - ops.pow(1.0 - share, sampled)
    else:
        picked, counts = ops.argmax(score, 1), share * sampled
    inside = ops.logical_and(x >= 0, x < n)
    true = ops.where(inside, ops.gather(counts, ops.where(inside, x, 0), 0), 0.0)
    return picked.astype(x.dtype), true.astype(dtypes.float32), ops.gather(counts, picked, 0)


def uniform_candidates(
    x: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, remove_accidental_hits: bool, key: Any = None
) -> Any:
    """Classes drawn alike; with ``remove_accidental_hits`` the true ones are left out."""
    chances = np.full(range_max, 1.0 / range_max)
    return _classes("UniformCandidateSampler", chances, x, num_sampled, unique, remove_accidental_hits, key)


def log_uniform_candidates(
    x: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, key: Any = None
) -> Any:
    """Classes drawn with log(1 + 1 / (class + 1)) / log(range_max + 1)."""
    chances = np.log1p(1.0 / np.arange(1, range_max + 1)) / np.log(range_max + 1)
    return _classes("LogUniformCandidateSampler", chances, x, num_sampled, unique, False, key)


def _key_of(seed: int) -> Any:
    return Tensor(np.array([seed, 0], np.uint64)) if seed else None


def uniform_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int = 0,
    remove_accidental_hits: bool = False,
) -> Any:  # fmt: skip
    """Classes for a sampled loss, all equally likely.

    Args:
        true_classes: int [batch, num_true].
        num_true: how many classes are right for each row.
        num_sampled: how many are drawn.
        unique: whether they all differ.
        range_max: how many classes there are.
        seed: draws of their own, the same at every call; 0: from the stream of ``ms.set_seed``.
        remove_accidental_hits: leave the true classes out (with ``unique``).

    Returns:
        (sampled classes [num_sampled], how often each true class is expected, how often each sampled one).

    Raises:
        ValueError: more different classes than there are.

    Source: `mindspore.ops.uniform_candidate_sampler`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.uniform_candidate_sampler(ms.Tensor([[1], [3]]), 1, 4, True, 4)[0].sum().item()
        6
    """
    found = (num_true, num_sampled, unique, range_max, remove_accidental_hits, _key_of(seed))
    return uniform_candidates(true_classes, *found)


def log_uniform_candidate_sampler(
    true_classes: Any, num_true: int = 1, num_sampled: int = 5, unique: bool = True, range_max: int = 5, seed: int = 0
) -> Any:
    """Classes for a sampled loss, where small numbers are likelier: log(1 + 1 / (class + 1)) / log(range_max + 1).

    Arguments and results are those of ``uniform_candidate_sampler``.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.log_uniform_candidate_sampler(ms.Tensor([[1]]), 1, 4, True, 4)[0].sum().item()
        6
    """
    return log_uniform_candidates(true_classes, num_true, num_sampled, unique, range_max, _key_of(seed))


def _chosen_places(x: Any, count: int, key: Any = None) -> tuple[Any, Any]:
    """(places [count, axes] of true elements in random order, which rows are places: the others are 0)."""
    flat = x.reshape((-1,))
    score = ops.where(flat, drawn_uniform(flat.shape, key), -1.0)
    at = ops.argsort(score, descending=True)[:count].astype(dtypes.int64)
    found = ops.gather(flat, at, 0)
    if count > at.shape[0]:
        at, found = (ops.pad(part.astype(dtypes.int64), (0, count - part.shape[0])) for part in (at, found))
        found = found > 0
    steps, places = np.cumprod((1, *x.shape[:0:-1]))[::-1], []
    for step, size in zip(steps.tolist(), x.shape):
        places.append(at // step % size)
    return ops.where(found.reshape((-1, 1)), ops.stack(places, 1), 0).astype(dtypes.int32), found


def choice_with_mask(input_x: Any, count: int = 256, seed: int | None = None) -> tuple[Any, Any]:
    """Places of true elements in random order.

    Args:
        input_x: booleans of any shape.
        count: how many places.
        seed: a stream of one's own; None: the one of ``ms.set_seed``.

    Returns:
        (places int32 [count, axes], which of them are places: where there are fewer, the others are 0).

    Raises:
        TypeError: no booleans. ValueError: count is no number above 0.

    Source: `mindspore.ops.choice_with_mask`

    Examples:
        >>> import msnb as ms
        >>> [found.tolist() for found in ms.ops.choice_with_mask(ms.Tensor([False, True]), 2)]
        [[[1], [0]], [True, False]]
    """
    if not isinstance(input_x, Tensor) or input_x.dtype is not dtypes.bool_ or not input_x.ndim:
        raise DTypeError("choice_with_mask takes a tensor of booleans with an axis.")
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise AttributeValueError(f"choice_with_mask: count is a whole number above 0, got {count!r}.")
    return _chosen_places(input_x, count, own_key("choice_with_mask", seed))


def multinomial_with_replacement(x: Any, seed: Any, offset: Any, numsamples: int, replacement: bool = False) -> Any:
    """Classes drawn with probabilities proportional to ``x``.

    Args:
        x: [classes] or [n, classes], floats from 0.
        seed, offset: ints or tensors: the same draws at every call; -1 and 0: from the stream of ``ms.set_seed``.
        numsamples: draws per row.
        replacement: whether a class may be drawn again.

    Returns:
        int64 [numsamples] or [n, numsamples].

    Raises:
        ValueError: another number of axes, or more different classes than there are.

    Source: `mindspore.ops.multinomial_with_replacement`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.multinomial_with_replacement(ms.Tensor([0.0, 9.0, 0.0]), 2, 5, 2, True).tolist()
        [1, 1]
    """
    if x.ndim not in (1, 2):
        lines = operand_lines(x._type)
        raise ShapeError("multinomial_with_replacement takes [classes] or [n, classes].", operands=lines)
    if not replacement and numsamples > x.shape[-1]:
        told = f"multinomial_with_replacement: {numsamples} different classes of {x.shape[-1]} cannot be drawn."
        raise AttributeValueError(told, hint="replacement=True draws a class again.")
    own = ops.stack([as_tensor(v).reshape(()).astype(dtypes.uint64) for v in (seed, offset)])
    key = None if type(seed) is int and (seed, offset) == (-1, 0) else own
    size = (*x.shape[:-1], numsamples, x.shape[-1]) if replacement else x.shape
    score = -ops.log(-ops.log1p(-drawn_uniform(size, key)))
    share = ops.log(x.astype(dtypes.float32))
    if replacement:
        return ops.argmax(ops.expand_dims(share, -2) + score, -1).astype(dtypes.int64)
    return ops.topk(share + score, numsamples)[1].astype(dtypes.int64)


def randint_like(input: Any, low: int, high: int, seed: int | None = None, *, dtype: Any = None) -> Any:
    """Whole numbers from ``low`` to ``high`` - 1 in the shape of ``input`` and its dtype, or another.

    Args:
        seed: a stream of one's own; None: the one of ``ms.set_seed``.
        dtype: an integer type; it must be given where ``input`` has floats.

    Raises:
        TypeError: no integer type. ValueError: no numbers from low to high.

    Source: `mindspore.ops.randint_like`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.randint_like(ms.Tensor([7, 7]), 3, 4).tolist()
        [3, 3]
    """
    return ops.randint(low, high, input.shape, seed, dtype=dtype or input.dtype)


def _within_two(shape: Any, dtype: Any, key: Any = None) -> Any:
    """Normal numbers between -2 and 2: the inverse of the distribution at even numbers."""
    if not dtypes.as_dtype(dtype).is_float:
        raise DTypeError(f"TruncatedNormal: dtype is one of floats, not {dtype}.")
    size = as_sizes("TruncatedNormal", (shape,))
    u = (drawn_uniform(size, key) * 2.0 - 1.0) * math.erf(math.sqrt(2.0))
    return ops.clip(ops.erfinv(u) * math.sqrt(2.0), -2.0, 2.0).astype(dtype)


def _gamma(shape: Any, alpha: Any, beta: Any, key: Any = None) -> Any:
    """Draws in the shape in which ``shape`` and those of alpha and beta meet."""
    asked: Any = as_sizes("Gamma", (shape,))
    whole = np.broadcast_shapes(asked, alpha.shape, beta.shape)
    return ops.gamma((), ops.broadcast_to(alpha, whole), beta, key)


def _laplace(shape: Any, key: Any = None) -> Any:
    """Draws of mean 0 and scale 1."""
    share = drawn_uniform(as_sizes("StandardLaplace", (shape,)), key) - 0.5
    return -ops.sign(share) * ops.log1p(-2.0 * ops.abs(share))


def _bernoulli(x: Any, p: Any = 0.5, offset: int = 0, key: Any = None) -> Any:
    """1 with the probability p, else 0, in the shape and dtype of x; an offset moves the stream of a seed on."""
    if offset and key is None:
        raise AttributeValueError("Bernoulli: an offset moves the stream of a seed on, and seed is -1: any.")
    return (drawn_uniform((*x.shape, offset + 1), key)[..., offset] < p).astype(x.dtype)


def _multinomial(x: Any, num_samples: Any, dtype: Any, key: Any = None) -> Any:
    """Classes of rows of weights, drawn with replacement: how many sums of weights a draw has passed."""
    count = num_samples.item() if isinstance(num_samples, Tensor) else num_samples
    sums = ops.cumsum(x.astype(dtypes.float64), -1)
    drawn = drawn_uniform((*x.shape[:-1], count), key) * sums[..., -1:]
    return (sums.expand_dims(-2) <= drawn.expand_dims(-1)).sum(-1).astype(dtype)


def _shuffled(x: Any, key: Any = None) -> Any:
    """The rows of x in random order; one number is its own."""
    return ops.gather(x, drawn_order(x.shape[0], key), 0) if x.ndim else x


SAMPLERS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "UniformCandidateSampler": (uniform_candidates, {
        **dict.fromkeys(("num_true", "num_sampled", "unique", "range_max"), NEEDED), "seed": 0,
        "remove_accidental_hits": False}),
    "LogUniformCandidateSampler": (log_uniform_candidates, {
        "num_true": 1, "num_sampled": 5, "unique": True, "range_max": 5, "seed": 0}),
    "RandomChoiceWithMask": (_chosen_places, {"count": 256, **_SEEDS}),
    "RandomPoisson": (lambda shape, rate, dtype, key=None: ops.random_poisson(shape, rate, key, dtype),
                      {**_SEEDS, "dtype": dtypes.int64}),
    "TruncatedNormal": (_within_two, {"dtype": dtypes.float32, **_SEEDS}),
    "Poisson": (lambda shape, mean, key=None: ops.random_poisson(shape, mean, key, dtypes.int32), _SEEDS),
    "RandomGamma": (lambda shape, alpha, key=None: ops.random_gamma(shape, alpha, key), _SEEDS),
    "Gamma": (_gamma, _SEEDS), "Multinomial": (_multinomial, {**_SEEDS, "dtype": dtypes.int32}),
    "Bernoulli": (_bernoulli, {"seed": -1, "offset": 0}), "StandardLaplace": (_laplace, _SEEDS),
    "RandomShuffle": (_shuffled, _SEEDS),
}  # fmt: skip
"""Name -> (function of tensors, attributes and a key, attributes with defaults)."""
