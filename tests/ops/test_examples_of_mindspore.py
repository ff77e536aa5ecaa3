"""What the examples in MindSpore's own documentation do, where something else came of them here. Both modes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
import msnb.nn.probability.bijector as msb
import msnb.nn.probability.distribution as msd
from msnb import Parameter, Tensor, nn, ops


@pytest.fixture(autouse=True)
def _both_modes(mode: int) -> None:
    """PyNative and Graph."""


def test_group_norm_gives_three_results() -> None:
    x = Tensor(np.arange(32).reshape(1, 2, 4, 4), ms.float32)
    y, mean, rstd = ops.GroupNorm()(x, 2)
    assert y.shape == x.shape and mean.shape == rstd.shape == (1, 2)
    np.testing.assert_allclose(mean.asnumpy(), [[7.5, 23.5]])
    np.testing.assert_allclose(rstd.asnumpy(), 1 / np.sqrt(np.arange(16).var() + 1e-5) * np.ones((1, 2)), rtol=1e-5)
    np.testing.assert_allclose(y.asnumpy(), ops.group_norm(x, 2).asnumpy())


def test_weights_of_a_margin_loss_are_the_third_tensor() -> None:
    x, target, weight = ops.ones((3, 3)), Tensor([1, 2, 1]), Tensor([1.0, 1.0, 4.0])
    assert ops.MultiMarginLoss()(x, target, Tensor([1.0, 1.0, 1.0])).item() == pytest.approx(2 / 3)
    found = ops.MultiMarginLoss(reduction="none")(x, target, weight)
    np.testing.assert_allclose(found.asnumpy(), np.array([2, 8, 2]) / 3, rtol=1e-6)


def test_draws_of_operator_classes() -> None:
    p = Tensor([0.0, 1.0, 1.0])
    assert ops.Bernoulli()(Tensor([0.1, 0.2, 0.3]), p).tolist() == [0, 1, 1]
    assert ops.Bernoulli(seed=3)(ops.ones((20_000,)), 0.25).mean().item() == pytest.approx(0.25, abs=0.02)
    first = ops.Bernoulli(seed=3)(ops.ones((50,)))
    assert first.tolist() == ops.Bernoulli(seed=3)(ops.ones((50,))).tolist()
    assert first.tolist() != ops.Bernoulli(seed=3, offset=1)(ops.ones((50,))).tolist()
    with pytest.raises(ValueError, match="seed is -1"):
        ops.Bernoulli(offset=2)(p)
    drawn = ops.StandardLaplace(seed=2)((100, 200))
    assert drawn.shape == (100, 200) and drawn.abs().mean().item() == pytest.approx(1, abs=0.05)
    alpha = Tensor([[3.0, 4.0], [5.0, 6.0]])
    assert ops.Gamma(seed=3)((3, 1, 2), alpha, Tensor([1.0])).shape == (3, 2, 2)


def test_products_of_two_matrices_are_added_too() -> None:
    x = Tensor(np.arange(4).reshape(2, 2) + 0.0)
    np.testing.assert_allclose(ops.baddbmm(ops.ones((2, 2)), x, x, beta=2, alpha=3).asnumpy(), [[8, 11], [20, 35]])


def test_one_sequence_has_a_ctc_loss(rng: np.random.Generator) -> None:
    scores = ops.log_softmax(Tensor(rng.standard_normal((6, 4))))
    labels, count = Tensor([1, 3, 1]), Tensor([3])
    for reduction in ("none", "mean", "sum"):
        whole = ops.ctc_loss(scores.expand_dims(1), labels.expand_dims(0), Tensor([6]), count, 0, reduction)[0]
        alone, alpha = ops.ctc_loss(scores, labels, Tensor(6), Tensor(3), 0, reduction)
        assert alone.shape == () and alpha.shape == (6, 7) and alone.item() == pytest.approx(whole.item())
    loss = nn.CTCLoss(reduction="none")
    slope = ms.grad(lambda s: loss(s, labels, Tensor([6]), count))(scores)
    assert slope.shape == (6, 4) and bool(slope.abs().sum() > 0)


def test_an_update_gives_values_that_stay() -> None:
    var = Parameter(ops.ones((2,)), name="var")
    step = ops.ApplyGradientDescent()
    first = step(var, Tensor(0.5), Tensor([1.0, 2.0]))
    step(var, Tensor(0.5), Tensor([1.0, 2.0]))
    assert type(first) is Tensor and first.tolist() == [0.5, 0.0] and var.tolist() == [0.0, -1.0]


def test_a_sensitivity_is_the_last_argument() -> None:
    net = lambda x, y, z: x * y * z
    x, y, z, sens = (Tensor(v) for v in ([1.0, 2.0], [-2.0, 3.0], [0.0, 3.0], [1.0, 2.0]))
    found = ms.grad(net, (1, 2), sens_param=True)(x, y, z, sens)
    assert [g.tolist() for g in found] == [[0.0, 12.0], [-2.0, 12.0]]
    value, slope = ms.value_and_grad(net, 1, sens_param=True)(x, y, z, sens=sens)
    assert value.tolist() == [0.0, 18.0] and slope.tolist() == [0.0, 12.0]
    w = Parameter(Tensor([1.0, 1.0]), name="w")
    assert ms.grad(lambda x: w * x, None, [w], sens_param=True)(x, sens)[0].tolist() == [1.0, 4.0]
    twice = ms.grad(lambda s: ms.grad(net, 0, sens_param=True)(x, y, z, s).sum())(sens)
    assert twice.tolist() == [0.0, 9.0]
    with pytest.raises((TypeError, ValueError)):
        ms.grad(net, 0, sens_param=True)(x, y, z, ops.ones((3,)))


def test_shapes_of_distributions() -> None:
    one = msd.Categorical(probs=[0.2, 0.8])
    several = Tensor([[0.1, 0.9], [0.3, 0.7], [0.5, 0.5]])
    assert one.mean().shape == one.var().shape == one.sd().shape == (1,) and one.mode().shape == ()
    np.testing.assert_allclose(one.mean(several).asnumpy(), [[0.9], [0.7], [0.5]], rtol=1e-6)
    np.testing.assert_allclose(one.var(several).asnumpy(), [[0.09], [0.21], [0.25]], rtol=1e-5)
    affine, x = msb.ScalarAffine(2.0, 1.0), Tensor([1.0, 2.0, 3.0])
    assert affine.forward_log_jacobian(x).shape == affine.inverse_log_jacobian(x).shape == ()
    assert affine.forward_log_jacobian(x).item() == pytest.approx(np.log(2))


def test_a_cell_tells_of_its_parts_and_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = nn.SequentialCell(nn.SequentialCell(nn.Dense(2, 3)), nn.ReLU())
    assert isinstance(net.get_sub_cell("0.0"), nn.Dense) and net.get_sub_cell("") is net
    for wrong in ("0.1", "dense"):
        with pytest.raises(AttributeError, match="has no Cell"):
            net.get_sub_cell(wrong)
    said = Tensor(shape=[None, 2], dtype=ms.float32)
    assert net.get_inputs() is None
    net.set_inputs(said)
    given: Any = net.get_inputs()
    assert len(given) == 1 and given[0] is said and net._dynamic_shape_inputs[0] is said
    monkeypatch.chdir(tmp_path)
    ms.save_checkpoint(net, "weights")
    assert list(ms.load_checkpoint("weights")) == ["0.0.weight", "0.0.bias"]
