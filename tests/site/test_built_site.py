"""A small site, built as `make docs` builds the whole one: links, search index, nothing from another server.

The packages that make HTML have an environment of their own; where it is not made these tests are skipped.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.docs_site.link_check import dead_links

ROOT = Path(__file__).resolve().parents[2]
OWN = ROOT / "build" / "docs-venv" / "bin" / "python"
EVERY = "60"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each sixtieth page of the API and all others."""
    python = sys.executable if importlib.util.find_spec("material") else str(OWN)
    if not Path(python).exists():
        pytest.skip("the packages of the extra docs are not installed: make docs makes an environment with them")
    out = tmp_path_factory.mktemp("built") / "site"
    command = [python, "-m", "tools.docs_site.build", "--out", str(out), "--every", EVERY]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    return out


@pytest.mark.slow
def test_no_link_is_dead_and_nothing_comes_from_elsewhere(site: Path) -> None:
    assert dead_links(site) == []


@pytest.mark.slow
def test_the_index_of_the_search_answers_conv2d_padding(site: Path) -> None:
    docs = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    (page,) = [d for d in docs if d["location"] == "api/nn/Conv2d.html"]
    assert page["title"] == "nn.Conv2d"
    assert "padding" in page["text"]
    assert page["boost"] > 1


@pytest.mark.slow
def test_pages_tell_their_language_and_pictures_have_words(site: Path) -> None:
    for name in ("index.html", "api/ops/matmul.html", "notebooks/03_autograd.html"):
        text = (site / name).read_text(encoding="utf-8")
        assert '<html lang="en"' in text
        assert "<img" in text
        assert all('alt="' in tag and 'alt=""' not in tag for tag in text.split("<img")[1:])


def test_a_dead_link_and_a_foreign_script_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<p id="here"></p><a href="b.html">b</a><a href="#here">ok</a><a href="#gone">no</a>'
        '<script src="https://elsewhere.example/x.js"></script><a href="https://elsewhere.example/">fine</a>'
    )
    assert dead_links(tmp_path) == ["a.html: #gone", "a.html: b.html", "a.html: https://elsewhere.example/x.js"]
