"""A call that was kept, as one builtin: the inner loops of NumPy's ufuncs, one after the other.

    softmax    maximum.reduce, subtract, exp, add.reduce, divide        a microsecond each, nearly all of it on the way
    here       a table of steps: loop, rows, n, operands, strides       0.02 us each; the builtin costs 0.03

These are NumPy's loops, called as NumPy calls them, so every bit is the same, and a call may come here at any time.
What is small and hot does: the first use compares both, and operands that do not lie dense take the way of before.

    builtin(x, y, ..., out, ...)    METH_FASTCALL; ``self`` is the table, an array like the others
    table    [steps, operands to check, slots, whether it failed, None, Py_IncRef, class of arrays]   then per step
             [loop, its data, rows, n, 4 slots, 4 offsets, 4 steps to the next row, 4 to the next element]

Array objects keep their data and flags, and ufuncs their loops, where probes find them.
"""

from __future__ import annotations

import ctypes
import functools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from msnb.base import reraise_interrupt
from msnb.core import TensorType
from msnb.devices.cpu.eager.call_runner import data_offset
from msnb.devices.cpu.llvm.jit import Library
from msnb.devices.device import FusedCall, native_ufunc, ufunc_of
from msnb.devices.llvm import LoopBuilder
from msnb.ops.definition.accurate_sum import is_plain_sum
from msnb.ops.definition.record import Op
from msnb.ops.definition.type_inference import normal_axes

Loop = tuple[int, int]
"""An inner loop's address, and that of its data."""
MOST = 8192
"""Elements of the largest operand: with more, the loops are what costs."""
_SCRATCH, _LONG = 1 << 17, 4096  # bytes of a table's own memory; elements from which on running sums have native code
_HEAD, _STEP, _OPERANDS = 7, 20, 4
_FUNCTIONS, _DATA, _COUNT, _NAME = 32, 40, 48, 56  # of a ufunc's fields
_DENSE = 0x101  # of an array's flags: C order, aligned


def _cast_by(word: str, old: str, new: str) -> tuple[str, str, Any]:
    return old, new, lambda b, x: b.ins(f"{word} {old} {x} to {new}")


def _select(kind: str) -> tuple[str, str, Any]:
    def element(b: LoopBuilder, c: str, x: str, y: str) -> str:
        return b.ins(f"select i1 {b.ins(f'icmp ne i8 {c}, 0')}, {kind} {x}, {kind} {y}")

    return f"i8 {kind} {kind}", kind, element


def _outside(kind: str) -> tuple[str, str, Any]:
    def element(b: LoopBuilder, x: str, classes: str, so_far: str) -> str:
        wide = x if kind == "i64" else b.ins(f"sext {kind} {x} to i64")
        return b.i64("or", so_far, b.ins(f"zext i1 {b.ins(f'icmp uge i64 {wide}, {classes}')} to i64"))

    return f"{kind} i64 i64", "i64", element


_LOOPS = {  # own ones, called as NumPy's are: kinds of the operands and of the result, and how one element is made
    "select4": _select("i32"), "select8": _select("i64"), "outsidel": _outside("i64"), "outsidei": _outside("i32"),
    "cast?f": _cast_by("uitofp", "i8", "float"), "cast?d": _cast_by("uitofp", "i8", "double"),
    "castfd": _cast_by("fpext", "float", "double"), "castdf": _cast_by("fptrunc", "double", "float"),
    "copy4": _cast_by("bitcast", "i32", "i32"), "copy8": _cast_by("bitcast", "i64", "i64"),
}  # fmt: skip


_KEPT: list[Any] = []
"""Code and records that builtins point to: two threads may have made one at a time, and tables may know of either."""


class UnsupportedCall(Exception):
    """There is no table for such a call."""


class DenseOperand(NamedTuple):
    """A dense array of the program: its slot, sizes and dtype, and the bytes before its first element."""

    slot: int
    shape: tuple[int, ...]
    dtype: Any
    offset: int = 0


