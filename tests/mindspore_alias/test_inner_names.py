"""Names of MindSpore's inner modules that its unit tests use: what they compute, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb
from msnb import Tensor


def run(fn: Any, *inputs: Any) -> Any:
    return (msnb.jit(fn) if msnb.get_context("mode") == msnb.GRAPH_MODE else fn)(*inputs)


def test_operators_that_compare_types(mode: int) -> None:
    import mindspore as ms
    from mindspore.ops.operations import _inner_ops as inner

    x = Tensor([0.5, 1.0])
    assert run(inner.SameTypeShape(), x, x + 1).tolist() == [0.5, 1.0]
    for y, error in ((5.0, TypeError), (Tensor([1, 2]), TypeError), (Tensor([1.0]), ValueError)):
        with pytest.raises(error, match="SameTypeShape"):
            run(inner.SameTypeShape(), x, y)
    assert inner.IsInstance()([1], ms.list_)
    assert inner.IsInstance()(1.0, ms.float_)
    assert not inner.IsInstance()(1, ms.float_)
    assert inner.IsSubClass()(ms.int32, ms.number)
    assert not inner.IsSubClass()(ms.int32, ms.float32)
    with pytest.raises(TypeError, match="IsSubClass takes a type"):
        inner.IsSubClass()(None, ms.number)


def test_slope_of_igamma(mode: int) -> None:
    from mindspore.ops.operations._grad_ops import IgammaGradA

    a, x = Tensor([0.5, 1.0, 2.5, 4.0]), Tensor([0.3, 1.0, 2.0, 6.0])
    wanted = [-0.7705705, -0.4317296, -0.27455115, -0.11316174]
    np.testing.assert_allclose(run(IgammaGradA(), a, x).asnumpy(), wanted, rtol=2e-6)


def test_names_that_import_and_say_what_they_are() -> None:
    import mindspore.ops.operations._quant_ops as quant
    from mindspore._c_expression import CreationType, get_code_extra
    from mindspore.common.api import _pynative_executor
    from mindspore.ops.operations._rl_inner_ops import GRUV2

    _pynative_executor.set_creation_type(Tensor([1.0]), CreationType.DEFAULT)
    assert get_code_extra(run) is None
    for use in (lambda: GRUV2(1, 1), lambda: quant.FakeQuantParam("INT8")):
        with pytest.raises(AttributeError, match="not part of msnb"):
            use()
    with pytest.raises(ImportError, match="GRUV3"):
        from mindspore.ops.operations._rl_inner_ops import GRUV3  # noqa: F401


def test_buffers_by_assignment(mode: int) -> None:
    from mindspore import nn
    from mindspore.common.parameter import _Buffer

    class Inner(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.shift = _Buffer(Tensor([1.0, 2.0]))
            self.register_buffer("scale", Tensor([3.0, 4.0]))

        def construct(self, x: Any) -> Any:
            return (x + self.shift) * self.scale

    net = nn.SequentialCell(Inner())
    assert net(Tensor([2.0, 2.0])).tolist() == [9.0, 16.0]
    assert [name for name, _ in net.named_buffers()] == ["0.shift", "0.scale"]
    assert [*net[0]._buffers] == ["shift", "scale"]
    assert net.get_buffer("0.scale").tolist() == [3.0, 4.0]
    net[0].shift = Tensor([0.0, 0.0])
    assert net(Tensor([2.0, 2.0])).tolist() == [6.0, 8.0]
    assert [*net.state_dict()] == ["0.shift", "0.scale"]
    with pytest.raises(AttributeError, match="has no buffer '0.mask'"):
        net.get_buffer("0.mask")
    with pytest.raises(TypeError, match="a word without dots"):
        net.register_buffer(2, Tensor([1.0]))


def test_settings_of_data_sets() -> None:
    from mindspore import dataset as ds

    before = ds.config.get_fast_recovery()
    ds.config.set_fast_recovery(not before)
    assert ds.config.get_fast_recovery() is not before
    ds.config.set_fast_recovery(before)
    with pytest.raises(TypeError, match="takes a bool"):
        ds.config.set_debug_mode(1)
    with pytest.raises(TypeError, match="hooks and files"):
        ds.config.set_debug_mode(True, [print])
    with pytest.raises(ValueError, match="a number from 1"):
        ds.config.set_callback_timeout(0)


def test_estimated_shapes() -> None:
    from mindspore import dataset as ds

    rows = [(np.zeros((n, 3)), np.zeros(1)) for n in (2, 4)]
    data = ds.GeneratorDataset(rows, ["a", "b"], shuffle=False)
    assert data.output_shapes() == [[2, 3], [1]]
    assert data.output_shapes(estimate=True) == [[None, 3], [1]]
    with pytest.raises(TypeError, match="estimate must be a bool"):
        data.output_shapes(estimate=1)


def test_eigenvalues_of_a_half(mode: int) -> None:
    from mindspore.ops.operations.linalg_ops import Eigh

    x = Tensor([[2.0, 1.0], [9.0, 3.0]])
    np.testing.assert_allclose(run(Eigh(False, True), x).asnumpy(), [-6.513879, 11.51388], rtol=1e-6)
    values, vectors = run(Eigh(lower=False), x)
    np.testing.assert_allclose(values.asnumpy(), [1.3819659, 3.6180334], rtol=1e-6)
    np.testing.assert_allclose(np.abs(vectors.asnumpy()[0]), [0.850651, 0.525731], rtol=1e-5)
    with pytest.raises(TypeError, match="compute_eigenvectors must be a bool"):
        run(Eigh(1), x)
    with pytest.raises(ValueError, match="Eigh needs square"):
        run(Eigh(), Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))


def test_operators_of_scipy(mode: int) -> None:
    from mindspore.scipy.ops import Eig, LinearSumAssignment, SolveTriangular
    from mindspore.scipy.utils import _nd_transpose

    a, b = Tensor([[2.0, 1.0], [9.0, 3.0]]), Tensor([1.0, 2.0])
    assert run(SolveTriangular(True, True, "T"), a, b).tolist() == [-17.0, 2.0]
    assert run(SolveTriangular(), a, b).tolist() == pytest.approx([1 / 6, 2 / 3])
    values, vectors = run(Eig(), a)
    assert sorted(values.asnumpy().real.tolist()) == pytest.approx([-0.541381, 5.54138], rel=1e-5)
    assert vectors.shape == (2, 2)
    assert run(Eig(False), a)[1].shape == ()
    assert _nd_transpose(a).tolist() == [[2.0, 9.0], [1.0, 3.0]]
    cost = Tensor([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]])
    rows, columns = run(LinearSumAssignment(), cost, Tensor(3), Tensor(False))
    assert rows.tolist() == [0, 1, 2]
    assert columns.tolist() == [1, 0, 2]
    with pytest.raises(TypeError, match="compute_v"):
        run(Eig(1), a)


def test_names_from_places() -> None:
    from mindspore import Parameter, nn
    from mindspore.common.parameter import _is_parameter_generated

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.alone, self.several = Parameter(Tensor([1.0])), (Parameter(Tensor([1.0])),)

    assert [_is_parameter_generated(p.name) for p in Net().get_parameters()] == [False, True]


def test_callbacks_of_a_loop_of_ones_own(tmp_path: Any) -> None:
    from mindspore import nn
    from mindspore.train import CheckpointConfig, LossMonitor, ModelCheckpoint, RunContext
    from mindspore.train.callback import _CallbackManager, _InternalCallbackParam

    params = _InternalCallbackParam()
    params.update(train_network=nn.Dense(1, 1), cur_epoch_num=4, cur_step_num=0, batch_num=32)
    params.net_outputs, context = Tensor(2.0), RunContext(params)
    config = CheckpointConfig(save_checkpoint_steps=16)
    policy = {"save_checkpoint_steps": 16, "save_checkpoint_seconds": None, "keep_checkpoint_max": 5,
              "keep_checkpoint_per_n_minutes": None, "saved_network": None}  # fmt: skip
    assert config.get_checkpoint_policy() == policy
    other = CheckpointConfig(0, 9, 0, keep_checkpoint_per_n_minutes=3).get_checkpoint_policy()
    assert [*other.values()][:4] == [0, 0, 9, 3] and other["keep_checkpoint_per_n_minutes"] == 3
    named = ModelCheckpoint(lambda p: f"{p.cur_step_num}_own", lambda p: str(tmp_path / "own"), config)
    with _CallbackManager([LossMonitor(1), named, ModelCheckpoint("100", str(tmp_path), config)]) as all_of_them:
        all_of_them.begin(context)
        params.cur_step_num = 128
        all_of_them.step_end(context)
        all_of_them.end(context)
    assert (tmp_path / "own" / "128_own.ckpt").exists()
    assert (tmp_path / "100-4_32.ckpt").exists()
    for wrong, error in (
        (lambda: _CallbackManager([None]), TypeError), (lambda: RunContext(3), TypeError),
        (lambda: ModelCheckpoint(prefix=123), ValueError),
    ):  # fmt: skip
        with pytest.raises(error):
            wrong()


def test_further_first_values() -> None:
    from mindspore import float32
    from mindspore._c_expression import _random_uniform, _truncated_normal
    from mindspore.common.initializer import Dirac, Sparse, initializer

    found = initializer(Dirac(3), (6, 4, 3, 3), float32).asnumpy()
    assert [*map(list, found.nonzero())] == [[*range(6)], [0, 1, 0, 1, 0, 1], [1] * 6, [1] * 6]
    assert initializer("dirac", (2, 2, 4)).asnumpy().nonzero()[2].tolist() == [2, 2]
    zeros = (initializer(Sparse(0.15), (10, 20)).asnumpy() == 0).sum(0)
    assert set(zeros.tolist()) == {2}
    for make in (
        lambda: initializer(Dirac(2), (5, 4, 6)), lambda: initializer(Dirac(), (5, 4)), lambda: Dirac(0),
        lambda: Sparse(1.5), lambda: initializer(Sparse(0.1), (5,)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="Dirac|Sparse"):
            make()
    data, again = np.zeros((3, 500), np.float32), np.zeros((3, 500), np.float32)
    for array in (data, again):
        _truncated_normal(7, array, -2.0, 1.0, 0.5, 2.0)
    assert data.min() >= -2
    assert data.max() <= 1
    np.testing.assert_array_equal(data, again)
    with pytest.raises(RuntimeError, match="float32"):
        _random_uniform(7, np.zeros(3), 0.0, 1.0)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda m, x, y: m.ops.gaussian_nll_loss(x, x, x, full=1), TypeError),
        (lambda m, x, y: m.ops.gaussian_nll_loss(x, x, x, eps="a"), ValueError),
        (lambda m, x, y: m.nn.GaussianNLLLoss(full=1), TypeError),
        (lambda m, x, y: m.nn.GaussianNLLLoss(eps=-1.0), ValueError),
        (lambda m, x, y: m.ops.cross_entropy(x.astype(m.int32), y), TypeError),
        (lambda m, x, y: m.ops.cross_entropy(x, y, ignore_index=1.0), TypeError),
        (lambda m, x, y: m.nn.RReLU("a", "b"), TypeError),
        (lambda m, x, y: m.nn.RReLU(True, 1.0), TypeError),
        (lambda m, x, y: m.nn.RReLU(0.5, 0.3), ValueError),
    ],
)
def test_refusals_of_losses_and_activations(mode: int, call: Any, error: type[Exception]) -> None:
    import mindspore

    with pytest.raises(error):
        call(mindspore, Tensor([[1.0, 2.0, 3.0]]), Tensor([1], mindspore.int32))


def test_steps_of_a_generator(mode: int) -> None:
    from mindspore import Generator, default_generator, get_rng_state, nn, set_rng_state

    class Steps(nn.Cell):
        def construct(self, n: Any) -> Any:
            return generator._step(n)

    generator = Generator().manual_seed(5)
    steps, three = Steps(), Tensor(3)
    for count in (0, 3, 6):
        seed, offset = run(steps, three)
        assert (int(seed), int(offset), offset.dtype) == (5, count, msnb.int64)
    other = Generator()
    other.set_state(generator.get_state())
    assert [int(x) for x in other._step(three)] == [5, 9] == [int(x) for x in run(steps, three)]
    before = get_rng_state()
    first = [int(x) for x in default_generator._step(three)]
    set_rng_state(before)
    assert first == [int(x) for x in default_generator._step(three)]


def test_data_of_a_program() -> None:
    from mindspore import Model, nn
    from mindspore.communication._comm_helper import GlobalComm

    class Rows:
        def get_dataset_size(self) -> int:
            return 2

        def create_tuple_iterator(self, **settings: Any) -> Any:
            return self

        def __iter__(self) -> Any:
            return iter([(Tensor([[1.0]]), Tensor([[2.0]]))] * 2)

    net = nn.Dense(1, 1)
    optimizer = nn.SGD(
        [{"params": [net.weight]}, {"params": [net.bias]}, {"order_params": [net.bias, net.weight]}], 0.1
    )
    assert optimizer.is_group_params_ordered and not nn.SGD([net.weight], 0.1).is_group_params_ordered
    model = Model(net, nn.MSELoss(), optimizer)
    model.train(1, Rows())
    assert int(optimizer.global_step) == 2 and GlobalComm.WORLD_COMM_GROUP
    with pytest.raises(ValueError, match="initial_epoch must be an int of at least 0, got -1"):
        model.train(1, Rows(), initial_epoch=-1)
    with pytest.raises(TypeError, match="initial_epoch must be an int of at least 0, got '1'"):
        model.train(1, Rows(), initial_epoch="1")


def test_parts_of_attention_that_programs_call(mode: int) -> None:
    from mindspore.ops.function import nn_func

    rng = np.random.default_rng(3)
    x, y = (Tensor(rng.normal(size=(n, 2, 8)).astype(np.float32)) for n in (3, 4))
    hidden = Tensor([[False, True, False, False], [False, False, False, True]])
    for more in ({}, {"add_bias_kv": True, "add_zero_attn": True}):
        layer = msnb.nn.MultiheadAttention(8, 2, **more).set_train(False)
        weights = (layer.in_proj_weight, layer.in_proj_bias, layer.bias_k, layer.bias_v, layer.add_zero_attn, 0.0,
                   layer.out_proj.weight, layer.out_proj.bias)  # fmt: skip
        for query, key, mask, causal in ((x, y, hidden, False), (x, x, None, True)):
            upper = Tensor(np.triu(np.ones((3, 3), bool), 1)) if causal else None
            out, shares = layer(query, key, key, key_padding_mask=mask, attn_mask=upper)
            found, parts = run(lambda q, k, mask=mask, causal=causal, weights=weights: (
                nn_func.multi_head_attention_forward(q, k, k, 8, 2, *weights, training=False, key_padding_mask=mask,
                                                     is_causal=causal)), query, key)  # fmt: skip
            np.testing.assert_allclose(found.asnumpy(), out.asnumpy(), 1e-4, 1e-5)
            np.testing.assert_allclose(parts.asnumpy(), shares.asnumpy(), 1e-4, 1e-5)
    assert nn_func._check_qkv_shape(3, 3, 3) and not nn_func._check_qkv_shape(2, 2, 2)
    nn_func._check_kpm_shape(3, 2)
    nn_func._check_attn_mask_shape(2, (3, 8), (4, 8), 3, (2, 3, 4), 2)
    assert nn_func._inner_pad(Tensor([True]), (0, 1)).tolist() == [True, False]
    assert nn_func._inner_dropout(x, 0.5, False) is x
    for wrong in (lambda: nn_func._check_qkv_shape(3, 2, 3), lambda: nn_func._check_kpm_shape(3, 3),
                  lambda: nn_func._check_attn_mask_shape(2, (3, 8), (4, 8), 3, (1, 3, 4), 2)):  # fmt: skip
        with pytest.raises(ValueError, match="ax|attn_mask"):
            wrong()


def test_precision_scales_and_prefixes_below_private_paths() -> None:
    import mindspore as ms
    from mindspore._c_expression import MSContext, reset_op_id
    from mindspore._c_expression.amp import AmpLevel
    from mindspore.common.api import _function_forbid_reuse
    from mindspore.communication._comm_helper import _is_initialized
    from mindspore.context import _get_mode
    from mindspore.log import _get_logger
    from mindspore.nn.wrap.loss_scale import grad_scale
    from mindspore.train.amp import AMP_BLACK_LIST, _auto_black_list, _OutputTo32
    from mindspore.train.serialization import _load_dismatch_prefix_params

    net = _auto_black_list(ms.nn.SequentialCell(ms.nn.Dense(2, 2), ms.nn.LayerNorm((2,))), AMP_BLACK_LIST, ms.float16)
    assert _OutputTo32(net)(ms.ops.ones((1, 2))).dtype is ms.float32
    assert grad_scale(Tensor(4.0), Tensor([8.0])).tolist() == [2]
    left = ["weight", "bias"]
    layer = ms.nn.Dense(1, 1)
    _load_dismatch_prefix_params(layer, {"net.weight": Tensor([[3.0]])}, left, False)
    assert (left, layer.weight.item()) == (["bias"], 3)
    _load_dismatch_prefix_params(layer, {"other": Tensor(1.0)}, left, False)
    assert left == ["bias"]
    assert _get_mode() == ms.get_context("mode") and not _is_initialized()
    assert AmpLevel.AmpO3.value == 3 and MSContext.get_instance().get_ascend_soc_version() == ""
    assert _function_forbid_reuse(run) is run and reset_op_id() is None and _get_logger().name
