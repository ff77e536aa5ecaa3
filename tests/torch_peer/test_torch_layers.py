"""Layers of ``torch.nn`` and networks of them: outputs of all modules and gradients of all weights are PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.nn as nn  # noqa: E402
from export_fixtures import Attention, Convolutions, Modes, Recurrences, States, Views, state_inputs  # noqa: E402

import msnb as ms  # noqa: E402

torch.manual_seed(11)
T = torch.randn


def _layers() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Name -> (module, inputs)."""
    row, image, volume, flat = T(2, 4, 9), T(2, 4, 8, 8), T(2, 4, 4, 4, 4), T(3, 6)
    found: dict[str, tuple[Any, tuple[Any, ...]]] = {}
    plain = ("ReLU ReLU6 ELU SELU CELU GELU SiLU Mish Sigmoid Tanh Hardtanh Hardswish Hardsigmoid LeakyReLU LogSigmoid "
             "Softplus Softshrink Hardshrink Softsign Tanhshrink Softmin Identity")  # fmt: skip
    for name in plain.split():
        module = nn.Softmin(1) if name == "Softmin" else getattr(nn, name)()
        found[name] = (module, (flat * 2,))
    for n, x in ((1, row), (2, image), (3, volume)):
        found[f"Conv{n}d"] = (getattr(nn, f"Conv{n}d")(4, 6, 3, 2, 1, groups=2), (x,))
        found[f"BatchNorm{n}d"] = (getattr(nn, f"BatchNorm{n}d")(4), (x,))
        found[f"InstanceNorm{n}d"] = (getattr(nn, f"InstanceNorm{n}d")(4, affine=True), (x,))
        found[f"AvgPool{n}d"] = (getattr(nn, f"AvgPool{n}d")(2), (x,))
        found[f"MaxPool{n}d"] = (getattr(nn, f"MaxPool{n}d")(2), (x,))
        found[f"AdaptiveAvgPool{n}d"] = (getattr(nn, f"AdaptiveAvgPool{n}d")(2), (x,))
        found[f"ConstantPad{n}d"] = (getattr(nn, f"ConstantPad{n}d")(1, 2.0), (x,))
        found[f"ZeroPad{n}d"] = (getattr(nn, f"ZeroPad{n}d")(1), (x,))
        found[f"CircularPad{n}d"] = (getattr(nn, f"CircularPad{n}d")(1), (x,))
        found[f"ReplicationPad{n}d"] = (getattr(nn, f"ReplicationPad{n}d")(1), (x,))
        found[f"Dropout{n}d"] = (getattr(nn, f"Dropout{n}d")(0.3), (x,))
    for n, x in ((1, row), (2, image)):
        found[f"ReflectionPad{n}d"] = (getattr(nn, f"ReflectionPad{n}d")(1), (x,))
        found[f"AdaptiveMaxPool{n}d"] = (getattr(nn, f"AdaptiveMaxPool{n}d")(2), (x,))
        found[f"ConvTranspose{n}d"] = (getattr(nn, f"ConvTranspose{n}d")(4, 3, 3, 2, 1, 1), (x,))
        found[f"LPPool{n}d"] = (getattr(nn, f"LPPool{n}d")(2, 2), (x.abs() + 0.1,))
    ids = torch.tensor([[0, 3, 1], [2, 2, 4]])
    found |= {
        "Linear": (nn.Linear(6, 4), (flat,)),
        "Linear no bias": (nn.Linear(6, 4, bias=False), (T(2, 3, 6),)),
        "Bilinear": (nn.Bilinear(6, 6, 3), (flat, T(3, 6))),
        "Embedding": (nn.Embedding(5, 4), (ids,)),
        "Embedding padding": (nn.Embedding(5, 4, padding_idx=2), (ids,)),
        "LayerNorm": (nn.LayerNorm(6), (flat,)),
        "LayerNorm plain": (nn.LayerNorm((4, 8, 8), 1e-3, False), (image,)),
        "GroupNorm": (nn.GroupNorm(2, 4), (image,)),
        "RMSNorm": (nn.RMSNorm(6), (flat,)),
        "LocalResponseNorm": (nn.LocalResponseNorm(2), (image,)),
        "Flatten": (nn.Flatten(), (image,)),
        "Unflatten": (nn.Unflatten(1, (2, 3)), (flat,)),
        "GELU tanh": (nn.GELU("tanh"), (flat,)),
        "LeakyReLU 0.2": (nn.LeakyReLU(0.2), (flat,)),
        "Softmax": (nn.Softmax(1), (flat,)),
        "LogSoftmax": (nn.LogSoftmax(-1), (flat,)),
        "Softmax2d": (nn.Softmax2d(), (image,)),
        "GLU": (nn.GLU(), (flat,)),
        "PReLU": (nn.PReLU(4), (image,)),
        "Threshold": (nn.Threshold(0.1, 2.0), (flat,)),
        "RReLU": (nn.RReLU().eval(), (flat,)),
        "Dropout": (nn.Dropout(0.4), (flat,)),
        "AlphaDropout": (nn.AlphaDropout(0.2), (flat,)),
        "LSTM": (nn.LSTM(6, 5, 2, batch_first=True), (T(2, 7, 6),)),
        "LSTM time": (nn.LSTM(6, 5), (T(7, 2, 6),)),
        "GRU": (nn.GRU(6, 5, batch_first=True, bidirectional=True), (T(2, 7, 6),)),
        "RNN": (nn.RNN(6, 5), (T(7, 2, 6),)),
        "MultiheadAttention": (nn.MultiheadAttention(8, 2, batch_first=True), (T(2, 5, 8), T(2, 5, 8), T(2, 5, 8))),
        "TransformerEncoderLayer": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (T(2, 5, 8),)),
        "TransformerDecoderLayer": (nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), (T(2, 5, 8), T(2, 3, 8))),
        "PixelShuffle": (nn.PixelShuffle(2), (image,)),
        "PixelUnshuffle": (nn.PixelUnshuffle(2), (image,)),
        "ChannelShuffle": (nn.ChannelShuffle(2), (image,)),
        "Upsample": (nn.Upsample(scale_factor=2), (image,)),
        "Upsample bilinear": (nn.Upsample(size=(5, 11), mode="bilinear"), (image,)),
        "UpsamplingNearest2d": (nn.UpsamplingNearest2d(scale_factor=2), (image,)),
        "UpsamplingBilinear2d": (nn.UpsamplingBilinear2d(scale_factor=2), (image,)),
        "Unfold": (nn.Unfold(2), (image,)),
        "Fold": (nn.Fold((4, 4), 2, stride=2), (T(2, 12, 4),)),
        "CosineSimilarity": (nn.CosineSimilarity(), (flat, T(3, 6))),
        "PairwiseDistance": (nn.PairwiseDistance(), (flat, T(3, 6))),
        "MSELoss": (nn.MSELoss(), (flat, T(3, 6))),
        "L1Loss": (nn.L1Loss(), (flat, T(3, 6))),
        "SmoothL1Loss": (nn.SmoothL1Loss(), (flat, T(3, 6))),
        "HuberLoss": (nn.HuberLoss(), (flat, T(3, 6))),
        "CrossEntropyLoss": (nn.CrossEntropyLoss(), (flat, torch.tensor([0, 5, 2]))),
        "NLLLoss": (nn.NLLLoss(), (flat, torch.tensor([0, 5, 2]))),
        "BCELoss": (nn.BCELoss(), (torch.rand(3, 6), torch.rand(3, 6))),
        "BCEWithLogitsLoss": (nn.BCEWithLogitsLoss(), (flat, torch.rand(3, 6))),
        "KLDivLoss": (nn.KLDivLoss(reduction="batchmean"), (flat, torch.rand(3, 6))),
        "PoissonNLLLoss": (nn.PoissonNLLLoss(), (flat, T(3, 6))),
        "HingeEmbeddingLoss": (nn.HingeEmbeddingLoss(), (flat, torch.sign(T(3, 6)))),
        "MarginRankingLoss": (nn.MarginRankingLoss(), (T(4), T(4), torch.sign(T(4)))),
        "CosineEmbeddingLoss": (nn.CosineEmbeddingLoss(), (flat, T(3, 6), torch.tensor([1, -1, 1]))),
        "TripletMarginLoss": (nn.TripletMarginLoss(), (flat, T(3, 6), T(3, 6))),
        "SoftMarginLoss": (nn.SoftMarginLoss(), (flat, torch.sign(T(3, 6)))),
        "MultiLabelSoftMarginLoss": (nn.MultiLabelSoftMarginLoss(), (flat, (T(3, 6) > 0).float())),
        "MultiMarginLoss": (nn.MultiMarginLoss(), (flat, torch.tensor([0, 5, 2]))),
        "Sequential": (nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2)), (flat,)),
        "network of convolutions": (Convolutions(), (T(4, 3, 16, 16),)),
        "network of steps": (Recurrences(), (T(2, 7, 5),)),
        "network of states": (States(), state_inputs()),
        "network of modes": (Modes(), (flat[:, :4],)),
        "network of views": (Views(), (T(4, 3),)),
        "LSTM with a state": (nn.LSTM(6, 5), (T(7, 2, 6), (T(1, 2, 5), T(1, 2, 5)))),
        "GRU with a state": (nn.GRU(6, 5, 2, bidirectional=True), (T(7, 2, 6), T(4, 2, 5))),
        "RNN relu": (nn.RNN(6, 5, nonlinearity="relu"), (T(7, 2, 6),)),
        "LSTMCell": (nn.LSTMCell(6, 5), (flat, (T(3, 5), T(3, 5)))),
        "GRUCell": (nn.GRUCell(6, 5, bias=False), (flat,)),
        "RNNCell": (nn.RNNCell(6, 5, nonlinearity="relu"), (flat, T(3, 5))),
        "AvgPool2d divisor": (nn.AvgPool2d(2, ceil_mode=True, divisor_override=3), (T(2, 4, 7, 7),)),
        "AvgPool3d divisor": (nn.AvgPool3d(2, ceil_mode=True, divisor_override=3), (T(1, 2, 5, 5, 5),)),
        "AvgPool1d alone": (nn.AvgPool1d(2), (T(4, 9),)),
        "MaxPool1d holes": (nn.MaxPool1d(3, dilation=2), (row,)),
        "MaxPool2d holes": (nn.MaxPool2d(3, 1, 1, dilation=2), (image,)),
        "MaxPool2d places": (nn.MaxPool2d(3, 2, 1, return_indices=True), (image,)),
        "MaxPool3d places": (nn.MaxPool3d(2, return_indices=True), (volume,)),
        "AdaptiveMaxPool3d": (nn.AdaptiveMaxPool3d(2), (volume,)),
        "RMSNorm plain": (nn.RMSNorm((8, 8), 1e-3, False), (image,)),
        "InstanceNorm2d running": (nn.InstanceNorm2d(4, track_running_stats=True), (image,)),
        "MultiLabelMarginLoss": (nn.MultiLabelMarginLoss(), (flat, torch.tensor([[0, 2, -1, 3, 1, 5]] * 3))),
        "network of attention": (Attention(), (torch.randint(0, 11, (2, 5)),)),
    }
    return found


class Wrapped(nn.Module):  # type: ignore[misc,name-defined]
    """A network of one layer."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, *inputs: Any) -> Any:
        found = self.layer(*inputs)
        return tuple(found) if isinstance(found, tuple) else found


LAYERS = _layers()


@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
@pytest.mark.parametrize("name", LAYERS)
def test_layer(name: str, training: bool) -> None:
    module, inputs = LAYERS[name]
    if training and ("Dropout" in name or name == "RReLU"):
        pytest.skip("draws random numbers")
    if training and "running" in name:
        assert list(ms.from_torch(Wrapped(module).train(), *inputs).missing) == ["aten.instance_norm.default"]
        return
    found = ms.from_torch(Wrapped(module).train(training), *inputs)
    assert not found.missing, f"{found.missing}\n{found.source}"
    assert found.report is not None and found.report.same, f"{found.report}\n{found.source}"
    weights = sum(1 for weight in module.parameters() if weight.requires_grad)
    assert len(found.report.gradients) in (weights, 0), found.report
