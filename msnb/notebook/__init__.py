"""The notebook: magics, views of programs, errors without internal frames. The only package that imports IPython.

``%load_ext msnb`` comes here through ``msnb.load_ipython_extension``. Views (``msnb.show``) work without IPython.
"""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Install magics, names for cells, short error reports and pictures of graphs in an IPython shell."""
    from msnb.notebook.extension import load  # IPython is loaded by notebooks alone

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Take everything back."""
    from msnb.notebook.extension import unload  # IPython is loaded by notebooks alone

    unload(shell)