class LoopStep(NamedTuple):
    """One operation of a kept call.

    Attributes:
        op, types, attrs, results: its signature; reads, makes: the numbers of its values.
    """

    op: Any
    types: tuple[Any, ...]
    attrs: dict[str, Any]
    results: tuple[Any, ...]
    reads: tuple[int, ...]
    makes: tuple[int, ...]


class LoopTable:
    """A table in the making. Raises UnsupportedCall for what it cannot say.

    Args:
        given: the types of the operands, which are the first values.
        constants: the values behind them.
        steps: what follows.
        wanted: numbers of the values that a call gives.

    Attributes:
        views: numbers of wanted values that are views of others.
        outs: numbers of the values that the builtin fills, behind its operands.
    """

    def __init__(
        self, given: Sequence[Any], constants: Sequence[Any], steps: Sequence[LoopStep], wanted: Sequence[int]
    ) -> None:
        self._count = len(given)
        self._rows: list[list[int]] = []
        self._fixed: list[Any] = []
        self._bytes = 0
        self.views: list[int] = []
        self.outs: list[int] = self._outs(steps, wanted)
        self._first = len(given) + len(self.outs)
        self._values: dict[int, Any] = {i: self._operand(i, t) for i, t in enumerate(given)}
        self._values.update((i, c) for i, c in enumerate(constants, len(given)))
        self._bad = self._cell(0, np.int64)
        for step in steps:
            self._lower(step)

    def _outs(self, steps: Sequence[LoopStep], wanted: Sequence[int]) -> list[int]:
        maker = {step.makes[0]: step for step in steps if len(step.makes) == 1}
        found: dict[int, None] = {}
        for at in sorted(wanted, reverse=True):
            while at in maker and _is_view(maker[at].op):
                if at not in self.views:
                    self.views.append(at)
                at = maker[at].reads[0]
            if at in maker:
                found[at] = None
        self.views.sort()
        return [*found]

    def _operand(self, slot: int, t: Any) -> DenseOperand:
        if not isinstance(t, TensorType) or not t.is_static or t.weak or not 0 < t.size <= MOST:
            raise UnsupportedCall
        return DenseOperand(slot, t.ints(), t.dtype.numpy)

    def _cell(self, value: Any, dtype: Any, shape: tuple[int, ...] = ()) -> DenseOperand:
        """Memory of the table's own, for a number or for what is made on the way."""
        self._bytes += math.prod(shape) * 8
        if self._bytes > _SCRATCH:
            raise UnsupportedCall
        self._fixed.append(np.full(shape, value, dtype))
        return DenseOperand(self._first + len(self._fixed) - 1, shape, np.dtype(dtype))

    def _read(self, at: int, dtype: Any = None) -> DenseOperand:
        """A value; a Python number in ``dtype``."""
        found = self._values[at]
        if isinstance(found, DenseOperand):
            return found
        return self._cell(found, found.dtype if isinstance(found, np.ndarray) else dtype, np.shape(found))

    # ---- steps ----

    def _lower(self, step: LoopStep) -> None:
        (at,), (t,) = step.makes, step.results
        x, like = self._read(step.reads[0], np.float32), self._operand(0, t)
        if _is_view(step.op):
            self._values[at] = x._replace(shape=like.shape)
            return
        fills = at in self.outs
        out = like._replace(slot=self._count + self.outs.index(at)) if fills else self._cell(0, like.dtype, like.shape)
        self._values[at] = out
        if native_ufunc(np, step.op, step.types, step.attrs) is None:
            _LOWER.get(step.op.name, _written_down)(self, step, x, out)
            return
        (dtype,) = {p.dtype for p in map(self._values.get, step.reads) if isinstance(p, (DenseOperand, np.ndarray))}
        self._ufunc(ufunc_of(np, step.op), [self._read(r, dtype) for r in step.reads], out)

    def _ufunc(self, ufunc: Any, reads: Sequence[DenseOperand], out: DenseOperand) -> DenseOperand:
        self._loop(_loop_of(ufunc, [p.dtype.char for p in (*reads, out)]), [*reads, out])
        return out

    def _made(self, ufunc: Any, *reads: DenseOperand, dtype: Any = None) -> DenseOperand:
        """An elementwise operation on the way."""
        shape = np.broadcast_shapes(*[p.shape for p in reads])
        return self._ufunc(ufunc, reads, self._cell(0, dtype or reads[0].dtype, shape))

    def placed(self, x: Any, dtype: Any) -> DenseOperand:
        """Where a value of a body lies."""
        return x.place if isinstance(x, TracedArray) else self._cell(x, dtype)

    def cast(self, x: DenseOperand, dtype: Any) -> DenseOperand:
        """``x`` in another dtype."""
        return x if x.dtype == dtype else self.copy(x, self._cell(0, dtype, x.shape))

    def copy(self, x: DenseOperand, out: DenseOperand) -> DenseOperand:
        """The elements of ``x`` in ``out``, which may be of another dtype."""
        same = x.dtype == out.dtype
        self._own(f"copy{x.dtype.itemsize}" if same else f"cast{x.dtype.char}{out.dtype.char}", x, out)
        return out

    def _own(self, name: str, *places: DenseOperand) -> None:
        if name not in _LOOPS:
            raise UnsupportedCall
        self._loop((library().address(f"msnb_{name}"), 0), places)

    def _loop(self, loop: Loop, places: Sequence[DenseOperand]) -> None:
        """A loop over all elements, operands repeated along the axes that they lack."""
        shape = np.broadcast_shapes(*[p.shape for p in places])
        dims: list[tuple[int, tuple[int, ...]]] = []
        for axis, size in enumerate(shape):
            steps = tuple([_stride(p, axis - len(shape)) for p in places])
            if dims and dims[-1][1] == tuple([s * size for s in steps]):
                dims[-1] = dims[-1][0] * size, steps
            elif size != 1:
                dims.append((size, steps))
        zero = (0,) * len(places)
        if len(dims) > 2:
            raise UnsupportedCall
        (rows, far), (n, near) = [(1, zero)] * (2 - len(dims)) + dims
        self._row(loop, rows, n, places, far, near)

    def _row(self, loop: Loop, rows: int, n: int, places: Sequence[DenseOperand], far: Any, near: Any) -> None:
        """A loop of n elements for each row; ``far`` and ``near``: bytes to an operand's next row and element."""

        def padded(words: Sequence[int]) -> list[int]:
            return [*words, *[0] * (_OPERANDS - len(words))]

        if rows and n:
            operands = padded([p.slot for p in places]), padded([p.offset for p in places])
            self._rows.append([*loop, rows, n, *operands[0], *operands[1], *padded(far), *padded(near)])

    def reduce(self, ufunc: Any, x: DenseOperand, axes: Any, out: DenseOperand) -> DenseOperand:
        """A reduction over the last axes, over the first, or over all."""
        loop, size = _loop_of(ufunc, [x.dtype.char] * 3), x.dtype.itemsize
        gone = [axis in axes for axis in range(len(x.shape))]
        last = math.prod(n for n, goes in zip(x.shape, gone) if goes)
        kept = math.prod(x.shape) // last
        walks = [goes for goes, n in zip(gone, x.shape) if n != 1]
        inner = walks == sorted(walks)
        if out.dtype != x.dtype or not x.shape or not (inner or walks == sorted(walks, reverse=True)):
            raise UnsupportedCall
        step = last * size if inner else size  # from one result's first element to the next one's
        copy = library().address(f"msnb_copy{size}"), 0
        whole = ufunc is np.add
        source, near = (self._cell(0, x.dtype), 0) if whole else (x, step)
        self._row(copy, 1, kept, [source, out], [0, 0], [near, size])
        along = size if inner else kept * size  # to the next of its elements
        left, rest = (last, x) if whole else (last - 1, x._replace(offset=x.offset + along))
        three = [out, rest, out]
        if inner:
            self._row(loop, kept, left, three, [size, step, size], [0, size, 0])
        else:
            self._row(loop, left, kept, three, [0, along, 0], [size, size, size])
        return out

    def total(self, x: DenseOperand, axes: Any, out: DenseOperand) -> DenseOperand:
        """A sum, where the reference body forms it at once."""
        if not is_plain_sum(x.shape, axes) or x.dtype.char not in "fd":
            raise UnsupportedCall
        return self.reduce(np.add, x, axes, out)

    def filled(self, at: int) -> tuple[tuple[int, ...], Any]:
        """Sizes and dtype of a value."""
        return self._values[at].shape, self._values[at].dtype

    # ---- the builtin ----

    def builtin(self) -> Callable[..., Any]:
        """The function of operands and results; None where operands do not lie dense, or values are for the body."""
        slots = np.zeros(self._first + len(self._fixed), np.int64)
        slots[self._first :] = [a.ctypes.data for a in self._fixed]
        code, count = [word for row in self._rows for word in row], len(self._rows)
        bad = self._fixed[0].ctypes.data
        increase = ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value or 0
        head = [count, self._count, slots.ctypes.data, bad, id(None), increase, id(np.ndarray)]
        table = np.array([*head, *code], np.int64).view(TableWords)
        table.held = slots, self._fixed
        made = ctypes.pythonapi.PyCFunction_NewEx
        made.restype, made.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        found: Callable[..., Any] = made(ctypes.addressof(_definition()), table, None)
        return found


