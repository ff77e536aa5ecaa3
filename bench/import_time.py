"""How long `import msnb` takes, against NumPy alone (its floor) and PyTorch where it is installed.

The clock runs inside a fresh interpreter from just before the import to just after it, so the start of Python itself
is not counted. The very first round may read from a cold disk; the median does not feel it.
"""

from __future__ import annotations

import importlib
import importlib.util
import time

from harness import Unavailable, run_case


def seconds_to_import(name: str) -> dict[str, float]:
    if importlib.util.find_spec(name) is None:
        raise Unavailable(f"{name} is not installed")
    start = time.perf_counter()
    importlib.import_module(name)
    return {"import": time.perf_counter() - start}


if __name__ == "__main__":
    run_case(
        "Import time",
        {name: lambda name=name: seconds_to_import(name) for name in ("numpy", "msnb", "torch")},
        baseline="numpy",
    )
