"""``mint.nn``'s activations that differ from ``nn``'s: they may write their input, as PyTorch's do.

Source: `mindspore.mint`
"""

from __future__ import annotations

from typing import Any

from msnb import nn
from msnb.core import dtypes
from msnb.nn.cells.cell import Cell
from msnb.nn.initializer import initializer
from msnb.ops.mindspore import mint_functional as F


def _written(name: str, function: Any, doc: str) -> type[Cell]:
    """A Cell around a function of one tensor that may write it."""

    def __init__(self: Any, inplace: bool = False) -> None:
        Cell.__init__(self)
        self.inplace = bool(inplace)

    def construct(self: Any, input: Any) -> Any:
        return function(input, self.inplace)

    construct.__doc__ = doc
    return type(name, (Cell,), {"__init__": __init__, "construct": construct, "__doc__": doc, "__module__": __name__})


SiLU = _written("SiLU", F.silu, "x * sigmoid(x); ``inplace`` writes the input.")
ReLU6 = _written("ReLU6", F.relu6, "min(max(x, 0), 6); ``inplace`` writes the input.")


class ELU(nn.ELU):
    """x where positive, alpha * (exp(x) - 1) elsewhere; ``inplace`` writes the input."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha)
        self.inplace: bool = bool(inplace)

    def construct(self, x: Any) -> Any:
        """The layer."""
        return F.elu(x, self.alpha, self.inplace)


class Hardtanh(nn.Hardtanh):
    """x between the bounds; ``inplace`` writes the input."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__(min_val, max_val)
        self.inplace: bool = bool(inplace)

    def construct(self, x: Any) -> Any:
        """The layer."""
        return F.hardtanh(x, self.min_val, self.max_val, self.inplace)


class Threshold(nn.Threshold):
    """x where it is above ``threshold``, ``value`` elsewhere; ``inplace`` writes the input."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(threshold, value)
        self.inplace: bool = bool(inplace)

    def construct(self, x: Any) -> Any:
        """The layer."""
        return F.threshold(x, self.threshold, self.value, self.inplace)


class PReLU(nn.PReLU):
    """x where positive, weight * x elsewhere; the weight is trained.

    Args:
        num_parameters: 1 or the number of channels.
        init: first value.
        dtype: of the weight.
    """

    _name_in_mindspore = "weight"

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype: Any = None) -> None:
        super().__init__(num_parameters, initializer(init, (num_parameters,), dtype or dtypes.float32))


class Dropout(nn.Dropout):
    """In training: zero each element with probability ``p`` and scale the others; ``inplace`` writes the input."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__(p=p)
        self.inplace: bool = bool(inplace)

    def construct(self, x: Any) -> Any:
        """The layer."""
        return F.dropout(x, self.p, self.training, self.inplace) if self.inplace else super().construct(x)