def fused(given: Any, constants: Any, operations: Any, wanted: Any) -> FusedCall | None:
    """A call as one builtin, where there is a table for it."""
    if not usable():
        return None
    try:
        table = LoopTable(given, constants, [LoopStep(*each) for each in operations], wanted)
    except Exception as error:  # of a body that asks more of an array than ufuncs, too: it runs as it is written
        reraise_interrupt(error)
        return None
    outs = [(at, table.filled(at)) for at in table.outs]
    return FusedCall(table.builtin(), outs, table.views) if outs else None


class TableWords(np.ndarray[Any, Any]):
    """The words of a table; they keep alive what they point to."""

    held: Any


def _is_view(op: Op) -> bool:
    return op.view == "reshape" or op.name == "stop_gradient"


def _stride(p: DenseOperand, axis: int) -> int:
    """Bytes from one element to the next along an axis, counted from the end; 0 where it is repeated."""
    if -axis > len(p.shape) or p.shape[axis] == 1:
        return 0
    return math.prod(p.shape[len(p.shape) + axis + 1 :]) * int(p.dtype.itemsize)


# ---- operations that are no ufuncs ----


def _reduced(ufunc: Any) -> Callable[..., None]:
    def lower(table: LoopTable, step: LoopStep, x: DenseOperand, out: DenseOperand) -> None:
        axes = normal_axes(step.op.name, step.attrs["axis"], len(x.shape))
        if x.dtype.char not in "fd":
            raise UnsupportedCall
        (table.total if ufunc is np.add else functools.partial(table.reduce, ufunc))(x, axes, out)

    return lower


