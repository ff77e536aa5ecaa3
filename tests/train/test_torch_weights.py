"""Weights of PyTorch models: names and layouts found, everything said, and nothing of a file run."""

from __future__ import annotations

import json
import os
import random
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch_files import saved, text

import msnb as ms
from msnb import nn
from msnb.base.errors import ArgumentError, CheckpointError

MUTATIONS = int(os.environ.get("MSNB_MUTATIONS", 300))


def network() -> nn.Cell:
    return nn.SequentialCell(
        nn.Conv2d(2, 3, 3, pad_mode="pad", padding=1, has_bias=True), nn.BatchNorm2d(3), nn.Flatten(), nn.Dense(48, 4)
    )


def arrays(seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    shapes = {"0.weight": (3, 2, 3, 3), "0.bias": (3,), "1.weight": (3,), "1.bias": (3,), "1.running_mean": (3,),
              "1.running_var": (3,), "3.weight": (4, 48), "3.bias": (4,)}  # fmt: skip
    found: dict[str, Any] = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    return found | {"1.running_var": np.abs(found["1.running_var"]) + 0.5, "1.num_batches_tracked": np.array(7)}


def need_loaded(net: nn.Cell, given: dict[str, Any]) -> None:
    own = {p.name: p.asnumpy() for p in net.get_parameters()}
    names = {"0.weight": "0.weight", "1.gamma": "1.weight", "1.moving_mean": "1.running_mean", "3.bias": "3.bias",
             "1.moving_variance": "1.running_var"}  # fmt: skip
    for ours, theirs in names.items():
        np.testing.assert_array_equal(own[ours], given[theirs], err_msg=ours)


@pytest.mark.parametrize("way", ["file", "dict", "inside", "wrapped"])
def test_names_and_layouts(mode: str, tmp_path: Path, way: str) -> None:
    given, net = arrays(), network()
    source: Any = {"epoch": 3, "state_dict": given} if way == "inside" else given
    if way == "wrapped":
        source = {f"module.{name}": value for name, value in given.items()}
    report = ms.load_torch_state_dict(net, saved(tmp_path / "a.pth", given) if way == "file" else source)
    assert len(report.matched) == 8 and not report.missing and not report.unused
    assert report.matched["1.gamma"] == "1.weight"
    need_loaded(net, given)
    assert net.set_train(False)(ms.ops.ones((2, 2, 4, 4))).shape == (2, 4)


def test_parts_of_attention_and_other_dtypes(tmp_path: Path) -> None:
    net = nn.MultiheadAttention(4, 2)
    rng = np.random.default_rng(1)
    given = {"in_proj_weight": rng.standard_normal((12, 4)), "in_proj_bias": rng.standard_normal(12),
             "out_proj.weight": rng.standard_normal((4, 4)), "out_proj.bias": rng.standard_normal(4)}  # fmt: skip
    report = ms.load_torch_state_dict(net, saved(tmp_path / "a.pth", given))
    own = {p.name: p.asnumpy() for p in net.get_parameters()}
    np.testing.assert_allclose(own["k_proj_weight"], given["in_proj_weight"][4:8].astype(np.float32))
    assert not report.missing and own["out_proj.weight"].dtype == np.float32


def test_what_does_not_fit_is_said_and_nothing_is_changed() -> None:
    net, given = network(), arrays()
    before = [p.asnumpy().copy() for p in net.get_parameters()]
    given["3.weights"] = given.pop("3.weight")
    with pytest.raises(CheckpointError) as caught:
        ms.load_torch_state_dict(net, given)
    assert "no value for 3.weight; near: 3.weights" in str(caught.value) and "not used: 3.weights" in str(caught.value)
    with pytest.raises(CheckpointError, match=r"3.bias has the shape \[4\], in the state dict \[5\]"):
        ms.load_torch_state_dict(net, arrays() | {"3.bias": np.zeros(5)})
    for p, value in zip(net.get_parameters(), before):
        np.testing.assert_array_equal(p.asnumpy(), value)
    report = ms.load_torch_state_dict(net, given, strict=False)
    assert list(report.missing) == ["3.weight"] and report.unused == ["3.weights"]
    need_loaded(net, given)


def test_wrong_calls() -> None:
    with pytest.raises(ArgumentError, match="takes a Cell"):
        ms.load_torch_state_dict({}, {})
    with pytest.raises(ArgumentError, match="no tensor but str"):
        ms.load_torch_state_dict(network(), {"0.weight": "x"})
    with pytest.raises(FileNotFoundError):
        ms.load_torch_state_dict(network(), "nowhere.pth")


def test_load_checkpoint_reads_them_under_their_names(tmp_path: Path) -> None:
    found = ms.load_checkpoint(saved(tmp_path / "a.pth", arrays()))
    assert list(found) == list(arrays())
    np.testing.assert_array_equal(found["3.weight"].asnumpy(), arrays()["3.weight"])


# ---- files that lie --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code, sentence",
    [(b"cos\nsystem\n(" + text("true") + b"tR.", "it names os.system"),
     (b"cbuiltins\neval\n(" + text("1") + b"tR.", "it names builtins.eval"),
     (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "it names os.system"), (b"ctorch\nload\n.", "it names torch.load"),
     (b"}(" * 200_000, "instructions"), (b"(" * 10, "end early|no sense"), (b"u.", "no sense"),
     (b"\x95", "no sense|early"),
     (b"\x80\x02ctorch\nFloatStorage\n)R.", "it calls torch FloatStorage")],
)  # fmt: skip
def test_nothing_is_called(tmp_path: Path, code: bytes, sentence: str) -> None:
    with pytest.raises(CheckpointError, match=sentence):
        ms.load_checkpoint(saved(tmp_path / "a.pth", {"w": np.zeros(3, np.float32)}, code))


