"""What a shell gets from ``import msnb`` alone: names for cells and short error reports, loaded with the first error.

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
    """Name the cells, show notices in grey, and wait for an error."""
    name_cells(shell)
    if hasattr(shell, "kernel") and not events.listeners.get("notice"):
        events.subscribe("notice", show_notice)
    if not shell.custom_exceptions:
        shell.set_custom_exc((Exception, KeyboardInterrupt), _first_error)


def show_notice(text: str, key: str) -> None:
    """A notice as a grey line: it is no error, and what goes to stderr is shown as one."""
    grey = f'<div style="color: var(--jp-ui-font-color2, #757575); font-size: 90%">msnb: {html.escape(text)}</div>'
    display_bundle({"text/html": grey, "text/plain": f"msnb: {text}"})


def _first_error(shell: Any, kind: type[BaseException], error: Any, tb: Any, tb_offset: Any = None) -> Any:
    report = importlib.import_module("msnb.notebook.errors.report")  # with its charts and drawings
    report.install(shell)
    return report.handle(shell, kind, error, tb, tb_offset)
