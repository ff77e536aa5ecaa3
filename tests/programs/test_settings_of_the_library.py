"""What a program sets of msnb itself between two calls: texts of Cells, methods of Tensor, settings it asks for."""

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn, ops

MODES = (ms.PYNATIVE_MODE, ms.GRAPH_MODE)


class Program(nn.Cell):
    def __init__(self, text):
        super().__init__()
        self.drop, self.dense = nn.Dropout(p=0.5), nn.Dense(2, 2, weight_init="ones")
        self.body = eval("lambda self, x: " + text, {"ms": ms, "ops": ops})

    def construct(self, x):
        return self.body(self, x)


def unpatch():
    for owner in (Tensor, ops):
        if hasattr(owner, "of_tests"):
            del owner.of_tests


def outcomes(text, change, mode):
    unpatch()
    ms.set_context(mode=mode)
    cell, found = Program(text), []
    for i in range(1, 5):
        change(cell, i)
        found.append(cell(Tensor(np.array([[1, 2]], np.float32))).asnumpy().tolist())
    return found


def patched(name, value):
    return lambda cell, i: setattr(Tensor, name, value(i))


CHANGES = {
    "repr of a Cell": ("x * len(repr(self.drop))", lambda cell, i: setattr(cell.drop, "p", i / 8)),
    "a Cell in a text": ("x * len(f'{self.drop} {self.dense}')", lambda cell, i: setattr(cell.drop, "p", i / 8)),
    "a method of Tensor": ("x.of_tests()", patched("of_tests", lambda i: lambda self: self * i)),
    "a property of Tensor": ("x.of_tests", patched("of_tests", lambda i: property(lambda self: self * i))),
    "a method that comes": (
        "x.of_tests() if hasattr(x, 'of_tests') else x",
        lambda cell, i: i > 2 and patched("of_tests", lambda i: lambda self: self * i)(cell, i),
    ),
    "a function of ops": ("ops.of_tests(x)", lambda cell, i: setattr(ops, "of_tests", lambda x: x * i)),
    "a seed": ("x * ms.get_seed()", lambda cell, i: ms.set_seed(i)),
    "a setting": ("x * ms.get_context('max_call_depth')", lambda cell, i: ms.set_context(max_call_depth=1000 + i)),
}


@pytest.mark.parametrize("case", CHANGES)
def test_each_call_sees_what_was_set(case):
    depth = ms.get_context("max_call_depth")
    try:
        eager, compiled = (outcomes(*CHANGES[case], mode) for mode in MODES)
    finally:
        ms.set_context(max_call_depth=depth)
        unpatch()
    assert compiled == eager and eager[-1] != eager[0]
