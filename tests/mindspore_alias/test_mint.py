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
    "empty": (lambda x: mint.empty(2, 3, dtype=ms.int32, device="cpu") * 0, np.zeros((2, 3), np.int32)),
    "empty_like": (lambda x: mint.empty_like(x, device="CPU") * 0 + x, X),
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


def test_embeddings(mode: int) -> None:
    ids = Tensor([[0, 3], [1, 3]])
    net = mint.nn.Embedding(4, 2, padding_idx=-1, max_norm=0.5, scale_grad_by_freq=True)
    slopes = ms.grad(lambda i: net(i).sum(), None, net.trainable_params())(ids)[0]
    assert slopes[:, 0].tolist() == [1, 1, 0, 0]
    assert (np.linalg.norm(net.weight.asnumpy()[[0, 1]], axis=1) < 0.5001).all()
    frozen = mint.nn.Embedding(2, 2, _weight=Tensor([[1.0, 2.0], [3.0, 4.0]]), _freeze=True)
    assert frozen(Tensor([1])).tolist() == [[3.0, 4.0]] and not frozen.trainable_params()
    for wrong, message in (
        ({"padding_idx": 4}, "padding_idx 4 is not a row"), ({"padding_idx": -5}, "not a row"),
        ({"sparse": True}, "gradients are dense"), ({"_weight": Tensor([[1.0]])}, r"not \(4, 2\)"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            mint.nn.Embedding(4, 2, **wrong)


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
    below = {"distributed", "nn", "linalg", "special", "optim"} if path == "mint" else set()
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
        mint.nn.Conv1d(2, 3, 3, padding="same", padding_mode="circular")


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


# ---- layers and functions, by PyTorch's formulas --------------------------------------------------------------------


def test_batch_norm_in_parts(mode: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal((6, 3, 5)).astype(np.float32)
    parts = [Tensor(x[:2]), Tensor(x[2:])]
    weight, bias = Tensor([1.0, 2.0, 3.0]), Tensor([0.5, 0.0, -0.5])
    moving = ms.Parameter(ms.ops.zeros(3), name="mean"), ms.Parameter(ms.ops.ones(3), name="variance")

    def program(a: Any, b: Any) -> Any:
        both = [ms.ops.stack(pair) for pair in zip(mint.batch_norm_stats(a, 1e-5), mint.batch_norm_stats(b, 1e-5))]
        counts = Tensor([10.0, 20.0])
        mean, invstd = mint.batch_norm_gather_stats_with_counts(a, *both, *moving, 0.2, 1e-5, counts)
        return mint.batch_norm_elemt(b, weight, bias, mean, invstd)

    wide = x.transpose(1, 0, 2).reshape(3, -1)
    mean, variance = wide.mean(1), wide.var(1)
    scale = np.array([1.0, 2.0, 3.0]) / np.sqrt(variance + 1e-5)
    want = (x[2:] - mean[:, None]) * scale[:, None] + np.array([0.5, 0.0, -0.5])[:, None]
    np.testing.assert_allclose(run(program, *parts).asnumpy(), want, 1e-4, 1e-5)
    np.testing.assert_allclose(moving[0].asnumpy(), 0.2 * mean, 1e-4, 1e-6)
    np.testing.assert_allclose(moving[1].asnumpy(), 0.8 + 0.2 * wide.var(1, ddof=1), 1e-4)
    with pytest.raises(TypeError, match="batch_norm_stats"):
        mint.batch_norm_elemt(parts[0])


def test_transposed_convolution_and_padding(mode: int, rng: np.random.Generator) -> None:
    layer = mint.nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2)
    x = rng.standard_normal((2, 4, 3, 3)).astype(np.float32)
    weight, want = layer.weight.asnumpy(), np.zeros((2, 6, 8, 8))
    for i, j, k, m in np.ndindex(3, 3, 3, 3):
        for g in range(2):
            part = x[:, 2 * g : 2 * g + 2, i, j] @ weight[2 * g : 2 * g + 2, :, k, m]
            want[:, 3 * g : 3 * g + 3, 2 * i + k, 2 * j + m] += part
    found = run(layer, Tensor(x)).asnumpy()
    np.testing.assert_allclose(found, want[..., 1:7, 1:7] + layer.bias.asnumpy()[:, None, None], 1e-4, 1e-5)
    assert layer(Tensor(x[0])).shape == (6, 6, 6) and layer.weight.shape == (4, 3, 3, 3)
    assert abs(weight).max() <= 1 / np.sqrt(27)
    assert mint.nn.ZeroPad1d((1, 2))(Tensor([[[5.0]]])).tolist() == [[[0.0, 5.0, 0.0, 0.0]]]
    assert mint.nn.ZeroPad3d(1)(ms.ops.ones((1, 1, 2, 3, 4))).shape == (1, 1, 4, 5, 6)
    with pytest.raises(ValueError, match="padding_mode"):
        mint.nn.ConvTranspose2d(1, 1, 1, padding_mode="reflect")


def test_means_of_windows_and_other_sizes(mode: int) -> None:
    x = Tensor(np.arange(8.0, dtype=np.float32).reshape(1, 1, 8))
    assert run(mint.nn.AvgPool1d(2, 3), x).tolist() == [[[0.5, 3.5, 6.5]]]
    assert run(mint.nn.AvgPool1d(2, 2, 1, count_include_pad=False), x).tolist() == [[[0.0, 1.5, 3.5, 5.5, 7.0]]]
    cube = ms.ops.reshape(x, (1, 1, 2, 2, 2))
    assert run(mint.nn.AvgPool3d(2), cube).tolist() == [[[[[3.5]]]]]
    assert run(mint.nn.AvgPool3d(2, divisor_override=4), cube).tolist() == [[[[[7.0]]]]]
    square = Tensor([[[[1.0, 2.0], [3.0, 5.0]]]])
    assert run(mint.nn.UpsamplingNearest2d((2, 4)), square).tolist() == [[[[1.0, 1.0, 2.0, 2.0], [3.0, 3.0, 5.0, 5.0]]]]
    found = run(mint.nn.UpsamplingBilinear2d(size=(3, 3)), square).tolist()
    assert found == [[[[1.0, 1.5, 2.0], [2.0, 2.75, 3.5], [3.0, 4.0, 5.0]]]]
    assert mint.nn.functional.upsample(square, scale_factor=2).shape == (1, 1, 4, 4)
    columns = ms.ops.ones((4, 4))
    assert run(mint.nn.Fold(3, 2), columns).tolist() == [[[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]]


def test_common_batch_norm_of_one_rank(mode: int, rng: np.random.Generator) -> None:
    x = Tensor(rng.standard_normal((4, 3, 5)).astype(np.float32))
    one, other = mint.nn.SyncBatchNorm(3, momentum=0.3).set_train(), mint.nn.BatchNorm1d(3, momentum=0.3).set_train()
    np.testing.assert_array_equal(run(one, x).asnumpy(), run(other, x).asnumpy())
    assert one.running_var.tolist() == other.running_var.tolist()
    with pytest.raises(ValueError, match="no group is called 'few'"):
        mint.nn.SyncBatchNorm(3, process_group="few").set_train()(x)


def test_written_activations(mode: int) -> None:
    F = mint.nn.functional
    for fn, want in ((F.elu_, [np.expm1(-2.0), 0.5, 3.0]), (F.hardtanh_, [-1.0, 0.5, 1.0]),
                     (F.sigmoid_, 1 / (1 + np.exp([2.0, -0.5, -3.0]))),
                     (lambda x: F.threshold_(x, 1.0, 9.0), [9.0, 9.0, 3.0])):  # fmt: skip
        x = Tensor([-2.0, 0.5, 3.0])
        assert fn(x) is x
        np.testing.assert_allclose(x.asnumpy(), want, 1e-6)


def test_functions_of_vectors(mode: int) -> None:
    a, b = Tensor([1 + 2j, 3.0]), Tensor([2.0, 1j])
    assert run(mint.vdot, a, b).item() == np.vdot(a.asnumpy(), b.asnumpy())
    x = ms.ops.ones((2, 3))
    assert mint.addr_(x, Tensor([1.0, 2.0]), Tensor([1.0, 0.0, 2.0]), beta=2, alpha=3) is x
    assert x.tolist() == [[5.0, 2.0, 8.0], [8.0, 2.0, 14.0]]
    lower = Tensor([[1.0, 9.0], [3.0, 1.0]])
    found, matrix = run(lambda b, m: mint.triangular_solve(b, m, upper=False), Tensor([[2.0], [7.0]]), lower)
    assert found.tolist() == [[2.0], [1.0]] and matrix.shape == (2, 2)
    steps, kernel = np.arange(6.0, dtype=np.float32).reshape(3, 1, 2), np.ones((2, 2, 1), np.float32)
    found = run(lambda x, w: mint.conv_tbc(x, w, Tensor([0.5]), 1), Tensor(steps), Tensor(kernel))
    assert found.reshape((-1,)).tolist() == [1.5, 6.5, 14.5, 9.5]
    assert mint.npu_gelu(Tensor([0.0])).item() == 0 and mint.gcd(Tensor([6, 4]), 4).tolist() == [2, 4]


@pytest.mark.parametrize(
    ("asked", "error", "says"),
    [({"device": "XPU"}, ValueError, "not known"), ({"device": 1}, TypeError, "is a name like"),
     ({"pin_memory": True}, RuntimeError, "pinned")],
)  # fmt: skip
def test_empty_on_devices_that_are_not(mode: int, asked: dict[str, Any], error: type[Exception], says: str) -> None:
    for fn in (lambda: mint.empty((2,), **asked), lambda: mint.empty_like(Tensor([1.0]), **asked)):
        with pytest.raises(error, match=says):
            run(fn)


def test_empty_lies_where_it_was_asked_for() -> None:
    made = mint.empty((2, 3), dtype=ms.float16, device="SimulatedGPU")
    assert (made.device, made.shape, made.dtype) == ("SimulatedGPU", (2, 3), ms.float16)
    assert mint.empty_like(made, device="cpu").device == "CPU"
    assert mint.empty((2,), device="npu").device == Tensor([0.0]).move_to("Ascend").device


def test_attributes_of_layers(mode: int) -> None:
    """A program that reads what a layer was made with finds PyTorch's names and tuples."""
    conv, turned = mint.nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), mint.nn.ConvTranspose2d(3, 2, 3)
    assert (conv.kernel_size, conv.stride, conv.padding, conv.dilation) == ((3, 3), (2, 2), (1, 1), (1, 1))
    assert (conv.padding_mode, conv.transposed, conv.output_padding, conv.groups) == ("zeros", False, (0, 0), 2)
    assert (turned.transposed, turned.output_padding, mint.nn.Conv1d(1, 1, 3).stride) == (True, (0, 0), (1,))
    linear, table = mint.nn.Linear(3, 4), mint.nn.GroupNorm(1, 3)
    assert (linear.in_features, linear.out_features, table.num_channels, table.affine) == (3, 4, 3, True)
    assert mint.nn.LayerNorm(3).elementwise_affine and mint.nn.BatchNorm2d(3).affine
    pool, mean = mint.nn.MaxPool2d(2, return_indices=True), mint.nn.AvgPool2d(2, 1)
    assert (pool.kernel_size, pool.stride, mean.stride, mean.count_include_pad) == (2, 2, 1, True)
    values, places = run(pool, Tensor([[[[1.0, 2.0], [4.0, 3.0]]]]))
    assert (values.item(), places.item()) == (4, 2)


@pytest.mark.parametrize("border", ["reflect", "replicate", "circular"])
def test_borders_of_convolutions(mode: int, border: str) -> None:
    layer = mint.nn.Conv2d(1, 1, 3, padding=(1, 2), padding_mode=border, bias=False)
    layer.weight.set_data(ms.ops.ones((1, 1, 3, 3)))
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    kind = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[border]
    wide = np.pad(x, ((1, 1), (2, 2)), mode=kind)
    sums = sum(wide[i : i + 4, j : j + 7] for i in range(3) for j in range(3))
    np.testing.assert_allclose(run(layer, Tensor(x[None, None])).asnumpy()[0, 0], sums, 1e-5)


@pytest.mark.parametrize("padding", [1, [1, 1], "same", 0])
def test_convolution_of_images(mode: int, padding: Any) -> None:
    x = np.arange(18, dtype=np.float32).reshape(2, 3, 3)
    weight = np.zeros((1, 2, 3, 3), np.float32)
    weight[0, :, 1, 1] = 1.0, 2.0  # the pixel itself: a weighted sum of the channels
    wanted = (x[:1] + 2 * x[1:])[:, 1:2, 1:2] if padding == 0 else x[:1] + 2 * x[1:]
    for images in (x, x[None]):
        found = run(lambda x, w: mint.conv2d(x, w, Tensor([1.0]), padding=padding), Tensor(images), Tensor(weight))
        np.testing.assert_allclose(found.asnumpy(), np.reshape(wanted + 1, images.shape[:-3] + wanted.shape))
    with pytest.raises(ValueError, match="padding is a number, numbers, 'same' or 'valid', not 'full'"):
        mint.conv2d(Tensor(x), Tensor(weight), padding="full")
    assert mint.nn.functional.conv2d is mint.conv2d
