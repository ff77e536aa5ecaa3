"""The strategies of an op: every way to lay its axes over the mesh.

    mesh axes    0 1 2           a strategy cuts them into runs and gives each run to one label (or to none: copies)
                 m m n           matmul[m,k,n]:  x ((0,1), ()), w ((), (2)), out ((0,1), (2))   MindSpore: ((4,1),(1,2))
                 m k k           x ((0), (1,2)), w ((1,2), ()), out is a sum over mesh axes 1, 2:   all-reduce
                 m k k -> n      the same sum taken by reduce-scatter: out ((0), (1,2))
                 m - -           out ((0), ()): mesh axes 1, 2 hold copies

Split counts divide their axes. Runs are contiguous, so that a split stays inside a server where it can. At most
``most`` runs are formed (two unless asked otherwise), and cuts are made at no more than three places, around the
server, which keeps the number of strategies of an op at about a hundred.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from math import prod
from typing import Any

from msnb.base import AttributeValueError
from msnb.core import TensorType
from msnb.ir.graph import Node
from msnb.ops.definition.record import Op
from msnb.ops.definition.window_geometry import of_part
from msnb.parallel.sharding import op_axes as labels
from msnb.parallel.sharding.device_mesh import Mesh
from msnb.parallel.sharding.halo import blind, seen_along, seen_shape, views
from msnb.parallel.sharding.layout import Axes, TensorLayout
from msnb.parallel.sharding.local_op import fits, local_type

COPY = ""
_MAX_CUTS = 3


@dataclass(frozen=True)
class Strategy:
    """One way to lay an op over the mesh.

    Attributes:
        blocks: (label, mesh axes) for every label that is split.
        inputs: layouts that the op wants.
        outputs: layouts that it gives, after the open sum was taken.
        partial: mesh axes of the open reduction of the local results, closed right behind the op.
        reducer: how it is closed.
        scatter: the output axis over which a reduce-scatter spreads the sum, -1 for an all-reduce.
    """

    blocks: tuple[tuple[str, Axes], ...]
    inputs: tuple[TensorLayout, ...]
    outputs: tuple[TensorLayout, ...]
    partial: Axes = ()
    reducer: str = "sum"
    scatter: int = -1

    def splits(self, mesh: Mesh) -> tuple[tuple[int, ...], ...]:
        """Split counts per input: what MindSpore calls the strategy."""
        return tuple(layout.splits(mesh) for layout in self.inputs)

    def open_outputs(self) -> tuple[TensorLayout, ...]:
        """The layouts of the local results before the open reduction is closed."""
        if not self.partial:
            return self.outputs
        return tuple(TensorLayout(_without(t.dims, self.partial), self.partial) for t in self.outputs)

    @property
    def used(self) -> Axes:
        """The mesh axes that split the op."""
        return tuple(a for _, run in self.blocks for a in run)

    def axes_of(self, label: str) -> Axes:
        """The mesh axes that split a label."""
        return dict(self.blocks).get(label, ())


def _without(dims: tuple[Axes, ...], gone: Axes) -> tuple[Axes, ...]:
    return tuple(tuple(a for a in axes if a not in gone) for axes in dims)


@dataclass
class OpSignature:
    """An op at given types: what strategies depend on."""

    op: Op
    types: tuple[TensorType, ...]
    outs: tuple[TensorType, ...]
    attrs: Mapping[str, Any]

    def __post_init__(self) -> None:
        self.axes: labels.OpAxes = labels.read(self.op, self.types, self.outs, self.attrs)
        self.plain: bool = all(isinstance(t, TensorType) and t.is_static for t in (*self.types, *self.outs))

    @property
    def key(self) -> Any:
        """Equal for calls with the same strategies and costs."""
        return self.op.name, self.types, self.outs, tuple(sorted(self.attrs.items(), key=lambda item: item[0]))

    def saying(self, attrs: Mapping[str, Any]) -> OpSignature:
        """The same call with attributes that are equal, but need not be the same (0.0 and -0.0): a rank runs these."""
        made = copy(self)
        made.attrs = attrs
        return made


def call_of(node: Node) -> OpSignature:
    """A node as strategies see it."""
    types: list[Any] = [v.type for v in (*node.inputs, *node.outputs)]
    n = len(node.inputs)
    return OpSignature(node.op, tuple(types[:n]), tuple(types[n:]), node.attrs)


def _layout(row: labels.Row, blocks: Mapping[str, Axes]) -> TensorLayout:
    return TensorLayout(tuple(blocks.get(name, ()) if name is not None else () for name in row))


def place(call: OpSignature, blocks: Mapping[str, Axes], mesh: Mesh) -> Strategy | None:
    """The strategy that splits labels by these mesh axes; None when the op cannot be run like that."""
    axes = call.axes
    if any(axes.labels[name].limit % mesh.count(run) for name, run in blocks.items()):
        return None
    partial = _partial(call, blocks)
    inputs = tuple(_layout(row, blocks) for row in axes.inputs)
    outputs = tuple(_layout(row, blocks) for row in axes.outputs)
    if blocks and not _runs(call, blocks, (*inputs, *outputs), mesh):
        return None
    return Strategy(tuple(blocks.items()), inputs, outputs, partial, axes.reducer)


def _runs(call: OpSignature, blocks: Mapping[str, Axes], layouts: Sequence[TensorLayout], mesh: Mesh) -> bool:
    """Whether the first rank's own call can be made, and gives the part that it should."""
    found = views(call.axes, blocks, mesh)
    if blind(found):
        return False
    first = {name: pieces[0] for name, pieces in found.items()}
    types = (*call.types, *call.outs)
    shapes = [layout.local_shape(mesh, t.ints()) for t, layout in zip(types, layouts)]
    local = [local_type(t, seen_shape(call.axes, i, shape, first)) for i, (t, shape) in enumerate(zip(types, shapes))]
    n = len(call.types)
    return fits(call.op, of_part(call.attrs, first) if first else call.attrs, local[:n], local[n:])


