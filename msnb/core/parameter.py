"""Parameter: a Tensor that a network owns, with a name and the wish for a gradient.

A graph does not contain a Parameter's value: it takes the value in as a state input and gives the new one out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb.base import ArgumentError, AttributeValueError, DTypeError, ShapeError
from msnb.core.dtypes import as_dtype, int32
from msnb.core.engine import slot
from msnb.core.tensor import Tensor, make


class NameScope:
    """A place in the tree of names: where it hangs, and the step from there (``"conv1."``).

    Every Cell has one and the Parameters that live in the Cell know it, so giving a Cell its place is one pointer,
    however much lives below; a dotted name is put together when it is read and kept until a scope moves. Scopes point
    upwards only and outlive their Cells: what is taken from a network that is gone keeps its name.

    Attributes:
        outer: the scope around it; None at a root, whose prefix is empty.
        step: text behind the outer scope's prefix.
        guest: the root of another tree in which the Cell stands too; its prefix counts while the trees are apart.
        borrowed: it hangs below a Cell that gives no names (``auto_prefix=False``), so it may still get a place.
        holds: something hung below it once.
        late: a text that stands for the whole prefix until the tree hangs below another root.
    """

    __slots__ = ("__weakref__", "_moves", "_prefix", "borrowed", "guest", "holds", "late", "outer", "step")
    borrowed: bool
    holds: bool
    outer: NameScope | None
    step: str
    moves: int = 0  # of any scope so far: a prefix that was kept before the last one is out of date

    def __init__(self, outer: NameScope | None = None, step: str = "", late: str | None = None) -> None:
        self.guest: NameScope | None = None
        self.late: tuple[NameScope, str] | None = None
        self.borrowed, self.holds, self._prefix, self._moves = False, False, "", -1
        self._hang(outer, step)
        if late is not None:
            self.call(late)

    def _hang(self, outer: NameScope | None, step: str) -> None:
        self.outer, self.step = outer, step
        if outer is not None:
            outer.holds = True

    @property
    def root(self) -> NameScope:
        """The scope at the top of this one's tree."""
        scope = self
        while scope.outer is not None:
            scope = scope.outer
        return scope

    @property
    def prefix(self) -> str:
        """What stands in front of the names here."""
        return "" if self.outer is None and self.guest is None and self.late is None else self._read()

    def _read(self) -> str:
        unread, scope, moves = [], self, NameScope.moves
        while scope._moves != moves:
            unread.append(scope)
            if scope.outer is None:
                break
            scope = scope.outer
        for scope in reversed(unread):
            before = "" if scope.outer is None else scope.outer._prefix
            if scope.guest is not None and scope.guest.root is not scope.root:
                before = scope.guest._read() + before
            late = scope.late
            here = late[1] if late is not None and late[0] is scope.root else before + scope.step
            scope._prefix, scope._moves = here, moves
        return self._prefix

    def call(self, text: str) -> None:
        """``text`` is the prefix, not the path, until the tree's root gets a place."""
        self.late = (self.root, text)
        NameScope.moves += 1

    def move(self, outer: NameScope | None, step: str) -> None:
        """Hang here from now on; all that hangs below follows."""
        self._hang(outer, step)
        self.borrowed = False
        NameScope.moves += 1

    def enter(self, outer: NameScope, step: str) -> None:
        """Get a place: the names here keep what they have and get the place's prefix in front."""
        if self.borrowed:
            self.move(outer, step + self.prefix)
        else:
            self.root.move(outer, step)

    def borrow(self, outer: NameScope) -> None:
        """Hang below a Cell that gives no names."""
        if self.outer is None:
            self.move(outer, "")
            self.borrowed = True
        else:
            self.visit(outer)

    def visit(self, outer: NameScope) -> None:
        """Stand in another place, too: its prefix counts only where the place of the names is not in the same tree."""
        if outer.root is not self.root:
            self.guest = outer.root
            NameScope.moves += 1

    def leave(self) -> None:
        """Keep the names as they are, with nothing in common with the place."""
        self.move(NameScope(), self.prefix)

    def __reduce__(self) -> tuple[Any, ...]:
        text = self.late[1] if self.late is not None and self.late[0] is self.root else None
        return (NameScope, (self.outer, self.step, text))

    def __deepcopy__(self, memo: dict[int, Any]) -> NameScope:
        """A copy hangs below the copy of what is around it, or else where it hung."""
        made = NameScope(memo.get(id(self.outer), self.outer), self.step, self.__reduce__()[1][2])
        made.borrowed = self.borrowed
        return made


