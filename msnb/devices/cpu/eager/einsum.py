"""einsum in eager mode: the operations that it stands for, prepared once per signature.

    einsum(x, y, "bte,bse->bts")      0: x   1: y   2 = transpose(1)   3 = matmul(0, 2)        each by its own kernel

So its products run where other products do: in the library, on the threads of all kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb.core.types import TensorType, Type
from msnb.ops.definition.record import Op, find
from msnb.ops.linalg.einsum import parse
from msnb.ops.linalg.einsum_lowering import Contraction, LabeledValue, rounds_once, sizes_of

Kernel = Callable[..., Any]
Make = Callable[[Op, tuple[Type, ...], dict[str, Any]], Kernel]


class Steps:
    """Kernels in order, each with the numbers of the values that it reads.

    Args:
        types: of the operands.
        kernel_of: gives the kernel of an operation.
    """

    def __init__(self, types: tuple[TensorType, ...], kernel_of: Make) -> None:
        self._types: list[Type] = list(types)
        self._kernel_of = kernel_of
        self._steps: list[tuple[Kernel, tuple[int, ...]]] = []

    def make(self, name: str, *numbers: int, **attrs: Any) -> int:
        """One more step; the number of its value."""
        op = find(name)
        types, full = tuple(self._types[i] for i in numbers), op.bind_attrs(attrs)
        self._types += op.result_types(types, full)
        self._steps.append((self._kernel_of(op, types, full), numbers))
        return len(self._types) - 1

    def __call__(self, *arrays: Any) -> Any:
        values = list(arrays)
        for kernel, numbers in self._steps:
            values.append(kernel(*[values[i] for i in numbers]))
        return values[-1]


def steps_of(types: tuple[Type, ...], equation: str, kernel_of: Make) -> Steps | None:
    """The steps of an einsum; None for diagonals, sizes that only the data tell, what is not of one float dtype,
    and several operations in 16 bits."""
    known = tuple(t for t in types if isinstance(t, TensorType) and t.is_static and not t.weak and t.dtype.is_float)
    if len(known) < len(types) or len({t.dtype for t in known}) > 1:
        return None
    shapes = [t.ints() for t in known]
    terms, result = parse(equation, tuple(map(len, shapes)))
    sizes = sizes_of(terms, shapes)
    if sizes is None or (known[0].dtype.itemsize < 4 and not rounds_once(terms, result)):
        return None
    found = Steps(known, kernel_of)
    Contraction(found.make, sizes).of([LabeledValue(i, term) for i, term in enumerate(terms)], result)
    return found
