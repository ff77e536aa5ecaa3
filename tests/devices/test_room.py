"""What cannot fit in memory is refused with a sentence, before anything is touched: in both modes, at both levels."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.base import free_memory
from msnb.base.errors import MsnbError, OutOfMemoryError

HUGE = (1_000_000, 1_000_000)
LARGE = (free_memory.CHECKED // 4 + 1,)


@pytest.fixture(params=["O0", "O1"])
def level(request: pytest.FixtureRequest) -> None:
    ms.set_context(jit_level=request.param)


def refused(mode: int, fn: Any, *args: Any) -> str:
    with pytest.raises(MemoryError) as told:
        (ms.jit(fn) if mode == ms.GRAPH_MODE else fn)(*args)
    assert isinstance(told.value, MsnbError) and isinstance(told.value, OutOfMemoryError)
    assert told.value.hint
    return str(told.value)


def test_a_million_million_elements(mode: int, level: None) -> None:
    x = ms.Tensor([1.0])
    text = refused(mode, lambda x: ops.ones(HUGE) + x, x)
    assert "3,725.3 GiB" in text and "f32[1000000,1000000]" in text and "are free" in text
    assert "needs 0.0 MiB of working memory, which" not in text and "values: ." not in text
    text = refused(mode, lambda x: ops.broadcast_to(x, HUGE) * 2, x)
    assert "3,725.3 GiB" in text
    text = refused(mode, lambda x: ms.grad(lambda y: (ops.broadcast_to(y, HUGE) * 2 + 1).max())(x), x)
    assert "GiB" in text


def test_views_take_no_memory(level: None) -> None:
    assert ops.broadcast_to(ms.Tensor([1.0]), HUGE)[5, :3].tolist() == [1.0, 1.0, 1.0]


def test_what_is_larger_than_what_is_free(mode: int, level: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operating system would have promised it. Parameters stay as they were, and what fits goes on."""
    from msnb.devices.cpu.program.run import arena_pool

    p = ms.Parameter(ms.Tensor([1.0]), name="p")

    def step(x: Any) -> Any:
        ops.assign(p, p + 1)
        return ops.broadcast_to(x, LARGE) * 2

    run = ms.jit(step) if mode == ms.GRAPH_MODE else step
    x = ms.Tensor([1.0])
    with monkeypatch.context() as patch:
        for module in (free_memory, arena_pool):
            patch.setattr(module, "free_memory", lambda: 1 << 20)
        text = refused(ms.PYNATIVE_MODE, run, x)
        assert "64.0 MiB" in text and "1.0 MiB are free" in text
        if mode == ms.GRAPH_MODE and ms.get_context("jit_level") == "O1":
            assert p.tolist() == [1.0]
        assert (x + 1).tolist() == [2.0]
    assert run(x).shape == LARGE


def test_a_kernel_that_finds_no_memory(mode: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's own error, wherever it comes from, is told with the operator and its operands."""
    ms.set_context(jit_level="O0")

    def none(*args: Any, **attrs: Any) -> Any:
        raise MemoryError("Unable to allocate")

    with monkeypatch.context() as patch:
        patch.setattr(np, "cumsum", none)
        text = refused(mode, lambda x: ops.cumsum(x, 0), ms.Tensor([[1.0, 2.0]]))
    assert "cumsum" in text and "x: f32[1,2]" in text


def test_free_memory_of_control_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The least of the machine and of all groups, of both kinds; files that can be dropped do not count as used."""
    group, mine, machine = tmp_path / "cgroup", tmp_path / "mine", tmp_path / "meminfo"
    for name, value in (("_GROUPS", group), ("_MINE", mine), ("_MACHINE", machine)):
        monkeypatch.setattr(free_memory, name, value)
    assert free_memory.free_memory() is None
    machine.write_text("MemTotal: 4096 kB\nMemAvailable:    2048 kB\n")
    assert free_memory.free_memory() == 2 << 20
    mine.write_text("4:cpu,memory:/a/b\n0::/c\n")
    (group / "memory" / "a" / "b").mkdir(parents=True)
    (group / "memory" / "a" / "memory.limit_in_bytes").write_text("1000000\n")
    (group / "memory" / "a" / "memory.usage_in_bytes").write_text("400000\n")
    assert free_memory.free_memory() == 600_000
    (group / "c").mkdir()
    (group / "c" / "memory.max").write_text("max\n")
    (group / "c" / "memory.current").write_text("7\n")
    assert free_memory.free_memory() == 600_000
    (group / "c" / "memory.max").write_text("500000\n")
    (group / "c" / "memory.stat").write_text("anon 5\ninactive_file 3\n")
    assert free_memory.free_memory() == 499_996
    (group / "c" / "memory.current").write_text("900000\n")
    assert free_memory.free_memory() == 0


def test_the_compiler_that_cannot_be_loaded() -> None:
    pytest.importorskip("llvmlite")
    from msnb.devices.cpu.llvm.jit import not_loaded

    outer = OSError("Could not find/load shared object file 'libllvmlite.so'")
    outer.__context__ = OSError("libllvmlite.so: failed to map segment from shared object: Cannot allocate memory")
    assert isinstance(not_loaded(outer), OutOfMemoryError) and "too little memory" in str(not_loaded(outer))
    outer.__context__ = OSError("libz.so.1: cannot open shared object file")
    told = not_loaded(outer)
    assert not isinstance(told, MemoryError) and "libz.so.1" in str(told) and "O0" in told.hint


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")
def test_little_memory_is_told_as_little_memory() -> None:
    pytest.importorskip("llvmlite")
    program = (
        "import resource, msnb as ms\n"
        "x = ms.Tensor([1.0])\n"
        "used = 4096 * int(open('/proc/self/statm').read().split()[0])\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (30 << 20),) * 2)\n"
        "ms.set_context(jit_level='O1')\n"
        "try: ms.jit(lambda x: x * 2)(x)\n"
        "except MemoryError as e: print(type(e).__name__, e)\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert "OutOfMemoryError the compiler (llvmlite) could not be loaded: there is too little memory" in found.stdout, (
        found.stderr[-2000:]
    )
