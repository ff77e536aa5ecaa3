"""Programs that PyTorch exported become Cells: readable classes, the same numbers, and nothing of a file is run."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exported_archives import page, weights, write

import msnb as ms
from msnb import mint, nn, ops
from msnb.base.errors import ArgumentError, CheckpointError
from msnb.train.pytorch.conversion import Conversion

MUTATIONS = int(os.environ.get("MSNB_MUTATIONS", 200))


def converted(tmp_path: Path, name: str) -> tuple[Conversion, dict[str, Any]]:
    graph = page(name)
    arrays = weights(graph)
    return ms.from_torch(write(tmp_path / f"{name}.pt2", graph, arrays)), arrays


def draw(*shape: int) -> ms.Tensor:
    return ms.Tensor(np.random.default_rng(5).standard_normal(shape).astype(np.float32))


# ---- the same programs, written by hand ------------------------------------------------------------------------------


class Residual(nn.Cell):
    def __init__(self, inside: int, out: int, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inside, out, 3, stride, pad_mode="pad", padding=1)
        self.norm = nn.BatchNorm2d(out)
        self.short = None
        if stride > 1:
            self.short = nn.SequentialCell(nn.Conv2d(inside, out, 1, stride, has_bias=True), nn.BatchNorm2d(out))

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        y = ops.relu(self.norm(self.conv(x)))
        return y + x if self.short is None else y + self.short(x)


class Convolutions(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.SequentialCell(
            Residual(3, 4, 2), nn.Identity(), Residual(4, 4), Residual(4, 4), Residual(4, 8, 2)
        )
        self.head = nn.Dense(8, 5)
        self.scale = ms.Parameter(ops.ones((5,)))
        self.shift = ms.Parameter(ops.ones((5,)), requires_grad=False)

    def construct(self, x: ms.Tensor) -> Any:
        y = self.body(x).mean((2, 3))
        return {"scores": self.head(y) * self.scale + self.shift, "parts": (y[:, :2], y.reshape((y.shape[0], 2, -1)))}


class Block(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm((8,), epsilon=1e-5), nn.Dense(8, 24), nn.Dense(8, 8)

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        n, t, _ = x.shape
        q, k, v = (part.reshape((n, t, 2, 4)).swapaxes(1, 2) for part in ops.chunk(self.qkv(self.norm(x)), 3, -1))
        scores = q @ k.swapaxes(2, 3) / 2.0 + ops.triu(ops.full((t, t), -1e30), 1)
        return x + self.out((ops.softmax(scores, -1) @ v).swapaxes(1, 2).reshape((n, t, 8)))


class Attention(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(11, 8), nn.Embedding(16, 8)
        self.blocks = nn.CellList([Block() for _ in range(3)])

    def construct(self, ids: ms.Tensor) -> ms.Tensor:
        x = self.words(ids) + self.places(ops.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return x @ self.words.embedding_table.T


def need_same(ours: Any, reference: Any) -> None:
    if isinstance(reference, dict):
        assert list(ours) == list(reference)
        ours, reference = list(ours.values()), list(reference.values())
    if isinstance(reference, (tuple, list)):
        assert len(ours) == len(reference)
        for a, b in zip(ours, reference):
            need_same(a, b)
    else:
        np.testing.assert_allclose(ours.asnumpy(), reference.asnumpy(), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("batch", [2, 3])
def test_convolutions(mode: str, tmp_path: Path, batch: int) -> None:
    found, arrays = converted(tmp_path, "convolutions")
    net = Convolutions()
    ms.load_torch_state_dict(net, {name: value for name, value in arrays.items() if name not in ("scale", "shift")},
                             strict=False)  # fmt: skip
    net.scale.set_data(ms.Tensor(arrays["scale"]))
    net.shift.set_data(ms.Tensor(arrays["shift"]))
    x = draw(batch, 3, 12, 12)
    need_same(found.cell(x), net.set_train(False)(x))


def test_source_of_convolutions(tmp_path: Path) -> None:
    source = converted(tmp_path, "convolutions")[0].source
    assert source.count("class ") == 3  # the network, and two blocks: with and without a shortcut
    assert "def __init__(self, in_channels, out_channels):" in source
    assert "*[Residual2() for _ in range(2)]" in source and "nn.Identity()," in source
    assert "self.shift = ms.Parameter(mint.zeros((5,), dtype=ms.float32), requires_grad=False)" in source
    assert 'return {"scores": ' in source and ".shape[0], 2, -1))" in source


def test_states_that_the_caller_gives(mode: str, tmp_path: Path) -> None:
    """Nested inputs stay nested, and no argument of an operator is passed over."""
    found, arrays = converted(tmp_path, "states")
    assert not found.missing
    assert "def construct(self, x, state, more):" in found.source
    assert 'nn.RNN(5, 3, nonlinearity="relu")' in found.source and "divisor_override=3" in found.source
    layers = nn.CellDict({"steps": nn.LSTM(5, 4), "cell": nn.GRUCell(5, 4), "plain": nn.RNN(5, 3, nonlinearity="relu")})
    ms.load_torch_state_dict(layers, arrays)
    x, h, c, more = draw(3, 2, 5), draw(1, 2, 4), draw(1, 2, 4) * 2, draw(2, 4)
    y, (last, memory) = layers["steps"](x, (h, c))
    state = more
    for step in x:
        state = layers["cell"](step, state)
    size = ops.sqrt((y * y).mean((1, 2), keep_dims=True) + 1e-3)
    sums = mint.nn.functional.avg_pool2d(y.expand_dims(0), 2, ceil_mode=True, divisor_override=3)
    want = (y / size, last * memory, state, layers["plain"](x)[0], mint.nn.functional.avg_pool1d(y, 2), sums)
    need_same(found.cell(x, (h, c), {"h": more}), want)


def test_experts(mode: str, tmp_path: Path) -> None:
    """Layers that get a buffer, or that two modules call; groups of rows with a matrix each; [0] beside a matrix."""
    found, arrays = converted(tmp_path, "experts")
    assert not found.missing
    assert "mint.ones((6, 6), dtype=ms.bool_)" in found.source and "functional.grouped_mm(" in found.source
    given = draw(6, 4)
    layers = [arrays[f"{name}.layer.weight"].T for name in ("first", "second")]
    x = given.asnumpy() @ (np.eye(4) + layers[0]) + arrays["places"] @ sum(layers)
    x += sum(arrays[f"{name}.layer.bias"] for name in ("first", "second", "first"))
    best = (x @ arrays["router.weight"].T + arrays["router.bias"]).argmax(-1)
    y = np.stack([row @ arrays["weight"][expert] for row, expert in zip(x, best)])
    length, v = (arrays[f"out.parametrizations.weight.original{i}"] for i in range(2))
    kernel = (v * length / np.sqrt((v * v).sum((0, 1), keepdims=True)))[:, :, 0]
    want = (kernel @ y.T + arrays["out.bias"][:, None], np.tril(np.ones((6, 6), bool)), np.repeat(y, 2, 0))
    need_same(found.cell(given), tuple(ms.Tensor(part, dtype) for part, dtype in zip(want, (None, ms.bool_, None))))


def test_parts_without_gradients(mode: str, tmp_path: Path) -> None:
    """What such a part gives is a constant for gradients; its names are no others'."""
    found, arrays = converted(tmp_path, "modes")
    layer = nn.Dense(4, 4)
    ms.load_torch_state_dict(layer, {name.partition(".")[2]: array for name, array in arrays.items()})

    def by_hand(x: ms.Tensor) -> ms.Tensor:
        y = layer(x)
        z = y * 2 + 1
        still = ops.stop_gradient(layer(y) * 3 + z)
        inner = layer(still) * 2
        return y * still + inner + ops.stop_gradient(layer(z) * 3) * z + z * y + 1

    x = draw(3, 4)
    need_same(found.cell(x), by_hand(x))
    gradient = ms.grad(lambda v: found.cell(v).sum(), None, found.cell.trainable_params())(x)
    need_same(gradient, ms.grad(lambda v: by_hand(v).sum(), None, layer.trainable_params())(x))


