"""Predicted speed on GPUs, without one: every kernel of the benchmark's programs against the roofline of A100 and H100.

    python -m bench.gpu_roofline                          the tables
    python -m bench.gpu_roofline --only chain,adam        beginnings of names
    python -m bench.gpu_roofline --out build/roofline.md  as Markdown
    python -m bench.gpu_roofline --steps                  every step of the networks, too

Programs are compiled for the simulated GPU and not run. *Least* is what any program must move: arguments and results
once. *Moved* is what all kernels of the program move, by their kernel IR: operands and results of each, parts of split
sums, rows that are read again. A bar is held against moved / least. Products and convolutions count as one library call
each; on the simulated GPU the array module does them, which their bytes and flops do not know.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import msnb as ms
from bench.cases import lenet, transformer
from bench.sides.ms_side import Side
from msnb.base import device_registry
from msnb.devices.gpu.chips import A100, H100
from msnb.devices.inspection import LaunchCost
from msnb.graph.compile import CompiledProgram, compile_graph
from msnb.notebook.programs.capture_target import captured

HEAD = ("program", "step", "launches", "moved MB", "moved / least", "Mflop", "A100 us", "H100 us")
CHIPS = (A100, H100)
ROWS, WIDTH, LARGE, CLASSES = 8192, 1024, 64 << 20, 1000


@dataclass(frozen=True)
class Program:
    """One program of the table.

    Attributes:
        name: what ``--only`` selects.
        make: gives the function and its arguments.
        bar: the most that moved / least should be; 0 for networks, whose products move what they move.
    """

    name: str
    make: Callable[[], tuple[Any, ...]]
    bar: float = 0.0


def zeros(*shape: int, dtype: Any = None) -> Any:
    """An argument: only its type counts."""
    return ms.ops.zeros(shape, dtype or ms.float32)


def chain(x: Any, w: Any, b: Any) -> Any:
    """The elementwise chain of the benchmark."""
    ops = ms.ops
    return ops.tanh(x * w + b) * ops.sigmoid(x) + ops.relu(x) - 0.5 * x * x


def _chain() -> tuple[Any, ...]:
    return (chain, *(zeros(LARGE) for _ in "xwb"))


def _chain_gradient() -> tuple[Any, ...]:
    return (ms.value_and_grad(lambda *a: chain(*a).sum(), (0, 1, 2)), *(zeros(LARGE) for _ in "xwb"))


def _softmax() -> tuple[Any, ...]:
    return (lambda x: ms.ops.softmax(x, -1)), zeros(ROWS, WIDTH)


def _layer_norm() -> tuple[Any, ...]:
    def both(x: Any, scale: Any, shift: Any, dout: Any) -> Any:
        out, pull = ms.vjp(lambda *a: ms.ops.layer_norm(a[0], (WIDTH,), a[1], a[2], 1e-5), x, scale, shift)
        return (out, *pull(dout))

    return both, zeros(ROWS, WIDTH), zeros(WIDTH), zeros(WIDTH), zeros(ROWS, WIDTH)


def _cross_entropy() -> tuple[Any, ...]:
    loss = ms.value_and_grad(lambda x, y: ms.ops.cross_entropy(x, y), 0)
    return loss, zeros(ROWS, CLASSES), zeros(ROWS, dtype=ms.int32)


def _adam() -> tuple[Any, ...]:
    net = ms.nn.Dense(2048, 2048)
    optimizer = ms.nn.Adam(net.trainable_params(), 1e-3)
    return (lambda *gradients: optimizer(gradients)), zeros(2048, 2048), zeros(2048)


class _StepSide(Side):
    """The side of the benchmark that hands over the step itself, with one batch."""

    def __init__(self, case: Any) -> None:
        super().__init__(case, "graph", "", "msnb")
        self.ms.set_context(device_target="SimulatedGPU")

    def made(self, function: Callable[..., Any]) -> Any:
        return function

    def over(self, function: Callable[..., Any], *kept: Any) -> Any:
        return function, *self.tensors(self.case.batches()[0])


def _step(case: Any) -> Callable[[], tuple[Any, ...]]:
    return lambda: case.programs["msnb"](_StepSide(case))


GPT = transformer.step_case(transformer.Form(1, 768, 12, 256, 4, 8192))
PROGRAMS = (
    Program("chain", _chain, 1.05),
    Program("chain_gradient", _chain_gradient, 1.05),
    Program("softmax", _softmax, 1.2),
    Program("layer_norm_gradient", _layer_norm, 1.2),
    Program("adam", _adam, 1.2),
    Program("cross_entropy_gradient", _cross_entropy),
    Program("lenet_step", _step(lenet.CASES[0])),
    Program("transformer_block_step", _step(GPT)),
)


def compiled(program: Program) -> CompiledProgram:
    """A program for the simulated GPU."""
    ms.set_context(device_target="SimulatedGPU", jit_level="O1")
    function, *args = program.make()
    return compile_graph(captured(function, tuple(args), {}), name=program.name)


def least_bytes(found: CompiledProgram) -> int:
    """Arguments and results, each once; a result that is an argument's new value counts beside it."""
    graph = getattr(found.executable, "graph", found.graph)
    values = {id(v): v for v in (*graph.params, *graph.outputs)}.values()
    return sum(getattr(v.type, "nbytes", 0) for v in values if not getattr(v.type, "weak", False))


