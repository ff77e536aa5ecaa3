"""Networks that were loaded from ONNX files, against ONNX Runtime: batch 1, one thread, a call of each in turn.

    python -m bench.loaded_networks                  all nine light_* networks of the package onnx
    python -m bench.loaded_networks resnet50         some of them; --rounds 30 for more calls

Each line: how many times as fast as ONNX Runtime, as the program whose weights are inputs (``jit``) and as the frozen
program that evaluation runs (``nn.GraphCell``); the best call of each counts. Their results must agree.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

import msnb as ms

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
NEAR = 1e-4  # of the largest result


def peer(path: Path) -> tuple[Callable[[Any], Any], tuple[int, ...]]:
    """ONNX Runtime on one thread, and the shape that the network takes."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    return lambda x: session.run(None, {given.name: x})[0], tuple(given.shape)


def ways(path: Path) -> dict[str, Callable[[Any], Any]]:
    """The ways in which the network runs here."""
    net = ms.nn.GraphCell(ms.load(str(path)))
    net.set_train(False)
    return {"weights as inputs": ms.jit(net), "frozen": net}


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """The time of a call, and its result."""
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found


def ratios(path: Path, rounds: int) -> dict[str, float]:
    """How many times as fast as ONNX Runtime each way is."""
    run, shape = peer(path)
    array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    x = ms.Tensor(array)
    calls: dict[str, Callable[[], Any]] = {
        name: (lambda way=way: way(x).asnumpy())
        for name, way in ways(path).items()  # type: ignore[misc]
    }
    calls["peer"] = lambda: run(array)
    best = dict.fromkeys(calls, float("inf"))
    results = {name: call() for name, call in calls.items()}
    for name, found in results.items():
        off = np.abs(found - results["peer"]).max() / np.abs(results["peer"]).max()
        assert off < NEAR, f"{path.stem}, {name}: off by {off:.1e} of the largest result"
    for _ in range(rounds):
        for name, call in calls.items():
            best[name] = min(best[name], seconds(call)[0])
    return {name: best["peer"] / best[name] for name in calls if name != "peer"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    ms.set_context(runtime_num_threads=1)
    paths = [FOLDER / f"light_{name}.onnx" for name in given.names] or sorted(FOLDER.glob("light_*.onnx"))
    found = []
    for path in paths:
        found.append(ratios(path, given.rounds))
        print(f"| {path.stem[6:]} | " + " | ".join(f"{r:.2f}" for r in found[-1].values()) + " |", flush=True)
    means = [float(np.exp(np.mean([np.log(row[name]) for row in found]))) for name in found[0]]
    print("| geometric mean | " + " | ".join(f"{m:.2f}" for m in means) + " |")


if __name__ == "__main__":
    main()
