"""Values that a network tells by summary operators are recorded, in both modes, also from compiled programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import msnb as ms


def test_a_network_tells_values(tmp_path: Path, mode: int) -> None:
    from mindspore import Tensor, jit, nn, ops
    from mindspore.train.summary import SummaryRecord

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.scalar, self.histogram = ops.ScalarSummary(), ops.HistogramSummary()

        def construct(self, x: Any) -> Any:
            self.scalar("total", x.sum())
            self.histogram("x", x)
            return x * 2

    net = Net()
    run = jit(net) if mode == ms.GRAPH_MODE else net
    with SummaryRecord(str(tmp_path)) as record:
        for step in (1, 2):
            assert run(Tensor([1.0, 2.0]) * step).tolist() == [2.0 * step, 4.0 * step]
            assert sorted(record._pool) == [("histogram", "x"), ("scalar", "total")]
            assert float(record._pool["scalar", "total"]) == 3.0 * step
            record.record(step)
        record.set_mode("eval")
        run(Tensor([1.0, 2.0]))
        assert not record._pool


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [(None, 1.0, TypeError), (123, 1.0, TypeError), ("", 1.0, ValueError), ("a", None, TypeError)],
)
def test_what_is_no_summary(name: Any, value: Any, error: type[Exception], mode: int) -> None:
    from mindspore import Tensor, ops

    for kind in ("Scalar", "Image", "Tensor", "Histogram"):
        with pytest.raises(error, match=f"ops.{kind}Summary"):
            getattr(ops, f"{kind}Summary")()(name, 123 if value is None else Tensor(value))