Rows = list[tuple[str, ...]]


def rows_of(program: Program, steps: list[LaunchCost], least: int, every: bool) -> Rows:
    """A line per step, where these are asked for or few, and one for the whole."""
    shown = steps if every or len(steps) <= 6 else []
    rows = [_row(program.name, s.name, s.launches, s.moved, s.least, s.flops, [s]) for s in shown]
    moved, flops = sum(s.moved for s in steps), sum(s.flops for s in steps)
    whole = _row(program.name, "all", sum(s.launches for s in steps), moved, least, flops, steps)
    return [*rows, whole]


def _row(
    name: str, step: str, launches: int, moved: int, least: int, flops: float, steps: list[LaunchCost]
) -> tuple[str, ...]:
    seconds = [sum(chip.seconds(s.moved, s.flops, s.dtype) for s in steps) for chip in CHIPS]
    ratio = f"{moved / least:.3f}" if least else ""
    return (
        name,
        step,
        str(launches),
        f"{moved / 1e6:.2f}",
        ratio,
        f"{flops / 1e6:.1f}",
        *(f"{s * 1e6:.1f}" for s in seconds),
    )


def verdict(program: Program, moved: int, least: int) -> str:
    """The bar's line."""
    if not program.bar:
        return ""
    word = "reached" if moved <= program.bar * least else "MISSED"
    return f"{program.name}: moves {moved / least:.3f} of the least, bar {program.bar:g}: {word}"


def table(rows: Rows) -> str:
    """Columns of text."""
    widths = [max(len(row[k]) for row in (HEAD, *rows)) for k in range(len(HEAD))]
    lines = ["  ".join(c.ljust(w) if k < 2 else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths)))
             for row in (HEAD, *rows)]  # fmt: skip
    return "\n".join(line.rstrip() for line in lines)


def markdown(rows: Rows, verdicts: list[str]) -> str:
    """The same for a page."""
    lines = ["| " + " | ".join(row) + " |" for row in (HEAD, ("---",) * len(HEAD), *rows)]
    return "\n".join(["# Predicted on GPUs", "", *lines, "", *(f"- {v}" for v in verdicts), ""])


def main(argv: list[str] | None = None) -> int:
    """Compile, tell, write. The status is 1 if a bar was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--steps", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(argv)
    words = [word for word in options.only.split(",") if word]
    rows, verdicts = Rows(), list[str]()
    for program in PROGRAMS:
        if words and not any(program.name.startswith(word) for word in words):
            continue
        found = compiled(program)
        steps, least = device_registry.current().launches_of(found.executable), least_bytes(found)
        rows += rows_of(program, steps, least, options.steps)
        verdicts += [v] if (v := verdict(program, sum(s.moved for s in steps), least)) else []
    print(table(rows), *verdicts, sep="\n")
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(markdown(rows, verdicts), encoding="utf-8")
    return int(any("MISSED" in v for v in verdicts))


if __name__ == "__main__":
    raise SystemExit(main())
