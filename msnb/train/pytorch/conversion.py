"""``ms.from_torch``, ``ms.source_of``: a model as a Cell, with its source, its weights, compared with the original.

    torch.nn.Module --torch.export--> .pt2 --read--> ExportedProgram --scopes--> classes --run--> Cell + weights

A .pt2 file needs no PyTorch. The source is made of tables of this package and checked names; no text of the file
becomes code. Source: https://docs.pytorch.org/docs/stable/export.html
"""

from __future__ import annotations

import linecache
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from msnb.base import ArgumentError, CheckpointError, notice
from msnb.core import make, slot
from msnb.ir.frozen_graph import SavedGraph
from msnb.nn.cells.cell import Cell
from msnb.onnx.export.model_writer import model_of
from msnb.onnx.program import OnnxProgram, program_of
from msnb.train.files import safetensors_file
from msnb.train.files.model_files import load
from msnb.train.files.parameter_loading import state_of
from msnb.train.pytorch.class_writer import ClassWriter
from msnb.train.pytorch.exported_program import Call, ExportedProgram
from msnb.train.pytorch.functionalization import make_functional
from msnb.train.pytorch.model_comparison import Comparison, compare_models
from msnb.train.pytorch.onnx_translation import translate_model
from msnb.train.pytorch.program_archive import read_program


