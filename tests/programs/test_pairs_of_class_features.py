"""Objects of classes of a program, by pairs of what such classes do: a compiled program gives and leaves what PyNative
mode does, and calls their methods as often."""

import copy
import itertools
from random import Random

import class_features as classes
import numpy as np
from both_modes import outcomes, plain

import msnb as ms
from msnb.graph.capture import register_source

PROGRAMS = 250
CHANGES = ("o.a = 3.; K.n = 5.", "o.a = 4.; dict.__setitem__(o, 'u', 8.)", "pass")
_numbers = itertools.count()
_TELLS_NO_MORE = (
    "TypeError", "AttributeError", "ValueError", "IndexError", "KeyError", "NameError", "UnboundLocalError",
)  # fmt: skip


def seen(pair, statement, mode):
    """The outcomes of the program, with what the methods of the class told; None where there is no such class."""
    head, _, program = classes.source(pair, statement).rpartition("\ndef program")
    space, file = dict(classes.NAMES), f"<class {next(_numbers)}>"
    ms.set_context(mode=mode)
    register_source(file, head)
    try:
        exec(compile(head, file, "exec"), space)
        space["o"], space["o2"] = space["make"](), space["make"]()
    except Exception:
        return None
    del classes.LOG[:]
    changes = [f"try:\n    {line}\nexcept Exception:\n    pass" for line in CHANGES]
    return outcomes(
        mode, "def program" + program, space, changes, lambda: (plain(classes.state(space["o"], space["K"])), told())
    )


def told():
    """What the methods told since the last call."""
    found = copy.copy(classes.LOG)
    classes.LOG.clear()
    return found


def compare(seed):
    """Whether a drawn program could be compared."""
    random = Random(seed)
    pair, statement = random.sample(list(classes.KINDS), 2), random.choice(classes.statements())
    if classes.source(pair, statement) is None:
        return False
    eager, graph = (seen(pair, statement, mode) for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE))
    if eager is None:
        return False
    for left, right in zip(eager, graph):
        if left[0] == right[0] and left[0] in _TELLS_NO_MORE or right[0] == "CaptureError":
            return True  # an error takes back what the program wrote
        assert left == right, (seed, pair, statement)
    return True


def test_each_call_sees_the_object_and_calls_it_as_often():
    first = int(np.random.default_rng().integers(1 << 31))
    print("seed", first)
    found = map(compare, itertools.count(first))
    assert sum(itertools.islice(found, PROGRAMS)) > PROGRAMS / 2
