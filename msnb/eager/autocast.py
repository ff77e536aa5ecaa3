"""Mixed precision at the level of operations: a rule that rides on an engine and casts operands.

    apply(op, inputs)   --rule-->   cast floats   -->   the engine's own apply   --rule-->   cast the result back

The rule is the same object in every engine: a capture keeps it for all its nested graphs, eager engines wear it in
front of their ``apply``. Gradients need nothing: a cast is an op whose gradient casts back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

from msnb.core import DType, EngineRestore, Parameter, PlainReads, Tensor, dtypes, slot, using
from msnb.eager.dispatch import EagerEngine, eager
from msnb.ops.definition.record import Op
from msnb.ops.elementwise.cast import cast

HALVES = (dtypes.float16, dtypes.bfloat16)
_UNTOUCHED = frozenset({"cast", "constant", "identity", "stop_gradient"})
_WIDE_WEIGHTS = frozenset({"batch_norm", "batch_norm_train"})
_WORN = ("apply", "pair", "whole", "cached", "autocast")


class Autocast:
    """A rule for the float operands of every operation of a Cell. float64 and ints are never touched.

    Args:
        dtype: the half.
        white: names of ops that compute in ``dtype``.
        black: names of ops that compute in float32; of functions of several ops (``whole``) too.
        back: whether results of white ops go back to float32.
        widest: other ops with operands of several float dtypes compute in float32.
        weights: trained Parameters are used in ``dtype``, except by batch norms.
    """

    def __init__(
        self, dtype: DType, white: Iterable[str] = (), black: Iterable[str] = (), *, back: bool = False,
        widest: bool = False, weights: bool = False,
    ) -> None:  # fmt: skip
        self.dtype: DType = dtype
        self.white: frozenset[str] = frozenset(white)
        self.black: frozenset[str] = frozenset(black)
        self.back: bool = back
        self.widest: bool = widest
        self.weights: bool = weights
        parts = (dtype.name, *sorted(self.white), "", *sorted(self.black), back, widest, weights)
        self.key: str = f"{dtype.name} rule {hash(parts):x}"

    def apply(self, run: Callable[..., Any], op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """``run(op, inputs, attrs)`` in the precision that the rule asks for."""
        if op.name in _UNTOUCHED:
            return run(op, inputs, attrs)
        if op.name in self.white:
            result = run(op, tuple([_cast(x, self.dtype) for x in inputs]), attrs)
            return _back(result) if self.back else result
        return run(op, self._others(op, inputs), attrs)

    def whole(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A function of several ops: one of the black list takes float32, and gives it; then each op by the rule."""
        if fn.__name__ in self.black:
            args = tuple([_cast(x, dtypes.float32) for x in args])
            kwargs = {name: _cast(x, dtypes.float32) for name, x in kwargs.items()}
        with casting(slot.engine, None) if self.weights and fn.__name__ in _WIDE_WEIGHTS else nullcontext():
            return fn(*args, **kwargs)

    def _others(self, op: Op, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        if op.name in self.black:
            return tuple([_cast(x, dtypes.float32) for x in inputs])
        if self.weights:
            inputs = tuple([_cast(x, self.dtype) if _is_weight(x) else x for x in inputs])
        if self.widest and len({x.dtype for x in inputs if _is_short(x)}) > 1:
            return tuple([_cast(x, dtypes.float32) for x in inputs])
        return inputs


def _back(result: Any) -> Any:
    """The results of a white op in float32."""
    return tuple(map(_back, result)) if isinstance(result, tuple) else _cast(result, dtypes.float32)


def _is_short(x: Any) -> bool:
    return isinstance(x, Tensor) and (x.dtype in HALVES or x.dtype is dtypes.float32)


def _is_weight(x: Any) -> bool:
    return isinstance(x, Parameter) and x.dtype is dtypes.float32 and bool(slot.engine.read(x, "requires_grad"))


def _cast(x: Any, dtype: DType) -> Any:
    return cast(x, dtype) if _is_short(x) and x.dtype is not dtype else x


@contextmanager
def casting(engine: Any, rule: Autocast | None) -> Iterator[None]:
    """Operations of this block follow ``rule`` (None: they are run as they are), in whatever engine."""
    if hasattr(engine, "session"):
        before, engine.session.autocast = engine.session.autocast, rule
        try:
            yield
        finally:
            engine.session.autocast = before
    elif engine is eager:  # one object serves all threads: a rule gets an engine of its own
        with EngineRestore(), using(eager if rule is None else wear(EagerEngine(), rule)):
            yield
    else:
        worn = {name: engine.__dict__.pop(name) for name in _WORN if name in engine.__dict__}
        try:
            wear(engine, rule)
            yield
        finally:
            for name in _WORN:
                engine.__dict__.pop(name, None)
            engine.__dict__.update(worn)


def wear(engine: Any, rule: Autocast | None) -> Any:
    """The engine with the rule on it; functions of several ops then run op by op, each by the rule."""
    if rule is not None:
        apply = partial(rule.apply, engine.apply)
        pair, cached = lambda op, a, b: apply(op, (a, b), {}), partial(PlainReads.cached, engine)
        worn: list[Callable[..., Any]] = [apply, pair, rule.whole, cached]
        engine.__dict__.update(zip(_WORN, [*worn, rule]))
    return engine


def worn_by(engine: Any) -> Autocast | None:
    """The rule of an engine."""
    return getattr(engine, "autocast", None)
