"""What programs read from layers that are made: names and forms of MindSpore's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


@pytest.mark.parametrize("layer", ["Conv1d", "Conv1dTranspose"])
@pytest.mark.parametrize(
    "given", [{}, {"stride": 2}, {"pad_mode": "pad", "padding": 2}, {"pad_mode": "valid", "dilation": 2}]
)
def test_convolutions_of_rows_have_the_settings_of_an_image(layer: str, given: dict[str, Any]) -> None:
    from mindspore import Tensor, nn

    made = getattr(nn, layer)(4, 6, 3, **given)
    assert made.kernel_size == (1, 3)
    assert made.stride == (1, given.get("stride", 1))
    assert made.dilation == (1, given.get("dilation", 1))
    assert made.padding == (0, 0, given.get("padding", 0), given.get("padding", 0))
    assert made.weight.shape[2:] == (1, 3)
    x = Tensor(np.linspace(-1, 1, 88, dtype=np.float32).reshape(2, 4, 11))
    image = getattr(nn, f"Conv2d{layer[6:]}")(4, 6, (1, 3), made.stride, made.pad_mode, made.padding,
                                              **{"dilation": made.dilation})  # fmt: skip
    image.weight.set_data(made.weight)
    np.testing.assert_allclose(made(x).asnumpy(), image(x.expand_dims(2)).squeeze(2).asnumpy(), 1e-5, 1e-6)


def test_what_layers_say_of_themselves() -> None:
    from mindspore import float32, nn

    assert (nn.Dense(2, 3).activation_flag, nn.Dense(2, 3, activation="relu").activation_flag) == (False, True)
    table = nn.Embedding(3, 4, dtype=float32)
    assert table.dtype == float32 and table.init_tensor.asnumpy().tolist() == table.embedding_table.asnumpy().tolist()
    assert nn.MultiheadAttention(8, 2).head_dim == 4


@pytest.mark.parametrize("name", ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"])
def test_momentum_reads_as_the_share_that_a_step_takes(name: str, mode: int) -> None:
    from mindspore import Tensor, nn

    import msnb

    norm = getattr(nn, name)(1, momentum=0.75).set_train()
    assert norm.momentum == 0.25 and "momentum=0.75" in repr(norm) and msnb.nn.BatchNorm1d is nn.BatchNorm1d
    if name == "SyncBatchNorm":
        return
    x = np.array([1.0, 3.0], np.float32).reshape(2, 1, *[1] * {"1": 0, "2": 2, "3": 3}[name[9]])
    norm(Tensor(x))
    mean, variance = (p for key, p in norm.parameters_and_names() if "moving" in key)
    np.testing.assert_allclose([float(mean), float(variance)], [0.25 * 2.0, 0.75 + 0.25 * 2.0])


def test_dropouts_say_what_they_keep() -> None:
    from mindspore import nn

    assert nn.Dropout(p=0.25).keep_prob == nn.Dropout2d(0.25).keep_prob == 0.75


def test_a_sequence_of_cells_has_them_as_a_list(mode: int) -> None:
    from mindspore import Tensor, nn

    class Twice(nn.SequentialCell):
        def construct(self, x: Any, again: Any) -> Any:
            for cell in self.cell_list:
                x = cell(cell(x) if again else x)
            return x

    net = Twice(nn.Dense(2, 2, weight_init="ones", bias_init="zeros"), nn.ReLU())
    assert net(Tensor([[1.0, 2.0]]), True).tolist() == [[6.0, 6.0]]
    net.append(nn.ReLU6())
    assert [type(cell) for cell in net.cell_list] == [nn.Dense, nn.ReLU, nn.ReLU6]
    assert net(Tensor([[4.0, 5.0]]), False).tolist() == [[6.0, 6.0]]
