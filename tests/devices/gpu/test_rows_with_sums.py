"""Kernels whose rows have sums: quotients by one number of a row, and how rows lie over a chip."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu_programs import compiled, down, up

import msnb as ms
from msnb import ops
from msnb.devices.gpu.codegen.gpu_target import GpuTarget
from msnb.devices.gpu.codegen.row_kernel import RowKernel
from msnb.devices.gpu.codegen.row_schedule import RowSchedule
from msnb.devices.gpu.device import GPU
from msnb.devices.gpu.program.steps import KernelStep
from msnb.graph.compile.passes.fusion.grouping import fuse
from tests.devices.cpu.codegen_programs import traced

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.slow


def run(function: Any, *arrays: np.ndarray) -> Any:
    """The result on the GPU; the program must be kernels alone."""
    program = compiled(traced(function, *map(ms.Tensor, arrays)))
    assert program.built is not None and not program.host_steps
    return down(program(up([ms.Tensor(a) for a in arrays])))[0]


def test_quotients_round_as_divisions_do() -> None:
    """One divisor a row, among them zeros, infinities, NaN, the largest and the smallest floats."""
    rng = np.random.default_rng(11)
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -3e-42, 1.2e-38, 3.4e38, -1e30, 1e-30, 2.0**64, 2.0**-64, 1.0]
    divisors = np.array([*edges, *(rng.normal(size=50) * 10.0 ** rng.integers(-30, 30, 50))], np.float32)[:, None]
    a = rng.normal(size=(len(divisors), 64)) * 10.0 ** rng.integers(-25, 25, (len(divisors), 64))
    a[:, :8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 3.4e38]
    a = a.astype(np.float32)
    got = run(lambda x, y: x / y, a, divisors)
    with np.errstate(all="ignore"):
        want = a / divisors
    small = np.abs(want) < 2.0**-126  # rounded twice
    assert (np.abs(got - want)[small] <= 2.0**-149).all()
    np.testing.assert_array_equal(got[~small], want[~small])
    np.testing.assert_array_equal(np.signbit(got)[~np.isnan(want)], np.signbit(want)[~np.isnan(want)])


def test_quotients_of_the_smallest_numbers() -> None:
    """Below 2^-100 what is left of a is rounded itself: a quotient may be one unit off."""
    rng = np.random.default_rng(12)
    a = (rng.normal(size=(40, 64)) * 1e-33).astype(np.float32)
    b = rng.uniform(0.5, 2.0, (40, 1)).astype(np.float32)
    got, want = run(lambda x, y: x / y, a, b), a / b
    assert (np.abs(got - want) <= np.spacing(np.abs(want))).all()


def both(x: Any, scale: Any, shift: Any, dout: Any) -> Any:
    """Softmax of a layer norm, with its gradients."""
    out, pull = ms.vjp(
        lambda *a: ops.softmax(ops.layer_norm(a[0], x.shape[-1:], a[1], a[2], 1e-5), -1), x, scale, shift
    )
    return (out, *pull(dout))


@pytest.mark.parametrize(("rows", "width"), [(40, 96), (37, 1024), (5, 3000), (300, 33)])
@pytest.mark.parametrize("chip", [2, 132])
def test_rows_with_sums_of_columns(rows: int, width: int, chip: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that fill no whole wave, that no team divides, and chips of few multiprocessors."""
    monkeypatch.setattr(GPU, "target", property(lambda self: GpuTarget(multiprocessors=chip)))
    rng = np.random.default_rng(rows + width)
    arrays = [rng.normal(size=s).astype(np.float32) for s in ((rows, width), (width,), (width,), (rows, width))]
    program = compiled(fuse(traced(both, *map(ms.Tensor, arrays))))
    assert program.built is not None and not program.host_steps
    got = down(program(up([ms.Tensor(a) for a in arrays])))
    with ms.set_context(device_target="CPU", jit_level="O0"):
        want = [t.asnumpy() for t in both(*(ms.Tensor(a) for a in arrays))]
    for here, there in zip(got, want, strict=True):
        np.testing.assert_allclose(here, there, rtol=2e-5, atol=2e-5 * float(np.abs(there).max()))


def test_a_warp_has_a_row_and_blocks_fill_the_chip_once() -> None:
    """The layout of the benchmark: 32 elements a thread, two blocks of four rows on each multiprocessor."""
    arrays = [np.zeros(s, np.float32) for s in ((32768, 1024), (1024,), (1024,), (32768, 1024))]
    program = compiled(fuse(traced(both, *map(ms.Tensor, arrays))))
    (kernel,) = {id(s.kernel): s.kernel for s in program.built.steps if isinstance(s, KernelStep)}.values()
    plan = RowSchedule(kernel.kernel, GpuTarget(multiprocessors=132))
    assert (plan.tiling.team, plan.tiling.teams, plan.tiling.resident) == (32, 4, 2)
    assert 250 <= plan.tiling.splits <= 264
    assert '"nvvm.minctasm"="2"' in RowKernel(kernel.kernel, "k", GpuTarget()).made().text
