"""libdnnl, found and loaded once.

The wheel ``onednn-cpu-gomp`` puts three copies of the library next to the environment's ``lib``; two in one process
would be two sets of threads and caches. So the file list of the installed distribution says where they are, and the one
with the name that other programs link to (``libdnnl.so.3``) is loaded. Its threads are libgomp's, the same as those of
generated kernels; ``threads.pointers`` loads that library first, with the policy for waiting threads.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import importlib.util
import os
import platform
import sys
from typing import Any

from msnb.base.events import notice
from msnb.devices.cpu import thread_pool

PACKAGE = "onednn-cpu-gomp"
_OLDEST = (3, 2)
_OMP = 2


class _Version(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
        ("patch", ctypes.c_int),
        ("hash", ctypes.c_char_p),
        ("cpu_runtime", ctypes.c_uint),
        ("gpu_runtime", ctypes.c_uint),
    )


class Libraries:
    """The two loaded libraries: oneDNN and libgomp."""

    def __init__(self, dnnl: Any, gomp: Any) -> None:
        self.dnnl: Any = dnnl
        self.gomp: Any = gomp


@functools.lru_cache(maxsize=1)
def load() -> Libraries | None:
    """oneDNN and its threads, or None where they cannot be used; the reason is told once."""
    try:
        return _load()
    except _Missing as reason:
        notice(f"convolutions and matrix products run without oneDNN: {reason}.", key="onednn")
        return None


class _Missing(Exception):
    """Why there is no oneDNN here."""


def _load() -> Libraries:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise _Missing(f"its wheel exists for Linux on x86-64, this is {sys.platform} on {platform.machine()}")
    if thread_pool.pointers()[0] is None:
        raise _Missing("it needs the system library libgomp.so.1 (package libgomp1)")
    if importlib.util.find_spec("llvmlite") is None:
        raise _Missing("its functions are called from generated code, and llvmlite is not installed")
    path = _path()
    try:
        found = ctypes.CDLL(path)
    except OSError as error:
        raise _Missing(f"{path} cannot be loaded ({error})") from None
    _check_version(found)
    return Libraries(found, ctypes.CDLL("libgomp.so.1"))


def _path() -> str:
    try:
        files = importlib.metadata.distribution(PACKAGE).files or []
    except importlib.metadata.PackageNotFoundError:
        raise _Missing(f"{PACKAGE} is not installed (pip install {PACKAGE})") from None
    for name in ("libdnnl.so.3", "libdnnl.so"):
        for file in files:
            path = os.path.realpath(str(file.locate()))
            if file.name == name and os.path.exists(path):
                return path
    raise _Missing(f"the installed {PACKAGE} holds no libdnnl.so.3 (pip install --force-reinstall {PACKAGE})")


def _check_version(library: Any) -> None:
    library.dnnl_version.restype = ctypes.POINTER(_Version)
    v = library.dnnl_version().contents
    if v.major != _OLDEST[0] or (v.major, v.minor) < _OLDEST:
        raise _Missing(f"version {v.major}.{v.minor} was found, 3.2 or a later 3.x is needed")
    if v.cpu_runtime != _OMP:
        raise _Missing("the installed build does not use OpenMP for its threads")
