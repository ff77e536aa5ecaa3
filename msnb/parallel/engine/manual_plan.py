"""Plans of programs that place their own collectives (hybrid_parallel): one program per rank, nothing is decided here.

    ms.set_auto_parallel_context(parallel_mode="hybrid_parallel", device_num=4)
    plan = ms.parallel.plan(step, ms.parallel.PerRank(parts), lr)      captured as each rank sees it
    plan.run(...)                                                      one result per rank, in their order

What a program is given is what one rank has: a tensor is the same for all, a ``PerRank`` is another one for each.
Weights are copies of the network's. A program that never asks which rank it is on is captured once for all; one that
does (``communication.get_rank``) once per rank, so Python's ``if`` makes programs that differ.

The simulated clock follows one rank, that of the context's ``global_rank``: its kernels, and its collectives as waits.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DeviceError
from msnb.core import Parameter, Tensor, TensorType, pytree, slot
from msnb.core.process_group import AbsentGroup, within
from msnb.devices.ascend.peak_memory import peak_of
from msnb.devices.device import ArrayDevice
from msnb.devices.reference_executor import ReferenceProgram
from msnb.graph.capture import trace
from msnb.ir.graph import Graph, Node
from msnb.ir.node_cost import size_of
from msnb.parallel.engine.client.engine_client import Engine
from msnb.parallel.engine.client.remote_plan import engine_for, sent_by
from msnb.parallel.engine.comm.communicator import Communicator
from msnb.parallel.engine.comm.shards import on_host
from msnb.parallel.engine.executable_plan import as_tensors, need_as_many
from msnb.parallel.engine.simulated.lockstep_ranks import MOST
from msnb.parallel.engine.simulated.threaded_ranks import run_ranks, sent_among
from msnb.parallel.partition.step_simulator import Timeline, simulate_by_hand
from msnb.parallel.planner.cost_graph_builder import inlined, names_of
from msnb.parallel.plans.plan_interface import NotDecided, PlanBase
from msnb.parallel.program.program_document import graph_in, graph_out
from msnb.parallel.program.spmd_program import FORWARD, Collective
from msnb.parallel.sharding.device_mesh import Mesh


class PerRank:
    """An input that differs from rank to rank.

    Args:
        values: one per rank.

    Examples:
        >>> import msnb as ms
        >>> parts = PerRank([ms.Tensor([1.0, 1.0]), ms.Tensor([2.0, 2.0])])
        >>> plan = ms.parallel.plan(ms.ops.AllReduce(), parts, parallel_mode="hybrid_parallel", device_num=2)
        >>> plan.run()[1].tolist()
        [3.0, 3.0]
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.values: list[Any] = list(values)


def for_rank(args: tuple[Any, ...], rank: int, n: int) -> tuple[Any, ...]:
    """What one rank is given.

    Raises:
        ValueError: a ``PerRank`` of another number of values than there are ranks.
    """
    leaves, shape = pytree.flatten(args)
    for leaf in leaves:
        if isinstance(leaf, PerRank) and len(leaf.values) != n:
            raise AttributeValueError(f"PerRank has {len(leaf.values)} values, there are {n} ranks.")
    out: tuple[Any, ...] = pytree.unflatten(shape, [x.values[rank] if isinstance(x, PerRank) else x for x in leaves])
    return out


class RankQuery(AbsentGroup):
    """A rank's world while its program is captured; it notes whether the program asks which rank it is."""

    asked: bool = False

    @property
    def rank(self) -> int:
        """Which rank; from now on the program is this rank's own."""
        self.asked = True
        return self._rank


