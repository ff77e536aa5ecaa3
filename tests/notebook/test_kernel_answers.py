"""What the kernel itself answers over the wire when Tab and Shift+Tab are pressed, for values of cells that ran."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

manager = pytest.importorskip("jupyter_client.manager", reason="the notebook extra is not installed")
FIRST = (
    "import msnb as ms\nfrom msnb import nn, ops\nx = ms.Tensor([1.0, 2.0])\nnet = nn.Dense(2, 3)\n"
    "step = ms.jit(lambda x: x * 2)\nrows = ms.dataset.NumpySlicesDataset([1, 2])\n"
    "adam = nn.Adam(net.trainable_params())"
)
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def kernel() -> Iterator[Any]:
    """A kernel in which the first cell has run."""
    running = manager.KernelManager()
    running.start_kernel()
    client = running.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=600)
        assert client.execute_interactive(FIRST, timeout=600)["content"]["status"] == "ok"
        yield client
    finally:
        client.stop_channels()
        running.shutdown_kernel(now=True)


@pytest.mark.parametrize(
    "typed, wanted, unwanted",
    [
        ("x.res", "reshape", ""),
        ("x.me", "mean", ""),
        ("net.tr", "trainable_params", ""),
        ("net(x).arg", "argmax", "clear"),
        ("ops.matm", "matmul", ""),
        ("ops.relu(x).su", "sum", ""),
        ("step.ex", "explain", ""),
        ("step.b", "", "breaks"),
        ("rows.ba", "batch", ""),
        ("adam.le", "learning_rate", ""),
        ("adam.pre", "", "prepare"),
        ("ms.show.pa", "passes", "parts"),
    ],
)
def test_members_are_offered(kernel: Any, typed: str, wanted: str, unwanted: str) -> None:
    found = kernel.complete(typed, reply=True, timeout=600)["content"]["matches"]
    names = {match.rpartition(".")[2] for match in found}
    assert (not wanted or wanted in names) and unwanted not in names, found


@pytest.mark.parametrize(
    "name, signature, sentence",
    [
        ("ops.matmul", "(x, y, /)", "product"),
        ("ops.softmax", "axis: int = -1", "exp(x)"),
        ("nn.Dense", "in_channels: int,", "activation(x @ weight.T + bias)"),
        ("x.reshape", "shape", "shape"),
        ("ms.grad", "fn", "gradient"),
        ("ms.Model.fit", "epoch", "train"),
    ],
)
def test_signatures_and_words_are_shown(kernel: Any, name: str, signature: str, sentence: str) -> None:
    content = kernel.inspect(name, reply=True, timeout=600)["content"]
    assert content["found"]
    text = re.sub(r"\x1b\[[0-9;]*m", "", content["data"]["text/plain"]).replace("'", "")
    assert signature in text and sentence in text, text
