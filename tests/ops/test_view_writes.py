"""Writes into what other libraries call views: ``x.view(-1)[3] = 5``, ``x.T.zero_()`` go back to x in both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import mint, ops
from msnb.base.errors import LostWriteError
from msnb.core import temporary_writes

SHAPE = (2, 3, 4)
VIEWS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {  # ours, and NumPy's view
    "reshape": (lambda x: x.reshape((6, 4)), lambda a: a.reshape(6, 4)),
    "view": (lambda x: x.view(-1), lambda a: a.reshape(-1)),
    "flatten": (lambda x: x.flatten(), lambda a: a.reshape(-1)),
    "flatten axes": (lambda x: x.flatten(1, 2), lambda a: a.reshape(2, 12)),
    "ravel": (lambda x: x.ravel(), lambda a: a.reshape(-1)),
    "unsqueeze": (lambda x: x.unsqueeze(1), lambda a: a[:, None]),
    "squeeze": (lambda x: x.unsqueeze(0).squeeze(0), lambda a: a),
    "unflatten": (lambda x: x.unflatten(2, (2, 2)), lambda a: a.reshape(2, 3, 2, 2)),
    "T": (lambda x: x.T, lambda a: a.T),
    "mT": (lambda x: x.mT, lambda a: a.swapaxes(1, 2)),
    "transpose": (lambda x: x.transpose(1, 0, 2), lambda a: a.transpose(1, 0, 2)),
    "permute": (lambda x: x.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    "swapaxes": (lambda x: x.swapaxes(0, -1), lambda a: a.swapaxes(0, -1)),
    "moveaxis": (lambda x: x.moveaxis(0, 2), lambda a: np.moveaxis(a, 0, 2)),
    "narrow": (lambda x: x.narrow(2, 1, 2), lambda a: a[:, :, 1:3]),
    "select": (lambda x: x.select(1, 2), lambda a: a[:, 2]),
    "diagonal": (lambda x: x.diagonal(0, 1, 2), lambda a: np.einsum("iaa->ia", a[:, :, :3])),
    "split": (lambda x: x.split(2, 1)[0], lambda a: a[:, :2]),
    "chunk": (lambda x: x.chunk(2, -1)[1], lambda a: a[:, :, 2:]),
    "unbind": (lambda x: x.unbind(1)[2], lambda a: a[:, 2]),
    "detach": (lambda x: x.detach(), lambda a: a),
    "three": (lambda x: x[1].T[2:].reshape((2, 3)), lambda a: a[1].T[2:]),
    "brackets": (lambda x: x[1][1:][0], lambda a: a[1][1:][0]),
    "ops.reshape": (lambda x: ops.reshape(x, (6, 4)), lambda a: a.reshape(6, 4)),
    "ops.transpose": (lambda x: ops.transpose(x, (2, 0, 1)), lambda a: a.transpose(2, 0, 1)),
    "ops.slice": (lambda x: ops.slice(x, (0, 1, 0), (2, 2, 4)), lambda a: a[:, 1:]),
    "ops.unstack": (lambda x: ops.unstack(x, 1)[1], lambda a: a[:, 1]),
    "ops.diagonal": (lambda x: ops.diagonal(x, 1, 2, 1), lambda a: np.einsum("iaa->ia", a[:, 1:, :2])),
    "mint.flatten": (lambda x: mint.flatten(x), lambda a: a.reshape(-1)),
    "mint.narrow": (lambda x: mint.narrow(x, 1, 1, 2), lambda a: a[:, 1:]),
    "mint.split": (lambda x: mint.split(x, [1, 3], 2)[1], lambda a: a[:, :, 1:]),
    "stop_gradient": (lambda x: ops.stop_gradient(x), lambda a: a),
    "fitting strides": (lambda x: x.transpose(1, 0, 2).reshape((3, 2, 2, 2)),
                        lambda a: a.reshape(2, 3, 2, 2).transpose(1, 0, 2, 3)),
}
COPIES: dict[str, Callable[[Any], Any]] = {  # what other libraries compute anew
    "reordered, then reshaped": lambda x: x.transpose(1, 0, 2).reshape((6, 4)),
    "reordered, then flattened": lambda x: ops.flatten(x.T, start_dim=0),
    "a part, reshaped": lambda x: x.chunk(2, 2)[0].reshape((-1,)),
    "columns, reshaped": lambda x: mint.reshape(x[:, :, 1:3], (-1,)),
    "tiled": lambda x: ops.tile(x, (1, 1, 1)),
    "repeated": lambda x: x.repeat_interleave(2, 0),
    "rolled by nothing": lambda x: ops.roll(x, 0, 0),
    "turned by nothing": lambda x: ops.rot90(x, 0),
    "of its own size": lambda x: ops.interpolate(x, size=(4,)),
    "copied": lambda x: ms.numpy.array(x),
    "flipped": lambda x: ops.flip(x, (0,)),
    "shuffled": lambda x: ops.pixel_shuffle(x.reshape((1, 4, 3, 2)), 2),
    "one joined": lambda x: ops.cat([x]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_write_goes_back(name: str, mode: int, rng: np.random.Generator) -> None:
    ours, numpys = VIEWS[name]

    def write(x: Any, by: Any) -> Any:
        y = x * 1
        ours(y).add_(by)
        ours(y)[0] = 7.0
        ours(y)[-1] *= by
        return y, (y * y).sum()

    def expected(a: Any, by: float) -> Any:
        b = np.array(a)
        view = numpys(b)
        view += by
        view[0] = 7.0
        view[-1] *= by
        return b

    run: Any = ms.jit(write) if mode == ms.GRAPH_MODE else write
    for by in (2.0, -3.0):
        a = rng.standard_normal(SHAPE).astype(np.float32)
        np.testing.assert_allclose(run(ms.Tensor(a), ms.Tensor(by))[0].asnumpy(), expected(a, by), 1e-5, 1e-6)
    if name not in ("detach", "stop_gradient"):
        slope = ms.grad(lambda x: run(x, ms.Tensor(2.0))[1])(ms.Tensor(a)).asnumpy()
        b, up = expected(a, 2.0), expected(a + 1e-2, 2.0)
        np.testing.assert_allclose(slope, 2 * b * np.round((up - b) / 1e-2), 1e-4, 1e-4)


@pytest.mark.parametrize("name", COPIES)
def test_a_value_that_is_computed_is_its_own(name: str, mode: int, rng: np.random.Generator) -> None:
    def write(x: Any) -> Any:
        y = x * 1
        kept = COPIES[name](y).fill_(3.0)
        again = COPIES[name](y)
        again[0] = 4.0
        return y, kept, again

    run: Any = ms.jit(write) if mode == ms.GRAPH_MODE else write
    a = rng.standard_normal(SHAPE).astype(np.float32)
    y, kept, again = run(ms.Tensor(a))
    np.testing.assert_array_equal(y.asnumpy(), a)
    assert (kept.asnumpy() == 3.0).all() and (again[0].asnumpy() == 4.0).all()


def test_a_new_tensor_is_written_where_it_is_made(mode: int) -> None:
    def make(x: Any) -> Any:
        half = ops.chunk(x * 2, 2)[0].add_(1.0)
        return ops.zeros((4,)).view(2, 2).fill_(3.0), (x * 2).reshape((2, 2)).add_(1.0), half

    run: Any = ms.jit(make) if mode == ms.GRAPH_MODE else make
    assert [t.tolist() for t in run(ms.Tensor([1.0, 2, 3, 4]))] == [[[3, 3], [3, 3]], [[3, 5], [7, 9]], [3, 5]]


def test_weights_of_a_network(mode: int) -> None:
    class Net(ms.nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.weight = ms.Parameter(ms.Tensor(np.ones((2, 3), np.float32)), name="weight")

        def construct(self) -> Any:
            self.weight.T[0] = 5.0
            self.weight.view(-1)[2:4].fill_(0.0)
            self.weight.detach()[1].add_(1.0)
            return self.weight.sum()

    net = Net()
    assert net().item() == 11.0
    assert net.weight.tolist() == [[5, 1, 0], [1, 2, 2]]


def test_a_name_is_a_value_of_its_own_and_that_is_told(mode: int, notices: list[str]) -> None:
    def write(x: Any) -> Any:
        y = x * 1
        row = y.reshape(-1)
        row[0] = 9.0
        row[1:3].zero_()  # of row, which has a name
        return y, row

    run: Any = ms.jit(write) if mode == ms.GRAPH_MODE else write
    y, row = run(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert (y.tolist(), row.tolist()) == ([[1, 2], [3, 4]], [9, 0, 0, 4])
    assert sum("v[1] = 5 changes v alone" in each for each in notices) == 1
    gone = ms.Tensor([[1.0, 2.0]]) * 2
    gone = gone.reshape(-1)
    gone[0] = 5.0
    assert len(notices) == 1, "nobody has the tensor that it came from"


def test_an_expanded_value_takes_no_write(mode: int) -> None:
    def write(x: Any) -> Any:
        y = x * 1
        y.expand((3, 2)).zero_()
        return y

    run: Any = ms.jit(write) if mode == ms.GRAPH_MODE else write
    with pytest.raises(LostWriteError, match="repeats elements"):
        run(ms.Tensor([1.0, 2.0]))
    with pytest.raises(LostWriteError, match="nobody keeps"):
        (ms.Tensor([[1.0, 2.0]]) * 1).T.reshape(-1)[0] = 5.0


def test_long_chains_leave_nothing_behind() -> None:
    x = y = ms.Tensor(np.ones((2, 2), np.float32))
    for _ in range(100):
        y = y.T
    depth, part = 0, temporary_writes.part_of(y)
    while part is not None:
        depth, part = depth + 1, part[2]
    assert depth <= temporary_writes.DEEP + 1
    assert y.tolist() == x.tolist()
