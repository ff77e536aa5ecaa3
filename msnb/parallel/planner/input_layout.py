"""How the input pipeline hands a batch to the devices: MindSpore's ``dataset_strategy`` and ``full_batch``.

    not said            every device gets what it asks for: the plan's first operators decide
    "full_batch"        every device gets the whole batch: slices are free
    "data_parallel"     every device gets its part of axis 0; who wants it otherwise pays for an exchange
    ((2, 1), (8,))      split counts per input, or Layouts
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msnb.base import AttributeValueError
from msnb.core import TensorType
from msnb.ir.graph import Value, type_of
from msnb.parallel.context import set_value
from msnb.parallel.program.training_graph import TrainingGraph
from msnb.parallel.sharding.device_mesh import Mesh
from msnb.parallel.sharding.layout import Axes, TensorLayout


def fed(joint: TrainingGraph, mesh: Mesh) -> dict[Value, TensorLayout]:
    """The layouts in which the inputs that are no state come, as the context says; nothing where it does not.

    Raises:
        ValueError: splits that do not fit the inputs or the devices.
    """
    said = set_value("dataset_strategy")
    if said in (None, "full_batch") or set_value("full_batch"):
        return {}
    inputs = [p for p in joint.graph.params if p not in joint.held and isinstance(p.type, TensorType) and p.type.ndim]
    if said == "data_parallel":
        said = tuple((mesh.size,) + (1,) * (type_of(p).ndim - 1) for p in inputs)
    if len(said) != len(inputs):
        shapes = [list(type_of(p).shape) for p in inputs]
        raise AttributeValueError(
            f"dataset_strategy has {len(said)} entries, the program's inputs have shapes {shapes}."
        )
    return {p: _layout(p, split, mesh) for p, split in zip(inputs, said)}


def _layout(p: Value, split: Any, mesh: Mesh) -> TensorLayout:
    """Split counts take the mesh axes from the outermost on."""
    t = type_of(p)
    if hasattr(split, "tensor_map"):
        split.need_mesh(mesh.size)
        split = split.axes(mesh) or split.splits()
    dims = split if any(isinstance(n, tuple) for n in split) else _runs(p.name, split, mesh)
    layout = TensorLayout(tuple(dims))
    if len(layout.dims) != t.ndim or not t.is_static or not layout.divides(mesh, t.ints()):
        counts = layout.splits(mesh)
        raise AttributeValueError(
            f"dataset_strategy splits {p.name} of shape {list(t.shape)} {counts}: one split count per axis, which "
            f"divides it, over {mesh.size} devices."
        )
    return layout


def _runs(name: str, split: Sequence[int], mesh: Mesh) -> list[Axes]:
    out: list[Axes] = []
    free = list(range(len(mesh.factors)))
    for n in split:
        run: Axes = ()
        while free and mesh.count(run) < n:
            run += (free.pop(0),)
        if mesh.count(run) != n:
            raise AttributeValueError(f"dataset_strategy splits {name} {tuple(split)} ways: {mesh.size} devices are "
                                      f"{' x '.join(map(str, mesh.factors))}, one factor after the other.")  # fmt: skip
        out.append(run)
    return out
