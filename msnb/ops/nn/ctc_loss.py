"""Connectionist temporal classification: the loss of a sequence whose labels have no places in time.

    labels     c a t                       what was said, S labels
    path       - c c - a t t -             one class per time step; repeats and then blanks (-) are dropped
    states     - c - a - t -               2 S + 1: a blank before, between and behind the labels

A path walks the states from the first two to the last two; in a step it stays, goes on by one, or by two, where that
leaves out a blank between different labels. ``log_alpha[t, s]`` is the logarithm of the sum of all paths' probabilities
that are in state s at time t; each row follows from the one before it. What no path reaches has the logarithm of
nothing: a large negative number on the way, for infinity less infinity has no gradient, and minus infinity in the end.

Source: Graves et al. 2006, Connectionist Temporal Classification (ICML).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import Tensor
from msnb.ops.definition import as_tensor, need_float, operand_lines
from msnb.ops.elementwise import arithmetic, exp, stop_gradient, where
from msnb.ops.indexing.gather import gather_elements
from msnb.ops.indexing.masked_select import nonzero
from msnb.ops.indexing.scatter import tensor_scatter_elements
from msnb.ops.indexing.slice_updates import reverse_sequence
from msnb.ops.nn.activation import log_softmax
from msnb.ops.reduction.cumulative import cumsum
from msnb.ops.reduction.functional import amax, argmax, logsumexp, mean, sum as total
from msnb.ops.shape import broadcast_to, concat, expand_dims, full, reshape, stack, transpose, zeros
from msnb.ops.sparse.sparse_tensor import is_known
from msnb.ops.spatial.bounding_boxes import wide

__all__ = ["ctc_greedy_decoder", "ctc_loss"]

NEVER = -1e30  # the logarithm of nothing; sums of a few thousand of them stay finite in float32


def _checked(log_probs: Any, targets: Any, lengths: tuple[Any, Any], blank: int, reduction: str) -> None:
    """Whether shapes, dtypes and settings belong together."""
    # four operands share one batch size, so all are looked at before the first sum over paths
    types = [t._type for t in (log_probs, targets, *lengths)]
    lines = operand_lines(*types, names=("log_probs", "targets", "input_lengths", "target_lengths"))
    need_float("ctc_loss", types[0])
    if not all(t.dtype.is_int for t in types[1:]):
        raise DTypeError("ctc_loss: targets and lengths are whole numbers.", operands=lines)
    axes = [t.ndim for t in types]
    if axes != [3, 2, 1, 1] or len({types[0].shape[1], *(t.shape[0] for t in types[1:])}) > 1:
        raise ShapeError("ctc_loss takes log_probs [time, n, classes], targets [n, labels] and two lengths [n].",
                         operands=lines)  # fmt: skip
    if not 0 <= blank < types[0].ints(2)[0]:
        raise AttributeValueError(f"ctc_loss: blank is one of the classes 0..{types[0].ints(2)[0] - 1}, got {blank}.")
    if reduction not in ("mean", "sum", "none"):
        raise AttributeValueError(f"ctc_loss: reduction must be 'mean', 'sum' or 'none', got {reduction!r}.")


def ctc_greedy_decoder(
    inputs: Any, sequence_length: Any, merge_repeated: bool = True
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The labels of the likeliest class at every step; the last class is the blank between labels.

    Args:
        inputs: scores [time, n, classes], floats.
        sequence_length: whole numbers [n], how many steps of each sequence count.
        merge_repeated: equal classes of steps in a row are one label.

    Returns:
        (places [labels, 2]: sequence and number in it; labels [labels]; [n, longest] as a tensor; minus the sum of the
        highest scores [n, 1]).

    Raises:
        ValueError: other shapes, or a length above the time. TypeError: no floats, lengths that are no whole numbers.

    Source: `mindspore.ops.ctc_greedy_decoder`

    Examples:
        >>> import msnb as ms
        >>> scores = ms.Tensor([[[0.6, 0.4, 0.2]], [[0.0, 0.6, 0.0]]])
        >>> [found.tolist() for found in ms.ops.ctc_greedy_decoder(scores, ms.Tensor([2]))[:3]]
        [[[0, 0], [0, 1]], [0, 1], [1, 2]]
    """
    x, lengths = as_tensor(inputs), as_tensor(sequence_length)
    lines = operand_lines(x._type, lengths._type, names=("inputs", "sequence_length"))
    if not x.dtype.is_float or not lengths.dtype.is_int:
        raise DTypeError("ctc_greedy_decoder takes floats and whole lengths.", operands=lines)
    if x.ndim != 3 or lengths.ndim != 1 or x.shape[1] != lengths.shape[0]:
        raise ShapeError("ctc_greedy_decoder takes inputs [time, n, classes] and lengths [n].", operands=lines)
    if is_known(lengths) and lengths.size and lengths.asnumpy().max() > x.shape[0]:
        raise AttributeValueError(f"ctc_greedy_decoder: a length is above the {x.shape[0]} steps that there are.")
    classes = transpose(argmax(x, 2).astype("int64"), (1, 0))
    inside = expand_dims(as_tensor(np.arange(x.shape[0])), 0) < expand_dims(lengths.astype("int64"), 1)
    kept = inside & (classes != x.shape[2] - 1)
    if merge_repeated:
        kept = kept & concat([classes[:, :1] == classes[:, :1], classes[:, 1:] != classes[:, :-1]], 1)
    order = cumsum(kept.astype("int64"), 1)
    places = nonzero(kept)
    row, step = places[:, 0], places[:, 1]
    longest = amax(order[:, -1], 0)
    score = -total(where(transpose(inside, (1, 0)), amax(x, 2), 0.0), 0)
    sizes = stack([full((), x.shape[1], dtype=longest.dtype), longest])
    return stack([row, order[row, step] - 1], 1), classes[row, step], sizes, expand_dims(score, 1)


