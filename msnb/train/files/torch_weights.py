"""Weights of a PyTorch model in a network of the same layers.

    PyTorch                                   here
    weight, bias of norms                     gamma, beta
    running_mean, running_var                 moving_mean, moving_variance
    num_batches_tracked                       none
    weight of Embedding                       embedding_table
    in_proj_weight of MultiheadAttention      q_proj_weight, k_proj_weight, v_proj_weight: its three parts
    weight, bias of all other layers          the same names, in the same layouts

A name is that of the layer's path and the parameter; "module." and "_orig_mod." of wrappers are seen through.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from msnb.base import ArgumentError, CheckpointError
from msnb.core import Tensor, make, slot
from msnb.train.files import safetensors_file, torch_checkpoint, weight_shards
from msnb.train.files.parameter_loading import state_of

_LEAVES = {"gamma": "weight", "beta": "bias", "moving_mean": "running_mean", "moving_variance": "running_var",
           "embedding_table": "weight", "w": "weight"}  # fmt: skip
_PARTS = {"q_proj_weight": 0, "k_proj_weight": 1, "v_proj_weight": 2}  # of in_proj_weight
_WRAPPERS = ("module.", "_orig_mod.")
_INSIDE = ("state_dict", "model_state_dict", "model", "net")


@dataclass
class TorchWeights:
    """What came of loading.

    Attributes:
        matched: names of the network -> names of the file.
        missing: names of the network without a value, each with the names in the file that come near.
        unused: names of the file that nothing took.
    """

    matched: dict[str, str] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{len(self.matched)} parameters matched"]
        lines += [f"no value for {name}" + (f"; near: {', '.join(near)}" if near else "")
                  for name, near in self.missing.items()]  # fmt: skip
        lines += [f"not used: {name}" for name in self.unused]
        return "\n".join(lines)


def load_torch_state_dict(net: Any, source: Any, strict: bool = True) -> TorchWeights:
    """Put the weights of a PyTorch model into a network of the same layers; PyTorch is not needed.

    Args:
        net: a Cell.
        source: a file (.pth, .pt, .safetensors), the index of several (.index.json), or a dict from PyTorch's names to
            tensors or arrays.
        strict: demand a value for every parameter, and a parameter for every value.

    Returns:
        What matched, what is missing and what was near, what was not used; ``print`` shows it.

    Raises:
        ValueError: CheckpointError: the file is damaged or holds more than tensors; shapes do not fit; with ``strict``
            names are missing or left over. The network is unchanged.
        TypeError: no Cell, or values that are no tensors.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict

    Examples:
        >>> import msnb as ms
        >>> net = ms.nn.SequentialCell(ms.nn.Dense(1, 1), ms.nn.LayerNorm((1,)))
        >>> state = {"0.weight": [[2.0]], "0.bias": [1.0], "1.weight": [3.0], "1.bias": [4.0]}
        >>> print(ms.load_torch_state_dict(net, state))
        4 parameters matched
        >>> net[1].gamma.tolist()
        [3.0]
    """
    if not hasattr(net, "parameters_and_names"):
        raise ArgumentError(f"load_torch_state_dict takes a Cell, not {type(net).__name__}.")
    given = dict(_array(name, value) for name, value in _state(source).items())
    own = dict(state_of(net))
    report = TorchWeights()
    for name in own:
        found = next((other for other in _names(name) if other in given), None)
        if found is None:
            report.missing[name] = difflib.get_close_matches(_names(name)[0], given, 3, 0.7)
        else:
            report.matched[name] = found
    taken = set(report.matched.values())
    report.unused = [name for name in given if name not in taken and not name.endswith("num_batches_tracked")]
    if not report.matched or (strict and (report.missing or report.unused)):
        raise CheckpointError(
            "the names of the state dict are not those of the network. The network is unchanged.",
            operands=str(report).splitlines(), hint="strict=False loads the names that both have.",
        )  # fmt: skip
    plan = [(own[name], _value(name, own[name], _part(name, other, given[other])))
            for name, other in report.matched.items()]  # fmt: skip
    for parameter, value in plan:
        slot.engine.assign(parameter, value)
    return report


def _names(name: str) -> list[str]:
    """What PyTorch calls a parameter of ours."""
    path, dot, leaf = name.replace(".dense", ".linear").rpartition(".")  # of a Transformer's layers
    found = [f"{path}{dot}{_LEAVES.get(leaf, leaf)}", name]
    return [*found, f"{path}{dot}in_proj_weight"] if leaf in _PARTS else found


def _part(name: str, other: str, array: Any) -> Any:
    """What of an array of the file is a parameter of ours."""
    leaf = name.rpartition(".")[2]
    if leaf not in _PARTS or other.rpartition(".")[2] != "in_proj_weight" or array.shape[0] % 3:
        return array
    return np.split(array, 3)[_PARTS[leaf]]


def _state(source: Any) -> Mapping[str, Any]:
    """A dict of tensors: given, read from a file, or within such a dict."""
    if isinstance(source, (str, os.PathLike)):
        source = _read(os.fspath(source))
    for key in _INSIDE:
        if isinstance(source, Mapping) and isinstance(source.get(key), Mapping):
            source = source[key]
    if not isinstance(source, Mapping):
        raise ArgumentError(f"load_torch_state_dict takes a file or a dict of tensors, not {type(source).__name__}.")
    for wrapper in _WRAPPERS:
        if source and all(isinstance(name, str) and name.startswith(wrapper) for name in source):
            source = {name.removeprefix(wrapper): value for name, value in source.items()}
    found: Mapping[str, Any] = source
    return found


def _read(path: str) -> Any:
    safetensors_file.need_file(path)
    if weight_shards.is_index(path):
        return weight_shards.read(path, safetensors_file.damaged(path), lambda part: dict(_state(part)))
    with open(path, "rb") as file:
        first = file.read(4)
    if torch_checkpoint.is_one(first):
        return torch_checkpoint.read(path, safetensors_file.damaged(path))
    return safetensors_file.read(path)[0]


def _array(name: Any, value: Any) -> tuple[str, Any]:
    if isinstance(value, Tensor):
        return str(name), value._host()
    if hasattr(value, "detach"):  # a tensor of PyTorch
        value = value.detach().cpu().numpy()
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind in "SU":
        raise ArgumentError(f"the state dict has {name!r}, which is no tensor but {type(value).__name__}.")
    return str(name), array


def _value(name: str, parameter: Tensor, array: Any) -> Tensor:
    """A value in the parameter's dtype."""
    if array.ndim == 3 and tuple(parameter.shape) == (*array.shape[:2], 1, array.shape[2]):
        array = array.reshape(parameter.shape)  # Conv1d as MindSpore has it
    if tuple(array.shape) != tuple(parameter.shape):
        raise CheckpointError(
            f"{name} has the shape {list(parameter.shape)}, in the state dict {list(array.shape)}.",
            hint="the network is unchanged.",
        )
    return make(array.astype(parameter.dtype.numpy, order="C"), parameter._type)


def nested(state: Any) -> Iterator[tuple[str, Any]]:
    """The arrays of a file by dotted names; numbers and texts beside them are left out."""
    if not isinstance(state, (Mapping, list, tuple)):
        return
    for key, value in state.items() if isinstance(state, Mapping) else enumerate(state):
        if isinstance(value, np.ndarray):
            yield str(key), value
        else:
            yield from ((f"{key}.{name}", array) for name, array in nested(value))
