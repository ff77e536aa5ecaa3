"""How the processes of ranks are begun, and ended.

    mpi    mpi_job.py -n p python -m mpi4py -m ...worker         one MPI job of our own
    nccl   mpi_job.py -n p python -m ...worker                   no MPI, a GPU each; NCCL finds the ranks over TCP
    ipp    engines of ipyparallel, themselves an MPI job     the notebook's %%px works beside our plans

All of them come to our socket and say their rank. One thread of BLAS per rank: the ranks are the parallelism.

Nothing that is begun here listens beyond this machine. Jobs are begun by our own ``job`` in place of ``mpiexec``, and
MPI is told to stay in shared memory (UCX), or on the loopback interface where it knows no other way (libfabric, NCCL).
Whoever sets one of these variables himself has asked for something else and gets it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msnb.base import PACKAGE_DIR, DeviceError
from msnb.parallel.engine.comm import mpi_job

WORKER = "msnb.parallel.engine.rank.worker"
GRACE = 5.0  # seconds that processes get to leave on their own
START = 300.0  # seconds for processes to come up
_LOOPBACK = "lo" if sys.platform == "linux" else "lo0"
_INSIDE = {"UCX_TLS": "self,sm", **dict.fromkeys(("FI_TCP_IFACE", "FI_SOCKETS_IFACE", "NCCL_SOCKET_IFNAME"), _LOOPBACK)}


def kill(pids: list[int]) -> None:
    """End these processes, whatever they do."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def environment(threads: int) -> dict[str, str]:
    """The ranks' environment: threads of BLAS, and our package on the path."""
    home = str(Path(PACKAGE_DIR).resolve().parent)
    path = os.pathsep.join(dict.fromkeys(p for p in (*os.environ.get("PYTHONPATH", "").split(os.pathsep), home) if p))
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {**_INSIDE, **os.environ, **dict.fromkeys(names, str(threads)), "PYTHONPATH": path}


def missing(backend: str) -> str:
    """What a back end lacks on this machine, or nothing."""
    if not hasattr(socket, "AF_UNIX"):
        return "local sockets, which this system does not have"
    if backend == "nccl":
        return "" if importlib.util.find_spec("cupy") else "CuPy and NVIDIA GPUs (`pip install msnb[gpu]`)"
    wanted = ["mpi4py"] + (["ipyparallel"] if backend == "ipp" else [])
    lacking = [name for name in wanted if importlib.util.find_spec(name) is None]
    if lacking or mpiexec() is None:
        return f"{' and '.join(lacking) or 'mpiexec'} (`pip install msnb[ranks]`)"
    return ""


def launcher() -> list[str]:
    """Our launcher of jobs, as ``mpiexec`` is used; it needs none of the packages of the environment."""
    return [sys.executable, "-I", "-S", mpi_job.__file__]


def mpiexec() -> str | None:
    """The launcher of the MPI of the environment that runs us, else one on the path."""
    own = Path(sys.executable).with_name("mpiexec")
    return str(own) if own.exists() else shutil.which("mpiexec")


class Processes:
    """Ranks that are processes of our own.

    Args:
        backend: "mpi" or "nccl"; worker: the module that they run.
    """

    def __init__(self, backend: str, n: int, threads: int, worker: str) -> None:
        self.backend: str = backend
        self.n: int = n
        self.threads: int = threads
        self.worker: str = worker
        self.env: dict[str, str] = environment(threads)
        self.job: subprocess.Popen[bytes] | None = None

    def start(self, address: str, timeout: float, folder: str) -> None:
        """Begin; the ranks come to ``address``."""
        tail = ["-m", self.worker, address, str(timeout), self.backend]
        env = dict(self.env)
        if self.backend == "mpi":
            tail = ["-m", "mpi4py", *tail]
        else:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                env |= {"MSNB_RANKS": str(self.n), "MSNB_PORT": str(free.getsockname()[1])}
        command = [*launcher(), "-n", str(self.n), "--guard", folder, sys.executable, *tail]
        self.log: Path = Path(folder) / "log"
        with self.log.open("wb") as log:
            self.job = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=log, stderr=log,
                                        start_new_session=True)  # fmt: skip

    def ended(self) -> str:
        """Why nobody will come any more, or nothing."""
        if self.job is None or self.job.poll() is None:
            return ""
        tail = self.log.read_text(errors="replace").strip().split("\n")[-6:]
        return f"the processes ended with status {self.job.poll()}: " + " | ".join(tail)

    def wake(self, rank: int) -> None:
        """A command was sent to a rank: it reads on its own."""

    def stop(self, pids: list[int], again: bool = False) -> None:
        """Wait for the end, then make it: the job ends its ranks when we hang up; at last, all are killed."""
        job, self.job = self.job, None
        if job is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.wait(GRACE)
        self._hang_up(job)
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.wait(GRACE)
        if job.poll() is None:
            job.kill()
            job.wait()
        if (job.returncode or 0) < 0:  # killed, by us or by another: nobody has ended its ranks
            kill(pids)

    def forget(self) -> None:
        """In a forked child: the job is its parent's alone, and must see when that one dies."""
        if self.job is not None:
            self._hang_up(self.job)
            self.job = None

    @staticmethod
    def _hang_up(job: subprocess.Popen[bytes]) -> None:
        if job.stdin is not None:
            with contextlib.suppress(OSError):
                job.stdin.close()


