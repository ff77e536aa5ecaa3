"""What a layer does not use it does not take: nothing is passed over. And forms of PyTorch's layers that are easy to
miss: a factor of Softplus, means over all batches, weights without axes."""

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, mint, nn, ops
from msnb.base.errors import ArgumentError

BARE = [nn.ReLU, nn.Sigmoid, nn.Softsign, nn.Tanhshrink, nn.LogSigmoid, nn.Mish, nn.Softmax2d, mint.nn.SELU]


@pytest.mark.parametrize("layer", BARE, ids=lambda layer: layer.__name__)
@pytest.mark.parametrize("given", [((True,), {}), ((), {"inplace": True}), ((), {"auto_prefix": False})])
def test_arguments_of_a_layer_that_has_none(layer, given):
    args, kwargs = given
    with pytest.raises(ArgumentError, match=f"^{layer.__name__}.*\n.*it is called as {layer.__name__}\\(\\)"):
        layer(*args, **kwargs)
    assert layer()(Tensor([[1.0, 2.0]])).shape == (1, 2) if layer is not nn.Softmax2d else layer()


def test_a_class_made_of_such_a_layer_has_the_arguments_of_a_cell():
    class Own(nn.ReLU):
        def __init__(self):
            super().__init__(auto_prefix=False)
            self.w = ms.Parameter(Tensor([1.0]), name="w")

    assert Own()(Tensor([-1.0, 2.0])).tolist() == [0, 2]


def test_identity_takes_what_the_layer_took_that_it_stands_for():
    assert nn.Identity(54, unused="yes")(Tensor([3.0])).tolist() == [3.0]


@pytest.mark.parametrize("beta, threshold", [(1.0, 20.0), (2.0, 20.0), (2.0, 1.0)])
def test_softplus_with_its_factor(mode, beta, threshold):
    x = np.linspace(-4, 4, 9, dtype=np.float32)
    want = np.where(beta * x > threshold, x, np.log1p(np.exp(beta * x)) / beta)
    assert np.allclose(nn.Softplus(beta, threshold)(Tensor(x)), want, atol=1e-5)


def test_running_statistics_as_means_over_all_batches(mode):
    layer = mint.nn.BatchNorm1d(2, momentum=None).set_train()
    print("seed", 3)
    batches = np.random.default_rng(3).normal(size=(4, 5, 2)).astype(np.float32)
    for batch in batches:
        layer(Tensor(batch))
    assert np.allclose(layer.running_mean, batches.mean((0, 1)), atol=1e-5)
    assert np.allclose(layer.running_var, batches.var(1, ddof=1).mean(0), atol=1e-5)
    assert layer.num_batches_tracked.item() == 4


def test_training_goes_on_from_weights_without_axes(mode):
    layer = mint.nn.BatchNorm1d(2).set_train()
    names = {"weight": np.ones(2), "bias": np.zeros(2), "running_mean": np.zeros(2), "running_var": np.ones(2)}
    given = {name: value.astype(np.float32) for name, value in names.items()}
    ms.load_torch_state_dict(layer, given | {"num_batches_tracked": np.array(7)})
    layer(ops.ones((3, 2)))
    assert layer.num_batches_tracked.shape == ()
    assert layer.num_batches_tracked.item() == 8


def test_a_divergence_of_two_numbers():
    found = ops.kl_div(Tensor(-1.0), Tensor(0.5), "batchmean")
    assert np.isclose(found.item(), 0.5 * (np.log(0.5) + 1))
