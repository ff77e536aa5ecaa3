"""Normalisation layers; the formulas are in ``msnb.ops.norm``.

BatchNorm remembers running statistics: in training it normalises by those of the batch and moves the running ones,

    moving = momentum * moving + (1 - momentum) * batch          (MindSpore's momentum 0.9 is PyTorch's 0.1)

where the batch variance is the unbiased one (n - 1), as in PyTorch. In evaluation it uses the running ones.
Parameter names are MindSpore's: gamma, beta, moving_mean, moving_variance.
"""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.base import AttributeValueError, ShapeError, events
from msnb.core import Parameter, dtypes
from msnb.nn.cells import Cell, like_mindspore
from msnb.nn.initializer import initializer
from msnb.nn.layers.basic import positive_int
from msnb.ops.definition import NHWC, need_format, worded

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d",
    "InstanceNorm3d", "LayerNorm", "RMSNorm",
]  # fmt: skip


def _parameter(init: Any, shape: Any, name: str, dtype: Any, trained: bool = True) -> Parameter:
    return Parameter(initializer(init, shape, dtype), name=name, requires_grad=trained)


def statistics_names() -> tuple[str, str]:
    """What running statistics are called as long as their layer has no place."""
    return ("mean", "variance") if like_mindspore() else ("moving_mean", "moving_variance")


_OTHER_WAY = (
    "{0}(momentum={1:g}) keeps {1:.0%} of the running statistics in a step, as in MindSpore; PyTorch's "
    "momentum={1:g} is {2:g} here."
)


class _BatchNorm(Cell):
    """What the batch norms share; ``_ndims`` are the numbers of axes they take."""

    _ndims: tuple[int, ...] = ()

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.9, affine: bool = True,
        gamma_init: Any = "ones", beta_init: Any = "zeros", moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones", use_batch_statistics: bool | None = None, data_format: str = "NCHW",
        dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        need_format(type(self).__name__, data_format)
        self.data_format = data_format
        if not 0 <= momentum <= 1:
            raise ValueError(f"momentum must be from 0 to 1, got {momentum}.")
        if 0 < momentum < 0.5:
            events.notice(_OTHER_WAY.format(type(self).__name__, momentum, 1 - momentum), key="BatchNorm.momentum")
        self.num_features = positive_int("num_features", num_features)
        self.eps, self.affine = eps, affine
        self._keep: float = momentum
        self.use_batch_statistics = use_batch_statistics
        self._add_parameters(gamma_init, beta_init, moving_mean_init, moving_var_init, dtype)

    @property
    def momentum(self) -> float:
        """What a step keeps of the running statistics; with ``mindspore`` what it takes, as layers say there."""
        return 1.0 - self._keep if like_mindspore() else self._keep

    @momentum.setter
    def momentum(self, value: float) -> None:
        self._keep = 1.0 - value if like_mindspore() else value

    def _add_parameters(self, gamma: Any, beta: Any, mean: Any, variance: Any, dtype: Any) -> None:
        n, names = self.num_features, statistics_names()
        self.moving_mean = _parameter(mean, n, names[0], dtype, False)
        self.moving_variance = _parameter(variance, n, names[1], dtype, False)
        self.gamma = _parameter(gamma, n, "gamma", dtype, self.affine)
        self.beta = _parameter(beta, n, "beta", dtype, self.affine)

    def construct(self, x: Any) -> Any:
        """The layer."""
        self._need_shape(x)
        if self.training if self.use_batch_statistics is None else self.use_batch_statistics:
            y, mean, variance = ops.batch_norm_train(x, self.gamma, self.beta, self.eps, self._axis(x))
            self._move(x.size / self.num_features, mean, variance)
            return y
        return ops.batch_norm(
            x, self.moving_mean, self.moving_variance, self.gamma, self.beta, eps=self.eps, axis=self._axis(x)
        )

    def _move(self, n: float, mean: Any, variance: Any) -> None:
        """Let the running statistics follow a batch of ``n`` numbers per channel."""
        keep, take = self._keep, 1.0 - self._keep
        unbiased = ops.stop_gradient(variance) * (n / max(n - 1.0, 1.0))
        ops.assign(self.moving_mean, self.moving_mean * keep + ops.stop_gradient(mean) * take)
        ops.assign(self.moving_variance, self.moving_variance * keep + unbiased * take)

    def _axis(self, x: Any) -> int:
        return x.ndim - 1 if self.data_format == NHWC else 1

    def _need_shape(self, x: Any) -> None:
        if x.ndim not in self._ndims or x.shape[self._axis(x)] != self.num_features:
            raise ShapeError(
                f"{type(self).__name__}({self.num_features}) needs x of {' or '.join(map(str, self._ndims))} axes with "
                f"{self.num_features} channels on axis {self._axis(x)}.",
                operands=[f"x: {x._type!r}"],
            )

    def extend_repr(self) -> str:
        """Its sizes."""
        return f"num_features={self.num_features}, eps={self.eps}, momentum={self._keep}, affine={self.affine}"


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of x [n, num_features] or [n, num_features, length].

    Args:
        num_features: channels.
        eps: added to the variance.
        momentum: how much of the running statistics a step keeps (0.9; PyTorch counts the other way round).
        affine: whether gamma and beta are trained.
        gamma_init, beta_init, moving_mean_init, moving_var_init: first values.
        use_batch_statistics: True or False to fix which statistics are used; None follows ``training``.
        data_format: "NCHW" for channels on axis 1, "NHWC" for channels on the last axis.

    Source: `mindspore.nn.BatchNorm1d`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.BatchNorm1d(1, eps=0.0).set_train()(ms.Tensor([[1.0], [3.0]])).tolist()
        [[-1.0], [1.0]]
    """

    _ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of images [n, num_features, rows, columns]; arguments as in ``BatchNorm1d``.

    Source: `mindspore.nn.BatchNorm2d`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.BatchNorm2d(3)(ms.ops.zeros((2, 3, 4, 4))).shape
        (2, 3, 4, 4)
    """

    _ndims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of volumes [n, num_features, depth, rows, columns]; arguments as in ``BatchNorm1d``.

    Source: `mindspore.nn.BatchNorm3d`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.BatchNorm3d(3)(ms.ops.zeros((2, 3, 4, 4, 4))).shape
        (2, 3, 4, 4, 4)
    """

    _ndims = (5,)

    def _add_parameters(self, gamma: Any, beta: Any, mean: Any, variance: Any, dtype: Any) -> None:
        """In MindSpore's checkpoints they live in a layer of images, called ``bn2d``."""
        if not like_mindspore():
            super()._add_parameters(gamma, beta, mean, variance, dtype)
            return
        self.bn2d: BatchNorm2d = BatchNorm2d(
            self.num_features, self.eps, self._keep, self.affine, gamma, beta, mean, variance,
            self.use_batch_statistics, dtype=dtype,
        )  # fmt: skip

    def construct(self, x: Any) -> Any:
        """The layer."""
        if "bn2d" not in self.name_cells():
            return super().construct(x)
        self._need_shape(x)
        return ops.reshape(self.bn2d(ops.reshape(x, (*x.shape[:3], -1))), x.shape)


