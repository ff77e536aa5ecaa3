"""Checkpoint files: what goes in comes out; what is damaged is refused with a sentence; saving is all or nothing."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import msnb as ms
from msnb.base.errors import ArgumentError, CheckpointError
from msnb.core import dtypes
from msnb.train.files import safetensors_file
from msnb.train.files.checkpoint import load_checkpoint, save_checkpoint


def sample() -> dict[str, ms.Tensor]:
    values = np.arange(-3, 3).reshape(2, 3)
    found = {t.name: ms.Tensor(values.astype(t.numpy)) for t in dtypes.ALL}
    found["empty"] = ms.Tensor(np.zeros((0, 4), np.float32))
    found["scalar"] = ms.Tensor(np.float64(0.1))
    return found


@pytest.mark.parametrize("ending", ["ckpt", "safetensors"])
def test_every_dtype_comes_back_bit_by_bit(tmp_path: Path, ending: str) -> None:
    given = sample()
    save_checkpoint(given, tmp_path / "all", format=ending)
    loaded = load_checkpoint(tmp_path / f"all.{ending}")
    assert list(loaded) == list(given)
    for name, value in given.items():
        assert loaded[name].dtype is value.dtype
        assert loaded[name].shape == value.shape
        assert loaded[name].asnumpy().tobytes() == value.asnumpy().tobytes()
        assert isinstance(loaded[name], ms.Parameter) and loaded[name].name == name


def test_special_floats_survive(tmp_path: Path) -> None:
    odd = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324, 1e308])
    save_checkpoint({"odd": ms.Tensor(odd)}, tmp_path / "odd.ckpt")
    assert load_checkpoint(tmp_path / "odd.ckpt")["odd"].asnumpy().tobytes() == odd.tobytes()


def test_other_programs_can_read_the_file(tmp_path: Path) -> None:
    from safetensors import safe_open

    save_checkpoint({"w": ms.Tensor([[1.0, 2.0]])}, tmp_path / "w.ckpt")
    with safe_open(tmp_path / "w.ckpt", framework="np") as file:
        assert list(file.keys()) == ["w"]
        np.testing.assert_array_equal(file.get_tensor("w"), [[1.0, 2.0]])


def test_files_of_other_programs_can_be_read(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"b": np.float32([1, 2]), "a": np.int64([[3]])}, tmp_path / "other.safetensors", metadata={"by": "x"})
    loaded = load_checkpoint(tmp_path / "other.safetensors")
    assert list(loaded) == ["a", "b"]
    np.testing.assert_array_equal(loaded["b"].asnumpy(), [1, 2])


def test_appended_numbers_and_strings(tmp_path: Path) -> None:
    extra = {"epoch": 3, "lr": 0.1, "best": True, "note": "grün", "t": ms.Tensor([1])}
    save_checkpoint({"w": ms.Tensor([1.0])}, tmp_path / "w.ckpt", append_dict=extra)
    loaded = load_checkpoint(tmp_path / "w.ckpt")
    assert (int(loaded["epoch"]), float(loaded["lr"]), bool(loaded["best"])) == (3, 0.1, True)
    assert loaded["note"] == "grün"


def test_appended_entries_replace_parameters_of_their_shape(tmp_path: Path) -> None:
    saved = {"momentum": ms.Parameter(ms.Tensor(0.5)), "w": ms.Parameter(ms.Tensor([1.0]))}
    save_checkpoint(saved, tmp_path / "w.ckpt", append_dict={"momentum": 0.25})
    loaded = load_checkpoint(tmp_path / "w.ckpt")
    assert list(loaded) == ["momentum", "w"] and loaded["momentum"].dtype == ms.float32
    assert float(loaded["momentum"]) == 0.25 and float(saved["momentum"]) == 0.5
    with pytest.raises(CheckpointError, match="two parameters are called 'w'"):
        save_checkpoint(saved, tmp_path / "w.ckpt", append_dict={"w": 0.25})


def test_lists_in_both_spellings_and_requires_grad(tmp_path: Path) -> None:
    frozen = ms.Parameter(ms.Tensor([1.0]), "frozen", requires_grad=False)
    save_checkpoint([frozen, {"name": "n", "data": ms.Tensor([2])}], tmp_path / "l.ckpt")
    loaded = load_checkpoint(tmp_path / "l.ckpt")
    assert [(p.name, p.requires_grad) for p in loaded.values()] == [("frozen", False), ("n", True)]


def test_choosing_names(tmp_path: Path) -> None:
    given = {"net.w": ms.Tensor([1]), "moments.w": ms.Tensor([2]), "step": ms.Tensor(3)}
    save_checkpoint(given, tmp_path / "c.ckpt")
    assert list(load_checkpoint(tmp_path / "c.ckpt", filter_prefix="moments")) == ["net.w", "step"]
    assert list(load_checkpoint(tmp_path / "c.ckpt", filter_prefix=["moments", "step"])) == ["net.w"]
    assert list(load_checkpoint(tmp_path / "c.ckpt", choice_func=lambda n: n == "step")) == ["step"]
    with pytest.raises(CheckpointError, match="nothing of the checkpoint .* is left"):
        load_checkpoint(tmp_path / "c.ckpt", filter_prefix=["net", "moments", "step"])
    save_checkpoint(given, tmp_path / "d.ckpt", choice_func=lambda n: n != "step")
    assert list(load_checkpoint(tmp_path / "d.ckpt")) == ["net.w", "moments.w"]


def test_an_empty_checkpoint(tmp_path: Path) -> None:
    save_checkpoint({}, tmp_path / "none.ckpt")
    assert load_checkpoint(tmp_path / "none.ckpt") == {}


# ---- damage --------------------------------------------------------------------------------------------------------


def content(tmp_path: Path) -> tuple[Path, bytes]:
    path = tmp_path / "good.ckpt"
    save_checkpoint({"conv.weight": ms.Tensor(np.arange(12, dtype=np.float32)), "b": ms.Tensor([7])}, path)
    return path, path.read_bytes()


def test_truncation_at_every_byte(tmp_path: Path) -> None:
    path, good = content(tmp_path)
    for length in range(len(good)):
        path.write_bytes(good[:length])
        with pytest.raises(CheckpointError, match="cannot be read"):
            load_checkpoint(path)


def test_every_flipped_bit_is_found(tmp_path: Path) -> None:
    path, good = content(tmp_path)
    before = load_checkpoint(path)
    for position in range(len(good)):
        for bit in range(8):
            bad = bytearray(good)
            bad[position] ^= 1 << bit
            try:
                arrays, _ = safetensors_file.decode(bytes(bad), "bad.ckpt")
            except CheckpointError:
                continue
            # only a flip in the file's optional parts could pass, and then the arrays must be the same
            assert set(arrays) == set(before), (position, bit)
            for name, array in arrays.items():
                assert array.tobytes() == before[name].asnumpy().tobytes(), (position, bit, name)


def test_a_flipped_bit_in_the_values_is_found(tmp_path: Path) -> None:
    path, good = content(tmp_path)
    path.write_bytes(good[:-5] + bytes([good[-5] ^ 1]) + good[-4:])
    with pytest.raises(CheckpointError, match="checksum does not match"):
        load_checkpoint(path)


def test_random_garbage(tmp_path: Path, rng: np.random.Generator) -> None:
    path = tmp_path / "garbage.ckpt"
    for size in (0, 1, 7, 8, 9, 64, 1000, 4096):
        for _ in range(20):
            path.write_bytes(rng.bytes(size))
            with pytest.raises(CheckpointError):
                load_checkpoint(path)


def test_bytes_appended_or_headers_of_the_wrong_kind(tmp_path: Path) -> None:
    path, good = content(tmp_path)
    headers = [b"[]", b"{}x", b'{"a": 1}', b'{"a": {"dtype": "F32", "shape": [9], "data_offsets": [0, 4]}}']
    headers += [
        b'{"__metadata__": {"a": 1}}',
        b"null",
        b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}',
    ]
    for bad in [good + b"x"] + [len(h).to_bytes(8, "little") + h + bytes(4) for h in headers]:
        path.write_bytes(bad)
        with pytest.raises(CheckpointError):
            load_checkpoint(path)


@pytest.mark.parametrize(
    ("start", "advice"), [(b"PK\x03\x04", "PyTorch"), (b"\x80\x04\x95", "pickle"), (b"\n\x1f\n", "MindSpore")]
)
def test_files_of_other_formats_get_advice(tmp_path: Path, start: bytes, advice: str) -> None:
    path = tmp_path / "other.ckpt"
    path.write_bytes(start + b"\xff" * 64)
    with pytest.raises(CheckpointError, match=advice):
        load_checkpoint(path)


def test_a_dtype_nobody_here_has(tmp_path: Path) -> None:
    header = b'{"a":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}}'
    path = tmp_path / "f8.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    with pytest.raises(CheckpointError, match="a in the checkpoint .* F8_E4M3"):
        load_checkpoint(path)


def test_a_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    save_checkpoint({}, tmp_path / "lenet-1.ckpt")
    with pytest.raises(FileNotFoundError, match=r"no checkpoint file .*[\s\S]*lenet-1.ckpt"):
        load_checkpoint(tmp_path / "lenet.ckpt")
    with pytest.raises(CheckpointError, match="has no checkpoints"):
        load_checkpoint(tmp_path / "nowhere" / "lenet.ckpt")


# ---- atomic saving -------------------------------------------------------------------------------------------------


class Crash(BaseException):
    """Not an Exception: what a killed kernel looks like to ``except Exception``."""


@pytest.mark.parametrize("step", ["replace", "fsync", "chmod"])
@pytest.mark.parametrize("error", [Crash, OSError])
def test_a_crash_while_saving_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: type[BaseException]
) -> None:
    path = tmp_path / "w.ckpt"
    save_checkpoint({"w": ms.Tensor([1.0])}, path)
    old = path.read_bytes()

    def crash(*args: object) -> None:
        raise error("the power is gone")

    monkeypatch.setattr(safetensors_file.os, step, crash)
    with pytest.raises(error):
        save_checkpoint({"w": ms.Tensor([2.0])}, path)
    monkeypatch.undo()
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["w.ckpt"]  # nothing half-written is left behind
    save_checkpoint({"w": ms.Tensor([2.0])}, path)
    assert load_checkpoint(path)["w"].asnumpy().tolist() == [2.0]


def test_the_file_is_complete_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    real = os.replace

    def look(source: str, target: str) -> None:
        safetensors_file.decode(Path(source).read_bytes(), source)
        assert os.path.dirname(source) == os.path.dirname(target)  # a rename across file systems is not atomic
        seen.append(target)
        real(source, target)

    monkeypatch.setattr(safetensors_file.os, "replace", look)
    save_checkpoint({"w": ms.Tensor([1.0])}, tmp_path / "new" / "folder" / "w")
    assert seen == [str(tmp_path / "new" / "folder" / "w.ckpt")]


def test_permissions_and_links_are_kept(tmp_path: Path) -> None:
    save_checkpoint({"w": ms.Tensor([1.0])}, tmp_path / "real.ckpt")
    os.chmod(tmp_path / "real.ckpt", 0o640)
    os.symlink(tmp_path / "real.ckpt", tmp_path / "best.ckpt")
    save_checkpoint({"w": ms.Tensor([2.0])}, tmp_path / "best.ckpt")
    assert (tmp_path / "best.ckpt").is_symlink()
    assert os.stat(tmp_path / "real.ckpt").st_mode & 0o777 == 0o640
    assert load_checkpoint(tmp_path / "real.ckpt")["w"].asnumpy().tolist() == [2.0]


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    path = tmp_path / "w.ckpt"
    with pytest.raises(ArgumentError, match="a Cell, a dict or a list"):
        save_checkpoint(3, path)
    with pytest.raises(ArgumentError, match="w is a set"):
        save_checkpoint({"w": {1}}, path)
    with pytest.raises(ArgumentError, match="a name in a checkpoint is a string"):
        save_checkpoint({3: ms.Tensor(1)}, path)
    with pytest.raises(ArgumentError, match="'name'|\"name\""):
        save_checkpoint([ms.Tensor(1)], path)
    with pytest.raises(ArgumentError, match="format is 'ckpt'"):
        save_checkpoint({}, path, format="pickle")
    with pytest.raises(ArgumentError, match="is a folder"):
        save_checkpoint({}, f"{tmp_path}/")
    twins = [ms.Parameter(ms.Tensor([1.0]), "w"), ms.Parameter(ms.Tensor([2.0, 3.0]), "w")]
    with pytest.raises(CheckpointError, match=r"two parameters are called 'w'[\s\S]*f32\[1\][\s\S]*f32\[2\]"):
        save_checkpoint(twins, path)
    assert not path.exists()
