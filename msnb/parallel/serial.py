"""A plan's steps as one JSON document: what every back end runs, in this process or in another.

    format, version
    cluster    name, servers, chip        the devices
    teams      first rank, mesh factors   who walks; a pipeline has a team per stage
    graph      text, constants            the program whose nodes the steps run
    layouts    dims, partial              a table; everything else says its number
    groups     mesh axes -> ranks         who talks to whom in a collective over these axes
    steps      run | move | send | recv   in order, with strategy, moves, phase, place, team, wide
    params, anywhere, outputs, weights, gradients, trains, homes

A value is named by its place in the graph: ``p3`` is the third param (from 0), ``n12.0`` the first result of the
twelfth node, constants not counted: the text writes small ones where they are read, so a constant is ``i12.2``, what
that node reads third, or ``o0``, what the graph returns first (gradients are returned behind the outputs).
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from msnb.core.errors import CheckpointError, DeviceError
from msnb.ir.graph import Graph, Node, Value
from msnb.ir.parse import parse
from msnb.ir.text import constants_of, print_graph
from msnb.ops.constant import constant
from msnb.parallel.layout import TensorLayout
from msnb.parallel.mesh import Chip, Cluster, Mesh
from msnb.parallel.program import Buffer, MoveStep, Program, RecvStep, RunStep, SendStep, Step, Team
from msnb.parallel.reshard import Move
from msnb.parallel.strategies import Strategy, call_of

FORMAT, VERSION = "msnb plan", 2
_REF = re.compile(r"([pnio])(\d+)(?:\.(\d+))?\Z")


def to_text(program: Program) -> str:
    """The document.

    Raises:
        DeviceError: the program calls back into Python, which other processes do not have.

    Examples:
        >>> import msnb as ms
        >>> plan = ms.parallel.plan(ms.nn.Dense(4, 4), ms.ops.ones((8, 4)), device_num=2)
        >>> from_text(to_text(plan.program)).mesh.size
        2
    """
    return json.dumps(_Writer(program).document(), separators=(",", ":"))


def from_text(text: str) -> Program:
    """The program of a document.

    Raises:
        CheckpointError: it is none, or one of another version.
    """
    try:
        data = json.loads(text)
    except ValueError as error:
        raise CheckpointError(f"this is no plan: {error}.") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT or data.get("version") != VERSION:
        found = data.get("version") if isinstance(data, dict) else None
        raise CheckpointError(f"this is no plan of version {VERSION} (format {FORMAT!r}); its version is {found!r}.")
    return _Reader(data).program()


def _plain(graph: Graph) -> list[Node]:
    return [n for n in graph.nodes if n.op is not constant]


# ---- writing -------------------------------------------------------------------------------------------------------


class _Writer:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.nodes: dict[Node, int] = {}
        self.names: dict[Value, str] = {p: f"p{i}" for i, p in enumerate(program.graph.params)}
        self.layouts: dict[TensorLayout, int] = {}
        self.axes: list[set[tuple[int, ...]]] = [set() for _ in program.teams]
        for n, node in enumerate(_plain(program.graph)):
            self.nodes[node] = n
            self.names.update((v, f"n{n}.{i}") for i, v in enumerate(node.outputs))
            for i, v in enumerate(node.inputs):
                self.names.setdefault(v, f"i{n}.{i}")
        self.shown = Graph(program.graph.name, program.graph.module)
        graph = program.graph
        self.shown.params, self.shown.nodes, self.shown.state = graph.params, graph.nodes, graph.state
        self.shown.outputs = [*program.graph.outputs, *(v for v, _ in program.gradients)]
        for i, v in enumerate(self.shown.outputs):
            self.names.setdefault(v, f"o{i}")

    def document(self) -> dict[str, Any]:
        p = self.program
        body = {
            "params": [[self.names[v], self._layout(layout)] for v, layout in p.params.items()],
            "anywhere": sorted(self.names[v] for v in p.anywhere if v in self.names),
            "steps": [self._step(s) for s in p.steps if not isinstance(s, RunStep) or s.node.op is not constant],
            "outputs": self._buffers(p.outputs),
            "weights": [self.names[v] for v in p.weights],
            "gradients": self._buffers(p.gradients),
            "trains": p.trains,
            "homes": {self.names[v]: list(teams) for v, teams in p.homes.items() if v in self.names},
        }
        cluster = p.mesh.cluster
        devices = {"name": cluster.name, "servers": cluster.servers, "chip": asdict(cluster.chip)}
        teams = [[team.first, list(team.mesh.factors)] for team in p.teams]
        groups = _groups(p.teams, self.axes)
        layouts = [[[list(a) for a in t.dims], list(t.partial)] for t in self.layouts]
        return {"format": FORMAT, "version": VERSION, "cluster": devices, "teams": teams,
                "graph": graph_out(self.shown), "layouts": layouts, "groups": groups, **body}  # fmt: skip

    def _layout(self, layout: TensorLayout) -> int:
        return self.layouts.setdefault(layout, len(self.layouts))

    def _buffer(self, buffer: Buffer) -> list[Any]:
        return [self.names[buffer[0]], self._layout(buffer[1])]

    def _buffers(self, buffers: list[Buffer]) -> list[list[Any]]:
        return [self._buffer(b) for b in buffers]

    def _step(self, step: Step) -> dict[str, Any]:
        if isinstance(step, (SendStep, RecvStep)):
            kind = "send" if isinstance(step, SendStep) else "recv"
            ends = {"source": self._layout(step.source), "target": self._layout(step.target)}
            return {kind: self.names[step.value], "sender": step.sender, "receiver": step.receiver, **ends,
                    "phase": step.phase, "where": step.where}  # fmt: skip
        place = {"phase": step.phase, "where": step.where, "late": step.late, "team": step.team}
        axes = self.axes[step.team]
        if isinstance(step, MoveStep):
            ends = {"source": self._layout(step.source), "target": self._layout(step.target)}
            return {"move": self.names[step.value], **ends, "moves": [self._move(m, axes) for m in step.moves],
                    **place}  # fmt: skip
        s = step.strategy
        axes |= {s.partial} - {()}
        strategy = {"blocks": [[name, list(run)] for name, run in s.blocks],
                    "inputs": [self._layout(t) for t in s.inputs], "outputs": [self._layout(t) for t in s.outputs],
                    "partial": list(s.partial), "reducer": s.reducer, "scatter": s.scatter}  # fmt: skip
        return {"run": self.nodes[step.node], "strategy": strategy, **place, "wide": step.wide}

    def _move(self, m: Move, axes: set[tuple[int, ...]]) -> list[Any]:
        axes.add(m.axes)
        return [m.kind, list(m.axes), m.dim, m.to, self._layout(m.before), self._layout(m.after), m.nbytes, m.seconds]


def _groups(teams: Sequence[Team], every: Sequence[set[tuple[int, ...]]]) -> dict[str, list[list[int]]]:
    """The ranks of the world that talk to each other over these mesh axes of their team."""
    out: dict[str, list[list[int]]] = {}
    for axes in sorted(set().union(*every)):
        told = [team for team, own in zip(teams, every) if axes in own]
        out[",".join(map(str, axes))] = [[t.first + r for r in g] for t in told for g in t.mesh.groups(axes)]
    return out


def graph_out(graph: Graph) -> dict[str, Any]:
    """A graph as plain data.

    Raises:
        DeviceError: it calls back into Python.
    """
    constants = {key: _array_out(key, value) for key, value in constants_of(graph).items()}
    return {"text": print_graph(graph, where=False), "constants": constants}


def _array_out(key: str, value: Any) -> list[Any]:
    if not isinstance(value, np.ndarray):
        raise DeviceError(f"the program calls back into Python ({key}), which other processes do not have.",
                          hint="run it with engine='inproc', or write that part with msnb.ops.")  # fmt: skip
    return [value.dtype.name, list(value.shape), base64.b64encode(value.tobytes()).decode()]


# ---- reading -------------------------------------------------------------------------------------------------------


class _Reader:
    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data, devices = data, data["cluster"]
        cluster = Cluster(devices["name"], devices["servers"], chip=Chip(**devices["chip"]))
        self.teams = tuple(Team(first, Mesh(tuple(factors), cluster)) for first, factors in data["teams"])
        self.graph = graph_in(data["graph"])
        self.nodes = _plain(self.graph)
        self.layouts = [TensorLayout(tuple(map(tuple, dims)), tuple(partial)) for dims, partial in data["layouts"]]

    def program(self) -> Program:
        d = self.data
        out = Program(self.teams, self.graph, trains=d["trains"])
        out.params = dict(map(self._buffer, d["params"]))
        out.anywhere = {self._value(v) for v in d["anywhere"]}
        out.steps = [self._step(s) for s in d["steps"]]
        out.outputs, out.gradients = (list(map(self._buffer, d[k])) for k in ("outputs", "gradients"))
        del self.graph.outputs[len(out.outputs) :]
        out.weights = [self._value(v) for v in d["weights"]]
        out.homes = {self._value(v): tuple(teams) for v, teams in d["homes"].items()}
        return out

    def _value(self, name: str) -> Value:
        found = _REF.match(name)
        if found is None:
            raise CheckpointError(f"{name!r} does not name a value of a plan.")
        kind, i, j = found[1], int(found[2]), int(found[3] or 0)
        if kind in "ni":
            return (self.nodes[i].outputs if kind == "n" else self.nodes[i].inputs)[j]
        return (self.graph.params if kind == "p" else self.graph.outputs)[i]

    def _buffer(self, entry: Any) -> Buffer:
        return self._value(entry[0]), self.layouts[entry[1]]

    def _step(self, s: Mapping[str, Any]) -> Step:
        if "send" in s or "recv" in s:
            make = SendStep if "send" in s else RecvStep
            source, target = self._layouts([s["source"], s["target"]])
            value = self._value(s.get("send") or s["recv"])
            return make(value, s["sender"], source, s["receiver"], target, s["phase"], s["where"])
        place: dict[str, Any] = {key: s[key] for key in ("phase", "where", "late", "team")}
        if "move" in s:
            moves = tuple(map(self._move, s["moves"]))
            source, target = self._layouts([s["source"], s["target"]])
            return MoveStep(self._value(s["move"]), moves, source, target, **place)
        node, t = self.nodes[s["run"]], s["strategy"]
        strategy = Strategy(tuple((name, tuple(run)) for name, run in t["blocks"]), self._layouts(t["inputs"]),
                            self._layouts(t["outputs"]), tuple(t["partial"]), t["reducer"], t["scatter"])  # fmt: skip
        return RunStep(node, call_of(node), strategy, list(zip(node.inputs, strategy.inputs)),
                       list(zip(node.outputs, strategy.outputs)), **place, wide=s["wide"])  # fmt: skip

    def _layouts(self, numbers: list[int]) -> tuple[TensorLayout, ...]:
        return tuple(self.layouts[i] for i in numbers)

    def _move(self, m: list[Any]) -> Move:
        kind, axes, dim, to, before, after, nbytes, seconds = m
        return Move(kind, tuple(axes), dim, to, self.layouts[before], self.layouts[after], nbytes, seconds)


def graph_in(entry: Mapping[str, Any]) -> Graph:
    """The graph of ``graph_out``."""
    read: Callable[[list[Any]], Any] = lambda c: np.frombuffer(base64.b64decode(c[2]), c[0]).reshape(c[1])
    return parse(entry["text"], {key: read(c) for key, c in entry["constants"].items()})
