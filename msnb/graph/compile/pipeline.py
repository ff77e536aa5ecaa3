"""From a captured graph to a compiled program.

    captured --inline--fold--algebra--cse--dce--> hardware_independent [--layout--block--fuse-->] device.compile

The order: calls are opened first so that everything sees through them; constants are folded before laws look for ones
and zeros; what laws leave behind is merged and swept out. When the laws changed something, a second round follows, and
never a third: cost stays linear. A pass never runs twice on a graph that nothing changed since.

Before any of it, the device is asked whether it remembers what this graph became (``device.recall``); if it does not,
gradients that capture merely noted are written out first (``autodiff.deferred_gradient``, ``before_gradient``).

What stands in brackets is for the device that is asked for, and runs where the device wants it and jit_level is O1;
``block`` only for callers that hand over state in blocks (``packs``).

Machine code is made at the first call (``CompiledProgram.executable``), so whoever only looks at a program waits for
passes and for nothing else; ``build`` makes it at once, for those who will call.

Every pass leaves a stage: its name, seconds, how many rewrites, and, when graphs are kept, the graph.
"""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Hashable
from functools import cached_property, partial
from time import perf_counter
from typing import Any

from msnb.autodiff.deferred_gradient import written_out
from msnb.base import device_registry, events, get_context
from msnb.base.gc_pause import at_rest
from msnb.core.storage.memory_format import BlockedFormat
from msnb.core.storage.packed_storage import take
from msnb.graph.compile import passes as _register
from msnb.graph.compile.pass_manager import PassManager, StageRecord
from msnb.graph.compile.passes.channels_last.axis_rules import is_seed
from msnb.graph.compile.passes.fusion.grouping import FUSE
from msnb.graph.compile.passes.pre_gradient_cse import MERGE
from msnb.graph.compile.passes.rolling import ROLL, rolled
from msnb.graph.compile.passes.weight_blocking import block_pass
from msnb.graph.compile.plugin_passes import plugged
from msnb.graph.compile.rewriting import PASSES, Log, Pass, Rewrite
from msnb.graph.compile.symbolic_passes import SymbolicSource
from msnb.ir import BoundGraph, Graph
from msnb.ir.analysis.structural_hash import Content, content_of
from msnb.ir.text.printer import called, print_graph

__all__ = ["CompiledProgram", "StageRecord", "compile_graph", "optimise"]
assert _register

ROUND = ("fold", "algebra", "cse")
EXTRA: list[str] = []
"""Names of registered passes to run as well: once, after the laws and before dead code is swept out."""

_numbers = itertools.count(1)
_BOUND = "bound", "Passed with symbols, bound to sizes."


class PassResult:
    """A graph after all passes for a device.

    Attributes:
        graph: after the hardware-independent passes: what people are shown as the program.
        ready: the graph after all: what the device compiles.
        forms: the blocks of its params that lie in blocks, by position.
        stages: what each stage did; log: the rewrites.
    """

    def __init__(self, program: CompiledProgram, device: Any, fused: bool, keep: bool, packs: bool = False) -> None:
        self.log: Log = Log(keep)
        self.forms: dict[int, BlockedFormat] = {}
        self._program, self._fused = program, fused
        self._symbolic = program.symbolic if program.is_plain() else None
        manager = self._simplified(keep)
        self.graph: Graph = manager.graph
        self.stages: list[StageRecord] = manager.stages
        if fused:
            passes = lowering(self.graph, device)
            for record in (*passes, *([block_pass(device.blocks_of, self.forms)] if packs else []), FUSE):
                manager.run(record)
        self.ready: Graph = manager.graph

    def _simplified(self, keep: bool) -> PassManager:
        """The hardware-independent passes, run or bound; what they did serves sizes to come."""
        program, fused = self._program, self._fused
        symbolic = self._symbolic
        found = None if symbolic is None else symbolic.passes.bound(fused, symbolic.sizes)
        if found is not None:
            return PassManager(found, self.log, begin=_BOUND)
        manager = _simplified(program.source, self.log, keep)
        if symbolic is not None:
            differentiated = partial(_differentiated, fused=fused, copies=program.copies)
            symbolic.passes.learn(
                fused, symbolic.sizes, manager.graph, lambda g: _simplified(differentiated(g), Log(), False).graph
            )
        return manager


