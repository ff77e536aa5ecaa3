"""Windows that slide over an image: what convolution and pooling share.

    size + before + after          the padded axis            step * (out - 1) + reach  <=  size + before + after
    |<-reach->|                    reach = dilation * (kernel - 1) + 1
         |<-reach->|               the next window starts ``stride`` further on
    out = (size + before + after - reach) // stride + 1

MindSpore's pad modes are only names for (before, after): "valid" is (0, 0), "same" makes out = ceil(size / stride) with
the odd one after, "pad" takes the numbers. Records know numbers alone: ``pads = (top, bottom, left, right)``.
Some windows alone (``Slide.sees``) look at some rows alone, and are the windows of a call on these rows whose pads are
those of the whole where it touches the border, and none elsewhere: so an image can be cut into pieces.
Source: `mindspore.nn.Conv2d`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core.types import Dim, Size, TensorType
from msnb.ops.definition.type_inference import int_error, operand_lines

Pair = tuple[int, int]
Pads = tuple[int, int, int, int]
IntOrInts = int | Sequence[int]


# how messages name one number per axis, and the two sides of every axis
_INTS = {2: "two ints", 3: "three ints (depth, rows, columns)"}
_SIDES = {
    2: "padding must be an int, 2 or 4 ints (top, bottom, left, right)",
    3: f"padding (or six: front, back, top, bottom, left, right) must be an int or {_INTS[3]}",
}


def per_axis(name: str, what: str, value: IntOrInts, axes: int, low: int = 1) -> tuple[int, ...]:
    """``value`` for each of 2 or 3 axes, or its entries. Raises AttributeValueError unless these are ints from ``low``
    on."""
    if type(value) is int and value >= low:  # what nearly every call has
        return (value,) * axes
    given = _entries(value, axes)
    if len(given) != axes or not _ints(given, low):
        error = int_error(*(given or (value,)))
        raise error(f"{name}: {what} must be an int or {_INTS[axes]} of at least {low}, got {value!r}.")
    return given


def _entries(value: IntOrInts, count: int) -> tuple[int, ...]:
    return (value,) * count if isinstance(value, int) else tuple(value) if isinstance(value, (tuple, list)) else ()


def _ints(values: tuple[int, ...], low: int) -> bool:
    return all(isinstance(v, int) and not isinstance(v, bool) and v >= low for v in values)


def pair(name: str, what: str, value: IntOrInts, low: int = 1) -> Pair:
    """``per_axis`` for rows and columns. MindSpore's programs also give (1, 1, rows, columns) as a step."""
    if low == 1 and isinstance(value, (tuple, list)) and len(value) == 4 and tuple(value[:2]) == (1, 1):
        value = value[2:]
    rows, columns = per_axis(name, what, value, 2, low)
    return rows, columns


def sides(name: str, padding: IntOrInts, axes: int = 2) -> tuple[int, ...]:
    """(before, after) of every axis, one after the other, from an int, one int per axis, or all of them."""
    if type(padding) is int and padding >= 0:
        return (padding,) * (2 * axes)
    given = _entries(padding, axes)
    if len(given) == axes:
        given = tuple(side for side in given for _ in range(2))
    if len(given) != 2 * axes or not _ints(given, 0):
        raise int_error(*(given or (padding,)))(f"{name}: {_SIDES[axes]} of at least 0, got {padding!r}.")
    return given


def reach(kernel: int, dilation: int) -> int:
    """How many positions a kernel with holes spans."""
    return dilation * (kernel - 1) + 1


