"""Tensor: an immutable value in a box that can be given another value.

    Tensor object --(_data)--> buffer of the device's array library        known value
                  --(_kept)--> the value while _data is empty              see msnb.core.storage.packed_storage,
                  msnb.core.storage.shared_memory --(_type)--> interned TensorType                        shape and
                  dtype --(_rec)---> the recorder's note while a gradient is wanted, else None

Values, not views: a slice never shares memory with its source, and ``x[i] = v`` gives the *object* x a new value. The
operators and most methods are operations and are bound by ``msnb.ops``; this file holds what needs no operation.
During capture a Tensor may stand for a value that does not exist yet (``msnb.ir.builder.SymbolicTensor``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from msnb.base import ArgumentError, DeviceError, DTypeError, MissingName, ShapeError, device_registry, missing_names
from msnb.core import dtypes, pytree
from msnb.core.dtypes import DType, as_dtype
from msnb.core.storage.aligned_memory import copied
from msnb.core.storage.host_array import host_array
from msnb.core.storage.memory_exchange import (
    CPU_MEMORY,
    capsule_of,
    foreign_array,
    here,
    interface_of,
    is_foreign,
    lies_elsewhere,
)
from msnb.core.storage.shared_memory import SharedValue
from msnb.core.tensor_summary import tensor_html
from msnb.core.types import Symbol, TensorType, is_open, need_index, not_one, tensor_type, truth_of_many

if TYPE_CHECKING:
    from msnb.core.tensor_methods import TensorMethods  # a stub alone, made by tools/stubs.py
else:
    TensorMethods = object

Array = NDArray[Any]
ONE_NUMBER = "it holds one number; x.reshape(-1) makes an axis of size 1."
_type_cache: dict[tuple[tuple[int, ...], Any], TensorType] = {}


def type_of_buffer(buffer: Any) -> TensorType:
    """The TensorType of a buffer of any array library that speaks NumPy's dtypes."""
    key = (buffer.shape, buffer.dtype)
    found = _type_cache.get(key)
    if found is None:
        dtype = dtypes.of_numpy(np.dtype(buffer.dtype))
        if dtype is None:
            raise DTypeError(
                f"an array of dtype {buffer.dtype} has no tensor dtype.",
                hint=f"convert it to one of {', '.join(t.name for t in dtypes.ALL)}.",
            )
        found = _type_cache[key] = tensor_type(tuple(buffer.shape), dtype)
    return found


