"""Arguments that MindSpore's programs give to layers, functions and parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Parameter, Tensor, nn, ops
from msnb.base.errors import AttributeValueError, DTypeError, ShapeError


def test_borders_of_volumes(mode: int) -> None:
    x = np.arange(8, dtype=np.float32).reshape(1, 1, 2, 2, 2)
    width = ((0, 0), (0, 0), (0, 1), (1, 0), (1, 1))
    for make, how in ((nn.ReflectionPad3d, "reflect"), (nn.ReplicationPad3d, "edge")):
        assert (make((1, 1, 1, 0, 0, 1))(Tensor(x)).asnumpy() == np.pad(x, width, mode=how)).all()  # type: ignore[call-overload]
    found = nn.ConstantPad3d((1, 1, 1, 0, 0, 1), 5.0)(Tensor(x)).asnumpy()
    assert (found == np.pad(x, width, constant_values=5.0)).all()
    with pytest.raises(AttributeValueError, match="front, back"):
        nn.ConstantPad3d((1, 1, 1), 0.0)


def test_divisor_of_means(mode: int) -> None:
    x = ops.ones((1, 1, 4, 4))
    assert nn.AvgPool2d(2, 2, divisor_override=8)(x).tolist() == [[[[0.5, 0.5], [0.5, 0.5]]]]
    assert nn.AvgPool3d((1, 2, 2), 2, divisor_override=2)(x.reshape((1, 1, 1, 4, 4))).max().item() == 2.0
    with pytest.raises(AttributeValueError, match="divisor_override"):
        nn.AvgPool2d(2, divisor_override=0)


def test_shuffled_pixels_of_any_axes(mode: int) -> None:
    x = Tensor(np.arange(64, dtype=np.float32).reshape(2, 2, 4, 2, 2))
    found = ops.pixel_shuffle(x, 2)
    assert found.shape == (2, 2, 1, 4, 4)
    assert (found[1, 0] == ops.pixel_shuffle(x[1, 0], 2)).all() and (ops.pixel_unshuffle(found, 2) == x).all()
    with pytest.raises(ShapeError, match="axes"):
        ops.pixel_shuffle(ops.ones((4, 2)), 2)


def test_a_parameter_takes_another_dtype(mode: int) -> None:
    p = Parameter(np.array([1.5, 2.0], np.float32), name="p")
    assert p.set_dtype(ms.float16) is p and p.dtype is ms.float16 and p.tolist() == [1.5, 2.0]
    net = nn.Dense(2, 1)
    for each in net.get_parameters():
        each.set_dtype(ms.float64)
    assert net(ops.ones((1, 2), dtype=ms.float64)).dtype is ms.float64


def test_bounds_of_extremes_and_dtypes_of_norms(mode: int) -> None:
    x = Tensor([[1.0, 5.0], [2.0, 0.0]])
    assert x.max(initial=9.0).item() == 9.0 and x.min(axis=1, initial=0.5).tolist() == [0.5, 0.0]
    assert ops.max(x, 1, initial=3.0)[0].tolist() == [5.0, 3.0]
    assert ops.norm(Tensor([3.0, 4.0]), dtype=ms.float64).dtype is ms.float64


def test_spaced_numbers_between_results(mode: int) -> None:
    def fn(a: Tensor, b: Tensor) -> Tensor:
        return ops.linspace(a * 2, b, 3)

    run = ms.jit(fn) if mode == ms.GRAPH_MODE else fn
    assert run(Tensor(1.0), Tensor(4.0)).tolist() == [2.0, 3.0, 4.0]
    assert ms.grad(lambda a, b: fn(a, b).sum())(Tensor(1.0), Tensor(4.0)).item() == pytest.approx(3.0)


def test_inputs_of_any_number_of_axes() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    net, said = nn.ReLU(), Tensor(shape=None, dtype=ms.float32)
    net.set_inputs(said)
    assert [net(ops.ones(shape)).shape for shape in ((2, 3), (4,), ())] == [(2, 3), (4,), ()]
    assert "no values" in repr(said) and said.shape == (-2,)
    with pytest.raises(DTypeError):
        net(ops.ones((2,), dtype=ms.int32))


def test_axes_of_a_layer_norm_that_begin_earlier(mode: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal((2, 4, 3)).astype(np.float32)
    net = nn.LayerNorm((3,), 1, -1, epsilon=1e-5)
    net.gamma.set_data(Tensor([1.0, 2.0, 3.0]))
    off = x - x.mean((1, 2), keepdims=True)
    want = off / np.sqrt(x.var((1, 2), keepdims=True) + 1e-5) * np.float32([1, 2, 3])
    np.testing.assert_allclose(net(Tensor(x)).asnumpy(), want, rtol=1e-4, atol=1e-5)
    rows = nn.LayerNorm((4, 3), 1, 1)(Tensor(x))
    np.testing.assert_allclose(rows.asnumpy(), off / np.sqrt(x.var((1, 2), keepdims=True)), rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError):
        nn.LayerNorm((5,), 1, -1)(Tensor(x))


def test_statistics_of_batches_that_are_asked_for_move(mode: int) -> None:
    net = nn.BatchNorm2d(1, use_batch_statistics=True)
    net.set_train(False)
    net(Tensor(np.full((1, 1, 2, 2), 10.0, np.float32)))
    assert net.moving_mean.tolist() == pytest.approx([1.0])
    net = nn.BatchNorm2d(1, use_batch_statistics=False)
    net(Tensor(np.full((1, 1, 2, 2), 10.0, np.float32)))
    assert net.moving_mean.tolist() == [0.0]


def test_padding_of_volumes_counts(mode: int) -> None:
    x = Tensor(np.ones((1, 1, 3, 3, 3), np.float32))
    for counted, want in ((True, (2 / 3) ** 3), (False, 1.0)):
        found = nn.AvgPool3d(3, 2, "same", count_include_pad=counted)(x)
        assert found.reshape(-1).tolist() == pytest.approx([want] * 8)


def test_windows_of_odd_norms_keep_signs(mode: int) -> None:
    x = Tensor([[[1.0, -2.0, -3.0, 1.0]]])
    assert nn.LPPool1d(1, 2)(x).tolist() == [[[-1.0, -2.0]]]
    np.testing.assert_allclose(nn.LPPool1d(3, 2)(x).asnumpy(), -np.cbrt([[[7.0, 26.0]]]), rtol=1e-5)
    np.testing.assert_allclose(nn.LPPool1d(2, 2)(x).asnumpy(), np.sqrt([[[5.0, 10.0]]]), rtol=1e-5)


def test_gelu_of_an_encoder_is_exact(mode: int) -> None:
    layer = nn.TransformerEncoderLayer(4, 2, 8, 0.0, "gelu")
    x = Tensor([-1.5, 0.7])
    assert layer.activation(x).tolist() == ops.gelu(x, "none").tolist() != nn.GELU()(x).tolist()


def test_slopes_of_halves(mode: int) -> None:
    x = Tensor([[-1.0, 2.0]], ms.float16)
    assert nn.PReLU()(x).dtype is ms.float16 and nn.PReLU()(x).tolist() == [[-0.25, 2.0]]
    assert nn.PReLU()(Tensor(-2.0)).shape == () and nn.PReLU(2, 0.5)(Tensor([[-1.0, -2.0]])).shape == (1, 2)
    with pytest.raises(ValueError, match="one per channel"):
        nn.PReLU(3)(x)


POOLINGS = [f"{kind}Pool{n}d" for kind in ("Max", "Avg") for n in (1, 2, 3)]
CONVOLUTIONS = [f"Conv{n}d{way}" for way in ("", "Transpose") for n in (1, 2, 3)]
ADAPTIVE = [f"Adaptive{kind}Pool{n}d" for kind in ("Max", "Avg") for n in (1, 2, 3)]
WINDOWS = (
    *((name, what, {}) for name in POOLINGS for what in ("kernel_size", "stride", "padding")),
    *((name, "dilation", {}) for name in POOLINGS[:3]),
    *((name, "padding", {"in_channels": 1, "out_channels": 1, "kernel_size": 3, "pad_mode": "pad"})
      for name in CONVOLUTIONS),
    *((name, "output_padding", {"in_channels": 1, "out_channels": 1, "kernel_size": 3, "pad_mode": "pad"})
      for name in ("Conv2dTranspose", "Conv3dTranspose")),
    *((name, "output_size", {}) for name in ADAPTIVE),
    *((f"LPPool{n}d", what, {"norm_type": 2, "kernel_size": 2}) for n in (1, 2) for what in ("kernel_size", "stride")),
    *((f"MaxUnpool{n}d", what, {"kernel_size": 2})
      for n in (1, 2, 3) for what in ("kernel_size", "stride", "padding")),
    ("Flatten", "start_dim", {}),
)  # fmt: skip


@pytest.mark.parametrize("name, what, rest", WINDOWS, ids=[f"{name} {what}" for name, what, _ in WINDOWS])
def test_windows_that_are_no_integers_are_refused_when_a_layer_is_made(
    mode: int, name: str, what: str, rest: dict[str, Any]
) -> None:
    for wrong in (1.5, 2.0, "2", (2.0, 2.0), (True, True), *((True,) if what != "dilation" else ())):
        with pytest.raises(TypeError, match=f"{name}: {what} must be an int"):
            getattr(nn, name)(**{**rest, what: wrong})
