"""Import time, memory after the import, and size on disk of one framework, told by its own Python.

    python bench/footprint.py time PACKAGE       seconds of `import PACKAGE` in this fresh process, and its memory
    python bench/footprint.py size PACKAGE       bytes of the distribution and of all that it requires

Nothing but the standard library may be imported before the clock starts: a NumPy that is there already would be a gift.
"""

from __future__ import annotations

import json
import re
import sys
import time

MODULES = {"jax": "jax.numpy"}  # what a program imports first


def import_time(package: str) -> dict[str, float]:
    start = time.perf_counter()
    __import__(MODULES.get(package, package))
    return {"import": time.perf_counter() - start, "memory": float(_memory())}


def _memory() -> int:
    from pathlib import Path

    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def required(package: str) -> set[str]:
    """The distribution and everything that it needs, extras left out; what is not installed is for other machines."""
    from importlib import metadata

    found: set[str] = set()
    waiting = [package]
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        try:
            needs = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        found.add(name)
        waiting += [re.split(r"[^A-Za-z0-9._-]", need, maxsplit=1)[0] for need in needs if "extra ==" not in need]
    return found


def installed_bytes(package: str) -> float:
    """Of all files of the distributions; a package used from its sources counts with its folder."""
    from importlib import metadata, util
    from pathlib import Path

    files = {f.locate() for name in required(package) for f in metadata.files(name) or ()}
    spec = util.find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        files |= {path for path in Path(folder).rglob("*") if "__pycache__" not in path.parts}
    real = {Path(str(path)).resolve() for path in files}
    return float(sum(path.stat().st_size for path in real if path.is_file() and path.suffix != ".pyc"))


if __name__ == "__main__":
    what, package = sys.argv[1:3]
    answer = import_time(package) if what == "time" else {"size": installed_bytes(package)}
    print("\n" + json.dumps(answer), flush=True)
