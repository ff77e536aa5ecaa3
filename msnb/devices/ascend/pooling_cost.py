"""How long the kernels take that slide windows over images on the vector unit: pooling and its gradients.

    places      a kernel has images times blocks of 16 channels to go through, cores share them whole; a row of places
                is rounded up to 16, for the matrix of windows (img2col) is made of such blocks
    maximum     3.2 lane-operations per place of a window; where a gradient asks which element won, a bit per place is
                kept: compared, moved to a register, stored, 128 places at a time, 22 lane-operations
    its         the bits choose what goes where, and windows add to the places they share: 21 lane-operations. The rows
    gradient    that fit into the unified buffer are a tile; a tile waits for its gradients, for the bits of each place
                of the window one after the other, and for the way out: so many waits for the memory. Tiles of lapping
                windows share a row, which is done twice; windows that lap by more than half go row by row
    depthwise   the gradients of a convolution with one channel per group, and of a mean over windows, which the vendor
                computes as one: 27 lane-operations per place, an assumption that the rows of MobileNet check

         rows of a tile       GoogLeNet, 3x3 with stride 1: one row, 11 waits of 196 ns for 14 places
                              VGG, 2x2 with stride 2: 14 rows and more, 6 waits

Sources: the loops are those of ``max_pool_grad_with_argmax`` and ``max_pool_with_argmax`` among CANN's operators (also
the tiles: a quarter of the unified buffer, an eighth for stride 1); that a gradient asks for the bits is the pass
``maxpool_to_maxpool_with_argmax`` of MindSpore, that the mean's gradient has the operands of a depthwise one is
``avg_pool_grad.py`` in its registry. The numbers: least squares over the profiles among MindInsight's test data, LeNet
(run_1: forward 6.7 and 4.8 us, backward 9.5 and 7.7) and AlexNet (run_2: forward 5.9, 3.4 and 3.0 us without bits,
backward 32.6, 15.9 and 5.7). A wait is taken to cost what a looked-up row costs (``Chip.row``); with it free, the same
kernels give 262 ns instead of 196.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msnb.core import TensorType
from msnb.devices.ascend.chip import CORE, Chip
from msnb.ops.definition import Op, channel_axis, places_of

BLOCK = 16
READ, CHOSEN, SPREAD, DEPTHWISE = 3.2, 22.0, 21.0, 27.0  # lane-operations per place of a window


def slides(op: Op, ins: Sequence[TensorType], outs: Sequence[TensorType], attrs: Mapping[str, Any]) -> bool:
    """Whether an operator slides windows on the vector unit."""
    return op.family == "pool" or is_depthwise_grad(op, ins, outs, attrs)


def is_depthwise_grad(op: Op, ins: Sequence[TensorType], outs: Sequence[TensorType], attrs: Mapping[str, Any]) -> bool:
    """Whether it is a gradient of a convolution with one channel per group."""
    if op.name not in ("conv2d_input_grad", "conv2d_weight_grad"):
        return False
    weight = ins[1] if op.name == "conv2d_input_grad" else outs[0]
    return bool(attrs["groups"] > 1 and weight.ints()[1] == 1)


def window_seconds(op: Op, ins: Sequence[TensorType], outs: Sequence[TensorType], attrs: Mapping[str, Any], chip: Chip,
                   kept: bool = True) -> float:  # fmt: skip
    """Seconds of the vector unit; the values are of 16 bits, whatever those around them are.

    Args:
        kept: of the maximum, whether a gradient will ask which elements won.
    """
    if op.family != "pool":
        result, weight = (ins[0], ins[1]) if op.name == "conv2d_input_grad" else (ins[1], outs[0])
        return _lane_seconds(result.size * math.prod(weight.ints()[2:]) * DEPTHWISE, chip)
    if op.name in ("max_pool2d_grad", "max_pool2d_pick"):
        return _spread_seconds(ins[0], ins[1] if op.name == "max_pool2d_grad" else outs[0], attrs, chip)
    small = min((*ins, *outs), key=lambda t: t.size)
    per_place = {"avg_pool2d": READ, "avg_pool2d_grad": DEPTHWISE}.get(op.name, CHOSEN if kept else READ)
    return _lane_seconds(small.size * math.prod(attrs["kernel"]) * per_place, chip)


def _lane_seconds(lanes: float, chip: Chip) -> float:
    return lanes / (chip.vector * chip.e_vector)


def _spread_seconds(x: TensorType, y: TensorType, attrs: Mapping[str, Any], chip: Chip) -> float:
    """Of the gradient of the maximum: what a core does per block of channels of an image, as often as it has one."""
    n, channels = x.ints()[0], x.ints()[channel_axis(attrs["data_format"])]
    rows, columns = (int(p) for p in places_of(y.ints(), attrs["data_format"]))
    width, taps = -(-columns // BLOCK) * BLOCK, math.prod(attrs["kernel"])
    tiles, done = tiles_of(rows, width, attrs["kernel"], attrs["stride"])
    lanes = done * width * BLOCK * taps * SPREAD
    times = math.ceil(n * math.ceil(channels / BLOCK) / chip.cores)
    seconds: float = _lane_seconds(lanes, chip) + tiles * (taps + 2) * chip.row
    return times * chip.cores * seconds


def tiles_of(rows: int, width: int, kernel: tuple[int, int], stride: tuple[int, int]) -> tuple[int, int]:
    """Tiles of a block of channels, and the rows of places that they go through together.

    Examples:
        >>> tiles_of(14, 16, (3, 3), (1, 1))  # row by row
        (14, 14)
        >>> tiles_of(27, 32, (3, 3), (2, 2))  # two tiles share a row
        (2, 28)
    """
    (high, wide), (down, right) = kernel, stride
    if high > 2 * down or wide > 2 * right:
        return rows, rows
    lap = max(high - down, 0)
    row_bytes = 2 * BLOCK * ((width - 1) * right + wide if wide > right else width * right)
    share = 8 if down * right == 1 else 6 if down * right < 4 else 4
    fit = max((CORE.ub // share // row_bytes - lap) // down, 2 if lap else 1)
    if fit >= rows:
        return 1, rows
    tiles = math.ceil((rows - 1) / (fit - 1)) if lap else math.ceil(rows / fit)
    return tiles, rows + (tiles - 1 if lap else 0)
