"""Operators that MindSpore's layers show as attributes: what a subclass computes with them is what the layer gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def _layers(nn: Any) -> dict[str, tuple[Any, Any, tuple[int, ...]]]:
    """Layer, what to call with its operators, and the shape of the input."""

    def row(layer: Any, x: Any) -> Any:
        filters = layer.weight.reshape((*layer.weight.shape[:2], 1, layer.weight.shape[-1]))
        return layer.squeeze(layer.conv2d(layer.expand_dims(x, 2), filters))

    def turned(layer: Any, x: Any) -> Any:
        return layer.conv2d_transpose(x, layer.weight, (2, 3, 10, 12))

    return {
        "rows": (nn.Conv1d(4, 6, 3, stride=2, pad_mode="pad", padding=1), row, (2, 4, 11)),
        "rows, dilated": (nn.Conv1d(4, 6, 3, pad_mode="valid", dilation=2), row, (2, 4, 11)),
        "transposed": (nn.Conv2dTranspose(2, 3, 3, 2), turned, (2, 2, 5, 6)),
        "max": (nn.MaxPool2d(2, 2, "same"), lambda layer, x: layer.max_pool(x), (2, 3, 5, 6)),
        "mean": (nn.AvgPool2d(3, 2), lambda layer, x: layer.avg_pool(x), (2, 3, 5, 6)),
        "softmax": (nn.Softmax(1), lambda layer, x: layer.softmax(x), (2, 3, 4)),
        "log softmax": (nn.LogSoftmax(0), lambda layer, x: layer.log_softmax(x), (2, 3)),
        "tanh": (nn.Tanh(), lambda layer, x: layer.tanh(x), (3,)),
        "sigmoid": (nn.Sigmoid(), lambda layer, x: layer.sigmoid(x), (3,)),
        "relu": (nn.ReLU(), lambda layer, x: layer.relu(x), (3,)),
    }


@pytest.mark.parametrize("name", _layers(__import__("msnb").nn))
def test_operators_of_layers(name: str, mode: int) -> None:
    from mindspore import Tensor, nn

    layer, call, shape = _layers(nn)[name]
    x = Tensor(np.random.default_rng(3).standard_normal(shape).astype(np.float32))

    class Written(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def construct(self, x: Any) -> Any:
            return call(self.layer, x)

    np.testing.assert_allclose(Written()(x).asnumpy(), layer(x).asnumpy(), rtol=1e-5, atol=1e-6)


def test_tables_and_losses_and_dropout(mode: int) -> None:
    from mindspore import Tensor, int32, nn

    table, ids = nn.Embedding(5, 3), Tensor([[1, 4]], int32)
    flat = table.reshape_flat(ids, (-1,))
    found = table.reshape(table.gather(table.embedding_table, flat, 0), (*table.get_shp(ids), 3))
    np.testing.assert_array_equal(found.asnumpy(), table(ids).asnumpy())
    assert table.expand(ids, -1).shape == (1, 2, 1)
    logits, labels = Tensor([[1.0, 2.0, 0.5]]), Tensor([1], int32)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True)
    one = loss.one_hot(labels, 3, Tensor(1.0), Tensor(0.0))
    found = loss.softmax_cross_entropy(logits, one)[0]
    np.testing.assert_allclose(found.asnumpy(), loss(logits, labels).asnumpy(), 1e-6)
    kept, mask = nn.Dropout(p=0.5).set_train().dropout(Tensor(np.ones(1000, np.float32)))
    assert set(kept.tolist()) == {0.0, 2.0} and mask.shape == (1000,)


def test_a_strategy_of_an_inner_operator_is_told_to_change_nothing(capsys: Any) -> None:
    from mindspore import Tensor, nn

    layer = nn.Softmax()
    assert layer.softmax.shard(((1, 2),))(Tensor([1.0, 1.0])).tolist() == [0.5, 0.5]
    assert "its strategy changes nothing" in capsys.readouterr().err
    layer.softmax = lambda x: x  # an assignment wins
    assert layer.softmax(3) == 3
