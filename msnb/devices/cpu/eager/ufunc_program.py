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

from msnb.core import TensorType
from msnb.devices.cpu.eager.call_runner import data_offset
from msnb.devices.cpu.llvm.jit import Library
from msnb.devices.device import JoinedCall, native_ufunc, ufunc_of
from msnb.ops.definition.accurate_sum import is_plain_sum
from msnb.ops.definition.type_inference import normal_axes

MOST = 8192
"""Elements of the largest operand: with more, the loops are what costs."""
_HEAD, _STEP, _OPERANDS = 7, 20, 4
_LAYOUT = ("", 32, 40, 48, 56)  # of a ufunc: loops, data, how many, name
_DENSE = 0x101  # of an array's flags: C order, aligned
_LOOPS = {  # own loops, called as NumPy's are: what one element is made of
    "select4": ("i8 float float float", "  %c = icmp ne i8 %x0, 0\n  %y = select i1 %c, float %x1, float %x2"),
    "select8": ("i8 double double double", "  %c = icmp ne i8 %x0, 0\n  %y = select i1 %c, double %x1, double %x2"),
    "copy1": ("i8 i8", "  %y = or i8 %x0, 0"),
    "copy4": ("i32 i32", "  %y = or i32 %x0, 0"),
    "copy8": ("i64 i64", "  %y = or i64 %x0, 0"),
    "cast?f": ("i8 float", "  %y = uitofp i8 %x0 to float"),
    "cast?d": ("i8 double", "  %y = uitofp i8 %x0 to double"),
    "castfd": ("float double", "  %y = fpext float %x0 to double"),
    "castdf": ("double float", "  %y = fptrunc double %x0 to float"),
    "outsidel": ("i64 i64 i64", "  %c = icmp uge i64 %x0, %x1\n  %d = load i64, ptr %p2\n  %b = zext i1 %c to i64\n"
                 "  %y = or i64 %d, %b"),
    "outsidei": ("i32 i64 i64", "  %w = sext i32 %x0 to i64\n  %c = icmp uge i64 %w, %x1\n  %d = load i64, ptr %p2\n"
                 "  %b = zext i1 %c to i64\n  %y = or i64 %d, %b"),
}  # fmt: skip


class Unfit(Exception):
    """There is no table for such a call."""


class Place(NamedTuple):
    """A dense array of the program: its slot, sizes and dtype, and the bytes before its first element."""

    slot: int
    shape: tuple[int, ...]
    dtype: Any
    offset: int = 0


class Step(NamedTuple):
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