def _without_padding(targets: Any, target_lengths: Any, blank: int) -> Any:
    """``targets`` with the blank behind each row's length: what stands there says nothing, whatever number it is."""
    places = as_tensor(np.arange(targets.shape[1]))
    inside = expand_dims(places, 0) < expand_dims(target_lengths.astype("int64"), 1)
    return where(inside, targets, blank).astype(targets.dtype)


def _states(targets: Any, blank: int) -> Any:
    """[n, S] labels -> [n, 2 S + 1] with blanks around them."""
    n, s = targets.shape
    blanks = full((n, s, 1), blank, dtype=targets.dtype)
    pairs = reshape(concat([blanks, expand_dims(targets, 2)], axis=2), (n, 2 * s))
    return concat([pairs, full((n, 1), blank, dtype=targets.dtype)], axis=1)


def _leaps(states: Any, blank: int, like: Any, merge: bool) -> Any:
    """[n, 2 S + 1]: 0 where a path may come from two states before, else the logarithm of nothing."""
    two = states[:, 2:]
    may = (two != blank) & (two != states[:, :-2]) if merge else two != blank
    begin = full((states.shape[0], 2), NEVER, dtype=like.dtype)
    return concat([begin, where(may, 0.0, NEVER).astype(like.dtype)], axis=1)


def _rows(log_probs: Any, states: Any, blank: int, merge: bool = True) -> list[Any]:
    """The rows of log_alpha, [n, 2 S + 1] each, as far as time goes. Without ``merge`` a label lasts one step."""
    steps, n, _ = log_probs.shape
    width = states.shape[1]
    seen = gather_elements(log_probs, 2, broadcast_to(expand_dims(states, 0), (steps, n, width)))
    before = full((n, 2), NEVER, dtype=log_probs.dtype)
    leaps = _leaps(states, blank, log_probs, merge)
    stays = None if merge else where(states == blank, 0.0, NEVER).astype(log_probs.dtype)
    first = np.where(np.arange(width) < 2, 0.0, NEVER)
    rows = [seen[0] + as_tensor(first).astype(log_probs.dtype)]
    for t in range(1, steps):
        padded = concat([before, rows[-1]], axis=1)
        same = rows[-1] if stays is None else rows[-1] + stays
        ways = stack([same, padded[:, 1:-1], padded[:, :-2] + leaps])
        rows.append(arithmetic.maximum(seen[t] + logsumexp(ways, 0), NEVER))
    return rows


def _ends(log_alpha: Any, input_lengths: Any, target_lengths: Any) -> Any:
    """[n]: the logarithm of the probability of all paths that end in the last label, or in the blank behind it."""
    n, steps, width = log_alpha.shape
    at = reshape(input_lengths.astype("int64") - 1, (n, 1, 1))
    last = reshape(gather_elements(log_alpha, 1, broadcast_to(at, (n, 1, width))), (n, width))
    behind = expand_dims(target_lengths.astype("int64") * 2, 1)
    ways = gather_elements(last, 1, concat([behind, arithmetic.maximum(behind - 1, 0)], axis=1))
    alone = concat([full((n, 1), False, dtype="bool"), behind == 0], axis=1)  # no labels: only the blank
    return logsumexp(where(alone, NEVER, ways), 1)


