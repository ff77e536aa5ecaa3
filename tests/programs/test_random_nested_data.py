"""Random data of containers in containers: a compiled program sees each change of it, whatever reads it."""

import copy
import functools
import itertools
import operator
from random import Random
from types import SimpleNamespace

import nested_data as data
import numpy as np

import msnb as ms
from msnb import Tensor
from msnb.graph.capture import register_source

PROGRAMS = 60
NAMES = {"copy": copy, "functools": functools, "itertools": itertools, "operator": operator, "Pair": data.Pair}
NAMES["deque"] = data.collections.deque
WAYS = {
    "plain": lambda fn: fn,
    "grad": lambda fn: lambda x: ms.grad(lambda x: fn(x).sum())(x),
    "jvp": lambda fn: lambda x: ms.jvp(fn, x, x)[1],
}


def outcomes(seed, mode):
    """What four calls give, with a change between each two."""
    random = Random(seed)
    spec = data.drawn(random, 3)
    while spec[0] == "n":
        spec = data.drawn(random, 3)
    body, way = data.program(random, spec), random.choice(list(WAYS))
    lines, file = "\n    ".join(body.split("\n")), f"<nested data {seed} {mode}>"
    source = f"def program(x, o):\n    {lines}\n"
    register_source(file, source)
    space = dict(NAMES)
    exec(compile(source, file, "exec"), space)
    ms.set_context(mode=mode)
    holder = SimpleNamespace(data=data.build(spec))
    called = WAYS[way](lambda x: space["program"](x, holder))
    called = ms.jit(called) if mode == ms.GRAPH_MODE else called
    found = []
    for i in range(4):
        if i:
            path = random.choice([path for path, part in data.nodes(spec) if part[0] == "n"])
            new = data.replaced(spec, path, random.choice(data.NUMBERS))
            data.change(random, holder, spec, new, path)
            spec = new
        try:
            found.append(called(Tensor(np.array([1, 2], np.float32))).tolist())
        except (TypeError, ValueError) as error:
            found.append(type(error).__name__)
    return body, spec, found


def test_each_call_sees_the_data():
    first = int(np.random.default_rng().integers(1 << 31))
    print("seed", first)
    for seed in range(first, first + PROGRAMS):
        (body, spec, eager), (_, _, compiled) = (outcomes(seed, mode) for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE))
        assert compiled == eager, (seed, body, spec)


def test_the_net_holds():
    """Of a few hundred programs most see their data change, and few are refused."""
    runs = [outcomes(seed, ms.PYNATIVE_MODE)[2] for seed in range(300)]
    assert sum(any(value != run[0] for value in run) for run in runs) > 100
    assert sum(isinstance(run[0], str) for run in runs) < 30
