"""What ``compare.py`` calls a difference: answers made by hand, without MindSpore."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compare import compared, main, read

ONE = np.float32([1.0, np.nan])
TWO = np.float32([1.0, 2.0])


def kinds(theirs: Any, ours: Any) -> list[str]:
    return [d.kind for d in compared("ops.f", {"(x)": theirs}, {"(x)": ours})]


@pytest.mark.parametrize(
    ("theirs", "ours", "kind"),
    [
        (("ok", [ONE], [TWO]), ("ok", [ONE.copy()], [TWO + np.float32(1e-6)]), None),
        (("ok", [3.0], None), ("ok", [np.array(3.0)], None), None),
        (("ok", [float("nan")], None), ("ok", [float("nan")], None), None),
        (("ok", ["a text"], None), ("ok", [TWO], None), None),
        (("ok", [TWO], "TypeError: no gradient"), ("ok", [TWO], [ONE]), None),
        (("error", "TypeError", "x"), ("ok", [TWO], None), None),
        (("ok", [TWO], None), ("error", "TypeError", "x"), "raises"),
        (("ok", [TWO, TWO], None), ("ok", [TWO], None), "count"),
        (("ok", [TWO], None), ("ok", [TWO.astype(np.float64)], None), "type"),
        (("ok", [TWO], None), ("ok", [TWO[None]], None), "type"),
        (("ok", [TWO], None), ("ok", [3.0], None), "type"),
        (("ok", [ONE], None), ("ok", [TWO], None), "values"),
        (("ok", [np.int32([1, 2])], None), ("ok", [np.int32([1, 3])], None), "values"),
        (("ok", [3], None), ("ok", [TWO], None), "values"),
        (("ok", [TWO], [TWO]), ("ok", [TWO], [ONE]), "gradient"),
        (("ok", [TWO], [TWO]), ("ok", [TWO], "GradientError: no"), "gradient"),
    ],
)
def test_kinds_of_differences(theirs: Any, ours: Any, kind: str | None) -> None:
    assert kinds(theirs, ours) == ([] if kind is None else [kind])


def test_a_line_for_each_name_and_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = [
        [("ops.f", {}), ("ops.f", {"(x)": ("ok", [TWO], None), "(y)": ("ok", [TWO], None), "(z)": ("ok", [3], None)})],
        [("ops.f", {"(x)": ("ok", [ONE], None), "(y)": ("ok", [ONE], None), "(z)": ("ok", [3], None)})],
    ]
    paths = [tmp_path / side for side in ("there", "here")]
    for path, found in zip(paths, answers):
        path.write_bytes(b"".join(map(pickle.dumps, found)))
    assert list(read(paths[0])["ops.f"]) == ["(x)", "(y)", "(z)"]  # of a name that stands twice the later
    main(*paths)
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("values   ops.f (x) [2]: [1. 2.] there")
    assert last == "1 calls of 1 names agree"
