"""MindSpore's own checkpoint files: written by msnb, by hand as MindSpore does, damaged, and made to do damage."""

from __future__ import annotations

import random
import zlib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import msnb as ms
from msnb.base.errors import ArgumentError, CheckpointError
from msnb.train.files import protobuf_checkpoint
from tests.mutation.changes import bytes_changed


def varint(n: int) -> bytes:
    return bytes([n]) if n < 0x80 else bytes([n & 0x7F | 0x80]) + varint(n >> 7)


def message(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def entry(name: str, sizes: list[int], kind: str, content: bytes, packed: bool = False) -> bytes:
    axes = b"".join(b"\x08" + varint(n) for n in sizes)
    if packed:
        axes = message(1, b"".join(map(varint, sizes)))
    tensor = axes + message(2, kind.encode()) + message(3, content)
    return message(1, message(1, name.encode()) + message(2, tensor))


def load(path: Path, content: bytes, **options: Any) -> dict[str, Any]:
    path.write_bytes(content)
    return ms.load_checkpoint(str(path), **options)


VALUES = {
    "w": np.arange(6, dtype=np.float32).reshape(2, 3), "scalar": np.float64(2.5), "flags": np.array([True, False]),
    "empty": np.zeros((0, 4), np.float32), "none": np.zeros(0, np.int64), "one": np.array([7], np.int8),
    "half": np.array([1.5, -2], np.float16), "brain": np.array([1.5, 3], ml_dtypes.bfloat16),
    "whole": np.array([-1, 2**40]), "bits": np.array([2**64 - 1], np.uint64),
    "complex": np.array([1 + 2j], np.complex64),
}  # fmt: skip


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = str(tmp_path / "net")
    ms.save_checkpoint(
        {name: ms.Tensor(value) for name, value in VALUES.items()},
        path,
        append_dict={"epoch": 3, "note": "grüße 𝄞"},
        format="protobuf",
    )
    found = ms.load_checkpoint(f"{path}.ckpt")
    assert list(found) == [*VALUES, "epoch", "note"]
    assert found.pop("note") == "grüße 𝄞" and int(found.pop("epoch")) == 3
    for name, value in VALUES.items():
        array = found[name].asnumpy()
        assert isinstance(found[name], ms.Parameter) and found[name].name == name
        assert array.dtype == value.dtype and array.tolist() == value.tolist(), name
        assert array.shape == value.shape, name


def test_a_network_goes_there_and_back(tmp_path: Path) -> None:
    path = str(tmp_path / "net.ckpt")
    nets = [ms.nn.SequentialCell(ms.nn.Conv2d(1, 2, 3), ms.nn.BatchNorm2d(2), ms.nn.Dense(3, 1)) for _ in range(2)]
    ms.save_checkpoint(nets[0], path, format="protobuf")
    assert ms.load_checkpoint(path, nets[1], strict_load=True)
    for a, b in zip(*(net.get_parameters() for net in nets)):
        assert a.name == b.name and a.asnumpy().tobytes() == b.asnumpy().tobytes()


def test_the_layout_is_the_one_of_mindspore(tmp_path: Path) -> None:
    ms.save_checkpoint(
        {"a.w": ms.Tensor([[1.0, 2.0]])}, tmp_path / "a.ckpt", append_dict={"s": "hi"}, format="protobuf"
    )
    body = entry("a.w", [1, 2], "Float32", np.array([1, 2], np.float32).tobytes())
    body += entry("s", [0], "str", np.array("hi").tobytes())
    assert (tmp_path / "a.ckpt").read_bytes() == body + b"crc_num" + zlib.crc32(body).to_bytes(10, "big")


def test_parts_of_one_parameter_are_joined(tmp_path: Path) -> None:
    w = np.arange(12, dtype=np.int32).reshape(4, 3)
    body = b"".join(entry("w", [4, 3], "Int32", part.tobytes()) for part in np.array_split(w, 3))
    body += entry("b", [2], "Float16", b"\0\0\0\x3c", packed=True) + entry("s", [0], "Int64", bytes(8))
    found = load(tmp_path / "a.ckpt", body)
    assert found["w"].asnumpy().tolist() == w.tolist()
    assert found["b"].asnumpy().tolist() == [0, 1] and found["s"].shape == ()


def test_large_parameters_are_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protobuf_checkpoint, "_SLICE", 16)
    w = np.arange(10, dtype=np.float32)
    ms.save_checkpoint({"w": ms.Tensor(w)}, tmp_path / "a.ckpt", format="protobuf")
    content = (tmp_path / "a.ckpt").read_bytes()
    parts = [entry("w", [10], "Float32", w[i : i + 4].tobytes()) for i in (0, 4, 8)]
    assert content[:-17] == b"".join(parts)
    assert ms.load_checkpoint(str(tmp_path / "a.ckpt"))["w"].asnumpy().tolist() == w.tolist()


