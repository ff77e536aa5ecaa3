"""Training whose sizes change from step to step, from cold: seconds of a whole run and memory, here and in PyTorch.

    python -m bench.changing_sizes            all cases: eager, graph, and PyTorch (make bench-peers PEERS=torch)
    python -m bench.changing_sizes gru --sides torch,eager

    mlp            100 batch sizes, twice
    batches        1,000 batch sizes up to 2,000: how much memory is held
    gru            embedding, GRU and a head: 7 batch sizes x 30 lengths, 600 steps
    actor_critic   one action at a time: 120 episodes of 5 to 200 steps, a gradient for each
    trees          child-sum TreeLSTM (Tai et al. 2015) over 200 random trees

Every side runs in a process of its own, on one thread, with an empty disk cache and the byte code of its modules in
place, as pip leaves it; seconds of its thread are counted, whatever else the machine does.
"""

from __future__ import annotations

import argparse
import compileall
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
CASES = ("mlp", "batches", "gru", "actor_critic", "trees")
SIDES = ("eager", "graph", "torch")

Tree = tuple[int, "list[Tree]"]
Run = Callable[[Any], float]


def inputs(case: str, rng: np.random.Generator) -> Iterator[Any]:
    """What each step is given, as arrays."""
    if case in ("mlp", "batches"):
        sizes = [np.arange(20, 120)] * 2 if case == "mlp" else [np.arange(1, 2001, 2)]
        for n in np.concatenate([rng.permutation(each) for each in sizes]):
            yield rng.standard_normal((n, 64), np.float32), rng.integers(0, 10, n)
    elif case == "gru":
        pairs = [(b, t) for b in range(8, 36, 4) for t in range(5, 35)]
        for at in rng.integers(0, len(pairs), 600):
            yield rng.integers(0, 200, pairs[at]), rng.integers(0, 10, pairs[at][0])
    elif case == "actor_critic":
        for length in rng.integers(5, 200, 120):
            yield rng.standard_normal((length, 4), np.float32)
    else:
        for _ in range(200):
            yield tree(rng, int(rng.integers(3, 16)))


def tree(rng: np.random.Generator, words: int) -> Tree:
    """A random tree with so many words."""
    if words == 1:
        return int(rng.integers(0, 100)), []
    left = int(rng.integers(1, words))
    return int(rng.integers(0, 100)), [tree(rng, left), tree(rng, words - left)]


def msnb_case(case: str, graph: bool) -> Run:
    """A step of the case here."""
    import msnb as ms
    from msnb import nn, ops

    ms.set_context(mode=ms.GRAPH_MODE if graph else ms.PYNATIVE_MODE, runtime_num_threads=1)
    entropy = nn.CrossEntropyLoss()
    net: Any
    if case in ("mlp", "batches"):
        net = nn.SequentialCell(nn.Dense(64, 128), nn.ReLU(), nn.Dense(128, 64), nn.ReLU(), nn.Dense(64, 10))
        weights, prepare = net.trainable_params(), lambda a: (ms.Tensor(a[0]), ms.Tensor(a[1], ms.int32))
        loss: Any = lambda x, y: entropy(net(x), y)
    elif case == "gru":
        words, net, out = nn.Embedding(200, 32), nn.GRU(32, 64, batch_first=True), nn.Dense(64, 10)
        weights = [p for part in (words, net, out) for p in part.trainable_params()]
        prepare = lambda a: (ms.Tensor(a[0], ms.int32), ms.Tensor(a[1], ms.int32))
        loss = lambda x, y: entropy(out(net(words(x))[0][:, -1]), y)
    elif case == "actor_critic":
        net = nn.SequentialCell(nn.Dense(4, 32), nn.Tanh(), nn.Dense(32, 3))
        weights, prepare = net.trainable_params(), lambda a: ([ms.Tensor(row) for row in a],)

        def loss(states: Any) -> Any:
            total = 0.0
            for state in states:
                found = net(state)
                total = total - ops.log_softmax(found[:2], -1)[0] + (found[2] - 1.0) ** 2
            return total
    else:
        words, gates, forgets = nn.Embedding(100, 32), nn.Dense(64, 96), nn.Dense(64, 32)
        weights = [p for part in (words, gates, forgets) for p in part.trainable_params()]
        prepare, zero = lambda a: (a,), ops.zeros(32)

        def node(given: Tree) -> Any:
            x, below = words(ms.Tensor(given[0])), [node(child) for child in given[1]]
            total = sum((h for h, _ in below), zero)
            i, o, u = ops.split(gates(ops.concat([x, total])), 32)
            c = ops.sigmoid(i) * ops.tanh(u)
            for h, cell in below:
                c = c + ops.sigmoid(forgets(ops.concat([x, h]))) * cell
            return ops.sigmoid(o) * ops.tanh(c), c

        loss = lambda given: (node(given)[0] ** 2).sum()
    optimizer = nn.Adam(weights, 0.001)
    gradient = ms.value_and_grad(loss, None, optimizer.parameters)

    def step(*args: Any) -> Any:
        found, gradients = gradient(*args)
        optimizer(gradients)
        return found

    run = ms.jit(step) if graph else step
    return lambda arrays: float(run(*prepare(arrays)))


