"""Scales and shifts per channel become part of the convolution before them, where its weights are constants.

    %1 = conv2d(x, W)                                    %1 = conv2d(x, W a)
    %2 = subtract(%1, mean)                              %2 = add(%1, b)
    %3 = multiply(%2, factor)          -->
    %4 = multiply(%3, gamma)                             a = factor gamma
    %5 = add(%4, beta)                                   b = beta - mean a

That is what a batch norm is once its statistics and weights are constants. A convolution pads its image, not its
result, so the law holds at the edges too; it holds to rounding, so it is for programs that are frozen and for no other.
A step whose value somebody else reads ends the chain: that value must be computed as it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from msnb.core import TensorType, float32, float64, tensor_type
from msnb.graph.compile.passes.dce import without_dead_nodes
from msnb.graph.compile.rewriting.node_facts import array_of, const_of
from msnb.graph.compile.rewriting.rewrite_log import Log
from msnb.ir import Const, Graph, Node, Value
from msnb.ops.definition.data_format import NHWC
from msnb.ops.elementwise.arithmetic import add, divide, multiply, subtract
from msnb.ops.elementwise.constant import constant

Numbers = NDArray[np.float64]


class Affine(NamedTuple):
    """What a chain does to each channel: times ``scale``, plus ``shift``; ``end`` is its last node."""

    scale: Numbers
    shift: Numbers
    end: Node
    steps: int


def fold_affine(graph: Graph) -> Graph:
    """The graph with every such chain folded; the given one is not changed."""
    out = graph.copy()
    uses = out.uses()
    readers = {v: node for node in out.nodes for v in node.inputs if uses[v] == 1}
    chains = {node: found for node in out.nodes if (found := _chain(node, readers, uses)) is not None}
    ends = {chain.end: (conv, chain) for conv, chain in chains.items()}
    nodes, out.nodes = out.nodes, []
    for node in nodes:
        if node in chains:
            _scale(out, node, chains[node])
        out.nodes.append(node)
        if node in ends:
            out.nodes.pop()
            _shift(out, node, *ends[node])
    return without_dead_nodes(out, Log())


def _chain(conv: Node, readers: dict[Value, Node], uses: dict[Value, int]) -> Affine | None:
    """The chain behind a convolution of constant weights; None where folding saves nothing."""
    weight = const_of(conv.inputs[1]) if conv.op.name == "conv2d" else None
    t = conv.out.type
    if weight is None or not isinstance(t, TensorType) or t.dtype not in (float32, float64) or not t.is_static:
        return None
    channels = weight.type.ints()[0]
    found = Affine(np.ones(channels), np.zeros(channels), conv, 0)
    value, shape = conv.out, _per_channel(conv, channels)
    while uses[value] == 1 and value in readers:
        following = _step(found, value, readers[value], shape)
        if following is None:
            break
        found, value = following, following.end.out
    finite = np.isfinite(found.scale).all() and np.isfinite(found.shift).all() and (found.scale != 0).all()
    return found if finite and not (found.scale == 1).all() else None


def _per_channel(conv: Node, channels: int) -> tuple[int, ...]:
    """The shape of one number per channel beside the result."""
    return (channels,) if conv.attrs["data_format"] == NHWC else (channels, 1, 1)


def _step(before: Affine, value: Value, node: Node, shape: tuple[int, ...]) -> Affine | None:
    """The chain with one more node; None where the node is something else."""
    if node.op not in (add, subtract, multiply, divide) or len(node.inputs) != 2 or node.out.type != value.type:
        return None
    first = node.inputs[0] is value
    const = const_of(node.inputs[1 if first else 0])
    if const is None or (node.op is divide and not first):
        return None
    numbers = _numbers(array_of(const), shape)
    return None if numbers is None else _after(before, node, numbers, first)


def _numbers(array: NDArray[np.generic], shape: tuple[int, ...]) -> Numbers | None:
    """One number per channel; None where the array says more."""
    if array.ndim > 4 or array.dtype.kind not in "fiu":
        return None
    try:
        fitting = array.reshape(_without_ones(array.shape, len(shape)))
        return np.broadcast_to(fitting, shape).astype(np.float64).reshape(-1)
    except ValueError:
        return None


def _without_ones(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """The shape without leading axes of size 1 that it has too many."""
    while len(shape) > rank and shape[0] == 1:
        shape = shape[1:]
    return shape


def _after(before: Affine, node: Node, k: Numbers, first: bool) -> Affine:
    """Scale and shift once the node has been applied."""
    a, b, steps = before.scale, before.shift, before.steps + 1
    if node.op is add:
        return Affine(a, b + k, node, steps)
    if node.op is subtract:
        return Affine(a, b - k, node, steps) if first else Affine(-a, k - b, node, steps)
    with np.errstate(all="ignore"):  # what is not finite is not folded
        return Affine(a * k, b * k, node, steps) if node.op is multiply else Affine(a / k, b / k, node, steps)


def _scale(graph: Graph, conv: Node, chain: Affine) -> None:
    """Give a convolution its new weights."""
    const = const_of(conv.inputs[1])
    assert const is not None
    weight = array_of(const)
    scaled = weight * chain.scale.reshape(-1, *[1] * (weight.ndim - 1))
    conv.inputs = [conv.inputs[0], _constant(graph, scaled.astype(weight.dtype), const.type)]


def _shift(graph: Graph, end: Node, conv: Node, chain: Affine) -> None:
    """One sum in the place of the chain: its last node computes it."""
    t = conv.out.type
    assert isinstance(t, TensorType)
    shape = _per_channel(conv, len(chain.shift))
    shift = _constant(graph, chain.shift.reshape(shape).astype(t.dtype.numpy), tensor_type(shape, t.dtype))
    end.op, end.inputs, end.attrs = add, [conv.out, shift], {}
    graph.nodes.append(end)


def _constant(graph: Graph, array: NDArray[np.generic], type_: TensorType) -> Value:
    return graph.add(constant, [], {"value": Const(array, type_)}, [type_]).out
