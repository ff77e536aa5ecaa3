"""The first five minutes: run notebooks/01_quickstart.ipynb in the terminal and show what it found.

    python tools/quickstart.py

The notebook is executed cell by cell in a fresh kernel of this environment, with one line of progress per cell. The
executed copy, pictures and all, goes to build/. One of its outputs carries the numbers as data:

    application/vnd.msnb.quickstart+json
    {"losses": {"PyNative": [...], "Graph": [...]}, "accuracy": {"PyNative": a, "Graph": b}}

from which the two loss curves and the accuracies are drawn here. If the notebook fails or the data are missing, the
exit status is not zero and the last lines say why.
"""

from __future__ import annotations

import math
import re
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "notebooks" / "01_quickstart.ipynb"
EXECUTED = ROOT / "build" / "01_quickstart.executed.ipynb"
MIME = "application/vnd.msnb.quickstart+json"
MODES = ("PyNative", "Graph")
WIDTH, HEIGHT = 64, 6


class QuickstartError(Exception):
    """Something a reader can act on; shown without a stack."""


# --------------------------------------------------------------------------- running the notebook


def title_of(cell: Any) -> str:
    """The first line of a cell that says something, as its title."""
    lines = [line.strip() for line in cell.source.splitlines()]
    spoken = [line for line in lines if line and not line.startswith(("import ", "from "))]
    title = (spoken or lines or [""])[0].lstrip("# ")
    return title if len(title) <= 60 else title[:57] + "..."


class Progress:
    """One line per cell; on a terminal the running cell's latest printed line stands on it until the cell ends."""

    def __init__(self, cells: int) -> None:
        self.cells, self.number, self.live = cells, 0, sys.stdout.isatty()

    def begin(self, cell: Any) -> None:
        self.number += 1
        self.head = f"[{self.number:2d}/{self.cells}] {title_of(cell):<62}"
        self.start = time.perf_counter()
        self.show(self.head)

    def show(self, text: str) -> None:
        if self.live:
            print(f"\r\x1b[K{text}", end="", flush=True)

    def heard(self, text: str) -> None:
        lines = [line for line in re.split(r"[\r\n]", text) if line.strip()]
        if lines:
            self.show(f"{self.head[:40]} | {lines[-1].strip()[:60]}")

    def end(self, word: str = "") -> None:
        self.show("")
        print(f"{self.head}{time.perf_counter() - self.start:6.1f} s {word}".rstrip(), flush=True)


def client_for(notebook: Any, progress: Progress, folder: Path) -> Any:
    """A client on this environment's own kernel: a kernel of the same name installed elsewhere must not answer."""
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    class Client(NotebookClient):
        def output(self, outs: Any, msg: Any, display_id: str, cell_index: int) -> Any:
            if msg["msg_type"] == "stream":
                progress.heard(msg["content"]["text"])
            return super().output(outs, msg, display_id, cell_index)

    manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=KernelSpecManager(kernel_dirs=[]))
    # The kernel's own warnings (about its local sockets) would tear the progress lines apart; cell errors are not logs.
    quiet = ["--log-level=ERROR"]
    place = {"metadata": {"path": str(folder)}}
    return Client(
        notebook, km=manager, timeout=None, startup_timeout=600, resources=place, extra_arguments=quiet
    )


def execute(source: Path, target: Path) -> Any:
    """Run every code cell in order; the executed notebook is written even when a cell fails."""
    import nbformat

    target.unlink(missing_ok=True)
    if not source.exists():
        raise QuickstartError(f"there is no {source}: is this a complete checkout?")
    notebook = nbformat.read(source, as_version=4)
    code = [(i, cell) for i, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    progress = Progress(len(code))
    client = client_for(notebook, progress, source.parent)
    try:
        run_cells(client, code, progress)
    finally:
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, target)
    return notebook


def run_cells(client: Any, code: list[tuple[int, Any]], progress: Progress) -> None:
    from nbclient.exceptions import CellExecutionError, DeadKernelError

    with client.setup_kernel():
        for index, cell in code:
            progress.begin(cell)
            try:
                client.execute_cell(cell, index)
            except (CellExecutionError, DeadKernelError) as error:
                progress.end("FAILED")
                told = plain(str(error))
                raise QuickstartError(f"cell {progress.number} of the notebook failed:\n\n{told}") from None
            progress.end()


