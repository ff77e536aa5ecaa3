"""Ops that stand between a program and the world: the value itself, the end of a gradient, printing; and assignment.

Assignment is no op: it gives a tensor object another value through the engine, so that a graph threads it as state.
Printing is an op with the trait ``effect``: passes keep it, and keep its order among effects. Eager prints at once.
"""

from __future__ import annotations

import builtins
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.base import events
from msnb.base.errors import ConditionError, DTypeError, ShapeError
from msnb.core import Tensor, TensorType, dtypes, slot
from msnb.ops.definition import example_inputs
from msnb.ops.definition.record import Example, InvalidExample, Op, define, find
from msnb.ops.definition.type_inference import broadcast_shapes, operand_lines

__all__ = ["assign", "assign_add", "assign_sub", "identity", "print", "print_", "stop_gradient"]


def _itself(name: str, doc: str, grad: Any = None, no_grad: str = "", restore: Any = None) -> Op:
    return define(
        name,
        "x",
        infer=lambda x: x.with_shape(x.shape),
        body=lambda xp, x: x,
        scalar="x",
        doc=doc,
        grad=grad,
        no_grad=no_grad,
        axes="... -> ...",
        traits=("pure", "elementwise", "linear"),
        promotes=True,
        examples=(
            Example((example_inputs.SIGNED,)),
            Example((example_inputs.SCALAR,)),
            Example((example_inputs.EMPTY,)),
        ),
        wrong=(InvalidExample((), {}, "takes the tensors", TypeError),),
        family="effects",
        view="identity",
        restore=restore,
    )


identity: Op = _itself("identity", "The value itself.", lambda dout: dout)
stop_gradient: Op = _itself(
    "stop_gradient", "The value itself, without a gradient.", no_grad="it stops the gradient",
    restore=lambda x, part, at: part,
)  # fmt: skip


# ---- printing ----


def _on_host(x: Any) -> Any:
    return x if isinstance(x, (np.ndarray, np.generic)) else x.get()


def _shown(x: Any) -> str:
    return str(Tensor(_on_host(x))) if x.ndim else str(_on_host(x).item())


def _print_body(xp: Any, *xs: Any, template: tuple[Any, ...], sep: str, end: str) -> tuple[()]:
    """``template`` holds the texts, and None where the next tensor goes."""
    values = iter(xs)
    builtins.print(*[_shown(next(values)) if part is None else part for part in template], sep=sep, end=end)
    return ()


def _print_infer(*xs: TensorType, template: Any, sep: str, end: str) -> tuple[()]:
    holes = sum(part is None for part in template)
    if holes != len(xs):
        raise ShapeError(f"print: the template has {holes} places for {len(xs)} tensors.")
    return ()


PRINT = define(
    "print",
    "*xs",
    attrs={"template": (None,), "sep": " ", "end": "\n"},
    infer=_print_infer,
    body=_print_body,
    doc="Print texts and tensors when the program runs.",
    no_grad="it has no results",
    axes=lambda types, attrs: ", ".join("..." for _ in types) + " ->",
    traits=("effect",),
    examples=(Example((example_inputs.ROW,), {"template": ("row", None)}), Example((), {"template": ("text",)})),
    wrong=(InvalidExample((example_inputs.ROW,), {"template": ("row",)}, "0 places for 1 tensors", ShapeError),),
    family="effects",
)


def print(*values: Any, sep: str = " ", end: str = "\n") -> None:
    """Print values when the program runs: at once in eager, at its place in the program in a graph.

    Args:
        values: tensors, and anything with a text.
        sep, end: as in Python's print.

    Source: `mindspore.ops.print_`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.print("loss", ms.Tensor(0.5))
        loss 0.5
    """
    tensors = tuple(v for v in values if isinstance(v, Tensor))
    template = tuple(None if isinstance(v, Tensor) else str(v) for v in values)
    slot.engine.apply(PRINT, tensors, {"template": template, "sep": sep, "end": end})


print_ = print


# ---- conditions ----


def _require_body(xp: Any, condition: Any, *data: Any, sentence: str, summarize: int) -> tuple[()]:
    if not _on_host(condition).all():
        rows = [_on_host(x).reshape(-1) for x in data]
        lines = [f"data {k}: {row[:summarize]}{' ...' if row.size > summarize else ''}" for k, row in enumerate(rows)]
        raise ConditionError(sentence, operands=lines)
    return ()


def _require_infer(condition: TensorType, *data: TensorType, sentence: str, summarize: int) -> tuple[()]:
    if condition.dtype is not dtypes.bool_:
        raise DTypeError("require takes a condition of booleans.", operands=operand_lines(condition))
    return ()


REQUIRE = define(
    "require", "condition, *data", attrs={"sentence": "the condition does not hold.", "summarize": 3},
    infer=_require_infer, body=_require_body, no_grad="it has no results",
    doc="Raise an error when the program runs and some element of the condition is False.",
    axes=lambda types, attrs: ", ".join("..." for _ in types) + " ->", traits=("effect",), family="effects",
    examples=(Example((np.array([True, True]), example_inputs.ROW)), Example((np.array(True),))),
    wrong=(InvalidExample((example_inputs.ROW,), {}, "a condition of booleans", DTypeError),),
)  # fmt: skip


