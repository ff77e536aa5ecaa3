"""msnb and MindSpore: one program for both, as msnb promises (one changed import).

    msnb graph        the whole step under ms.jit, generated kernels on
    msnb eager        operator by operator
    mindspore graph   the whole step as a Cell in GRAPH_MODE

MindSpore on a CPU runs in the background and has no synchronize(): a step ends with asnumpy() (no copy) on what it made
and on the first and last parameter.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

from bench.case import Case, Step


class Side:
    """What the programs of all cases need of msnb or MindSpore."""

    def __init__(self, case: Case, way: str, variant: str, package: str) -> None:
        self.case, self.way, self.variant = case, way, variant
        self.ms: Any = importlib.import_module(package)
        self.nn, self.ops = self.ms.nn, self.ms.ops
        self.theirs = package == "mindspore"
        if self.theirs:
            self.ms.set_device("CPU")
            self.ms.set_context(
                mode=self.ms.GRAPH_MODE, runtime_num_threads=int(os.environ.get("OMP_NUM_THREADS", "1"))
            )
        else:
            self.ms.set_context(mode=self.ms.PYNATIVE_MODE, jit_level="O1")

    def made(self, function: Callable[..., Any]) -> Any:
        if self.theirs:
            return _as_cell(self.nn, function)
        return self.ms.jit(function) if self.way == "graph" else function

    def tensors(self, arrays: Any) -> list[Any]:
        return [self.ms.Tensor(a) for a in arrays]

    def load(self, net: Any) -> Any:
        """The case's weights, in the order of the parameters; the network trains from here on."""
        mine, given = list(net.trainable_params()), self.case.initial(self.variant)
        if [tuple(p.shape) for p in mine] != [g.shape for g in given]:
            raise ValueError(f"{self.case.name}: the network's parameters are not the case's weights")
        for parameter, value in zip(mine, given):
            parameter.set_data(self.ms.Tensor(value))
        return net.set_train()

    def over(self, function: Callable[..., Any], *kept: Any) -> Step:
        """A step that calls the function on batch after batch; `kept` are parameters to wait for as well."""
        data = [self.tensors(batch) for batch in self.case.batches()]

        def step(i: int) -> Any:
            out = function(*data[i % len(data)])
            self.wait((out, kept))
            return out

        return step

    def wait(self, made: Any) -> None:
        if not self.theirs:
            self.ms.runtime.synchronize()
        elif isinstance(made, (tuple, list)):
            for one in made:
                self.wait(one)
        else:
            made.asnumpy()

    def forward(self, function: Callable[..., Any]) -> Step:
        return self.over(self.made(function))

    def pulled(self, function: Callable[..., Any], wanted: int) -> Step:
        """A step that returns the output and the gradients of the first inputs; the last one is the output's."""
        ms = self.ms

        def both(*batch: Any) -> Any:
            out, pull = ms.vjp(function, *batch[:wanted])
            return (out, *pull(batch[-1]))

        return self.over(self.made(both))

    def pulled_by_sum(self, function: Callable[..., Any], wanted: int) -> Step:
        """The same where vjp cannot be compiled: gradients of sum(output * its gradient), the output beside them."""

        def weighted(*batch: Any) -> Any:
            out = function(*batch[:-1])
            return (out * batch[-1]).sum(), out

        gradient = self.ms.value_and_grad(weighted, tuple(range(wanted)), has_aux=True)

        def both(*batch: Any) -> Any:
            values, gradients = gradient(*batch)
            return values[1], gradients

        return self.over(self.made(both))

    def train(self, loss: Callable[..., Any], optimizer: Any) -> Step:
        """A step that trains on batch after batch and returns the loss."""
        gradient = self.ms.value_and_grad(loss, None, optimizer.parameters)
        if self.theirs:
            run = _training_cell(self.nn, self.ops, gradient, optimizer)
            return self.over(run, optimizer.parameters[0], optimizer.parameters[-1])

        def train(*batch: Any) -> Any:
            value, gradients = gradient(*batch)
            optimizer(gradients)
            return value

        return self.over(self.made(train))


def _as_cell(nn: Any, function: Callable[..., Any]) -> Any:
    class Whole(nn.Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.function = function

        def construct(self, *inputs: Any) -> Any:
            return self.function(*inputs)

    return Whole()


def _training_cell(nn: Any, ops: Any, gradient: Any, optimizer: Any) -> Any:
    class Training(nn.Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.gradient, self.optimizer = gradient, optimizer

        def construct(self, *batch: Any) -> Any:
            value, gradients = self.gradient(*batch)
            return ops.depend(value, self.optimizer(gradients))

    return Training()
