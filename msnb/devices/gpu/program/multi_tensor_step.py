"""Neighbouring steps that run one chain on tensors of their own become one launch (``codegen.chain_kernel``).

    update w1, update b1, update w2 ...     ->     one step with a table of all their operands

Steps may change places only if none of them reads or writes what another one writes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import numpy as np

from msnb.devices.gpu.codegen import GpuKernel, GpuTarget, symbol_of
from msnb.devices.gpu.codegen.multi_tensor_kernel import ChainKernel, chain_of
from msnb.devices.gpu.loaded_kernels import KernelCache
from msnb.devices.gpu.program.buffers import DeviceBuffer, Environment
from msnb.devices.gpu.program.steps import DeviceStep, KernelStep
from msnb.ir.kernel.kernel_ir import Kernel

KEPT = 16


class ChainStep(DeviceStep):
    """One launch for many steps.

    Args:
        members: the steps.
        made, elements: the kernel, and how many elements a block of it has.
        cache: of the GPU.
    """

    def __init__(self, members: list[KernelStep], made: GpuKernel, elements: int, cache: KernelCache) -> None:
        reads = [p for m in members for p in m.places[0]]
        writes = [p for m in members for p in m.places[1]]
        super().__init__(members[0].node, reads, writes)
        self.kernel: GpuKernel = made
        self.cache: KernelCache = cache
        self.members: list[KernelStep] = members
        self.inplace = [pair for m in members for pair in m.inplace]
        self.extents: list[int] = [m.kernel.kernel.sizes[0] for m in members]
        blocks = [(k, start) for k, n in enumerate(self.extents) for start in range(0, n, elements)]
        self._blocks = np.array(blocks, np.int64)
        self._on_device: Any = None
        self._tables: OrderedDict[tuple[int, ...], Any] = OrderedDict()

    @property
    def how(self) -> str:
        """The name of the function, and for how many."""
        return f"generated kernel {self.kernel.launches[0].function} on {len(self.members)} sets of tensors"

    def replace(self, old: DeviceBuffer, new: DeviceBuffer) -> None:
        """Read and write another buffer in the place of one, in the members that have it."""
        super().replace(old, new)
        for member in self.members:
            if old in member.reads or old in member.writes:
                member.replace(old, new)

    def prepare(self, env: Environment) -> Any:
        """The table for these addresses into device memory."""
        return self._table(env)

    def _table(self, env: Environment) -> Any:
        rows = [
            [*(env.address(p) for p in (*m.places[0], *m.places[1])), n] for m, n in zip(self.members, self.extents)
        ]
        key = tuple(a for row in rows for a in row)
        if key not in self._tables:
            if self._on_device is None:
                self._on_device = env.xp.asarray(self._blocks)
            self._tables[key] = env.xp.asarray(np.array(rows, np.int64))
            while len(self._tables) > KEPT:
                self._tables.popitem(last=False)
        self._tables.move_to_end(key)
        return self._tables[key]

    def run(self, env: Environment) -> None:
        """Launch."""
        table, launch = self._table(env), self.kernel.launches[0]
        function = self.cache.function(launch.function)
        addresses = (table.data.ptr, self._on_device.data.ptr)
        function((len(self._blocks), 1, 1), launch.block, addresses, stream=env.stream)


def joined(steps: Iterable[DeviceStep], cache: KernelCache, target: GpuTarget) -> list[DeviceStep]:
    """The steps, neighbours of one chain as one."""
    found: list[DeviceStep] = []
    run: list[KernelStep] = []
    for step in steps:
        chain = _chain(step)
        if chain is None or _meets(step, run):
            found += _flushed(run, cache, target)
            run = []
        if chain is None:
            found.append(step)
        else:
            assert isinstance(step, KernelStep)
            run.append(step)
    return [*found, *_flushed(run, cache, target)]


def _chain(step: DeviceStep) -> Kernel | None:
    if not isinstance(step, KernelStep) or len(step.kernel.launches) != 1 or step.temps:
        return None
    return chain_of(step.kernel.kernel)


def _meets(step: DeviceStep, run: list[KernelStep]) -> bool:
    """Whether a step reads or writes what one of the run writes, or writes what one reads."""
    reads, writes = set(map(id, step.reads)), set(map(id, step.writes))
    return any(
        not writes.isdisjoint(map(id, (*other.reads, *other.writes))) or not reads.isdisjoint(map(id, other.writes))
        for other in run
    )


def _flushed(run: list[KernelStep], cache: KernelCache, target: GpuTarget) -> list[DeviceStep]:
    groups: dict[str, list[KernelStep]] = {}
    for step in run:
        chain = _chain(step)
        assert chain is not None
        groups.setdefault(symbol_of(chain, target), []).append(step)
    found: list[DeviceStep] = []
    for members in groups.values():
        if len(members) == 1:
            found += members
            continue
        chain = _chain(members[0])
        assert chain is not None
        code = ChainKernel(chain, target)
        found.append(ChainStep(members, code.made(), code.elements, cache))
    return found
