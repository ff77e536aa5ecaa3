"""Layers and losses by numbers of MindSpore 2.10, or of NumPy where its kernels are on Ascend alone; both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Parameter, Tensor, nn, ops

SQUARE = Tensor([[1.0, 2.0], [3.0, 4.0]])
STEEP = Tensor([[4.0, 2.0], [2.0, 3.0]])
SCORES = Tensor([[0.2, 0.5, 0.7], [0.3, 0.1, 0.5], [0.9, 0.6, 0.3]])
ONE_HOT = Tensor([[0.0, 1, 0], [1, 0, 0], [0, 0, 1]])
TABLE = Tensor(np.arange(20, dtype=np.float32).reshape(10, 2) - 5)
FIELDS = (
    Tensor([[2, 4, 6, 0, 0], [1, 3, 5, 0, 0]]), Tensor([[1, 0.5, 1, 0, 0], [1, 1, 2.0, 0, 0]]),
    Tensor(np.array([[0, 1, 1, 0, 0], [0, 0, 1, 0, 0]], np.int32)),
)  # fmt: skip
DRAWN = (Tensor([1, 2]), Tensor([[0.5], [0.5]]), Tensor([0.25, 1.0]))


@pytest.mark.parametrize(
    ("layer", "inputs", "expected"),
    [
        (nn.MatDet(), (STEEP,), [8.0]),
        (nn.MatInverse(), (STEEP,), [0.375, -0.25, -0.25, 0.5]),
        (nn.MatrixDiag(), (Tensor([1.0, 2.0]),), [1, 0, 0, 2]),
        (nn.MatrixDiagPart(), (SQUARE[:1],), [1]),
        (nn.MatrixSetDiag(), (SQUARE, Tensor([7.0, 8.0])), [7, 2, 3, 8]),
        (nn.Roll((1, 1), (0, -1)), (SQUARE,), [4, 3, 2, 1]),
        (nn.DiGamma(), (Tensor([1.0, 0.3, -0.5]),), [-0.57722, -3.50252, 0.03649]),
        (nn.LBeta(), (Tensor([2.0, 4.0, 0.5]), Tensor([2.0, 3.0, 9.0])), [-1.79176, -4.09434, -0.51237]),
        (nn.LBeta(), (Tensor([1000.0, 9.0]), Tensor([2000.0, 1e6])), [-1911.87461, -113.73503]),
        (nn.Moments(0, True), (SQUARE,), [2, 3, 1, 1]),
        (nn.Moments(), (SQUARE,), [2.5, 1.25]),
        (nn.ImageGradients(), (Tensor([[[[1.0, 2.0], [3.0, 5.0]]]]),), [2, 3, 0, 0, 1, 0, 2, 0]),
        (nn.MultiMarginLoss(), (Tensor([[0.1, 0.3, 0.6], [0.5, 0.2, 0.1]]), Tensor([1, 0])), [0.56667]),
        (nn.MultiMarginLoss(2, 0.5, "sum", Tensor([1.0, 2, 3])), (Tensor([[0.1, 0.3, 0.6]]), Tensor([1])), [0.48667]),
        (nn.MultilabelMarginLoss(), (Tensor([[0.1, 0.2, 0.4, 0.8]]), Tensor([[3, 0, -1, 1]])), [0.85]),
        (nn.MultilabelMarginLoss("none"),
         (Tensor([[0.1, 0.2, 0.4, 0.8], [0.5, 0.1, 0.3, 0.2]]), Tensor([[3, 0, -1, 1], [1, -1, 0, 2]])), [0.85, 0.925]),
        (nn.TripletMarginWithDistanceLoss(swap=True, reduction="none", margin=2.0),
         (Tensor([[0.0, 0]]), Tensor([[3.0, 4]]), Tensor([[0.0, 9]])), [7 - 34**0.5]),
        (nn.MultiClassDiceLoss(), (SCORES, ONE_HOT), [0.54958]),
        (nn.MultiClassDiceLoss(Tensor([[0.5, 0.1], [0.2, 0.3], [1, 1.0]]), 1, "sigmoid"), (SCORES, ONE_HOT),
         [0.23345, 0.17178]),
        (nn.MultiClassDiceLoss(None, 0, None), (SCORES, ONE_HOT), [0.35162]),
        (nn.SampledSoftmaxLoss(2, 3, 1, DRAWN), (SCORES, Tensor([0.0, 1, 0]), Tensor([0, 2]), SCORES[:2]),
         [1.68727, 1.83639]),
        (nn.MultiFieldEmbeddingLookup(10, 2, 2, TABLE), FIELDS, [-1, 0, 8.5, 10, -2, 0, 10, 12]),
        (nn.MultiFieldEmbeddingLookup(10, 2, 2, TABLE, operator="MAX"), FIELDS, [-1, 0, 7, 8, 1, 2, 10, 12]),
        (nn.MultiFieldEmbeddingLookup(10, 2, 3, TABLE, operator="MEAN"), FIELDS,
         [-1, 0, 5.66667, 6.66667, 0, 0, -1, 0, 5, 6, 0, 0]),
        (nn.AvgPool1dExt(2), (ops.arange(6.0).reshape(1, 1, 6),), [0.5, 2.5, 4.5]),
        (nn.AvgPool3dExt(2, divisor_override=3), (ops.arange(8.0).reshape(1, 1, 2, 2, 2),), [9.33333]),
        (nn.GradAccumulationCell(nn.ReLU(), 2), (SQUARE,), [4, 6]),
    ],
)  # fmt: skip
def test_numbers(layer: Any, inputs: Any, expected: list[float], mode: int) -> None:
    for call in (layer, ms.jit(lambda *x: layer(*x))):
        found = call(*inputs)
        parts = found if isinstance(found, tuple) else (found,)
        flat = np.concatenate([part.asnumpy().ravel() for part in parts])
        np.testing.assert_allclose(flat, expected, rtol=2e-5, atol=1e-5)


def test_names_of_pytorch_layers() -> None:
    assert nn.EmbeddingExt(3, 2).weight.shape == (3, 2)
    np.testing.assert_allclose(nn.LayerNormExt(2)(SQUARE).asnumpy(), [[-1, 1], [-1, 1]], atol=1e-4)
    assert float(nn.LogSoftmaxExt(dim=0)(SQUARE).exp().sum()) == pytest.approx(2)
    assert nn.PReLUExt()(-SQUARE).tolist() == [[-0.25, -0.5], [-0.75, -1.0]]
    assert nn.L1LossExt("sum")(SQUARE, 0 * SQUARE).item() == 10
    assert nn.MaxPool2dExt(2)(SQUARE.reshape(1, 1, 2, 2)).item() == 4
    assert nn.AvgPool2dExt(2)(SQUARE.reshape(1, 1, 2, 2)).item() == 2.5
    assert nn.DropoutExt()(SQUARE).shape == nn.Dropout2dExt()(SQUARE.reshape(1, 1, 2, 2)).shape[2:]


def test_images_at_several_sizes(rng: np.random.Generator, mode: int) -> None:
    a = rng.random((2, 3, 40, 40)).astype(np.float32)
    b = np.clip(a + 0.1 * rng.normal(size=a.shape), 0, 1).astype(np.float32)
    layer = nn.MSSSIM(power_factors=(0.4, 0.6), filter_size=5)
    found = layer(Tensor(a), Tensor(b))
    np.testing.assert_allclose(found.asnumpy(), _ms_ssim(a, b, (0.4, 0.6), 5), rtol=1e-4)
    assert layer(Tensor(a), Tensor(a)).tolist() == pytest.approx([1, 1])
    whole = nn.MSSSIM(255.0, (0.4, 0.6), 5)(Tensor((a * 255).astype(np.uint8)), Tensor((b * 255).astype(np.uint8)))
    np.testing.assert_allclose(whole.asnumpy(), found.asnumpy(), atol=5e-3)


def _ms_ssim(a: Any, b: Any, factors: Any, size: int) -> Any:
    places = np.arange(-size // 2 + 1, size // 2 + 1)
    bell = np.exp(-(places[:, None] ** 2 + places[None] ** 2) / 4.5)
    bell /= bell.sum()
    product = 1.0
    for level, factor in enumerate(factors):
        windows = [np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3)) for x in (a, b)]
        x, y = windows
        mx, my = ((w * bell).sum((-2, -1)) for w in windows)
        xx, yy, xy = ((v * bell).sum((-2, -1)) for v in (x * x, y * y, x * y))
        contrast = (2 * (xy - mx * my) + 0.03**2) / (xx - mx**2 + yy - my**2 + 0.03**2)
        last = contrast * (2 * mx * my + 0.01**2) / (mx**2 + my**2 + 0.01**2)
        part = last if level == len(factors) - 1 else contrast
        product = product * np.maximum(part.mean((2, 3)), 0) ** factor
        a, b = (v.reshape(*v.shape[:2], v.shape[2] // 2, 2, v.shape[3] // 2, 2).mean((3, 5)) for v in (a, b))
    return np.mean(product, -1)


def test_cells_that_give_gradients(mode: int) -> None:
    net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    label = Tensor([[1.0], [2.0]])
    assert [g.tolist() for g in nn.WithGradCell(net, nn.MSELoss())(SQUARE, label)] == [[[17.0, 24.0]], [7.0]]
    assert [g.tolist() for g in nn.WithGradCell(net, None, label)(SQUARE)] == [[[7.0, 10.0]], [3.0]]
    weights = net.trainable_params()
    value, slope = nn.ForwardValueAndGrad(net, sens_param=True)(SQUARE, label)
    assert (value.tolist(), slope.tolist()) == ([[3.0], [7.0]], [[1.0, 1.0], [2.0, 2.0]])
    both = nn.ForwardValueAndGrad(net, weights, get_all=True, get_by_list=True)(SQUARE)[1]
    assert both[0][0].tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert [g.tolist() for g in both[1]] == [[[4.0, 6.0]], [2.0]]
    assert [g.tolist() for g in nn.ForwardValueAndGrad(net, weights, get_by_list=True)(SQUARE)[1]] == [[[4, 6]], [2]]

    class Cube(nn.Cell):
        def construct(self, x: Tensor, y: Tensor) -> Tensor:
            return x**3 + y

    v = Tensor([1.0, 2.0])
    value, change = nn.Jvp(Cube())(v, v, (v, v))
    assert (value.tolist(), change.tolist()) == ([2.0, 10.0], [4.0, 26.0])
    assert [g.tolist() for g in nn.Vjp(Cube())(v, v, v)[1]] == [[3.0, 24.0], [1.0, 2.0]]
    p = Parameter(Tensor([1.0]), name="p")
    nn.ParameterUpdate(p)(Tensor([3.0]))
    assert p.tolist() == [3.0]


def test_gradients_of_losses(mode: int) -> None:
    x = Tensor([[0.1, 0.2, 0.4, 0.8]])
    slope = ms.grad(lambda s: nn.MultilabelMarginLoss()(s, Tensor([[3, 0, -1, 1]])))(x)
    assert slope.tolist() == [[-0.5, 0.5, 0.5, -0.5]]
    near = ms.grad(lambda s: nn.TripletMarginWithDistanceLoss()(s, Tensor([[3.0, 4.0]]), Tensor([[0.0, 2.0]])))
    np.testing.assert_allclose(near(Tensor([[0.0, 0.0]])).asnumpy(), [[-0.6, 0.2]], atol=1e-6)


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        (lambda: nn.Roll((1, 2), 0), ValueError, "one shift for each axis"),
        (lambda: nn.MatDet()(Tensor([[1]])), TypeError, "float16 or float32"),
        (lambda: nn.LBeta()(Tensor([1.0]), Tensor([1])), TypeError, "float16 or float32"),
        (lambda: nn.Moments(0.5), TypeError, "axis must be an int"),
        (lambda: nn.ImageGradients()(SQUARE), ValueError, "height, width"),
        (lambda: nn.MSSSIM(max_val=0.0), ValueError, "above 0"),
        (lambda: nn.MSSSIM()(SQUARE, SQUARE), ValueError, "height, width"),
        (lambda: nn.MultiFieldEmbeddingLookup(3, 1, 2, operator="MIN"), ValueError, "SUM, MEAN or MAX"),
        (lambda: nn.MultiFieldEmbeddingLookup(3, 1, 2)(Tensor([[0]])), ValueError, "of one shape"),
        (lambda: nn.MultiMarginLoss(p=3), ValueError, "1 or 2"),
        (lambda: nn.MultilabelMarginLoss()(SQUARE, Tensor([1])), ValueError, "one shape"),
        (lambda: nn.TripletMarginWithDistanceLoss(margin=1), TypeError, "margin is a float"),
        (lambda: nn.MultiClassDiceLoss(activation="gelu"), ValueError, "legal: softmax"),
        (lambda: nn.MultiClassDiceLoss(Tensor([1.0])), ValueError, "2 axes"),
        (lambda: nn.MultiClassDiceLoss()(SQUARE, Tensor([1.0])), ValueError, "n, classes"),
        (lambda: nn.SampledSoftmaxLoss(4, 3), ValueError, "at most num_classes"),
        (lambda: nn.SampledSoftmaxLoss(1, 3, sampled_values=(1,)), ValueError, "three tensors"),
        (lambda: nn.ForwardValueAndGrad(nn.ReLU(), get_by_list=True), TypeError, "needs weights"),
        (lambda: nn.WithGradCell(abs), TypeError, "must be a Cell"),
        (lambda: nn.ParameterUpdate(SQUARE), TypeError, "takes a Parameter"),
        (lambda: nn.GradAccumulationCell(nn.ReLU(), 0), ValueError, "at least 1"),
    ],
)
def test_wrong_arguments(wrong: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        wrong()
