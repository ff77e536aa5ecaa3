"""Layouts: which mesh axes split which axis of a tensor.

    mesh (2, 2, 2)            tensor [1024, 4096] with dims ((0,), (2,))
                              axis 0 halved by mesh axis 0, axis 1 by mesh axis 2, copies along mesh axis 1
    MindSpore's form          device_matrix (2, 2, 2), tensor_map (2, 0): mesh axes from the right, -1 = not split

Several mesh axes on one tensor axis nest, the first cuts coarsest. ``partial`` are mesh axes along which the ranks hold
terms of a sum (or of a maximum) that nobody has taken yet.
Source: https://www.mindspore.cn/docs/en/master/features/parallel/operator_parallel.html
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msnb.base import AttributeValueError, events
from msnb.parallel.sharding.device_mesh import Mesh

Axes = tuple[int, ...]
INTERLEAVED = "interleaved_parallel"


@dataclass(frozen=True)
class TensorLayout:
    """Mesh axes per tensor axis.

    Attributes:
        dims: for every tensor axis the mesh axes that split it, the coarsest first.
        partial: mesh axes along which a reduction is open.
    """

    dims: tuple[Axes, ...]
    partial: Axes = ()

    @property
    def used(self) -> Axes:
        """The mesh axes that split something."""
        return tuple(a for axes in self.dims for a in axes)

    def splits(self, mesh: Mesh) -> tuple[int, ...]:
        """Split counts per tensor axis: MindSpore's strategy."""
        return tuple(mesh.count(axes) for axes in self.dims)

    def local_shape(self, mesh: Mesh, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of one rank's part."""
        return tuple(n // mesh.count(axes) if axes else n for n, axes in zip(shape, self.dims))

    def divides(self, mesh: Mesh, shape: Sequence[int]) -> bool:
        """True when every axis divides evenly."""
        return all(not axes or n % mesh.count(axes) == 0 for n, axes in zip(shape, self.dims))

    def local_bytes(self, mesh: Mesh, nbytes: float) -> float:
        """Bytes of one rank's part of a tensor of ``nbytes``."""
        return nbytes / mesh.count(self.used)

    def part(self, mesh: Mesh, shape: Sequence[int], rank: int) -> tuple[slice, ...]:
        """Where the part of a rank lies in the whole."""
        out = []
        for n, axes in zip(shape, self.dims):
            block, i = n // mesh.count(axes), mesh.position(axes, rank)
            out.append(slice(i * block, (i + 1) * block))
        return tuple(out)

    def mindspore(self, mesh: Mesh) -> dict[str, list[Any]]:
        """``dev_matrix`` and ``tensor_map`` as MindSpore writes them (several mesh axes on one axis: a list)."""
        n = len(mesh.factors)
        maps = [[n - 1 - a for a in axes] for axes in self.dims]
        plain: list[Any] = [-1 if not m else m[0] if len(m) == 1 else m for m in maps]
        return {"dev_matrix": list(mesh.factors), "tensor_map": plain}


def whole(ndim: int) -> TensorLayout:
    """A copy on every device."""
    return TensorLayout(((),) * ndim)


def from_map(mesh: Mesh, tensor_map: Sequence[Any]) -> TensorLayout:
    """The layout of a MindSpore tensor map.

    Raises:
        ValueError: a mesh axis that does not exist, or that is used twice.
    """
    n = len(mesh.factors)
    rows = [[] if m == -1 else [m] if isinstance(m, int) else list(m) for m in tensor_map]
    flat = [a for row in rows for a in row]
    if any(not isinstance(a, int) or not 0 <= a < n for a in flat) or len(set(flat)) < len(flat):
        raise AttributeValueError(
            f"the tensor map {list(tensor_map)} does not fit a device matrix of {n} axes: each of 0 to {n - 1} may "
            "stand once, -1 where an axis is not split."
        )
    return TensorLayout(tuple(tuple(n - 1 - a for a in row) for row in rows))


class Layout:
    """Device matrix with named axes; calling it says which of them split a tensor (MindSpore 2.x).

    Args:
        device_matrix: how many devices along each axis.
        alias_name: a name for each. The last may be "interleaved_parallel", which is no axis of devices: MindSpore
            computes the parts of a device's piece one after the other along it, a plan computes the piece at once.
        rank_list: the devices in order; only that of their ranks is known here.

    Raises:
        ValueError: names that are double, missing or unknown, or devices in another order.

    Source: `mindspore.parallel.Layout`

    Examples:
        >>> layout = Layout((2, 4), ("dp", "mp"))
        >>> layout("dp", "None").to_dict()["tensor_map"]
        (1, -1)
        >>> Layout((2, 4, 2), ("dp", "mp", "interleaved_parallel"))(("dp", "interleaved_parallel"), "mp").splits()
        (2, 4)
    """

    def __init__(self, device_matrix: Sequence[int], alias_name: Sequence[str],
                 rank_list: Sequence[int] | None = None) -> None:  # fmt: skip
        self.device_matrix: tuple[int, ...] = tuple(device_matrix)
        self.alias_name: tuple[str, ...] = tuple(alias_name)
        self.tensor_map: tuple[Any, ...] | None = None
        if len(self.device_matrix) != len(self.alias_name) or len(set(self.alias_name)) < len(self.alias_name):
            raise AttributeValueError(f"Layout: {list(self.device_matrix)} needs one name per axis, each another, got "
                                      f"{list(self.alias_name)}.")  # fmt: skip
        if not all(isinstance(n, int) and n > 0 for n in self.device_matrix) or {"None", ""} & set(self.alias_name):
            raise AttributeValueError("Layout: sizes are ints of at least 1; 'None' and '' are no names of an axis.")
        if INTERLEAVED in self.alias_name[:-1]:
            raise AttributeValueError(f"Layout: {INTERLEAVED} is no axis of devices and stands last, got "
                                      f"{list(self.alias_name)}.")  # fmt: skip
        if INTERLEAVED in self.alias_name:
            events.notice(f"Layout: along {INTERLEAVED} a plan computes a device's piece at once, and not in parts.")
        n = math.prod(self.device_matrix)
        if rank_list is not None and list(rank_list) != list(range(n)):
            raise AttributeValueError(f"Layout: rank_list={list(rank_list)} is not legal; legal: None or "
                                      f"list(range({n})).")  # fmt: skip

    def __call__(self, *names: Any) -> Layout:
        """The layout of a tensor: per axis a name, a tuple of names, or "None"."""
        out = Layout(self.device_matrix, self.alias_name)
        rows = [name if isinstance(name, tuple) else (name,) for name in names]
        flat = [a for row in rows for a in row if a != "None"]
        for a in flat:
            if a not in self.alias_name:
                raise AttributeValueError(f"Layout has no axis {a!r}; legal: {', '.join(self.alias_name)}, None.")
        if len(set(flat)) < len(flat):
            raise AttributeValueError(f"Layout{names}: one device axis cannot split two axes of a tensor.")
        out.tensor_map = tuple(self._entry([a for a in row if a != "None"]) for row in rows)
        return out

    def _entry(self, names: list[str]) -> Any:
        n = len(self.alias_name)
        at = tuple(n - 1 - self.alias_name.index(a) for a in names)
        return -1 if not at else at[0] if len(at) == 1 else at

    def to_dict(self) -> dict[str, Any]:
        """Device matrix, tensor map and names, and the ranks in order."""
        return {"device_matrix": self.device_matrix, "tensor_map": self.tensor_map,
                "interleaved_parallel": INTERLEAVED in self.alias_name, "alias_name": self.alias_name,
                "rank_list": list(range(math.prod(self.device_matrix)))}  # fmt: skip

    @property
    def devices(self) -> tuple[int, ...]:
        """How many devices along each axis; one along ``interleaved_parallel``."""
        return tuple(1 if name == INTERLEAVED else n for n, name in zip(self.device_matrix, self.alias_name))

    def splits(self) -> tuple[int, ...]:
        """Split counts per tensor axis."""
        if self.tensor_map is None:
            raise AttributeValueError("call the Layout with the names of a tensor's axes first: layout('dp', 'None').")
        n = len(self.device_matrix)
        rows = [() if m == -1 else (m,) if isinstance(m, int) else m for m in self.tensor_map]
        return tuple(math.prod(self.devices[n - 1 - m] for m in row) for row in rows)

    def need_mesh(self, devices: int) -> None:
        """Raise ValueError unless the device matrix has as many devices."""
        if math.prod(self.devices) != devices:
            raise AttributeValueError(
                f"Layout: the device matrix {self.device_matrix} has {math.prod(self.devices)} devices, the plan "
                f"has {devices}.",
                hint="the product of the device matrix is device_num.",
            )

    def axes(self, mesh: Mesh) -> tuple[Axes, ...] | None:
        """Mesh axes per tensor axis; None when a device axis is no run of mesh axes."""
        runs: list[Axes] = []
        free = iter(range(len(mesh.factors)))
        for n in self.devices:
            run: Axes = ()
            while mesh.count(run) < n:
                run += (next(free),)
            if mesh.count(run) != n:
                return None
            runs.append(run)
        rows = [() if m == -1 else (m,) if isinstance(m, int) else m for m in self.tensor_map or ()]
        return tuple(tuple(a for m in row for a in runs[len(runs) - 1 - m]) for row in rows)

    def transposed(self, perm: Sequence[int]) -> Layout:
        """The layout of the transposed tensor."""
        out = Layout(self.device_matrix, self.alias_name)
        out.tensor_map = None if self.tensor_map is None else tuple(self.tensor_map[p] for p in perm)
        return out

    def __repr__(self) -> str:
        return f"Layout({self.device_matrix}, {self.alias_name}, tensor_map={self.tensor_map})"
