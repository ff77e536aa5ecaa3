"""One core at work: a tiled matrix product, piece by piece through the queues (simulated, in cycles).

    HBM --MTE2--> L1 --MTE1--> L0A, L0B --cube--> L0C --vector--> UB --MTE3--> HBM

Each queue does one thing after the other; queues wait for each other through buffers. Every buffer is cut in two halves
("ping-pong"): while the cube works on one half of L0, MTE1 fills the other.

    piece   i waits for    its data (the piece before it in the pipe)
                           its queue (the piece i-1 in the same queue)
                           room (the reader of piece i-2 must be done with the half that it wants)

    C tile [tm, tn] stays in L0C while K is walked in steps of tk; then the vector unit casts it to UB, MTE3 stores it.

Cycles: cube (tm/16)(tk/16)(tn/16); paths: bytes over bytes per cycle of ``chip.CORE``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from msnb.base import AttributeValueError
from msnb.devices.ascend.chip import CORE, Core
from msnb.devices.ascend.formats import blocks

QUEUES = ("MTE2", "MTE1", "cube", "vector", "MTE3")
BUFFERS = ("L1", "L0A", "L0B", "L0C", "UB")


@dataclass(frozen=True)
class Event:
    """A piece of work in a queue: cycles [start, end), what it is, the buffer that it fills and how many bytes."""

    queue: str
    start: float
    end: float
    what: str
    fills: str = ""
    nbytes: int = 0
    free: float = 0.0  # when the bytes are not needed any more


@dataclass
class CoreRun:
    """A product on one core.

    Attributes:
        m, k, n: its sizes; tile: (tm, tk, tn); halves: 2 with double buffering, 1 without.
        events: all pieces, in order of their start.
        cycles: when the last one ends, simulated.
    """

    m: int
    k: int
    n: int
    tile: tuple[int, int, int]
    halves: int
    events: list[Event] = field(default_factory=list)

    @property
    def cycles(self) -> float:
        """When the last piece is stored."""
        return max((e.end for e in self.events), default=0.0)

    def busy(self, queue: str) -> float:
        """The share of the time that a queue works."""
        return sum(e.end - e.start for e in self.events if e.queue == queue) / max(self.cycles, 1.0)

    @property
    def utilisation(self) -> float:
        """Useful multiplications over those that the cube could have done."""
        return self.m * self.k * self.n / (CORE.block**3 * max(self.cycles, 1.0))

    def occupancy(self, buffer: str) -> list[tuple[float, int]]:
        """(cycle, bytes in use from there on) of a buffer."""
        changes = [(e.start, e.nbytes) for e in self.events if e.fills == buffer]
        changes += [(e.free, -e.nbytes) for e in self.events if e.fills == buffer]
        out: list[tuple[float, int]] = []
        now = 0
        for at, change in sorted(changes):
            now += change
            out.append((at, now))
        return out


def aicore(m: int, k: int, n: int, tile: tuple[int, int, int] = (128, 128, 128), double_buffering: bool = True,
           core: Core = CORE) -> CoreRun:  # fmt: skip
    """Step a float16 product [m, k] x [k, n] through the queues of one core.

    Args:
        m, k, n: sizes, at least 1; they are padded to blocks of 16.
        tile: (tm, tk, tn), multiples of 16 that fit into the buffers.
        double_buffering: whether buffers are halved.

    Returns:
        CoreRun: events per queue, occupancy of buffers, utilisation, all simulated.

    Raises:
        ValueError: sizes below 1, or a tile that does not fit; the sentence names the buffer.

    Examples:
        >>> aicore(256, 256, 256).utilisation > aicore(256, 256, 256, double_buffering=False).utilisation
        True
    """
    for name, size in (("m", m), ("k", k), ("n", n)):
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise AttributeValueError(f"aicore: {name} must be an int of at least 1, got {size!r}.")
    halves = 2 if double_buffering else 1
    _check_tile(tile, halves, core)
    run = CoreRun(m, k, n, tile, halves)
    _Stepper(run, core).walk()
    run.events.sort(key=lambda e: (e.start, QUEUES.index(e.queue)))
    return run


def _check_tile(tile: tuple[int, int, int], halves: int, core: Core) -> None:
    tm, tk, tn = tile
    if any(not isinstance(t, int) or t < core.block or t % core.block for t in tile):
        raise AttributeValueError(f"aicore: tile {tile} must be three multiples of {core.block}.")
    need = {"L0A": (tm * tk * 2, core.l0a), "L0B": (tk * tn * 2, core.l0b), "L0C": (tm * tn * 4, core.l0c),
            "UB": (tm * tn * 2, core.ub), "L1": ((tm + tn) * tk * 2, core.l1)}  # fmt: skip
    for name, (nbytes, size) in need.items():
        if nbytes * halves > size:
            raise AttributeValueError(f"aicore: a tile {tile} needs {halves} x {nbytes} bytes of {name}, which has "
                                      f"{size}.", hint="use smaller tiles.")  # fmt: skip


class _Stepper:
    """The clock of every queue, and when every half of a buffer is free again."""

    def __init__(self, run: CoreRun, core: Core) -> None:
        self.run, self.core = run, core
        self.clock = dict.fromkeys(QUEUES, 0.0)
        self.free: dict[str, list[float]] = {b: [0.0] * run.halves for b in ("L1", "L0", "L0C", "UB")}
        self.count = dict.fromkeys(self.free, 0)

    def _do(self, queue: str, ready: float, cycles: float) -> tuple[float, float]:
        start = max(self.clock[queue], ready)
        self.clock[queue] = start + cycles
        return start, start + cycles

    def _half(self, buffer: str) -> int:
        self.count[buffer] += 1
        return (self.count[buffer] - 1) % self.run.halves

    def _note(self, queue: str, span: tuple[float, float], what: str, fills: str = "", nbytes: int = 0,
              free: float = 0.0) -> None:  # fmt: skip
        self.run.events.append(Event(queue, *span, what, fills, nbytes, free))

    def walk(self) -> None:
        tm, _, tn = self.run.tile
        for i, rows in enumerate(_pieces(self.run.m, tm)):
            for j, columns in enumerate(_pieces(self.run.n, tn)):
                self._tile(f"C[{i},{j}]", rows, columns)

    def _tile(self, name: str, rows: int, columns: int) -> None:
        core, c = self.core, self._half("L0C")
        first, done = 0.0, self.free["L0C"][c]
        for s, depth in enumerate(_pieces(self.run.k, self.run.tile[1])):
            done, start = self._step(f"{name} k{s}", rows, depth, columns, done)
            first = first or start
        out = rows * columns * 2
        u = self._half("UB")
        cast = self._do("vector", max(done, self.free["UB"][u]), rows * columns * 4 / core.to_ub)
        self.free["L0C"][c] = cast[1]
        store = self._do("MTE3", cast[1], out / core.out)
        self.free["UB"][u] = store[1]
        self._note("vector", cast, f"{name} to 16 bits", "UB", out, store[1])
        self._note("MTE3", store, f"store {name}")
        self.run.events.append(Event("cube", first, first, f"{name} begins", "L0C", rows * columns * 4, cast[1]))

    def _step(self, name: str, rows: int, depth: int, columns: int, after: float) -> tuple[float, float]:
        """Load a piece of A and of B, move both into L0, multiply; (end, start) of the multiplication."""
        core, a, b = self.core, rows * depth * 2, depth * columns * 2
        one, two = self._half("L1"), self._half("L0")
        load = self._do("MTE2", self.free["L1"][one], (a + b) / core.to_l1)
        ready = max(load[1], self.free["L0"][two])
        left = self._do("MTE1", ready, a / core.to_l0a)
        right = self._do("MTE1", left[1], b / core.to_l0b)
        work = self._do("cube", max(right[1], after), blocks(rows) * blocks(depth) * blocks(columns))
        self.free["L1"][one], self.free["L0"][two] = right[1], work[1]
        self._note("MTE2", load, f"load A, B of {name}", "L1", a + b, right[1])
        self._note("MTE1", left, f"A of {name}", "L0A", a, work[1])
        self._note("MTE1", right, f"B of {name}", "L0B", b, work[1])
        self._note("cube", work, f"multiply {name}")
        return work[1], work[0]


def _pieces(size: int, tile: int) -> Iterator[int]:
    """A length in tiles, each padded to blocks of 16."""
    for start in range(0, size, tile):
        yield blocks(min(tile, size - start)) * CORE.block
