"""The measured programs' kernels as NVIDIA's assembler sees them: they fit into registers, on three kinds of GPUs.

ptxas is looked for on the PATH, beside CUDA, and in the wheel nvidia-cuda-nvcc-cu12.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from benchmark_programs import PROGRAMS
from gpu_programs import device

import msnb as ms
from msnb.devices.gpu.codegen.gpu_kernel import GpuKernel, module_text
from msnb.devices.gpu.codegen.gpu_target import target_of
from msnb.devices.gpu.device import GPU
from msnb.devices.gpu.program.multi_tensor_step import ChainStep
from msnb.devices.gpu.program.steps import KernelStep
from msnb.devices.llvm.nvptx import ptx_of
from msnb.ir.graph import Graph

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.slow

SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


@functools.lru_cache(maxsize=1)
def assembler() -> str | None:
    """Where ptxas is."""
    found = shutil.which("ptxas")
    places = [Path(p) / "bin/ptxas" for p in sorted(Path("/usr/local").glob("cuda*"), reverse=True)]
    if importlib.util.find_spec("nvidia") is not None:
        wheel = importlib.util.find_spec("nvidia.cuda_nvcc")
        places += [Path(p) / "bin/ptxas" for p in (wheel.submodule_search_locations or () if wheel else ())]
    return found or next((str(p) for p in places if p.exists()), None)


def kernels(graph: Graph, chip: str, monkeypatch: pytest.MonkeyPatch) -> list[GpuKernel]:
    """The kernels of a program, as they are made for a chip."""
    monkeypatch.setattr(GPU, "target", property(lambda self: target_of(chip)))
    with ms.set_context(jit_level="O1"):
        program: Any = device().compile(graph)
    assert program.built is not None, program.reason
    return [s.kernel for s in program.built.steps if isinstance(s, (ChainStep, KernelStep))]


@pytest.mark.parametrize("chip", ["sm_75", "sm_80", "sm_90"])
def test_nothing_is_spilled(chip: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ptxas = assembler()
    if ptxas is None:
        pytest.skip("there is no ptxas here")
    made: dict[str, GpuKernel] = {}
    for name, make in PROGRAMS.items():
        for rows, columns in ((4096, 1024), (513, 1001))[: 2 if chip == "sm_90" else 1]:
            found = kernels(make(rows, columns)[0], chip, monkeypatch)
            assert found, f"{name} has no kernel"
            made |= {k.launches[0].function: k for k in found}
    (tmp_path / "kernels.ptx").write_bytes(ptx_of(module_text(made.values()), chip))
    command = [ptxas, "-v", f"-arch={chip}", "kernels.ptx", "-o", "kernels.cubin"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    spills = SPILLS.findall(told.stderr + told.stdout)
    assert len(spills) >= sum(len(k.launches) for k in made.values()), told.stderr
    assert all(stores == loads == "0" for _, stores, loads in spills), told.stderr
