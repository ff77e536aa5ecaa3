"""PyTorch, eagerly or through torch.compile: tensors, leaves, one training step."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from bench.case import Case, Step


class Side:
    """What the programs of all cases need of PyTorch.

    The optimizers are the fused ones (one kernel over all parameters): the quickest that PyTorch offers on a CPU.
    """

    def __init__(self, case: Case, way: str, variant: str) -> None:
        import torch

        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
        self.torch, self.case, self.way, self.variant = torch, case, way, variant

    def made(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self.torch.compile(function) if self.way == "compile" else function

    def tensors(self, arrays: Any) -> list[Any]:
        return [self.torch.from_numpy(a.copy()) for a in arrays]

    def leaves(self, *tensors: Any) -> list[Any]:
        return [t.detach().requires_grad_() for t in tensors]

    def parameters(self) -> list[Any]:
        return [t.requires_grad_() for t in self.tensors(self.case.initial(self.variant))]

    def load(self, net: Any) -> Any:
        """The case's weights, in the order of the parameters."""
        mine, given = list(net.parameters()), self.tensors(self.case.initial(self.variant))
        if [p.shape for p in mine] != [g.shape for g in given]:
            raise ValueError(f"{self.case.name}: the network's parameters are not the case's weights")
        with self.torch.no_grad():
            for parameter, value in zip(mine, given):
                parameter.copy_(value)
        return net

    def over(self, function: Callable[..., Any]) -> Step:
        """A step that calls the function on batch after batch."""
        data = [self.tensors(batch) for batch in self.case.batches()]
        return lambda i: function(*data[i % len(data)])

    def forward(self, function: Callable[..., Any]) -> Step:
        def quiet(*batch: Any) -> Any:
            with self.torch.no_grad():
                return function(*batch)

        return self.over(quiet)

    def pulled(self, function: Callable[..., Any], wanted: int) -> Step:
        """A step that returns the output and the gradients of the first inputs; the last one is the output's."""

        def both(*batch: Any) -> Any:
            inputs = self.leaves(*batch[:wanted])
            out = function(*inputs)
            out.backward(batch[-1])
            return (out.detach(), *(t.grad for t in inputs))

        return self.over(both)

    def adam(self, parameters: Any, rate: float) -> Any:
        return self.torch.optim.Adam(parameters, rate, fused=True)

    def adamw(self, parameters: Any, rate: float, decay: float) -> Any:
        return self.torch.optim.AdamW(parameters, rate, weight_decay=decay, fused=True)

    def momentum(self, parameters: Any, rate: float, momentum: float = 0.9) -> Any:
        return self.torch.optim.SGD(parameters, rate, momentum=momentum, fused=True)

    def train(self, loss: Callable[..., Any], optimizer: Any) -> Step:
        """A step that trains on batch after batch and returns the loss."""
        loss = self.made(loss)

        def train(*batch: Any) -> Any:
            optimizer.zero_grad(set_to_none=True)
            value = loss(*batch)
            value.backward()
            optimizer.step()
            return value.detach()

        return self.over(train)
