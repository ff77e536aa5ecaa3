"""MindSpore's primitives of sequences: losses without an alignment, distances, n-grams, recurrent layers.

    CTCLoss          logits and labels by coordinates: (loss, its gradient)
    EditDistance     how many insertions, deletions and replacements lead from one sequence to another
    NoRepeatNGram    scores of words that would repeat an n-gram become the least number
    DynamicRNN ...   a layer over all steps, with the gates of each

Source: `mindspore.ops.primitive`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb import ops
from msnb.base import AttributeValueError, ShapeError
from msnb.core import dtypes
from msnb.ops.definition import as_sizes, as_tensor, need_float, operand_lines
from msnb.ops.elementwise.cast import limit
from msnb.ops.nn.ctc_loss import loss_and_gradient
from msnb.ops.sparse.sparse_tensor import is_known

# ---- losses without an alignment ----


def _ctc_loss(
    x: Any, labels_indices: Any, labels_values: Any, sequence_length: Any, preprocess_collapse_repeated: bool,
    ctc_merge_repeated: bool, ignore_longer_outputs_than_inputs: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """(loss, its gradient by x) of logits [time, n, classes], the last class the blank."""
    need_float("CTCLoss", x._type)
    if x.ndim != 3 or labels_indices.ndim != 2 or labels_indices.shape[1] != 2 or labels_values.ndim != 1:
        raise ShapeError("CTCLoss takes x [time, n, classes], labels_indices [labels, 2] and labels_values [labels].",
                         operands=operand_lines(x._type, labels_indices._type, labels_values._type))  # fmt: skip
    steps, n, classes = x.shape
    rows, places = labels_indices[:, 0], labels_indices[:, 1]
    inside = places < steps
    at = rows * steps + ops.where(inside, places, 0)
    targets = _put(at, ops.where(inside, labels_values + 1, 0), n * steps).reshape((n, steps)) - 1
    lengths = _put(rows, ops.ones_like(rows), n)
    if preprocess_collapse_repeated:
        targets, lengths = _collapsed(targets)
    if not ignore_longer_outputs_than_inputs and is_known(lengths) and (lengths > sequence_length).any().item():
        raise AttributeValueError("CTCLoss: a sequence has more labels than steps; "
                                  "ignore_longer_outputs_than_inputs=True gives it an infinite loss.")  # fmt: skip
    known = ops.where(targets < 0, classes - 1, targets)
    loss, gradient = loss_and_gradient(x, known, sequence_length, lengths, classes - 1, ctc_merge_repeated)
    return loss.astype(x.dtype), gradient.astype(x.dtype)


def _put(places: Any, values: Any, count: Any) -> Any:
    """Values added up where they belong."""
    return ops.tensor_scatter_add(ops.zeros((count,), dtype=values.dtype), places.expand_dims(-1), values)


def _collapsed(targets: Any) -> tuple[Any, Any]:
    """Equal neighbours become one; what is filled up is below 0."""
    new = ops.not_equal(targets[:, 1:], targets[:, :-1])
    kept = ops.logical_and(ops.concat((ops.ones_like(targets[:, :1]) > 0, new), 1), targets >= 0)
    n, steps = targets.shape
    at = ops.where(kept, ops.cumsum(kept.astype(dtypes.int32), 1) - 1, 0)
    at = at + ops.arange(n).astype(at.dtype).reshape((-1, 1)) * steps
    found = _put(at.reshape((-1,)), ops.where(kept, targets + 1, 0).reshape((-1,)), n * steps)
    return found.reshape((n, steps)) - 1, kept.astype(dtypes.int32).sum(1)


def _ctc_loss_v2(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int, reduction: str,
    zero_infinity: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """(loss [n], log_alpha); labels that do not fit have an infinite loss and, either way, no gradient."""
    if reduction != "none":
        raise AttributeValueError(f"CTCLossV2: reduction is 'none', not {reduction!r}; ops.ctc_loss has more.")
    times, counts = (list(v) if isinstance(v, tuple) else v for v in (input_lengths, target_lengths))
    return ops.ctc_loss(log_probs, targets, times, counts, blank, "none", False)


# ---- distances and n-grams ----


def _rows_of(indices: Any, values: Any, lead: tuple[int, ...], longest: int) -> tuple[Any, Any]:
    """(sequences [groups, longest], their lengths) of values by coordinates."""
    group: Any = 0
    wide = indices.astype(dtypes.int64)
    for axis, size in enumerate(lead):
        group = group * size + wide[:, axis]
    order = ops.argsort(group)
    group = ops.gather(group, order, 0)
    count = 1
    for size in lead:
        count *= size
    nth = ops.arange(group.shape[0]) - ops.searchsorted(group, group)
    found = _put(group * longest + nth, ops.gather(values, order, 0), count * longest)
    return found.reshape((count, longest)), _put(group, ops.ones_like(group), count)


def _edit_distance(
    hypothesis_indices: Any, hypothesis_values: Any, hypothesis_shape: Any, truth_indices: Any, truth_values: Any,
    truth_shape: Any, normalize: bool,
) -> Any:  # fmt: skip
    """Row by row of the table of distances; along a row, insertions are a running minimum."""
    shapes: Any = [as_sizes("EditDistance", (as_tensor(s),)) for s in (hypothesis_shape, truth_shape)]
    if len(shapes[0]) != len(shapes[1]) or not all(type(s) is int for shape in shapes for s in shape):
        raise ShapeError(f"EditDistance takes two known shapes with as many axes, got {shapes[0]} and {shapes[1]}.")
    lead = tuple(max(a, b) for a, b in zip(shapes[0][:-1], shapes[1][:-1]))
    ends = [shape[-1] for shape in shapes]
    first, m = _rows_of(hypothesis_indices, hypothesis_values, lead, ends[0])
    second, n = _rows_of(truth_indices, truth_values, lead, ends[1])
    steps = ops.arange(ends[1] + 1).astype(dtypes.float32)
    row = ops.broadcast_to(steps, (first.shape[0], ends[1] + 1))
    rows = [row]
    for i in range(ends[0]):
        other = ops.not_equal(first[:, i : i + 1], second).astype(dtypes.float32)
        least = ops.concat((row[:, :1] + 1, ops.minimum(row[:, 1:] + 1, row[:, :-1] + other)), 1)
        row = ops.cummin(least - steps, 1)[0] + steps
        rows.append(row)
    table = ops.stack(rows, 1).reshape((first.shape[0], -1))
    found = ops.gather_elements(table, 1, (m * (ends[1] + 1) + n).expand_dims(1))[:, 0]
    if normalize:
        found = ops.where(n > 0, found / ops.maximum(n, 1), ops.where(m > 0, float("inf"), 0.0))
    return found.astype(dtypes.float32).reshape(lead)


def _no_repeat(state_seq: Any, log_probs: Any, ngram_size: int) -> Any:
    """Words that would end an n-gram that the sequence has already."""
    if state_seq.ndim != 3 or log_probs.ndim != 3 or state_seq.shape[:2] != log_probs.shape[:2]:
        raise ShapeError("NoRepeatNGram takes state_seq [batch, beams, steps] and log_probs [batch, beams, words].",
                         operands=operand_lines(state_seq._type, log_probs._type))  # fmt: skip
    steps = state_seq.shape[2]
    if not 0 < ngram_size < steps:
        raise AttributeValueError(f"NoRepeatNGram: ngram_size lies from 1 to {steps - 1}, got {ngram_size}.")
    begins = steps - ngram_size + 1
    same = None
    for k in range(ngram_size - 1):
        last = steps - ngram_size + 1 + k
        equal = ops.equal(state_seq[:, :, k : k + begins], state_seq[:, :, last : last + 1])
        same = equal if same is None else ops.logical_and(same, equal)
    words = state_seq[:, :, ngram_size - 1 :].astype(dtypes.int64)
    hit = ops.ones_like(words) if same is None else same.astype(words.dtype)
    counts = ops.tensor_scatter_elements(ops.zeros_like(log_probs, dtype=words.dtype), words, hit, 2, "add")
    return ops.where(counts > 0, limit(log_probs.dtype, False), log_probs).astype(log_probs.dtype)


# ---- recurrent layers ----


def _need_plain(name: str, given: dict[str, Any], legal: dict[str, Any]) -> None:
    """Settings that MindSpore names and its devices do not have either."""
    for key, value in legal.items():
        if given[key] != value:
            raise AttributeValueError(f"{name}: {key} is {value!r}, not {given[key]!r}.")


def _lstm_gates(z: Any, c: Any, forget_bias: float, cell_clip: float) -> tuple[Any, ...]:
    """(h, c, i, j, f, o, tanh c) of the four parts of z: input gate, new values, forget gate, output gate."""
    i, j, f, o = ops.chunk(z, 4, -1)
    i, j, f, o = ops.sigmoid(i), ops.tanh(j), ops.sigmoid(f + forget_bias), ops.sigmoid(o)
    c = f * c + i * j
    c = ops.clip(c, -cell_clip, cell_clip) if cell_clip > 0 else c
    shown = ops.tanh(c)
    return o * shown, c, i, j, f, o, shown


def _dynamic_rnn(x: Any, w: Any, b: Any, seq_length: Any, init_h: Any, init_c: Any, **attrs: Any) -> tuple[Any, ...]:
    """(y, h, c, i, j, f, o, tanh c), each [time, n, hidden]."""
    _need_plain("DynamicRNN", attrs, {
        "cell_type": "LSTM", "direction": "UNIDIRECTIONAL", "cell_depth": 1, "use_peephole": False, "keep_prob": 1.0,
        "num_proj": 0, "time_major": True, "activation": "tanh"})  # fmt: skip
    _need_whole("DynamicRNN", seq_length)
    if x.ndim != 3 or w.ndim != 2 or w.shape[1] % 4 or w.shape[0] != x.shape[2] + w.shape[1] // 4:
        raise ShapeError("DynamicRNN takes x [time, n, features] and w [features + hidden, 4 hidden].",
                         operands=operand_lines(x._type, w._type))  # fmt: skip
    h, c, found = init_h[0], init_c[0], []
    given = ops.matmul(x, w[: x.shape[2]]) + b
    for t in range(x.shape[0]):
        parts = _lstm_gates(given[t] + ops.matmul(h, w[x.shape[2] :]), c, attrs["forget_bias"], attrs["cell_clip"])
        h, c = parts[:2]
        found.append((h, *parts))
    return tuple(ops.stack(part, 0).astype(b.dtype) for part in zip(*found))


def _need_whole(name: str, seq_length: Any) -> None:
    if seq_length is not None:
        raise AttributeValueError(f"{name}: seq_length is None: all sequences have all steps.")


def _dynamic_gru(
    x: Any, weight_input: Any, weight_hidden: Any, bias_input: Any, bias_hidden: Any, seq_length: Any, init_h: Any,
    **attrs: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """(y, h, update, reset, new, what the state gives to new), each [time, n, hidden]."""
    _need_plain("DynamicGRUV2", attrs, {
        "direction": "UNIDIRECTIONAL", "cell_depth": 1, "keep_prob": 1.0, "num_proj": 0, "time_major": True,
        "activation": "tanh"})  # fmt: skip
    _need_whole("DynamicGRUV2", seq_length)
    order = attrs["gate_order"]
    if order not in ("rzh", "zrh"):
        raise AttributeValueError(f"DynamicGRUV2: gate_order is 'rzh' or 'zrh', not {order!r}.")
    if x.ndim != 3 or weight_hidden.shape[1:] != (3 * init_h.shape[-1],) or weight_input.shape != (
        x.shape[2], weight_hidden.shape[1]
    ):  # fmt: skip
        raise ShapeError("DynamicGRUV2 takes x [time, n, features], weights [features, 3 hidden], [hidden, 3 hidden].",
                         operands=operand_lines(x._type, weight_input._type, weight_hidden._type))  # fmt: skip
    kind = next((b.dtype for b in (bias_input, bias_hidden) if b is not None), init_h.dtype)
    size, clip, h, found = init_h.shape[-1], attrs["cell_clip"], init_h, []
    given = ops.matmul(x, weight_input) if bias_input is None else ops.matmul(x, weight_input) + bias_input
    for t in range(x.shape[0]):
        state = ops.matmul(h, weight_hidden) if bias_hidden is None else ops.matmul(h, weight_hidden) + bias_hidden
        gates = ops.chunk(ops.sigmoid(given[t] + state)[:, : 2 * size], 2, -1)
        reset, update = gates if order == "rzh" else gates[::-1]
        told = state[:, 2 * size :]
        if not attrs["reset_after"]:
            told = ops.matmul(reset * h, weight_hidden[:, 2 * size :])
            told = told if bias_hidden is None else told + bias_hidden[2 * size :]
        new = ops.tanh(given[t][:, 2 * size :] + (reset * told if attrs["reset_after"] else told))
        h = (1 - update) * new + update * h
        h = ops.clip(h, -clip, clip) if clip > 0 else h
        found.append((h, h, update, reset, new, told))
    return tuple(ops.stack(part, 0).astype(kind) for part in zip(*found))


def _lstm_cell(
    x: Any, h: Any, c: Any, w: Any, b: Any, keep_prob: float, forget_bias: float, state_is_tuple: bool, activation: str
) -> tuple[Any, ...]:
    """(c, h, i, j, f, o, tanh c) of one step."""
    given = {"keep_prob": keep_prob, "state_is_tuple": state_is_tuple, "activation": activation}
    _need_plain("BasicLSTMCell", given, {"keep_prob": 1.0, "state_is_tuple": True, "activation": "tanh"})
    z = ops.matmul(ops.concat((x, h), 1), w) + b
    h, c, *gates = _lstm_gates(z, c, forget_bias, -1.0)
    return c, h, *gates


_LAYER = {"cell_depth": 1, "keep_prob": 1.0, "cell_clip": -1.0, "num_proj": 0, "time_major": True, "activation": "tanh"}
SEQUENCES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "CTCLoss": (_ctc_loss, {"preprocess_collapse_repeated": False, "ctc_merge_repeated": True,
                            "ignore_longer_outputs_than_inputs": False}),
    "CTCLossV2": (_ctc_loss_v2, {"blank": 0, "reduction": "none", "zero_infinity": False}),
    "EditDistance": (_edit_distance, {"normalize": True}), "NoRepeatNGram": (_no_repeat, {"ngram_size": 1}),
    "DynamicRNN": (_dynamic_rnn, {
        "cell_type": "LSTM", "direction": "UNIDIRECTIONAL", "cell_depth": 1, "use_peephole": False, "keep_prob": 1.0,
        "cell_clip": -1.0, "num_proj": 0, "time_major": True, "activation": "tanh", "forget_bias": 0.0,
        "is_training": True}),
    "DynamicGRUV2": (_dynamic_gru, {
        "direction": "UNIDIRECTIONAL", **_LAYER, "gate_order": "rzh", "reset_after": True, "is_training": True}),
    "BasicLSTMCell": (_lstm_cell, {"keep_prob": 1.0, "forget_bias": 1.0, "state_is_tuple": True, "activation": "tanh"}),
}  # fmt: skip
"""Name -> (function of tensors and attributes, attributes with defaults)."""
