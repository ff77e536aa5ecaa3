"""Framework functions of several ops run as one program in eager mode, with the same values and gradients."""

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.base import events
from msnb.core.engine import whole
from msnb.devices.device import DeviceFeatures
from msnb.eager.composite_programs import _programs

WORTH = DeviceFeatures.worth_fusing
BIG = (64, WORTH // 64)


@pytest.fixture
def compiled():
    before = ms.get_context("jit_level")
    ms.set_context(mode=ms.PYNATIVE_MODE, jit_level="O1")
    yield
    ms.set_context(jit_level=before)


def seen_ops(run):
    names = []

    def note(op, **_):
        names.append(op.name)

    with events.listening("op", note):
        run()
    return names


def data(seed=0, shape=BIG):
    return ms.Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


FUNCTIONS = {
    "gelu": lambda x: ops.gelu(x, approximate="tanh"),
    "softmax": lambda x: ops.softmax(x, axis=-1),
    "softmax of axis 0": lambda x: ops.softmax(x, 0),
    "log_softmax": ops.log_softmax,
    "layer_norm": lambda x: ops.layer_norm(x, BIG[1:], eps=1e-5),
    "silu": ops.silu,
    "mish": ops.mish,
    "glu": lambda x: (ops.glu(x) * ops.glu(x)).sum(),
    "lerp": lambda x: ops.lerp(x, x * x, 0.3),
    "nan_to_num": lambda x: ops.nan_to_num(x / (x > 0), 2.0, 3.0, -1.0),
    "normalize": lambda x: ops.normalize(x, 2.0, 0),
    "dist": lambda x: ops.dist(x, x * 0.5, 3),
    "cross_entropy": lambda x: ops.cross_entropy(x, ms.Tensor(np.arange(BIG[0]) % BIG[1], ms.int32)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_are_those_of_the_single_ops(compiled, name):
    fn = FUNCTIONS[name]
    x, weight = data(), data(1)

    def loss(x):
        y = fn(x)
        return (y * weight).sum() if y.shape == weight.shape else y

    one = ms.value_and_grad(loss)(x)
    ms.set_context(jit_level="O0")
    single = ms.value_and_grad(loss)(x)
    for a, b in zip(one, single):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_a_recurrent_network_is_one_program_whose_size_no_length_changes(compiled, rng, kind):
    net = getattr(ms.nn, kind)(8, 128)
    before = set(_programs)

    def loss(x):
        y, _ = net(x)
        return (y * y).mean()

    for length in (2, 5):
        x = ms.Tensor(rng.standard_normal((length, 3, 8)).astype(np.float32))
        ms.set_context(jit_level="O1")
        one = ms.value_and_grad(loss, 0, net.trainable_params())(x)
        ms.set_context(jit_level="O0")
        single = ms.value_and_grad(loss, 0, net.trainable_params())(x)
        for a, b in zip(flat(one), flat(single)):
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)
    made = [_programs[key] for key in set(_programs) - before]
    assert len(made) == 4, "per level and length"
    assert len({sum(1 for _ in program.graph.walk()) for program in made}) == 1


def flat(tree):
    return [a for part in tree for a in flat(part)] if isinstance(tree, tuple) else [tree.asnumpy()]


def test_batch_norm_gives_all_its_results(compiled):
    x = data(2, (16, 8, 16, 16))
    y, middle, variance = ops.batch_norm_train(x, eps=1e-5)
    assert (y.shape, middle.shape, variance.shape) == (x.shape, (8,), (8,))
    np.testing.assert_allclose(middle.asnumpy(), x.asnumpy().mean((0, 2, 3)), atol=1e-5)
    np.testing.assert_allclose(variance.asnumpy(), x.asnumpy().var((0, 2, 3)), rtol=1e-4)


def test_second_derivatives_pass_through(compiled):
    x = data(3)
    first = ms.grad(lambda x: ops.silu(x).sum())
    second = ms.grad(lambda x: first(x).sum())(x)
    ms.set_context(jit_level="O0")
    expected = ms.grad(lambda x: ms.grad(lambda x: ops.silu(x).sum())(x).sum())(x)
    np.testing.assert_allclose(second.asnumpy(), expected.asnumpy(), rtol=1e-4, atol=1e-5)


def test_who_listens_to_ops_sees_them(compiled):
    assert seen_ops(lambda: ops.softmax(data())).count("exp") == 1


def test_settings_are_part_of_the_program(compiled):
    x = data(4)
    shifted = [ops.layer_norm(x, BIG[1:], eps=e).asnumpy() for e in (1e-5, 10.0, 1e-5)]
    assert np.array_equal(shifted[0], shifted[2])
    assert not np.allclose(shifted[0], shifted[1])


def test_mistakes_are_told_as_ever(compiled):
    with pytest.raises(ValueError) as one:
        ops.layer_norm(data(), (3,))
    ms.set_context(jit_level="O0")
    with pytest.raises(ValueError) as other:
        ops.layer_norm(data(), (3,))
    assert str(one.value).splitlines()[0] == str(other.value).splitlines()[0]


def test_a_function_that_looks_at_values_is_told_once(compiled, notices):
    @whole
    def odd(x):
        return x * 2 if float(x.max()) > 0 else x

    for sign in (1, -1, 1):
        x = data(5) * 0 + sign
        assert float(odd(x)[0, 0]) == (2 if sign > 0 else -1)
    assert len(notices) == 1
    assert notices[0].startswith("odd runs operation by operation, for it is no pure function of tensors: the value")


def test_a_mistake_is_no_news(compiled, notices):
    with pytest.raises(ValueError):
        ops.layer_norm(data(), (7,))
    assert notices == []