@pytest.mark.parametrize(
    "lies", [{"shape": (1 << 30, 1 << 30)}, {"shape": (-1,), "strides": (1,)}, {"offset": 2}, {"offset": -1},
             {"count": 1 << 30}, {"shape": (100,), "strides": (0,)}, {"strides": (1, 1)}],
)  # fmt: skip
def test_shapes_that_lie(tmp_path: Path, lies: dict[str, Any]) -> None:
    with pytest.raises(CheckpointError):
        ms.load_checkpoint(saved(tmp_path / "a.pth", {"w": np.zeros(3, np.float32)}, **lies))


def test_compressed_and_other_archives(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="missing or compressed"):
        ms.load_checkpoint(saved(tmp_path / "a.pth", {"w": np.zeros(1 << 20)}, packed=zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(tmp_path / "b.pth", "w") as archive:
        archive.writestr("readme", "hello")
    with pytest.raises(CheckpointError, match=r"holds no data.pkl"):
        ms.load_checkpoint(tmp_path / "b.pth")


def test_random_mutations(tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    draws, path = random.Random(seed), tmp_path / "a.pth"
    whole = Path(saved(path, arrays())).read_bytes()
    for _ in range(MUTATIONS):
        data = bytearray(whole)
        for _ in range(draws.choice((1, 2, 8))):
            data[draws.randrange(len(data))] = draws.randrange(256)
        path.write_bytes(data[: draws.randrange(4, len(data))] if draws.random() < 0.1 else data)
        start = time.monotonic()
        try:
            ms.load_checkpoint(path)
        except CheckpointError:
            pass
        assert time.monotonic() - start < 5


# ---- several files ---------------------------------------------------------------------------------------------------


def shards(folder: Path, given: dict[str, Any], ending: str) -> Path:
    """Two files with half of the weights each, and their index."""
    names = list(given)
    places = {name: f"model-{i % 2 + 1:05}-of-00002.{ending}" for i, name in enumerate(names)}
    for place in set(places.values()):
        part = {name: given[name] for name in names if places[name] == place}
        if ending == "safetensors":
            ms.save_checkpoint({name: ms.Tensor(value) for name, value in part.items()}, str(folder / place))
        else:
            saved(folder / place, part)
    index = folder / f"model.{ending}.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": places}))
    return index


def test_numbers_stay_numbers() -> None:
    """mint's batch norm counts its batches, in a tensor without axes."""
    net = ms.mint.nn.BatchNorm1d(3)
    state = {name: np.ones(3, np.float32) for name in ("weight", "bias", "running_mean", "running_var")}
    ms.load_torch_state_dict(net, state | {"num_batches_tracked": np.array(7)})
    assert net.num_batches_tracked.asnumpy().shape == ()
    net.set_train()
    net(ms.ops.ones((2, 3)))
    assert int(net.num_batches_tracked) == 8


@pytest.mark.parametrize("ending", ["safetensors", "bin"])
def test_weights_in_several_files(tmp_path: Path, ending: str) -> None:
    given, net = arrays(), network()
    given.pop("1.num_batches_tracked")
    index = shards(tmp_path, given, ending)
    assert len(ms.load_torch_state_dict(net, index).matched) == 8
    need_loaded(net, given)
    loaded = ms.load_checkpoint(index)
    assert list(loaded) == list(given)
    np.testing.assert_array_equal(loaded["3.bias"].asnumpy(), given["3.bias"])


@pytest.mark.parametrize("change", ["path", "link", "missing file", "missing weight", "foreign weight", "no table"])
def test_an_index_that_lies_is_refused(tmp_path: Path, change: str) -> None:
    given = {"a": np.ones(2, np.float32), "b": np.zeros(2, np.float32)}
    index = shards(tmp_path, given, "safetensors")
    page = json.loads(index.read_text())
    first = page["weight_map"]["a"]
    if change == "path":
        page["weight_map"]["a"] = "../" + first
    elif change == "link":
        (tmp_path / first).rename(tmp_path / "other")
        (tmp_path / first).symlink_to(tmp_path / "other")
    elif change == "missing file":
        (tmp_path / first).unlink()
    elif change == "missing weight":
        page["weight_map"]["c"] = first
    elif change == "foreign weight":
        del page["weight_map"]["b"]
        page["weight_map"]["b"] = first
    else:
        page = {"weight_map": [1]}
    index.write_text(json.dumps(page))
    with pytest.raises(CheckpointError):
        ms.load_checkpoint(index)
