"""What a rank of a plan computes by: compiled stretches against single kernels, reference bodies and the single device.

    python -m bench.ranks               processor seconds of one rank's step, alternating, and their ratios

One rank of two walks a data-parallel training step; a mirror stands for the other, so that nobody waits and processor
time is the rank's own work: kernels, Python between them, and the joining of what comes. The single device takes the
same step with the rank's part of the batch, so the last ratio is what being a rank costs.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import msnb as ms
from bench.planning import Transformer
from msnb import nn, ops
from msnb.parallel.engine.comm.communicator import Communicator
from msnb.parallel.engine.rank.rank_state import RankState
from msnb.parallel.program.program_document import to_text

ROUNDS = 15


class Mirror(Communicator):
    """The other rank sends what this one sends; zeros where its piece has another size."""

    def exchange(self, out: Mapping[int, Any], into: Mapping[int, Any], what: str, deadline: float) -> None:
        """Give back what was sent."""
        for peer, array in into.items():
            array[...] = out[peer] if peer in out and out[peer].shape == array.shape else 0


class LeNet(nn.Cell):
    """LeNet-5 with its loss."""

    def __init__(self) -> None:
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 6, 5, pad_mode="valid"), nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.pool, self.dense = (
            nn.MaxPool2d(2, 2),
            nn.SequentialCell(
                nn.Dense(400, 120, activation="relu"), nn.Dense(120, 84, activation="relu"), nn.Dense(84, 10)
            ),
        )

    def construct(self, x: Any, y: Any) -> Any:
        x = self.pool(ops.relu(self.c2(self.pool(ops.relu(self.c1(x))))))
        return ops.cross_entropy(self.dense(ops.reshape(x, (x.shape[0], -1))), y)


def cases() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Networks with their losses, and a batch each."""
    draw = np.random.default_rng(0)
    images, classes = draw.standard_normal((64, 1, 32, 32)).astype(np.float32), draw.integers(0, 10, 64)
    words = draw.integers(0, 512, (8, 64))
    return {
        "LeNet, 32 images a rank": (LeNet(), (ms.Tensor(images), ms.Tensor(classes))),
        "transformer, 256 words a rank": (Transformer(2, 128, 512), (ms.Tensor(words), ms.Tensor(words.reshape(-1)))),
    }


def seconds(step: Callable[[], Any]) -> float:
    """Processor seconds of a step."""
    start = time.process_time()
    step()
    return time.process_time() - start


def ways(step: nn.Cell, inputs: tuple[Any, ...]) -> list[Callable[[], Any]]:
    """The step as a rank of two takes it: by bodies, by kernels, compiled; and as the single device does."""
    plan = ms.parallel.plan(step, *inputs, device_num=2, parallel_mode="data_parallel")
    text, values = to_text(plan.program), plan.given(inputs)
    part = [ms.Tensor(x.asnumpy()[: len(x) // 2]) for x in inputs]

    def rank(level: str, often: bool) -> Callable[[], Any]:
        how = {"jit_level": level, "runtime_num_threads": 1}
        return partial(RankState(text, Mirror(0, 2, 60.0), None, how, often).run, values)

    def alone() -> None:
        with ms.set_context(mode=ms.GRAPH_MODE, jit_level="O1", runtime_num_threads=1):
            step(*part)

    return [rank("O0", False), rank("O1", False), rank("O1", True), alone]


def main() -> None:
    """Print a line per case."""
    print(f"{'ms of a step':31}{'bodies':>9}{'kernels':>9}{'compiled':>9}{'alone':>9}")
    for name, (net, inputs) in cases().items():
        step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.01, 0.9))
        taken = ways(step, inputs)
        rows = [[seconds(way) for way in taken] for _ in range(ROUNDS)][3:]
        told = "".join(f"{statistics.median(column) * 1e3:9.1f}" for column in zip(*rows))
        kernels, alone = (statistics.median(row[i] / row[2] for row in rows) for i in (1, 3))
        print(f"{name:31}{told}   kernels / compiled {kernels:.2f}, compiled / alone {1 / alone:.2f}")


if __name__ == "__main__":
    main()