class Parameter(Tensor):
    """A trainable (or at least stateful) tensor of a network.

    Args:
        default_input: its first value: anything ``Tensor`` takes; an int is an int32.
        name: its name; a Cell that owns it puts its own path in front (``conv1.weight``).
        requires_grad: whether optimizers train it.
        layerwise_parallel, parallel_optimizer: kept for the parallel planner.

    Raises:
        ValueError: the name is no str. TypeError: the others are not True or False.

    Source: `mindspore.Parameter`

    Examples:
        >>> import msnb as ms
        >>> ms.Parameter(ms.Tensor([1.0]), name="w").name
        'w'
    """

    # a Parameter has attributes of its own (hooks, plans), a plain Tensor has none: it must stay small
    __slots__ = ("__dict__",)
    kept_hooks: tuple[Any, ...] = ()  # type: ignore[assignment]  # of its gradient: see register_hook
    __hash__: Callable[[], int] = object.__hash__  # type: ignore[assignment]

    def __init__(
        self, default_input: Any, name: str | None = None, requires_grad: bool = True, layerwise_parallel: bool = False,
        parallel_optimizer: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(default_input, int32 if type(default_input) is int else None)
        self._rec = None
        if name is not None and not isinstance(name, str):
            raise AttributeValueError(f"a Parameter's name is a str, not {name!r}.")
        flags = (requires_grad, layerwise_parallel, parallel_optimizer)
        for what, flag in zip(("requires_grad", "layerwise_parallel", "parallel_optimizer"), flags):
            if not isinstance(flag, bool):
                raise ArgumentError(f"Parameter: {what} is True or False, not {flag!r}.")
        self.name = "Parameter" if name is None else name
        self.requires_grad = requires_grad
        self.layerwise_parallel = layerwise_parallel
        self.parallel_optimizer = parallel_optimizer

    @property
    def name(self) -> str:
        """Its name: the path of the Cell where it lives, and its own name there."""
        scope: NameScope | None = self.__dict__.get("_name_scope")
        own: str = self.__dict__["_own_name"]
        return own if scope is None else scope.prefix + own

    @name.setter
    def name(self, text: str) -> None:
        """A name given by hand; what begins with the Cell's path goes on following it."""
        scope: NameScope | None = self.__dict__.get("_name_scope")
        if scope is not None:
            prefix = scope.prefix
            if text.startswith(prefix):
                text = text[len(prefix) :]
            else:
                self.__dict__["_name_scope"] = scope.root
        self.__dict__["_own_name"] = text

    def live_in(self, scope: NameScope, name: str) -> None:
        """Have this name in a scope from now on."""
        self.__dict__.update(_name_scope=scope, _own_name=name)

    def value(self) -> Tensor:
        """The present value as a plain Tensor; gradients pass through it, a later assignment does not change it."""
        current = getattr(slot.engine, "current", None)  # a program that is captured has a value of its own for it
        return make(self._data, self._type, self._rec) if current is None else current(self)

    @property
    def data(self) -> Parameter:
        """The Parameter itself: ``p.data.shape``, and ``p.data.set_data(...)``, as MindSpore programs write."""
        return self

    @data.setter
    def data(self, value: Any) -> None:
        self.set_data(value, slice_shape=True)

    def set_data(self, data: Any, slice_shape: bool = False) -> Parameter:
        """Give the parameter another value of the same shape; the dtype is converted to the parameter's.

        Raises:
            ValueError: the shape differs (and ``slice_shape`` is False).
        """
        value = data if isinstance(data, Tensor) else Tensor(data)
        if value.shape != self.shape and not slice_shape:
            raise ShapeError(
                f"parameter {self.name} has shape {list(self.shape)}, the new data {list(value.shape)}.",
                hint="pass slice_shape=True if the parameter is really meant to change its shape.",
            )
        if value.dtype.category > self.dtype.category:
            raise DTypeError(f"parameter {self.name} is {self.dtype!r} and cannot hold {value.dtype!r} data.")
        if value.dtype is not self.dtype:
            value = value.astype(self.dtype)
        slot.engine.assign(self, value)
        return self

    def set_dtype(self, dtype: Any) -> Parameter:
        """Convert the parameter itself to another dtype. Returns the parameter.

        Args:
            dtype: any dtype; what it cannot hold is cut off, as in ``astype``.

        Source: `mindspore.Parameter`

        Examples:
            >>> import msnb as ms
            >>> ms.Parameter([1.5], name="p").set_dtype(ms.float16).dtype
            Float16
        """
        self._from_tensor(self.value(), as_dtype(dtype))
        return self

    def clone(self, init: Any = "same") -> Parameter:
        """A new parameter of the same name with the same value, or with what ``init`` gives: an initializer, a name
        of one, or a number. No gradient goes from it to this one."""
        data = self.value() if init == "same" else Tensor(shape=self.shape, dtype=self.dtype, init=init)
        build = getattr(slot.engine, "parameter", Parameter)  # a program that is captured makes one of its own
        return build(data, self.name, self.requires_grad, self.layerwise_parallel, self.parallel_optimizer)

    def __repr__(self) -> str:
        return f"Parameter (name={self.name}, {Tensor.__repr__(self)[len('Parameter(') :]}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Parameter, (self._host(), self.name, self.requires_grad))

    def __copy__(self) -> Parameter:
        return self.clone()

    def __deepcopy__(self, memodict: Any) -> Parameter:
        return self.clone()


class ParameterTuple(tuple[Parameter, ...]):
    """A tuple of parameters, as MindSpore's ``ParameterTuple``."""

    def __new__(cls, items: Any = ()) -> ParameterTuple:
        items = tuple(items)
        for item in items:
            if not isinstance(item, Parameter):
                raise TypeError(f"ParameterTuple holds Parameters, not {type(item).__name__}.")
        return super().__new__(cls, items)

    def clone(self, prefix: str, init: Any = "same") -> ParameterTuple:
        """New Parameters, for what is kept beside each one (sums of gradients, averages).

        Args:
            prefix: their names are ``prefix.name``.
            init: "same" for the same values, or an initializer (``Parameter.clone``).

        Raises:
            TypeError: the prefix is no word.

        Source: `mindspore.ParameterTuple`

        Examples:
            >>> import msnb as ms
            >>> net = ms.nn.Dense(2, 1)
            >>> [p.name for p in ms.ParameterTuple(net.trainable_params()).clone("sum", "zeros")]
            ['sum.weight', 'sum.bias']
        """
        if not isinstance(prefix, str) or not prefix:
            raise TypeError(f"ParameterTuple.clone takes a word to put in front of the names, got {prefix!r}.")
        made = [p.clone(init) for p in self]
        for p in made:
            p.name = f"{prefix}.{p.name}"
        return ParameterTuple(made)
