"""The GPU's execution model (single instruction, multiple threads) on the CPU: kernels are tested without a GPU."""

from msnb.devices.gpu.simt.module_text import KernelFault
from msnb.devices.gpu.simt.simt_module import KernelStatistics, SimtModule

__all__ = ["KernelFault", "KernelStatistics", "SimtModule"]