def _mean(table: LoopTable, step: LoopStep, x: DenseOperand, out: DenseOperand) -> None:
    axes = normal_axes("mean", step.attrs["axis"], len(x.shape))
    total = table.total(x, axes, table._cell(0, x.dtype, out.shape))
    table._ufunc(np.divide, [total, table._cell(math.prod(x.shape[a] for a in axes), x.dtype)], out)


def _var(table: LoopTable, step: LoopStep, x: DenseOperand, out: DenseOperand) -> None:
    axes, ddof = normal_axes("var", step.attrs["axis"], len(x.shape)), step.attrs["ddof"]
    n = math.prod(x.shape[a] for a in axes)
    if n <= ddof:
        raise UnsupportedCall
    ones = tuple(1 if a in axes else size for a, size in enumerate(x.shape))
    middle = table._made(np.divide, table.total(x, axes, table._cell(0, x.dtype, ones)), table._cell(n, x.dtype))
    square = table._made(np.square, table._made(np.absolute, table._made(np.subtract, x, middle)))
    total = table.total(square, axes, table._cell(0, x.dtype, out.shape))
    table._ufunc(np.divide, [total, table._cell(n - ddof, x.dtype)], out)


class TracedArray(NDArrayOperatorsMixin):
    """An array in a body that is being written down: its ufuncs become steps."""

    def __init__(self, table: LoopTable, place: DenseOperand) -> None:
        self.table: LoopTable = table
        self.place: DenseOperand = place
        self.dtype: Any = place.dtype
        self.shape: tuple[int, ...] = place.shape

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **settings: Any) -> TracedArray:
        if method != "__call__" or settings.keys() - {"out"}:
            raise UnsupportedCall
        kinds = [x.dtype if hasattr(x, "dtype") else type(x) for x in given]
        *wanted, dtype = ufunc.resolve_dtypes((*kinds, None))
        reads = [self.table.cast(self.table.placed(x, want), want) for x, want in zip(given, wanted)]
        return TracedArray(self.table, self.table._made(ufunc, *reads, dtype=dtype))

    def astype(self, dtype: Any, copy: bool = True) -> TracedArray:
        """In another dtype."""
        return TracedArray(self.table, self.table.cast(self.place, np.dtype(dtype)))

    def __bool__(self) -> bool:
        raise UnsupportedCall


