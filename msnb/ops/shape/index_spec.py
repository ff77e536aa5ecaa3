"""What a spec of ``x[...]`` does to a shape (see ``msnb.ops.shape.index_records`` for the spec): sizes, places,
legality.

x [2, 3, 4], spec (i, :, "t") with an index tensor [5]     ints count as index tensors when there is one

walk the spec     : keeps 3          rest = [3]       index tensors come from positions 0 and 2: not together
place             in front           [5] + [3]        shape = [5, 3]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from msnb.base.errors import AttributeValueError, DTypeError, IndexOutOfRange
from msnb.core import Dim, Shape, Size, TensorType
from msnb.ops.definition import bound_of, common_shape, operand_lines, sliced

Spec = tuple[Any, ...]


class IndexPlan:
    """What a spec does to a shape.

    Attributes:
        shape: of the result. rest: of the result without the axes of the index tensors.
        at: where the axes of the index tensors stand in the result. rank: how many they are (0 without any).
        sources: for every size of ``rest``, the axis of x it is (untouched), or None.
    """

    def __init__(self, name: str, x: TensorType, indices: tuple[TensorType, ...], spec: Spec) -> None:
        self.name: str = name
        self.x: TensorType = x
        self.rest: list[Size] = []
        self.sources: list[int | None] = []
        self.has_tensors: bool = bool(indices)
        self._check(indices, spec)
        spots = self._walk(spec)
        joint = _joint(name, indices)
        self.together: bool = not spots or [p for p, _ in spots] == list(range(spots[0][0], spots[0][0] + len(spots)))
        self.at: int = spots[0][1] if spots and self.together else 0
        self.rank: int = len(joint)
        self.shape: Shape = (*self.rest[: self.at], *joint, *self.rest[self.at :])

    def _check(self, indices: tuple[TensorType, ...], spec: Spec) -> None:
        used = sum(e is not None for e in spec)
        if used > self.x.ndim:
            raise IndexOutOfRange(
                f"too many indices: the tensor has {self.x.ndim} axes and {used} were indexed.",
                operands=operand_lines(self.x),
            )
        if spec.count("t") != len(indices):
            raise AttributeValueError(
                f"{self.name}: {spec.count('t')} index tensors in the spec, {len(indices)} given."
            )
        for t in indices:
            if not t.dtype.is_int:
                raise DTypeError(
                    f"an index tensor holds integers, not {t.dtype.name}.",
                    operands=operand_lines(t, names=("index",)),
                    hint="convert with index.astype(ms.int32).",
                )

    def _walk(self, spec: Spec) -> list[tuple[int, int]]:
        """Fill ``rest``; give (position in the spec, position in ``rest``) of what counts as an index tensor."""
        spots, axis = [], 0
        for position, entry in enumerate(spec):
            if entry is None:
                self._keep(1, None)
                continue
            if isinstance(entry, tuple):
                self._slice(axis, entry)
            else:
                self._check_int(axis, entry)
                if self.has_tensors:
                    spots.append((position, len(self.rest)))
            axis += 1
        for a in range(axis, self.x.ndim):
            self._keep(self.x.shape[a], a)
        return spots

    def _keep(self, size: Size, source: int | None) -> None:
        self.rest.append(size)
        self.sources.append(source)

    def _slice(self, axis: int, entry: tuple[Any, Any, Any]) -> None:
        if entry[2] == 0:
            raise AttributeValueError("a slice with step 0 goes nowhere.", operands=operand_lines(self.x))
        size = sliced(self.x.shape[axis], *entry)
        whole = size == self.x.shape[axis] and (entry[2] or 1) > 0
        self._keep(size, axis if whole else None)

    def _check_int(self, axis: int, entry: Any) -> None:
        size = self.x.shape[axis]
        if isinstance(entry, int) and isinstance(size, int) and not -size <= entry < size:
            raise outside(entry, axis, size, *operand_lines(self.x))


def outside(index: int, axis: int, size: int, *operands: str) -> IndexOutOfRange:
    """The error for an index that an axis does not have."""
    return IndexOutOfRange(
        f"index {index} is outside axis {axis} of size {size}.",
        operands=operands,
        hint=f"legal are {-size} to {size - 1}." if size else "an axis of size 0 has no elements.",
    )


def may_equal(a: Size, b: Size) -> bool:
    """A size that only the data tells may turn out to be the other one; the body finds out."""
    if isinstance(a, Dim) or isinstance(b, Dim):
        known, bound = (a, bound_of(b)) if isinstance(a, int) else (b, bound_of(a))
        return not isinstance(known, int) or bound is None or known <= bound
    return a == b


def _joint(name: str, indices: tuple[TensorType, ...]) -> Shape:
    """The shape index tensors broadcast to; where one size is a Dim and the other is known, the known one."""
    # unlike ``common_shape`` a symbol may meet a number: whether they are equal shows in the call
    shape: Shape = ()
    for t in indices:
        rank = max(len(shape), t.ndim)
        pairs = list(zip((1,) * (rank - len(shape)) + shape, (1,) * (rank - t.ndim) + t.shape))
        if not all(1 in (a, b) or may_equal(a, b) for a, b in pairs):
            return common_shape(name, *indices)
        shape = tuple(b if a == 1 or (isinstance(a, Dim) and b != 1) else a for a, b in pairs)
    return shape


def fits(value: Shape, place: Shape) -> bool:
    """Whether a value of this shape can be written to a place of that shape, as far as the sizes are known."""
    return len(value) <= len(place) and all(
        v == 1 or may_equal(v, p) for v, p in zip(value, place[len(place) - len(value) :])
    )


def key_of(spec: Spec, indices: Sequence[Any]) -> tuple[Any, ...]:
    """The key for an array library."""
    arrays = iter(indices)
    return tuple([next(arrays) if e == "t" else slice(*e) if isinstance(e, tuple) else e for e in spec])


def key_maker(spec: Spec) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """``key_of`` of one spec."""
    if "t" in spec:
        return tuple if {*spec} == {"t"} else partial(key_of, spec)
    found = key_of(spec, ())
    return lambda _: found


def explain(x: Any, spec: Spec, indices: Sequence[Any], error: IndexError) -> IndexOutOfRange:
    """The axis and the entry that an array library refused."""
    arrays, axis = iter(indices), 0
    for entry in spec:
        if entry == "t":
            array, size = next(arrays), x.shape[axis]
            bad = array[(array < -size) | (array >= size)]
            if bad.size:
                return outside(int(bad.reshape(-1)[0]), axis, size)
        axis += entry is not None
    return IndexOutOfRange(str(error))
