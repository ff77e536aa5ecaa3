"""Programs on disk: the image of a program as bytes, found again by the content of the graph it was made from.

    key     sha256 of  the captured graph (``ir.analysis.structural_hash.content_of``): structure, types, attributes,
                       constants; gradients stand in it as they were asked for (``autodiff.deferred_gradient``), not as
                       they were worked out what msnb makes of it: the sources of core, ops, ir, autodiff, passes and
                       devices; layout and fusion follow from them and from the CPU
                       the toolchain: llvmlite, LLVM, CPU and its features; oneDNN; NumPy; threads and cores
    value   JSON (structure) and arrays (numbers), nothing that is executed: machine code is named by its key in the
            cache of kernels, a primitive of oneDNN is described and made again, a step in Python is an op's name

No address is kept, no pickle is read. What names something that is not here any more, or is not what this version
writes, counts as not there: the program is compiled again. Constants and Python callables of the captured graph are not
kept but counted: equal keys have equal ones at equal places, so the reader's own are used.
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.base import disk_cache, timed
from msnb.core import StackType, TensorType, TokenType, Type, dtypes, tensor_type
from msnb.core.storage.memory_format import BlockedFormat
from msnb.devices.cpu import thread_pool
from msnb.devices.cpu.kernels.fourier import tables
from msnb.devices.cpu.kernels.lapack_library import linked
from msnb.devices.cpu.llvm.jit import Library, Symbol, toolchain
from msnb.devices.cpu.native_kernel import Relocation
from msnb.devices.cpu.onednn.c_api import api
from msnb.devices.cpu.onednn.shared_library import PACKAGE
from msnb.devices.cpu.onednn.trampoline import PrimitiveRun
from msnb.devices.cpu.program.program_image import FIXED, Fresh, Image, ProgramTable, Step
from msnb.devices.cpu.program.run.image_check import need_sound
from msnb.ir import HOST_CALL, Const, HostFn, Node, Value
from msnb.ir.analysis.structural_hash import Content
from msnb.ops.definition.record import find

FORMAT = "2"
MOST_BYTES = 1 << 25
_ROOMS = ("base", "core", "ops", "ir", "autodiff", "devices", "graph/compile")
_ADDRESSES = range(1 << 46, 1 << 47)
_PLAIN = (bool, int, float, str, type(None))


class Unstorable(Exception):
    """This program stays in its process; why, in words."""


# ---- keys ----


def _library() -> str:
    """The version of oneDNN; nothing where it does not load."""
    return _version() if api() is not None else ""


@functools.lru_cache(maxsize=1)
def _version() -> str:
    return importlib.metadata.version(PACKAGE)


def key_of(content: Content, packs: bool = False) -> str:
    """The name of a program's entry; ``packs``: its state may lie in blocks."""
    pool = (str(thread_pool.pointers()[0] is not None), str(thread_pool.count()), str(thread_pool.cores()))
    around = (np.__version__, sys.byteorder, _library(), *pool, *toolchain())
    return disk_cache.key_of(FORMAT, str(packs), content.key, disk_cache.sources(*_ROOMS), *around)


# ---- links ----


def _code(key: str, name: str) -> Relocation:
    return Symbol(Library.kept(key), name)


def _onednn(description: Any, count: int, operands: Any) -> Relocation:
    return PrimitiveRun.again(description, count, operands)


LINKS: dict[str, Callable[..., Relocation]] = {
    "code": _code, "onednn": _onednn, "lapack": linked, "roots": tables.linked,
}  # fmt: skip
"""How links of each kind are made from their data; they raise LookupError where that cannot be."""


# ---- writing ----


