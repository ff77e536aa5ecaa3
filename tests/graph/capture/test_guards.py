"""A second call never compiles; a changed outside compiles once and says why; numbers never do."""

from __future__ import annotations

from typing import Any

import pytest

import msnb as ms

X = ms.Tensor([1.0, 2.0])
rate, flag = 0.5, True


def test_numbers_are_inputs() -> None:
    global rate

    @ms.jit
    def fn(x: Any, k: float) -> Any:
        return x * rate * k + k / 2

    for rate in (0.5, 0.25, 4.0):
        for k in (1.0, 3.0):
            assert fn(X, k).tolist() == (X * rate * k + k / 2).tolist()
    assert len(fn.versions) == 1


def test_the_answer_is_guarded_not_the_number() -> None:
    @ms.jit
    def fn(x: Any, epoch: int) -> Any:
        return x if epoch > 5 else -x

    for epoch in range(10):
        assert fn(X, epoch).tolist() == (X if epoch > 5 else -X).tolist()
    assert len(fn.versions) == 2
    assert fn.versions[0].reason.startswith("recompiled: epoch > 5 False -> True, test_guards.py line")


def test_reason_names_value_and_line() -> None:
    global flag
    run = ms.jit(lambda x: x if flag else -x)
    run(X)
    flag = False
    assert run(X).tolist() == (-X).tolist()
    assert run.versions[0].reason.startswith("recompiled: flag True -> False, test_guards.py line")
    flag = True
    run(X)
    assert len(run.versions) == 2  # the first version fits again
    assert "version 2: recompiled: flag True -> False" in ms.explain(run)


def test_shapes_and_dtypes() -> None:
    run = ms.jit(lambda x: x + x)
    for x in (X, ms.Tensor([1, 2]), ms.Tensor([1.0]), X, ms.Tensor([1, 2])):
        assert run(x).tolist() == (x + x).tolist()
    assert len(run.versions) == 3
    assert run.versions[-1].number in (1, 2, 3)


def test_two_parameters_that_become_one() -> None:
    def fn(a: Any, b: Any) -> Any:
        a.set_data(a + 1)
        return a + b

    run = ms.jit(fn)
    p, q = ms.Parameter(X, name="p"), ms.Parameter(X, name="q")
    assert run(p, q).tolist() == [3.0, 5.0]
    assert run(p, p).tolist() == [6.0, 8.0]


def test_guards_test_the_value_before_the_write() -> None:
    class Counter:
        n = 0

    counter = Counter()

    def fn(x: Any) -> Any:
        counter.n += 1
        return x * counter.n

    run = ms.jit(fn)
    assert [run(X).tolist()[0] for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]
    assert len(run.versions) == 1


@pytest.mark.parametrize("depth", [1, 2])
def test_jit_under_gradient_and_gradient_under_jit(depth: int) -> None:
    cube: Any = ms.jit(lambda x: x * x * x)
    inside: Any = lambda x: x * x * x
    for _ in range(depth):
        cube, inside = ms.grad(cube), ms.grad(inside)
    want = {1: 12.0, 2: 12.0}[depth]
    assert cube(ms.Tensor(2.0)).item() == want
    assert ms.jit(inside)(ms.Tensor(2.0)).item() == want


def test_methods_and_cells() -> None:
    class Net(ms.nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.dense = ms.nn.Dense(2, 2)

        def construct(net, x: Any) -> Any:
            return net.dense(x) if x.sum() > 0 else x

    class Plain:
        k = 3.0

        @ms.jit
        def go(self, x: Any) -> Any:
            return x * self.k

    net, x = Net(), X.reshape(1, 2)
    want = net(x).tolist()
    assert ms.jit(net)(x).tolist() == want
    assert Plain().go(X).tolist() == [3.0, 6.0]
    with ms.set_context(mode=ms.GRAPH_MODE):
        assert net(x).tolist() == want
        net.dense.weight.set_data(net.dense.weight * 2)
        changed = net(x).tolist()
    assert changed == net(x).tolist() != want