def _partial(call: OpSignature, blocks: Mapping[str, Axes]) -> Axes:
    """The mesh axes of labels that vanish."""
    kept = {name for row in call.axes.outputs for name in row}
    return tuple(a for name, run in blocks.items() if name not in kept for a in run)


def _cuts(mesh: Mesh) -> list[int]:
    """Where mesh axes may be cut into runs: everywhere on few devices, else around a server and halfway outside."""
    n = len(mesh.factors)
    places = list(range(1, n))
    if len(places) <= _MAX_CUTS:
        return places
    server = next((c for c in places if mesh.stride(c - 1) <= 8), places[-1])
    return sorted({max(1, server // 2), server, min(n - 1, server + 1)})


def runs(mesh: Mesh, most: int | None = None) -> Iterator[tuple[Axes, ...]]:
    """All ways to cut the mesh axes into contiguous runs, at most ``most`` of them."""
    n = len(mesh.factors)
    most = 2 if most is None else most
    for k in range(min(most, max(n, 1))):
        for cut in itertools.combinations(_cuts(mesh), k):
            edges = (0, *cut, n)
            yield tuple(tuple(range(a, b)) for a, b in zip(edges, edges[1:]))


def candidates(call: OpSignature, mesh: Mesh, most: int | None = None, scatter: bool = True) -> list[Strategy]:
    """Every strategy of a call; the first one keeps a copy on every device.

    Args:
        call: op, types, attributes.
        mesh: the devices.
        most: how many labels may be split at once; None: two.
        scatter: whether open sums may also be taken by reduce-scatter.
    """
    first = place(call, {}, mesh)
    assert first is not None
    out: dict[tuple[tuple[tuple[str, Axes], ...], int], Strategy] = {((), -1): first}
    names = [label.name for label in call.axes.splittable()]
    for cut in runs(mesh, most) if mesh.size > 1 else ():
        for chosen in itertools.permutations([*names, COPY], len(cut)):
            blocks = {name: run for name, run in zip(chosen, cut) if name != COPY}
            key = tuple(blocks.items())
            if (key, -1) in out:
                continue
            made = place(call, blocks, mesh)
            if made is not None:
                out[key, -1] = made
                out.update({(key, s.scatter): s for s in (scattered(call, made, mesh) if scatter else ())})
    return list(out.values())


def scattered(call: OpSignature, strategy: Strategy, mesh: Mesh) -> Iterator[Strategy]:
    """The same with a reduce-scatter over one of the output's axes (for outputs of up to three)."""
    if not strategy.partial or len(call.outs) > 1 or call.outs[0].ndim > 3:
        return
    if strategy.reducer != "sum" or not call.outs[0].dtype.differentiable:
        return
    for dim in range(call.outs[0].ndim):
        dims = strategy.outputs[0].dims
        spread = TensorLayout(tuple((*a, *strategy.partial) if i == dim else a for i, a in enumerate(dims)))
        if spread.divides(mesh, call.outs[0].ints()):
            yield Strategy(strategy.blocks, strategy.inputs, (spread,), strategy.partial, "sum", dim)


# ---- strategies that people write ----


def chosen(name: str, call: OpSignature, splits: Sequence[Sequence[int]], mesh: Mesh) -> Strategy:
    """The strategy of these split counts per input.

    Args:
        name: what people call the op.
        splits: one tuple per input, one int per axis of it (``None`` or ``()`` for scalars).

    Raises:
        ValueError: a sentence with the op, the axis, the sizes and the legal choices.
    """
    counts = _counts(name, call, splits)
    text = f"the strategy {_text(splits)}"
    check_counts(name, call, counts, mesh, text)
    made = place(call, assigned(call, counts, mesh), mesh)
    if made is None:
        raise AttributeValueError(f"{name}: {call.op.name} cannot run with {text}.")
    return made


def check_counts(name: str, call: OpSignature, counts: Mapping[str, int], mesh: Mesh, text: str) -> None:
    """Split counts by label against axes and devices.

    Raises:
        ValueError: a count that is not legal, or more devices than there are; ``text`` says what was asked for.
    """
    for label, count in counts.items():
        _check_count(name, call, call.axes.labels[label], count, mesh)
    total = prod(counts.values())
    if total > mesh.size or mesh.size % total:
        raise AttributeValueError(
            f"{name}: {text} needs {total} devices, there are {mesh.size}.",
            hint="the product of the split counts of the op's axes must divide the number of devices.",
        )


def _text(splits: Sequence[Sequence[int]]) -> str:
    return str(tuple(tuple(s) for s in splits))


def _counts(name: str, call: OpSignature, splits: Sequence[Sequence[int]]) -> dict[str, int]:
    """Split counts by label; operands that share an axis must agree."""
    given = [tuple(s or ()) for s in splits]
    shapes = [list(t.shape) for t in call.types]
    tensors = [i for i, t in enumerate(call.types) if t.ndim]
    if len(given) != len(shapes) and len(given) == len(tensors):
        padded: list[tuple[int, ...]] = [()] * len(shapes)
        for i, s in zip(tensors, given):
            padded[i] = s
        given = padded
    if len(given) != len(shapes) or any(len(s) != len(d) for s, d in zip(given, shapes)):
        raise AttributeValueError(
            f"{name}: the strategy {_text(splits)} does not fit {call.op.name} with inputs of shapes {shapes}: one "
            "tuple per input, one split count per axis."
        )
    rows = zip(call.axes.inputs, call.types, given)
    return counts_of(
        name, call, [SplitRequest(f"input {i}", row, t, splits) for i, (row, t, splits) in enumerate(rows)]
    )


@dataclass(frozen=True)
class SplitRequest:
    """Split counts that somebody wrote for one tensor of an op: which one ("input 0"), its labels, its type."""

    where: str
    row: labels.Row
    type: TensorType
    splits: Sequence[int]


def counts_of(name: str, call: OpSignature, asked: Sequence[SplitRequest]) -> dict[str, int]:
    """Split counts by label.

    Raises:
        ValueError: too many or too few counts, an axis that is never split, or operands that disagree on one.
    """
    counts: dict[str, tuple[int, SplitRequest, int]] = {}
    for tensor in asked:
        if len(tensor.splits) != len(tensor.row):
            raise AttributeValueError(
                f"{name}: {tensor.where} of {call.op.name} has shape {list(tensor.type.shape)}, its splits "
                f"{tuple(tensor.splits)} need one count per axis."
            )
        for dim, (label, count) in enumerate(zip(tensor.row, tensor.splits)):
            if label is None:
                if count != 1:
                    _whole(name, call, tensor, dim, count)
                continue
            first, other, at = counts.setdefault(label, (count, tensor, dim))
            if first != count:
                raise AttributeValueError(
                    f"{name}: axis {at} of {other.where} and axis {dim} of {tensor.where} are the same axis {label!r} "
                    f"of {call.op.name} (size {call.axes.labels[label].size}), but are split {first} and {count} ways.",
                    hint=f"split both {first} ways or both {count} ways.",
                )
    return {label: count for label, (count, _, _) in counts.items()}


def _whole(name: str, call: OpSignature, tensor: SplitRequest, dim: int, count: int) -> None:
    raise AttributeValueError(
        f"{name}: axis {dim} of {tensor.where} (size {tensor.type.shape[dim]}) of {call.op.name} cannot be split "
        f"{count} ways; legal: 1."
    )


def _check_count(name: str, call: OpSignature, label: labels.Label, count: int, mesh: Mesh) -> None:
    rows = [(f"input {i}", row) for i, row in enumerate(call.axes.inputs)]
    rows += [(f"result {i}", row) for i, row in enumerate(call.axes.outputs)]
    where, dim = next((where, row.index(label.name)) for where, row in rows if label.name in row)
    legal = legal_counts(label, mesh)
    if not isinstance(count, int) or count not in legal:
        why = {"whole": ", which needs the whole axis", "halo": f", with {label.windows} windows",
               "indexed": ", which is indexed"}.get(label.kind, "")  # fmt: skip
        raise AttributeValueError(
            f"{name}: axis {dim} of {where} ({label.name!r} of {call.op.name}{why}, size {label.size}) cannot be "
            f"split {count} ways over {mesh.size} devices; legal: {', '.join(map(str, legal))}."
        )
    pieces = seen_along(label, count) if label.kind == labels.HALO else ()
    unseeing = next((i for i, seen in enumerate(pieces) if seen.stop <= seen.start), None)
    if unseeing is not None:
        n = label.windows // count
        raise AttributeValueError(
            f"{name}: split {count} ways along {label.name!r} of {call.op.name}, the windows {unseeing * n} to "
            f"{(unseeing + 1) * n - 1} of {label.windows} see padding alone, and no row of the {label.size}.",
            hint="use fewer pieces, or less padding.",
        )


def legal_counts(label: labels.Label, mesh: Mesh) -> list[int]:
    """Split counts that divide the axis and the devices."""
    most = mesh.size if label.kind in labels.SPLIT else 1
    return [n for n in range(1, most + 1) if mesh.size % n == 0 and label.limit % n == 0]


def assigned(call: OpSignature, counts: Mapping[str, int], mesh: Mesh) -> dict[str, Axes]:
    """Mesh axes for split counts, MindSpore's way: the labels in order, the first one gets the outermost axes; copies
    are the innermost."""
    free = list(range(len(mesh.factors)))
    out: dict[str, Axes] = {}
    for label in call.axes.labels:
        left, run = counts.get(label, 1), []
        for a in list(free):
            if left > 1 and left % mesh.factors[a] == 0:
                left //= mesh.factors[a]
                run.append(a)
                free.remove(a)
        if run:
            out[label] = tuple(run)
    return out
