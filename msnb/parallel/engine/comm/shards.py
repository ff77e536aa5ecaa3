"""What one rank does with its own parts: slices of wholes, and the op's kernel on them.

On the CPU an op runs by the kernel that eager mode has for it: native code where ``jit_level="O1"`` asks for it and
there is enough to do, else the reference body. So a sharded run differs from the single device's by rounding alone, at
"O0" by the order of its sums alone. Other array modules (CuPy) and simulated devices run the bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from msnb.base import device_registry
from msnb.core import DType, TensorType, as_tuple, float32
from msnb.devices.device import body_kernel
from msnb.ops.definition.record import Op
from msnb.ops.definition.window_geometry import WindowExtent, of_part
from msnb.parallel.program.spmd_program import Buffer, SpmdProgram
from msnb.parallel.sharding.device_mesh import Mesh
from msnb.parallel.sharding.halo import seen_shape, views
from msnb.parallel.sharding.layout import Axes, TensorLayout
from msnb.parallel.sharding.local_op import local_attrs, local_type, own_rows, widened
from msnb.parallel.sharding.strategies import OpSignature, Strategy


def part_of(mesh: Mesh, layout: TensorLayout, whole: Any, rank: int, xp: Any = np) -> Any:
    """A rank's part of a value that everybody could have; a Python number is the same for all."""
    if isinstance(whole, (bool, int, float, complex)):
        return whole
    array = xp.asarray(whole)
    return array[layout.part(mesh, array.shape, rank)] if array.ndim else array  # an index would make a number of it


def on_host(value: Any) -> Any:
    """A GPU's array as NumPy's; anything else as it is."""
    return value.get() if hasattr(value, "get") and hasattr(value, "dtype") else value


