"""A saved program is written out as the Cells that a person would write, and they compute the same."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs onnx (`pip install 'msnb[onnx]'`)")

import onnx
from onnx import TensorProto, helper

import msnb as ms
from msnb import nn, ops
from msnb.base.errors import ArgumentError, CheckpointError
from msnb.onnx.program import program_of
from tests.onnx_models.exported import flat

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "models"))
from zoo import CASES  # noqa: E402

DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
MODELS = sorted(path.parent.name for path in (DATA / "pytorch-converted").glob("*/model.onnx"))
WITHOUT = {"test_MaxPool1d_stride_padding_dilation", "test_MaxPool2d_stride_padding_dilation"}  # windows with holes


def inputs_of(program: Any) -> list[ms.Tensor]:
    rng = np.random.default_rng(4)
    shapes = [(i.dtype, [n if isinstance(n, int) else 2 for n in i.shape]) for i in program.model.inputs]
    arrays = [(rng.standard_normal(s) if d.kind == "f" else rng.integers(0, 3, s)).astype(d) for d, s in shapes]
    return [ms.Tensor(array) for array in arrays]


def need_same(ours: Any, reference: Any) -> None:
    for a, b in zip(flat(ours), flat(reference), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", MODELS)
def test_models_of_onnx(name: str) -> None:
    path = str(DATA / "pytorch-converted" / name / "model.onnx")
    program, found = ms.load(path), ms.source_of(path)
    if name in WITHOUT:
        assert list(found.missing) == ["onnx.MaxPool"]
        return
    given = inputs_of(program)
    need_same(found.cell(*given), nn.GraphCell(program)(*given))


def with_weights(source: Path, target: Path) -> str:
    """The suite's networks have equal weights everywhere: logits of 7e9. Here weights are drawn, and keep the scale."""
    model, rng = onnx.load(str(source)), np.random.default_rng(5)
    shapes = {x.name: onnx.numpy_helper.to_array(x) for x in model.graph.initializer}
    filled = [node for node in model.graph.node if node.op_type == "ConstantOfShape"]
    assert filled
    for node in filled:
        shape = tuple(map(int, shapes[node.input[0]]))
        drawn = rng.standard_normal(shape) * (2 / max(np.prod(shape[1:]), 1)) ** 0.5
        model.graph.initializer.append(onnx.numpy_helper.from_array(drawn.astype(np.float32), node.output[0]))
        model.graph.node.remove(node)
    onnx.save(model, str(target))
    return str(target)


def test_a_network_of_the_suite(mode: str, tmp_path: Path) -> None:
    path = with_weights(DATA / "light" / "light_squeezenet.onnx", tmp_path / "squeezenet.onnx")
    program, found = ms.load(path), ms.source_of(path)
    given = inputs_of(program)
    need_same(found.cell(*given), nn.GraphCell(program)(*given))
    assert "self.fire2_expand3x3 = mint.nn.Conv2d(16, 64, 3, padding=1)" in found.source
    assert found.source.count("max_pool2d") == 3


class Branch(nn.Cell):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, pad_mode="pad", padding=1, has_bias=True)
        self.norm = nn.BatchNorm2d(channels)

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return ops.relu(self.norm(self.conv(x))) + x


class Network(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 4, 3)
        self.blocks = nn.SequentialCell(Branch(4), Branch(4), Branch(4))
        self.head = nn.Dense(4 * 16, 3)

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return ops.softmax(self.head(self.blocks(self.first(x)).flatten(start_dim=1)))


@pytest.mark.parametrize("file_format", ["ONNX", "MINDIR"])
def test_a_network_of_ours_comes_back(mode: str, tmp_path: Path, file_format: str) -> None:
    ms.set_seed(5)
    net = Network().set_train(False)
    x = ops.randn((2, 1, 4, 4))
    path = tmp_path / f"net.{file_format.lower()}"
    ms.export(net, x, file_name=path, file_format=file_format)
    found = ms.source_of(path)
    need_same(found.cell(x), net(x))
    assert not found.missing and "self.blocks = nn.CellList([Block() for _ in range(3)])" in found.source
    if file_format == "ONNX":  # a .mindir holds the parts of norms and softmax
        assert "for layer in self.blocks:" in found.source
        assert "self.norm = mint.nn.BatchNorm2d(4)" in found.source and "softmax(x, dim=-1)" in found.source
    assert ms.source_of(ms.load(path)).source.count("class ") == found.source.count("class ")


@pytest.mark.parametrize("name", ["mlp", "lenet"] if {"mlp", "lenet"} <= set(CASES) else sorted(CASES)[:3])
def test_networks_of_the_notebooks(name: str, tmp_path: Path) -> None:
    ms.set_seed(11)
    net, _, batches = CASES[name](np.random.default_rng(7))
    count = len(net.construct.__code__.co_varnames[1 : net.construct.__code__.co_argcount])
    given = [ms.Tensor(x.astype(np.float32) if x.dtype.kind == "f" else x) for x in batches[0][:count]]
    ms.export(net.set_train(False), *given, file_name=tmp_path / "net.mindir")
    found = ms.source_of(tmp_path / "net.mindir", output_dir=tmp_path / "out")
    need_same(found.cell(*given), net(*given))
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["Net.py", "Net.safetensors"]


def test_shapes_that_the_model_computes_stay_numbers(mode: str) -> None:
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["n"]),
             helper.make_node("Unsqueeze", ["n", "axes"], ["n1"]),
             helper.make_node("Concat", ["n1", "rest"], ["shape"], axis=0),
             helper.make_node("Reshape", ["x", "shape"], ["y"])]  # fmt: skip
    constants = {"zero": np.array(0), "axes": np.array([0]), "rest": np.array([2, -1])}
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )  # fmt: skip

    found = ms.source_of(program_of(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])))
    for rows in (1, 3):
        assert found.cell(ops.ones((rows, 6))).shape == (rows, 2, 3)
    assert ".shape" in found.source and not found.missing


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="a program of ms.load or a file, not int"):
        ms.source_of(3)
    with pytest.raises(FileNotFoundError):
        ms.source_of(tmp_path / "none.onnx")
    with pytest.raises(CheckpointError, match="names end in"):
        ms.source_of(tmp_path / "none.bin")
