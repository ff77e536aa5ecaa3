"""Functions typed at Python's own prompt: capture finds them in the prompt's history."""

from __future__ import annotations

import os
import pty
import select
import sys
import time

import pytest

from tests.waiting import PATIENCE

pytest.importorskip("readline")

TYPED = [
    "import msnb as ms",
    "@ms.jit",
    "def f(x):",
    "    if x.sum() > 0:",
    "        return x * 2",
    "    return x",
    "",
    "print('answers', f(ms.Tensor([1.0])), f(ms.Tensor([-1.0])))",
    "g = ms.jit(lambda x: x + 1)",
    "print('lambda', g(ms.Tensor([1.0])))",
    "exit()",
]


def type_into_a_prompt(lines: list[str], limit: float = PATIENCE) -> str:
    """What a Python prompt in a terminal of its own shows when these lines are typed."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(TERM="dumb", PYTHON_BASIC_REPL="1")
        os.execv(sys.executable, [sys.executable, "-q", "-i"])
    os.write(terminal, ("\n".join(lines) + "\n").encode())
    shown, end = b"", time.monotonic() + limit
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                shown += os.read(terminal, 65536)
            except OSError:
                break
    os.close(terminal)
    os.waitpid(child, 0)
    return shown.decode()


@pytest.mark.long
def test_functions_typed_at_the_prompt_are_captured() -> None:
    shown = type_into_a_prompt(TYPED)
    assert "answers [2.] [-1.]" in shown
    assert "lambda [2.]" in shown
