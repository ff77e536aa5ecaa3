"""LeNet-5, batch 32: the whole training step (forward, backward, momentum), eagerly and as one compiled program.

`first call` is what a user waits for before the first step of a compiled program has finished: capture, passes, compile
and one step. Everybody trains the same network from the same weights on the same batch; the losses must agree.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from harness import Unavailable, per_call, run_case

BATCH = 32
STEPS = 3
SHAPES = [(6, 1, 5, 5), (6,), (16, 6, 5, 5), (16,), (120, 400), (120,), (84, 120), (84,), (10, 84), (10,)]


def _data() -> tuple[Any, Any, list[Any]]:
    import numpy as np

    rng = np.random.default_rng(0)
    x = rng.standard_normal((BATCH, 1, 32, 32)).astype(np.float32)
    labels = rng.integers(0, 10, BATCH).astype(np.int32)
    weights = [(rng.standard_normal(s) * 0.1).astype(np.float32) for s in SHAPES]
    return x, labels, weights


def _measure(step: Callable[[], float]) -> dict[str, float]:
    start = time.perf_counter()
    losses = [step()]
    first = time.perf_counter() - start
    losses += [step() for _ in range(STEPS - 1)]
    assert losses[-1] < losses[0], losses
    return {"first call": first, "step": per_call(step, seconds=1.0, loop=0.05)}


def _msnb_step(graph: bool) -> Callable[[], float]:
    import msnb as ms
    from msnb import nn

    class LeNet5(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
            self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
            self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)
            self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()

        def construct(self, x: Any) -> Any:
            x = self.pool(self.relu(self.conv1(x)))
            x = self.flatten(self.pool(self.relu(self.conv2(x))))
            return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x)))))

    x, labels, weights = _data()
    net = LeNet5().set_train()
    for parameter, value in zip(net.trainable_params(), weights):
        parameter.set_data(ms.Tensor(value))
    optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)
    loss_fn = nn.CrossEntropyLoss()
    forward = ms.value_and_grad(lambda a, b: loss_fn(net(a), b), None, optimizer.parameters)

    def train(a: Any, b: Any) -> Any:
        loss, gradients = forward(a, b)
        optimizer(gradients)
        return loss

    run = ms.jit(train) if graph else train
    a, b = ms.Tensor(x), ms.Tensor(labels)
    return lambda: float(run(a, b))


def eager() -> dict[str, float]:
    return _measure(_msnb_step(graph=False))


def graph() -> dict[str, float]:
    return _measure(_msnb_step(graph=True))


def torch() -> dict[str, float]:
    try:
        import torch as th
    except ImportError as error:
        raise Unavailable("torch is not installed") from error
    x, labels, weights = _data()
    nn = th.nn
    net = nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    with th.no_grad():
        for parameter, value in zip(net.parameters(), weights):
            parameter.copy_(th.from_numpy(value))
    optimizer = th.optim.SGD(net.parameters(), 0.01, 0.9)
    a, b = th.from_numpy(x), th.from_numpy(labels).long()

    def step() -> float:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(a), b)
        loss.backward()
        optimizer.step()
        return float(loss)

    return _measure(step)


if __name__ == "__main__":
    run_case("LeNet-5 training step", {"torch eager": torch, "msnb eager": eager, "msnb graph": graph}, "torch eager")
