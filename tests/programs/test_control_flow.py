"""Every control-flow program: plain Python on NumPy decides what is right, both modes must say the same.

Value within 1e-12, gradient within 1e-6 of a difference quotient, for every case of every program; every line of every
program is reached by some case; a second call with the same types compiles nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import control_branches
import control_deep
import control_loops
import control_nested
import numpy as np
import pytest
from control_register import PROGRAMS, Program

import msnb as ms
from msnb.core import pytree

MODULES = (control_branches, control_deep, control_loops, control_nested)
STEP = 3e-5
STENCIL = ((1, 8 / 12), (-1, -8 / 12), (2, -1 / 12), (-2, 1 / 12))
ALL = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)


def arrays(case: tuple[Any, ...]) -> list[Any]:
    """NumPy twins of a case, fresh: floats and lists are float64, ints int64."""
    return [np.array(a, np.int64 if isinstance(a, int) else np.float64)[()] for a in case]


def tensors(case: tuple[Any, ...]) -> list[ms.Tensor]:
    return [ms.Tensor(a) for a in arrays(case)]


def numbers(result: Any) -> np.ndarray[Any, Any]:
    """All numbers in a result, in order."""
    parts = [x.asnumpy() if isinstance(x, ms.Tensor) else np.asarray(x) for x in pytree.flatten(result)[0]]
    return np.concatenate([p.astype(np.float64).ravel() for p in parts])


def differentiable(case: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(i for i, a in enumerate(case) if not isinstance(a, int))


def difference(fn: Callable[..., Any], case: tuple[Any, ...], position: int) -> np.ndarray[Any, Any]:
    """The gradient of the sum of all results by one argument, by differences."""
    x = np.asarray(arrays(case)[position])
    slope = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        for steps, weight in STENCIL:
            moved = x.copy()
            moved[i] += steps * STEP
            args = arrays(case)
            args[position] = moved[()]
            slope[i] += numbers(fn(*args)).sum() * weight / STEP
    return slope


def close(got: Any, want: Any, bound: float, what: str) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    error = np.abs(got - want) / np.maximum(1.0, np.abs(want))
    assert np.all(error <= bound), f"{what}: {got}, expected {want}"


def runner(fn: Callable[..., Any], mode: int) -> Callable[..., Any]:
    return ms.jit(fn) if mode == ms.GRAPH_MODE else fn


@ALL
def test_value(program: Program, mode: int) -> None:
    run = runner(program.fn, mode)
    for case in program.cases:
        close(numbers(run(*tensors(case))), numbers(program.fn(*arrays(case))), 1e-12, f"{program.name}{case}")


@ALL
def test_gradient(program: Program, mode: int) -> None:
    gradient = {}
    for case in program.cases:
        wanted = differentiable(case)
        gradient.setdefault(wanted, ms.grad(program.fn, grad_position=wanted))
        for position, found in zip(wanted, gradient[wanted](*tensors(case))):
            want = difference(program.fn, case, position)
            close(found.asnumpy(), want, 1e-6, f"{program.name}{case} by argument {position}")


@ALL
def test_gradient_of_a_compiled_function(program: Program) -> None:
    """A jitted function under the eager tape: one call node with its pair of graphs."""
    run = ms.jit(program.fn)
    case = program.cases[0]
    wanted = differentiable(case)
    for position, found in zip(wanted, ms.grad(run, grad_position=wanted)(*tensors(case))):
        close(found.asnumpy(), difference(program.fn, case, position), 1e-6, f"{program.name} by argument {position}")


@ALL
def test_types(program: Program) -> None:
    """A tensor in eager mode is a tensor of the same shape and dtype in graph mode, also in single precision."""
    run = ms.jit(program.fn)
    for case in program.cases:
        for dtype in (ms.float64, ms.float32):
            given = [x.astype(dtype) if x.dtype is ms.float64 else x for x in tensors(case)]
            eager, graph = (pytree.flatten(f(*given))[0] for f in (program.fn, run))
            pairs = [(e, g) for e, g in zip(eager, graph, strict=True) if isinstance(e, ms.Tensor)]
            assert [(g.shape, g.dtype) for _, g in pairs] == [(e.shape, e.dtype) for e, _ in pairs]


@ALL
def test_compiles_once(program: Program) -> None:
    run = ms.jit(program.fn)
    for _ in range(2):
        for case in program.cases:
            run(*tensors(case))
    types = {tuple(np.asarray(a).shape for a in case) for case in program.cases}
    assert len(run.versions) == len(types), ms.explain(run)


@ALL
def test_every_line_is_reached(program: Program) -> None:
    """The cases leave no line of the program out (so a branch that graph mode drops cannot hide)."""
    code, seen = program.fn.__code__, set()

    def local(frame: FrameType, event: str, arg: Any) -> Any:
        seen.add(frame.f_lineno)
        return local

    before = sys.gettrace()
    sys.settrace(lambda frame, event, arg: local if frame.f_code is code else None)
    try:
        for case in program.cases:
            program.fn(*arrays(case))
    finally:
        sys.settrace(before)
    lines = {line for _, _, line in code.co_lines() if line is not None and line > code.co_firstlineno}
    assert lines - seen == set(), f"{program.name}: lines {sorted(lines - seen)} are never reached"


def test_there_are_enough() -> None:
    assert len(PROGRAMS) >= 60
    assert {fn.__module__ for fn in (p.fn for p in PROGRAMS.values())} == {m.__name__ for m in MODULES}