def plain(text: str) -> str:
    """Text without terminal colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text).strip()


# --------------------------------------------------------------------------- the numbers in it


def quickstart_data(notebook: Any) -> dict[str, Any]:
    """The numbers that a cell of the notebook put under our MIME type (the last one, if several)."""
    found = [
        output["data"][MIME]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if MIME in output.get("data", {})
    ]
    if not found:
        raise QuickstartError(f"the notebook ran, but none of its outputs has the type {MIME}: nothing to draw")
    check_data(found[-1])
    return dict(found[-1])


def check_data(data: Any) -> None:
    for mode in MODES:
        losses = data.get("losses", {}).get(mode) if isinstance(data, dict) else None
        if not isinstance(losses, list) or not losses or not all(is_number(x) for x in losses):
            raise QuickstartError(f'{MIME}: ["losses"]["{mode}"] must be a list of finite numbers, got {losses!r:.80}')
        accuracy = data.get("accuracy", {}).get(mode)
        if not is_number(accuracy) or not 0 <= accuracy <= 1:
            raise QuickstartError(f'{MIME}: ["accuracy"]["{mode}"] must be a number in 0..1, got {accuracy!r:.80}')


def is_number(x: Any) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x)


# --------------------------------------------------------------------------- drawing


def resample(values: list[float], width: int) -> list[float]:
    """At most `width` numbers: means of equal stretches of the curve."""
    n = len(values)
    if n <= width:
        return list(values)
    edges = [i * n // width for i in range(width + 1)]
    return [sum(values[a:b]) / (b - a) for a, b in zip(edges, edges[1:], strict=False)]


def curve(values: list[float], low: float, high: float, blocks: str) -> list[str]:
    """Rows of text, top first: each value is a column of height (value - low) in units of 1/8 of a row.

    `blocks` are the partly filled cells, emptiest first; with eight of them a row resolves eight levels.
    """
    levels = len(blocks) - 1
    span = (high - low) or 1.0
    heights = [max(1, round((v - low) / span * HEIGHT * levels)) for v in values]
    rows = []
    for row in range(HEIGHT - 1, -1, -1):
        rows.append("".join(blocks[min(max(h - row * levels, 0), levels)] for h in heights))
    return rows


def blocks_for(encoding: str | None) -> str:
    """Eighth blocks where the terminal can show them, plain characters elsewhere."""
    fine = " ▁▂▃▄▅▆▇█"
    try:
        fine.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return " .:#"
    return fine


def report(data: dict[str, Any], encoding: str | None) -> str:
    """Both curves on one scale, first and last loss, accuracies, and how far the modes differ."""
    everything = [x for mode in MODES for x in data["losses"][mode]]
    low, high, blocks = min(0.0, *everything), max(everything), blocks_for(encoding)
    lines: list[str] = []
    for mode in MODES:
        losses = data["losses"][mode]
        lines += ["", f"{mode} mode: loss over {len(losses)} steps, {losses[0]:.4f} -> {losses[-1]:.4f}"]
        rows = curve(resample(losses, WIDTH), low, high, blocks)
        lines += [
            f"  {f'{high:.2f}' if i == 0 else f'{low:.2f}' if i == HEIGHT - 1 else '':>6} |{row}"
            for i, row in enumerate(rows)
        ]
    lines += ["", *(f"accuracy, {mode + ' mode:':<15} {data['accuracy'][mode]:.2%}" for mode in MODES)]
    return "\n".join([*lines, difference(data["losses"])])


def difference(losses: dict[str, list[float]]) -> str:
    first, second = (losses[mode] for mode in MODES)
    if len(first) != len(second):
        return f"the modes ran different numbers of steps: {len(first)} and {len(second)}"
    gaps = [abs(a - b) for a, b in zip(first, second, strict=True)]
    first_gap, gap = max(gaps[:20]), max(gaps)
    return f"largest difference between the two loss curves: {first_gap:.1e} in the first 20 steps, {gap:.1e} in all"


def main() -> int:
    shown = EXECUTED.relative_to(ROOT)
    print(f"running {NOTEBOOK.relative_to(ROOT)}: LeNet-5 on handwritten digits, eagerly and as a graph\n", flush=True)
    try:
        notebook = execute(NOTEBOOK, EXECUTED)
        print(report(quickstart_data(notebook), sys.stdout.encoding))
    except QuickstartError as error:
        print(f"\nquickstart: {error}", file=sys.stderr)
        if EXECUTED.exists():
            print(f"what ran so far: {shown}", file=sys.stderr)
        return 1
    print(f"\nexecuted notebook: {EXECUTED}\nopen it and the next ones with:  make lab")
    return 0


if __name__ == "__main__":
    sys.exit(main())
