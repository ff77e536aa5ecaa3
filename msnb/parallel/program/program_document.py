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
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, TypeVar

import numpy as np

from msnb.base import CheckpointError, DeviceError, VerifyError
from msnb.base.files.bounded_reader import MOST_AXES, Refuse, fits_memory, read_json
from msnb.base.files.json_schema import (
    ANYTHING,
    FLAG,
    INDEX,
    REAL,
    TEXT,
    Either,
    FixedRow,
    Int,
    Kind,
    OneOf,
    Record,
    Rows,
    Table,
    misfit,
)  # fmt: skip
from msnb.core import TensorType
from msnb.core.dtypes import ALL, as_dtype
from msnb.ir.analysis.verifier import verify
from msnb.ir.graph import Graph, Node, Value
from msnb.ir.text.parser import ParseError, parse
from msnb.ir.text.printer import constants_of, print_graph
from msnb.ops.elementwise.constant import constant
from msnb.parallel.program import spmd_program as spmd
from msnb.parallel.sharding.device_mesh import (
    EXCHANGE,
    GATHER,
    MAX_DEVICES,
    REDUCE,
    SCATTER,
    Chip,
    Cluster,
    Mesh,
    is_mesh,
)
from msnb.parallel.sharding.layout import TensorLayout
from msnb.parallel.sharding.reshard import SLICE, Move
from msnb.parallel.sharding.strategies import Strategy, call_of

FORMAT, VERSION = "msnb plan", 2
MOST_DOCUMENT = 1 << 31  # characters; big constants of a program are in it
_REF = re.compile(r"([pnio])(\d{1,9})(?:\.(\d{1,9}))?\Z")
_T = TypeVar("_T")


def to_text(program: spmd.SpmdProgram) -> str:
    """The document.

    Raises:
        DeviceError: the program calls back into Python, which other processes do not have.

    Examples:
        >>> import msnb as ms
        >>> plan = ms.parallel.plan(ms.nn.Dense(4, 4), ms.ops.ones((8, 4)), device_num=2)
        >>> from_text(to_text(plan.program)).mesh.size
        2
    """
    return json.dumps(_DocumentWriter(program).document(), separators=(",", ":"))


def from_text(text: str) -> spmd.SpmdProgram:
    """The program of a document.

    Raises:
        CheckpointError: it is none, or one of another version.
    """
    refuse: Refuse = lambda why, **more: CheckpointError(f"this is no plan: {why}.", **more)
    page = read_json(text, refuse, ANYTHING, "the document", MOST_DOCUMENT)
    if not isinstance(page, dict) or page.get("format") != FORMAT or page.get("version") != VERSION:
        found = page.get("version") if isinstance(page, dict) else None
        raise CheckpointError(f"this is no plan of version {VERSION} (format {FORMAT!r}); its version is {found!r}.")
    fault = misfit(_PAGE, page, "the document")
    if fault is not None:
        raise refuse(str(fault))
    return _DocumentReader(page, refuse).program()


def _plain(graph: Graph) -> list[Node]:
    return [n for n in graph.nodes if n.op is not constant]


# ---- writing ----


class _DocumentWriter:
    def __init__(self, program: spmd.SpmdProgram) -> None:
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
            "steps": [self._step(s) for s in p.steps if not isinstance(s, spmd.RunStep) or s.node.op is not constant],
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

    def _buffer(self, buffer: spmd.Buffer) -> list[Any]:
        return [self.names[buffer[0]], self._layout(buffer[1])]

    def _buffers(self, buffers: list[spmd.Buffer]) -> list[list[Any]]:
        return [self._buffer(b) for b in buffers]

    def _step(self, step: spmd.Step) -> dict[str, Any]:
        if isinstance(step, (spmd.SendStep, spmd.RecvStep)):
            kind = "send" if isinstance(step, spmd.SendStep) else "recv"
            ends = {"source": self._layout(step.source), "target": self._layout(step.target)}
            return {kind: self.names[step.value], "sender": step.sender, "receiver": step.receiver, **ends,
                    "phase": step.phase, "where": step.where}  # fmt: skip
        place = {"phase": step.phase, "where": step.where, "late": step.late, "team": step.team}
        axes = self.axes[step.team]
        if isinstance(step, spmd.MoveStep):
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


def _groups(teams: Sequence[spmd.RankGroup], every: Sequence[set[tuple[int, ...]]]) -> dict[str, list[list[int]]]:
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


# ---- reading ----


class _Step(Kind):
    """A step of one of four kinds."""

    legal = "a step: run, move, send or recv"

    def fits(self, value: Any) -> bool:
        return isinstance(value, dict) and len(set(value) & set(_STEPS)) == 1

    def inside(self, value: Any) -> Iterator[tuple[Kind, Any, str]]:
        return iter([(_STEPS[min(set(value) & set(_STEPS))], value, "")])


