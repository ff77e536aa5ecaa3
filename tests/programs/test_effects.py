"""Prints, raises and writes: the same text, results, errors and state in both modes, at each call."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Callable
from typing import Any

import effects_errors  # noqa: F401
import effects_prints  # noqa: F401
import effects_state  # noqa: F401
import pytest
from effects_register import PROGRAMS, REFUSED, Box, Program

import msnb as ms
from msnb.base.errors import CaptureError


def told(error: BaseException | None) -> Any:
    return None if error is None else (type(error), error.args, told(error.__cause__))


def outcome(run: Callable[..., Any], box: Box, args: tuple[float, ...]) -> tuple[Any, ...]:
    """(what it printed, warned and logged, what it gave, what it raised, what it left)"""
    out, error, result = io.StringIO(), None, None
    handler = logging.StreamHandler(out)
    handler.setFormatter(logging.Formatter("%(levelname)s %(funcName)s %(lineno)d %(message)s"))
    log = logging.getLogger("msnb.tests.effects")
    log.addHandler(handler)
    try:
        with contextlib.redirect_stdout(out), warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            result = repr(run(box, *(ms.Tensor(a) for a in args)))
    except Exception as raised:
        error = raised
    finally:
        log.removeHandler(handler)
    heard = [(w.category, str(w.message), w.filename, w.lineno) for w in seen]
    return out.getvalue(), heard, result, told(error), box.told()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_both_modes(program: Program, notices: list[str]) -> None:
    compiled, eager_box, graph_box = ms.jit(program.fn), Box(), Box()
    for args in program.calls:
        expected = outcome(program.fn, eager_box, args)
        assert outcome(compiled, graph_box, args) == expected, args
    assert notices == []


@pytest.mark.parametrize(("fn", "words"), REFUSED, ids=lambda p: getattr(p, "__name__", ""))
def test_refused(fn: Any, words: str) -> None:
    box = Box()
    before = box.told()
    for value in (1.0, -1.0):
        with pytest.raises(CaptureError, match=words):
            ms.jit(fn)(box, ms.Tensor(value))
        assert box.told() == before