class CompiledProgram:
    """A compiled program: call it on buffers.

    A program that an earlier compilation left on disk is taken from there: its key is the content of the captured graph
    and of everything that would work on it. Then no pass runs; what they would have done is worked out when asked for.

    Attributes:
        name: what it is called in stages and events.
        noted: the graph as given; source: the same with gradients written out.
        forms: the blocks of its state in blocks, by position of the param (``packs``): there the caller hands over the
            Tensor instead of its buffer, and gets the new value in these blocks.
        recalled: it was found on disk; bound: it is the device's program with symbols, bound to sizes.
    """

    def __init__(
        self, name: str, source: Graph | BoundGraph, keep: bool, packs: bool = False, copies: bool = False,
        symbolic: SymbolicSource | None = None,
    ) -> None:  # fmt: skip
        self.name: str = name
        self._given = source
        self.copies: bool = copies
        self.symbolic: SymbolicSource | None = symbolic
        self._device, self._keep, self._packs = device_registry.current(), keep, packs
        self._fuses = fuses(self._device)
        self._passed: PassResult | None = None
        self._content: Content | None = None
        start = perf_counter()
        found: Any = None
        if symbolic is not None and self.target is not None:
            found = symbolic.passes.program(self.target, symbolic.sizes, self._fuses, self._ready)
        self.bound: bool = found is not None
        if found is None and self._remembered():
            self._content = content_of(self.noted)
            found = None if self._content is None else self._device.recall(self._content, self._ready, packs)
        self._code_seconds = perf_counter() - start
        self.recalled: bool = found is not None and not self.bound
        if found is not None:
            self.executable = found
        self.forms: dict[int, BlockedFormat] = self._passes.forms if found is None else found.forms

    @cached_property
    def noted(self) -> Graph:
        """The graph as given: gradients may stand as nodes."""
        return self._given if isinstance(self._given, Graph) else self._given.graph

    @cached_property
    def target(self) -> Hashable:
        """What programs of the graph with symbols depend on besides; None where there is none to use."""
        if self.symbolic is None or not self._fuses or not self.is_plain():
            return None
        return self._device.name, self._packs

    def _ready(self) -> Graph:
        return self._passes.ready

    @cached_property
    def executable(self) -> Any:
        """What the device made of it: machine code, made when it is first asked for and left on disk."""
        start = perf_counter()
        with at_rest():
            made = self._device.compile(self._passes.ready)
            if self.symbolic is not None and self.target is not None and not self.forms:
                passes = partial(_for_device, device=self._device)
                learn = partial(self.symbolic.passes.learn_program, self.target, self.symbolic.sizes)
                learn(self._fuses, self._device, passes, made)
            if self._content is not None:
                self._device.keep(self._content, made, self.forms, self._packs)
        self._code_seconds = perf_counter() - start
        return made

    def build(self) -> CompiledProgram:
        """The program, with its code made: the first call finds it there."""
        _ = self.executable
        return self

    @property
    def timings(self) -> dict[str, float]:
        """Seconds per stage, ``compile`` being the device's part, which is done for it if it was not yet."""
        self.build()
        passes = {} if self.recalled or self.bound else {s.name: s.seconds for s in self.stages}
        return {**passes, "compile": self._code_seconds}

    def is_plain(self) -> bool:
        """Whether the passes may be left out where their result is known: not if someone watches or adds to them."""
        watched = self._keep or get_context("verify_graphs") or any(map(events.listeners.get, ("stage", "rewrite")))
        return not (watched or EXTRA or plugged())

    def _remembered(self) -> bool:
        """Whether a program on disk would be the same."""
        return self.is_plain() and self._fuses and bool(self._device.features.remembers)

    @cached_property
    def source(self) -> Graph:
        """The graph as captured, its gradients written out."""
        return _differentiated(self.noted, self._fuses, self.copies)

    @property
    def _passes(self) -> PassResult:
        if self._passed is None:
            with at_rest():
                self._passed = PassResult(self, self._device, self._fuses, self._keep, self._packs)
        return self._passed

    @property
    def graph(self) -> Graph:
        """The graph that runs, before the device changes it to its needs."""
        return self._passes.graph

    @property
    def stages(self) -> list[StageRecord]:
        """What each stage did."""
        return self._passes.stages

    @property
    def history(self) -> list[Rewrite]:
        """Every rewrite with its reason (empty unless graphs were kept)."""
        return self._passes.log.history

    @property
    def counts(self) -> Counter[tuple[str, str]]:
        """How often each law was applied, by (pass, law)."""
        return self._passes.log.counts

    def __call__(self, args: list[Any]) -> list[Any]:
        """Buffers in, buffers out.

        Args:
            args: Python scalars for weak params; where ``forms`` says so a Tensor, in whose place the list then has its
                blocked array (a list of ours would be one more owner, and only what has one owner is written in place).
        """
        for i, form in self.forms.items():
            args[i] = take(args[i], form)
        executable = self.executable
        start = perf_counter() if events.program_listeners else 0.0
        found: list[Any] = executable(args)
        if events.program_listeners:
            events.emit("program", program=self, seconds=perf_counter() - start)
        return found

    def __repr__(self) -> str:
        nodes = sum(1 for _ in self.graph.walk())
        return f"<compiled {self.name}: {len(self.graph.params)} params, {nodes} nodes>"