class ManualPlan(PlanBase):
    """A program of every rank.

    Attributes:
        mesh: the ranks; graphs: the program of each (the same object where they do not differ).
        sent: bytes that a rank sent in the last run, the mean of all, by kind of collective.
        held: per rank the new values of Parameters that runs left (``keep=True``), by the number of the param.
    """

    mode = "hybrid_parallel"

    def __init__(self, program: Any, args: tuple[Any, ...], mesh: Mesh) -> None:
        self.mesh: Mesh = mesh
        self.args: tuple[Any, ...] = args
        self.sent: dict[str, float] = dict[str, float]()
        self.captured: list[Any] = self._captured(program)
        plain = {id(c): inlined(c.graph) for c in self.captured}
        self.graphs: list[Graph] = [plain[id(c)] for c in self.captured]
        self.held: list[dict[int, Any]] = [{} for _ in self.graphs]

    def _captured(self, program: Any) -> list[Any]:
        if not callable(program):
            raise ArgumentError(f"plan takes a Cell or a function, not {type(program).__name__}.")
        n, out, known = self.mesh.size, [], dict[Any, Any]()
        for rank in range(n):
            args, seat = for_rank(self.args, rank, n), RankQuery(rank, n)
            kinds = tuple(x._type if isinstance(x, Tensor) else x for x in pytree.flatten(args)[0])
            if kinds not in known:
                with within(seat):
                    made = trace(program, args, {})
                if seat.asked:
                    out.append(made)
                    continue
                known[kinds] = made
            out.append(known[kinds])
        return out

    # ---- running ----

    def run(self, *inputs: Any, engine: str | Engine = "inproc", keep: bool = False) -> list[Any]:
        """Run every rank's program.

        Args:
            inputs: as the program takes them (those it was planned with by default), of the same shapes.
            engine: "inproc", all ranks in this process (up to 64), or real ranks, as for any plan.
            keep: whether Parameters keep their new values, each rank its own, for the runs that follow; those of the
                network stay as they are (``write_back`` hands them over).

        Returns:
            Per rank what its program returns, in Tensors.

        Raises:
            ValueError: inputs of other shapes. RuntimeError: DeviceError: ranks that wait for each other for ever;
            RankError: a real rank failed.
        """
        out = []
        for rank, values in enumerate(self.values(inputs, engine)):
            given = for_rank(inputs or self.args, rank, self.mesh.size)
            out.append(as_tensors(self.captured[rank].told(values, given, {})))
            if keep:
                self.held[rank].update((at, values[new]) for at, new in self.graphs[rank].state.items())
        return out

    def write_back(self, rank: int = 0) -> None:
        """Give the network's Parameters the values that runs left on a rank."""
        owners = self._owners(rank, self.args)
        for at, value in self.held[rank].items():
            slot.engine.assign(owners[at], Tensor(np.asarray(value)))

    def values(self, inputs: tuple[Any, ...] = (), engine: str | Engine = "inproc") -> list[list[Any]]:
        """Per rank all results of its program, new state among them."""
        need_as_many(inputs, self.args)
        given = [self._given(rank, inputs or self.args) for rank in range(self.mesh.size)]
        if engine == "inproc":
            return self._here(given)
        which = {id(g): i for i, g in enumerate(dict.fromkeys(self.graphs))}
        documents = [graph_out(g) for g in dict.fromkeys(self.graphs)]
        with engine_for(engine, self.mesh.size) as real:
            real.stats()
            rows = real.map(run_document, documents, [which[id(g)] for g in self.graphs], given)
            self.sent = {kind: n / self.mesh.size for kind, n in sent_by(real).items()}
        return rows

    def _here(self, given: list[list[Any]]) -> list[list[Any]]:
        n = self.mesh.size
        if n > MOST:
            raise DeviceError(f"{n} ranks are too many for one process; inproc runs up to {MOST}.")
        device = ArrayDevice("ranks", np)
        programs = {id(g): ReferenceProgram(device, g) for g in self.graphs}
        rows, sent = run_ranks(n, lambda rank: programs[id(self.graphs[rank])](given[rank]))
        self.sent = {kind: nbytes / n for kind, nbytes in sent.items()}
        return rows

    def _given(self, rank: int, inputs: tuple[Any, ...]) -> list[Any]:
        """The values of a rank's params."""
        values = [owner._host() if isinstance(owner, Tensor) else owner for owner in self._owners(rank, inputs)]
        for at, value in self.held[rank].items():
            values[at] = value
        for p, value in zip(self.graphs[rank].params, values):
            if isinstance(p.type, TensorType) and not p.type.weak and np.shape(value) != p.type.shape:
                raise AttributeValueError(f"{p.name} of rank {rank} has shape {list(np.shape(value))}, the program is "
                                          f"for {p.type!r}.")  # fmt: skip
        return values

    def _owners(self, rank: int, inputs: tuple[Any, ...]) -> list[Any]:
        """The objects behind a rank's params."""
        found: list[Any] = self.captured[rank].owners(for_rank(inputs, rank, self.mesh.size), {})
        return found

    # ---- what there is to see ----

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self.mesh.size

    @cached_property
    def collectives(self) -> list[Collective]:
        """The collectives of one rank's program, in order; those inside loops and branches once."""
        names = names_of(node for _, node in self.graphs[self.rank].walk())
        return [self._collective(node, name) for node, name in names.items() if "collective" in node.op.traits]

    def _collective(self, node: Node, where: str) -> Collective:
        kind, group = kind_of(node), node.attrs.get("group", (*node.attrs.get("send", ()), self.rank))
        n = sum(t.nbytes for v in node.inputs if isinstance(t := v.type, TensorType))
        p = len(group)
        sent = n if kind == "neighbors" else sent_among(kind, p, n) // p
        return Collective(kind, tuple(group), 1, n, sent, where, FORWARD, self.mesh.seconds_among(kind, group, n))

    @cached_property
    def timeline(self) -> Timeline:
        """Simulated: when a device computes and when it talks."""
        graph = self.graphs[self.rank]
        names = names_of(node for _, node in graph.walk())
        waits = {node: self._collective(node, name) for node, name in names.items() if "collective" in node.op.traits}
        return simulate_by_hand(graph, self.mesh, waits)

    @cached_property
    def memory(self) -> dict[str, float]:
        """Bytes of the shown rank: weights, other Parameters (optimizer state, running means), and what else lives at
        the peak, gradients among it, since the program itself says when it makes and reads them."""
        graph, owners = self.graphs[self.rank], self._owners(self.rank, self.args)
        out = {"weights": 0.0, "gradients": 0.0, "optimizer": 0.0}
        for p, owner in zip(graph.params, owners):
            if isinstance(owner, Parameter):
                out["weights" if owner.requires_grad else "optimizer"] += size_of(p.type) or 0
        out["activations"] = peak_of(graph).nbytes - sum(out.values())
        return {**out, "total": sum(out.values())}

    def explain(self, op: str) -> str:
        """What an operator of the shown rank does.

        Args:
            op: its name (that of its Cell and its kind), or its kind.

        Raises:
            ValueError: no operator is called so.
        """
        graph = self.graphs[self.rank]
        names = names_of(node for _, node in graph.walk())
        found = [n for n, name in names.items() if name == op] or [n for n in names if op in (n.op.name, kind_of(n))]
        if not found:
            near = difflib.get_close_matches(op, names.values(), 3, 0.4) or list(names.values())[:8]
            raise AttributeValueError(f"no operator of rank {self.rank} is called {op!r}.",
                                      hint=f"legal: {', '.join(near)}")  # fmt: skip
        node = found[0]
        shapes = ", ".join(repr(v.type) for v in node.inputs)
        head = f"{names[node]}: {node.op.name}({shapes}) on rank {self.rank}, as the program says: nothing is decided"
        if "collective" not in node.op.traits:
            return f"{head}\n  no other rank takes part"
        c = self._collective(node, names[node])
        return (f"{head}\n  {c.kind} among ranks {', '.join(map(str, c.group))}: {c.nbytes} bytes in, {c.sent} sent, "
                f"{c.seconds * 1e6:.1f} us (simulated)")  # fmt: skip

    # ---- what nobody decided ----

    @property
    def strategies(self) -> dict[str, tuple[tuple[int, ...], ...]]:
        """Raises NotDecided: no operator is split, every rank runs the whole of its own program."""
        raise _undecided("no operator of it is split")

    @property
    def layouts(self) -> dict[str, dict[str, Any]]:
        """Raises NotDecided: what a rank has is whole, and its own."""
        raise _undecided("what a rank has is whole, and whether others have the same is known to the program alone")

    @property
    def program(self) -> Any:
        """Raises NotDecided: there are no steps made by the planner; ``graphs`` are the programs of the ranks."""
        raise _undecided("there are no planned steps that ranks could keep their parts of",
                         "plan.graphs are the programs of the ranks; plan.run(..., engine='mpi', keep=True) takes step "
                         "after step on real ranks, and write_back() gives the weights to the network.")  # fmt: skip

    @property
    def front(self) -> Any:
        """Raises NotDecided: there are no other plans of the program."""
        raise _undecided("there is one plan, and none to weigh it against")

    def segments(self, algorithm: str = "optimal", cost: str = "time", **settings: Any) -> Any:
        """Raises NotDecided: the program itself says which gradients are summed together."""
        raise _undecided("it says itself which gradients are summed, and when",
                         "plan.collectives and plan.timeline show them; a plan of parallel_mode='data_parallel' "
                         "compares the ways to cut.")  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Raises NotDecided: a strategy file would be empty."""
        raise _undecided("a strategy file would be empty")

    def save(self, path: str | Path) -> None:
        """Nothing was decided, so there is nothing to write.

        Raises:
            NotDecided: a ValueError, always; it says what to keep instead.
        """
        raise _undecided(f"{path} would be empty")

    def load(self, path: str | Path, every: bool = True) -> Any:
        """Nothing is decided, so a file has nothing to say.

        Raises:
            NotDecided: a ValueError, always; it says what to do instead.
        """
        raise _undecided(f"{path} has nothing to say to it")

    def __repr__(self) -> str:
        kinds = len(dict.fromkeys(self.graphs))
        return f"<HandPlan: {self.mesh.size} ranks, {kinds} different program{'s' if kinds > 1 else ''}, {self.mode}>"


def _undecided(what: str, hint: str = "") -> NotDecided:
    return NotDecided(
        f"a hybrid_parallel program places its own collectives and has no strategies: {what}.",
        hint=hint or "the program is the plan; parallel_mode='auto_parallel' plans one without collectives.",
    )


_KINDS = {"broadcast_from": "broadcast", "reduce_to": "all_reduce"}


def kind_of(node: Node) -> str:
    """The kind of a collective operator, as ranks count it."""
    return _KINDS.get(node.op.name, node.op.name)


def run_document(
    comm: Communicator, documents: Sequence[Any], which: Sequence[int], given: Sequence[Sequence[Any]]
) -> Any:
    """On a real rank: run the program that is this rank's."""
    program = ReferenceProgram(ArrayDevice("ranks", comm.xp), graph_in(documents[which[comm.rank]]))
    args = [comm.xp.asarray(v) if isinstance(v, (np.ndarray, np.generic)) else v for v in given[comm.rank]]
    with within(comm):
        return [on_host(v) for v in program(args)]
