"""JupyterLab as a process, the browser's path, and what a page complains of: what the fixtures are made of."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
TOKEN = "for-tests-only"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--font-render-hinting=none", "--force-color-profile=srgb",
]  # fmt: skip
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WAIT = 120_000  # milliseconds; a page needs a few thousand on an idle machine

# What the browser or JupyterLab itself reports, each with a reason; nothing of ours belongs here.
ALLOWED = {
    "favicon": "the browser asks for an icon that the server may not have",
    "ResizeObserver loop": "the browser's own notice about layouts that settle one frame later",
    "Synchronous XMLHttpRequest": "JupyterLab's",
}


def missing(what: str, why: str) -> None:
    """Skip with a sentence; under CI a missing browser is a failure."""
    sentence = f"{what} is missing: {why}"
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)


def browser_path() -> str:
    found = os.environ.get("MSNB_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        missing("a browser", "install one (Debian: apt-get install chromium) or name it in MSNB_CHROMIUM")
    return str(found)


# ---- the server ------------------------------------------------------------------------------------------------------


@dataclass
class Lab:
    """A running server."""

    url: str
    folder: Path

    def path(self, name: str) -> str:
        return f"{self.url}/lab/tree/{name}?token={TOKEN}&reset"


def environment(home: Path) -> dict[str, str]:
    """Nothing of the user's: settings, kernels' files and notebooks' trust are in ``home``."""
    data = home / "share" / "jupyter"
    shutil.copytree(ROOT / "extensions" / "msnb-lab" / "labextension", data / "labextensions" / "msnb-lab")
    settings = home / "settings" / "@jupyterlab"
    for name, values in {
        "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
        "apputils-extension/themes": {"adaptive-theme": False},
        "notebook-extension/tracker": {"windowingMode": "defer"},
        "docmanager-extension/plugin": {"autosave": False},
    }.items():
        path = settings / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    own = {
        "JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces", "IPYTHONDIR": "ipython",
        "HOME": ".",
    }  # fmt: skip
    places = {name: str(home / folder) for name, folder in own.items()}
    quiet = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    return {**os.environ, **places, **quiet, "JUPYTER_PATH": str(data), "PYTHONPATH": str(ROOT)}


def address(server: subprocess.Popen[bytes], home: Path) -> str:
    """Where the server answers, once it does. It writes down which port it found free."""
    told = home / "runtime" / f"jpserver-{server.pid}.json"
    for _ in range(1500):
        if server.poll() is not None:
            break
        try:
            url = f"http://127.0.0.1:{json.loads(told.read_text())['port']}"
            urllib.request.urlopen(f"{url}/api/status?token={TOKEN}", timeout=2)
            return url
        except (OSError, json.JSONDecodeError):
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{(home / 'server.log').read_text()[-3000:]}")


# ---- pages ---------------------------------------------------------------------------------------------------------


@dataclass
class Heard:
    """What a page complained of."""

    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def console(self, message: Any) -> None:
        text = f"{message.text} ({message.location.get('url', '')})"
        if message.type == "error" and not any(word in text for word in ALLOWED):
            self.errors.append(text)

    def dialog(self, dialog: Any) -> None:
        if dialog.type != "beforeunload":
            self.dialogs.append(dialog.message)
        dialog.accept()


def listened(context: Any) -> tuple[Any, Heard]:
    """A new page, and what it will complain of."""
    page, heard = context.new_page(), Heard()
    page.on("console", heard.console)
    page.on("pageerror", lambda error: heard.errors.append(f"page error: {error}"))
    page.on("dialog", heard.dialog)
    return page, heard
