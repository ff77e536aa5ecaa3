"""The GPU's code generator: kernel IR to LLVM IR in which every thread has its own points."""

from msnb.devices.gpu.codegen.gpu_kernel import GpuKernel
from msnb.devices.gpu.codegen.gpu_target import NEWEST, GpuTarget
from msnb.devices.gpu.codegen.thread_emitter import WARP

__all__ = ["GpuKernel", "GpuTarget", "NEWEST", "WARP"]