class Tensor(TensorMethods):
    """An n-dimensional array with one dtype, on one device.

    Args:
        input_data: a number, a (nested) list or tuple, a NumPy array, a Tensor, or any object with the array or
            DLPack protocol. Python floats give float32, ints int64; arrays keep their dtype.
        dtype: the dtype to convert to.
        shape: with ``init``, the shape to make.
        init: an initializer, its name ("zeros", "normal") or a number that fills ``shape``.
        const_arg: of MindSpore's compiler; programs compute the same with it.

    Raises:
        TypeError: the data are not numbers. ValueError: rows have unequal lengths.

    Source: `mindspore.Tensor`

    Examples:
        >>> import msnb as ms
        >>> ms.Tensor([[1.0, 2.0]]) * 2
        Tensor(shape=[1, 2], dtype=Float32, value=
        [[2., 4.]])
    """

    __slots__ = ("__weakref__", "_data", "_kept", "_rec", "_type")
    __array_priority__ = 1000
    __hash__: Callable[[], int] = object.__hash__  # type: ignore[assignment]

    _data: Any
    _kept: Any
    _type: TensorType
    _rec: Any

    def __init__(
        self, input_data: Any = None, dtype: Any = None, shape: Any = ..., init: Any = None, const_arg: bool = False
    ) -> None:
        if not isinstance(const_arg, bool):
            raise ArgumentError(f"Tensor: const_arg must be a bool, got {const_arg!r}.")
        want = None if dtype is None else as_dtype(dtype)
        if input_data is None:
            if init is None and want is not None and (shape is ... or is_open(shape)):
                self.__class__ = AbstractTensor
                ranked = isinstance(shape, (list, tuple))
                self._kept = tuple(shape) if ranked else ()
                sizes = tuple(n if isinstance(n, int) else -1 for n in self._kept)
                self._type = tensor_type(sizes if ranked else (-2,), want)
                return
            input_data = _initial(shape, want, init)
        if isinstance(input_data, Tensor):
            self._from_tensor(input_data, want)
            return
        if is_foreign(input_data):
            buffer = here(input_data)
            self._from_tensor(make(buffer, type_of_buffer(buffer)), want)
            return
        self._data = device_registry.current().from_host(host_array(input_data, want))
        self._type = type_of_buffer(self._data)
        self._rec = self._kept = None

    def _from_tensor(self, other: Tensor, want: DType | None) -> None:
        if want is not None and want is not other._type.dtype:
            other = other.astype(want)
        self._data, self._type, self._rec, self._kept = other._data, other._type, other._rec, None

    # ---- what it is ----

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of every axis."""
        return self._type.shape  # type: ignore[return-value]  # a Dim stands for the int that the data will tell

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._type.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._type.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._type.size

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self._type.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along every axis: values are dense, the last axis the closest."""
        return tuple(step * self.itemsize for step in self._steps())

    def stride(self, dim: int | None = None) -> Any:
        """Elements from one to the next along every axis, or along ``dim``."""
        steps = self._steps()
        return steps if dim is None else steps[dim]

    def _steps(self) -> tuple[int, ...]:
        sizes = [max(size, 1) for size in self._type.ints()]  # as in PyTorch where there are no elements
        return tuple(math.prod(sizes[axis + 1 :]) for axis in range(len(sizes)))

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._type.nbytes

    @property
    def device(self) -> str:
        """The name of the device that holds the value."""
        return str(device_registry.device_of(self._buffer()).name)

    def dim(self) -> int:
        """The number of axes (PyTorch's word)."""
        return self.ndim

    def numel(self) -> int:
        """The number of elements (PyTorch's word)."""
        return self.size

    def is_floating_point(self) -> bool:
        """Whether the elements are floats."""
        return self._type.dtype.is_float

    def is_contiguous(self) -> bool:
        """True: a tensor is a value and no view of another one."""
        return True

    def contiguous(self) -> Tensor:
        """The tensor itself: it is no view of another one."""
        return self

    @staticmethod
    def from_numpy(array: Array) -> Tensor:
        """``ms.from_numpy``: a Tensor that shares memory with a NumPy array."""
        return from_numpy(array)

    def init_data(self, *args: Any, **kwargs: Any) -> Tensor:
        """The tensor itself: ``Tensor(shape=, dtype=, init=)`` has its values from the start."""
        return self

    # ---- where it lives ----

    def move_to(self, to: str, blocking: bool = True) -> Tensor:
        """The same values on another device; values only move when asked to.

        Args:
            to: the device's name, "CPU", "GPU" ...
            blocking: accepted; the copy is complete when it is used, in any case.

        Raises:
            RuntimeError: DeviceError: the device is missing, or the tensor belongs to a program that is being compiled.
            ValueError: no device is called that.

        Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore/Tensor/mindspore.Tensor.move_to.html
        """
        if self.device == to:
            return self
        target = device_registry.device(to)
        if self._data is None or self._rec is not None:
            raise DeviceError(
                f"{self._type!r} cannot move from {self.device} to {to} inside a compiled or differentiated function.",
                hint="move tensors before the function is called.",
            )
        return make(target.from_host(self._host()), self._type)

    def cpu(self) -> Tensor:
        """On the CPU."""
        return self.move_to("CPU")

    def cuda(self) -> Tensor:
        """On the GPU."""
        return self.move_to("GPU")

    # ---- its value ----

    def _buffer(self) -> Any:
        """The device buffer; a symbolic tensor has none and refuses with a sentence."""
        return self._data

    def asnumpy(self) -> Array:
        """The values as a NumPy array that shares memory with this tensor.

        Returns:
            The array. What is written into it is written into the tensor, until the tensor is given another value; then
            the array keeps the old one. Other tensors, also those computed from this one before, never change. On a
            device other than the CPU it is a copy.

        Raises:
            TypeError: the tensor belongs to a program that is being compiled and has no value yet.

        Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore/Tensor/mindspore.Tensor.asnumpy.html

        Examples:
            >>> import msnb as ms
            >>> x = ms.Tensor([1.0, 2.0])
            >>> x.asnumpy()[0] = 11.0
            >>> x.tolist()
            [11.0, 2.0]
        """
        kept = shared_of(self)
        if kept is not None:
            return kept.handed_out()
        buffer = self._buffer()
        host = device_registry.device_of(buffer).to_host(buffer)
        array = copied(host)
        if host is buffer:
            share(self, array)
        return array

    def numpy(self) -> Array:
        """Same as ``asnumpy``."""
        return self.asnumpy()

    def _host(self) -> Array:
        """The values as a NumPy array that nobody else has: for msnb itself."""
        buffer = self._buffer()
        return np.array(device_registry.device_of(buffer).to_host(buffer))

    def item(self, index: Any = None) -> Any:
        """The only element (or the element at ``index``) as a Python number."""
        host = self._host()
        if index is not None:
            return host.item(*index) if isinstance(index, tuple) else host.item(index)
        if host.size != 1:
            raise not_one(self, "item()")
        return host.item()

    def tolist(self) -> Any:
        """The values as nested Python lists."""
        return self._host().tolist()

    def __bool__(self) -> bool:
        if self._type.size != 1:
            raise truth_of_many(self)
        return bool(self.item())

    def __int__(self) -> int:
        if self._type.size != 1:
            raise not_one(self, "int()")
        return int(self.item())

    def __float__(self) -> float:
        if self._type.size != 1:
            raise not_one(self, "float()")
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        need_index(self, truth=True)
        return int(self.item())

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentError("a 0-d tensor has no len().", hint=ONE_NUMBER)
        first = self._type.shape[0]
        return first if isinstance(first, int) else self._type.ints()[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape:
            raise ArgumentError("a 0-d tensor cannot be iterated over.", hint=ONE_NUMBER)
        return (self[i] for i in range(len(self)))

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and self._type.size == 1 else format(str(self), spec)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        host = self._host()
        return host if dtype is None else host.astype(dtype)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's functions work on the values: ``np.mean(x)``, ``np.concatenate([x, y])``."""
        leaves, shape = pytree.flatten((args, kwargs))
        plain = [leaf._host() if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        given, named = pytree.unflatten(shape, plain)
        return func(*given, **named)

    def __dlpack__(self, **options: Any) -> Any:
        buffer = self._buffer()
        return capsule_of(buffer, options) if lies_elsewhere(buffer) else self.asnumpy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, int]:
        buffer = self._buffer()
        return buffer.__dlpack_device__() if lies_elsewhere(buffer) else (CPU_MEMORY, 0)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return interface_of(self)

    def __copy__(self) -> Tensor:
        return make(self._data, self._type, self._rec)

    def __deepcopy__(self, memodict: Any) -> Tensor:
        return make(self._data, self._type, self._rec)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Tensor, (self._host(),))

    # ---- how it looks ----

    def __repr__(self) -> str:
        host = self._host()
        shown = host.astype(np.float32) if self.dtype is dtypes.bfloat16 else host
        gap = "\n" if host.ndim else " "
        text = np.array2string(shown, separator=", ", threshold=200, edgeitems=3)
        shape = ", ".join(map(str, self.shape))
        return f"{type(self).__name__}(shape=[{shape}], dtype={self.dtype!r}, value={gap}{text})"

    def __str__(self) -> str:
        host = self._host()
        return str(host.astype(np.float32) if self.dtype is dtypes.bfloat16 else host)

    def _repr_html_(self) -> str:
        head = f"{type(self).__name__} {self._type!r} on {self.device}"
        return tensor_html(head, str(self), self._host())

    # ---- operations, bound by msnb.ops (their types are told here) ----

    if TYPE_CHECKING:

        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __rfloordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __rmod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __rmatmul__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __rand__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __ror__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __rxor__(self, other: Any) -> Tensor: ...
        def __lshift__(self, other: Any) -> Tensor: ...
        def __rlshift__(self, other: Any) -> Tensor: ...
        def __rshift__(self, other: Any) -> Tensor: ...
        def __rrshift__(self, other: Any) -> Tensor: ...
        def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __pos__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __getitem__(self, index: Any) -> Tensor: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...

    if not TYPE_CHECKING:  # a type checker must go on to report names that do not exist

        def __getattr__(self, name: str) -> Any:
            if name == "_data":
                return self._kept.read(self)  # the slot is empty: the value lies in blocks, or others may write it
            if name[:1] == "_":
                raise AttributeError(f"a Tensor has no attribute {name!r}.")
            if name[-1:] == "_" and hasattr(Tensor, name[:-1]):
                raise AttributeError(
                    f"a Tensor has no {name}; write x = x.{name[:-1]}(...), or x[...] = x.{name[:-1]}(...)."
                )
            raise MissingName("a Tensor", name, "Tensor", lambda: dir(Tensor))