def test_a_part_in_other_precision_is_refused(tmp_path: Path) -> None:
    graph = page("modes")
    blocks = [n for n in graph["graph_module"]["graph"]["nodes"] if n["target"].endswith("autocast")]
    for block in blocks:
        block["inputs"][2]["arg"]["as_bool"] = True
    assert blocks
    with pytest.raises(CheckpointError, match="autocast is on"):
        ms.from_torch(write(tmp_path / "modes.pt2", graph, weights(graph)))


def test_writes_through_views(mode: str, tmp_path: Path) -> None:
    """NumPy's views do what PyTorch's do."""
    found, _ = converted(tmp_path, "views")
    x = draw(4, 3)
    y, z = x.asnumpy() * 1, x.asnumpy() * 2
    flat, part, turned, (first, second) = y.reshape(-1), y[1], z.T, np.split(z, 2)
    flat += 1
    part *= 2
    part -= 1
    y[1:].T[:, 0] = 4.0
    y[None].transpose(2, 0, 1)[0, 0, 1] = 9.0
    flat[3:5] = part[:2]
    turned *= 2
    turned += 1
    turned[0] = turned[0] * 2 + 3
    z[:, 1:] *= -1
    need_same(found.cell(x), tuple(map(ms.Tensor, (y, flat, part, z, turned, first * second))))


