"""LLVM's NVPTX target: a module of kernels as PTX, the assembly that NVIDIA's driver takes. It needs no GPU.

    text, chip "sm_90"  ->  LLVM  ->  PTX text, kept on disk by its content  ->  the driver makes machine code of it

Source: https://llvm.org/docs/NVPTXUsage.html
"""

from __future__ import annotations

import functools
from typing import Any

from msnb.base import disk_cache, timed

VERSION = "1"
TRIPLE = "nvptx64-nvidia-cuda"
OLDEST, PTX_VERSION = 70, {70: "ptx70", 75: "ptx70", 80: "ptx70", 86: "ptx71", 89: "ptx78", 90: "ptx78", 100: "ptx86"}


def ptx_version(chip: str) -> str:
    """The oldest version of PTX that knows a chip such as ``sm_90``: the older, the more drivers take it."""
    number = int("".join(c for c in chip if c.isdigit()))
    return PTX_VERSION[max((n for n in PTX_VERSION if n <= number), default=OLDEST)]


@functools.lru_cache(maxsize=8)
def _machine(chip: str) -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLE)
    return target.create_target_machine(cpu=chip, features=f"+{ptx_version(chip)}", opt=3)


def ptx_of(text: str, chip: str) -> bytes:
    """The PTX of a module.

    Args:
        text: LLVM IR whose kernels are ``ptx_kernel`` functions, without a triple.
        chip: the GPU, as ``sm_90``.

    Returns:
        PTX text, from the cache on disk or compiled now.

    Raises:
        RuntimeError: LLVM does not take the text.
    """
    import llvmlite

    key = disk_cache.key_of(VERSION, llvmlite.__version__, chip, text)
    found = disk_cache.read(key)
    if found is None:
        found = _compiled(text, chip)
        disk_cache.write(key, found)
    return found


@timed("PTX")
def _compiled(text: str, chip: str) -> bytes:
    import llvmlite.binding as llvm

    machine = _machine(chip)
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = TRIPLE, str(machine.target_data)
    module.verify()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    passes = llvm.create_new_module_pass_manager()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)
    code: str = machine.emit_assembly(module)
    return code.encode()
