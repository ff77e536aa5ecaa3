"""``nn.probability.bijector``: functions with an inverse, and how much they stretch.

    forward(x)   y          forward_log_jacobian(x)   log |dy / dx|
    inverse(y)   x          inverse_log_jacobian(y)   log |dx / dy|

A call with a tensor is ``forward``; with a distribution, the distribution of the results.

Source: `mindspore.nn.probability`
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msnb import ops
from msnb.base import ArgumentError, AttributeValueError, public_names
from msnb.core import Tensor, dtypes
from msnb.nn.cells.cell import Cell
from msnb.nn.probability.distribution_cell import Distribution
from msnb.nn.probability.transformed_distribution import TransformedDistribution

if TYPE_CHECKING:
    from msnb.core.dtypes import DType

__all__ = ["Bijector", "Exp", "GumbelCDF", "Invert", "PowerTransform", "ScalarAffine", "Softplus"]


class Bijector(Cell):
    """Base of all bijectors.

    Args:
        is_constant_jacobian: whether it stretches everywhere alike.
        is_injective: whether it has an inverse.
        name: of the bijector.
        dtype: of its parameters.
        param: the parameters by name.
    """

    parameters: dict[Any | Any, Tensor]
    is_increasing = True

    def __init__(
        self, is_constant_jacobian: bool = False, is_injective: bool = True, name: str | None = None, dtype: Any = None,
        param: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.is_constant_jacobian: bool = is_constant_jacobian
        self.is_injective: bool = is_injective
        if not isinstance(name, str | None):
            raise ArgumentError(f"{type(self).__name__}: name is a str, not {name!r}.")
        self.name: str = name or type(self).__name__
        self.dtype: DType = dtype or dtypes.float32
        self._stated: DType | None = dtype
        given = (param or {}).get("param_dict", param or {})  # classes of users give their locals, with this among them
        self.parameters = {key: Tensor(value).astype(self.dtype) for key, value in given.items()}

    def _add_parameter(self, value: Any, name: str) -> Tensor:
        """The parameter of this name, in its own dtype, for classes of users that keep it."""
        if value is None or isinstance(value, bool):
            raise ArgumentError(f"{type(self).__name__}: {name} is a number or a tensor, not {value!r}.")
        return Tensor(value)

    def _check_value_dtype(self, value: Any) -> Tensor:
        """``value``, which a formula of a user's class got: floats, of the dtype that the bijector was made with."""
        if not isinstance(value, Tensor) or not value.dtype.is_float or self._stated not in (None, value.dtype):
            wanted = f"a tensor of {self._stated or 'floats'}"
            raise ArgumentError(f"{type(self).__name__} takes {wanted}, not {value!r}.")
        return value

    def cast_param_by_value(self, value: Tensor, para: Tensor) -> Tensor:
        """The parameter ``para`` in the dtype of ``value``."""
        return para.astype(value.dtype)

    def _of(self, name: str, value: Any) -> Any:
        if not isinstance(value, Tensor):
            raise ArgumentError(f"{type(self).__name__}.{name} takes a tensor, not {value!r}.")
        formula = getattr(self, f"_{name}", None)
        if formula is None:
            raise ArgumentError(f"{type(self).__name__} has no formula for {name}.")
        return formula(value)

    def forward(self, value: Any) -> Any:
        """y of x."""
        return self._of("forward", value)

    def inverse(self, value: Any) -> Any:
        """x of y."""
        return self._of("inverse", value)

    def forward_log_jacobian(self, value: Any) -> Any:
        """log |dy / dx| at x."""
        return self._of("forward_log_jacobian", value)

    def inverse_log_jacobian(self, value: Any) -> Any:
        """log |dx / dy| at y."""
        return self._of("inverse_log_jacobian", value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], Distribution):
            return TransformedDistribution(self, args[0])
        return super().__call__(*args, **kwargs)

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """``forward``, or a question by its name: ``bijector("inverse", y)``."""
        if args and isinstance(args[0], str):
            return getattr(self, args[0])(*args[1:], **kwargs)
        return self.forward(*args, **kwargs)