def loss_and_gradient(
    logits: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int, merge: bool
) -> tuple[Any, Any]:
    """The loss [n] of logits [time, n, classes], and its gradient: the share of a class less how likely it is there.

    That is what the sums over paths before a state and behind it tell; those behind are those before, read backwards.
    """
    x = wide(logits)
    steps, n, classes = x.shape
    seen, ahead = (t.astype("int64") for t in (input_lengths, target_lengths))
    states = _states(_without_padding(targets, target_lengths, blank), blank)
    log_probs = log_softmax(x, -1)
    alpha = stack(_rows(log_probs, states, blank, merge), 1)
    log_likelihood = _ends(alpha, seen, ahead)
    never = log_likelihood < NEVER / 2
    back = _rows(reverse_sequence(log_probs, seen, 0, 1), reverse_sequence(states, 2 * ahead + 1, 1), blank, merge)
    beta = reverse_sequence(reverse_sequence(stack(back, 1), seen, 1), 2 * ahead + 1, 2)
    places = broadcast_to(expand_dims(states, 1), alpha.shape)
    own = gather_elements(transpose(log_probs, (1, 0, 2)), 2, places)
    rest = where(never, 0.0, log_likelihood).reshape((-1, 1, 1))
    inside = expand_dims(as_tensor(np.arange(states.shape[1])), 0) < expand_dims(2 * ahead + 1, 1)
    share = where(expand_dims(inside, 1), exp(arithmetic.minimum(alpha + beta - own - rest, 0.0)), 0.0)
    passed = tensor_scatter_elements(zeros((n, steps, classes), dtype=x.dtype), places, share, 2, "add")
    counts = (expand_dims(as_tensor(np.arange(steps)), 1) < expand_dims(seen, 0)) & expand_dims(~never, 0)
    gradient = where(expand_dims(counts, 2), exp(log_probs) - transpose(passed, (1, 0, 2)), 0.0)
    return where(never, np.inf, -log_likelihood), gradient


def ctc_loss(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0,
             reduction: str = "mean", zero_infinity: bool = False) -> tuple[Any, Any]:  # fmt: skip
    """-log of the probability that a sequence says its labels, at whatever times.

    Args:
        log_probs: [time, n, classes], log_softmax of what a network gives; float, computed in at least 32 bits. Of one
            sequence [time, classes], its targets [labels].
        targets: [n, labels], whole numbers, each row filled up behind its labels with anything.
        input_lengths, target_lengths: [n], how much of each row counts; tensors or lists.
        blank: the class that stands for no label.
        reduction: "none", "sum", or "mean": of each loss divided by its number of labels.
        zero_infinity: labels that do not fit into their time (infinite loss) give 0.

    Returns:
        The loss ([n] or a number), and log_alpha [n, time, 2 * labels + 1], the logarithms of the probabilities of all
        ways to a state (module ``msnb.ops.nn.ctc_loss``). Gradients go through the loss, as through that of what
        ``log_softmax`` was taken of (PyTorch's, too); labels that do not fit give none.

    Raises:
        ShapeError, DTypeError: operands that do not belong together. ValueError: blank or reduction.

    Source: https://www.mindspore.cn/docs/en/master/api_python/ops/mindspore.ops.ctc_loss.html; Graves et al. 2006

    Examples:
        >>> import msnb as ms
        >>> even = ms.ops.log_softmax(ms.ops.zeros((2, 1, 2)))
        >>> loss, _ = ms.ops.ctc_loss(even, ms.Tensor([[1]]), [2], [1])  # three of four paths: 11, 1-, -1
        >>> round(float(ms.ops.exp(-loss)), 4)
        0.75
    """
    log_probs, targets = as_tensor(log_probs), as_tensor(targets)
    lengths = as_tensor(input_lengths), as_tensor(target_lengths)
    if log_probs.ndim == 2 and targets.ndim == 1:
        times, counts = (reshape(length, (-1,)) for length in lengths)
        one = expand_dims(log_probs, 1), expand_dims(targets, 0)
        alone, alpha = ctc_loss(one[0], one[1], times, counts, blank, reduction, zero_infinity)
        return reshape(alone, ()), alpha[0]
    _checked(log_probs, targets, lengths, blank, reduction)
    states = _states(_without_padding(targets, lengths[1], blank), blank)
    x = wide(log_probs)
    total_of_classes = logsumexp(x, -1, True)  # 0, but its slope is that of log_softmax
    x = x - total_of_classes + stop_gradient(total_of_classes)
    alpha = stack(_rows(x, states, blank), 1)
    loss = -_ends(alpha, *lengths)
    loss = where(loss > -NEVER / 2, 0.0 if zero_infinity else np.inf, loss)
    over = expand_dims(as_tensor(np.arange(alpha.shape[1])), 0) >= expand_dims(lengths[0], 1)
    last = expand_dims(lengths[1].astype("int64") * 2, 1)
    behind = expand_dims(as_tensor(np.arange(alpha.shape[2])), 0) > last  # states of what fills up the targets
    never = expand_dims(over, 2) | expand_dims(behind, 1) | (alpha < NEVER / 2)
    log_alpha = stop_gradient(where(never, -np.inf, alpha))
    if reduction == "mean":
        return mean(loss / arithmetic.maximum(lengths[1], 1).astype(loss.dtype)), log_alpha
    return (total(loss) if reduction == "sum" else loss), log_alpha
