"""Programs that fork after use, one per function: run as ``python fork_programs.py NAME MODE FORKS``.

Every child must end by itself, in time, with the parent's numbers: what it says is one line through a pipe.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import numpy as np

import msnb as ms
from msnb import nn, ops

PATIENCE = 60.0


def in_child(task: Callable[[], Any]) -> str:
    """What ``task`` gives in a child of fork; "hangs" where it does not end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = repr(task())
        except BaseException:
            said = traceback.format_exc()
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], PATIENCE)
    if not ready:
        os.kill(child, signal.SIGKILL)
    said = os.read(reading, 1 << 16).decode() if ready else "hangs"
    os.close(reading)
    os.waitpid(child, 0)
    return said


def same(task: Callable[[], Any], forks: int) -> None:
    want = repr(task())
    for number in range(forks):
        found = in_child(task)
        assert found == want, f"child {number}: {found}, not {want}"


def digest(*values: Any) -> list[float]:
    return [round(float(ops.abs(v).mean()), 3) for v in values]


@contextmanager
def busy(work: Callable[[], Any]) -> Iterator[None]:
    """Another thread does ``work`` over and over."""
    stop, ran = threading.Event(), threading.Event()

    def run() -> None:
        while not stop.is_set():
            work()
            ran.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ran.wait()
    try:
        yield
    finally:
        stop.set()
        thread.join()


# ---- programs -------------------------------------------------------------------------------------------------------


def make() -> dict[str, Callable[[], Any]]:
    """Things a child does."""
    ms.set_seed(1)
    x = ms.Tensor(np.linspace(-1, 1, 256 * 256, dtype=np.float32).reshape(256, 256))
    image = ms.Tensor(np.linspace(-1, 1, 4 * 8 * 32 * 32, dtype=np.float32).reshape(4, 8, 32, 32))
    net = nn.SequentialCell(nn.Dense(256, 256), nn.ReLU(), nn.Dense(256, 10))
    conv = nn.Conv2d(8, 16, 3)
    product = ms.jit(lambda a: ops.matmul(a, a) + 1)
    convolved = ms.jit(lambda a: ops.relu(conv(a)))
    gradient = ms.value_and_grad(lambda a: net(a).sum(), None, net.trainable_params())
    return {
        "product": lambda: digest(product(x)),
        "convolution": lambda: digest(convolved(image)),
        "cell": lambda: digest(net(x)),
        "gradient": lambda: digest(gradient(x)[0], *gradient(x)[1]),
        "eager": lambda: digest(x @ x, ops.exp(x).sum(), ops.relu(conv(image))),
        "new jit": lambda: digest(ms.jit(lambda a: ops.tanh(a @ a) * 3)(x)),
    }


def after_use(forks: int) -> None:
    """The child calls what the parent called."""
    for task in make().values():
        same(task, forks)


def while_a_thread_computes(forks: int) -> None:
    """Forks meet another thread in the middle of compiled functions, kernels and gradients."""
    tasks = make()
    want = {name: repr(task()) for name, task in tasks.items()}

    def work() -> None:
        for name, task in tasks.items():
            if name != "new jit":
                task()

    with busy(work):
        for number in range(forks):
            name = list(tasks)[number % len(tasks)]
            found = in_child(tasks[name])
            assert found == want[name], f"child {number}, {name}: {found}"


def while_a_thread_compiles(forks: int) -> None:
    """Forks meet another thread in captures and in the compiler."""
    tasks = make()
    want = {name: repr(task()) for name, task in tasks.items()}
    count = iter(range(10**9))

    def work() -> None:
        n = next(count)
        ms.jit(lambda a: ops.tanh(a) * float(n % 97) + n)(ops.ones(20 + n % 50))

    with busy(work):
        for number in range(forks):
            name = list(tasks)[number % len(tasks)]
            found = in_child(tasks[name])
            assert found == want[name], f"child {number}, {name}: {found}"


def of_a_child(forks: int) -> None:
    """A child forks again, after it has computed itself."""
    task = make()["gradient"]
    want = repr(task())
    for _ in range(forks):
        found = in_child(lambda: (task(), in_child(task))[1])
        assert found == repr(want), found


def in_a_pool(forks: int) -> None:
    """multiprocessing's pool of forked workers."""
    import multiprocessing

    global _TASK
    _TASK = make()["product"]
    want = _TASK()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(_pooled, range(forks)).get(PATIENCE) == [want] * forks


def _pooled(_: int) -> Any:
    return _TASK()


_TASK: Callable[[], Any]


def with_an_iterator(forks: int) -> None:
    """A child goes on with an iterator whose threads are the parent's: it is told so."""
    from msnb.base.errors import MsnbError

    rows = ms.dataset.GeneratorDataset([(np.float32(i),) for i in range(1000)], ["x"], shuffle=False)
    mapped = iter(rows.map(lambda v: v + 1, ["x"], num_parallel_workers=2).batch(2).create_tuple_iterator())
    next(mapped)

    def go_on() -> str:
        try:
            for _ in range(500):
                next(mapped)
        except MsnbError as error:
            return str(error)
        return "it went on"

    for _ in range(forks):
        found = in_child(go_on)
        assert "child of fork" in found and "new iterator" in found, found
    next(mapped)


if __name__ == "__main__":
    ms.set_context(mode=getattr(ms, sys.argv[2]), runtime_num_threads=2)
    start = time.monotonic()
    globals()[sys.argv[1]](int(sys.argv[3]))
    print(f"ended after {time.monotonic() - start:.1f} s")
