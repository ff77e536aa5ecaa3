"""Real ranks let nobody in and leave nothing: no socket of theirs can be reached from outside, ``recover`` tells the
truth, and whoever is killed, client, job or rank, at whatever moment, no process, folder or shared memory stays."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import faults
import numpy as np
import pytest
from test_ranks_training import SPLIT, batch, planned, reference

from msnb.parallel.engine.client.engine_client import Engine
from msnb.parallel.engine.client.process_launcher import launcher, missing
from msnb.parallel.engine.rank.sharded_checkpoint import Snapshot, load_sharded
from msnb.parallel.engine.trainer import Trainer
from tests.waiting import eventually, stop_process

pytestmark = [
    pytest.mark.skipif(bool(missing("mpi")), reason=f"needs {missing('mpi')}"),
    pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads Linux's /proc"),
]
LISTENS = "0A"


@pytest.fixture
def tag(monkeypatch):
    """A word in the environment of everything that the test begins."""
    word = f"MSNB_TEST_TAG_{uuid.uuid4().hex}"
    monkeypatch.setenv(word, "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
    return word


def marked(tag):
    """The processes that were begun with the tag, by their command lines."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if tag.encode() in (folder / "environ").read_bytes() and int(folder.name) != os.getpid():
                found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
    return found


def sockets_of(pid):
    out = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            name = os.readlink(link)
        except OSError:
            continue
        if name.startswith("socket:["):
            out.add(name[8:-1])
    return out


def listening():
    """inode -> address, of every TCP socket that listens and every UDP socket."""
    out = {}
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        path = Path(f"/proc/net/{kind}")
        for line in path.read_text().splitlines()[1:] if path.exists() else []:
            words = line.split()
            if kind.startswith("udp") or words[3] == LISTENS:
                out[words[9]] = f"{kind} {words[1]}"
    return out


def loopback(address):
    kind, at = address.split()
    host = at.split(":")[0]
    return host.endswith("7F") if kind in ("tcp", "udp") else host == "00000000000000000000000001000000"


def open_to_others(pids):
    known = listening()
    return [known[s] for pid in pids for s in sockets_of(pid) if s in known and not loopback(known[s])]


def leftovers(folder, shared=()):
    """Our folders, and what is there of MPI's shared memory of these names (others may run jobs of theirs)."""
    return [str(p) for p in folder.glob("msnb-[rs]*-*")] + [name for name in shared if os.path.exists(name)]


def shared_by(pids):
    """MPI's shared memory that processes map, by name."""
    found = set()
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
        except OSError:
            continue
        found |= {line.split(None, 5)[5] for line in lines if "/dev/shm/mpich" in line}
    return found


@pytest.mark.long
def test_nothing_of_four_ranks_listens(tag):
    with Engine("mpi", n=4) as engine:
        assert sorted(engine.map(faults.pid)) == sorted(engine.pids.values())
        pids = marked(tag)
        assert set(engine.pids.values()) <= set(pids)
        assert open_to_others(pids) == []
        assert [s for pid in pids for s in sockets_of(pid) if s in listening()] == []
        assert len(pids) == 5, "four ranks and the job"
    assert eventually(lambda: not marked(tag))


@pytest.mark.slow
@pytest.mark.skipif(bool(missing("ipp")), reason=f"needs {missing('ipp')}")
def test_engines_of_ipyparallel_listen_on_this_machine_alone(tag):
    with Engine("ipp", n=2) as engine:
        pids = marked(tag)
        assert set(engine.pids.values()) <= set(pids)
        assert open_to_others(pids) == []
    assert eventually(lambda: not marked(tag))


@pytest.mark.long
def test_recover_sees_a_rank_that_died_while_nothing_was_to_do(tag):
    with Engine("mpi", n=3) as engine:
        assert engine.recover() == "ready"
        os.kill(engine.pids[1], signal.SIGKILL)
        assert engine.recover() == "restarted"
        assert engine.health() == dict.fromkeys(range(3), "idle")
        assert len(set(engine.map(faults.pid))) == 3
    assert eventually(lambda: not marked(tag))


@pytest.mark.slow
def test_recover_sees_a_rank_that_was_stopped(tag):
    with Engine("mpi", n=2, timeout=3) as engine:
        stop_process(engine.pids[0])
        assert engine.recover() == "restarted"
        assert engine.recover() == "ready"


CLIENT = """
import sys, time
from msnb.parallel.engine.client.engine_client import Engine
engine = Engine('mpi', n=2)
print('begin', flush=True)
engine.start()
print('ready', flush=True)
time.sleep(1000)
"""


