"""One MPI job on this machine, begun, watched and ended by a process that listens nowhere.

    python mpi_job.py -n 4 [--guard FOLDER] PROGRAM ...        what ``mpiexec -n 4 PROGRAM ...`` does, without its ports

      client --stdin--> job --socketpair 0--> rank 0       a rank finds its socket in PMI_FD, its number in PMI_RANK,
                            --socketpair 1--> rank 1       and asks in lines of text: PMI-1, the interface that every
                            ...                            MPICH speaks with its launcher
      rank: cmd=put kvsname=.. key=.. value=..             job: cmd=put_result rc=0
            cmd=barrier_in                                      cmd=barrier_out rc=0, when all ranks are in

``mpiexec`` and its proxy listen on every address of the machine, their ranks inherit those sockets, and nobody who
connects is asked who he is. Here ranks inherit one connected pair of sockets each, which has no address at all.

The job ends when its ranks have ended. It ends them when one of them ends badly (their MPI world is broken), when it is
told to (SIGTERM, SIGINT: both are passed on), and, with ``--guard``, when its standard input closes: the client
is gone, killed perhaps, and FOLDER goes too. This file imports only the standard library and runs by its path, so that
it is there within some 20 milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from selectors import DefaultSelector

GRACE = 30.0  # seconds for ranks that were asked to end, as batch systems give: they may have something to save
_MAXES = "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024"
_PLAIN = {"init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0", "get_maxes": _MAXES,
          "get_appnum": "cmd=appnum rc=0 appnum=0", "finalize": "cmd=finalize_ack rc=0"}  # fmt: skip


@dataclass
class Rank:
    """A rank: its process, our end of its socket, and where it is in MPI's life."""

    number: int
    process: subprocess.Popen[bytes]
    link: socket.socket
    unread: bytes = b""
    inside: bool = False  # between MPI_Init and MPI_Finalize


