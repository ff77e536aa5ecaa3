"""Networks as files that need no Python to run: ``export`` writes one, ``load`` reads it, ``nn.GraphCell`` runs it.

    MINDIR    net.mindir    our own format: the graph as text, weights as safetensors (``mindir``)
    ONNX      net.onnx      the format of other frameworks and runtimes (``msnb.onnx``; needs ``msnb[onnx]``)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from msnb.base import ArgumentError, AttributeValueError, CheckpointError
from msnb.ir.frozen_graph import SavedGraph
from msnb.train.files import mindir
from msnb.train.files.dynamic_sizes import Dynamic
from msnb.train.files.graph_freezing import frozen

_OTHERS = ("AIR", "OM", "MINDIR_LITE")


def export(
    net: Any, *inputs: Any, file_name: str | os.PathLike[str], file_format: str = "MINDIR", opset: int | None = None,
    dynamic: Dynamic | None = None, **kwargs: Any,
) -> None:  # fmt: skip
    """Write a network's forward pass, as it stands (training or not), with its weights to a file.

    Args:
        net: a Cell or a function.
        inputs: Tensors as it takes them; the file is for their shapes and dtypes, their values do not matter.
        file_name: the file; ``.mindir`` or ``.onnx`` is appended where it is missing. Missing folders are made.
        file_format: "MINDIR" or "ONNX".
        opset: the version of ONNX's operators, 21 by default.
        dynamic: for ONNX, axes whose sizes stay open: by the input's name, axes with names, ``{"x": {0: "batch"}}``, or
            axes alone. Axes of ``ms.Tensor(shape=[None, 784], dtype=...)`` are open too.

    Raises:
        ValueError: another format. TypeError: inputs that are no Tensors; MindSpore's other options (encryption ...).
        CaptureError: the program cannot be captured, or needs Python when it runs.
        OSError: the file cannot be written; an old file is unharmed.

    Source: `mindspore.export`

    Examples:
        >>> import os, tempfile
        >>> import msnb as ms
        >>> path = os.path.join(tempfile.mkdtemp(), "relu")
        >>> ms.export(ms.nn.ReLU(), ms.Tensor([-1.0, 2.0]), file_name=path, file_format="MINDIR")
        >>> ms.nn.GraphCell(ms.load(path + ".mindir"))(ms.Tensor([-3.0, 4.0])).tolist()
        [0.0, 4.0]
    """
    if file_format not in ("MINDIR", "ONNX"):
        known = f"{file_format} is for other programs' compilers" if file_format in _OTHERS else "there is no such one"
        raise AttributeValueError(
            f"export writes file_format='MINDIR' or 'ONNX', not {file_format!r}: {known}.",
            hint="save_checkpoint(..., format='safetensors') writes weights that other programs read.",
        )
    if kwargs:
        raise ArgumentError(f"export has no option {min(kwargs)!r}; legal are file_format, opset, dynamic.")
    path = os.fspath(file_name)
    if file_format == "ONNX":
        _onnx().write(frozen(net, inputs, True, dynamic), path, opset)
    elif opset is not None or dynamic is not None:
        raise ArgumentError("export: opset= and dynamic= are for file_format='ONNX'.")
    else:
        mindir.write(frozen(net, inputs), path)


def load(file_name: str | os.PathLike[str], **kwargs: Any) -> SavedGraph:
    """Read a program; ``nn.GraphCell`` runs it.

    Args:
        file_name: a file whose name ends in ``.mindir`` (written by ``export``) or ``.onnx`` (by whatever program;
            opsets 1 to 28, symbolic sizes, control flow, functions, quantized operators, arrays in files beside it).

    Returns:
        The program and its weights. ``print(program)`` shows it.

    Raises:
        ValueError: CheckpointError: the file is missing (also a FileNotFoundError), damaged, or of another program.
        TypeError: MindSpore's other options (decryption ...). ImportError: an ONNX file without the package ``onnx``.

    Source: `mindspore.load`

    Examples:
        >>> import os, tempfile
        >>> import msnb as ms
        >>> path = os.path.join(tempfile.mkdtemp(), "twice.mindir")
        >>> ms.export(lambda x: x + x, ms.Tensor([1.0]), file_name=path)
        >>> ms.load(path).inputs
        1
    """
    if kwargs:
        raise ArgumentError(f"load has no option {min(kwargs)!r}; it takes file_name.")
    path = os.fspath(file_name)
    readers: dict[str, Callable[[str], SavedGraph]] = {mindir.ENDING: mindir.read, ".onnx": lambda p: _onnx().load(p)}
    ending = next((e for e in readers if path.endswith(e)), None)
    if ending is None:
        raise CheckpointError(
            f"load reads files whose names end in {' or '.join(map(repr, readers))}, not {path!r}.",
            hint="load_checkpoint reads weights (.ckpt, .safetensors).",
        )
    return readers[ending](path)


def _onnx() -> Any:
    from msnb import onnx  # a room that few programs enter

    return onnx
