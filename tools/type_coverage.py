"""How much of msnb a type checker knows: pyright's ``--verifytypes``, and its verdict on a file.

    python tools/type_coverage.py            the share of public symbols whose types are known, and what is not

pyright counts every module without an underscore, and takes what is only inferred as unknown to others. It wants to
see a package as it is installed: a copy lies in a folder of its own, which the environment's Python finds first.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BAR = 0.95


def missing() -> str:
    """Why pyright cannot run here; empty where it can. Without Node it would download one."""
    lacking = [name for name in ("node", "pyright") if program(name) is None]
    return f"no {' and no '.join(lacking)}" if lacking else ""


def program(name: str) -> str | None:
    """A program of the environment, or of the machine."""
    return shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


def environment(home: Path) -> dict[str, str]:
    """A virtual environment with a copy of msnb and with all that is installed here; its PATH."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home / "env")], check=True)
    site = next((home / "env").glob("lib/python*/site-packages"), home / "env" / "Lib" / "site-packages")
    shutil.copytree(ROOT / "msnb", site / "msnb", ignore=shutil.ignore_patterns("__pycache__"))
    others = [path for path in sys.path if path.endswith("site-packages")]
    (site / "others.pth").write_text("\n".join(others), encoding="utf-8")
    scripts = next(p for p in ((home / "env" / "bin"), (home / "env" / "Scripts")) if p.exists())
    return {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}"}


def asked(*arguments: str) -> dict[str, Any]:
    """What pyright answers."""
    with tempfile.TemporaryDirectory(prefix="msnb-types-") as folder:
        home = Path(folder)
        (home / "work").mkdir()
        command = [str(program("pyright")), "--outputjson", *arguments]
        run = subprocess.run(
            command, cwd=home / "work", env=environment(home), capture_output=True, text=True, check=False
        )
    try:
        found: dict[str, Any] = json.loads(run.stdout)
    except ValueError:
        raise SystemExit(f"pyright gave no answer:\n{run.stdout}{run.stderr}") from None
    return found


def known() -> tuple[float, list[dict[str, Any]]]:
    """The share of exported symbols whose types are known, and the others."""
    symbols = asked("--verifytypes", "msnb", "--ignoreexternal")["typeCompleteness"]["symbols"]
    exported = [s for s in symbols if s["isExported"]]
    unknown = [s for s in exported if not s["isTypeKnown"]]
    return 1 - len(unknown) / max(len(exported), 1) if exported else 0.0, unknown


def main() -> int:
    if missing():
        print(f"not run: {missing()}")
        return 1
    share, unknown = known()
    for home, count in Counter(".".join(s["name"].split(".")[:3]) for s in unknown).most_common(15):
        print(f"  {home:<40}{count:5}")
    print(f"known: {share:.1%} (bar {BAR:.0%})")
    return 0 if share >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
