"""How a native program behaves: memory of parameters, errors, interrupts, threads, memory that cannot be had."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base.errors import MsnbError
from msnb.devices.cpu import thread_pool
from tests.devices.cpu.codegen_programs import traced
from tests.devices.cpu.program_graphs import running_sum
from tests.devices.cpu.test_program_values import native
from tests.waiting import PATIENCE

pytest.importorskip("llvmlite")


@pytest.fixture(autouse=True)
def _machine_code() -> Iterator[None]:
    with ms.set_context(jit_level="O1"):
        yield


def program_of(fn: Any) -> Any:
    return fn.versions[0].compiled.executable


def address(tensor: ms.Tensor) -> int:
    return int(tensor._data.ctypes.data)


class Counter:
    """A parameter of some size that a jitted step decays."""

    def __init__(self, size: int = 40_000) -> None:
        self.w = ms.Parameter(np.full(size, 64, np.float32), name="w")
        self.step = ms.jit(self.decay)
        self.guarded = ms.jit(self.checked)

    def decay(self) -> ms.Tensor:
        ops.assign(self.w, self.w * 0.5 + 1)
        return self.w.sum()

    def checked(self, x: ms.Tensor) -> ms.Tensor:
        ops.assign(self.w, self.w * 0.5 + 1)
        assert x.sum() > 0, "x must be positive"
        return self.w.sum()


# ---- parameters -----------------------------------------------------------------------------------------------------


def test_a_parameter_that_nobody_else_holds_keeps_its_memory() -> None:
    c = Counter()
    c.step()
    first = address(c.w)
    for _ in range(3):
        c.step()
        assert address(c.w) == first
    np.testing.assert_allclose(c.w.asnumpy(), 64 / 16 + 2 - 2 / 16)


@pytest.mark.parametrize("hold", ["array", "view", "dlpack", "tensor", "memory"])
def test_whoever_looks_at_the_old_value_goes_on_seeing_it(hold: str) -> None:
    c = Counter()
    c.step()
    keep: dict[str, Callable[[], Any]] = {
        "array": lambda: c.w._data,
        "view": lambda: c.w._data[10:20],
        "dlpack": lambda: np.from_dlpack(c.w._data),
        "tensor": lambda: ms.Tensor(c.w),
        "memory": lambda: memoryview(c.w._data),
    }
    held = keep[hold]()
    c.step()
    old = held._data if isinstance(held, ms.Tensor) else np.asarray(held)
    np.testing.assert_allclose(old, 33)
    np.testing.assert_allclose(c.w.asnumpy(), 17.5)


def test_two_parameters_with_one_array_part() -> None:
    c, d = Counter(), Counter()
    c.step()
    d.w._data = c.w._data
    d.step()
    np.testing.assert_allclose(c.w.asnumpy(), 33)
    np.testing.assert_allclose(d.w.asnumpy(), 17.5)


def test_parameters_lend_all_together_or_not_at_all() -> None:
    a, b = (ms.Parameter(np.full(5000, v, np.float32), name=n) for v, n in ((1.0, "a"), (2.0, "b")))

    @ms.jit
    def step() -> ms.Tensor:
        ops.assign(a, a * 2)
        ops.assign(b, running_sum(b))
        return a.sum()

    step()
    here = address(a), address(b)
    step()
    assert (address(a), address(b)) == here and "linear_recurrence" in program_of(step).host_steps
    held = b._data
    step()
    assert address(a) != here[0] and address(b) != here[1]
    np.testing.assert_allclose(held[:3], [2, 6, 12])
    np.testing.assert_array_equal(a.asnumpy(), 8)


def test_a_failing_assert_changes_nothing() -> None:
    c = Counter()
    c.guarded(ms.Tensor([1.0]))
    before = c.w.asnumpy().copy()
    with pytest.raises(AssertionError, match="x must be positive"):
        c.guarded(ms.Tensor([-1.0]))
    np.testing.assert_array_equal(c.w.asnumpy(), before)
    c.guarded(ms.Tensor([1.0]))
    np.testing.assert_allclose(c.w.asnumpy(), before * 0.5 + 1)


def test_an_old_value_that_is_given_back_is_the_old_value() -> None:
    w = ms.Parameter(np.ones(40_000, np.float32), name="w")

    class Step(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = w

        def construct(self) -> tuple[ms.Tensor, ms.Tensor]:
            old = self.w * 1
            flat = self.w.reshape(200, 200)
            ops.assign(self.w, self.w + 1)
            return old, flat

    step = ms.jit(Step())
    for i in range(3):
        old, flat = step()
        np.testing.assert_array_equal(old.asnumpy(), i + 1)
        np.testing.assert_array_equal(flat.asnumpy(), i + 1)
        del old, flat
    np.testing.assert_array_equal(w.asnumpy(), 4)


# ---- what runs in Python --------------------------------------------------------------------------------------------


def test_nodes_that_run_in_python_are_named() -> None:
    rng = np.random.default_rng(1)
    program = native(traced(lambda x: running_sum(x).sum() + x.sum(), ms.Tensor(np.ones((3, 3), np.float32))))
    assert "linear_recurrence" in program.host_steps
    x = rng.standard_normal((3, 3)).astype(np.float32)
    np.testing.assert_allclose(program([x])[0], x.cumsum(0).sum() + x.sum(), rtol=1e-5)


def test_what_cannot_be_laid_out_says_so_once_and_runs(notices: list[str]) -> None:
    for _ in range(2):
        fn = ms.jit(lambda x: ops.nonzero(x).sum())
        assert int(fn(ms.Tensor([0.0, 2.0, 3.0]))) == 3
    assert program_of(fn).reason is not None
    assert len([t for t in notices if "operation by operation" in t]) == 1


def test_numbers_that_do_not_fit_give_the_errors_of_the_reference() -> None:
    def added(x, k):
        return x + k

    fn = ms.jit(added)
    x = ms.Tensor(np.ones(3, np.int64))
    assert fn(x, 2).tolist() == [3, 3, 3]
    with ms.set_context(jit_level="O0"):
        plain = ms.jit(added)
        with pytest.raises(OverflowError) as want:
            plain(x, 2**80)
    with pytest.raises(OverflowError) as got:
        fn(x, 2**80)
    assert str(got.value) == str(want.value)


def test_arguments_in_odd_layouts() -> None:
    program = native(traced(lambda x: ops.tanh(x) * 2, ms.Tensor(np.ones((6, 4), np.float32))))
    base = np.random.default_rng(2).standard_normal((4, 6)).astype(np.float32)
    raw = np.zeros(4 * 24 + 1, np.uint8)[1:].view(np.float32).reshape(6, 4)
    raw[...] = base.T
    for x in (base.T, np.repeat(base.T, 2, 0)[::2], raw):
        np.testing.assert_allclose(program([x])[0], np.tanh(base.T) * 2, rtol=1e-5)


# ---- stopping -------------------------------------------------------------------------------------------------------


def endless(c: Any) -> Callable[[], Any]:
    """A compiled program in a loop that only an interrupt ends."""

    def step(x: ms.Tensor, rounds: ms.Tensor) -> ms.Tensor:
        ops.assign(c.w, c.w + 1)
        i = ms.Tensor(0)
        while i < rounds:
            x = ops.tanh(x * 0.5 + 0.1)
            i = i + (x[0, 0] > 2).astype(ms.int64)
        return x

    run, x = ms.jit(step), ms.Tensor(np.ones((8, 8), np.float32))
    run(x, ms.Tensor(0))
    assert program_of(run).host_steps == []
    return lambda: run(x, ms.Tensor(1))


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
def test_an_interrupt_stops_a_long_call_and_changes_nothing() -> None:
    c = Counter()
    run = endless(c)
    before = c.w.asnumpy().copy()

    def ring(*_: Any) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, ring)
    try:
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 0.5)
                run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    np.testing.assert_array_equal(c.w.asnumpy(), before)


def test_other_threads_run_while_a_program_runs() -> None:
    import _thread

    c = Counter()
    run = endless(c)
    before, timer = c.w.asnumpy().copy(), threading.Timer(0.5, _thread.interrupt_main)
    try:
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            run()
    finally:
        timer.cancel()
    np.testing.assert_array_equal(c.w.asnumpy(), before)


def test_threads_queue() -> None:
    rng = np.random.default_rng(3)
    a, b = (ms.Tensor(rng.standard_normal((64, 64)).astype(np.float32)) for _ in range(2))
    fn = ms.jit(lambda x, y: ops.tanh(x @ y).sum(0) @ ops.exp(-y))
    want = fn(a, b).asnumpy()
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(50):
            got = fn(a, b).asnumpy()
            if not np.allclose(got, want, rtol=1e-5):
                wrong.append(got)

    many = [threading.Thread(target=work) for _ in range(4)]
    for t in many:
        t.start()
    for t in many:
        t.join()
    assert not wrong


def test_a_program_away_from_the_main_thread_has_all_cores() -> None:
    fn, x = ms.jit(lambda x: ops.tanh(x @ x).sum(0)), ms.Tensor(np.ones((64, 64), np.float32))
    fn(x)
    used: list[int] = []

    def work() -> None:
        fn(x)
        used.append(int(program_of(fn)._loaded.env[0]))

    t = threading.Thread(target=work)
    t.start()
    t.join()
    assert used == [thread_pool.of_a_program()]


def test_a_callback_may_wait_for_a_program_in_another_thread() -> None:
    """A program holds the pool only while it runs natively, so its Python parts can wait for others."""
    other, x = ms.jit(lambda x: ops.exp(x).sum()), ms.Tensor(np.ones(8, np.float32))
    other(x)
    waited: list[float] = []

    @ms.jit
    def fn(x: ms.Tensor) -> ms.Tensor:
        y = ops.tanh(x) * 2
        ops.print("", y)
        return y + 1

    def patiently(*args: Any) -> Any:
        t = threading.Thread(target=lambda: waited.append(float(other(x))), daemon=True)
        t.start()
        t.join(PATIENCE)
        return plain(*args)

    fn(x)
    step = program_of(fn)._loaded.steps[-1]
    plain, step.run = step.run, patiently
    fn(x)
    assert len(waited) == 1


def test_a_program_that_is_called_from_inside_itself() -> None:
    depth = []

    def hook(x: ms.Tensor) -> None:
        if len(depth) < 2:
            depth.append(1)
            fn(ms.Tensor([2.0, 3.0]))

    @ms.jit
    def fn(x: ms.Tensor) -> ms.Tensor:
        y = ops.tanh(x) * 2
        ops.print("", y)
        return y + 1

    program = program_of(fn) if fn.versions else None
    assert program is None
    fn(ms.Tensor([1.0, 2.0]))
    program = program_of(fn)
    inner: list[Any] = []
    step = program._loaded.steps[-1]
    plain = step.run

    def again(*args: Any) -> Any:
        if not inner:
            inner.append(program([np.array([5.0, 6.0], np.float32)])[0])
        return plain(*args)

    step.run = again
    got = program([np.array([1.0, 2.0], np.float32)])[0]
    np.testing.assert_allclose(got, np.tanh([1.0, 2.0]) * 2 + 1, rtol=1e-5)
    np.testing.assert_allclose(inner[0], np.tanh([5.0, 6.0]) * 2 + 1, rtol=1e-5)


# ---- memory ---------------------------------------------------------------------------------------------------------


def test_no_memory_is_a_sentence_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from msnb.devices.cpu.program.run import arena_pool

    c = Counter()
    x = ms.Tensor(np.random.default_rng(4).standard_normal((300, 300)).astype(np.float32))

    @ms.jit
    def step(x: ms.Tensor) -> ms.Tensor:
        ops.assign(c.w, c.w + 1)
        return (x @ x @ x).sum()

    want = float(step(x))
    before = c.w.asnumpy().copy()

    def none(self: Any, size: int, last: Any) -> Any:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(arena_pool.ArenaPool, "take", none)
        with pytest.raises(MemoryError, match="working memory.*largest values") as told:
            step(x)
    assert isinstance(told.value, MsnbError)
    np.testing.assert_array_equal(c.w.asnumpy(), before)
    assert float(step(x)) == want


def test_arenas_are_handed_on() -> None:
    from msnb.devices.cpu.program.run.arena_pool import ArenaPool

    shelf = ArenaPool()
    large = shelf.take(1000, None)
    small = shelf.take(100, None)
    assert large is not small
    shelf.give(large)
    shelf.give(small)
    assert shelf.take(50, large) is large
    assert shelf.take(50, None) is small
    shelf.give(large)
    shelf.give(small)
    assert all(shelf.take(5000, large) is not a for a in (large, small))


def test_values_that_are_not_alive_together_share_memory() -> None:
    def chain(x: ms.Tensor) -> ms.Tensor:
        for _ in range(12):
            x = x @ x
        return x

    program = native(traced(chain, ms.Tensor(np.eye(64, dtype=np.float32))))
    assert 0 < program.peak <= 3 * 64 * 64 * 4
    for v in program.memory_plan:
        for w in program.memory_plan:
            apart = v.offset + v.bytes <= w.offset or w.offset + w.bytes <= v.offset
            assert v is w or apart or v.last < w.first or w.last < v.first


def test_one_thread_away_from_the_main_thread() -> None:
    found: list[int] = []
    t = threading.Thread(target=lambda: found.append(thread_pool.count()))
    t.start()
    t.join()
    assert found == [1]
    assert sys.getswitchinterval() > 0


# ---- binding --------------------------------------------------------------------------------------------------------


def test_without_known_object_layouts_arguments_are_bound_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    from msnb.devices.cpu.program.run import argument_binding

    monkeypatch.setattr(argument_binding, "binder", lambda: None)
    c = Counter()
    c.step()
    first = address(c.w)
    c.step()
    assert address(c.w) == first
    held, before = c.w._data, c.w.asnumpy().copy()
    c.step()
    np.testing.assert_array_equal(held, before)
    assert address(c.w) != first
    test_arguments_in_odd_layouts()


@pytest.mark.parametrize("wrong", ["dtype", "shape", "axes", "subclass"])
def test_arguments_that_are_not_what_the_graph_says_go_to_the_reference(wrong: str) -> None:
    class Mine(np.ndarray):
        pass

    program = native(traced(lambda x: ops.tanh(x).sum(0), ms.Tensor(np.ones((6, 4), np.float32))))
    x = np.ones((6, 4), np.float32)
    odd = {
        "dtype": x.astype(np.float64), "shape": np.ones((3, 4), np.float32), "axes": np.ones((1, 6, 4), np.float32),
        "subclass": x.view(Mine),
    }[wrong]  # fmt: skip
    np.testing.assert_allclose(program([odd])[0], np.tanh(odd).sum(0), rtol=1e-5)
    np.testing.assert_allclose(program([x])[0], np.tanh(x).sum(0), rtol=1e-5)


def test_stacks_grow_over_many_chunks_and_are_given_back() -> None:
    def turns(w: ms.Tensor, n: ms.Tensor) -> ms.Tensor:
        x, i = w, ms.Tensor(0)
        while i < n:
            x = ops.tanh(x @ w + 0.1)
            i = i + 1
        return x.sum()

    fn = ms.jit(ms.grad(turns))
    w = ms.Tensor(np.random.default_rng(5).standard_normal((32, 32)).astype(np.float32) * 0.05)
    with ms.set_context(jit_level="O0"):
        want = ms.jit(ms.grad(turns))(w, ms.Tensor(3000)).asnumpy()
    for _ in range(2):
        np.testing.assert_allclose(fn(w, ms.Tensor(3000)).asnumpy(), want, rtol=1e-3, atol=1e-6)
        program = program_of(fn)
        assert sum(chunk.nbytes for chunk in program._chunks) <= 1 << 22
    assert fn(w, ms.Tensor(0)).shape == (32, 32)
