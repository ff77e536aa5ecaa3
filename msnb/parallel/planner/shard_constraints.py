"""Splits that people wrote with ``shard``, as strategies of nodes.

An operator with all its axes said has one strategy; with some of them said (one input of two, the arguments of a Cell)
those that agree, and the search chooses among them. Layouts say mesh axes, not only how many ways, so two operators
with one Layout need no reshard between them.

    Layout((2, 4), ("dp", "mp")) on a mesh (2, 2, 2):    dp is mesh axis 0, mp are mesh axes 1 and 2
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msnb.base import AttributeValueError
from msnb.core.shard_annotation import ShardHint, checked
from msnb.ir.graph import Node
from msnb.parallel.planner.cost_graph_builder import CostGraphBuilder
from msnb.parallel.sharding import strategies as sharding
from msnb.parallel.sharding.layout import Axes, TensorLayout
from msnb.parallel.sharding.op_axes import Row


def marked(problem: CostGraphBuilder) -> dict[Node, list[sharding.Strategy]]:
    """The strategies of nodes that somebody wrote something for.

    Raises:
        ValueError: what was written does not fit: a sentence with the op, the axis, the sizes and the legal choices.
    """
    out: dict[Node, list[sharding.Strategy]] = {}
    refused: dict[int, ValueError] = {}
    heard: set[int] = set()
    for node in problem.graph.nodes:
        if node.marks and node in problem.place:
            wishes = _fitting(problem, node, refused)
            heard |= {id(w) for w in wishes.values()}
            if wishes:
                out[node] = _NodeRequests(problem.names[node], problem.calls[node], wishes, problem).strategies()
    for at, error in refused.items():  # a Cell's input that none of its readers can take like that
        if at not in heard:
            raise error
    return out


def written(problem: CostGraphBuilder, wanted: Mapping[str, Any]) -> dict[Node, list[sharding.Strategy]]:
    """Strategies by the names of operators (their paths, kinds), each split counts, a Layout or None (any) per input.

    Raises:
        ValueError: an unknown name, or a strategy that is wrong. TypeError: what is no strategy at all.
    """
    out: dict[Node, list[sharding.Strategy]] = {}
    for name, splits in wanted.items():
        given = checked(name, "its strategy", splits)
        if all(isinstance(s, tuple) for s in given):
            out.update({node: [s] for node, s in problem.operators.fixed({name: given}, problem.mesh).items()})
            continue
        wishes = {i: ShardHint(s, name) for i, s in enumerate(given) if s is not None and s != ()}
        for node in problem.operators.named(name):
            out[node] = _NodeRequests(problem.names[node], problem.calls[node], wishes, problem).strategies()
    return out


def _fitting(problem: CostGraphBuilder, node: Node, refused: dict[int, ValueError]) -> dict[int, ShardHint]:
    """The wishes that the node can follow; one that it must follow raises."""
    out: dict[int, ShardHint] = {}
    for i, wish in (node.marks or {}).items():
        try:
            together = {**out, i: wish}
            _NodeRequests(problem.names[node], problem.calls[node], together, problem).strategies()
            out = together
        except AttributeValueError as error:
            if wish.must:
                raise
            refused.setdefault(id(wish), error)
    return out


class _NodeRequests:
    """What was asked of one node."""

    def __init__(
        self, name: str, call: sharding.OpSignature, wishes: Mapping[int, ShardHint], problem: CostGraphBuilder
    ) -> None:
        self.name, self.call, self.wishes, self.mesh = name, call, wishes, problem.mesh
        self.problem = problem
        self.splits = {i: self._split(w.split) for i, w in wishes.items()}

    def _split(self, split: Any) -> tuple[int, ...]:
        if not hasattr(split, "tensor_map"):
            return tuple(split)
        split.need_mesh(self.mesh.size)
        return tuple(split.splits())

    def strategies(self) -> list[sharding.Strategy]:
        """Those that agree with every wish.

        Raises:
            ValueError: there is none.
        """
        read = [i for i in self.splits if i >= 0]  # a result may be spread further than its inputs say
        requests = [sharding.SplitRequest(*self._row(i), self.splits[i]) for i in read or self.splits]
        counts = sharding.counts_of(self.name, self.call, requests)
        sharding.check_counts(self.name, self.call, counts, self.mesh, self._text())
        made = sharding.place(self.call, self._blocks() or sharding.assigned(self.call, counts, self.mesh), self.mesh)
        found = self._agreeing([] if made is None else self._spread(made))
        if not {label.name for label in self.call.axes.splittable()} <= set(counts):
            found += [s for s in self._agreeing(self.problem.prices.candidates(self.call)) if s not in found]
            found = found or self._agreeing(sharding.candidates(self.call, self.mesh, 3))
        if not found:
            leads = "" if made is None else f"; the splits of its inputs lead to {made.outputs[0].splits(self.mesh)}"
            raise AttributeValueError(f"{self.name}: no strategy of {self.call.op.name} has {self._text()}{leads}.")
        return found

    def _spread(self, made: sharding.Strategy) -> list[sharding.Strategy]:
        """A strategy, and where a wish is about a result those that spread its result further."""
        return [made, *sharding.scattered(self.call, made, self.mesh)] if any(i < 0 for i in self.splits) else [made]

    def _agreeing(self, strategies: Iterable[sharding.Strategy]) -> list[sharding.Strategy]:
        return [s for s in strategies if self._agrees(s)]

    def _row(self, i: int) -> tuple[str, Row, Any]:
        axes, call = self.call.axes, self.call
        if i >= 0:
            return f"input {i}", axes.inputs[i], call.types[i]
        return f"result {~i}", axes.outputs[~i], call.outs[~i]

    def _text(self) -> str:
        return ", ".join(f"{self._row(i)[0]} split {splits}" for i, splits in self.splits.items())

    def _agrees(self, s: sharding.Strategy) -> bool:
        """Exactly the mesh axes of a Layout, else the counts."""
        for i, splits in self.splits.items():
            layout: TensorLayout = s.inputs[i] if i >= 0 else s.outputs[~i]
            axes = self._axes(i)
            if (layout.splits(self.mesh) != splits) if axes is None else (layout.dims != axes):
                return False
        return True

    def _axes(self, i: int) -> tuple[Axes, ...] | None:
        split = self.wishes[i].split
        return split.axes(self.mesh) if hasattr(split, "tensor_map") else None

    def _blocks(self) -> dict[str, Axes]:
        """Mesh axes by label, where every wish is a Layout that the mesh can say; else none."""
        out: dict[str, Axes] = {}
        for i in self.splits:
            axes = self._axes(i)
            if axes is None:
                return {}
            for label, run in zip(self._row(i)[1], axes):
                if label is not None and run and out.setdefault(label, run) != run:
                    raise AttributeValueError(
                        f"{self.name}: axis {label!r} of {self.call.op.name} is split by different device axes in "
                        f"{self._text()}.", hint="let operands that share an axis name the same device axes."
                    )  # fmt: skip
        used = [a for run in out.values() for a in run]
        if len(set(used)) < len(used):
            raise AttributeValueError(
                f"{self.name}: one device axis would split two axes of {self.call.op.name} ({self._text()}).",
                hint="let every axis of the operator have device axes of its own.",
            )
        return out
