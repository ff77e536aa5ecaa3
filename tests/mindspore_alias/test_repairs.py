"""What programs written for MindSpore use and msnb refused: layers, initializers, settings, optimizers. Both modes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Parameter, Tensor, nn, ops
from msnb.nn import initializer as initial
from msnb.nn.initializer import Initializer, initializer


def test_data_of_a_parameter(mode: int) -> None:
    net = nn.Dense(3, 2)
    assert net.weight.data is net.weight and net.weight.data.shape == (2, 3)
    net.weight.data.set_data(Tensor(np.ones((2, 3), np.float32)))
    assert net(Tensor([[1.0, 1.0, 1.0]])).asnumpy() == pytest.approx(3 + net.bias.asnumpy()[None])


def test_data_that_is_assigned(mode: int) -> None:
    class Kept(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(Tensor([1.0, 2.0]))

        def construct(self, x: Tensor) -> Tensor:
            self.w.data = x * 2
            return self.w + 1

    net = Kept()
    weight = net.w
    assert net(Tensor([3.0, 4.0])).tolist() == [7.0, 9.0] and weight.tolist() == [6.0, 8.0] and net.w is weight
    weight.data = Tensor([[1.0], [2.0], [3.0]])
    assert weight.tolist() == [[1.0], [2.0], [3.0]] and weight.name == "w"


def test_dropout_takes_a_dtype(mode: int) -> None:
    assert nn.Dropout(p=0.5, dtype=ms.float32)(Tensor([1.0])).tolist() == [1.0]


def test_initializers_of_mindspore_programs() -> None:
    from msnb.common.initializer import (
        _assignment,
        _calculate_correct_fan,
        _calculate_fan_in_and_fan_out,
        _calculate_gain,
    )

    assert _calculate_fan_in_and_fan_out((4, 3, 5, 5)) == (75, 100)
    assert (_calculate_correct_fan((4, 3), "fan_in"), _calculate_correct_fan((4, 3), "FAN_OUT")) == (3, 4)
    assert _calculate_gain("leaky_relu") == pytest.approx((2 / 1.0001) ** 0.5)
    assert _assignment(np.zeros(2), 3).tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="mode must be"):
        _calculate_correct_fan((4, 3), "fan_avg")
    ms.set_seed(3)
    first = initializer("HeUniform", (2, 3)).tolist()
    ms.set_seed(3)
    assert initializer("he_uniform", (2, 3)).tolist() == first
    assert nn.Dense(3, 2, weight_init="XavierUniform").weight.shape == (2, 3)
    with pytest.raises(ValueError, match="no initializer 'HeUnifrm'"):
        initializer("HeUnifrm", (2, 3))


def test_an_initializer_that_fills_an_array() -> None:
    class Ramp(Initializer):
        def __init__(self, start: float = 0.0) -> None:
            super().__init__(start=start)
            self.start = start

        def _initialize(self, arr: np.ndarray) -> None:
            arr[:] = self.start + np.arange(arr.size).reshape(arr.shape)

    assert nn.Dense(2, 2, weight_init=Ramp(1.0)).weight.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(NotImplementedError, match="has no draw"):
        initializer(Initializer(), (2,))


def test_an_initializer_fills_an_array_of_the_wanted_dtype() -> None:
    seen = []

    class Third(initial.Uniform):
        def _initialize(self, arr: np.ndarray) -> None:
            seen.append(arr.dtype)
            initial._assignment(arr, 1 / 3)

    initial._register("third_of_one")(Third)
    assert (
        initializer("third", (1,), ms.float64).tolist()
        == initializer("third_of_one", 1, ms.float64).tolist()
        == [1 / 3]
    )
    assert seen == [np.float64] * 2
    array = np.zeros(3)
    initial.One()._initialize(array)
    assert array.tolist() == [1.0] * 3


@pytest.mark.parametrize(
    "name, settings, low, high, mean",
    [
        ("_init_random_uniform", (-1.0, 2.0), -1, 2, 0.5),
        ("_init_random_uniform", (2.0, -1.0), -1, 2, 0.5),
        ("_init_random_normal", (1.0, 2.0), -20, 20, 1.0),
        ("_init_truncated_normal", (-2.0, 1.0, 1.0, 2.0), -2, 1, -0.2437),
    ],
)
def test_first_values_drawn_by_function(name: str, settings: Any, low: float, high: float, mean: float) -> None:
    draw, fill = getattr(initial, name), getattr(initial, f"{name}_inplace")
    ms.set_seed(5)
    first, second = draw(*settings, (100, 200)), draw(*settings, (100, 200))
    ms.set_seed(5)
    array = np.zeros((100, 200), np.float32)
    assert fill(*settings, array) is None
    assert first.dtype == np.float32 and (first == array).all() and not (first == second).all()
    assert low <= first.min() and first.max() <= high and abs(first.mean() - mean) < 0.06
    assert draw(*settings, 4).shape == (4,) and draw(*settings, ()).shape == ()
    with pytest.raises(RuntimeError, match="are float32, not float64"):
        fill(*settings, np.zeros(3))


def test_gains_and_fans_of_mindspore() -> None:
    assert initial._calculate_in_and_out(np.zeros((3, 4, 5))) == (20, 15)
    assert initial._calculate_gain("conv_transpose2d", 5) == initial.gain_of("conv1d") == 1
    with pytest.raises(ValueError, match="at least two axes"):
        initial._calculate_in_and_out(np.zeros(3))
    for wrong in (True, "a"):
        with pytest.raises(ValueError, match="negative_slope is a number"):
            initial._calculate_gain("leaky_relu", wrong)
    with pytest.raises(ValueError, match="nonlinearity must be"):
        initial._calculate_gain("selu")


def test_seeds_start_the_streams_of_numpy_and_python() -> None:
    ms.set_seed(2**32 + 5)
    first = np.random.rand()  # noqa: NPY002 - the stream meant
    ms.manual_seed(5)  # leaves it alone
    second = np.random.rand()  # noqa: NPY002
    assert [first, second] == np.random.RandomState(5).rand(2).tolist()
    ms.dataset.config.set_seed(5)
    assert np.random.rand() == first  # noqa: NPY002
    assert random.random() == random.Random(5).random()


def test_operators_inside_layers(mode: int, rng: np.random.Generator) -> None:
    class Scaled(nn.Dense):
        def construct(self, x):
            return self.bias_add(self.matmul(x, self.weight * 2), self.bias)

    class Standard(nn.Conv2d):
        def construct(self, x):
            return self.bias_add(self.conv2d(x, self.weight - ops.mean(self.weight)), self.bias)

    class Norm(nn.LayerNorm):
        def construct(self, x):
            return self.layer_norm(x, self.gamma, self.beta)[0]

    x = rng.standard_normal((2, 3)).astype(np.float32)
    dense = Scaled(3, 4)
    want = x @ (2 * dense.weight.asnumpy()).T + dense.bias.asnumpy()
    np.testing.assert_allclose(dense(Tensor(x)).asnumpy(), want, rtol=1e-5, atol=1e-6)
    image = Tensor(rng.standard_normal((1, 2, 5, 5)).astype(np.float32))
    conv = Standard(2, 3, 3, pad_mode="pad", padding=1, stride=2, has_bias=True)
    weight = conv.weight - ops.mean(conv.weight)
    want = ops.conv2d(image, weight, conv.bias, 2, "pad", 1)
    np.testing.assert_allclose(conv(image).asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-6)
    for shape in ((3,), (2, 3)):
        norm, plain = Norm(shape), nn.LayerNorm(shape)
        np.testing.assert_allclose(norm(Tensor(x)).asnumpy(), plain(Tensor(x)).asnumpy(), rtol=1e-5, atol=1e-6)


def test_operators_inside_batch_norm(mode: int, rng: np.random.Generator) -> None:
    class Norm(nn.BatchNorm2d):
        def construct(self, x):
            run = self.bn_train if self.training else self.bn_infer
            return run(x, self.gamma, self.beta, self.moving_mean, self.moving_variance)[0]

    x = Tensor(rng.standard_normal((4, 2, 3, 3)).astype(np.float32))
    ours, plain = Norm(2), nn.BatchNorm2d(2)
    for training in (True, False):
        ours.set_train(training)
        plain.set_train(training)
        np.testing.assert_allclose(ours(x).asnumpy(), plain(x).asnumpy(), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(ours.moving_mean.asnumpy(), plain.moving_mean.asnumpy(), rtol=1e-4, atol=1e-6)
    ours.bn_train = None
    assert ours.bn_train is None  # a subclass may have an attribute of that name


def test_cells_and_parameters_inside_a_cell() -> None:
    net = nn.SequentialCell(nn.Dense(1, 1), nn.ReLU())
    assert list(net._cells) == ["0", "1"] and list(net[0]._params) == ["weight", "bias"] and not net._params


def test_cells_and_parameters_are_written_through_their_dicts(mode: int) -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self._params["scale"] = Parameter(Tensor([2.0]))
            self.last, self.spare, self.rest = nn.ReLU(), nn.ReLU(), nn.SequentialCell(nn.ReLU())

        def construct(self, x: Tensor) -> Tensor:
            for cell in self._cells.values():
                x = cell(x)
            return x * self.scale

    net, x = Net(), Tensor([-1.0, 3.0])
    assert net(x).tolist() == [0.0, 6.0] and [p.name for p in net.get_parameters()] == ["scale"]
    net._cells["last"] = net.rest._cells["0"] = nn.LeakyReLU(0.5)
    assert net._cells.pop("spare") and not hasattr(net, "spare")
    net._params.update(scale=Parameter(Tensor([4.0])))
    assert net(x).tolist() == [-1.0, 12.0] and net.rest[0] is net.last
    copied = net._cells.copy()
    copied["more"] = nn.ReLU()
    assert copied.popitem()[0] == "more" and net._cells.popitem()[0] == "rest" and list(net.name_cells()) == ["last"]
    net._cells.clear()
    assert not net.name_cells() and net(x).tolist() == [-4.0, 12.0]
    net._buffers["mask"] = Tensor([1.0])
    net._buffers["mask"] = Tensor([0.0, 1.0])
    assert net.mask.tolist() == [0.0, 1.0] and list(net.state_dict()) == ["scale", "mask"]
    assert net._buffers.pop("mask") is not None and not list(net.buffers())


def test_a_parameter_takes_a_number(mode: int) -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(Tensor(3.0))

        @ms.jit
        def construct(self, x: Any) -> Tensor:
            self.w = x
            return self.w + 1

    net = Net()
    for x in (5, 2.5, 7):
        assert net(x).item() == x + 1 and net.w.item() == x and isinstance(net.w, Parameter)
    net.w = Parameter(Tensor([1.0]))
    with pytest.raises(TypeError, match="cannot become a int"):
        net(5)


def test_norm_of_a_number(mode: int) -> None:
    assert float(ops.norm(Tensor(-2.0), dim=0)) == 2.0


def test_keys_that_tune_are_taken_and_said(notices: list[str]) -> None:
    ms.set_context(enable_graph_kernel=True, mode=ms.GRAPH_MODE, jit_config={"jit_level": "O1"})
    assert ms.get_context("mode") == ms.GRAPH_MODE and ms.get_context(attr_key="enable_graph_kernel") is True
    assert len(notices) == 2 and all("changes nothing" in text for text in notices)
    ms.reset_context()
    assert ms.get_context("enable_graph_kernel") is False
    with pytest.raises(ValueError, match="no key 'enable_graph_kernl'"):
        ms.set_context(enable_graph_kernl=True)
    ms.runtime.set_memory(max_size="8GB")
    ms.runtime.launch_blocking()
    assert ms.get_context("pynative_synchronize") is True and len(notices) == 3


def test_configuration_of_a_compilation(mode: int) -> None:
    net = nn.ReLU()
    net.set_jit_config(ms.JitConfig(jit_level="O1", jit_syntax_level="STRICT"))
    assert net(Tensor([-1.0, 1.0])).tolist() == [0.0, 1.0]
    assert (ms.STRICT, ms.COMPATIBLE, ms.LAX) == (0, 1, 2)
    with pytest.raises(ValueError, match="jit_level is"):
        ms.JitConfig(jit_level="O7")


def test_weight_decay_is_any_cell_of_the_step(mode: int) -> None:
    class Falling(nn.Cell):
        def construct(self, step):
            return 0.5 / (step.astype(ms.float32) + 1)

    w = Parameter(Tensor([1.0]), name="w")
    by_group = [{"params": [w], "weight_decay": Falling()}]
    for parameters, options in (([w], {"weight_decay": Falling()}), (by_group, {})):
        ops.assign(w, Tensor([1.0]))
        step = nn.SGD(parameters, 1.0, **options)
        for value in (0.5, 0.375):  # w <- w - w / 2, then w - w / 4
            step((Tensor([0.0]),))
            assert w.tolist() == pytest.approx([value])


def test_notes_on_primitives(mode: int) -> None:
    add = ops.Add().set_device("CPU").add_prim_attr("name", 1).set_stage(0).recompute()
    assert add(Tensor([1.0]), Tensor([2.0])).tolist() == [3.0]


@pytest.mark.parametrize("name", ["zeros", "arange", "cat", "linspace", "randn", "matmul", "argsort", "unsqueeze"])
def test_functions_at_top_level(name: str) -> None:
    assert getattr(ms, name) is getattr(ops, name)


def test_sizes_that_are_tensors_stay_in_the_program(mode: int) -> None:
    """As arguments, and where a gradient is taken by them: their values are read when the program is captured."""
    from mindspore import Tensor, grad, jit, ops
    from mindspore.ops.operations import _grad_ops as G
    from mindspore.ops.operations.array_ops import ResizeLinear1D, UnravelIndex

    x, size, image = ops.ones((1, 2, 4)), Tensor([2, 3]), ops.ones((1, 2, 3, 4))
    programs: list[tuple[Any, Any, tuple[int, ...]]] = [
        (lambda n: ResizeLinear1D()(x, n), Tensor([7]), (1, 2, 7)),
        (lambda n: ops.fill(ms.float32, n, 1.0), size, (2, 3)),
        (lambda n: ops.rand(n), size, (2, 3)),
        (lambda n: ops.StandardNormal()(n), size, (2, 3)),
        (lambda n: ops.pad(image, n), Tensor([1, 2]), (1, 2, 3, 7)),
        (lambda n: ops.PadV3()(image, n, 0.0), Tensor([1, 2]), (1, 2, 3, 7)),
        (lambda n: UnravelIndex()(Tensor([1, 2]), n), size, (2, 2)),
        (lambda n: G.TraceGrad()(ops.ones(()), n), size, (2, 3)),
    ]
    for fn, n, shape in programs:
        assert jit(fn, fullgraph=True)(n).shape == shape == fn(n).shape
        assert grad(lambda n, fn=fn: fn(n).astype("float32"))(n).asnumpy().tolist() == [0] * n.size
