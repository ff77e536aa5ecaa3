"""What JupyterLab's status bar asks the kernel for: mode and device, and how a click switches them.

The front end evaluates ``state()`` silently after a cell has run; the answer's ``repr`` is JSON. An error (a device
that this machine lacks) is a sentence in the answer, never an exception: nothing is printed into anybody's cell.
"""

from __future__ import annotations

import json

from msnb.base import GRAPH_MODE, PYNATIVE_MODE, MsnbError, device_registry, get_context, in_graph_mode, set_context


class State:
    """The context as the status bar shows it; ``repr`` gives JSON."""

    def __init__(self, error: str = "") -> None:
        self.mode = "graph" if in_graph_mode() else "eager"
        self.device: str = get_context("device_target")
        self.devices: list[str] = list(device_registry.names())
        self.error = error

    def __repr__(self) -> str:
        return json.dumps(vars(self))


def state() -> State:
    """Mode, device and the devices that there are."""
    return State()


def next_mode() -> State:
    """Switch to the other mode."""
    set_context(mode=PYNATIVE_MODE if in_graph_mode() else GRAPH_MODE)
    return State()


def next_device() -> State:
    """Switch to the next device that this machine has; ``error`` says why others were passed over."""
    names, now = list(device_registry.names()), get_context("device_target")
    at = names.index(now) if now in names else -1
    refused: list[str] = []
    for name in names[at + 1 :] + names[: max(at, 0)]:
        try:
            set_context(device_target=name)
            break
        except MsnbError as error:
            refused.append(f"{name}: {error.message()}")
    return State(" ".join(refused))