class TracedLibrary:
    """NumPy as a body sees it that is being written down."""

    clip: Any = np._core.umath.clip  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if not isinstance(found, (np.ufunc, type)) and name != "ones":
            raise UnsupportedCall
        return found

    @staticmethod
    def where(chosen: TracedArray, x: Any, y: Any) -> TracedArray:
        """``numpy.where``."""
        table, dtype = chosen.table, np.result_type(*[v.dtype if isinstance(v, TracedArray) else v for v in (x, y)])
        operands = [table.cast(table.placed(v, dtype), dtype) for v in (x, y)]
        out = table._cell(0, dtype, np.broadcast_shapes(chosen.shape, *[v.shape for v in operands]))
        table._own(f"select{dtype.itemsize}", chosen.place, *operands, out)
        return TracedArray(table, out)


def _written_down(table: LoopTable, step: LoopStep, x: DenseOperand, out: DenseOperand) -> None:
    """An elementwise operation whose body is made of ufuncs."""
    if "elementwise" not in step.op.traits or x.dtype != out.dtype or x.dtype.char not in "fd":
        raise UnsupportedCall
    operands = [TracedArray(table, table._read(r, x.dtype)) for r in step.reads]
    table.copy(step.op.body(TracedLibrary(), *operands, **step.attrs).place, out)


def _where(table: LoopTable, step: LoopStep, x: DenseOperand, out: DenseOperand) -> None:
    chosen = [table._read(r, out.dtype) for r in step.reads[1:]]
    if x.dtype.char != "?" or out.dtype.char not in "fd" or any(c.dtype != out.dtype for c in chosen):
        raise UnsupportedCall
    table._own(f"select{out.dtype.itemsize}", x, *chosen, out)


