"""The GPU's code generator: kernel IR to LLVM IR in which every thread has its own points."""

from msnb.devices.gpu.codegen.gpu_kernel import FAULT, TAG, GpuKernel, Launch, symbol_of
from msnb.devices.gpu.codegen.gpu_target import NEWEST, GpuTarget
from msnb.devices.gpu.codegen.kernel_generator import generate
from msnb.devices.gpu.codegen.thread_emitter import WARP, ThreadEmitter

__all__ = [
    "FAULT", "GpuKernel", "GpuTarget", "Launch", "NEWEST", "TAG", "ThreadEmitter", "WARP", "generate", "symbol_of",
]  # fmt: skip
