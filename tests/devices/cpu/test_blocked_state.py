"""Training programs that keep weights and moments in blocks between their steps: nobody can tell but the clock.

Every test runs twice: in the blocks that the library on this machine likes (where it likes any), and in blocks that it
has never shown, so that copies go through the reference bodies.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import msnb as ms
from msnb import nn
from msnb.core.storage.memory_format import BlockedFormat
from msnb.core.storage.packed_storage import kept_of
from msnb.devices.cpu import CPU
from msnb.devices.cpu.onednn.c_api import api

pytestmark = pytest.mark.long

OTHERS = BlockedFormat((1, 0, 2, 3), ((0, 8), (1, 4)))
STEPS = 3


@pytest.fixture(autouse=True, params=["library", "others"])
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Machine code, a cache of its own, and the blocks of the test."""
    monkeypatch.setenv("MSNB_CACHE_DIR", str(tmp_path))
    if request.param == "others":
        monkeypatch.setattr(CPU, "blocks_of", lambda device, gradient: OTHERS)
    elif api() is None:
        pytest.skip("oneDNN is not installed")
    with ms.set_context(jit_level="O1"):
        yield


class Net(nn.Cell):
    """Three convolutions: one too small for blocks, two in them. Smooth between them: a ReLU's slope is another one
    where two orders of the same sum fall on two sides of zero."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 32, 3, pad_mode="pad", padding=1, has_bias=True)
        self.norm = nn.BatchNorm2d(32)
        self.second = nn.Conv2d(32, 64, 3, stride=2, pad_mode="pad", padding=1)
        self.third = nn.Conv2d(64, 64, 3, pad_mode="same")
        for p in self.trainable_params():
            p.set_data(ms.Tensor((0.1 * rng.standard_normal(p.shape)).astype(np.float32)))

    def construct(self, x: Any) -> Any:
        return self.third(ms.ops.silu(self.second(ms.ops.silu(self.norm(self.first(x))))))


Optimizer = Callable[[Any], Any]


def momentum(params: Any) -> Any:
    return nn.Momentum(params, 0.01, 0.9)


class Training:
    """A network that trains, its state by name.

    Args:
        seed: of its weights and batches; optimizer: makes one for parameters.
        compiled: as one program, else operation by operation.
    """

    def __init__(self, seed: int, optimizer: Optimizer = momentum, compiled: bool = True) -> None:
        rng = np.random.default_rng(seed)
        self.net = Net(rng).set_train()
        self.optimizer = optimizer(self.net.trainable_params())
        self.batches = [rng.standard_normal((4, 3, 8, 8)).astype(np.float32) for _ in range(2 * STEPS)]
        gradient = ms.value_and_grad(self.loss, None, self.optimizer.parameters)

        def step(x: Any, most: Any) -> Any:
            value, gradients = gradient(x)
            self.optimizer(gradients)
            assert value < most
            return value

        self.function = ms.jit(step) if compiled else step
        self.at = 0

    def loss(self, x: Any) -> Any:
        return (self.net(x) ** 2).mean()

    def step(self, most: float = np.inf) -> float:
        self.at += 1
        return float(self.function(ms.Tensor(self.batches[self.at - 1]), ms.Tensor(np.float32(most))).asnumpy())

    @property
    def parameters(self) -> list[Any]:
        return list({id(p): p for p in (*self.net.get_parameters(), *self.optimizer.get_parameters())}.values())

    @property
    def blocked(self) -> list[Any]:
        """The parameters that lie in blocks now; the library of another machine may like none."""
        found = [p for p in self.parameters if kept_of(p) is not None]
        if not found:
            pytest.skip("the library makes plain gradients on this machine")
        return found

    def state(self) -> list[Any]:
        return [p.asnumpy() for p in self.parameters]


def close(found: list[Any], want: list[Any]) -> None:
    """Equal to a few hundred roundings of the largest number: sums of 600 products, added up in another order."""
    for a, b in zip(found, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-4 * max(float(np.abs(b).max(initial=0)), 1e-3))


OPTIMIZERS: dict[str, Optimizer] = {
    "momentum": momentum,
    "sgd": lambda p: nn.SGD(p, 0.01, weight_decay=0.01),
    "adam": lambda p: nn.Adam(p, 1e-3, eps=1e-2),
    "decay": lambda p: nn.AdamWeightDecay(p, 1e-3, eps=1e-2, weight_decay=0.1),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_training_gives_the_same_numbers(optimizer: Optimizer, rng: np.random.Generator) -> None:
    seed = int(rng.integers(1 << 30))
    mine, plain = Training(seed, optimizer), Training(seed, optimizer, compiled=False)
    losses = [(mine.step(), plain.step()) for _ in range(STEPS)]
    np.testing.assert_allclose(*zip(*losses), rtol=1e-4)
    assert all(p.ndim == 4 for p in mine.blocked)
    close(mine.state(), plain.state())


def test_large_weights_and_their_moments_lie_in_blocks(rng: np.random.Generator) -> None:
    t = Training(int(rng.integers(1 << 30)))
    t.step()
    assert {p.shape for p in t.blocked} == {(64, 32, 3, 3), (64, 64, 3, 3)} and len(t.blocked) == 4
    before = [kept_of(p).array for p in t.blocked]  # type: ignore[union-attr]
    addresses = [a.ctypes.data for a in before]
    del before
    t.step()
    assert [kept_of(p).array.ctypes.data for p in t.blocked] == addresses  # type: ignore[union-attr]


def test_looks_between_steps_change_nothing(rng: np.random.Generator) -> None:
    seed = int(rng.integers(1 << 30))
    watched, alone = Training(seed), Training(seed)
    for _ in range(STEPS):
        assert watched.step() == alone.step()
        seen = watched.state()
        assert all(kept_of(p).looked_at for p in watched.blocked)  # type: ignore[union-attr]
        assert all(np.array_equal(a, b) for a, b in zip(seen, watched.state()))
    for a, b in zip(watched.state(), alone.state()):
        np.testing.assert_array_equal(a, b)


def test_values_given_between_steps_count(rng: np.random.Generator) -> None:
    seed = int(rng.integers(1 << 30))
    mine, plain = Training(seed), Training(seed, compiled=False)
    for t in (mine, plain):
        t.step()
        t.net.third.weight.set_data(t.net.third.weight * 0.5)
        t.net.second.weight[1] = 0.25
        t.step()
    close(mine.state(), plain.state())


def test_other_programs_read_and_write_the_same_weights(rng: np.random.Generator) -> None:
    seed = int(rng.integers(1 << 30))
    mine, plain = Training(seed), Training(seed, compiled=False)
    for t in (mine, plain):
        look: Any = ms.jit(lambda x, t=t: t.net.third(x)) if t is mine else t.net.third

        def shrink(t: Training = t) -> None:
            ms.ops.assign(t.net.third.weight, t.net.third.weight * 0.5)

        change: Any = ms.jit(shrink) if t is mine else shrink
        x = ms.Tensor(np.ones((2, 64, 4, 4), np.float32))
        t.seen = []  # type: ignore[attr-defined]
        for _ in range(2):
            t.step()
            t.seen.append(look(x).asnumpy())  # type: ignore[attr-defined]
            change()
            t.seen.append(look(x).asnumpy())  # type: ignore[attr-defined]
    close(mine.seen, plain.seen)  # type: ignore[attr-defined]
    close(mine.state(), plain.state())


def test_two_trainings_may_share_a_network(rng: np.random.Generator) -> None:
    seed = int(rng.integers(1 << 30))
    mine, plain = Training(seed), Training(seed, compiled=False)
    for t in (mine, plain):
        other = nn.SGD(t.net.trainable_params(), 0.01)
        gradient = ms.value_and_grad(t.loss, None, other.parameters)

        def second(x: Any, gradient: Any = gradient, other: Any = other) -> None:
            other(gradient(x)[1])

        function: Any = ms.jit(second) if t is mine else second
        for _ in range(2):
            t.step()
            function(ms.Tensor(np.ones((2, 3, 12, 12), np.float32)))
    close(mine.state(), plain.state())


def test_a_failed_step_leaves_everything_as_it_was(rng: np.random.Generator) -> None:
    t = Training(int(rng.integers(1 << 30)))
    for _ in range(2):
        before = t.state()
        with pytest.raises(AssertionError):
            t.step(most=-1)
        for a, b in zip(t.state(), before):
            np.testing.assert_array_equal(a, b)
        t.step()


def test_a_checkpoint_goes_on_elsewhere(rng: np.random.Generator, tmp_path: Path) -> None:
    seed = int(rng.integers(1 << 30))
    first, again = Training(seed), Training(seed)
    first.step()
    ms.save_checkpoint(first.net, str(tmp_path / "net.ckpt"))
    again.step()
    again.net.third.weight.set_data(ms.Tensor(np.zeros((64, 64, 3, 3), np.float32)))
    ms.load_param_into_net(again.net, ms.load_checkpoint(str(tmp_path / "net.ckpt")))
    assert first.step() == again.step()
    for a, b in zip(first.state(), again.state()):
        np.testing.assert_array_equal(a, b)


def test_a_program_from_the_disk_knows_its_blocks(rng: np.random.Generator) -> None:
    seed = int(rng.integers(1 << 30))
    made, found = Training(seed), Training(seed)
    assert [made.step() for _ in range(2)] == [found.step() for _ in range(2)]
    programs = [t.function.versions[0].compiled for t in (made, found)]
    assert [p.recalled for p in programs] == [False, True]
    assert programs[0].forms == programs[1].forms
    for a, b in zip(made.state(), found.state()):
        np.testing.assert_array_equal(a, b)


def test_threads_look_while_a_network_trains(rng: np.random.Generator) -> None:
    t = Training(int(rng.integers(1 << 30)))
    t.step()
    done, shapes = threading.Event(), set()

    def look() -> None:
        while not done.is_set():
            shapes.update(a.shape for a in t.state())

    watcher = threading.Thread(target=look)
    watcher.start()
    for _ in range(STEPS):
        t.step()
    done.set()
    watcher.join()
    state = t.state()
    assert shapes == {a.shape for a in state}
    # what the watcher saw last is no part of the values: a step later they follow from these
    t.step()
    assert not all(np.array_equal(a, b) for a, b in zip(state, t.state()))


@pytest.mark.parametrize("half", [ms.bfloat16, ms.float16], ids=str)
def test_mixed_precision_trains(half: Any, rng: np.random.Generator) -> None:
    seed = int(rng.integers(1 << 30))
    mine, plain = Training(seed), Training(seed, compiled=False)
    for t in (mine, plain):
        ms.amp.auto_mixed_precision(t.net, "O2", half)
        for _ in range(2):
            t.step()
    for a, b in zip(mine.state(), plain.state(), strict=True):
        # 8 bits of a bfloat16 number are right, and each step rounds every operation anew
        np.testing.assert_allclose(a, b, rtol=0, atol=0.05 * max(float(np.abs(b).max(initial=0)), 1e-2))


def test_one_by_one_nothing_lies_in_blocks(rng: np.random.Generator) -> None:
    with ms.set_context(jit_level="O0"):
        t = Training(int(rng.integers(1 << 30)))
        t.step()
        assert all(kept_of(p) is None for p in t.parameters)
