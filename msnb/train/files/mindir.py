"""Our own format of programs that need no Python to run.

    net.mindir      a safetensors file (``container``: whole or not there at all, checksum, no code)
      tensors       the weights by their names; big constants as "constant <digest>"
      metadata      msnb.program     the graph as text (``msnb.ir.text.printer``)
                    msnb.interface   how many inputs, whether it draws, the shape of the result; a version
                    msnb.errors      what raise and assert say (``msnb.ir.error_template``), by their names in the text
                    msnb.parameters  names and wishes for a gradient, as in checkpoints: load_checkpoint reads them

The text is parsed and verified, never executed: it can name operators of the library and nothing else. The name is
MindSpore's; the format is not: MindSpore's own .mindir files are protobuf for its compiler, and neither reads
the other's.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from msnb.base import CaptureError, CheckpointError, MsnbError
from msnb.base.files import json_schema
from msnb.base.files.bounded_reader import Refuse, read_json
from msnb.base.files.json_schema import FLAG, INDEX, INT, NUMBER, TEXT, Either, Kind, OneOf, Record, Rows, Table
from msnb.core import Parameter, TensorType, random
from msnb.ir import HOST_CALL, HostFn, Node, SavedGraph, outputs_of, python_calls
from msnb.ir.analysis.verifier import verify
from msnb.ir.error_template import ErrorTemplate
from msnb.ir.text.parser import parse
from msnb.ir.text.printer import constants_of, print_graph
from msnb.train.files import safetensors_file

ENDING, VERSION = ".mindir", 1
_PROGRAM, _INTERFACE, _ERRORS = "msnb.program", "msnb.interface", "msnb.errors"
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
_PIECE = Either(TEXT, json_schema.FixedRow(INDEX, INT, TEXT))
_RAISED = Table(Record({
    "kind": TEXT, "pieces": Either(OneOf(None), Rows(_PIECE)), "operands": Rows(TEXT), "hint": TEXT, "guarded": FLAG,
}))  # fmt: skip


def write(saved: SavedGraph, path: str) -> None:
    """Write a program to a file.

    Args:
        saved: the program.
        path: the file; ``.mindir`` is appended where it is missing.

    Raises:
        CaptureError: the program is too long, or holds Python objects. OSError: the file cannot be written.
    """
    arrays, notes = _stored(saved)
    if len(notes[_PROGRAM]) > MOST_TEXT:
        raise CaptureError(
            f"the program's text has {len(notes[_PROGRAM])} characters; a file holds at most {MOST_TEXT}.",
            hint="a Python loop writes its body once per round; a loop whose end is a tensor is one node.",
        )
    content = safetensors_file.encode(arrays, notes)
    safetensors_file.write(path if path.endswith(ENDING) else path + ENDING, content)


def read(path: str) -> SavedGraph:
    """Read a program that ``write`` wrote.

    Raises:
        CheckpointError: the file is missing (also a FileNotFoundError), damaged, or of another program.
    """
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


# ---- a graph as arrays and strings, and back ----


def _stored(saved: SavedGraph) -> tuple[dict[str, Any], dict[str, str]]:
    constants = constants_of(saved.graph)
    errors = {key: value.error for key, value in constants.items() if isinstance(value, HostFn)}
    for key in errors:
        del constants[key]
    for key, value in (constants | errors).items():
        if not isinstance(value, (np.ndarray, ErrorTemplate)):
            raise CaptureError(f"the program holds a Python object ({key}); a file holds operators and arrays only.")
    arrays = {name: p._host() for name, p in saved.weights.items()}
    arrays |= {_CONSTANT + key: value for key, value in constants.items()}
    interface = {"version": VERSION, "inputs": saved.inputs, "draws": saved.draws, "result": saved.result}
    return arrays, {
        _PROGRAM: print_graph(saved.graph, where=False),
        _INTERFACE: json.dumps(interface),
        _PARAMETERS: json.dumps([[name, p.requires_grad] for name, p in saved.weights.items()]),
        **({_ERRORS: json.dumps({key: dataclasses.asdict(error) for key, error in errors.items()})} if errors else {}),
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
    errors = read_json(notes.get(_ERRORS, "{}"), refuse, _RAISED, f"the note {_ERRORS}")
    graph = parse(text, constants | {key: _raised(error) for key, error in errors.items()})
    verify(graph)
    rows = safetensors_file.parameter_rows(notes.get(_PARAMETERS, ""), arrays, refuse)
    weights = {name: Parameter(arrays[name], name, requires_grad=trained) for name, trained in rows}
    saved = SavedGraph(graph, interface["inputs"], weights, interface["draws"], interface["result"])
    _need_whole(saved)
    return saved


def _raised(error: dict[str, Any]) -> HostFn:
    """What raises an error that a file names."""
    pieces = error["pieces"]
    parts = None if pieces is None else tuple(p if isinstance(p, str) else tuple(p) for p in pieces)
    return ErrorTemplate(error["kind"], parts, tuple(error["operands"]), error["hint"], error["guarded"]).host()


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
    if any(at >= len(graph.outputs) for at in outputs_of(saved.result)):
        raise CheckpointError("the result names outputs that the program does not have.")
    if python_calls(graph, errors=False):
        raise CheckpointError("it calls Python functions, which no file holds.")
    if not all(map(_fits, python_calls(graph))):
        raise CheckpointError("an error that it raises does not fit its operands.")


def _fits(node: Node) -> bool:
    """Whether a node can raise its error."""
    return node.op is HOST_CALL and not node.outputs and node.attrs["fn"].error.fits(len(node.inputs))