class _ImageWriter:
    """Objects as JSON, arrays beside it."""

    def __init__(self, content: Content) -> None:
        self.known = {const: i for i, const in enumerate(content.constants)}
        self.hosts = {id(host): i for i, host in enumerate(content.hosts)}
        self.blobs: list[bytes] = []

    def blob(self, array: Any) -> int:
        self.blobs.append(np.asarray(array, order="C").tobytes())
        return len(self.blobs) - 1

    def ints(self, rows: Any) -> list[int]:
        """A table of ints: its blob and width."""
        table = np.asarray(rows, np.int64).reshape(len(rows), -1 if len(rows) else 1)
        return [self.blob(table), table.shape[1]]

    def type(self, t: Type) -> Any:
        if isinstance(t, TensorType):
            return [t.ints(), t.dtype.short, t.weak]
        if isinstance(t, StackType):
            return {"stack": self.type(t.element)}
        if isinstance(t, TokenType):
            return "token"
        raise Unstorable(f"a value of type {t}")

    def value(self, x: Any) -> Any:
        """An attribute."""
        if type(x) in _PLAIN:
            return x
        if isinstance(x, tuple):
            return {"tuple": [self.value(v) for v in x]}
        if isinstance(x, dtypes.DType):
            return {"dtype": x.short}
        if isinstance(x, complex):
            return {"complex": [x.real, x.imag]}
        if isinstance(x, slice):
            return {"slice": [self.value(v) for v in (x.start, x.stop, x.step)]}
        if isinstance(x, HostFn) and id(x) in self.hosts:
            return {"host": self.hosts[id(x)]}
        if isinstance(x, Const):
            return {"const": self.const(x)}
        if isinstance(x, (TensorType, StackType)):
            return {"type": self.type(x)}
        raise Unstorable(f"an attribute of class {type(x).__name__}")

    def const(self, const: Const | None) -> Any:
        if const is None or const in self.known:
            return None if const is None else self.known[const]
        data = self.value(const.data) if const.type.weak else self.blob(np.asarray(const.data, const.type.dtype.numpy))
        return [self.type(const.type), data]

    def step(self, step: Step) -> Any:
        node = step.node
        if node.graphs or ("control" in node.op.traits and node.op is not HOST_CALL):
            raise Unstorable(f"{node.op.name} in Python")
        types = [[self.type(v.type) for v in side] for side in (node.inputs, node.outputs)]
        attrs = {name: self.value(v) for name, v in node.attrs.items()}
        return [node.op.name, attrs, *types, step.reads, step.writes]


def encoded(image: Image, content: Content) -> bytes:
    """The bytes of a program.

    Raises:
        Unstorable: it holds what only this process has.
    """
    if ((image.table.words >= _ADDRESSES.start) & (image.table.words < _ADDRESSES.stop)).any():
        raise Unstorable("a word that looks like an address and is no link")
    w = _ImageWriter(content)
    body = {
        "table": [*w.ints(image.table.rows), w.blob(image.table.words)],
        "links": [link.data() for link in image.table.links],
        "places": [w.ints(image.table.row_links), w.ints(image.table.word_links)],
        "counts": [*image.counts, image.peak, image.swaps, image.params],
        "arena": w.ints(image.arena),
        "tensors": [[i, slot, w.type(t)] for i, slot, t in image.tensors],
        "numbers": [[i, slot, t.short] for i, slot, t in image.numbers],
        "consts": [[slot, w.const(c)] for slot, c in image.consts],
        "bottoms": [[slot, w.type(t)] for slot, t in image.bottoms],
        "fresh": [[f.slot, w.type(f.type), f.lender, f.state] for f in image.fresh],
        "answers": [[k, w.const(v) if k == FIXED else v] for k, v in image.answers],
        "steps": [w.step(s) for s in image.steps],
        "forms": [[i, *blocks] for i, blocks in image.forms.items()],
    }
    text = json.dumps([[len(b) for b in w.blobs], body], separators=(",", ":")).encode()
    return b"".join([len(text).to_bytes(8, "little"), text, *w.blobs])


# ---- reading ----