class LayerNorm(Cell):
    """Normalisation over the last axes.

    Args:
        normalized_shape: int or ints: the sizes of those axes.
        begin_norm_axis: the first axis that is normalized; -1: where normalized_shape begins.
        begin_params_axis: the axis at which gamma and beta begin.
        gamma_init, beta_init: first values.
        epsilon: added to the variance (MindSpore's default 1e-7; PyTorch's is 1e-5).
        dtype: of the Parameters.

    Source: `mindspore.nn.LayerNorm`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.LayerNorm((2,), epsilon=0.0)(ms.Tensor([[1.0, 3.0]])).tolist()
        [[-1.0, 1.0]]
    """

    @worded
    def __init__(
        self, normalized_shape: Any, begin_norm_axis: int = -1, begin_params_axis: int = -1, gamma_init: Any = "ones",
        beta_init: Any = "zeros", epsilon: float = 1e-7, dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape: tuple[int] | tuple[Any, ...] = shape
        self.epsilon: float = epsilon
        self.begin_norm_axis: int = begin_norm_axis
        self.begin_params_axis: int = begin_params_axis
        self.gamma: Parameter = _parameter(gamma_init, shape, "gamma", dtype)
        self.beta: Parameter = _parameter(beta_init, shape, "beta", dtype)

    def construct(self, x: Any) -> Any:
        """The layer."""
        shape, first = self.normalized_shape, self.begin_norm_axis % x.ndim
        if self.begin_norm_axis == -1 or first == x.ndim - len(shape):
            return ops.layer_norm(x, shape, self.gamma, self.beta, self.epsilon)
        start = self.begin_params_axis % x.ndim
        wide = (*shape, *(1,) * (x.ndim - start - len(shape)))
        normal = ops.layer_norm(x, x.shape[first:], None, None, self.epsilon)
        return normal * self.gamma.reshape(wide) + self.beta.reshape(wide)

    def extend_repr(self) -> str:
        """Its sizes."""
        return f"normalized_shape={self.normalized_shape}, epsilon={self.epsilon}"


class RMSNorm(Cell):
    """Scale the last axis to a root mean square of 1, times a trained gamma.

    Args:
        dim: int or ints: the sizes of the last axes.
        epsilon: added to the mean square.
        gamma_init: first value.
        dtype: of the Parameter.

    Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.RMSNorm(2, epsilon=0.0)(ms.Tensor([3.0, -3.0])).tolist()
        [1.0, -1.0]
    """

    def __init__(self, dim: Any, epsilon: float = 1e-6, gamma_init: Any = "ones", dtype: Any = dtypes.float32) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.gamma: Parameter = _parameter(gamma_init, dim, "gamma", dtype)

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.rms_norm(x, self.gamma, self.epsilon)

    def extend_repr(self) -> str:
        """Its sizes."""
        return f"dim={self.gamma.shape}, epsilon={self.epsilon}"


class GroupNorm(Cell):
    """Normalisation of each image's channels group by group.

    Args:
        num_groups: a divisor of num_channels.
        num_channels: channels.
        eps: added to the variance.
        affine: whether gamma and beta are trained.
        gamma_init, beta_init: first values.

    Source: `mindspore.nn.GroupNorm`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.GroupNorm(2, 4)(ms.ops.zeros((1, 4, 3, 3))).shape
        (1, 4, 3, 3)
    """

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, gamma_init: Any = "ones",
        beta_init: Any = "zeros", dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_groups: int = positive_int("num_groups", num_groups)
        self.num_channels: int = positive_int("num_channels", num_channels)
        if num_channels % num_groups:
            raise ValueError(f"num_channels={num_channels} does not divide into {num_groups} groups.")
        self.eps = eps
        self.affine: bool = affine
        self.gamma: Parameter = _parameter(gamma_init, num_channels, "gamma", dtype, affine)
        self.beta: Parameter = _parameter(beta_init, num_channels, "beta", dtype, affine)

    def construct(self, x: Any) -> Any:
        """The layer."""
        return self._cal_output(x)

    def _cal_output(self, x: Any) -> Any:  # its name in MindSpore, for subclasses
        return ops.group_norm(x, self.num_groups, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        """Its sizes."""
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}, eps={self.eps}"


class _InstanceNorm(Cell):
    """What the instance norms share; ``_ndim`` is the number of axes they take."""

    _ndim = 0

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True,
        gamma_init: Any = "ones", beta_init: Any = "zeros", dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        if isinstance(momentum, bool) or not 0 <= momentum <= 1:
            raise AttributeValueError(
                f"momentum must be a number from 0 to 1, got {momentum}; affine= stands after it."
            )
        self.num_features, self.eps, self.momentum = positive_int("num_features", num_features), eps, momentum
        self._has_statistics = like_mindspore()
        if self._has_statistics:
            self.moving_mean = _parameter("zeros", num_features, "mean", dtype, False)
            self.moving_variance = _parameter("ones", num_features, "variance", dtype, False)
        elif momentum != 0.1:
            events.ignored(f"{type(self).__name__}(momentum=)", "its statistics are those of each row, none are kept")
        self.gamma = _parameter(gamma_init, num_features, "gamma", dtype, affine)
        self.beta = _parameter(beta_init, num_features, "beta", dtype, affine)

    def construct(self, x: Any) -> Any:
        """The layer."""
        if x.ndim != self._ndim or x.shape[1] != self.num_features:
            raise ShapeError(
                f"{type(self).__name__}({self.num_features}) needs x of {self._ndim} axes with {self.num_features} "
                "channels on axis 1.",
                operands=[f"x: {x._type!r}"],
            )
        if self._has_statistics and self.training:
            self._follow(ops.stop_gradient(x))
        return ops.instance_norm(x, self.gamma, self.beta, self.eps)

    def _follow(self, x: Any) -> None:
        """Let the statistics, which nothing computes with, follow those of a batch."""
        axes, take = tuple(range(2, x.ndim)), self.momentum
        mean, variance = (ops.mean(f(x, axes), 0) for f in (ops.mean, ops.var))
        ops.assign(self.moving_mean, self.moving_mean * (1.0 - take) + mean * take)
        ops.assign(self.moving_variance, self.moving_variance * (1.0 - take) + variance * take)

    def extend_repr(self) -> str:
        """Its sizes."""
        return f"num_features={self.num_features}, eps={self.eps}"


class InstanceNorm2d(_InstanceNorm):
    """Normalisation of each channel of each image over its positions.

    Args:
        num_features: channels.
        eps: added to the variance.
        momentum: share of a batch in the running statistics that MindSpore's checkpoints have; nothing computes with
            them, and without ``msnb.as_mindspore`` none are kept.
        affine: whether gamma and beta are trained.
        gamma_init, beta_init: first values.

    Source: `mindspore.nn.InstanceNorm2d`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.InstanceNorm2d(3)(ms.ops.zeros((2, 3, 4, 4))).shape
        (2, 3, 4, 4)
    """

    _ndim = 4


class InstanceNorm1d(_InstanceNorm):
    """The same of rows of samples [n, channels, length]."""

    _ndim = 3


class InstanceNorm3d(_InstanceNorm):
    """The same of volumes [n, channels, depth, rows, columns]."""

    _ndim = 5
