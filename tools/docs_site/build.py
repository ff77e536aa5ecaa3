"""Build the documentation site, without a network, and check every link of it.

    python -m tools.docs_site.build    writes build/site-sources (Markdown, pictures) and build/site

The pages of the API are made by several processes, as each runs its examples and differentiates; MkDocs then makes HTML
and the index of the search.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools.docs_site.catalogue import SECTIONS, Entry, entries, names_of
from tools.docs_site.config import ASSETS, mkdocs_config
from tools.docs_site.entry_page import Page, page_of
from tools.docs_site.guides import ROOT, guide, guide_pages
from tools.docs_site.link_check import dead_links
from tools.docs_site.name_tables import MINDSPORE_PAGE, PYTORCH_PAGE, mindspore_table, pytorch_table
from tools.docs_site.notebook_pages import notebook_page
from tools.docs_site.section_pages import api_page, section_page

SITE = ROOT / "build" / "site"
SAMPLE = ("ops.matmul", "ops.add", "ops.conv2d", "ops.softmax", "nn.Conv2d", "nn.Cell", "ms.Tensor", "ms.grad")


def write(page: Page, folder: Path) -> None:
    """A page and its pictures."""
    for path, content in {page.path: page.text, **page.pictures}.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            target.write_bytes(content)
        else:
            target.write_text(content, encoding="utf-8")


def _write_entries(found: list[Entry], folder: Path, share: int, shares: int) -> None:
    """One process's share of the pages of the API."""
    names = names_of(found)
    for entry in found[share::shares]:
        write(page_of(entry, names), folder)


def write_api(found: list[Entry], folder: Path) -> None:
    """A page for each entry, by as many processes as there are processors (they fork: nothing is imported twice)."""
    shares = min(os.cpu_count() or 1, 4) if "fork" in multiprocessing.get_all_start_methods() else 1
    if shares == 1:
        _write_entries(found, folder, 0, 1)
        return
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_write_entries, args=(found, folder, k, shares)) for k in range(shares)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        raise SystemExit("a page of the API could not be made: the reason is above")


def other_pages(found: list[Entry]) -> Iterator[Page]:
    """Everything but the pages of single entries."""
    names, pages = names_of(found), guide_pages()
    yield api_page(names)
    yield from (section_page(section, names) for section in SECTIONS)
    yield Page(MINDSPORE_PAGE, mindspore_table(found))
    yield Page(PYTORCH_PAGE, pytorch_table(found))
    for source in pages:
        yield notebook_page(source, pages, names) if source.endswith(".ipynb") else guide(source, pages, names)


def sample(found: list[Entry], every: int) -> list[Entry]:
    """A small site for tests: each so-and-so-many-th entry, those that tests name, and the bases they refer to."""
    return [e for k, e in enumerate(found) if k % every == 0 or e.title in SAMPLE]


def write_sources(folder: Path, found: list[Entry]) -> int:
    """All Markdown and pictures; how many pages."""
    shutil.rmtree(folder, ignore_errors=True)
    write_api(found, folder)
    others = list(other_pages(found))
    for page in others:
        write(page, folder)
    (folder / "assets").mkdir(exist_ok=True)
    for asset in ASSETS.iterdir():
        shutil.copy(asset, folder / "assets" / asset.name)
    return len(found) + len(others)


def build_html(sources: Path, site: Path) -> list[str]:
    """Run MkDocs; its warnings (dead links between pages among them)."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    file = sources.with_suffix(".yml")  # JSON is YAML
    file.write_text(json.dumps(mkdocs_config(sources, site, guide_pages()), indent=1), encoding="utf-8")
    heard = _Heard()
    logging.getLogger("mkdocs").addHandler(heard)
    config = load_config(str(file))
    config.plugins.on_startup(command="build", dirty=False)
    build(config)
    config.plugins.on_shutdown()
    return heard.messages


class _Heard(logging.Handler):
    """Keeps what MkDocs warns of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def _told(problems: Iterable[str]) -> int:
    found = list(problems)
    for problem in found[:50]:
        print(problem, file=sys.stderr)
    if found:
        print(f"the site has {len(found)} problems", file=sys.stderr)
    return bool(found)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=SITE, help="the folder of the site")
    parser.add_argument("--every", type=int, default=1, help="only each so-and-so-many-th page of the API, for tests")
    asked = parser.parse_args(argv)
    started = time.perf_counter()
    sources = asked.out.with_name(f"{asked.out.name}-sources")
    pages = write_sources(sources, sample(entries(), asked.every))
    print(f"{pages} pages written in {time.perf_counter() - started:.0f} s", flush=True)
    status = _told([*build_html(sources, asked.out), *dead_links(asked.out)])
    took = time.perf_counter() - started
    print(f"built in {took:.0f} s: open {os.path.relpath(asked.out / 'index.html')} in a browser")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
