"""Putting loaded values into a network: every check first, then every write.

    parameters of net  --match by name-->  plan [(parameter, value)]  --checked whole-->  writes, which cannot fail

A failed load therefore changes nothing. What is lenient and what is not:

    strict_load=False    names missing in the file are announced and returned; extra names returned; floats may change
                         their width; a common prefix of all names in the file is seen through (``net.conv1.weight``)
    strict_load=True     names and dtypes must be the same, nothing missing, nothing over
    always               shapes must be the same; what MindSpore's checkpoints call otherwise, or have with one axis
                         more, is the same (``parameter_names``)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from msnb.base import ArgumentError, CheckpointError, events
from msnb.core import Tensor, make, slot
from msnb.train.files.parameter_names import in_names_of, in_shape_of

Plan = list[tuple[Tensor, Tensor]]


def load_param_into_net(
    net: Any, parameter_dict: Mapping[str, Any], strict_load: bool = False, remove_redundancy: bool = False
) -> tuple[list[str], list[str]]:
    """Give the parameters of a network the values of a dict.

    Args:
        net: a Cell (an optimizer is one).
        parameter_dict: names to Parameters or Tensors, as ``load_checkpoint`` gives them.
        strict_load: demand the same names and dtypes, see the head of this file.
        remove_redundancy: True has no effect, which is said once: a file of one device has every parameter.

    Returns:
        (names of the network that got no value, names of the dict that were not used, strings among them).

    Raises:
        ValueError: CheckpointError: shapes, dtypes or names do not fit. The network is unchanged.
        TypeError: not a Cell, not a dict, or values that are no tensors.

    Source: `mindspore.load_param_into_net`
    """
    return put_into(net, parameter_dict, strict_load, strict_load, remove_redundancy)


def put_into(
    net: Any, parameter_dict: Mapping[str, Any], strict_dtypes: bool, strict_names: bool, remove_redundancy: bool
) -> tuple[list[str], list[str]]:
    """``load_param_into_net`` with one word for names and one for dtypes."""
    if remove_redundancy:
        events.ignored("load_param_into_net(remove_redundancy=True)", "a file of one device has every parameter")
    own = _own_state(net)
    given = in_names_of(own, _tensors(parameter_dict))
    pairs = _match(own, given, strict_dtypes)
    missing = [name for name in own if name not in pairs]
    extra = [name for name in given if name not in pairs.values()]
    _check_names(own, given, pairs, missing, extra, strict_names)
    plan = _checked(own, given, pairs, strict_dtypes)
    for target, value in plan:
        slot.engine.assign(target, value)
    if missing:
        events.notice(f"the checkpoint has no value for {_listing(missing)}; kept as they were.")
    return missing, extra + [name for name, value in parameter_dict.items() if isinstance(value, str)]


def state_of(net: Any) -> list[tuple[str, Tensor]]:
    """(name, Parameter or persistent buffer) of a Cell; names are those of ``Parameter.name``."""
    found: list[tuple[str, Tensor]] = [(p.name, p) for _, p in net.parameters_and_names()]
    for _, cell in net.cells_and_names():
        names = [name for name, persistent in cell._buffer_names.items() if persistent]
        found += [(cell._prefix + name, getattr(cell, name)) for name in names if getattr(cell, name) is not None]
    return found


def _own_state(net: Any) -> dict[str, Tensor]:
    if not hasattr(net, "parameters_and_names"):
        raise ArgumentError(f"load_param_into_net needs a Cell, not {type(net).__name__}.")
    return dict(state_of(net))


def _tensors(given: Any) -> dict[str, Tensor]:
    if not isinstance(given, Mapping):
        raise ArgumentError(f"load_param_into_net needs a dict from names to Parameters, not {type(given).__name__}.")
    for name, value in given.items():
        if not isinstance(value, (Tensor, str)):
            raise ArgumentError(f"the value of {name!r} is a {type(value).__name__}, not a Parameter or Tensor.")
    return {name: value for name, value in given.items() if isinstance(value, Tensor)}


def _match(own: Iterable[str], given: Mapping[str, Tensor], strict: bool) -> dict[str, str]:
    """Which name of the network takes which name of the file."""
    pairs = {name: name for name in own if name in given}
    missing = [name for name in own if name not in pairs]
    prefix = "" if strict or not missing else _prefix(missing, given)
    if prefix:
        found = {name: prefix + name for name in missing if prefix + name in given}
        events.notice(f"the names in the checkpoint begin with {prefix!r}; loaded without it.")
        pairs |= found
    return pairs


def _prefix(missing: list[str], given: Mapping[str, Tensor]) -> str:
    """The one prefix under which the file has the longest missing name, or ''."""
    longest = max(missing, key=len)
    found = {key[: -len(longest)] for key in given if key.endswith("." + longest)}
    return found.pop() if len(found) == 1 else ""


def _listing(names: Iterable[str], most: int = 6) -> str:
    items = list(names)
    return ", ".join(items[:most]) + (f" and {len(items) - most} more" if len(items) > most else "")


def _check_names(
    own: Mapping[str, Any], given: Mapping[str, Any], pairs: Any, missing: list[str], extra: list[str], strict: bool
) -> None:
    if own and given and not pairs:
        raise CheckpointError(
            "no name of the checkpoint is a name of the network. The network is unchanged.",
            operands=[f"network: {_listing(own)}", f"checkpoint: {_listing(given)}"],
        )
    if not strict or not (missing or extra):
        return
    lines = [f"{what}: {_listing(names)}" for what, names in
             (("missing in the checkpoint", missing), ("not in the network", extra)) if names]  # fmt: skip
    raise CheckpointError(
        "the names in the checkpoint are not those of the network. The network is unchanged.",
        operands=lines,
        hint="strict_load=False loads the names that both have.",
    )


def _checked(own: Mapping[str, Tensor], given: Mapping[str, Tensor], pairs: Mapping[str, str], strict: bool) -> Plan:
    """The writes to do. Raises one CheckpointError that lists everything that does not fit."""
    plan: Plan = []
    wrong: list[str] = []
    for name, key in pairs.items():
        value = in_shape_of(name, own[name], given[key])
        problem = _problem(own[name], value, strict)
        if problem:
            wrong.append(f"{name}: {problem}")
        else:
            plan.append((own[name], _converted(own[name], value)))
    if wrong:
        raise CheckpointError(
            f"{len(wrong)} of {len(pairs)} parameters in the checkpoint do not fit the network. It is unchanged.",
            operands=wrong[:20],
            hint="was the checkpoint made by another network, or by another version of this one?",
        )
    return plan


def _problem(parameter: Tensor, value: Tensor, strict: bool) -> str:
    """Why this value cannot go into this parameter, or ''."""
    here, there = parameter._type, value._type
    if here.shape != there.shape:
        return f"the network has {here!r}, the checkpoint {there!r}: the shapes differ"
    if here.dtype is there.dtype:
        return ""
    if strict or here.dtype.category != there.dtype.category:
        return f"the network has {here!r}, the checkpoint {there!r}: the dtypes differ"
    return "" if _fits(value, parameter) else f"values of {there!r} are too large for {here!r}"


def _fits(value: Tensor, parameter: Tensor) -> bool:
    """True when the conversion keeps integers exact and finite numbers finite."""
    array = value._host()
    with np.errstate(all="ignore"):
        converted = array.astype(parameter.dtype.numpy)
        if parameter.dtype.is_int:
            return bool(np.array_equal(converted.astype(array.dtype), array) and ((converted < 0) == (array < 0)).all())
        return bool((np.isfinite(converted) == np.isfinite(array)).all())


def _converted(parameter: Tensor, value: Tensor) -> Tensor:
    """The value in the parameter's dtype, in a buffer made now: the write itself cannot fail."""
    if value.dtype is parameter.dtype:
        return make(value._data, value._type) if value.device == parameter.device else value.move_to(parameter.device)
    with np.errstate(all="ignore"):
        return Tensor(value._host().astype(parameter.dtype.numpy))
