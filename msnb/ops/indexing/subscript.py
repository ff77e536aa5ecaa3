"""From the key of a subscript to a static spec and index tensors.

x[0, ..., mask, [1, 2], i, ::2, None]
   |   |    |     |     |   |    +-- new axis
   |   |    |     |     |   +------- slice, its ends clipped to the axis
   |   |    |     +-----+----------- index tensors: lists, arrays, Tensors of integers (0-d ones too)
   |   |    +----------------------- mask of k axes: the k index tensors of its True entries (a data-dependent size)
   |   +---------------------------- as many full slices as are missing
   +-------------------------------- int
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from msnb.base.errors import ArgumentError, AttributeValueError, IndexOutOfRange
from msnb.core import Dim, Shape, Size, Tensor, dtypes
from msnb.ops.definition import as_tensor, operand_lines
from msnb.ops.indexing.masked_select import nonzero
from msnb.ops.shape import EXPAND_DIMS, stack, unstack

FULL = slice(None)


_lists_are_tuples = False


def take_lists_as_tuples(on: bool) -> None:
    """Whether a list as a key stands for a tuple where it holds more than numbers, as in MindSpore: x[[rows, 0]]."""
    global _lists_are_tuples
    _lists_are_tuples = on


def entries(key: Any) -> list[Any]:
    """The key as a list in which arrays and lists are Tensors, and numbers are ints, bools or Tensors."""
    if _lists_are_tuples and isinstance(key, list) and not all(isinstance(e, (Integral, np.bool_)) for e in key):
        key = tuple(key)
    return [_entry(e) for e in (key if isinstance(key, tuple) else (key,))]


def _entry(e: Any) -> Any:
    if e is None or e is Ellipsis or isinstance(e, (slice, bool, Tensor)) or type(e) is int:
        return e
    if isinstance(e, np.bool_):
        return bool(e)
    if isinstance(e, (list, tuple, range, np.ndarray)):  # a tuple inside the key is a list, as in NumPy
        return _index_array(list(e) if isinstance(e, tuple) else e)
    if hasattr(e, "__index__"):
        return int(e.__index__())
    raise ArgumentError(
        f"a tensor is indexed with ints, slices, ..., None, masks, integer arrays, not with {type(e).__name__} {e!r}."
    )


def _index_array(e: Any) -> Any:
    if isinstance(e, list) and any(isinstance(item, Tensor) for item in e):
        return stack(e)
    array = np.asarray(e)
    return as_tensor(array.astype(np.int64) if array.size == 0 and array.dtype.kind == "f" else array)


def _axes_used(e: Any) -> int:
    if e is None or e is Ellipsis or isinstance(e, bool):
        return 0
    return int(e.ndim) if isinstance(e, Tensor) and e.dtype is dtypes.bool_ else 1


def written_out(x: Any, items: list[Any]) -> list[Any]:
    """The entries with the Ellipsis (at the end if there is none) as full slices."""
    used = sum(_axes_used(e) for e in items)
    dots = [i for i, e in enumerate(items) if e is Ellipsis]
    if len(dots) > 1:
        raise IndexOutOfRange("an index can only have one Ellipsis (...).")
    if used > x.ndim:
        raise IndexOutOfRange(
            f"too many indices: the tensor has {x.ndim} axes and {used} were indexed.", operands=operand_lines(x._type)
        )
    return items if not dots else items[: dots[0]] + [FULL] * (x.ndim - used) + items[dots[0] + 1 :]


def _end(e: Any) -> int | None:
    return None if e is None else int(e.__index__())


_NOTHING = (0, 0, 1)


def static_slice(size: Size, e: slice) -> tuple[int | None, int | None, int]:
    """(start, stop, step), what ``slice.indices`` says where the size is known.

    Those numbers are places, not yet an index: where nothing is taken the start may be -1 ("before the first"), and so
    may the stop of a walk backwards. An index would count both from the end, so the empty walk has one form of its
    own, and a stop before the first element is None.
    """
    try:
        start, stop, step = _end(e.start), _end(e.stop), 1 if e.step is None else int(e.step.__index__())
    except AttributeError:
        raise ArgumentError(f"the ends and the step of a slice are integers or None, got {e!r}.") from None
    if step == 0:
        raise AttributeValueError("a slice with step 0 goes nowhere.")
    if isinstance(size, Dim):
        return start, stop, step
    places = range(*slice(start, stop, step).indices(size))
    if not places:
        return _NOTHING
    return places.start, (None if places.stop < 0 else places.stop), step


def _check_mask(x: Any, axis: int, mask: Any) -> None:
    for i, size in enumerate(mask.shape):
        if size != x.shape[axis + i]:
            raise IndexOutOfRange(
                f"a mask of size {size} cannot index axis {axis + i} of size {x.shape[axis + i]}.",
                operands=operand_lines(x._type, mask._type, names=("x", "mask")),
            )


def _mask_tensors(x: Any, axis: int, mask: Any) -> tuple[tuple[Any, ...], list[Any]]:
    if isinstance(mask, bool):
        return (None, "t"), [as_tensor(np.zeros((int(mask),), np.int64))]
    if not mask.ndim:
        flat = mask.reshape(1)
        return (None, "t"), [unstack(nonzero(flat), 1)[0]]
    _check_mask(x, axis, mask)
    return ("t",) * mask.ndim, list(unstack(nonzero(mask), 1))


def parse(x: Any, key: Any) -> tuple[Any, tuple[Any, ...], list[Any]]:
    """(x, spec, index tensors) of ``x[key]``; x itself gets a new axis where a lone truth value asks for one.

    Raises:
        IndexOutOfRange: too many entries, a mask that does not fit.
        ArgumentError: an entry that is no index.
    """
    spec: list[Any] = []
    found: list[Any] = []
    axis = 0
    for e in written_out(x, entries(key)):
        if isinstance(e, bool) or (isinstance(e, Tensor) and e.dtype is dtypes.bool_):
            if isinstance(e, bool) or not e.ndim:
                x = EXPAND_DIMS(x, axis=axis)
            new, own = _mask_tensors(x, axis, e)
            spec += new[-1:] if new[0] is None else new
            found += own
            axis += max(len(own), 1)
            continue
        spec.append(_static(x, axis, e, found))
        axis += e is not None
    return x, tuple(spec), found


def _static(x: Any, axis: int, e: Any, found: list[Any]) -> Any:
    if isinstance(e, Tensor):
        found.append(e)
        return "t"
    if isinstance(e, slice):
        return static_slice(x.shape[axis], e)
    if isinstance(e, int):
        size = x.shape[axis]
        return e + size if isinstance(size, int) and -size <= e < 0 else e
    return e


def lone_mask(x: Any, key: Any) -> tuple[Any, int] | None:
    """(mask, first axis) when one mask is all that a key says, apart from full slices."""
    items = written_out(x, entries(key))
    masks = [e for e in items if isinstance(e, Tensor) and e.dtype is dtypes.bool_ and e.ndim]
    # compared by identity: == of tensors is an operation
    others = [e for e in items if not any(e is m for m in masks)]
    if len(masks) != 1 or any(not isinstance(e, slice) or e != FULL for e in others):
        return None
    axis = next(i for i, e in enumerate(items) if e is masks[0])
    _check_mask(x, axis, masks[0])
    return masks[0], axis


def trimmed(value: Any, place: Shape | int) -> Any:
    """NumPy lets a value have more axes than its place when the extra ones have size 1."""
    rank = place if isinstance(place, int) else len(place)
    extra = value.ndim - rank
    if extra > 0 and all(d == 1 for d in value.shape[:extra]):
        return value.reshape(value.shape[extra:])
    return value
