"""``python -m msnb.onnx``: what a model holds, whether it runs right, how two models differ."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs onnx (`pip install 'msnb[onnx]'`)")

from msnb.onnx.__main__ import main
from tests.onnx_models.models import CONVOLUTIONS, MLP, convolution_weights, mlp_weights, saved


@pytest.fixture
def mlp(tmp_path: Path) -> str:
    return saved(tmp_path / "mlp.onnx", MLP, **mlp_weights())


def test_info(mlp: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", mlp]) == 0
    said = capsys.readouterr().out
    assert "input   x: float32[batch, 4]" in said and "4 weights, 51 numbers" in said and "1 MatMul" in said


def test_check(mlp: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", mlp, "--size", "batch=7"]) == 0
    assert main(["check", saved(tmp_path / "net.onnx", CONVOLUTIONS, **convolution_weights()), "--seed", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 and all("agrees" in line for line in lines)


def test_diff(mlp: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", mlp, mlp]) == 0
    assert "operators and weights are equal" in capsys.readouterr().out
    other = saved(
        tmp_path / "b.onnx", MLP.replace("Relu(b)", "Tanh(b)"), **mlp_weights() | {"b2": np.ones(3, np.float32)}
    )
    assert main(["diff", mlp, other]) == 1
    said = capsys.readouterr().out
    for piece in ("operator Relu: 1 and 0", "operator Tanh: 0 and 1", "weight b2: differs by", "results: differs",
                  "the first difference: r = Relu(b)"):  # fmt: skip
        assert piece in said
    assert main(["diff", mlp, saved(tmp_path / "c.onnx", CONVOLUTIONS, **convolution_weights())]) == 1
    assert "the inputs differ" in capsys.readouterr().out


def test_wrong_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "no.onnx").write_bytes(b"no model")
    assert main(["info", str(tmp_path / "no.onnx")]) == 1
    assert "cannot be read" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["check", str(tmp_path / "no.onnx"), "--size", "many"])


def test_as_a_module(mlp: str) -> None:
    made = subprocess.run([sys.executable, "-m", "msnb.onnx", "info", mlp], capture_output=True, text=True, timeout=120)
    assert made.returncode == 0 and made.stdout.startswith("mlp: opset")
