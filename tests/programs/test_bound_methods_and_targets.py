"""Methods of C code that objects hold (``self.push = self.rows.append``), and targets of ``with``: each call of a
compiled program does what PyNative mode does."""

import pytest

import msnb as ms
from msnb import Tensor
from msnb.graph.capture import register_source

LOG = []


class Opened:
    def __init__(self, value):
        self.value = value

    def __enter__(self):
        LOG.append("in")
        return self.value

    def __exit__(self, *error):
        LOG.append("out")
        return False


class Held:
    def __init__(self):
        self.rows, self.table, self.group = [1], {"a": 1}, set()
        self.push, self.count, self.pop = self.rows.append, self.rows.count, self.rows.pop
        self.get, self.put, self.pairs = self.table.get, self.table.__setitem__, self.table.items
        self.add, self.upper, self.fn = self.group.add, "ab".upper, abs
        self.pair, self.opened = (1, 2), Opened((1, (2, 3)))


class Counted(dict):
    def __len__(self):
        return 7


def another_pair(held, i):
    held.opened.value = (i, (i + 1, i + 2))


def nothing(held, i):
    pass


CASES = {
    "append": (nothing, "o.push(1)\nreturn x * len(o.rows)"),
    "append and count": (lambda o, i: o.rows.append(2), "o.push(2)\nreturn x * o.count(2)"),
    "pop": (lambda o, i: o.rows.append(i), "o.push(7)\no.pop(0)\nreturn x * o.rows[-1] * len(o.rows)"),
    "get": (lambda o, i: o.table.update(a=i), "return x * o.get('a') + o.get('b', 0)"),
    "put": (nothing, "o.put('a', o.get('a') + 1)\nreturn x * o.table['a']"),
    "items": (lambda o, i: o.table.update(b=i), "return x * sum(v for k, v in o.pairs())"),
    "a method of a text": (lambda o, i: setattr(o, "upper", ("x" * i).upper), "return x * len(o.upper())"),
    "a method of the class": (
        lambda o, i: o.table.update(b=i), "return x * sum(o.table.fromkeys((1, 2), len(o.table)).values())"),
    "a method of the class from a list": (
        lambda o, i: setattr(o, "fn", [dict, Counted][i % 2].fromkeys),
        "return x * len(o.fn('abc') if o.fn != abs else 'a')"),
    "in a list": (nothing, "fns = [o.push, o.pop]\nfns[0](3)\nfns[0](4)\nreturn x * fns[1]() * len(o.rows)"),
    "set": (nothing, "o.add(len(o.group))\nreturn x * len(o.group)"),
    "in a loss": (nothing, "def loss(x):\n    o.push(1)\n    return (x * len(o.rows)).sum()\nreturn ms.grad(loss)(x)"),
    "a built-in function": (
        lambda o, i: setattr(o, "fn", [abs, lambda v: v * 3][i % 2]), "return x * o.fn(-2) + o.fn(x)"),
    "with a pair": (another_pair, "with o.opened as (a, b):\n    y = x * a\nreturn y * b[0]"),
    "with inner pairs": (
        another_pair, "with o.opened as [a, (b, *c)], Opened((a, 2)) as (d, e):\n    return x * a * b * c[0] * d * e"),
    "with an attribute": (
        another_pair,
        "with o.opened as o.given, Opened([1, 2]) as o.more:\n    y = x * o.given[0]\nreturn y * len(o.more)"),
    "with an item": (another_pair, "kept = {}\nwith o.opened as kept['k']:\n    return x * kept['k'][0]"),
    "with a global": (another_pair, "global GIVEN\nwith o.opened as GIVEN:\n    y = x * GIVEN[0]\nreturn y"),
    "with and break": (
        nothing, "for i in range(3):\n    with Opened(i) as k:\n        if k == 1:\n            break\nreturn x * k"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_call(case):
    change, body = CASES[case]
    lines, file = "\n    ".join(body.split("\n")), f"<bound {case}>"
    source = f"def program(x):\n    {lines}\n"
    register_source(file, source)
    found = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        held = Held()
        space = {"o": held, "ms": ms, "Opened": Opened}
        exec(compile(source, file, "exec"), space)
        called = ms.jit(space["program"]) if mode == ms.GRAPH_MODE else space["program"]
        found.append([])
        for i in range(4):
            if i:
                change(held, i + 2)
            LOG.clear()
            result = called(Tensor([1.0, 2.0])).tolist()
            told = {name: value for name, value in vars(held).items() if isinstance(value, (list, dict, set, tuple))}
            found[-1].append((result, list(LOG), str(told), str(space.get("GIVEN"))))
    assert found[0] == found[1]