def _cumsum(table: LoopTable, step: LoopStep, x: DenseOperand, out: DenseOperand) -> None:
    axis = step.attrs["axis"] % max(len(x.shape), 1)
    if step.attrs["exclusive"] or step.attrs["reverse"] or x.dtype.char not in "fd" or not x.shape:
        raise UnsupportedCall
    n, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
    if axis and inner > 1 or math.prod(x.shape) >= _LONG:
        raise UnsupportedCall
    wide = table._cell(0, np.float64, x.shape)
    table.copy(x, wide)
    loop, rest = _loop_of(np.add, ["d"] * 3), wide._replace(offset=inner * 8)
    three = [wide, rest, rest]
    if inner > 1:
        table._row(loop, n - 1, inner, three, [inner * 8] * 3, [8] * 3)
    else:
        table._row(loop, math.prod(x.shape) // n, n - 1, three, [n * 8] * 3, [8] * 3)
    table.copy(wide, out)


def _class_index(table: LoopTable, step: LoopStep, x: DenseOperand, out: DenseOperand) -> None:
    table._own(f"outside{x.dtype.char}", x, table._cell(step.attrs["classes"], np.int64), table._bad, table._bad)
    table.copy(x, out)


_LOWER: dict[str, Any] = {
    "sum": _reduced(np.add), "max": _reduced(np.maximum), "min": _reduced(np.minimum), "mean": _mean, "var": _var,
    "where": _where, "cast": lambda table, step, x, out: table.copy(x, out), "cumsum": _cumsum,
    "class_index": _class_index,
}  # fmt: skip


# ---- what lies where ----


@functools.lru_cache(maxsize=256)
def _loop_at(ufunc: Any, signature: str) -> Loop:
    read, at = ctypes.c_void_p.from_address, id(ufunc)
    known = ctypes.c_char_p.from_address(at + _NAME).value == ufunc.__name__.encode()
    if signature not in ufunc.types or not known or ctypes.c_int.from_address(at + _COUNT).value != ufunc.ntypes:
        raise UnsupportedCall
    which = ufunc.types.index(signature) * 8
    return tuple([read((read(at + field).value or 0) + which).value or 0 for field in (_FUNCTIONS, _DATA)])  # type: ignore[return-value]


def _loop_of(ufunc: Any, chars: Sequence[str]) -> Loop:
    """The inner loop of a ufunc for these dtypes, and its data."""
    found = _loop_at(ufunc, f"{''.join(chars[:-1])}->{chars[-1]}")
    if not found[0]:
        raise UnsupportedCall
    return found


@functools.lru_cache(maxsize=1)
def _flags_offset() -> int:
    """Where an array object keeps its flags; 0 where it cannot be told."""
    samples = [np.zeros((3, 3)), np.zeros((3, 3)).T, np.zeros((3, 3))[:, :1], np.zeros(3)[:0]]
    for offset in range(24, 96, 4):
        if all(ctypes.c_int.from_address(id(a) + offset).value == a.flags.num for a in samples):
            return offset
    return 0


def usable() -> bool:
    """Whether this Python and this NumPy keep things where they are looked for."""
    known = sys.implementation.name == "cpython" and sys.maxsize > 1 << 32
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()  # tables have one scratch memory
    classed = known and ctypes.c_void_p.from_address(id(np.zeros(1)) + 8).value == id(np.ndarray)
    return bool(locked and classed and data_offset() and _flags_offset())


class MethodDefinition(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p))  # fmt: skip


@functools.lru_cache(maxsize=1)
def _definition() -> MethodDefinition:
    """Python's record of the builtin: METH_FASTCALL."""
    _KEPT.append(MethodDefinition(b"ufuncs", library().address("msnb_ufuncs"), 0x80, None))
    return _KEPT[-1]  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=1)
def library() -> Library:
    """The walker of tables, and own loops."""
    builders = {"ptr @msnb_ufuncs(ptr %self, ptr %given, i64 %count)": _walker()}
    for name, how in _LOOPS.items():
        builders[f'void @"msnb_{name}"(ptr %args, ptr %dims, ptr %steps, ptr %data)'] = _own_loop(*how)
    _KEPT.append(Library("\n".join(b.function(head, "nounwind") for head, b in builders.items())))
    return _KEPT[-1]  # type: ignore[no-any-return]


