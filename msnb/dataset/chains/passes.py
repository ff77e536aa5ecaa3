"""Passes over the nodes of a pipeline: what a user wrote becomes what runs. Rows, order and draws stay, bit by bit.

    forward_projects   project(batch(x))      ->  batch(project(x))         columns that nobody reads go at once
    fuse_maps          map(map(x))            ->  stages(x)                 one crew of threads
    carry_shuffles     shuffle(map(x))        ->  map(shuffle(x))           rows wait undecoded, with their numbers
    chain_batches      batch(map(x))          ->  chain batch(x)            casts, layout, pixels behind the batch

The laws that make them legal: a map gives one row per row, and what it draws goes by its height and the row's number,
which the nodes of `fused_nodes` keep. Maps in worker processes are left alone. A column that is not read is not
stacked, so rows of it that do not fit together are no error any more.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

from msnb.dataset.chains.fused_nodes import ChainBatch, EarlyShuffle, MapStages, chains_of
from msnb.dataset.pipeline.batch import Batch
from msnb.dataset.pipeline.map import Map
from msnb.dataset.pipeline.nodes import Node, Project, Repeat, RowRange, Shuffle, UnaryNode

Rule = Callable[[Node], Node]


def optimized(node: Node) -> Node:
    """The chain that ends in a node, after all passes. The nodes themselves are not changed."""
    for each in PASSES:
        node = each(node)
    return node


def with_parents(node: Node, parents: Sequence[Node]) -> Node:
    """The node above others; itself where they are its own."""
    if all(new is old for new, old in zip(parents, node.parents, strict=True)):
        return node
    made = copy.copy(node)
    made.parents = tuple(parents)
    if isinstance(made, UnaryNode):
        made.parent = made.parents[0]
    return made


def _upwards(node: Node, rule: Rule) -> Node:
    """A rule at every node, sources first."""
    return rule(with_parents(node, [_upwards(parent, rule) for parent in node.parents]))


# ---- project ----


def forward_projects(node: Node) -> Node:
    """Columns are chosen before rows are batched, shuffled or mapped, as far as a map does not need the others."""
    if isinstance(node, Project):
        node = _forwarded(node)
    return with_parents(node, [forward_projects(parent) for parent in node.parents])


def _forwarded(project: Project) -> Node:
    below = project.parent
    if type(below) is Batch and below.function is None:
        made = Batch(_chosen(below.parent, project.columns), below.size, below.drop, workers=below.workers)
        made.height = below.height
        return made
    if type(below) in (Shuffle, RowRange, Repeat):
        moved = with_parents(below, [_chosen(below.parents[0], project.columns)])
        moved.columns = project.columns
        return moved
    return _before_map(project, below) if type(below) is Map else project


def _chosen(node: Node, columns: Sequence[str]) -> Node:
    return node if tuple(columns) == node.columns else Project(node, columns)


def _before_map(project: Project, below: Map) -> Node:
    """The map over the columns that it takes and those that are chosen and stay as they are."""
    untouched = [name for name, fresh, _ in below.plan if not fresh and name in project.columns]
    needed = [name for name in below.parent.columns if name in below.inputs or name in untouched]
    if len(needed) == len(below.parent.columns):
        return project
    source = Project(below.parent, needed)
    made = Map(source, below.operations, below.inputs, below.outputs, below.workers, below.processes)
    made.height = below.height
    return _chosen(made, project.columns)


# ---- maps, shuffles, batches ----


def stages_of(node: Node) -> tuple[Map, ...]:
    """The maps that a node is, from below to above; none where it is no map on threads."""
    if type(node) is MapStages:
        return node.stages
    return (node,) if type(node) is Map and not node.processes else ()


def fuse_maps(node: Node) -> Node:
    """Maps that follow one another on threads become stages of one node."""

    def rule(above: Node) -> Node:
        upper, lower = stages_of(above), stages_of(above.parents[0]) if above.parents else ()
        return MapStages(above.parents[0].parents[0], [*lower, *upper]) if upper and lower else above

    return _upwards(node, rule)


def carry_shuffles(node: Node) -> Node:
    """A shuffle right above a map goes below it."""

    def rule(above: Node) -> Node:
        if type(above) is not Shuffle or type(above.parent) not in (Map, MapStages):
            return above
        mapped = above.parent
        return with_parents(mapped, [EarlyShuffle(above, mapped.parents[0])])

    return _upwards(node, rule)


def chain_batches(node: Node) -> Node:
    """A batch of maps with chains makes the ends of the chains itself."""

    def rule(above: Node) -> Node:
        if type(above) is not Batch or above.function is not None:
            return above
        stages = stages_of(above.parent)
        return above if not any(chains_of(stages)) else ChainBatch(above, stages, above.parent.parents[0])

    return _upwards(node, rule)


PASSES: tuple[Rule, ...] = (forward_projects, fuse_maps, carry_shuffles, chain_batches)
