"""The store under stress: programs with control flow, other machines, threads, processes, disks that refuse.

Whatever happens, a call gives the numbers that it gives without a store.
"""

from __future__ import annotations

import errno
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.api.transforms.scan import over_rows
from msnb.base import disk_cache, events
from msnb.graph.compile import CompiledProgram

pytest.importorskip("llvmlite")
from msnb.devices.cpu.program.run import program_cache

X = np.linspace(-1, 1, 5000, dtype=np.float32)


@pytest.fixture(autouse=True)
def _machine_code() -> Iterator[None]:
    with ms.set_context(jit_level="O1"):
        yield


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MSNB_CACHE_DIR", str(tmp_path))
    return tmp_path / "kernels"


@pytest.fixture
def told() -> Iterator[list[str]]:
    """What the user is told about the store, with everything announced anew."""
    events.forget_notices()
    heard: list[str] = []
    with events.listening("notice", lambda text, key: heard.append(text) if key == "unkept" else None):
        yield heard
    events.forget_notices()


def branching(x: ms.Tensor) -> ms.Tensor:
    if x.sum() > 0:
        y = ops.exp(x)
    else:
        y = ops.tanh(x) * 2
    return y


def looping(x: ms.Tensor) -> ms.Tensor:
    n = ms.Tensor(0)
    while n < 3:
        if x.sum() > n:
            x = x * 0.5
        else:
            x = ops.sin(x) + 0.25
        n = n + 1
    return x


def calling(x: ms.Tensor) -> ms.Tensor:
    return ms.recompute(lambda x: ops.exp(ops.tanh(x)), x)


def scanning(x: ms.Tensor) -> ms.Tensor:
    return over_rows(lambda row: ops.tanh(row) * row.sum(), (x.reshape(5, 1000),))


def differentiated(fn: Callable[..., Any]) -> Callable[..., Any]:
    def gradient(x: ms.Tensor) -> Any:
        return ms.grad(lambda x: (fn(x) ** 2).sum())(x)

    gradient.__name__ = f"gradient_of_{fn.__name__}"
    return gradient


FORWARD = [branching, looping, calling, scanning]
PROGRAMS = [*FORWARD, *map(differentiated, FORWARD)]
each_program = pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)


def compiled(fn: Callable[..., Any]) -> tuple[CompiledProgram, np.ndarray[Any, Any]]:
    """The program of a twin of ``fn``, and what its first call gave."""
    jitted = ms.jit(lambda x: fn(x))
    out = jitted(ms.Tensor(X)).asnumpy()
    found: CompiledProgram = jitted.versions[0].compiled
    return found, out


# ---- control flow ---------------------------------------------------------------------------------------------------


@each_program
def test_control_flow_is_found_again(folder: Path, fn: Callable[..., Any]) -> None:
    (new, want), (old, found) = compiled(fn), compiled(fn)
    assert (new.recalled, old.recalled) == (False, True)
    assert any("control" in node.op.traits for _, node in new.source.walk()) and new.executable.reason is None
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(old([-X])[0], new([-X])[0])  # the other branch, other turns