def killed_client(tag, until, wait=0.0):
    """A client that has come so far and a little further, and is killed."""
    client = subprocess.Popen([sys.executable, "-c", CLIENT], stdout=subprocess.PIPE, text=True)
    seen = set()
    try:
        while client.stdout.readline().strip() != until:
            assert client.poll() is None
        end = time.monotonic() + wait
        while time.monotonic() < end:
            seen |= shared_by(marked(tag))
    finally:
        client.kill()
        client.wait()
        client.stdout.close()
    assert eventually(lambda: not marked(tag)), marked(tag)
    return {name.removesuffix(" (deleted)") for name in seen}


@pytest.fixture
def short():
    """A folder for temporary files whose name leaves room for a socket's."""
    folder = Path(tempfile.mkdtemp(prefix="k", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.long
def test_a_killed_client_leaves_nothing(tag, short, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(short))
    killed_client(tag, "ready")
    assert eventually(lambda: not leftovers(short)), leftovers(short)


@pytest.mark.slow
def test_a_client_killed_while_its_ranks_begin_leaves_nothing(tag, short, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(short))
    seed = random.randrange(1 << 30)
    print("seed", seed)
    draws = random.Random(seed)
    for _ in range(5):
        shared = killed_client(tag, "begin", draws.uniform(0.05, 3))
        assert eventually(lambda: not leftovers(short, shared)), leftovers(short, shared)


@pytest.mark.long
def test_a_killed_job_leaves_nothing(tag, short, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(short))
    with Engine("mpi", n=2) as engine:
        shared = shared_by(engine.pids.values())
        assert shared and all(name.endswith(" (deleted)") for name in shared), "without a name it cannot be left"
        os.kill(engine.launcher.job.pid, signal.SIGKILL)
    assert eventually(lambda: not marked(tag)), marked(tag)
    assert not leftovers(short)


def test_folders_of_the_dead_go_and_those_of_the_living_stay(tmp_path, monkeypatch):
    from msnb.parallel.engine.comm.private_folder import private_folder

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    for name in (f"msnb-ranks-{dead.pid}-abc", f"msnb-ranks-{os.getpid()}-abc", "msnb-else"):
        (tmp_path / name).mkdir()
    made = private_folder("ranks")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [f"msnb-ranks-{os.getpid()}-abc", "msnb-else", Path(made).name])  # fmt: skip
    assert os.stat(made).st_mode & 0o777 == 0o700


# ---- jobs ------------------------------------------------------------------------------------------------------------


def job(n, text, *flags):
    return subprocess.run([*launcher(), "-n", str(n), *flags, sys.executable, "-c", text], capture_output=True,
                          text=True, timeout=120, stdin=subprocess.PIPE)  # fmt: skip


def test_a_job_ends_with_its_ranks():
    made = job(3, "import os; os.write(1, f\"{os.environ['PMI_RANK']} {os.environ['PMI_SIZE']}\\n\".encode())")
    assert made.returncode == 0 and sorted(made.stdout.split("\n"))[1:] == ["0 3", "1 3", "2 3"]


def test_a_rank_that_ends_badly_ends_the_others():
    text = "import os, sys, time\nif os.environ['PMI_RANK'] == '1': sys.exit(7)\ntime.sleep(1000)"
    made = job(3, text)
    assert made.returncode == 7 and "rank 1 ended with status 7" in made.stderr
    text = "import os, sys, time\nif os.environ['PMI_RANK'] == '0': os.kill(os.getpid(), 9)\ntime.sleep(1000)"
    made = job(2, text)
    assert made.returncode == 137 and "rank 0 ended by signal 9" in made.stderr


def test_a_job_that_is_asked_to_end_asks_its_ranks(tmp_path):
    text = ("import pathlib, signal, sys, os, time\n"
            "def end(*_): pathlib.Path('ended', os.environ['PMI_RANK']).touch(); sys.exit(0)\n"
            "signal.signal(signal.SIGTERM, end); os.write(1, b'up\\n'); time.sleep(1000)")  # fmt: skip
    (tmp_path / "ended").mkdir()
    with subprocess.Popen([*launcher(), "-n", "2", sys.executable, "-c", text], cwd=tmp_path,
                          stdout=subprocess.PIPE, text=True) as made:  # fmt: skip
        try:
            # a write each: `print` writes its text and its end apart where Python is unbuffered, and two ranks mix them
            assert [made.stdout.readline() for _ in range(2)] == ["up\n", "up\n"]
        finally:
            made.terminate()
        assert made.wait(60) == 0
    assert sorted(p.name for p in (tmp_path / "ended").iterdir()) == ["0", "1"]


def test_mpi_aborts_and_wrong_commands():
    made = subprocess.run([*launcher(), "two", "python"], capture_output=True, text=True)
    assert made.returncode == 2 and "usage" in made.stderr
    made = subprocess.run([*launcher(), "-n", "2", sys.executable, "-m", "mpi4py", "-c",
                           "from mpi4py import MPI\nif MPI.COMM_WORLD.rank: MPI.COMM_WORLD.Abort(3)\n"
                           "MPI.COMM_WORLD.Barrier()"], capture_output=True, text=True, timeout=120)  # fmt: skip
    assert made.returncode == 3


# ---- snapshots -------------------------------------------------------------------------------------------------------


def test_unfinished_snapshots_of_the_dead_go(tmp_path):
    import socket

    from msnb.parallel.engine.rank.sharded_checkpoint import unfinished

    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    host = socket.gethostname()
    for name in (f"step-000001.{host}.{dead.pid}.part", f"step-000001.elsewhere.{dead.pid}.part",
                 f"step-000003.{host}.{os.getppid()}.part", f"step-000004.{host}.{dead.pid}.before.part"):  # fmt: skip
        (tmp_path / name).mkdir()
    made = unfinished(str(tmp_path / "step-000002"))
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        ["step-000004", f"step-000001.elsewhere.{dead.pid}.part", f"step-000003.{host}.{os.getppid()}.part",
         Path(made).name])  # fmt: skip


