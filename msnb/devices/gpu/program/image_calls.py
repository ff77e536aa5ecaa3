"""Convolutions through cuDNN; those of single places as products through cuBLASLt.

x [n h w c], weight [o i r c]      cuDNN wants the weight as [o r c i] then: a kernel lays it so before, and the
                                   gradient of a weight back behind
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from msnb.base.settings import get_context
from msnb.core import TensorType, tensor_type
from msnb.devices.codegen.copy_kernels import copy_of_view
from msnb.devices.gpu.libraries import cublaslt, cudnn, cudnn_api
from msnb.devices.gpu.libraries.gemm_layout import MatrixLayout
from msnb.devices.gpu.program.library_call import FLOATS, LibraryCall, ViewOf, precision
from msnb.ir.graph import Node, Value
from msnb.ir.kernel.strided_views import View, dense_strides

_ROLES = {
    "forward": ("x", "weight", "out"),
    "input_grad": ("out", "weight", "x"),
    "weight_grad": ("x", "out", "weight"),
}


def convolution(node: Node, view_of: ViewOf) -> LibraryCall | None:
    """A convolution or one of its gradients."""
    kind = node.op.name.removeprefix("conv2d").removeprefix("_") or "forward"
    roles = dict(zip(_ROLES[kind], (*node.inputs, node.out)))
    types = {role: v.type for role, v in roles.items()}
    if not all(isinstance(t, TensorType) and t.dtype.name in FLOATS and not t.weak for t in types.values()):
        return None
    problem = _problem(kind, types, node.attrs)
    found = _product(node, problem)
    if found is not None:
        return found
    plan = cudnn.plan(problem)
    if plan is None:
        return None
    places = _ROLES[kind]

    def launch(ins: Sequence[int], outs: Sequence[int], workspace: int, stream: int) -> None:
        at = dict(zip(places, (*ins, *outs)))
        plan.run(cudnn_api.handle_of(), at["x"], at["weight"], at["out"], workspace, stream)

    call = LibraryCall(list(node.inputs), (0, 0), plan.workspace, "cuDNN", launch)
    if problem.weight_layout == "OHWI":
        _turn_weight(call, roles["weight"], places.index("weight"))
    return call


def _product(node: Node, problem: cudnn.ConvProblem) -> LibraryCall | None:
    """A convolution of single places, which is a product of all places with the weight."""
    single = problem.weight[2:] == (1, 1) and problem.stride == (1, 1) and not any(problem.pads)
    if not single or problem.groups != 1 or problem.data_format != "NHWC":
        return None
    (outs, ins), places = problem.weight[:2], math.prod(problem.x[:3])
    images, windows = MatrixLayout(places, ins, ins, 1), MatrixLayout(places, outs, outs, 1)
    weight = MatrixLayout(outs, ins, ins, 1)
    factors = {
        "forward": (images, MatrixLayout(ins, outs, 1, ins), windows),
        "input_grad": (windows, weight, images),
        "weight_grad": (MatrixLayout(outs, places, 1, outs), images, weight),
    }[problem.kind]
    plan = cublaslt.plan(cublaslt.MatmulProblem(*factors, problem.dtype, precision=problem.precision))
    if plan is None:
        return None
    swapped = problem.kind == "weight_grad"  # its operands are x and dout, and dout is the left factor

    def launch(ins: Sequence[int], outs: Sequence[int], workspace: int, stream: int) -> None:
        left, right = (ins[1], ins[0]) if swapped else (ins[0], ins[1])
        plan.run(cublaslt.handle_of(), left, right, outs[0], 0, workspace, stream)

    return LibraryCall(list(node.inputs), (0, 0), plan.workspace, "cuBLASLt", launch)


def _problem(kind: str, types: dict[str, Any], attrs: dict[str, Any]) -> cudnn.ConvProblem:
    layout = attrs["data_format"]
    shapes = {role: t.ints() for role, t in types.items()}
    return cudnn.ConvProblem(
        kind, shapes["x"], shapes["weight"], shapes["out"], layout, "OHWI" if layout == "NHWC" else "OIHW",
        tuple(attrs["stride"]), tuple(attrs["pads"]), tuple(attrs["dilation"]), attrs["groups"],
        types["x"].dtype.name, precision(), get_context("deterministic") == "ON",
    )  # fmt: skip


def _turn_weight(call: LibraryCall, weight: Value, at: int) -> None:
    """A weight with its channels last, before or behind the call."""
    t = weight.type
    assert isinstance(t, TensorType)
    o, i, r, c = t.ints()
    if (r, c) == (1, 1) or i == 1:
        return  # the same memory either way
    turned = Value(tensor_type((o, r, c, i), t.dtype))
    steps = dense_strides((o, i, r, c))
    to_last = View(weight, (o, r, c, i), (steps[0], steps[2], steps[3], steps[1]))
    if at < 2:
        call.before[at] = copy_of_view(to_last, turned)
        return
    back = dense_strides((o, r, c, i))
    call.after = copy_of_view(View(turned, (o, i, r, c), (back[0], back[3], back[1], back[2])), weight)
