"""What a wrong call of msnb's own classes says: the signature, the nearest name, and what came.

    nn.Dense(in_features=3, out_channels=4)
    ArgumentError: Dense has no keyword argument 'in_features'.
      it is called as Dense(in_channels, out_channels, weight_init=None, ...)
      hint: did you mean in_channels?

Python's own sentence names neither. A Cell whose ``construct`` returns nothing is told here too.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
import types
from collections.abc import Callable
from typing import Any, TypeVar

from msnb.base import ArgumentError, MsnbError, Where, events
from msnb.base.missing_names import called_as, nearest_keyword

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def explains_arguments(call: F, name: str) -> F:
    """``call`` with an ArgumentError for arguments that do not fit it.

    Args:
        call: a method of a class of msnb; name: what users call, "Dense" or "Model.train".
    """

    @functools.wraps(call)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return call(self, *args, **kwargs)
        except TypeError as error:
            if isinstance(error, MsnbError):
                raise
            wrong = _wrong_arguments(call, _shown(self, name), (self, *args), kwargs)
            if wrong is None:
                raise
            raise wrong from None

    return checked  # type: ignore[return-value]


def _shown(made: Any, name: str) -> str:
    """The class that is being made, where it is msnb's: several layers share one ``__init__``."""
    kind = type(made)
    return kind.__name__ if kind.__module__.startswith("msnb.") and "." not in name else name


def explains_methods(kind: C) -> C:
    """For a class of msnb: its public methods explain wrong arguments, as its constructor does. Not for what is called
    in every step."""
    for name, value in tuple(vars(kind).items()):
        if name[0] != "_" and isinstance(value, types.FunctionType):
            setattr(kind, name, explains_arguments(value, f"{kind.__name__}.{name}"))
    return kind


_ELSEWHERE = {
    "batch_size": "the data set makes the batches: data.batch(32).",
    "epochs": "the number of epochs is the first argument.",
}


def _wrong_arguments(call: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ArgumentError | None:
    """The error; None where the arguments fit and something else went wrong."""
    signature = inspect.signature(call)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        takes_all = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
        unknown = "" if takes_all else next((k for k in kwargs if k not in signature.parameters), "")
        hint = _ELSEWHERE.get(unknown, "") if name.startswith("Model.") else ""
        return ArgumentError(
            f"{name} has no keyword argument {unknown!r}." if unknown else f"{name}: {error}.",
            operands=[f"it is called as {called_as(name, signature)}"],
            hint=hint or nearest_keyword(unknown, signature, kwargs),
        )
    return None


def note_empty_result(cell: Any) -> None:
    """Say once per class that its ``construct`` returns nothing, where no ``return`` stands in it."""
    construct = type(cell).construct
    key = f"no return in {type(cell).__module__}.{type(cell).__qualname__}"
    if events.is_noticed(key) or type(cell).__module__.startswith("msnb."):
        return
    code = inspect.unwrap(construct).__code__
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, SyntaxError, TypeError):  # no source at hand: nothing is known
        return
    if not any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(tree)):
        where = Where(code.co_filename, code.co_firstlineno, -1, -1, code.co_name)
        events.notice(
            f"construct of {type(cell).__name__} ({where}) has no return, so {type(cell).__name__}()(...) is None; "
            "end it with `return` and the result.",
            key=key,
        )
