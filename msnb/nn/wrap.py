"""Networks around networks: with a loss, with an optimizer, for evaluation.

    WithLossCell      (data, label) -> loss_fn(backbone(data), label)
    TrainOneStepCell  (inputs...)   -> loss;  the gradients of the weights go to the optimizer in the same program
    WithEvalCell      (data, label) -> (loss, outputs, label)

TrainOneStepCell is the whole training step as one Cell: in graph mode forward, backward and update are one program.
The names inside do not change: ``TrainOneStepCell(WithLossCell(net, loss), opt)`` still has ``conv1.weight``.
"""

from __future__ import annotations

from typing import Any

from msnb.api.transforms import value_and_grad
from msnb.core.errors import ArgumentError
from msnb.nn.cell import Cell


def need_cell(what: str, cell: Any) -> None:
    """Raise TypeError for what is not a Cell."""
    if not isinstance(cell, Cell):
        raise ArgumentError(f"{what} must be a Cell, not {type(cell).__name__}.")


class WithLossCell(Cell):
    """A network and its loss.

    Args:
        backbone: the network, of one input.
        loss_fn: a function of its output and the label.

    Source: https://www.mindspore.cn/docs/en/master/api_python/nn/mindspore.nn.WithLossCell.html
    """

    def __init__(self, backbone: Cell, loss_fn: Any) -> None:
        super().__init__(auto_prefix=False)
        need_cell("the backbone of WithLossCell", backbone)
        self._backbone = backbone
        self._loss_fn = loss_fn

    def construct(self, data: Any, label: Any) -> Any:
        return self._loss_fn(self._backbone(data), label)

    @property
    def backbone_network(self) -> Cell:
        """The network without the loss."""
        return self._backbone


class WithEvalCell(Cell):
    """A network and its loss, for metrics.

    Args:
        network: the network, of one input.
        loss_fn: a function of its output and the label.
        add_cast_fp32: convert a half-precision output to float32 before the loss.

    Source: https://www.mindspore.cn/docs/en/master/api_python/nn/mindspore.nn.WithEvalCell.html
    """

    def __init__(self, network: Cell, loss_fn: Any, add_cast_fp32: bool = False) -> None:
        super().__init__(auto_prefix=False)
        need_cell("the network of WithEvalCell", network)
        self._network = network
        self._loss_fn = loss_fn
        self.add_cast_fp32 = bool(add_cast_fp32)

    def construct(self, data: Any, label: Any) -> Any:
        outputs = self._network(data)
        if self.add_cast_fp32:
            outputs = outputs.astype("float32")
        return self._loss_fn(outputs, label), outputs, label


class TrainOneStepCell(Cell):
    """One step of training: loss, gradients, update.

    Args:
        network: gives the loss: a WithLossCell or a network of your own.
        optimizer: the optimizer of its weights.
        sens: the gradients are multiplied with it before the optimizer sees them.

    Returns (of a call):
        The loss before the update.

    Source: https://www.mindspore.cn/docs/en/master/api_python/nn/mindspore.nn.TrainOneStepCell.html
    """

    def __init__(self, network: Cell, optimizer: Any, sens: float = 1.0) -> None:
        super().__init__(auto_prefix=False)
        need_cell("the network of TrainOneStepCell", network)
        need_cell("the optimizer of TrainOneStepCell", optimizer)
        self.network = network
        self.optimizer = optimizer
        self.sens = sens
        self.grad_fn = value_and_grad(network, None, optimizer.parameters)

    def construct(self, *inputs: Any) -> Any:
        loss, grads = self.grad_fn(*inputs)
        if self.sens != 1.0:
            grads = tuple([grad * self.sens for grad in grads])
        self.optimizer(grads)
        return loss
