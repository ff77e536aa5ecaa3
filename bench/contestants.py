"""Who takes part, and with which Python.

A peer lives in a virtual environment of its own, because their needs collide (MindSpore wants NumPy 1). It is looked
for in this order:

    BENCH_TORCH, BENCH_JAX, BENCH_MINDSPORE, BENCH_MSNB     a Python interpreter, named by hand
    build/peers/<framework>/bin/python                      what `python bench/peers.py install` makes
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"


@dataclass(frozen=True)
class Contestant:
    """A framework and a way of running it."""

    name: str
    framework: str
    way: str


CONTESTANTS = {
    c.name: c
    for c in (
        Contestant("msnb graph", "msnb", "graph"),
        Contestant("msnb eager", "msnb", "eager"),
        Contestant("torch eager", "torch", "eager"),
        Contestant("torch compile", "torch", "compile"),
        Contestant("jax jit", "jax", "jit"),
        Contestant("mindspore graph", "mindspore", "graph"),
    )
}
FRAMEWORKS = tuple(dict.fromkeys(c.framework for c in CONTESTANTS.values()))
PEERS = tuple(name for name, c in CONTESTANTS.items() if c.framework != "msnb")


def python_of(framework: str) -> Path | None:
    """The interpreter of a framework, or None where it is not installed."""
    named = os.environ.get(f"BENCH_{framework.upper()}")
    if named:
        return Path(named)
    if framework == "msnb":
        return Path(sys.executable)
    folder = BUILD / "peers" / framework
    found = [folder / "bin" / "python", folder / "Scripts" / "python.exe"]
    return next((path for path in found if path.exists()), None)


def absent(framework: str) -> str | None:
    """Why a framework cannot take part, in a sentence, or None."""
    if python_of(framework) is None:
        return f"{framework} is not installed: `python bench/peers.py install {framework}`"
    return None


def threads() -> int:
    """The same number for everybody: OMP_NUM_THREADS, or the cores this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(os.environ.get("OMP_NUM_THREADS") or cores)


def environment(scratch: Path) -> dict[str, str]:
    """Of a contestant's process: equal threads, and caches on disk only in the folder given.

    Bytecode of Python modules is kept, as in every installed package: the peers' was made when they were installed.
    """
    count = str(threads())
    pools = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), count)
    caches = {"MSNB_CACHE_DIR": str(scratch / "msnb"), "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor")}
    quiet = {"GLOG_v": "3", "PYTHONWARNINGS": "ignore", "TF_CPP_MIN_LOG_LEVEL": "3"}
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, **pools, **caches, **quiet, "PYTHONPATH": path, "TRITON_CACHE_DIR": str(scratch / "triton")}
