"""Wrong programs, eagerly and as graphs: the class, the sentence, the line and the text under the caret.

Every program of the ``wrong_*`` files must fail, with the same words and the same place in both modes. What only graph
mode refuses runs eagerly without a word.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import wrong_cells
import wrong_graph
import wrong_operations
import wrong_python
import wrong_steps
from wrong_register import PROGRAMS, WrongProgram, is_marked, place_of, sentence_of, under_caret

import msnb as ms
from msnb.base import device_registry
from msnb.base.errors import DeviceError, MsnbError
from tests import fake_cupy

TABLES = (wrong_cells, wrong_graph, wrong_operations, wrong_python, wrong_steps)


def failure(program: WrongProgram, graph: bool) -> BaseException:
    """What the program raises."""
    inputs = [make() for make in program.inputs]
    with ms.set_context(mode=ms.GRAPH_MODE if graph else ms.PYNATIVE_MODE):
        run: Any = ms.jit(program.fn, fullgraph=True) if graph and program.style != "script" else program.fn
        try:
            run(*inputs)
        except Exception as error:
            return error
    raise AssertionError(f"{program.name} ran without an error")


def check(program: WrongProgram, error: BaseException, graph: bool) -> None:
    """Class, sentence, file, line, caret."""
    file, line, text = program.marker(graph)
    assert (type(error), sentence_of(error)) == (program.kind, program.expected(line))
    place = place_of(error)
    assert (os.path.basename(place.file), place.line) == (os.path.basename(file), line)
    if text is not None:
        assert is_marked(under_caret(place), text), (under_caret(place), text)
    if isinstance(error, MsnbError):
        assert str(error) == f"{error.message()}\n{place.caret()}"


@pytest.mark.parametrize("name", [p.name for p in PROGRAMS.values() if p.style != "graph"])
def test_same_sentence_in_both_modes(name: str) -> None:
    program = PROGRAMS[name]
    eager, graph = failure(program, False), failure(program, True)
    check(program, eager, False)
    check(program, graph, True)
    if isinstance(eager, MsnbError) and isinstance(graph, MsnbError):
        assert eager.message() == graph.message()


@pytest.mark.parametrize("name", [p.name for p in PROGRAMS.values() if p.style == "graph"])
def test_only_graph_mode_refuses(name: str) -> None:
    program = PROGRAMS[name]
    program.fn(*[make() for make in program.inputs])
    error = failure(program, True)
    check(program, error, True)
    assert isinstance(error, MsnbError) and error.hint, "a refusal shows the way out"


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine on which ``import cupy`` works."""
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    device_registry._made.pop("GPU", None)
    yield
    ms.reset_context()
    device_registry._made.pop("GPU", None)


def left_behind(x: Any, y: Any) -> Any:
    z = x * 2
    return z + y  # <- here


def test_operands_of_two_devices(gpu: None, mode: int) -> None:
    """The sentence says who lives where, at the line of the operation."""
    x = ms.Tensor([1.0, 2.0])
    sentence = "add: operations run on CPU, and an operand lives on GPU."
    y = x.to("GPU")
    program = WrongProgram(left_behind, DeviceError, sentence, (lambda: x, lambda: y), left_behind, "jit")
    check(program, failure(program, mode == ms.GRAPH_MODE), mode == ms.GRAPH_MODE)


def test_there_are_enough() -> None:
    assert len(PROGRAMS) >= 60 and {p.fn.__module__ for p in PROGRAMS.values()} == {t.__name__ for t in TABLES}
