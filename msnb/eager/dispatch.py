"""Eager dispatch: the shortest way from an op and its operands to a kernel.

Types are interned, so a signature is a tuple of objects compared by identity. The first call with a signature infers
the result type and asks the device for a kernel; every later one is one dictionary look-up in the op's own table:

    op.fast[(type of x, type of y)]             no attributes
    op.fast[type]                               two tensors of one type: the commonest case, with a key at hand
    op.fast[(type of x, (1, int), ...)]         attributes enter with their Python types: 1, 1.0 and True are not one
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from msnb.base import MsnbError, device_registry, events, op_listeners, reraise_interrupt
from msnb.base.settings import KNOBS
from msnb.core import WEAK, PlainReads, Tensor, TensorType, Type, make, type_of_buffer
from msnb.core.engine import install_default
from msnb.core.step_undo import log, note
from msnb.devices.result_memory import careful, overflowed, refused, told
from msnb.ops.definition.operand_checks import as_tensor, is_operand, no_operand, plain_scalar
from msnb.ops.definition.record import REGISTRY, Op


class DispatchEntry:
    """What dispatch needs for one signature.

    Attributes:
        kernel: buffers in, buffer (or tuple) out.
        type: the result type of an op with one static result; None sends the call the general way.
        types: the result types.
        op, operand_types, attrs: the signature itself; the recorder makes Nodes of them.
        keep: positions of the inputs that the gradient rule reads, and of the results; None without a gradient.
        rules: what ``backward_pass`` knows of its gradient, by the operands that want one.
        results: the results that a cotangent can come to, by their places.
        form: the same without its integers, once ``backward_templates`` asked.
    """

    __slots__ = ("attrs", "form", "keep", "kernel", "op", "operand_types", "results", "rules", "type", "types")

    def __init__(self, op: Op, operand_types: tuple[Type, ...], attrs: dict[str, Any], types: tuple[Type, ...]) -> None:
        self.op: Op = op
        self.operand_types: tuple[Type, ...] = operand_types
        self.attrs: dict[str, Any] = attrs
        self.types: tuple[Type, ...] = types
        self.kernel: Any = careful(device_registry.current(), op, operand_types, attrs, types)
        self.rules: dict[Any, Any] = {}
        self.results: Sequence[int] = range(len(types))
        self.form: Any = None
        single = types[0] if len(types) == 1 else None
        self.type: TensorType | None = single if isinstance(single, TensorType) and single.is_static else None
        self.keep: tuple[tuple[int, ...], bool] | None = keeps(op, operand_types, types)


def keeps(op: Op, operand_types: tuple[Type, ...], types: tuple[Type, ...]) -> tuple[tuple[int, ...], bool] | None:
    """Which inputs, and whether the results, must be kept alive for the gradient rule; None: there is no gradient."""
    if op.grad is None or not any(isinstance(t, TensorType) and t.dtype.differentiable for t in types):
        return None
    wanted = op.wanted_by_grad
    fixed = [name for name in op.inputs if not name.startswith("*")]
    kept = [i for i, name in enumerate(fixed) if name in wanted and i < len(operand_types)]
    if op.variadic and op.inputs[-1].lstrip("*") in wanted:
        kept += range(len(fixed), len(operand_types))
    return tuple(kept), "out" in wanted or "outs" in wanted


_WEAK = WEAK
MOST = 2048
"""Signatures of an op that are kept; then the older half goes (with sizes that never come again a kernel is 5 kB)."""

_OF_KERNELS = {"device_target", "device_id", "jit_level", "runtime_num_threads", "matmul_precision", "deterministic"}


def _forget(changes: dict[str, Any]) -> None:
    """Kernels belong to a device and to what it may use: after a change, another table."""
    if changes.keys() & _OF_KERNELS:
        for op in REGISTRY.values():
            op.fast.clear()


assert "device_target" in KNOBS
events.subscribe("context", _forget)


def as_operand(op: Op, inputs: tuple[Any, ...], at: int) -> Any:
    """A Tensor or Python scalar of what the user passed; what cannot be one is told by name."""
    x = plain_scalar(inputs, at)
    if type(x) in WEAK:
        return x
    if not is_operand(x):
        raise no_operand(op, inputs, at)
    return as_tensor(x)


def type_of(x: Any) -> TensorType:
    """The type of an operand; weak for Python scalars."""
    return x._type if isinstance(x, Tensor) else WEAK[type(x)]


def attrs_key(attrs: dict[str, Any]) -> tuple[Any, ...]:
    """Attribute values with their Python types."""
    return (*attrs.values(), *map(type, attrs.values()))


def entry_for(op: Op, types: tuple[Type, ...], attrs: dict[str, Any]) -> DispatchEntry:
    """A new entry of a signature; raises the op's own sentence on a wrong call, with the user's line."""
    results = op.result_types(types, attrs)
    if len(op.fast) > MOST:
        for old in [*op.fast][: MOST // 2]:
            op.fast.pop(old, None)
    key = types if not attrs else (types, attrs_key(attrs))
    entry: DispatchEntry = op.fast.setdefault(key, DispatchEntry(op, types, attrs, results))
    if len(types) == 2 and types[0] is types[1] and not attrs:
        op.fast[types[0]] = entry
    return entry


def kernel_failed(op: Op, operands: Any, error: Exception, results: tuple[Type, ...] = ()) -> Exception:
    """The error to raise when a kernel raised: a symbolic tensor that escaped has a sentence of its own."""
    if any(isinstance(x, Tensor) and x._data is None and isinstance(x._type, TensorType) for x in operands):
        for x in operands:
            if isinstance(x, Tensor) and x._data is None:
                try:
                    x._buffer()
                except MsnbError as leaked:
                    return leaked
    types = [type_of(x) for x in operands]
    known = told(op, types, results, error)
    if known is not None:
        return known
    if isinstance(error, MemoryError) and not isinstance(error, MsnbError):
        return refused(op, types, results)
    error = overflowed(op, types, error)
    return (
        error if isinstance(error, MsnbError) else device_registry.misplaced(op.name, types, buffers(operands)) or error
    )


def look_up(op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> tuple[DispatchEntry, list[Any]]:
    """The general way: any number of operands of any legal kind."""
    operands = [*inputs]
    types: Any = tuple([x._type if isinstance(x, Tensor) else _WEAK.get(x.__class__) for x in inputs])
    if None in types:
        operands = [x if isinstance(x, Tensor) else as_operand(op, inputs, i) for i, x in enumerate(inputs)]
        types = tuple(map(type_of, operands))
    entry = op.fast.get(types if not attrs else (types, attrs_key(attrs)))
    return entry or entry_for(op, types, attrs), operands


def buffers(operands: list[Any]) -> list[Any]:
    """What kernels take: buffers, and Python scalars as they are."""
    return [x._data if isinstance(x, Tensor) else x for x in operands]


def wrap(entry: DispatchEntry, result: Any) -> Any:
    """Tensors around what a kernel gave; sizes that only the data told are read off the buffers."""
    if entry.type is not None:
        return make(result, entry.type)
    if len(entry.types) == 1:
        return make(result, _actual(entry.types[0], result))
    return tuple([make(r, _actual(t, r)) for r, t in zip(result, entry.types)])


def run_any(op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], note: Callable[..., None] | None = None) -> Any:
    """The general way; ``note`` enters an op with a gradient into a tape."""
    entry, operands = look_up(op, inputs, attrs)
    start = perf_counter() if op_listeners else 0.0
    try:
        result = entry.kernel(*buffers(operands))
    except Exception as error:
        reraise_interrupt(error)
        raise kernel_failed(op, operands, error, entry.types) from None
    out = wrap(entry, result)
    seconds = perf_counter() - start if op_listeners else 0.0
    if note is not None and entry.keep is not None:
        note(entry, operands, out if isinstance(out, tuple) else (out,))
    if op_listeners:
        events.emit("op", op=op, inputs=inputs, attrs=attrs, outputs=out, seconds=seconds)
    return out


def _actual(t: Type, buffer: Any) -> Any:
    return type_of_buffer(buffer) if isinstance(t, TensorType) and not t.is_static else t


_new = object.__new__


class EagerEngine(PlainReads):
    """Runs ops at once. An engine with an ``apply`` of its own is asked by it for pairs too."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "apply" in cls.__dict__ and "pair" not in cls.__dict__:
            cls.pair = PlainReads.pair  # type: ignore[method-assign]

    def apply(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Run ``op`` on Tensors and Python scalars and wrap the result."""
        if len(inputs) == 1:
            return self.apply_one(op, inputs, attrs)
        if attrs or op_listeners or len(inputs) != 2:
            return run_any(op, inputs, attrs)
        a, b = inputs
        class_b = b.__class__
        try:
            if class_b in _WEAK:
                entry, one, other = op.fast[a._type, _WEAK[class_b]], a._data, b
            elif a.__class__ in _WEAK:
                entry, one, other = op.fast[_WEAK[a.__class__], b._type], a, b._data
            else:
                entry, one, other = op.fast[a._type, b._type], a._data, b._data
            result = entry.kernel(one, other)
        except Exception as error:  # unknown signature, odd operand, failing kernel: the general way tells in full
            reraise_interrupt(error)
            return run_any(op, inputs, attrs)
        return make(result, entry.type) if entry.type is not None else wrap(entry, result)

    def pair(self, op: Op, a: Tensor, b: Tensor) -> Any:
        """Two tensors: ``apply`` with nothing left to ask, written out (a call costs a tenth of an addition)."""
        if op_listeners:
            return run_any(op, (a, b), {})
        try:
            one, other = a._type, b._type
            entry = op.fast[one] if one is other else op.fast[one, other]
            result = entry.kernel(a._data, b._data)
        except Exception as error:
            reraise_interrupt(error)
            return run_any(op, (a, b), {})
        if entry.type is None:
            return wrap(entry, result)
        t = _new(Tensor)
        t._data, t._type, t._rec, t._kept = result, entry.type, None, None
        return t

    def apply_one(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """One plain tensor: the same short way, where nobody listens."""
        try:
            (a,) = inputs
            entry = op.fast.get(((a._type,), attrs_key(attrs)) if attrs else (a._type,)) if not op_listeners else None
            result = None if entry is None else entry.kernel(a._data)
        except Exception as error:
            reraise_interrupt(error)
            entry = None
        if entry is None:
            return run_any(op, inputs, attrs)
        return make(result, entry.type) if entry.type is not None else wrap(entry, result)

    def assign(self, target: Tensor, value: Tensor) -> None:
        """``target`` takes the buffer of ``value``: buffers are never written, so sharing one is safe."""
        if log.entries is not None:
            note(target)
        target._data, target._type, target._rec = value._data, value._type, value._rec
        target._kept = None


eager: EagerEngine = EagerEngine()
install_default(eager)
