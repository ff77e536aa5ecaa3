"""The documentation site in a browser, opened from its folder as a reader opens it: search, both themes, a silent
console. The site is the one that `make docs` left in build/site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser_harness import ROOT

SITE = ROOT / "build" / "site"
PAGES = ("index.html", "api/ops/matmul.html", "notebooks/03_autograd.html", "names/pytorch.html")


@pytest.fixture(params=["light", "dark"])
def opened(request: pytest.FixtureRequest, browser: Any) -> Any:
    """A page with what it complained of."""
    if not (SITE / "search" / "search_index.js").exists():
        pytest.skip("there is no build/site: make docs builds it")
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=request.param)
    page = context.new_page()
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda asked: heard.append(asked.url) if asked.url.startswith("http") else None)
    yield page
    context.close()
    assert heard == [], "no error, and nothing asked of a server"


def address(name: str) -> str:
    return (SITE / name).as_uri()


def test_the_search_finds_conv2d_padding(opened: Any) -> None:
    opened.goto(address("index.html"))
    opened.click(".md-search__input")
    opened.keyboard.type("Conv2d padding")
    opened.wait_for_selector(".md-search-result__item a", timeout=60_000)
    first = opened.locator(".md-search-result__item a").first
    assert str(first.get_attribute("href")).partition("?")[0].endswith("/api/nn/Conv2d.html")
    first.click()
    opened.wait_for_selector("h1:has-text('nn.Conv2d')", timeout=60_000)


def test_pages_show_their_pictures(opened: Any) -> None:
    for name in PAGES:
        opened.goto(address(name))
        broken = opened.evaluate("Array.from(document.images).filter(i => i.complete && !i.naturalWidth).length")
        assert broken == 0, name
        assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name


def test_the_files_are_no_larger_than_a_reader_waits_for() -> None:
    index = SITE / "search" / "search_index.json"
    if not index.exists():
        pytest.skip("there is no build/site: make docs builds it")
    assert index.stat().st_size < 5_000_000
    assert max(Path(p).stat().st_size for p in SITE.glob("api/*/*.html")) < 1_000_000
