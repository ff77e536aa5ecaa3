"""Every operator of the tables against PyTorch itself: numbers, shapes and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from operator_cases import cases  # noqa: E402

import msnb as ms  # noqa: E402
from msnb.train.pytorch.model_comparison import _arrays  # noqa: E402

CASES = cases()


class Program(torch.nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        found = self.function(*inputs)
        return tuple(found) if isinstance(found, tuple) else found


@pytest.mark.parametrize("name", CASES)
def test_operator(name: str) -> None:
    function, inputs = CASES[name]
    found = ms.from_torch(Program(function).eval(), *inputs, dynamic=False)
    assert not found.missing, f"{found.missing}\n{found.source}"
    theirs = _arrays(function(*(value.clone() for value in inputs)))
    for mode in ("pynative", "graph"):
        with ms.set_context(mode=mode):
            ours = _arrays(found.cell(*(ms.Tensor(value.numpy().copy()) for value in inputs)))
        assert len(ours) == len(theirs), found.source
        for mine, reference in zip(ours, theirs, strict=True):
            assert mine.dtype == reference.dtype and mine.shape == reference.shape, found.source
            np.testing.assert_allclose(mine, reference, rtol=2e-5, atol=2e-6, err_msg=found.source)
