"""``ms.show.info``: what a report must say: versions, device, threads, settings, caches."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from typing import Any

import numpy as np

from msnb.base import GRAPH_MODE, device_registry, get_context
from msnb.notebook.charts.html_fragments import Row, bytes_word, columns, count, table
from msnb.notebook.charts.plot import card
from msnb.notebook.drawing import INK, SOFT, shortened, text as words
from msnb.notebook.views.view import Section, View
from msnb.ops.definition.record import REGISTRY

PACKAGES = ("numpy", "ml_dtypes", "safetensors", "llvmlite", "onednn-cpu-gomp", "cupy-cuda12x", "ipython", "jupyterlab")
SETTINGS = ("device_target", "jit_level", "runtime_num_threads", "save_graphs")


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _blas() -> str:
    found: Any = np.show_config(mode="dicts")
    blas = found.get("Build Dependencies", {}).get("blas", {}) if isinstance(found, dict) else {}
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()


def facts() -> dict[str, list[Row]]:
    """All facts by subject."""
    import msnb  # the version is that of the package, which is above this one

    mode = "graph" if get_context("mode") == GRAPH_MODE else "eager"
    software = [("msnb", msnb.__version__), ("python", platform.python_version()), ("system", platform.platform())]
    return {
        "software": [*software, *((name, _version(name)) for name in PACKAGES)],
        "machine": [("processor", _processor()), ("cores", str(_cores())), ("BLAS of NumPy", _blas())],
        "session": [("mode", mode), *((k, str(get_context(k))) for k in SETTINGS),
                    ("devices", ", ".join(device_registry.names()))],
        "caches": _caches(),
    }  # fmt: skip


def _caches() -> list[Row]:
    seen = sum(isinstance(key, tuple) for op in REGISTRY.values() for key in op.fast)
    return [*_disk(), ("ops registered", str(len(REGISTRY))), ("signatures known to eager mode", str(seen))]


def _disk() -> list[Row]:
    """Machine code kept from earlier sessions, if the device keeps some."""
    kept = device_registry.current().code_on_disk()
    if kept is None:
        return []
    files, size = kept
    return [("machine code on disk", f"{count(files, 'file')}, {bytes_word(size)}")]


class InfoView(View):
    """The facts of this session. They differ from machine to machine: saved outputs of it are not to be compared."""

    kind = "info"

    def __init__(self) -> None:
        super().__init__("this session")
        self.facts: dict[str, list[Row]] = facts()

    @property
    def text(self) -> str:
        """A table per subject."""
        return "\n\n".join(f"{subject}\n{columns(('what', 'is'), rows)}" for subject, rows in self.facts.items())

    @property
    def svg(self) -> str:
        """The facts on a card."""
        parts, y = list[str](), 46.0
        for subject, rows in self.facts.items():
            parts.append(words(18, y, subject, 11.5, SOFT, weight=600, anchor="start"))
            for name, value in rows:
                y += 17
                parts.append(words(34, y, name, 11, SOFT, anchor="start"))
                parts.append(words(240, y, shortened(value, 70), 11, INK, anchor="start", mono=True))
            y += 28
        return card(720, y - 6, "msnb: this session", parts)

    @property
    def sections(self) -> list[Section]:
        """The tables."""
        return [(subject, table(("what", "is"), rows)) for subject, rows in self.facts.items()]

    @property
    def data(self) -> dict[str, Any]:
        """The facts."""
        return {subject: {row[0]: row[1] for row in rows} for subject, rows in self.facts.items()}
