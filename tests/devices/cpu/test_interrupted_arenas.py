"""An interrupt between the slots of a call and the note of its arena: the next call must not write where it was."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.devices.cpu.eager import kernel_cache
from msnb.devices.cpu.program.run import arena_pool, executor

pytestmark = pytest.mark.skipif(ms.get_context("jit_level") != "O1", reason="arenas belong to native programs")


def _interrupt_once(monkeypatch: pytest.MonkeyPatch, module: Any) -> list[int]:
    left = [1]

    def ref(arena: Any) -> Any:
        if left:
            left.pop()
            raise KeyboardInterrupt
        return weakref.ref(arena)

    monkeypatch.setattr(module, "weakref", SimpleNamespace(ref=ref))
    return left


def _with_another_arena(call: Any, monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
    """Interrupt a call while another arena lies on the shelf than at its last; then the first one is back alone."""
    first, arena_pool.SHELF._free = arena_pool.SHELF._free, []
    left = _interrupt_once(monkeypatch, module)
    with pytest.raises(KeyboardInterrupt):
        call()
    assert not left
    arena_pool.SHELF._free = first
    gc.collect()


def test_an_eager_kernel(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    a = rng.standard_normal((32, 500)).astype(np.float32)
    x = ms.Tensor(a)
    before = {id(e) for e in gc.get_objects() if isinstance(e, kernel_cache.KernelEntry)}
    ms.ops.sort(x)
    (entry,) = [e for e in gc.get_objects() if isinstance(e, kernel_cache.KernelEntry) and id(e) not in before]
    _with_another_arena(lambda: ms.ops.sort(x), monkeypatch, kernel_cache)
    np.testing.assert_array_equal(ms.ops.sort(x)[0].asnumpy(), np.sort(a))
    arena = entry._arena()
    start = arena_pool.aligned(arena)
    assert (entry._slots[entry._temps] == entry._offsets + start).all(), "slots of an arena that is gone"


def test_a_program(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    a = rng.standard_normal((64, 96)).astype(np.float32)

    @ms.jit
    def chain(x: Any) -> Any:
        return ((x @ x.T).tanh() @ x).sum(0)

    x = ms.Tensor(a)
    chain(x)
    program = next(
        p for p in gc.get_objects() if isinstance(p, executor.NativeProgram) and p.graph.name == "chain" and p.peak
    )
    _with_another_arena(lambda: chain(x), monkeypatch, executor)
    np.testing.assert_allclose(chain(x).asnumpy(), (np.tanh(a @ a.T) @ a).sum(0), 2e-4, 2e-4)
    loaded, arena = program._loaded, program._arena()
    assert loaded is not None and arena is not None
    assert (loaded.slots[loaded.arena_slots] == loaded.arena_offsets + arena_pool.aligned(arena)).all()
