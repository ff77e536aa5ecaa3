"""Native kernels for eager mode: one operation, one call.

    arrays --strides--> the layout's table of calls --one ctypes call--> result

The recipe of a node is the same as in a program. What depends on how the operands lie and on the number of threads
(slots, words, the library's code) is made once per layout: a matrix product reads the transposed weight of a dense
layer where it is; elementwise operations run through operands in the order in which all of them lie, and so lies their
result; other kernels are made for dense operands, and odd ones are copied. Scratch memory comes from the shelf of all
programs.

    conv, pool         the library's, always
    matmul             the library's from 0.5 Mflop on: NumPy's BLAS has threads of its own from there on, and two pools
                       of waiting threads on the same cores cost more than any product. With a vector, generated code
                       (``vectors``) from 8k elements on, where BLAS begins to use threads for that
    elementwise        generated code, row by row where operands broadcast (``chains``): from 64k elements on, and from
                       4k on where NumPy would take several loops
    sum, mean, max     generated code from 4k elements on, where what goes away lies close (``reductions``)
    along an axis      argmax, cumsum, sort ... (``kernels.lines``) from 4k elements on
    draws              always: Philox in NumPy takes a hundred microseconds for one number
    LAPACK             from matrices of 16x16 on: NumPy copies, asks and checks around the same routines
    Fourier            transforms of 4k numbers or more: a lane to each line, where NumPy takes one number at a time
    unindex            adding rows at an index (the gradient of an embedding, sums over segments) from 4k elements on:
                       NumPy adds one element at a time
    sparse rows        products with compressed rows from a thousand entries on, for the same reason
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.base.events import notice
from msnb.base.threads import fork_locks
from msnb.core import TensorType, Type, float32
from msnb.devices.cpu import thread_pool
from msnb.devices.cpu.eager import elementwise
from msnb.devices.cpu.eager.call_runner import MOST_OBJECTS, CallTable, data_offset, runner
from msnb.devices.cpu.eager.result_pool import LARGE, RESULTS
from msnb.devices.cpu.kernels import (
    gather_scatter,
    half_product,
    indexed_access,
    lapack,
    matvec,
    philox,
    pooling,
    row_reduction,
    sparse_rows,
)
from msnb.devices.cpu.kernels.fourier import fourier_recipe
from msnb.devices.cpu.kernels.lines import line_provider
from msnb.devices.cpu.native_kernel import DECLINED, OK, NativeKernel
from msnb.devices.cpu.onednn import provider
from msnb.devices.cpu.program.run.arena_pool import SHELF, aligned
from msnb.ir.graph import Graph, Node, Value, sizes_of
from msnb.ir.kernel.strided_views import View, dense_strides, strided, whole
from msnb.ops.definition.record import Op
from msnb.ops.elementwise.arithmetic import is_product

Kernel = Callable[..., Any]
Strides = tuple[int, ...]
IMAGES = frozenset(("conv", "pool"))
"""Families of operations over images."""
WORTH_ADDING = 4096
_ALIGN = 64
_KEPT_LAYOUTS = 64
_BLAS_SHARES = 1 << 19  # flops: OpenBLAS runs smaller products on one thread
_BLAS_SHARES_VECTORS = 1 << 13  # elements of the matrix: the same for products with a vector


def eager_kernel(op: Op, types: tuple[Type, ...], attrs: dict[str, Any], fallback: Kernel) -> Kernel | None:
    """A function of arrays that runs ``op`` natively; None where there is no native code for it.

    Args:
        op: the operation.
        types: of its operands.
        attrs: its attributes.
        fallback: runs where the native code cannot (in a forked process).
    """
    several = elementwise.is_several(op, types, fallback)
    if not all(isinstance(t, TensorType) and t.is_static for t in types) or not is_worth(op, types, attrs, several):
        return None
    graph = Graph(op.name)
    params = [graph.add_param(t, f"x{i}") for i, t in enumerate(types)]
    node = graph.add(op, params, attrs, op.result_types(types, attrs))
    if not data_offset() or len(node.inputs) + len(node.outputs) > MOST_OBJECTS:
        return None
    kernel = EagerKernel(node, fallback)
    if kernel.usable and op.name == "power" and not types[0].weak:  # type: ignore[union-attr]
        return lambda x, y: (fallback if is_product(x.dtype, y) else kernel)(x, y)
    return kernel if kernel.usable else None


def is_worth(op: Op, types: tuple[Type, ...], attrs: dict[str, Any], several: bool) -> bool:
    """True for operations that native code may serve better than NumPy; ``several``: than several calls of it."""
    if op.family in IMAGES or op.name == "matmul":
        numbers = any(isinstance(t, TensorType) and t.weak for t in types)
        return not numbers and (op.family in IMAGES or is_shared_product(op, types))
    if op.name == "unindex":
        return _at_least(types[0], WORTH_ADDING)
    if op.family == "sparse":
        return sparse_rows.is_worth(op, types)
    if op.family == "random":
        return philox.is_worth(op, types, attrs)
    if op.name in lapack.NAMES:
        return _at_least(types[0], lapack.WORTH)
    if op.family == "fourier":
        return _at_least(types[0], fourier_recipe.WORTH)
    if line_provider.is_worth(op, types) or row_reduction.is_worth(op, types):
        return True
    return elementwise.is_worth(op, types, attrs, elementwise.SEVERAL if several else elementwise.WORTH)


def _at_least(t: Type, worth: int) -> bool:
    return isinstance(t, TensorType) and t.size >= worth


def is_shared_product(op: Op, types: tuple[Type, ...]) -> bool:
    """True for products that NumPy's BLAS would share out among its own threads."""
    x, y = (t.ints() if isinstance(t, TensorType) else () for t in types)
    if min(len(x), len(y)) < 2 or math.prod(x[:-1]) == 1 or y[-1] == 1:
        floats = all(isinstance(t, TensorType) and t.dtype in matvec.DTYPES for t in types)
        return floats and max(math.prod(x), math.prod(y)) >= _BLAS_SHARES_VECTORS
    (out,) = op.result_types(types, {})
    assert isinstance(out, TensorType)
    return 2 * out.size * x[-1] >= _BLAS_SHARES


