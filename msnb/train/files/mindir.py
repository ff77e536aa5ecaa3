"""Networks as files that need no Python to run: ``export`` writes one, ``load`` reads it, ``nn.GraphCell`` runs it.

    net.mindir      a safetensors file (``container``: whole or not there at all, checksum, no code)
      tensors       the weights by their names; big constants as "constant <digest>"
      metadata      msnb.program     the graph as text (``msnb.ir.text.printer``)
                    msnb.interface   how many inputs, whether it draws, the shape of the result; a version
                    msnb.parameters  names and wishes for a gradient, as in checkpoints: load_checkpoint reads them

The text is parsed and verified, never executed: it can name operators of the library and nothing else. The name is
MindSpore's; the format is not: MindSpore's own .mindir files are protobuf for its compiler, and neither reads
the other's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from msnb.base.errors import ArgumentError, AttributeValueError, CaptureError, CheckpointError, MsnbError
from msnb.base.files.bounded_reader import Refuse, read_json
from msnb.base.files.json_schema import FLAG, INDEX, INT, NUMBER, TEXT, Either, Kind, OneOf, Record, Rows, Table
from msnb.core import random
from msnb.core.parameter import Parameter
from msnb.core.types import TensorType
from msnb.ir.analysis.verifier import verify
from msnb.ir.frozen_graph import SavedGraph, python_calls
from msnb.ir.text.parser import parse
from msnb.ir.text.printer import constants_of, print_graph
from msnb.train.files import safetensors_file
from msnb.train.files.graph_freezing import frozen

ENDING, VERSION = ".mindir", 1
_PROGRAM, _INTERFACE = "msnb.program", "msnb.interface"
_PARAMETERS, _CONSTANT = safetensors_file.PARAMETERS, safetensors_file.CONSTANT
MOST_TEXT = 2 << 20  # characters, some 60,000 nodes


class _Result(Kind):
    """The number of an output, or {"tuple" | "list": [...]}, {"dict": {...}}, {"value": ...} of such."""

    legal = "the number of an output, or one of tuple, list, dict, value"

    def fits(self, value: Any) -> bool:
        return INDEX.fits(value) or (
            isinstance(value, dict) and len(value) == 1 and set(value) <= {"tuple", "list", "dict", "value"}
        )

    def inside(self, value: Any) -> Iterator[tuple[Kind, Any, str]]:
        for kind, parts in value.items() if isinstance(value, dict) else ():
            yield {"value": _PLAIN, "dict": Table(self)}.get(kind, Rows(self)), parts, kind


_PLAIN = Either(OneOf(None), FLAG, INT, NUMBER, TEXT)
_HEAD = Record({"version": INDEX}, open=True)
_FACE = Record({"version": INDEX, "inputs": INDEX, "draws": FLAG, "result": _Result()})
_FORMATS = ("AIR", "ONNX", "OM", "MINDIR_LITE")


def export(
    net: Any, *inputs: Any, file_name: str | os.PathLike[str], file_format: str = "MINDIR", **kwargs: Any
) -> None:
    """Write a network's forward pass, as it stands (training or not), with its weights to a file.

    Args:
        net: a Cell or a function.
        inputs: Tensors as it takes them; the file is for their shapes and dtypes, their values do not matter.
        file_name: the file; ``.mindir`` is appended where it is missing. Missing folders are made.
        file_format: "MINDIR".

    Raises:
        ValueError: another format. TypeError: inputs that are no Tensors; MindSpore's other options (encryption ...).
        CaptureError: the program cannot be captured, or needs Python when it runs.
        OSError: the file cannot be written; an old file is unharmed.

    Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore/mindspore.export.html

    Examples:
        >>> import os, tempfile
        >>> import msnb as ms
        >>> path = os.path.join(tempfile.mkdtemp(), "relu")
        >>> ms.export(ms.nn.ReLU(), ms.Tensor([-1.0, 2.0]), file_name=path, file_format="MINDIR")
        >>> ms.nn.GraphCell(ms.load(path + ".mindir"))(ms.Tensor([-3.0, 4.0])).tolist()
        [0.0, 4.0]
    """
    if file_format != "MINDIR":
        known = f"{file_format} is for other programs' compilers" if file_format in _FORMATS else "there is no such one"
        raise AttributeValueError(
            f"export writes file_format='MINDIR', not {file_format!r}: {known}.",
            hint="save_checkpoint(..., format='safetensors') writes weights that other programs read.",
        )
    if kwargs:
        raise ArgumentError(f"export has no option {min(kwargs)!r}; it takes file_name and file_format.")
    saved = frozen(net, inputs)
    arrays, notes = _stored(saved)
    if len(notes[_PROGRAM]) > MOST_TEXT:
        raise CaptureError(
            f"the program's text has {len(notes[_PROGRAM])} characters; a file holds at most {MOST_TEXT}.",
            hint="a Python loop writes its body once per round; a loop whose end is a tensor is one node.",
        )
    content = safetensors_file.encode(arrays, notes)
    path = os.fspath(file_name)
    safetensors_file.write(path if path.endswith(ENDING) else path + ENDING, content)


def load(file_name: str | os.PathLike[str], **kwargs: Any) -> SavedGraph:
    """Read a graph that ``export`` wrote; ``nn.GraphCell`` runs it.

    Args:
        file_name: a file whose name ends in ``.mindir``.

    Returns:
        The graph and its weights. ``print(graph)`` shows the program.

    Raises:
        ValueError: CheckpointError: the file is missing (also a FileNotFoundError), damaged, or of another program.
        TypeError: MindSpore's other options (decryption ...).

    Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore/mindspore.load.html

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
    if not path.endswith(ENDING):
        raise CheckpointError(
            f"load reads files whose names end in {ENDING!r}, not {path!r}.",
            hint="load_checkpoint reads weights (.ckpt, .safetensors).",
        )
    arrays, notes = safetensors_file.read(path)
    if _PROGRAM not in notes or _INTERFACE not in notes:
        raise CheckpointError(
            f"{path!r} holds {len(arrays)} arrays and no program, so there is nothing to run.",
            hint="load_checkpoint reads weights; ms.export(net, *inputs, file_name=...) writes programs.",
        )
    try:
        return _read(arrays, notes)
    except (MsnbError, ValueError, TypeError, LookupError, RecursionError) as error:
        said = error.sentence if isinstance(error, MsnbError) else f"{type(error).__name__}: {error}"
        raise CheckpointError(
            f"the program in {path!r} cannot be read: {said}",
            hint="it may come from another version of msnb; export it again there or here.",
        ) from error