class UfuncProgram:
    """A table in the making. Raises Unfit for what it cannot say.

    Args:
        given: the types of the operands, which are the first values.
        constants: the values behind them.
        steps: what follows.
        wanted: numbers of the values that a call gives.

    Attributes:
        views: numbers of wanted values that are views of others.
        outs: numbers of the values that the builtin fills, behind its operands.
    """

    def __init__(self, given: Sequence[Any], constants: Sequence[Any], steps: Sequence[Step], wanted: Sequence[int]):
        self._count, self._rows, self._held = len(given), [], []  # type: list[Any]
        self._fixed: list[Any] = []
        self.views: list[int] = []
        self.outs: list[int] = self._outs(steps, wanted)
        self._first = len(given) + len(self.outs)
        self._values: dict[int, Any] = {i: self._operand(i, t) for i, t in enumerate(given)}
        self._values.update((i, c) for i, c in enumerate(constants, len(given)))
        self._bad = self._cell(0, np.int64)
        for step in steps:
            self._lower(step)

    def _outs(self, steps: Sequence[Step], wanted: Sequence[int]) -> list[int]:
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

    def _operand(self, slot: int, t: Any) -> Place:
        if not isinstance(t, TensorType) or not t.is_static or t.weak or not 0 < t.size <= MOST:
            raise Unfit
        return Place(slot, t.ints(), t.dtype.numpy)

    def _cell(self, value: Any, dtype: Any, shape: tuple[int, ...] = ()) -> Place:
        """Memory of the table's own, for a number or for what is made on the way."""
        self._fixed.append(np.full(shape, value, dtype))
        return Place(self._first + len(self._fixed) - 1, shape, np.dtype(dtype))

    def _read(self, at: int, dtype: Any = None) -> Place:
        """A value; a Python number in ``dtype``."""
        found = self._values[at]
        if isinstance(found, Place):
            return found
        return self._cell(found, found.dtype if isinstance(found, np.ndarray) else dtype, np.shape(found))

    # ---- steps ----

    def _lower(self, step: Step) -> None:
        (at,), (t,) = step.makes, step.results
        x = self._read(step.reads[0], np.float32) if step.reads else None
        if x is None or not isinstance(t, TensorType) or not t.is_static or not 0 < t.size <= MOST:
            raise Unfit
        if _is_view(step.op):
            self._values[at] = x._replace(shape=t.ints())
            return
        shape, dtype = t.ints(), t.dtype.numpy
        slot = self._count + self.outs.index(at) if at in self.outs else None
        out = self._cell(0, dtype, shape) if slot is None else Place(slot, shape, np.dtype(dtype))
        self._values[at] = out
        ufunc = native_ufunc(np, step.op, step.types, step.attrs)
        if ufunc is not None:
            dtypes = {p.dtype for p in map(self._values.get, step.reads) if isinstance(p, (Place, np.ndarray))}
            if len(dtypes) > 1:
                raise Unfit
            self._ufunc(ufunc_of(np, step.op), [self._read(r, *dtypes) for r in step.reads], out)
        elif step.op.name in _LOWER:
            _LOWER[step.op.name](self, step, x, out)
        else:
            raise Unfit

    def _ufunc(self, ufunc: Any, reads: Sequence[Place], out: Place) -> Place:
        self._loop(_loop_of(ufunc, [p.dtype.char for p in (*reads, out)]), [*reads, out])
        return out

    def _made(self, ufunc: Any, *reads: Place, dtype: Any = None) -> Place:
        """An elementwise operation on the way."""
        shape = np.broadcast_shapes(*[p.shape for p in reads])
        return self._ufunc(ufunc, reads, self._cell(0, dtype or reads[0].dtype, shape))

    def _own(self, name: str, *places: Place) -> None:
        if name not in _LOOPS:
            raise Unfit
        self._loop((library().address(f"msnb_{name}"), 0), places)

    def _loop(self, loop: tuple[int, int], places: Sequence[Place]) -> None:
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
            raise Unfit
        (rows, far), (n, near) = [(1, zero)] * (2 - len(dims)) + dims
        self._row(loop, rows, n, places, far, near)

    def _row(self, loop: tuple[int, int], rows: int, n: int, places: Sequence[Place], far: Any, near: Any) -> None:
        def padded(words: Sequence[int]) -> list[int]:
            return [*words, *[0] * (_OPERANDS - len(words))]

        if rows and n:
            operands = padded([p.slot for p in places]), padded([p.offset for p in places])
            self._rows.append([*loop, rows, n, *operands[0], *operands[1], *padded(far), *padded(near)])

    def reduce(self, ufunc: Any, x: Place, axes: Any, out: Place) -> Place:
        """A reduction over the last axes, over the first, or over all."""
        loop, size = _loop_of(ufunc, [x.dtype.char] * 3), x.dtype.itemsize
        gone = [axis in axes for axis in range(len(x.shape))]
        last = math.prod(n for n, goes in zip(x.shape, gone) if goes)
        kept = math.prod(x.shape) // last
        walks = [goes for goes, n in zip(gone, x.shape) if n != 1]
        inner = walks == sorted(walks)
        if out.dtype != x.dtype or not (inner or walks == sorted(walks, reverse=True)):
            raise Unfit
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

    def total(self, x: Place, axes: Any, out: Place) -> Place:
        """A sum, where the reference body forms it at once."""
        if not is_plain_sum(x.shape, axes) or x.dtype.char not in "fd":
            raise Unfit
        return self.reduce(np.add, x, axes, out)

    # ---- the builtin ----

    def builtin(self) -> Callable[..., Any]:
        """The function of operands and results; None where operands do not lie dense, or values are for the body."""
        slots = np.zeros(self._first + len(self._fixed), np.int64)
        slots[self._first :] = [a.ctypes.data for a in self._fixed]
        code, count = [word for row in self._rows for word in row], len(self._rows)
        bad = self._fixed[0].ctypes.data
        increase = ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value or 0
        table = np.array([count, self._count, slots.ctypes.data, bad, id(None), increase, id(np.ndarray), *code], np.int64)
        self._held = [slots, self._fixed]
        made = ctypes.pythonapi.PyCFunction_NewEx
        made.restype, made.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        found: Any = made(ctypes.addressof(_definition()), table.view(_Table).holding(self._held), None)
        return found  # type: ignore[no-any-return]


