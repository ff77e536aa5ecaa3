"""Bytes that the measured programs move, over the least: every input read once, every output written once.

A vector that every row reads comes from the cache: its further readings are no traffic. One program needs more than the
least: the gradient of a cross entropy starts when all rows have told how many of them count.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from benchmark_programs import PROGRAMS
from gpu_programs import down, up

import msnb as ms
from msnb.devices.gpu.device import GPU
from msnb.devices.gpu.program.multi_tensor_step import ChainStep
from msnb.devices.gpu.program.steps import KernelStep
from tests import fake_cupy
from tests.devices.cpu.codegen_programs import REFERENCE, buffers

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.slow

MOST = {"chain": 1.05, "chain with gradient": 1.05, "sum of rows": 1.05, "cross entropy": 2.6}
VECTORS = {"layer norm": 2, "layer norm with gradient": 1, "cross entropy": 1}
ROWS, COLUMNS = 4096, 256


def moved(program: Any, args: Any) -> tuple[int, list[Any]]:
    """Bytes of global memory that one run loads and stores, and its results."""
    steps = [s for s in program.built.steps if isinstance(s, (ChainStep, KernelStep))]
    names = Counter(launch.function for s in steps for launch in s.kernel.launches)
    modules = {n: program.device.cache.function(n).module.statistics[n] for n in names}
    before = {n: (s.loaded, s.stored, s.updated) for n, s in modules.items()}
    results = down(program(up(args)))
    return sum(s.loaded + s.stored + s.updated - sum(before[n]) for n, s in modules.items()), results


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_is_read_and_written_once(name: str) -> None:
    graph, args = PROGRAMS[name](ROWS, COLUMNS)
    with ms.set_context(jit_level="O1"):
        program: Any = GPU(fake_cupy).compile(graph)
    assert program.built is not None and not program.host_steps, program.host_steps
    total, results = moved(program, args)
    with np.errstate(all="ignore"):
        want = REFERENCE.compile(graph)(buffers(args))
    for x, y in zip(results, want, strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-5 * float(np.abs(y).max()))
    least = sum(a.nbytes for a in (*buffers(args), *results))
    ratio = (total - VECTORS.get(name, 0) * 4 * (ROWS - 1) * COLUMNS) / least
    print(f"{name}: {ratio:.3f} of the least")
    assert ratio <= MOST.get(name, 1.2), f"{name} moves {ratio:.3f} of the least"
