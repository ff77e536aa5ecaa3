"""Native kernels for eager mode: one operation, one call.

    arrays --one ctypes call--> data pointers into slots, the recipe's calls one after the other --> results

The recipe of a node is the same as in a program. Its slots, its words and its table of calls are made once per
signature; a call passes array objects, and machine code reads their data pointers (``data_offset`` is where they lie in
an array object, found by a probe). Scratch memory comes from the shelf of all programs.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.core.types import TensorType, Type
from msnb.devices.cpu import threads
from msnb.devices.cpu.builtin import poolings
from msnb.devices.cpu.onednn import recipes
from msnb.devices.cpu.program.arenas import SHELF, Pool, aligned
from msnb.devices.cpu.program.recipe import OK, Recipe
from msnb.ir.graph import Graph, Node
from msnb.ir.views import whole
from msnb.ops.record import Op

Kernel = Callable[..., Any]
NAMES = frozenset((
    "conv2d", "conv2d_input_grad", "conv2d_weight_grad", "max_pool2d", "max_pool2d_grad", "avg_pool2d",
    "avg_pool2d_grad",
))  # fmt: skip
_MOST_OBJECTS = 5
_ALIGN = 64
_POOLED = 1 << 16
_results, _results_lock = Pool(), threading.Lock()


@functools.lru_cache(maxsize=1)
def data_offset() -> int:
    """Where an array object keeps its data pointer; 0 where it cannot be told."""
    samples = [np.zeros(n) for n in (1, 2, 3)]
    for offset in range(8, 64, 8):
        if all(ctypes.c_void_p.from_address(id(a) + offset).value == a.ctypes.data for a in samples):
            return offset
    return 0


def eager_kernel(op: Op, types: tuple[Type, ...], attrs: dict[str, Any], fallback: Kernel) -> Kernel | None:
    """A function of arrays that runs ``op`` natively; None where there is no native code for it.

    Args:
        op: the operation.
        types: of its operands.
        attrs: its attributes.
        fallback: runs where the native code cannot (in a forked process).
    """
    if op.name not in NAMES or not data_offset() or not all(_fixed(t) for t in types):
        return None
    graph = Graph(op.name)
    params = [graph.add_param(t, f"x{i}") for i, t in enumerate(types)]
    node = graph.add(op, params, attrs, op.result_types(types, attrs))
    recipe = recipes.recipe(node, whole) or poolings.recipe(node, whole)
    if recipe is None or recipe.declines or len(node.inputs) + len(node.outputs) > _MOST_OBJECTS:
        return None
    return _Prepared(node, recipe, fallback)


def _fixed(t: Type) -> bool:
    return isinstance(t, TensorType) and t.is_static and not t.weak


class _Prepared:
    """A kernel with its slots and its table of calls."""

    def __init__(self, node: Node, recipe: Recipe, fallback: Kernel) -> None:
        self._recipe, self._fallback, self._lock = recipe, fallback, threading.Lock()
        reads = node.inputs if recipe.reads is None else list(recipe.reads)
        self._order = [node.inputs.index(v) for v in reads]
        self._dtypes = [_dtype(v.type) for v in reads]
        out = node.out.type
        assert isinstance(out, TensorType)
        self._shape, self._dtype, self._large = out.ints(), out.dtype.numpy, out.nbytes >= _POOLED
        n, m = len(reads), len(reads) + 1
        self._slots = np.zeros(m + len(recipe.temps), np.int64)
        self._env = np.zeros(64, np.int64)
        self._lay_temps(m, recipe.temps)
        type(recipe).prepare([recipe])
        self._tables(recipe.calls(range(n), [n], range(m, m + len(recipe.temps))), m)

    def _lay_temps(self, first: int, sizes: Sequence[int]) -> None:
        """Temporaries behind one another in one piece of memory."""
        steps = [-(-size // _ALIGN) * _ALIGN for size in sizes]
        self._offsets = np.cumsum([0, *steps])[:-1].astype(np.int64)
        self._temps, self._size = slice(first, None), sum(steps)
        self._arena: Any = None

    def _tables(self, calls: Sequence[Any], objects: int) -> None:
        words = [np.array(c.words, np.int64) for c in calls]
        rows = [w for c, a in zip(calls, words) for w in (c.address, a.ctypes.data)]
        head = [len(calls), self._slots.ctypes.data, self._env.ctypes.data]
        self._words, self._table = words, np.array([*head, *rows], np.int64)
        self._state = self._table.ctypes.data
        self._run = _runner(objects)

    def __call__(self, *arrays: Any) -> Any:
        ready = []
        for i, dtype in zip(self._order, self._dtypes):
            a = arrays[i]
            if a.__class__ is not np.ndarray or a.dtype != dtype or not a.flags.c_contiguous:
                a = np.ascontiguousarray(a, dtype)
            ready.append(a)
        out = self._fresh()
        with self._lock:
            code = self._native(ready, out)
        return out if code == OK else self._fallback(*arrays)

    def _fresh(self) -> Any:
        if not self._large:
            return np.empty(self._shape, self._dtype)
        with _results_lock:
            return _results.take(self._shape, self._dtype)

    def _native(self, ready: list[Any], out: Any) -> int:
        self._env[0] = threads.count()
        if not self._size:
            return int(self._run(self._state, *map(id, ready), id(out)))
        arena = SHELF.take(self._size, self._arena)
        try:
            if arena is not self._arena:
                self._slots[self._temps] = self._offsets + aligned(arena)
                self._arena = arena
            return int(self._run(self._state, *map(id, ready), id(out)))
        finally:
            SHELF.give(arena)


def _dtype(t: Type) -> Any:
    assert isinstance(t, TensorType)
    return t.dtype.numpy


@functools.lru_cache(maxsize=_MOST_OBJECTS)
def _runner(objects: int) -> Any:
    """``i32 f(state, objects...)`` as a Python function that releases the GIL."""
    from msnb.devices.cpu.codegen.engine import Library

    library = Library(_text(objects))
    kinds = [ctypes.c_void_p] * (1 + objects)
    found: Any = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(library.address("msnb_eager"))
    found.library = library
    return found


def _text(objects: int) -> str:
    """State: number of calls, slots, env, then address and words of each call."""
    fills = "".join(
        f"""
  %o{i} = getelementptr i8, ptr %a{i}, i64 {data_offset()}
  %d{i} = load ptr, ptr %o{i}
  %s{i} = getelementptr ptr, ptr %slots, i64 {i}
  store ptr %d{i}, ptr %s{i}"""
        for i in range(objects)
    )
    return f"""
define i32 @msnb_eager(ptr %state, {", ".join(f"ptr %a{i}" for i in range(objects))}) nounwind {{
  %n = load i64, ptr %state
  %q1 = getelementptr i64, ptr %state, i64 1
  %slots = load ptr, ptr %q1
  %q2 = getelementptr i64, ptr %state, i64 2
  %env = load ptr, ptr %q2{fills}
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %i1, %good ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %done
one:
  %twice = mul i64 %i, 2
  %at = add i64 %twice, 3
  %p = getelementptr i64, ptr %state, i64 %at
  %f = load ptr, ptr %p
  %pw = getelementptr i64, ptr %p, i64 1
  %words = load ptr, ptr %pw
  %code = call i32 %f(ptr %slots, ptr %words, ptr %env)
  %i1 = add i64 %i, 1
  %ok = icmp eq i32 %code, 0
  br i1 %ok, label %good, label %bad
good:
  br label %next
bad:
  ret i32 %code
done:
  ret i32 0
}}
"""
