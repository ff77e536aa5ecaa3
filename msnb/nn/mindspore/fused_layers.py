"""A layer, batch normalization and an activation in one Cell, as networks of MindSpore 1 write them.

    nn.Conv2dBnAct(3, 8, 3, has_bn=True, activation="relu")  =  nn.Conv2d, nn.BatchNorm2d, nn.ReLU

Source: https://www.mindspore.cn/docs/en/r1.10/api_python/mindspore.nn.html
"""

from __future__ import annotations

from typing import Any

from msnb.nn.cells.cell import Cell
from msnb.nn.layers.activation import LeakyReLU, get_activation
from msnb.nn.layers.basic import Dense
from msnb.nn.layers.convolution import Conv2d
from msnb.nn.layers.normalization import BatchNorm1d, BatchNorm2d

__all__ = ["Conv2dBnAct", "DenseBnAct"]


class _NormAct(Cell):
    """What comes behind the layer, where it is asked for."""

    batchnorm: Cell | None
    activation: Any

    def _finish(self, x: Any) -> Any:
        x = x if self.batchnorm is None else self.batchnorm(x)
        return x if self.activation is None else self.activation(x)


class Conv2dBnAct(_NormAct):
    """A convolution, batch normalization if asked for, and an activation.

    Args:
        in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias: of ``nn.Conv2d``.
        has_bn: normalize. momentum, eps: of ``nn.BatchNorm2d``.
        activation: a name or a Cell; None for no activation. alpha: the slope of "leakyrelu".

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Conv2dBnAct(3, 4, 3, has_bn=True, activation="relu")(ms.ops.ones((1, 3, 5, 5))).shape
        (1, 4, 5, 5)
    """

    conv: Conv2d

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, pad_mode: str = "same",
                 padding: Any = 0, dilation: Any = 1, group: int = 1, has_bias: bool = False, has_bn: bool = False,
                 momentum: float = 0.997, eps: float = 1e-5, activation: Any = None, alpha: float = 0.2,
                 **settings: Any) -> None:  # fmt: skip
        super().__init__()
        self.conv = Conv2d(in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias,
                           **settings)  # fmt: skip
        self.batchnorm: BatchNorm2d | None = BatchNorm2d(out_channels, eps, momentum) if has_bn else None
        self.activation: Any = _activation(activation, alpha)

    def construct(self, x: Any) -> Any:
        """The layer."""
        return self._finish(self.conv(x))


class DenseBnAct(_NormAct):
    """A dense layer, batch normalization if asked for, and an activation.

    Args:
        in_channels, out_channels, has_bias: of ``nn.Dense``.
        has_bn, momentum, eps, activation, alpha: as ``Conv2dBnAct``, momentum and eps of ``nn.BatchNorm1d``.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.DenseBnAct(3, 4, has_bn=True, activation="relu")(ms.ops.ones((2, 3))).shape
        (2, 4)
    """

    def __init__(self, in_channels: int, out_channels: int, has_bias: bool = True, has_bn: bool = False,
                 momentum: float = 0.9, eps: float = 1e-5, activation: Any = None, alpha: float = 0.2,
                 **settings: Any) -> None:  # fmt: skip
        super().__init__()
        self.dense: Dense = Dense(in_channels, out_channels, has_bias=has_bias, **settings)
        self.batchnorm: BatchNorm1d | None = BatchNorm1d(out_channels, eps, momentum) if has_bn else None
        self.activation: Any = _activation(activation, alpha)

    def construct(self, x: Any) -> Any:
        """The layer."""
        return self._finish(self.dense(x))


def _activation(asked: Any, alpha: float) -> Any:
    return LeakyReLU(alpha) if asked == "leakyrelu" else get_activation(asked)
