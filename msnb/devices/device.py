"""The device protocol: kernels for eager, compile for graph.

    from_host / to_host / owns / synchronize      buffers (all that a Tensor asks, see core.devices)
    kernel(op, types, attrs)                      a callable on buffers, for eager dispatch and the reference executor
    compile(graph)                                an Executable: buffers in, buffers out

A device built on an array library gets everything from ``ArrayDevice``: kernels are the reference bodies over its
module ``xp``, programs run through the reference executor.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import methodcaller
from typing import Any, ClassVar, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from msnb.base import MsnbError, ShapeError
from msnb.core import DType, TensorType, Type, bool_, int64
from msnb.core.storage.memory_format import BlockedFormat
from msnb.devices.inspection import DeviceMachine, LaunchCost, Listing, NodeLowering, PlannedBuffer
from msnb.ir.analysis.structural_hash import Content
from msnb.ir.graph import Graph, Node
from msnb.ops.definition.record import Op, in_range, operand_dtype
from msnb.ops.definition.type_inference import alike

Kernel = Callable[..., Any]

# log(0) is -inf and 0/0 is NaN, without a word, as on every device; NumPy's warnings to the user's own code stay
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"msnb\.")


class Executable(Protocol):
    """A compiled program."""

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        """Buffers (Python scalars for weak params) in, buffers out, one per graph output."""
        ...


class ProgramTemplate(Protocol):
    """Programs that differ in their sizes alone."""

    def bound(self, sizes: Mapping[str, int], remake: Callable[[], Graph]) -> Executable | None:
        """The program for these sizes; None where they make another one.

        Args:
            sizes: the values of the symbols.
            remake: gives the graph that ``compile`` would be given; asked for only when somebody looks inside.
        """
        ...


WARM, HOT = 30, 1000
"""After so many calls operations are fused: where the compiler is loaded already, and where it is not."""


class FusedCall(NamedTuple):
    """Operations as one function of buffers.

    Attributes:
        run: takes operands, then results to fill; gives None where these operands are not for it.
        outs, views: numbers of the values that it fills, with sizes and dtypes, and of those that are views of others.
    """

    run: Kernel
    outs: list[tuple[int, tuple[tuple[int, ...], Any]]]
    views: list[int]


class DeviceFeatures:
    """What compiler and eager mode ask of a device before they count on it; a device that has more overrides these.

    Properties where the answer needs a library or depends on settings: nothing is loaded before somebody asks.
    """

    fuses: ClassVar[bool] = False
    """Groups of operations become one kernel."""

    worth_fusing: ClassVar[int] = 40960
    """Work, elements that its operations make, from which on a framework function is faster as one program in eager
    mode."""

    @property
    def prefers_channels_last(self) -> bool:
        """Its convolutions are fastest on images with their channels last."""
        return False

    @property
    def has_attention(self) -> bool:
        """It runs ``flash_attention`` without its matrix of scores."""
        return False

    @property
    def remembers(self) -> bool:
        """Its programs are kept from one process to the next (``Device.keep``, ``Device.recall``)."""
        return False


class Device(Protocol):
    """What a device can do."""

    name: str
    features: DeviceFeatures

    def from_host(self, array: NDArray[Any]) -> Any: ...
    def to_host(self, buffer: Any, check: bool = True) -> NDArray[Any]: ...
    def owns(self, buffer: Any) -> bool: ...
    def synchronize(self) -> None: ...
    def memory_use(self) -> tuple[int, int]: ...
    def release_memory(self) -> None: ...
    def failure(
        self, error: BaseException, who: str, count: int = 0, operands: Sequence[str] = (), plugin: bool = False
    ) -> MsnbError | None: ...
    def kernel(self, op: Op, types: tuple[Type, ...], attrs: dict[str, Any]) -> Kernel: ...
    def fused(self, program: Any, hot: bool) -> FusedCall | None: ...
    def compile(self, graph: Graph) -> Executable: ...
    def template(
        self, graph: Graph, sizes: Mapping[str, int], passes: Callable[[Graph], Graph], program: Executable
    ) -> ProgramTemplate | None: ...
    def recall(self, content: Content, remake: Callable[[], Graph], packs: bool) -> Executable | None: ...
    def keep(self, content: Content, program: Executable, forms: dict[int, BlockedFormat], packs: bool) -> None: ...
    def code_on_disk(self) -> tuple[int, int] | None: ...
    def blocks_of(self, gradient: Node) -> BlockedFormat | None: ...
    def kernels_of(self, program: Executable) -> list[Listing]: ...
    def ways_of(self, program: Executable) -> list[NodeLowering]: ...
    def arena_of(self, program: Executable) -> list[PlannedBuffer]: ...
    def launches_of(self, program: Executable) -> list[LaunchCost]: ...
    def seconds_of(self, program: Executable, repeats: int = 5) -> list[float]: ...
    @property
    def machine(self) -> DeviceMachine | None: ...


class ArrayDevice:
    """A device whose buffers are arrays of a NumPy-like module.

    Args:
        name: its name for ``set_context(device_target=)``.
        xp: the array module.
    """

    features = DeviceFeatures()

    def __init__(self, name: str, xp: Any) -> None:
        self.name = name
        self.xp = xp

    def from_host(self, array: NDArray[Any]) -> Any:
        """A buffer with these values."""
        return self.xp.asarray(array)

    def to_host(self, buffer: Any, check: bool = True) -> NDArray[Any]:
        """The values as a NumPy array; the host has nothing left to check."""
        return np.asarray(buffer)

    def owns(self, buffer: Any) -> bool:
        """True for arrays of this device's module."""
        return isinstance(buffer, (self.xp.ndarray, np.generic))

    def failure(
        self, error: BaseException, who: str, count: int = 0, operands: Sequence[str] = (), plugin: bool = False
    ) -> MsnbError | None:
        """What an error of the array library means, where the device knows better than the library.

        Args:
            error: what was raised.
            who: the operation or program.
            count: bytes of its results; operands: a line for each of them.
            plugin: its kernel is somebody else's.
        """
        return None

    def synchronize(self) -> None:
        """Array libraries on the host run at once: nothing to wait for."""

    def memory_use(self) -> tuple[int, int]:
        """Nothing: memory of the host belongs to the system."""
        return 0, 0

    def release_memory(self) -> None:
        """No pool, nothing to give back."""

    def kernel(self, op: Op, types: tuple[Type, ...], attrs: dict[str, Any]) -> Kernel:
        """The reference body of ``op`` for these input types, with the conversions its promotion asks for."""
        return body_kernel(self.xp, op, types, attrs)

    def fused(self, program: Any, hot: bool) -> FusedCall | None:
        """The operations of a call as one function of buffers; None where they run one by one.

        Args:
            program: operands' types, constants, steps, numbers of the wanted values.
            hot: it is called often enough to load the compiler for it.
        """
        return None

    def compile(self, graph: Graph) -> Executable:
        """The reference executor: bodies in program order, buffers released after their last use."""
        from msnb.devices.reference_executor import ReferenceProgram  # only programs at O0, and GPUs, need it

        return ReferenceProgram(self, graph)

    def template(
        self, graph: Graph, sizes: Mapping[str, int], passes: Callable[[Graph], Graph], program: Executable
    ) -> ProgramTemplate | None:
        """What gives the program of a graph with symbolic sizes for other sizes, where none of its code has a size in
        it; None where each is compiled.

        Args:
            graph: a program with symbols; sizes: their values for now.
            passes: make of it, bound to sizes, what ``compile`` is given.
            program: what was compiled for these sizes.
        """
        make = getattr(program, "template", None)
        return None if make is None else make(graph, sizes, passes)

    def recall(self, content: Content, remake: Callable[[], Graph], packs: bool) -> Executable | None:
        """The program of a captured graph that ``keep`` left; by default none is kept."""
        return None

    def keep(self, content: Content, program: Executable, forms: dict[int, BlockedFormat], packs: bool) -> None:
        """Leave a program for ``recall``; asked only where ``features.remembers``."""

    def code_on_disk(self) -> tuple[int, int] | None:
        """How many files of code are kept, and their bytes; None for a device that keeps none."""
        return None

    def blocks_of(self, gradient: Node) -> BlockedFormat | None:
        """The blocks in which the result of a ``conv2d_weight_grad`` is made; by default it lies plain."""
        return None

    def kernels_of(self, program: Executable) -> list[Listing]:
        """The code that was generated for a program; none by default."""
        return []

    def ways_of(self, program: Executable) -> list[NodeLowering]:
        """How each node of a program runs; nothing to tell by default."""
        return []

    def arena_of(self, program: Executable) -> list[PlannedBuffer]:
        """What lies where in a program's arena, and when; by default there is no arena."""
        return []

    def launches_of(self, program: Executable) -> list[LaunchCost]:
        """What each step of a program moves and computes; nothing to tell by default."""
        return []

    @property
    def machine(self) -> DeviceMachine | None:
        """The chip that it is, where its data sheet is known."""
        return None

    def seconds_of(self, program: Executable, repeats: int = 5) -> list[float]:
        """Measured seconds of each step of ``launches_of``; none where the device has no clock for them."""
        return []