def lowering(graph: Graph, device: Any) -> list[Pass]:
    """The passes between the hardware-independent ones and fusion, for this graph on this device."""
    turns = any(is_seed(node) for _, node in graph.walk()) and device.features.prefers_channels_last
    return [PASSES[name] for name in (("regroup", "layout") if turns else ("regroup",))]


def _for_device(graph: Graph, device: Any) -> Graph:
    """A graph after the passes for a device."""
    for record in (*lowering(graph, device), FUSE):
        graph = record.run(graph, Log())
    return graph


def _differentiated(noted: Graph, fused: bool, copies: bool) -> Graph:
    """A captured graph with its gradients written out."""
    return written_out(rolled(noted, copies), _prepared) if fused else written_out(noted)


def _prepared(graph: Graph) -> Graph:
    """A function whose gradient is taken next: its long loops rolled, what it computes twice merged."""
    log = Log()
    for record in (ROLL, MERGE):
        graph = record.run(graph, log)
    return graph


def fuses(device: Any) -> bool:
    """True when this device compiles groups of operations and the session wants it to."""
    return bool(device.features.fuses) and get_context("jit_level") != "O0"


def compile_graph(
    graph: Graph | BoundGraph, *, name: str = "", keep_stages: bool | None = None, packs: bool = False,
    copies: bool = False, symbolic: SymbolicSource | None = None,
) -> CompiledProgram:  # fmt: skip
    """Simplify a graph for the current device; its machine code is made at the first call, or by ``build()``.

    Args:
        graph: a closed graph; it is not changed. Gradients may stand in it as nodes.
        name: what to call the program (the graph's name by default).
        keep_stages: keep every stage's graph and every rewrite; None: as ``set_context(save_graphs=)`` says.
        packs: the caller keeps state in blocks between calls (see ``CompiledProgram.forms``).
        copies: loops may be rolled whose turns read values of their own from outside, at the price of a copy.
        symbolic: the program with symbols that ``graph`` was bound from: its passes run once for all sizes.

    Returns:
        The program, with its stages, timings and history.

    Raises:
        VerifyError: a transform made a wrong graph.

    Examples:
        >>> from msnb.ir.text.parser import parse
        >>> text = "graph f(x: f32[2]) -> (f32[2])\\n %1 = multiply(x, ~1.0) : f32[2]\\n return %1"
        >>> len(compile_graph(parse(text)).graph.nodes)
        0
    """
    keep = bool(get_context("save_graphs")) if keep_stages is None else keep_stages
    with at_rest():
        compiled = CompiledProgram(name or graph.name, graph, keep, packs, copies, symbolic)
    if keep and get_context("save_graphs_path"):
        save_stages(compiled, str(get_context("save_graphs_path")))
    return compiled


def optimise(graph: Graph, log: Log | None = None, keep: bool = False) -> tuple[Graph, list[StageRecord]]:
    """The hardware-independent passes: the simplified graph and what each stage did."""
    manager = _simplified(graph, Log() if log is None else log, keep)
    return manager.graph, manager.stages


def _simplified(graph: Graph, log: Log, keep: bool) -> PassManager:
    manager, laws = PassManager(graph, log, keep), [PASSES[name] for name in ROUND]
    if called(graph):
        manager.run(PASSES["inline"])
    changed = manager.run_round(laws)
    for name in EXTRA:
        changed = manager.run(PASSES[name]) or changed
    for plugin, record in plugged():
        changed = manager.run_guarded(plugin, record) or changed
    if changed:
        manager.run_round(laws)
    manager.run(PASSES["dce"])
    return manager


def save_stages(compiled: CompiledProgram, folder: str) -> str:
    """Write every kept stage as text; returns the folder of this program: ``step_0001/03_algebra.ir``."""
    word = re.sub(r"[^A-Za-z0-9_.-]", "_", compiled.name) or "graph"
    target = os.path.join(folder, f"{word}_{next(_numbers):04d}")
    os.makedirs(target, exist_ok=True)
    for i, stage in enumerate(s for s in compiled.stages if s.graph is not None):
        assert stage.graph is not None
        path = os.path.join(target, f"{i:02d}_{stage.name.replace(' ', '_')}.ir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"# {stage.name}: {stage.law}\n{print_graph(stage.graph)}\n")
    return target
