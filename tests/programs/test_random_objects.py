"""Random programs whose tensors become one object, and come apart again, in nested branches and loops, and are written
in place: a compiled program leaves in each what PyNative mode does."""

import re
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

import msnb as ms
from msnb import Parameter, Tensor, nn
from msnb.base.errors import CaptureError
from msnb.graph.capture import register_source

PROGRAMS = 120
NAMES = ("x", "y", "z")
TESTS = ("y[0] > 2", "z[1] > y[1]", "x[0] < 3", "y.sum() > 9", "z[0] < 4")


def block(random, depth, indent):
    lines = []
    for _ in range(random.randint(1, 3)):
        kind, (a, b) = random.random(), (random.choice(NAMES), random.choice((*NAMES, "self.p")))
        if kind < 0.3:
            lines.append(f"{a}[{random.randint(0, 2)}] += {random.randint(1, 3)}.")
        elif kind < 0.45:
            lines.append(f"{a} = {b}")
        elif kind < 0.6:
            twice = f"t = {b} + 1; {a} = t; {random.choice(NAMES)} = t"
            lines.append(f"{a} = {b} * 2" if random.random() < 0.5 else twice)
        elif kind < 0.65:
            lines.append("self.p[1] += 1.")
        elif kind < 0.85 and depth:
            lines += [f"if {random.choice(TESTS)}:", *block(random, depth - 1, "    ")]
            lines += ["else:", *block(random, depth - 1, "    ")] if random.random() < 0.6 else []
        elif depth:
            n = f"n{depth}"
            lines += [f"{n} = 0 * x[0]", f"while {n} < {random.randint(1, 3)}:", f"    {n} = {n} + 1"]
            lines += block(random, depth - 1, "    ")
    return [indent + line for line in lines or ["pass"]]


def program(random):
    begin = random.choice((["y = x", "z = x + 1"], ["y = z = x"]))
    body = [*begin, *block(random, 3, ""), "y[2] -= 5.", "z[0] -= 7.", "return x, y, z"]
    lines = ["class Net(nn.Cell):", "    def construct(self, x):", *("        " + line for line in body)]
    return re.sub(r"\bz\b", random.choice(("z", "a.z", "rows[0]")), "\n".join(lines))


def outcome(mode, source, given):
    ms.set_context(mode=mode)
    file = f"<random objects {hash((mode, source))}>"
    register_source(file, source)
    space = {"ms": ms, "nn": nn, "__name__": "__main__", "a": SimpleNamespace(z=None), "rows": [None]}
    exec(compile(source, file, "exec"), space)
    net = space["Net"]()
    net.p = Parameter(Tensor([1.0, 2.0, 3.0]), name="p")
    called = ms.jit(net, fullgraph=True) if mode == ms.GRAPH_MODE else net
    found = []
    for values in given:
        x = Tensor(np.array(values, np.float32))
        found += [part.asnumpy().copy() for part in (*called(x), x, net.p)]
    return found


@pytest.mark.filterwarnings("ignore")
def test_each_object_has_its_writes():
    first = int(np.random.default_rng().integers(1 << 31))
    print("seed", first)
    compared = 0
    for seed in range(first, first + PROGRAMS):
        source, given = program(Random(seed)), ([1.0, 2.0, 0.5], [4.0, 1.0, 1.0])
        eager = outcome(ms.PYNATIVE_MODE, source, given)
        try:
            graph = outcome(ms.GRAPH_MODE, source, given)
        except CaptureError:
            continue
        for left, right in zip(eager, graph, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-5, err_msg=f"{seed}\n{source}")
        compared += 1
    assert compared > PROGRAMS * 0.9