def joined(given: Any, constants: Any, steps: Any, wanted: Any) -> JoinedCall | None:
    """A call as one builtin, where there is a table for it."""
    try:
        program = UfuncProgram(given, constants, [Step(*step) for step in steps], wanted) if usable() else None
    except Unfit:
        return None
    return None if program is None else JoinedCall(program.builtin(), program.outs, program.views)


class _Table(np.ndarray):  # type: ignore[type-arg]
    """The words of a table, and what they point to."""

    def holding(self, held: Any) -> _Table:
        """It keeps these alive."""
        self.held = held
        return self


def _is_view(op: Any) -> bool:
    return op.view == "reshape" or op.name == "stop_gradient"


def _stride(p: Place, axis: int) -> int:
    """Bytes from one element to the next along an axis, counted from the end; 0 where it is repeated."""
    if -axis > len(p.shape) or p.shape[axis] == 1:
        return 0
    return int(math.prod(p.shape[len(p.shape) + axis + 1 :])) * p.dtype.itemsize


# ---- operations that are no ufuncs ----


def _reduced(ufunc: Any) -> Callable[..., None]:
    def lower(table: UfuncProgram, step: Step, x: Place, out: Place) -> None:
        axes = normal_axes(step.op.name, step.attrs["axis"], len(x.shape))
        if x.dtype.char not in "fd":
            raise Unfit
        (table.total if ufunc is np.add else functools.partial(table.reduce, ufunc))(x, axes, out)

    return lower


def _mean(table: UfuncProgram, step: Step, x: Place, out: Place) -> None:
    axes = normal_axes("mean", step.attrs["axis"], len(x.shape))
    total = table.total(x, axes, table._cell(0, x.dtype, out.shape))
    table._ufunc(np.divide, [total, table._cell(math.prod(x.shape[a] for a in axes), x.dtype)], out)


def _var(table: UfuncProgram, step: Step, x: Place, out: Place) -> None:
    axes, ddof = normal_axes("var", step.attrs["axis"], len(x.shape)), step.attrs["ddof"]
    n = math.prod(x.shape[a] for a in axes)
    if n <= ddof:
        raise Unfit
    ones = tuple(1 if a in axes else size for a, size in enumerate(x.shape))
    middle = table._made(np.divide, table.total(x, axes, table._cell(0, x.dtype, ones)), table._cell(n, x.dtype))
    square = table._made(np.square, table._made(np.absolute, table._made(np.subtract, x, middle)))
    total = table.total(square, axes, table._cell(0, x.dtype, out.shape))
    table._ufunc(np.divide, [total, table._cell(n - ddof, x.dtype)], out)


def _sigmoid(table: UfuncProgram, step: Step, x: Place, out: Place) -> None:
    small = table._made(np.exp, table._made(np.negative, table._made(np.absolute, x)))
    above = table._made(np.greater_equal, x, table._cell(0, x.dtype), dtype=np.dtype(bool))
    number = table._cell(0, x.dtype, x.shape)
    table._own(f"cast?{x.dtype.char}", above, number)
    below = table._made(np.add, table._cell(1, x.dtype), small)
    table._ufunc(np.divide, [table._made(np.maximum, small, number), below], out)


def _rsqrt(table: UfuncProgram, step: Step, x: Place, out: Place) -> None:
    table._ufunc(np.divide, [table._cell(1, x.dtype), table._made(np.sqrt, x)], out)


def _where(table: UfuncProgram, step: Step, x: Place, out: Place) -> None:
    chosen = [table._read(r, out.dtype) for r in step.reads[1:]]
    if x.dtype.char != "?" or out.dtype.char not in "fd" or any(c.dtype != out.dtype for c in chosen):
        raise Unfit
    table._own(f"select{out.dtype.itemsize}", x, *chosen, out)


def _cast(table: UfuncProgram, step: Step, x: Place, out: Place) -> None:
    table._own(f"cast{x.dtype.char}{out.dtype.char}", x, out)


