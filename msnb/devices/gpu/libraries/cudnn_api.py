"""cuDNN's C interface, typed: the few functions that are used, its numbers, and errors as sentences.

Descriptors say how tensors and filters lie and how windows slide; a handle belongs to a device and is used by one
thread at a time. These are the functions that older versions had already: cuDNN 9 answers them with the engines of its
graph interface.

Numbers of enums are those of cudnn_graph.h, cudnn_ops.h and cudnn_cnn.h, the same in all versions 9.
Source: https://docs.nvidia.com/deeplearning/cudnn/backend/latest/api/cudnn-cnn-library.html
"""

from __future__ import annotations

import ctypes
import functools
import threading
from ctypes import POINTER, c_char_p, c_float, c_int, c_size_t, c_void_p
from typing import Any, NoReturn

from msnb.base import DeviceError
from msnb.devices.gpu.libraries.library_search import load

# cudnnDataType_t
DTYPES = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 9}
# cudnnTensorFormat_t
FORMATS = {"NCHW": 0, "NHWC": 1}
# cudnnMathType_t
DEFAULT_MATH, TENSOR_OP_MATH, FMA_MATH = 0, 1, 3
CROSS_CORRELATION = 1
DETERMINISTIC = 1
NOT_SUPPORTED = 3000

_P, _I = c_void_p, c_int
# the operands of a convolution: alpha is before them; of a search: a descriptor and, where it measures, its address
_RUN = (_P, _P, _P, _P, _P, _P, _P, _I, _P, c_size_t, _P, _P, _P)
_PROPOSE = (_P, _P, _P, _P, _P, _I, POINTER(_I), _P)
_MEASURE = (_P, _P, _P, _P, _P, _P, _P, _P, _I, POINTER(_I), _P, _P, c_size_t)
_SIZE = (_P, _P, _P, _P, _P, _I, POINTER(c_size_t))
KINDS = {"forward": "Forward", "input_grad": "BackwardData", "weight_grad": "BackwardFilter"}
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "Create": (POINTER(_P),),
    "SetStream": (_P, _P),
    "CreateTensorDescriptor": (POINTER(_P),),
    "DestroyTensorDescriptor": (_P,),
    "SetTensor4dDescriptor": (_P, *[_I] * 6),
    "CreateFilterDescriptor": (POINTER(_P),),
    "DestroyFilterDescriptor": (_P,),
    "SetFilter4dDescriptor": (_P, *[_I] * 6),
    "CreateConvolutionDescriptor": (POINTER(_P),),
    "DestroyConvolutionDescriptor": (_P,),
    "SetConvolution2dDescriptor": (_P, *[_I] * 8),
    "SetConvolutionGroupCount": (_P, _I),
    "SetConvolutionMathType": (_P, _I),
    **{f"Convolution{kind}": _RUN for kind in KINDS.values()},
    **{f"GetConvolution{kind}Algorithm_v7": _PROPOSE for kind in KINDS.values()},
    **{f"FindConvolution{kind}AlgorithmEx": _MEASURE for kind in KINDS.values()},
    **{f"GetConvolution{kind}WorkspaceSize": _SIZE for kind in KINDS.values()},
}


class ConvolutionHeuristic(ctypes.Structure):
    """An algorithm that the library proposes or has measured (cudnnConvolution*AlgoPerf_t, the same for all three)."""

    _fields_ = (
        ("algorithm", c_int),
        ("status", c_int),
        ("milliseconds", c_float),
        ("workspace", c_size_t),
        ("determinism", c_int),
        ("math", c_int),
        ("reserved", c_int * 3),
    )


class CudnnError(DeviceError):
    """cuDNN refused or failed.

    Args:
        function: which function; text: the library's name of the status and what it adds; problem: what was asked for.
        status: its number.
    """

    def __init__(self, function: str, status: int, text: str, problem: str) -> None:
        self.status = status
        super().__init__(f"cuDNN: {function} answered {text} ({status}){f' for {problem}' if problem else ''}.")

    @property
    def unsupported(self) -> bool:
        """Whether the library says that it has no code for this: "bad parameter" means it as often as not."""
        return 2000 <= self.status < 4000


