"""Programs on disk with a right hash and a wrong content: never given to native code, always made again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from tests.devices.cpu.program_graphs import running_sum

pytest.importorskip("llvmlite")
from msnb.base import disk_cache
from msnb.devices.cpu.program import bytecode as m

X = np.linspace(-1, 1, 900, dtype=np.float32).reshape(30, 30)


@pytest.fixture(autouse=True)
def _kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MSNB_CACHE_DIR", str(tmp_path))
    with ms.set_context(jit_level="O1"):
        yield


def looping(x: ms.Tensor) -> ms.Tensor:
    n = ms.Tensor(0)
    while n < 3:
        x, n = ops.tanh(x @ x * 1.5), n + 1
    return running_sum(x) + 2


def run() -> tuple[bool, Any]:
    jitted = ms.jit(lambda x: ms.value_and_grad(lambda x: looping(x).sum())(x))
    out = jitted(ms.Tensor(X))
    return jitted.versions[0].compiled.recalled, [v.asnumpy() for v in out]


def parts(data: bytes) -> tuple[list[int], Any, bytes]:
    end = 8 + int.from_bytes(data[:8], "little")
    sizes, body = json.loads(data[8:end])
    return sizes, body, data[end:]


def joined(sizes: list[int], body: Any, rest: bytes) -> bytes:
    text = json.dumps([sizes, body]).encode()
    return len(text).to_bytes(8, "little") + text + rest


def places(body: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the numbers of the JSON part stand that count or name something."""
    if isinstance(body, dict):
        for name, value in body.items():
            if name != "links":
                yield from places(value, (*path, name))
    elif isinstance(body, list):
        for i, value in enumerate(body):
            yield from places(value, (*path, i))
    elif type(body) is int and path[0] not in ("steps", "forms"):
        yield path


def entry(tmp_path: Path) -> tuple[str, bytes, Any]:
    recalled, want = run()
    assert not recalled
    (file,) = tmp_path.glob("kernels/*.p")
    data = disk_cache.read(file.stem, disk_cache.PROGRAM)
    assert data is not None
    return file.stem, data, want


@pytest.mark.long
def test_numbers_out_of_range_make_no_program(tmp_path: Path, rng: np.random.Generator) -> None:
    key, data, want = entry(tmp_path)
    sizes, body, rest = parts(data)
    found = list(places(body))
    assert len(found) > 20
    for at in rng.permutation(len(found))[:25]:
        path = found[at]
        if (
            path[0] == "counts"
            and path[1] >= 3
            or "consts" in path
            and len(path) > 3
            or path[0] in ("tensors", "fresh")
        ):
            continue  # sizes of memory and types: another program, not a damaged one
        changed = json.loads(json.dumps(body))
        spot = changed
        for step in path[:-1]:
            spot = spot[step]
        spot[path[-1]] = int(rng.choice([-7, 10**9, 2**62]))
        disk_cache.write(key, joined(sizes, changed, rest), disk_cache.PROGRAM)
        recalled, out = run()
        assert not recalled, path
        for a, b in zip(out, want):
            np.testing.assert_array_equal(a, b)


@pytest.mark.long
@pytest.mark.parametrize("wrong", [-7, 10**6, 2**45])
def test_words_of_the_table_out_of_range_make_no_program(tmp_path: Path, wrong: int) -> None:
    key, data, want = entry(tmp_path)
    sizes, body, rest = parts(data)
    number, width = body["table"][:2]
    start = sum(sizes[:number])
    table = np.frombuffer(rest[start : start + sizes[number]], np.int64).reshape(-1, width)
    seen: set[int] = set()
    for row in range(len(table)):
        op = int(table[row, 0])
        if op in seen or op in (m.RETURN, m.COMMIT, m.KERNEL, m.HOST):
            continue
        seen.add(op)
        broken = table.copy()
        broken[row, 1] = wrong  # a slot, a counter or an instruction in all of these
        blob = rest[:start] + broken.tobytes() + rest[start + sizes[number] :]
        disk_cache.write(key, joined(sizes, body, blob), disk_cache.PROGRAM)
        recalled, out = run()
        assert not recalled, m.NAMES[op]
        np.testing.assert_array_equal(out[0], want[0])
    assert len(seen) >= 4


@pytest.mark.parametrize("damage", ["short table", "no end", "unknown instruction", "no functions", "deep"])
def test_tables_that_are_none(tmp_path: Path, damage: str) -> None:
    key, data, want = entry(tmp_path)
    sizes, body, rest = parts(data)
    number, width = body["table"][:2]
    start, end = sum(sizes[:number]), sum(sizes[: number + 1])
    table = np.frombuffer(rest[start:end], np.int64).reshape(-1, width).copy()
    if damage == "short table":
        sizes = [s // 2 // 8 * 8 if i == number else s for i, s in enumerate(sizes)]
    elif damage == "no end":
        table[-1, 0] = m.COMMIT
    elif damage == "unknown instruction":
        table[0, 0] = 99
    elif damage == "no functions":
        body["places"][0] = body["places"][1]
    elif damage == "deep":
        body["answers"] = json.loads("[" * 300 + "]" * 300)
    disk_cache.write(key, joined(sizes, body, rest[:start] + table.tobytes() + rest[end:]), disk_cache.PROGRAM)
    recalled, out = run()
    assert not recalled
    np.testing.assert_array_equal(out[0], want[0])


def test_numbers_from_the_end_make_no_program(tmp_path: Path) -> None:
    """-1 is a number to Python's lists; here it would name another table, whose words native code would follow."""
    key, data, want = entry(tmp_path)
    sizes, body, rest = parts(data)
    for at in (0, 2):
        for wrong in range(-len(sizes), 0):
            changed = json.loads(json.dumps(body))
            changed["table"][at] = wrong
            disk_cache.write(key, joined(sizes, changed, rest), disk_cache.PROGRAM)
            recalled, out = run()
            assert not recalled, (at, wrong)
            for a, b in zip(out, want):
                np.testing.assert_array_equal(a, b)
