"""What a call of a gradient function asks for: which of the arguments, which Parameters, and how to give them back.

    grad(f, (0, 1))(x, scale=s)      positions count the arguments of the call: x is 0, s is 1
    grad(f, None, weights)(x)        Parameters alone
    GradientRequest.inputs           the tensors in those arguments, which may be trees; the rest of a tree stays

Checked before anything runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

from msnb.api.compiler_hints import Mutable
from msnb.base.errors import ArgumentError, AttributeValueError, DTypeError, GradientError, IndexOutOfRange
from msnb.core import Parameter, Tensor, float32, pytree, slot
from msnb.eager.recording import is_eager
from msnb.ir.builder import GraphBuilder
from msnb.ops.definition.record import find

Fn = Callable[..., Any]
Position = int | tuple[int, ...] | None
Integers = Literal["refuse", "zero", "real"]
"""What a gradient by an integer tensor is: an error; zero where it only chooses, else an error; or the gradient of the
program extended to the reals, cut off to an integer again. That is MindSpore's answer, and others come
with it: positions without a tensor are left out, and what a function without tensors gives has the gradient zero."""


class GradientRequest:
    """What a call of grad asks for, checked: the tensors to differentiate by and how to give the gradients back.

    Args:
        fn: the function.
        args, kwargs: of the call. Positions count ``args``, then ``kwargs`` as they are written.
        position, weights: what to differentiate by.
        integers: what a gradient by an integer is.
    """

    def __init__(
        self, fn: Fn, args: tuple[Any, ...], kwargs: dict[str, Any], position: Position, weights: Any,
        integers: Integers = "refuse",
    ) -> None:  # fmt: skip
        self.names, self.integers = tuple(kwargs), integers
        self.args: tuple[Any, ...] = (*args, *kwargs.values())
        if position == ():
            raise GradientError(
                "grad_position is an empty tuple: it names no argument.",
                hint="grad_position=None asks for gradients by weights alone.",
            )
        self.single, self.asks_inputs = not isinstance(position, tuple), position is not None
        self.positions = () if position is None else (position,) if isinstance(position, int) else position
        self.positions = tuple(_position(p, len(args), len(kwargs), fn) for p in self.positions)
        if integers == "real":
            asked, self.positions = self.positions, tuple(p for p in self.positions if _has_tensors(self.args[p]))
            self.single = self.single or len(asked) > len(self.positions) == 1
        self.single_weight = isinstance(weights, Parameter)
        self.weights: list[Parameter] = [weights] if self.single_weight else listed(weights)
        self.has_weights = weights is not None
        if position is None and not self.has_weights:
            raise AttributeValueError("grad needs grad_position, weights, or both.")
        self._trees = [pytree.flatten(_as_tensors(self.args[p], p, integers != "refuse")) for p in self.positions]
        self._varying = [_varying(self.args[p], leaves) for p, (leaves, _) in zip(self.positions, self._trees)]
        self.inputs: list[Any] = [
            leaf
            for (leaves, _), flags in zip(self._trees, self._varying)
            for leaf, varies in zip(leaves, flags)
            if varies
        ]

    @property
    def needs_graph(self) -> bool:
        """Whether this runs operation by operation, and has integers, of which only a graph can tell what flows."""
        return (
            self.integers != "refuse"
            and is_eager(slot.engine)
            and (any(map(is_discrete, self.inputs)) or any(map(is_discrete, self.weights)))
        )

    def call(self, fn: Fn, inputs: Sequence[Any]) -> Any:
        """``fn`` with the tensors at the positions exchanged for ``inputs``."""
        given = list(self.args)
        for p, part in zip(self.positions, self._parts(inputs)):
            given[p] = part
        n = len(given) - len(self.names)
        return fn(*given[:n], **dict(zip(self.names, given[n:])))

    def _parts(self, tensors: Sequence[Any]) -> list[Any]:
        rest = iter(tensors)
        return [
            pytree.unflatten(shape, [next(rest) if varies else leaf for leaf, varies in zip(leaves, flags)])
            for (leaves, shape), flags in zip(self._trees, self._varying)
        ]

    def result(self, gradients: Sequence[Any]) -> Any:
        """The gradients as MindSpore gives them back."""
        inputs, weights = gradients[: len(self.inputs)], tuple(gradients[len(self.inputs) :])
        of_inputs: Any = tuple(_as_gradient(part) for part in self._parts(inputs))
        of_inputs = of_inputs[0] if self.single and of_inputs else of_inputs
        of_weights: Any = weights[0] if self.single_weight else weights
        if not self.has_weights:
            return of_inputs
        return (of_inputs, of_weights) if self.asks_inputs else of_weights


def _as_gradient(part: Any) -> Any:
    """A container of gradients: integers of Python in it, by which none is, count as 0; without a mark."""
    if isinstance(part, Tensor) or hasattr(type(part), "CONSTANTS"):
        return part
    leaves, shape = pytree.flatten(part)
    leaves = [0 if isinstance(leaf, int) and not held else leaf for leaf, held in zip(leaves, pytree.constants(part))]
    found = pytree.unflatten(shape, leaves)
    return found.plain(found) if isinstance(found, Mutable) else found


def is_discrete(x: Any) -> bool:
    """A tensor of integers or truth values."""
    return isinstance(x, Tensor) and not x.dtype.differentiable


def kept(weights: Any) -> Any:
    """An iterator of Parameters as a list: it could be asked once only, and every call asks."""
    return list(weights) if isinstance(weights, Iterator) else weights


def listed(weights: Any) -> list[Parameter]:
    """The Parameters to differentiate by."""
    if weights is None:
        return []
    if hasattr(weights, "trainable_params") or not isinstance(weights, Iterable):
        hint = "pass net.trainable_params()." if hasattr(weights, "trainable_params") else ""
        raise ArgumentError(f"weights is a Parameter or a list of them, not a {type(weights).__name__}.", hint=hint)
    found = list(weights)
    wrong = next((w for w in found if not isinstance(w, Parameter)), None)
    if wrong is not None:
        raise ArgumentError(f"weights are Parameters, not {type(wrong).__name__}.")
    return found


def _position(p: Any, n: int, named: int, fn: Fn) -> int:
    if isinstance(p, bool) or not isinstance(p, int):
        raise ArgumentError(f"grad_position must be an int, a tuple of ints or None, got {p!r}.")
    if not -n <= p < n + named:
        name = getattr(fn, "__name__", "the function")
        raise IndexOutOfRange(f"grad_position {p} is outside the {n + named} arguments of this call of {name}.")
    return p % n if p < 0 else p


def as_tensor(leaf: Any) -> Any:
    """A Python float (or a number that capture keeps lazy) as a float32 tensor; other leaves as they are."""
    if not isinstance(leaf, float):
        return leaf
    return find("cast")(leaf, dtype=float32) if isinstance(slot.engine, GraphBuilder) else Tensor(leaf)


def _has_tensors(arg: Any) -> bool:
    """Whether a gradient by it is asked for where MindSpore's meaning holds: a plain number is left out."""
    return not isinstance(arg, float) and any(isinstance(leaf, (Tensor, float)) for leaf in pytree.flatten(arg)[0])


def _varying(arg: Any, leaves: Sequence[Any]) -> list[bool]:
    """Which leaves of an argument the gradient is taken by: its tensors, but for the places of sparse ones."""
    return [isinstance(leaf, Tensor) and not held for leaf, held in zip(leaves, pytree.constants(arg))]


def _as_tensors(arg: Any, position: int, integers: bool) -> Any:
    """The argument with Python floats as tensors; refuses what has no gradient (``integers``: but those)."""
    leaves, shape = pytree.flatten(arg)
    out = [as_tensor(leaf) for leaf in leaves]
    tensors = [leaf for leaf, varies in zip(out, _varying(arg, out)) if varies]
    if not tensors:
        raise DTypeError(f"argument {position} is {type(arg).__name__}: there is no tensor to differentiate by.")
    for leaf in tensors:
        if not (leaf.dtype.differentiable or integers):
            raise DTypeError(
                f"argument {position} has dtype {leaf.dtype!r}: gradients exist for floating-point tensors only.",
                operands=[f"argument {position}: {leaf._type!r}"],
                hint="convert it with .astype(ms.float32), or leave it out of grad_position.",
            )
    return pytree.unflatten(shape, out)
