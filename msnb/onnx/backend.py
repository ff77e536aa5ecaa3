"""ONNX's backend interface: ``onnx.backend.test`` and other tools run models on msnb through it.

    rep = msnb.onnx.backend.prepare(model)      rep.run([arrays])  ->  arrays

A program is captured and compiled. Inputs whose values decide sizes or places are constants of a version of it; what
no capture can know (a size that only the data tells inside a body) runs operation by operation.

Source: https://onnx.ai/onnx/repo-docs/ImplementingAnOnnxBackend.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.api.jit import jit
from msnb.base import CaptureError, CheckpointError
from msnb.core import Tensor
from msnb.onnx.model_reader import as_model, onnx_package
from msnb.onnx.operator_table import has_tensors, known
from msnb.onnx.program import OnnxProgram, program_of

__all__ = ["BackendRep", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]


class BackendRep:
    """A prepared model.

    Args:
        program: the model.
        compiled: whether it is captured, or run operation by operation.
    """

    def __init__(self, program: OnnxProgram, compiled: bool = True) -> None:
        self.program: OnnxProgram = program
        self.compiled: bool = compiled
        self._versions: dict[Any, Callable[..., Any]] = {}
        self._level = 0 if compiled else 2

    def run(self, inputs: Sequence[Any], **kwargs: Any) -> tuple[Any, ...]:
        """The outputs as NumPy arrays, lists of them, or None.

        Args:
            inputs: arrays (or lists for sequences, None for empty optionals) in the order of the model's inputs.
        """
        while True:
            try:
                return tuple(_host(value) for value in self._run(inputs))
            except CaptureError:
                if self._level == 2:
                    raise
                self._level += 1

    def _run(self, inputs: Sequence[Any]) -> Any:
        """Level 0: every tensor is an operand; 1: those of integers, flags and few elements are constants; 2: eager."""
        operands = {i: Tensor(np.asarray(x)) for i, x in enumerate(inputs) if self._is_operand(x)}
        weights = list(self.program.weights.values())
        if self._level == 2:
            return self.program.outputs(weights, [operands.get(i, x) for i, x in enumerate(inputs)])
        fixed = {i: x for i, x in enumerate(inputs) if i not in operands}
        key = self._level, tuple((i, _key(x)) for i, x in fixed.items())
        if key not in self._versions:
            self._versions[key] = _version(self.program, fixed, len(inputs))
        return self._versions[key](*operands.values())

    def _is_operand(self, x: Any) -> bool:
        if not isinstance(x, (np.ndarray, np.generic)) or not has_tensors(x.dtype):
            return False
        return self._level != 1 or (x.dtype.kind not in "iub" and x.size > 8)


def _version(program: OnnxProgram, fixed: dict[int, Any], count: int) -> Callable[..., Any]:
    """The program for these constants; outputs that are known stand in ``around``, the others are computed."""
    seen: list[Any] = []

    def run(*operands: Any) -> Any:
        given = iter(operands)
        values = [fixed[i] if i in fixed else next(given) for i in range(count)]
        found = program.outputs(list(program.weights.values()), values)
        seen[:] = [[_mark(v) for v in found]]
        return _leaves(found)

    compiled = jit(run)

    def call(*operands: Any) -> Any:
        leaves = iter(compiled(*operands) if operands or program.weights else run())
        return [_filled(v, leaves) for v in seen[0]]

    return call


_MARK = object()


def _mark(value: Any) -> Any:
    """A structure with marks where Tensors are."""
    if isinstance(value, list):
        return [_mark(v) for v in value]
    return _MARK if isinstance(value, Tensor) else value


def _leaves(value: Any) -> list[Any]:
    """The Tensors of a structure, in order."""
    if isinstance(value, list):
        return [leaf for v in value for leaf in _leaves(v)]
    return [value] if isinstance(value, Tensor) else []


def _filled(value: Any, leaves: Any) -> Any:
    if isinstance(value, list):
        return [_filled(v, leaves) for v in value]
    return next(leaves) if value is _MARK else value


def _key(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_key(v) for v in value)
    return (str(value.dtype), value.shape, repr(value.tolist())) if isinstance(value, np.ndarray) else repr(value)


def _host(value: Any) -> Any:
    return [_host(v) for v in value] if isinstance(value, list) else known(value)


def prepare(model: Any, device: str = "CPU", compiled: bool = True, **kwargs: Any) -> BackendRep:
    """A model made ready to run.

    Args:
        model: a ModelProto.
        device: "CPU".
        compiled: capture and compile it; else run operation by operation.

    Raises:
        CheckpointError: the model is damaged, or has operators that msnb does not know. ValueError: another device.
    """
    if not supports_device(device):
        raise ValueError(f"msnb's backend runs on CPU, not on {device!r}.")
    return BackendRep(program_of(as_model(model.SerializeToString())), compiled)


def run_model(model: Any, inputs: Sequence[Any], device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
    """``prepare(model).run(inputs)``."""
    return prepare(model, device, **kwargs).run(inputs)


def run_node(node: Any, inputs: Sequence[Any], device: str = "CPU", outputs_info: Any = None, **kwargs: Any) -> Any:
    """One NodeProto, run by itself."""
    helper = onnx_package("helper")
    values = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.asarray(x).dtype), np.shape(x))
        for name, x in zip((n for n in node.input if n), inputs)
    ]
    graph = helper.make_graph([node], "node", values, [helper.make_empty_tensor_value_info(n) for n in node.output])
    return run_model(helper.make_model(graph), inputs, device)


def is_compatible(model: Any, device: str = "CPU", **kwargs: Any) -> bool:
    """Whether ``prepare`` takes the model."""
    try:
        prepare(model, device)
    except CheckpointError:
        return False
    return True


def supports_device(device: str) -> bool:
    """CPU alone."""
    return device.split(":")[0] == "CPU"
