"""A variable that a branch or a part of an expression may set, where a tensor decides: what reads it sees, and the
error where nothing was set, are those of PyNative mode."""

import numpy as np
import pytest

import msnb as ms
from msnb import Parameter, Tensor
from msnb.base.errors import CaptureError, ShapeError, UndefinedNameError
from msnb.graph.capture import register_source

PROGRAMS = {
    "one branch": "if x > 1: y = x * 2\nreturn y",
    "the same test": "if x > 1: y = x * 2\nif x > 1: return y\nreturn x",
    "the other branch": "if x > 1: y = x * 2\nelse: w = 3\nif x > 1: return y\nreturn w * x",
    "a number": "if x > 1: y = 3\nif x > 1: return x * y\nreturn x",
    "a text": "if x > 1: s = 'ab'\nif x > 1: return x * len(s)\nreturn x",
    "nested": "if x > 0:\n    if x > 1: y = x\nreturn y",
    "set again": (
        "if x > 0:\n    if x > 1: y = x\nif x > 1: y = y + 1\nelif x > 0: y = x * 5\nelse: y = x * 3\nreturn y"
    ),
    "a Parameter": "if x > 1: y = P\nif x > 1:\n    y += 1.\n    return y.sum()\nreturn x",
    "two names of one tensor": (
        "if x > 1:\n    y = x.reshape(1) * 2\n    z = y\nif x > 1:\n    z[0] = 9.\n    return y[0]\nreturn x"
    ),
    "an attribute": "a = Thing()\nif x > 1: a.k = x * 2\nif x > 1: return a.k\nreturn x",
    "an attribute that is not there": "a = Thing()\nif x > 1: a.k = x * 2\nreturn a.k",
    "turns of Python": "for k in range(3):\n    if k > x: t = k\nreturn t + x",
    "a loop in a branch": "if x > 1:\n    i = x * 0\n    while i < x: z = i; i = i + 1\nreturn z",
    "a loop in one of two": "if x > 1:\n    i = x * 0\n    while i < 3: z = i; i = i + 1\nelse: z = x\nreturn z",
    "read by a function": "def g(): return y * 2\nif x > 1: y = x\nif x > 1: return g()\ny = x * 3\nreturn g() + x",
    "deleted": "if x > 1: y = x * 2\ndel y\nreturn x",
    "augmented": "if x > 1: y = x * 2\ny += 1\nreturn y",
    "in a gradient": "def g(v):\n    if v > 1: y = v * v\n    return y if v > 1 else v * 3\nreturn ms.grad(g)(x)",
    "not set in a gradient": "def g(v):\n    if v > 1: y = v * v\n    return y\nreturn ms.grad(g)(x)",
    "before a loop that does not set it": (
        "if x > 1: y = x * 2\ni = x * 0\nwhile i < 2: i = i + 1\nif x > 1: return y + i\nreturn i"
    ),
    ":= in and": "k = 0\nif x > 1 and (k := 5) > 3: pass\nreturn x + k",
    ":= in and, read behind it": "if x > 1 and (n := x * 2) > 3: return n\nreturn x",
    ":= in and, twice": "if x > 1 and (n := x * 2) > 3 and (m := n * 2) > 5: r = n * m\nelse: r = x\nreturn r",
    ":= in or": "if x < 0 or (n := x * 2) > 3: return x\nreturn n",
    ":= in and or": "k = 0\nc = x > 1 and (k := 5) > 3 or (k := 7) > 100\nreturn x + k",
    ":= in a choice": "k = 0\nr = (k := k + 1) if x > 1 else (k := k + 10)\nreturn x * k + r",
    ":= in a choice, of tensors": "r = (n := x * 2) + n if x > 1 else (n := x * 3) * n\nreturn r + n",
    ":= in one part of a choice": "n = x\nr = (n := x * 2) if x > 1 else x\nreturn r + n",
    ":= in a chain": "k = 1\nb = 0 < x < (k := 4)\nreturn x * k",
    ":= in an assert": "assert x > -10 and (m := x * 2) < 100\nreturn m",
    ":= in a return": "return x if (q := x * 2) > 1 and (p := q) < 100 else q",
    ":= of a global": "global G\nG = 1\nif x > 1 and (G := 5): pass\nreturn x * G",
    ":= of an outer variable": (
        "k = 1\ndef g():\n    nonlocal k\n    if x > 1 and (k := k + 3) > 2: return k\n    return 0\nr = g()\n"
        "return x * k + r"
    ),
    ":= in a comprehension": "a = [(w := v * 2) for v in [x, x + 1]]\nreturn a[0] + w",
    ":= that a number decides": "k = 0\nif x.ndim == 0 and (k := 5) > 3: pass\nc = x.ndim and (k := 9)\nreturn x + k",
    ":= of another type, not read": "w = x.reshape(1)\nif x > 1 and (w := x * 2) > 3: x = x + 1\nreturn x",
    "names of patterns in a loop": (
        "for i in range(2):\n    match x, x.reshape(1):\n        case (2, m): x = x + m.sum()\n"
        "        case (m, w) if m > 3: x = x + w[0]\nreturn x"
    ),
    "names of a pattern": (
        "match x, x * 2:\n    case (2, b) if b > 3: return x * b\n    case (a, b) if b < 0: return a - b\nreturn x"
    ),
}


