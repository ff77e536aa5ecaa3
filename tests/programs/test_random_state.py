"""Random programs with state: a compiled program gives and leaves what PyNative mode does, whatever changes between."""

from random import Random
from types import SimpleNamespace

import numpy as np
import state_programs as state

import msnb as ms
from msnb import Tensor, nn
from msnb.base.errors import CaptureError
from msnb.graph.capture import register_source

PROGRAMS = 250
GIVEN = ("l", "o", "a", "d", "n")
HEADS = {
    "globals": "def f(x):\n    global K\n    t=1.\n    l, o, a, d, n = GIVEN\n",
    "arguments": "def f(x, l, o, a, d, n):\n    global K\n    t=1.\n",
    "cell": "class f(nn.Cell):\n  def construct(self, x):\n    global K\n    t=1.\n"
    "    l, o, a, d, n = self.h.l, self.h.o, self.h.a, self.h.d, self.h.n\n",
}


def outcomes(text, changes, mode, head):
    """What five calls give and leave, up to the first error."""
    ms.set_context(mode=mode)
    lines, file = "\n".join("    " + line for line in text.split("\n")), f"<state {hash((text, head))} {mode}>"
    register_source(file, HEADS[head] + lines)
    space = state.places() | {"ms": ms, "nn": nn}
    exec(compile(HEADS[head] + lines, file, "exec"), space)
    fn = space["f"]() if head == "cell" else space["f"]
    called = ms.jit(fn) if mode == ms.GRAPH_MODE and head != "cell" else fn
    found = []
    for i in range(5):
        held = {name: space[name] for name in GIVEN}
        space["GIVEN"] = tuple(held.values())
        if head == "cell":
            fn.h = SimpleNamespace(**held)
        try:
            given = state.plain(called(Tensor([1.0, 1.0]), *(held.values() if head == "arguments" else ())))
        except Exception as error:
            return [*found, error]
        left = {name: state.plain(space[name]) for name in ("K", "s", "rows", "table", "array", "e", *GIVEN)}
        found.append((given, left, state.plain(state.Holder.count)))
        if i < len(changes):
            exec(f"try:\n    {changes[i]}\nexcept LookupError:\n    pass", space)
    return found


def test_each_call_gives_and_leaves_the_same():
    first = int(np.random.default_rng().integers(1 << 31))
    print("seed", first)
    compared = 0
    for seed in range(first, first + PROGRAMS):
        random = Random(seed)
        text, changes = state.program(random), [state.change(random) for _ in range(3)]
        head = random.choice(list(HEADS))
        try:
            compile(f"{HEADS[head]}{chr(10).join('    ' + line for line in text.split(chr(10)))}", "text", "exec")
        except SyntaxError:  # a name that is global and the function's own
            continue
        eager, graph = (outcomes(text, changes, mode, head) for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE))
        for left, right in zip(eager, graph):
            if isinstance(left, Exception) or isinstance(right, CaptureError):  # a branch that adds items is refused
                break
            assert left == right, (seed, head, changes, text)
            compared += 1
    assert compared > PROGRAMS
