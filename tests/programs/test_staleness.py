"""No edit is missed: the compiled function then gives what plain Python gives, and tells why it was compiled again."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import stale_networks
import stale_objects
import stale_python
import stale_values
from stale_register import EDITS, Edit

import msnb as ms
from msnb import nn, ops, optim
from msnb.base import events
from msnb.core import pytree
from tests.levels import alike, exact

MODULES = (stale_networks, stale_objects, stale_python, stale_values)
CELLS = itertools.count()


class Notebook:
    """A namespace in which cells run; what they define is found again by its file name, as in a real notebook."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"ms": ms, "np": np, "ops": ops, "nn": nn, "optim": optim}
        self.names["__name__"] = "__main__"
        self.names["x"] = ms.Tensor(np.array([1.5, -2.0, 0.5], np.float32))
        ms.set_seed(0)

    def run(self, cell: str) -> None:
        exec(compile(cell, f"<typed-{next(CELLS)}>", "exec"), self.names)

    def outcome(self, call: str) -> Any:
        """The numbers and dtypes that a call gives, or the error."""
        try:
            leaves = pytree.flatten(eval(call, self.names))[0]
        except Exception as error:
            return type(error), str(error).split("\n")[0]
        return [(str(v.dtype), v.asnumpy().tolist()) if isinstance(v, ms.Tensor) else v for v in leaves]


def same(found: list[Any], want: list[Any]) -> bool:
    """Equal outcomes; where groups are machine code, numbers are equal to rounding, which no edit is as small as."""
    if exact() or any(isinstance(outcome, tuple) for outcome in (*found, *want)):
        return found == want
    for one, other in zip(found, want, strict=True):
        for x, y in zip(one, other, strict=True):
            if not isinstance(x, tuple):
                assert x == y
            else:
                assert x[0] == y[0]
                alike(np.array(x[1], x[0].lower()), np.array(y[1], x[0].lower()))
    return True


def plain(program: Edit) -> list[Any]:
    """What plain Python gives: twice before the edit, three times after it."""
    book = Notebook()
    book.run(program.setup)
    before = [book.outcome(program.call) for _ in range(2)]
    book.run(program.edit)
    return before + [book.outcome(program.call) for _ in range(3)]


@pytest.mark.parametrize("program", EDITS.values(), ids=[name.replace(" ", "_") for name in EDITS])
def test_never_stale(program: Edit) -> None:
    want = plain(program)
    book = Notebook()
    book.run(program.setup)
    book.names["f"] = ms.jit(book.names["f"])
    reasons: list[str] = []
    with events.listening("compiled", lambda reason, **_: reasons.append(reason)):
        assert same([book.outcome(program.call) for _ in range(2)], want[:2])
        assert len(reasons) == 1, f"the second call compiled again: {reasons[1:]}"
        book.run(program.edit)
        assert same([book.outcome(program.call) for _ in range(3)], want[2:])
    told(program, reasons[1:], isinstance(want[2], tuple))


def told(program: Edit, reasons: list[str], fails: bool) -> None:
    """The reasons after the edit are what the program announces."""
    if program.reason is None:
        assert reasons == []
    elif not fails:  # a call that fails is never compiled to the end
        assert len(reasons) == 1
        assert all(part in reasons[0] for part in ("recompiled", *program.reason)), reasons[0]


def test_going_back_compiles_nothing() -> None:
    book = Notebook()
    book.run("k = 2\ndef f(x):\n    return x if k > 5 else -x\nf = ms.jit(f)\n")
    first = book.outcome("f(x)")
    book.run("k = 7")
    book.outcome("f(x)")
    book.run("k = 3")
    assert book.outcome("f(x)") == first
    assert len(book.names["f"].versions) == 2


def test_explain_names_the_edit() -> None:
    book = Notebook()
    book.run("flag = True\ndef f(x):\n    return x if flag else -x\nf = ms.jit(f)\n")
    book.outcome("f(x)")
    book.run("flag = False")
    book.outcome("f(x)")
    assert "flag True -> False" in ms.explain(book.names["f"])


def test_learning_rate_factor_and_epoch_never_compile() -> None:
    book = Notebook()
    book.run("def f(x):\n    return x * factor - rate * x ** 2 / (1 + epoch)\nf = ms.jit(f)\n")
    for step in range(20):
        book.run(f"rate, factor, epoch = {0.1 / (step + 1)}, {step + 3}, {step}")
        book.outcome("f(x)")
    assert len(book.names["f"].versions) == 1


def test_edits_in_an_interactive_shell() -> None:
    """Cells of IPython, without a kernel: a helper is redefined in a later cell."""
    pytest.importorskip("IPython")
    from tests.shells import fresh_shell, run

    with fresh_shell() as shell:
        run(shell, "import msnb as ms\nx = ms.Tensor([1.0, 2.0])\n")
        run(shell, "def helper(x):\n    return x * 2\n")
        run(shell, "@ms.jit\ndef f(x):\n    return helper(x) + 1\n")
        assert run(shell, "f(x).tolist()") == [3.0, 5.0]
        run(shell, "def helper(x):\n    return x * 10\n")
        assert run(shell, "f(x).tolist()") == [11.0, 21.0]
        assert "helper was redefined" in run(shell, "ms.explain(f)")


def test_edits_are_seen_by_gradients() -> None:
    book = Notebook()
    book.run("k = 2\ndef loss(x):\n    return (x * x if k > 5 else x * 3).sum()\nf = ms.grad(loss)\n")
    with ms.set_context(mode=ms.GRAPH_MODE):
        assert book.outcome("f(x)") == [("Float32", [3.0, 3.0, 3.0])]
        book.run("k = 7")
        assert book.outcome("f(x)") == [("Float32", [3.0, -4.0, 1.0])]


def test_there_are_enough() -> None:
    assert len(EDITS) >= 40 and MODULES
