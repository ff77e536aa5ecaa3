"""Checkpoints and programs in files that lie: refused by class, with the place that is wrong, before anything runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.base.errors import CheckpointError
from msnb.base.files.bounded_reader import read_file, read_json
from msnb.base.files.json_schema import INDEX, TEXT, Either, FixedRow, Int, OneOf, Record, Rows, Table, misfit
from tests.mutation.formats import opened, sealed


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    ms.save_checkpoint({"w": ms.Tensor([1.0, 2.0, 3.0]), "c": ms.Tensor(np.array([1j]))}, tmp_path / "a.ckpt")
    return tmp_path / "a.ckpt"


def with_notes(path: Path, **notes: str) -> Path:
    header, data = opened(path.read_bytes())
    header["__metadata__"].update({f"msnb.{name}": text for name, text in notes.items()})
    path.write_bytes(sealed(header, data))
    return path


@pytest.mark.parametrize(("note", "text", "sentence"), [
    ("complex", "3", "the note msnb.complex is 3, not a list"),
    ("complex", '["w"]', "says that w holds pairs of floats"),
    ("complex", '["nothing"]', "says that nothing holds pairs"),
    ("complex", "[" * 100_000, "nested too deeply"),
    ("parameters", "{}", "is {}, not a list"),
    ("parameters", '[["w"]]', r'\["w"\], not a list of 2'),
    ("parameters", '[["w", 1]]', "is 1, not true or false"),
    ("parameters", '[["w", true], ["x", true]]', "'x' is missing"),
    ("parameters", '[["w", true]]', "'c' is missing"),
    ("parameters", '[["w", true], ["w", true], ["c", true]]', "a name stands there twice"),
    ("parameters", "null", "is null, not a list"),
    ("texts", '{"a": 1}', "a of the note msnb.texts is 1, not a string"),
    ("texts", '{"w": "x"}', "w is the name of a tensor and of a string"),
    ("texts", '{"a": "1", "a": "2"}', "has the key 'a' twice"),
    ("texts", "{", "is no JSON"),
])  # fmt: skip
def test_notes_with_a_right_checksum(saved: Path, note: str, text: str, sentence: str) -> None:
    with pytest.raises(CheckpointError, match=sentence) as caught:
        ms.load_checkpoint(with_notes(saved, **{note: text}))
    assert "a.ckpt" in str(caught.value)


@pytest.mark.parametrize(("entry", "sentence"), [
    ({"dtype": "F32", "shape": [10**12], "data_offsets": [0, 4 * 10**12]}, "do not fit its 8 bytes of data"),
    ({"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 0]}, "no memory can hold"),
    ({"dtype": "F32", "shape": [2**62, 2**62, 0], "data_offsets": [0, 0]}, "no memory can hold"),
    ({"dtype": "F32", "shape": [-1], "data_offsets": [0, 8]}, "is -1, not an int of at least 0"),
    ({"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}, "do not fit"),
    ({"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "its arrays end at 4"),
    ({"dtype": "F32", "shape": [True, 2], "data_offsets": [0, 8]}, "is true, not an int"),
    ({"dtype": "BOOL", "shape": [8], "data_offsets": [0, 8]}, "neither 0 nor 1"),
    ({"dtype": "F32", "shape": [2]}, "data_offsets of the entry of w in its header is missing"),
    ({"dtype": "F32", "shape": [2], "data_offsets": [0, 8], "x": 1}, "not a known key"),
    (["F32"], "the entry of w in its header is .*, not a table"),
    ({"dtype": "F32", "shape": [1] * 33 + [2], "data_offsets": [0, 8]}, "no memory can hold"),
])  # fmt: skip
def test_headers_that_lie(tmp_path: Path, entry: Any, sentence: str) -> None:
    text = json.dumps({"w": entry}).encode()
    (tmp_path / "a.ckpt").write_bytes(len(text).to_bytes(8, "little") + text + b"\x07" * 8)
    with pytest.raises(CheckpointError, match=sentence):
        ms.load_checkpoint(tmp_path / "a.ckpt")


def test_two_tensors_cannot_share_bytes_or_a_name(tmp_path: Path) -> None:
    entry = '{"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}'
    for text, sentence in (('{"a": %s, "b": %s}', "do not fit"), ('{"a": %s, "a": %s}', "has the key 'a' twice")):
        header = (text % (entry, entry)).encode()
        (tmp_path / "a.ckpt").write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
        with pytest.raises(CheckpointError, match=sentence):
            ms.load_checkpoint(tmp_path / "a.ckpt")


def test_a_sparse_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    with open(tmp_path / "a.ckpt", "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(1 << 42)
    with pytest.raises(CheckpointError, match="its arrays end at 8"):
        ms.load_checkpoint(tmp_path / "a.ckpt")


def test_pipes_and_folders_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(CheckpointError, match="no file"):
            read_file(path, CheckpointError)


# ---- programs --------------------------------------------------------------------------------------------------------


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    class Net(ms.nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.fc = ms.nn.Dense(3, 2)

        def construct(self, x: Any) -> Any:
            return ms.ops.softmax(self.fc(x), -1).sum(axis=0, keepdims=True)

    ms.export(Net(), ms.ops.ones((4, 3)), file_name=str(tmp_path / "a.mindir"))
    return tmp_path / "a.mindir"


def program(path: Path) -> str:
    return str(opened(path.read_bytes())[0]["__metadata__"]["msnb.program"])


@pytest.mark.parametrize(("old", "new", "sentence"), [
    ("keepdims=True", "keepdims=1", "the attribute 'keepdims' is 1, not True or False"),
    ("keepdims=True", "keepdims=True, colour=3", "has no attribute 'colour'"),
    ("axis=(0,)", 'axis="x"', "the attribute 'axis' is 'x'"),
    ("f32[1,2]", "f32[1,3]", r"its result types should be f32\[1,2\]|gives f32"),
    ("graph ", "graph f(x: f32[2", "expected|the text ends"),
])  # fmt: skip
def test_programs_are_verified_when_they_are_read(exported: Path, old: str, new: str, sentence: str) -> None:
    text = program(exported)
    old = old if old in text else "axis=0"
    assert old in text
    with pytest.raises(CheckpointError, match=sentence):
        ms.load(str(with_notes(exported, program=text.replace(old, new, 1))))


@pytest.mark.parametrize(("face", "sentence"), [
    ({"result": {"tuple": [0, {"set": [0]}]}}, "result.tuple.1. of the note msnb.interface is"),
    ({"result": 7}, "names outputs that the program does not have"),
    ({"result": -1}, "is -1, not the number of an output"),
    ({"result": True}, "is true, not the number of an output"),
    ({"inputs": -1}, "inputs of the note msnb.interface is -1"),
    ({"inputs": 2}, "params are not its inputs and weights"),
    ({"draws": "no"}, "not true or false"),
    ({"version": 2}, "it has version 2, this msnb reads version 1"),
    ({"version": "1"}, "not an int"),
    ({"more": 1}, "not a known key"),
])  # fmt: skip
def test_the_interface_is_checked(exported: Path, face: dict[str, Any], sentence: str) -> None:
    right = {"version": 1, "inputs": 1, "draws": False, "result": 0}
    with pytest.raises(CheckpointError, match=sentence):
        ms.load(str(with_notes(exported, interface=json.dumps({**right, **face}))))


def test_a_result_nested_without_end(exported: Path) -> None:
    deep = '{"tuple":[' * 40 + "0" + "]}" * 40
    face = '{"version": 1, "inputs": 1, "draws": false, "result": ' + deep + "}"
    with pytest.raises(CheckpointError, match="levels deep"):
        ms.load(str(with_notes(exported, interface=face)))


def test_the_text_of_a_program_is_bounded(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from msnb.train.files import mindir

    monkeypatch.setattr(mindir, "MOST_TEXT", 100)
    with pytest.raises(CheckpointError, match="at most 100 are read"):
        ms.load(str(exported))
    with pytest.raises(RuntimeError, match="a file holds at most 100"):
        ms.export(ms.nn.Dense(3, 2), ms.ops.ones((4, 3)), file_name=str(exported))


def test_a_program_that_was_read_runs_as_before(mode: str, exported: Path) -> None:
    out = ms.nn.GraphCell(ms.load(str(exported)))(ms.ops.ones((4, 3)))
    assert out.shape == (1, 2) and out.sum().item() == pytest.approx(4.0)


@pytest.mark.long
def test_a_large_constant_of_equal_elements_comes_back(tmp_path: Path) -> None:
    zeros = ms.Tensor(np.full((4200, 4200), 2.0, np.float32))  # 70 MB, more than all that a text may write as {all 2.0}
    ms.export(lambda x: x + zeros[0, 0] + zeros.sum() * 0, ms.Tensor([1.0]), file_name=str(tmp_path / "a"))
    assert ms.nn.GraphCell(ms.load(str(tmp_path / "a.mindir")))(ms.Tensor([1.0])).tolist() == [3.0]


# ---- the reader below ------------------------------------------------------------------------------------------------


def test_kinds_name_the_place() -> None:
    kind = Record({"teams": Rows(FixedRow(INDEX, Rows(Int(1, 4))))}, {"note": Either(TEXT, OneOf(None))})
    assert misfit(kind, {"teams": [[0, [1]]], "note": None}, "p") is None
    for value, place in [({"teams": [[0, [1, 5]]]}, "teams[0][1][1] of p is 5, not an int from 1 to 4"),
                         ({"teams": [[0]]}, "teams[0] of p is [0], not a list of 2"), ([], "p is [], not a table"),
                         ({}, "teams of p is missing"), ({"teams": [], "x": 1}, "x of p is 1, not a known key"),
                         ({"teams": [], "note": 3}, "note of p is 3, not a string or null")]:  # fmt: skip
        assert str(misfit(kind, value, "p")).startswith(place)
    assert misfit(Table(TEXT), {"\ud800": "x"}, "p") and misfit(TEXT, "\ud800", "p")


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, b"\xff", "9" * 5000, "", '{"a": 1, "a": 1}', "[1,]"]
)
def test_text_that_is_no_json(text: Any) -> None:
    with pytest.raises(CheckpointError):
        read_json(text, CheckpointError)


@pytest.mark.parametrize(
    "text", ["[" + "[]," * 1_000_000 + "[]]", "{" + ",".join(f'"{i}":{{}}' for i in range(900_000)) + "}"]
)
def test_many_lists_of_nothing_are_counted_before_they_are_made(text: str) -> None:
    with pytest.raises(CheckpointError, match=r"the page opens \d+ lists and tables; at most 838860 are read"):
        read_json(text, CheckpointError)
