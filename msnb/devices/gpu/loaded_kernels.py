"""Generated kernels as loaded functions, by name: equal kernels are one function, in whatever program they stand.

GpuKernel --LLVM--> PTX (kept on disk) --driver--> machine code      new kernels of a program are one module
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from msnb.base.compile_timing import timed
from msnb.base.threads import worker_threads
from msnb.devices.gpu.codegen.gpu_kernel import GpuKernel, module_text
from msnb.devices.gpu.faults import FaultLog
from msnb.devices.llvm.nvptx import ptx_of

Function = Callable[..., Any]
PARALLEL = 8
MAX_DYNAMIC_SHARED_SIZE = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES of cuda.h."""


class KernelCache:
    """Functions of one GPU.

    Args:
        xp: the array module; one that brings ``load_kernels(text)`` runs the LLVM text itself (as tests do).
        chip: the GPU, as ``sm_90``.
        faults: where kernels tell of wrong indices.
    """

    def __init__(self, xp: Any, chip: str, faults: FaultLog | None = None) -> None:
        self.xp: Any = xp
        self.chip: str = chip
        self.faults: FaultLog = FaultLog(xp) if faults is None else faults
        self._functions: dict[str, Function] = {}
        self.made: dict[str, GpuKernel] = {}
        self._lock = threading.RLock()

    def load(self, kernels: Iterable[GpuKernel]) -> None:
        """Make the functions that are not there yet."""
        with self._lock:
            missing = {k.launches[0].function: k for k in kernels if k.launches[0].function not in self._functions}
            if missing:
                self._load(list(missing.values()))

    @timed("GPU kernels compiled, loaded")
    def _load(self, kernels: list[GpuKernel]) -> None:
        """A few kernels a module: the driver makes machine code of several modules at a time."""
        groups = [kernels[k::PARALLEL] for k in range(min(PARALLEL, len(kernels)))]
        if len(groups) > 1 and not hasattr(self.xp, "load_kernels"):
            device = self.xp.cuda.Device().id
            modules = worker_threads.run_all([partial(self._on_device, device, g) for g in groups], "msnb GPU kernels")
        else:
            modules = [self._module(module_text(group)) for group in groups]
        for group, module in zip(groups, modules):
            for kernel in group:
                self.made[kernel.launches[0].function] = kernel
                for launch in kernel.launches:
                    function = self._functions[launch.function] = module.get_function(launch.function)
                    if launch.shared_bytes:
                        self._allow(function, launch.shared_bytes)

    def _allow(self, function: Any, shared_bytes: int) -> None:
        """Let launches of a function bring more shared memory than 48 KiB."""
        if hasattr(self.xp, "load_kernels"):
            function.max_dynamic_shared_size_bytes = shared_bytes
        else:
            self.xp.cuda.driver.funcSetAttribute(function.ptr, MAX_DYNAMIC_SHARED_SIZE, shared_bytes)

    def _on_device(self, index: int, kernels: list[GpuKernel]) -> Any:
        """A module, made by another thread, which has no device of its own yet."""
        self.xp.cuda.Device(index).use()
        return self._module(module_text(kernels))

    def _module(self, text: str) -> Any:
        own = getattr(self.xp, "load_kernels", None)
        if own is not None:
            return own(text)
        module = self.xp.cuda.function.Module()
        module.load(ptx_of(text, self.chip))
        return module

    def function(self, name: str) -> Function:
        """A loaded function."""
        return self._functions[name]
