"""cuBLASLt's C interface, typed: the few functions that are used, its numbers, and errors as sentences.

    MatmulDesc    what is computed: in which precision, what is transposed, what is done to the result (the epilogue)
    MatrixLayout  how a matrix lies: dtype, rows, columns, leading dimension, batch
    Preference    what an algorithm may use: memory, alignments
    Heuristic     an algorithm and the workspace that it wants

Numbers of enums are those of cublasLt.h and library_types.h, the same in all versions 12 and 13.
Source: https://docs.nvidia.com/cuda/cublas/#using-the-cublaslt-api
"""

from __future__ import annotations

import ctypes
import functools
from ctypes import POINTER, c_char_p, c_float, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any

from msnb.base import DeviceError
from msnb.devices.gpu.libraries.library_search import load

# cudaDataType_t
DTYPES = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 14}
# cublasComputeType_t
COMPUTE_32F, COMPUTE_32F_FAST_TF32, COMPUTE_64F = 68, 77, 70
# attributes of a MatmulDesc
TRANSA, TRANSB, EPILOGUE, BIAS_POINTER = 3, 4, 7, 8
AUX_POINTER, AUX_LEADING, AUX_BATCH_STRIDE = 11, 12, 13
# attributes of a MatrixLayout
BATCH_COUNT, STRIDED_BATCH_OFFSET = 5, 6
# attributes of a Preference
MAX_WORKSPACE_BYTES = 1
MIN_ALIGNMENT_BYTES = (5, 6, 7, 8)  # of A, B, C, D
EPILOGUES = {
    "none": 1, "relu": 2, "bias": 4, "relu_bias": 6, "gelu": 32, "gelu_bias": 36,
    "gelu_aux": 160, "gelu_aux_bias": 164, "dgelu": 192, "dgelu_bgrad": 208, "bgrad": 256,
}  # fmt: skip
# statuses that say "I have no code for this"
_INVALID_VALUE, _ARCH_MISMATCH, NOT_SUPPORTED = 7, 8, 15
UNSUPPORTED = frozenset((_INVALID_VALUE, _ARCH_MISMATCH, NOT_SUPPORTED))

_P = c_void_p
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "Create": (POINTER(_P),),
    "MatmulDescCreate": (POINTER(_P), c_int, c_int),
    "MatmulDescDestroy": (_P,),
    "MatmulDescSetAttribute": (_P, c_int, _P, c_size_t),
    "MatrixLayoutCreate": (POINTER(_P), c_int, c_uint64, c_uint64, c_int64),
    "MatrixLayoutDestroy": (_P,),
    "MatrixLayoutSetAttribute": (_P, c_int, _P, c_size_t),
    "MatmulPreferenceCreate": (POINTER(_P),),
    "MatmulPreferenceDestroy": (_P,),
    "MatmulPreferenceSetAttribute": (_P, c_int, _P, c_size_t),
    "MatmulAlgoGetHeuristic": (_P, _P, _P, _P, _P, _P, _P, c_int, _P, POINTER(c_int)),
    "Matmul": (_P, _P, _P, _P, _P, _P, _P, _P, _P, _P, _P, _P, _P, _P, c_size_t, _P),
}


class MatmulHeuristic(ctypes.Structure):
    """An algorithm that the library proposes (cublasLtMatmulHeuristicResult_t)."""

    _fields_ = (
        ("algorithm", c_uint64 * 8),
        ("workspace", c_size_t),
        ("state", c_int),
        ("waves", c_float),
        ("reserved", c_int * 4),
    )


class CublasLtError(DeviceError):
    """cuBLASLt refused or failed.

    Args:
        function: which function; text: the library's name of the status; problem: what it was asked for.
        status: its number.
    """

    def __init__(self, function: str, status: int, text: str, problem: str) -> None:
        self.status = status
        super().__init__(f"cuBLASLt: {function} answered {text} ({status}){f' for {problem}' if problem else ''}.")


class CublasLtApi:
    """The library with typed functions.

    Args:
        library: as loaded.
    """

    def __init__(self, library: Any) -> None:
        self._functions = {name: getattr(library, f"cublasLt{name}") for name in _SIGNATURES}
        for name, kinds in _SIGNATURES.items():
            self._functions[name].argtypes = kinds
        self._text = library.cublasLtGetStatusString
        self._text.restype, self._text.argtypes = c_char_p, (c_int,)
        library.cublasLtGetVersion.restype = c_size_t
        self.version: int = int(library.cublasLtGetVersion())
        self.matmul: Any = self._functions["Matmul"]

    def call(self, function: str, *args: Any) -> None:
        """Call ``cublasLt<function>``. Raises CublasLtError unless it succeeds."""
        self.check(function, self._functions[function](*args))

    def check(self, function: str, status: int, problem: object = "") -> None:
        """Raise CublasLtError, a DeviceError that names the problem, unless the status is success."""
        if status:
            text = (self._text(status) or b"an unknown status").decode()
            raise CublasLtError(f"cublasLt{function}", status, text, str(problem))

    def create(self, function: str, *args: Any) -> int:
        """Call a function that makes an object; returns its address."""
        out = _P()
        self.call(function, ctypes.byref(out), *args)
        return out.value or 0

    def set(self, what: str, address: int, attribute: int, value: Any) -> None:
        """Set an attribute of an object; ``value`` is a ctypes number of the size that the library wants."""
        self.call(f"{what}SetAttribute", address, attribute, ctypes.byref(value), ctypes.sizeof(value))


class CublasLtObject:
    """A descriptor of ours, destroyed with it.

    Args:
        api: the interface.
        kind: "MatmulDesc", "MatrixLayout" or "MatmulPreference".
        args: what its constructor wants.
    """

    def __init__(self, api: CublasLtApi, kind: str, *args: Any) -> None:
        self._api, self._kind = api, kind
        self.address: int = api.create(f"{kind}Create", *args)

    def set(self, attribute: int, value: Any) -> None:
        """Set an attribute to a ctypes number."""
        self._api.set(self._kind, self.address, attribute, value)

    def __del__(self) -> None:
        if getattr(self, "address", 0):
            self._api.call(f"{self._kind}Destroy", self.address)


@functools.lru_cache(maxsize=1)
def api() -> CublasLtApi | None:
    """The interface, or None without the library."""
    found = load("cublasLt").library
    return None if found is None else CublasLtApi(found)
