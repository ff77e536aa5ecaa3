"""Primitives: operations of oneDNN with every layout settled, made once per description and kept.

    description --> primitive descriptor (chooses code and layouts) --> primitive (machine code)

A description is plain data: what to do, the Layouts of the operands, the post-ops, the number of threads (the library
divides the work when it makes the code, so code for two threads must run on two). A primitive has no memory of its own:
scratch memory and operands are handed in at each run, so programs may share one.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from msnb.base.threads import fork_locks
from msnb.core import trace_of
from msnb.devices.cpu import thread_pool
from msnb.devices.cpu.onednn import c_api as c
from msnb.devices.cpu.onednn.c_api import Api, Attributes, Desc, OneDNNError, api, dims_array
from msnb.devices.cpu.onednn.symbolic_primitive import symbolic_primitive

_KEPT = 2048
_SHARED_WORK = 4_000_000.0  # flops: about 50 us on one thread; on a busy machine a second one may be waited for
_lock = fork_locks.settled(threading.RLock(), rank=2)
_made: OrderedDict[Any, Primitive | None] = OrderedDict()
_OFTEN = 4
_sizes: OrderedDict[Any, set[int]] = OrderedDict()


class Layout(NamedTuple):
    """How a tensor lies in memory: strides in elements per axis, None where the primitive may choose."""

    dims: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: int = c.F32


_SCRATCH = Layout((16,), (1,), c.S32)


class KernelWindow(NamedTuple):
    """How a kernel slides: per axis its step, its holes (1: none), and the padding before and after."""

    stride: tuple[int, int]
    dilation: tuple[int, int]
    before: tuple[int, int]
    after: tuple[int, int]


Post = tuple[Any, ...]


class Primitive:
    """Machine code for one operation.

    Attributes:
        address: what ``execute`` takes.
        threads: how many it was made for.
        description: what it was made from.
        scratch: bytes of memory it needs while it runs.
        name: of the code, for profiles.
    """

    api: Api
    threads: int

    description: tuple[Any, ...] = ()

    def __init__(self, api: Api, pd: int, count: int, hold: Any = None) -> None:
        self.api, self._pd, self.threads, self._hold = api, pd, count, hold
        self.address: int = api.create("primitive_create", pd)
        self.scratch: int = self.size(c.SCRATCHPAD)
        self.name: str = api.implementation(pd)

    def desc(self, argument: int) -> int:
        """The memory descriptor of an argument (the primitive's own)."""
        return self.api.argument(self._pd, argument)

    def size(self, argument: int) -> int:
        """Bytes of an argument."""
        found = self.desc(argument)
        return self.api.size(found) if found else 0

    def lies(self, argument: int, layout: Layout | Argument) -> bool:
        """True when the argument is wanted exactly as ``layout`` says."""
        if isinstance(layout, Argument):
            return self.api.equal(self.desc(argument), layout.primitive.desc(layout.number))
        desc = Desc(self.api, layout.dims, layout.dtype, layout.strides)
        return self.api.equal(self.desc(argument), desc.address)

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self.api.call("primitive_destroy", self.address)
            self.api.call("primitive_desc_destroy", self._pd)


class RuntimePrimitive(Primitive):
    """A primitive that is told its sizes when it runs, with the sizes of one use. It takes scratch memory, as those do
    that are made for their sizes, and leaves it alone: a program is one for both."""

    def __init__(self, shared: Primitive, layouts: dict[int, Layout | None]) -> None:
        self._hold = shared
        self.api: Api = shared.api
        self.threads: int = shared.threads
        self.name: str = shared.name
        self.address: int = shared.address
        self._descs = {n: _desc(self.api, v) for n, v in {**layouts, c.SCRATCHPAD: _SCRATCH}.items() if v is not None}
        self.scratch: int = self.size(c.SCRATCHPAD)

    def desc(self, argument: int) -> int:
        """As of the primitive."""
        found = self._descs.get(argument)
        return self._hold.desc(argument) if found is None else found.address  # type: ignore[no-any-return]

    def __del__(self) -> None:
        """The code is the shared primitive's."""


def cached(key: Any, make: Callable[[Api, int], Primitive], work: float = math.inf) -> Primitive | None:
    """The primitive for a description; None where the library has none, or only its slow reference code.

    Args:
        key: the description: a name in ``_MAKERS`` and the arguments of that function.
        make: makes it for a number of threads.
        work: how many flops it does: little work is faster on one thread.
    """
    trace = trace_of(key)
    if trace is not None:
        return symbolic_primitive(trace, _MAKERS[key[0]], key[1:])  # type: ignore[return-value]
    found = api()
    if found is None:
        return None
    count = 1 if work < _SHARED_WORK else thread_pool.count()
    with _lock:
        if (key, count) in _made:
            _made.move_to_end((key, count))
            return _made[key, count]
        try:
            found.set_threads(count)
            made: Primitive | None = make(found, count)
        except OneDNNError:
            made = None
        if made is not None:
            made.description = key
        _made[key, count] = None if made is None or made.name.startswith("ref") else made
        if len(_made) > _KEPT:
            _made.popitem(last=False)
        return _made[key, count]


def _desc(api: Api, layout: Layout | None) -> Any:
    return None if layout is None else Desc(api, layout.dims, layout.dtype, layout.strides)


def _address(desc: Any) -> int | None:
    return None if desc is None else desc.address


def _attributes(api: Api, post: Post) -> tuple[Attributes, Any]:
    """The attributes, and the descriptors that they refer to."""
    ready = [(kind, *(_desc(api, a) if isinstance(a, Layout) else a for a in rest)) for kind, *rest in post]
    return Attributes(api, ready), ready


def _slides(w: KernelWindow) -> list[Any]:
    """Stride, holes (0: none) and padding as oneDNN counts them."""
    return [dims_array(v) for v in (w.stride, tuple(d - 1 for d in w.dilation), w.before, w.after)]


def _flops(y: Layout, weight: Layout) -> float:
    """Each output meets the weights of one output channel."""
    return 2.0 * math.prod(y.dims) * math.prod(weight.dims[-3:])


def _convolved(
    api: Api, count: int, what: str, layouts: Sequence[Layout | None], window: KernelWindow, more: Sequence[Any]
) -> Primitive:
    """A primitive of the family; ``more`` stands behind the window: what to compare with, and attributes."""
    descs = [_desc(api, v) for v in layouts]
    kind = (c.TRAINING,) if what == "forward" else ()
    where = [*kind, c.CONVOLUTION_DIRECT, *map(_address, descs), *_slides(window), *more]
    return Primitive(api, api.create(f"convolution_{what}_primitive_desc_create", api.engine, *where), count)


def convolution(
    x: Layout, weight: Layout, y: Layout, window: KernelWindow, bias: Layout | None = None, post: Post = ()
) -> Primitive | None:
    """y = post(conv(x, weight) + bias); the weight has a leading axis of groups if it has five."""

    def make(api: Api, count: int) -> Primitive:
        attr, _ = _attributes(api, post)
        return _convolved(api, count, "forward", (x, weight, bias, y), window, (attr.address,))

    return cached(("conv", x, weight, y, window, bias, post), make, _flops(y, weight))


def convolution_input_grad(dx: Layout, weight: Layout, dy: Layout, window: KernelWindow) -> Primitive | None:
    """dx of a convolution, from dy and its weight."""

    def make(api: Api, count: int) -> Primitive:
        attr = Attributes(api)
        return _convolved(api, count, "backward_data", (dx, weight, dy), window, (None, attr.address))

    return cached(("conv_dx", dx, weight, dy, window), make, _flops(dy, weight))


_VECTOR = 16
"""Channels of a vector, on the widest CPU."""


def _overruns(x: Layout, dweight: Layout, window: KernelWindow) -> bool:
    one = math.prod(dweight.dims[-2:]) == 1 and window.stride != (1, 1)
    return one and x.strides is not None and x.strides[1] == 1 and x.dims[1] < _VECTOR


def convolution_weight_grad(
    x: Layout, dweight: Layout, dy: Layout, window: KernelWindow, dbias: Layout | None = None
) -> Primitive | None:
    """dweight (and the sums of dy over all but channels) of a convolution, from x and dy.

    None for 1x1 kernels with a step on few channels that lie together: oneDNN 2023.2 gathers the pixels that count into
    scratch memory of that many channels and writes whole vectors of them, so it destroys what lies behind.
    """
    if _overruns(x, dweight, window):
        return None

    def make(api: Api, count: int) -> Primitive:
        attr = Attributes(api)
        return _convolved(api, count, "backward_weights", (x, dweight, dbias, dy), window, (None, attr.address))

    return cached(("conv_dw", x, dweight, dy, window, dbias), make, _flops(dy, dweight))


def matmul(
    x: Layout, y: Layout, out: Layout, bias: Layout | None = None, post: Post = (), work: float = math.inf
) -> Primitive | None:
    """out = post(x @ y + bias) over the last two axes; leading axes of size 1 broadcast. One with runtime dimensions
    where sizes have changed ``_OFTEN`` times."""
    args = (x, y, out, bias, post, work)
    if trace_of(args) is None and _sizes_change(args) and (found := runtime_matmul(*args)) is not None:
        return found

    def make(api: Api, count: int) -> Primitive:
        descs = [_desc(api, v) for v in (x, y, bias, out)]
        attr, _ = _attributes(api, post)
        pd = api.create("matmul_primitive_desc_create", api.engine, *(_address(d) for d in descs), attr.address)
        return Primitive(api, pd, count)

    return cached(("matmul", *args), make, work)


def runtime_matmul(x: Layout, y: Layout, out: Layout, bias: Layout | None, post: Post, work: float) -> Primitive | None:
    """As ``matmul``, by the one primitive that is told all dimensions when it runs (oneDNN: DNNL_RUNTIME_DIM_VAL).

    Against one made for its sizes, 0.6 ms and 300 kB each, it took 0.8 to 1.4 times the time. None where the library
    has only slow code for that, as for half precision.
    """
    if {v.dtype for v in (x, y, out)} != {c.F32} or post:
        return None

    def make(api: Api, count: int) -> Primitive:
        kinds = [None if v is None else _runtime_layout(v) for v in (x, y, out, bias)]
        shared = None if None in kinds[:3] else _made_for_all(kinds, work)
        if shared is None:
            raise OneDNNError("matmul_primitive_desc_create", c.UNIMPLEMENTED)
        layouts: dict[int, Layout | None] = {c.SRC: x, c.WEIGHTS: y, c.DST: out, c.BIAS: bias}
        return RuntimePrimitive(shared, layouts)

    return cached(("runtime_matmul", x, y, out, bias, post, work), make, work)


def _made_for_all(kinds: Sequence[Layout | None], work: float) -> Primitive | None:
    def make(api: Api, count: int) -> Primitive:
        x, y, out, bias = (_desc(api, v) for v in kinds)
        attr = Attributes(api)
        descs = (_address(d) for d in (x, y, bias, out))
        return Primitive(api, api.create("matmul_primitive_desc_create", api.engine, *descs, attr.address), count)

    return cached(("runtime", *kinds), make, work)


def _runtime_layout(layout: Layout) -> Layout | None:
    """The layout without its sizes, with the axis that lies densely; None where there is none."""
    if layout.strides is None or 1 not in layout.strides[-2:]:
        return None
    dense = -1 if layout.strides[-1] == 1 else -2
    strides = [c.RUNTIME_DIM] * len(layout.dims)
    strides[dense] = 1
    return Layout((c.RUNTIME_DIM,) * len(layout.dims), tuple(strides), layout.dtype)


def _sizes_change(args: tuple[Any, ...]) -> bool:
    """True if products came that are this one but for one size, wherever it stands, ``_OFTEN`` times."""
    x, y, out, bias, post, _ = args
    whole = (*x.dims, *out.dims[-1:])
    kinds = (*(v and v.strides and tuple(s == 1 for s in v.strides[-2:]) for v in (x, y, out)), bias is None, post)
    found = False
    with _lock:
        for size in set(whole):
            seen = _sizes.setdefault((kinds, tuple(0 if d == size else d for d in whole)), set())
            if len(seen) <= _OFTEN:
                seen.add(size)
            found |= len(seen) > _OFTEN
        while len(_sizes) > _KEPT:
            _sizes.popitem(last=False)
    return found


class Argument(NamedTuple):
    """An argument of a primitive, standing for the layout that the primitive wants there."""

    primitive: Primitive
    number: int


def reorder(source: Layout | Argument, target: Layout | Argument) -> Primitive | None:
    """A copy from one layout to another."""

    def make(api: Api, count: int) -> Primitive:
        own = [v if isinstance(v, Argument) else _desc(api, v) for v in (source, target)]
        a, b = (v.primitive.desc(v.number) if isinstance(v, Argument) else v.address for v in own)
        attr = Attributes(api)
        pd = api.create("reorder_primitive_desc_create", a, api.engine, b, api.engine, attr.address)
        return Primitive(api, pd, count, hold=(source, target))

    # a copy waits for memory: a thread for each 100,000 elements
    return cached(("reorder", source, target), make, 10.0 * _elements(source, target))


def _elements(*layouts: Layout | Argument) -> float:
    known = [math.prod(v.dims) for v in layouts if isinstance(v, Layout)]
    return max(known) if known else max(v.primitive.size(v.number) / 4 for v in layouts if isinstance(v, Argument))


# ---- descriptions as plain data ----

_MAKERS: dict[str, Callable[..., Primitive | None]] = {
    "conv": convolution,
    "conv_dx": convolution_input_grad,
    "conv_dw": convolution_weight_grad,
    "matmul": matmul,
    "runtime_matmul": runtime_matmul,
    "reorder": reorder,
}
_PARTS: dict[str, type[Any]] = {"layout": Layout, "window": KernelWindow, "argument": Argument, "tuple": tuple}


def described(value: Any) -> Any:
    """A description as strings, numbers and tuples that start with the name of their kind."""
    if isinstance(value, Primitive):
        return described(value.description)
    if not isinstance(value, tuple):
        return value
    kind = next(name for name, part in _PARTS.items() if isinstance(value, part))
    return kind, *map(described, value)


def _real(data: Any) -> Any:
    if not isinstance(data, (tuple, list)):
        return data
    parts = [_real(d) for d in data[1:]]
    if data[0] == "argument":
        return Argument(_remade(parts[0]), parts[1])
    return tuple(parts) if data[0] == "tuple" else _PARTS[data[0]](*parts)


def _remade(description: tuple[Any, ...]) -> Primitive:
    made = _MAKERS[description[0]](*description[1:])
    if made is None:
        raise LookupError(f"no primitive {description[0]}")
    return made


def made_again(data: Any, count: int) -> Primitive:
    """The primitive of a description as plain data.

    Raises:
        LookupError: the library does not make it, or for another number of threads.
    """
    made = _remade(_real(data))
    if made.threads != count:
        raise LookupError(f"{made.name} works on {made.threads} threads, not {count}")
    return made
