"""A model as plain data: what is left of ONNX's protobuf messages once they are read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["ModelGraph", "ModelInput", "ModelNode"]


@dataclass(frozen=True)
class ModelInput:
    """An input or output as the file declares it.

    Attributes:
        name: its name.
        dtype: NumPy's dtype; None for sequences, optionals and maps, or where the file does not say.
        shape: sizes, names of symbolic sizes, or None per axis; None where the rank is not known.
    """

    name: str
    dtype: np.dtype[Any] | None
    shape: tuple[int | str | None, ...] | None

    def __str__(self) -> str:
        sizes = "?" if self.shape is None else ", ".join("?" if n is None else str(n) for n in self.shape)
        return f"{self.name}: {'?' if self.dtype is None else self.dtype}[{sizes}]"


@dataclass
class ModelNode:
    """One use of an operator.

    Attributes:
        domain, kind: the operator's name; domain "" is ONNX's own.
        inputs, outputs: names; "" stands for one that is left out.
        attributes: by name: ints, floats, strings, arrays, ModelGraphs, or lists of such.
        name: the node's own name, for messages.
    """

    domain: str
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    name: str = ""

    def __str__(self) -> str:
        operator = f"{self.domain}.{self.kind}" if self.domain else self.kind
        return f"{', '.join(self.outputs)} = {operator}({', '.join(self.inputs)})"


@dataclass
class ModelGraph:
    """Nodes in an order in which they can run.

    Attributes:
        name: of the graph.
        inputs, outputs: as declared, without initializers.
        constants: arrays (initializers) by name.
        nodes: the program.
        opsets: the version of each domain.
    """

    name: str
    inputs: tuple[ModelInput, ...]
    outputs: tuple[ModelInput, ...]
    constants: dict[str, np.ndarray[Any, Any]]
    nodes: list[ModelNode]
    opsets: Mapping[str, int] = field(default_factory=dict)
