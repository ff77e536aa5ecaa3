"""Layers and optimizers have the Parameters of MindSpore 2.10's checkpoints under the alias, and load them without it.

Names, shapes and first values were read off the wheel of 2.10, which is not needed here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn
from msnb.as_mindspore import install, uninstall
from tests.train.test_protobuf_checkpoints import entry


def held(net: Any) -> list[str]:
    """Names and shapes of what a Cell holds, in order."""
    return [f"{p.name}{[*p.shape]}" for p in net.get_parameters()]


def placed(layer: nn.Cell) -> list[str]:
    return held(nn.SequentialCell(layer))


CASES: list[tuple[Any, list[str]]] = [
    (lambda: nn.PReLU(3), ["a[3]"]),
    (lambda: nn.SequentialCell(nn.PReLU()), ["0.w[1]"]),
    (lambda: nn.BatchNorm1d(2), ["mean[2]", "variance[2]", "gamma[2]", "beta[2]"]),
    (lambda: nn.BatchNorm3d(2), ["bn2d.moving_mean[2]", "bn2d.moving_variance[2]", "bn2d.gamma[2]", "bn2d.beta[2]"]),
    (lambda: nn.InstanceNorm3d(2), ["mean[2]", "variance[2]", "gamma[2]", "beta[2]"]),
    (lambda: nn.Conv1d(2, 4, 3, has_bias=True, group=2), ["weight[4, 1, 1, 3]", "bias[4]"]),
    (lambda: nn.Conv1dTranspose(2, 4, 3), ["weight[2, 4, 1, 3]"]),
    (lambda: nn.GRU(2, 1, 2, has_bias=False, bidirectional=True),
     ["weight_ih_l0[3, 2]", "weight_ih_l0_reverse[3, 2]", "weight_ih_l1[3, 2]", "weight_ih_l1_reverse[3, 2]",
      "weight_hh_l0[3, 1]", "weight_hh_l0_reverse[3, 1]", "weight_hh_l1[3, 1]", "weight_hh_l1_reverse[3, 1]"]),
    (lambda: nn.LSTM(2, 1), ["weight_ih_l0[4, 2]", "weight_hh_l0[4, 1]", "bias_ih_l0[4]", "bias_hh_l0[4]"]),
    (lambda: nn.MultiheadAttention(4, 2, add_bias_kv=True),
     ["in_proj_weight[12, 4]", "in_proj_bias[12]", "bias_k[1, 1, 4]", "bias_v[1, 1, 4]", "out_proj.weight[4, 4]",
      "out_proj.bias[4]"]),
    (lambda: nn.MultiheadAttention(4, 2, has_bias=False, kdim=3),
     ["q_proj_weight[4, 4]", "k_proj_weight[4, 3]", "v_proj_weight[4, 4]", "out_proj.weight[4, 4]"]),
    (lambda: nn.DynamicLossScaleUpdateCell(2.0, 2, 3), ["current_iterator_step[]", "last_overflow_iterator_step[]"]),
]  # fmt: skip


@pytest.mark.parametrize(("make", "expected"), CASES, ids=[" ".join(expected)[:40] for _, expected in CASES])
def test_layers_hold_what_mindspore_saves(make: Any, expected: list[str]) -> None:
    assert held(make()) == expected


def test_layers_of_transformers() -> None:
    attention = ["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"]
    dense = [f"dense{i}.{leaf}" for i in (1, 2) for leaf in ("weight", "bias")]
    norms = [f"norm{i}.{leaf}" for i in (1, 2, 3) for leaf in ("gamma", "beta")]
    names = [p.name for p in nn.TransformerDecoderLayer(4, 2, 6).get_parameters()]
    assert names == [f"{a}.{p}" for a in ("self_attn", "multihead_attn") for p in attention] + dense + norms
    names = [p.name for p in nn.TransformerEncoderLayer(4, 2, 6).get_parameters()]
    assert names == [f"self_attn.{p}" for p in attention] + dense + norms[:4]


def test_a_name_of_its_own_counts_until_the_cell_has_a_place() -> None:
    class Own(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = ms.Parameter(Tensor([1.0]), name="kernel")

    assert held(Own()) == ["kernel[1]"]
    assert placed(Own()) == ["0.w[1]"]
    by_hand = nn.SequentialCell(Own())
    by_hand[0].w.name = "hand"
    assert held(by_hand) == ["hand[1]"] and held(nn.CellList([by_hand])) == ["0.0.w[1]"]
    uninstall()
    assert placed(Own()) == ["0.kernel[1]"]


def test_insert_counts_anew() -> None:
    cells = nn.CellList([nn.SequentialCell(nn.PReLU()), nn.SequentialCell(nn.PReLU())])
    cells.insert(1, nn.SequentialCell(nn.PReLU(2)))
    cells.insert(3, nn.SequentialCell(nn.PReLU(3)))
    assert held(cells) == ["0.0.w[1]", "1.0.w[2]", "2.0.w[1]", "3.0.w[3]"]


# ---- files of MindSpore, written here -------------------------------------------------------------------------------


def written(path: Path, values: dict[str, Any]) -> str:
    """A protobuf ``.ckpt`` as MindSpore writes it."""
    kinds = {"float32": "Float32", "int32": "Int32"}
    parts = [entry(n, [*v.shape], kinds[str(v.dtype)], np.ascontiguousarray(v).tobytes()) for n, v in values.items()]
    path.write_bytes(b"".join(parts))
    return str(path)


LAYERS: dict[str, Any] = {
    "PReLU": (lambda: nn.PReLU(3), (2, 3, 4)),
    "BatchNorm3d": (lambda: nn.BatchNorm3d(2), (2, 2, 2, 2, 2)),
    "Conv1d": (lambda: nn.Conv1d(2, 4, 3, has_bias=True, group=2), (1, 2, 6)),
    "Conv1dTranspose": (lambda: nn.Conv1dTranspose(2, 4, 3, stride=2), (1, 2, 6)),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(4, 2, 6, 0.0), (3, 2, 4)),
    "GRU": (lambda: nn.GRU(3, 4, 2, bidirectional=True), (5, 2, 3)),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_files_of_either_name_compute_the_same(layer: str, tmp_path: Path, mode: int) -> None:
    make, shape = LAYERS[layer]
    draw = np.random.default_rng(3)
    x = Tensor(draw.normal(size=shape).astype(np.float32))
    install()
    theirs, again = (nn.SequentialCell(make()).set_train(False) for _ in range(2))
    uninstall()
    ours = nn.SequentialCell(make()).set_train(False)
    values = {p.name: (draw.random(p.shape) + 0.5).astype(np.float32) for p in theirs.get_parameters()}
    file = written(tmp_path / "theirs.ckpt", values)
    for net in (theirs, ours):
        assert ms.load_param_into_net(net, ms.load_checkpoint(file), strict_load=True) == ([], [])
    own = str(tmp_path / "ours.ckpt")
    ms.save_checkpoint(ours, own)
    ms.load_checkpoint(own, again, strict_load=True)
    found = [net(x)[0] if layer == "GRU" else net(x) for net in (theirs, ours, again)]
    for other in found[1:]:
        np.testing.assert_allclose(found[0].asnumpy(), other.asnumpy(), rtol=2e-5, atol=1e-6)


def test_a_wrong_shape_is_still_refused(tmp_path: Path) -> None:
    uninstall()
    net = nn.SequentialCell(nn.Conv1d(2, 4, 3))
    for wrong in ((4, 2, 2, 3), (4, 1, 2, 3), (4, 3, 1, 2)):
        file = written(tmp_path / "wrong.ckpt", {"0.weight": np.ones(wrong, np.float32)})
        with pytest.raises(ValueError, match="shapes differ"):
            ms.load_checkpoint(file, net)


# ---- optimizers -----------------------------------------------------------------------------------------------------

OPTIMIZERS: dict[str, tuple[Any, list[str]]] = {
    "Adadelta": (lambda p: nn.Adadelta(p), ["accum.w", "accum_update.w"]),
    "Adagrad": (lambda p: nn.Adagrad(p), ["accum.w"]),
    "Adam": (lambda p: nn.Adam(p, use_amsgrad=True),
             ["beta1_power", "beta2_power", "moment1.w", "moment2.w", "vhat.w"]),
    "AdaMax": (lambda p: nn.AdaMax(p), ["beta1_power", "moment1.w", "moment2.w"]),
    "AdamWeightDecay": (lambda p: nn.AdamWeightDecay(p), ["adam_m.w", "adam_v.w"]),
    "Lamb": (lambda p: nn.Lamb(p, 0.1), ["lamb_m.w", "lamb_v.w"]),
    "Momentum": (lambda p: nn.Momentum(p, 0.1, 0.9), ["momentum", "moments.w"]),
    "RMSProp": (lambda p: nn.RMSProp(p, centered=True), ["mean_grad.w", "mean_square.w", "moment.w"]),
    "Rprop": (lambda p: nn.Rprop(p), ["prev.w", "step_size.w"]),
    "SGD": (lambda p: nn.SGD(p, momentum=0.9), ["momentum", "accum.w", "stat.w"]),
}  # fmt: skip


def weight() -> ms.Parameter:
    return ms.Parameter(Tensor([[1.0, -2.0]]), name="w")


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_hold_what_mindspore_saves(name: str, tmp_path: Path, mode: int) -> None:
    make, state = OPTIMIZERS[name]
    optimizer = make([weight()])
    assert [p.name for p in optimizer.get_parameters()] == ["global_step", "learning_rate", "w", *state]
    assert optimizer.global_step.shape == (1,)
    grads = [Tensor([[0.5, 0.25]])]
    for _ in range(2):
        optimizer(grads)
    values = {p.name: p.asnumpy() for p in optimizer.get_parameters()}
    file = written(tmp_path / "state.ckpt", values)
    optimizer(grads)
    uninstall()
    plain = make([weight()])  # without the alias: other names, the same steps
    left, _ = ms.load_param_into_net(plain, ms.load_checkpoint(file))
    assert left == [] and plain.global_step.shape == () and int(plain.global_step) == 2
    plain(grads)
    np.testing.assert_allclose(plain.parameters[0].asnumpy(), optimizer.parameters[0].asnumpy(), rtol=1e-5)


def test_rates_are_parameters(mode: int) -> None:
    a, b = weight(), ms.Parameter(Tensor([1.0]), name="b")
    optimizer = nn.SGD([{"params": [a], "lr": 0.5}, {"params": [b]}], 0.25)
    names = [p.name for p in optimizer.get_parameters()][:3]
    assert names == ["global_step", "learning_rate_group_0", "learning_rate"]
    assert [p.name for p in optimizer.learning_rate] == names[1:]
    optimizer([Tensor([[1.0, 1.0]]), Tensor([1.0])])
    assert (a.tolist(), b.tolist()) == ([[0.5, -2.5]], [0.75])
    optimizer.learning_rate = 1
    optimizer([Tensor([[0.0, 0.0]]), Tensor([0.5])])
    assert b.tolist() == [0.25] and isinstance(optimizer.learning_rate[1], ms.Parameter)
    every = nn.SGD([{"params": [a], "lr": 0.5}], 0.25)
    assert [p.name for p in every.get_parameters()][:2] == ["global_step", "learning_rate_group_0"]


def test_tables_of_rates_are_parameters(mode: int) -> None:
    """One rate per step: a Cell of the step, as programs that log the rate call it, and behind all in a checkpoint."""
    a, b = ms.Parameter(Tensor([1.0]), name="a"), ms.Parameter(Tensor([1.0]), name="b")
    one = nn.Momentum([a], [0.5, 0.25], 0.9)
    assert [p.name for p in one.get_parameters()][-1] == "learning_rate" and one.dynamic_lr
    assert one.learning_rate.learning_rate.tolist() == [0.5, 0.25]
    for step, rate in enumerate((0.5, 0.25, 0.25)):  # the last rate holds from there on
        assert float(one.learning_rate(one.global_step).reshape(())) == float(one.get_lr()) == rate
        one([Tensor([0.0])])
        assert one.learning_rate(Tensor(step, ms.int32)).shape == ()
    both = nn.SGD([{"params": [a], "lr": Tensor([1.0, 0.5])}, {"params": [b]}, {"order_params": [b, a]}], 0.25)
    assert {p.name for p in both.get_parameters()} >= {"learning_rate_group_0", "learning_rate"}
    assert [rate.learning_rate.tolist() for rate in both.learning_rate] == [0.25, [1, 0.5]]  # all are Cells then
    assert [p.name for p in both.get_parameters()][:3] == ["global_step", "b", "a"]
    assert [p.name for p in both.get_lr_parameter([a, b])] == ["learning_rate_group_0", "learning_rate"]
    for _ in range(2):
        both([Tensor([1.0]), Tensor([1.0])])
    assert (a.tolist(), b.tolist()) == ([-0.5], [0.5])


def test_gradients_are_centred_behind_the_decay_and_in_16(mode: int) -> None:
    values = np.arange(32, dtype=np.float32).reshape(2, 16) ** 2
    grad = np.sqrt(values)[::-1].copy()
    for shape in ((2, 16), (4, 8)):
        w = ms.Parameter(Tensor(values.reshape(shape)), name="w")
        step = nn.SGD([{"params": [w], "grad_centralization": True}], 1.0, weight_decay=0.5, loss_scale=4.0)
        step([Tensor(grad.reshape(shape))])
        moved = grad.reshape(shape) / 4 + 0.5 * values.reshape(shape)
        if shape[1] == 16:
            moved = moved - moved.mean(1, keepdims=True)
        np.testing.assert_allclose(w.asnumpy(), values.reshape(shape) - moved, rtol=1e-5, atol=1e-4)
    uninstall()
    w = ms.Parameter(Tensor(values), name="w")
    nn.SGD([{"params": [w], "grad_centralization": True}], 1.0, weight_decay=0.5)([Tensor(grad)])
    expected = values - (grad - grad.mean(1, keepdims=True) + 0.5 * values)
    np.testing.assert_allclose(w.asnumpy(), expected, rtol=1e-5, atol=1e-4)


def test_adamw_of_mindspore_does_not_centre() -> None:
    grad = Tensor(np.arange(16, dtype=np.float32).reshape(1, 16))
    found = []
    for centre in (True, False):
        w = ms.Parameter(Tensor(np.ones((1, 16), np.float32)), name="w")
        nn.AdamWeightDecay([{"params": [w], "grad_centralization": centre}], 0.1)([grad])
        found.append(w.asnumpy())
    np.testing.assert_array_equal(*found)


def test_mean_square_begins_with_one() -> None:
    for begin in (1.0, 0.0):
        w = ms.Parameter(Tensor([0.0]), name="w")
        nn.RMSProp([w], 1.0)([Tensor([2.0])])
        np.testing.assert_allclose(w.asnumpy(), [-2.0 / np.sqrt(0.9 * begin + 0.4)], rtol=1e-5)
        uninstall()


def test_rprop_begins_with_the_rates_of_its_groups(mode: int) -> None:
    a, b = (ms.Parameter(Tensor([1.0]), name=name) for name in "ab")
    nn.Rprop([{"params": [a], "lr": 0.5}, {"params": [b]}], 0.25)([Tensor([1.0]), Tensor([1.0])])
    assert (a.tolist(), b.tolist()) == ([0.5], [0.75])


def test_decay_of_own_optimizers_is_not_scaled(mode: int) -> None:
    class Own(nn.Optimizer):
        def construct(self, gradients: Any) -> Any:
            (grad,) = self.scale_grad(self.gradients_centralization(self.decay_weight(gradients)))
            return ms.ops.assign(self.parameters[0], self.parameters[0] - grad)

    w = ms.Parameter(Tensor([2.0]), name="w")
    Own(1.0, [w], 0.5, 4.0)([Tensor([4.0])])
    assert w.tolist() == [0.0]


@pytest.mark.parametrize("settings", [{}, {"use_amsgrad": True}, {"use_nesterov": True}])
def test_an_adam_with_a_construct_of_its_own_ends_in_the_step_of_adam(mode: int, settings: dict[str, bool]) -> None:
    class Own(nn.Adam):
        def construct(self, gradients: Any) -> Any:
            gradients = self.scale_grad(self.decay_weight(gradients))
            if not self.use_offload:
                gradients = self.gradients_centralization(gradients)
            rates = self.get_lr()
            self.assignadd(self.global_step, self.global_step_increase_tensor)
            self.beta1_power *= self.beta1
            self.beta2_power *= self.beta2
            powers = self.beta1_power, self.beta2_power
            return self._apply_adam(self._parameters, *powers, self.moment1, self.moment2, rates, gradients)

    def trained(kind: Any) -> list[Any]:
        a, b = (ms.Parameter(Tensor([1.0, -2.0]), name=name) for name in "ab")
        made = kind([{"params": [a], "lr": 0.5, "weight_decay": 0.1}, {"params": [b]}], 0.1, **settings)
        for scale in (1.0, -3.0):
            made([Tensor([scale, 2.0]), Tensor([0.5, scale])])
        return [
            a.asnumpy(),
            b.asnumpy(),
            *(m.asnumpy() for m in (*made.moment1, *made.moment2)),
            made.global_step.asnumpy(),
        ]

    for own, known in zip(trained(Own), trained(nn.Adam)):
        np.testing.assert_allclose(own, known, rtol=1e-6)
    w = ms.Parameter(Tensor([1.0]), name="w")
    adam: Any = nn.Adam([w])
    with pytest.raises(ValueError, match="own parameters, moment1 and moment2"):
        adam._apply_adam(adam.parameters, 0.9, 0.999, adam.moment2, adam.moment1, 0.1, [Tensor([1.0])])


def test_positions_that_attention_adds(mode: int) -> None:
    layer = nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True)
    x = Tensor(np.random.default_rng(0).normal(size=(3, 2, 4)).astype(np.float32))
    mask = Tensor(np.triu(np.ones((3, 3), bool), 1))
    y, weights = layer(x, x, x, attn_mask=mask)
    assert y.shape == (3, 2, 4) and weights.shape == (2, 3, 5)
    assert float(weights[0, 0, 1]) == 0.0 and float(weights[0, 0, 3]) > 0.0 and float(weights[0, 0, 4]) > 0.0
    np.testing.assert_allclose(weights.asnumpy().sum(-1), np.ones((2, 3)), rtol=1e-5)


def test_statistics_of_instance_norms_follow_batches(mode: int) -> None:
    layer = nn.InstanceNorm2d(1, momentum=0.5).set_train()
    x = Tensor([[[[1.0, 3.0]]], [[[5.0, 9.0]]]])
    assert layer(x).shape == x.shape
    assert (layer.moving_mean.tolist(), layer.moving_variance.tolist()) == ([2.25], [1.75])
    uninstall()
    with pytest.raises(ValueError, match="affine= stands after it"):
        nn.InstanceNorm2d(1, 1e-5, False)  # type: ignore[arg-type]