def _cumsum(table: UfuncProgram, step: Step, x: Place, out: Place) -> None:
    axis = step.attrs["axis"] % max(len(x.shape), 1)
    if step.attrs["exclusive"] or step.attrs["reverse"] or x.dtype.char not in "fd" or not x.shape:
        raise Unfit
    wide, n, inner = table._cell(0, np.float64, x.shape), x.shape[axis], math.prod(x.shape[axis + 1 :])
    table._own(f"cast{x.dtype.char}d" if x.dtype.char == "f" else "copy8", x, wide)
    if axis and inner > 1:
        raise Unfit
    loop, rest = _loop_of(np.add, ["d"] * 3), wide._replace(offset=inner * 8)
    three = [wide, rest, rest]
    if inner > 1:
        table._row(loop, n - 1, inner, three, [inner * 8] * 3, [8] * 3)
    else:
        table._row(loop, math.prod(x.shape) // n, n - 1, three, [n * 8] * 3, [8] * 3)
    table._own("castdf" if x.dtype.char == "f" else "copy8", wide, out)


def _class_index(table: UfuncProgram, step: Step, x: Place, out: Place) -> None:
    table._own(f"outside{x.dtype.char}", x, table._cell(step.attrs["classes"], np.int64), table._bad)
    table._own(f"copy{x.dtype.itemsize}", x, out)


_LOWER: dict[str, Callable[..., None]] = {
    "sum": _reduced(np.add), "max": _reduced(np.maximum), "min": _reduced(np.minimum), "mean": _mean, "var": _var,
    "sigmoid": _sigmoid, "rsqrt": _rsqrt, "where": _where, "cast": _cast, "cumsum": _cumsum,
    "class_index": _class_index,
}  # fmt: skip


# ---- what lies where ----


@functools.lru_cache(maxsize=256)
def _loop_at(ufunc: Any, signature: str) -> tuple[int, int]:
    _, loops, data, count, name = _LAYOUT
    read = ctypes.c_void_p.from_address
    named = ctypes.c_char_p.from_address(id(ufunc) + int(name)).value if np.dtype(np.intp).itemsize == 8 else b""
    known = ctypes.c_int.from_address(id(ufunc) + int(count)).value == ufunc.ntypes
    if signature not in ufunc.types or not known or named != ufunc.__name__.encode():
        raise Unfit
    at = ufunc.types.index(signature) * 8
    loop = read((read(id(ufunc) + int(loops)).value or 0) + at).value
    if not loop:
        raise Unfit
    return loop, read((read(id(ufunc) + int(data)).value or 0) + at).value or 0


def _loop_of(ufunc: Any, chars: Sequence[str]) -> tuple[int, int]:
    """The inner loop of a ufunc for these dtypes, and its data."""
    return _loop_at(ufunc, f"{''.join(chars[:-1])}->{chars[-1]}")


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
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()  # tables have one scratch memory
    classed = ctypes.c_void_p.from_address(id(np.zeros(1)) + 8).value == id(np.ndarray)
    return bool(locked and classed and data_offset() and _flags_offset() and sys.implementation.name == "cpython")


class _Definition(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p))  # fmt: skip


@functools.lru_cache(maxsize=1)
def _definition() -> _Definition:
    """Python's record of the builtin: METH_FASTCALL."""
    return _Definition(b"ufuncs", library().address("msnb_ufuncs"), 0x80, None)


@functools.lru_cache(maxsize=1)
def library() -> Library:
    """The walker of tables, and own loops."""
    return Library("\n".join([_walker(), *[_own_loop(name, *how) for name, how in _LOOPS.items()]]))


def _own_loop(name: str, kinds: str, element: str) -> str:
    *reads, result = enumerate(kinds.split())
    lines = [f'define void @"msnb_{name}"(ptr %args, ptr %dims, ptr %steps, ptr %data) nounwind {{']
    lines.append("  %n = load i64, ptr %dims\n  br label %test\ntest:\n  %i = phi i64 [ 0, %0 ], [ %next, %one ]")
    lines.append("  %more = icmp slt i64 %i, %n\n  br i1 %more, label %one, label %done\none:")
    for k, kind in (*reads, result):
        lines.append(f"  %a{k} = getelementptr ptr, ptr %args, i64 {k}\n  %b{k} = load ptr, ptr %a{k}")
        lines.append(f"  %c{k} = getelementptr i64, ptr %steps, i64 {k}\n  %s{k} = load i64, ptr %c{k}")
        lines.append(f"  %m{k} = mul i64 %i, %s{k}\n  %p{k} = getelementptr i8, ptr %b{k}, i64 %m{k}")
        lines += [f"  %x{k} = load {kind}, ptr %p{k}"] * ((k, kind) != result)
    last, kind = result
    lines.append(f"{element}\n  store {kind} %y, ptr %p{last}\n  %next = add i64 %i, 1\n  br label %test")
    return "\n".join([*lines, "done:\n  ret void\n}"])


