"""How fast this machine can be: the best float32 matrix product and the best copy, measured in the run itself.

    floor of a case = max(its least flops / best product, its least bytes / best copy)

NumPy does both, on the threads that everybody gets: its BLAS has a pool of its own, and a copy is cut into one piece
per thread (NumPy releases the interpreter for it). What a contestant reaches in the case `matmul` counts too, so the
limit is never below what somebody showed. Small arrays copy faster, from a cache; 16 MB are the smallest that count.

    python -m bench.limits [seconds]        prints {"flops": per second, "bytes": per second}
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from bench.contestants import threads

PRODUCTS = (1024, 2048)
COPIES = (16 << 20, 64 << 20, 256 << 20)  # bytes of one array


def best_of(function: Callable[[], object], seconds: float) -> float:
    """The shortest time of one call."""
    function()
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


def product_flops(seconds: float) -> float:
    found = []
    for n in PRODUCTS:
        a, b, c = (np.ones((n, n), np.float32) for _ in range(3))
        found.append(2.0 * n**3 / best_of(lambda a=a, b=b, c=c: np.matmul(a, b, out=c), seconds))  # type: ignore[misc]
    return max(found)


def copy_bytes(seconds: float, count: int, sizes: tuple[int, ...] = COPIES) -> float:
    """Bytes read and bytes written per second."""
    found = []
    with ThreadPoolExecutor(count) as pool:
        for size in sizes:
            source, target = np.ones(size // 4, np.float32), np.empty(size // 4, np.float32)
            pieces = list(zip(np.array_split(target, count), np.array_split(source, count)))
            copy = lambda pieces=pieces: list(pool.map(lambda pair: np.copyto(*pair), pieces))
            found.append(2.0 * size / best_of(copy, seconds))
    return max(found)


def measure(seconds: float = 0.5) -> dict[str, float]:
    return {"flops": product_flops(seconds), "bytes": copy_bytes(seconds, threads())}


if __name__ == "__main__":
    print(json.dumps(measure(*map(float, sys.argv[1:2]))))
