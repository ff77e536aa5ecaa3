"""What leaves as ONNX computes the same elsewhere: every record, layers, networks, control flow, older versions."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs onnx (`pip install 'msnb[onnx]'`)")

import onnx

import msnb as ms
from msnb import mint, nn, ops
from msnb.base.errors import ArgumentError, AttributeValueError, CaptureError
from msnb.ir.builder import build
from msnb.ir.frozen_graph import SavedGraph
from msnb.onnx.export.model_writer import model_of
from msnb.ops.definition.record import REGISTRY
from msnb.train.files.graph_freezing import frozen
from tests.onnx_models.exported import agree, by_others, exported, flat, kinds, saved_agrees

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "onnx.md").read_text(encoding="utf-8")
UNSAID = set(re.findall(r"`(\w+)`", PAGE[PAGE.index("## What has no operator") : PAGE.index("## What is left out")]))
RECORDS = sorted(name for name, op in REGISTRY.items() if op.examples)


def example(op: Any, made: Any) -> tuple[SavedGraph, Any, tuple[Any, ...]]:
    """A record's example as a program: floats of 32 bits, which every runtime has."""
    given = [x if type(x) in (bool, int, float, complex) else np.asarray(x) for x in made.inputs]
    given = [x.astype(np.float32) if isinstance(x, np.ndarray) and x.dtype == np.float64 else x for x in given]
    inputs = tuple(ms.Tensor(x) for x in given if isinstance(x, np.ndarray))

    def program(*tensors: Any) -> Any:
        rest = iter(tensors)
        return op(*(next(rest) if isinstance(x, np.ndarray) else x for x in given), **made.attrs)

    graph = build(op.name, [x._type for x in inputs], program)
    count = len(graph.outputs)
    result = 0 if count == 1 else {"tuple": list(range(count))}
    return SavedGraph(graph, len(inputs), {}, False, result), program(*inputs), inputs


@pytest.mark.parametrize("name", RECORDS)
def test_every_example_of_every_record(name: str) -> None:
    op, failed = REGISTRY[name], 0
    for made in op.examples:
        if name in ("neighbors", "print", "require", "summary"):
            continue  # one needs float64, the others give nothing back
        saved, want, inputs = example(op, made)
        try:
            model_of(saved)
        except CaptureError:
            failed += 1
            continue
        saved_agrees(saved, want, inputs)
    complexes = any(np.asarray(x).dtype.kind == "c" for made in op.examples for x in made.inputs)
    assert name in UNSAID if failed == len(op.examples) else not failed or complexes, failed


def test_what_has_no_operator_is_the_smaller_part() -> None:
    assert UNSAID <= set(REGISTRY) and len(UNSAID) < 0.38 * len(RECORDS)