def _walker() -> str:
    """The builtin: takes the operands' data, runs the steps, gives the last operand or None."""
    moved = "".join(
        f"""
  %q{k} = getelementptr i64, ptr %p, i64 {4 + k}
  %l{k} = load i64, ptr %q{k}
  %w{k} = getelementptr ptr, ptr %slots, i64 %l{k}
  %e{k} = load ptr, ptr %w{k}
  %oq{k} = getelementptr i64, ptr %p, i64 {8 + k}
  %o{k} = load i64, ptr %oq{k}
  %fq{k} = getelementptr i64, ptr %p, i64 {12 + k}
  %f{k} = load i64, ptr %fq{k}
  %g{k} = mul i64 %f{k}, %r
  %h{k} = add i64 %g{k}, %o{k}
  %d{k} = getelementptr i8, ptr %e{k}, i64 %h{k}
  %z{k} = getelementptr ptr, ptr %args, i64 {k}
  store ptr %d{k}, ptr %z{k}"""
        for k in range(_OPERANDS)
    )
    return f"""
define ptr @msnb_ufuncs(ptr %self, ptr %given, i64 %count) nounwind {{
  %args = alloca [{_OPERANDS} x ptr]
  %at = getelementptr i8, ptr %self, i64 {data_offset()}
  %table = load ptr, ptr %at
  %steps = load i64, ptr %table
  %t1 = getelementptr i64, ptr %table, i64 1
  %checked = load i64, ptr %t1
  %t2 = getelementptr i64, ptr %table, i64 2
  %slots = load ptr, ptr %t2
  %t3 = getelementptr i64, ptr %table, i64 3
  %bad = load ptr, ptr %t3
  %t4 = getelementptr i64, ptr %table, i64 4
  %none = load ptr, ptr %t4
  %t5 = getelementptr i64, ptr %table, i64 5
  %increase = load ptr, ptr %t5
  %t6 = getelementptr i64, ptr %table, i64 6
  %arrays = load ptr, ptr %t6
  store i64 0, ptr %bad
  br label %take
take:
  %i = phi i64 [ 0, %0 ], [ %i1, %taken ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %walk
one:
  %a = getelementptr ptr, ptr %given, i64 %i
  %o = load ptr, ptr %a
  %kp = getelementptr i8, ptr %o, i64 8
  %kind = load ptr, ptr %kp
  %isarray = icmp eq ptr %kind, %arrays
  br i1 %isarray, label %array, label %refuse
array:
  %fp = getelementptr i8, ptr %o, i64 {_flags_offset()}
  %flags = load i32, ptr %fp
  %dense = and i32 %flags, {_DENSE}
  %isdense = icmp eq i32 %dense, {_DENSE}
  %free = icmp sge i64 %i, %checked
  %fine = or i1 %isdense, %free
  br i1 %fine, label %taken, label %refuse
taken:
  %dp = getelementptr i8, ptr %o, i64 {data_offset()}
  %data = load ptr, ptr %dp
  %sp = getelementptr ptr, ptr %slots, i64 %i
  store ptr %data, ptr %sp
  %i1 = add i64 %i, 1
  br label %take
walk:
  %j = phi i64 [ 0, %take ], [ %j1, %walked ]
  %left = icmp slt i64 %j, %steps
  br i1 %left, label %step, label %end
step:
  %j20 = mul i64 %j, {_STEP}
  %jp = add i64 %j20, {_HEAD}
  %p = getelementptr i64, ptr %table, i64 %jp
  %loop = load ptr, ptr %p
  %p1 = getelementptr i64, ptr %p, i64 1
  %own = load ptr, ptr %p1
  %p2 = getelementptr i64, ptr %p, i64 2
  %rows = load i64, ptr %p2
  %n = getelementptr i64, ptr %p, i64 3
  %near = getelementptr i64, ptr %p, i64 16
  br label %row
row:
  %r = phi i64 [ 0, %step ], [ %r1, %called ]
  %some = icmp slt i64 %r, %rows
  br i1 %some, label %called, label %walked
called:{moved}
  call void %loop(ptr %args, ptr %n, ptr %near, ptr %own)
  %r1 = add i64 %r, 1
  br label %row
walked:
  %j1 = add i64 %j, 1
  br label %walk
end:
  %failed = load i64, ptr %bad
  %good = icmp eq i64 %failed, 0
  %last = sub i64 %count, 1
  %lp = getelementptr ptr, ptr %given, i64 %last
  %lo = load ptr, ptr %lp
  br i1 %good, label %give, label %refuse
refuse:
  br label %give
give:
  %found = phi ptr [ %lo, %end ], [ %none, %refuse ]
  call void %increase(ptr %found)
  ret ptr %found
}}
"""
