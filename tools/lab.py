"""The notebooks in JupyterLab, on a copy: what a reader changes there is theirs, and ``git pull`` never conflicts.

    python tools/lab.py            copies notebooks/ to lab/ and opens lab/00_start.ipynb in JupyterLab
    python tools/lab.py --copy     copies only
    python tools/lab.py --notebook opens it in Notebook 7

A notebook in lab/ is brought up to date as long as nobody has changed it; a changed one stays as it is, and the new
version lies beside it as ``NAME.new.ipynb``. ``lab/.copied.json`` remembers what was copied.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "notebooks"
LAB = ROOT / "lab"
START = "00_start.ipynb"
SVG = "image/svg+xml"
HEAD = """# Start here

Each page is meant to be read in this order, and ends with exercises and their solutions. `%ms_help` in any of them
lists every view with the question that it answers. What you change here is a copy: nothing can break, and `make lab`
brings pages that you have not changed up to date.

| | page | |
|---|---|---|
"""


def digest(path: Path) -> str:
    """A file by content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def copy(source: Path = SOURCE, lab: Path = LAB) -> list[str]:
    """Bring the copies up to date; the names of those that their reader has changed."""
    lab.mkdir(parents=True, exist_ok=True)
    record = lab / ".copied.json"
    copied: dict[str, str] = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    kept = []
    for path in sorted(source.glob("*.ipynb")):
        target, new = lab / path.name, digest(path)
        if target.exists() and copied.get(path.name) not in (None, digest(target)):
            kept.append(path.name)
            if copied[path.name] != new:
                (lab / f"{path.stem}.new.ipynb").write_bytes(path.read_bytes())
            continue
        target.write_bytes(path.read_bytes())
        copied[path.name] = new
    record.write_text(json.dumps(copied, indent=1), encoding="utf-8")
    write_start(source, lab)
    return kept


# ---- the first page --------------------------------------------------------------------------------------------------


def first_cell(notebook: dict[str, Any]) -> tuple[str, str]:
    """The title of a notebook and its first sentence."""
    text = "".join(notebook["cells"][0]["source"]).lstrip("# ")
    title, _, rest = text.partition("\n")
    words = " ".join(rest.strip().split("\n\n")[0].split())
    return title.strip(), words.partition(". ")[0].rstrip(".") + "."


def picture(notebook: dict[str, Any]) -> str:
    """The first drawing among its outputs."""
    outputs = (out for cell in notebook["cells"] for out in cell.get("outputs", ()))
    return next(("".join(out["data"][SVG]) for out in outputs if SVG in out.get("data", {})), "")


def write_start(source: Path, lab: Path) -> None:
    """A page with a line and a thumbnail per notebook."""
    pictures = lab / "pictures"
    pictures.mkdir(exist_ok=True)
    rows = []
    for path in sorted(source.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        title, words = first_cell(notebook)
        drawn = picture(notebook)
        if drawn:
            (pictures / f"{path.stem}.svg").write_text(drawn, encoding="utf-8")
        shown = f'<img src="pictures/{path.stem}.svg" alt="" width="160">' if drawn else ""
        rows.append(f"| {path.stem[:2]} | [{title}]({path.name}): {words} | {shown} |\n")
    cell = {"cell_type": "markdown", "id": "start", "metadata": {}, "source": HEAD + "".join(rows)}
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    page = {"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (lab / START).write_text(json.dumps(page, indent=1), encoding="utf-8")


def command(notebook: bool, rest: list[str]) -> list[str]:
    """JupyterLab (or Notebook 7) at the first page, with the repository as its root, so that docs can be read there."""
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    program = "notebook" if notebook else "jupyterlab"
    settings = [f"--ServerApp.root_dir={ROOT}", "--LabApp.news_url=None"]
    return [sys.executable, "-m", program, *root, *settings, *rest, f"{LAB.name}/{START}"]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The notebooks in JupyterLab, on a copy.")
    parser.add_argument("--copy", action="store_true", help="copy only")
    parser.add_argument("--notebook", action="store_true", help="Notebook 7 instead of JupyterLab")
    options, rest = parser.parse_known_args(argv)
    for name in copy():
        newer = f"lab/{Path(name).stem}.new.ipynb"
        beside = f"; the newer page is {newer}" if (ROOT / newer).exists() else ""
        print(f"lab/{name} is yours and stays as it is{beside}")
    return 0 if options.copy else subprocess.run(command(options.notebook, rest), cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
