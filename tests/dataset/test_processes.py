"""`python_multiprocessing=True`: the rows, draws, order and errors of threads, from processes that leave nothing."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import numpy as np
import pytest
import worker_material as material

import msnb as ms
import msnb.dataset as ds
from msnb.base import events
from msnb.base.errors import DatasetError
from msnb.dataset.pipeline.workers import worker_pool
from tests.waiting import PATIENCE, eventually

HOW = [dict(), dict(num_parallel_workers=3), dict(num_parallel_workers=1, python_multiprocessing=True),
       dict(num_parallel_workers=2, python_multiprocessing=True)]  # fmt: skip
TWO = dict(num_parallel_workers=2, python_multiprocessing=True)


def rows(data, epochs=1):
    iterator = data.create_tuple_iterator(num_epochs=epochs, output_numpy=True)
    return [[np.array(v) for v in row] for _ in range(epochs) for row in iterator]


def same(a, b):
    assert len(a) == len(b)
    for one, other in zip(a, b):
        for x, y in zip(one, other, strict=True):
            np.testing.assert_array_equal(x, y)
            assert x.dtype == y.dtype


def numbers(n=8):
    return ds.NumpySlicesDataset(np.arange(float(n)), "x", shuffle=False)


@pytest.fixture
def tag(monkeypatch):
    word = f"MSNB_TEST_TAG_{uuid.uuid4().hex}"
    monkeypatch.setenv(word, "1")
    return word


def marked(tag):
    """Processes that were begun with the tag."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if tag.encode() in (folder / "environ").read_bytes() and int(folder.name) != os.getpid():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


# ---- the same rows ---------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_rows_draws_and_order_are_the_same_whoever_works():
    """Three steps in one chain: a source with draws of its own, a map that draws, a per_batch_map that draws."""

    def chain(how):
        ds.config.set_seed(11)
        data = ds.GeneratorDataset(material.Rows(), ["x", "n", "r"], shuffle=True, **how)
        data = data.map(material.jitter, "x", **how)
        return rows(data.batch(4, per_batch_map=material.pairs, input_columns="x", output_columns=["x", "y"], **how), 2)

    first, *others = [chain(how) for how in HOW]
    assert len(first) == 6 and not np.array_equal(first[0][0], first[3][0]), "epochs differ"
    for other in others:
        same(first, other)


def test_global_generators_follow_the_row_and_not_the_worker():
    ds.config.set_seed(3)
    found = [rows(numbers().map(material.from_global, **how)) for how in HOW[2:]]
    same(*found)
    drawn = np.array([row[0] for row in found[0]])
    assert all(len(set(column)) == len(drawn) for column in drawn.T), "no two rows draw alike"


@pytest.mark.parametrize("dtype", ["uint8", "float32", "bool", "complex64", "U5"])
def test_arrays_of_all_sizes_and_layouts_come_back(dtype):
    table = [np.zeros((), dtype), np.zeros((0, 3), dtype), np.ones((3, 5), dtype).T, np.ones((500, 400), dtype)[::2],
             np.ones((300, 300), dtype)]  # fmt: skip
    data = ds.GeneratorDataset(table, ["x"], shuffle=False, **TWO).map(lambda x: x, **TWO)
    found = rows(data)
    for want, (got,) in zip(table, found, strict=True):
        np.testing.assert_array_equal(want, got)
        assert got.dtype == want.dtype


