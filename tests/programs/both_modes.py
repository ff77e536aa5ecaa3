"""One program in both modes: what several calls give, raise and leave, with a change between each two."""

import itertools

import numpy as np

import msnb as ms
from msnb import Parameter, Tensor, nn
from msnb.graph.capture import register_source

_numbers = itertools.count()


def outcomes(mode, source, space, changes, left, name="program"):
    """``source`` is run in ``space`` and defines ``name``, a function of a tensor; each of ``changes`` is run after a
    call, ``left()`` tells what is looked at after each."""
    ms.set_context(mode=mode)
    file = f"<both modes {next(_numbers)}>"
    register_source(file, source)
    exec(compile(source, file, "exec"), space)
    called = ms.jit(space[name]) if mode == ms.GRAPH_MODE else space[name]
    found = []
    for change in (*changes, "pass"):
        try:
            given = plain(called(Tensor(np.array([1, 2], np.float32))))
        except Exception as error:
            given = type(error).__name__
        found.append((given, left()))
        exec(change, space)
    return found


def both(source, make, changes, left, name="program"):
    """The outcomes of PyNative and of Graph mode; ``make()`` gives a fresh space, ``left(space)`` what is left."""
    found = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        space = make()
        found.append(outcomes(mode, source, space, changes, lambda space=space: left(space), name))
    return found


def bodies(text):
    """The programs of a text, each up to a line that sets ``r``."""
    found, lines = [], []
    for line in text.split("\n"):
        lines.append(line)
        if "r=" in line:
            found.append("\n    ".join(lines))
            lines = []
    return found


def cell_outcome(mode, body, given):
    """What two calls of a Cell, whose ``construct`` has this body, give and leave in ``x`` and its Parameter ``p``."""
    ms.set_context(mode=mode)
    source = f"class Net(nn.Cell):\n    def construct(self, x):\n        {body}\n"
    file = f"<cell {next(_numbers)}>"
    register_source(file, source)
    space = {"ms": ms, "nn": nn, "zeros": lambda n: ms.ops.zeros(n), "__name__": "__main__"}
    exec(compile(source, file, "exec"), space)
    net = space["Net"]()
    net.p = Parameter(Tensor([1.0, 2.0, 3.0]), name="p")
    x, found = Tensor(np.array(given, np.float32)), []
    called = ms.jit(net, fullgraph=True) if mode == ms.GRAPH_MODE else net
    for _ in range(2):
        result = called(x)
        found += _parts(result)
        found += [x.asnumpy().copy(), net.p.asnumpy().copy()]
    return found


def _parts(value):
    return [part for one in value for part in _parts(one)] if isinstance(value, (tuple, list)) else [np.array(value)]


def plain(value):
    """Something that ``==`` compares by what it tells."""
    if isinstance(value, (Tensor, np.ndarray)):
        return str(value.dtype), value.tolist()
    if type(value) in (list, tuple):
        return [plain(part) for part in value]
    if type(value) is dict:
        return {str(key): plain(part) for key, part in value.items()}
    return value if isinstance(value, (bool, int, float, str, type(None))) else type(value).__name__
