"""Make the peers' environments: one each under build/peers, because what they need collides.

    python bench/peers.py install              all of them
    python bench/peers.py install torch jax    some
    python bench/peers.py list                 what is there, with versions

PyTorch needs a C++ compiler for torch.compile. Its plain Linux package brings gigabytes of GPU libraries; pip takes a
CPU build where its configuration (PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS) offers one. MindSpore has wheels for few
Pythons and needs NumPy 1. A peer that cannot be installed is named and left out of the run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.contestants import BUILD, python_of

NEEDS = {
    "torch": ["torch>=2.13", "numpy>=2", "transformers>=5.24"],
    "jax": ["jax>=0.10", "jaxlib>=0.10", "optax>=0.2"],
    "mindspore": ["mindspore>=2.10,<3", "numpy<2"],
}


def install(framework: str) -> str | None:
    """Make one environment; why that failed, or None. Half-made ones are removed."""
    folder = BUILD / "peers" / framework
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    try:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *NEEDS[framework]], check=True)
    except (OSError, subprocess.CalledProcessError) as failed:
        shutil.rmtree(folder, ignore_errors=True)
        return str(failed)
    return None


def version(framework: str) -> str:
    """Of an installed framework; "not installed", or what went wrong on import."""
    python = python_of(framework)
    if python is None:
        return "not installed"
    said = f"import {framework}; print({framework}.__version__)"
    environment = {**os.environ, "GLOG_v": "3", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([str(python), "-c", said], capture_output=True, text=True, env=environment, check=False)
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return lines[-1] if lines else "does not start"


def main(arguments: list[str]) -> int:
    action, wanted = (arguments or ["list"])[0], arguments[1:] or list(NEEDS)
    unknown = sorted(set(wanted) - set(NEEDS))
    if action not in ("install", "list") or unknown:
        print(f"python bench/peers.py install|list [{' '.join(NEEDS)}]", file=sys.stderr)
        return 2
    failed = {}
    for framework in wanted if action == "install" else ():
        print(f"installing {framework} ...", flush=True)
        if reason := install(framework):
            failed[framework] = reason
    for framework in wanted:
        print(f"{framework}: {failed.get(framework) or version(framework)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
