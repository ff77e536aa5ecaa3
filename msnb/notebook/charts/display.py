"""Outputs beside the value of a cell, where there is a notebook that shows them."""

from __future__ import annotations

import sys
from typing import Any


def display_bundle(bundle: dict[str, Any], **options: Any) -> Any:
    """IPython's own, which has no types."""
    from IPython import display  # IPython is loaded by notebooks alone

    show: Any = display.display
    return show(bundle, raw=True, **options)


def shell() -> Any:
    """The notebook's shell where one shows pictures, else None."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython  # IPython is loaded by notebooks alone

    found = get_ipython()
    return found if found is not None and hasattr(found, "kernel") else None
