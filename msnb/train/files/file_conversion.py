"""Checkpoints read beside a program's own work, and turned into files of the other format.

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.html (checkpoints)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from msnb.base import ArgumentError, CheckpointError, events
from msnb.train.files.checkpoint import load_checkpoint, save_checkpoint

__all__ = ["async_ckpt_thread_status", "ckpt_to_safetensors", "load_checkpoint_async", "safetensors_to_ckpt"]


def load_checkpoint_async(ckpt_file_name: Any, net: Any = None, strict_load: bool = False, filter_prefix: Any = None,
                          dec_key: Any = None, dec_mode: str = "AES-GCM", specify_prefix: Any = None,
                          choice_func: Any = None) -> Future[dict[str, Any]]:  # fmt: skip
    """``load_checkpoint`` in a thread.

    Args:
        ckpt_file_name, net, strict_load, filter_prefix, dec_key, dec_mode, specify_prefix, choice_func: as there.

    Returns:
        A future: its ``result()`` waits for the file and gives what ``load_checkpoint`` gives, or raises its error.

    Source: `mindspore.load_checkpoint_async`
    """
    kind = "safetensors" if str(ckpt_file_name).endswith(".safetensors") else "ckpt"
    pool = ThreadPoolExecutor(1)
    found = pool.submit(
        load_checkpoint, ckpt_file_name, net, strict_load, filter_prefix, choice_func, dec_key=dec_key,
        dec_mode=dec_mode, specify_prefix=specify_prefix, format=kind,
    )  # fmt: skip
    pool.shutdown(wait=False)
    return found


def async_ckpt_thread_status() -> bool:
    """Whether a checkpoint is being written beside the program: never, ``save_checkpoint`` writes at once."""
    return False


def ckpt_to_safetensors(
    file_path: str, save_path: str | None = None, name_map: Mapping[str, str] | None = None,
    file_name_regex: str | None = None, processes_num: int = 1,
) -> None:  # fmt: skip
    """Checkpoint files as safetensors files.

    Args:
        file_path: a file, or a folder with files at any depth.
        save_path: a folder, which gets the folders of ``file_path``; beside each file by default.
        name_map: new names of Parameters.
        file_name_regex: which files of a folder, by their names.
        processes_num: for MindSpore's signature: one file is converted after the other.

    Raises:
        ValueError: no such file, or one of the other format.

    Source: `mindspore.ckpt_to_safetensors`
    """
    _convert("ckpt", "safetensors", file_path, save_path, name_map, file_name_regex, processes_num)


def safetensors_to_ckpt(
    file_path: str, save_path: str | None = None, name_map: Mapping[str, str] | None = None,
    file_name_regex: str | None = None, processes_num: int = 1,
) -> None:  # fmt: skip
    """Safetensors files as checkpoint files; arguments as in ``ckpt_to_safetensors``.

    Source: `mindspore.safetensors_to_ckpt`
    """
    _convert("safetensors", "ckpt", file_path, save_path, name_map, file_name_regex, processes_num)


def _convert(
    source: str, target: str, file_path: str, save_path: str | None, name_map: Mapping[str, str] | None,
    pattern: str | None, processes: int,
) -> None:  # fmt: skip
    if not isinstance(name_map, (Mapping, type(None))):
        raise ArgumentError(f"name_map is a dict from names to names, not {type(name_map).__name__}.")
    if processes != 1:
        events.ignored(f"processes_num={processes}", "one file is converted after the other")
    start = Path(file_path)
    found = sorted(start.rglob(f"*.{source}")) if start.is_dir() else [start]
    if pattern is not None:
        found = [path for path in found if re.search(pattern, path.name)]
    if not found or any(path.suffix != f".{source}" or not path.is_file() for path in found):
        raise CheckpointError(f"{file_path} is no .{source} file and no folder with one.")
    for path in found:
        inside = path.parent.relative_to(start) if start.is_dir() else ""
        folder = path.parent if save_path is None else Path(save_path) / inside
        folder.mkdir(parents=True, exist_ok=True)
        weights = load_checkpoint(path, format=source)
        named = [{"name": (name_map or {}).get(name, name), "data": value} for name, value in weights.items()]
        save_checkpoint(named, folder / f"{path.stem}.{target}", format=target)