@dataclass
class Conversion:
    """What came of a model.

    Attributes:
        cell: the network, with the weights of the original.
        source: its Python source.
        report: the comparison with the original, layer by layer; None where only a file was given.
        missing: operators that have no counterpart -> how often each is called; a call of their stub raises.
        modules, weights: paths of modules and names of weights -> those of the Cells and Parameters that they became.
    """

    cell: Cell
    source: str
    name: str
    modules: dict[str, str] = field(default_factory=dict)
    weights: dict[str, str] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    report: Comparison | None = None

    def compare(self, model: Any, *inputs: Any, gradients: bool = True) -> Comparison:
        """Run both on the same inputs and compare them layer by layer, and the gradients of all weights.

        Args:
            model: the ``torch.nn.Module``. inputs: tensors as it takes them.
            gradients: whether to compare them, too.
        """
        return compare_models(self.cell, self.modules, self.weights if gradients else {}, model, inputs)

    def save(self, output_dir: str | os.PathLike[str]) -> list[str]:
        """Write ``name.py``, ``name.safetensors`` and, where there is one, ``report.txt``.

        Returns:
            The files.
        """
        folder = Path(output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        arrays = {name: parameter._host() for name, parameter in state_of(self.cell)}
        weights = safetensors_file.encode(arrays, {})
        files = {f"{self.name}.py": self.source.encode(), f"{self.name}.safetensors": weights}
        if self.report is not None:
            files["report.txt"] = (str(self.report) + "\n").encode()
        for name, content in files.items():
            safetensors_file.write(str(folder / name), content)
        return [str(folder / name) for name in files]


def from_torch(model: Any, *inputs: Any, output_dir: str | os.PathLike[str] | None = None,
               kwargs: Mapping[str, Any] | None = None, dynamic: bool = True) -> Conversion:  # fmt: skip
    """Make a Cell of a model of PyTorch.

    Args:
        model: a ``torch.nn.Module`` (then ``inputs`` are needed), what ``torch.export.export`` gave, or the path of a
            file .pt2 that ``torch.export.save`` wrote, for which PyTorch is not needed.
        inputs: tensors as the module takes them.
        output_dir: where to write the source, the weights and the report.
        kwargs: inputs by name.
        dynamic: leave the first axis of all inputs open, where the model allows it.

    Returns:
        ``.cell``, ``.source``, ``.report`` (outputs of all layers and gradients of all weights, compared).

    Raises:
        TypeError: no such model, or inputs without a module. ValueError: CheckpointError: a damaged file.
        FileNotFoundError: there is no file.

    Source: https://docs.pytorch.org/docs/stable/export.html

    Examples:
        >>> import msnb as ms
        >>> ms.from_torch("nowhere.pt2")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'nowhere.pt2'
    """
    if isinstance(model, (str, os.PathLike)):
        if inputs or kwargs:
            raise ArgumentError("from_torch takes inputs for a module, not for a file.")
        path = os.fspath(model)
        found = convert(read_program(path), _title(Path(path).stem), None)
    elif hasattr(model, "graph_module") and hasattr(model, "graph_signature"):
        found = convert(_through_file(model), "Network", None)
    elif hasattr(model, "state_dict") and hasattr(model, "named_modules"):
        if not inputs and not kwargs:
            raise ArgumentError("from_torch needs the module's inputs: from_torch(model, torch.randn(2, 3, 32, 32)).")
        program = _through_file(_exported(model, inputs, dict(kwargs or {}), dynamic))
        found = convert(program, _title(type(model).__name__), bool(model.training))
        if not found.missing and not kwargs:
            found.report = found.compare(model, *inputs)
    else:
        raise ArgumentError(f"from_torch takes a torch.nn.Module, an exported program or a .pt2 file, not "
                            f"{type(model).__name__}.")  # fmt: skip
    if output_dir is not None:
        found.save(output_dir)
    return found


def pytorch2mindspore(
    model: Any, dummy_inputs: Any = None, output_dir: str | os.PathLike[str] | None = None
) -> Conversion:
    """MindConverter's call: ``from_torch`` with the inputs in one argument.

    Args:
        model: a ``torch.nn.Module``. dummy_inputs: a tensor, or a tuple of tensors. output_dir: where to write.

    Returns:
        As ``from_torch``.

    Raises:
        As ``from_torch``.

    Source: https://www.mindspore.cn/mindinsight/docs/en/r1.9/migrate_3rd_scripts_mindconverter.html

    Examples:
        >>> import msnb as ms
        >>> ms.pytorch2mindspore("nowhere.pt2")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'nowhere.pt2'
    """
    given = () if dummy_inputs is None else dummy_inputs
    inputs = given if isinstance(given, (tuple, list)) else (given,)
    return from_torch(model, *inputs, output_dir=output_dir)


def source_of(graph_or_file: Any, output_dir: str | os.PathLike[str] | None = None) -> Conversion:
    """Write the source of a saved program: the Cells that a person would write for it.

    Args:
        graph_or_file: a program (of ``ms.load``), or the path of a file ``.onnx``, ``.mindir`` or ``.pt2``.
        output_dir: where to write the source and the weights.

    Returns:
        ``.source``, ``.cell`` (made by running it, with the weights), ``.missing`` (operators that are stubs).

    Raises:
        TypeError: no program. ValueError: CheckpointError: a damaged file, or one with branches or loops that have no
            counterpart. ImportError: the package ``onnx`` is not installed.

    Source: https://onnx.ai/onnx/repo-docs/IR.html

    Examples:
        >>> import os, tempfile
        >>> import msnb as ms
        >>> path = os.path.join(tempfile.mkdtemp(), "net.mindir")
        >>> ms.export(ms.nn.SequentialCell(ms.nn.Dense(4, 2), ms.nn.ReLU()), ms.ops.ones((1, 4)), file_name=path)
        >>> print(ms.source_of(path).source.splitlines()[-1].strip())
        return mint.nn.functional.relu(x)
    """
    saved, title = graph_or_file, "Network"
    if isinstance(saved, (str, os.PathLike)):
        path = os.fspath(saved)
        title = _title(Path(path).stem)
        if path.endswith(".pt2"):
            return from_torch(path, output_dir=output_dir)
        saved = load(path)
    if not isinstance(saved, SavedGraph):
        raise ArgumentError(f"source_of takes a program of ms.load or a file, not {type(saved).__name__}.")
    if not isinstance(saved, OnnxProgram):
        saved = program_of(model_of(saved))
    found = convert(translate_model(saved), title, None)
    if output_dir is not None:
        found.save(output_dir)
    return found


def convert(program: ExportedProgram, title: str, training: bool | None) -> Conversion:
    """The Cell of a program. ``training`` sets its mode."""
    try:
        make_functional(program)
        writer = ClassWriter(program, title)
        source = writer.write()
        cell = _run(source, title, writer.root_class)
        cell.set_train(bool(training))
        _load(cell, {ours: program.arrays[theirs] for theirs, ours in writer.weights.items()})
    except CheckpointError:
        raise
    except Exception as error:  # whatever a graph can be that makes no sense
        raise CheckpointError(f"the program cannot be written as Cells ({type(error).__name__}: {error}).") from error
    missing = Counter(call.target for call in writer.missing())
    if missing:
        _tell(title, writer.missing(), missing)
    weights = {program.aliases.get(theirs, theirs): ours for theirs, ours in writer.weights.items()}
    return Conversion(cell, source, title, writer.modules, weights, dict(missing))


def _title(text: str) -> str:
    """The name of the network's class."""
    name = re.sub(r"\W", "", text.title() if "_" in text or text.islower() else text)
    return name if name[:1].isalpha() else "Network" + name


def _exported(model: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any], dynamic: bool) -> Any:
    """What PyTorch exports, its first axes open where they can be."""
    export = sys.modules["torch"].export
    tensors = [value for value in (*inputs, *kwargs.values()) if hasattr(value, "ndim")]
    if dynamic and len(tensors) == len(inputs) + len(kwargs) and all(t.ndim and t.shape[0] > 1 for t in tensors):
        axes = [{0: export.Dim.AUTO}] * len(inputs), {name: {0: export.Dim.AUTO} for name in kwargs}
        shapes = tuple(axes[0]) if not kwargs else {**_positional(model, axes[0]), **axes[1]}
        try:
            return export.export(model, inputs, kwargs, dynamic_shapes=shapes)
        except Exception as error:  # PyTorch raises many classes of its own
            why = type(error).__name__
            notice(f"from_torch: the first axis is fixed, since the model does not allow another ({why}).")
    return export.export(model, inputs, kwargs)