@pytest.mark.slow
def test_training_survives_kills_at_random_moments(tag, tmp_path):
    """Ranks are killed at any moment of training with a snapshot after every step. Every snapshot under its name is
    whole, and the losses are those of a run in which nothing failed."""
    kills = int(os.environ.get("MSNB_KILLS", 3))
    steps = kills + 3
    seed = random.randrange(1 << 30)
    print("seed", seed)
    draws = random.Random(seed)
    want, _ = reference("momentum", False, steps)
    _, plan = planned("momentum", **SPLIT)
    done = [0]

    def feed(i):
        left = kills - done[0]
        if left and (draws.random() < 0.7 or steps - i <= left):
            done[0] += 1
            late = draws.uniform(0, 0.05)
            victim = trainer.engine.pids[draws.randrange(4)]
            subprocess.Popen([sys.executable, "-S", "-c",
                              f"import os,time; time.sleep({late}); os.kill({victim}, 9)"]).wait()  # fmt: skip
        for folder in tmp_path.glob("step-??????"):
            load_sharded(folder)
        return batch(i)

    with Trainer(plan, Engine("mpi", n=4, worker="faulty_worker").start(), tmp_path, every=1, retries=kills) as trainer:
        losses = trainer.run(feed, steps=steps)
        trainer.engine.stop()
    np.testing.assert_allclose([float(x) for x in losses], want, rtol=1e-10)
    assert done[0] == kills
    assert len(list(tmp_path.iterdir())) == 2 and all(Snapshot(p).step for p in tmp_path.iterdir())
    assert eventually(lambda: not marked(tag))





TRAINING = """
import sys
from test_ranks_training import SPLIT, batch, planned
from msnb.parallel.engine.trainer import Trainer
_, plan = planned('momentum', **SPLIT)
with Trainer(plan, 'mpi', sys.argv[1] or None, every=1) as trainer:
    print('ready', flush=True)
    trainer.run(batch, steps=100_000)
"""


@pytest.mark.slow
@pytest.mark.parametrize("given", [True, False], ids=["folder", "temporary"])
def test_a_client_killed_in_training_leaves_whole_snapshots_and_nothing_else(tag, tmp_path, monkeypatch, given):
    """Killed at random moments, while snapshots are written too. In a temporary folder nothing stays at all; in a given
    one every snapshot under its name is whole, and what was half written goes when the next run saves."""
    scratch, folder = Path(tempfile.mkdtemp(prefix="k", dir="/tmp")), tmp_path / "snapshots"  # a short name: sockets
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    seed = random.randrange(1 << 30)
    print("seed", seed)
    draws = random.Random(seed)
    for _ in range(int(os.environ.get("MSNB_KILLS", 2))):
        client = subprocess.Popen([sys.executable, "-c", TRAINING, str(folder) if given else ""],
                                  stdout=subprocess.PIPE, text=True)  # fmt: skip
        try:
            assert client.stdout.readline() == "ready\n"
            time.sleep(draws.uniform(0.3, 2))
        finally:
            client.kill()
            client.wait()
            client.stdout.close()
        assert eventually(lambda: not marked(tag)), marked(tag)
        assert eventually(lambda: not leftovers(scratch)), leftovers(scratch)
        for whole in folder.glob("step-??????"):
            assert load_sharded(whole)
        assert len(list(folder.glob("*.part"))) <= 1, "of the last run"
    scratch.rmdir()  # nothing is in it
    assert given == bool(list(folder.glob("step-??????")))
