"""Which stage of a pipeline does what, and when in its schedule.

    forward node of part i        the stage of its layer            ("F", piece, i)
    its gradient                  the same stage                    ("B", piece, i)
    a sum of activations' gradients   where its largest operand is   ("B", piece, i) of the last operand
    a sum of a weight's gradients     where the parts are made       added to as each part's gradient is there
    all else (loss, optimizer)    where its largest operand is      ("T", 0, 0), behind the last gradient
    what is free                  wherever it is read               with its first reader

A weight is at home in the first stage that reads it; the others get it once per step, and send back the sum of their
gradients. Sums over parts are written anew for that: in the order in which a stage makes the parts, stage by stage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from msnb.ir.graph import Node, Value
from msnb.parallel.pipeline.microbatches import MicrobatchedProgram
from msnb.parallel.program.optimizer_sharding import gradients_of
from msnb.parallel.program.spmd_program import static_type
from msnb.parallel.sharding.pipeline_schedule import Task, order

TAIL: Task = ("T", 0, 0)


@dataclass
class Placement:
    """Teams and tasks of a program's nodes.

    Args:
        batched: the program; piece_of: forward node of part 0 -> its piece of the network.
        scheduler, pipes, pieces: as ``pipeline.order`` takes them; piece p is the work of team p % pipes.

    Attributes:
        team, task: of every node that is not free.
        home: params that are not free -> the team that keeps them.
        summed: sums of weights' gradients on their way, and what is added up.
    """

    batched: MicrobatchedProgram
    piece_of: Mapping[Node, int]
    scheduler: str
    pipes: int
    pieces: int
    team: dict[Node, int] = field(default_factory=dict)
    task: dict[Node, Task] = field(default_factory=dict)
    home: dict[Value, int] = field(default_factory=dict)
    summed: set[Value] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._find_homes()
        for node in self.batched.graph.nodes:
            if not self._is_free(node):
                self._place(node)
        self._sum_anew()

    @cached_property
    def when(self) -> list[dict[Task, int]]:
        """Per team: the place of a task in its order."""
        rows = [order(self.scheduler, s, self.pipes, self.batched.micro, self.pieces) for s in range(self.pipes)]
        return [{task: i for i, task in enumerate([*row, TAIL])} for row in rows]

    def _is_free(self, node: Node) -> bool:
        return all(v in self.batched.free for v in node.outputs) and bool(node.outputs)

    def team_of(self, v: Value) -> int:
        """The team that makes or keeps a value that is not free."""
        return self.home.setdefault(v, 0) if v.node is None else self.team[v.node]

    def _find_homes(self) -> None:
        b = self.batched
        for node in b.parts[0]:
            for v in node.inputs:
                if v.is_param and v not in b.free:
                    self.home.setdefault(v, self.piece_of[node] % self.pipes)
        for p, weight in b.joint.companions.items():
            self.home[p] = self.home.get(weight, 0)

    # ---- nodes ----

    def _place(self, node: Node) -> None:
        b = self.batched
        forward = node if node in b.number else node.primal if node.op.name != "add" else None
        if forward in b.number and not (forward is not node and self._is_free(forward)):
            piece = self.piece_of[b.twin[forward]]
            self.team[node] = piece % self.pipes
            self.task[node] = ("F" if forward is node else "B", piece, b.number[forward])
            return
        operands = [v for v in node.inputs if v not in b.free]
        team = min(operands, key=lambda v: (-_bytes(v), self.team_of(v)), default=None)
        self.team[node] = 0 if team is None else self.team_of(team)
        self.task[node] = self._follows(self.team[node], [v.node for v in operands if v.node is not None])

    def _follows(self, team: int, made: Sequence[Node]) -> Task:
        """The task of a node behind these, on a team: with the last of them, if all are of one part of the batch."""
        parts = {self.task[n][2] for n in made}
        here = [self.task[n] for n in made if self.team[n] == team]
        if len(parts) != 1 or not here or any(self.task[n] == TAIL for n in made):
            return TAIL
        back = any(self.task[n][0] == "B" for n in made)
        return "B" if back else "F", min(p for _, p, _ in here) if back else max(p for _, p, _ in here), parts.pop()

    # ---- sums of gradients ----

    def _sum_anew(self) -> None:
        graph = self.batched.graph
        readers: dict[Value, int] = graph.uses()
        gone: set[Node] = set()
        chains: dict[Node, list[Node]] = {}
        for weight, total in gradients_of(self.batched.joint):
            inner: list[Node] = []
            terms = _terms(total, readers, inner, total)
            known = total in self.batched.free
            if len(terms) > 1 and not known and total.node is not None and total.node not in chains:
                gone |= set(inner)
                chains[total.node] = self._chain(weight, total.node, terms)
        graph.nodes = [n for node in graph.nodes if node not in gone for n in chains.get(node, [node])]

    def _chain(self, weight: Value, last: Node, terms: Sequence[Value]) -> list[Node]:
        """The sum of these terms; ``last`` makes its result."""
        home = self.home.get(weight, 0)
        by_team: dict[int, list[Value]] = {}
        for v in terms:
            by_team.setdefault(home if v in self.batched.free else self.team_of(v), []).append(v)
        out: list[Node] = []
        for team, row in by_team.items():
            row.sort(key=lambda v: self.when[team][self.task[v.node]] if v.node in self.task else -1)
            by_team[team] = [self._added(out, last, row, team)]
        mine = by_team.pop(home, [])
        rest = [v for _, (v,) in sorted(by_team.items())]
        if rest:
            self._added(out, last, [*mine, *rest], home)
        final = out.pop()  # its place is taken by ``last``, whose result others read already
        last.inputs, self.team[last], self.task[last] = final.inputs, self.team[final], self.task[final]
        self.summed -= set(final.outputs)
        self.summed |= set(last.outputs)
        return [*out, last]

    def _added(self, out: list[Node], like: Node, terms: Sequence[Value], team: int) -> Value:
        """The terms added one after the other on a team."""
        total = terms[0]
        for v in terms[1:]:
            node = Node(like.op, [total, v], like.attrs, [o.type for o in like.outputs])
            node.where, node.scope, node.primal, node.why = like.where, like.scope, like.primal, like.why
            here = v.node in self.team and self.team[v.node] == team
            self.team[node], self.task[node] = team, self.task[v.node] if here and v.node else TAIL
            self.summed |= {*_handed_on(total), *_handed_on(v), node.out}
            out.append(node)
            total = node.out
        return total


def _bytes(v: Value) -> int:
    t = static_type(v)
    return 0 if t is None else t.nbytes


def _terms(v: Value, readers: Mapping[Value, int], inner: list[Node], total: Value) -> list[Value]:
    """The leaves of a tree of sums; its inner nodes are read here alone."""
    node = v.node
    same = node is not None and node.op.name == "add" and all(repr(u.type) == repr(v.type) for u in node.inputs)
    if node is None or not same or (v is not total and readers.get(v, 0) > 1):
        return [v]
    inner += [node] if v is not total else []
    return [term for u in node.inputs for term in _terms(u, readers, inner, total)]


def _handed_on(v: Value) -> list[Value]:
    """A gradient and what it was before views and casts."""
    out = [v]
    while out[-1].node is not None and len(out[-1].node.inputs) == 1 and (
        "view" in out[-1].node.op.traits or out[-1].node.op.name in ("cast", "transpose")
    ):
        out.append(out[-1].node.inputs[0])
    return out
