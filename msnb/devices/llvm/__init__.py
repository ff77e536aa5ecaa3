"""LLVM IR as text, for every target: emitter, scalar operations, elementary functions, loops."""

from msnb.devices.llvm.emitter import Emitter, literal, memory_name, real, type_name
from msnb.devices.llvm.loop_builder import LoopBuilder, module, shared, units
from msnb.devices.llvm.math_functions import Maths
from msnb.devices.llvm.scalar_ops import across, combine, compare, emit, identity, is_scalar

__all__ = [
    "Emitter", "LoopBuilder", "Maths", "across", "combine", "compare", "emit", "identity", "is_scalar", "literal",
    "memory_name", "module", "real", "shared", "type_name", "units",
]  # fmt: skip
