"""What every test of the project can rely on.

- the jit level is O0 unless MSNB_JIT_LEVEL says otherwise: most tests compile programs that run once. `make test` runs
  all of them a second time at O1, the level that users have.
- MSNB_TEST_WITHOUT="llvmlite" hides installed packages: everything runs without them too.
- programs kept on disk lie in a folder of the run (MSNB_CACHE_DIR, if that is not set already): empty in the beginning,
  shared by its processes, gone in the end. What a user's cache holds decides nothing.
- `mode`: a test that names this fixture runs twice, eagerly and as a graph.
- the context (mode, device, ...) is back at its defaults after every test, whatever the test did to it.
- `notices`: what the user is told during a test, apart from packages that the machine lacks.
- `rng`: a NumPy generator seeded from the run's seed and the test's name. The run's seed is printed at the top and
  again below failures; `pytest --hypothesis-seed=N` repeats a run, hypothesis' draws included.
"""

from __future__ import annotations

import gc
import importlib.metadata
import os
import random
import signal
import sys
import tempfile
import threading
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("MSNB_JIT_LEVEL", "O0")


# a shell's background jobs ignore Ctrl-C, and so would everything that is started here: tests send it
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _hide(package: str) -> None:
    """The run sees the machine as if a package were not installed."""
    found = importlib.metadata.distribution

    def distribution(name: str) -> importlib.metadata.Distribution:
        if name == package:
            raise importlib.metadata.PackageNotFoundError(name)
        return found(name)

    importlib.metadata.distribution = distribution
    sys.modules[package] = None  # type: ignore[assignment]


for _package in filter(None, os.environ.get("MSNB_TEST_WITHOUT", "").split()):
    _hide(_package)

MODES = ("PYNATIVE_MODE", "GRAPH_MODE")

settings.register_profile("msnb", print_blob=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("msnb")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """One seed and one cache for the run, chosen here unless they were given; workers of xdist have the run's."""
    if config.option.hypothesis_seed is None:
        drawn = str(random.SystemRandom().randrange(2**32))
        config.option.hypothesis_seed = getattr(config, "workerinput", {}).get("seed", drawn)
    if "MSNB_CACHE_DIR" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="msnb-tests-")
        os.environ["MSNB_CACHE_DIR"] = folder.name
        config.add_cleanup(folder.cleanup)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """A worker of xdist parses the command line anew: what was chosen here is handed over."""
    node.workerinput["seed"] = node.config.option.hypothesis_seed


def seed_line(config: pytest.Config) -> str:
    return f"seed: {config.option.hypothesis_seed} (repeat with --hypothesis-seed={config.option.hypothesis_seed})"


def pytest_report_header(config: pytest.Config) -> str:
    return seed_line(config)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if terminalreporter.stats.get("failed") or terminalreporter.stats.get("error"):
        terminalreporter.write_line(seed_line(config))


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that differ between runs and tests and can be had again from the printed seed."""
    seed = [zlib.crc32(str(request.config.option.hypothesis_seed).encode()), zlib.crc32(request.node.nodeid.encode())]
    return np.random.default_rng(seed)


@pytest.fixture(autouse=True)
def _machine_code_stays_loaded() -> Iterator[None]:
    """Nothing loaded when a test begins is let go before it ends. A test with a cache folder of its own finds such code
    in memory, so its folder never gets it: if it went half-way, what the folder has would depend on the collector."""
    jit = sys.modules.get("msnb.devices.cpu.llvm.jit")
    loaded = list(jit._loaded.values()) if jit is not None else []
    yield
    del loaded


def pytest_collection_finish(session: pytest.Session) -> None:
    """Importing a test module may install ``msnb.as_mindspore``; no test of another folder starts with it."""
    alias = sys.modules.get("msnb.as_mindspore")
    if alias is not None:
        alias.uninstall()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What outlives a file of tests is left out of later collections: a process has millions of objects in the end,
    and a collection would take seconds."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


LACKING = {"llvmlite", "onednn"}  # keys of the notices about packages that make msnb fast and may be absent


@pytest.fixture
def notices() -> Iterator[list[str]]:
    """The sentences that the user is told, all announced anew. What the machine lacks is no news of a program."""
    from msnb.base import events

    heard: list[str] = []
    events.forget_notices()
    with events.listening("notice", lambda text, key: key in LACKING or heard.append(text)):
        yield heard
    events.forget_notices()


@pytest.fixture(autouse=True)
def _context_put_back() -> Iterator[None]:
    """Every test starts from the default context and without a simulated GPU, whose arrays are those of the fake CuPy:
    another test's GPU could not be told from it. Tests that never touch msnb do not import it here."""
    yield
    if "msnb.base.settings" in sys.modules:
        settings, devices = sys.modules["msnb.base.settings"], sys.modules["msnb.base.device_registry"]
        settings.reset_context()
        if devices.current().name != "SimulatedGPU":  # the plugin for it makes it the default
            devices._made.pop("SimulatedGPU", None)


@pytest.fixture(params=MODES, ids=["PyNative", "Graph"])
def mode(request: pytest.FixtureRequest, _context_put_back: None) -> int:
    """Both modes, one after the other; the value is ms.PYNATIVE_MODE or ms.GRAPH_MODE, already set."""
    import msnb as ms

    value: int = getattr(ms, request.param)
    ms.set_context(mode=value)
    return value
