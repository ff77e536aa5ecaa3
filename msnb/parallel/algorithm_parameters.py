"""Parameters of MindSpore's search for strategies: kept and given back. The planner here compares strategies by their
cost and needs none of them.

Source: `mindspore.set_algo_parameters`
"""

from __future__ import annotations

from typing import Any

from msnb.base import ArgumentError, ContextError, events

__all__ = ["get_algo_parameters", "reset_algo_parameters", "set_algo_parameters"]

_DEFAULTS: dict[str, Any] = {
    "fully_use_devices": False, "elementwise_op_strategy_follow": False, "enable_algo_approxi": False,
    "algo_approxi_epsilon": 0.1, "tensor_slice_align_enable": False, "tensor_slice_align_size": 16,
}  # fmt: skip
_given: dict[str, Any] = {}


def _known(key: str) -> str:
    if key not in _DEFAULTS:
        raise ContextError(f"the search has no parameter {key!r}; it has {', '.join(_DEFAULTS)}.")
    return key


def set_algo_parameters(**parameters: Any) -> None:
    """Keep parameters of the search; the planner needs none, which is said once.

    Args:
        parameters: fully_use_devices, elementwise_op_strategy_follow, enable_algo_approxi, tensor_slice_align_enable
            (bools), algo_approxi_epsilon (above 0, at most 1), tensor_slice_align_size (1 to 1024).

    Raises:
        ValueError: another name, a number outside. TypeError: another type.

    Examples:
        >>> import msnb as ms
        >>> ms.set_algo_parameters(fully_use_devices=True)
        >>> ms.get_algo_parameters("fully_use_devices")
        True
    """
    for key, value in parameters.items():
        kind = type(_DEFAULTS[_known(key)])
        if type(value) is not kind:
            raise ArgumentError(f"set_algo_parameters({key}=): a {kind.__name__}, not {value!r}.")
        if key == "algo_approxi_epsilon" and not 0 < value <= 1:
            raise ContextError(f"algo_approxi_epsilon lies in (0, 1], not at {value}.")
        if key == "tensor_slice_align_size" and not 1 <= value <= 1024:
            raise ContextError(f"tensor_slice_align_size lies in [1, 1024], not at {value}.")
    _given.update(parameters)
    events.ignored("set_algo_parameters", "the planner compares all strategies by their cost")


def get_algo_parameters(attr_key: str) -> Any:
    """The value of a parameter of the search.

    Raises:
        ValueError: there is none of that name.
    """
    return {**_DEFAULTS, **_given}[_known(attr_key)]


def reset_algo_parameters() -> None:
    """All parameters of the search as in the beginning."""
    _given.clear()
