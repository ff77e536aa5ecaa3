"""Operator classes of a program's own: MindSpore's bases, which find their kernel by name.

    class ReLU6(PrimitiveWithCheck)      an operator of that name computes it; the class checks its operands first
    class Half(PrimitiveWithInfer)       infer_value gives the value; or __call__ is written by the program

What infer_shape and infer_dtype promise is compared with the result.

Source: `mindspore.ops.PrimitiveWithInfer`
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from msnb.base import DTypeError, ShapeError
from msnb.core import DType, Tensor
from msnb.ops.mindspore.primitive_classes import Primitive, begin


class OwnPrimitive(Primitive):
    """Base of the bases: an operator with a name, and with what its ``__init__`` noted."""

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        value = self.infer_value(*inputs)
        if value is not None:
            return value if isinstance(value, Tensor) else Tensor(value)
        promised = self._examined(inputs)
        found = self._operator()(*inputs, **named)
        _keep(self.name, found, *promised)
        return found

    def infer_value(self, *inputs: Any) -> Any:
        """The value where it is known beforehand, else None. Programs override it."""
        return None

    def _examined(self, inputs: Sequence[Any]) -> tuple[Any, Any]:
        """Look at the operands; the shape and the dtype that the class promises, None where it does not."""
        return None, None


def _facts(x: Any) -> tuple[Any, Any]:
    return (tuple(x.shape), x.dtype) if isinstance(x, Tensor) else ((), type(x))


def _described(inputs: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"shape": shape, "dtype": dtype, "value": None if isinstance(x, Tensor) else x}
            for x, (shape, dtype) in zip(inputs, map(_facts, inputs))]  # fmt: skip


def _keep(name: str, found: Any, shape: Any, dtype: Any) -> None:
    if not isinstance(found, Tensor):
        return
    if isinstance(shape, (tuple, list)) and tuple(shape) != tuple(found.shape):
        raise ShapeError(f"{name}: infer_shape promised {list(shape)}, the result has {list(found.shape)}.")
    if isinstance(dtype, DType) and dtype is not found.dtype:
        raise DTypeError(f"{name}: infer_dtype promised {dtype}, the result is {found.dtype}.")


class PrimitiveWithInfer(OwnPrimitive):
    """Base of operator classes that say what they give: ``__infer__``, or ``infer_shape`` and ``infer_dtype``.

    Args:
        name: of the operator that computes it.

    Raises:
        TypeError: no operator is called so. ShapeError, DTypeError: the result is not what was promised.

    Examples:
        >>> import msnb as ms
        >>> class Add(PrimitiveWithInfer):
        ...     def __init__(self):
        ...         super().__init__("Add")
        ...     def infer_shape(self, x, y):
        ...         return x
        >>> Add()(ms.Tensor([1.0]), ms.Tensor([2.0])).tolist()
        [3.0]
    """

    def _examined(self, inputs: Sequence[Any]) -> tuple[Any, Any]:
        whole = getattr(self, "__infer__", None)
        if whole is not None:
            told = whole(*_described(inputs))
            return told.get("shape"), told.get("dtype")
        facts = list(map(_facts, inputs))
        shape, dtype = (getattr(self, f"infer_{what}", None) for what in ("shape", "dtype"))
        return (None if shape is None else shape(*[f[0] for f in facts]),
                None if dtype is None else dtype(*[f[1] for f in facts]))  # fmt: skip


class PrimitiveWithCheck(OwnPrimitive):
    """Base of operator classes that check their operands: ``__check__``, or ``check_shape`` and ``check_dtype``.

    Args:
        name: of the operator that computes it.

    Raises:
        TypeError: no operator is called so. Whatever the checks raise.

    Examples:
        >>> import msnb as ms
        >>> class ReLU(PrimitiveWithCheck):
        ...     def __init__(self):
        ...         super().__init__("ReLU")
        ...     def check_shape(self, x):
        ...         assert len(x) == 1
        >>> ReLU()(ms.Tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    def _examined(self, inputs: Sequence[Any]) -> tuple[Any, Any]:
        whole = getattr(self, "__check__", None)
        if whole is not None:
            whole(*_described(inputs))
            return None, None
        for k, what in enumerate(("shape", "dtype")):
            check = getattr(self, f"check_{what}", None)
            if check is not None:
                check(*[_facts(x)[k] for x in inputs])
        return None, None


def prim_attr_register(fn: Callable[..., None]) -> Callable[..., None]:
    """Decorates the ``__init__`` of an operator class: arguments are noted as attributes, its name is the class's."""

    @functools.wraps(fn)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = inspect.signature(fn).bind(self, *args, **kwargs)
        bound.apply_defaults()
        self.init_attrs = dict(list(bound.arguments.items())[1:])
        begin(self, self.init_attrs)
        for name, value in self.init_attrs.items():
            self.add_prim_attr(name, value)
        fn(self, *args, **kwargs)

    return init
