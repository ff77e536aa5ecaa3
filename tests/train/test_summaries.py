"""Event files of SummaryRecord and SummaryCollector, read frame by frame and field by field; what they refuse."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msnb import Tensor, dataset, nn, train
from msnb.dataset.sources.records.checksum import masked
from msnb.train import SummaryCollector, SummaryRecord
from msnb.train.model import Model

Fields = list[tuple[int, Any]]


def fields(data: bytes) -> Fields:
    """(number, value) of a message: ints, floats, bytes."""
    found: Fields = []
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            found.append((key >> 3, varint()))
            continue
        size = {1: 8, 5: 4}.get(kind) or varint()
        part = data[at : at + size]
        at += size
        found.append((key >> 3, struct.unpack({1: "<d", 5: "<f"}[kind], part)[0] if kind != 2 else part))
    return found


def messages(folder: Path, ending: str) -> list[dict[int, Any]]:
    (path,) = folder.glob(f"events.out.events.summary.*{ending}")
    data, found = path.read_bytes(), []
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        message = data[12 : 12 + size]
        assert struct.unpack("<I", data[8:12])[0] == masked(data[:8])
        assert struct.unpack("<I", data[12 + size : 16 + size])[0] == masked(message)
        found.append(dict(fields(message)))
        data = data[16 + size :]
    return found


def values(message: dict[int, Any]) -> dict[str, dict[int, Any]]:
    parts = [dict(fields(value)) for _, value in fields(message[5])]
    return {part.pop(1).decode(): part for part in parts}


def test_values_of_a_step(tmp_path: Path) -> None:
    pixels = np.arange(12, dtype=np.uint8).reshape(2, 1, 2, 3)
    with SummaryRecord(str(tmp_path), export_options={"tensor_format": "npy"}) as record:
        record.add_value("scalar", "loss", Tensor(1.0))
        record.add_value("scalar", "loss", Tensor([0.5, 9.0]))
        record.add_value("image", "x", Tensor(pixels))
        record.add_value("tensor", "a/b", Tensor([[1.0, 2.0]]))
        record.add_value("histogram", "h", Tensor([0.0, 1.0, 2.0, np.nan, np.inf]))
        assert record.record(7)
        record.add_value("scalar", "more", Tensor(1.0))
        assert record.record(8, plugin_filter=lambda plugin: plugin != "scalar")
        record.flush()
        assert Path(record.log_dir).name.endswith("_MS")
    assert not record.record(9)
    first, step = messages(tmp_path, "_MS")
    assert first[3] == b"MindSpore.Event:1"
    assert step[2] == 7
    found = values(step)
    assert found["loss"] == {2: 0.5, 3: 0.5}, "for TensorBoard, and for MindInsight"
    assert dict(fields(found["a/b"][8])) == {1: 2, 2: 11, 3: struct.pack("<ff", 1, 2)}
    told = dict(fields(found["h"][9]))
    assert {key: told[key] for key in (2, 3, 4, 5, 6, 7, 8)} == {2: 1, 3: 1, 4: 0, 5: 2.0, 6: 0.0, 7: 3.0, 8: 5}
    buckets = [dict(fields(value)) for key, value in fields(found["h"][9]) if key == 1]
    assert buckets == [{1: 0.0, 2: 1.0, 3: 1}, {1: 1.0, 2: 1.0, 3: 2}]
    image = dict(fields(found["x"][4]))
    assert (image[1], image[2], image[3]) == (2, 6, 3)
    assert image[4][:8] == b"\x89PNG\r\n\x1a\n"
    start = image[4].index(b"IDAT") + 4
    lines = np.frombuffer(zlib.decompress(image[4][start:-16]), np.uint8).reshape(2, 19)[:, 1::3]
    assert lines.tolist() == [[0, 1, 2, 6, 7, 8], [3, 4, 5, 9, 10, 11]], "side by side"
    (path,) = tmp_path.glob("export_*/tensor/a%2Fb_7.npy")
    assert np.load(path).tolist() == [[1.0, 2.0]]


def test_files_are_bounded(tmp_path: Path, capsys: Any) -> None:
    with SummaryRecord(str(tmp_path), max_file_size=200) as record:
        for step in range(20):
            record.add_value("scalar", "loss", Tensor(1.0))
            assert record.record(step)
        assert Path(record.log_dir).stat().st_size <= 200
    assert "max_file_size is reached" in capsys.readouterr().err
    with SummaryRecord(str(tmp_path / "strict"), max_file_size=60, raise_exception=True) as record:
        record.add_value("scalar", "loss", Tensor(1.0))
        with pytest.raises(RuntimeWarning, match="no room"):
            record.record(1)


class Rows:
    def __len__(self) -> int:
        return 8

    def __getitem__(self, i: int) -> Any:
        return np.full((3, 2, 2), i / 8, np.float32), np.array([i], np.float32)


@pytest.mark.parametrize("sink", [False, True])
def test_a_training_is_collected(tmp_path: Path, sink: bool, mode: int) -> None:
    rows = dataset.GeneratorDataset(Rows(), ["x", "y"], shuffle=False).batch(2)
    net = nn.SequentialCell(nn.Flatten(), nn.Dense(12, 1))
    model = Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), 0.01, 0.9), metrics={"mse"})
    for folder in ("one", "two"):
        own_facts = {"size": 3, "kind": "small", "f": 0.5}
        collector = SummaryCollector(str(tmp_path / folder), 2, custom_lineage_data=own_facts)
        model.train(3, rows, callbacks=[collector], dataset_sink_mode=sink)
    steps = messages(tmp_path / "two", "_MS")[1:]
    assert [step[2] for step in steps] == ([4, 8] if sink else [1, 2, 4, 6, 8, 10, 12])
    assert sorted(values(steps[0])) == ["1.bias/auto", "1.weight/auto", "input_data/auto", "loss/auto"]
    lineage, own = messages(tmp_path / "two", "_lineage")
    settings = dict(fields(dict(fields(lineage[6]))[1]))
    assert settings == pytest.approx({1: b"Momentum", 2: 0.01, 3: b"MSELoss", 4: 3, 5: b"stand_alone", 6: 1, 8: 2})
    assert dict(fields(dict(fields(lineage[6]))[2])) == {2: 8}
    assert [number for number, _ in fields(dict(fields(own[10]))[1])] == [3, 4, 5]


def test_what_is_collected_is_chosen(tmp_path: Path) -> None:
    rows = dataset.GeneratorDataset(Rows(), ["x", "y"], shuffle=False).batch(4)
    net = nn.SequentialCell(nn.Flatten(), nn.Dense(12, 1))
    model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.01), metrics={"mse"})
    wanted = {"histogram_regular": ".*bias", "collect_metric": True}
    collector = SummaryCollector(str(tmp_path), 1, collect_specified_data=wanted, keep_default_action=False)
    model.train(1, rows, callbacks=[collector], dataset_sink_mode=False)
    assert [sorted(values(step)) for step in messages(tmp_path, "_MS")[1:]] == [["1.bias/auto", "loss/auto"]] * 2
    model.eval(rows, callbacks=[SummaryCollector(str(tmp_path / "eval"))], dataset_sink_mode=False)
    (told,) = messages(tmp_path / "eval", "_lineage")
    assert dict(fields(told[7]))[2].startswith(b"{'mse': ")


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        (lambda r: SummaryRecord("x"), RuntimeError, "one at a time"),
        (lambda r: r.add_value("sound", "x", Tensor(1.0)), ValueError, "legal: scalar, image"),
        (lambda r: r.add_value("scalar", "", Tensor(1.0)), ValueError, "needs a name"),
        (lambda r: r.add_value("scalar", "x", 1.0), TypeError, "takes Tensors"),
        (lambda r: r.add_value("scalar", "x", Tensor(np.zeros(0))), ValueError, "empty tensor"),
        (lambda r: r.add_value("image", "x", Tensor([1.0])), ValueError, "1 or 3, height"),
        (lambda r: r.add_value("histogram", "x", Tensor(1.0)), ValueError, "at least one axis"),
        (lambda r: r.add_value("train_lineage", "x", {"speed": 1}), ValueError, "has no 'speed'"),
        (lambda r: r.record("one"), TypeError, "step must be an int"),
        (lambda r: r.set_mode("test"), ValueError, "legal: 'train', 'eval'"),
        (lambda r: SummaryCollector("x", 0), ValueError, "above 0"),
        (lambda r: SummaryCollector("x", collect_specified_data={"sound": True}), ValueError, "has no 'sound'"),
        (lambda r: SummaryCollector("x", collect_specified_data={"histogram_regular": "("}), ValueError, "no pattern"),
        (lambda r: SummaryCollector("x", collect_specified_data={"collect_metric": 1}), TypeError, "is a bool"),
        (lambda r: SummaryCollector("x", custom_lineage_data={"a": []}), TypeError, "texts and numbers"),
        (lambda r: SummaryCollector("x").record, RuntimeError, "within model.train"),
    ],
)
def test_wrong_records(wrong: Any, error: type[Exception], match: str, tmp_path: Path) -> None:
    with SummaryRecord(str(tmp_path)) as record, pytest.raises(error, match=match):
        wrong(record)
    for bad in ({"log_dir": 3}, {"max_file_size": 0}, {"file_prefix": "a/b"}):
        with pytest.raises(TypeError, match=next(iter(bad))):
            SummaryRecord(**{"log_dir": str(tmp_path), **bad})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="export_options"):
        SummaryRecord(str(tmp_path), export_options={"image_format": "png"})
    assert train.SummaryRecord is SummaryRecord