def same_pads(size: Size, span: int, stride: int) -> Pair:
    """The padding that gives ceil(size / stride) windows; the odd one comes after."""
    if isinstance(size, Dim):
        if stride != 1:
            raise ShapeError(f'pad_mode "same" with stride {stride} needs a known size, this one is {size}.')
        total = span - 1
    else:
        total = max((-(-size // stride) - 1) * stride + span - size, 0)
    return total // 2, total - total // 2


def resolve_pads(
    name: str, pad_mode: str, padding: IntOrInts, sizes: Sequence[Size], spans: Sequence[int], stride: Sequence[int]
) -> tuple[int, ...]:
    """(before, after) of every axis, one after the other: the numbers that a pad mode stands for."""
    mode = pad_mode.lower() if isinstance(pad_mode, str) else pad_mode
    if mode not in ("valid", "same", "pad"):
        raise AttributeValueError(f"{name}: pad_mode must be 'valid', 'same' or 'pad', got {pad_mode!r}.")
    pads = sides(name, padding, len(sizes))
    if mode == "pad":
        return pads
    if any(pads):
        raise AttributeValueError(
            f"{name}: padding={padding!r} goes with pad_mode='pad', not {mode!r}.", hint="pass pad_mode='pad'."
        )
    if mode == "valid":
        return pads
    same: list[int] = []
    for size, span, step in zip(sizes, spans, stride):
        same += same_pads(size, span, step)
    return tuple(same)


def out_size(size: Size, before: int, after: int, span: int, stride: int, ceil: bool = False) -> Size:
    """The number of windows along an axis; at most 0 where none fits. A Dim gives a Dim named by its formula."""
    if isinstance(size, Dim):
        if stride == 1 and before + after == span - 1:
            return size
        bound = None if size.bound is None else out_size(size.bound, before, after, span, stride, ceil)
        assert not isinstance(bound, Dim)
        return Dim(f"({size.symbol}+{before + after - span})//{stride}+1", bound)
    if not ceil:
        return (size + before + after - span) // stride + 1
    count = -(-(size + before + after - span) // stride) + 1
    # a last window that begins in the padding after the data would see nothing
    return count - 1 if (count - 1) * stride >= size + before else count


def out_sizes(
    name: str, x: TensorType, kernel: Pair, stride: Pair, pads: Pads, dilation: Pair, ceil: bool = False,
    axes: Pair = (2, 3),
) -> tuple[Size, Size]:  # fmt: skip
    """Rows and columns of windows over ``axes`` of ``x``. Raises ShapeError where not one fits."""
    outs = []
    for i, axis in enumerate(axes):
        size = x.shape[axis]
        span = reach(kernel[i], dilation[i])
        out = out_size(size, pads[2 * i], pads[2 * i + 1], span, stride[i], ceil)
        if not isinstance(out, Dim) and out < 1:
            raise ShapeError(
                f"{name}: the window spans {span} {'rows' if i == 0 else 'columns'}, the padded input has "
                f"{int(size) + pads[2 * i] + pads[2 * i + 1]}.",
                operands=operand_lines(x),
                hint="use a smaller kernel or dilation, or more padding (pad_mode='same').",
            )
        outs.append(out)
    return outs[0], outs[1]


def need_images(name: str, x: TensorType) -> None:
    """Raise unless ``x`` is a float tensor of four axes."""
    if x.ndim != 4:
        raise ShapeError(
            f"{name} needs x of four axes (batch, channels, rows, columns), got {x.ndim}.",
            operands=operand_lines(x),
            hint="add a batch axis with x.expand_dims(0), or a channel axis with x.expand_dims(1).",
        )
    if not x.dtype.is_float:
        raise DTypeError(
            f"{name} needs a floating-point x.", operands=operand_lines(x), hint="convert with x.astype(ms.float32)."
        )


def positions(kernel: Pair, stride: Pair, dilation: Pair, outs: Pair) -> Iterator[tuple[int, int, slice, slice]]:
    """For each place (i, j) of the kernel the rows and columns of the padded image it meets, one per window."""
    for i in range(kernel[0]):
        rows = slice(i * dilation[0], i * dilation[0] + (outs[0] - 1) * stride[0] + 1, stride[0])
        for j in range(kernel[1]):
            start = j * dilation[1]
            yield i, j, rows, slice(start, start + (outs[1] - 1) * stride[1] + 1, stride[1])


def padded(xp: Any, x: Any, pads: Pads, fill: Any = 0) -> Any:
    """``x`` with ``fill`` around it (``x`` itself without padding)."""
    top, bottom, left, right = pads
    if not any(pads):
        return x
    n, c, h, w = x.shape
    big = xp.full((n, c, h + top + bottom, w + left + right), fill, dtype=x.dtype)
    big[:, :, top : top + h, left : left + w] = x
    return big


def inner(big: Any, pads: Pads, size: Pair) -> Any:
    """The part of a padded image that is not padding."""
    return big[:, :, pads[0] : pads[0] + size[0], pads[2] : pads[2] + size[1]]


# ---- pieces of images ----


class WindowExtent(NamedTuple):
    """What some windows see of an axis: rows ``start`` up to ``stop``, and so much padding before and after them."""

    start: int
    stop: int
    before: int
    after: int


class Slide(NamedTuple):
    """Windows along one axis of images: how much each spans, how far apart they begin, the padding of the axis."""

    reach: int
    stride: int
    before: int
    after: int

    def sees(self, first: int, last: int, size: int) -> WindowExtent:
        """What the windows ``first`` up to ``last`` see of an axis of ``size`` (nothing: ``stop`` <= ``start``).

        Examples:
            >>> Slide(3, 1, 1, 1).sees(4, 8, 8)
            WindowExtent(start=3, stop=8, before=0, after=1)
        """
        low = first * self.stride - self.before
        high = (last - 1) * self.stride + self.reach - self.before
        start, stop = max(low, 0), min(high, size)
        return WindowExtent(start, stop, start - low, min(high - stop, self.after))


def slides(types: Sequence[TensorType], attrs: Mapping[str, Any]) -> dict[str, Slide]:
    """How the windows of a convolution or pooling slide along ``h`` and ``w``: a record's ``windows``."""
    kernel = attrs["kernel"] if "kernel" in attrs else types[1].ints()[2:]
    pads, holes = attrs["pads"], attrs.get("dilation", (1, 1))
    return {
        label: Slide(reach(kernel[i], holes[i]), attrs["stride"][i], pads[2 * i], pads[2 * i + 1])
        for i, label in enumerate("hw")
    }


def of_part(attrs: Mapping[str, Any], seen: Mapping[str, WindowExtent]) -> dict[str, Any]:
    """The attributes of a call on what some windows see along ``h``, ``w`` or both: its own pads, its own size."""
    pads, size = list(attrs["pads"]), list(attrs.get("size", ()))
    for i, label in enumerate("hw"):
        if label in seen:
            pads[2 * i : 2 * i + 2] = seen[label].before, seen[label].after
            size[i : i + 1] = [seen[label].stop - seen[label].start] if size else []
    return {**attrs, "pads": tuple(pads), **({"size": tuple(size)} if size else {})}
