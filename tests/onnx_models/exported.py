"""A network written as ONNX and run by others: the format's reference evaluator, onnxruntime where it is, and msnb."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
from onnx.reference import ReferenceEvaluator

import msnb as ms
from msnb import nn
from msnb.ir.frozen_graph import SavedGraph
from msnb.onnx.export.model_writer import OPSET, model_of
from msnb.onnx.program import program_of
from msnb.train.files.graph_freezing import frozen

NOT_IN_REFERENCE = ("Scan", "negative values", "reshape array", "stash_type")  # the evaluator's own limits
NOT_IN_RUNTIME = ("NOT_IMPLEMENTED", "not support double")


def flat(value: Any) -> list[Any]:
    """The arrays of a result."""
    if isinstance(value, dict):
        return flat(list(value.values()))
    if isinstance(value, (tuple, list)):
        return [part for v in value for part in flat(v)]
    return [value.asnumpy() if isinstance(value, ms.Tensor) else np.asarray(value)]


def agree(got: Any, want: Any) -> bool:
    """Equal dtypes and shapes; numbers to 1e-5 of the largest."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    if not want.size or want.dtype.kind not in "f":
        return bool(np.array_equal(got, want))
    largest = np.max(np.abs(want[np.isfinite(want)]), initial=1e-30)
    return bool(np.allclose(got, want, rtol=1e-5, atol=1e-5 * float(largest), equal_nan=True))


def by_others(model: Any, feed: dict[str, Any]) -> dict[str, list[Any]]:
    """What every other program makes of a model."""
    found = {"own": flat(nn.GraphCell(program_of(model))(*map(ms.Tensor, feed.values())))}
    try:
        found["reference"] = list(ReferenceEvaluator(model).run(None, feed))
    except (RuntimeError, ValueError, AttributeError) as error:
        assert any(word in str(error) for word in NOT_IN_REFERENCE), error
    if importlib.util.find_spec("onnxruntime"):
        import onnxruntime

        onnxruntime.set_default_logger_severity(4)
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            found["onnxruntime"] = session.run(None, feed)
        except Exception as error:  # its classes share no base
            assert any(word in str(error) for word in NOT_IN_RUNTIME), error
    return found


def saved_agrees(saved: SavedGraph, want: Any, inputs: tuple[Any, ...], opset: int = OPSET) -> Any:
    """The model of a program, which computes the same everywhere."""
    model = model_of(saved, opset)
    feed = {declared.name: x.asnumpy() for declared, x in zip(model.graph.input, inputs)}
    for who, results in by_others(model, feed).items():
        for got, right in zip(results, flat(want), strict=True):
            assert agree(np.asarray(got), right), (who, np.asarray(got), right)
    return model


def exported(net: Any, *inputs: Any, opset: int = OPSET) -> Any:
    """The model of a network, which computes the same everywhere."""
    return saved_agrees(frozen(net, inputs, keep_blocks=True), net(*inputs), inputs, opset)


def kinds(model: Any) -> list[str]:
    """The operators of a model, in order."""
    return [node.op_type for node in model.graph.node]
