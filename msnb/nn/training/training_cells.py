"""Networks around networks: with a loss, with an optimizer, for evaluation.

    WithLossCell      (data, label) -> loss_fn(backbone(data), label)
    TrainOneStepCell  (inputs...)   -> loss;  the gradients of the weights go to the optimizer in the same program
    WithEvalCell      (data, label) -> (loss, outputs, label)
    PipelineCell      (inputs...)   -> the sum of the network's results on micro-batches

TrainOneStepCell is the whole training step as one Cell: in graph mode forward, backward and update are one program.
Made under a parallel mode of replicas, it sums the gradients of all ranks (``DistributedGradReducer``).
The names inside do not change: ``TrainOneStepCell(WithLossCell(net, loss), opt)`` still has ``conv1.weight``.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from msnb.api.transforms.gradients import GradOperation, value_and_grad
from msnb.base import ArgumentError, AttributeValueError
from msnb.core.microbatch_scope import in_micro, parts_of
from msnb.nn.cells import Cell, like_mindspore
from msnb.nn.training.gradient_reducer import IdentityReducer, reducer_of
from msnb.parallel.context import DATA_PARALLEL, HYBRID_PARALLEL, get_auto_parallel_context

__all__ = ["PipelineCell", "TrainOneStepCell", "WithEvalCell", "WithLossCell"]


def need_cell(what: str, cell: Any) -> None:
    """Raise TypeError for what is not a Cell."""
    if not isinstance(cell, Cell):
        raise ArgumentError(f"{what} must be a Cell, not {type(cell).__name__}.")


class WithLossCell(Cell):
    """A network and its loss.

    Args:
        backbone: the network, of one input.
        loss_fn: a function of its output and the label.

    Source: `mindspore.nn.WithLossCell`
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


class PipelineCell(Cell):
    """A network on micro-batches: a batch is cut along its first axis, results are added.

    On one device the micro-batches go through one after the other. ``ms.parallel.plan`` and, under
    ``set_auto_parallel_context(pipeline_stages=...)``, ``ms.jit`` and ``Model.train`` lay the network over pipeline
    stages, through which they follow each other. The numbers are the same: each micro-batch has batch norm statistics
    of its own, moving averages and random draws go on from micro-batch to micro-batch.

    Args:
        network: of inputs whose first axis is the batch; usually it gives the loss.
        micro_size: how many micro-batches; at least as many as there are stages.
        stage_config: name of a Cell of the network -> its pipeline stage, as ``cell.pipeline_stage`` says it.

    Raises:
        TypeError, ValueError: no Cell, no number of at least 1, a Cell that the network does not have, or a batch that
            the number does not divide.

    Source: `mindspore.nn.PipelineCell`

    Examples:
        >>> import msnb as ms
        >>> net = ms.nn.PipelineCell(ms.nn.WithLossCell(ms.nn.Dense(4, 2), ms.nn.MSELoss()), 2)
        >>> net(ms.ops.ones((4, 4)), ms.ops.zeros((4, 2))).shape
        ()
    """

    def __init__(self, network: Cell, micro_size: int, stage_config: Mapping[str, int] | None = None) -> None:
        super().__init__(auto_prefix=False)
        need_cell("the network of PipelineCell", network)
        _say_stages(network, stage_config or {})
        if isinstance(micro_size, bool) or not isinstance(micro_size, int) or micro_size < 1:
            raise AttributeValueError(f"micro_size={micro_size!r} is not legal; legal: an int of at least 1.")
        self.network = network
        self.micro_size = micro_size

    def construct(self, *inputs: Any) -> Any:
        total: Any = None
        for i in parts_of(self.micro_size):
            part = [_part(x, i, self.micro_size) for x in inputs]
            out = in_micro(i, self.network, *part)
            total = out if total is None else total + out
        return total


