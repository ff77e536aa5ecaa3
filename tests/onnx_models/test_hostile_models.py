"""Files that lie: every one is refused with a CheckpointError, within a bound of time and memory; nothing outside the
model's folder is read."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs onnx (`pip install 'msnb[onnx]'`)")

import onnx
from onnx import TensorProto, helper, numpy_helper

import msnb as ms
from msnb.base.errors import CheckpointError
from tests.onnx_models.models import CONVOLUTIONS, MLP, convolution_weights, mlp_weights, model

SECONDS = 5.0
MUTATIONS = int(os.environ.get("MSNB_MUTATIONS", 300))


def load(path: Path) -> None:
    """The file is refused, or it is a model."""
    start = time.monotonic()
    try:
        str(ms.load(str(path)))
    except CheckpointError:
        pass
    assert time.monotonic() - start < SECONDS


def refused(path: Path, sentence: str) -> None:
    with pytest.raises(CheckpointError, match=sentence):
        ms.load(str(path))


# ---- arrays in other files -------------------------------------------------------------------------------------------


def with_external(folder: Path, location: str, **more: Any) -> Path:
    made = model(MLP, **mlp_weights())
    tensor = made.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **more}.items():
        tensor.external_data.add(key=key, value=str(value))
    path = folder / "net.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def test_arrays_beside_the_model(mode: str, tmp_path: Path) -> None:
    content = b"1234" + mlp_weights()["w1"].tobytes() + b"more"
    (tmp_path / "weights.bin").write_bytes(content)
    program = ms.load(str(with_external(tmp_path, "weights.bin", offset=4, length=len(content) - 8)))
    np.testing.assert_array_equal(program.weights["w1"].asnumpy(), mlp_weights()["w1"])


def test_nothing_outside_the_folder_is_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside.bin"
    outside.write_bytes(mlp_weights()["w1"].tobytes())
    home = tmp_path / "model"
    home.mkdir()
    for name in ("../outside.bin", str(outside), "x/../../outside.bin", ""):
        refused(with_external(home, name), "outside the model's folder")
    (home / "soft").symlink_to(outside)
    refused(with_external(home, "soft"), "outside the model's folder|is a link")
    (home / "inner.bin").write_bytes(outside.read_bytes())
    (home / "inside").symlink_to(home / "inner.bin")
    refused(with_external(home, "inside"), "is a link")
    os.link(outside, home / "hard")
    refused(with_external(home, "hard"), "is a link")
    refused(with_external(home, "none.bin"), "is missing")


@pytest.mark.parametrize("more", [{"offset": -4}, {"offset": 1 << 62}, {"length": 1 << 62}, {"length": "many"}])
def test_offsets_and_lengths_that_lie(tmp_path: Path, more: dict[str, Any]) -> None:
    (tmp_path / "weights.bin").write_bytes(mlp_weights()["w1"].tobytes())
    refused(with_external(tmp_path, "weights.bin", **more), "ends beyond the end|no legal offset")


def test_an_attribute_names_a_file(tmp_path: Path) -> None:
    made = model(MLP, **mlp_weights())
    for holder in ("sparse", "function"):
        lying = onnx.ModelProto.FromString(made.SerializeToString())
        tensor = TensorProto(name="w1", dims=[4, 6], data_type=1, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="/etc/hostname")
        if holder == "sparse":
            tensor.name, tensor.dims[:] = "s", [1]
            places = numpy_helper.from_array(np.zeros(1, np.int64))
            lying.graph.sparse_initializer.append(onnx.SparseTensorProto(values=tensor, indices=places, dims=[24]))
        else:
            node = helper.make_node("Constant", [], ["o"], value=tensor)
            opsets = [helper.make_opsetid("", 21)]
            lying.functions.append(helper.make_function("own", "const", [], ["o"], [node], opsets))
            lying.graph.node.add(op_type="const", domain="own", output=["unused"])
        path = tmp_path / f"{holder}.onnx"
        path.write_bytes(lying.SerializeToString())
        refused(path, "lies in another file")


# ---- messages that lie -----------------------------------------------------------------------------------------------


def _sizes(made: Any) -> None:
    made.graph.initializer[0].dims[:] = [1 << 62, 1 << 62]


def _negative(made: Any) -> None:
    made.graph.initializer[0].dims[:] = [-4, 6]


def _type(made: Any) -> None:
    made.graph.initializer[0].data_type = 99


def _deep(made: Any) -> None:
    inner = helper.make_graph([], "leaf", [], [])
    for i in range(26):
        node = helper.make_node(
            "If", ["c"], [f"o{i}"], then_branch=inner, else_branch=helper.make_graph([], "e", [], [])
        )
        inner = helper.make_graph([node], f"g{i}", [], [])
    made.graph.node.extend(inner.node)


def _calls_itself(made: Any) -> None:
    node = helper.make_node("again", ["a"], ["b"], domain="own")
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    made.functions.append(helper.make_function("own", "again", ["a"], ["b"], [node], opsets))
    made.graph.node.add(op_type="again", domain="own", input=["x"], output=["looped"])


def _attribute(made: Any) -> None:
    made.graph.node[-1].attribute.add(name="colour", type=onnx.AttributeProto.INT, i=3)


def _kind(made: Any) -> None:
    made.graph.node[-1].attribute[0].type = onnx.AttributeProto.TYPE_PROTOS


@pytest.mark.parametrize(
    "lie, sentence",
    [(_sizes, "holds fewer"), (_negative, "negative size"), (_type, "damaged|no data type"), (_deep, "deep"),
     (_calls_itself, "."), (_attribute, "with the attribute 'colour'"), (_kind, "of a kind|no protobuf|cannot be")],
)  # fmt: skip
def test_messages_that_lie(tmp_path: Path, lie: Callable[[Any], None], sentence: str) -> None:
    made = model(MLP, **mlp_weights())
    lie(made)
    (tmp_path / "net.onnx").write_bytes(made.SerializeToString())
    refused(tmp_path / "net.onnx", sentence)


def test_what_is_no_model(tmp_path: Path) -> None:
    for i, content in enumerate(
        (b"", b"\0" * 100, b"GIF89a", b"\xff" * 1000, model(MLP, **mlp_weights()).SerializeToString()[:20])
    ):
        (tmp_path / f"{i}.onnx").write_bytes(content)
        refused(tmp_path / f"{i}.onnx", "cannot be read")


def mutated(content: bytes, draws: random.Random) -> bytes:
    """Some bytes changed, cut out, doubled, or the end cut off."""
    data = bytearray(content)
    for _ in range(draws.choice((1, 1, 2, 8))):
        at = draws.randrange(len(data))
        end = min(len(data), at + draws.randrange(1, 40))
        way = draws.randrange(5)
        if way == 0:
            data[at] ^= 1 << draws.randrange(8)
        elif way == 1:
            data[at] = draws.randrange(256)
        elif way == 2:
            del data[at:end]
        elif way == 3:
            data[at:at] = data[at:end]
        else:
            data[at:end] = b"\xff" * (end - at)
        if not data:
            break
    return bytes(data[: draws.randrange(len(data))] if data and draws.random() < 0.1 else data)


def test_random_mutations(tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    draws, path = random.Random(seed), tmp_path / "net.onnx"
    contents = [model(MLP, **mlp_weights()).SerializeToString(),
                model(CONVOLUTIONS, **convolution_weights()).SerializeToString()]  # fmt: skip
    for _ in range(MUTATIONS):
        path.write_bytes(mutated(draws.choice(contents), draws))
        load(path)
