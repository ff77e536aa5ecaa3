"""ONNX's own tests of a backend, in eager mode and compiled: what fails is exactly what docs/onnx.md says."""

from __future__ import annotations

import fnmatch
import importlib.util
import re
import unittest
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs onnx (`pip install 'msnb[onnx]'`)")

import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.base import Backend
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.runner import Runner

import msnb.onnx  # noqa: F401
from msnb.onnx import backend

DOCUMENT = Path(__file__).parents[2] / "docs" / "onnx.md"
LEFT_OUT = re.findall(r"^\| `(test_[^`]*)` \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)


def cases() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the expected values of some cases are made by dividing by zero
        found = collect_testcases(None)
    for case in found:
        if "image_decoder" not in case.name or importlib.util.find_spec("PIL"):
            yield case


def difference(got: Any, want: Any, case: Any) -> str:
    """Nothing where both are equal to the case's tolerance."""
    if want is None or isinstance(want, (list, tuple)):
        if want is None or not isinstance(got, (list, tuple)) or len(got) != len(want):
            return "" if got is None and want is None else f"{type(got).__name__} of another length"
        return next(filter(None, (difference(g, w, case) for g, w in zip(got, want))), "")
    want = numpy_helper.to_array(want) if isinstance(want, TensorProto) else np.asarray(want)
    texts = want.dtype.kind in "OU"
    if not isinstance(got, np.ndarray) or got.shape != want.shape or (not texts and got.dtype != want.dtype):
        return f"{type(got).__name__} {np.shape(got)}, not {want.dtype}{want.shape}"
    if texts:
        return "" if (got.astype(str) == want.astype(str)).all() else "other texts"
    if want.dtype.kind == "V" or want.dtype.kind not in "biufc":
        got, want = got.astype(np.float64), want.astype(np.float64)
    # a transform rounds by its largest number: zeros of exact sums beside 945 have an error of 1e-5
    atol = 1e-7 * np.abs(want).max() if case.name.startswith("test_dft") else 0
    return "" if np.allclose(got, want, rtol=case.rtol, atol=max(case.atol, atol), equal_nan=True) else "other values"


def outcome(case: Any, compiled: bool) -> str:
    """What is wrong with a case, or nothing."""
    try:
        rep = backend.prepare(case.model, compiled=compiled)
        for inputs, outputs in case.data_sets:
            given = [numpy_helper.to_array(x) if isinstance(x, TensorProto) else x for x in inputs]
            wrong = difference(list(rep.run(given)), list(outputs), case)
            if wrong:
                return wrong
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def is_left_out(name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in LEFT_OUT)


@pytest.mark.long
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_every_operator(compiled: bool) -> None:
    total, wrong = 0, {}
    for case in cases():
        total += 1
        said = outcome(case, compiled)
        if said:
            wrong[case.name] = said
    assert total > 1500
    unexpected = {name: said for name, said in wrong.items() if not is_left_out(name)}
    assert not unexpected, "\n".join(f"{name}: {said}" for name, said in unexpected.items())


def test_what_is_left_out_is_there() -> None:
    names = {case.name for case in cases()}
    assert LEFT_OUT and all(fnmatch.filter(names, pattern) for pattern in LEFT_OUT)
    assert sum(map(is_left_out, names)) <= len(names) - 1790 * len(names) // 1884


def every(kinds: Sequence[str]) -> Iterator[Any]:
    """The cases of ONNX's test classes of these kinds, on the CPU."""

    class Ours(Backend):  # type: ignore[misc]
        prepare, run_model, supports_device = map(
            staticmethod, (backend.prepare, backend.run_model, backend.supports_device)
        )

        @classmethod
        def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
            return True  # a model that is not loaded fails

    for kind, found in Runner(Ours, __name__).test_cases.items():
        if any(word in kind for word in kinds):
            suite = unittest.defaultTestLoader.loadTestsFromTestCase(found)
            yield from (case for case in suite if not case.id().endswith("_cuda"))


def failures(kinds: Sequence[str], fewest: int, without: str = "") -> str:
    result, count = unittest.TestResult(), 0
    for case in every(kinds):
        count += 1
        if case.id().rpartition(".")[2] != without:
            case.run(result)
    assert count >= fewest and not result.skipped
    return "\n".join(f"{case.id()}: {said.strip().splitlines()[-1]}" for case, said in result.failures + result.errors)


def test_small_models() -> None:
    assert not failures(("Simple", "PyTorchOperator"), 23 + 35)


@pytest.mark.long
def test_layers_and_networks() -> None:
    assert not failures(("PyTorchConverted", "RealModel"), 82 + 9, without="test_squeezenet_cpu")


def test_squeezenet_before_its_softmax() -> None:
    """All its weights are equal, and its logits 7e9: softmax makes all or nothing of one rounding."""
    model = onnx.load(str(Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / "light_squeezenet.onnx"))
    last = model.graph.node.pop()
    assert last.op_type == "Softmax"
    model.graph.output[0].name = last.input[0]
    data = np.random.default_rng(0).standard_normal((1, 3, 224, 224)).astype(np.float32)
    (logits,) = backend.prepare(model, compiled=True).run([data])
    assert logits.shape == (1, 1000, 1, 1) and logits.min() > 1e9
    np.testing.assert_allclose(logits, logits.mean(dtype=np.float64), rtol=1e-6)


def test_one_node_and_what_is_refused() -> None:
    from onnx import helper

    node = helper.make_node("Add", ["a", "b"], ["c"])
    found = backend.run_node(node, [np.float32([1, 2]), np.float32([3, 4])])
    np.testing.assert_array_equal(found[0], np.float32([4, 6]))
    model = SimpleNamespace(SerializeToString=lambda: b"no model")
    assert not backend.is_compatible(model)
    with pytest.raises(ValueError, match="runs on CPU"):
        backend.prepare(model, "CUDA")