def body_kernel(xp: Any, op: Op, types: tuple[Type, ...], attrs: dict[str, Any]) -> Kernel:
    """``op.body`` over ``xp`` as a function of buffers alone: attributes bound, operands and results converted."""
    direct = native_ufunc(xp, op, types, attrs) or numpy_call(xp, op, types, attrs)
    if direct is not None:
        return direct
    run = _promoting(xp, op, types, partial(op.body, xp, **attrs))
    return _converting_results(xp, op, types, attrs, run)


_UFUNCS = {"clamp_min": "maximum", "clamp_max": "minimum"}


def _needs_no_cast(t: TensorType, want: DType, exact: bool) -> bool:
    if not t.weak:
        return t.dtype is want
    narrow = want.is_int and want is not int64 and not exact  # NumPy refuses a number that does not fit
    return t.dtype.category <= want.category and not narrow


def ufunc_of(xp: Any, op: Op) -> Any:
    """What the library calls an operation, if it knows it."""
    return getattr(xp, _UFUNCS.get(op.name, op.name), None)


def native_ufunc(xp: Any, op: Op, types: tuple[Type, ...], attrs: dict[str, Any]) -> Kernel | None:
    """NumPy's own ufunc where it means exactly what the record says: nothing to convert.

    A weak scalar may stay a Python number: NumPy lets it take the other operand's dtype, as we do. A 0-d result would
    come as a NumPy scalar, unless it is told where to go.
    """
    ufunc = ufunc_of(xp, op)
    tensors = [t for t in types if isinstance(t, TensorType)]
    if attrs or "ufunc" not in op.traits or not isinstance(ufunc, np.ufunc) or all(t.weak for t in tensors):
        return None
    want = operand_dtype(op, *tensors)
    result = op.result_types(types, attrs)[0]
    if not isinstance(result, TensorType):
        return None
    exact = result.dtype is bool_  # NumPy compares integers by their values, whatever their dtypes
    if not all(_needs_no_cast(t, want, exact) for t in tensors) or want.name == "bfloat16":
        return None
    dtype = ufunc.resolve_dtypes((*[want.numpy] * len(tensors), None))[-1]
    if dtype != result.dtype.numpy:
        return None
    return (
        cast(Kernel, ufunc) if result.shape or xp is not np else lambda *given: ufunc(*given, out=np.empty((), dtype))
    )


