"""Cells that give gradients: of a network, of a loss, by vectors from either side; sums over parts of a batch.

Source: `mindspore.nn`
"""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.api import GradOperation, jvp, vjp
from msnb.api.transforms.gradients import forward_and_grad
from msnb.base import ArgumentError
from msnb.core import Parameter, ParameterTuple
from msnb.nn.cells.cell import Cell
from msnb.nn.training.training_cells import PipelineCell, WithLossCell, need_cell

__all__ = [
    "ForwardValueAndGrad", "GradAccumulationCell", "Jvp", "MicroBatchInterleaved", "ParameterUpdate", "Vjp",
    "WithGradCell",
]  # fmt: skip


class ForwardValueAndGrad(Cell):
    """What a network gives, and gradients of its sum, in one pass.

    Args:
        network: a Cell or function.
        weights: Parameters, for ``get_by_list``.
        get_all: gradients of all inputs, else of the first.
        get_by_list: gradients of ``weights``; with ``get_all`` of both.
        sens_param: the last input is the gradient of the network's result.

    Raises:
        TypeError: neither Cell nor function; ``get_by_list`` without weights.

    Examples:
        >>> import msnb as ms
        >>> value, slope = ms.nn.ForwardValueAndGrad(lambda x: x * x)(ms.Tensor(3.0))
        >>> float(value), float(slope)
        (9.0, 6.0)
    """

    def __init__(
        self, network: Any, weights: Any = None, get_all: bool = False, get_by_list: bool = False,
        sens_param: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(auto_prefix=False)
        if not callable(network):
            raise ArgumentError(f"ForwardValueAndGrad takes a Cell or function, not {type(network).__name__}.")
        if get_by_list and not isinstance(weights, (tuple, list)):
            raise ArgumentError("ForwardValueAndGrad(get_by_list=True) needs weights: a list of Parameters.")
        self.network: Any = network
        self.weights: Any = ParameterTuple(weights) if get_by_list else None
        self.get_all: bool = bool(get_all)
        self.get_by_list: bool = bool(get_by_list)
        self.sens_param: bool = bool(sens_param)

    def construct(self, *inputs: Any) -> Any:
        """(value, gradients)."""
        return forward_and_grad(self.network, self.weights, self.get_all, self.get_by_list, self.sens_param)(*inputs)


class WithGradCell(Cell):
    """Gradients of a network's weights, of its loss if there is one.

    Args:
        network: a Cell.
        loss_fn: of its output and the label; None: the network gives the loss.
        sens: the gradient of the loss; None for ones.

    Raises:
        TypeError: no Cell.

    Examples:
        >>> import msnb as ms
        >>> net = ms.nn.Dense(2, 1, has_bias=False)
        >>> ms.nn.WithGradCell(net)(ms.Tensor([[1.0, 2.0]]))[0].tolist()
        [[1.0, 2.0]]
    """

    def __init__(self, network: Cell, loss_fn: Any = None, sens: Any = None) -> None:
        super().__init__(auto_prefix=False)
        need_cell("the network of WithGradCell", network)
        self.network: Cell = network
        self.loss_fn: Any = loss_fn
        self.sens: Any = sens
        self.weights: ParameterTuple = ParameterTuple(network.trainable_params())
        self.network_with_loss: Cell = network if loss_fn is None else WithLossCell(network, loss_fn)
        self.grad: Any = GradOperation(get_by_list=True, sens_param=sens is not None)
        self.network_with_loss.set_train()

    def construct(self, *inputs: Any) -> Any:
        """One gradient per weight."""
        more = () if self.sens is None else (self.sens,)
        return self.grad(self.network_with_loss, self.weights)(*inputs, *more)


class ParameterUpdate(Cell):
    """Gives a Parameter another value: ``update(x)``.

    Raises:
        TypeError: no Parameter.

    Examples:
        >>> import msnb as ms
        >>> p = ms.Parameter([1.0], name="p")
        >>> _ = ms.nn.ParameterUpdate(p)(ms.Tensor([2.0]))
        >>> p.tolist()
        [2.0]
    """

    def __init__(self, param: Parameter) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(param, Parameter):
            raise ArgumentError(f"ParameterUpdate takes a Parameter, not {type(param).__name__}.")
        self._param = param

    def construct(self, x: Any) -> Any:
        """The new value."""
        ops.assign(self._param, x)
        return x


class GradAccumulationCell(PipelineCell):
    """A network on parts of a batch, whose results are added; so its gradients are, too.

    Args:
        network: of inputs whose first axis is the batch; usually it gives the loss.
        micro_size: how many parts.

    Examples:
        >>> import msnb as ms
        >>> float(ms.nn.GradAccumulationCell(ms.nn.ReLU(), 2)(ms.Tensor([[1.0], [2.0]])))
        3.0
    """

    def __init__(self, network: Cell, micro_size: int) -> None:
        super().__init__(network, micro_size)


class MicroBatchInterleaved(GradAccumulationCell):
    """A network on parts of a batch, whose results are added: MindSpore overlaps one part's communication with the
    other's work, on one device there is none.

    Args:
        network: of inputs whose first axis is the batch.
        interleave_num: how many parts.
    """

    def __init__(self, network: Cell, interleave_num: int = 2) -> None:
        super().__init__(network, interleave_num)


class _OfNetwork(Cell):
    def __init__(self, fn: Any) -> None:
        super().__init__()
        self.fn = fn


class Jvp(_OfNetwork):
    """A network, and how its result changes along a direction of its inputs: ``jvp(inputs..., v)``.

    Examples:
        >>> import msnb as ms
        >>> value, change = ms.nn.Jvp(ms.nn.ReLU())(ms.Tensor([1.0]), ms.Tensor([2.0]))
        >>> value.tolist(), change.tolist()
        ([1.0], [2.0])
    """

    def construct(self, *args: Any) -> Any:
        """(result, change); of several inputs, ``v`` is a tuple."""
        inputs, v = args[:-1], args[-1]
        return jvp(self.fn, inputs, v if isinstance(v, tuple) else (v,))


class Vjp(_OfNetwork):
    """A network, and the gradient of its inputs from that of its result: ``vjp(inputs..., v)``.

    Examples:
        >>> import msnb as ms
        >>> value, slope = ms.nn.Vjp(ms.nn.ReLU())(ms.Tensor([1.0]), ms.Tensor([2.0]))
        >>> value.tolist(), slope.tolist()
        ([1.0], [2.0])
    """

    def construct(self, *args: Any) -> Any:
        """(result, gradient), a tuple of those of several inputs."""
        inputs, v = args[:-1], args[-1]
        value, back = vjp(self.fn, *inputs)
        found = back(*v) if isinstance(value, tuple) else back(v)
        return value, (found[0] if len(inputs) == 1 else found)
