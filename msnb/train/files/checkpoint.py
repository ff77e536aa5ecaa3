"""Checkpoints: save a network's parameters, load them, put them into a network.

    save_checkpoint(net, "lenet.ckpt")                     names and values -> one safetensors file, atomically
    params = load_checkpoint("lenet.ckpt")                 file -> {name: Parameter}
    load_param_into_net(net, params)                       every check first, then every write (``loading``)

A name may end in ``.ckpt`` or ``.safetensors``: the content is safetensors either way, readable by other programs.
MindSpore's own ``.ckpt`` (protobuf) is read too, and written with ``format="protobuf"``; the content tells which it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from msnb.base import ArgumentError, CheckpointError, events
from msnb.base.files.bounded_reader import open_file, read_file, read_json, size_of
from msnb.base.files.json_schema import TEXT, Table
from msnb.core import Parameter, Tensor
from msnb.train.files import protobuf_checkpoint, safetensors_file, torch_checkpoint, weight_shards
from msnb.train.files.model_files import export as export, load as load
from msnb.train.files.parameter_loading import load_param_into_net as load_param_into_net, state_of
from msnb.train.files.torch_weights import nested

__all__ = ["load_checkpoint", "load_param_into_net", "save_checkpoint"]

_ENDINGS = (".ckpt", ".safetensors")
_FORMATS = {"ckpt": ".ckpt", "safetensors": ".safetensors", "protobuf": ".ckpt"}
_TEXTS, _PARAMETERS = "msnb.texts", safetensors_file.PARAMETERS


def save_checkpoint(
    save_obj: Any, ckpt_file_name: str | os.PathLike[str], integrated_save: bool = True, async_save: bool = False,
    append_dict: Mapping[str, Any] | None = None, choice_func: Callable[[str], bool] | None = None,
    format: str = "ckpt", *, enc_key: bytes | None = None, enc_mode: str = "AES-GCM", crc_check: bool = False,
) -> None:  # fmt: skip
    """Save parameters to a file, which is afterwards either complete or as it was before.

    Args:
        save_obj: a Cell, a dict from names to Tensors, or a list of ``{"name": ..., "data": ...}``.
        ckpt_file_name: the file; without ``.ckpt`` or ``.safetensors`` at its end, ``format`` is appended. Missing
            folders are made.
        integrated_save: False has no effect, which is said once: of one device a parameter is always whole.
        async_save: True has no effect, which is said once: the file is complete when the call returns.
        append_dict: more to store: numbers, bools, strings, Tensors; instead of a parameter of that name and shape.
        choice_func: keeps the parameters for whose names it returns True.
        format: "ckpt" or "safetensors": only the ending differs; "protobuf": a ``.ckpt`` that MindSpore reads.
            It keeps no note of which Parameters want a gradient.
        enc_key, enc_mode: refused: files are not encrypted.
        crc_check: the checksum is always written.

    Raises:
        TypeError: something that is none of these.
        ValueError: two parameters of one name (CheckpointError).
        OSError: the file cannot be written; an old file is unharmed.

    Source: `mindspore.save_checkpoint`

    Examples:
        >>> import os, tempfile
        >>> import msnb as ms
        >>> path = os.path.join(tempfile.mkdtemp(), "w.ckpt")
        >>> ms.save_checkpoint({"w": ms.Tensor([1.0, 2.0])}, path, append_dict={"epoch": 3})
        >>> sorted(ms.load_checkpoint(path))
        ['epoch', 'w']
    """
    _need_plain("save_checkpoint", "enc_key", enc_key, enc_mode)
    if crc_check:
        events.ignored("save_checkpoint(crc_check=True)", "the checksum is always written")
    if not integrated_save:
        events.ignored("save_checkpoint(integrated_save=False)", "a parameter of one device is whole")
    if async_save:
        events.ignored("save_checkpoint(async_save=)", "the file is complete when the call returns")
    found = _unique(_named(save_obj))
    if choice_func is not None:
        found = {name: value for name, value in found.items() if choice_func(name)}
    # a safetensors file holds arrays; strings go into its metadata
    texts = {k: v for k, v in (append_dict or {}).items() if isinstance(v, str)}
    found = _with(found, {k: _value(k, v) for k, v in (append_dict or {}).items() if k not in texts})
    arrays = {name: value._host() for name, value in found.items()}
    path = _with_ending(ckpt_file_name, format)
    if format == "protobuf":
        twice = next((name for name in texts if name in arrays), None)
        if twice is not None:
            raise CheckpointError(f"{twice} is the name of a tensor and of a string.")
        content = protobuf_checkpoint.encode(arrays, texts, _cannot_write)
    else:
        content = safetensors_file.encode(arrays, _notes(found, texts))
    safetensors_file.write(path, content)


def load_checkpoint(
    ckpt_file_name: str | os.PathLike[str], net: Any = None, strict_load: bool = False,
    filter_prefix: str | Iterable[str] | None = None, choice_func: Callable[[str], bool] | None = None, *,
    dec_key: bytes | None = None, dec_mode: str = "AES-GCM", specify_prefix: str | Iterable[str] | None = None,
    crc_check: bool = False, remove_redundancy: bool = False, format: str = "ckpt",
) -> dict[str, Any]:  # fmt: skip
    """Read a checkpoint: safetensors, MindSpore's protobuf, or PyTorch's weights (``load_torch_state_dict`` maps their
    names to those of a network); the content tells, not the name. Of weights in several files the index is given
    (``model.safetensors.index.json``).

    Args:
        ckpt_file_name: the file.
        net: a Cell to put the parameters into, see ``load_param_into_net``.
        strict_load: for ``net``.
        filter_prefix: leave out names that begin with this (or one of these).
        choice_func: keep the names for which it returns True.
        dec_key, dec_mode: refused: encrypted files are not read.
        specify_prefix: keep only names that begin with this (or one of these).
        crc_check: a checksum in the file is always checked; True tells once where a file has none.
        remove_redundancy: True has no effect, which is said once: a file of one device has every parameter.
        format: "ckpt" or "safetensors"; the content of the file tells which it is.

    Returns:
        A dict from names to Parameters, in the order of the network that was saved (strings of ``append_dict`` as
        strings).

    Raises:
        ValueError: CheckpointError: the file is missing (also a FileNotFoundError), truncated or damaged, or does not
            fit ``net``. The network is unchanged.

    Source: `mindspore.load_checkpoint`
    """
    _need_plain("load_checkpoint", "dec_key", dec_key, dec_mode)
    if format not in _FORMATS:
        raise ArgumentError(f"load_checkpoint: format is one of {', '.join(map(repr, _FORMATS))}, not {format!r}.")
    if remove_redundancy:
        events.ignored("load_checkpoint(remove_redundancy=True)", "a file of one device has every parameter")
    path = os.fspath(ckpt_file_name)
    everything = _read(path, crc_check)
    drop, only = _prefixes(filter_prefix), _prefixes(specify_prefix)
    keep = choice_func or (lambda name: True)
    # names are filtered before ``net`` is looked at, so that strict_load speaks of what is left
    loaded = {k: v for k, v in everything.items() if not k.startswith(drop) and k.startswith(only or ("",)) and keep(k)}
    if everything and not loaded:
        raise CheckpointError(
            f"nothing of the checkpoint {path!r} is left by filter_prefix={drop}, specify_prefix={only} and "
            "choice_func."
        )
    if net is not None:
        load_param_into_net(net, loaded, strict_load)
    return loaded


def _need_plain(function: str, name: str, key: Any, mode: str) -> None:
    if key is not None:
        raise ArgumentError(
            f"{function}({name}=, {mode}): msnb reads and writes no encrypted files.",
            hint="save it without enc_key where it was made, and keep the file on an encrypted disk.",
        )


def _prefixes(given: str | Iterable[str] | None) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


def _cannot_write(why: str, hint: str = "") -> CheckpointError:
    return CheckpointError(f"this cannot be written: {why}.", hint=hint)


def _read(path: str, need_checksum: bool) -> dict[str, Any]:
    """Parameters and strings of a file of either kind; as for saving, ``.ckpt`` may be left out."""
    if not os.path.isfile(path) and os.path.isfile(f"{path}.ckpt"):
        path = f"{path}.ckpt"
    safetensors_file.need_file(path)
    refuse = safetensors_file.damaged(path)
    if weight_shards.is_index(path):
        return weight_shards.read(path, refuse, partial(_read, need_checksum=need_checksum))

    def refuse_foreign(why: str, hint: str = "", kind: str = "a protobuf .ckpt of MindSpore") -> CheckpointError:
        return refuse(f"{why} (it begins like {kind})", hint)

    with open_file(path, refuse) as file:
        first, total = file.read(32), size_of(file)
    refuse_torch = partial(refuse_foreign, kind="a file of PyTorch's weights")
    if torch_checkpoint.is_one(first):
        return {name: Parameter(array, name) for name, array in nested(torch_checkpoint.read(path, refuse_torch))}
    if not protobuf_checkpoint.is_one(first, total):
        arrays, metadata = safetensors_file.read(path)
        return _parameters(arrays, metadata, path)
    content = read_file(path, refuse)
    if need_checksum and not protobuf_checkpoint.has_checksum(content):
        events.notice(f"load_checkpoint(crc_check=True): {path!r} has no checksum.", key=f"no checksum:{path}")
    arrays, texts = protobuf_checkpoint.decode(content, refuse_foreign)
    return {**{name: Parameter(array, name) for name, array in arrays.items()}, **texts}


# ---- what to save ----


def _named(obj: Any) -> Iterable[tuple[str, Tensor]]:
    """(name, value) of a Cell, a dict or MindSpore's list of dicts."""
    if hasattr(obj, "parameters_and_names"):
        return state_of(obj)
    if isinstance(obj, Mapping):
        return [(name, _value(name, v)) for name, v in obj.items()]
    if isinstance(obj, (list, tuple)):
        return [_list_entry(item) for item in obj]
    raise ArgumentError(f"save_checkpoint saves a Cell, a dict or a list of dicts, not {type(obj).__name__}.")


