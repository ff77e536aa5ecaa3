"""Pipelines over time: which stage works on which micro-batch when.

    1f1b, S = 3 stages, m = 4 micro-batches (small letters: forward; capitals: backward)
      stage 0 | a b c . . A d B . C D     the stage that is first waits longest
      stage 1 | . a b . A c B d C D .
      stage 2 | . . a A b B c C d D       one forward, one backward: a micro-batch in flight

``gpipe`` runs all forward passes, then all backward passes, so a stage holds the activations of m micro-batches;
``1f1b`` begins backward as soon as it can and holds min(S - s, m); ``interleaved`` gives every device v pieces of the
network, so that a pipeline fills in pieces. With stages of equal length and free links a share of the step is idle:

    (S - 1) / (m + S - 1)            interleaved:  (S - 1) / (v m + S - 1)

Tasks run in the order of the schedule, as soon as what they read has arrived.
Source: Huang et al., GPipe, 2019; Narayanan et al., PipeDream-flush and interleaved schedules, 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msnb.base import AttributeValueError

SCHEDULERS = ("gpipe", "1f1b", "interleaved")
Task = tuple[str, int, int]  # "F" or "B", piece, micro-batch


@dataclass(frozen=True)
class ScheduleStage:
    """A stage of the network (of an interleaved pipeline: one of the pieces of a device).

    Attributes:
        forward, backward: seconds per micro-batch; send: seconds from the piece before it.
        tail: seconds after the last backward pass (what gradients still need, and the optimizer).
    """

    forward: float
    backward: float
    send: float = 0.0
    tail: float = 0.0


@dataclass(frozen=True)
class PipelineTimeline:
    """A step of a pipeline, simulated.

    Attributes:
        scheduler, stages, micro: as asked for.
        events: per stage (start, end, "F" or "B" or "tail", piece, micro-batch).
        seconds: of the step; flight: per stage the most micro-batches (of a piece each) whose activations it holds.
    """

    scheduler: str
    stages: int
    micro: int
    events: tuple[tuple[tuple[float, float, str, int, int], ...], ...]
    seconds: float
    flight: tuple[int, ...]

    @property
    def bubble(self) -> float:
        """The share of the pipelined part of the step in which a stage waits, on average."""
        lasts = max((b for row in self.events for _, b, kind, _, _ in row if kind != "tail"), default=0.0)
        busy = sum(b - a for row in self.events for a, b, kind, _, _ in row if kind != "tail")
        return 1 - busy / (lasts * self.stages) if lasts else 0.0

    def __str__(self) -> str:
        lines = [f"{self.scheduler}: {self.stages} stages, {self.micro} micro-batches, "
                 f"step {self.seconds * 1e3:.3f} ms, bubble {self.bubble:.1%} (simulated)"]  # fmt: skip
        for s, row in enumerate(self.events):
            lines.append(f"  stage {s}: " + " ".join(f"{k}{i}" for _, _, k, _, i in row if k != "tail"))
        return "\n".join(lines)


def check(scheduler: str, stages: int, micro: int, pieces: int) -> None:
    """Raise ValueError, with the legal choices, for a schedule that cannot be."""
    if scheduler not in SCHEDULERS:
        raise AttributeValueError(f"no pipeline scheduler is called {scheduler!r}; legal: "
                                  f"{', '.join(map(repr, SCHEDULERS))}.")  # fmt: skip
    if micro < stages:
        raise AttributeValueError(f"{micro} micro-batches are too few for {stages} pipeline stages; legal: at least "
                                  f"{stages}, or some stage never works while the others do.")  # fmt: skip
    if scheduler == "interleaved" and (micro % stages or pieces % stages or pieces == stages):
        raise AttributeValueError(
            f"an interleaved pipeline of {stages} stages needs micro-batches in a multiple of {stages} (got {micro}) "
            f"and at least two pieces per stage (got {pieces} in all)."
        )


def order(scheduler: str, stage: int, stages: int, micro: int, pieces: int) -> list[Task]:
    """The tasks of a stage in the order in which it takes them."""
    v = pieces // stages
    if scheduler == "interleaved":
        return _interleaved(stage, stages, micro, v)
    first = micro if scheduler == "gpipe" else min(stages - stage - 1, micro)
    out: list[Task] = [("F", stage, i) for i in range(first)]
    for i in range(micro - first):
        out += [("F", stage, first + i), ("B", stage, i)]
    return out + [("B", stage, i) for i in range(micro - first, micro)]


def _interleaved(stage: int, stages: int, micro: int, v: int) -> list[Task]:
    """Megatron's order: S micro-batches through one piece, the same through the next, and so on."""

    def at(k: int, back: bool) -> Task:
        group, inside = divmod(k, stages * v)
        piece = inside // stages
        return "B" if back else "F", (v - 1 - piece if back else piece) * stages + stage, group * stages + k % stages

    total = micro * v
    first = min((stages - stage - 1) * 2 + (v - 1) * stages, total)
    out = [at(k, False) for k in range(first)]
    for k in range(total - first):
        out += [at(first + k, False), at(k, True)]
    return out + [at(k, True) for k in range(total - first, total)]