@dataclass
class Job:
    """The ranks of a job and what they told each other.

    Args:
        n: how many ranks; command: what each runs; folder: goes when the client is gone, or "".
    """

    n: int
    command: list[str]
    folder: str = ""
    name: str = field(default_factory=lambda: f"msnb-{os.getpid()}-{secrets.token_hex(8)}")

    def __post_init__(self) -> None:
        self.selector: DefaultSelector = selectors.DefaultSelector()
        self.values: dict[str, str] = {"PMI_process_mapping": f"(vector,(0,1,{self.n}))"}
        self.ranks: list[Rank] = []
        self.waiting: set[int] = set()
        self.status: int = 0
        self.kill_at: float = float("inf")

    def run(self) -> int:
        """Begin the ranks and stay until they have ended; gives the status to exit with."""
        wakeup = self._hear_signals()
        if self.folder:
            self.selector.register(sys.stdin.fileno(), selectors.EVENT_READ, self._client)
        try:
            for number in range(self.n):
                self._begin(number)
            while self._living():
                for key, _ in self.selector.select(1.0 if self.kill_at == float("inf") else 0.05):
                    key.data()
                if time.monotonic() > self.kill_at:
                    self._kill()
        finally:
            self._kill()
            wakeup.close()
            self._clear()
        return self.status

    def _begin(self, number: int) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            env = {**os.environ, "PMI_FD": str(theirs.fileno()), "PMI_RANK": str(number), "PMI_SIZE": str(self.n)}
            # A session each: Linux shares a busy machine between sessions, and a rank counts as one program.
            process = subprocess.Popen(self.command, env=env, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
                                       start_new_session=True)  # fmt: skip
        rank = Rank(number, process, ours)
        self.ranks.append(rank)
        self.selector.register(ours, selectors.EVENT_READ, lambda: self._read(rank))

    def _living(self) -> bool:
        """Whether ranks run; the first that ended badly ends the others."""
        running = False
        for rank in self.ranks:
            code = rank.process.poll()
            running |= code is None
            if code is not None and (code or rank.inside) and not self.status:
                self.status = code if code > 0 else 128 - code if code else 1
                how = f"by signal {-code}" if code < 0 else f"with status {code}"
                print(f"rank {rank.number} ended {how}; the others end with it.", file=sys.stderr, flush=True)
                self._kill()
        return running

    # ---- ends ----

    def _hear_signals(self) -> socket.socket:
        """Signals wake the selector: those of children to see who ended, the others to pass them on."""
        read, write = socket.socketpair()
        write.setblocking(False)
        read.setblocking(False)
        self._write = write  # kept open
        signal.set_wakeup_fd(write.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)
        self.selector.register(read, selectors.EVENT_READ, lambda: self._signalled(read.recv(64)))
        return read

    def _signalled(self, numbers: bytes) -> None:
        for number in set(numbers) - {signal.SIGCHLD}:
            for rank in self.ranks:
                rank.process.send_signal(number)
            if number == signal.SIGTERM:
                self.kill_at = min(self.kill_at, time.monotonic() + GRACE)

    def _client(self) -> None:
        """The client says nothing: something to read is the end of it."""
        if not os.read(sys.stdin.fileno(), 64):
            self.selector.unregister(sys.stdin.fileno())
            self._kill()
            remove(self.folder)

    def _kill(self) -> None:
        for rank in self.ranks:
            rank.process.kill()  # nothing where it has ended
            rank.process.wait()

    def _clear(self) -> None:
        """The shared memory of a job that could not remove it: MPICH names it by a hash (FNV-1a) of the job's name."""
        hashed = 2166136261
        for byte in self.name.encode():
            hashed = ((hashed ^ byte) * 16777619) & 0xFFFFFFFF
        with contextlib.suppress(OSError):
            os.unlink(f"/dev/shm/mpich_shm_{hashed:x}_0")

    # ---- the process management interface ----

    def _read(self, rank: Rank) -> None:
        try:
            got = rank.link.recv(1 << 16)
        except OSError:
            got = b""
        if not got:
            self.selector.unregister(rank.link)
            rank.link.close()
            return
        *lines, rank.unread = (rank.unread + got).split(b"\n")
        for line in lines:
            with contextlib.suppress(OSError):  # it has ended meanwhile
                self._answer(rank, line.decode(errors="replace"))

    def _answer(self, rank: Rank, line: str) -> None:
        said = dict(word.split("=", 1) for word in line.split() if "=" in word)
        command = said.get("cmd", "")
        if command in ("init", "finalize"):
            rank.inside = command == "init"
        if command == "barrier_in":
            self._barrier(rank)
        elif command == "abort":
            self.status = self.status or int(said.get("exitcode", "1")) or 1
            self._kill()
        else:
            rank.link.sendall((self._reply(command, said) + "\n").encode())

    def _reply(self, command: str, said: dict[str, str]) -> str:
        if command in _PLAIN:
            return _PLAIN[command]
        if command == "get_my_kvsname":
            return f"cmd=my_kvsname rc=0 kvsname={self.name}"
        if command == "get_universe_size":
            return f"cmd=universe_size rc=0 size={self.n}"
        if command == "put" and {"key", "value"} <= said.keys():
            self.values[said["key"]] = said["value"]
            return "cmd=put_result rc=0 msg=success"
        if command == "get":
            value = self.values.get(said.get("key", ""))
            known = "rc=-1 msg=key_not_found value=unknown" if value is None else f"rc=0 msg=success value={value}"
            return f"cmd=get_result {known}"
        return f"cmd={command or 'unknown'}_result rc=-1 msg=not_supported"

    def _barrier(self, rank: Rank) -> None:
        self.waiting.add(rank.number)
        if len(self.waiting) == self.n:
            self.waiting.clear()
            for each in self.ranks:
                with contextlib.suppress(OSError):
                    each.link.sendall(b"cmd=barrier_out rc=0\n")


def remove(folder: str) -> None:
    """Remove the folder of a client that could not, and what it says goes with it."""
    paths = []
    with contextlib.suppress(OSError), open(os.path.join(folder, "also"), encoding="utf-8") as also:
        paths = also.read().splitlines()
    for path in (*paths, folder):
        shutil.rmtree(path, ignore_errors=True)


def main(argv: list[str]) -> int:
    """Run a job, as the head of this file says."""
    flag, n, *command = argv
    if flag != "-n" or not n.isdecimal() or not command:
        print("usage: mpi_job.py -n RANKS [--guard FOLDER] PROGRAM ...", file=sys.stderr)
        return 2
    folder = ""
    if command[0] == "--guard":
        _, folder, *command = command
    return Job(int(n), command, folder).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
