"""A process that saves checkpoint after checkpoint over the same file, and is killed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import msnb as ms
from tests.kills.moments import Trial

SIZE = 100_000
WRITER = f"""
import sys
import numpy as np
import msnb as ms
for n in range(1, 1_000_000):
    ms.save_checkpoint({{"w": ms.Tensor(np.full({SIZE}, n, np.float64)), "n": ms.Tensor(n)}}, sys.argv[1])
    print(n, flush=True)
"""


def what_is_wrong(path: Path, told: int) -> str:
    """Of the file after the kill: it must be that of number ``told`` or of the next."""
    read = ms.load_checkpoint(str(path))
    w, n = read["w"].asnumpy(), int(read["n"])
    if not (w == n).all() or w.shape != (SIZE,):
        return f"a mixture: n is {n}, w has {np.unique(w)[:4]}"
    if n not in (told, told + 1):
        return f"number {n} is there, {told} had been saved"
    ms.save_checkpoint({"w": ms.Tensor([0.0])}, str(path.parent / "next.ckpt"))
    left = sorted(os.listdir(path.parent))
    return "" if left == ["next.ckpt", path.name] else f"left behind: {left}"


def trial(rng: random.Random) -> tuple[bool, str]:
    """Kill a writer between two of its prints, at any point of a save."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "w.ckpt")
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(rng.uniform(0, 0.1))
        writer.kill()
        lines = [line for line in writer.stdout.read().splitlines() if line]
        writer.wait()
        writer.stdout.close()
        return True, what_is_wrong(path, int(lines[-1]) if lines else 1)


@contextmanager
def trials() -> Iterator[Trial]:
    yield trial
