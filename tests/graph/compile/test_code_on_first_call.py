"""Machine code is made when a program is first called: who only looks at one waits for passes alone."""

from __future__ import annotations

import numpy as np
import pytest

import msnb as ms
from msnb.base import device_registry
from msnb.base.errors import DeviceError
from msnb.graph.compile import CompiledProgram, compile_graph
from msnb.ir.text.parser import parse

LEVELS = ("O0", "O1")
TEXT = "graph f(x: f32[2]) -> (f32[2])\n %1 = exp(x) : f32[2]\n %2 = add(%1, x) : f32[2]\n return %2"


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the graphs that the device is given to compile, from here on."""
    device = device_registry.current()
    names: list[str] = []
    real = type(device).compile

    def counted(self, graph):
        names.append(graph.name)
        return real(self, graph)

    monkeypatch.setattr(type(device), "compile", counted)
    return names


@pytest.mark.parametrize("level", LEVELS)
def test_the_first_call_makes_the_code_and_the_second_finds_it(level: str, compiles: list[str]) -> None:
    with ms.set_context(jit_level=level):
        program = compile_graph(parse(TEXT), keep_stages=True)
        assert program.stages and program.history == [] and "f: 1 params" in repr(program)
        assert compiles == []
        x = np.array([0.0, 1.0], np.float32)
        for _ in range(2):
            np.testing.assert_allclose(program([x])[0], np.exp(x) + x, rtol=1e-6)
        assert compiles == ["f"]


@pytest.mark.parametrize("level", LEVELS)
def test_timings_and_build_ask_for_the_code(level: str, compiles: list[str]) -> None:
    with ms.set_context(jit_level=level):
        built = compile_graph(parse(TEXT), keep_stages=True).build()
        assert compiles == ["f"]
        assert set(built.timings) == {*(s.name for s in built.stages), "compile"} and built.timings["compile"] > 0
        assert compiles == ["f"], "timings of a program that is built cost nothing"
        compile_graph(parse(TEXT), keep_stages=True).timings["compile"]
        assert compiles == ["f", "f"]


@pytest.mark.parametrize("level", LEVELS)
def test_a_jitted_call_has_its_code_inside_the_seconds_that_it_tells(level: str, compiles: list[str]) -> None:
    with ms.set_context(jit_level=level):
        f = ms.jit(lambda x: ms.ops.exp(x) * 2)
        f(ms.Tensor([1.0, 2.0]))
        version = f.versions[0]
    assert isinstance(version.compiled, CompiledProgram)
    assert version.compiled.timings["compile"] <= version.seconds[1]


def test_an_error_of_the_device_comes_at_the_call_and_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    program = compile_graph(parse(TEXT), keep_stages=True)

    def broken(self, graph):
        raise DeviceError("no code today")

    monkeypatch.setattr(type(device_registry.current()), "compile", broken)
    for _ in range(2):
        with pytest.raises(DeviceError, match="no code today"):
            program([np.zeros(2, np.float32)])
    monkeypatch.undo()
    np.testing.assert_array_equal(program([np.zeros(2, np.float32)])[0], np.ones(2, np.float32))
