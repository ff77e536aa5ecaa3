"""What can go wrong among ranks, and how it is told: by name of the rank, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msnb.base import DeviceError


class CollectiveTimeout(DeviceError, TimeoutError):
    """A rank waited for others until the deadline."""


class RankStop(DeviceError):
    """A rank was told to stop because another one failed."""


@dataclass(frozen=True)
class Failure:
    """What happened on one rank.

    Attributes:
        kind: the error's class, or "killed" (its process is gone), "silent" (it does not react).
        text: its first line; where: the operator it was at; trace: the rank's traceback.
    """

    kind: str
    text: str
    where: str = ""
    trace: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}" + (f" (at {self.where})" if self.where else "")


class RankError(DeviceError):
    """A run on ranks failed. Every rank that lives has an error too; ``Engine.recover()`` makes them ready again.

    Attributes:
        failures: rank -> what happened there.
    """

    def __init__(self, failures: Mapping[int, Failure]) -> None:
        self.failures: dict[int, Failure] = dict(failures)
        first = next((r for r, f in self.failures.items() if f.kind not in _ECHOES), next(iter(self.failures)))
        lines = [f"rank {r}: {f}" for r, f in sorted(self.failures.items()) if r != first]
        hint = "engine.recover() makes the ranks ready again."
        told = f"rank {first}: {self.failures[first]}"
        if self.failures[first].kind == KILLED:  # who was first cannot be seen: the others end within a moment
            told = "a rank's process ended, and its MPI world with it"
        super().__init__(told.rstrip(".") + ".", operands=lines, hint=hint)
        self.first = first


KILLED = "killed"
_ECHOES = ("CollectiveTimeout", "RankStop")  # errors that a rank has because of another one
