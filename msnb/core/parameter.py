"""Parameter: a Tensor that a network owns, with a name and the wish for a gradient.

A graph does not contain a Parameter's value: it takes the value in as a state input and gives the new one out.
"""

from __future__ import annotations

from typing import Any

from msnb.base.errors import DTypeError, ShapeError
from msnb.core.engine import slot
from msnb.core.tensor import Tensor, make


class Parameter(Tensor):
    """A trainable (or at least stateful) tensor of a network.

    Args:
        default_input: its first value: anything ``Tensor`` takes.
        name: its name; a Cell that owns it puts its own path in front (``conv1.weight``).
        requires_grad: whether optimizers train it.
        layerwise_parallel, parallel_optimizer: kept for the parallel planner.

    Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore/mindspore.Parameter.html

    Examples:
        >>> import msnb as ms
        >>> ms.Parameter(ms.Tensor([1.0]), name="w").name
        'w'
    """

    # a Parameter has attributes of its own (hooks, plans), a plain Tensor has none: it must stay small
    __slots__ = ("__dict__",)
    __hash__ = object.__hash__

    def __init__(
        self,
        default_input: Any,
        name: str | None = None,
        requires_grad: bool = True,
        layerwise_parallel: bool = False,
        parallel_optimizer: bool = True,
    ) -> None:
        super().__init__(default_input)
        self._rec = None
        self.name = "Parameter" if name is None else name
        self.requires_grad = requires_grad
        self.layerwise_parallel = layerwise_parallel
        self.parallel_optimizer = parallel_optimizer

    def value(self) -> Tensor:
        """The present value as a plain Tensor."""
        current = getattr(slot.engine, "current", None)  # a program that is captured has a value of its own for it
        found: Tensor = make(self._data, self._type) if current is None else current(self)
        return found

    @property
    def data(self) -> Parameter:
        """The Parameter itself: ``p.data.shape``, and ``p.data.set_data(...)``, as MindSpore programs write."""
        return self

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

    def clone(self, init: Any = "same") -> Parameter:
        """A new parameter of the same name with the same value, or with what ``init`` gives: an initializer, a name
        of one, or a number."""
        data = self.value() if init == "same" else Tensor(shape=self.shape, dtype=self.dtype, init=init)
        return Parameter(data, self.name, self.requires_grad, self.layerwise_parallel, self.parallel_optimizer)

    def __repr__(self) -> str:
        return f"Parameter (name={self.name}, {Tensor.__repr__(self)[len('Parameter(') :]}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Parameter, (self._host(), self.name, self.requires_grad))

    def __copy__(self) -> Parameter:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
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

        Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore/mindspore.ParameterTuple.html

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