def require(condition: Any, sentence: str, data: Any = (), summarize: int = 3) -> None:
    """Raise ConditionError with this sentence, and the first elements of ``data``, unless the condition holds; in a
    program when it runs."""
    tensors = tuple(x if isinstance(x, Tensor) else Tensor(x) for x in (condition, *data))
    slot.engine.apply(REQUIRE, tensors, {"sentence": sentence, "summarize": summarize})


def _summary_body(xp: Any, x: Any, plugin: str, name: str) -> tuple[()]:
    events.emit("summary value", plugin=plugin, name=name, value=np.array(_on_host(x)))
    return ()


SUMMARY = define(
    "summary",
    "x",
    attrs={"plugin": "scalar", "name": "value"},
    infer=lambda x, plugin, name: (),
    body=_summary_body,
    doc="Tell a value, by its name, to the SummaryRecord that is open.",
    no_grad="it has no results",
    axes="... ->",
    traits=("effect",),
    examples=(Example((example_inputs.ROW,), {"plugin": "tensor", "name": "row"}),),
    wrong=(InvalidExample((), {}, "summary", TypeError),),
    family="effects",
)


def tell_summary(plugin: str, name: str, value: Any) -> None:
    """Tell a value to the SummaryRecord that is open, when the program runs."""
    value = value if isinstance(value, Tensor) else Tensor(value)
    slot.engine.apply(SUMMARY, (value,), {"plugin": plugin, "name": name})


# ---- assignment ----

Rule = Callable[[Tensor, Tensor], Tensor]
_rule: Rule | None = None
_results: dict[int, tuple[weakref.ref[Tensor], Tensor]] = {}
"""By the id of what ``changed`` gave: the variable that it is the value of."""


def install_rule(rule: Rule | None) -> None:
    """Let ``rule(variable, value)`` say what an assignment stores, and so where its gradient goes. None: the value
    itself, and the gradient goes on to what it was computed from."""
    global _rule
    _rule = rule


def assign(variable: Tensor, value: Any) -> Tensor:
    """Give ``variable`` the value ``value``; returns ``variable``.

    Args:
        variable: a Parameter (or any tensor object).
        value: a tensor or number that broadcasts to its shape; converted to its dtype.

    Raises:
        ValueError: the shapes do not fit. TypeError: the dtype is of a higher kind (float into int).

    Source: `mindspore.ops.assign`

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> ms.ops.assign(w, ms.Tensor([2.0])).tolist()
        [2.0]
    """
    new = value if isinstance(value, Tensor) else Tensor(value)
    new = fitting(variable._type, new) if _rule is None else _rule(variable, new)
    slot.engine.assign(variable, new)
    if id(variable) in _results:
        assign(_results[id(variable)][1], value)
    return variable


def fitting(want: TensorType, new: Tensor) -> Tensor:
    """``new`` in the shape and the dtype of a variable of type ``want``. MindSpore takes one element of any shape for a
    scalar."""
    if _rule is not None and not want.shape and new.shape and new.size == 1:
        new = find("reshape")(new, shape=())
    if broadcast_shapes(want.shape, new.shape) != want.shape:
        raise ShapeError(f"assign: a value of shape {list(new.shape)} does not fit a variable of {list(want.shape)}.",
                         operands=operand_lines(want, new._type, names=("variable", "value")),
                         hint="a variable keeps its shape; make another one, or reshape the value.")  # fmt: skip
    if new.dtype.category > want.dtype.category:
        raise DTypeError(f"assign: a {want.dtype.name} variable cannot hold {new.dtype.name} values.",
                         operands=operand_lines(want, new._type, names=("variable", "value")),
                         hint="convert the value with .astype(...) if the loss is meant.")  # fmt: skip
    if new.dtype is not want.dtype:
        new = find("cast")(new, dtype=want.dtype)
    return new if new.shape == want.shape else find("broadcast_to")(new, shape=want.shape)


def augmented(variable: Tensor, value: Any) -> Any:
    """What ``variable op= y`` leaves in the name: the variable, which takes the value; where a rule of assignments is
    installed, the value alone, as MindSpore's graphs have it (``cell.p op= y`` assigns it to the Parameter then)."""
    return assign(variable, value) if is_assigned_in_place() else value


def is_assigned_in_place() -> bool:
    """Does ``p op= y`` write to the Parameter that the name ``p`` stands for?"""
    return _rule is None


def assign_add(variable: Tensor, value: Any) -> Tensor:
    """``variable`` becomes ``variable + value``."""
    return changed(variable, find("add")(variable, value))


def assign_sub(variable: Tensor, value: Any) -> Tensor:
    """``variable`` becomes ``variable - value``."""
    return changed(variable, find("subtract")(variable, value))


def changed(variable: Tensor, new: Tensor) -> Tensor:
    """``variable``, which takes the value; where a rule of assignments is installed, the value itself: gradients of
    the result go on to what it was computed from, those of the variable as the rule says. What is assigned to the
    result is assigned to the variable, too."""
    found = fitting(variable._type, new)
    assign(variable, new)
    if _rule is None or found is variable:
        return variable
    key = id(found)
    _results[key] = (weakref.ref(found, lambda _: _results.pop(key, None)), variable)
    return found
