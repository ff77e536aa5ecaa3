"""What runs beside a kernel on the host: threads, barriers, shuffles, and the watch over memory (native_runtime.ll).

A launch is two loops, over blocks and over the threads of a block (``@simt.run``). A kernel without a barrier or a
shuffle is a plain function that is called thread by thread. Any other is a *coroutine* (LLVM's own): a thread runs
until it waits, and ``@simt.settle`` says whose waiting has an end: a barrier's when all threads of the block are there,
a shuffle's when all lanes of its mask are. Where nobody can go on, the block is stuck and Python says why.

Every access asks ``@simt.access`` first. It looks at the alignment, finds the buffer (``@simt.regions``, sorted), and
reads three records about each granule of memory (a granule is as small as the module's smallest access):

    writer, reader, atomic:    block + 1 (24 bits) | epoch (19) | many blocks (1) | thread (10) | another thread (10)

An *epoch* is the time between two barriers of a block. A record of another block, or of the same epoch and another
thread, is a race, for nothing orders the two; the order in which the host happens to run them does not matter. A
barrier of a warp orders its threads: a fourth word numbers them, 16 bits a record. Shuffles order nothing. Records
lie in pages that Python makes when they are first touched (``@simt.grow``). A wrong access is led to a sink, so that
the host survives, and the first fault ends the launch.

It is compiled once per process and knows one launch at a time. llvmlite is imported here only.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.base import DeviceError

BLOCK_THREADS = 1024
PAGE_GRANULES = 1 << 12
TABLE_PAGES = 1 << 14
RECORD_WORDS = 4

LOAD, STORE, ATOMIC = 0, 1, 2
READY, AT_BARRIER, AT_SHUFFLE, AT_WARP_BARRIER, ENDED = range(5)
MODES = ("bfly", "down", "up", "idx")
WRITABLE, SHARED = 1, 2
CROOKED, OUTSIDE, READ_ONLY, RACE, BLOCK_RACE, UNWRITTEN, STUCK, NO_LANE, NO_ROOM = range(1, 10)

_CALLED = ("access", "wait", "got", "end")
_HALVES = ("__truncsfbf2", "__truncdfbf2", "__truncdfhf2")
_Grow = ctypes.CFUNCTYPE(ctypes.c_void_p)
_Run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32)


@functools.lru_cache(maxsize=1)
def compiler() -> Any:
    """llvmlite, ready for the CPU at hand.

    Raises:
        RuntimeError: DeviceError: llvmlite is not installed.
    """
    try:
        found = importlib.import_module("llvmlite.binding")
    except (ImportError, OSError) as error:
        raise DeviceError(f"kernels of a GPU cannot be simulated: llvmlite does not load ({error}).") from None
    found.initialize_native_target()
    found.initialize_native_asmprinter()
    return found


def loaded(text: str) -> Any:
    """The engine that holds the machine code of a module for the host."""
    llvm = compiler()
    triple, features = llvm.get_process_triple(), llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=1, reloc="static", codemodel="large", jit=True
    )
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = triple, str(machine.target_data)
    module.verify()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


class NativeRuntime:
    """The runtime in this process.

    Attributes:
        lock: whoever launches holds it.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        text = Path(__file__).with_suffix(".ll").read_text(encoding="utf-8")
        self._engine = loaded(text)
        self._names = tuple(dict.fromkeys(_variables(text)))
        for name in (*self._names, *(f"simt.{n}" for n in _CALLED)):
            compiler().add_symbol(name, self._address(name))
        for name in _HALVES:
            compiler().add_symbol(name, self._engine.get_function_address(name))
        self._run = _Run(self._engine.get_function_address("simt.run"))
        self._pages: list[NDArray[np.uint64]] = []
        self._used = 0
        self._grow = _Grow(self._page)
        self.write("grow", ctypes.cast(self._grow, ctypes.c_void_p).value or 0, ctypes.c_uint64)
        self._table = self.words("pages", 2 * TABLE_PAGES)
        self.fault: NDArray[Any] = self.words("fault", 8)
        self.counts: NDArray[Any] = self.words("counts", 6)

    def _address(self, name: str) -> int:
        return int(self._engine.get_global_value_address(name) or self._engine.get_function_address(name))

    def write(self, name: str, value: int, kind: Any = ctypes.c_int32) -> None:
        """Set a variable of the runtime."""
        kind.from_address(self._address(f"simt.{name}")).value = value

    def words(self, name: str, count: int, kind: Any = np.int64) -> NDArray[Any]:
        """A table of the runtime as an array over the same memory."""
        size = count * np.dtype(kind).itemsize
        held = (ctypes.c_char * size).from_address(self._address(f"simt.{name}"))
        return np.frombuffer(held, kind)

    def threads(self, name: str) -> NDArray[np.int32]:
        """What each thread of the last block waits for: state, mask, mode, value, lane, clamp, site."""
        return self.words(name, BLOCK_THREADS, np.int32)

    def _page(self) -> int | None:
        if self._used > TABLE_PAGES * 3 // 4:
            return None
        if self._used == len(self._pages):
            self._pages.append(np.zeros(PAGE_GRANULES * RECORD_WORDS, np.uint64))
        else:
            self._pages[self._used][:] = 0
        self._used += 1
        return int(self._pages[self._used - 1].ctypes.data)

    def forget(self) -> None:
        """Begin a launch: nothing was touched, nothing is wrong."""
        if self._used:
            self._table[:] = 0
        del self._pages[128:]  # what a large launch needed is given back
        self._used = 0
        self.fault[:] = 0
        self.counts[:] = 0

    def run(self, start: int, args: int, waits: bool) -> None:
        """Walk through all blocks and threads, until the first fault."""
        self._run(start, args, waits)


def _variables(text: str) -> list[str]:
    return [line.split(" = ")[0][1:] for line in text.splitlines() if line.startswith("@simt.")]


@functools.lru_cache(maxsize=1)
def native_runtime() -> NativeRuntime:
    """The one of this process, compiled at the first call."""
    return NativeRuntime()