def put_together(mesh: Mesh, layout: TensorLayout, parts: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """The whole of which the ranks hold parts; None where another rank holds the same part."""
    first = next(part for part in parts if part is not None)
    if isinstance(first, (bool, int, float, complex)):
        return first
    out = np.empty(shape, first.dtype)
    for rank, part in enumerate(parts):
        if part is not None:
            out[layout.part(mesh, shape, rank)] = part
    return out


def together(program: SpmdProgram, buffer: Buffer, parts: Sequence[Any]) -> Any:
    """A value of which ranks gave parts: those of a team that has it."""
    value, layout = buffer
    team = program.teams[program.holders(value)[0]]
    own = [parts[rank] for rank in team.ranks]
    if not isinstance(value.type, TensorType) or not value.type.is_static:
        return own[0]
    return put_together(team.mesh, layout, own, value.type.ints())


def speaks_for(mesh: Mesh, layout: TensorLayout, rank: int) -> bool:
    """True for the first of the ranks that hold the same part: the one that hands it in."""
    at = mesh.coordinates[rank]
    return not any(at[a] for a in range(len(mesh.factors)) if a not in layout.used)


def speakers(mesh: Mesh, layout: TensorLayout) -> list[int]:
    """All ranks that ``speaks_for`` is true of."""
    others = [a for a in range(len(mesh.factors)) if a not in layout.used]
    return [int(rank) for rank in np.flatnonzero((mesh.coordinates[:, others] == 0).all(1))]


def hands_in(program: SpmdProgram, buffer: Buffer, rank: int) -> bool:
    """True for the rank of the world that gives a part of a value to those who ask from outside."""
    value, layout = buffer
    team = program.teams[program.holders(value)[0]]
    if rank not in team.ranks:
        return False
    dynamic = not isinstance(value.type, TensorType) or not value.type.is_static
    return rank == team.first if dynamic else speaks_for(team.mesh, layout, rank - team.first)


def sliced(mesh: Mesh, axes: Axes, dim: int, part: Any, rank: int) -> Any:
    """The piece that a rank keeps when mesh axes begin to split a tensor axis."""
    i, n = mesh.position(axes, rank), part.shape[dim] // mesh.count(axes)
    return part[(slice(None),) * dim + (slice(i * n, (i + 1) * n),)]


class LocalCall:
    """An op at given types under a strategy, ready to run on the parts of any rank; the open sum is not taken.

    Args:
        xp: the array module of the parts.
        wide: compute 16-bit floats in float32: the results are terms that are rounded behind their sum.
    """

    def __init__(self, mesh: Mesh, call: OpSignature, strategy: Strategy, xp: Any = np, wide: bool = False) -> None:
        self.mesh: Mesh = mesh
        self.call: OpSignature = call
        self.strategy: Strategy = strategy
        self.xp: Any = xp
        self.opened: tuple[TensorLayout, ...] = strategy.open_outputs()
        self.as_made: Any = widened if wide else lambda t: t
        self.wide: dict[int, DType] = {i: float32 for i, t in enumerate(call.types) if wide and widened(t) is not t}
        self.views: dict[str, tuple[WindowExtent, ...]] = views(call.axes, dict(strategy.blocks), mesh)
        self._kernels: dict[tuple[WindowExtent, ...], Any] = {}

    def _kernel(self, rank: int) -> Any:
        """The op on a rank's parts: the same on all ranks, but for windows on pieces of images."""
        key = tuple(self._seen(rank).values())
        if key not in self._kernels:
            self._kernels[key] = kernel_of(self.xp, self.call.op, *self.local(rank))
        return self._kernels[key]

    def _seen(self, rank: int) -> dict[str, WindowExtent]:
        """What a rank's windows see of pieces of images."""
        places = {name: self.mesh.position(self.strategy.axes_of(name), rank) for name in self.views}
        return {name: self.views[name][place] for name, place in places.items()}

    def local(self, rank: int) -> tuple[tuple[TensorType, ...], dict[str, Any]]:
        """Types of a rank's operands, and the attributes of its call."""
        call, mesh, seen = self.call, self.mesh, self._seen(rank)
        if not call.types:
            return (), dict(call.attrs)
        shapes = [s.local_shape(mesh, t.ints()) for t, s in zip(call.types, self.strategy.inputs)]
        shapes = [seen_shape(call.axes, i, shape, seen) for i, shape in enumerate(shapes)]
        types = tuple(local_type(self.as_made(t), shape) for t, shape in zip(call.types, shapes))
        if seen:
            return types, of_part(call.attrs, seen)
        outs = [local_type(self.as_made(o), s.local_shape(mesh, o.ints())) for s, o in zip(self.opened, call.outs)]
        return types, local_attrs(call.op, call.attrs, outs)

    def __call__(self, rank: int, operands: Sequence[Any]) -> tuple[Any, ...]:
        """A rank's results. What is made from nothing is made whole, and the rank keeps its slice."""
        if not self.call.types:
            made = as_tuple(self._kernel(rank)())
            return tuple(part_of(self.mesh, layout, w, rank, self.xp) for layout, w in zip(self.opened, made))
        operands = [self.xp.asarray(x, self.wide[i].numpy) if i in self.wide else x for i, x in enumerate(operands)]
        return self._gathered(rank, *operands) if self.picks_rows else as_tuple(self._kernel(rank)(*operands))

    @cached_property
    def picks_rows(self) -> bool:
        """Whether it looks up rows of a table whose rows are split: every rank answers for its own."""
        if self.call.op.name != "gather":
            return False
        label = self.call.axes.inputs[0][self.call.attrs["axis"] % self.call.types[0].ndim]
        return label is not None and bool(self.strategy.axes_of(label))

    def _gathered(self, rank: int, table: Any, index: Any) -> tuple[Any, ...]:
        """A rank answers for the rows it holds and gives zeros for the others."""
        shape = self.call.types[0].ints()
        at = self.call.attrs["axis"] % len(shape)
        mine = self.strategy.inputs[0].part(self.mesh, shape, rank)[at]
        if on_host(self.xp.any((index < -shape[at]) | (index >= shape[at]))):
            raise IndexError(f"an index is outside axis {at} of size {shape[at]}.")
        local, own = own_rows(index, shape[at], mine.stop - mine.start, mine.start, self.xp)
        rows = self._kernel(rank)(table, local)
        spread = (1,) * at + own.shape + (1,) * (rows.ndim - at - own.ndim)
        return (self.xp.where(own.reshape(spread), rows, self.xp.zeros((), rows.dtype)),)


def kernel_of(xp: Any, op: Op, types: tuple[TensorType, ...], attrs: dict[str, Any]) -> Any:
    """The op as a rank runs it on its arrays."""
    device = device_registry.current()
    if xp is np and device.name == "CPU":
        return device.kernel(op, types, attrs)
    return body_kernel(xp, op, types, attrs)
