"""Programs on disk: found again by content, the same as made anew, and never trusted further than their bytes go."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base import events
from msnb.base.errors import MsnbError
from msnb.graph.compile import CompiledProgram

pytest.importorskip("llvmlite")
from msnb.base import disk_cache
from msnb.devices.cpu.program.run import program_cache
from tests.devices.cpu.program_graphs import running_sum


@pytest.fixture(autouse=True)
def _machine_code() -> Iterator[None]:
    with ms.set_context(jit_level="O1"):
        yield


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MSNB_CACHE_DIR", str(tmp_path))
    return tmp_path / "kernels"


X = np.linspace(-1, 1, 40_000, dtype=np.float32)


def compiled(fn: Any, *args: Any) -> CompiledProgram:
    jitted = ms.jit(fn)
    jitted(*args)
    found: CompiledProgram = jitted.versions[0].compiled
    return found


def both(make: Callable[[], Any], *args: Any) -> tuple[CompiledProgram, CompiledProgram]:
    """The program made anew, and the one that its twin finds on disk."""
    found = compiled(make(), *args), compiled(make(), *args)
    assert [c.recalled for c in found] == [False, True]
    return found


def softmaxed(scale: float = 2.0) -> Callable[[ms.Tensor], ms.Tensor]:
    def fn(x: ms.Tensor) -> ms.Tensor:
        return ops.softmax(x * 2 + ms.Tensor(np.full(3, scale, np.float32)).sum()).exp()

    return fn


class Momentum:
    """A training step: parameters, a matrix product, a gather, dropout, state of the optimizer."""

    def __init__(self, *, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.net = nn.SequentialCell(nn.Dense(64, 64), nn.ReLU(), nn.Dropout(p=0.3), nn.Dense(64, 10)).set_train()
        for p in self.net.trainable_params():
            p.set_data(ms.Tensor(rng.normal(size=p.shape).astype(np.float32)))
        self.optimizer = nn.Momentum(self.net.trainable_params(), 0.1, 0.9)
        self.loss = nn.CrossEntropyLoss()

    def step(self) -> Callable[..., Any]:
        gradient = ms.value_and_grad(lambda x, y: self.loss(self.net(x), y), None, self.optimizer.parameters)

        def train(x: ms.Tensor, y: ms.Tensor) -> Any:
            value, gradients = gradient(x, y)
            self.optimizer(gradients)
            return value

        return train


def looping(x: ms.Tensor) -> Any:
    def inner(x: ms.Tensor) -> ms.Tensor:
        n = ms.Tensor(0)
        while n < 3:
            x, n = ops.tanh(x * 1.5), n + 1
        return (x * x).sum()

    return ms.value_and_grad(inner)(x)


# ---- found again ----------------------------------------------------------------------------------------------------


def test_a_program_is_found_again_and_no_pass_runs(folder: Path) -> None:
    new, old = both(softmaxed, ms.Tensor(X))
    assert list(new.timings)[0] == "captured" and list(old.timings) == ["compile"]
    np.testing.assert_array_equal(new([X])[0], old([X])[0])
    assert len(list(folder.glob("*.p"))) == 1


def test_what_people_are_shown_of_it_is_worked_out_when_asked(folder: Path) -> None:
    new, old = both(softmaxed, ms.Tensor(X))
    assert str(old.graph) == str(new.graph) and old.counts == new.counts
    assert [s.name for s in old.stages] == [s.name for s in new.stages]
    assert [(v.offset, v.bytes) for v in old.executable.memory_plan] == [
        (v.offset, v.bytes) for v in new.executable.memory_plan
    ]
    shown = ms.base.device_registry.current().kernels_of(old.executable)
    assert [k.kernel for k in shown] == [k.kernel for k in ms.base.device_registry.current().kernels_of(new.executable)]


def test_training_goes_on_alike(folder: Path) -> None:
    rng = np.random.default_rng(0)
    x, y = ms.Tensor(rng.normal(size=(32, 64)).astype(np.float32)), ms.Tensor(np.arange(32, dtype=np.int32) % 10)
    seen: list[list[Any]] = []
    for _ in range(2):
        ms.set_seed(3)
        trained = Momentum()
        step = ms.jit(trained.step())
        losses = [float(step(x, y)) for _ in range(4)]
        seen.append([step.versions[0].compiled.recalled, losses, *(p.asnumpy() for p in trained.net.get_parameters())])
    (new, *mine), (old, *theirs) = seen
    assert (new, old) == (False, True)
    for a, b in zip(mine, theirs):
        np.testing.assert_array_equal(a, b)


def test_loops_and_their_gradients(folder: Path) -> None:
    new, old = both(lambda: lambda x: looping(x), ms.Tensor(X[:1000]))
    for a, b in zip(new([X[:1000]]), old([X[:1000]])):
        np.testing.assert_array_equal(a, b)


def test_explain_says_where_it_came_from(folder: Path) -> None:
    fn = softmaxed()
    both(lambda: fn, ms.Tensor(X))
    again = ms.jit(fn)
    again(ms.Tensor(X))
    assert "program from the disk cache" in ms.explain(again, timing=True)


# ---- and only where it is the same ----------------------------------------------------------------------------------


def test_another_constant_is_another_program(folder: Path) -> None:
    one, two = (compiled(softmaxed(s), ms.Tensor(X)) for s in (2.0, 3.0))
    assert not two.recalled and not one.recalled


def test_another_number_of_threads_is_another_program(folder: Path) -> None:
    compiled(softmaxed(), ms.Tensor(X))
    with ms.set_context(runtime_num_threads=1):
        assert compiled(softmaxed(), ms.Tensor(X)).recalled == (program_cache.thread_pool.cores() == 1)


def test_other_sources_are_another_program(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(softmaxed(), ms.Tensor(X))
    monkeypatch.setattr(disk_cache, "sources", lambda *rooms: "edited")
    assert not compiled(softmaxed(), ms.Tensor(X)).recalled


def test_without_onednn_it_is_another_program(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = program_cache.api() is not None
    compiled(softmaxed(), ms.Tensor(X))
    monkeypatch.setattr(program_cache, "api", lambda: None)
    assert compiled(softmaxed(), ms.Tensor(X)).recalled != known


def test_who_watches_the_passes_sees_them(folder: Path) -> None:
    compiled(softmaxed(), ms.Tensor(X))
    heard: list[str] = []
    with events.listening("stage", lambda **told: heard.append(told["name"])):
        assert not compiled(softmaxed(), ms.Tensor(X)).recalled
    assert "captured" in heard


def test_an_op_from_elsewhere_is_not_kept(folder: Path) -> None:
    from msnb.ops.definition import record

    name = "op_of_this_test"
    op = record.define(name, "x", infer=lambda x: x, body=lambda xp, x: x + 1, doc="Adds one.", no_grad="a test")
    try:
        fn = lambda: lambda x: op(ops.exp(x))
        assert [compiled(fn(), ms.Tensor(X)).recalled for _ in range(2)] == [False, False]
    finally:
        del record.REGISTRY[name]


# ---- errors and Python in it ----------------------------------------------------------------------------------------


def test_an_error_is_that_of_the_program_at_hand(folder: Path) -> None:
    def first(x: ms.Tensor) -> ms.Tensor:
        y = ops.exp(x)
        assert y.sum() > 0, "said by the first"
        return y

    def second(x: ms.Tensor) -> ms.Tensor:
        y = ops.exp(x)

        assert y.sum() > 0, "said by the second"
        return y

    compiled(first, ms.Tensor(X))
    jitted = ms.jit(second)
    jitted(ms.Tensor(X))
    assert jitted.versions[0].compiled.recalled
    with pytest.raises(AssertionError, match="said by the second") as told:
        jitted(ms.Tensor(np.full_like(X, np.nan)))
    lines = [entry.lineno + 1 for entry in told.traceback if entry.path == Path(__file__)]
    assert second.__code__.co_firstlineno + 3 in lines


def test_steps_in_python_are_found_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def make(word: str) -> Callable[[ms.Tensor], ms.Tensor]:
        def fn(x: ms.Tensor) -> ms.Tensor:
            y = running_sum(ops.exp(x))
            ops.print(word, y.shape)
            return y + 1

        return fn

    new, old = both(lambda: make("one"), ms.Tensor(X))
    assert capsys.readouterr().out.split().count("one") == 2
    np.testing.assert_array_equal(new([X])[0], old([X])[0])
    assert old.executable.host_steps == ["linear_recurrence", "print"]
    assert not compiled(make("two"), ms.Tensor(X)).recalled and "two" in capsys.readouterr().out


# ---- on disk --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "foreign", "sound but nonsense", "another program"])
def test_a_broken_entry_is_made_again(folder: Path, damage: str) -> None:
    want = compiled(softmaxed(), ms.Tensor(X))([X])[0]
    (entry,) = folder.glob("*.p")
    data = entry.read_bytes()
    key = entry.stem
    if damage == "sound but nonsense":
        disk_cache.write(key, (2).to_bytes(8, "little") + b"[]", disk_cache.PROGRAM)
    elif damage == "another program":
        disk_cache.write(key, b'\x10\0\0\0\0\0\0\0[[],{"table":[]}]', disk_cache.PROGRAM)
    else:
        broken = {"cut": data[:-7], "flipped": data[:-7] + bytes([data[-7] ^ 1]) + data[-6:], "empty": b"",
                  "foreign": b"\x80\x04" + data}  # fmt: skip
        entry.write_bytes(broken[damage])
    again = compiled(softmaxed(), ms.Tensor(X))
    assert not again.recalled and entry.read_bytes() == data
    np.testing.assert_array_equal(again([X])[0], want)


def test_a_program_whose_kernels_are_gone_is_made_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from msnb.devices.cpu.llvm import jit

    want = compiled(softmaxed(), ms.Tensor(X))([X])[0]
    for code in folder.glob("*.o"):
        code.unlink()
    monkeypatch.setattr(jit, "_loaded", {})
    again = compiled(softmaxed(), ms.Tensor(X))
    assert not again.recalled
    np.testing.assert_array_equal(again([X])[0], want)


def test_no_cache_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSNB_CACHE_DIR", "")
    monkeypatch.setattr(program_cache, "key_of", lambda content: pytest.fail("nobody asked for a key"))
    assert [compiled(softmaxed(), ms.Tensor(X)).recalled for _ in range(2)] == [False, False]


def test_a_word_that_looks_like_an_address_keeps_a_program_off_the_disk(folder: Path) -> None:
    program = compiled(softmaxed(), ms.Tensor(X))
    content = disk_content(program)
    image = program.executable.image
    image.table.words = np.append(image.table.words, np.array([X.ctypes.data], np.int64))
    with pytest.raises(program_cache.Unstorable, match="address"):
        program_cache.encoded(image, content)


def disk_content(program: CompiledProgram) -> Any:
    from msnb.ir.analysis.structural_hash import content_of

    found = content_of(program.source)
    assert found is not None
    return found


def test_bytes_and_back(folder: Path) -> None:
    program = compiled(lambda x: looping(x), ms.Tensor(X[:1000]))
    content, image = disk_content(program), program.executable.image
    data = program_cache.encoded(image, content)
    assert program_cache.encoded(program_cache.decoded(data, content), content) == data


_ELSEWHERE = """
import sys
import numpy as np
import msnb as ms
from pathlib import Path
from tests.devices.cpu.program_graphs import running_sum
from tests.devices.cpu.test_program_cache import Momentum
with ms.set_context(jit_level="O1"):
    step = ms.jit(Momentum().step())
    ms.set_seed(3)
    print(float(step(ms.Tensor(np.ones((32, 64), np.float32)), ms.Tensor(np.zeros(32, np.int32)))))
    print(step.versions[0].compiled.recalled)
