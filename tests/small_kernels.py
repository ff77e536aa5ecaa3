"""Native code for the smallest tensors: what eager mode leaves to NumPy because it is small is compiled all the same.

Eager mode at O1 asks for a kernel from some thousand elements on, so small random programs would run NumPy's bodies
and nothing else. Inside ``native_when_small()`` they run what a user's large tensors run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from msnb.devices import cpu
from msnb.devices.cpu.eager import elementwise, kernel_cache
from msnb.devices.cpu.kernels import lapack, row_reduction, sparse_rows
from msnb.devices.cpu.kernels.lines import line_provider
from msnb.devices.cpu.program.build import kernel_selection
from msnb.devices.cpu.program.run import program_cache
from msnb.ops.definition.record import REGISTRY

LIMITS = [
    (cpu, "_SMALL"),
    (elementwise, "WORTH"), (elementwise, "SHORT"),
    (kernel_cache, "WORTH_ADDING"), (kernel_cache, "_BLAS_SHARES"), (kernel_cache, "_BLAS_SHARES_VECTORS"),
    (kernel_cache, "LARGE"), (lapack, "WORTH"), (row_reduction, "WORTH"), (sparse_rows, "WORTH"),
    (line_provider, "WORTH"), (kernel_selection, "WORTH"), (cpu.CPUFeatures, "worth_fusing"),
]  # fmt: skip
"""From how many elements (bytes, flops) on each asks for native code."""


@contextlib.contextmanager
def native_when_small() -> Iterator[None]:
    """All limits at one. Programs that were chosen by other limits are of no use from the disk either: their names say
    how they were chosen."""
    before, name = [getattr(module, name) for module, name in LIMITS], program_cache.FORMAT
    try:
        program_cache.FORMAT = f"{name}, all limits at one"
        _settle([1] * len(LIMITS))
        yield
    finally:
        program_cache.FORMAT = name
        _settle(before)


def _settle(limits: list[int]) -> None:
    for (module, name), limit in zip(LIMITS, limits):
        setattr(module, name, limit)
    for op in REGISTRY.values():
        op.fast.clear()  # kernels that were chosen by other limits
