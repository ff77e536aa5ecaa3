"""Plan documents, strategy files and sharded checkpoints that lie: refused with the place that is wrong."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.base.errors import CheckpointError
from msnb.parallel.engine.rank.sharded_checkpoint import load_sharded
from msnb.parallel.program.program_document import from_text, to_text
from tests.mutation.formats import _snapshots as good_snapshots


def plan() -> Any:
    return ms.parallel.plan(ms.nn.Dense(4, 4), ms.ops.ones((8, 4)), device_num=4)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    page = json.loads(to_text(plan().program))
    assert [next(iter(step)) for step in page["steps"]] == ["run", "run", "move", "run"]
    return page


def put(*path: Any) -> Callable[[Any], None]:
    """Put the last of these at the place that the others name."""

    def change(page: Any) -> None:
        for key in path[:-2]:
            page = page[key]
        page[path[-2]] = path[-1]

    return change


@pytest.mark.parametrize(("change", "sentence"), [
    (put("teams", [[0, [4096, 4096]]]), "its teams have"),
    (put("teams", [[0, [1] * 40]]), "its teams have"),
    (put("teams", []), "its teams have"),
    (put("teams", [[0, [2]]]), "none over 1 mesh axes"),
    (put("params", 0, ["p9", 0]), "the param or result number 9"),
    (put("params", 0, ["q1", 0]), "'q1' does not name a value"),
    (put("params", 0, ["p0", 9]), "the layout number 9"),
    (put("params", 0, ["n0.7", 0]), "the value of node 0 number 7"),
    (put("steps", 0, "run", 99), "the node number 99"),
    (put("steps", 0, "team", 3), "the team number 3"),
    (put("steps", 0, "phase", "later"), r'phase of the document is "later"|steps\[0\].phase'),
    (put("steps", 0, {}), r"steps\[0\] of the document is {}, not a step"),
    (put("steps", 0, "strategy", "partial", [7]), "the mesh axes .7. are not all among 2"),
    (put("steps", 0, "strategy", "inputs", []), "lays out 0 operands"),
    (put("steps", 0, "strategy", "reducer", "__class__"), "reducer of the document is"),
    (put("steps", 2, "moves", 0, 0, "teleport"), "not one of"),
    (put("steps", 2, "target", -1), "is -1, not an int of at least 0"),
    (put("layouts", 0, [[[0], [0]], []]), "is none over 2 mesh axes"),
    (put("layouts", 0, [[[]], []]), "a layout of 1 axes is given to"),
    (put("outputs", []), "0 outputs and 0 gradients, and its graph 1 results"),
    (put("cluster", "chip", "clock", "fast"), "clock of the document is|chip.clock"),
    (put("cluster", "chip", {}), "is missing"),
    (put("graph", "text", "graph f("), "its program cannot be read"),
    (put("graph", "constants", {"a": ["float32", [10**12], "AAAA"]}), "constant a has 3 bytes"),
    (put("graph", "constants", {"a": ["float32", [1], "??"]}), "no base64"),
    (put("graph", "constants", {"a": ["object", [1], "AAAA"]}), '"object", not one of'),
    (put("trains", "yes"), "not true or false"),
    (put("new", 1), "new of the document is 1, not a known key"),
])  # fmt: skip
def test_documents_are_looked_up(document: dict[str, Any], change: Callable[[Any], None], sentence: str) -> None:
    page = copy.deepcopy(document)
    change(page)
    with pytest.raises(CheckpointError, match=sentence) as caught:
        from_text(json.dumps(page))
    assert "this is no plan" in str(caught.value)


def test_a_good_document_is_read(document: dict[str, Any]) -> None:
    assert from_text(json.dumps(document)).mesh.size == 4


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format":' * 100_000])
def test_documents_nested_without_end(text: str) -> None:
    with pytest.raises(CheckpointError, match="nested too deeply"):
        from_text(text)


@pytest.mark.parametrize(("text", "sentence"), [
    ("[" * 100_000, "nested too deeply"),
    ('{"parallel_strategy_item": {}, "parallel_strategy_item": {}}', "has the key 'parallel_strategy_item' twice"),
    ('{"parallel_strategy_item": {}, "msnb": {"pieces": 3}}', "pieces of msnb is 3, not a list"),
    ('{"parallel_strategy_item": {}, "msnb": {"device_num": "4"}}', 'device_num of msnb is "4", not an int'),
    ('{"parallel_strategy_item": {}, "msnb": {"stages": []}}', r"stages of msnb is \[\], not an int"),
    ("\udcff", "cannot be read as a strategy file"),
])  # fmt: skip
def test_strategy_files(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "a.json").write_text(text, errors="surrogateescape")
    with pytest.raises(CheckpointError, match=sentence):
        plan().load(tmp_path / "a.json")


# ---- sharded checkpoints ---------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in good_snapshots()[0].items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_a_good_folder_is_read(folder: Path) -> None:
    found = load_sharded(folder)
    assert np.array_equal(found["w"].asnumpy(), np.arange(8, dtype=np.float32).reshape(4, 2))


@pytest.mark.parametrize(("change", "sentence"), [
    (put("params", "w", "shape", [10**12, 2]), r"w is float32\[2, 2\] there, and not float32\[500000000000, 2\]"),
    (put("params", "w", "shape", [5, 2]), "does not divide"),
    (put("params", "w", "shape", [2**62, 2]), "does not divide"),
    (put("params", "w", "shape", [8]), "cannot lie"),
    (put("params", "w", "dims", [[0], [0]]), "cannot lie"),
    (put("params", "w", "dims", [[7], []]), "cannot lie"),
    (put("params", "w", "dtype", "int32"), "is float32"),
    (put("params", "w", "dtype", "O"), 'is "O", not one of'),
    (put("params", "w", "team", 4), "belongs to the team 4 of 1"),
    (put("params", "x", {"team": 0, "dims": [], "shape": [], "dtype": "int32"}), "it has no value for x"),
    (put("teams", [[0, [4096, 2]]]), "more than 4096 ranks"),
    (put("teams", [[5, [2]]]), "the part of rank 5 .* there is no such file"),
    (put("step", "3"), "step of its layout.json"),
    (put("version", 1), "version of its layout.json is 1"),
])  # fmt: skip
def test_pages_that_lie(folder: Path, change: Callable[[Any], None], sentence: str) -> None:
    page = json.loads((folder / "layout.json").read_text())
    change(page)
    (folder / "layout.json").write_text(json.dumps(page))
    with pytest.raises(CheckpointError, match=sentence):
        load_sharded(folder)


def test_a_flipped_bit_in_a_part_is_found(folder: Path) -> None:
    path = folder / "rank-0001.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(CheckpointError, match="the part of rank 1 .* its checksum does not match"):
        load_sharded(folder)
