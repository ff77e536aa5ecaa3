"""The eager engine: dispatch, tapes, the cache of backward programs, events."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.base import events
from msnb.core import dtypes
from msnb.core.engine import slot, using
from msnb.eager import backward_program
from msnb.eager.autocast import Autocast, casting
from msnb.eager.dispatch import EagerEngine
from msnb.eager.recording import Recording


def test_attributes_of_equal_value_and_other_type_are_other_signatures() -> None:
    x = ms.Tensor(np.array([1, 5], np.int32))
    assert ms.ops.clip(x, 0, 3).dtype is ms.int32
    assert ms.ops.clip(x, 0.0, 3.0).tolist() == [1, 3]


def test_a_repeated_step_finds_its_backward_program() -> None:
    step = ms.grad(lambda x: (x * x + 2.5 * x).sum())
    before = set(backward_program._programs)
    for k in range(6):
        assert step(ms.Tensor([1.0, float(k)])).tolist() == [4.5, 2 * k + 2.5]
    made = {program for key, (program, _) in backward_program._programs.items() if key not in before}
    assert len(made) == 1


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


def test_functions_of_numpy_work_on_values(mode: int) -> None:
    x = ms.Tensor(np.array([[1.0, 2.0], [3.0, 5.0]], np.float32))
    assert np.mean(x) == 2.75 and np.sum(x, axis=0).tolist() == [4.0, 7.0]
    assert np.concatenate([x, x], axis=1).shape == (2, 4) and np.where(x > 2, x, 0).tolist() == [[0, 0], [3, 5]]
    assert np.mean(x).dtype == np.float32 and isinstance(np.stack((x, x)), np.ndarray)
    assert np.linalg.norm(x) == np.linalg.norm(x.asnumpy()) and np.einsum("ij->j", x).tolist() == [4.0, 7.0]
    with pytest.raises(ms.MsnbError, match="use tensor operations"):
        ms.jit(lambda x: np.mean(x), fullgraph=True)(x)
    assert ms.jit(lambda x: np.mean(x))(x) == 2.75


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


def test_a_transposed_value_is_kept_as_it_lies() -> None:
    rng = np.random.default_rng(3)
    x, w = (ms.Tensor(rng.standard_normal(shape).astype(np.float32)) for shape in ((4, 6), (5, 6)))
    weight = ms.Parameter(w, name="weight")
    step = ms.grad(lambda x: ms.ops.tanh(x @ weight.T).sum(), 0, weight)
    found = [step(x) for _ in range(3)]
    want = 1 - np.tanh(x.asnumpy() @ w.asnumpy().T) ** 2
    for dx, dw in found:
        np.testing.assert_allclose(dx.asnumpy(), want @ w.asnumpy(), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(dw.asnumpy(), want.T @ x.asnumpy(), rtol=1e-4, atol=1e-5)
    program, _ = next(reversed(backward_program._programs.values()))
    assert list(program._turns.values()) == [(1, 0)]


def test_orders_in_which_arrays_lie_densely() -> None:
    a = np.zeros((2, 3, 4))
    orders = {(0, 1, 2): None, (2, 0, 1): (1, 2, 0), (0, 2, 1): (0, 2, 1)}
    assert {p: backward_program.dense_order(a.transpose(p)) for p in orders} == orders
    assert backward_program.dense_order(a[:, ::2]) is None
    assert backward_program.dense_order(2.5) is None


def test_engines_with_rules_of_their_own_are_asked_for_pairs_too() -> None:
    seen: list[str] = []

    class Watching(EagerEngine):
        def apply(self, op: Any, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
            seen.append(op.name)
            return super().apply(op, inputs, attrs)

    x = ms.Tensor(np.ones((2, 2), np.float32))
    with using(Watching()):
        assert float((x + x)[0, 0]) == 2
        assert seen[0] == "add"
        assert (x @ x).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert seen[-1] == "matmul"


def test_operators_follow_a_rule_of_precision() -> None:
    x = ms.Tensor(np.ones((2, 2), np.float32))
    rule = Autocast(dtypes.float16, white=("matmul", "add"))
    for engine in (slot.engine, Recording([x]).engine):
        with using(engine), casting(slot.engine, rule):
            assert (x + x).dtype is (x @ x).dtype is ms.float16
        assert (x + x).dtype is ms.float32


def test_the_short_way_tells_mistakes_in_full() -> None:
    x, y = ms.Tensor(np.ones((2, 3), np.float32)), ms.Tensor(np.ones((4, 5), np.float32))
    for _ in range(2):
        for engine in (slot.engine, Recording([x]).engine):
            with using(engine), pytest.raises(ValueError, match=r"\[2, 3\]|\(2, 3\)|f32\[2,3\]"):
                x + y


def test_gradient_passes_through_the_value_of_a_parameter(mode: str) -> None:
    w, x = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w"), ms.Tensor([3.0, 4.0])

    def loss(x: ms.Tensor) -> ms.Tensor:
        return (w.value() ** 3 * x + w).sum()

    first = ms.grad(loss, None, [w])
    np.testing.assert_allclose(first(x)[0].asnumpy(), [10.0, 49.0])
    second = ms.grad(lambda x: first(x)[0].sum(), None, [w])
    np.testing.assert_allclose(second(x)[0].asnumpy(), [18.0, 48.0])
    before = w.value()
    w.set_data(ms.Tensor([5.0, 6.0]))
    np.testing.assert_array_equal(before.asnumpy(), [1.0, 2.0])
