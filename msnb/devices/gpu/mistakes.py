"""What goes wrong with a GPU, in one sentence each, with the way out; the same in both modes.

    before it is there      no CuPy, a library that does not load, no driver, an old driver, no GPU, an old chip
    memory                  who wanted how much, what is free, the largest tensors held; the pool is emptied
    while it runs           code that the chip or the driver cannot run, an address that is not there

CuPy raises classes of its own; they are told by their names, for nothing here imports CuPy.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from typing import Any

from msnb.base import DeviceError, MsnbError, OutOfMemoryError
from msnb.base.free_memory import size
from msnb.core.tensor import Tensor, holds_data

WAY_OUT = (
    'it needs an NVIDIA GPU with its driver and `pip install msnb[gpu]`; device_target="CPU" runs the same program.'
)
OLDEST = 70
_LARGEST = 5
_STATUS = ("CUDARuntimeError", "CUDADriverError", "CublasLtError", "CudnnError")
_BEFORE: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("libcuda.so", "nvcuda.dll"), "the driver of NVIDIA is not installed",
     "install the driver, `nvidia-smi` shows it; in a container, start that with --gpus all."),
    (("InsufficientDriver", "insufficient for CUDA"), "the driver is missing, or older than the CUDA of this CuPy",
     "update the driver, or install the CuPy for the CUDA that `nvidia-smi` shows (cupy-cuda12x, cupy-cuda13x)."),
    (("libnvrtc", "libcudart", "libcublas", "cudart64", "nvrtc64"), "CuPy was built for another CUDA than is installed",
     "install the CuPy for the CUDA that `nvidia-smi` shows (cupy-cuda12x, cupy-cuda13x), and one CuPy only."),
    (("NoDevice", "no CUDA-capable device"), "there is no NVIDIA GPU in this machine",
     "`nvidia-smi` lists what the driver sees; CUDA_VISIBLE_DEVICES may hide it."),
)  # fmt: skip
_RUNNING: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("NoKernelImageForDevice", "NO_BINARY_FOR_GPU", "InvalidDeviceFunction"),
     "the chip is older than the code that it was given",
     f"msnb compiles for sm_{OLDEST} and later; install a CuPy (or the plug-in) that was built for this GPU."),
    (("UnsupportedPtxVersion", "UNSUPPORTED_PTX_VERSION", "INVALID_PTX"), "the driver is older than the code",
     "update the driver of NVIDIA."),
    (("IllegalAddress", "ILLEGAL_ADDRESS", "MisalignedAddress", "MISALIGNED_ADDRESS", "LaunchFailure", "LAUNCH_FAILED"),
     "a kernel read or wrote at an address that is not its own, and CUDA lets this process use the GPU no more",
     "start Python again; kernels run behind the program, so set_context(pynative_synchronize=True) before the first "
     "operation, or CUDA_LAUNCH_BLOCKING=1, names the operation. Look at kernels of plug-ins first: msnb's own are "
     "checked when they are made."),
)  # fmt: skip


def unusable(error: Exception) -> DeviceError:
    """Why there is no GPU to work with."""
    text = str(error)
    for words, sentence, hint in _BEFORE:
        if any(word in text for word in words):
            return DeviceError(f"the GPU cannot be used: {sentence} ({text}).", hint=f"{hint} {_ELSE}")
    if isinstance(error, ModuleNotFoundError):
        return DeviceError("the GPU cannot be used: CuPy is not installed.", hint=WAY_OUT)
    if isinstance(error, ImportError):
        return DeviceError(f"the GPU cannot be used: CuPy does not load ({text}).", hint=WAY_OUT)
    return DeviceError(f"the GPU cannot be used: {text}.", hint=WAY_OUT)


_ELSE = 'device_target="CPU" runs the same program.'


def check_chip(name: str, chip: int) -> None:
    """Refuse a chip that no code is made for.

    Raises:
        RuntimeError: DeviceError: it is older than the oldest.
    """
    if chip < OLDEST:
        raise DeviceError(
            f"the GPU cannot be used: {name} (sm_{chip}) is older than the code that msnb makes, which is for "
            f"sm_{OLDEST} (Volta) and later.", hint=_ELSE,
        )  # fmt: skip


def failure(
    xp: Any, error: BaseException, who: str, count: int = 0, operands: Sequence[str] = (), plugin: bool = False
) -> MsnbError | None:
    """What an error of CuPy or of a library means; None for what is no mistake of this kind.

    Args:
        xp: the array module.
        error: what was raised.
        who: the operation or program.
        count: bytes of its results; operands: a line for each of them.
        plugin: the kernel is somebody else's.
    """
    if isinstance(error, MsnbError):
        return None
    if isinstance(error, MemoryError) or "MEMORY_ALLOC" in str(error) or "cudaErrorMemoryAllocation" in str(error):
        return no_room(xp, who, count, operands)
    if not any(kind.__name__ in _STATUS for kind in type(error).__mro__):
        return None
    text = str(error)
    whose = "the plug-in's kernel " if plugin else ""
    for words, sentence, hint in _RUNNING:
        if any(word in text for word in words):
            return DeviceError(f"{whose}{who}: {sentence} ({text}).", operands=operands, hint=hint)
    return DeviceError(f"{whose}{who}: the GPU refused or failed ({text}).", operands=operands, hint=_ELSE)


def no_room(xp: Any, who: str, count: int, operands: Sequence[str] = ()) -> OutOfMemoryError:
    """The memory of the GPU does not suffice: told with the largest tensors, and what nobody holds is given back."""
    held = largest(_on_device(xp))
    pool = xp.get_default_memory_pool()
    used = int(pool.used_bytes())
    pool.free_all_blocks()
    free, total = xp.cuda.runtime.memGetInfo()
    lines = [f"held: {line}" for line in held]
    wants = f"needs {size(count)} of memory" if count else "needs more memory"
    return OutOfMemoryError(
        f"{who} {wants}, and the GPU has {size(free)} free of {size(total)} ({size(used)} were held by arrays).",
        operands=[*operands, *lines],
        hint="let go of tensors (del x), use a smaller batch or a shorter dtype; the pool was emptied, so go on.",
    )


def largest(tensors: Iterable[tuple[str, int]]) -> list[str]:
    """The largest tensors, one line each."""
    ordered = sorted(tensors, key=lambda pair: -pair[1])
    return [f"{name}, {size(count)}" for name, count in ordered[:_LARGEST]]


def _on_device(xp: Any) -> Iterable[tuple[str, int]]:
    """Name and bytes of every tensor with memory on the GPU, each memory once."""
    seen: dict[int, tuple[str, int]] = {}
    for found in gc.get_objects():
        if isinstance(found, Tensor) and holds_data(found):
            buffer = found._data
            if isinstance(buffer, xp.ndarray):
                name = str(getattr(found, "name", "") or "")
                seen.setdefault(buffer.data.ptr, (f"{name + ': ' if name else ''}{found._type!r}", buffer.nbytes))
    return seen.values()
