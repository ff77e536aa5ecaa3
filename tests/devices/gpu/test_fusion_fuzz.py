"""Random programs, fused and run on the GPU thread by thread, against their bodies on the host.

How far rounding may carry a result is measured: the reference on inputs that are off in the last digit. A failure names
the seed: ``Programs(seed)`` is the program. MSNB_GPU_FUZZ=2000 tries so many instead of a few.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from gpu_programs import compiled, down, up

from msnb.graph.compile.passes.fusion.grouping import fuse
from msnb.ir.control_flow import FUSED
from tests.devices.cpu.codegen_programs import REFERENCE, buffers, right_enough
from tests.devices.cpu.test_codegen_groups import Programs

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.slow

MANY = int(os.environ.get("MSNB_GPU_FUZZ", "40"))


def spread(program: Programs, want: list[Any]) -> list[np.ndarray]:
    """How far each result moves when inputs move in their last digits."""
    reference, args = REFERENCE.compile(program.graph), buffers(program.args)
    noisy = [reference([a * np.float32(1 + k * 2e-7) for a in args]) for k in (-2, -1, 1, 2)]
    found = []
    for i, y in enumerate(want):
        wide = y.astype(np.float64)
        found.append(np.max([np.abs(n[i].astype(np.float64) - wide) for n in noisy], axis=0, initial=0.0))
    return found


def differ(program: Programs, got: list[Any], want: list[Any]) -> str:
    """What is wrong with the results; "" for nothing."""
    for i, (x, y, moved) in enumerate(zip(got, want, spread(program, want), strict=True)):
        if x.dtype != y.dtype or x.shape != y.shape:
            return f"result {i}: {x.dtype}{x.shape}, expected {y.dtype}{y.shape}"
        wide = y.astype(np.float64)
        off = np.abs(x.astype(np.float64) - wide)
        alike = (x == y) | (np.isnan(x) & np.isnan(y)) if x.dtype.kind == "f" else x == y
        scale = np.nanmax(np.abs(np.where(np.isfinite(wide), wide, 0)), initial=1.0)
        fine = alike | (off <= 30 * moved + 2e-6 * scale) | ~np.isfinite(moved)
        if not right_enough(fine, y, program.smooth):
            return f"result {i}: off by {np.nanmax(off)}"
    return ""


def tried(seed: int) -> str:
    """One program, whole and in every group; what is wrong with it."""
    program = Programs(seed)
    with np.errstate(all="ignore"):
        want = REFERENCE.compile(program.graph)(buffers(program.args))
        for every in (True, False):
            fused = fuse(program.graph, every)
            made = compiled(fused)
            if made.built is None:
                return f"not laid out: {made.reason}"
            if "fused" in made.host_steps:
                kernels = [n for n in fused.nodes if n.op is FUSED]
                return f"a group of {len(kernels)} has no kernel"
            for _ in range(2):  # the second run is recorded, where there are many launches
                wrong = differ(program, down(made(up(program.args))), want)
                if wrong:
                    return f"every={every}, {wrong}"
    return ""


def test_random_groups(rng: np.random.Generator) -> None:
    seeds = [int(s) for s in rng.integers(0, 2**32, MANY)]
    print(f"seeds: {seeds[:5]} ... ({MANY})")
    wrong = {seed: found for seed in seeds if (found := tried(seed))}
    text = "\n".join(f"seed {seed}: {found}\n{Programs(seed).graph}" for seed, found in list(wrong.items())[:3])
    assert not wrong, f"{len(wrong)} of {MANY} programs are wrong; seeds {list(wrong)}\n{text}"
