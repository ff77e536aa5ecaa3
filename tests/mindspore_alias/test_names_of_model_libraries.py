"""Private helpers that libraries of attacks and of robust training import."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest


def test_functions_of_pictures() -> None:
    from mindspore.dataset import vision
    from mindspore.dataset.vision import py_transforms_util as util

    picture = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    assert util.is_numpy(picture) and not util.is_pil(picture)
    assert util.is_pil(util.to_pil(picture))
    np.testing.assert_array_equal(util.hwc_to_chw(picture), picture.transpose(2, 0, 1))
    np.testing.assert_array_equal(util.crop(picture, (1, 2), (2, 3)), vision.Crop((1, 2), (2, 3))(picture))
    assert np.shape(util.to_tensor(picture, output_type=np.float32)) == (3, 4, 5)


def test_values_of_layers_by_name(mode: int) -> None:
    import mindspore as ms
    from mindspore import nn, ops
    from mindspore.train.summary.summary_record import _get_summary_tensor_data

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.summary = ops.TensorSummary()

        def construct(self, x: Any) -> Any:
            y = ops.relu(x)
            self.summary("relu", y)
            return y * 2

    net = Net()
    for first in (1.0, 5.0):
        net(ms.Tensor([first, -1.0]))
        found = _get_summary_tensor_data()
        assert {name: value.asnumpy().tolist() for name, value in found.items()} == {"relu[:Tensor]": [first, 0.0]}
    assert _get_summary_tensor_data() == {}


def test_values_that_nobody_asks_for_are_bounded() -> None:
    import mindspore as ms
    from mindspore import ops
    from mindspore.train.summary.summary_record import _get_summary_tensor_data

    for step in range(1010):
        ops.ScalarSummary()(f"step {step}", ms.Tensor(float(step)))
    found = _get_summary_tensor_data()
    assert len(found) == 1000 and list(found)[-1] == "step 1009[:Scalar]"


def test_mixed_precision_by_hand(mode: int) -> None:
    import mindspore as ms
    from mindspore import nn
    from mindspore.nn.wrap.loss_scale import _grad_overflow
    from mindspore.train.amp import _add_loss_network, _config_level, _do_keep_batchnorm_fp32

    assert {level: str(_config_level[level]["cast_model_type"]) for level in ("O0", "O1", "O2", "O3", "auto")} == {
        "O0": "Float32", "O1": "Float32", "O2": "Float16", "O3": "Float16", "auto": "Float32",
    }  # fmt: skip
    assert [level for level, how in _config_level.items() if how["keep_batchnorm_fp32"]] == ["O2"]
    assert _config_level["O2"]["loss_scale_manager"].get_loss_scale() == 2**24
    seen = []

    class Norm(nn.BatchNorm1d):
        def construct(self, x: Any) -> Any:
            seen.append(str(x.dtype))
            return super().construct(x)

    class Last(nn.ReLU):
        def construct(self, x: Any) -> Any:
            seen.append(str(x.dtype))
            return super().construct(x)

    net = nn.SequentialCell(nn.Dense(3, 3), Norm(3), Last()).to_float(ms.float16)
    _do_keep_batchnorm_fp32(net)
    net.set_train()
    step = _add_loss_network(net, nn.MSELoss(), ms.float16)
    assert step(ms.Tensor(np.eye(4, 3), ms.float32), ms.Tensor(np.ones((4, 3)), ms.float32)).dtype == ms.float32
    assert seen[:2] == ["Float32", "Float16"]
    assert _grad_overflow(ms.Tensor([1.0, float("inf")])).asnumpy().tolist() == pytest.approx([1.0])


def test_seeds_of_operators_that_draw() -> None:
    import mindspore as ms
    from mindspore.common.seed import _get_graph_seed

    ms.set_seed(7)
    found = [_get_graph_seed(0, "dropout"), _get_graph_seed(0, "dropout"), _get_graph_seed(5, "x")]
    assert len(set(found)) == 3 and {first for first, _ in found} == {7}
    ms.set_seed(7)
    assert _get_graph_seed(None, "dropout") == found[0], "set_seed begins anew"
    with pytest.raises(ValueError, match="dropout"):
        _get_graph_seed(-1, "dropout")


def test_dtypes_by_the_names_that_are_printed() -> None:
    import mindspore as ms

    x = ms.Tensor([1.5])
    assert x.astype("Int32").dtype == ms.int32 and x.astype("Float16").dtype == ms.float16
    with pytest.raises(TypeError, match="Int33"):
        x.astype("Int33")


def test_copies_by_the_method_itself(mode: int) -> None:
    import mindspore as ms

    def fn(x: Any) -> Any:
        return x.__deepcopy__(memodict={}) + 1

    found = (ms.jit(fn) if mode == ms.GRAPH_MODE else fn)(ms.Tensor([1.0]))
    assert found.tolist() == [2.0]
    assert ms.Parameter(ms.Tensor([1.0]), name="p").__deepcopy__(memodict={}).tolist() == [1.0]


def test_primitives_named_by_their_operand() -> None:
    import mindspore as ms
    from mindspore.ops import auto_generate

    x = ms.Tensor([5.0, -3.0])
    assert auto_generate.FmodScalar()(x, 2.0).tolist() == auto_generate.FmodTensor()(x, x * 0 + 2).tolist() == [1, -1]
    assert auto_generate.ClampScalar()(x, 0.0, 1.0).tolist() == [1, 0]
    for name in ("ExpScalar", "AddTensor", "NoScalar"):  # MindSpore has none either
        assert not hasattr(auto_generate, name)


def test_relations_of_sets() -> None:
    from mindspore import _checkparam as validator

    assert validator.check("size", 2, "", [2, 3], validator.IN, "Rule") == 2
    assert validator.check("size", 4, "", [2, 3], validator.NOT_IN, "Rule") == 4
    for value, rel in ((4, validator.IN), (2, validator.NOT_IN)):
        with pytest.raises(ValueError, match="For 'Rule', the 'size' should be"):
            validator.check("size", value, "", [2, 3], rel, "Rule")


def test_names_that_libraries_import_and_seldom_use() -> None:
    from mindspore.common._stub_tensor import StubTensor
    from mindspore.dataset.core.validator_helpers import INT32_MAX
    from mindspore.parallel._cost_model_context import set_cost_model_context
    from mindspore.parallel._ps_context import _is_role_sched
    from mindspore.train.callback import TrainFaultTolerance
    from mindspore.train.serialization import _get_merged_param_data, load_distributed_checkpoint

    assert not _is_role_sched() and INT32_MAX == 2**31 - 1 and not isinstance(1, StubTensor)
    for use in (set_cost_model_context, TrainFaultTolerance, _get_merged_param_data, load_distributed_checkpoint):
        with pytest.raises(AttributeError, match="is not part of msnb yet"):
            use()
    with pytest.raises(ImportError):
        from mindspore.train import _get_merged_param_data as _  # noqa: F401


def test_libraries_look_through_the_names() -> None:
    from mindspore.dataset import transforms, vision

    for room in (vision.transforms, transforms.transforms):
        names = [name for name in dir(room) if not name.startswith("_")]
        assert "TYPE_CHECKING" not in names and "annotations" not in names and all(hasattr(room, n) for n in names)
    assert "Resize" in dir(vision.transforms) and "Compose" in dir(transforms.transforms)


def test_how_many_rows_a_dataset_has() -> None:
    from mindspore import dataset as ds

    rows = ds.NumpySlicesDataset(np.ones((10, 2)), shuffle=False)
    assert (rows.dataset_size, rows.batch(3).dataset_size, rows.batch(3).repeat(2).dataset_size) == (10, 4, 8)
    assert rows.children == [] and [d.dataset_size for d in rows.batch(3).children] == [10]
    rows.dataset_size = 3
    assert rows.dataset_size == 3


def test_errors_are_raised_anew_with_another_text() -> None:
    import mindspore as ms

    for missing in (lambda: ms.Tensor(1.0).no_such, lambda: ms.nn.Dense(1, 1).no_such, lambda: ms.ops.no_such):
        with pytest.raises(AttributeError, match="no_such") as caught:
            missing()
        with pytest.raises(type(caught.value), match=r"^Net: .*no_such"):
            raise type(caught.value)(f"Net: {caught.value}")
        assert "no_such" in str(pickle.loads(pickle.dumps(caught.value)))  # as from another process
