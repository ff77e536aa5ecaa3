"""Recipes for ``flash_attention`` and its gradient: which cases the kernels take, and how they are launched.

Two-byte floats, 32, 64, 96 or 128 features, a positive scale, a GPU whose matrix unit knows bfloat16 (sm_80 and
later). Heads may lie side by side in a position, as a projection leaves them (views [b, l, h, d] -> [b, h, l, d]): rows
are read where they are, as long as each is dense and begins at a multiple of 16 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from msnb.core import dtypes
from msnb.devices.gpu.codegen import NEWEST, GpuKernel, GpuTarget, Launch
from msnb.devices.gpu.kernels.attention import tilings
from msnb.devices.gpu.kernels.attention.attention_case import DTYPES, FEATURES, AttentionCase, Rows, Tiling
from msnb.devices.gpu.kernels.attention.block_place import tiles
from msnb.devices.gpu.kernels.attention.forward_kernel import ForwardKernel
from msnb.devices.gpu.kernels.attention.key_gradient_kernel import KeyGradientKernel
from msnb.devices.gpu.kernels.attention.query_gradient_kernel import QueryGradientKernel
from msnb.devices.gpu.kernels.attention.tile_emitter import TileEmitter
from msnb.devices.gpu.kernels.kernel_operands import operands, results
from msnb.devices.gpu.program.lowered_node import KernelPart, LoweredNode, ViewOf
from msnb.ir.graph import Node, Value, type_of
from msnb.ir.kernel import Buffer, Kernel, dense_strides

ALIGNED = 8
"""Elements of 16 bytes."""
_GRID = 65535
_NUMBERS = 1 << 31
Maker = type[ForwardKernel | KeyGradientKernel | QueryGradientKernel]


def recipe(node: Node, view_of: ViewOf, target: GpuTarget) -> LoweredNode | None:
    """How attention runs tile by tile; None for other nodes, and for cases that no kernel takes."""
    if node.op.name not in ("flash_attention", "flash_attention_grad") or not target.bfloat or not _fits(node):
        return None
    found = [_read(v, view_of) for v in node.inputs[:4]]
    if any(f is None for f in found):
        return None
    (q_at, q), (k_at, k), (v_at, v), *rest = (f for f in found if f is not None)
    batch, _, _, features = type_of(node.inputs[0]).ints()
    dtype, attrs = type_of(node.inputs[0]).dtype, node.attrs
    case = AttentionCase(batch, features, q, k, v, dtype, float(attrs["scale"]), bool(attrs["is_causal"]))
    reads = [q_at, k_at, v_at]
    if not rest:
        return LoweredNode(reads, [KernelPart(forward(case, target), [0, 1, 2], [0, 1])])
    case = case.with_dy(rest[0][1])
    reads += [rest[0][0], *node.inputs[4:]]
    makers = ((key_gradient, [1, 2]), (query_gradient, [0]))
    parts = [KernelPart(make(case, target), [*range(6)], writes) for make, writes in makers]
    return LoweredNode(reads, parts)


def _fits(node: Node) -> bool:
    ins = operands(node)
    q, k = ins[:2]
    one = all(t.dtype is q.dtype for t in ins[:4])
    sums = all(t.dtype is dtypes.float32 for t in (*ins[4:], *results(node)[1:] * (len(ins) == 3)))
    most = max(x.ints()[0] * x.ints()[1] for x in (q, k))
    numbers = max(x.size // x.ints()[3] for x in (q, k)) + 2 * tilings.LARGEST
    kinds = q.dtype in DTYPES and one and sums and q.ints()[3] in FEATURES
    return kinds and node.attrs["scale"] > 0 and most <= _GRID and numbers < _NUMBERS


def _read(value: Value, view_of: ViewOf) -> tuple[Value, Rows] | None:
    """The value whose memory is read, and how its rows lie there; None where they are not aligned."""
    view, shape = view_of(value), type_of(value).ints()
    steps = [0 if d == 1 else s for d, s in zip(shape[:3], view.strides)]
    if view.strides[3] == 1 and all(s % ALIGNED == 0 for s in (*steps, view.offset)) and min(steps) >= 0:
        return view.base, Rows(shape[1], shape[2], (steps[0], steps[1], steps[2]), view.offset)
    dense = dense_strides(shape)
    if all(d == 1 or s == w for d, s, w in zip(shape, view.strides, dense)):
        return None
    return value, Rows(shape[1], shape[2], (dense[0], dense[1], dense[2]))


# ---- kernels ----


def forward(case: AttentionCase, target: GpuTarget = NEWEST, tiling: Tiling | None = None) -> GpuKernel:
    """The kernel of out and lse."""
    tiling = tiling or tilings.forward(case, target.shared_bytes)
    return _made("attention", ForwardKernel, case, tiling, case.q, (case.q,))


def key_gradient(case: AttentionCase, target: GpuTarget = NEWEST, tiling: Tiling | None = None) -> GpuKernel:
    """The kernel of dk and dv."""
    tiling = tiling or tilings.keys(case, target.shared_bytes)
    return _made("attention_keys", KeyGradientKernel, case, tiling, case.k, (case.k, case.v))


def query_gradient(case: AttentionCase, target: GpuTarget = NEWEST, tiling: Tiling | None = None) -> GpuKernel:
    """The kernel of dq."""
    tiling = tiling or tilings.queries(case, target.shared_bytes)
    return _made("attention_queries", QueryGradientKernel, case, tiling, case.q, (case.q,))


def _made(kind: str, maker: Maker, case: AttentionCase, tiling: Tiling, own: Rows, outs: Sequence[Rows]) -> GpuKernel:
    symbol = case.symbol(kind, tiling)
    e: TileEmitter = maker(case, tiling, symbol).made()
    rows = [case.q, case.k, case.v, *([] if case.dy is None else [case.dy])]
    reads = [Buffer(case.dtype, _elements(case, r)) for r in rows]
    numbers = Buffer(dtypes.float32, case.batch * case.q.heads * case.q.count)
    writes = [Buffer(case.dtype, _elements(case, r)) for r in outs]
    if case.dy is None:
        writes.append(numbers)
    else:
        reads += [numbers, numbers]
    sizes = (case.batch, case.q.heads, case.q.count, case.k.count, case.features)
    loops = Kernel(kind, sizes, frozenset(), reads, writes)
    count = len(reads) + len(writes)
    grid = (tiles(own.count, tiling.own), case.batch * own.heads, 1)
    launch = Launch(symbol, grid, (tiling.threads, 1, 1), tuple(range(count)), e.dynamic)
    text = e.warp_kernel(count, tiling.threads, tiling.blocks)
    return GpuKernel(loops, text, e.declared, [launch], globals=[e.globals()])


def _elements(case: AttentionCase, rows: Rows) -> int:
    return case.batch * rows.heads * rows.count * case.features
