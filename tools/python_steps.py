"""Which operations are still steps in Python inside a compiled program, and which programs are not compiled at all.

    python tools/python_steps.py            every example of every record, at jit_level O1
    python tools/python_steps.py pad scan   records whose names contain one of these words

Small operations outside of loops are left to Python on purpose (``kernel_selection.WORTH``); here nothing is small, so
what is printed lacks a kernel. After the name: in how many of its examples, with the dtypes of the first of them.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

import msnb as ms
from msnb.base.errors import MsnbError
from msnb.devices.cpu.program.build import kernel_selection
from msnb.graph.compile.passes.fusion import grouping
from msnb.ops.definition.record import REGISTRY, Example, Op

UNCOMPILED = "runs operation by operation"


def steps_of(op: Op, example: Example) -> list[str]:
    """The names of the nodes that run in Python when the example is compiled."""
    given = [ms.Tensor(x) if isinstance(x, np.ndarray) else x for x in example.inputs]
    tensors = [x for x in given if isinstance(x, ms.Tensor)]

    def call(*found: Any) -> Any:
        rest = iter(found)
        result = op(*(next(rest) if isinstance(x, ms.Tensor) else x for x in given), **example.attrs)
        return tuple(result) if isinstance(result, tuple) else result

    program = ms.jit(call)
    program(*tensors)
    compiled = program.versions[0].compiled
    executable = compiled.executable if compiled is not None else None
    if getattr(executable, "built", None) is None:
        return [UNCOMPILED]
    return list(executable.host_steps)


def survey(words: Sequence[str]) -> dict[str, list[str]]:
    """Per operation that runs in Python: the examples, as text, in whose programs it does."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(REGISTRY):
        op = REGISTRY[name]
        if (words and not any(w in name for w in words)) or "effect" in op.traits:
            continue
        for example in op.examples:
            types = ", ".join(f"{np.asarray(x).dtype}{list(np.shape(x))}" for x in example.inputs)
            try:
                for step in steps_of(op, example):
                    found[step if step != UNCOMPILED else f"{name}: {step}"].append(f"{name}({types}) {example.attrs}")
            except MsnbError as error:
                found[f"{name}: {type(error).__name__}"].append(str(error).splitlines()[0])
    return found


def main() -> None:
    """Print the survey."""
    kernel_selection.WORTH = grouping.WORTH = 0
    ms.set_context(jit_level="O1")
    found = survey(sys.argv[1:])
    for name in sorted(found):
        print(f"{name:28} {len(found[name]):3}   {found[name][0][:110]}")
    print(f"{len(found)} kinds of steps in Python")


if __name__ == "__main__":
    main()
