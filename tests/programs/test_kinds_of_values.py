"""Questions to a value whose class changes from call to call: each answer is guarded."""

import enum

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn, ops


class Plain:
    n = 1

    def __call__(self, x):
        return x * 3

    def __len__(self):
        return 4


class Color(enum.Enum):
    RED = 1


class Held:
    v = None


HELD, PAIR = Held(), Tensor([1.0, 2.0])
VALUES = [
    1, 2, 2.0, True, None, "s", [1], [1, 2], (1, 2), {"a": 1}, PAIR, Plain(), Plain, ops.sin, nn.ReLU(), Color.RED,
    np.array([1.0, 2.0]), range(3), 0, "", [], False, ms.float32,
]  # fmt: skip
PLAIN = "isinstance(v, (int, float, str, bool, type(None), tuple, list))"
ONE = "not isinstance(v, (Tensor, np.ndarray))"
EXPRESSIONS = [
    "isinstance(v, int), isinstance(v, (int, float)), isinstance(v, bool), isinstance(v, type)",
    "isinstance(v, Tensor), isinstance(v, (list, tuple)), isinstance(v, nn.Cell), isinstance(v, Plain)",
    "type(v) is int, type(v) in (int, float), type(v).__name__, v.__class__.__name__, issubclass(type(v), int)",
    "v is None, v is not None, v is True, v is Color.RED, callable(v)",
    "hasattr(v, 'shape'), hasattr(v, '__len__'), hasattr(v, 'n'), getattr(v, 'n', 0)",
    f"bool(v) if {ONE} else 5",
    f"(not v) if {ONE} else 5",
    f"(v or 7) if {ONE} and not callable(v) else 5",
    f"v == 1 if {ONE} else 5",
    f"v in (1, 2, 's', None) if {ONE} else 5",
    "len(v) if hasattr(v, '__len__') and not isinstance(v, type) else -1",
    f"str(v) if {PLAIN} else 0",
    f"f'{{v}} {{v!r:>20}}' if {PLAIN} else 0",
    f"'%s' % (v,) + '{{}}'.format(v) if {PLAIN} else 0",
    "v(x) if callable(v) and not isinstance(v, type) else x",
    "x * v if isinstance(v, (int, float)) else x",
    "x + v if isinstance(v, Tensor) else x",
    "[*v] if isinstance(v, (list, tuple, range)) else 0",
    "v.value if isinstance(v, Color) else 0",
    "x[v] if type(v) is int and v < 2 else x",
    "x.sum(v) if type(v) is int and v == 0 else x",
    "x.reshape(v) if isinstance(v, tuple) else x",
    "x.astype(v) if v is ms.float32 else x",
]


def shown(value):
    if isinstance(value, Tensor):
        return str(value.dtype), value.shape, value.tolist()
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(shown, value)]
    return type(value).__name__ + ("" if " at 0x" in str(value) else str(value))


@pytest.mark.parametrize("place", ["v = HELD.v", "v = given"], ids=["attribute", "argument"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_both_modes(expression, place):
    space = dict(globals())
    exec(f"def f(x, given):\n    {place}\n    return {expression}\n", space)
    program = space["f"]
    compiled = ms.jit(program)
    for HELD.v in [*VALUES, *VALUES[::-1]]:
        found = []
        for run in (program, compiled):
            try:
                found.append(shown(run(PAIR, HELD.v)))
            except (TypeError, ValueError) as error:
                found.append(str(error).splitlines()[0])
        assert found[0] == found[1], HELD.v
