"""The notebook: magics, views of programs, errors without internal frames. The only package that imports IPython.

``%load_ext msnb`` comes here through ``msnb.load_ipython_extension``. Views (``msnb.show``) work without IPython.
"""

from __future__ import annotations

from typing import Any


def _extension() -> Any:
    from msnb.notebook import extension  # IPython is loaded by notebooks alone

    return extension


def load_ipython_extension(shell: Any) -> None:
    """Install magics, names for cells, short error reports and pictures of graphs in an IPython shell."""
    _extension().load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Take everything back."""
    _extension().unload(shell)
