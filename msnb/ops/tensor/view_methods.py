"""Methods that other libraries make views: what they give says of which tensor it is (``core.temporary_writes``).

    x.view(-1)[3] = 5    x.T.zero_()    x.chunk(2)[0].fill_(1)    x.detach().zero_()

A statement like these has the only reference to what the method gave, so the change goes back to x. Reshaped and
reordered values go back by the inverse; of all others the method tells itself where each element came from: it is
called on the numbers of the elements.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from msnb.base.errors import LostWriteError
from msnb.core.engine import cached, slot
from msnb.core.temporary_writes import mark
from msnb.core.tensor import Tensor
from msnb.ops.shape.views import inverse_permutation, permute, reshape
from msnb.ops.tensor import properties, subscripts

BOUND_BEFORE = (properties, subscripts)

_REMEMBERED = cached(lambda: None).__code__
Read = Callable[[Any], Any]
Restore = Callable[[Read, Any, Any], Any]


def _reshaped(read: Read, x: Any, part: Any) -> Any:
    return reshape(part, x.shape)


def _reordered(read: Read, x: Any, part: Any) -> Any:
    """Axes of the sizes 2, 3, 4 ... come back in the order that ``read`` gives them."""
    order = tuple(n - 2 for n in read(Tensor(np.zeros(range(2, x.ndim + 2), np.int8))).shape)
    return permute(part, inverse_permutation(order))


def _moved(read: Read, x: Any, part: Any) -> Any:
    places = read(Tensor(np.arange(x.size).reshape(x.shape)))
    flat = subscripts.updated(reshape(x, (-1,)), reshape(places, (-1,)), reshape(part, (-1,)))
    return reshape(flat, x.shape)


def _repeated(read: Read, x: Any, part: Any) -> Any:
    if part.size != x.size:
        raise LostWriteError(
            "this writes into a value that repeats elements of a tensor, and nobody keeps it: an element cannot become "
            "several numbers.", hint="write into the tensor before it is expanded."
        )  # fmt: skip
    return reshape(part, x.shape)


def _itself(read: Read, x: Any, part: Any) -> Any:
    return part


RESTORES: dict[Restore, tuple[str, ...]] = {
    _reshaped: ("reshape", "view", "view_as", "reshape_as", "ravel", "unflatten", "squeeze", "unsqueeze",
                "expand_dims"),
    _reordered: ("transpose", "permute", "swapaxes", "swapdims", "moveaxis", "movedim", "T", "mT"),
    _moved: ("flatten", "narrow", "diagonal", "split", "chunk", "tensor_split", "unbind"),
    _repeated: ("expand", "broadcast_to", "expand_as"),
    _itself: ("detach",),
}


def _marking(method: Callable[..., Any], way: Restore) -> Callable[..., Any]:
    """The method, with what it gives marked. It is called all the time, so the remembered call is taken directly."""
    remembered = method.__wrapped__ if method.__code__ is _REMEMBERED else None  # type: ignore[attr-defined]

    @wraps(method)
    def view(x: Any, *args: Any, **options: Any) -> Any:
        out = method(x, *args, **options) if remembered is None else slot.engine.cached(remembered, (x, *args), options)
        if out.__class__ is tuple:
            for i, each in enumerate(out):
                mark(each, x, [way, method, args, options, i])
        elif out is not x:
            mark(out, x, [way, method, args, options, -1])
        return out

    return view


def bind() -> None:
    """Have the methods mark what they give."""
    made: dict[Any, Any] = {}
    for restore, names in RESTORES.items():
        for name in names:
            found = Tensor.__dict__[name]
            if found not in made:
                is_property = isinstance(found, property)
                made[found] = property(_marking(found.fget, restore)) if is_property else _marking(found, restore)
            setattr(Tensor, name, made[found])


bind()