class Notebook:
    """Ranks that are engines of ipyparallel; they outlive our Engine, or its process, only if the cluster was given.

    Attributes:
        view: ipyparallel's view of the engines that live: others after they began again.
    """

    def __init__(self, n: int, threads: int, cluster: Any = None) -> None:
        self.n: int = n
        self.threads: int = threads
        self.own: bool = cluster is None
        self.cluster = cluster
        self.address: str = ""
        self.client: Any = None
        self.view: Any = None
        self.of_rank: dict[int, Any] = {}
        self.stale: list[int] | None = None  # processes of engines that are to begin again

    def start(self, address: str, timeout: float, folder: str) -> None:
        """Begin the cluster, or begin its engines again, and have every engine come to ``address``."""
        import ipyparallel  # optional

        own = environment(self.threads)
        os.environ.update({k: v for k, v in own.items() if k.endswith("_THREADS") or k in _INSIDE})
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        os.environ["PATH"] = path
        if self.cluster is None:
            quiet = logging.getLogger("msnb.cluster")
            quiet.setLevel(logging.ERROR)
            self.cluster = ipyparallel.Cluster(engines="mpi", n=self.n, log=quiet)
            self.cluster.config.MPILauncher.mpi_cmd = launcher()
            self.cluster.start_cluster_sync()
        if self.client is None:
            self.client = self.cluster.connect_client_sync()
        elif self.stale is not None or len(self.client.ids) < self.n:
            kill(self.stale or [])  # one that is stopped would outlive a polite request
            self.cluster.stop_engines_sync()
            self._wait(lambda: not self.client.ids)  # numbers are given again: new engines must not be taken for old
            self.cluster.start_engines_sync(self.n)
        self.stale = None
        self._wait(lambda: len(self.client.ids) >= self.n)
        ids = self.client.ids
        self.view = self.client[ids] if self.view is None else self.view
        self.view.targets = ids
        ranks = self.view.apply_sync(_rank)
        if sorted(ranks) != list(range(self.n)):
            raise DeviceError(
                f"{self.n} ranks were asked for; the cluster has {len(ids)} engines, in MPI's world the ranks "
                f"{', '.join(map(str, sorted(ranks)))}.",
                hint='ipyparallel.Cluster(engines="mpi", n=...) has one engine per rank.',
            )
        self.address = address
        beside = getattr(self.cluster.controller, "pid", None) if self.own else None  # none where a batch system has it
        self.view.apply_sync(_join, address, timeout, [] if beside is None else [beside])
        self.of_rank = {rank: self.client[i] for i, rank in zip(ids, ranks)}

    def _wait(self, done: Callable[[], bool]) -> None:
        """Until the engines came, or are gone.

        Raises:
            DeviceError: it takes too long, or their processes ended.
        """
        until = time.monotonic() + START
        while not done():
            begun = list(self.cluster.engines.values())
            if time.monotonic() > until or (begun and not any(launcher.running for launcher in begun)):
                raise DeviceError(f"{len(self.client.ids)} engines of ipyparallel are there, {self.n} were asked for.")
            time.sleep(0.05)

    def ended(self) -> str:
        """Why nobody will come any more, or nothing."""
        return "" if self.client is not None and len(self.client.ids) else "the engines are gone"

    def forget(self) -> None:
        """In a forked child: nothing of the cluster hangs on this process."""

    def wake(self, rank: int) -> None:
        """Have the engine read one command."""
        self.of_rank[rank].apply_async(_one, self.address)

    def stop(self, pids: list[int], again: bool = False) -> None:
        """End the cluster if it is ours; to begin again, only its engines are ended (when they begin)."""
        self.stale = pids if again else None
        if self.own and self.cluster is not None and not again:
            with contextlib.suppress(Exception):
                self.client.close()
            self.cluster.stop_cluster_sync()
            self.cluster = self.client = self.view = None


_JOINED: dict[str, Any] = {}  # in an engine: its Workers, by their clients' sockets


def _rank() -> int:
    """In an engine of ipyparallel: which rank of MPI's world it is."""
    from mpi4py import MPI

    return int(MPI.COMM_WORLD.rank)


def _join(address: str, timeout: float, others: list[int]) -> None:
    """In an engine of ipyparallel: become a rank beside what the engine does.

    Args:
        address: the client's socket; timeout: of collectives; others: what ends with it when the client dies.
    """
    from msnb.parallel.engine.client import process_launcher  # the function travels, its module's names do not
    from msnb.parallel.engine.rank import worker

    made = worker.Worker(worker.comm_named("mpi", timeout), address, alone=False, others=others)
    process_launcher._JOINED[address] = made


def _one(address: str) -> None:
    from msnb.parallel.engine.client import process_launcher  # as in _join

    process_launcher._JOINED[address].one()


def no_way(backend: str, why: str) -> DeviceError:
    """The sentence for a back end that this machine cannot run."""
    return DeviceError(f"engine {backend!r} needs {why}.", hint="engine='inproc' runs the same plan in this process.")
