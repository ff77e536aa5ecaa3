"""Convolutions over one, two and three axes are one implementation: they agree where one axis has size 1, and say their
own names and words where something is wrong."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base.errors import AttributeValueError

LAYERS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Conv1dTranspose, nn.Conv2dTranspose, nn.Conv3dTranspose)
SETTINGS: tuple[dict[str, Any], ...] = (
    {"pad_mode": "valid"},
    {"pad_mode": "same", "stride": 2},
    {"pad_mode": "pad", "padding": 1, "dilation": 2},
)


def images(*shape: int) -> ms.Tensor:
    return ms.Tensor(np.random.default_rng(7).standard_normal(shape).astype(np.float32))


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: s["pad_mode"])
def test_a_volume_of_one_layer_is_an_image(mode: None, settings: dict[str, Any]) -> None:
    x, w = images(2, 3, 6, 7), images(4, 3, 3, 2)
    flat = ops.conv2d(x, w, None, **settings)
    deep = {k: (1, v, v) if k in ("stride", "dilation") else (0, v, v) if k == "padding" else v
            for k, v in settings.items()}  # fmt: skip
    volume = ops.conv3d(x.expand_dims(2), w.expand_dims(2), None, **deep)
    np.testing.assert_allclose(volume.squeeze(2).asnumpy(), flat.asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: s["pad_mode"])
def test_a_row_is_an_image_of_one_row(mode: None, settings: dict[str, Any]) -> None:
    x = images(2, 3, 9)
    row = nn.Conv1d(3, 4, 3, weight_init="ones", **settings)
    wide = {k: (0, 0, v, v) if k == "padding" else (1, v) if k in ("stride", "dilation") else v
            for k, v in settings.items()}  # fmt: skip
    image = nn.Conv2d(3, 4, (1, 3), weight_init="ones", **wide)
    np.testing.assert_allclose(row(x).asnumpy(), image(x.expand_dims(2)).squeeze(2).asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_says_its_own_name(layer: Any) -> None:
    name = layer.__name__
    with pytest.raises(TypeError, match=rf"^{name}: missing a required argument: 'kernel_size'"):
        layer(1, 2)
    with pytest.raises(TypeError, match=rf"^{name} has no keyword argument 'strides'(?s:.)*did you mean stride\?"):
        layer(1, 2, 3, strides=2)
    assert list(inspect.signature(layer).parameters)[:7] == [
        "in_channels", "out_channels", "kernel_size", "stride", "pad_mode", "padding",
        "output_padding" if layer is nn.Conv2dTranspose else "dilation",
    ]  # fmt: skip
    assert layer(2, 4, 3, bias=True, groups=2).bias is not None, "PyTorch's words"


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: s["pad_mode"])
def test_a_transposed_volume_of_one_layer_is_an_image(mode: None, settings: dict[str, Any]) -> None:
    x, w = images(2, 3, 6, 7), images(3, 4, 3, 2)
    flat = ops.conv2d_transpose(x, w, None, **settings)
    deep = {k: (1, v, v) if k in ("stride", "dilation") else (0, v, v) if k == "padding" else v
            for k, v in settings.items()}  # fmt: skip
    volume = ops.conv3d_transpose(x.expand_dims(2), w.expand_dims(2), None, **deep)
    np.testing.assert_allclose(volume.squeeze(2).asnumpy(), flat.asnumpy(), rtol=1e-4, atol=1e-5)


def test_wrong_sizes_are_refused_in_the_words_of_the_axes() -> None:
    with pytest.raises(ValueError, match=r"Conv2d: kernel_size must be an int or two ints of at least 1, got \(3,\)"):
        nn.Conv2d(1, 2, (3,))
    with pytest.raises(ValueError, match=r"Conv3d: stride must be an int or three ints \(depth, rows, columns\) of"):
        nn.Conv3d(1, 2, 3, stride=(1, 2))
    with pytest.raises(TypeError, match=r"kernel_size must be an int, got \(3,\)"):
        nn.Conv1d(1, 2, (3,))  # type: ignore[arg-type, unused-ignore]
    with pytest.raises(ValueError, match=r"conv2d: padding must be an int, 2 or 4 ints \(top, bottom, left, right\)"):
        ops.conv2d(images(1, 1, 5, 5), images(1, 1, 3, 3), pad_mode="pad", padding=(1, 2, 3))
    with pytest.raises(TypeError, match=r"conv3d: padding \(or six: front, back, top, .* must be an int or three"):
        ops.conv3d(images(1, 1, 5, 5, 5), images(1, 1, 3, 3, 3), pad_mode="pad", padding=(1, True, 1))
    with pytest.raises(ValueError, match=r"max_pool3d: padding=1 goes with pad_mode='pad', not 'same'"):
        ops.max_pool3d(images(1, 1, 5, 5, 5), 3, pad_mode="same", padding=1)


@pytest.mark.parametrize("layer", [ms.nn.Conv3d, ms.nn.Conv3dTranspose])
def test_the_order_of_the_axes_of_volumes_is_said(layer: Any) -> None:
    assert layer(2, 3, 2, data_format="NCDHW")(ms.ops.ones((1, 2, 4, 4, 4))).shape == (1, 3, 4, 4, 4)
    with pytest.raises(AttributeValueError, match=f"{layer.__name__}: data_format must be 'NCDHW', got 'NDHWC'"):
        layer(2, 3, 2, data_format="NDHWC")
