"""Batch normalisation over the batches of several ranks.

A plan computes what one device would, so there every BatchNorm sums over all devices that share the batch. A program
that runs on several ranks by itself (hybrid_parallel, MPI) sees its own part only; here it asks the others:

    mean = all_reduce(mean of this part) / ranks        variance = all_reduce(mean of (x - mean)^2) / ranks

Two short collectives; the difference from the common mean is squared, not the difference of large squares taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msnb import ops
from msnb.base import AttributeValueError
from msnb.core import process_group
from msnb.nn.layers.normalization import BatchNorm2d
from msnb.ops.collective import ALL_REDUCE


class SyncBatchNorm(BatchNorm2d):
    """Batch normalisation of images by the statistics of all ranks' batches, which are of one size.

    Args:
        num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init, moving_var_init,
        use_batch_statistics: as in ``BatchNorm2d``.
        process_groups: lists of ranks that share statistics, each rank in one of them; None: all ranks.

    Raises:
        ValueError: a rank in two lists, or this rank in none.

    Source: `mindspore.nn.SyncBatchNorm`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.SyncBatchNorm(3)(ms.ops.zeros((2, 3, 4, 4))).shape
        (2, 3, 4, 4)
    """

    process_groups: tuple[tuple[int, ...], ...] | None

    def __init__(
        self, num_features: int, *settings: Any, process_groups: Sequence[Sequence[int]] | None = None, **named: Any
    ) -> None:
        super().__init__(num_features, *settings, **named)
        self.process_groups = None if process_groups is None else tuple(tuple(g) for g in process_groups)
        ranks = [r for g in self.process_groups or () for r in g]
        if len(set(ranks)) < len(ranks):
            raise AttributeValueError(f"SyncBatchNorm: a rank stands in two of process_groups={process_groups}.")

    def construct(self, x: Any) -> Any:
        """The layer."""
        members = self._members()
        of_batch = self.training if self.use_batch_statistics is None else self.use_batch_statistics
        return self._together(x, members) if of_batch and len(members) > 1 else super().construct(x)

    def _members(self) -> tuple[int, ...]:
        """The ranks that share statistics with this one."""
        here = process_group.current()
        if self.process_groups is None or here.size == 1:
            return tuple(range(here.size))
        for group in self.process_groups:
            if here.rank in group:
                return group
        raise AttributeValueError(f"SyncBatchNorm: rank {here.rank} is in none of {list(self.process_groups)}.")

    def _together(self, x: Any, members: tuple[int, ...]) -> Any:
        self._need_shape(x)
        channel = self._axis(x)
        axes = tuple(a for a in range(x.ndim) if a != channel)
        column = tuple(-1 if a == channel else 1 for a in range(x.ndim))
        mean = ALL_REDUCE(ops.mean(x, axes), op="sum", group=members) / len(members)
        apart = x - ops.reshape(mean, column)
        variance = ALL_REDUCE(ops.mean(ops.square(apart), axes), op="sum", group=members) / len(members)
        self._move(x.size / self.num_features * len(members), mean, variance)
        scale = ops.reshape(self.gamma * ops.rsqrt(variance + self.eps), column)
        return apart * scale + ops.reshape(self.beta, column)
