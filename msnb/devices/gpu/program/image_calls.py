"""Convolutions through cuDNN.

x [n h w c], weight [o i r c]      cuDNN wants the weight as [o r c i] then: a kernel lays it so before, and the
                                   gradient of a weight back behind
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msnb.base.settings import get_context
from msnb.core.types import TensorType, tensor_type
from msnb.devices.codegen.copy_kernels import copy_of_view
from msnb.devices.gpu.libraries import cudnn, cudnn_api
from msnb.devices.gpu.program.library_call import FLOATS, LibraryCall, ViewOf, precision
from msnb.ir.graph import Node, Value
from msnb.ir.kernel.strided_views import View, dense_strides

_KINDS = {"conv2d": "forward", "conv2d_input_grad": "input_grad", "conv2d_weight_grad": "weight_grad"}
_ROLES = {
    "forward": ("x", "weight", "out"),
    "input_grad": ("out", "weight", "x"),
    "weight_grad": ("x", "out", "weight"),
}


def convolution(node: Node, view_of: ViewOf) -> LibraryCall | None:
    """A convolution or one of its gradients."""
    kind = _KINDS[node.op.name]
    roles = dict(zip(_ROLES[kind], (*node.inputs, node.out)))
    types = {role: v.type for role, v in roles.items()}
    if not all(isinstance(t, TensorType) and t.dtype.name in FLOATS and not t.weak for t in types.values()):
        return None
    problem = _problem(kind, types, node.attrs)
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
