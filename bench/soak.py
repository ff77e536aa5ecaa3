"""Mixed work for minutes: does memory, do handles or threads grow?

    python bench/soak.py 20          twenty minutes, a line per minute

Every round does one of: a jitted step, a new jitted function, eager training, gradients and vmap, new shapes, a data
set, a checkpoint. Python's own objects are counted too, so that growth can be told apart: objects (something is kept)
or bytes alone (memory of native code, or fragments).
"""

from __future__ import annotations

import gc
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

import msnb as ms
from msnb import nn, ops

MINUTE = 60.0


def tasks(folder: str) -> list[Callable[[int], object]]:
    """What is done in turns; each is given the number of the round."""
    net = nn.SequentialCell(nn.Dense(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dense(64, 4)).set_train()
    optimizer = nn.Adam(net.trainable_params(), 0.001)
    loss = nn.CrossEntropyLoss()
    x, y = ops.randn(16, 32), ms.Tensor(np.arange(16, dtype=np.int32) % 4)
    gradient = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)

    def train(x: ms.Tensor, y: ms.Tensor) -> ms.Tensor:
        value, gradients = gradient(x, y)
        optimizer(gradients)
        return value

    jitted, shaped = ms.jit(train), ms.jit(lambda v: ops.tanh(v).sum())

    def rows(n: int) -> None:
        data = ms.dataset.GeneratorDataset([(np.float32(i),) for i in range(32)], ["v"], shuffle=False)
        for _ in data.map(lambda v: v + n, ["v"], num_parallel_workers=2).batch(8):
            pass

    def saved(n: int) -> None:
        path = os.path.join(folder, f"net{n % 3}.ckpt")
        ms.save_checkpoint(net, path)
        ms.load_checkpoint(path)

    return [
        lambda n: jitted(x, y),
        lambda n: ms.jit(lambda v: ops.exp(v) * float(n % 50))(x),
        lambda n: train(x, y),
        lambda n: ms.vmap(ms.grad(lambda v: (v * v * (n % 7)).sum()))(x),
        lambda n: shaped(ops.ones(1 + n % 500)),
        rows,
        saved,
    ]


def measured() -> str:
    """Memory, handles, threads and Python objects of this process."""
    gc.collect()
    status = Path("/proc/self/status").read_text() if os.path.exists("/proc/self/status") else ""
    found = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    megabytes = int(found.get("VmRSS", "0").split()[0]) / 1024
    handles = len(os.listdir("/proc/self/fd")) if status else 0
    threads = found.get("Threads", "0").strip()
    return f"{megabytes:8.1f} MB  {handles:4} handles  {threads:>3} threads  {len(gc.get_objects()):9} objects"


def main() -> int:
    """The number of minutes is the first argument."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    with tempfile.TemporaryDirectory() as folder:
        work, start, told = tasks(folder), time.monotonic(), 0
        for n in itertools.count():
            work[n % len(work)](n)
            now = time.monotonic() - start
            if now >= min(told * MINUTE, minutes * MINUTE):
                print(f"{now / MINUTE:6.1f} min  {n:8} rounds  {measured()}", flush=True)
                told += 1
            if now >= minutes * MINUTE:
                return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
