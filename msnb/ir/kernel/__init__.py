"""One fused group as loops: the kernel IR, iteration spaces, strided views."""

from msnb.ir.kernel.iteration_space import kind_of
from msnb.ir.kernel.kernel_ir import Access, Buffer, Inst, Kernel
from msnb.ir.kernel.scalar_expressions import UnsupportedKernel
from msnb.ir.kernel.strided_views import View, dense_strides

__all__ = ["Access", "Buffer", "Inst", "Kernel", "UnsupportedKernel", "View", "dense_strides", "kind_of"]
