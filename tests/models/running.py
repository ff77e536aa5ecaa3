"""How the tests run a case: in one mode, with one dtype, everything that was computed on the way by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from zoo import CASES

import msnb as ms
from msnb import nn
from msnb.base import events
from tests.levels import exact, largest, steady

Numbers = dict[str, np.ndarray[Any, Any]]
TOLERANCE = {np.float32: 1e-6, np.float64: 1e-12}
OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda p: nn.SGD(p, 0.05, momentum=0.9, weight_decay=1e-3),
    "Momentum": lambda p: nn.Momentum(p, 0.05, 0.9, use_nesterov=True),
    "Adam": lambda p: nn.Adam(p, 1e-2, **steady()),
    "AdamWeightDecay": lambda p: nn.AdamWeightDecay(p, 1e-2, weight_decay=0.05, **steady()),
}


@contextmanager
def compilations() -> Iterator[list[str]]:
    """The reasons of all compilations within the block."""
    seen: list[str] = []

    def listen(reason: str = "", **_: Any) -> None:
        seen.append(reason)

    events.subscribe("compiled", listen)
    try:
        yield seen
    finally:
        events.unsubscribe("compiled", listen)


def widen(net: nn.Cell, dtype: Any) -> nn.Cell:
    """The same network with Parameters of another float dtype (layers make float32)."""
    for param in net.get_parameters():
        if param.dtype.is_float:
            value = ms.Tensor(param.asnumpy().astype(dtype))
            param._data, param._type = value._data, value._type
    return net


def tensors(batch: tuple[Any, ...], dtype: Any) -> tuple[ms.Tensor, ...]:
    return tuple(ms.Tensor(a.astype(dtype) if a.dtype.kind == "f" else a) for a in batch)


def built(name: str, dtype: Any = np.float32) -> tuple[nn.Cell, Callable[..., Any], list[tuple[ms.Tensor, ...]]]:
    """A case with the same first values and data every time."""
    ms.set_seed(11)
    net, loss, batches = CASES[name](np.random.default_rng(7))
    return widen(net, dtype).set_train(), loss, [tensors(batch, dtype) for batch in batches]


def state(net: nn.Cell, optimizer: nn.Cell | None = None) -> Numbers:
    """All Parameters (running statistics and the optimizer's state are such too)."""
    found = {f"param {p.name} {i}": p.asnumpy() for i, p in enumerate(net.get_parameters())}
    if optimizer is not None:
        found |= {f"state {p.name} {i}": p.asnumpy() for i, p in enumerate(optimizer.get_parameters())}
    return found


def training_step(loss: Callable[..., Any], optimizer: Any) -> Callable[..., Any]:
    grad = ms.value_and_grad(loss, None, optimizer.parameters)

    def step(*batch: Any) -> Any:
        value, grads = grad(*batch)
        optimizer(grads)
        return value

    return step


def close(found: Numbers, want: Numbers, tolerance: float) -> None:
    """Equal within ``tolerance`` of the largest number of each array; with machine code, of all arrays of a kind.

    Names begin with the kind: gradients, Parameters, an optimizer's state. ``tests.levels`` says why.
    """
    assert found.keys() == want.keys()
    sizes = largest(want)
    for name, value in want.items():
        assert found[name].dtype == value.dtype, name
        size = max(np.abs(value).max(initial=0), 1e-6) if exact() else sizes[name]
        np.testing.assert_allclose(found[name], value, rtol=0, atol=tolerance * size, err_msg=name)
