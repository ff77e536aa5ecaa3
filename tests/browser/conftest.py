"""A real JupyterLab and a real browser for the tests of this folder.

One server and one browser serve all tests. The server has a folder, settings and a data path of its own, and finds the
extension's built files in the repository, not an installed copy. Every page collects what the browser's console reports
as an error, every dialog and every page error; a test that leaves any fails.

A browser is looked for as ``MSNB_CHROMIUM``, chromium, chromium-browser, google-chrome. Where there is none the tests
are skipped with a sentence, but not under ``CI=true``: there they fail.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
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
WAIT = 30_000

# What the browser or JupyterLab itself reports, each with a reason; nothing of ours belongs here.
ALLOWED = {
    "favicon": "the browser asks for an icon that the server may not have",
    "ResizeObserver loop": "the browser's own notice about layouts that settle one frame later",
    "Synchronous XMLHttpRequest": "JupyterLab's",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests here are slow: the quick run leaves them out."""
    for item in items:
        if HERE in Path(str(item.fspath)).parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.xdist_group("browser"))


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


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


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


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    pytest.importorskip("jupyterlab", reason="the notebook extra is not installed")
    home = tmp_path_factory.mktemp("lab")
    folder, port, env = home / "work", free_port(), environment(home)
    folder.mkdir()
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", "--ip=127.0.0.1",
        f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder}", "--ServerApp.port_retries=0",
        "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.expose_app_in_browser=True",
    ]  # fmt: skip
    with open(home / "server.log", "w") as log:
        server = subprocess.Popen(command, cwd=home, env=env, stdout=log, stderr=subprocess.STDOUT)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for(f"{url}/api/status?token={TOKEN}", server, home / "server.log")
        yield Lab(url, folder)
    finally:
        server.terminate()
        server.wait(20)


def wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        if server.poll() is not None:
            break
        try:
            urllib.request.urlopen(url, timeout=2)
            return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")


# ---- the browser -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("Playwright", "pip install 'msnb[dev]'")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=browser_path(), args=FLAGS)
        yield found
        found.close()


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


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def page(browser: Any, heard: Heard) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(WAIT)
    found = context.new_page()
    found.on("console", heard.console)
    found.on("pageerror", lambda error: heard.errors.append(f"page error: {error}"))
    found.on("dialog", heard.dialog)
    yield found
    context.close()
    assert heard.errors == [], "the console stays free of errors"
    assert heard.dialogs == [], "nothing opens a dialog"