def test_names_are_chosen_by_their_beginnings(tmp_path: Path) -> None:
    body = b"".join(entry(name, [0], "Int8", b"\1") for name in ("a.w", "a.b", "b.w"))
    path = tmp_path / "a.ckpt"
    assert list(load(path, body, specify_prefix="a")) == ["a.w", "a.b"]
    assert list(load(path, body, specify_prefix=["a"], filter_prefix="a.b")) == ["a.w"]
    with pytest.raises(CheckpointError, match="nothing of the checkpoint"):
        load(path, body, specify_prefix="c")


def test_a_checksum_is_checked(tmp_path: Path) -> None:
    body = entry("w", [2], "Float32", bytes(8))
    sealed = body + b"crc_num" + zlib.crc32(body).to_bytes(10, "big")
    assert list(load(tmp_path / "a.ckpt", sealed, crc_check=True)) == ["w"]
    wrong = bytearray(sealed)
    wrong[-25] ^= 1
    with pytest.raises(CheckpointError, match="checksum"):
        load(tmp_path / "a.ckpt", bytes(wrong))


BAD = {
    "cut in a value": entry("w", [2], "Float32", bytes(8))[:-1],
    "too few bytes": entry("w", [2], "Float32", bytes(4)),
    "no dtype of tensors": entry("w", [2], "Float128", bytes(32)),
    "10^18 elements": entry("w", [10**18], "Float32", b""),
    "2^62 x 2^62 x 0": entry("w", [2**62, 2**62, 0], "Float32", b""),
    "a negative size": entry("w", [2**64 - 1], "Float32", b""),
    "a name twice": entry("w", [0], "Int8", b"\1") + entry("v", [0], "Int8", b"\1") + entry("w", [0], "Int8", b"\1"),
    "a part of another shape": entry("w", [2], "Int8", b"\1") + entry("w", [1, 2], "Int8", b"\1"),
    "a bool of 2": entry("w", [2], "Bool", b"\1\2"),
    "no text": entry("w", [0], "str", b"\xff\xff\xff\xff"),
    "no name": entry("", [0], "Int8", b"\1"),
    "a map": message(1, message(1, b"w") + message(3, b"")),
    "a pickle inside": message(1, message(1, b"w") + message(2, b"\x80\x04K\x01.")),
}


@pytest.mark.parametrize("what", BAD)
def test_damage_is_one_sentence_and_changes_nothing(tmp_path: Path, what: str) -> None:
    net = ms.nn.Dense(1, 1)
    before = net.weight.asnumpy().copy()
    with pytest.raises(CheckpointError, match="a.ckpt"):
        load(tmp_path / "a.ckpt", BAD[what], net=net)
    assert net.weight.asnumpy().tolist() == before.tolist()


def test_changed_bytes_load_or_are_refused(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    ms.save_checkpoint(
        {name: ms.Tensor(value) for name, value in VALUES.items()}, tmp_path / "a.ckpt", format="protobuf"
    )
    whole = (tmp_path / "a.ckpt").read_bytes()
    for base in (whole, whole[:-17]):
        for _ in range(300):
            content = bytes_changed(rng, base)
            try:
                load(tmp_path / "b.ckpt", content)
            except CheckpointError:
                continue


def test_encrypted_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="enc_key"):
        ms.save_checkpoint({"w": ms.Tensor(1.0)}, tmp_path / "a.ckpt", enc_key=b"0" * 16)
    with pytest.raises(ArgumentError, match="dec_key"):
        ms.load_checkpoint(str(tmp_path / "a.ckpt"), dec_key=b"0" * 16)
    with pytest.raises(ArgumentError, match="'protobuf'"):
        ms.save_checkpoint({"w": ms.Tensor(1.0)}, tmp_path / "a.ckpt", format="zip")