def torch_case(case: str) -> Run:
    """The same in PyTorch, as its tutorials write it."""
    import torch
    from torch import nn
    from torch.nn import functional

    torch.set_num_threads(1)
    if case in ("mlp", "batches"):
        net: Any = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
        weights = list(net.parameters())
        loss: Any = lambda a: functional.cross_entropy(net(torch.from_numpy(a[0])), torch.from_numpy(a[1]))
    elif case == "gru":
        words, net, out = nn.Embedding(200, 32), nn.GRU(32, 64, batch_first=True), nn.Linear(64, 10)
        weights = [p for part in (words, net, out) for p in part.parameters()]
        loss = lambda a: functional.cross_entropy(
            out(net(words(torch.from_numpy(a[0])))[0][:, -1]), torch.from_numpy(a[1])
        )
    elif case == "actor_critic":
        net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
        weights = list(net.parameters())

        def loss(rows: Any) -> Any:
            total = 0.0
            for state in [torch.from_numpy(row) for row in rows]:
                found = net(state)
                total = total - functional.log_softmax(found[:2], -1)[0] + (found[2] - 1.0) ** 2
            return total
    else:
        words, gates, forgets = nn.Embedding(100, 32), nn.Linear(64, 96), nn.Linear(64, 32)
        weights = [p for part in (words, gates, forgets) for p in part.parameters()]
        zero = torch.zeros(32)

        def node(given: Tree) -> Any:
            x, below = words(torch.tensor(given[0])), [node(child) for child in given[1]]
            total = sum((h for h, _ in below), zero)
            i, o, u = torch.split(gates(torch.cat([x, total])), 32)
            c = torch.sigmoid(i) * torch.tanh(u)
            for h, cell in below:
                c = c + torch.sigmoid(forgets(torch.cat([x, h]))) * cell
            return torch.sigmoid(o) * torch.tanh(c), c

        loss = lambda given: (node(given)[0] ** 2).sum()
    optimizer = torch.optim.Adam(weights, 0.001)

    def run(arrays: Any) -> float:
        optimizer.zero_grad()
        found = loss(arrays)
        found.backward()
        optimizer.step()
        return float(found.detach())

    return run


def measure(case: str, side: str) -> None:
    """Print the seconds of the whole run, of its second half, and the last loss."""
    run = torch_case(case) if side == "torch" else msnb_case(case, side == "graph")
    given = list(inputs(case, np.random.default_rng(0)))
    marks, found = [time.thread_time()], 0.0
    for half in (given[: len(given) // 2], given[len(given) // 2 :]):
        for arrays in half:
            found = run(arrays)
        marks.append(time.thread_time())
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{marks[2] - marks[0]:.3f} {marks[2] - marks[1]:.3f} {held} {found:.4f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=CASES)
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.cases[0], given.measure)
        return 0
    from bench.contestants import python_of

    compileall.compile_dir(ROOT / "msnb", quiet=1)
    print(f"{'case':14}{'side':8}{'whole':>9}{'2nd half':>10}{'peak MB':>9}   (PyTorch's seconds / these)")
    for case in given.cases:
        peer: list[float] = []
        for side in sorted(given.sides.split(","), key=lambda s: s != "torch"):
            python = python_of("torch") if side == "torch" else Path(sys.executable)
            if python is None:
                print(f"{case:14}{side:8} is not installed")
                continue
            with tempfile.TemporaryDirectory() as cache:
                env = {**os.environ, "MSNB_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"}
                command = [str(python), str(Path(__file__)), case, "--measure", side]
                text = subprocess.run(command, env=env, cwd=ROOT, check=True, capture_output=True, text=True).stdout
            found = [float(word) for word in text.split()[-4:-1]]
            peer = found if side == "torch" else peer
            ratios = "".join(f"{p / f:8.2f}" for p, f in zip(peer[:2], found))
            print(f"{case:14}{side:8}{found[0]:8.2f}s{found[1]:9.2f}s{found[2]:9.0f}   {ratios}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
