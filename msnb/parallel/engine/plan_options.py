"""What ``ms.parallel.plan`` may be told: every keyword with its legal values, and the modes in which it says something.

A keyword that the mode has no use for is refused: it would be followed by nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msnb.base.errors import AttributeValueError
from msnb.parallel.context import AUTO_PARALLEL, DATA_PARALLEL, HYBRID_PARALLEL, MODES, SEMI_AUTO_PARALLEL, STAND_ALONE
from msnb.parallel.sharding.device_mesh import Cluster
from msnb.parallel.sharding.pipeline_schedule import SCHEDULERS

Check = Callable[[Any], bool]
_ANYWHERE = ("device_num", "cluster", "optimizer_states")


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_LEGAL: dict[str, tuple[str, Check]] = {
    "device_num": ("an int from 1 to 4096", lambda v: _whole(v, 1)),
    "cluster": ("a Cluster, such as ms.parallel.Cluster('ascend910', servers=2)", lambda v: isinstance(v, Cluster)),
    "strategies": ("a dict: operator, or kind of operator -> split counts per input", lambda v: isinstance(v, Mapping)),
    "memory_limit": ("a number of bytes above 0", lambda v: _number(v) and v > 0),
    "optimizer_states": ("an int of at least 0", lambda v: _whole(v, 0)),
    "max_split": ("an int of at least 1", lambda v: _whole(v, 1)),
    "overlap": ("a number from 0 to 1", lambda v: _number(v) and 0 <= v <= 1),
    "pipeline_stages": ("an int of at least 1", lambda v: _whole(v, 1)),
    "pipeline_scheduler": (", ".join(map(repr, SCHEDULERS)), lambda v: v in SCHEDULERS),
}  # fmt: skip


def check_keywords(mode: str, said: Mapping[str, Any]) -> None:
    """The mode, and keywords with what they were given.

    Args:
        mode: the parallel mode; said: keyword -> value, None where nobody gave one.

    Raises:
        ValueError: a mode or a value that is not legal, or a keyword that the mode has no use for.
    """
    if mode not in MODES:
        raise AttributeValueError(f"parallel_mode={mode!r} is not legal; legal: {', '.join(map(repr, MODES))}.")
    for name, (legal, check) in _LEGAL.items():
        value = said.get(name)
        if value is not None and not check(value):
            raise AttributeValueError(f"{name}={value!r} is not legal; legal: {legal}.")
    given = {name for name, value in said.items() if value and name not in _ANYWHERE}
    if mode == HYBRID_PARALLEL and given:
        raise AttributeValueError(f"hybrid_parallel programs place their own collectives: {min(given)}= says nothing.",
                                  hint="use semi_auto_parallel or auto_parallel.")  # fmt: skip
    if said.get("training") is False and (said.get("pipeline_stages") or 1) > 1:
        raise AttributeValueError("training=False conflicts with pipeline_stages=: pipelines are of training steps.")
    if "strategies" in given and mode in (STAND_ALONE, DATA_PARALLEL):
        raise AttributeValueError(f"strategies= conflicts with parallel_mode={mode!r}, which has its own.",
                                  hint=f"use {SEMI_AUTO_PARALLEL} or {AUTO_PARALLEL}.")  # fmt: skip
    if "search_mode" in given and mode in (DATA_PARALLEL, SEMI_AUTO_PARALLEL):
        raise AttributeValueError(f"search_mode= conflicts with parallel_mode={mode!r}, which searches nothing.",
                                  hint=f"use {AUTO_PARALLEL}.")  # fmt: skip