class EagerKernel:
    """One signature, with a table of calls for every layout of the operands that was met.

    Attributes:
        usable: whether there is native code at all.
    """

    node: Node

    def __init__(self, node: Node, fallback: Kernel) -> None:
        self.node, self._fallback = node, fallback
        types = [v.type for v in node.outputs if isinstance(v.type, TensorType)]
        self._shape, self._single = types[0].ints(), len(types) == 1
        self._results = [(t.ints(), t.dtype.numpy, t.nbytes >= LARGE) for t in types]
        self._numbers = [i for i, v in enumerate(node.inputs) if v.type.weak]  # type: ignore[union-attr]
        self._plain = elementwise.is_plain(node)
        self._layouts: dict[tuple[Any, ...], KernelEntry | None] = {}
        self._dense = tuple(_bytes(v, dense_strides(sizes_of(v))) for v in node.inputs)
        # a product is prepared as its operands lie at the first call: often one of them is transposed
        product = node.op.name == "matmul" and all(v.type.dtype is float32 for v in node.inputs)  # type: ignore[union-attr]
        self.usable: bool = product or self._layout((thread_pool.count(), *self._dense)) is not None

    def __call__(self, *arrays: Any) -> Any:
        if self._numbers:
            arrays = self._with_cells(arrays)
        count = thread_pool.count()
        key = (count, *[a.strides for a in arrays])
        try:
            ready = self._layouts[key]
        except KeyError:
            ready = self._layout(key)
        return self._odd(arrays, count) if ready is None else self._run(ready, arrays, count)

    def _odd(self, arrays: tuple[Any, ...], count: int) -> Any:
        """Operands that lie in another order, or with gaps."""
        dense = self._layout((count, *self._dense))
        if dense is None:
            return self._fallback(*arrays)
        order = _order_of(arrays) if self._plain else None
        if order is None:
            return self._run(dense, tuple(np.asarray(array, order="C") for array in arrays), count)
        found = self._run(dense, tuple([a.transpose(order) if a.ndim else a for a in arrays]), count)
        return found.reshape([self._shape[k] for k in order]).transpose([order.index(k) for k in range(len(order))])

    def _run(self, ready: KernelEntry | None, arrays: tuple[Any, ...], count: int) -> Any:
        outs = [
            RESULTS.take(shape, dtype) if large else np.empty(shape, dtype) for shape, dtype, large in self._results
        ]
        code = DECLINED if ready is None else ready.run(arrays, outs, count)
        if code == OK:
            return outs[0] if self._single else tuple(outs)
        if code != DECLINED:
            told = "a forked process has none of its parent's threads: its eager operations run in NumPy."
            notice(told, key="forked eager")
        return self._fallback(*arrays)

    def _with_cells(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """Python numbers in memory."""
        cells = list(arrays)
        for i in self._numbers:
            cells[i] = np.array(arrays[i], self.node.inputs[i].type.dtype.numpy)  # type: ignore[union-attr]
        return tuple(cells)

    def _layout(self, key: tuple[Any, ...]) -> KernelEntry | None:
        """What runs operands on so many threads with these strides; None where they must be copied."""
        if key in self._layouts:
            return self._layouts[key]
        if len(self._layouts) >= _KEPT_LAYOUTS:
            self._layouts = {}
        dense = (key[0], *self._dense)
        plain = all(_same(v, a, b) for v, a, b in zip(self.node.inputs, key[1:], self._dense))
        if plain and key != dense:
            found = self._layout(dense)
        else:
            found = self._prepared(key[1:]) if plain or self.node.op.name == "matmul" else None
        self._layouts[key] = found
        return found

    def _prepared(self, key: tuple[Strides, ...]) -> KernelEntry | None:
        views = {v: strided(v, strides) for v, strides in zip(self.node.inputs, key)}
        if None in views.values():
            return None
        recipe = recipe_of(self.node, lambda v: views[v] or whole(v))
        return None if recipe is None else KernelEntry(self.node, recipe)


def _order_of(arrays: tuple[Any, ...]) -> list[int] | None:
    """The order of axes in which all arrays are dense, if they share one; numbers are dense in any."""
    many = [a for a in arrays if a.ndim]
    order = sorted(range(many[0].ndim), key=lambda k: -many[0].strides[k])
    return order if all(a.transpose(order).flags.c_contiguous for a in many) else None


def halves(node: Node, view_of: Callable[[Value], View]) -> NativeKernel | None:
    """Products of half precision."""
    return half_product.recipe(node, view_of, provider.recipe)


def recipe_of(node: Node, view_of: Callable[[Value], View]) -> NativeKernel | None:
    """How ``node`` runs natively where its operands lie like that."""
    makers = (
        matvec.recipe, halves, provider.recipe, pooling.recipe, indexed_access.recipe, gather_scatter.recipe,
        row_reduction.recipe, line_provider.recipe, philox.recipe, lapack.recipe, sparse_rows.recipe,
        fourier_recipe.recipe,
    )  # fmt: skip
    return next((r for r in (make(node, view_of) for make in makers) if r is not None), None) or elementwise.recipe(
        node
    )


def _bytes(value: Value, strides: Strides) -> Strides:
    assert isinstance(value.type, TensorType)
    return tuple(s * value.type.dtype.numpy.itemsize for s in strides)


def _same(value: Value, a: Strides, b: Strides) -> bool:
    """True when both say the same places: an axis of size 1 has no stride."""
    return all(d == 1 or s == t for d, s, t in zip(sizes_of(value), a, b))


def _no_arena() -> None:
    """No arena is laid."""


class KernelEntry:
    """A recipe with its slots and its table of calls, for operands of one layout."""

    def __init__(self, node: Node, recipe: NativeKernel) -> None:
        self._recipe, self._lock = recipe, fork_locks.lock()
        reads = node.inputs if recipe.reads is None else list(recipe.reads)
        self._order = [node.inputs.index(v) for v in reads]
        if self._order == list(range(len(node.inputs))):
            self._order = []
        n, m = len(reads), len(reads) + len(node.outputs)
        type(recipe).prepare([recipe])
        self._slots = np.zeros(m + len(recipe.temps), np.int64)
        self._env = np.zeros(64, np.int64)
        self._lay_temps(m, recipe.temps)
        calls = recipe.calls(range(n), range(n, m), range(m, m + len(recipe.temps)))
        self._table = CallTable(calls, self._slots, self._env)
        self._state, self._run = self._table.state, runner(m)

    def _lay_temps(self, first: int, sizes: Sequence[int]) -> None:
        """Temporaries behind one another in one piece of memory."""
        steps = [-(-size // _ALIGN) * _ALIGN for size in sizes]
        self._offsets = np.cumsum([0, *steps])[:-1].astype(np.int64)
        self._temps, self._size = slice(first, None), sum(steps)
        self._arena: Callable[[], Any] = _no_arena  # arenas belong to the shelf

    def run(self, arrays: Sequence[Any], outs: Sequence[Any], count: int) -> int:
        """The native code's answer, on so many threads."""
        if self._order:
            arrays = [arrays[i] for i in self._order]
        with self._lock:
            self._env[0] = count
            if not self._size:
                return int(self._run(self._state, *map(id, arrays), *map(id, outs)))
            last = self._arena()
            arena = SHELF.take(self._size, last)
            try:
                if arena is not last:
                    self._arena = _no_arena  # an interrupt leaves no slots of another arena
                    self._slots[self._temps] = self._offsets + aligned(arena)
                    self._arena = weakref.ref(arena)
                return int(self._run(self._state, *map(id, arrays), *map(id, outs)))
            finally:
                SHELF.give(arena)
