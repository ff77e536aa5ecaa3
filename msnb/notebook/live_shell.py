"""What a shell gets from ``import msnb`` alone: names for cells, notices in grey, trainings as live tables, and short
error reports; the last two are loaded when the first training or the first error comes.

``%load_ext msnb`` adds magics and pictures. ``MSNB_NO_IPYTHON=1`` in the environment leaves the shell as it is.
"""

from __future__ import annotations

import html
import importlib
from typing import Any

from msnb.base import events
from msnb.notebook.charts.display import display_bundle
from msnb.notebook.magics.cell_names import name_cells


def install(shell: Any) -> None:
    """Name the cells, show notices in grey, and wait for a training or an error."""
    name_cells(shell)
    if hasattr(shell, "kernel"):
        for name, listener in (("notice", show_notice), ("training", show_training)):
            if not events.listeners.get(name):
                events.subscribe(name, listener)
    if not shell.custom_exceptions:
        shell.set_custom_exc((Exception, KeyboardInterrupt), _first_error)


def show_notice(text: str, key: str) -> None:
    """A notice as a grey line: it is no error, and what goes to stderr is shown as one."""
    grey = f'<div style="color: var(--jp-ui-font-color2, #757575); font-size: 90%">msnb: {html.escape(text)}</div>'
    display_bundle({"text/html": grey, "text/plain": f"msnb: {text}"})


def show_training(progress: Any, moment: str) -> None:
    """A training as a table that grows while it runs, with a bar and a curve."""
    importlib.import_module("msnb.notebook.training.progress_view").show(progress, moment)  # with its charts


def _first_error(shell: Any, kind: type[BaseException], error: Any, tb: Any, tb_offset: Any = None) -> Any:
    report = importlib.import_module("msnb.notebook.errors.report")  # with its charts and drawings
    report.install(shell)
    return report.handle(shell, kind, error, tb, tb_offset)
