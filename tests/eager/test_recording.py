"""The eager engine: dispatch, tapes, the cache of backward programs, events."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.core import events
from msnb.eager import backward
from msnb.eager.gradient import Recording


def test_attributes_of_equal_value_and_other_type_are_other_signatures() -> None:
    x = ms.Tensor(np.array([1, 5], np.int32))
    assert ms.ops.clip(x, 0, 3).dtype is ms.int32
    assert ms.ops.clip(x, 0.0, 3.0).tolist() == [1, 3]


def test_a_repeated_step_finds_its_backward_program() -> None:
    step = ms.grad(lambda x: (x * x + 2.5 * x).sum())
    step(ms.Tensor([1.0, 2.0]))
    before = set(backward._programs)
    for k in range(3):
        assert step(ms.Tensor([1.0, float(k)])).tolist() == [4.5, 2 * k + 2.5]
    assert set(backward._programs) == before


def test_another_structure_is_another_program() -> None:
    def branch(x: Any) -> Any:
        return x * x if float(x) > 0 else x * 3

    step = ms.grad(branch)
    assert [float(step(ms.Tensor(v))) for v in (2.0, -2.0, 4.0, -4.0)] == [4.0, 3.0, 8.0, 3.0]


def test_aliased_operands_are_part_of_the_structure() -> None:
    product = ms.grad(lambda x, y: x * y, (0, 1))
    a, b = ms.Tensor(2.0), ms.Tensor(3.0)
    assert [float(g) for g in product(a, b)] == [3.0, 2.0]
    assert [float(g) for g in product(a, a)] == [2.0, 2.0]


def test_python_and_events_run_on_every_call() -> None:
    ran: list[str] = []
    seen: list[str] = []

    def f(x: Any) -> Any:
        ran.append("python")
        return ms.ops.sin(x) * 2

    def listen(op: Any, **_: Any) -> None:
        seen.append(op.name)

    with events.listening("op", listen):
        for _ in range(3):
            ms.grad(f)(ms.Tensor(1.0))
            f(ms.Tensor(1.0))
    assert len(ran) == 6
    assert seen.count("sin") == 6


def test_only_what_a_rule_reads_is_kept() -> None:
    with Recording([ms.Tensor([1.0, 2.0])]) as tape:
        x = tape.inputs[0]
        _ = x + ms.Tensor([1.0, 1.0])
        _ = ms.ops.exp(x)
        _ = x * x
    assert [len(kept) for kept in tape.recorder.saved] == [0, 1, 2]


def test_a_finished_recording_keeps_nothing_alive() -> None:
    w = ms.Parameter(np.array([1.0, 2.0]), name="w")
    value, _ = ms.value_and_grad(lambda x: (x * w).sum(), None, [w])(ms.Tensor(np.array([3.0, 4.0])))
    assert w._rec is None
    assert value._rec is None


def test_a_failing_function_leaves_the_engine_as_it_was() -> None:
    w = ms.Parameter(np.array([1.0]), name="w")

    def fails(x: Any) -> Any:
        raise RuntimeError("mine")

    for _ in range(2):
        with pytest.raises(RuntimeError, match="mine"):
            ms.grad(fails, None, w)(ms.Tensor([1.0]))
        assert w._rec is None
        assert (w * 2).tolist() == [2.0]


def test_index_assignment_is_differentiated() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        y[1] = x[0] * 10
        return (y * ms.Tensor(np.array([1.0, 2.0, 3.0]))).sum()

    assert ms.grad(f)(ms.Tensor(np.array([1.0, 2.0, 3.0]))).tolist() == [21.0, 0.0, 3.0]


def test_values_not_views() -> None:
    x = ms.Tensor([1.0, 2.0, 3.0])
    y, host = x[0:2], x.asnumpy()
    x[0] = 10.0
    host[1] = 20.0
    assert (x.tolist(), y.tolist()) == ([10.0, 2.0, 3.0], [1.0, 2.0])


def test_gradients_in_two_threads() -> None:
    import threading

    results: dict[int, float] = {}

    def work(k: int) -> None:
        for _ in range(20):
            results[k] = float(ms.grad(lambda x: x * x * k)(ms.Tensor(2.0)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == {k: 4.0 * k for k in range(1, 5)}
