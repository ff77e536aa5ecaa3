"""What all distributions share: their parameters, and which question is answered by which formula.

A distribution is a Cell, so it lives in networks and runs in both modes. Its parameters are given when it is made, or
with each question; those of the question win:

    Normal(0.0, 1.0).log_prob(x)      Normal().log_prob(x, mean, sd)

A subclass names its parameters and writes formulas of them (``_log_prob(value, mean, sd)``); what it does not write
follows from the others where it can (``prob`` from ``log_prob``, ``sd`` from ``var``), else the question is refused.

Source: `mindspore.nn.probability`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from msnb import ops
from msnb.base import ArgumentError, AttributeValueError, DTypeError, ShapeError
from msnb.core import Parameter, Tensor, dtypes
from msnb.eager.recording import known_false
from msnb.nn.cells.cell import Cell
from msnb.nn.probability.draw_stream import DrawStream
from msnb.ops.definition.type_inference import broadcast_shapes

Formula = Callable[..., Any]


class UnsupportedDistributionError(ArgumentError, NotImplementedError):
    """A distribution was asked for what it has no formula of."""


class Distribution(Cell):
    """Base of all distributions.

    Args:
        seed: draws from a stream of its own that starts with the object; None: from the stream of ``ms.set_seed``.
        dtype: of draws, and of values that are counts or classes.
        name: of the distribution.
        param: the parameters by name; None where they come with each question.

    Source: `mindspore.nn.probability.distribution.Distribution`

    Examples:
        >>> import msnb as ms
        >>> normal = ms.nn.probability.distribution.Normal(0.0, 2.0)
        >>> normal.var().item()
        4.0
    """

    _discrete: ClassVar[bool] = False
    _positive: ClassVar[tuple[str, ...]] = ()  # parameters that must lie above 0
    _shares: ClassVar[tuple[str, ...]] = ()  # parameters that must lie above 0 and below 1

    def __init__(self, seed: Any = None, dtype: Any = None, name: str | None = None, param: Any = None) -> None:
        super().__init__()
        self.dtype: dtypes.DType = dtypes.as_dtype(dtype or (dtypes.int32 if self._discrete else dtypes.float32))
        self._need(name)
        self.parameter_type: dtypes.DType = self.dtype if self.dtype.is_float else dtypes.float32
        self.seed: Any = seed
        self.name: str = name or type(self).__name__
        self.draws: DrawStream = DrawStream(type(self).__name__, seed)
        param = (param or {}).get("param_dict", param or {})  # classes of users give their locals, with this among them
        given = {key: value for key, value in param.items() if key not in ("self", "__class__")}
        self.parameter_names: tuple[Any | Any, ...] = tuple(given)
        self.default_parameters: list[Any] = [self._checked(key, value) for key, value in given.items()]
        self._need_one_shape()
        for key, value in zip(given, self.default_parameters):
            if not hasattr(type(self), key):
                setattr(self, key, value)

    def _need(self, name: Any) -> None:
        """The dtype is one of numbers, of floats where the distribution is one; its name is a str."""
        if not (self.dtype.is_float or self._discrete and self.dtype.is_int):
            raise DTypeError(f"{type(self).__name__}: {self.dtype!r} is not a dtype of what it draws.")
        if not isinstance(name, str | None):
            raise ArgumentError(f"{type(self).__name__}: name is a str, not {name!r}.")

    def _need_one_shape(self) -> None:
        shape: Any = ()
        for value in self.default_parameters:
            shape = shape if value is None else broadcast_shapes(shape, tuple(value.shape))
            if shape is None:
                text = f"the shapes of {', '.join(self.parameter_names)} do not broadcast."
                raise ShapeError(f"{type(self).__name__}: {text}")

    def _checked(self, name: str, value: Any) -> Any:
        if value is None or isinstance(value, Parameter):
            return value
        if isinstance(value, str):
            raise ArgumentError(f"{type(self).__name__}: {name} is a number or a tensor, not {value!r}.")
        found = Tensor(value).astype(self.parameter_type)
        if name in self._positive and known_false(found > 0):
            raise AttributeValueError(f"{type(self).__name__}: {name} must lie above 0.")
        if name in self._shares and known_false((found > 0) & (found < 1)):
            raise AttributeValueError(f"{type(self).__name__}: {name} must lie above 0 and below 1.")
        return found

    def _add_parameter(self, value: Any, name: str) -> Any:
        """The parameter of this name, for classes of users that keep it."""
        return self.default_parameters[self.parameter_names.index(name)]

    def _check_param_type(self, *args: Any) -> Any:
        """What a formula of a user's class got as parameters: they are checked, and there."""
        return args[0] if len(args) == 1 else args

    def _check_value(self, value: Any, name: str) -> Any:
        """``value``, which a formula got."""
        return value

    def _parameters(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The parameters of a question: given with it, else those of the distribution."""
        found = self.get_dist_args(*args, **kwargs)
        for name, own in zip(self.parameter_names, found):
            if own is None:
                raise ArgumentError(f"{type(self).__name__}: {name} was not given, neither here nor when it was made.")
        return tuple(found)

    def get_dist_args(self, *args: Any, **kwargs: Any) -> list[Any]:
        """The parameters of a question, in order; None where it has none."""
        known, names = self.default_parameters, self.parameter_names
        if len(args) > len(names) or any(key not in names for key in kwargs):
            raise ArgumentError(f"{type(self).__name__} has the parameters {', '.join(names)}.")
        found = []
        for i, name in enumerate(names):
            own = kwargs.get(name, args[i] if i < len(args) else None)
            own = known[i] if own is None else own
            if own is not None and not isinstance(own, Tensor):
                own = Tensor(own, self.parameter_type)
            found.append(own if own is None else own.astype(self.parameter_type))
        return found

    def _value(self, value: Any) -> Any:
        if value is None or isinstance(value, (str, bool)):
            raise ArgumentError(f"{type(self).__name__}: a value is a tensor, not {value!r}.")
        return (value if isinstance(value, Tensor) else Tensor(value)).astype(self.parameter_type)

    def _formula(self, *names: str) -> tuple[str, Formula]:
        """The first of these formulas that the distribution has."""
        for name in names:
            own = getattr(self, f"_{name}", None)
            if own is not None:
                return name, own
        raise UnsupportedDistributionError(f"{type(self).__name__} has no formula for {names[0]}.")

    def _either(
        self, name: str, other: str, turn: Formula, args: tuple[Any, ...], kwargs: dict[str, Any], *values: Any
    ) -> Any:
        """What formula ``name`` gives, or else ``turn`` of what ``other`` gives."""
        which, formula = self._formula(name, other)
        found = formula(*[self._value(v) for v in values], *self._parameters(args, kwargs))
        return turn(found) if which == other else found

    # ---- questions about a value ----

    def prob(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The density at ``value``; of counts and classes, the probability."""
        return self._either("prob", "log_prob", ops.exp, args, kwargs, value)

    def log_prob(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of ``prob``."""
        return self._either("log_prob", "prob", ops.log, args, kwargs, value)

    def cdf(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The probability of a number up to ``value``."""
        return self._either("cdf", "log_cdf", ops.exp, args, kwargs, value)

    def log_cdf(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of ``cdf``."""
        return self._either("log_cdf", "cdf", ops.log, args, kwargs, value)

    def survival_function(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The probability of a number above ``value``."""
        name, formula = self._formula("survival", "log_survival", "cdf", "log_cdf")
        found = formula(self._value(value), *self._parameters(args, kwargs))
        found = ops.exp(found) if name.startswith("log_") else found
        return found if name.endswith("survival") else 1.0 - found

    def log_survival(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of ``survival_function``."""
        name, formula = self._formula("log_survival", "survival", "cdf", "log_cdf")
        found = formula(self._value(value), *self._parameters(args, kwargs))
        if name == "log_survival":
            return found
        found = ops.exp(found) if name == "log_cdf" else found
        return ops.log(found if name == "survival" else 1.0 - found)

    # ---- questions about the distribution ----

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        """The mean."""
        return self._formula("mean")[1](*self._parameters(args, kwargs))

    def var(self, *args: Any, **kwargs: Any) -> Any:
        """The variance."""
        return self._either("var", "sd", ops.square, args, kwargs)

    def sd(self, *args: Any, **kwargs: Any) -> Any:
        """The standard deviation."""
        return self._either("sd", "var", ops.sqrt, args, kwargs)

    def mode(self, *args: Any, **kwargs: Any) -> Any:
        """The likeliest value."""
        return self._formula("mode")[1](*self._parameters(args, kwargs))

    def entropy(self, *args: Any, **kwargs: Any) -> Any:
        """The entropy, in nats."""
        return self._formula("entropy")[1](*self._parameters(args, kwargs))

    def kl_loss(self, dist: str, *args: Any, **kwargs: Any) -> Any:
        """The Kullback-Leibler divergence KL(a || b) to another distribution b of the same kind.

        Args:
            dist: the kind, by name.
            *args: the parameters of b; behind them, where wanted, those of a.
            **kwargs: those of b by name with ``_b``, those of a with ``_a``.
        """
        return self._formula("kl_loss")[1](*self._both(dist, args, kwargs))

    def cross_entropy(self, dist: str, *args: Any, **kwargs: Any) -> Any:
        """The entropy plus ``kl_loss``; arguments as there."""
        entropy, divergence = self._formula("entropy")[1], self._formula("kl_loss")[1]
        both = self._both(dist, args, kwargs)
        return entropy(*both[len(both) // 2 :]) + divergence(*both)

    def _both(self, dist: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        if not isinstance(dist, str):
            raise ArgumentError(f"{type(self).__name__}: the other distribution is named by a str, not {dist!r}.")
        if dist != type(self).__name__:
            text = f"{type(self).__name__}: the other distribution is a {type(self).__name__} too, not {dist!r}."
            raise AttributeValueError(text)
        n = len(self.parameter_names)
        other = {f"{name}_b": i for i, name in enumerate(self.parameter_names)}
        named = {self.parameter_names[other[key]]: value for key, value in kwargs.items() if key in other}
        rest = {key.removesuffix("_a"): value for key, value in kwargs.items() if key not in other}
        given = (*args[:n], *(named.get(name) for name in self.parameter_names[len(args[:n]) :]))
        if any(value is None for value in given):
            raise ArgumentError(f"{type(self).__name__}: the other's {', '.join(self.parameter_names)} are needed.")
        return (*self._parameters(given, {}), *self._parameters(args[n:], rest))

    # ---- draws ----

    def sample(self, shape: Any = (), *args: Any, **kwargs: Any) -> Any:
        """Numbers of the distribution.

        Args:
            shape: sizes in front of those of the parameters.
            *args, **kwargs: the parameters.
        """
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        return self._formula("sample")[1](sizes, *self._parameters(args, kwargs)).astype(self.dtype)

    def _sizes(self, shape: tuple[int, ...], *params: Any) -> tuple[int, ...]:
        whole = params[0]
        for each in params[1:]:
            whole = whole + each * 0
        return (*shape, *whole.shape)

    def get_dist_type(self) -> str:
        """The kind of distribution, by name."""
        return type(self).__name__

    def construct(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """A question by its name: ``distribution("log_prob", x)``."""
        return getattr(self, name)(*args, **kwargs)

    def extend_repr(self) -> str:
        """Its parameters."""
        return ", ".join(f"{name}={value}" for name, value in zip(self.parameter_names, self.default_parameters))
