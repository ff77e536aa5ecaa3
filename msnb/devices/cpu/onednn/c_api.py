"""oneDNN's C interface, typed: the few functions that are used, its numbers, and errors as sentences.

    Desc         what a block of memory means: dims, dtype, and strides or "any" (the library chooses)
    Attributes   how a primitive runs: scratch memory from us, exact float32 arithmetic, post-ops
    pd           a primitive descriptor: an operation with every layout settled
    primitive    the machine code for it

Numbers of enums are those of dnnl_types.h and dnnl_common_types.h, the same in all versions 3.x.
Source: https://uxlfoundation.github.io/oneDNN/
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_float, c_int, c_int64, c_size_t, c_void_p
from typing import Any, NamedTuple

from msnb.devices.cpu.onednn.shared_library import load

# data types
F16, BF16, F32, S32 = 1, 2, 3, 4
# propagation kinds
TRAINING = 64
# algorithms
CONVOLUTION_DIRECT = 1
ELTWISE = {"relu": 32, "tanh": 33, "gelu_tanh": 43, "gelu_erf": 49, "sigmoid": 41, "linear": 38, "clip": 46}
BINARY_ADD, BINARY_MUL = 0x1FFF0, 0x1FFF1
# arguments of a primitive
SRC, DST, WEIGHTS, BIAS, WORKSPACE, SCRATCHPAD = 1, 17, 33, 41, 64, 80
DIFF_SRC, DIFF_DST, DIFF_WEIGHTS, DIFF_BIAS = 129, 145, 161, 169
POST_OP = 32768
# what to ask a primitive descriptor for
_IMPLEMENTATION, _ARGUMENT = 8, 255
# what to ask a memory descriptor for
_STRIDES, _AXES, _DIMS, _DTYPE, _PADDED, _BLOCKS, _SIZES, _BLOCKED_AXES = 14, 256, 257, 258, 260, 263, 264, 265
_ANY, _USER_SCRATCHPAD, _STRICT = 1, 1, 0

_MEANING = {
    1: "there is not enough memory",
    2: "the arguments do not fit one another",
    3: "the library has no implementation for these shapes and dtypes",
    4: "there is no further implementation",
    5: "the library failed while it ran",
}
UNIMPLEMENTED = 3
RUNTIME_DIM = -(1 << 63)  # a size or stride that is told when the primitive runs
_MOST_DIMS = 12
Dims = Sequence[int]
_P = c_void_p
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "engine_create": (POINTER(_P), c_int, c_size_t),
    "stream_create": (POINTER(_P), _P, c_int),
    "memory_desc_create_with_strides": (POINTER(_P), c_int, _P, c_int, _P),
    "memory_desc_create_with_tag": (POINTER(_P), c_int, _P, c_int, c_int),
    "memory_desc_clone": (POINTER(_P), _P),
    "memory_desc_destroy": (_P,),
    "memory_desc_query": (_P, c_int, _P),
    "memory_create": (POINTER(_P), _P, _P, _P),
    "memory_destroy": (_P,),
    "primitive_attr_create": (POINTER(_P),),
    "primitive_attr_destroy": (_P,),
    "primitive_attr_set_scratchpad_mode": (_P, c_int),
    "primitive_attr_set_fpmath_mode": (_P, c_int),
    "primitive_attr_set_post_ops": (_P, _P),
    "post_ops_create": (POINTER(_P),),
    "post_ops_destroy": (_P,),
    "post_ops_append_eltwise": (_P, c_int, c_float, c_float),
    "post_ops_append_binary": (_P, c_int, _P),
    "post_ops_append_sum": (_P, c_float, c_int, c_int),
    "primitive_desc_query": (_P, c_int, c_int, _P),
    "primitive_desc_destroy": (_P,),
    "primitive_create": (POINTER(_P), _P),
    "primitive_destroy": (_P,),
    "convolution_forward_primitive_desc_create": (POINTER(_P), _P, c_int, c_int, *[_P] * 9),
    "convolution_backward_data_primitive_desc_create": (POINTER(_P), _P, c_int, *[_P] * 9),
    "convolution_backward_weights_primitive_desc_create": (POINTER(_P), _P, c_int, *[_P] * 10),
    "matmul_primitive_desc_create": (POINTER(_P), _P, *[_P] * 5),
    "reorder_primitive_desc_create": (POINTER(_P), _P, _P, _P, _P, _P),
}


class OneDNNError(RuntimeError):
    """oneDNN refused or failed."""

    def __init__(self, function: str, status: int) -> None:
        self.status = status
        super().__init__(f"oneDNN: {function}: {_MEANING.get(status, f'error {status}')}.")


class MemoryLayout(NamedTuple):
    """How a memory descriptor lies.

    Attributes:
        dims, padded: sizes per axis, and what they were rounded up to; dtype: its number.
        strides: in elements, of an axis' blocks where it is blocked.
        inner: (axis, size) of the blocks, the last one dense.
    """

    dims: tuple[int, ...]
    padded: tuple[int, ...]
    dtype: int
    strides: tuple[int, ...]
    inner: tuple[tuple[int, int], ...]


class Api:
    """The library with typed functions, its engine (the CPU) and its stream.

    Attributes:
        stream: the address that ``execute`` wants.
        addresses: of dnnl_primitive_execute, dnnl_memory_set_data_handle and omp_set_num_threads.
    """

    def __init__(self, dnnl: Any, gomp: Any) -> None:
        self._dnnl, self._gomp = dnnl, gomp
        for name, kinds in _SIGNATURES.items():
            getattr(dnnl, f"dnnl_{name}").argtypes = kinds
        dnnl.dnnl_primitive_desc_query_md.restype = _P
        dnnl.dnnl_primitive_desc_query_md.argtypes = (_P, c_int, c_int)
        dnnl.dnnl_memory_desc_get_size.restype = c_size_t
        dnnl.dnnl_memory_desc_get_size.argtypes = (_P,)
        dnnl.dnnl_memory_desc_equal.argtypes = (_P, _P)
        self.engine: int = self.create("engine_create", 1, 0)
        self.stream: int = self.create("stream_create", self.engine, 1)
        functions = (dnnl.dnnl_primitive_execute, dnnl.dnnl_memory_set_data_handle, gomp.omp_set_num_threads)
        self.addresses: tuple[int, ...] = tuple(ctypes.cast(f, _P).value or 0 for f in functions)

    def call(self, function: str, *args: Any) -> None:
        """Call ``dnnl_<function>``. Raises OneDNNError unless it succeeds."""
        status = getattr(self._dnnl, f"dnnl_{function}")(*args)
        if status:
            raise OneDNNError(function, status)

    def create(self, function: str, *args: Any) -> int:
        """Call a function that makes an object; returns its address."""
        out = _P()
        self.call(function, ctypes.byref(out), *args)
        return out.value or 0

    def set_threads(self, count: int) -> None:
        """How many threads primitives made (and run) by this thread use."""
        self._gomp.omp_set_num_threads(count)

    def size(self, desc: int) -> int:
        """Bytes of a memory descriptor."""
        return int(self._dnnl.dnnl_memory_desc_get_size(desc))

    def equal(self, a: int, b: int) -> bool:
        """True when two memory descriptors mean the same bytes."""
        return bool(self._dnnl.dnnl_memory_desc_equal(a, b))

    def lying(self, desc: int) -> MemoryLayout:
        """How a memory descriptor lies."""
        axes, blocks = (self._number(desc, what) for what in (_AXES, _BLOCKS))
        dims, padded, strides = (self._numbers(desc, what, axes) for what in (_DIMS, _PADDED, _STRIDES))
        sizes, where = (self._numbers(desc, what, blocks) for what in (_SIZES, _BLOCKED_AXES))
        return MemoryLayout(dims, padded, self._number(desc, _DTYPE), strides, tuple(zip(where, sizes)))

    def _number(self, desc: int, what: int) -> int:
        out = c_int()
        self.call("memory_desc_query", desc, what, ctypes.byref(out))
        return out.value

    def _numbers(self, desc: int, what: int, count: int) -> tuple[int, ...]:
        out = _P()
        if not count:
            return ()
        self.call("memory_desc_query", desc, what, ctypes.byref(out))
        return tuple((c_int64 * count).from_address(out.value or 0))

    def argument(self, pd: int, number: int) -> int:
        """The memory descriptor of an argument as the primitive wants it; it belongs to ``pd``. 0: not used."""
        return self._dnnl.dnnl_primitive_desc_query_md(pd, _ARGUMENT, number) or 0

    def implementation(self, pd: int) -> str:
        """The library's name for the code it chose."""
        out = c_char_p()
        self.call("primitive_desc_query", pd, _IMPLEMENTATION, 0, ctypes.byref(out))
        return (out.value or b"").decode()


