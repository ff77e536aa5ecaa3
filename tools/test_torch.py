"""Run the tests that compare with PyTorch, in the environment of the benchmark's peer.

    python tools/test_torch.py [pytest's arguments]

PyTorch's CPU build goes to build/peers/torch (``bench/peers.py``); msnb and pytest come from this environment.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.contestants import python_of  # noqa: E402
from bench.peers import install  # noqa: E402


def main(arguments: list[str]) -> int:
    failed = None if python_of("torch") else install("torch")
    python = python_of("torch")
    if python is None:
        print(f"PyTorch cannot be installed: {failed}", file=sys.stderr)
        return 1
    paths = [str(ROOT), sysconfig.get_paths()["purelib"]]
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/torch_peer", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
