"""Layouts of weights in a strategy file: followed, or refused with the place and the legal ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import msnb as ms


def plan() -> Any:
    return ms.parallel.plan(ms.nn.Dense(4, 6), ms.ops.ones((8, 4)), device_num=4)


def edited(path: Path, made: Any, weight: str, tensor_map: Any) -> Path:
    made.save(path)
    page = json.loads(path.read_text())
    page["parallel_layout_item"][weight]["tensor_map"] = tensor_map
    path.write_text(json.dumps(page))
    return path


def test_a_layout_that_a_weight_cannot_have_is_refused(tmp_path: Path) -> None:
    made = plan()
    weight = next(name for name in made.to_dict()["parallel_layout_item"] if name.endswith("bias"))
    n = len(made.mesh.factors)
    path = edited(tmp_path / "plan.json", made, weight, [list(range(n))])  # 6 biases do not fit 4 devices
    with pytest.raises(ValueError, match=rf"the layout of {weight}: .*tensor map") as caught:
        made.load(path)
    assert "legal at parallel_layout_item" in str(caught.value) and "[-1]" in str(caught.value)


def test_a_layout_with_too_many_axes_is_refused(tmp_path: Path) -> None:
    made = plan()
    weight = next(iter(made.to_dict()["parallel_layout_item"]))
    with pytest.raises(ValueError, match="tensor map"):
        made.load(edited(tmp_path / "plan.json", made, weight, [-1, -1, -1, -1]))


def test_the_layouts_that_a_plan_saved_are_followed(tmp_path: Path) -> None:
    made = plan()
    made.save(tmp_path / "plan.json")
    assert made.load(tmp_path / "plan.json").layouts == made.layouts
