"""Matrix products through cuBLASLt.

    x [b t k] @ w [k n]        one product of b t rows            transposes of operands are read as they lie
    x [b m k] @ y [b k n]      b products, one stride each

What the library does not take (no stride of 1, leading axes that no one stride walks) is left to others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from msnb.core import TensorType, tensor_type
from msnb.devices.codegen.copy_kernels import copy_of_view
from msnb.devices.gpu.libraries import cublaslt
from msnb.devices.gpu.libraries.gemm_layout import MatrixLayout, folded
from msnb.devices.gpu.program.library_call import FLOATS, LibraryCall, ViewOf, precision
from msnb.ir.graph import Node, Value
from msnb.ir.kernel.strided_views import View, whole


def product(node: Node, view_of: ViewOf) -> LibraryCall | None:
    """A matrix product, or a stack of them. Operands of another dtype, or that no stride walks, are copied first."""
    types = [v.type for v in (*node.inputs, node.out)]
    if not all(isinstance(t, TensorType) for t in types):
        return None
    out = node.out.type
    assert isinstance(out, TensorType)
    return None if out.dtype.name not in FLOATS else _product(node, [view_of(v) for v in node.inputs])


def _fit(views: Sequence[View], out: TensorType) -> bool:
    return all(isinstance(v.base.type, TensorType) and v.base.type.dtype is out.dtype for v in views)


def _call(views: Sequence[View], out: TensorType) -> tuple[cublaslt.MatmulPlan, list[int]] | None:
    """The plan for views of the dtype of the result, and how far into their bases they begin."""
    size = out.dtype.itemsize
    problem = problem_of(views[0], views[1], out.ints(), out.dtype.name, precision(), size)
    plan = None if problem is None else cublaslt.plan(problem)
    return None if plan is None else (plan, [v.offset * size for v in views])


def _launcher(plan: cublaslt.MatmulPlan) -> Callable[[Sequence[int], Sequence[int], int, int], None]:
    handle = cublaslt.handle_of()

    def launch(ins: Sequence[int], outs: Sequence[int], workspace: int, stream: int) -> None:
        plan.run(handle, ins[0], ins[1], outs[0], 0, workspace, stream)

    return launch


def _product(node: Node, views: list[View]) -> LibraryCall | None:
    """The product of these views, each read as it lies, or copied first."""
    out = node.out.type
    assert isinstance(out, TensorType)
    copies = [whole(Value(tensor_type(v.shape, out.dtype))) for v in views]
    choices = [[v, c] if _fit([v], out) else [c] for v, c in zip(views, copies)]
    for used in sorted(itertools.product(*choices), key=lambda pair: sum(u is c for u, c in zip(pair, copies))):
        found = _call(used, out)
        if found is None:
            continue
        plan, offsets = found
        call = LibraryCall([v.base for v in views], offsets, plan.workspace, "cuBLASLt", _launcher(plan))
        for k, (view, copy) in enumerate(zip(views, copies)):
            if used[k] is copy:
                call.before[k] = copy_of_view(view, copy.base)
        return call
    return None


def problem_of(
    x: View, y: View, out: tuple[int, ...], dtype: str, how: str, itemsize: int
) -> cublaslt.MatmulProblem | None:
    """The product of two views as the library wants it; None where it cannot be said."""
    if len(x.shape) == 1:
        x = View(x.base, (1, *x.shape), (0, *x.strides), x.offset)
    if len(y.shape) == 1:
        y = View(y.base, (*y.shape, 1), (*y.strides, 0), y.offset)
    lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    rows, cols, batch = x.shape[-2], y.shape[-1], math.prod(lead)
    steps = [_step(v, lead) for v in (x, y)]
    a, b = (_matrix(v, step) for v, step in zip((x, y), steps))
    if None in (a, b) or not batch or not rows or not cols:
        return None
    c = MatrixLayout(rows, cols, cols, 1, rows * cols)
    assert a is not None and b is not None
    a, b, c, batch = folded(a, b, c, batch)
    aligned = min(_power_of_two(v.offset * itemsize) for v in (x, y))
    return cublaslt.MatmulProblem(a, b, c, dtype, batch, precision=how, alignment=min(aligned, 256))


def _matrix(v: View, step: int | None) -> MatrixLayout | None:
    if step is None:
        return None
    rows, cols = v.shape[-2:]
    across, along = v.strides[-2:]
    if cols == 1:
        along = 1 if across != 1 or rows == 1 else max(rows, 1)
    if rows == 1:
        across = cols if along == 1 else 1
    if 1 not in (across, along) or 0 in (across, along):
        return None
    return MatrixLayout(rows, cols, across, along, step)


def _step(v: View, lead: tuple[int, ...]) -> int | None:
    """The one stride that walks the leading axes; None where there is none."""
    gap = len(lead) - (len(v.shape) - 2)
    strides = (0,) * gap + tuple(0 if d == 1 else s for d, s in zip(v.shape[:-2], v.strides[:-2]))
    walked = [(d, s) for d, s in zip(lead, strides) if d > 1]
    if not walked:
        return 0
    for (_, outer), (size, inner) in zip(walked, walked[1:]):
        if outer != inner * size:
            return None
    return walked[-1][1]


def _power_of_two(n: int) -> int:
    return n & -n if n else 256
