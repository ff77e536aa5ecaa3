"""``%ms_cluster``: real ranks from a notebook.

%ms_cluster start -n 4 -o ranks      4 MPI processes; ``ranks`` is their ms.parallel.Engine
plan.run(x, y, engine=ranks)         the plan runs on them
%%px                                 the cell runs on them (ipyparallel's own magic)
%ms_cluster status | restart | stop
"""

from __future__ import annotations

from typing import Any

from msnb.base import ArgumentError, DeviceError
from msnb.notebook.magics.magic import Line, Magic, argument
from msnb.parallel.engine.client.engine_client import Engine

WORDS = ("start", "status", "restart", "stop")


class Cluster:
    """Ranks of a session."""

    engine: Any = None

    def __call__(self, shell: Any, options: Any) -> Line:
        """Do what the line says; returns how the ranks are."""
        if options.what == "start":
            self._start(options.ranks, options.timeout)
        elif options.what == "restart":
            self._need().restart()
        elif options.what == "stop" and self.engine is not None:
            engine, self.engine = self.engine, None
            engine.stop()
        if options.output:
            shell.user_ns[options.output] = self._need()
        return Line(self._told())

    def _start(self, ranks: int, timeout: float) -> None:
        if self.engine is not None:
            raise DeviceError(f"{self.engine.n} ranks run already.", hint="%ms_cluster stop, then start others.")
        self.engine = Engine("ipp", n=ranks, timeout=timeout).start()
        view = self.engine.launcher.view
        view.block = True
        view.activate()  # %%px

    def _need(self) -> Any:
        if self.engine is None:
            raise ArgumentError("no ranks run in this session.", hint="%ms_cluster start -n 4")
        return self.engine

    def _told(self) -> str:
        if self.engine is None:
            return "no ranks"
        return f"{self.engine.n} ranks: " + ", ".join(f"{r} {how}" for r, how in self.engine.health().items())


def cluster_magic() -> Magic:
    """``%ms_cluster`` for a session that has no ranks yet."""
    return Magic(
        "ms_cluster", Cluster(),
        "Start, look at, restart and stop ranks: MPI processes that run plans, and cells under %%px.\n\n"
        "Example: %ms_cluster start -n 4 -o ranks",
        (argument("what", nargs="?", default="status", choices=WORDS,
                  help="what to do; without it, say how the ranks are"),
         argument("-n", "--ranks", type=int, default=4, help="how many ranks to start"),
         argument("--timeout", type=float, default=60.0, help="seconds that a collective may take"),
         argument("-o", "--output", metavar="NAME", default="", help="bind the ms.parallel.Engine to this name")),
    )  # fmt: skip