class PowerTransform(Bijector):
    """y = (1 + power x)^(1 / power); exp(x) where ``power`` is 0.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.probability.bijector.PowerTransform(0.5).forward(ms.Tensor([2.0])).tolist()
        [4.0]
    """

    def __init__(self, power: Any = 0, name: str = "PowerTransform") -> None:
        super().__init__(name=name, param={"power": power})
        self.power: Tensor = self.parameters["power"]
        if not (self.power >= 0).all():
            raise AttributeValueError("PowerTransform: power must be at least 0.")

    def _parts(self, value: Any, neutral: float) -> tuple[Any, Any, Any]:
        """(where the power is 0, the power, the value), with neutral numbers there: gradients meet no NaN."""
        none = self.power == 0
        return none, ops.where(none, 1.0, self.power), ops.where(none, neutral, value)

    def _forward(self, x: Any) -> Any:
        none, c, inner = self._parts(x, 0.0)
        return ops.where(none, ops.exp(x), ops.exp(ops.log1p(inner * c) / c))

    def _inverse(self, y: Any) -> Any:
        none, c, inner = self._parts(y, 1.0)
        return ops.where(none, ops.log(y), ops.expm1(ops.log(inner) * c) / c)

    def _forward_log_jacobian(self, x: Any) -> Any:
        none, c, inner = self._parts(x, 0.0)
        return ops.where(none, x, (1.0 / c - 1.0) * ops.log1p(inner * c))

    def _inverse_log_jacobian(self, y: Any) -> Any:
        return (self.power - 1.0) * ops.log(y)


class Exp(PowerTransform):
    """y = exp(x)."""

    def __init__(self, name: str = "Exp") -> None:
        super().__init__(name=name)


class ScalarAffine(Bijector):
    """y = scale x + shift."""

    def __init__(self, scale: Any = 1.0, shift: Any = 0.0, name: str = "ScalarAffine") -> None:
        super().__init__(is_constant_jacobian=True, name=name, param={"scale": scale, "shift": shift})
        self.scale: Tensor = self.parameters["scale"]
        self.shift: Tensor = self.parameters["shift"]
        if (self.scale == 0).any():
            raise AttributeValueError("ScalarAffine: scale must not be 0.")
        self.is_increasing: bool = bool((self.scale > 0).all())

    def _forward(self, x: Any) -> Any:
        return self.scale * x + self.shift

    def _inverse(self, y: Any) -> Any:
        return (y - self.shift) / self.scale

    def _forward_log_jacobian(self, x: Any) -> Any:
        return ops.log(ops.abs(self.scale))

    def _inverse_log_jacobian(self, y: Any) -> Any:
        return -ops.log(ops.abs(self.scale))


class Softplus(Bijector):
    """y = log(1 + exp(sharpness x)) / sharpness."""

    def __init__(self, sharpness: Any = 1.0, name: str = "Softplus") -> None:
        super().__init__(name=name, param={"sharpness": sharpness})
        self.sharpness: Tensor = self.parameters["sharpness"]

    def _forward(self, x: Any) -> Any:
        return -ops.logsigmoid(-self.sharpness * x) / self.sharpness

    def _inverse(self, y: Any) -> Any:
        wide = self.sharpness * y
        return (ops.log(-ops.expm1(-wide)) + wide) / self.sharpness

    def _forward_log_jacobian(self, x: Any) -> Any:
        return ops.logsigmoid(self.sharpness * x)

    def _inverse_log_jacobian(self, y: Any) -> Any:
        return -ops.log(-ops.expm1(-self.sharpness * y))


class GumbelCDF(Bijector):
    """y = exp(-exp(-(x - loc) / scale)): uniform numbers of numbers with a Gumbel distribution."""

    def __init__(self, loc: Any = 0.0, scale: Any = 1.0, name: str = "GumbelCDF") -> None:
        super().__init__(name=name, param={"loc": loc, "scale": scale})
        self.loc: Tensor = self.parameters["loc"]
        self.scale: Tensor = self.parameters["scale"]
        if not (self.scale > 0).all():
            raise AttributeValueError("GumbelCDF: scale must lie above 0.")

    def _forward(self, x: Any) -> Any:
        return ops.exp(-ops.exp(-(x - self.loc) / self.scale))

    def _inverse(self, y: Any) -> Any:
        return self.loc - self.scale * ops.log(-ops.log(y))

    def _forward_log_jacobian(self, x: Any) -> Any:
        z = (x - self.loc) / self.scale
        return -z - ops.exp(-z) - ops.log(self.scale)

    def _inverse_log_jacobian(self, y: Any) -> Any:
        return ops.log(self.scale / (-ops.log(y) * y))


class Invert(Bijector):
    """A bijector the other way round."""

    def __init__(self, bijector: Bijector, name: str = "") -> None:
        if not isinstance(bijector, Bijector):
            raise ArgumentError(f"Invert takes a bijector, not {bijector!r}.")
        super().__init__(bijector.is_constant_jacobian, bijector.is_injective, name or f"Invert{bijector.name}")
        self.bijector = bijector
        self.is_increasing: bool = bijector.is_increasing

    def _forward(self, x: Any) -> Any:
        return self.bijector.inverse(x)

    def _inverse(self, y: Any) -> Any:
        return self.bijector.forward(y)

    def _forward_log_jacobian(self, x: Any) -> Any:
        return self.bijector.inverse_log_jacobian(x)

    def _inverse_log_jacobian(self, y: Any) -> Any:
        return self.bijector.forward_log_jacobian(y)


def __dir__() -> list[str]:
    return public_names(__name__)