@functools.lru_cache(maxsize=1)
def api() -> Api | None:
    """The interface, or None without the library."""
    found = load()
    return None if found is None else Api(found.dnnl, found.gomp)


class Desc:
    """A memory descriptor of our own.

    Args:
        api: the interface.
        dims: sizes, none of them 0.
        dtype: F32, BF16 or F16.
        strides: in elements; None lets the primitive choose.
    """

    def __init__(self, api: Api, dims: Dims, dtype: int, strides: Dims | None) -> None:
        self._api = api
        shape = dims_array(dims)
        if strides is None:
            self.address: int = api.create("memory_desc_create_with_tag", len(dims), shape, dtype, _ANY)
        else:
            self.address = api.create("memory_desc_create_with_strides", len(dims), shape, dtype, dims_array(strides))

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self._api.call("memory_desc_destroy", self.address)


def dims_array(values: Dims) -> Any:
    """A dnnl_dims_t."""
    return (c_int64 * _MOST_DIMS)(*values)


class Attributes:
    """How a primitive runs; ``post`` lists what is done to its result.

    Args:
        api: the interface.
        post: ("relu", alpha, beta) and its like, ("add", Desc) for a second tensor, ("sum",) to add to what is there.
    """

    def __init__(self, api: Api, post: Sequence[tuple[Any, ...]] = ()) -> None:
        self._api = api
        self.address: int = api.create("primitive_attr_create")
        api.call("primitive_attr_set_scratchpad_mode", self.address, _USER_SCRATCHPAD)
        api.call("primitive_attr_set_fpmath_mode", self.address, _STRICT)
        if post:
            self._set(post)

    def _set(self, post: Sequence[tuple[Any, ...]]) -> None:
        ops = self._api.create("post_ops_create")
        try:
            for kind, *rest in post:
                if kind == "sum":
                    self._api.call("post_ops_append_sum", ops, 1.0, 0, 0)
                elif kind in ("add", "mul"):
                    number = BINARY_ADD if kind == "add" else BINARY_MUL
                    self._api.call("post_ops_append_binary", ops, number, rest[0].address)
                else:
                    self._api.call("post_ops_append_eltwise", ops, ELTWISE[kind], *rest)
            self._api.call("primitive_attr_set_post_ops", self.address, ops)
        finally:
            self._api.call("post_ops_destroy", ops)

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self._api.call("primitive_attr_destroy", self.address)
