"""Layers that move pixels: borders, shuffles, windows as columns, other sizes.

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.nn.html (padding and image layers)
"""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.base import AttributeValueError, ShapeError
from msnb.nn.cells.cell import Cell

__all__ = [
    "ChannelShuffle", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "PixelShuffle", "PixelUnshuffle",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "Upsample", "ZeroPad2d",
]  # fmt: skip


class _Pad(Cell):
    """What the borders share: ``_axes`` last axes, or fewer, get one, filled as ``_mode`` says."""

    _axes, _mode = 2, "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        flat = (padding,) * (2 * self._axes) if isinstance(padding, int) else tuple(padding)
        if len(flat) not in range(2, 2 * self._axes + 1, 2) or not all(isinstance(p, int) for p in flat):
            sides = ", ".join(("left", "right", "top", "bottom", "front", "back")[: 2 * self._axes])
            raise AttributeValueError(f"{type(self).__name__}: padding is an int or ({sides}), got {padding!r}.")
        self.padding: tuple[int, ...] = flat
        self.value: float = 0.0

    def construct(self, x: Any) -> Any:
        """The layer."""
        if x.ndim < self._axes:
            raise ShapeError(f"{type(self).__name__} needs at least {self._axes} axes.", operands=[f"x: {x._type!r}"])
        if self._mode == "constant":
            return ops.pad(x, self.padding, value=self.value)
        return ops.pad(x, self.padding, mode=self._mode)

    def extend_repr(self) -> str:
        """Its widths."""
        return f"padding={self.padding}"


class ConstantPad2d(_Pad):
    """Images with a border of one value.

    Args:
        padding: an int, or (left, right, top, bottom), or the first two of them; negative widths cut.
        value: in the border.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.ConstantPad2d((1, 0, 0, 0), 7.0)(ms.Tensor([[[[1.0]]]])).tolist()
        [[[[7.0, 1.0]]]]
    """

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value


class ConstantPad1d(ConstantPad2d):
    """Rows of samples with a border of one value; padding: an int, or (left, right)."""

    _axes = 1


class ConstantPad3d(ConstantPad2d):
    """Volumes with a border of one value; padding: an int, or (left, right, top, bottom, front, back)."""

    _axes = 3


class ZeroPad2d(_Pad):
    """Images with a border of zeros; padding: an int, or (left, right, top, bottom)."""


class ReflectionPad2d(_Pad):
    """Images with a border that mirrors them, the edge not repeated; padding: an int, or (left, right, top, bottom)."""

    _mode = "reflect"


class ReflectionPad1d(ReflectionPad2d):
    """Rows of samples with a border that mirrors them; padding: an int, or (left, right)."""

    _axes = 1


class ReflectionPad3d(ReflectionPad2d):
    """Volumes with a border that mirrors them; padding: an int, or (left, right, top, bottom, front, back)."""

    _axes = 3


class ReplicationPad2d(_Pad):
    """Images with a border that repeats the edge; padding: an int, or (left, right, top, bottom)."""

    _mode = "edge"


class ReplicationPad1d(ReplicationPad2d):
    """Rows of samples with a border that repeats the edge; padding: an int, or (left, right)."""

    _axes = 1


class ReplicationPad3d(ReplicationPad2d):
    """Volumes with a border that repeats the edge; padding: an int, or (left, right, top, bottom, front, back)."""

    _axes = 3


class PixelShuffle(Cell):
    """Channels as blocks of pixels: ``ops.pixel_shuffle``.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.PixelShuffle(2)(ms.ops.ones((1, 8, 3, 3))).shape
        (1, 2, 6, 6)
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.pixel_shuffle(x, self.upscale_factor)

    def extend_repr(self) -> str:
        """Its factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Cell):
    """Blocks of pixels as channels: ``ops.pixel_unshuffle``."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.pixel_unshuffle(x, self.downscale_factor)

    def extend_repr(self) -> str:
        """Its factor."""
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Cell):
    """Channels of all groups in turn: ``ops.channel_shuffle``."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.channel_shuffle(x, self.groups)


class Upsample(Cell):
    """Images, rows or volumes of another size.

    Args:
        size, scale_factor, mode, align_corners, recompute_scale_factor: as in ``ops.interpolate``.

    Source: `mindspore.nn.Upsample`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Upsample(scale_factor=2.0)(ms.ops.ones((1, 3, 4, 5))).shape
        (1, 3, 8, 10)
    """

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.size: Any = size
        self.scale_factor: Any = scale_factor
        self.mode: str = mode
        self.align_corners: bool | None = align_corners
        self.recompute_scale_factor: bool | None = recompute_scale_factor

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.interpolate(
            x, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extend_repr(self) -> str:
        """Its sizes."""
        asked = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{asked}, mode={self.mode!r}"
