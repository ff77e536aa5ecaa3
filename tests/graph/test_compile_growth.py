"""Compiling grows with the program and not with its square: steps are counted, for a program and for one four times as
long: every call of a Python function, and in the passes every line. Some of these were quadratic, the others are their
relatives."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops

PASSES = os.path.join("msnb", "graph", "compile")


def doubled(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x + x
    return x


def chain(x: Any, n: int) -> Any:
    y = x
    for i in range(n):
        x = x * y + i if i % 2 else x - y
    return x


def views(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x.reshape(2, 1).transpose(1, 0).reshape(2)
    return x


def parts(x: Any, n: int) -> Any:
    total = x
    for i in range(n):
        total = total + ops.tanh(x[i % 2]) * x
    return total


def choices(x: Any, n: int) -> Any:
    for i in range(n):
        x = ops.where(x > i, x, -x)
    return x


def steps(fn: Callable[[Any, int], Any], n: int, gradient: bool) -> int:
    """Calls, and lines of passes, while ``fn`` is compiled and run, n turns long."""
    program: Any = lambda x: fn(x, n)
    program = ms.grad(lambda x: fn(x, n).sum()) if gradient else program
    compiled, x, count = ms.jit(program), ms.Tensor(np.array([1.0, 2.0], np.float32)), 0

    def seen(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        count += 1
        return seen if PASSES in frame.f_code.co_filename else None

    before = sys.gettrace()
    gc.disable()
    sys.settrace(seen)
    try:
        compiled(x)
    finally:
        sys.settrace(before)
        gc.enable()
    return count


CASES = [(doubled, False), (views, False), (choices, False), (parts, True), (chain, True)]


@pytest.mark.long
@pytest.mark.parametrize(("fn", "gradient"), CASES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_steps_grow_with_the_program(
    fn: Callable[[Any, int], Any], gradient: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four times the program: four times the steps, and up to half as many again for one more round of the passes."""
    monkeypatch.setenv("MSNB_CACHE_DIR", str(tmp_path))  # what lies on disk is not compiled
    ms.set_context(jit_level="O1")
    steps(fn, 5, gradient)
    few, many = steps(fn, 40, gradient), steps(fn, 160, gradient)
    assert many < 6 * few, (few, many)


def test_a_sum_of_shared_parts_is_not_walked_without_end() -> None:
    """Forty doublings of a part in its place: each looks at its two summands, not at a million million paths."""
    ms.set_context(jit_level="O1")

    def loss(x: Any) -> Any:
        total = x[0] * 1.0
        for _ in range(40):
            total = total + total
        return total

    assert ms.jit(ms.grad(loss))(ms.Tensor([1.0, 2.0])).tolist() == [2.0**40, 0.0]


def test_eighteen_nested_choices() -> None:
    lines = ["def f(x):"]
    for i in range(18):
        lines += [f"{' ' * (i + 1)}if x.sum() > {i}:", f"{' ' * (i + 2)}x = x + {i}"]
    names: dict[str, Any] = {}
    exec(compile("\n".join([*lines, " return x"]), "<nested>", "exec"), names)  # a cell: capture knows its text
    import linecache

    linecache.cache["<nested>"] = (0, None, [f"{line}\n" for line in [*lines, " return x"]], "<nested>")
    x = ms.Tensor([1.0, 0.5])
    assert ms.jit(names["f"])(x).tolist() == names["f"](x).tolist()
