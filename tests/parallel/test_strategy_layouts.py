"""Layouts of weights in a strategy file: followed, or refused with the place and the legal ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import msnb as ms


class Twice(ms.nn.Cell):
    """Two operators read the weight: its layout is a choice of its own."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.w = ms.Parameter(ms.ops.ones((columns, columns)), name="w")

    def construct(self, x: Any) -> Any:
        return x @ self.w @ self.w


def plan(columns: int = 6) -> Any:
    return ms.parallel.plan(Twice(columns), ms.ops.ones((8, columns)), device_num=4)


def edited(path: Path, made: Any, weight: str, tensor_map: Any) -> Path:
    made.save(path)
    page = json.loads(path.read_text())
    page["parallel_layout_item"][weight]["tensor_map"] = tensor_map
    path.write_text(json.dumps(page))
    return path


def test_a_layout_that_a_weight_cannot_have_is_refused(tmp_path: Path) -> None:
    made = plan()
    path = edited(tmp_path / "plan.json", made, "w", [[1, 0], -1])  # 6 rows do not fit 4 devices
    with pytest.raises(ValueError, match=r"the layout of w: .*tensor map \[\[1, 0\], -1\]") as caught:
        made.load(path)
    assert "legal at parallel_layout_item, 'w'" in str(caught.value) and "[-1, -1]" in str(caught.value)


def test_a_layout_that_a_weight_can_have_is_followed(tmp_path: Path) -> None:
    made = plan(8)
    assert made.layouts["w"]["tensor_map"] == [-1, -1]
    path = edited(tmp_path / "plan.json", made, "w", [1, -1])
    assert made.load(path).layouts["w"]["tensor_map"] == [1, -1]


@pytest.mark.parametrize("net", [ms.nn.Dense(6, 6), Twice(6)])
def test_a_layout_with_too_many_axes_is_refused(tmp_path: Path, net: Any) -> None:
    made = ms.parallel.plan(net, ms.ops.ones((8, 6)), device_num=4)
    weight = next(iter(made.to_dict()["parallel_layout_item"]))
    with pytest.raises(ValueError, match=f"the layout of {weight}: .*has 4 entries"):
        made.load(edited(tmp_path / "plan.json", made, weight, [-1, -1, -1, -1]))


def test_the_layouts_that_a_plan_saved_are_followed(tmp_path: Path) -> None:
    made = plan()
    made.save(tmp_path / "plan.json")
    assert made.load(tmp_path / "plan.json").layouts == made.layouts
