"""Programs drawn from the grammar: eager, graph and plain Python on NumPy give the same value, gradient or error."""

from __future__ import annotations

import importlib.util
import itertools
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import control_register
import grammar
import numpy as np
import pytest
from hypothesis import event, given, settings

import msnb as ms

FOLDER = tempfile.TemporaryDirectory(prefix="msnb-grammar-")
NUMBERS = itertools.count()
IMPORTS = "from control_register import sin, tanh\n\n\n"


def load(source: str) -> Callable[..., Any]:
    """The function of this source text, from a file of its own."""
    path = Path(FOLDER.name) / f"drawn_{next(NUMBERS)}.py"
    path.write_text(IMPORTS + source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    program: Callable[..., Any] = module.program
    return program


def outcome(run: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a call gives: ("value", numbers...) or ("error", class, sentence)."""
    try:
        result = run(*arguments)
    except (AssertionError, ValueError) as error:
        return "error", type(error), getattr(error, "sentence", str(error))
    parts = result if isinstance(result, tuple) else (result,)
    return "value", *(p.asnumpy() if isinstance(p, ms.Tensor) else np.asarray(p) for p in parts)


def same(got: tuple[Any, ...], want: tuple[Any, ...], what: str) -> None:
    assert got[0] == want[0], f"{what}: {got}, expected {want}"
    if got[0] == "error":
        assert got == want, what
        return
    for g, w in zip(got[1:], want[1:], strict=True):
        assert (g.shape, g.dtype) == (w.shape, w.dtype), f"{what}: {g!r}, expected {w!r}"
        np.testing.assert_allclose(g, w, rtol=1e-11, atol=1e-11, err_msg=what)


def arrays(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(np.array(v, np.int64 if isinstance(v, int) else np.float64)[()] for v in values)


def check(source: str, values: tuple[Any, ...]) -> None:
    """One program on one set of arguments, every way."""
    program = load(source)
    tensors = tuple(ms.Tensor(v) for v in arrays(values))
    eager = outcome(program, tensors)
    event(f"ends with {eager[0]}")
    if "u[:2]" not in source:
        same(eager, outcome(program, arrays(values)), "eager against NumPy")
    same(outcome(ms.jit(program), tensors), eager, "graph against eager")
    slopes = outcome(ms.grad(program, grad_position=(0, 1, 2)), tensors)
    with ms.set_context(mode=ms.GRAPH_MODE):
        same(outcome(ms.grad(program, grad_position=(0, 1, 2)), tensors), slopes, "gradient in graph mode")


@pytest.mark.long
@settings(max_examples=60)
@given(grammar.programs(), grammar.arguments())
def test_drawn_programs(source: str, values: tuple[Any, ...]) -> None:
    check(source, values)


@pytest.mark.slow
@settings(max_examples=240)
@given(grammar.programs(), grammar.arguments())
def test_more_drawn_programs(source: str, values: tuple[Any, ...]) -> None:
    check(source, values)


def test_the_functions_are_those_of_the_control_programs() -> None:
    assert load("def program(x):\n    return sin(x)\n")(0.5) == control_register.sin(0.5) == math.sin(0.5)