class Thing:
    """An object without attributes."""


def outcomes(mode, text):
    """What calls with three values give or raise, and what they leave in the Parameter."""
    ms.set_context(mode=mode)
    source = "def program(x):\n    " + text.replace("\n", "\n    ")
    file = f"<names {mode} {hash(text)}>"
    register_source(file, source)
    space = {"ms": ms, "P": Parameter(Tensor([1.0, 2.0]), name="p"), "Thing": Thing}
    exec(compile(source, file, "exec"), space)
    called = ms.jit(space["program"], fullgraph=True) if mode == ms.GRAPH_MODE else space["program"]
    found = []
    for value in (2, 0.5, -3):
        try:
            given = np.asarray(called(Tensor(np.float32(value)))).tolist()
        except (NameError, AttributeError) as error:
            if isinstance(error, CaptureError):
                raise
            given = type(error).__name__, str(error).split("\n")[0]
        found.append((given, space["P"].tolist()))
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_modes(name):
    eager, graph = (outcomes(mode, PROGRAMS[name]) for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE))
    assert eager == graph


REFUSED = {
    "a list": ("if x > 1: y = [x]\nreturn y[0]", UndefinedNameError),
    "in a try": ("if x > 1: y = x\ntry: return y * 1\nexcept NameError: return x", CaptureError),
    "set again in a loop": (
        "if x > 1: y = x\ni = x * 0\nwhile i < x:\n    y = i\n    i = i + 1\nreturn y", UndefinedNameError,
    ),
    "read in a loop that sets it": (
        "if x > 1: y = x\ni = x * 0\nwhile i < 2:\n    i = i + y\n    y = i\nreturn i", UndefinedNameError,
    ),
    ":= of another type": ("w = x.reshape(1)\nif x > 1 and (w := x * 2) > 3: x = x + 1\nreturn w", ShapeError),
    "locals": ("if x > 1: y = x\nreturn x + len(locals())", UndefinedNameError),
    "in a comprehension": ("return [x > v and (w := x) for v in [1, 2]][0]", CaptureError),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_check_can_tell_is_refused(name):
    program, error = REFUSED[name]
    with pytest.raises(error):
        outcomes(ms.GRAPH_MODE, program)


@pytest.mark.parametrize("transform", [ms.vmap, lambda f: ms.vmap(ms.grad(f))], ids=["vmap", "vmap of grad"])
def test_lanes_that_set_a_variable_and_lanes_that_do_not(transform):
    def same_test(v):
        if v > 1:
            y = v * v
        if v > 1:
            return y
        return v * 3

    def one_test(v):
        if v > 1:
            y = v * v
        return y

    lanes, above = (Tensor(np.array(values, np.float32)) for values in ([0.5, 2.0, 3.0], [2.0, 3.0]))
    for fn in (same_test, one_test):
        found = ms.jit(transform(fn))(above).tolist()
        assert found == transform(fn)(above).tolist() == ([4, 9] if transform is ms.vmap else [4, 6])
    assert ms.jit(transform(same_test))(lanes).tolist() == transform(same_test)(lanes).tolist()
    for called in (transform(one_test), ms.jit(transform(one_test))):
        with pytest.raises(UnboundLocalError, match="'y'"):
            called(lanes)
