"""Containers in containers from outside: whatever takes them apart or compares them (a comprehension, Python's C code),
each call of a compiled program sees what they hold now."""

import collections
import functools
import heapq
import itertools
import operator

import pytest

import msnb as ms
from msnb import Tensor
from msnb.graph.capture import register_source


class Held:
    def __init__(self):
        self.rows, self.pair, self.deep = [(1, "a"), (2, "b")], (1, (2, 3)), [(1, (2, 3))]
        self.queue = collections.deque([(1, "a"), (2, "b")])
        self.lists, self.named = [[1, 2], [3, 4]], {"k": (1, 2)}


def replace_row(held, i):
    held.rows[0] = (i, "a")


CHANGES = {
    "rows": replace_row,
    "pair": lambda held, i: setattr(held, "pair", (i, (i + 1, i + 2))),
    "queue": lambda held, i: held.queue.__setitem__(0, (i, "a")),
    "deep": lambda held, i: held.deep.__setitem__(0, (i, (i + 1, i + 2))),
    "lists": lambda held, i: held.lists[0].__setitem__(0, i),
    "named": lambda held, i: held.named.update(k=(i, i + 1)),
}
PROGRAMS = {
    "rows": (
        "[a for a, b in o.rows][0]", "{b: a for a, b in o.rows}['a']", "sum(a for a, b in o.rows)",
        "next(a for a, b in o.rows)", "[a for i, (a, b) in enumerate(o.rows)][0]", "max({a for a, b in o.rows})",
        "[a for (a, b), c in zip(o.rows, [1, 2])][0]", "[a for a, *b in o.rows][0]",
        "len([a for a, b in o.rows if a > 5]) + 1",
        "[a for a, b in sorted(o.rows)][0]", "max(o.rows)[0]", "sorted(o.rows, reverse=True)[0][0]",
        "len(dict(o.rows).get(6, ()))+1",
        "list(dict(o.rows))[0]", "list(itertools.starmap(lambda a, b: a, o.rows))[0]",
        "collections.Counter(o.rows)[6, 'a'] + 1",
        "o.rows.count((6, 'a')) + 1", "((6, 'a') in o.rows) + 1", "(o.rows == [(6, 'a'), (2, 'b')]) + 1",
        "(o.rows != [(6, 'a'), (2, 'b')]) + 1", "heapq.nsmallest(1, o.rows)[0][0]",
        "functools.reduce(operator.add, o.rows)[0]", "list(zip(*o.rows))[0][0]",
        "(lambda d: (d.update(o.rows), list(d)[0])[1])({})",
    ),
    "queue": ("list(dict(o.queue))[0]", "sorted(o.queue)[0][0]", "max(o.queue)[0]", "[a for a, b in o.queue][0]",
        "list(itertools.starmap(lambda a, b: a, o.queue))[0]", "collections.Counter(o.queue)[6, 'a'] + 1"),
    "pair": ("[a + b for a, (b, c) in [o.pair]][0]", "(o.pair == (6, (7, 8))) + 1", "(o.pair[1] < (7,)) + 1"),
    "deep": ("[a * b * c for a, (b, c) in o.deep][0]", "[b for a, b in o.deep][0][1]",
        "[q for a, (q, *r) in o.deep][0]",
        "(o.deep < [(5,)]) + 1", "[b for *a, (b, c) in o.deep][0]"),
    "lists": ("sum(a * b for a, b in o.lists)", "[a for a, *b in o.lists][0]", "max(o.lists)[0]",
        "(o.lists == [[6, 2], [3, 4]]) + 1",
        "sorted(o.lists)[0][0]"),
    "named": ("[a for k, (a, b) in o.named.items()][0]", "[a for a, b in o.named.values()][0]",
        "(o.named == {'k': (6, 7)}) + 1",
        "((6, 7) in o.named.values()) + 1", "(('k', (6, 7)) in o.named.items()) + 1", "max(o.named.values())[0]"),
}  # fmt: skip
MODULES = {module.__name__: module for module in (collections, functools, heapq, itertools, operator)}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_each_call_sees_the_inner_containers(kind):
    for text in PROGRAMS[kind]:
        held, file = Held(), f"<nested {text}>"
        space, source = dict(MODULES, o=held), f"def program(x):\n    return x * ({text})\n"
        register_source(file, source)
        exec(compile(source, file, "exec"), space)
        compiled, x, values = ms.jit(space["program"]), Tensor([1.0, 2.0]), []
        for i in (None, 5, 6, 7):
            if i is not None:
                CHANGES[kind](held, i)
            values.append(space["program"](x).tolist())
            assert compiled(x).tolist() == values[-1], text
        assert any(value != values[0] for value in values), f"{text} cannot fail"


def test_a_sorted_list_holds_the_lists_themselves():
    held = Held()

    def program(x):
        sorted(held.lists)[0].append(7)
        return x * len(held.lists[0])

    compiled = ms.jit(program)
    assert [compiled(Tensor([1.0])).item() for _ in range(3)] == [3, 4, 5] and held.lists[0] == [1, 2, 7, 7, 7]


@pytest.mark.parametrize("text", ("[a for a, b in [(1, 2, 3)]]", "[a for a, (b, c) in [(1, 2)]]",
        "[a for a, (b, c) in [(1,)]]"))
def test_what_cannot_be_taken_apart_is_refused(text):
    program = eval(f"lambda x: x * {text}[0]")
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        with pytest.raises((ValueError, TypeError), match="unpack"):
            ms.jit(program)(Tensor([1.0]))
