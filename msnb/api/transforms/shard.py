"""shard: a function whose tensors are split over devices as somebody wrote, in programs that are planned."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from msnb.api.graph_mode import compiled_in_graph_mode
from msnb.base import ArgumentError
from msnb.core import slot
from msnb.core.shard_annotation import sharding, unplaced


def shard(
    fn: Any, in_strategy: Any, out_strategy: Any = None, parameter_plan: Mapping[str, Any] | None = None,
    device: str = "Ascend", level: int = 0,
) -> Callable[..., Any]:  # fmt: skip
    """A function or Cell with a layout of its tensors; what is inside follows.

    Args:
        fn: a Cell or a function of tensors.
        in_strategy: per tensor argument a tuple of split counts, one per axis; or a Layout; or None for any.
        out_strategy: the same for the results.
        parameter_plan: full name of a Parameter that it reads -> its split.
        device, level: others than the default have no effect, which is said once.

    Returns:
        A function called like ``fn``. It has an effect in programs that are planned (semi_auto_parallel,
        auto_parallel), elsewhere none.

    Raises:
        TypeError: ``fn`` cannot be called, or a strategy is no tuple.

    Source: `mindspore.shard`

    Examples:
        >>> import msnb as ms
        >>> f = ms.shard(ms.ops.matmul, in_strategy=((1, 4), (4, 1)))
        >>> plan = ms.parallel.plan(f, ms.ops.ones((8, 16)), ms.ops.ones((16, 8)), device_num=4)
        >>> plan.strategies["matmul"]
        ((1, 4), (4, 1))
    """
    if not callable(fn):
        raise ArgumentError(f"shard takes a Cell or a function, not a {type(fn).__name__}.")
    unplaced(device, level)
    name = getattr(fn, "__name__", type(fn).__name__)
    asked = sharding(name, in_strategy, out_strategy, parameter_plan, must=False)

    @functools.wraps(fn, assigned=("__doc__",), updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return slot.engine.sharded(asked, slot.engine.convert(fn), args, kwargs)

    call.__name__ = f"shard({name})"
    call.__dict__.pop("__wrapped__", None)
    return compiled_in_graph_mode(call)
