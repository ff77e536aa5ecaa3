"""What NVIDIA's assembler makes of PTX: registers, spills, shared memory, and instructions. It needs no GPU.

``ptxas`` is looked for where the shell would find it, in a CUDA toolkit, and in the wheel ``nvidia-cuda-nvcc-cu12``;
``cuobjdump``, which lists machine code, stands beside it in toolkits.
"""

from __future__ import annotations

import collections
import functools
import glob
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field

SECONDS = 60
_FUNCTION = re.compile(r"Compiling entry function '([^']+)'")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d+\s+)?([A-Z][A-Z0-9_]*)")


@dataclass
class MachineFacts:
    """What one kernel needs.

    Attributes:
        name: of the function.
        registers: of a thread; spilled: bytes of them that lie in memory; shared: bytes of a block.
        instructions: machine instructions by kind, the commonest first; empty without ``cuobjdump``.
    """

    name: str
    registers: int = 0
    spilled: int = 0
    shared: int = 0
    instructions: dict[str, int] = field(default_factory=dict)


@functools.cache
def program(name: str) -> str | None:
    """The path of a program of the CUDA toolkit, or None."""
    found = shutil.which(name)
    return found or next(
        (p for folder in _folders() for p in [os.path.join(folder, name)] if os.access(p, os.X_OK)), None
    )


def _folders() -> list[str]:
    named = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    folders = [os.path.join(named, "bin")] if named else []
    folders += sorted(glob.glob("/usr/local/cuda*/bin"), reverse=True)
    spec = importlib.util.find_spec("nvidia")
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    return folders + [path for place in places for path in glob.glob(os.path.join(glob.escape(place), "*", "bin"))]


def missing() -> str:
    """Why nothing can be told; "" where the assembler is there."""
    return "" if program("ptxas") else "ptxas was not found; `pip install nvidia-cuda-nvcc-cu12` brings it"


@functools.lru_cache(maxsize=256)
def assembled(ptx: str, chip: str) -> tuple[MachineFacts, ...]:
    """The facts of every kernel of a module.

    Args:
        ptx: the module's text; chip: such as ``sm_90``.

    Returns:
        Nothing where ``ptxas`` is missing or does not take the text.
    """
    ptxas = program("ptxas")
    if ptxas is None:
        return ()
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "k.ptx"), os.path.join(folder, "k.cubin")
        with open(source, "w", encoding="utf-8") as file:
            file.write(ptx)
        told = _run([ptxas, f"-arch={chip}", "-v", source, "-o", target])
        if told is None:
            return ()
        found = facts_of(told)
        for one in found:
            one.instructions = _instructions(target, one.name)
    return tuple(found)


def _run(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout + done.stderr if done.returncode == 0 else None


def facts_of(told: str) -> list[MachineFacts]:
    """What ``ptxas -v`` says, kernel by kernel."""
    found: list[MachineFacts] = []
    for line in told.splitlines():
        begins = _FUNCTION.search(line)
        if begins:
            found.append(MachineFacts(begins[1]))
        if not found:
            continue
        spills, used, shared = _SPILLS.search(line), _USED.search(line), _SHARED.search(line)
        if spills:
            found[-1].spilled = int(spills[2]) + int(spills[3])
        if used:
            found[-1].registers = int(used[1])
        if shared:
            found[-1].shared = int(shared[1])
    return found


def _instructions(cubin: str, function: str) -> dict[str, int]:
    dump = program("cuobjdump")
    told = _run([dump, "-sass", "-fun", function, cubin]) if dump else None
    return instructions_in(told or "")


def instructions_in(listing: str) -> dict[str, int]:
    """How often each instruction stands in a listing of machine code; ``NOP`` that fills up is left out."""
    names = [found[1] for line in listing.splitlines() if (found := _INSTRUCTION.match(line))]
    counts = collections.Counter(name for name in names if name != "NOP")
    return dict(counts.most_common())
