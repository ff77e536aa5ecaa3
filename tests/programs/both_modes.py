"""One program in both modes: what several calls give, raise and leave, with a change between each two."""

import itertools

import numpy as np

import msnb as ms
from msnb import Tensor
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


def plain(value):
    """Something that ``==`` compares by what it tells."""
    if isinstance(value, (Tensor, np.ndarray)):
        return str(value.dtype), value.tolist()
    if type(value) in (list, tuple):
        return [plain(part) for part in value]
    if type(value) is dict:
        return {str(key): plain(part) for key, part in value.items()}
    return value if isinstance(value, (bool, int, float, str, type(None))) else type(value).__name__
