"""Steps of training on the GPU: the CPU's numbers, one CUDA graph a step, and nothing that waits or copies.

first call      launches one by one            second call on      one graph launch
a step          no synchronisation, no copy between host and device
"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from training_networks import NETWORKS, OPTIMIZERS, Training, floats

import msnb as ms
from msnb import nn, ops
from msnb.base import device_registry
from msnb.devices.gpu.program import cuda_graphs
from msnb.devices.gpu.program.device_program import DeviceProgram

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.slow

STEPS = 4
CASES = [*((n, "adam") for n in NETWORKS), *(("mlp", o) for o in OPTIMIZERS if o != "adam")]


def programs() -> list[DeviceProgram]:
    """Those that live and have run."""
    return [o for o in gc.get_objects() if type(o) is DeviceProgram and o.built is not None and o.runs]


def counts(gpu: Any) -> dict[str, int]:
    """Since the last time, without what is 0."""
    found = {k: v for k, v in vars(gpu.counters).items() if v}
    gpu.counters.reset()
    return found


def trained(name: str, optimizer: str, gpu: Any = None) -> tuple[list[float], list[np.ndarray], list[dict[str, int]]]:
    """Losses, weights, and what each step asked of the GPU."""
    make, batches = NETWORKS[name]
    training, losses, told = Training(make, OPTIMIZERS[optimizer]), [], []
    for batch in batches(STEPS):
        args = [ms.Tensor(a) for a in batch]
        if gpu is not None:
            gpu.counters.reset()
        loss = training.step(*args)
        if gpu is not None:
            told.append(counts(gpu))
        losses.append(float(loss.asnumpy()))
        del loss
    return losses, training.weights(), told


@pytest.mark.parametrize(("name", "optimizer"), CASES)
def test_a_step_is_one_graph_and_the_numbers_are_the_hosts(gpu: Any, name: str, optimizer: str) -> None:
    before = programs()
    losses, weights, told = trained(name, optimizer, gpu)
    (step,) = [p for p in programs() if p.graph.state and not any(p is b for b in before)]
    assert step.graphs.capturable and step.graphs.launches == STEPS - 1
    for found in told[1:]:
        assert found.get("graph_launches") == 1 and not found.get("synchronisations")
        assert not found.get("downloads")
    assert set(told[-1]) == {"graph_launches", "kernels_run"}, "the last step does more than launch"
    planned = device_registry.current().arena_of(step)
    assert step.peak == max((-(-(b.offset + max(b.bytes, 1)) // 256) * 256 for b in planned), default=0)
    assert step.peak == (0 if step.memory.arena is None else step.memory.arena.nbytes)
    ms.set_context(device_target="CPU")
    wanted, expected, _ = trained(name, optimizer)
    np.testing.assert_allclose(losses, wanted, rtol=2e-6)
    for got, want in zip(weights, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-6)


# ---- what is handed out ----------------------------------------------------------------------------------------------


def mlp(gpu: Any) -> tuple[Training, list[list[ms.Tensor]]]:
    """A perceptron with its batches, which stay where they are."""
    training = Training(NETWORKS["mlp"][0], OPTIMIZERS["adam"])
    return training, [[ms.Tensor(a) for a in batch] for batch in NETWORKS["mlp"][1](4)]


def test_results_stay_valid_while_they_are_held(gpu: Any) -> None:
    training, batches = mlp(gpu)
    held = [training.step(*batch) for batch in batches]
    first = [float(r.asnumpy()) for r in held]
    views = [r.reshape(1) for r in held]
    del held
    again = [training.step(*batch) for batch in batches]
    assert [v.asnumpy().tolist() for v in views] == [[x] for x in first]
    fresh, batches = mlp(gpu)
    assert [float(fresh.step(*batch).asnumpy()) for batch in batches] == first
    assert len({float(r.asnumpy()) for r in again}) == len(again)


def test_weights_that_others_hold_are_copied(gpu: Any) -> None:
    training, batches = mlp(gpu)
    training.step(*batches[0])
    training.step(*batches[1])
    params = training.net.trainable_params()
    kept = [p.value() for p in params]
    parts = [p[:1] for p in params]
    was = [k.asnumpy().copy() for k in kept]
    training.step(*batches[2])
    for k, part, p, value in zip(kept, parts, params, was, strict=True):
        np.testing.assert_array_equal(k.asnumpy(), value)
        np.testing.assert_array_equal(part.asnumpy(), value[:1])
        assert not np.array_equal(p.asnumpy(), value)


def test_two_cells_share_a_parameter(gpu: Any) -> None:
    """A network and its copy by reference: both see the new weights."""
    training, batches = mlp(gpu)
    other = training.net
    alone = ms.jit(lambda x: other(x))
    for batch in batches[:4]:
        training.step(*batch)
        seen = alone(batch[0]).asnumpy()
    np.testing.assert_allclose(seen, ms.jit(other.construct)(batches[3][0]).asnumpy(), rtol=1e-6)


# ---- what does not record again --------------------------------------------------------------------------------------


def test_learning_rates_that_change_do_not_record_again(gpu: Any) -> None:
    rates = [0.1 * 0.9**k for k in range(20)]
    results = {}
    for target in ("GPU", "CPU"):
        ms.set_context(device_target=target)
        training = Training(NETWORKS["mlp"][0], lambda p: nn.Momentum(p, rates, 0.9))
        gpu.counters.reset()
        for batch in floats(6, 20)(7):
            training.step(*(ms.Tensor(a) for a in batch))
        if target == "GPU":
            assert gpu.counters.captures <= 2 and gpu.counters.graph_launches == 6
        results[target] = training.weights()
    for got, want in zip(results["GPU"], results["CPU"], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-6)


def test_numbers_of_python_do_not_record_again(gpu: Any) -> None:
    @ms.jit
    def f(x: Any, rate: float) -> Any:
        for _ in range(5):
            x = ops.tanh(x @ x) * rate
        return x

    x = ms.Tensor(np.eye(4, dtype=np.float32))
    f(x, 0.5), f(x, 0.25)
    gpu.counters.reset()
    got = [f(x, 0.1 * k).asnumpy() for k in range(1, 6)]
    assert gpu.counters.captures <= 2
    want = np.eye(4, dtype=np.float32)
    for _ in range(5):
        want = np.tanh(want @ want) * np.float32(0.5)
    np.testing.assert_allclose(got[-1], want, rtol=1e-5)


def test_batches_at_other_addresses(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small batches are copied into place; large ones are when they move again and again."""
    monkeypatch.setattr(cuda_graphs, "STAGED", 1 << 10)
    for rows in (8, 300):
        w = ms.Parameter(ms.Tensor(np.zeros((4, 3), np.float32)), name="w")

        def step(x: Any, w: Any = w) -> Any:
            y = ops.tanh(x @ w) + x.sum(1, keepdims=True)
            y = ops.softmax(ops.tanh(y @ ops.ones((3, 3), ms.float32)))
            ops.assign(w, w + (x.T @ y) * 0.01)
            return y.sum(0)

        run = ms.jit(step)
        rng, held = np.random.default_rng(rows), []
        for k in range(9):
            x = rng.normal(size=(rows, 4)).astype(np.float32)
            held.append(ms.Tensor(x))
            gpu.counters.reset()
            got = run(held[-1]).asnumpy()
            assert np.isfinite(got).all() and got.sum() == pytest.approx(rows, rel=1e-4)
            if k > 6:
                assert gpu.counters.captures == 0 and gpu.counters.graph_launches == 1


