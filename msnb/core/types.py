"""What is known of a value before it exists: TensorType, Dim, and the other types of the IR.

Types are interned: two equal types are one object, so that eager dispatch compares signatures by identity.

    f32[2,3]      a tensor        f32[n<=64,3]   n is a Dim: a size that only the data tells, at most 64
    ~f64[]        a weak scalar: a Python number that met a tensor; it never decides the result's dtype category width
    stack<f32[3]> a growing stack of tensors (what a loop keeps for its backward sweep)
    token         order of effects (print, assert, collectives)      host  a Python callable handed in at run time
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from msnb.base.errors import ArgumentError, AttributeValueError, DataSizeError, DTypeError, ShapeError
from msnb.core import dtypes
from msnb.core.dtypes import DType
from msnb.core.symbolic_int import PARTS, is_symbolic, plain


@dataclass(frozen=True, eq=False)
class Dim:
    """A size known only at run time. Equal symbols are equal sizes. ``bound`` is an upper limit or None."""

    symbol: str
    bound: int | None = None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dim):
            if self.symbol == other.symbol and self.bound == other.bound:
                return True
        elif not (isinstance(other, int) or (type(other).__module__ == "numpy" and hasattr(other, "__index__"))):
            return NotImplemented
        for told in unequal.lists:
            told.append((self, other if isinstance(other, Dim) else int(other)))
        return False

    def __hash__(self) -> int:
        return hash((self.symbol, self.bound))

    def __bool__(self) -> bool:
        return self != 0

    def __int__(self) -> int:
        raise DataSizeError(
            f"the size {self} is known only at run time.",
            hint="use operations on the whole tensor; Python loops and lists need sizes that are known.",
        )

    def __str__(self) -> str:
        return self.symbol if self.bound is None else f"{self.symbol}<={self.bound}"


Size = int | Dim


def plain_number(x: Any) -> Any:
    """An instance of a subclass of int, float or complex (``IntEnum``) as one of the class itself."""
    kinds: tuple[Any, ...] = (int, float, complex)
    return next(kind(x) for kind in kinds if isinstance(x, kind))


class _Comparisons(threading.local):
    """Lists that are told of every comparison of a Dim with another size in this thread. It was answered no; whoever
    lets a Dim stand for a size that is known later must see to it that the answer stays right."""

    def __init__(self) -> None:
        self.lists: list[list[tuple[Dim, Size]]] = []


unequal: _Comparisons = _Comparisons()
Shape = tuple[Size, ...]


def size_text(size: Size) -> str:
    """A size for people: ``?24`` where it is written down (``core.symbolic_int``)."""
    return f"?{plain(size)}" if is_symbolic(size) else str(size)


_ARITHMETIC = "add radd sub rsub mul rmul floordiv rfloordiv truediv rtruediv mod rmod neg lt le gt ge float"
for _name in _ARITHMETIC.split():
    setattr(Dim, f"__{_name}__", lambda size, *_: int(size))  # which refuses



class TensorType:
    """Shape and dtype of a tensor; interned, so compare with ``is``. Make one with ``tensor_type``.

    ``is_static`` is True when every size is an int.
    """

    __slots__ = ("__weakref__", "dtype", "is_static", "shape", "weak")

    shape: Shape
    dtype: DType
    weak: bool
    is_static: bool

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements. Raises ValueError where a size is a Dim."""
        n = 1
        for d in self.ints():
            n *= d
        return n

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, without padding."""
        return self.size * self.dtype.itemsize

    def ints(self, first: int = 0) -> tuple[int, ...]:
        """The sizes from axis ``first`` on as ints. Raises ValueError where one is a Dim."""
        for d in self.shape[first:]:
            if isinstance(d, Dim):
                int(d)  # refuses
        return self.shape[first:]  # type: ignore[return-value]

    def with_shape(self, shape: Shape) -> TensorType:
        """The same dtype with another shape (not weak)."""
        return tensor_type(shape, self.dtype)

    def with_dtype(self, dtype: DType) -> TensorType:
        """The same shape with another dtype (not weak)."""
        return tensor_type(self.shape, dtype)

    def __repr__(self) -> str:
        return f"{'~' if self.weak else ''}{self.dtype.short}[{','.join(map(size_text, self.shape))}]"

    def __reduce__(self) -> tuple[Any, ...]:
        return (tensor_type, (self.shape, self.dtype, self.weak))


_interned: dict[tuple[Shape, DType, bool], TensorType] = {}


def tensor_type(shape: Shape, dtype: DType, weak: bool = False) -> TensorType:
    """The one TensorType of this shape and dtype."""
    key = (shape, dtype, weak)
    found = _interned.get(key)
    if found is None:
        found = TensorType()
        found.shape, found.dtype, found.weak = tuple(shape), dtype, weak
        found.is_static = all(type(d) is int or is_symbolic(d) for d in found.shape)
        table = next((d.trace.types for d in found.shape if is_symbolic(d)), _interned)
        table.setdefault(key, found)
        found = table[key]
    return found


@dataclass(frozen=True)
class StackType:
    """A growing stack of values of one type: tensors, or stacks again (a loop within a loop)."""

    element: Type

    def __str__(self) -> str:
        return f"stack<{self.element}>"


@dataclass(frozen=True)
class TokenType:
    """Carries the order of effects from one node to the next."""

    def __str__(self) -> str:
        return "token"


@dataclass(frozen=True)
class HostType:
    """A Python callable that is handed to the program at run time."""

    def __str__(self) -> str:
        return "host"


Type = TensorType | StackType | TokenType | HostType
PARTS[TensorType] = lambda t: (tensor_type, (t.shape, t.dtype, t.weak))
PARTS[StackType] = lambda t: (StackType, (t.element,))
TOKEN = TokenType()
HOST = HostType()

WEAK_BOOL = tensor_type((), dtypes.bool_, True)
WEAK_INT = tensor_type((), dtypes.int64, True)
WEAK_FLOAT = tensor_type((), dtypes.float64, True)
WEAK_COMPLEX = tensor_type((), dtypes.complex128, True)

WEAK: dict[type, TensorType] = {bool: WEAK_BOOL, int: WEAK_INT, float: WEAK_FLOAT, complex: WEAK_COMPLEX}


def result_dtype(types: tuple[TensorType, ...]) -> DType:
    """The dtype in which these operands meet (see ``dtypes``). All weak: the defaults int64, float32, complex64."""
    strong: DType | None = None
    weak = -1
    for t in types:
        if t.weak:
            weak = max(weak, t.dtype.category)
        else:
            strong = t.dtype if strong is None else dtypes.promote(strong, t.dtype)
    if strong is None:
        return (dtypes.bool_, dtypes.int64, dtypes.float32, dtypes.complex64)[max(weak, 0)]
    return strong if weak < 0 else dtypes.promote_weak(strong, weak)


# ---- what Python asks of a tensor ----


def not_one(x: Any, what: str) -> ShapeError:
    """The error for a number that was asked of many."""
    return ShapeError(
        f"{what} needs a tensor of one element, this one has shape {list(x.shape)}.",
        hint="item(i) takes the i-th element, tolist() all of them; sum, mean, max ... make one of many.",
    )


def need_index(x: Any, truth: bool = False) -> None:
    """Raise DTypeError unless ``x`` is one integer: what Python takes for an index, a size or a bound of range;
    ``truth``: or one bool."""
    if not ((x._type.dtype.is_int or truth and x._type.dtype is dtypes.bool_) and x._type.size == 1):
        raise DTypeError(
            f"only a tensor of one integer can be an index, this is {x._type!r}.",
            hint="convert with x.astype(ms.int32), or take one element.",
        )


def truth_of_many(x: Any) -> ShapeError:
    """The error for ``if x`` where x is not one value."""
    return ShapeError(
        "The truth value of an array with more than one element is ambiguous: "
        f"a tensor with shape {list(x.shape)} has none; use .any() or .all()."
    )


# ---- what is said of sizes that change ----


class Symbol:
    """What is known of an axis whose size changes, for ``Tensor(shape=[...])`` in the place of None.

    Args:
        max: the largest size; 0 says nothing.
        min: the smallest size.
        divisor: every size is a multiple of it, or
        remainder: so much more than a multiple.
        unique: axes with this symbol have one size in a call; else they share what is known only.

    Raises:
        TypeError: ArgumentError: a number that is no int, or ``unique`` that is no bool.
        ValueError: AttributeValueError: no size would be allowed.

    Source: `mindspore.Symbol`

    Examples:
        >>> import msnb as ms
        >>> net = ms.nn.Dense(8, 2)
        >>> net.set_inputs(ms.Tensor(shape=[ms.Symbol(max=64, divisor=4), 8], dtype=ms.float32))
    """

    def __init__(self, max: int = 0, min: int = 1, divisor: int = 1, remainder: int = 0, unique: bool = False) -> None:
        numbers = {"max": max, "min": min, "divisor": divisor, "remainder": remainder}
        for name, value in numbers.items():
            if type(value) is not int:
                raise ArgumentError(f"Symbol: {name} must be an int, got {value!r}.")
        if not isinstance(unique, bool):
            raise ArgumentError(f"Symbol: unique must be a bool, got {unique!r}.")
        if min < 1 or divisor < 1 or not 0 <= remainder < divisor or 0 < max < min or max < 0:
            told = f"Symbol: no size is meant by {', '.join(f'{n}={v}' for n, v in numbers.items())}."
            raise AttributeValueError(told, hint="1 <= min, min <= max or max=0, and 0 <= remainder < divisor.")
        self.max: int = max
        self.min: int = min
        self.divisor: int = divisor
        self.remainder: int = remainder
        self.unique: bool = unique

    def allows(self, size: int) -> bool:
        """Whether an axis may have this size."""
        return self.min <= size <= (self.max or size) and size % self.divisor == self.remainder

    def __repr__(self) -> str:
        said = {n: v for n, v in vars(self).items() if v != _UNSAID[n]}
        return f"Symbol({', '.join(f'{n}={v}' for n, v in said.items())})"


_UNSAID = {"max": 0, "min": 1, "divisor": 1, "remainder": 0, "unique": False}


def is_open(shape: Any) -> bool:
    """Whether a shape says that axes, or their number, are not known."""
    return shape is None or (
        isinstance(shape, (list, tuple)) and any(n is None or isinstance(n, Symbol) for n in shape)
    )