# ---- a graph as arrays and strings, and back ------------------------------------------------------------------------


def _stored(saved: SavedGraph) -> tuple[dict[str, Any], dict[str, str]]:
    constants = constants_of(saved.graph)
    for key, value in constants.items():
        if not isinstance(value, np.ndarray):
            raise CaptureError(f"the program holds a Python object ({key}); a file holds operators and arrays only.")
    arrays = {name: p._host() for name, p in saved.weights.items()}
    arrays |= {_CONSTANT + key: value for key, value in constants.items()}
    interface = {"version": VERSION, "inputs": saved.inputs, "draws": saved.draws, "result": saved.result}
    return arrays, {
        _PROGRAM: print_graph(saved.graph, where=False),
        _INTERFACE: json.dumps(interface),
        _PARAMETERS: json.dumps([[name, p.requires_grad] for name, p in saved.weights.items()]),
    }


def _read(arrays: Mapping[str, Any], notes: Mapping[str, str]) -> SavedGraph:
    refuse: Refuse = lambda why, **more: CheckpointError(f"{why}.", **more)
    text, head = notes[_PROGRAM], read_json(notes[_INTERFACE], refuse, _HEAD, f"the note {_INTERFACE}")
    if head["version"] != VERSION:
        raise CheckpointError(f"it has version {head['version']}, this msnb reads version {VERSION}.")
    interface = read_json(notes[_INTERFACE], refuse, _FACE, f"the note {_INTERFACE}")
    if len(text) > MOST_TEXT:
        raise CheckpointError(f"its text has {len(text)} characters; at most {MOST_TEXT} are read.")
    constants = {key.removeprefix(_CONSTANT): a for key, a in arrays.items() if key.startswith(_CONSTANT)}
    graph = parse(text, constants)
    verify(graph)
    rows = safetensors_file.parameter_rows(notes.get(_PARAMETERS, ""), arrays, refuse)
    weights = {name: Parameter(arrays[name], name, requires_grad=trained) for name, trained in rows}
    saved = SavedGraph(graph, interface["inputs"], weights, interface["draws"], interface["result"])
    _need_whole(saved)
    return saved


def _need_whole(saved: SavedGraph) -> None:
    """Params are what the interface says, outputs are there, and nothing calls Python."""
    # a file may hold any valid graph: each promise that the loader relies on is checked, with a message of its own
    graph = saved.graph
    if saved.draws and (not graph.params or graph.params[-1].type != random.state()._type):
        raise CheckpointError("the program draws random numbers and has no param for the draws.")
    if len(graph.params) != saved.inputs + len(saved.weights) + saved.draws:
        raise CheckpointError("the program's params are not its inputs and weights.")
    for p, (name, weight) in zip(graph.params[saved.inputs :], saved.weights.items()):
        if p.type != weight._type:
            raise CheckpointError(f"the program takes {name} as {p.type}, the file holds {weight._type!r}.")
    if any(not isinstance(p.type, TensorType) or p.type.weak for p in graph.params):
        raise CheckpointError("the program has a param that is no tensor.")
    if any(at >= len(graph.outputs) for at in _outputs(saved.result)):
        raise CheckpointError("the result names outputs that the program does not have.")
    if python_calls(graph):
        raise CheckpointError("it calls Python functions, which no file holds.")


def _outputs(result: Any) -> list[int]:
    """The outputs that a result is made of."""
    if isinstance(result, int):
        return [result]
    ((kind, parts),) = result.items()
    if kind == "value":
        return []
    return [at for part in (parts.values() if kind == "dict" else parts) for at in _outputs(part)]