def _positional(model: Any, axes: list[Any]) -> dict[str, Any]:
    """Open axes of positional inputs by the names of forward's arguments."""
    code = model.forward.__func__.__code__ if hasattr(model.forward, "__func__") else model.forward.__code__
    return dict(zip(code.co_varnames[1:], axes, strict=False))


def _through_file(exported: Any) -> ExportedProgram:
    """An exported program as it is read from a file: one way in."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.pt2")
        sys.modules["torch"].export.save(exported, path)
        return read_program(path)


def _run(source: str, title: str, root: str) -> Cell:
    """The network that a source makes; the source is kept where tracebacks and graph mode look for it."""
    name = f"<from_torch {title}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    module = ModuleType(f"msnb_from_torch_{title}")
    sys.modules[module.__name__] = module
    try:
        exec(compile(source, name, "exec"), module.__dict__)
    except SyntaxError as error:
        text = f"{error.msg}, {error.text!r}"
        raise CheckpointError(f"the program has names that are no names of Python ({text}).") from None
    cell = getattr(module, root)()
    assert isinstance(cell, Cell)
    return cell


def _load(cell: Cell, arrays: Mapping[str, Any]) -> None:
    """Put all weights in."""
    for name, parameter in state_of(cell):
        if name not in arrays:
            if not name.endswith("num_batches_tracked"):
                raise CheckpointError(f"the program has no value for {name}.")
            continue
        value = np.asarray(arrays[name])
        if tuple(value.shape) != tuple(parameter.shape):
            raise CheckpointError(f"{name} has the shape {list(parameter.shape)}, its value {list(value.shape)}.")
        slot.engine.assign(parameter, make(np.array(value, parameter.dtype.numpy), parameter._type))


def _tell(title: str, calls: list[Call], missing: Mapping[str, int]) -> None:
    """All operators without a counterpart, at once."""
    lines = []
    for target, count in missing.items():
        line = next(call.line for call in calls if call.target == target).strip().splitlines()[-1:]
        lines.append(f"  {count} x {target}" + (f"    {line[0].strip()}" if line else ""))
    head = f"from_torch: {title} calls operators that have no counterpart here; each has a stub in the source that says"
    notice(f"{head} what to write:\n" + "\n".join(lines))