def _list_entry(item: Any) -> tuple[str, Tensor]:
    if isinstance(item, Parameter):
        return item.name, item
    if isinstance(item, Mapping) and {"name", "data"} <= set(item):
        return item["name"], _value(item["name"], item["data"])
    raise ArgumentError('a list for save_checkpoint holds Parameters or dicts {"name": ..., "data": ...}.')


def _value(name: Any, value: Any) -> Tensor:
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"a name in a checkpoint is a string with at least one character, not {name!r}.")
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (bool, int, float, complex, np.ndarray, np.generic)):
        return Tensor(np.asarray(value))  # Python floats keep all their digits
    raise ArgumentError(f"{name} is a {type(value).__name__}; a checkpoint holds tensors, numbers and strings.")


def _unique(items: Iterable[tuple[str, Tensor]]) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for name, value in items:
        if name in found and found[name] is not value:
            raise CheckpointError(
                f"two parameters are called {name!r}, so one of them would be lost.",
                operands=[f"{name}: {v._type!r}" for v in (found[name], value)],
                hint="give them names: Parameter(..., name=...), or net.update_parameters_name(prefix).",
            )
        found[name] = value
    return found


def _with(found: dict[str, Tensor], added: dict[str, Tensor]) -> dict[str, Tensor]:
    for name in [k for k, v in added.items() if k in found and found[k].shape == v.shape]:
        found[name] = added.pop(name).astype(found[name].dtype)
    return _unique([*found.items(), *added.items()])


