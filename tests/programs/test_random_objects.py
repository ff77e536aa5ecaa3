"""Random programs whose tensors become one object, and come apart again, in nested branches and loops, and are written
in place: a compiled program leaves in each what PyNative mode does."""

from random import Random
from types import SimpleNamespace

import numpy as np
import object_programs
import pytest

import msnb as ms
from msnb import Parameter, Tensor, nn
from msnb.base.errors import CaptureError
from msnb.graph.capture import register_source

PROGRAMS = 120
GIVEN = [1.0, 2.0, 0.5], [4.0, 1.0, 1.0]


def called(net, mode, under_grad):
    if under_grad:
        loss = ms.value_and_grad(lambda x: (lambda a, b, c: (a * b + c).sum())(*net(x * 1)), 0, net.trainable_params())
        found = ms.jit(loss, fullgraph=True) if mode == ms.GRAPH_MODE else loss
        return lambda x: (lambda value, grads: (value, grads[0], *grads[1]))(*found(x))
    return ms.jit(net, fullgraph=True) if mode == ms.GRAPH_MODE else net


def outcome(mode, source, under_grad):
    """What two calls give and leave in their argument and in the Parameter, or what is raised."""
    ms.set_context(mode=mode)
    file = f"<random objects {hash((mode, source))}>"
    register_source(file, source)
    space = {"ms": ms, "nn": nn, "__name__": "__main__", "GZ": None, "rows": [None], "d": {"z": None}}
    space["a"] = SimpleNamespace(z=None)
    exec(compile(source, file, "exec"), space)
    net = space["Net"]()
    net.o = SimpleNamespace(z=None)
    net.p = Parameter(Tensor([1.0, 2.0, 3.0]), name="p")
    step, found = called(net, mode, under_grad), []
    for values in GIVEN:
        x = Tensor(np.array(values, np.float32))
        try:
            results = step(x)
        except CaptureError:
            raise
        except Exception as error:  # in both modes, or in none
            return [*found, type(error).__name__]
        found += [part.asnumpy().copy() for part in (*results, x, net.p)]
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("under_grad", [False, True])
def test_each_object_has_its_writes(under_grad):
    first = int(np.random.default_rng().integers(1 << 31))
    print("seed", first)
    compared = 0
    for seed in range(first, first + PROGRAMS // (1 + under_grad)):
        source = object_programs.program(Random(seed))
        eager = outcome(ms.PYNATIVE_MODE, source, under_grad)
        try:
            graph = outcome(ms.GRAPH_MODE, source, under_grad)
        except CaptureError:
            continue
        for left, right in zip(eager, graph, strict=True):
            if isinstance(left, str) or isinstance(right, str):
                assert left == right, f"{seed}\n{source}"
            else:
                np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-4, err_msg=f"{seed}\n{source}")
        compared += 1
    assert compared > PROGRAMS // (1 + under_grad) * 0.9