@pytest.mark.parametrize("view", ["aten.diagonal.default", "aten.detach.default"])
def test_a_write_that_would_be_lost_is_refused(tmp_path: Path, view: str) -> None:
    graph = page("views")
    node = next(n for n in graph["graph_module"]["graph"]["nodes"] if n["target"] == "torch.ops.aten.view.default")
    node["target"] = f"torch.ops.{view}"
    with pytest.raises(CheckpointError, match=f"writes through {view}"):
        ms.from_torch(write(tmp_path / "views.pt2", graph, weights(graph)))


def test_recurrences(mode: str, tmp_path: Path) -> None:
    found, arrays = converted(tmp_path, "recurrences")
    first, second = nn.LSTM(5, 6, 2, batch_first=True, bidirectional=True), nn.GRU(12, 4, batch_first=True)
    net = nn.CellDict({"first": first, "second": second})
    ms.load_torch_state_dict(net, arrays)
    x = draw(3, 7, 5)
    y, (h, _) = first(x)
    need_same(found.cell(x), (second(y)[0][:, -1], h))
    assert "self.first = nn.LSTM(5, 6, num_layers=2, batch_first=True, bidirectional=True)" in found.source


@pytest.mark.parametrize("shape", [(2, 5), (4, 9)])
def test_attention_with_open_sizes_and_tied_weights(mode: str, tmp_path: Path, shape: tuple[int, int]) -> None:
    found, arrays = converted(tmp_path, "attention")
    net = Attention()
    shared = {"words.weight": arrays["head.weight"]} if "head.weight" in arrays else {}
    ms.load_torch_state_dict(net, {k: v for k, v in arrays.items() if k != "head.weight"} | shared)
    ids = ms.Tensor(np.random.default_rng(2).integers(0, 11, shape))
    need_same(found.cell(ids), net(ids))
    assert "for layer in self.blocks:\n            embedding = layer(embedding)" in found.source
    assert sum(parameter.shape == (11, 8) for parameter in found.cell.get_parameters()) == 1


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_writes_branches_and_buffers(mode: str, tmp_path: Path, sign: float) -> None:
    found, arrays = converted(tmp_path, "effects")
    x = np.abs(draw(3, 4).asnumpy()) * sign
    y = x.copy()
    y[:, 1:3] *= 2
    y[0, 1] = arrays.get("lifted_tensor_0", 5.0)
    z = y @ arrays["layer.weight"].T + arrays["layer.bias"] if sign > 0 else y - 1
    given = ms.Tensor(x.astype(np.float32))
    need_same(found.cell(given), (ms.Tensor(z + y[0]), ms.Tensor(y[0])))
    found.cell(given)
    np.testing.assert_allclose(found.cell.calls.asnumpy(), arrays["calls"] + 2, rtol=1e-6)
    np.testing.assert_array_equal(given.asnumpy(), x)