"""


@pytest.mark.slow
def test_another_process_finds_it_and_writes_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    run = lambda: subprocess.run(
        [sys.executable, "-c", _ELSEWHERE], check=True, capture_output=True, text=True, cwd=Path(__file__).parents[3]
    ).stdout.split()
    loss, recalled = run()
    entries = {p: p.read_bytes() for p in folder.glob("*.p")}
    assert recalled == "False" and entries
    assert run() == [loss, "True"]
    for entry in entries:
        entry.unlink()
    assert run() == [loss, "False"]
    assert {p: p.read_bytes() for p in folder.glob("*.p")} == entries  # where things lie in memory is not in there


def test_a_failed_call_of_a_recalled_program_changes_nothing(folder: Path) -> None:
    w = ms.Parameter(np.ones(40_000, np.float32), name="w")

    def make() -> Callable[[ms.Tensor], ms.Tensor]:
        def fn(x: ms.Tensor) -> ms.Tensor:
            ops.assign(w, w * 0.5 + x.sum())
            assert x.sum() > -1, "too small"
            return w.sum()

        return fn

    compiled(make(), ms.Tensor(X))
    jitted = ms.jit(make())
    jitted(ms.Tensor(X))
    assert jitted.versions[0].compiled.recalled
    before = w.asnumpy().copy()
    with pytest.raises((AssertionError, MsnbError), match="too small"):
        jitted(ms.Tensor(X - 1))
    np.testing.assert_array_equal(w.asnumpy(), before)
