"""Who gives recipes on this machine: products of few rows and the libraries first, then the code generator."""

from __future__ import annotations

import functools

from msnb.devices.cpu.kernels import half_product
from msnb.devices.cpu.native_kernel import JOINERS, PROVIDERS, NativeKernel, ViewOf
from msnb.devices.cpu.kernels.pooling import recipe as poolings
from msnb.devices.cpu.kernels.philox import recipe as draws
from msnb.devices.cpu.codegen.kernel_library import recipe as generated
from msnb.devices.cpu.kernels.gemm_fallback import recipe as products
from msnb.devices.cpu.kernels.gather_scatter import recipe as tables
from msnb.devices.cpu.kernels.indexed_access import recipe as accesses
from msnb.devices.cpu.kernels.lapack import recipe as factors
from msnb.devices.cpu.kernels.fourier.fourier_recipe import recipe as transforms
from msnb.devices.cpu.kernels.matvec import recipe as vectors
from msnb.devices.cpu.kernels.lines.line_provider import recipe as lines
from msnb.devices.cpu.kernels.sparse_rows import recipe as sparse_rows
from msnb.devices.cpu.onednn.provider import joint
from msnb.devices.cpu.onednn.provider import recipe as library
from msnb.ir.graph import Node


def halves(node: Node, view_of: ViewOf) -> NativeKernel | None:
    """Half precision around whatever runs the product in float32."""
    return half_product.recipe(node, view_of, library)


@functools.lru_cache(maxsize=1)
def enter() -> None:
    """Enter them into ``PROVIDERS`` and ``JOINERS``, once."""
    dense = (vectors, halves, library, products, poolings, generated, accesses, tables, draws, lines, factors)
    PROVIDERS.extend((*dense, sparse_rows, transforms))
    JOINERS.append(joint)
