"""llvmlite: text to machine code, for the CPU at hand, through the cache on disk. The only file that imports it.

A Library keeps its engine alive, so that the functions it gave out stay valid as long as someone holds it. Modules hold
no absolute address; ``msnb_parallel`` and ``msnb_thread`` are variables set after loading.
"""

from __future__ import annotations

import ctypes
import functools
import threading
import weakref
from dataclasses import dataclass
from typing import Any

from msnb.base import DeviceError, MsnbError, OutOfMemoryError, disk_cache
from msnb.base.compile_timing import counted, timed
from msnb.base.threads import fork_locks
from msnb.devices.cpu import thread_pool
from msnb.devices.cpu.llvm.target import Target
from msnb.devices.cpu.native_kernel import Relocation


def not_loaded(error: OSError) -> MsnbError:
    """llvmlite says that its library cannot be found whatever happened; the system's own word stands behind it."""
    reason = str(error.__context__ or error)
    if any(word in reason for word in ("allocate memory", "map segment", "mmap")):
        return OutOfMemoryError(
            f"the compiler (llvmlite) could not be loaded: there is too little memory for its library ({reason}).",
            hint="raise the memory limit of the process (ulimit -v) to 0.5 GB or more, or use "
            'set_context(jit_level="O0"), which needs no compiler.',
        )
    return DeviceError(
        f"the compiler (llvmlite) could not be loaded: {reason}",
        hint='reinstall llvmlite, or use set_context(jit_level="O0"), which needs no compiler.',
    )


try:
    import llvmlite
    import llvmlite.binding as llvm
except OSError as _error:
    raise not_loaded(_error) from None

VERSION = "5"
_lock = fork_locks.settled(threading.RLock(), rank=1)
_loaded: weakref.WeakValueDictionary[str, Library] = weakref.WeakValueDictionary()
_inside: Any = getattr(getattr(getattr(llvm, "ffi", None), "lib", None), "_lock", None)
if hasattr(getattr(_inside, "_lock", None), "_at_fork_reinit"):
    fork_locks.settled(_inside._lock, rank=3)  # llvmlite's own: a child must not find LLVM half-way


@dataclass(frozen=True)
class Host:
    """The CPU: its name, features and triple."""

    name: str
    features: str
    triple: str
    target: Target
    half: bool


@functools.lru_cache(maxsize=1)
def host() -> Host:
    """The CPU at hand; LLVM is made ready."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    triple = llvm.get_process_triple()
    half = bool(features.get("f16c")) or triple.startswith(("aarch64", "arm64"))
    wide = bool(features.get("avx512f") and features.get("avx512vl") and features.get("avx512bw"))
    target = Target(16 if wide else 8 if features.get("avx2") else 4, wide, wide)
    return Host(llvm.get_host_cpu_name(), features.flatten(), triple, target, half)


def attributes() -> str:
    """Attributes of every function."""
    return 'nounwind "prefer-vector-width"="512"' if host().target.masks else "nounwind"


def _machine() -> Any:
    """The compiler. Its code's parts may lie anywhere: in the small model LLVM ends the process where it finds no room
    for them within 2 GB of one another. That costs nothing: steps of lenet, pinn and rnn are within 1 % of the small
    model's, as two builds of one model are; compiling took 0.95 to 1.01 times as long (these, resnet18, transformer).
    """
    h = host()
    target = llvm.Target.from_triple(h.triple)
    return target.create_target_machine(
        cpu=h.name, features=h.features, opt=2, reloc="static", codemodel="large", jit=True
    )


def toolchain() -> tuple[str, ...]:
    """What decides, besides its text, what the machine code of a module is."""
    h = host()
    return VERSION, llvmlite.__version__, str(llvm.llvm_version_info), h.name, h.features, h.triple


def machine_code(text: str, key: str) -> bytes:
    """Object code of a module, from the cache or compiled now."""
    found = disk_cache.read(key)
    if found is None:
        found = _compiled(text)
        disk_cache.write(key, found)
    else:
        counted("modules from the disk cache")
    return found


@timed("machine code")
def _compiled(text: str) -> bytes:
    machine, module = _tidied(text)
    code: bytes = machine.emit_object(module)
    return code


def assembly_of(text: str) -> str:
    """What the machine code of a module looks like (for people)."""
    host()
    machine, module = _tidied(text)
    return str(machine.emit_assembly(module))


def _tidied(text: str) -> tuple[Any, Any]:
    """The machine, and the module as it is compiled for it."""
    machine = _machine()
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = host().triple, str(machine.target_data)
    module.verify()
    # loops are written as vectors already; what is left to do is to tidy up
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    passes = llvm.create_new_module_pass_manager()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)
    return machine, module


class Library:
    """Loaded machine code.

    Args:
        text: a module in LLVM IR.

    Attributes:
        key: the name of its code in the cache.
    """

    def __init__(self, text: str) -> None:
        self.key: str = disk_cache.key_of(*toolchain(), text)
        with _lock:
            self._load(machine_code(text, self.key))

    @classmethod
    def kept(cls, key: str) -> Library:
        """The library of this key, loaded already or from the cache.

        Raises:
            LookupError: the cache does not have it.
        """
        with _lock:
            found = _loaded.get(key)
            if found is None:
                code = disk_cache.read(key)
                if code is None:
                    raise LookupError(f"no machine code {key}")
                counted("modules from the disk cache")
                host()
                found = cls.__new__(cls)
                found.key = key
                found._load(code)
            return found

    def _load(self, code: bytes) -> None:
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        for name, value in zip(("msnb_parallel", "msnb_thread"), thread_pool.pointers()):
            where = self._engine.get_function_address(name)
            if where:
                ctypes.c_void_p.from_address(where).value = value
        _loaded[self.key] = self

    def address(self, name: str) -> int:
        """The address of a function; valid as long as this object lives."""
        return int(self._engine.get_function_address(name))


class Symbol(Relocation):
    """The address of a function of a library."""

    def __init__(self, library: Library, name: str) -> None:
        self.library: Library = library
        self.name: str = name

    def words(self) -> tuple[int]:
        """One word."""
        return (self.library.address(self.name),)

    def data(self) -> tuple[str, str, str]:
        """The library's key and the function's name."""
        return "code", self.library.key, self.name
