"""Sizes that change between calls: one capture for all of them, and the values, gradients and errors of each alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base import events

SIZES = (8, 5, 13, 0, 1, 2, 16, 6, 64, 7)


def _rows(n: int, k: int = 6) -> ms.Tensor:
    return ms.Tensor(np.random.default_rng(n).normal(size=(n, k)).astype(np.float32))


@pytest.fixture
def captures() -> Iterator[list[Any]]:
    """The versions that were captured; those that are bound to their sizes are not among them."""
    found: list[Any] = []
    with events.listening("compiled", lambda version, **_: found.append(version)):
        yield found


@pytest.fixture(params=["O0", "O1"])
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    before = ms.get_context("jit_level")
    ms.set_context(jit_level=request.param)
    yield request.param
    ms.set_context(jit_level=before)


def _outcome(fn: Callable[..., Any], *args: Any) -> Any:
    try:
        return fn(*args)
    except Exception as error:
        return type(error)


def _same(a: Any, b: Any, said: object, exact: bool = False) -> None:
    assert type(a) is type(b), said
    if isinstance(a, tuple):
        assert len(a) == len(b), said
        for x, y in zip(a, b):
            _same(x, y, said, exact)
    elif isinstance(a, ms.Tensor):
        assert a.shape == b.shape and a.dtype == b.dtype, said
        if exact:
            np.testing.assert_array_equal(a.asnumpy(), b.asnumpy(), err_msg=str(said))
        else:
            scale = max(1.0, float(np.nanmax(np.abs(b.asnumpy()), initial=0.0)))  # terms cancel in sums and products
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-5 * scale, err_msg=str(said))
    else:
        assert a == b, said


def _branch(x: ms.Tensor) -> ms.Tensor:
    if x.shape[0] > 10:
        return x * 2
    return x * 3


def _loop(x: ms.Tensor) -> ms.Tensor:
    total = x[0]
    for i in range(1, x.shape[0]):
        total = total + x[i]
    return total


NAMES = {8: 1.0, 5: 2.0}
SQUARE = ms.Tensor(np.arange(36, dtype=np.float32).reshape(6, 6))
PROGRAMS: dict[str, Callable[[ms.Tensor], Any]] = {
    "reductions": lambda x: ((x * 2).sum(0), x.mean(), ops.softmax(x, 0).cumsum(0)),
    "reshape": lambda x: x.reshape(x.shape[0] * 2, -1) + x.view(-1)[0],
    "transposes": lambda x: x.reshape(x.shape[0], 2, 3).transpose(0, 2, 1).reshape(-1, 2) * x.shape[-1],
    "a branch": _branch,
    "a remainder": lambda x: x.reshape(x.shape[0] // 2, -1) if x.shape[0] % 2 == 0 else x,
    "a loop": _loop,
    "shapes as results": lambda x: (x, x.shape, x.shape[0] + 1, len(x), x.size, str(x.shape)),
    "a number": lambda x: x / x.shape[0] + 1.0 / len(x),
    "a key": lambda x: x * NAMES.get(x.shape[0], 3.0),
    "six or one": lambda x: x + SQUARE,
    "both products": lambda x: (x.T @ x, x @ x.T),
    "slices": lambda x: (ops.concat([x, x], 0)[2:-1], x[1:] * x[:-1], x[::2]),
    "squeezed": lambda x: x.squeeze(),
    "creation": lambda x: ops.zeros((x.shape[0], 3)) + x[:, :3] + ops.ones_like(x)[:, 3:],
    "selection": lambda x: x[x > 0].sum(),
    "a gradient": lambda x: ops.grad(lambda z: (z[1:] * z[:-1]).sum() + ops.tanh(z).mean())(x),
    "split": lambda x: ops.tile(x.split(2)[0], (2, 1)),
    "vmap": lambda x: ms.vmap(lambda row: row * row.sum())(x),
    "padding": lambda x: ops.pad(x, (0, 0, 1, 2)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_size_has_the_values_and_errors_of_its_own_program(name: str) -> None:
    program = PROGRAMS[name]
    jitted = ms.jit(program)
    for n in SIZES:
        _same(_outcome(jitted, _rows(n)), _outcome(ms.jit(program), _rows(n)), (name, n), exact=True)


def test_a_dense_net_is_captured_twice(level: str, captures: list[Any]) -> None:
    net = nn.SequentialCell(nn.Dense(12, 7), nn.ReLU(), nn.Dense(7, 3))
    optimizer = nn.SGD(net.trainable_params(), 0.05)
    gradient = ms.value_and_grad(lambda x, y: ops.cross_entropy(net(x), y), None, net.trainable_params())

    def step(x: ms.Tensor, y: ms.Tensor) -> ms.Tensor:
        loss, grads = gradient(x, y)
        optimizer(grads)
        return loss

    jitted = ms.jit(step)
    for n in (9, 4, 15, 11, 2, 6, 4, 15):
        x, y = _rows(n, 12), ms.Tensor(np.arange(n, dtype=np.int32) % 3)
        want = ops.cross_entropy(net(x), y)
        _same(jitted(x, y), want, n)
    assert len(captures) == 2
    assert "any size from 2 on" in ms.explain(jitted)


def test_recurrent_training_with_new_batches_and_lengths_is_captured_three_times(captures: list[Any]) -> None:
    net = nn.GRU(5, 4, batch_first=True)
    jitted = ms.jit(ms.value_and_grad(lambda x: net(x)[0].mean(), None, net.trainable_params()))
    eager = ms.value_and_grad(lambda x: net(x)[0].mean(), None, net.trainable_params())
    for batch, length in ((6, 9), (3, 9), (3, 4), (8, 5), (2, 12), (7, 7), (3, 9)):
        x = ms.Tensor(np.random.default_rng(batch).normal(size=(batch, length, 5)).astype(np.float32))
        _same(jitted(x), eager(x), (batch, length))
    assert len(captures) <= 3


def test_convolutions_take_other_batches_and_images(captures: list[Any]) -> None:
    net = nn.SequentialCell(nn.Conv2d(2, 3, 3, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2))
    jitted = ms.jit(lambda x: net(x))
    for shape in ((4, 2, 9, 9), (3, 2, 9, 9), (5, 2, 9, 9), (6, 2, 12, 9), (2, 2, 15, 9)):
        x = ms.Tensor(np.random.default_rng(shape[0]).normal(size=shape).astype(np.float32))
        _same(jitted(x), net(x), shape)
    assert len(captures) <= 4


def test_two_arguments_that_share_an_axis_share_its_symbol(captures: list[Any]) -> None:
    jitted = ms.jit(lambda x, y: (x * y).sum(0))
    for n in (4, 7, 5, 9):
        _same(jitted(_rows(n), _rows(n)), (_rows(n) * _rows(n)).sum(0), n)
    assert len(captures) == 2
    assert _outcome(jitted, _rows(4), _rows(3)) is _outcome(lambda x, y: x * y, _rows(4), _rows(3))
    _same(jitted(_rows(5), _rows(1)), (_rows(5) * _rows(1)).sum(0), "one row")


def test_what_needs_a_number_says_where(captures: list[Any]) -> None:
    jitted = ms.jit(_loop)
    for n in (3, 4, 5):
        _same(jitted(_rows(n)), _rows(n).sum(0), n)
    assert len(captures) == 3
    assert "a version per size: x.shape[0] (x.shape[0] == 4, " in ms.explain(jitted)


def test_state_is_written_by_every_size() -> None:
    class Mean(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.total = ms.Parameter(ops.zeros(6), name="total")
            self.rows = 0

        def construct(self, x: ms.Tensor) -> ms.Tensor:
            self.total = self.total + x.sum(0)
            self.rows = x.shape[0]
            return self.total / self.rows

    net, total = Mean(), np.zeros(6, np.float32)
    jitted = ms.jit(net)
    for n in (4, 9, 6, 3, 9):
        total = total + _rows(n).asnumpy().sum(0)
        np.testing.assert_allclose(jitted(_rows(n)).asnumpy(), total / n, rtol=1e-4)
        assert net.rows == n


# ---- random programs ----------------------------------------------------------------------------------------------


def _random_program(seed: int) -> Callable[[ms.Tensor], Any]:
    """A chain of operations over [n, 6], each drawn once."""
    rng = random.Random(seed)
    weight = ms.Tensor(np.random.default_rng(seed).normal(size=(6, 6)).astype(np.float32))
    row = weight[0]
    steps: list[Callable[[ms.Tensor], ms.Tensor]] = [
        lambda x: x @ weight, lambda x: x + row, lambda x: ops.tanh(x) * 2, lambda x: x - x.mean(0),
        lambda x: x / (1.0 + x.abs().sum(-1, keepdims=True)), lambda x: ops.concat([x, x * 0.5], 0),
        lambda x: x[1:], lambda x: x[:-1] + x[1:], lambda x: x.reshape(-1, 3).reshape(-1, 6), lambda x: x[::-1],
        lambda x: x.reshape(x.shape[0], 2, 3).transpose(0, 2, 1).reshape(x.shape), lambda x: ops.softmax(x, 0),
        lambda x: x * (1.0 / x.shape[0]), lambda x: x if x.shape[0] < 9 else x * 2, lambda x: x.cumsum(0),
        lambda x: ops.where(x > 0, x, x.min(0)), lambda x: x + ops.ones((x.shape[0], 1)), lambda x: x @ x.T @ x,
        lambda x: ops.zeros((len(x), 6)) + x.max(1, keepdims=True), lambda x: x.view(-1).reshape(-1, 6),
        lambda x: ops.stack([x, x * x]).mean(0), lambda x: x.sum(0, keepdims=True) + x, lambda x: x[0] + x,
    ]  # fmt: skip
    chosen = [rng.choice(steps) for _ in range(rng.randint(2, 6))]

    def program(x: ms.Tensor) -> ms.Tensor:
        for each in chosen:
            x = each(x)
        return x

    if rng.random() < 0.5:
        return program
    return lambda x: ops.grad(lambda z: (program(z) ** 2).mean())(x)


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(n, marks=pytest.mark.long) for n in range(8, 120))])
def test_random_programs(seed: int) -> None:
    program = _random_program(seed)
    jitted = ms.jit(program)
    sizes = [*random.Random(seed).sample([0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 16, 31, 64], 5), 6]
    for n in sizes:
        found = _outcome(jitted, _rows(n))
        _same(found, _outcome(ms.jit(program), _rows(n)), f"seed {seed}, size {n} of {sizes}: a program of its own")
        if not isinstance(found, type):
            _same(found, _outcome(program, _rows(n)), f"seed {seed}, size {n} of {sizes}: eager")


def test_a_size_that_framework_code_compares_is_told() -> None:
    from msnb.core.types import Dim, unequal

    told: list[Any] = []
    unequal.lists.append(told)
    try:
        assert Dim("a") == Dim("a") and Dim("a") != Dim("b") and Dim("a") != 3 and np.int64(4) != Dim("a")
        assert (Dim("a"), 2) != (5, 2) and Dim("a") != "a"
    finally:
        unequal.lists.remove(told)
    assert told == [(Dim("a"), Dim("b")), (Dim("a"), 3), (Dim("a"), 4), (Dim("a"), 5)]


def test_arguments_by_keyword_in_containers_and_outside(captures: list[Any]) -> None:
    outside = [_rows(4)]

    def program(batch: dict[str, ms.Tensor], *, scale: float) -> ms.Tensor:
        return (batch["x"] * batch["y"] + outside[0]).sum(0) * scale

    jitted = ms.jit(program)
    for n, scale in ((4, 1.0), (7, 2.0), (5, 3.0), (9, 0.5)):
        outside[0] = _rows(n)
        batch = {"x": _rows(n), "y": _rows(n)}
        _same(jitted(batch, scale=scale), program(batch, scale=scale), n)
    assert len(captures) == 2


def test_versions_of_many_sizes_are_found_by_their_types() -> None:
    jitted = ms.jit(lambda x, k: x.sum(0) * k)
    for k in (2, 3):
        for n in range(2, 22):
            _same(jitted(_rows(n), k), _rows(n).sum(0) * k, n)
    assert len(jitted.versions) == 20 and jitted._made == 20
