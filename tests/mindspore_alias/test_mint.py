"""``mint``: PyTorch's names and defaults over msnb's operators, in both modes."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, mint

X = np.array([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]], np.float32)


def run(fn: Any, *inputs: Any) -> Any:
    return (ms.jit(fn) if ms.get_context("mode") == ms.GRAPH_MODE else fn)(*inputs)


CASES: dict[str, tuple[Any, Any]] = {
    "add": (lambda x: mint.add(x, x, alpha=2), X * 3),
    "sub": (lambda x: mint.sub(x, x, alpha=2), -X),
    "cat": (lambda x: mint.cat((x, x), 1), np.concatenate([X, X], 1)),
    "clone": (lambda x: mint.clone(x), X),
    "count_nonzero": (lambda x: mint.count_nonzero(x, 1), [3, 3]),
    "div": (lambda x: mint.div(x, 2, rounding_mode="floor"), X // 2),
    "equal": (lambda x: mint.equal(x, x), True),
    "equal of unlike": (lambda x: mint.equal(x, x + 1), False),
    "fix": (lambda x: mint.fix(x - 3.5), np.trunc(X - 3.5)),
    "flatten": (lambda x: mint.flatten(x), X.reshape(-1)),
    "gather": (lambda x: mint.gather(x, 1, Tensor([[0], [2]])), [[3], [4]]),
    "isneginf": (lambda x: mint.isneginf(x * -np.inf), np.full(X.shape, True)),
    "isposinf": (lambda x: mint.isposinf(x * -np.inf), np.full(X.shape, False)),
    "max": (lambda x: mint.max(x), 6.0),
    "max along an axis": (lambda x: mint.max(x, 1)[1], [0, 0]),
    "meshgrid": (lambda x: mint.meshgrid(x[0], x[1])[0], np.meshgrid(X[0], X[1], indexing="ij")[0]),
    "norm": (lambda x: mint.norm(x, 1), 21.0),
    "searchsorted": (lambda x: mint.searchsorted(Tensor([1.0, 2.0]), x[0], side="right"), [2, 1, 2]),
    "select": (lambda x: mint.select(x, 1, 2), X[:, 2]),
    "squeeze": (lambda x: mint.squeeze(x, 1), X),
    "std": (lambda x: mint.std(x), X.std(ddof=1)),
    "var": (lambda x: mint.var(x, 1, correction=0, keepdim=True), X.var(1, keepdims=True)),
    "var_mean": (lambda x: mint.var_mean(x, 1)[0], X.var(1, ddof=1)),
    "std_mean": (lambda x: mint.std_mean(x, 1)[1], X.mean(1)),
    "transpose": (lambda x: mint.transpose(x, 0, 1), X.T),
    "sum": (lambda x: mint.sum(x, dim=1, keepdim=True), X.sum(1, keepdims=True)),
}


@pytest.mark.parametrize("case", CASES)
def test_functions_with_their_own_meaning(mode: int, case: str) -> None:
    fn, expected = CASES[case]
    found = run(fn, Tensor(X))
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5)


def test_rounded_division_keeps_integers(mode: int) -> None:
    a, b = Tensor([-7, 7], ms.int32), Tensor([2, 2], ms.int32)
    assert run(lambda a, b: mint.div(a, b, rounding_mode="trunc"), a, b).tolist() == [-3, 3]
    assert mint.div(a, b, rounding_mode="trunc").dtype is ms.int32
    with pytest.raises(ValueError, match="rounding_mode is None"):
        mint.div(a, b, rounding_mode="up")


def test_drawn_numbers() -> None:
    ms.set_seed(1)
    low = mint.randint(5, (50,))
    assert low.shape == (50,) and 0 <= int(low.min()) and int(low.max()) < 5
    assert mint.randint_like(Tensor(X), 2, 4).dtype is ms.float32
    assert mint.normal(0.0, 1.0, (2, 3)).shape == mint.normal(Tensor(X), 2.0).shape == (2, 3)
    found = mint.unique(Tensor([3, 1, 3]), return_inverse=True)
    assert [f.tolist() for f in found] == [[1, 3], [1, 0, 1]]


@pytest.mark.parametrize("path", ["msnb.mint", "msnb.mint.nn", "msnb.mint.nn.functional"])
def test_all_names_are_there(path: str) -> None:
    module = importlib.import_module(path)
    assert len(set(module.__all__)) == len(module.__all__)
    assert all(callable(getattr(module, name)) for name in module.__all__ if name != "functional")
    with pytest.raises(ImportError):
        exec(f"from {path} import nothing_of_that_name")


def test_names_that_are_records_are_the_same_objects() -> None:
    from mindspore import mint as theirs
    from mindspore.mint.nn import functional as F

    assert theirs.exp is ms.ops.exp and theirs.nn.ReLU is ms.nn.ReLU and F.sigmoid is ms.ops.sigmoid
    assert theirs.nn.functional is F or theirs.nn.functional.relu is F.relu


def test_layers_train(mode: int, rng: np.random.Generator) -> None:
    class Net(ms.nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.conv = mint.nn.Conv2d(1, 4, 3, padding=1)
            self.norm = mint.nn.BatchNorm2d(4)
            self.pool = mint.nn.MaxPool2d(2)
            self.head = mint.nn.Linear(16, 3)

        def construct(self, x):
            x = self.pool(mint.nn.functional.relu(self.norm(self.conv(x))))
            return self.head(mint.flatten(x, 1))

    ms.set_seed(2)
    net = Net()
    names = [p.name for p in net.get_parameters()]
    assert names[2:7] == ["norm." + n for n in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")]
    x, y = Tensor(rng.standard_normal((6, 1, 4, 4)).astype(np.float32)), Tensor([0, 1, 2, 0, 1, 2])
    step = ms.nn.TrainOneStepCell(
        ms.nn.WithLossCell(net, mint.nn.CrossEntropyLoss()), ms.nn.Adam(net.trainable_params(), 0.01)
    ).set_train()
    losses = [float(step(x, y)) for _ in range(15)]
    assert losses[-1] < losses[0] and int(net.norm.num_batches_tracked) == 15


def test_layers_by_formula(mode: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal((4, 6)).astype(np.float32)
    t, nn = Tensor(x), mint.nn
    centred = x - x.mean(1, keepdims=True)
    want = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(nn.LayerNorm(6)(t).asnumpy(), want, 1e-4, 1e-5)
    norm = nn.BatchNorm1d(6, momentum=0.3).set_train()
    np.testing.assert_allclose(norm(t).asnumpy(), (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5), 1e-4, 1e-5)
    np.testing.assert_allclose(norm.running_mean.asnumpy(), 0.3 * x.mean(0), 1e-4, 1e-6)
    np.testing.assert_allclose(norm.running_var.asnumpy(), 0.7 + 0.3 * x.var(0, ddof=1), 1e-4, 1e-6)
    assert nn.BatchNorm1d(6, affine=False, track_running_stats=False)(t).shape == (4, 6)
    table = nn.Embedding(5, 3, padding_idx=-1)
    assert table(Tensor([4])).tolist() == [[0.0] * 3] and table.weight.shape == (5, 3)
    assert nn.GroupNorm(2, 6)(t.reshape(1, 6, 2, 2)).shape == (1, 6, 2, 2)
    assert nn.AvgPool2d(2)(t.reshape(1, 1, 4, 6)).shape == (1, 1, 2, 3)
    np.testing.assert_allclose(nn.Softmax(0)(t).asnumpy().sum(0), np.ones(6), 1e-5)
    assert nn.Flatten()(t.reshape(2, 2, 6)).shape == (2, 12) and nn.GELU("tanh")(t).shape == (4, 6)
    assert nn.Dropout(0.5)(t).tolist() == t.tolist()


def test_convolutions(mode: int) -> None:
    x, w = ms.ops.ones((1, 1, 5, 5)), ms.ops.ones((1, 1, 3, 3))
    F = mint.nn.functional
    assert F.conv2d(x, w).shape == (1, 1, 3, 3) and F.conv2d(x, w, padding=1, stride=2).shape == (1, 1, 3, 3)
    assert F.conv2d(x, w, padding="same").shape == (1, 1, 5, 5)
    assert F.max_pool2d(x, 3, 2, 1).shape == F.avg_pool2d(x, 3, 2, 1).shape == (1, 1, 3, 3)
    assert F.conv_transpose2d(x, w, stride=2).shape == (1, 1, 11, 11)
    assert F.one_hot(Tensor([0, 2])).tolist() == [[1, 0, 0], [0, 0, 1]]
    with pytest.raises(ValueError, match="padding is a number"):
        F.conv2d(x, w, padding="full")
    assert F.max_pool2d(Tensor(np.ones((1, 1, 4, 4), np.float32)), 2, 1, dilation=2).shape == (1, 1, 2, 2)


@pytest.mark.parametrize("path", ["mint", "mint.nn", "mint.nn.functional", "mint.linalg", "mint.special"])
def test_listed_names_are_the_public_ones(path: str) -> None:
    module = importlib.import_module(f"msnb.{path}")
    listed = [name for name in dir(module) if not name.startswith("__")]
    below = {"nn", "linalg", "special", "optim"} if path == "mint" else set()
    assert set(listed) - below == set(module.__all__) and all(hasattr(module, name) for name in listed)


def test_layers_of_rows_and_volumes(mode: int) -> None:
    for axes, layer in ((1, mint.nn.Conv1d(2, 3, 3)), (3, mint.nn.Conv3d(2, 3, 3))):
        x = ms.ops.ones((1, 2, *[5] * axes))
        weight, bias = layer.weight.asnumpy(), layer.bias.asnumpy()
        found = layer(x).asnumpy()
        assert found.shape == (1, 3, *[3] * axes)
        wanted = weight.reshape(3, -1).sum(1) + bias
        np.testing.assert_allclose(found.reshape(3, -1)[:, 0], wanted, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="padding_mode"):
        mint.nn.Conv1d(2, 3, 3, padding_mode="circular")


def test_linear_algebra_and_special_functions(mode: int) -> None:
    x = Tensor([[2.0, 1.0], [1.0, 3.0]])
    np.testing.assert_allclose(run(mint.linalg.inv, x).asnumpy(), np.linalg.inv(x.asnumpy()), rtol=1e-5)
    assert run(mint.linalg.vector_norm, x).item() == pytest.approx(np.sqrt(15))
    assert run(mint.special.exp2, Tensor([3.0])).tolist() == [8.0]
    y = Tensor([-1.0, 2.0])
    assert mint.nn.functional.relu_(y) is y and y.tolist() == [0.0, 2.0]


# ---- PyTorch's defaults where MindSpore has them too -----------------------------------------------------------------


@pytest.mark.parametrize("shape, dim", [((4,), 0), ((3, 4), 1), ((2, 3, 4), 0), ((2, 3, 4, 5), 1)])
def test_softmax_without_a_dim(mode: int, shape: tuple[int, ...], dim: int, rng: np.random.Generator) -> None:
    x = ms.Tensor(rng.standard_normal(shape).astype(np.float32))
    functional, layers = ms.mint.nn.functional, ms.mint.nn
    for name, layer, sign in (("softmax", "Softmax", 1), ("softmin", "Softmin", -1), ("log_softmax", "LogSoftmax", 1)):
        want = ms.ops.softmax(x * sign, dim)
        want = ms.ops.log(want) if name == "log_softmax" else want
        for found in (getattr(functional, name)(x), getattr(layers, layer)()(x), getattr(functional, name)(x, dim)):
            np.testing.assert_allclose(found.asnumpy(), want.asnumpy(), rtol=2e-5, atol=2e-6)


def test_extremes_of_two_tensors_and_along_an_axis(mode: int) -> None:
    a, b = ms.Tensor([[1.0, 5.0], [4.0, 2.0]]), ms.Tensor([[3.0, 3.0], [3.0, 3.0]])
    mint = ms.mint
    assert mint.max(a, b).tolist() == [[3.0, 5.0], [4.0, 3.0]] == mint.max(a, other=b).tolist()
    assert mint.min(a, b).tolist() == [[1.0, 3.0], [3.0, 2.0]]
    assert mint.max(a).item() == 5.0 and mint.min(a).item() == 1.0
    values, places = mint.max(a, 1, keepdim=True)
    assert values.tolist() == [[5.0], [4.0]] and places.tolist() == [[1], [0]]


def test_losses_grids_and_orders(mode: int) -> None:
    x = ms.Tensor([1.0, 2.0])
    assert ms.mint.nn.functional.smooth_l1_loss(x, x + 2).shape == ()
    assert [g.tolist() for g in ms.mint.meshgrid(x)] == [[1.0, 2.0]]
    assert ms.mint.permute(ms.ops.ones((2, 3)), dims=(1, 0)).shape == (3, 2)
    assert ms.mint.nansum(ms.Tensor([1.0, float("nan")]), dtype=ms.float64).dtype == ms.float64


@pytest.mark.parametrize(
    "name, shape, more",
    [
        ("avg_pool1d", (3, 8), (2,)),
        ("avg_pool2d", (3, 8, 6), (2,)),
        ("avg_pool3d", (3, 8, 6, 4), (2,)),
        ("max_pool2d", (3, 8, 6), (2,)),
        ("adaptive_avg_pool1d", (3, 8), (2,)),
        ("adaptive_avg_pool2d", (3, 8, 6), (2,)),
        ("adaptive_max_pool1d", (3, 8), (2,)),
        ("unfold", (3, 8, 6), (2,)),
        ("fold", (12, 15), ((4, 6), (2, 2))),
        ("conv1d", (3, 8), (ms.ops.ones((5, 3, 2)),)),
        ("conv2d", (3, 8, 6), (ms.ops.ones((5, 3, 2, 2)),)),
        ("conv3d", (3, 8, 6, 4), (ms.ops.ones((5, 3, 2, 2, 2)),)),
    ],
)
def test_one_image_without_its_batch(
    mode: int, name: str, shape: tuple[int, ...], more: tuple[Any, ...], rng: np.random.Generator
) -> None:
    fn = getattr(ms.mint.nn.functional, name)
    x = rng.standard_normal(shape).astype(np.float32)
    want = fn(ms.Tensor(x[None]), *more).asnumpy()
    np.testing.assert_array_equal(fn(ms.Tensor(x), *more).asnumpy(), want[0])
    np.testing.assert_array_equal(fn(input=ms.Tensor(x), **dict(zip(list(_words(fn))[1:], more))).asnumpy(), want[0])
    with pytest.raises((ValueError, TypeError)):
        fn(ms.Tensor(np.float32(1.0)), *more)


def _words(fn: Any) -> Any:
    return inspect.signature(fn).parameters
