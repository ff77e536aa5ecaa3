"""Packages that are "installed" for one test: their metadata lie in a temporary folder on the path, as pip would lay
them into site-packages. No network, no pip, and nothing stays behind."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from msnb.base import device_registry, events, plugins
from msnb.base.settings import reset_context
from msnb.graph.compile import PASSES
from msnb.ops.definition.record import REGISTRY

EXTENSIONS = Path(__file__).resolve().parents[2] / "extensions"
Install = Callable[..., None]


def entry_points_of(pyproject: Path) -> str:
    """The entry points of a pyproject.toml in the form of entry_points.txt. (tomllib is 3.11.)"""
    text = pyproject.read_text(encoding="utf-8")
    sections = re.findall(r'^\[project\.entry-points\."([^"]+)"\]\n(.*?)(?=^\[|\Z)', text, re.MULTILINE | re.DOTALL)
    return "\n".join(f"[{group}]\n" + body.replace('"', "") for group, body in sections)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """``install("op_example")`` from extensions/, or ``install("mine", code="...", points="...")``."""
    ops, passes = set(REGISTRY), set(PASSES)
    made, modules = dict(device_registry._made), set(sys.modules)

    def put(name: str, code: str | None = None, points: str = "") -> None:
        if code is None:
            points = entry_points_of(EXTENSIONS / name / "pyproject.toml")
            monkeypatch.syspath_prepend(EXTENSIONS / name)
        else:
            (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        info = tmp_path / f"{name}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(points, encoding="utf-8")
        plugins.refresh()

    monkeypatch.syspath_prepend(tmp_path)
    events.forget_notices()
    yield put
    reset_context()
    plugins.refresh()
    for name in set(REGISTRY) - ops:
        del REGISTRY[name]
    for name in set(PASSES) - passes:
        del PASSES[name]
    device_registry._made.clear()
    device_registry._made.update(made)
    for name in [m for m in set(sys.modules) - modules if "example" in m or "plug" in m]:
        del sys.modules[name]
