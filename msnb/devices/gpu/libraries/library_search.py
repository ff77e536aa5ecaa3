"""NVIDIA's shared libraries, found and loaded once.

A library may be in the process already (CuPy or PyTorch brought it), in the pip wheels of NVIDIA
(``site-packages/nvidia/*/lib``), where the loader looks, or in the folder of a CUDA toolkit. They are tried in that
order, CuPy's and PyTorch's own: whoever comes second finds the first one's copy, and PyTorch refuses a cuDNN that is
older than the one in its wheels. Nothing is loaded before somebody asks.

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
_PACKAGES = {"cublasLt": "nvidia-cublas-cu12", "cudnn": "nvidia-cudnn-cu12"}
_SYSTEM = ("/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*-linux/lib", "/usr/lib/*-linux-gnu", "/usr/lib64")


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
    yield from _files(sonames, wheel_folders(), failures)
    for soname in sonames:
        yield from _opened(soname, os.RTLD_NOW)
    yield from _files(sonames, toolkit_folders(), failures)


def _files(sonames: tuple[str, ...], folders: tuple[str, ...], failures: list[str]) -> Iterator[Any]:
    for soname in sonames:
        for folder in folders:
            path = os.path.join(folder, soname)
            if os.path.exists(path):
                yield from _opened(path, os.RTLD_NOW, failures)


def _opened(name: str, mode: int, failures: list[str] | None = None) -> Iterator[Any]:
    try:
        yield ctypes.CDLL(name, mode=mode)
    except OSError as error:
        if failures is not None:
            failures.append(f"{name} cannot be loaded: {error}")


@functools.cache
def wheel_folders() -> tuple[str, ...]:
    """Where pip puts NVIDIA's libraries: all wheels share the namespace package ``nvidia``."""
    spec = importlib.util.find_spec("nvidia")
    places = None if spec is None else spec.submodule_search_locations
    return _existing([os.path.join(glob.escape(place), "*", "lib") for place in places or ()])


@functools.cache
def toolkit_folders() -> tuple[str, ...]:
    """Where CUDA toolkits and systems put them."""
    named = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    toolkit = [os.path.join(glob.escape(named), part) for part in ("lib64", "targets/*-linux/lib")] if named else []
    return _existing([*toolkit, os.path.join(glob.escape(sys.prefix), "lib"), *_SYSTEM])


def _existing(patterns: list[str]) -> tuple[str, ...]:
    """Folders of these names, the later version first."""
    return tuple(dict.fromkeys(path for pattern in patterns for path in sorted(glob.glob(pattern), reverse=True)))