_ROWS = Rows(Rows(INDEX))
_SIZE = Int(1, MAX_DEVICES)
_BUFFERS = Rows(FixedRow(TEXT, INDEX))
_CLASSES: dict[type, Kind] = {bool: FLAG, int: Int(0, 1 << 62), float: REAL, str: TEXT}
_CLUSTER = Record({
    "name": TEXT, "servers": Either(OneOf(None), _SIZE),
    "chip": Record({f.name: _CLASSES[type(getattr(Chip(), f.name))] for f in fields(Chip)}),
})  # fmt: skip
_GRAPH = Record({"text": TEXT, "constants": Table(FixedRow(OneOf(*(t.name for t in ALL)), Rows(INDEX), TEXT))})
_STRATEGY = Record({
    "blocks": Rows(FixedRow(TEXT, Rows(INDEX))), "inputs": Rows(INDEX), "outputs": Rows(INDEX), "partial": Rows(INDEX),
    "reducer": OneOf("sum", "mean", "max", "min", "prod", "any", "all"), "scatter": Int(-1, MOST_AXES),
})  # fmt: skip
_PHASE, _NUMBER, _DIM = OneOf(spmd.FORWARD, spmd.BACKWARD, spmd.UPDATE), Int(0, MAX_DEVICES), Int(-1, MOST_AXES)
_PLACE: dict[str, Kind] = {"phase": _PHASE, "where": TEXT, "late": FLAG, "team": _NUMBER}
_ENDS: dict[str, Kind] = {"source": INDEX, "target": INDEX}
_MOVE = FixedRow(OneOf(SLICE, GATHER, SCATTER, REDUCE, EXCHANGE), Rows(INDEX), _DIM, _DIM, INDEX, INDEX, REAL, REAL)
_SENT: dict[str, Kind] = {"sender": _NUMBER, "receiver": _NUMBER, "phase": _PHASE, "where": TEXT, **_ENDS}
_STEPS: dict[str, Kind] = {
    "run": Record({"run": INDEX, "strategy": _STRATEGY, "wide": FLAG, **_PLACE}),
    "move": Record({"move": TEXT, "moves": Rows(_MOVE), **_ENDS, **_PLACE}),
    "send": Record({"send": TEXT, **_SENT}),
    "recv": Record({"recv": TEXT, **_SENT}),
}
_PAGE = Record({
    "format": OneOf(FORMAT), "version": Int(VERSION, VERSION), "cluster": _CLUSTER,
    "teams": Rows(FixedRow(_NUMBER, Rows(_SIZE))), "graph": _GRAPH, "layouts": Rows(FixedRow(_ROWS, Rows(INDEX))),
    "groups": Table(_ROWS), "params": _BUFFERS, "anywhere": Rows(TEXT), "steps": Rows(_Step()),
    "outputs": _BUFFERS, "weights": Rows(TEXT), "gradients": _BUFFERS, "trains": FLAG, "homes": Table(Rows(INDEX)),
})  # fmt: skip


