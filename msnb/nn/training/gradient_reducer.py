"""The sum of gradients over ranks, between the backward pass and the optimizer.

    hybrid_parallel   every rank has gradients of its own batch: cast to float32, all-reduced, cast back; / n for a mean
                      so does data_parallel in processes of their own (``communication.init``)
    data_parallel     a plan computes gradients of the whole batch, which are the mean of the ranks' own: nothing to
                      move; mirror_mean=False, said explicitly, asks for MindSpore's sum: n times as much
    any other mode    the gradients as they are

MindSpore's default is the sum, which makes the step n times as long as that of one device with the same batch. In
data_parallel a plan keeps to the program as written unless ``mirror_mean=False`` was set.
Half precision is reduced in float32: n finite float16 numbers may add up to infinity.
Source: `mindspore.nn.DistributedGradReducer`
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msnb import ops
from msnb.base import AttributeValueError
from msnb.core import WORLD_GROUP, AbsentGroup, current, dtypes
from msnb.nn.cells.cell import Cell
from msnb.parallel.context import DATA_PARALLEL, HYBRID_PARALLEL, get_auto_parallel_context, set_value


class IdentityReducer(Cell):
    """Gradients as they are."""

    def construct(self, gradients: Any) -> Any:
        """The gradients."""
        return gradients


class DistributedGradReducer(Cell):
    """Gradients of this rank in, those of all ranks out; what it does is settled by the parallel mode when it is made.

    Args:
        parameters: the weights in the order of the gradients; one with ``layerwise_parallel`` is this rank's own.
        mean: divide the sum by ``degree``; by default the context's ``mirror_mean``.
        degree: how many ranks; by default the context's ``device_num``.
        group: the name of their group.

    Raises:
        ValueError: a degree below 1.

    Examples:
        >>> import msnb as ms
        >>> net = ms.nn.Dense(2, 1)
        >>> reducer = ms.nn.DistributedGradReducer(net.trainable_params())
        >>> [g.shape for g in reducer((ms.ops.ones((1, 2)), ms.ops.ones(1)))]  # one device: as they are
        [(1, 2), (1,)]
    """

    def __init__(self, parameters: Sequence[Any], mean: bool | None = None, degree: int | None = None,
                 group: str = WORLD_GROUP) -> None:  # fmt: skip
        super().__init__(auto_prefix=False)
        mode = get_auto_parallel_context("parallel_mode")
        n = int(get_auto_parallel_context("device_num")) if degree is None else degree
        if n < 1:
            raise AttributeValueError(f"degree={degree} is not legal; legal: an int of at least 1.")
        said = set_value("mirror_mean") if mean is None else mean
        self.group: str = group
        self.together: bool = _several(mode)
        self.own: tuple[bool, ...] = tuple(bool(p.layerwise_parallel) for p in parameters)
        self.factor: float = _factor(self.together, mode, said, n)

    def construct(self, grads: Any) -> Any:
        return tuple([grad if own else self.reduced(grad) for grad, own in zip(grads, self.own)])

    def reduced(self, grad: Any) -> Any:
        """One gradient of all ranks."""
        if not self.together:
            return grad if self.factor == 1.0 else grad * self.factor
        wide = grad.astype(dtypes.float32) if grad.dtype.itemsize < 4 else grad
        total = ops.all_reduce(wide, ops.ReduceOp.SUM, self.group)
        if self.factor != 1.0:
            total = total * self.factor
        return total.astype(grad.dtype)


def _several(mode: str) -> bool:
    """Whether this process has gradients of its own batch only."""
    return mode == HYBRID_PARALLEL or (mode == DATA_PARALLEL and current().size > 1)


def _factor(together: bool, mode: str, mean: bool | None, n: int) -> float:
    """What the sum of the ranks' gradients, or the gradient of the whole batch, is multiplied with."""
    if together:
        return 1.0 / n if mean else 1.0
    return float(n) if mode == DATA_PARALLEL and mean is False else 1.0


def reducer_of(parameters: Sequence[Any]) -> DistributedGradReducer | None:
    """The reducer that a training step needs under the context; None where gradients stay as they are."""
    made = DistributedGradReducer(parameters)
    return made if made.together or made.factor != 1.0 else None


def broadcast_parameters(network: Cell) -> None:
    """On real ranks, where the context's ``parameter_broadcast`` asks for it: begin with the weights of rank 0."""
    mine = current()
    if mine.size > 1 and not isinstance(mine, AbsentGroup) and get_auto_parallel_context("parameter_broadcast"):
        for parameter in network.get_parameters():
            parameter.set_data(ops.broadcast(parameter, 0))