def simulated(
    pieces: Sequence[ScheduleStage], scheduler: str = "1f1b", stages: int | None = None, micro: int = 1
) -> PipelineTimeline:
    """A step on the clock.

    Args:
        pieces: of the network in order; piece p runs on stage p % stages.
        scheduler: "gpipe", "1f1b" or "interleaved"; stages: as many as pieces by default; micro: micro-batches.

    Raises:
        ValueError: an unknown scheduler, or too few micro-batches.

    Examples:
        >>> found = simulated([ScheduleStage(1.0, 2.0)] * 4, "1f1b", micro=8)
        >>> found.seconds, round(found.bubble, 3), found.flight
        (33.0, 0.273, (4, 3, 2, 1))
    """
    n, s_all = len(pieces), stages or len(pieces)
    check(scheduler, s_all, micro, n)
    todo = [order(scheduler, s, s_all, micro, n) for s in range(s_all)]
    ends: dict[Task, float] = {}
    rows: list[list[tuple[float, float, str, int, int]]] = [[] for _ in todo]
    at, free = [0] * s_all, [0.0] * s_all
    while any(i < len(tasks) for i, tasks in zip(at, todo)):
        for s, tasks in enumerate(todo):
            while at[s] < len(tasks) and (ready := _ready(tasks[at[s]], pieces, ends)) is not None:
                kind, p, i = task = tasks[at[s]]
                start = max(free[s], ready)
                ends[task] = free[s] = start + (pieces[p].forward if kind == "F" else pieces[p].backward)
                rows[s].append((start, free[s], kind, p, i))
                at[s] += 1
    for s, row in enumerate(rows):
        tail = sum(pieces[p].tail for p in range(s, n, s_all))
        if tail:
            row.append((free[s], free[s] + tail, "tail", s, 0))
    flight = flights(scheduler, s_all, micro, n)
    return PipelineTimeline(scheduler, s_all, micro, tuple(map(tuple, rows)), max(r[-1][1] for r in rows), flight)


def _ready(task: Task, pieces: Sequence[ScheduleStage], ends: dict[Task, float]) -> float | None:
    """When what a task reads is there; None while nobody knows."""
    kind, p, i = task
    if kind == "F":
        before = ends.get(("F", p - 1, i)) if p else 0.0
        return None if before is None else before + (pieces[p].send if p else 0.0)
    if p == len(pieces) - 1:
        return ends.get(("F", p, i))
    after = ends.get(("B", p + 1, i))
    return None if after is None else after + pieces[p + 1].send


def flights(scheduler: str, stages: int, micro: int, pieces: int) -> tuple[int, ...]:
    """Per stage the most micro-batches (of a piece each) whose activations it holds.

    Examples:
        >>> flights("1f1b", 4, 8, 4), flights("gpipe", 2, 8, 2)
        ((4, 3, 2, 1), (8, 8))
    """
    return tuple(_most([kind for kind, _, _ in order(scheduler, s, stages, micro, pieces)]) for s in range(stages))


def _most(kinds: Sequence[str]) -> int:
    held = most = 0
    for kind in kinds:
        held += {"F": 1, "B": -1}.get(kind, 0)
        most = max(most, held)
    return most