class _DocumentReader:
    """The program of a page that has the form of ``_PAGE``; every number in it is looked up in what it counts."""

    def __init__(self, data: Mapping[str, Any], refuse: Refuse) -> None:
        self.data, self.refuse, devices = data, refuse, data["cluster"]
        cluster = Cluster(devices["name"], devices["servers"], chip=Chip(**devices["chip"]))
        if not data["teams"] or any(not is_mesh(factors) for _, factors in data["teams"]):
            raise refuse(f"its teams have {data['teams']}, and not 1 to {MAX_DEVICES} devices each")
        self.teams = tuple(spmd.RankGroup(first, Mesh(tuple(factors), cluster)) for first, factors in data["teams"])
        self.axes = max(len(team.mesh.factors) for team in self.teams)
        self.graph = graph_in(data["graph"])
        self.nodes = _plain(self.graph)
        self.layouts = [self._made_layout(dims, partial) for dims, partial in data["layouts"]]

    def _made_layout(self, dims: list[list[int]], partial: list[int]) -> TensorLayout:
        used = [a for axes in (*dims, partial) for a in axes]
        if len(set(used)) < len(used) or any(a >= self.axes for a in used):
            raise self.refuse(f"the layout {dims} with the open sums {partial} is none over {self.axes} mesh axes")
        return TensorLayout(tuple(map(tuple, dims)), tuple(partial))

    def program(self) -> spmd.SpmdProgram:
        d = self.data
        out = spmd.SpmdProgram(self.teams, self.graph, trains=d["trains"])
        out.params = dict(map(self._buffer, d["params"]))
        out.anywhere = {self._value(v) for v in d["anywhere"]}
        out.steps = [self._step(s) for s in d["steps"]]
        out.outputs, out.gradients = (list(map(self._buffer, d[k])) for k in ("outputs", "gradients"))
        if len(out.outputs) + len(out.gradients) != len(self.graph.outputs):
            told = f"{len(out.outputs)} outputs and {len(out.gradients)} gradients"
            raise self.refuse(f"it has {told}, and its graph {len(self.graph.outputs)} results")
        del self.graph.outputs[len(out.outputs) :]
        if any(j >= len(out.outputs) for j in self.graph.state.values()):
            raise self.refuse("a state of its graph has its new value among the gradients")
        out.weights = [self._value(v) for v in d["weights"]]
        out.homes = {self._value(v): self._homes(teams) for v, teams in d["homes"].items()}
        return out

    def _homes(self, teams: list[int]) -> tuple[int, ...]:
        return tuple(self._team(t) for t in teams)

    def _team(self, number: int) -> int:
        self._at(self.teams, number, "team")
        return number

    def _at(self, things: Sequence[_T], number: int, what: str) -> _T:
        if number >= len(things):
            raise self.refuse(f"it speaks of the {what} number {number}, and has {len(things)}")
        return things[number]

    def _value(self, name: str) -> Value:
        found = _REF.match(name)
        if found is None:
            raise self.refuse(f"{name!r} does not name a value of a plan")
        kind, i, j = found[1], int(found[2]), int(found[3] or 0)
        if kind in "ni":
            node = self._at(self.nodes, i, "node")
            return self._at(node.outputs if kind == "n" else node.inputs, j, f"value of node {i}")
        return self._at(self.graph.params if kind == "p" else self.graph.outputs, i, "param or result")

    def _buffer(self, entry: Any) -> spmd.Buffer:
        return self._lying(self._value(entry[0]), self._layout(entry[1]))

    def _lying(self, value: Value, layout: TensorLayout) -> spmd.Buffer:
        """A value in a layout that has its axes."""
        if isinstance(value.type, TensorType) and len(layout.dims) != value.type.ndim:
            raise self.refuse(f"a layout of {len(layout.dims)} axes is given to {value.type!r}")
        return value, layout

    def _step(self, s: Mapping[str, Any]) -> spmd.Step:
        if "send" in s or "recv" in s:
            make = spmd.SendStep if "send" in s else spmd.RecvStep
            source, target = self._layouts([s["source"], s["target"]])
            value = self._value(s["send"] if "send" in s else s["recv"])
            ends = self._team(s["sender"]), self._team(s["receiver"])
            return make(value, ends[0], source, ends[1], target, s["phase"], s["where"])
        place: dict[str, Any] = {key: s[key] for key in ("phase", "where", "late", "team")}
        mesh = self._at(self.teams, s["team"], "team").mesh
        if "move" in s:
            moves = tuple(self._move(m, mesh) for m in s["moves"])
            source, target = self._layouts([s["source"], s["target"]])
            value, _ = self._lying(self._value(s["move"]), target)
            return spmd.MoveStep(value, moves, source, target, **place)
        node, t = self._at(self.nodes, s["run"], "node"), s["strategy"]
        strategy = Strategy(tuple((name, tuple(run)) for name, run in t["blocks"]), self._layouts(t["inputs"]),
                            self._layouts(t["outputs"]), tuple(t["partial"]), t["reducer"], t["scatter"])  # fmt: skip
        self._need_axes((*(a for _, run in strategy.blocks for a in run), *strategy.partial), mesh)
        if (len(strategy.inputs), len(strategy.outputs)) != (len(node.inputs), len(node.outputs)):
            raise self.refuse(f"the step of {s['where']} lays out {len(strategy.inputs)} operands and "
                              f"{len(strategy.outputs)} results of {node.op.name}")  # fmt: skip
        operands = [self._lying(*pair) for pair in zip(node.inputs, strategy.inputs)]
        results = [self._lying(*pair) for pair in zip(node.outputs, strategy.outputs)]
        return spmd.RunStep(node, call_of(node), strategy, operands, results, **place, wide=s["wide"])

    def _layout(self, number: int) -> TensorLayout:
        return self._at(self.layouts, number, "layout")

    def _layouts(self, numbers: list[int]) -> tuple[TensorLayout, ...]:
        return tuple(map(self._layout, numbers))

    def _need_axes(self, axes: Sequence[int], mesh: Mesh) -> None:
        if any(a >= len(mesh.factors) for a in axes):
            raise self.refuse(f"the mesh axes {list(axes)} are not all among {len(mesh.factors)}")

    def _move(self, m: list[Any], mesh: Mesh) -> Move:
        kind, axes, dim, to, before, after, nbytes, seconds = m
        self._need_axes(axes, mesh)
        return Move(kind, tuple(axes), dim, to, self._layout(before), self._layout(after), nbytes, seconds)


def graph_in(entry: Mapping[str, Any]) -> Graph:
    """The graph of ``graph_out``.

    Raises:
        CheckpointError: a constant does not have the bytes that its type says, or the program breaks a law of the IR.
    """
    constants = {key: _array_in(key, *stored) for key, stored in entry["constants"].items()}
    try:
        graph = parse(entry["text"], constants)
        verify(graph)
    except (ParseError, VerifyError) as error:
        raise CheckpointError(f"this is no plan: its program cannot be read: {error.sentence}") from error
    return graph


def _array_in(key: str, name: str, shape: list[int], text: str) -> Any:
    dtype = as_dtype(name).numpy
    try:
        content = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise CheckpointError(f"this is no plan: its constant {key} is no base64: {error}.") from None
    if not fits_memory(tuple(shape), dtype.itemsize) or math.prod(shape) * dtype.itemsize != len(content):
        raise CheckpointError(f"this is no plan: its constant {key} has {len(content)} bytes, not {name}{shape}.")
    return np.frombuffer(content, dtype).reshape(shape)