def numpy_call(xp: Any, op: Op, types: tuple[Type, ...], attrs: dict[str, Any]) -> Kernel | None:
    """NumPy's own function or method where operands need no more: the record says which (``numpy``), and a view is the
    method that makes it. The result has the declared type and is an array."""
    if xp is not np or not (op.numpy or op.view) or not _are_static(types):
        return None
    outs: Any = op.result_types(types, attrs)
    if op.numpy is not None:
        return op.numpy(types, outs, **attrs) if _are_static(outs) else None
    if not alike(types) or not _are_static(outs):
        return None
    if op.view == "reshape":
        return methodcaller("reshape", outs[0].shape)
    return methodcaller("transpose", attrs["perm"]) if op.view == "transpose" else None


def _are_static(types: Sequence[Type]) -> bool:
    return all(isinstance(t, TensorType) and t.is_static for t in types)


def _promoting(xp: Any, op: Op, types: tuple[Type, ...], run: Kernel) -> Kernel:
    if "scalars" in op.traits:
        return run
    if not op.promotes:
        return _arrays_from_scalars(xp, types, run)
    tensors = tuple(t for t in types if isinstance(t, TensorType))
    met = operand_dtype(op, *tensors)
    want, numbers = met.numpy, [i for i, t in enumerate(types) if isinstance(t, TensorType) and t.weak]
    if not numbers and all(t.dtype.numpy == want for t in tensors):
        return run
    if not numbers or not met.is_int or "modular" in op.traits:
        return lambda *arrays: run(*[_asarray(xp, a).astype(want, copy=False) for a in arrays])

    def by_value(*arrays: Any) -> Any:
        fits = all(in_range(int(arrays[i]), met) for i in numbers)
        to = want if fits else operand_dtype(op, *tensors, fits=False).numpy
        return run(*[_asarray(xp, a).astype(to, copy=False) for a in arrays])

    return by_value