class _ImageReader:
    def __init__(self, data: bytes, content: Content) -> None:
        end = 8 + int.from_bytes(data[:8], "little")
        sizes, self.body = json.loads(data[8:end])
        self.content = content
        self._ends = np.cumsum([end, *sizes]).tolist()
        self._data = data

    def blob(self, number: int, dtype: Any = np.int64) -> Any:
        if not 0 <= number < len(self._ends) - 1:  # a negative one would be another table, counted from the end
            raise LookupError(f"there is no table {number}")
        return np.frombuffer(self._data[self._ends[number] : self._ends[number + 1]], dtype)

    def rows(self, number: int, width: int) -> list[Any]:
        """A table of ints as tuples."""
        return list(map(tuple, self.blob(number).reshape(-1, width).tolist()))

    def type(self, data: Any) -> Any:
        if data == "token":
            return TokenType()
        if isinstance(data, dict):
            return StackType(self.type(data["stack"]))
        return tensor_type(tuple(data[0]), _DTYPES[data[1]], data[2])

    def value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        ((kind, x),) = data.items()
        return _VALUES[kind](self, x)

    def const(self, data: Any) -> Any:
        if data is None or isinstance(data, int):
            return None if data is None else _numbered(self.content.constants, data)
        t = self.type(data[0])
        if t.weak:
            return Const(self.value(data[1]), t)
        return Const(self.blob(data[1], t.dtype.numpy).reshape(t.ints()), t)

    def step(self, data: Any) -> Step:
        name, attrs, ins, outs, reads, writes = data
        inputs = [Value(self.type(t)) for t in ins]
        found = {k: self.value(v) for k, v in attrs.items()}
        return Step(Node(find(name), inputs, found, [self.type(t) for t in outs]), tuple(reads), tuple(writes))


def _numbered(found: Sequence[Any], number: int) -> Any:
    """What a program calls by its number."""
    if not 0 <= number < len(found):
        raise LookupError(f"there is no number {number} of {len(found)}")
    return found[number]


_DTYPES: dict[str, dtypes.DType] = {t.short: t for t in dtypes.ALL}
_VALUES: dict[str, Callable[[_ImageReader, Any], Any]] = {
    "tuple": lambda r, x: tuple(r.value(v) for v in x),
    "dtype": lambda r, x: _DTYPES[x],
    "complex": lambda r, x: complex(*x),
    "slice": lambda r, x: slice(*(r.value(v) for v in x)),
    "host": lambda r, x: _numbered(r.content.hosts, x),
    "const": lambda r, x: r.const(x),
    "type": lambda r, x: r.type(x),
}


def decoded(data: bytes, content: Content) -> Image:
    """A program from its bytes.

    Raises:
        LookupError: something that it names is not here.
        ValueError, TypeError: it is not what ``encoded`` writes.
    """
    r = _ImageReader(data, content)
    b = r.body
    rows, width, words = b["table"]
    *counts, peak, swaps, params = b["counts"]
    row_links, word_links = (r.rows(*place) for place in b["places"])
    links = [LINKS[kind](*rest) for kind, *rest in b["links"]]
    found = Image(
        ProgramTable(r.blob(rows).reshape(-1, width), r.blob(words), links, row_links, word_links),
        (counts[0], counts[1], counts[2]), peak, swaps, r.rows(*b["arena"]), params,
        [(i, slot, r.type(t)) for i, slot, t in b["tensors"]],
        [(i, slot, _DTYPES[t]) for i, slot, t in b["numbers"]],
        [(slot, r.const(c)) for slot, c in b["consts"]],
        [(slot, r.type(t)) for slot, t in b["bottoms"]],
        [Fresh(slot, r.type(t), lender, state) for slot, t, lender, state in b["fresh"]],
        [(k, r.const(v) if k == FIXED else v) for k, v in b["answers"]],
        [r.step(s) for s in b["steps"]],
        {i: BlockedFormat(tuple(order), tuple(map(tuple, inner))) for i, order, inner in b["forms"]},
    )  # fmt: skip
    need_sound(found)
    return found


# ---- the cache ----


@timed("program cache")
def read(key: str, content: Content) -> Image | None:
    """The program kept under this key, or None."""
    data = disk_cache.read(key, disk_cache.PROGRAM)
    if data is None:
        return None
    try:
        return decoded(data, content)
    except (LookupError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


@timed("program cache")
def write(key: str, image: Image, content: Content) -> None:
    """Keep a program, if it can be kept."""
    try:
        data = encoded(image, content)
    except (Unstorable, NotImplementedError):
        return
    if len(data) <= MOST_BYTES:
        disk_cache.write(key, data, disk_cache.PROGRAM)
