"""Arguments into slots, natively: a few nanoseconds per argument instead of a microsecond.

    bind(list, specs, n, slots)      for every spec: the object in the list is an array of the right class, dtype and
                                     shape, dense and aligned -> its data pointer goes into its slot; or it is a float
                                     -> its value goes into its cell. Returns 0, or 1 + the number of the first spec
                                     that does not hold. Notes which parameters nobody else holds.
    point(list, slot numbers, n, slots)      data pointers of arrays that are known to be right

Both read the fields of Python's objects, so they are called with the GIL. Where fields lie is tried out first; where
they lie elsewhere (another Python), everything goes the slow way.

    spec: 0 index  1 kind (0 array, 1 float)  2 slot or -1  3 class  4 dtype, or address of the cell
          5 axes  6 address of the sizes  7 out: 1 when the list and one owner are all that hold the array
          8 class of the buffer under an array that owns its memory through it (storage/aligned_memory)
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.devices.cpu.llvm.jit import Library

SPEC = 9
ARRAY, FLOAT = 0, 1
_DENSE, _OWN, _WRITEABLE = 0x101, 0x4, 0x400
_ITEMS, _DATA, _AXES, _SIZES, _BASE, _DTYPE, _FLAGS, _VALUE = 24, 16, 24, 32, 48, 56, 64, 16

# A loop over the items of a list, and its end: the address of a buffer goes into its slot, then on to the next.
_EACH = f"""\
  %items.at = getelementptr i8, ptr %list, i64 {_ITEMS}
  %items = load ptr, ptr %items.at
  br label %head
head:
  %i = phi i64 [0, %entry], [%next, %done]
  %over = icmp eq i64 %i, %n
  br i1 %over, label %good, label %one
one:
  %next = add i64 %i, 1
"""
_PUT = f"""\
put:
  %data.at = getelementptr i8, ptr %object, i64 {_DATA}
  %data = load ptr, ptr %data.at
  %to = getelementptr ptr, ptr %slots, i64 %slot
  store ptr %data, ptr %to
  br label %done
done:
  br label %head
good:
  ret i64 0
"""
_TEXT = f"""
define i64 @msnb_bind(ptr %list, ptr %specs, i64 %n, ptr %slots) nounwind {{
entry:
{_EACH}  %row = mul i64 %i, {SPEC}
  %spec = getelementptr i64, ptr %specs, i64 %row
  %index = load i64, ptr %spec
  %object.at = getelementptr ptr, ptr %items, i64 %index
  %object = load ptr, ptr %object.at
  %kind.at = getelementptr i64, ptr %spec, i64 1
  %kind = load i64, ptr %kind.at
  %slot.at = getelementptr i64, ptr %spec, i64 2
  %slot = load i64, ptr %slot.at
  %class.at = getelementptr ptr, ptr %spec, i64 3
  %class = load ptr, ptr %class.at
  %mine.at = getelementptr i8, ptr %object, i64 8
  %mine = load ptr, ptr %mine.at
  %same = icmp eq ptr %class, %mine
  br i1 %same, label %typed, label %bad
typed:
  %fourth.at = getelementptr ptr, ptr %spec, i64 4
  %fourth = load ptr, ptr %fourth.at
  %is.float = icmp eq i64 %kind, {FLOAT}
  br i1 %is.float, label %float, label %array
float:
  %value.at = getelementptr i8, ptr %object, i64 {_VALUE}
  %value = load double, ptr %value.at
  store double %value, ptr %fourth
  br label %done
array:
  %dtype.at = getelementptr i8, ptr %object, i64 {_DTYPE}
  %dtype = load ptr, ptr %dtype.at
  %dtype.same = icmp eq ptr %dtype, %fourth
  %flags.at = getelementptr i8, ptr %object, i64 {_FLAGS}
  %flags = load i32, ptr %flags.at
  %flags.dense = and i32 %flags, {_DENSE}
  %dense = icmp eq i32 %flags.dense, {_DENSE}
  %want.at = getelementptr i64, ptr %spec, i64 5
  %want = load i64, ptr %want.at
  %axes.at = getelementptr i8, ptr %object, i64 {_AXES}
  %axes.32 = load i32, ptr %axes.at
  %axes = sext i32 %axes.32 to i64
  %axes.same = icmp eq i64 %axes, %want
  %fine.1 = and i1 %dtype.same, %dense
  %fine = and i1 %fine.1, %axes.same
  %wanted.at = getelementptr ptr, ptr %spec, i64 6
  %wanted = load ptr, ptr %wanted.at
  %sizes.at = getelementptr i8, ptr %object, i64 {_SIZES}
  %sizes = load ptr, ptr %sizes.at
  br i1 %fine, label %shape, label %bad
shape:
  %d = phi i64 [0, %array], [%d.next, %size]
  %d.over = icmp eq i64 %d, %axes
  br i1 %d.over, label %right, label %size
size:
  %d.next = add i64 %d, 1
  %a.at = getelementptr i64, ptr %sizes, i64 %d
  %a = load i64, ptr %a.at
  %b.at = getelementptr i64, ptr %wanted, i64 %d
  %b = load i64, ptr %b.at
  %size.same = icmp eq i64 %a, %b
  br i1 %size.same, label %shape, label %bad
right:
  %count = load i64, ptr %object
  %two = icmp eq i64 %count, 2
  %flags.own = and i32 %flags, {_OWN}
  %own = icmp ne i32 %flags.own, 0
  %base.at = getelementptr i8, ptr %object, i64 {_BASE}
  %base = load ptr, ptr %base.at
  %no.base = icmp eq ptr %base, null
  %probe = select i1 %no.base, ptr %object, ptr %base
  %probe.at = getelementptr i8, ptr %probe, i64 8
  %probe.class = load ptr, ptr %probe.at
  %buffer.at = getelementptr ptr, ptr %spec, i64 8
  %buffer = load ptr, ptr %buffer.at
  %over.buffer = icmp eq ptr %probe.class, %buffer
  %owner = or i1 %own, %over.buffer
  %flags.write = and i32 %flags, {_WRITEABLE}
  %write = icmp ne i32 %flags.write, 0
  %lendable = and i1 %owner, %write
  %alone = and i1 %two, %lendable
  %alone.64 = zext i1 %alone to i64
  %out.at = getelementptr i64, ptr %spec, i64 7
  store i64 %alone.64, ptr %out.at
  %read = icmp sge i64 %slot, 0
  br i1 %read, label %put, label %done
{_PUT}bad:
  ret i64 %next
}}

