"""The other names, and shapes, that a checkpoint has for a parameter: MindSpore's where a network has msnb's, and back.

    MindSpore 2.10                                    msnb
    in_proj_weight [3n, n] of MultiheadAttention      q_proj_weight, k_proj_weight, v_proj_weight: its three parts
    dense1, dense2 of a Transformer's layers          linear1, linear2
    w (a as long as it has no place) of PReLU         weight
    mean, variance of a norm without a place          moving_mean, moving_variance
    bn2d.gamma ... of BatchNorm3d                     gamma ...
    weight [o, i, 1, k] of Conv1d                     weight [o, i, k]
    global_step [1] of optimizers                     global_step []
    adam_m.*, lamb_m.*, accum_update.* ...            moment1.*, step_square.* ...

A name is looked up in the file as it is first; only what has no value is looked for under another name, and only among
names that the network itself does not have. Layers made under ``msnb.as_mindspore`` have MindSpore's names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from msnb.core import Tensor, make

_LEAVES = {
    "w": ("weight", "a"), "a": ("weight", "w"), "weight": ("w", "a"), "moving_mean": ("mean",),
    "moving_variance": ("variance",), "mean": ("moving_mean",), "variance": ("moving_variance",),
}  # fmt: skip
_STEPS = {"dense1": "linear1", "dense2": "linear2", "linear1": "dense1", "linear2": "dense2"}
_SLOTS = (
    ("moment1", "adam_m"), ("moment2", "adam_v"), ("moment1", "lamb_m"), ("moment2", "lamb_v"), ("moment", "moment1"),
    ("largest", "moment2"), ("square", "accum"), ("step_square", "accum_update"), ("before", "prev"),
    ("size", "step_size"),
)  # fmt: skip
_PARTS = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
_WHOLE = "in_proj_weight"
_NORMS = ("gamma", "beta", "moving_mean", "moving_variance")


class NameMatch(NamedTuple):
    """Where the value of a parameter comes from.

    Attributes:
        keys: names in the file.
        value: the tensor made of theirs.
    """

    keys: tuple[str, ...]
    value: Callable[..., Tensor]


def in_names_of(own: Collection[str], given: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """What a file gives, under the names of a network where it has them in another spelling."""
    free = {name for name in given if name not in own}
    missing = [name for name in own if name not in given] if free else []
    spelled = {name: _in_parts(name, given, free) or _renamed(name, free) for name in missing}
    found = {name: s.value(*(given[key] for key in s.keys)) for name, s in spelled.items() if s is not None}
    used = {key for s in spelled.values() if s is not None for key in s.keys}
    return {**{name: value for name, value in given.items() if name not in used}, **found} if used else given


def _renamed(name: str, free: Container[str]) -> NameMatch | None:
    return next((NameMatch((other,), _same) for other in _other_names(name) if other in free), None)


def _same(value: Tensor) -> Tensor:
    return value


def _other_names(name: str) -> Iterator[str]:
    path, dot, leaf = name.rpartition(".")
    for other in _LEAVES.get(leaf, ()):
        yield f"{path}{dot}{other}"
    steps = name.split(".")
    if len(steps) > 1 and steps[-2] in _STEPS:
        yield ".".join([*steps[:-2], _STEPS[steps[-2]], steps[-1]])
    if leaf in _NORMS:
        inside = steps[-2:-1] == ["bn2d"]
        yield ".".join([*steps[:-2], leaf]) if inside else f"{path}{dot}bn2d.{leaf}"
    first, _, rest = name.partition(".")
    for ours, theirs in _SLOTS:
        if rest and first in (ours, theirs):
            yield f"{theirs if first == ours else ours}.{rest}"


def _in_parts(name: str, given: Mapping[str, Tensor], free: Container[str]) -> NameMatch | None:
    """A third of ``in_proj_weight``, or all of it from its thirds."""
    path, dot, leaf = name.rpartition(".")
    whole = f"{path}{dot}{_WHOLE}"
    if leaf in _PARTS and whole in free and given[whole].ndim == 2 and given[whole].shape[0] % 3 == 0:
        place = _PARTS.index(leaf)
        return NameMatch((whole,), lambda value: _tensor(np.split(value._host(), 3)[place]))
    thirds = tuple(f"{path}{dot}{part}" for part in _PARTS)
    if leaf == _WHOLE and all(part in free for part in thirds) and len({given[part].shape for part in thirds}) == 1:
        return NameMatch(thirds, lambda *values: _tensor(np.concatenate([v._host() for v in values])))
    return None


def _tensor(array: Any) -> Tensor:
    return Tensor(np.asarray(array, order="C"))


def in_shape_of(name: str, parameter: Tensor, value: Tensor) -> Tensor:
    """The value with an axis of one element more or less, where MindSpore and msnb differ in it; else as it is."""
    here, there, leaf = tuple(parameter.shape), tuple(value.shape), name.rpartition(".")[2]
    long, short = sorted((here, there), key=len, reverse=True)
    row = leaf == "weight" and len(long) == 4 and long[2] == 1 and (*long[:2], long[3]) == short
    count = leaf == "global_step" and (long, short) == ((1,), ())
    if here == there or not (row or count):
        return value
    return make(np.reshape(value._host(), here), value._type.with_shape(parameter._type.shape))