IMAGE, ROWS, SERIES = (2, 4, 8, 8), (2, 5, 8), (6, 2, 4)
LAYERS: dict[str, tuple[Callable[[], nn.Cell], tuple[int, ...], list[str]]] = {
    "Dense": (lambda: nn.Dense(8, 3), (2, 8), ["Gemm"]),
    "Conv2d": (lambda: nn.Conv2d(4, 6, 3, 2, "same", group=2, has_bias=True), IMAGE, ["Conv"]),
    "Conv2dTranspose": (lambda: nn.Conv2dTranspose(4, 2, 3, 2), IMAGE, []),
    "Conv1d": (lambda: nn.Conv1d(5, 3, 3), ROWS, []),
    "Conv3d": (lambda: nn.Conv3d(2, 3, 3), (1, 2, 4, 4, 4), []),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(4), IMAGE, ["BatchNormalization"]),
    "LayerNorm": (lambda: nn.LayerNorm((8,)), ROWS, ["LayerNormalization"]),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), IMAGE, ["GroupNormalization"]),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(4), IMAGE, ["InstanceNormalization"]),
    "MaxPool2d": (lambda: nn.MaxPool2d(3, 2, "same"), IMAGE, ["MaxPool"]),
    "AvgPool2d": (lambda: nn.AvgPool2d(2, 2), IMAGE, ["AveragePool"]),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d((3, 3)), IMAGE, []),
    "LSTM": (lambda: nn.LSTM(4, 3, 2, bidirectional=True), SERIES, []),
    "GRU": (lambda: nn.GRU(4, 3, batch_first=True), SERIES, []),
    "RNN": (lambda: nn.RNN(4, 3), SERIES, []),
    "Dropout": (lambda: nn.Dropout(p=0.5), ROWS, []),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), ROWS, []),
    "Upsample": (lambda: nn.Upsample(size=(12, 12), mode="bilinear", align_corners=True), IMAGE, []),
    "ReflectionPad2d": (lambda: nn.ReflectionPad2d(1), IMAGE, []),
    **{name: (lambda name=name: getattr(nn, name)(), IMAGE, [kind]) for name, kind in (
        ("ReLU", "Relu"), ("ReLU6", "Clip"), ("LeakyReLU", "LeakyRelu"), ("ELU", "Elu"), ("CELU", "Celu"),
        ("SeLU", "Selu"), ("GELU", "Gelu"), ("Mish", "Mish"), ("HSigmoid", "HardSigmoid"), ("HSwish", "HardSwish"),
        ("HShrink", "Shrink"), ("SoftShrink", "Shrink"), ("Softsign", "Softsign"), ("Sigmoid", "Sigmoid"),
        ("Tanh", "Tanh"), ("Softmax", "Softmax"), ("LogSoftmax", "LogSoftmax"), ("Hardtanh", "Clip"))},
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_layers_keep_their_names(name: str) -> None:
    make, shape, wanted = LAYERS[name]
    ms.set_seed(3)
    net = make().set_train(False)
    model = exported(net, ops.randn(shape))
    assert not wanted or kinds(model) == wanted
    weights = {p.name for p in net.get_parameters()}
    if wanted == ["Gemm"]:
        assert weights == {x.name for x in model.graph.initializer}


sys.path.insert(0, str(ROOT / "tests" / "models"))
from zoo import CASES  # noqa: E402


@pytest.mark.parametrize("name", CASES)
def test_networks(name: str) -> None:
    ms.set_seed(11)
    net, _, batches = CASES[name](np.random.default_rng(7))
    count = len(net.construct.__code__.co_varnames[1 : net.construct.__code__.co_argcount])
    inputs = [ms.Tensor(x.astype(np.float32) if x.dtype.kind == "f" else x) for x in batches[0][:count]]
    exported(net.set_train(False), *inputs)


def test_weights_of_equal_values_stay_apart() -> None:
    net = nn.SequentialCell(nn.Conv2d(4, 4, 3, has_bias=True, bias_init="zeros"), nn.ReLU(),
                            nn.Conv2d(4, 4, 3, has_bias=True, bias_init="zeros")).set_train(False)  # fmt: skip
    model = exported(net, ops.randn(IMAGE))
    assert kinds(model) == ["Conv", "Relu", "Conv"]
    assert {x.name for x in model.graph.initializer} == {p.name for p in net.get_parameters()}


def test_keywords_of_other_frameworks() -> None:
    class Words(nn.Cell):
        def construct(self, x: Any) -> Any:
            y = ops.logsumexp(input=x, dim=-1, keepdim=True) + ops.softmax(x, dim=-1) + ops.log_softmax(x, dim=-1)
            return y + mint.cumsum(x, dim=0), mint.nn.functional.normalize(x, p=2, dim=1), mint.std(x, dim=1)

    exported(Words(), ops.randn((3, 4)))


# ---- open sizes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in CASES if name != "unrolled"])
def test_networks_with_an_open_batch(name: str) -> None:
    ms.set_seed(11)
    net, _, batches = CASES[name](np.random.default_rng(7))
    names = net.set_train(False).construct.__code__.co_varnames[1 : net.construct.__code__.co_argcount]
    arrays = [x.astype(np.float32) if x.dtype.kind == "f" else x for x in batches[0][: len(names)]]
    saved = frozen(net, [*map(ms.Tensor, arrays)], True, {name: {0: "batch"} for name in names})
    model = model_of(saved)
    for declared in model.graph.input:
        assert declared.type.tensor_type.shape.dim[0].dim_param == "batch"
    for rows in (1, 5):
        given = [np.concatenate([x, x, x])[:rows] for x in arrays]
        want = flat(net(*map(ms.Tensor, given)))
        found = by_others(model, {x.name: g for x, g in zip(model.graph.input, given)})
        for who, results in found.items():
            for got, right in zip(results, want, strict=True):
                assert agree(np.asarray(got), right), (who, rows)