def _notes(found: Mapping[str, Tensor], texts: Mapping[str, str]) -> dict[str, str]:
    """Order and wish for a gradient, which the container does not keep."""
    rows = [[name, bool(getattr(v, "requires_grad", True))] for name, v in found.items()]
    return {_PARAMETERS: json.dumps(rows)} | ({_TEXTS: json.dumps(dict(texts))} if texts else {})


def _with_ending(path: str | os.PathLike[str], format: str) -> str:
    text = os.fspath(path)
    if format not in _FORMATS:
        raise ArgumentError(f"format is {', '.join(map(repr, _FORMATS))}, not {format!r}.")
    if os.path.basename(text) in ("", *_ENDINGS):
        raise ArgumentError(f"{text!r} is a folder, not the name of a checkpoint file.")
    ending = _FORMATS[format]
    return text if text.endswith(ending if format == "protobuf" else _ENDINGS) else text + ending


def _parameters(arrays: Mapping[str, Any], metadata: Mapping[str, str], path: str) -> dict[str, Any]:
    """Parameters in the order they were saved; files of other programs come sorted by name."""
    refuse = safetensors_file.damaged(path)
    rows = [(name, True) for name in sorted(arrays)]
    if _PARAMETERS in metadata:
        rows = safetensors_file.parameter_rows(metadata[_PARAMETERS], arrays, refuse)
    texts = read_json(metadata.get(_TEXTS, "{}"), refuse, Table(TEXT), f"the note {_TEXTS}")
    loaded: dict[str, Any] = {name: Parameter(arrays[name], name, requires_grad=grad) for name, grad in rows}
    twice = next((name for name in texts if name in loaded), None)
    if twice is not None:
        raise refuse(f"{twice} is the name of a tensor and of a string")
    loaded.update(texts)
    return loaded
