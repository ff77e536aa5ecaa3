"""NVIDIA's shared libraries, found and loaded once.

A library may be in the process already (CuPy or PyTorch brought it), where the loader looks, in the pip wheels of
NVIDIA (``site-packages/nvidia/*/lib``), or in the folder of a CUDA toolkit. They are tried in that order: two copies of
one library in a process would be two sets of handles and caches. Nothing is loaded before somebody asks.

    LIBRARIES["cublasLt"]   ->   libcublasLt.so.13, else .12   ->   ctypes.CDLL, or None and a reason
"""

from __future__ import annotations

import ctypes
import functools
import glob
import importlib.util
import os
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

LIBRARIES: dict[str, tuple[str, ...]] = {
    "cublasLt": ("libcublasLt.so.13", "libcublasLt.so.12"),
    "cudnn": ("libcudnn.so.9",),
}
_PACKAGES = {"cublasLt": "nvidia-cublas", "cudnn": "nvidia-cudnn-cu13"}
_SYSTEM = (
    "/usr/local/cuda*/lib64",
    "/usr/local/cuda*/targets/*-linux/lib",
    "/usr/lib/*-linux-gnu",
    "/usr/lib64",
)


class LoadedLibrary(NamedTuple):
    """What came of a search.

    Attributes:
        library: the library, or None.
        reason: why there is none; "" where there is one.
    """

    library: Any
    reason: str = ""


@functools.cache
def load(name: str) -> LoadedLibrary:
    """A library of ``LIBRARIES``, loaded.

    Args:
        name: "cublasLt" or "cudnn".

    Returns:
        The library, or None with the reason.
    """
    if sys.platform != "linux":
        return LoadedLibrary(None, f"lib{name} is looked for on Linux only, this is {sys.platform}")
    failures: list[str] = []
    for library in _attempts(LIBRARIES[name], failures):
        return LoadedLibrary(library)
    told = f" ({'; '.join(failures)})" if failures else ""
    wanted = " or ".join(LIBRARIES[name])
    return LoadedLibrary(None, f"{wanted} was not found{told}; `pip install {_PACKAGES[name]}` brings it")


def _attempts(sonames: tuple[str, ...], failures: list[str]) -> Iterator[Any]:
    for soname in sonames:
        yield from _opened(soname, os.RTLD_NOW | os.RTLD_NOLOAD)
    for soname in sonames:
        yield from _opened(soname, os.RTLD_NOW)
    for soname in sonames:
        for path in candidates(soname):
            yield from _opened(path, os.RTLD_NOW, failures)


def _opened(name: str, mode: int, failures: list[str] | None = None) -> Iterator[Any]:
    try:
        yield ctypes.CDLL(name, mode=mode)
    except OSError as error:
        if failures is not None:
            failures.append(f"{name} cannot be loaded: {error}")


def candidates(soname: str) -> list[str]:
    """The files of this name in the wheels and toolkits of this machine, best first."""
    return [path for folder in folders() if os.path.exists(path := os.path.join(folder, soname))]


@functools.cache
def folders() -> tuple[str, ...]:
    """Where NVIDIA's libraries may be, best first."""
    patterns = [os.path.join(place, "*", "lib") for place in _wheels()]
    toolkit = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    if toolkit:
        patterns += [os.path.join(glob.escape(toolkit), part) for part in ("lib64", "targets/*-linux/lib")]
    patterns += [os.path.join(glob.escape(sys.prefix), "lib"), *_SYSTEM]
    # a later toolkit first
    return tuple(dict.fromkeys(path for pattern in patterns for path in sorted(glob.glob(pattern), reverse=True)))


def _wheels() -> list[str]:
    """The folders of the namespace package ``nvidia``, which all wheels share."""
    spec = importlib.util.find_spec("nvidia")
    places = None if spec is None else spec.submodule_search_locations
    return [glob.escape(place) for place in places or ()]