@pytest.mark.parametrize("name", ["convolutions", "attention"])
def test_what_is_written_can_be_imported_and_trained(tmp_path: Path, name: str) -> None:
    found, _ = converted(tmp_path, name)
    files = found.save(tmp_path / "out")
    assert [Path(file).name for file in files] == [f"{found.name}.py", f"{found.name}.safetensors"]
    specification = importlib.util.spec_from_file_location("written", files[0])
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    sys.modules["written"] = module
    specification.loader.exec_module(module)
    net = getattr(module, found.name)()
    assert ms.load_param_into_net(net, ms.load_checkpoint(files[1])) == ([], [])
    x = draw(2, 3, 12, 12) if name == "convolutions" else ms.Tensor(np.array([[1, 2, 3], [4, 5, 6]]))
    need_same(net.set_train(False)(x), found.cell(x))
    step = ms.value_and_grad(lambda v: sum((t * t).sum() for t in flat(net(v))), None, net.trainable_params())
    assert all(np.isfinite(gradient.asnumpy()).all() for gradient in step(x)[1])
    command = [sys.executable, "-m", "ruff", "check", "--isolated", files[0]]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout


def flat(value: Any) -> list[ms.Tensor]:
    parts = list(value.values()) if isinstance(value, dict) else value
    return [t for part in parts for t in flat(part)] if isinstance(parts, (list, tuple)) else [parts]


def test_operators_without_a_counterpart_are_listed_and_become_stubs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = page("recurrences")
    for node in graph["graph_module"]["graph"]["nodes"]:
        if node["target"].endswith("gru.input"):
            node["target"] = "torch.ops.mine.swirl.default"
    found = ms.from_torch(write(tmp_path / "a.pt2", graph, weights(graph)))
    assert found.missing == {"mine.swirl.default": 1}
    assert "1 x mine.swirl.default" in capsys.readouterr().err
    with pytest.raises(NotImplementedError, match="mine.swirl.default.*gives float32.*write it here"):
        found.cell(draw(2, 7, 5))


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="a torch.nn.Module, an exported program or a .pt2 file, not dict"):
        ms.from_torch({})
    with pytest.raises(FileNotFoundError):
        ms.from_torch(tmp_path / "none.pt2")
    with pytest.raises(ArgumentError, match="takes inputs for a module, not for a file"):
        ms.from_torch(tmp_path / "none.pt2", draw(1))
    graph = page("recurrences")
    for entry, sentence in {"m/byteorder": "big-endian", "m/models/model.json": "another form",
                            "m/data/weights/weight_0": "numbers, its sizes ask for"}.items():  # fmt: skip
        path = write(tmp_path / "a.pt2", graph, weights(graph), {entry: b"{}"})
        with pytest.raises(CheckpointError, match=sentence):
            ms.from_torch(path)
    bomb = {"config": {"a": {"path_name": "weight_0", "use_pickle": False, "tensor_meta": {
        "dtype": 7, "sizes": [{"as_int": 1 << 40}], "strides": [{"as_int": 0}], "storage_offset": {"as_int": 0}}}}}
    path = write(tmp_path / "b.pt2", graph, weights(graph),
                 {"m/data/weights/model_weights_config.json": json.dumps(bomb).encode()})  # fmt: skip
    with pytest.raises(CheckpointError):
        ms.from_torch(path)


EVIL = "x'); import os; os.environ['MSNB_EVIL'] = '1' #"


