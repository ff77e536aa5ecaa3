"""A real JupyterLab and a real browser for the tests of this folder.

One server and one browser serve all tests. The server has a folder, settings and a data path of its own, and finds the
extension's built files in the repository, not an installed copy. Every page collects what the browser's console reports
as an error, every dialog and every page error; a test that leaves any fails.

A browser is looked for as ``MSNB_CHROMIUM``, chromium, chromium-browser, google-chrome. Where there is none the tests
are skipped with a sentence, but not under ``CI=true``: there they fail.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_harness import (
    FLAGS,
    HERE,
    TOKEN,
    WAIT,
    Lab,
    address,
    browser_path,
    environment,
    listened,
    missing,
)

from tests.waiting import PATIENCE


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests here are slow: the quick run leaves them out."""
    for item in items:
        if HERE in Path(str(item.fspath)).parents:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    pytest.importorskip("jupyterlab", reason="the notebook extra is not installed")
    home = tmp_path_factory.mktemp("lab")
    folder, env = home / "work", environment(home)
    folder.mkdir()
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1",
        f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder}",
        "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.expose_app_in_browser=True",
    ]  # fmt: skip
    with open(home / "server.log", "w") as log:
        server = subprocess.Popen(command, cwd=home, env=env, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield Lab(address(server, home), folder)
    finally:
        server.terminate()
        server.wait(PATIENCE)


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


@pytest.fixture(scope="session")
def context(browser: Any) -> Iterator[Any]:
    """One for all pages: what JupyterLab loads is loaded once."""
    found = browser.new_context(viewport={"width": 1280, "height": 1000}, reduced_motion="reduce")
    found.set_default_timeout(WAIT)
    yield found
    found.close()


@pytest.fixture
def page(context: Any) -> Iterator[Any]:
    found, heard = listened(context)
    yield found
    found.close()
    assert heard.errors == [], "the console stays free of errors"
    assert heard.dialogs == [], "nothing opens a dialog"
