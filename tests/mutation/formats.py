"""The formats that msnb reads: good files of each, how to change them so that checks are passed, and bombs."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import random
import re
import signal
import struct
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import msnb as ms
import msnb.dataset as ds
from msnb.base.errors import AttributeValueError, CheckpointError, DatasetError, MsnbError, VerifyError
from msnb.base.settings import set_context
from msnb.core.types import TensorType
from msnb.ir.analysis.verifier import verify
from msnb.ir.text.parser import ParseError, parse
from msnb.ir.text.printer import constants_of, print_graph
from msnb.parallel.engine.rank.sharded_checkpoint import load_sharded
from msnb.parallel.program.program_document import from_text, to_text
from tests.mutation.changes import bytes_changed, json_changed, text_changed, value_changed
from tests.mutation.trial import Format, Late

Files = dict[str, bytes]
Rng = random.Random


def _of(make: Callable[[Path], object]) -> Files:
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder))
        return {p.name: p.read_bytes() for p in Path(folder).iterdir()}


def _one(change: Callable[[Rng, bytes], bytes]) -> Callable[[Rng, Files], Files]:
    """Change one of the files."""

    def changed(rng: Rng, files: Files) -> Files:
        name = rng.choice(sorted(files))
        return {**files, name: change(rng, files[name])}

    return changed


def _as_text(change: Callable[[Rng, str], str]) -> Callable[[Rng, bytes], bytes]:
    return lambda rng, data: change(rng, data.decode()).encode("utf-8", "surrogatepass")


# ---- tensor files: checkpoints, programs, parts of ranks -------------------------------------------------------------


def sealed(header: Any, data: bytes) -> bytes:
    """A tensor file whose checksum is right, as far as there is something to sum up."""
    try:
        notes = {k: v for k, v in header["__metadata__"].items() if k != "msnb.crc32"}
        crc = zlib.crc32(json.dumps(sorted(notes.items())).encode())
        kinds = {"F32": "float32", "F64": "float64", "I64": "int64", "I32": "int32", "BOOL": "bool", "BF16": "bfloat16"}
        for name in sorted(k for k in header if k != "__metadata__"):
            entry = header[name]
            crc = zlib.crc32(json.dumps([name, kinds[entry["dtype"]], entry["shape"]]).encode(), crc)
            crc = zlib.crc32(data[slice(*entry["data_offsets"])], crc)
        header["__metadata__"]["msnb.crc32"] = f"{crc:08x}"
    except (KeyError, TypeError, AttributeError, ValueError):
        pass
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def opened(content: bytes) -> tuple[Any, bytes]:
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def tensors_changed(rng: Rng, content: bytes) -> bytes:
    kind = rng.random()
    if kind < 0.3:
        return bytes_changed(rng, content)
    header, data = opened(content)
    notes = header["__metadata__"]
    if kind < 0.4:
        text = json_changed(rng, json.dumps(header)).encode("utf-8", "surrogatepass")
        return len(text).to_bytes(8, "little") + text + data
    if kind < 0.55:
        return sealed(value_changed(rng, header), data)
    if kind < 0.6:
        return sealed(header, bytes_changed(rng, data))
    name = rng.choice([k for k in notes if k != "msnb.crc32"])
    notes[name] = (text_changed if name == "msnb.program" else _note)(rng, notes[name])
    return sealed(header, data)


def _note(rng: Rng, text: str) -> str:
    return json_changed(rng, text) if text[:1] in "[{" else text_changed(rng, text)


def _checkpoints() -> list[Files]:
    net = ms.nn.Dense(2, 3)
    odd = {"c": ms.Tensor(np.array([1 + 2j, 3j])), "b": ms.Tensor([True, False]), "h": ms.Tensor([1.0], ms.bfloat16),
           "e": ms.Tensor(np.zeros((0, 4), np.float32))}  # fmt: skip
    return [_of(lambda at: ms.save_checkpoint(net, str(at / "a.ckpt"), append_dict={"epoch": 3, "note": "x"})),
            _of(lambda at: ms.save_checkpoint(odd, str(at / "a.ckpt")))]  # fmt: skip


def _tensor_bombs(name: str) -> dict[str, Files]:
    header = {"w": {"dtype": "F32", "shape": [10**12], "data_offsets": [0, 4 * 10**12]}}
    huge = {"w": {"dtype": "F32", "shape": [2**62, 2**62, 0], "data_offsets": [0, 0]}}
    deep = b"[" * 100_000
    many = ("{" + ",".join(f'"{i}":[]' for i in range(1_000_000)) + "}").encode()
    return {
        "10^12 elements": {name: sealed(header, b"")},
        "2^62 x 2^62 x 0": {name: sealed(huge, b"")},
        "nested 100,000 deep": {name: len(deep).to_bytes(8, "little") + deep},
        "a million lists": {name: len(many).to_bytes(8, "little") + many},
        "lists of nothing": {name: (16 << 20).to_bytes(8, "little") + b"[" + b"[]," * ((16 << 20) // 3)},
    }


# ---- programs --------------------------------------------------------------------------------------------------------


class _Looping(ms.nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.fc = ms.nn.BatchNorm1d(3), ms.nn.Dense(3, 2)
        self.drop, self.table = ms.nn.Dropout(p=0.5), ms.Tensor(np.arange(8, dtype=np.float32))

    def construct(self, x: Any, k: Any) -> Any:
        y = self.drop(self.norm(x))
        while k.sum() > 0:
            k = k - 1
            y = y * 0.5
        if y.max() > 2:
            y = ms.ops.softmax(y[:, ::-1], -1)
        return self.fc(y) + self.table[3], {"y": y, "parts": 2}


class _Pictures(ms.nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.pool = ms.nn.Conv2d(1, 2, 3), ms.nn.MaxPool2d(2, 2)

    def construct(self, x: Any) -> Any:
        y = self.pool(ms.ops.relu(self.conv(x))).reshape(x.shape[0], -1)
        best = ms.ops.concat([y, ms.ops.cumsum(y, 1)], 1).argmax(1)
        return ms.ops.einsum("ij,kj->ik", y, y), ms.ops.one_hot(best, 64), y.var(1), ms.ops.pad(y, (1, 1)).sum()


def _programs() -> list[Files]:
    seeds = [(_Looping(), (ms.ops.ones((4, 3)), ms.Tensor([2.0]))), (_Pictures(), (ms.ops.ones((2, 1, 8, 8)),))]
    return [_of(lambda at: ms.export(net.set_train(), *x, file_name=str(at / "a.mindir"))) for net, x in seeds]


def _load_program(folder: Path) -> None:
    """Read it, make its Cell, print it."""
    saved = ms.load(str(folder / "a.mindir"))
    ms.nn.GraphCell(saved)
    str(saved)


def _run_program(folder: Path) -> None:
    """Read it and run it on small inputs. A program may loop for ever and ask for all memory: that is its right."""
    saved = ms.load(str(folder / "a.mindir"))
    types = [p.type for p in saved.graph.params[: saved.inputs]]
    if all(isinstance(t, TensorType) and t.is_static and t.size < 10_000 for t in types):
        inputs = [ms.Tensor(np.ones(t.ints(), t.dtype.numpy)) for t in types if isinstance(t, TensorType)]
        with contextlib.suppress(Late, MemoryError):
            signal.setitimer(signal.ITIMER_PROF, 0.5)
            ms.nn.GraphCell(saved)(*inputs)


def _compile_program(folder: Path) -> None:
    """The same in graph mode."""
    with set_context(mode=ms.GRAPH_MODE):
        _run_program(folder)


ATTRIBUTES = [*"01234", "-1", "-7", "True", "False", "None", "2.5", '"a"', '"sum"', "()", "(0,)", "(1, 1)", "(2, 2)",
              "(0, 0, 0, 0)", "(-1,)", "f32", "i64", "f16", "bool", str(2**31), str(2**62), "((0, 1), (1, 0))", "nan"]


def _program_changed(rng: Rng, content: bytes) -> bytes:
    """The text of a program, mostly its attributes and numbers."""
    header, data = opened(content)
    text = header["__metadata__"]["msnb.program"]
    values = [m for m in re.finditer(r"(?<==)(\w+|\"\w*\"|-?[\d.]+|\([^()]*\))(?=[,)])", text)]
    if rng.random() < 0.6 and values:
        at = rng.choice(values)
        value = rng.choice([*ATTRIBUTES, rng.choice(values)[0]])
        text = text[: at.start()] + value + text[at.end() :]
    else:
        text = text_changed(rng, text)
    header["__metadata__"]["msnb.program"] = text
    return sealed(header, data)


def _program_bombs() -> dict[str, Files]:
    (good,) = _programs()[:1]
    header, data = opened(good["a.mindir"])
    out = _tensor_bombs("a.mindir")
    lines = ["graph f(x: f32[3]) -> (f32[3])", "  %1 = add(x, x) : f32[3]"]
    lines += [f"  %{i} = add(%{i - 1}, x) : f32[3]" for i in range(2, 20_001)]
    nested = "".join(f"if(c) : f32[] then (): %{i} = " for i in range(20_000))
    texts = {
        "the end in a shape": "graph f(x: f32[2",
        "20,000 nodes": "\n".join([*lines, "  return %20000"]),
        "10^12 zeros": "graph f() -> (f32[1000000000000])\n  return f32[1000000000000]{all 0.0}",
        "many zeros": "graph f() -> ()\n" + "".join(f" %{i} = const f32[{10**6 + i}]{{all 0}}\n" for i in range(999)),
        "nested tuples": "graph f() -> ()\n  %1 = full(value=" + "(" * 500_000,
        "nested types": "graph f(x: " + "stack<" * 300_000,
        "nested bodies": "graph f(c: bool[]) -> ()\n %0 = " + nested,
        "a long number": "graph f(x: f32[" + "9" * 1_000_000 + "]) -> ()\n  return",
        "words": "x " * 1_000_000,
        "results": "graph f(x: f32[1000000000]) -> ()\n  %1 = unstack(x, axis=0) : f32[]\n  return",
        "results again": f"graph f(x: f32[4]) -> ()\n  %1 = split(x, axis=0, sizes=({2**62},)) : f32[]\n  return",
    }
    for title, text in texts.items():
        header["__metadata__"]["msnb.program"] = text
        out[title] = {"a.mindir": sealed(json.loads(json.dumps(header)), data)}
    return out


def _texts() -> list[Files]:
    graphs = [ms.load(str(_stored(files, "a.mindir"))).graph for files in _programs()]
    return [{"a.txt": print_graph(g).encode(), "constants": _npz(constants_of(g))} for g in graphs]


def _stored(files: Files, name: str) -> Path:
    path = Path(tempfile.mkdtemp()) / name
    path.write_bytes(files[name])
    return path


def _npz(arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def _load_text(folder: Path) -> None:
    with np.load(folder / "constants") as archive:
        constants = {name: archive[name] for name in archive.files}
    graph = parse((folder / "a.txt").read_text(encoding="utf-8", errors="surrogatepass"), constants)
    verify(graph)
    again = parse(print_graph(graph), constants_of(graph))
    assert len(again.nodes) == len(graph.nodes)


def _text_changed(rng: Rng, files: Files) -> Files:
    return {**files, "a.txt": _as_text(text_changed)(rng, files["a.txt"])}


# ---- rows ------------------------------------------------------------------------------------------------------------


def _records() -> list[Files]:
    def write(at: Path, shards: int) -> None:
        writer = ms.mindrecord.FileWriter(str(at / "a"), shard_num=shards)
        writer.set_header_size(1 << 14)
        writer.set_page_size(1 << 15)
        shapes = {"f": {"type": "float32", "shape": [-1, 2]}, "v": {"type": "int32", "shape": [-1]}}
        writer.add_schema({"s": {"type": "string"}, "b": {"type": "bytes"}, "n": {"type": "int64"}, **shapes})
        rows = [{"s": f"é{i}", "b": bytes(i), "f": np.ones((i, 2)), "n": i, "v": np.arange(i) * 99} for i in range(4)]
        writer.write_raw_data(rows)
        writer.commit()

    made = [_of(lambda at: write(at, 1)), _of(lambda at: write(at, 2))]
    return [{name: data for name, data in files.items() if not name.endswith(".db")} for files in made]


def _load_records(folder: Path) -> None:
    first = folder / ("a" if (folder / "a").exists() else "a0")
    for _ in ds.MindDataset(str(first), shuffle=False).create_tuple_iterator(num_epochs=1, output_numpy=True):
        pass


def records_changed(rng: Rng, content: bytes) -> bytes:
    """The header, or the bytes of one of its pages; seldom anything."""
    if rng.random() < 0.1:
        return bytes_changed(rng, content)
    size = int.from_bytes(content[:8], "little")
    if rng.random() < 0.5:
        text = _as_text(json_changed)(rng, content[8 : 8 + size])[: (1 << 14) - 8]
        return len(text).to_bytes(8, "little") + text + content[8 + len(text) :]
    page = rng.choice(json.loads(content[8 : 8 + size])["page"])
    start = (1 << 14) + (page["page_id"] << 15)
    stop = start + page["page_size"]
    return content[:start] + bytes_changed(rng, content[start:stop]) + content[stop:]


def _record_bombs() -> dict[str, Files]:
    (good,) = _records()[:1]
    size = int.from_bytes(good["a"][:8], "little")
    header = json.loads(good["a"][8 : 8 + size])
    lies: dict[str, dict[str, Any]] = {
        "a page of 10^12 bytes": {"page": [{**page, "page_size": 10**12} for page in header["page"]]},
        "10^12 rows": {"page": [{**page, "end_row_id": 10**12} for page in header["page"]]},
        "a header of 10^12 bytes": {"header_size": 10**12},
    }
    out = {}
    for title, lie in lies.items():
        text = json.dumps({**header, **lie}).encode()
        out[title] = {"a": len(text).to_bytes(8, "little") + text + good["a"][8 + len(text) :]}
    return out


# ---- pictures --------------------------------------------------------------------------------------------------------


def _idx(array: Any, magic: int) -> bytes:
    return struct.pack(f">{1 + array.ndim}I", magic, *array.shape) + array.astype(np.uint8).tobytes()


def _mnist() -> list[Files]:
    images, labels = _idx(np.arange(5 * 784).reshape(5, 28, 28) % 251, 0x803), _idx(np.arange(5), 0x801)
    plain = {"train-images-idx3-ubyte": images, "train-labels-idx1-ubyte": labels}
    return [plain, {f"{name}.gz": gzip.compress(data, mtime=0) for name, data in plain.items()}]


def idx_changed(rng: Rng, data: bytes) -> bytes:
    """Packed files are changed before or after they are packed."""
    if data[:2] == b"\x1f\x8b" and rng.random() < 0.5:
        return gzip.compress(bytes_changed(rng, gzip.decompress(data)), 1, mtime=0)
    return bytes_changed(rng, data)


def _idx_bombs() -> dict[str, Files]:
    plain, packed = _mnist()
    name = "train-images-idx3-ubyte.gz"
    zeros = bytes(1 << 20)
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as file:
        file.write(_idx(np.zeros((5, 28, 28)), 0x803))
        for _ in range(200):
            file.write(zeros)
    honest = struct.pack(">4I", 0x803, 200 << 20, 1, 1)
    lying = struct.pack(">4I", 0x803, 2**32 - 1, 2**32 - 1, 2**32 - 1)
    return {
        "200 MB behind 4,000 bytes": {**packed, name: out.getvalue()},
        "10^28 pixels": {**plain, name.removesuffix(".gz"): lying},
        "10^28 packed pixels": {**packed, name: gzip.compress(lying)},
        "200 MB, said so": {**packed, name: gzip.compress(honest + bytes(200 << 20), 1)},
    }


def _cifar() -> list[Files]:
    rows = np.arange(2 * 3073).reshape(2, 3073) % 251
    rows[:, 0] = [3, 9]
    return [{f"data_batch_{i}.bin": rows.astype(np.uint8).tobytes() for i in range(1, 6)}]


def _images() -> list[Files]:
    from PIL import Image

    pixels = (np.arange(24 * 17 * 3).reshape(24, 17, 3) * 7 % 256).astype(np.uint8)
    out = []
    for kind in ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF", "PPM"):
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, kind)
        out.append({"a": file.getvalue()})
    return out


def _image_bombs() -> dict[str, Files]:
    size = 30_000
    head = struct.pack(">II5B", size, size, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(1 << 26), 1)
    chunks = ((b"IHDR", head), (b"IDAT", rows), (b"IEND", b""))
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks
    )
    others = {"a large PPM": b"P6 60000 60000 255\n", "EPS": b"%!PS-Adobe-3.0 EPSF-3.0\n"}
    return {title: {"a": data} for title, data in {"900 million pixels": png, **others}.items()}


# ---- plans -----------------------------------------------------------------------------------------------------------


def _plan() -> Any:
    return ms.parallel.plan(_mlp(), ms.ops.ones((8, 4)), device_num=4)


def _mlp() -> Any:
    return ms.nn.SequentialCell(ms.nn.Dense(4, 8), ms.nn.ReLU(), ms.nn.Dense(8, 4))


_kept: dict[str, Any] = {}


def _load_strategies(folder: Path) -> None:
    _kept.setdefault("plan", _plan()).load(str(folder / "a.json"))


def _documents() -> list[Files]:
    trained = ms.parallel.plan(ms.nn.Dense(4, 4), ms.ops.ones((8, 4)), device_num=4, parallel_mode="data_parallel")
    return [{"a.json": to_text(plan.program).encode()} for plan in (_plan(), trained)]


def _document_bombs() -> dict[str, Files]:
    page = json.loads(_documents()[0]["a.json"])
    out = {"nested": {"a.json": b"[" * 100_000}}
    for title, place in {"4096^3 devices": [[0, [4096, 4096, 4096]]], "axes of one": [[0, [1] * 10_000]]}.items():
        out[title] = {"a.json": json.dumps({**page, "teams": place}).encode()}
    return out


def _snapshots() -> list[Files]:
    from msnb.base.files.tensor_file import encode

    weights = np.arange(8, dtype=np.float32).reshape(4, 2)
    page = {"format": "msnb sharded", "version": 2, "step": 3, "teams": [[0, [2]]], "params": {
        "w": {"team": 0, "dims": [[0], []], "shape": [4, 2], "dtype": "float32"},
        "b": {"team": 0, "dims": [[]], "shape": [2], "dtype": "float32"}}}  # fmt: skip
    parts = [{"w": weights[:2], "b": np.ones(2, np.float32)}, {"w": weights[2:]}]
    files = {f"rank-{i:04}.safetensors": encode(part, {}, CheckpointError) for i, part in enumerate(parts)}
    return [{"layout.json": json.dumps(page).encode(), **files}]


def _snapshot_changed(rng: Rng, files: Files) -> Files:
    name = rng.choice(sorted(files))
    change = _as_text(json_changed) if name.endswith(".json") else tensors_changed
    return {**files, name: change(rng, files[name])}


def _snapshot_bombs() -> dict[str, Files]:
    (good,) = _snapshots()
    page = json.loads(good["layout.json"])
    page["params"]["w"]["shape"] = [10**12, 2]
    return {"10^12 rows": {**good, "layout.json": json.dumps(page).encode()}}


# ---- all -------------------------------------------------------------------------------------------------------------

_CKPT, _DATA = (CheckpointError,), (DatasetError, FileNotFoundError)
FORMATS = {form.name: form for form in (
    Format("checkpoint", _checkpoints, lambda at: ms.load_checkpoint(str(at / "a.ckpt")), _one(tensors_changed), _CKPT,
           lambda: _tensor_bombs("a.ckpt")),
    Format("mindir", _programs, _load_program, _one(tensors_changed), _CKPT, _program_bombs),
    Format("programs", _programs, _run_program, _one(_program_changed), (MsnbError,)),
    Format("compiled", _programs, _compile_program, _one(_program_changed), (MsnbError,)),
    Format("ir", _texts, _load_text, _text_changed, (ParseError, VerifyError)),
    Format("records", _records, _load_records, _one(records_changed), _DATA, _record_bombs),
    Format("mnist", _mnist, lambda at: ds.MnistDataset(str(at), "train"), _one(idx_changed), _DATA, _idx_bombs),
    Format("cifar", _cifar, lambda at: ds.Cifar10Dataset(str(at), "train"), _one(bytes_changed), _DATA),
    Format("images", _images, lambda at: ds.vision.Decode()(np.fromfile(at / "a", np.uint8)), _one(bytes_changed),
           _DATA, _image_bombs),
    Format("words", lambda: [{"a": "the\ncat\nsät\n".encode()}], lambda at: ds.text.Vocab.from_file(at / "a"),
           _one(bytes_changed), (DatasetError, AttributeValueError)),
    Format("strategies", lambda: [{"a.json": json.dumps(_plan().to_dict()).encode()}], _load_strategies,
           _one(_as_text(json_changed)), (MsnbError,), lambda: {"nested": {"a.json": b"[" * 100_000}}),
    Format("documents", _documents, lambda at: from_text((at / "a.json").read_text(errors="surrogatepass")),
           _one(_as_text(json_changed)), (CheckpointError, AttributeValueError), _document_bombs),
    Format("snapshots", _snapshots, lambda at: load_sharded(at), _snapshot_changed, _CKPT, _snapshot_bombs),
)}  # fmt: skip
