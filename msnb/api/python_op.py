"""Operators of one's own, written in NumPy: ``ops.Custom(fn, out_shape, out_dtype, func_type="pyfunc")``.

    eager     fn is called with arrays, at once
    graph     a call back into Python, whose result types the two functions promise; checked when it runs

Without ``bprop`` the gradient stops here: NumPy's work has none.
Source: `mindspore.ops.Custom`
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.api.transforms.custom_gradient import custom_vjp
from msnb.base import ArgumentError, AttributeValueError, ShapeError, events
from msnb.core import Tensor, TensorType, as_dtype, slot, tensor_type
from msnb.ir import GraphBuilder, HostFn, host_call
from msnb.ops import stop_gradient
from msnb.ops.definition.type_inference import operand_lines


class Custom:
    """An operator made of a Python function over NumPy arrays.

    Args:
        func: ``func(*arrays)`` gives an array, or a tuple of arrays.
        out_shape: the shape of the result, or a function of the inputs' shapes that gives it; several results: a tuple
            of shapes.
        out_dtype: the dtype of the result, or a function of the inputs' dtypes; several results: a tuple of dtypes.
        func_type: "pyfunc".
        bprop: ``bprop(*inputs, out, dout)`` gives the gradient of every input; it is written in operators.

    Raises:
        ValueError: another func_type, or no out_shape or out_dtype.
        ShapeError: the function gives another shape than was promised.

    Source: `mindspore.ops.Custom`

    Examples:
        >>> import msnb as ms
        >>> import numpy as np
        >>> rule = lambda x, out, dout: (ms.ops.cos(x) * dout,)
        >>> sine = ms.ops.Custom(np.sin, lambda x: x, lambda x: x, "pyfunc", rule)
        >>> sine(ms.Tensor([0.0])).tolist(), ms.grad(sine)(ms.Tensor([0.0])).tolist()
        ([0.0], [1.0])
    """

    def __init__(
        self, func: Callable[..., Any], out_shape: Any = None, out_dtype: Any = None, func_type: str = "hybrid",
        bprop: Callable[..., Any] | None = None, reg_info: Any = None,
    ) -> None:  # fmt: skip
        if func_type != "pyfunc":
            raise AttributeValueError(
                f"Custom: func_type={func_type!r} is code for MindSpore's devices; 'pyfunc' takes a NumPy function.",
                hint="an operator with kernels of its own is a record in a plug-in (entry point msnb.ops).",
            )
        if reg_info is not None:
            events.ignored("Custom(reg_info=)", "it registers code for MindSpore's devices, and a pyfunc has none")
        if not callable(func):
            raise ArgumentError(f"Custom: func is a function of NumPy arrays, got {func!r}.")
        if out_shape is None or out_dtype is None:
            raise AttributeValueError("Custom: out_shape and out_dtype say what func gives; a graph must know it.")
        self.func: Callable[..., Any] = func
        self.out_shape: Any = out_shape
        self.out_dtype: Any = out_dtype
        self.name: str = getattr(func, "__name__", type(func).__name__)
        self._run = self._forward if bprop is None else custom_vjp(self._forward, bprop)

    def __call__(self, *inputs: Any) -> Any:
        """The operator on tensors."""
        return self._run(*[x if isinstance(x, Tensor) else Tensor(x) for x in inputs])

    def __repr__(self) -> str:
        return f"Custom({self.name})"

    def _forward(self, *inputs: Any) -> Any:
        types = self._types(inputs)
        several = len(types) > 1 or self._gives_tuple(inputs)
        if isinstance(slot.engine, GraphBuilder):
            fn = HostFn(lambda *given: self._computed(given, types), self.name)
            found: Sequence[Any] = host_call(slot.engine, fn, [stop_gradient(x) for x in inputs], types)
        else:
            found = self._computed(inputs, types)
        return tuple(found) if several else found[0]

    def _asked(self, said: Any, of_inputs: list[Any]) -> Any:
        return said(*of_inputs) if callable(said) else said

    def _shapes(self, inputs: Sequence[Any]) -> Any:
        return self._asked(self.out_shape, [list(x.shape) for x in inputs])

    def _gives_tuple(self, inputs: Sequence[Any]) -> bool:
        shape = self._shapes(inputs)
        return isinstance(shape, (tuple, list)) and any(isinstance(s, (tuple, list)) for s in shape)

    def _types(self, inputs: Sequence[Any]) -> list[TensorType]:
        shapes, kinds = self._shapes(inputs), self._asked(self.out_dtype, [x.dtype for x in inputs])
        if not self._gives_tuple(inputs):
            shapes, kinds = (shapes,), kinds if isinstance(kinds, (tuple, list)) else (kinds,)
        if len(shapes) != len(kinds):
            said = f"{len(shapes)} shapes and {len(kinds)} dtypes"
            raise AttributeValueError(f"Custom({self.name}): {said} were promised.")
        return [tensor_type(tuple(shape), as_dtype(kind)) for shape, kind in zip(shapes, kinds)]

    def _computed(self, inputs: Sequence[Any], types: Sequence[TensorType]) -> list[Tensor]:
        """The results of the function, as was promised."""
        given = self.func(*[x._host() if isinstance(x, Tensor) else np.asarray(x) for x in inputs])
        arrays = given if isinstance(given, (tuple, list)) else (given,)
        if len(arrays) != len(types):
            raise ShapeError(f"{self.name} gave {len(arrays)} results, {len(types)} were promised.")
        for array, promised in zip(arrays, types):
            if np.shape(array) != promised.ints():
                raise ShapeError(
                    f"{self.name} gave an array of shape {list(np.shape(array))}, out_shape promised "
                    f"{list(promised.shape)}."
                )
        return [Tensor(np.asarray(array).astype(t.dtype.numpy)) for array, t in zip(arrays, types)]


class PyFunc:
    """A Python function of arrays as an operator: ``Custom`` with types and shapes said beforehand, and no gradient.

    Args:
        fn: ``fn(*arrays)`` gives an array, or a tuple of arrays; an input of shape () comes as a Python number.
        in_types, in_shapes: dtype and shape of each input. out_types, out_shapes: of each result.
        stateful: in a program calls keep their order, whether this says so or not.

    Raises:
        TypeError: inputs of other dtypes or shapes, or another number of them.

    Source: `mindspore.ops.PyFunc`

    Examples:
        >>> import msnb as ms
        >>> add = PyFunc(lambda x, y: x + y, [ms.float32, ms.float32], [(2,), (2,)], [ms.float32], [(2,)])
        >>> add(ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0]))[0].tolist()
        [4.0, 6.0]
    """

    def __init__(
        self, fn: Callable[..., Any], in_types: Sequence[Any], in_shapes: Sequence[Any], out_types: Sequence[Any],
        out_shapes: Sequence[Any], stateful: bool = True,
    ) -> None:  # fmt: skip
        if len(in_types) != len(in_shapes) or len(out_types) != len(out_shapes):
            raise ArgumentError("PyFunc: there are as many types as shapes, of inputs and of results.")
        self.fn: Callable[..., Any] = fn
        self.stateful: bool = stateful
        self.given: list[tuple[Any, tuple[int, ...]]] = [
            (as_dtype(kind), tuple(shape)) for kind, shape in zip(in_types, in_shapes)
        ]
        self._run = Custom(self._called, tuple(map(tuple, out_shapes)), tuple(out_types), "pyfunc")

    def _called(self, *arrays: Any) -> Any:
        return self.fn(*[a if a.ndim else a.item() for a in arrays])

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        """The results, always a tuple; inputs one by one, or a tuple of them."""
        flat = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)) else inputs
        tensors = [x if isinstance(x, Tensor) else Tensor(x) for x in flat]
        found = [(x.dtype, tuple(x.shape)) for x in tensors]
        if found != self.given:
            said = ", ".join(f"{kind.name}{list(shape)}" for kind, shape in self.given)
            raise ArgumentError(f"PyFunc takes {said}.", operands=operand_lines(*[x._type for x in tensors]))
        out: tuple[Any, ...] = self._run(*tensors)
        return out
