"""NumPy posing as CuPy, for machines without a GPU.

    fake_cupy.add(a, b)        the same functions as NumPy's, on arrays of a class of its own
    numpy.add(a, b)            refused: an array "on the GPU" reaches NumPy only through ``asnumpy`` or ``.get()``
    a + numpy_array            refused, as CuPy does
    float(a), bool(a), list(a), a.item()   refused: CuPy allows them, but each is a hidden copy to the host that waits

So an op's body that passes here uses nothing but its module ``xp`` and never looks at a value. ``cuda`` has two devices
and counts what is asked of it. bfloat16 does not exist, as in CuPy 13.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np

HOST_COPY = (
    "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array explicitly."
)
_UNARY = ("__neg__", "__pos__", "__abs__", "__invert__")
_BINARY = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul "
    "and rand or ror xor rxor lshift rlshift rshift rrshift lt le gt ge eq ne divmod rdivmod "
    "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift"
).split()


class ndarray:
    """An array "on the GPU"."""

    __slots__ = ("_host",)
    __array_ufunc__ = None  # NumPy's functions and operators turn it down
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, shape: Any = (), dtype: Any = float, **options: Any) -> None:
        self._host = np.ndarray(shape, _known(dtype), **options)

    def get(self) -> np.ndarray:
        """The explicit way down: a copy on the host."""
        return np.array(self._host)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(HOST_COPY)

    def __array_function__(self, function: Any, kinds: Any, args: Any, options: Any) -> Any:
        raise TypeError(f"numpy.{function.__name__} of a CuPy array: use xp.{function.__name__}.")

    def _refuse(self, *args: Any) -> Any:
        raise TypeError("a hidden copy to the host: this op looks at the values of an array.")

    __bool__ = __int__ = __float__ = __complex__ = __index__ = __iter__ = item = tolist = __contains__ = _refuse

    def __len__(self) -> int:
        return len(self._host)

    def __getitem__(self, key: Any) -> Any:
        return wrap(self._host[unwrap(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._host[unwrap(key)] = unwrap(value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # __array_interface__ and its kind would hand the memory to NumPy
            raise AttributeError(name)
        found = getattr(self._host, name)
        return _function(found) if callable(found) else wrap(found)

    def __repr__(self) -> str:
        return f"fake_cupy.{self._host!r}"


def _known(dtype: Any) -> np.dtype:
    found = np.dtype(dtype)
    if found.kind == "V" or found.name not in np.sctypeDict:
        raise TypeError(f"Unsupported dtype {found.name}")
    return found


def _operator(name: str) -> Any:
    def operate(self: ndarray, *others: Any) -> Any:
        if any(isinstance(o, np.ndarray) for o in others):
            raise TypeError(f"Unsupported type {type(others[0])}")
        return wrap(getattr(self._host, name)(*unwrap(others)))

    return operate


for _name in (*_UNARY, *(f"__{n}__" for n in _BINARY)):
    setattr(ndarray, _name, _operator(_name))


def unwrap(x: Any) -> Any:
    """What NumPy works on; arrays that live on the host are refused."""
    if isinstance(x, ndarray):
        return x._host
    if isinstance(x, np.ndarray):
        raise TypeError(f"Unsupported type {type(x)}")
    if isinstance(x, (tuple, list)) and not hasattr(x, "_fields"):
        return type(x)(unwrap(item) for item in x)
    return {k: unwrap(v) for k, v in x.items()} if isinstance(x, dict) else x


def wrap(x: Any) -> Any:
    """What a CuPy function gives: arrays, never NumPy scalars."""
    if isinstance(x, (np.ndarray, np.generic)):
        made = object.__new__(ndarray)
        made._host = np.asarray(x)
        return made
    if isinstance(x, tuple):
        items = [wrap(item) for item in x]
        return type(x)(*items) if hasattr(x, "_fields") else tuple(items)
    return [wrap(item) for item in x] if isinstance(x, list) else x


def _function(found: Any) -> Any:
    def call(*args: Any, **options: Any) -> Any:
        return wrap(found(*unwrap(args), **unwrap(options)))

    call.__name__ = getattr(found, "__name__", "call")
    for method in ("reduce", "accumulate", "outer", "at", "reduceat"):
        if isinstance(found, np.ufunc):
            setattr(call, method, _method(found, method))
    return call


def _method(ufunc: np.ufunc, name: str) -> Any:
    return lambda *args, **options: wrap(getattr(ufunc, name)(*unwrap(args), **unwrap(options)))


def asarray(a: Any, dtype: Any = None, order: Any = None, **options: Any) -> ndarray:
    """The explicit way up: arrays of the host are taken."""
    host = a._host if isinstance(a, ndarray) else unwrap(a) if isinstance(a, (tuple, list)) else a
    _known(host.dtype if hasattr(host, "dtype") else dtype or float)
    return wrap(np.asarray(host, dtype=None if dtype is None else _known(dtype), order=order))


def array(a: Any, dtype: Any = None, copy: bool = True, **options: Any) -> ndarray:
    """As ``asarray``, always a copy."""
    return wrap(asarray(a, dtype)._host.copy())


ascontiguousarray = asanyarray = asarray


def asnumpy(a: Any) -> np.ndarray:
    """The explicit way down."""
    return a.get() if isinstance(a, ndarray) else np.asarray(a)


class _Module(types.SimpleNamespace):
    """A part of NumPy (linalg, fft) with its functions wrapped."""

    def __init__(self, part: Any) -> None:
        super().__init__()
        self._part = part

    def __getattr__(self, name: str) -> Any:
        return _function(getattr(self._part, name))


class Device:
    """A GPU: there are two."""

    current = 0
    synchronized = 0

    def __init__(self, index: int | None = None) -> None:
        self.id = Device.current if index is None else index

    def use(self) -> None:
        """Run on this one from here on."""
        Device.current = self.id

    def synchronize(self) -> None:
        """Nothing to wait for; counted."""
        Device.synchronized += 1


runtime = types.SimpleNamespace(getDeviceCount=lambda: 2)
cuda = types.SimpleNamespace(Device=Device, runtime=runtime)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    found = getattr(np, name)
    if isinstance(found, types.ModuleType):
        return _Module(found)
    if isinstance(found, type) or not callable(found):
        return found
    return _function(found)


sys.modules.setdefault("fake_cupy", sys.modules[__name__])
