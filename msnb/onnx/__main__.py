"""Models on the command line.

    python -m msnb.onnx info net.onnx             inputs, outputs, operators, weights
    python -m msnb.onnx check net.onnx            runs it in both modes and by ONNX's reference evaluator, and compares
    python -m msnb.onnx diff a.onnx b.onnx        operators, weights, results, and the first node that differs

Inputs are drawn (``--seed``); symbolic sizes are 2, or what ``--size name=n`` says. The exit status is 1 where
something differs or cannot be run.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from msnb.base import MsnbError
from msnb.core import Tensor
from msnb.onnx.backend import BackendRep
from msnb.onnx.model_graph import ModelInput
from msnb.onnx.model_reader import onnx_package, read_model
from msnb.onnx.operator_table import known, tensor
from msnb.onnx.program import OnnxProgram, program_of

TOLERANCE = 1e-4  # of the largest number of a result


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m msnb.onnx", description=__doc__, formatter_class=_Plain)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, files in (("info", ["file"]), ("check", ["file"]), ("diff", ["first", "second"])):
        command = commands.add_parser(name)
        for file in files:
            command.add_argument(file)
        command.add_argument("--seed", type=int, default=0)
        command.add_argument("--size", action="append", default=[], metavar="NAME=N")
    given = parser.parse_args(argv)
    try:
        sizes = {name: int(n) for name, _, n in (text.partition("=") for text in given.size)}
    except ValueError:
        parser.error(f"--size takes NAME=N, got {' '.join(given.size)}")
    try:
        if given.command == "info":
            return _info(read_model(given.file))
        if given.command == "check":
            return _check(read_model(given.file), sizes, given.seed)
        return _diff(read_model(given.first), read_model(given.second), sizes, given.seed)
    except MsnbError as error:
        print(error.message(), file=sys.stderr)
        return 1


class _Plain(argparse.RawDescriptionHelpFormatter):
    """The description as it is written."""


# ---- commands ----


def _info(model: Any) -> int:
    program = program_of(model)
    graph = program.model
    opsets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in graph.opsets.items())
    print(f"{graph.name}: opset {opsets}, made by {model.producer_name or 'nobody named'}")
    for word, values in (("input", graph.inputs), ("output", graph.outputs)):
        for value in values:
            print(f"  {word:<7} {value}")
    count = sum(p.size for p in program.weights.values())
    print(f"  {len(program.weights)} weights, {count:,} numbers")
    for kind, n in Counter(node.kind for node in graph.nodes).most_common():
        print(f"  {n:>6} {kind}")
    return 0


def _check(model: Any, sizes: Mapping[str, int], seed: int) -> int:
    program = program_of(model)
    feed = _drawn(program, sizes, seed)
    want = onnx_package("reference").ReferenceEvaluator(model).run(None, feed)
    status = 0
    for mode, compiled in (("eager", False), ("graph", True)):
        status |= _compared(f"{mode} mode", program, BackendRep(program, compiled).run(list(feed.values())), want)
    return status


def _diff(first: Any, second: Any, sizes: Mapping[str, int], seed: int) -> int:
    one, two = program_of(first), program_of(second)
    lines = [*_operators(one, two), *_weights(one, two)]
    print("\n".join(lines) if lines else "operators and weights are equal")
    feeds = [_drawn(program, sizes, seed) for program in (one, two)]
    shapes = [[(x.dtype, x.shape) for x in feed.values()] for feed in feeds]
    if shapes[0] != shapes[1]:
        print("the inputs differ, so the results are not compared")
        return 1
    found, want = (BackendRep(p).run(list(feed.values())) for p, feed in zip((two, one), feeds))
    status = _compared("results", one, found, want)
    if status:
        print(_first_difference(one, two, *feeds))
    return status | bool(lines)


# ---- parts ----


def _drawn(program: OnnxProgram, sizes: Mapping[str, int], seed: int) -> dict[str, Any]:
    """Inputs of the declared types: small numbers, which are legal indices too."""
    draws = np.random.default_rng(seed)
    return {declared.name: _input(declared, sizes, draws) for declared in program.model.inputs}


def _input(declared: ModelInput, sizes: Mapping[str, int], draws: np.random.Generator) -> Any:
    dtype = np.dtype(np.float32) if declared.dtype is None else declared.dtype
    shape = [n if isinstance(n, int) else sizes.get(str(n), 2) for n in declared.shape or ()]
    if dtype.kind in "iub":
        return draws.integers(0, 2, shape).astype(dtype)
    return draws.standard_normal(shape).astype(dtype)


def _compared(what: str, program: OnnxProgram, found: Sequence[Any], want: Sequence[Any]) -> int:
    worst, status = 0.0, 0
    for declared, a, b in zip(program.model.outputs, found, want):
        if np.shape(a) != np.shape(b):
            print(f"{what}: {declared.name} has the shape {np.shape(a)}, not {np.shape(b)}")
            return 1
        worst = max(worst, _distance(np.asarray(a), np.asarray(b)))
    status |= not worst <= TOLERANCE
    print(f"{what}: {'differs' if status else 'agrees'}, by {worst:.1e} of the largest number at most")
    return status


def _first_difference(one: OnnxProgram, two: OnnxProgram, first: dict[str, Any], second: dict[str, Any]) -> str:
    """The first node in the order of the program whose result has the same name in both models and differs."""
    a, b = one.values(*map(tensor, first.values())), two.values(*map(tensor, second.values()))
    for node in one.model.nodes:
        for name in node.outputs:
            far = _distance(b.get(name), a.get(name))
            if not far <= TOLERANCE:
                return f"the first difference: {node}, by {far:.1e}"
    return "no result that has a name in both models differs before the outputs"


def _distance(found: Any, want: Any) -> float:
    """How far arrays are apart, of the largest number; 0 where they cannot be compared."""
    x, y = (known(v) if isinstance(v, (Tensor, np.ndarray)) else None for v in (found, want))
    if x is None or y is None or x.shape != y.shape or y.dtype.kind not in "fiub" or not y.size:
        return 0.0
    largest = max(float(np.max(np.abs(y.astype(np.float64)))), 1e-30)
    return float(np.max(np.abs(x.astype(np.float64) - y.astype(np.float64)))) / largest


def _operators(one: OnnxProgram, two: OnnxProgram) -> Iterator[str]:
    counts = [Counter(node.kind for node in program.model.nodes) for program in (one, two)]
    for kind in sorted(counts[0].keys() | counts[1].keys()):
        if counts[0][kind] != counts[1][kind]:
            yield f"operator {kind}: {counts[0][kind]} and {counts[1][kind]}"


def _weights(one: OnnxProgram, two: OnnxProgram) -> Iterator[str]:
    for name in sorted(one.weights.keys() | two.weights.keys()):
        a, b = one.weights.get(name), two.weights.get(name)
        if a is None or b is None:
            yield f"weight {name}: only in the {'second' if a is None else 'first'} model"
        elif a.shape != b.shape or a.dtype != b.dtype:
            yield f"weight {name}: {a.dtype!r}{list(a.shape)} and {b.dtype!r}{list(b.shape)}"
        elif not np.array_equal(a.asnumpy(), b.asnumpy(), equal_nan=True):
            far = np.max(np.abs(a.asnumpy().astype(np.float64) - b.asnumpy().astype(np.float64)))
            yield f"weight {name}: differs by {far:.1e} at most"


if __name__ == "__main__":
    sys.exit(main())
