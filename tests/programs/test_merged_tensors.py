"""A name that is one of two tensors, a tensor decides which: what it is, and what ``op=`` does to it."""

import numpy as np
import pytest
from both_modes import cell_outcome

import msnb as ms
from msnb.base.errors import CaptureError

HEAD = """y = x
if y[0] > 2:
    x = self.p
"""
PROGRAMS = {
    "a Parameter takes the value": "x += 2.",
    "in an item": "rows = [x, y]; rows[0] *= 2; rows[0][1] = 1.; x = rows[0]",
    "as an argument": "def f(q):\n    q += 1.\n    return q\nx = f(x); x -= 2.; x[1] = 2.",
    "a name of the other": "z = x; x += 1.; x = z",
    "an attribute": "self.h = x\nself.h += 1.",
    "in turns of Python": "for i in range(2):\n    x += 1.\n    if x[0] < 4: x = y * 1",
    "in turns that a tensor counts": (
        "n = x[0] * 0\nwhile n < 3:\n    x += 1.\n    n = n + 1\n    if n > 1: x = self.p\n    else: x = y\nx += 3."
    ),
    "from within a loop": "n = x[0] * 0\nwhile n < 3:\n    x = x * 1; n = n + 1\n    if n > 1: x = self.p\nx += 3.",
    "is the Parameter": "if x is self.p: y = y + 1",
    "is not the tensor": "if x is not y: y = y + 1",
    "is, of two in a branch": "z = y\nif x[1] > 1: z = y * 1\nif z is y: x = x + 5.",
    "is, after a loop of Python": "z = y\nfor i in range(2):\n    if z[1] > 1 - i: z = z * 1\nif z is y: x = x + 5.",
    "is, in a loop": (
        "z = y; n = x[0] * 0\nwhile n < 3:\n    if z is y: x = x + 5.\n    n = n + 1\n"
        "    if n > x[0]: z = y\n    else: z = y * 1\nif z is y: x = x + 5."
    ),
    "is, as a condition": "z = y; n = x[0] * 0\nwhile n < 3 and z is y:\n    n = n + 1\n    z = z * 2",
    "is, as an end": "z = y; n = x[0]\nwhile n < 3:\n    n = n + 1\n    if z is not y and n < 2: break\n    z = z * 2",
    "is, in a choice": "z = y + 1\nif x[0] > 1: z = y\nx = x + 1. if z is y else x - 1.",
    "both are tensors": "x = x + (3. if isinstance(x, ms.Tensor) else 1.) + x.shape[0] + x.ndim",
    "neither has it": "y = y + getattr(x, 'absent', 2.)",
}
DEPENDS = {
    "isinstance": "if isinstance(x, ms.Parameter): y = y + 1",
    "type": "if type(x) is ms.Parameter: y = y + 1",
    "hasattr": "if hasattr(x, 'name'): y = y + 1",
    "getattr": "y = y + len(getattr(x, 'name', 'none'))",
    "id": "if id(x) == id(y): y = y + 1",
}
CELLS = {
    "set by an inner function": "def g():\n    nonlocal y\n    y = y + 1\nwhile y.sum() < 20: g()",
    "set by both": "def g():\n    nonlocal y\n    y = y * 2\nwhile y.sum() < 20: y = y + 1; g()",
    "set and given": "n = x[0] * 0\ndef g():\n    nonlocal y\n    y = x\n    return x\nwhile n < 2: n = n + 1; y = g()",
    "set in one branch": "def g():\n    nonlocal y\n    y = y + 1\nif x[0] < 3: y = y * 2; g()\nelse: y = y * 3",
    "set in both, nested": (
        "def g():\n    nonlocal x, y\n    x = x; y = y * 2\nif x[0] < 3:\n    if y[1] > 0: y = x + 1; g()\n"
        "    else: g(); x = y\nelse: x = x + 4"
    ),
    "counted": "k = 0\ndef g():\n    nonlocal k\n    k += 1\nwhile y.sum() < 20: g(); y = y + 1\nx = x + k",
    "of two functions with one name": (
        "def make():\n    k = 0\n    def g():\n        nonlocal k\n        k += 1\n        return k\n    return g\n"
        "k = 0\ng = make()\ndef h():\n    nonlocal k\n    k += 1\nwhile y.sum() < 20: h(); y = y + g()\nx = x + k"
    ),
    "its loop variable is its own": (
        "def g():\n    for v in y: y[0] += v\nfor v in x: y[0] += v\nif x[0] > 1:\n    for v in [x, y]: v[0] += 1."
    ),
}  # fmt: skip


def programs(table):
    ends = "\nreturn x, y"
    return [pytest.param((HEAD + body + ends).replace("\n", "\n        "), id=name) for name, body in table.items()]


@pytest.mark.parametrize("given", [[1.0, 2.0, 0.5], [3.0, 1.0, 1.0]], ids=str)
@pytest.mark.parametrize("body", programs({**PROGRAMS, **CELLS}))
def test_what_a_merged_tensor_is(body, given):
    eager, graph = (cell_outcome(mode, body, given) for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE))
    for left, right in zip(eager, graph, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5)


@pytest.mark.parametrize("body", programs(DEPENDS))
def test_what_depends_on_the_object_is_refused(body):
    with pytest.raises(CaptureError, match="which of several objects this is"):
        cell_outcome(ms.GRAPH_MODE, body, [1.0, 2.0, 0.5])