class CudnnApi:
    """The library with typed functions.

    Args:
        library: as loaded.
    """

    def __init__(self, library: Any) -> None:
        self.functions: dict[str, Any] = {name: getattr(library, f"cudnn{name}") for name in _SIGNATURES}
        for name, kinds in _SIGNATURES.items():
            self.functions[name].argtypes = kinds
        self._text, self._more = library.cudnnGetErrorString, library.cudnnGetLastErrorString
        self._text.restype, self._text.argtypes = c_char_p, (c_int,)
        self._more.restype, self._more.argtypes = None, (c_char_p, c_size_t)
        library.cudnnGetVersion.restype = c_size_t
        self.version: int = int(library.cudnnGetVersion())

    def call(self, function: str, *args: Any) -> None:
        """Call ``cudnn<function>``. Raises CudnnError unless it succeeds."""
        status = self.functions[function](*args)
        if status:
            self.fail(function, status)

    def fail(self, function: str, status: int, problem: object = "") -> NoReturn:
        """Raise CudnnError, a DeviceError that names the problem."""
        more = ctypes.create_string_buffer(512)
        self._more(more, len(more))
        told = [part.decode(errors="replace") for part in (self._text(status) or b"an unknown status", more.value)]
        raise CudnnError(f"cudnn{function}", status, ", ".join(part for part in told if part), str(problem))

    def create(self, function: str) -> int:
        """Call a function that makes an object; returns its address."""
        out = _P()
        self.call(function, ctypes.byref(out))
        return out.value or 0


class CudnnDescriptor:
    """A descriptor of ours, destroyed with it.

    Args:
        api: the interface.
        kind: "Tensor", "Filter" or "Convolution".
        args: what the function that fills it wants.
    """

    _SETTERS = {
        "Tensor": "SetTensor4dDescriptor",
        "Filter": "SetFilter4dDescriptor",
        "Convolution": "SetConvolution2dDescriptor",
    }

    def __init__(self, api: CudnnApi, kind: str, *args: int) -> None:
        self._api, self._kind = api, kind
        self.address: int = api.create(f"Create{kind}Descriptor")
        api.call(self._SETTERS[kind], self.address, *args)

    def __del__(self) -> None:
        if getattr(self, "address", 0):
            self._api.call(f"Destroy{self._kind}Descriptor", self.address)


def images(api: CudnnApi, shape: tuple[int, ...], data_format: str, dtype: str) -> CudnnDescriptor:
    """Dense images; the shape's axes are in the order of ``data_format``."""
    n, c, h, w = (shape[data_format.index(axis)] for axis in "NCHW")
    return CudnnDescriptor(api, "Tensor", FORMATS[data_format], DTYPES[dtype], n, c, h, w)


def leading_pads(
    size: tuple[int, int], out: tuple[int, int], reach: tuple[int, int], stride: tuple[int, int], pads: tuple[int, ...]
) -> tuple[int, int] | None:
    """What cuDNN calls padding: as much before as after. Padding after an axis only decides how many windows there are.

    Args:
        size, out, reach, stride: of rows and columns: positions, windows, what a window spans, its step.
        pads: (top, bottom, left, right).

    Returns:
        Padding of rows and of columns; None where as much after as before would make another number of windows.
    """
    before = (pads[0], pads[2])
    made = tuple((size[i] + 2 * before[i] - reach[i]) // stride[i] + 1 for i in (0, 1))
    return before if made == tuple(out) else None


# ---- the library and its handles ----


@functools.lru_cache(maxsize=1)
def api() -> CudnnApi | None:
    """The interface, or None without the library."""
    load("cublasLt")  # cuDNN looks for it by name, which finds what is loaded already
    found = load("cudnn").library
    return None if found is None else CudnnApi(found)


def missing() -> str:
    """Why cuDNN cannot be used; "" where it can."""
    return load("cudnn").reason


def library_version() -> int:
    """As the library says it: 91400 is 9.14.0. 0 without one."""
    found = api()
    return 0 if found is None else found.version


def handle_of(device: int = 0) -> int:
    """The calling thread's handle for a device, which must be the current one. Handles are never given back.

    Args:
        device: its number.

    Returns:
        The handle.

    Raises:
        RuntimeError: DeviceError: there is no library, or no device.
    """
    return thread_handle(device, threading.get_ident())


@functools.cache
def thread_handle(device: int, thread: int) -> int:
    """``handle_of`` for a thread."""
    found = api()
    if found is None:
        raise DeviceError(f"cuDNN cannot be used: {missing()}.")
    return found.create("Create")


assert ctypes.sizeof(ConvolutionHeuristic) == 48, "cudnnConvolutionFwdAlgoPerf_t has 48 bytes"