class AbstractTensor(Tensor):
    """A dtype and a shape with unknown sizes (-1), or unknown axes (-2), for ``Cell.set_inputs``; it has no values."""

    __slots__ = ()

    @property
    def _data(self) -> Any:
        hint = "it describes inputs, for net.set_inputs(...); call the network with tensors of known sizes."
        sizes = list(self._type.shape)
        raise ShapeError(f"a tensor of shape {sizes} has no values: -1 and -2 are not known.", hint=hint)

    def __copy__(self) -> AbstractTensor:
        return self

    def __deepcopy__(self, memodict: Any) -> AbstractTensor:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Tensor, (None, self._type.dtype, None if self.shape == (-2,) else list(self._kept))

    @property
    def symbols(self) -> dict[int, Symbol]:
        """What is known of axes that change."""
        return {k: n for k, n in enumerate(self._kept) if isinstance(n, Symbol)}

    def __repr__(self) -> str:
        return f"Tensor(shape={list(self._type.shape)}, dtype={self._type.dtype!r}, value= <no values>)"


def _initial(shape: Any, dtype: DType | None, init: Any) -> Any:
    if shape is None or shape is ...:
        raise ArgumentError(
            "Tensor needs input_data, or shape and init; the data given are None.",
            hint="a function that returns nothing gives None: is a `return` missing?",
        )
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    want = dtypes.float32 if dtype is None else dtype
    if init is None or isinstance(init, (int, float, complex)):
        return np.full(sizes, 0 if init is None else init, want.numpy)
    if isinstance(init, str):  # a name of the room of initializers
        return missing_names.attribute("msnb.core", "initializer")(init, sizes, want)
    return init(sizes, want)