def test_programs_take_turns(gpu: Any) -> None:
    """Two networks, one after the other, each step; and one of them on its own."""
    a, batches = mlp(gpu)
    b = Training(NETWORKS["embedding"][0], OPTIMIZERS["momentum"])
    others = [[ms.Tensor(x) for x in batch] for batch in NETWORKS["embedding"][1](4)]
    mixed = [(float(a.step(*x).asnumpy()), float(b.step(*y).asnumpy())) for x, y in zip(batches, others, strict=True)]
    alone, batches = mlp(gpu)
    assert [float(alone.step(*x).asnumpy()) for x in batches] == [m[0] for m in mixed]


# ---- state -----------------------------------------------------------------------------------------------------------


class Pair(nn.Cell):
    """Two parameters that take each other's values."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.a, self.b = (
            ms.Parameter(ms.Tensor(np.float32(v)), name=n) for v, n in (([1, 2, 3], "a"), ([4, 5, 6], "b"))
        )

    def construct(self, x: Any) -> Any:
        a, b = self.a.value(), self.b.value()
        if self.kind == "swapped":
            ops.assign(self.a, b)
            ops.assign(self.b, a)
        elif self.kind == "shifted":
            ops.assign(self.a, self.a * x)
            ops.assign(self.b, a)
        elif self.kind == "one value":
            new = self.a * x
            ops.assign(self.a, new)
            ops.assign(self.b, new)
        elif self.kind == "reversed":
            ops.assign(self.a, self.a[::-1] * x)
            return a * 2, self.a.reshape(3, 1)
        else:
            ops.assign(self.a, self.a * x)
            return a, a.reshape(1, 3), self.a.value(), b.reshape(3, 1)
        return ((self.a * self.b).sum(),)


@pytest.mark.parametrize("kind", ["swapped", "shifted", "one value", "reversed", "old and new"])
def test_state_goes_where_it_belongs(gpu: Any, kind: str) -> None:
    found = {}
    for target in ("GPU", "CPU"):
        ms.set_context(device_target=target)
        pair, x = Pair(kind), ms.Tensor(np.float32([2, 3, 4]))
        found[target] = [
            ([r.asnumpy().tolist() for r in pair(x)], pair.a.asnumpy().tolist(), pair.b.asnumpy().tolist())
            for _ in range(4)
        ]
    assert found["GPU"] == found["CPU"]


def test_one_memory_is_handed_out_in_two_shapes(gpu: Any) -> None:
    x = ms.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    wide, flat = ms.jit(lambda x: ((y := ops.exp(x) * 2), y.reshape(6)))(x)
    assert wide.shape == (2, 3) and flat.shape == (6,)
    np.testing.assert_array_equal(wide.asnumpy().reshape(6), flat.asnumpy())


# ---- control flow ----------------------------------------------------------------------------------------------------


def halved(x: Any) -> Any:
    while x.sum() > 1:
        x = ops.tanh(x) * 0.5
    return x


def chosen(x: Any) -> Any:
    y = ops.exp(x * 0.1) - 1
    if y.sum() > 0:
        y = y * 2 + ops.softmax(x)
    else:
        y = ops.sin(y).sum(0, keepdims=True) + x
    return y


def scanned(x: Any) -> Any:
    carry = x[0]
    for row in x:
        carry = ops.tanh(carry * 0.5 + row)
    return carry


def graded(x: Any) -> Any:
    return ms.grad(lambda v: scanned(v).sum() + chosen(v).sum())(x)


@pytest.mark.parametrize("program", [halved, chosen, scanned, graded], ids=lambda f: f.__name__)
@pytest.mark.parametrize("sign", [1, -1])
def test_control_flow(gpu: Any, program: Any, sign: int, mode: int) -> None:
    x = (np.random.default_rng(4).random((6, 33)) * sign).astype(np.float32)
    found = {}
    for target in ("GPU", "CPU"):
        ms.set_context(device_target=target, mode=mode, jit_level="O1")
        run = ms.jit(program) if mode == ms.GRAPH_MODE else program
        for _ in range(3):
            made = run(ms.Tensor(x))
        found[target] = [r.asnumpy() for r in (made if isinstance(made, tuple) else (made,))]
    for got, want in zip(found["GPU"], found["CPU"], strict=True):
        np.testing.assert_allclose(got, want, rtol=3e-6, atol=3e-6)