def test_a_declared_tensor_leaves_its_sizes_open(tmp_path: Path) -> None:
    class Sums(nn.Cell):
        def construct(self, x: Any) -> Any:
            n, m = x.shape
            at = ops.arange(m) * 1.0
            return (x.reshape(n * m) * 2).reshape(n, m) + at, x.sum(0) / n, ops.zeros((n, 2)) + 1, x * (2 * n - m)

    net, open_input = Sums(), ms.Tensor(shape=[None, None], dtype=ms.float32)
    ms.export(net, open_input, file_name=tmp_path / "sums", file_format="ONNX")
    model = onnx.load(tmp_path / "sums.onnx")
    dims = model.graph.input[0].type.tensor_type.shape.dim
    assert [d.dim_param for d in dims] == ["x_0", "x_1"]
    for shape in ((2, 3), (4, 4), (1, 5)):
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        for results in by_others(model, {"x": x}).values():
            for got, right in zip(results, flat(net(ms.Tensor(x))), strict=True):
                assert agree(np.asarray(got), right), shape


SCALE = 3


class Asks(nn.Cell):
    def construct(self, x: Any) -> Any:
        if x.shape[0] > 16:
            return x * 2
        return x


class Scaled(nn.Cell):
    def construct(self, x: Any) -> Any:
        return x * (x.shape[0] * SCALE)


class Roots(nn.Cell):
    def construct(self, x: Any) -> Any:
        return x / math.sqrt(x.shape[0])


def test_open_sizes_that_cannot_be(tmp_path: Path) -> None:
    x = ops.ones((3, 2))
    with pytest.raises(CaptureError, match="depends on a size that is to stay open") as caught:
        frozen(Asks(), [x], True, {"x": [0]})
    assert "if x.shape[0] > 16:" in str(caught.value)
    with pytest.raises(CaptureError, match="depends on a size that is to stay open"):
        frozen(Roots(), [x], True, {"x": [0]})
    with pytest.raises(CaptureError, match="in a way that no model can say"):
        frozen(Scaled(), [x], True, {"x": [0]})
    with pytest.raises(ArgumentError, match="dynamic names the input 'y'; there are x"):
        frozen(nn.ReLU(), [x], True, {"y": [0]})
    with pytest.raises(ArgumentError, match="none with the number 2"):
        frozen(nn.ReLU(), [x], True, {"x": {2: "n"}})
    with pytest.raises(ArgumentError, match="the size 'n' is 3 and 2: one name is one size"):
        frozen(nn.ReLU(), [x], True, {"x": {0: "n", 1: "n"}})
    with pytest.raises(ArgumentError, match="opset= and dynamic= are for"):
        ms.export(nn.ReLU(), x, file_name=tmp_path / "a", dynamic={"x": [0]})


@pytest.mark.parametrize("opset", [13, 17, 18, 20, 23])
def test_older_and_newer_versions(opset: int) -> None:
    net = nn.SequentialCell(nn.Conv2d(4, 4, 3), nn.GroupNorm(2, 4), nn.GELU(), nn.Flatten(), nn.LayerNorm((256,)))
    model = exported(net.set_train(False), ops.randn(IMAGE), opset=opset)
    assert model.opset_import[0].version == opset
    assert ("Gelu" in kinds(model)) == (opset >= 20) and ("LayerNormalization" in kinds(model)) == (opset >= 17)


# ---- control flow ----------------------------------------------------------------------------------------------------


class Branch(nn.Cell):
    def construct(self, x: Any) -> Any:
        if x.sum() > 0:
            return ops.relu(x) * 2
        return x - 1


class Loop(nn.Cell):
    def construct(self, x: Any) -> Any:
        while x.sum() < 100:
            x = x * 2 + 1
        return x


