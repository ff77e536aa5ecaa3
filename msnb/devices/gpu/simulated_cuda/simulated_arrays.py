"""Arrays "on the GPU", and the one way by which functions of NumPy reach them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

from msnb.devices.gpu.simulated_cuda import simulated_memory, simulated_streams
from msnb.devices.gpu.simulated_cuda.simulated_counters import counters, features

HOST_COPY = (
    "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array explicitly."
)
_UNARY = ("__neg__", "__pos__", "__abs__", "__invert__")
_BINARY = (
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv", "mod", "rmod"),
    *("pow", "rpow", "matmul", "rmatmul", "and", "rand", "or", "ror", "xor", "rxor", "lshift", "rlshift", "rshift"),
    *("rrshift", "lt", "le", "gt", "ge", "eq", "ne", "divmod", "rdivmod", "iadd", "isub", "imul", "itruediv"),
    *("ifloordiv", "imod", "ipow", "iand", "ior", "ixor", "ilshift", "irshift"),
)
_LOOKS_AT_VALUES = {"nonzero", "flatnonzero", "argwhere", "unique", "array_equal", "allclose", "compress", "extract"}


class Capsule:
    """What ``__dlpack__`` gives: it holds the array.

    Attributes:
        stream: the one that the consumer named.
    """

    def __init__(self, array: Any, stream: Any) -> None:
        self.array: Any = array
        self.stream: Any = stream


class ndarray:
    """An array "on the GPU".

    Args:
        shape, dtype: as NumPy's.
        memptr: the device memory that holds it; new memory, with no value in it, otherwise.
        strides, order: as NumPy's.
    """

    __slots__ = ("__weakref__", "_host", "_owner")
    __array_ufunc__ = None  # NumPy's functions and operators turn it down
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, shape: Any = (), dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C"
    ) -> None:
        found = known(dtype)
        if memptr is None:
            nbytes = int(np.prod(shape, dtype=np.int64)) * found.itemsize
            memptr = (simulated_memory.allocator() or _plain)(nbytes)
        self._host: np.ndarray = simulated_memory.host_view(memptr, shape, found, strides, order)
        self._owner: ndarray | None = None
        _owners[id(self._host)] = self

    @property
    def data(self) -> simulated_memory.MemoryPointer:
        """Where it lies."""
        memory = simulated_memory.held_memory(self._host)
        return simulated_memory.MemoryPointer(memory, self._host.__array_interface__["data"][0] - memory.ptr)

    @property
    def _c_contiguous(self) -> bool:
        return self._host.flags.c_contiguous

    @property
    def base(self) -> ndarray | None:
        """The array that it is a view of; a view holds it."""
        if self._owner is not None and self._owner._host is not self._host:
            return self._owner
        return wrap(self._host.base) if isinstance(self._host.base, np.ndarray) else None

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        face = self._host.__array_interface__
        strides = None if self._host.flags.c_contiguous else self._host.strides
        return {**{k: face[k] for k in ("shape", "typestr", "descr", "data")}, "strides": strides, "version": 3}

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        return Capsule(self, stream)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def get(self, stream: Any = None, order: str = "C", blocking: bool = True, out: Any = None) -> Any:
        """The explicit way down: a copy on the host."""
        if blocking or out is None:
            simulated_streams.waits("an array is copied to the host", stream)
            counters.synchronisations += 1
            counters.down(self._host.nbytes)
            return np.array(self._host) if out is None else _copied(out, self._host)
        _record_copy(out, self._host, counters.down, stream)
        return out

    def set(self, arr: np.ndarray, stream: Any = None) -> None:
        """The explicit way up, into this array."""
        simulated_streams.waits("an array is copied from the host", stream)
        counters.up(self._host.nbytes)
        self._host[...] = arr

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
        if isinstance(key, ndarray) and key._host.dtype == bool:
            simulated_streams.waits("an array is indexed by a mask")
        return compute(lambda host, k: host[k], (self, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        compute(_set_item, (self, key, value))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # __array_interface__ and its kind would hand the memory to NumPy
            raise AttributeError(name)
        found = getattr(self._host, name)
        if not callable(found):
            return wrap(found)

        def call(*args: Any, **options: Any) -> Any:
            return compute(lambda host, *rest, **more: getattr(host, name)(*rest, **more), (self, *args), options, name)

        return call

    def __repr__(self) -> str:
        return f"simulated_cuda.{self._host!r}"


_owners: weakref.WeakValueDictionary[int, ndarray] = weakref.WeakValueDictionary()
"""Arrays that are views of nothing, by their memory on the host."""


def _plain(nbytes: int) -> simulated_memory.MemoryPointer:
    return simulated_memory.MemoryPointer(simulated_memory.Memory(nbytes), 0)


def _set_item(host: np.ndarray, key: Any, value: Any) -> None:
    host[key] = value


def _copied(out: np.ndarray, host: np.ndarray) -> np.ndarray:
    out[...] = host
    return out


def _record_copy(out: np.ndarray, host: np.ndarray, count: Callable[[int], None], stream: Any) -> None:
    capture, where = simulated_streams.capture_for(stream)
    source = simulated_memory.Place(host)

    def step() -> None:
        count(out.nbytes)
        out[...] = source.array()

    step() if capture is None else capture.record(step, where)


def known(dtype: Any) -> np.dtype:
    """A dtype that CuPy has."""
    found: np.dtype = np.dtype(dtype)
    if found == np.dtype(ml_dtypes.bfloat16) and features.bfloat16:
        return found
    if found.kind in "VO" or found.name not in np.sctypeDict:
        raise TypeError(f"Unsupported dtype {found.name}")
    return found


def _operator(name: str) -> Any:
    def operate(self: ndarray, *others: Any) -> Any:
        if any(isinstance(o, np.ndarray) for o in others):
            raise TypeError(f"Unsupported type {type(others[0])}")
        return compute(lambda host, *rest: getattr(host, name)(*rest), (self, *others))

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
        made._host = host = _placed(np.asarray(x))
        root = simulated_memory.root_of(host)[0]
        owner = _owners.get(id(root))
        made._owner = owner if owner is not None and owner._host is root else None
        if made._owner is None and root is host:
            _owners[id(host)] = made
        return made
    if isinstance(x, tuple):
        items = [wrap(item) for item in x]
        return type(x)(*items) if hasattr(x, "_fields") else tuple(items)
    return [wrap(item) for item in x] if isinstance(x, list) else x


def _placed(host: np.ndarray) -> np.ndarray:
    """A result where results go: into the memory of the allocator that is set, or where NumPy put it."""
    allocate = simulated_memory.allocator()
    if allocate is None or host.base is not None or host.size == 0 or simulated_memory.is_registered(host):
        simulated_memory.register_host(host)
        return host
    return _copied(_like(host, allocate), host)


def _like(host: np.ndarray, allocate: Any) -> np.ndarray:
    order = "F" if host.flags.f_contiguous and not host.flags.c_contiguous else "C"
    return simulated_memory.host_view(allocate(host.nbytes), host.shape, host.dtype, None, order)


@np.errstate(all="ignore")  # CuPy says nothing of NaN and infinity
def compute(found: Callable[..., Any], args: Any, options: Any = None, name: str = "") -> Any:
    """A function of NumPy on simulated arrays: done now, or recorded where the current stream captures."""
    counters.functions += 1
    hosts, named = unwrap(args), unwrap(options or {})
    if not simulated_streams._capturing:
        return wrap(found(*hosts, **named))
    if name in _LOOKS_AT_VALUES:
        simulated_streams.waits(f"{name} looks at values")
    capture, stream = simulated_streams.capture_for()
    return wrap(found(*hosts, **named)) if capture is None else _recorded(found, hosts, named, capture, stream)


# ---- captures ----


def _arrays(x: Any) -> Iterator[Any]:
    if isinstance(x, (np.ndarray, np.generic)):
        yield x
    elif isinstance(x, (tuple, list)):
        for item in x:
            yield from _arrays(item)
    elif isinstance(x, dict):
        yield from _arrays(tuple(x.values()))


def _mapped(x: Any, kind: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(x, kind):
        return change(x)
    if isinstance(x, (tuple, list)):
        items = [_mapped(item, kind, change) for item in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    return {k: _mapped(v, kind, change) for k, v in x.items()} if isinstance(x, dict) else x


def _recorded(found: Any, args: Any, options: Any, capture: simulated_streams.Capture, stream: Any) -> Any:
    """Runs once for the shapes, takes back what was written, and records a step into the same memory."""
    operands = [a for a in _arrays((args, options)) if isinstance(a, np.ndarray)]
    before = [a.copy() for a in operands]
    result = found(*args, **options)
    for operand, values in zip(operands, before):
        if operand.flags.writeable and operand.tobytes() != values.tobytes():
            operand[...] = values
    owners = {simulated_memory.root_of(a)[1] for a in operands}
    places: list[simulated_memory.Place | None] = []

    def placed(x: Any) -> np.ndarray:
        host = np.asarray(x)
        if simulated_memory.root_of(host)[1] in owners:
            places.append(None)
            return host
        moved = _like(host, simulated_memory.allocator() or _plain)
        places.append(simulated_memory.Place(moved))
        return moved

    out = _mapped(result, (np.ndarray, np.generic), placed)
    held = _mapped((args, options), np.ndarray, simulated_memory.Place)

    @np.errstate(all="ignore")
    def step() -> None:
        again, more = _mapped(held, simulated_memory.Place, lambda place: place.array())
        for place, leaf in zip(places, _arrays(found(*again, **more))):
            if place is not None:
                np.copyto(place.array(), leaf)

    capture.record(step, stream)
    return wrap(out)
