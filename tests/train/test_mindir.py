"""A network exported to a file runs without its Python: same numbers, same state, and what cannot be is said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from levels import alike

import msnb as ms
from msnb import Tensor, nn, ops
from msnb.base.errors import ArgumentError, CaptureError, CheckpointError, DTypeError, ShapeError
from msnb.train.files import safetensors_file
from msnb.train.files.checkpoint import export, load


class Everything(nn.Cell):
    """Weights, moving averages, draws, a loop on tensors, a large constant, several results."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.drop = nn.Dropout(p=0.5)
        self.fc = nn.Dense(3, 2)
        self.table = Tensor(np.arange(8, dtype=np.float32))

    def construct(self, x: Any, k: Any) -> Any:
        y = self.drop(self.norm(x))
        while k.sum() > 0:
            k = k - 1
            y = y * 0.5
        return self.fc(y) + self.table[3], {"y": y, "parts": 2, "given": x}


def small(rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Whole numbers, no two alike: their means and variances are exact in any order, and no variance is small."""
    return Tensor(rng.permutation(12).reshape(4, 3).astype(np.float32)), Tensor([2.0])


@pytest.mark.parametrize("training", [False, True])
def test_a_loaded_network_computes_the_same(mode: str, rng: Any, tmp_path: Path, training: bool) -> None:
    net, (x, k) = Everything().set_train(training), small(rng)
    before = {name: p.asnumpy() for name, p in net.parameters_dict().items()}
    ms.export(net, x, k, file_name=str(tmp_path / "net"), file_format="MINDIR")
    for name, p in net.parameters_dict().items():
        np.testing.assert_array_equal(p.asnumpy(), before[name])
    first = nn.GraphCell(ms.load(str(tmp_path / "net.mindir")))
    ms.export(first, x, k, file_name=tmp_path / "again.mindir")
    second = nn.GraphCell(ms.load(tmp_path / "again.mindir"))
    found = []
    for cell in (net, first, second):
        ms.set_seed(5)
        out, more = cell(x, k)
        assert more["parts"] == 2
        np.testing.assert_array_equal(more["given"].asnumpy(), x.asnumpy())
        found.append([out.asnumpy(), more["y"].asnumpy(), *(p.asnumpy() for p in state(cell))])
    for want, *others in zip(*found):
        for other in others:
            alike(other, want)


def state(cell: nn.Cell) -> list[ms.Parameter]:
    own = cell.parameters_dict()
    return [own[name] for name in sorted(own)]


def test_the_parameters_are_there_and_can_be_trained(mode: str, rng: Any, tmp_path: Path) -> None:
    net, (x, _) = nn.Dense(3, 2), small(rng)
    net.weight.set_data(rng.integers(-3, 4, (2, 3)).astype(np.float32))  # so that gradients are exact too
    ms.export(net, x, file_name=tmp_path / "fc.mindir")
    same = nn.GraphCell(ms.load(tmp_path / "fc.mindir"), params_init={"bias": Tensor([1.0, 2.0])})
    assert set(same.parameters_dict()) == {"weight", "bias"} and same.weights[0].requires_grad
    net.bias.set_data(Tensor([1.0, 2.0]))
    weights = {name: p.asnumpy() for name, p in ms.load_checkpoint(tmp_path / "fc.mindir").items()}
    np.testing.assert_array_equal(weights["weight"], net.weight.asnumpy())

    def gradients(cell: nn.Cell) -> list[np.ndarray[Any, Any]]:
        own = cell.parameters_dict()
        found = ms.grad(lambda x: (cell(x) ** 2).sum(), None, [own["weight"], own["bias"]])(x)
        return [g.asnumpy() for g in found]

    for got, want in zip(gradients(same), gradients(net)):
        np.testing.assert_array_equal(got, want)


def test_one_tensor_given_twice_is_two_inputs(mode: str, tmp_path: Path) -> None:
    x = Tensor([1.0, 2.0])
    export(lambda a, b: a - b, x, x, file_name=tmp_path / "minus")
    assert nn.GraphCell(load(tmp_path / "minus.mindir"))(x, Tensor([5.0, 5.0])).tolist() == [-4.0, -3.0]


def test_a_gradient_of_its_own_is_left_out(tmp_path: Path) -> None:
    class Doubled(nn.Cell):
        def construct(self, x: Any) -> Any:
            return x * 2

        def bprop(self, x: Any, out: Any, dout: Any) -> Any:
            return (dout * 7,)

    ms.export(Doubled(), Tensor([1.0]), file_name=tmp_path / "net")
    assert nn.GraphCell(ms.load(tmp_path / "net.mindir"))(Tensor([4.0])).tolist() == [8.0]


def test_inputs_that_do_not_fit_are_told(mode: str, tmp_path: Path) -> None:
    ms.export(nn.ReLU(), Tensor([1.0]), file_name=tmp_path / "net")
    cell = nn.GraphCell(ms.load(tmp_path / "net.mindir"))
    with pytest.raises(ShapeError, match=re.escape("is f32[1], got f32[2]")):
        cell(Tensor([1.0, 2.0]))
    with pytest.raises(DTypeError, match=re.escape("is f32[1], got i32[1]")):
        cell(Tensor([1], ms.int32))
    with pytest.raises(ArgumentError, match="takes 1 tensors, 2 were given"):
        cell(Tensor([1.0]), Tensor([1.0]))
    with pytest.raises(ArgumentError, match="GraphCell runs a graph that ms.load"):
        nn.GraphCell(nn.ReLU())
    with pytest.raises(ValueError, match="params_init has 'w'; the graph's Parameters: none"):
        nn.GraphCell(cell.graph, {"w": Tensor([1.0])})


def test_what_no_file_can_hold_is_refused(tmp_path: Path) -> None:
    x, path = Tensor([1.0]), tmp_path / "net"
    numpys = ops.Custom(np.sin, lambda x: x, lambda x: x, "pyfunc")
    with pytest.raises(CaptureError, match=re.escape("calls Python when it runs (sin)")):
        ms.export(lambda x: numpys(x) + 1, x, file_name=path)
    with pytest.raises(CaptureError, match="result has a DType in it"):
        ms.export(lambda x: (x, x.dtype), x, file_name=path)
    with pytest.raises(ArgumentError, match="number 0 is a float"):
        ms.export(nn.ReLU(), 1.0, file_name=path)
    with pytest.raises(ValueError, match="not 'AIR': AIR is for other programs' compilers"):
        ms.export(nn.ReLU(), x, file_name=path, file_format="AIR")
    with pytest.raises(ArgumentError, match="no option 'enc_key'"):
        ms.export(nn.ReLU(), x, file_name=path, enc_key=b"1")
    assert not list(tmp_path.iterdir())


def test_files_that_are_no_programs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.mindir"
    with pytest.raises(FileNotFoundError):
        ms.load(path)
    with pytest.raises(CheckpointError, match="names end in '.mindir'"):
        ms.load(tmp_path / "net.ckpt")
    ms.export(nn.Dense(2, 2), Tensor([[1.0, 2.0]]), file_name=path)
    whole = path.read_bytes()
    for content in (b"", b"\n\x040.1.0" + bytes(90), whole[:-3], whole[:-1] + bytes([whole[-1] ^ 1])):
        path.write_bytes(content)
        with pytest.raises(CheckpointError):
            ms.load(path)
    path.write_bytes(safetensors_file.encode({"w": np.zeros(2)}, {}))
    with pytest.raises(CheckpointError, match="holds 1 arrays and no program"):
        ms.load(path)


@pytest.mark.parametrize("program", [
    "graph f(x: f32[1]) -> (f32[1])\n  %1 = os_system(x) : f32[1]\n  return %1",
    "graph f(x: f32[1]) -> (f32[1])\n  return %1",
    "graph f(x: f32[1]) -> (f32[2])\n  %1 = add(x, x) : f32[2]\n  return %1",
    "graph f(x: f32[1]) -> (f32[1])\n  %1 = host_call(x, fn=host(\"hook\"), effect=False) : f32[1]\n  return %1",
    "graph f(x: f32[1], y: f32[1]) -> (f32[1])\n  return x",
    "graph f(x: f32[1]) -> ()\n  return",
    "import os",
])  # fmt: skip
def test_a_program_that_breaks_a_law_is_refused(tmp_path: Path, program: str) -> None:
    interface = {"version": 1, "inputs": 1, "draws": False, "result": 0}
    notes = {"msnb.program": program, "msnb.interface": json.dumps(interface), "msnb.parameters": "[]"}
    path = tmp_path / "net.mindir"
    path.write_bytes(safetensors_file.encode({}, notes))
    with pytest.raises(CheckpointError, match="cannot be read"):
        ms.load(path)
