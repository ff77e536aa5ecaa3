"""Call every shared name in MindSpore and in the alias with the same operands, and list where the answers differ.

    python tools/test_mindspore.py [dotted names, e.g. ops.Diag mint.cumsum Tensor.median nn.ELU]

MindSpore's wheel goes to build/peers/mindspore (``bench/peers.py``). All names take about half an hour; the answers are
kept in build/peers/answers and a run that was stopped goes on where it was. A library that dies, or hangs, loses the
name it was at.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.contestants import python_of  # noqa: E402
from bench.peers import install  # noqa: E402

PEER = ROOT / "tests" / "mindspore_peer"
KEPT = ROOT / "build" / "peers" / "answers"
SILENCE = 300
"""Seconds without a new name after which the process is ended."""
TRIES = 60


def ask(command: list[str], out: Path, names: list[str]) -> None:
    """Run ``answers.py`` until it says that it is done."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "GLOG_v": "4", "PYTHONPATH": str(ROOT)}
    if names:
        env["MSNB_PEER_NAMES"] = ",".join(names)
    for _ in range(TRIES):
        process = subprocess.Popen([*command, str(PEER / "answers.py"), str(out)], cwd=ROOT, env=env)
        size = -1
        while process.poll() is None:
            try:
                process.wait(SILENCE)
            except subprocess.TimeoutExpired:
                now = out.stat().st_size if out.exists() else 0
                if now == size:
                    process.kill()
                size = now
        if process.returncode == 0:
            return


def main(names: list[str]) -> int:
    failed = None if python_of("mindspore") else install("mindspore")
    python = python_of("mindspore")
    if python is None:
        print(f"MindSpore cannot be installed: {failed}", file=sys.stderr)
        return 1
    KEPT.mkdir(parents=True, exist_ok=True)
    there, here = (KEPT / f"{'some_' if names else ''}{side}.pickle" for side in ("mindspore", "alias"))
    here.unlink(missing_ok=True)  # what msnb answered yesterday is of no use
    if names:
        there.unlink(missing_ok=True)
    ask([str(python)], there, names)
    ask([sys.executable, "-m", "msnb.as_mindspore"], here, names)
    return subprocess.run([sys.executable, str(PEER / "compare.py"), str(there), str(here)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