@each_program
def test_control_flow_from_a_broken_entry(folder: Path, fn: Callable[..., Any]) -> None:
    _, want = compiled(fn)
    (entry,) = folder.glob("*.p")
    data = entry.read_bytes()
    entry.write_bytes(data[: len(data) // 2])
    again, found = compiled(fn)
    assert not again.recalled and entry.read_bytes() == data
    np.testing.assert_array_equal(found, want)


# ---- somebody else's programs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["msnb", "the format", "the CPU", "LLVM"])
def test_what_others_made_is_not_taken(folder: Path, monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    fn = differentiated(looping)
    _, want = compiled(fn)
    tools = list(program_cache.toolchain())
    if other == "msnb":
        monkeypatch.setattr(disk_cache, "sources", lambda *rooms: "another release")
    elif other == "the format":
        monkeypatch.setattr(program_cache, "FORMAT", "0")
    else:
        tools[{"LLVM": 2, "the CPU": 3}[other]] = "another one"
        monkeypatch.setattr(program_cache, "toolchain", lambda: tuple(tools))
    again, found = compiled(fn)
    assert not again.recalled
    np.testing.assert_array_equal(found, want)


# ---- at the same time -----------------------------------------------------------------------------------------------


def test_threads_share_the_store(folder: Path) -> None:
    want = {fn.__name__: compiled(fn)[1] for fn in FORWARD}
    for entry in folder.iterdir():
        entry.unlink()
    found: dict[str, list[Any]] = {name: [] for name in want}
    gate = threading.Barrier(2 * len(FORWARD))

    def run(fn: Callable[..., Any]) -> None:
        gate.wait()
        found[fn.__name__].append(compiled(fn)[1])

    threads = [threading.Thread(target=run, args=(fn,)) for fn in FORWARD * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, outs in found.items():
        assert len(outs) == 2
        for out in outs:
            np.testing.assert_array_equal(out, want[name])
    assert len(list(folder.glob("*.p"))) == len(FORWARD) and not list(folder.glob("*.part"))


_WRITER = """
import hashlib, sys
import msnb as ms
from tests.devices.cpu.test_cache_troubles import PROGRAMS, compiled
ms.set_context(jit_level="O1")
print("ready", flush=True)
sys.stdin.readline()
for fn in PROGRAMS:
    print(hashlib.sha256(compiled(fn)[1].tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_two_processes_write_at_once(folder: Path) -> None:
    begin = lambda: subprocess.Popen(
        [sys.executable, "-c", _WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        cwd=Path(__file__).parents[3],
    )  # fmt: skip
    pair = [begin(), begin()]
    for process in pair:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in pair:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate()[0] for process in pair]
    assert said[0] == said[1] and said[0].count("\n") == len(PROGRAMS)
    assert [process.returncode for process in pair] == [0, 0]
    assert len(list(folder.glob("*.p"))) == len(PROGRAMS) and not list(folder.glob("*.part"))


# ---- disks that refuse ----------------------------------------------------------------------------------------------


def refusing(number: int) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise OSError(number, errno.errorcode[number])

    return refuse


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES], ids=errno.errorcode.get)
@pytest.mark.parametrize("where", ["os.write", "os.replace"])
def test_a_disk_that_refuses_costs_one_notice(
    folder: Path, monkeypatch: pytest.MonkeyPatch, told: list[str], where: str, number: int
) -> None:
    module, name = where.split(".")
    with monkeypatch.context() as full:
        full.setattr(getattr(disk_cache, module), name, refusing(number))
        first, want = compiled(branching)
        again, found = compiled(branching)
    assert not first.recalled and not again.recalled
    np.testing.assert_array_equal(found, want)
    assert len(told) == 1 and str(folder) in told[0] and "MSNB_CACHE_DIR" in told[0]
    assert errno.errorcode[number] in told[0] and not list(folder.iterdir())
    compiled(branching)
    assert compiled(branching)[0].recalled  # there is room again


def test_a_full_disk_loses_nothing_of_what_is_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(branching)
    kept = {p: p.read_bytes() for p in folder.iterdir()}
    with monkeypatch.context() as full:
        full.setattr(disk_cache.os, "replace", refusing(errno.ENOSPC))
        assert compiled(branching)[0].recalled
        compiled(looping)
    assert {p: p.read_bytes() for p in folder.iterdir()} == kept


@pytest.mark.parametrize("trouble", ["shared", "file", "homeless"])
def test_a_folder_that_cannot_be_trusted_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: list[str], trouble: str
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setenv("MSNB_CACHE_DIR", str(tmp_path))
    if trouble == "shared":
        (tmp_path / "kernels").mkdir()
        (tmp_path / "kernels").chmod(0o777)
    elif trouble == "file":
        (tmp_path / "kernels").write_text("no folder")
    else:
        monkeypatch.delenv("MSNB_CACHE_DIR")
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setattr(Path, "home", homeless)
    (_, want), (again, found) = compiled(branching), compiled(branching)
    assert not again.recalled and len(told) == 1 and "not kept" in told[0]
    np.testing.assert_array_equal(found, want)


def test_no_store_no_notice(monkeypatch: pytest.MonkeyPatch, told: list[str]) -> None:
    monkeypatch.setenv("MSNB_CACHE_DIR", "")
    compiled(branching)
    assert not told