def _say_stages(network: Cell, stages: Mapping[str, int]) -> None:
    """Give Cells, by name, their pipeline stages. Raises ValueError for a name that no Cell has; then none gets one."""
    cells = dict(network.cells_and_names())
    unknown = [name for name in stages if name not in cells]
    if unknown:
        near = difflib.get_close_matches(unknown[0], cells, 3, 0.4) or [name for name in cells if name][:8]
        raise AttributeValueError(f"stage_config: the network has no Cell {unknown[0]!r}.",
                                  hint=f"legal: {', '.join(near)}")  # fmt: skip
    for name, stage in stages.items():
        cells[name].pipeline_stage = stage


def _part(x: Any, i: int, n: int) -> Any:
    """Part ``i`` of the ``n`` equal parts of a batch."""
    rows = x.shape[0]
    if rows % n:
        raise AttributeValueError(f"a batch of {rows} cannot be cut into {n} micro-batches; legal: its divisors.")
    return x[i * (rows // n) : (i + 1) * (rows // n)]


class WithEvalCell(Cell):
    """A network and its loss, for metrics.

    Args:
        network: the network, of one input.
        loss_fn: a function of its output and the label.
        add_cast_fp32: convert a half-precision output to float32 before the loss.

    Source: `mindspore.nn.WithEvalCell`
    """

    def __init__(self, network: Cell, loss_fn: Any, add_cast_fp32: bool = False) -> None:
        super().__init__(auto_prefix=False)
        need_cell("the network of WithEvalCell", network)
        self._network = network
        self._loss_fn = loss_fn
        self.add_cast_fp32: bool = bool(add_cast_fp32)

    def construct(self, data: Any, label: Any) -> Any:
        outputs = self._network(data)
        if self.add_cast_fp32:
            outputs = outputs.astype("float32")
        return self._loss_fn(outputs, label), outputs, label


class TrainOneStepCell(Cell):
    """One step of training: loss, gradients, update.

    A step of your own is a subclass with another ``construct``: ``self.grad(network, optimizer.parameters)(*x, sens)``
    gives the gradients (``self.grad_no_sens`` without ``sens``), ``self.grad_reducer`` those of all ranks.

    Args:
        network: gives the loss: a WithLossCell or a network of your own.
        optimizer: the optimizer of its weights.
        sens: the gradients are multiplied with it before the optimizer sees them.
        return_grad: also give the gradients.

    Returns (of a call):
        The loss before the update; with ``return_grad`` a pair of it and a dict from names to gradients.

    Source: `mindspore.nn.TrainOneStepCell`
    """

    _is_step = True

    def __init__(self, network: Cell, optimizer: Any, sens: float | None = None, return_grad: bool = False) -> None:
        super().__init__(auto_prefix=False)
        need_cell("the network of TrainOneStepCell", network)
        need_cell("the optimizer of TrainOneStepCell", optimizer)
        self.network = network
        self.optimizer = optimizer
        if sens == 0:
            raise AttributeValueError("sens is 0: every gradient would be 0; legal: any other number.")
        self.sense_flag: bool = sens is not None
        self.sens: float = 1.0 if sens is None else sens
        self.return_grad: bool = bool(return_grad)
        if like_mindspore():
            self.weights: Any = optimizer.parameters
            if not type(self).construct.__module__.startswith("msnb."):
                network.set_grad()
        self.grad: GradOperation = GradOperation(get_by_list=True, sens_param=True)
        self.grad_no_sens: GradOperation = GradOperation(get_by_list=True)
        self.parallel_mode: str = get_auto_parallel_context("parallel_mode")
        self.reducer_flag: bool = self.parallel_mode in (DATA_PARALLEL, HYBRID_PARALLEL)
        self.grad_fn: Callable[..., Any] = value_and_grad(network, None, optimizer.parameters)
        self.grad_reducer: Cell = reducer_of(optimizer.parameters) or IdentityReducer()

    def construct(self, *inputs: Any) -> Any:
        loss, grads = self.grad_fn(*inputs)
        if self.sens != 1.0:
            grads = tuple([grad * self.sens for grad in grads])
        grads = self.grad_reducer(grads)
        self.optimizer(grads)
        if self.return_grad:
            return loss, {param.name: grad for param, grad in zip(self.optimizer.parameters, grads)}
        return loss
