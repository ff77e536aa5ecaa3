"""Functions and Cells, and texts, between which a tensor decides.

g = sin if c else cos          FunctionChoice((cos, sin), c): a call of it is a call of one of them
g = sin if c else chosen       the index of a choice that was made in a branch leaves it as a result of the branch
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CellType
from typing import Any

from msnb.graph.capture.values.lazy_values import LazyText, is_lazy, needs_value

_EMPTY = CellType()


class FunctionChoice:
    """One of several functions or Cells, which a tensor names.

    Args:
        options: the functions.
        index: an integer tensor of one element.
    """

    def __init__(self, options: Sequence[Any], index: Any) -> None:
        self.options: Sequence[Any] = options
        self.index: Any = index

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives that the tensor names."""
        raise NotImplementedError


def agreed(value: Any, ask: Callable[[Any], Any], others: Sequence[Any] = ()) -> Any:
    """What ``ask`` says of a value; of a choice, what it says of all its options; and of the ``others`` it may be."""
    options = value.options if isinstance(value, FunctionChoice) else (value,)
    answers = [ask(value) if option is value else agreed(option, ask) for option in (*options, *others)]
    if any(answer != answers[0] for answer in answers):
        raise needs_value("which of several objects this is")
    return answers[0]


def join_functions(merge: Any, sides: tuple[Any, Any], flatten: Any) -> Callable[[list[Any]], Any] | None:
    """How to get the function of the branch that runs from the If node's results; None where these are no functions,
    or one holds a tensor of its branch, which nobody outside can have."""
    if merge.choose is None or not all(map(_is_function, sides)):
        return None
    makers = [_maker(merge, side, fn, flatten) for side, fn in enumerate(sides)]
    first, second = makers
    if first is None or second is None:
        return None
    return lambda results: merge.choose(first(results), second(results))


def join_texts(merge: Any, sides: tuple[Any, Any]) -> Callable[[list[Any]], Any] | None:
    """The same of two texts: it is told which when the program runs."""
    if merge.choose is None or not all(map(is_text, sides)):
        return None
    first, second = (_text_maker(merge, side, text) for side, text in enumerate(sides))
    return lambda results: merge.choose(first(results), second(results))


def is_text(x: Any) -> bool:
    """A text, of values that are not known yet or not."""
    return type(x) is str or isinstance(x, LazyText)


def tensors_of(text: Any) -> dict[int, Any]:
    """The tensors that a text tells, by id."""
    return text.tensors() if isinstance(text, LazyText) else {}


def _text_maker(merge: Any, side: int, text: Any) -> Callable[[list[Any]], Any]:
    own = {k: x for k, x in tensors_of(text).items() if merge.is_own(side, x)}
    places, pythonic = {key: merge.carry(side, x) for key, x in own.items()}, merge.builders[0].session.pythonic

    def made(results: list[Any]) -> Any:
        return text.with_tensors(
            {k: pythonic.mark(results[at]) if pythonic.has(own[k]) else results[at] for k, at in places.items()}
        )

    return made if own else lambda results: text


def _is_function(x: Any) -> bool:
    return callable(x) and not isinstance(x, type) and not is_lazy(x) and not hasattr(x, "_value")


def _maker(merge: Any, side: int, fn: Any, flatten: Any) -> Callable[[list[Any]], Any] | None:
    if isinstance(fn, FunctionChoice) and merge.is_own(side, fn.index):
        if any(_maker(merge, side, option, flatten) is None for option in fn.options):
            return None
        at = merge.carry(side, fn.index)
        return lambda results: type(fn)(fn.options, results[at])
    return None if any(merge.is_own(side, x) for x in _held(fn, flatten)) else lambda results: fn


def _held(fn: Any, flatten: Any) -> list[Any]:
    """The values that a function holds."""
    boxes = [box.cell_contents for box in getattr(fn, "__closure__", None) or () if box != _EMPTY]
    parts = [*boxes, getattr(fn, "__self__", None)]
    if hasattr(fn, "func"):
        parts += [*fn.args, *fn.keywords.values()]
    return [leaf for part in parts for leaf in flatten(part)[0]]
