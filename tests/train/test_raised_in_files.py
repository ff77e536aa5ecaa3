"""A network that raises errors, or asserts, keeps them in a file: same errors, same words, in both modes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn
from msnb.base.errors import CaptureError, CheckpointError
from msnb.train.files import safetensors_file


class Checking(nn.Cell):
    """A branch that raises, an assert with a value in its message, one without, a choice among layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = (nn.ReLU(), nn.Tanh())

    def construct(self, x: Any, i: Any) -> Any:
        if x.sum() > 100:
            raise ValueError("too large")
        assert x.min() > -100, f"min is {x.min():.1f}, {x.ndim} axes, {x.max()!s}"
        assert x.max() < 50, "high"
        return self.layers[i](x)


def test_a_loaded_network_raises_what_the_network_raises(mode: str, tmp_path: Path) -> None:
    net, x = Checking(), Tensor(np.ones((2, 2), np.float32))
    ms.export(net, x, Tensor(1), file_name=tmp_path / "net.mindir")
    first = nn.GraphCell(ms.load(tmp_path / "net.mindir"))
    ms.export(first, x, Tensor(1), file_name=tmp_path / "again.mindir")
    second = nn.GraphCell(ms.load(tmp_path / "again.mindir"))
    for i in (0, 1):
        np.testing.assert_array_equal(second(x, Tensor(i)).asnumpy(), net(x, Tensor(i)).asnumpy())
    wrong = [(x * 100, 1, ValueError), (x * -200, 1, AssertionError), (x * 5, 7, IndexError)]
    wrong.append((Tensor([[60.0, 0], [0, 0]], ms.float32), 0, AssertionError))
    for value, i, kind in wrong:
        said = []
        for cell in (net, first, second):
            with pytest.raises(kind) as caught:
                cell(value, Tensor(i))
            said.append([str(word).splitlines()[0] for word in caught.value.args])  # pytest adds lines to an assert
        assert said[1] == said[2]
        assert said[0] == said[1] or kind is IndexError  # eager mode indexes as Python does, in Python's words


class OwnError(Exception):
    """No file holds it."""


@pytest.mark.parametrize("error", [OwnError("no"), ValueError("no", 1)], ids=["class", "arguments"])
def test_an_error_that_no_text_says_is_refused(tmp_path: Path, error: Exception) -> None:
    def net(x: Any) -> Any:
        if x.sum() > 0:
            raise error
        return x

    with pytest.raises(CaptureError, match=r"calls Python when it runs \(raise\)"):
        ms.export(net, Tensor([1.0]), file_name=tmp_path / "net")
    assert not list(tmp_path.iterdir())


FINE = {"kind": "ValueError", "pieces": ["no ", [0, -1, ".1f"]], "operands": [], "hint": "", "guarded": False}


@pytest.mark.parametrize("change", [
    {"kind": "SystemExit"}, {"kind": "UnicodeDecodeError"}, {"kind": "open"}, {"kind": 3},
    {"pieces": [[1, -1, ""]]}, {"pieces": [[0, 5, ""]]}, {"pieces": [[0, -1, "1000000000d"]]}, {"pieces": [[0, -1]]},
    {"guarded": True}, {"operands": "x"}, {"more": 1},
], ids=str)  # fmt: skip
def test_an_error_that_does_not_fit_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    program = 'graph f(x: f32[1]) -> (f32[1])\n  host_call(x, fn=host("raise"), effect=True)\n  return x'
    interface = json.dumps({"version": 1, "inputs": 1, "draws": False, "result": 0})
    path = tmp_path / "net.mindir"

    def written(error: dict[str, Any]) -> None:
        notes = {"msnb.program": program, "msnb.interface": interface, "msnb.parameters": "[]"}
        path.write_bytes(safetensors_file.encode({}, {**notes, "msnb.errors": json.dumps({"raise": error})}))

    written(FINE)
    with pytest.raises(ValueError, match="no 2.0"):
        nn.GraphCell(ms.load(path))(Tensor(np.array(2.0, np.float32).reshape(1)))
    written({**FINE, **change})
    with pytest.raises(CheckpointError, match="cannot be read"):
        ms.load(path)