@pytest.mark.parametrize("place", ["target", "class", "path", "value", "weight", "key", "argument"])
def test_no_text_of_a_file_becomes_code(tmp_path: Path, place: str) -> None:
    graph = page("convolutions")
    text = json.dumps(graph)
    quoted = EVIL.replace('"', '\\"')
    swap = {
        "target": ("torch.ops.aten.conv2d.default", f"torch.ops.aten.{quoted}.default"),
        "class": ("Residual", quoted), "path": ("body.0", f"body.{quoted}"), "value": ("batch_norm_1", quoted),
        "weight": ("head.weight", quoted), "key": ("scores", quoted), "argument": ('["x"]', f'["{quoted}"]'),
    }[place]  # fmt: skip
    assert swap[0] in text
    graph = json.loads(text.replace(*swap))
    try:
        found = ms.from_torch(write(tmp_path / "a.pt2", graph, weights(graph)))
        found.cell(draw(2, 3, 12, 12))
    except (CheckpointError, NotImplementedError):
        pass
    assert "MSNB_EVIL" not in os.environ


def test_mutations_of_files(tmp_path: Path) -> None:
    seed = int(os.environ.get("MSNB_SEED", time.time_ns() % 10**6))
    rng = random.Random(seed)
    graph = page("recurrences")
    good = Path(write(tmp_path / "good.pt2", graph, weights(graph))).read_bytes()
    for turn in range(MUTATIONS):
        bad = bytearray(good)
        kind = rng.choice(["flip", "cut", "digits", "splice"])
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(bad))
            if kind == "flip":
                bad[at] ^= 1 << rng.randrange(8)
            elif kind == "cut":
                del bad[at : at + rng.randint(1, 200)]
            elif kind == "digits":
                bad[at : at + 3] = b"999"
            else:
                bad[at:at] = good[at : at + rng.randint(1, 60)]
        path = tmp_path / "bad.pt2"
        path.write_bytes(bytes(bad))
        began = time.monotonic()
        try:
            ms.from_torch(path)
        except (CheckpointError, FileNotFoundError):
            pass
        except Exception as error:
            raise AssertionError(f"seed {seed}, turn {turn}: {error!r}") from error
        assert time.monotonic() - began < 5, f"seed {seed}, turn {turn}"


def test_mutations_of_graphs(tmp_path: Path) -> None:
    """Valid archives whose graphs make no sense: values that are not there, other dtypes, sizes, nestings."""
    seed = int(os.environ.get("MSNB_SEED", time.time_ns() % 10**6))
    rng = random.Random(seed)
    arrays = {name: weights(page(name)) for name in ("recurrences", "effects", "attention")}
    for turn in range(MUTATIONS):
        name = rng.choice(list(arrays))
        graph = page(name)
        for _ in range(rng.randint(1, 3)):
            mutate(graph["graph_module"], rng)
        try:
            ms.from_torch(write(tmp_path / "bad.pt2", graph, arrays[name]))
        except CheckpointError:
            pass
        except Exception as error:
            raise AssertionError(f"seed {seed}, turn {turn}, {name}: {error!r}") from error


def mutate(value: Any, rng: random.Random) -> None:
    """Change one place of a page."""
    while isinstance(value, (dict, list)) and value:
        key = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
        if not isinstance(value[key], (dict, list)) or not value[key] or rng.random() < 0.05:
            value[key] = rng.choice([None, -1, 2**62, "x", [], {}, {"as_int": -3}, {"name": "nothing"}, True, 1.5])
            return
        value = value[key]


def test_mint_names_of_the_source_are_mint(mode: str) -> None:
    x = draw(3, 4)
    np.testing.assert_allclose(mint.round(x, decimals=1).asnumpy(), np.round(x.asnumpy(), 1), atol=1e-6)
    for slope, found in ((0.2, mint.nn.functional.leaky_relu(x, 0.2)), (0.01, mint.nn.LeakyReLU()(x))):
        np.testing.assert_allclose(found.asnumpy(), np.where(x.asnumpy() > 0, x.asnumpy(), slope * x.asnumpy()))
    index, source = ms.Tensor([[0, 2], [1, 0]]), draw(3, 4)
    want = x.asnumpy().copy()
    np.put_along_axis(want[:2], index.asnumpy(), source.asnumpy()[:2, :2], 1)
    np.testing.assert_allclose(mint.scatter(x, 1, index, source).asnumpy(), want)
