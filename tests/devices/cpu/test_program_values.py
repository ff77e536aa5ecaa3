"""The native program against the reference executor: random programs, with memory that nothing lives in full of NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from msnb.base import device_registry
from msnb.graph.compile import optimise
from msnb.graph.compile.passes.fusion.grouping import fuse
from msnb.ir.analysis.verifier import verify
from msnb.ir.graph import Graph
from tests.devices.cpu.codegen_programs import REFERENCE
from tests.devices.cpu.program_graphs import Draw

pytest.importorskip("llvmlite")


def native(graph: Graph, checking: bool = False) -> Any:
    from msnb.devices.cpu.program.run.executor import NativeProgram

    return NativeProgram(device_registry.device("CPU"), graph, checking)


def inputs(graph: Graph, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, p.type.ints()).astype(p.type.dtype.numpy) for p in graph.params]


def agree(graph: Graph, seed: int, checking: bool) -> None:
    program = native(graph, checking)
    assert program.reason is None
    args = inputs(graph, seed)
    want = REFERENCE.compile(graph)([a.copy() for a in args])
    for _ in range(2):
        given = [a.copy() for a in args]
        held, again = list(given), list(given)  # two owners of each: nothing may be lent
        got = program(given)
        for x, y, value in zip(got, want, graph.outputs, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-5, err_msg=f"{value}\n{graph}")
        assert again
        for a, b in zip(held, args, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.long
@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from(("plain", "fused", "all fused")), st.booleans())
def test_random_programs(seed: int, how: str, simplified: bool) -> None:
    graph = Draw(seed).program()
    verify(graph, "captured")
    if simplified:
        graph = optimise(graph)[0]
    if how != "plain":
        graph = fuse(graph, how == "all fused")
    agree(graph, seed, True)
    agree(graph, seed, False)


@pytest.mark.long
@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_lent_parameters(seed: int, fused: bool) -> None:
    """Five steps in which parameters may give their memory to their new values are five steps of the reference."""
    graph = Draw(seed).program()
    graph = fuse(graph, True) if fused else graph
    program, reference = native(graph), REFERENCE.compile(graph)
    ours, theirs = inputs(graph, seed), inputs(graph, seed)
    for _ in range(5):
        got, want = program(list(ours)), reference(list(theirs))
        for x, y in zip(got, want, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-4, err_msg=str(graph))
        for p, j in graph.state.items():
            ours[p], theirs[p] = got[j], want[j]
        got = want = None
