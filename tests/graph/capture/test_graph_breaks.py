"""Calls that need values while they are captured run as Python: same numbers, effects and errors, told once."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base.errors import ConcretizationError, ShapeError

X = [1.0, -2.0]


def scaled(x: Any) -> Any:
    return x * x / float(np.abs(x.asnumpy()).max())


def by_numpy(x: Any) -> Any:
    return ms.Tensor(np.exp(x)) + x


def pickled(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x)) * 2


def of_its_items(x: Any) -> Any:
    return sum(x.tolist()) * x


def to_its_end(x: Any) -> Any:
    return x if x.asnumpy().sum() <= 0 else to_its_end(x - 1) + 1


def printed(x: Any) -> Any:
    print("before")
    value = (x * 2).asnumpy()
    print("after", value)
    return x + ms.Tensor(value)


def sized(x: Any) -> Any:
    return ops.ones(int((x * x).sum())) * x[0]


def of_unknown_size(x: Any) -> Any:
    return ops.diag(x[x > 0]).sum(0) + ops.arange(x[x > 0].shape[0])


def checked(x: Any) -> Any:
    return ops.check_valid(ops.ones((1, 4)), ops.concat([x[x != 9], x[:1]]))


PROGRAMS = (scaled, by_numpy, pickled, of_its_items, to_its_end, printed, sized, of_unknown_size, checked)


class Net(nn.Cell):
    """A network that looks at its numbers on the way."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(2, 2)
        self.drop = nn.Dropout(p=0.5)
        self.steps = 0
        self.seen = ms.Parameter(np.zeros(2, np.float32), name="seen", requires_grad=False)

    def construct(self, x: Any, looks: bool = True) -> Any:
        self.steps += 1
        x = self.dense(self.drop(x))
        self.seen += x[0]
        return x / (1 + x.asnumpy().max() ** 2) if looks else x


def told(notices: list[str]) -> list[str]:
    return [n for n in notices if "runs as Python" in n]


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_same_numbers_and_prints(fn: Any, notices: list[str], capsys: Any) -> None:
    run = ms.jit(fn)
    for values in (X, [2.0, 1.0], X):
        want, printed_then = fn(ms.Tensor(values)).tolist(), capsys.readouterr().out
        assert run(ms.Tensor(values)).tolist() == want
        assert capsys.readouterr().out == printed_then
    assert len(told(notices)) == 1
    assert fn.__name__ in notices[-1] and "test_graph_breaks.py line" in notices[-1] and "costs" in notices[-1]


@pytest.mark.parametrize("fn", [scaled, of_its_items, to_its_end], ids=lambda f: f.__name__)
def test_gradients(fn: Any, mode: int) -> None:
    def loss(x: Any) -> Any:
        return fn(x).sum()

    x = ms.Tensor([0.5, 3.0])
    with ms.set_context(mode=ms.PYNATIVE_MODE):
        want = ms.grad(loss)(x).tolist()
    assert ms.grad(loss)(x).tolist() == want
    assert ms.grad(ms.jit(loss))(x).tolist() == want
    assert ms.jit(ms.grad(loss))(x).tolist() == want


def test_a_network_trains_to_the_same_weights() -> None:
    found = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        with ms.set_context(mode=mode):
            ms.set_seed(3)
            net = Net()
            net.set_train(True)
            step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))
            losses = [float(step(ms.Tensor([X])).sum()) for _ in range(4)]
            found.append((losses, net.steps, net.seen.asnumpy(), net.dense.weight.asnumpy()))
    (a, steps, seen, weight), (b, *other) = found
    np.testing.assert_allclose(a, b, rtol=1e-5)
    assert steps == other[0] == 4
    np.testing.assert_allclose(seen, other[1], rtol=1e-5)
    np.testing.assert_allclose(weight, other[2], rtol=1e-5)


def test_other_arguments_are_still_compiled(notices: list[str]) -> None:
    with ms.set_context(mode=ms.GRAPH_MODE):
        net = Net()
        net.set_train(False)
        x = ms.Tensor([X])
        first = net(x)
        assert len(told(notices)) == 1
        net(x, False)
        assert "version 1" in ms.explain(net) and "graph break" in ms.explain(net)
        assert net(x).tolist() == first.tolist() and len(told(notices)) == 1
        assert net.steps == 3


def test_a_part_breaks_and_the_rest_is_compiled() -> None:
    inner = ms.jit(lambda x: ops.sin(x) * 2)

    @ms.jit
    def outer(x: Any) -> Any:
        return inner(x) * float(inner(x).asnumpy().sum())

    x = ms.Tensor(X)
    np.testing.assert_allclose(outer(x).asnumpy(), 2 * np.sin(X) * (2 * np.sin(X)).sum(), rtol=1e-5)
    assert len(inner.versions) == 1 and outer.versions == []


def test_an_error_after_the_break_is_the_programs_own(mode: int) -> None:
    def fails(x: Any) -> Any:
        if x.asnumpy().sum() > 0:
            raise ValueError("above")
        return x.reshape(7)

    run = ms.jit(fails) if mode == ms.GRAPH_MODE else fails
    with pytest.raises(ValueError, match="above"):
        run(ms.Tensor([1.0]))
    with pytest.raises(ShapeError, match="cannot become"):
        run(ms.Tensor([-1.0]))


def test_sizes_of_data_that_are_wrong() -> None:
    for _ in range(2):
        with pytest.raises(ShapeError, match=r"check_valid takes img_metas of \[3\]"):
            ms.jit(checked)(ms.Tensor([1.0, 9.0]))
    with pytest.raises(ShapeError, match="is known only at run time"):
        ms.jit(of_unknown_size, fullgraph=True)(ms.Tensor(X))


@pytest.mark.parametrize("strict", ["fullgraph", "level"])
def test_refused_where_the_whole_program_is_wanted(strict: str) -> None:
    run = ms.jit(scaled, fullgraph=strict == "fullgraph")
    with ms.set_context(jit_syntax_level=0 if strict == "level" else 2):
        for _ in range(2):
            with pytest.raises(ConcretizationError, match="is not known while the function is captured"):
                run(ms.Tensor(X))


def test_what_looks_at_the_program_refuses_as_before() -> None:
    run = ms.jit(scaled)
    for _ in range(2):
        with pytest.raises(ConcretizationError):
            run.graph_for((ms.Tensor(X),))
        assert run(ms.Tensor(X)).tolist() == scaled(ms.Tensor(X)).tolist()
    with pytest.raises(ConcretizationError):
        ms.vmap(scaled)(ms.Tensor([X]))
