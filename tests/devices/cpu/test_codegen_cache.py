"""Machine code on disk: private, whole or not there; and a program without llvmlite."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import msnb as ms
from msnb.base import disk_cache, events
from msnb.devices.cpu import CPU
from tests.devices.cpu.codegen_programs import REFERENCE, buffers, traced

pytest.importorskip("llvmlite")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache in a process that has loaded what all programs share: only kernels are compiled from now on."""
    x = ms.Tensor(np.ones(4, np.float32))
    program(x)(buffers([x]))
    monkeypatch.setenv("MSNB_CACHE_DIR", str(tmp_path))
    return tmp_path / "kernels"


def program(x: ms.Tensor):
    """A program as a new process makes it: no kernel is in memory."""
    from msnb.devices.cpu.codegen import kernel_library
    from tests.devices.cpu.codegen_programs import native

    kernel_library.forget_libraries()
    return native(traced(lambda x: ms.ops.exp(x) * 3 + x, x))


def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    from msnb.devices.cpu.llvm import jit

    done: list[str] = []
    plain = jit._compiled
    monkeypatch.setattr(jit, "_compiled", lambda text: (done.append(text), plain(text))[1])
    return done


def test_code_is_found_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = compilations(monkeypatch)
    x = ms.Tensor(np.arange(10, dtype=np.float32))
    first, second = program(x), program(x)
    assert len(done) == 1
    np.testing.assert_array_equal(first(buffers([x]))[0], second(buffers([x]))[0])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "foreign"])
def test_a_broken_entry_is_compiled_again(folder: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    x = ms.Tensor(np.arange(10, dtype=np.float32))
    program(x)
    (entry,) = folder.glob("*.o")
    data = entry.read_bytes()
    broken = {"cut": data[:-7], "flipped": data[:-7] + b"\0" + data[-6:-1] + bytes([data[-1] ^ 1]), "empty": b"",
              "foreign": b"\x7fELF" + data}[damage]  # fmt: skip
    entry.write_bytes(broken)
    done = compilations(monkeypatch)
    got = program(x)(buffers([x]))[0]
    assert len(done) == 1 and entry.read_bytes() == data
    np.testing.assert_allclose(got, np.exp(x.asnumpy()) * 3 + x.asnumpy(), rtol=1e-6)


def test_a_folder_that_others_may_write_is_not_trusted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    done = compilations(monkeypatch)
    x = ms.Tensor(np.ones(4, np.float32))
    program(x), program(x)
    assert len(done) == 2 and not list(folder.iterdir())


def test_a_home_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("MSNB_CACHE_DIR", str(blocked))
    x = ms.Tensor(np.ones(4, np.float32))
    np.testing.assert_allclose(program(x)(buffers([x]))[0], np.exp(1) * 3 + 1, rtol=1e-6)


def test_the_oldest_entries_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "MOST_ENTRIES", 8)
    for i in range(12):
        disk_cache.write(f"{i:064x}", b"code")
        path = folder / f"{i:064x}.o"
        if path.exists():
            os.utime(path, (i, i))
    left = sorted(p.name for p in folder.iterdir())
    assert len(left) <= 8 and f"{11:064x}.o" in left


def test_the_oldest_entries_go_where_they_are_large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "MOST_BYTES", 10_000)
    for i in range(12):
        disk_cache.write(f"{i:064x}", bytes(2_000), disk_cache.PROGRAM)
        path = folder / f"{i:064x}.p"
        if path.exists():
            os.utime(path, (i, i))
    left = sorted(folder.iterdir())
    assert sum(p.stat().st_size for p in left) <= 10_000 and folder / f"{11:064x}.p" in left


def test_without_llvmlite_the_reference_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = ("llvmlite", "msnb.devices.cpu.program", "msnb.devices.cpu.codegen", "msnb.devices.cpu.onednn")
    for name in [m for m in sys.modules if m.startswith(gone)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    monkeypatch.delattr(sys.modules["msnb.devices.cpu"], "program", raising=False)
    events.forget_notices()
    told: list[str] = []
    from msnb.graph.compile.passes.fusion.grouping import fuse

    x = ms.Tensor(np.linspace(-1, 1, 12, dtype=np.float32))
    graph = traced(lambda x: ms.ops.softmax(ms.ops.exp(x) * 2), x)
    with events.listening("notice", lambda text, key: told.append(text)):
        for _ in range(2):
            got = CPU().compile(fuse(graph, True))(buffers([x]))[0]
    assert len(told) == 1 and "llvmlite" in told[0]
    np.testing.assert_array_equal(got, REFERENCE.compile(graph)(buffers([x]))[0])


@pytest.mark.long
def test_importing_msnb_imports_no_compiler() -> None:
    code = "import sys, msnb; assert not [m for m in sys.modules if m.startswith('llvmlite')]"
    subprocess.run([sys.executable, "-c", code], check=True)