def _asarray(xp: Any, a: Any, dtype: Any = None) -> Any:
    """An operand as an array. On a GPU a kernel writes a Python number: a copy from the host cannot be recorded."""
    on_host = xp is np or isinstance(a, xp.ndarray)
    return xp.asarray(a, dtype=dtype) if on_host else xp.full((), a, dtype)


def _arrays_from_scalars(xp: Any, types: tuple[Type, ...], run: Kernel) -> Kernel:
    """Python scalars (weak types) become 0-d arrays; wide ones, for the body may write them into a float64 tensor."""
    want = [t.dtype.numpy if isinstance(t, TensorType) and t.weak else None for t in types]
    if not any(w is not None for w in want):
        return run
    return lambda *arrays: run(*[a if w is None else _asarray(xp, a, w) for a, w in zip(arrays, want)])


def _converting_results(xp: Any, op: Op, types: tuple[Type, ...], attrs: dict[str, Any], run: Kernel) -> Kernel:
    """Results have the dtype and the shape that inference promised and are arrays, never NumPy scalars."""
    if "stack" in op.traits or op.name == "constant":
        return run
    results = op.result_types(types, attrs)
    wants = [t.dtype.numpy if isinstance(t, TensorType) else None for t in results]
    shapes = [t.ints() if isinstance(t, TensorType) and t.is_static else None for t in results]
    if len(wants) == 1:
        want, shape = wants[0], shapes[0]

        def one(*arrays: Any) -> Any:
            out = run(*arrays)
            if out.__class__ is not xp.ndarray or out.dtype != want:
                out = xp.asarray(out, dtype=want)
            if out.shape != shape and shape is not None and _as_declared(types, arrays):
                raise broken_promise(op, shape, out.shape)
            return out

        return one

    def many(*arrays: Any) -> Any:
        outs = tuple([xp.asarray(o, dtype=w) for o, w in zip(run(*arrays), wants)])
        for out, shape in zip(outs, shapes):
            if out.shape != shape and shape is not None and _as_declared(types, arrays):
                raise broken_promise(op, shape, out.shape)
        return outs

    return many


def _as_declared(types: tuple[Type, ...], arrays: tuple[Any, ...]) -> bool:
    """Whether operands have the shapes of their types: who hands over others gets what the body makes of them."""
    sizes = [t.ints() if isinstance(t, TensorType) and t.is_static else None for t in types]
    return all(size is None or np.shape(a) == size for size, a in zip(sizes, arrays))


def broken_promise(op: Op, promised: tuple[int, ...], given: tuple[int, ...]) -> ShapeError:
    """The error for a body whose result is not what ``infer`` said: a value must never lie about its shape."""
    return ShapeError(
        f"{op.name} promised a result of shape {list(promised)} and gave {list(given)}.",
        hint="this is a fault of the operator's record, not of your program: its infer and its body disagree.",
    )