def _own_loop(kinds: str, result: str, element: Callable[..., str]) -> LoopBuilder:
    b = LoopBuilder()

    def turn(i: str, _: list[str]) -> list[str]:
        at = [
            b.place("i8", b.field("ptr", "%args", k), b.i64("mul", i, b.field("i64", "%steps", k)))
            for k in range(len(kinds.split()) + 1)
        ]
        found = element(b, *[b.ins(f"load {kind}, ptr {p}") for kind, p in zip(kinds.split(), at)])
        b.do(f"store {result} {found}, ptr {at[-1]}")
        return []

    b.loop(("0", b.field("i64", "%dims", 0), 1), [], turn)
    b.do("ret void")
    return b


def _walker() -> LoopBuilder:
    """The builtin: takes the operands' data, runs the steps, gives the last operand or None."""
    b = LoopBuilder()
    table, args = b.ins(f"load ptr, ptr {b.place('i8', '%self', data_offset())}"), b.alloca(f"[{_OPERANDS} x ptr]")
    steps, checked = b.field("i64", table, 0), b.field("i64", table, 1)
    slots, bad, none, increase, arrays = (b.field("ptr", table, i) for i in range(2, _HEAD))

    def take(i: str, refused: list[str]) -> list[str]:
        given = b.field("ptr", "%given", i)
        known = b.ins(f"icmp eq ptr {b.field('ptr', given, 1)}, {arrays}")
        safe = b.ins(f"select i1 {known}, ptr {given}, ptr %self")
        flags = b.ins(f"load i32, ptr {b.place('i8', safe, _flags_offset())}")
        flags = b.ins(f"and i32 {flags}, {_DENSE}")
        dense = b.ins(f"or i1 {b.ins(f'icmp eq i32 {flags}, {_DENSE}')}, {b.ins(f'icmp sge i64 {i}, {checked}')}")
        data = b.ins(f"load ptr, ptr {b.place('i8', safe, data_offset())}")
        b.do(f"store ptr {data}, ptr {b.place('ptr', slots, i)}")
        return [b.ins(f"select i1 {b.ins(f'and i1 {known}, {dense}')}, i64 {refused[0]}, i64 1")]

    def step(j: str, _: list[str]) -> list[str]:
        p = b.place("i64", table, b.i64("add", b.i64("mul", j, _STEP), _HEAD))
        loop, own, rows = b.field("ptr", p, 0), b.field("ptr", p, 1), b.field("i64", p, 2)

        def row(r: str, _: list[str]) -> list[str]:
            for k in range(_OPERANDS):
                slot, offset, far = (b.field("i64", p, 4 + k + _OPERANDS * part) for part in range(3))
                at = b.place("i8", b.field("ptr", slots, slot), b.i64("add", b.i64("mul", r, far), offset))
                b.do(f"store ptr {at}, ptr {b.place('ptr', args, k)}")
            ends = f"ptr {b.place('i64', p, 3)}, ptr {b.place('i64', p, 4 + 3 * _OPERANDS)}"
            b.do(f"call void {loop}(ptr {args}, {ends}, ptr {own})")
            return []

        b.loop(("0", rows, 1), [], row)
        return []

    (refused,) = b.loop(("0", "%count", 1), [("i64", "0")], take)
    b.do(f"store i64 {refused}, ptr {bad}")
    b.loop(("0", b.ins(f"select i1 {b.ins(f'icmp eq i64 {refused}, 0')}, i64 {steps}, i64 0"), 1), [], step)
    good = b.ins(f"icmp eq i64 {b.ins(f'load i64, ptr {bad}')}, 0")
    found = b.ins(f"select i1 {good}, ptr {b.field('ptr', '%given', b.i64('sub', '%count', 1))}, ptr {none}")
    b.do(f"call void {increase}(ptr {found})")
    b.do(f"ret ptr {found}")
    return b
