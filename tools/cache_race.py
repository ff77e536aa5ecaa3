"""Somebody exchanges the folder of the compile cache while it is read: how often are his bytes taken for ours?

    python tools/cache_race.py 1000000          prints: 1000000 reads: 612345 ours, 387655 none, 0 foreign

Two folders lie side by side: a private one with our entry, and one that others may write, with another entry of the
same name and a right hash. A process exchanges their names without a pause. A read must give our bytes or nothing.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the msnb of this checkout, installed or not

_EXCHANGE, _HERE = 2, -100
KEY = "0" * 64


def exchange(one: str, two: str, stop: Any) -> None:
    """Give two folders each other's name, over and over: at once where the system can, else in three steps."""
    both = getattr(ctypes.CDLL(None), "renameat2", None)
    a, b, parked = os.fsencode(one), os.fsencode(two), one + ".parked"
    while not stop.is_set():
        for _ in range(100):
            if both is None or both(_HERE, a, _HERE, b, _EXCHANGE):
                os.rename(one, parked)
                os.rename(two, one)
                os.rename(parked, two)


def race(reads: int) -> Counter[str]:
    """What so many reads gave: ours, none, foreign."""
    from msnb.base import disk_cache, events

    with tempfile.TemporaryDirectory() as base, events.listening("notice", lambda **_: None):
        folders = [Path(base, "kernels"), Path(base, "other")]
        for folder, content in zip(folders, (b"ours", b"foreign")):
            os.environ["MSNB_CACHE_DIR"] = base
            disk_cache.write(KEY, content)
            os.rename(folders[0], folder.with_suffix(".made"))
        for folder in folders:
            os.rename(folder.with_suffix(".made"), folder)
        folders[1].chmod(0o777)
        method = multiprocessing.get_context("spawn")
        stop = method.Event()
        thief = method.Process(target=exchange, args=(*map(str, folders), stop), daemon=True)
        thief.start()
        try:
            found = Counter((disk_cache.read(KEY) or b"none").decode() for _ in range(reads))
        finally:
            stop.set()
            thief.join(10)
            if thief.is_alive():
                thief.kill()
        return found


def main() -> int:
    """The number of reads is the first argument."""
    reads = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    found = race(reads)
    print(f"{reads} reads: {found['ours']} ours, {found['none']} none, {found['foreign']} foreign")
    return 1 if found["foreign"] else 0


if __name__ == "__main__":
    sys.exit(main())
