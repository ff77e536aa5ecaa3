"""einsum in terms of other operations: sums, transposes, reshapes, products of elements and of matrices.

    "bhte,bhse->bhts"       x [b h | t | e]  @  y [b h | e | s]      named by x, y and the result: leading axes
                                  |   |   |              |   |       by x or y and the result:     rows, columns
                                own  rows  summed     summed columns  by x and y alone:              summed
    "ij,ij->ij", "i,j->ij"  x * y, each with an axis of size 1 where it lacks a name
    "ijk->ki"               a sum, and a transpose

A name that one operand has alone, and the result lacks, is summed first. Of three or more operands the two whose
product is smallest come first, until two are left. The reference body runs this on arrays, a pass writes it to graphs.

Not in these terms: a diagonal (a name twice in one operand), and names whose axes have different sizes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple


class LabeledValue(NamedTuple):
    """A value and a letter for each of its axes."""

    value: Any
    names: str


class Contraction:
    """The operations that an einsum stands for, as they are made.

    Args:
        make: makes one: make("sum", x, axis=(0,)), make("transpose", x, perm=(1, 0)), make("reshape", x, shape=(6,)),
            make("multiply", x, y), make("matmul", x, y).
        sizes: of the axes, by letter.
    """

    def __init__(self, make: Callable[..., Any], sizes: Mapping[str, int]) -> None:
        self.make: Callable[..., Any] = make
        self.sizes: Mapping[str, int] = sizes

    def of(self, operands: Sequence[LabeledValue], result: str) -> Any:
        """The value of the einsum of these operands."""
        left = list(operands)
        while len(left) > 1:
            i, j = min(itertools.combinations(range(len(left)), 2), key=lambda pair: self._cost(left, pair, result))
            y, x = left.pop(j), left.pop(i)
            kept = _kept(x.names + y.names, [*(z.names for z in left), result])
            left.append(self._product(self._summed(x, y.names + kept), self._summed(y, x.names + kept), kept))
        return self._ordered(self._summed(left[0], result), result).value

    def _cost(self, operands: Sequence[LabeledValue], pair: tuple[int, int], result: str) -> int:
        names = "".join(operands[k].names for k in pair)
        others = [z.names for k, z in enumerate(operands) if k not in pair]
        return self._size(_kept(names, [*others, result]))

    def _size(self, names: str) -> int:
        return math.prod(self.sizes[c] for c in names)

    def _shape(self, names: str) -> tuple[int, ...]:
        return tuple(self.sizes[c] for c in names)

    def _summed(self, x: LabeledValue, kept: str) -> LabeledValue:
        """Summed over the names that no other operand and no result has."""
        gone = tuple(i for i, c in enumerate(x.names) if c not in kept)
        names = "".join(c for c in x.names if c in kept)
        return LabeledValue(self.make("sum", x.value, axis=gone), names) if gone else x

    def _ordered(self, x: LabeledValue, names: str) -> LabeledValue:
        """The axes in another order."""
        perm = tuple(x.names.index(c) for c in names)
        return x if x.names == names else LabeledValue(self.make("transpose", x.value, perm=perm), names)

    def _reshaped(self, x: LabeledValue, shape: tuple[int, ...]) -> Any:
        return x.value if self._shape(x.names) == shape else self.make("reshape", x.value, shape=shape)

    def _product(self, x: LabeledValue, y: LabeledValue, kept: str) -> LabeledValue:
        summed = "".join(c for c in x.names if c in y.names and c not in kept)
        return self._matrices(x, y, summed, kept) if summed else self._elements(x, y, kept)

    def _elements(self, x: LabeledValue, y: LabeledValue, kept: str) -> LabeledValue:
        """Nothing is summed: elements times elements."""
        ordered = [self._ordered(z, "".join(c for c in kept if c in z.names)) for z in (x, y)]
        spread = [self._reshaped(z, tuple(self.sizes[c] if c in z.names else 1 for c in kept)) for z in ordered]
        return LabeledValue(self.make("multiply", *spread), kept)

    def _matrices(self, x: LabeledValue, y: LabeledValue, summed: str, kept: str) -> LabeledValue:
        """One product of matrices, the side first whose own names come first in the result."""
        # matmul gives [own, rows, columns]: with the sides in this order the result needs fewer transposes
        own = "".join(c for c in kept if c in x.names and c in y.names)
        rows, columns = ("".join(c for c in kept if c in z.names and c not in own) for z in (x, y))
        if rows and columns and kept.index(columns[0]) < kept.index(rows[0]):
            x, y, rows, columns = y, x, columns, rows
        lead, m, k, n = self._shape(own), *(self._size(names) for names in (rows, summed, columns))
        left = self._reshaped(self._ordered(x, own + rows + summed), (*lead, m, k))
        right = self._reshaped(self._ordered(y, own + summed + columns), (*lead, k, n))
        made, names = self.make("matmul", left, right), own + rows + columns
        same = self._shape(names) == (*lead, m, n)
        return LabeledValue(made if same else self.make("reshape", made, shape=self._shape(names)), names)


def _kept(names: str, readers: Sequence[str]) -> str:
    """The names that a later reader has, in the order of the result (the last reader) where it has them."""
    wanted = [c for c in dict.fromkeys(names) if any(c in reader for reader in readers)]
    order = {c: i for i, c in enumerate(readers[-1])}
    return "".join(sorted(wanted, key=lambda c: order.get(c, -1)))


def rounds_once(terms: Sequence[str], result: str) -> bool:
    """Whether one operation does all the arithmetic. Where there are several, 16-bit values between them would be
    rounded, and overflow, which the sums and products of a single operation, taken in float32, do not."""
    if len(terms) > 2:
        return False
    return len(terms) == 1 or all(set(x) <= {*y, *result} for x, y in (terms, terms[::-1]))


def sizes_of(terms: Sequence[str], shapes: Sequence[Sequence[int]]) -> dict[str, int] | None:
    """The sizes of the axes by letter; None where there is a diagonal, or a name with two sizes."""
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes):
        if len(set(term)) < len(term) or any(sizes.setdefault(c, n) != n for c, n in zip(term, shape)):
            return None
    return sizes