define i64 @msnb_point(ptr %list, ptr %numbers, i64 %n, ptr %slots) nounwind {{
entry:
{_EACH}  %object.at = getelementptr ptr, ptr %items, i64 %i
  %object = load ptr, ptr %object.at
  %slot.at = getelementptr i64, ptr %numbers, i64 %i
  %slot = load i64, ptr %slot.at
  %used = icmp sge i64 %slot, 0
  br i1 %used, label %put, label %done
{_PUT}}}
"""

Native = Callable[[Any, int, int, int], int]


class Binder:
    """The two functions."""

    def __init__(self) -> None:
        self._library = Library(_TEXT)
        kind = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.py_object, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
        self.bind: Native = kind(self._library.address("msnb_bind"))
        self.point: Native = kind(self._library.address("msnb_point"))


@functools.lru_cache(maxsize=1)
def binder() -> Binder | None:
    """The functions, or None where objects look different."""
    return Binder() if _known_layout() else None


def _known_layout() -> bool:
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8 or _free_threaded():
        return False
    word, small = ctypes.c_int64.from_address, ctypes.c_int32.from_address
    for shape in ((3,), (2, 5), ()):
        a = np.zeros(shape, np.float32)
        items, at = [a], id(a)
        sizes = [word(word(at + _SIZES).value + 8 * d).value for d in range(a.ndim)]
        seen = (word(at + _DATA).value, small(at + _AXES).value, tuple(sizes), word(at + _DTYPE).value)
        if seen != (a.ctypes.data, a.ndim, a.shape, id(a.dtype)):
            return False
        if small(at + _FLAGS).value != a.flags.num or word(word(id(items) + _ITEMS).value).value != at:
            return False
        over = a[...]
        if word(at + _BASE).value or word(id(over) + _BASE).value != at:
            return False
        del over
        if word(at).value != 2 or word(at + 8).value != id(np.ndarray):
            return False
    return bool(ctypes.c_double.from_address(id(2.5) + _VALUE).value == 2.5)


def _free_threaded() -> bool:
    enabled = getattr(sys, "_is_gil_enabled", None)
    return enabled is not None and not enabled()
