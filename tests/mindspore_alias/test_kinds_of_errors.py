"""Mistakes that MindSpore's programs catch: the kind of each error, in both modes where it depends on them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn


def run(fn: Any, *inputs: Any) -> Any:
    return (ms.jit(fn) if ms.get_context("mode") == ms.GRAPH_MODE else fn)(*inputs)


@pytest.mark.parametrize("fn", [max, min])
def test_the_largest_of_tensors_of_several_elements(mode: int, fn: Any) -> None:
    a, b = ms.Tensor([1.0, 5.0]), ms.Tensor([2.0, 3.0])
    for call, inputs in ((lambda x, y: fn(x, y), (a, b)), (lambda x: fn(x), (ms.ops.stack([a, b]),)),
                         (lambda x, y: fn([x, y]), (a, b))):  # fmt: skip
        with pytest.raises(ValueError, match="The truth value of an array with more than one element is ambiguous"):
            run(call, *inputs)
    assert run(lambda x, y: fn(x[0], y[0]), a, b).item() == fn(1.0, 2.0)
    assert run(lambda x, y: fn(x[:1], y[:1]), a, b).tolist() == [fn(1.0, 2.0)]


def test_a_tensor_beside_words(mode: int) -> None:
    x = ms.Tensor(1)
    words: list[Any] = ["a", ("a", "b"), ["a", 2], {"a": 1}, None]
    assert [run(lambda y: (y == word) is False and (y != word) is True, x) for word in words] == [True] * 5
    assert run(lambda y: [*words, y, 3].count(y), x) == 1
    with pytest.raises(TypeError):
        run(lambda y: y < ("a", "b"), x)
    with pytest.raises(TypeError):
        run(lambda y: y + ["a", "b"], x)


def test_a_name_that_one_branch_sets() -> None:
    @ms.jit
    def f(x: Any) -> Any:
        if x < 0:
            y = 0
        return y

    with pytest.raises(UnboundLocalError, match="local variable 'y'"):
        f(ms.Tensor(1.0))


def test_optimizers_without_parameters() -> None:
    for make in (nn.Adam, nn.SGD, nn.AdamWeightDecay):
        with pytest.raises(ValueError, match="not NoneType"):
            make(None)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="not int"):
            make(9)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="For 'Optimizer', the argument parameters must not be empty"):
            make([])


def test_weights_that_do_not_fit() -> None:
    net = nn.Dense(2, 1)
    wrong = {"weight": ms.Parameter(ms.Tensor(np.ones((3, 3), np.float32)), name="weight")}
    for kind in (RuntimeError, ValueError):
        with pytest.raises(kind, match="the shapes differ"):
            ms.load_param_into_net(net, wrong)


def test_when_to_save() -> None:
    with pytest.raises(ValueError, match="above 0"):
        ms.train.CheckpointConfig(0, 0)
    with pytest.raises(ValueError):
        ms.train.CheckpointConfig(-1)


def test_a_distribution_without_formulas(mode: int) -> None:
    class Bare(nn.probability.distribution.Distribution):
        def __init__(self) -> None:
            super().__init__(None, ms.float32, "Bare", {"rate": None})

    bare = Bare()
    for question in ("kl_loss", "cross_entropy", "prob", "mean"):
        inputs = () if question == "mean" else (ms.Tensor([0.2]),)
        with pytest.raises(NotImplementedError, match="no formula"):
            run(lambda *x, asked=question: getattr(bare, asked)(*x), *inputs)
    with pytest.raises(TypeError, match="named by a str"):
        nn.probability.distribution.Normal(0.0, 1.0).kl_loss(ms.Tensor([0.2]))


def test_a_history_of_a_loop_by_hand() -> None:
    params = ms.train.RunParams(cur_epoch_num=1, cur_step_num=2, batch_num=2, net_outputs=ms.Tensor(2.0))
    history, context = ms.train.History(), ms.train.RunContext(params)
    for moment in (history.begin, history.epoch_begin, history.step_end, history.epoch_end):
        moment(context)
    assert history.history["net_output"]


def test_results_of_an_evaluation_in_fit(mode: int, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    net = nn.Dense(1, 1)
    rows = ms.dataset.NumpySlicesDataset((np.zeros((4, 1), np.float32), np.ones((4, 1), np.float32)), ["x", "y"])
    model = ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1), metrics={"mse", "mae"})
    model.fit(1, rows.batch(2), rows.batch(2), callbacks=[ms.LossMonitor()], dataset_sink_mode=False)
    text = capsys.readouterr().out
    assert re.search(r"Eval result: epoch 1, metrics: \{'\w+': [\d.e-]+, '\w+': [\d.e-]+\}\n", text), text