def test_arrays_that_come_back_may_be_written():
    data = numbers(3).map(lambda x: np.full((200, 200), x), **TWO)
    for (x,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
        x += 1
        assert (x == x[0, 0]).all()


def test_large_arrays_are_not_pickled(monkeypatch):
    """What goes through the sockets is small, in both directions."""
    from msnb.dataset.pipeline.workers import worker_channel

    sizes = []
    real = worker_channel.receive_parts

    def measured(link, shared=False):
        data, buffers = real(link, shared)
        sizes.append(len(data))
        return data, buffers

    monkeypatch.setattr(worker_channel, "receive_parts", measured)
    big = [np.full((500, 500), float(i)) for i in range(4)]
    found = rows(ds.GeneratorDataset(big, ["x"], shuffle=False, **TWO).map(lambda x: x + 1, **TWO))
    assert [float(x[0, 0]) for (x,) in found] == [1, 2, 3, 4]
    assert sizes and max(sizes) < 2000


def test_what_the_program_changed_is_seen_in_the_next_epoch():
    source, factor = [1.0, 2.0], [10]
    data = ds.GeneratorDataset(source, ["x"], shuffle=False, **TWO).map(lambda x: x * factor[0], **TWO)
    assert [float(x) for (x,) in rows(data)] == [10, 20]
    source[0], factor[0] = 5.0, 100
    assert [float(x) for (x,) in rows(data)] == [500, 200]


def test_the_processes_stay_for_the_next_epoch_and_are_as_many_as_asked():
    data = numbers(40).map(material.whose, **TWO)
    pids = {int(x) for (x,) in rows(data, 3)}
    assert len(pids) <= 2 and os.getpid() not in pids


def test_two_iterators_at_once_share_the_workers():
    data = numbers(10).map(lambda x: x + 1, **TWO)
    a, b = (data.create_tuple_iterator(num_epochs=1, output_numpy=True) for _ in range(2))
    found = [(float(x), float(y)) for (x,), (y,) in zip(a, b, strict=True)]
    assert found == [(i + 1.0, i + 1.0) for i in range(10)]


def test_msnb_computes_in_workers_whatever_the_mode():
    w = ms.Tensor([2.0])
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        with ms.base.settings.set_context(mode=mode):
            found = rows(numbers(4).map(lambda x: ms.ops.square(ms.Tensor([float(x)])) * w, **TWO))
            modes = rows(numbers(1).map(lambda x: np.int64(ms.get_context("mode")), **TWO))
        assert [float(x[0]) for (x,) in found] == [0, 2, 8, 18] and modes == [[mode]]


def test_a_source_that_is_read_in_turn_says_that_processes_do_not_help():
    said = []
    events.forget_notices()
    with events.listening("notice", lambda text, key: said.append(text)):
        data = ds.GeneratorDataset(lambda: iter(range(3)), ["x"], **TWO)
    assert [int(x) for (x,) in rows(data)] == [0, 1, 2]
    assert len(said) == 1 and "one row after the other" in said[0]


@pytest.mark.parametrize("make", [
    lambda: numbers().map(material.prints, python_multiprocessing=1),
    lambda: numbers().batch(2, python_multiprocessing="yes"),
    lambda: ds.GeneratorDataset([1], ["x"], python_multiprocessing=None),
])  # fmt: skip
def test_only_true_and_false_are_legal(make):
    with pytest.raises(TypeError, match="expected True or False"):
        make()


# ---- errors ----------------------------------------------------------------------------------------------------------


def test_errors_are_those_of_threads_with_the_users_line():
    told = []
    for how in HOW:
        got = []
        with pytest.raises(DatasetError, match="fails_at_three failed at row 3: KeyError: 'three'") as caught:
            data = numbers().map(material.fails_at_three, **how)
            for (x,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
                got.append(float(x))
        assert got == [0, 1, 2]
        assert isinstance(caught.value.__cause__, KeyError)
        told.append(str(caught.value))
    assert len(set(told)) == 1 and 'return table["three"]' in told[0]
    assert 'return table["three"]' in str(caught.value.__cause__.__cause__), "the traceback of the worker"


def test_errors_of_sources_and_batches_come_back():
    class Broken(list):
        def __getitem__(self, i):
            return [1.0, 2.0][i]

    data = ds.GeneratorDataset(Broken([0] * 5), ["x"], shuffle=False, **TWO)
    with pytest.raises(DatasetError, match="failed at row 2: IndexError"):
        rows(data)
    with pytest.raises(DatasetError, match="per_batch_map: .*failed at row 0: ZeroDivisionError"):
        rows(numbers().batch(2, per_batch_map=lambda x, info: 1 / 0, **TWO))
    with pytest.raises(DatasetError, match="returned 2 values at row 0"):
        rows(numbers().map(lambda x: (x, x), **TWO))


def test_errors_that_do_not_travel_and_exits_are_told_too():
    with pytest.raises(DatasetError, match="raises_odd failed at row 0: Odd: 1 and 2"):
        rows(numbers().map(material.raises_odd, **TWO))
    with pytest.raises(DatasetError, match="SystemExit: 4"):
        rows(numbers().map(material.leaves, **TWO))
    with pytest.raises(DatasetError, match="row 0, column 'x': expected numbers or text, got lock"):
        rows(numbers().map(lambda x: threading.Lock(), **TWO))


def test_a_function_that_cannot_be_sent_is_refused_with_the_way_out():
    lock = threading.Lock()
    with pytest.raises(DatasetError, match=r"(?s)cannot be sent to worker processes.*lock.*threads"):
        rows(numbers().map(lambda x: (lock, x)[1], **TWO))


def test_a_worker_that_ends_is_one_error_and_the_next_epoch_works():
    data = numbers().map(material.says_bye, **TWO)
    for _ in range(2):
        with pytest.raises(DatasetError, match="says_bye at row 3: the worker process ended with status 7"):
            rows(data)
    assert len(rows(data.take(2))) == 2


@pytest.mark.long
def test_an_idle_worker_that_is_killed_is_replaced():
    data = numbers(4).map(material.whose, **TWO)
    pids = {int(x) for (x,) in rows(data)}
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: all(p.process.poll() is not None for c in worker_pool._alive for p in c.processes
                                  if p.process.pid in pids))  # fmt: skip
    assert not pids & {int(x) for (x,) in rows(data)}


@pytest.mark.long
def test_a_worker_that_is_being_ended_gets_no_work(monkeypatch):
    """Between the signal and the process's end it looks as if it lived: it did the work of the next epoch."""
    data = numbers(4).map(material.whose, **TWO)
    pids = {int(x) for (x,) in rows(data)}
    for process in [p for c in worker_pool._alive for p in c.processes if p.process.pid in pids]:
        monkeypatch.setattr(process.process, "kill", lambda: None)  # a signal that is still on its way
        process.kill()
        monkeypatch.undo()
    assert not pids & {int(x) for (x,) in rows(data)}


@pytest.mark.long
def test_a_worker_with_nothing_to_do_leaves_and_another_comes(monkeypatch):
    data = numbers(4).map(material.whose, num_parallel_workers=1, python_multiprocessing=True)
    monkeypatch.setenv("MSNB_WORKER_IDLE", "0.2")
    monkeypatch.setattr(worker_pool, "_spare", [])
    (pid,) = {int(x) for (x,) in rows(data)}
    assert eventually(lambda: all(p.process.poll() is not None for c in worker_pool._alive for p in c.processes
                                  if p.process.pid == pid))  # fmt: skip
    assert {int(x) for (x,) in rows(data)} != {pid}


@pytest.mark.long
def test_what_workers_print_is_printed_here(capsys):
    rows(numbers(3).map(material.prints, num_parallel_workers=1, python_multiprocessing=True))
    assert capsys.readouterr().out == "row 0\nrow 1\nrow 2\n"


@pytest.mark.long
def test_without_cloudpickle_functions_of_modules_travel_and_others_name_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    assert len(rows(numbers(3).map(material.jitter, **TWO))) == 3
    with pytest.raises(DatasetError, match=r"cannot be sent(.|\n)*pip install msnb\[workers\]"):
        rows(numbers(3).map(lambda x: x, **TWO))


# ---- nothing is left -------------------------------------------------------------------------------------------------


def shared_memory():
    return {p.name for p in Path("/dev/shm").glob("*msnb*")} if Path("/dev/shm").exists() else set()


@pytest.mark.long
def test_the_next_data_set_takes_the_workers_of_one_that_is_gone():
    one = dict(num_parallel_workers=1, python_multiprocessing=True)
    rows(numbers(4).map(lambda x: x, **one))
    gc.collect()
    spare = {p.process.pid for p in worker_pool._spare}
    assert spare and len(spare) <= worker_pool._SPARE
    assert {int(x) for (x,) in rows(numbers(4).map(material.whose, **one))} <= spare


@pytest.mark.long
def test_a_module_that_was_loaded_anew_is_not_stale_in_workers(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "msnb_made_for_a_test.py"
    path.write_text("def work(x): return x + 1\n")
    module = importlib.import_module(path.stem)
    try:
        data = numbers(2).map(lambda x: module.work(x), **TWO)
        assert [float(x) for (x,) in rows(data)] == [1, 2]
        path.write_text("def work(x): return x + 20\n")
        importlib.reload(module)
        assert [float(x) for (x,) in rows(data)] == [20, 21]
    finally:
        sys.modules.pop(path.stem)


def test_workers_find_files_where_the_program_does(tmp_path, monkeypatch):
    (tmp_path / "number").write_text("7")
    data = numbers(2).map(lambda x: np.float64(open("number").read()), **TWO)
    with pytest.raises(DatasetError, match="FileNotFoundError"):
        rows(data)
    monkeypatch.chdir(tmp_path)
    assert [float(x) for (x,) in rows(data)] == [7, 7]


@pytest.mark.long
def test_an_abandoned_epoch_does_not_wait_for_what_nobody_wants():
    def slow(x):
        time.sleep(0 if x == 0 else 10_000)
        return x

    data = numbers().map(slow, **TWO)
    iterator = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    next(iterator)
    iterator.stop()
    assert eventually(lambda: not [t for t in threading.enumerate() if t.name.startswith("msnb-dataset")])


@pytest.mark.long
def test_an_interrupt_ends_a_wait_for_a_worker():
    def never(x):
        time.sleep(10_000)

    data = numbers().map(never, **TWO)
    main = threading.main_thread().ident
    timer = threading.Timer(0.5, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        rows(data)
    timer.join()
    assert eventually(lambda: not [t for t in threading.enumerate() if t.name.startswith("msnb-dataset")])


CLIENT = """
import os, sys, time
import msnb.dataset as ds
def work(x):
    {body}
    return x
data = ds.NumpySlicesDataset(list(range(1000)), "x", shuffle=False).map(
    work, num_parallel_workers=2, python_multiprocessing=True)
iterator = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
print(int(next(iterator)[0]), flush=True)
{tail}
"""


@pytest.mark.long
@pytest.mark.parametrize("body", ["pass", "time.sleep(0 if x == 0 else 10_000)", "while x: pass"],
                         ids=["idle", "asleep", "computing"])  # fmt: skip
def test_a_killed_client_leaves_no_worker(tag, body):
    client = subprocess.Popen([sys.executable, "-c", CLIENT.format(body=body, tail="time.sleep(10_000)")],
                              stdout=subprocess.PIPE, text=True)  # fmt: skip
    assert client.stdout.readline() == "0\n"
    assert len(marked(tag)) == 3
    client.kill()
    client.wait()
    client.stdout.close()
    assert eventually(lambda: not marked(tag)) and not shared_memory()


@pytest.mark.long
def test_a_program_that_leaves_in_the_middle_ends_quietly(tag):
    """Functions of a script travel by value, and so does what they use of it."""
    made = subprocess.run([sys.executable, "-c", CLIENT.format(body="time.sleep(x and 10_000)", tail="")],
                          capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip
    assert (made.returncode, made.stdout, made.stderr) == (0, "0\n", "")
    assert eventually(lambda: not marked(tag))


@pytest.mark.long
def test_a_forked_child_of_the_client_has_workers_of_its_own(tag):
    tail = ("if os.fork() == 0:\n"
            "    again = list(data.take(3).create_tuple_iterator(num_epochs=1, output_numpy=True))\n"
            "    print('child', len(again), flush=True)\n"
            "    os._exit(0)\n"
            "os.wait()\n"
            "print('parent', len(list(iterator)), flush=True)")  # fmt: skip
    made = subprocess.run([sys.executable, "-c", CLIENT.format(body="pass", tail=tail)], capture_output=True,
                          text=True, timeout=PATIENCE)  # fmt: skip
    assert made.stdout == "0\nchild 3\nparent 999\n", made.stderr
    assert eventually(lambda: not marked(tag))


LEFT = """
import codecs
import msnb.dataset as ds
def source():
    try:
        for i in range(100):
            yield i
    finally:
        import wave  # impossible when Python is nearly gone
        print("closed", flush=True)
data = ds.GeneratorDataset(source, ["x"]).map(lambda x: x, num_parallel_workers=2)
codecs.kept = data.create_tuple_iterator(output_numpy=True)
next(codecs.kept)
{more}
"""


@pytest.mark.long
@pytest.mark.parametrize("more", ["", "codecs.more = iter(data.prefetch(3)); next(codecs.more)"])
def test_leaving_a_program_in_the_middle_of_an_epoch_makes_no_noise(more):
    made = subprocess.run([sys.executable, "-c", LEFT.format(more=more)], capture_output=True, text=True,
                          timeout=PATIENCE)  # fmt: skip
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout == "closed\n" * (2 if more else 1)