_new = object.__new__


def make(data: Any, type_: TensorType, rec: Any = None) -> Tensor:
    """A Tensor around a buffer, without any check: what engines use."""
    t: Tensor = _new(Tensor)
    t._data = data
    t._type = type_
    t._rec, t._kept = rec, None
    return t


def made(data: Any, type_: TensorType) -> Tensor:
    """A Tensor around what a program computed: sizes that only the data told are known now."""
    return make(data, type_ if getattr(type_, "is_static", True) else type_of_buffer(data))


def blank(shape: Any, dtype: Any = dtypes.float32) -> Tensor:
    """A Tensor of zeros that takes no memory, for plans and predictions, which ask for types only.

    Args:
        shape: its sizes; dtype: its element type.

    Examples:
        >>> blank((4096, 3, 224, 224)).shape
        (4096, 3, 224, 224)
    """
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    data = np.broadcast_to(np.zeros((), as_dtype(dtype).numpy), sizes)
    return make(data, type_of_buffer(data))


def from_numpy(array: Array) -> Tensor:
    """A Tensor that shares memory with a NumPy array; ``Tensor(array)`` has a copy.

    Args:
        array: a NumPy array of one of msnb's dtypes. What is written into it is written into the tensor, until that is
            given another value. On a device other than the CPU, and of what is no plain array, it is a copy.

    Raises:
        TypeError: the array's dtype is none of a tensor.

    Source: `mindspore.from_numpy`

    Examples:
        >>> import msnb as ms
        >>> import numpy as np
        >>> n = np.ones(2)
        >>> t = ms.from_numpy(n)
        >>> n[0] = 9.0
        >>> t.tolist()
        [9.0, 1.0]
    """
    if (
        type(array) is not np.ndarray
        or not array.dtype.isnative
        or device_registry.current().from_host(array) is not array
    ):
        return Tensor(array)
    t: Tensor = _new(Tensor)
    t._kept, t._type, t._rec = SharedValue(array), type_of_buffer(array), None
    return t


def from_dlpack(array: Any) -> Tensor:
    """A Tensor that shares memory with an array of another library (PyTorch, CuPy, JAX ...), where that lies.

    Args:
        array: anything with ``__dlpack__``, in the memory of the CPU or of a CUDA GPU. What is written into it is
            written into the tensor, until that is given another value.

    Raises:
        RuntimeError: DeviceError: the array lies on another kind of device, or there is no GPU here.

    Source: `mindspore.utils`

    Examples:
        >>> import msnb as ms
        >>> import numpy as np
        >>> n = np.ones(2)
        >>> t = ms.from_dlpack(n)
        >>> n[0] = 9.0
        >>> t.tolist()
        [9.0, 1.0]
    """
    buffer = foreign_array(array)
    return make(buffer, type_of_buffer(buffer)) if lies_elsewhere(buffer) else from_numpy(buffer)


_data_slot: Any = Tensor.__dict__["_data"]


def holds_data(t: Tensor) -> bool:
    """Whether the slot ``_data`` of a tensor holds its value."""
    try:
        _data_slot.__get__(t)
    except AttributeError:
        return False
    return True


def share(t: Tensor, array: Array) -> None:
    """From here on the value of ``t`` is what an array of the user's holds."""
    t._kept = SharedValue(array)
    with suppress(AttributeError):  # the value lay in blocks, or another thread was faster
        _data_slot.__delete__(t)


def shared_of(t: Tensor) -> SharedValue | None:
    """What a tensor's value shares memory with, or None."""
    kept = None if holds_data(t) else getattr(t, "_kept", None)
    return kept if isinstance(kept, SharedValue) else None
