"""Versions that are bound to sizes: found by their sizes, with one guards' function for all of them. Both levels."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops

jit_module: Any = importlib.import_module("msnb.api.jit")


@pytest.fixture(params=["O0", "O1"])
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    with ms.set_context(jit_level=request.param):
        yield request.param


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The versions whose guards were asked."""
    found: list[Any] = []
    checked = jit_module._checked

    def noted(version: Any, args: Any, kwargs: Any) -> Any:
        found.append(version)
        return checked(version, args, kwargs)

    monkeypatch.setattr(jit_module, "_checked", noted)
    return found


def _rows(n: int, k: int = 3) -> ms.Tensor:
    return ms.Tensor(np.arange(n * k, dtype=np.float32).reshape(n, k))


def test_a_size_is_found_without_asking_the_others(level: str, tried: list[Any]) -> None:
    f = ms.jit(lambda x: (x * 2).sum(0))
    for n in range(2, 22):
        f(_rows(n))
    tried.clear()
    for n in (7, 19, 4):
        np.testing.assert_allclose(f(_rows(n)).asnumpy(), 2 * _rows(n).asnumpy().sum(0))
        assert len(tried) <= 2 and tried[-1] is f.versions[0], n
        tried.clear()
    f(_rows(30))
    assert len(tried) <= 3 and f._made == 21  # the last one, and the new one


def test_versions_of_one_template_share_their_check(level: str) -> None:
    net = nn.Dense(3, 2)
    f = ms.jit(net.construct)
    for n in (4, 5, 6, 7):
        f(_rows(n))
    bound = [v for v in f.versions if v.bound is not None]
    assert len(bound) == 3 and len({v.check.__code__ for v in bound}) == 1
    for v in bound:
        (n,) = (size for _, size in v.bound[1])
        assert isinstance(v.check((_rows(n),), {}), tuple)
        assert isinstance(v.check((_rows(n + 1),), {}), int)


def test_guards_that_no_size_tells_hold_for_every_version(level: str) -> None:
    class Scaled:
        by = 2

    scaled = Scaled()
    f = ms.jit(lambda x: x * scaled.by)
    for n in (3, 4, 5, 6):
        assert float(f(ops.ones(n)).sum()) == 2 * n
    scaled.by = ms.Tensor(5.0)  # type: ignore[assignment]
    for n in (3, 4, 5, 6, 7, 3):
        assert float(f(ops.ones(n)).sum()) == 5 * n
    scaled.by = 2
    for n in (6, 3, 8):
        assert float(f(ops.ones(n)).sum()) == 2 * n


def test_the_dtype_still_counts(level: str) -> None:
    f = ms.jit(lambda x: x + x)
    for n in (3, 4, 5):
        assert f(ops.ones(n)).dtype == ms.float32
    for n in (3, 4, 5, 3):
        assert f(ops.ones(n, ms.float16)).dtype == ms.float16
    assert f(ops.ones(4)).dtype == ms.float32


def test_parameters_are_written_by_every_version(level: str) -> None:
    total = ms.Parameter(ms.Tensor(np.zeros(3, np.float32)), name="total")

    @ms.jit
    def add(x: ms.Tensor) -> ms.Tensor:
        ops.assign(total, total + x.sum(0))
        return total * 1

    want = np.zeros(3, np.float32)
    for n in (2, 3, 4, 5, 4, 3, 6):
        want = want + _rows(n).asnumpy().sum(0)
        np.testing.assert_allclose(add(_rows(n)).asnumpy(), want)
    np.testing.assert_allclose(total.asnumpy(), want)


def test_a_version_that_was_forgotten_is_made_again(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f = ms.jit(lambda x: x.sum())
    for n in (2, 3, 4):
        f(ops.ones(n))
    monkeypatch.setattr(jit_module, "MOST_BYTES", int(2.5 * f.versions[0].bytes))
    for n in (5, 6, 3, 4):
        assert float(f(ops.ones(n))) == n
    assert len(f.versions) <= 2


def test_training_with_blocked_weights_goes_through_sizes() -> None:
    with ms.set_context(jit_level="O1"):
        ms.set_seed(1)
        net = nn.SequentialCell(nn.Conv2d(3, 32, 3), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.Flatten(), nn.Dense(2048, 3))
        optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)
        gradient = ms.value_and_grad(lambda x: net(x).square().mean(), None, net.trainable_params())

        def step(x: ms.Tensor) -> ms.Tensor:
            loss, grads = gradient(x)
            optimizer(grads)
            return loss

        compiled = ms.jit(step)
        rng = np.random.default_rng(2)
        images = [ms.Tensor(rng.normal(size=(n, 3, 8, 8)).astype(np.float32)) for n in (4, 6, 5, 3, 6, 4)]
        start = [p.asnumpy().copy() for p in net.trainable_params()]
        found = [float(compiled(x)) for x in images]
        for p, value in zip(net.trainable_params(), start):
            p.set_data(ms.Tensor(value))
        for m in optimizer.moments:
            m.set_data(ops.zeros_like(m))
        with ms.set_context(mode=ms.PYNATIVE_MODE):
            want = [float(step(x)) for x in images]
        np.testing.assert_allclose(found, want, rtol=1e-4)


def test_sizes_that_change_are_numbers_in_results(level: str) -> None:
    asked = ms.jit(lambda x: (ops.shape(x), ops.Shape()(x), x.shape, {"rows": ops.shape(x)[0] * 2}))
    for n in (2, 3, 4, 3):
        shape = (n, 2)
        assert asked(ops.ones(shape)) == (shape, shape, shape, {"rows": 2 * n})
        assert type(asked(ops.ones(shape))[0][0]) is int
    grown = ms.jit(lambda x: ops.zeros((ops.shape(x)[0] + 1, 2)) + ops.shape(x)[0])
    assert [grown(ops.ones((n, 2))).tolist() for n in (1, 2)] == [[[1, 1]] * 2, [[2, 2]] * 3]