class Turns(nn.Cell):
    def construct(self, x: Any) -> Any:
        total = ops.zeros_like(x[0])
        for row in x:
            total = ops.tanh(total + row)
        return total


def test_branches_and_loops() -> None:
    for sign in (1.0, -1.0):
        assert "If" in kinds(exported(Branch(), ops.ones((2, 3)) * sign))
    assert "Loop" in kinds(exported(Loop(), ops.ones((2, 3))))
    exported(Turns(), ops.randn(5, 3))


def test_results_in_containers_and_inputs_that_come_back() -> None:
    class Net(nn.Cell):
        def construct(self, x: Any, y: Any) -> Any:
            return {"sum": x + y, "parts": (x, [y * 2])}

    exported(Net(), ops.ones((2,)), ops.ones((2,)) * 3)


# ---- files and errors ------------------------------------------------------------------------------------------------


def test_a_file_out_and_in_again(mode: str, tmp_path: Path) -> None:
    net = nn.SequentialCell(nn.Dense(4, 8), nn.ReLU(), nn.Dense(8, 2)).set_train(False)
    x = ops.randn(3, 4)
    ms.export(net, x, file_name=tmp_path / "deep" / "net", file_format="ONNX")
    path = tmp_path / "deep" / "net.onnx"
    onnx.checker.check_model(onnx.load(path), full_check=True)
    again = nn.GraphCell(ms.load(path))
    np.testing.assert_allclose(again(x).asnumpy(), net(x).asnumpy(), rtol=1e-5)
    assert {p.name for p in again.trainable_params()} == {p.name for p in net.trainable_params()}
    ms.export(again, x, file_name=tmp_path / "twice", file_format="ONNX")
    assert kinds(onnx.load(tmp_path / "twice.onnx")) == kinds(onnx.load(path)) == ["Gemm", "Relu", "Gemm"]


class Unsayable(nn.Cell):
    def construct(self, x: Any) -> Any:
        y = ops.lgamma(x)
        return ops.cholesky(y)


def test_what_onnx_cannot_say_is_told_at_once_with_the_line() -> None:
    with pytest.raises(CaptureError) as caught:
        model_of(frozen(Unsayable(), [ops.ones((2, 2))]))
    assert "lgamma" in str(caught.value) and "y = ops.lgamma(x)" in str(caught.value)
    with pytest.raises(CaptureError, match="draws random numbers") as caught:
        model_of(frozen(nn.Dropout(p=0.5).set_train(), [ops.ones((2, 2))]))
    assert "set_train(False)" in str(caught.value)


def test_writes_that_are_left_out_are_told(notices: list[str]) -> None:
    model_of(frozen(nn.BatchNorm2d(4).set_train(), [ops.ones(IMAGE)], True))
    assert any("the writes are left out" in said for said in notices)


def test_checks_are_left_out_and_branches_that_raise_are_refused(notices: list[str]) -> None:
    def checked(x: Any) -> Any:
        assert x.sum() < 100, "too large"
        return x * 2

    def raising(x: Any) -> Any:
        if x.sum() > 100:
            raise ValueError("too large")
        return x * 2

    x = ops.ones((2, 3))
    saved_agrees(frozen(checked, [x], True), checked(x), (x,))
    assert any("a check (AssertionError) is left out of the model" in said for said in notices)
    with pytest.raises(CaptureError, match="the program raises ValueError when it runs; ONNX has values only"):
        model_of(frozen(raising, [x], True))


def test_wrong_options(tmp_path: Path) -> None:
    x = ops.ones((2,))
    with pytest.raises(AttributeValueError, match="opset=3: legal are 13 to"):
        ms.export(nn.ReLU(), x, file_name=tmp_path / "a", file_format="ONNX", opset=3)
    with pytest.raises(ArgumentError, match="opset= and dynamic= are for file_format='ONNX'"):
        ms.export(nn.ReLU(), x, file_name=tmp_path / "a", opset=17)
    with pytest.raises(ArgumentError, match="no option 'colour'"):
        ms.export(nn.ReLU(), x, file_name=tmp_path / "a", file_format="ONNX", colour=1)
    assert not list(tmp_path.iterdir())
