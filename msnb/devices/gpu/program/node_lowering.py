"""How a node runs on the GPU, and what it reads for that.

    fused groups, single elementwise operations and reductions      generated kernels
    transposes, slices, concatenations ...                           generated kernels that move elements
    indexing, poolings, draws, scans, argmax ...                     kernels of ``msnb.devices.gpu.kernels``
    products, convolutions                                           the libraries (``libraries``)
    everything else                                                  the operator's body over CuPy, told by ``explain``

A view that lies densely in its base is nobody's work.
"""

from __future__ import annotations

from msnb.base.events import notice
from msnb.core import TensorType, Type
from msnb.devices.codegen.body_components import components
from msnb.devices.codegen.copy_kernels import moves
from msnb.devices.codegen.kernel_lowering import lower
from msnb.devices.gpu.codegen import NEWEST, GpuKernel, GpuTarget, generate
from msnb.devices.gpu.kernels.providers import PROVIDERS
from msnb.devices.gpu.program.image_calls import convolution
from msnb.devices.gpu.program.library_call import LibraryCall
from msnb.devices.gpu.program.lowered_node import KernelPart, LoweredNode, ViewOf
from msnb.devices.gpu.program.product_calls import product
from msnb.ir import FUSED, Graph, Node, Value, copy_node
from msnb.ir.analysis.structural_hash import structure_key
from msnb.ir.kernel import Kernel, UnsupportedKernel, kind_of
from msnb.ir.kernel.strided_views import whole
from msnb.ops.linalg.matmul import matmul
from msnb.ops.spatial.convolution_records import CONV2D, CONV2D_INPUT_GRAD, CONV2D_WEIGHT_GRAD

_CONVOLUTIONS = frozenset((CONV2D, CONV2D_INPUT_GRAD, CONV2D_WEIGHT_GRAD))


def library_call(node: Node, view_of: ViewOf) -> LibraryCall | None:
    """The call that does a node's work, if a library is there and takes it."""
    if node.op is matmul:
        return product(node, view_of)
    return convolution(node, view_of) if node.op in _CONVOLUTIONS else None


def lowered(node: Node, view_of: ViewOf, libraries: bool, target: GpuTarget = NEWEST) -> LoweredNode | None:
    """How a node runs natively; None where CuPy does it.

    Args:
        node: of the graph.
        view_of: how values lie in others.
        libraries: NVIDIA's libraries can be called.
        target: the GPU.
    """
    if any(not is_plain(v.type) for v in (*node.inputs, *node.outputs)):
        return None
    if node.op is FUSED:
        return _group(node, node.graphs[0], target)
    found = library_call(node, view_of) if libraries else None
    if found is not None:
        before = {k: _move(kernel, target) for k, kernel in found.before.items()}
        after = None if found.after is None else _move(found.after, target)
        return LoweredNode(found.reads, library=found, before=before, after=after)
    if kind_of(node) in ("elementwise", "reduce"):
        return _group(node, _alone(node), target)
    return _moved(node, view_of, target) or _provided(node, view_of, target)


def provided(node: Node, target: GpuTarget = NEWEST) -> bool:
    """Whether a kernel that no loop nest describes does a node's work."""
    return _provided(node, whole, target) is not None


def _provided(node: Node, view_of: ViewOf, target: GpuTarget) -> LoweredNode | None:
    """A kernel that no loop nest describes."""
    try:
        return next((found for p in PROVIDERS if (found := p(node, view_of, target)) is not None), None)
    except UnsupportedKernel:
        return None


def is_plain(t: Type) -> bool:
    """Whether it is a tensor of known sizes with something in it."""
    return isinstance(t, TensorType) and t.is_static and 0 not in t.shape


def _group(node: Node, body: Graph, target: GpuTarget) -> LoweredNode | None:
    """The kernels of a group, one for each part of it that only single numbers connect with the others. Equal groups,
    as those of equal layers, are lowered once."""
    key = structure_key(body), target
    if key not in _known:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[key] = _parts(body, target)
    parts = _known[key]
    return None if parts is None else LoweredNode(list(node.inputs), list(parts))


MOST_KNOWN = 4096
_known: dict[tuple[str, GpuTarget], list[KernelPart] | None] = {}


def _parts(body: Graph, target: GpuTarget) -> list[KernelPart] | None:
    found: list[KernelPart] = []
    try:
        for part, reads, writes in components(body):
            for kernel, ins, outs in generate(lower(part, tiles=False), target):
                found.append(KernelPart(kernel, [reads[i] for i in ins], [writes[j] for j in outs]))
    except UnsupportedKernel as reason:
        notice(f"a group of operations runs one by one on the GPU: {reason}.", key=f"gpu codegen {reason}")
        return None
    return found


def _alone(node: Node) -> Graph:
    """A body of one node."""
    body, known = Graph(node.op.name, None), dict[Value, Value]()
    for v in node.inputs:
        if v not in known:
            known[v] = body.add_param(v.type, v.name)
    copy_node(node, body, known)
    body.outputs = [known[v] for v in node.outputs]
    return body


def _moved(node: Node, view_of: ViewOf, target: GpuTarget) -> LoweredNode | None:
    found = moves(node, view_of)
    if found is None:
        return None
    kernels, reads = found
    try:
        parts = [KernelPart(_move(kernel, target), ins, outs) for kernel, ins, outs in kernels]
    except UnsupportedKernel:
        return None
    return LoweredNode(reads, parts)


def _move(kernel: Kernel, target: GpuTarget) -> GpuKernel:
    ((made, _, _),) = generate(kernel, target)
    return made
