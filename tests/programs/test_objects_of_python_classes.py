"""Objects of Python's own classes, and of classes derived from them, change between calls of a compiled program: each
expression gives what PyNative mode gives, whatever looks into the object: the program, Python's C code or NumPy."""

import array
import bisect
import collections
import collections.abc
import configparser
import contextvars
import ctypes
import functools
import heapq
import io
import itertools
import linecache
import logging
import math
import operator
import os
import queue
import statistics
import threading
import types
from fractions import Fraction

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn


class Table(collections.abc.MutableMapping):
    def __init__(self):
        self.rows = {"a": 1, "b": 2}

    def __getitem__(self, key):
        return self.rows[key]

    def __setitem__(self, key, value):
        self.rows[key] = value

    def __delitem__(self, key):
        del self.rows[key]

    def __iter__(self):
        return iter(self.rows)

    def __len__(self):
        return len(self.rows)


class Row(collections.abc.Sequence):
    def __init__(self):
        self.rows = [1, 2]

    def __getitem__(self, key):
        return self.rows[key]

    def __len__(self):
        return len(self.rows)


class Group(collections.abc.Set):
    def __init__(self, rows=(1, 2)):
        self.rows = list(rows)

    def __contains__(self, value):
        return value in self.rows

    def __iter__(self):
        return iter(self.rows)

    def __len__(self):
        return len(self.rows)


class Indexed:
    """The older protocol of iteration."""

    def __init__(self):
        self.rows = [1, 2]

    def __getitem__(self, key):
        return self.rows[key]

    def __len__(self):
        return len(self.rows)


class Counting:
    def __init__(self):
        self.rows = [3]

    def __iter__(self):
        self.now = 0
        return self

    def __next__(self):
        self.now += 1
        if self.now > self.rows[0]:
            raise StopIteration
        return self.now


class Asked:
    """C code asks it for its order, its hash, a number, an array."""

    def __init__(self, value=1):
        self.rows = [value]

    def __lt__(self, other):
        return self.rows[0] < (other.rows[0] if isinstance(other, Asked) else other)

    def __eq__(self, other):
        return self.rows[0] == (other.rows[0] if isinstance(other, Asked) else other)

    def __hash__(self):
        return hash(self.rows[0])

    def __index__(self):
        return self.rows[0] % 3

    def __array__(self, dtype=None, copy=None):
        return np.array(self.rows, np.float32)


class Holder:
    def __init__(self):
        self.rows = [0]
        self.inner, self.many = Asked(), [Asked(1), Asked(2)]


class Doubling(collections.UserList):
    def append(self, value):
        super().append(value * 2)


class Upper(collections.UserDict):
    def __missing__(self, key):
        return 77


def first_item(thing, i):
    rows = getattr(thing, "rows", thing)
    if i < 2 or not hasattr(rows, "append"):
        rows[0] = i + 4
    else:
        rows.append(i + 1)


def an_entry(thing, i):
    thing["a" if i < 2 else f"c{i}"] = i + 4


def inner_items(thing, i):
    thing.inner.rows[0], thing.many[0].rows[0] = i + 4, i + 1


def an_attribute(thing, i):
    setattr(thing, "a" if i < 2 else "b", i + 4)


ROWS = {"a": 1, "b": 2}
ENTRIES = (
    "o['a']", "len(o)", "o.get('c2', 7)", "list(o.values())[-1]", "'c2' in o", "sum(o.values())", "dict(o)['a']",
    "[v for k, v in o.items()][-1]", "len([k for k in o.keys()])", "{**o}['a']", "len(o.items())",
    "len(o.keys() | {'z'})",
    "o == {'a': 1, 'b': 2}", "(lambda a, **k: a)(**o)", "collections.Counter(o)['a']", "'%(a)s' % o == '1'",
    "operator.itemgetter('a')(o)", "'{a}'.format_map(o) == '1'",
)  # fmt: skip
ITEMS = (
    "o[0]", "o[-1]", "len(o)", "sum(o)", "list(o)[-1]", "(3 in o) + (6 in o)", "o.count(3) + o.count(6)",
    "list(reversed(o))[0]", "max(o)",
    "[v for v in o][-1]", "tuple(o)[-1]", "sorted(o)[-1]", "[*o][-1]", "(lambda *a: a[-1])(*o)", "next(iter(o))",
    "float(np.array(o)[0])", "math.fsum(o)", "statistics.mean(o)", "bisect.bisect(o, 7)", "heapq.nlargest(1, o)[0]",
    "collections.deque(o)[0]", "list(itertools.chain(o, o))[0]", "set(o).pop()", "dict(zip('ab', o))['a']",
    "functools.reduce(operator.add, o)", "bytes(o)[0]", "np.stack([o, o])[0, 0]", "any(v > 4 for v in o)",
)  # fmt: skip
BYTES = (
    "sum(o)", "o[0]", "list(o)[0]", "bytes(o)[0] + bytes(o)[3]", "next(iter(o))", "sum(v * 2 for v in o)", "o[:1][0]",
    "5 in o",
    "len(o)", "len([*o])", "o[1:][-1]",
)  # fmt: skip
CASES = {
    "Mapping": (Table, an_entry, ENTRIES),
    "UserDict": (lambda: Upper(a=1, b=2), an_entry, (*ENTRIES[:-1], "o['nope'] * len(o)", "o.data['a']")),
    "ChainMap": (lambda: collections.ChainMap({}, {"a": 1}), an_entry, (*ENTRIES[:7], "o.maps[0].get('a', 9)")),
    "mappingproxy": (lambda: types.MappingProxyType(ROWS), lambda o, i: an_entry(ROWS, i), ENTRIES[:10]),
    "values": (ROWS.values, lambda o, i: an_entry(ROWS, i), ("sum(o)", "len(o)", "list(o)[-1]", "6 in o", "max(o)")),
    "keys": (ROWS.keys, lambda o, i: an_entry(ROWS, i), ("len(o)", "'c2' in o", "len(o | {'z'})", "len([*o])")),
    "Sequence": (Row, first_item, ITEMS),
    "UserList": (lambda: Doubling([1, 2]), first_item, (*ITEMS, "len(o + [1])", "len(o * 2)", "o[1:][-1]",
        "o.data[0]")),
    "indexed": (Indexed, first_item, tuple(x for x in ITEMS if "count" not in x)),
    "Set": (Group, first_item, ("len(o)", "5 in o", "sum(o)", "len(o | {9})", "len(o & {1, 5, 3})", "o == {1, 2}",
        "o <= {1, 2, 3}")),
    "iterator": (Counting, lambda o, i: operator.setitem(o.rows, 0, i + 1), ("sum(o)", "len(list(o))", "max(o)",
        "3 in o")),
    "asked": (Asked, first_item, (
        "sorted([o, Asked(3)])[0].rows[0]", "o in [Asked(5)]", "o in {Asked(5)}", "{Asked(5): 2}.get(o, 3)",
        "hash(o) % 97",
        "max(o, Asked(3)).rows[0]", "[Asked(5)].count(o)", "bisect.bisect([Asked(3)], o)", "len({o, Asked(5)})",
        "[10, 20, 30][o]", "range(5)[o]", "list(range(o, 5))[0]", "int(o)", "hex(o) == '0x1'",
        "float(np.asarray(o)[0])",
        "np.add(o, 1)[0]", "float(Tensor([10.0, 20.0, 30.0])[o])",
    )),
    "held": (Holder, inner_items, (
        "sorted(o.many)[0].rows[0]", "o.inner in [Asked(5)]", "max(o.many).rows[0]", "len(set(o.many + [Asked(2)]))",
        "[Asked(2)].count(o.many[0])",
    )),
    "array": (lambda: array.array("f", [1, 2]), first_item, (*BYTES, "o.tolist()[0]", "o.count(5.0)",
        "np.asarray(o)[0]")),
    "bytearray": (lambda: bytearray(b"abcd"), first_item, (*BYTES, "o.find(b'a')", "len(o.hex())", "o == b'abcd'")),
    "memoryview": (lambda: memoryview(bytearray(b"abcd")), first_item, BYTES[:8]),
    "ctypes": (lambda: (ctypes.c_int * 3)(1, 2, 3), first_item, BYTES[:8]),
    "matrix": (lambda: np.matrix([[1.0, 2.0]]), lambda o, i: operator.setitem(o, (0, 0), i + 5), ("float(o.sum())",
        "o[0, 0]")),
    "masked": (lambda: np.ma.array([1.0, 2.0], mask=[0, 1]), first_item, ("float(o.sum())", "o[0]")),
    "array.data": (lambda: np.array([1.0, 2.0]), first_item, ("o.data[0]", "o.flat[0]")),
    "namespace": (lambda: types.SimpleNamespace(a=1), an_attribute, (
        "o.a", "getattr(o, 'b', 7)", "len(vars(o))", "len(str(o))", "o == types.SimpleNamespace(a=1)",
    )),
    "logger": (lambda: logging.getLogger("msnb.test"), lambda o, i: o.setLevel(10 * i), (
        "o.isEnabledFor(20)", "o.getEffectiveLevel()",
    )),
    "queue": (queue.Queue, lambda o, i: o.put(i), ("o.qsize()", "o.empty()")),
    "stream": (io.StringIO, lambda o, i: o.write("ab"), ("len(o.getvalue())", "o.tell()")),
    "event": (threading.Event, lambda o, i: o.set() if i % 2 else o.clear(), ("o.is_set()",)),
    "variable": (lambda: contextvars.ContextVar("v", default=1), lambda o, i: o.set(i + 1), ("o.get()",)),
    "settings": (lambda: configparser.ConfigParser({"a": "1"}), lambda o, i: o.set("DEFAULT", "a", str(i)), (
        "o.getint('DEFAULT', 'a')", "int(o.get('DEFAULT', 'a'))",
    )),
    "getters": (Holder, lambda o, i: operator.setitem(o.inner.rows, 0, i), (
        "operator.attrgetter('inner.rows')(o)[0]", "operator.itemgetter(0)(o.inner.rows)",
        "sum(operator.attrgetter('o.inner.rows', 'o.rows')(self), [])[0]",
    )),
    "Fraction": (lambda: [Fraction(1, 2)], lambda o, i: operator.setitem(o, 0, Fraction(i, 3)), ("float(o[0])",
        "o[0].numerator")),
}  # fmt: skip
MODES = (ms.PYNATIVE_MODE, ms.GRAPH_MODE)
numbered = itertools.count()


def cell_of(body, thing):
    text = f"def construct(self, x):\n    o = self.o\n    {body}\n"
    name = f"<objects-{next(numbered)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {module.__name__: module for module in (bisect, functools, heapq, math, statistics)} | globals()
    exec(compile(text, name, "exec"), space)
    cell = type("Program", (nn.Cell,), {"construct": space["construct"]})()
    cell.__dict__["o"] = thing
    return cell


def outcomes(body, make, change, mode):
    logging.getLogger("msnb.test").setLevel(40)
    ROWS.clear()
    ROWS.update(a=1, b=2)
    ms.set_context(mode=mode)
    cell = cell_of(body, make())
    found = []
    for i in range(4):
        if i:
            change(cell.o, i)
        try:
            found.append(cell(Tensor(np.array([1, 2], np.float32))).asnumpy().tolist())
        except (LookupError, TypeError, ValueError) as error:
            found.append(type(error).__name__)
    return found


@pytest.mark.parametrize("case", CASES)
def test_each_call_sees_the_object(case):
    make, change, expressions = CASES[case]
    for text in expressions:
        eager, compiled = (outcomes(f"return x * ({text})", make, change, mode) for mode in MODES)
        assert compiled == eager, text
        assert any(value != eager[0] for value in eager), f"{text} cannot fail"


WRITES = {
    "array.append": (lambda: array.array("f", [1]), "o.append(2); return x * len(o)"),
    "array item": (lambda: array.array("f", [1]), "o[0] += 1; return x * o[0]"),
    "bytearray": (lambda: bytearray(b"ab"), "o[0] = o[0] + 1; del o[1:]; o += b'cd'; return x * o[0] * len(o)"),
    "UserList": (lambda: collections.UserList([1]), "o.append(len(o)); o += [7]; return x * sum(o)"),
    "UserDict": (lambda: collections.UserDict(a=1), "o['a'] += 1; o.setdefault('b', 5); return x * o['a'] * len(o)"),
    "ChainMap": (lambda: collections.ChainMap({}, {"a": 1}), "o['a'] = o['a'] + 1; return x * o['a'] * len(o.maps[0])"),
    "Mapping": (Table, "o['a'] += 1; o.update(z=4); return x * o['a'] * o.pop('z')"),
    "namespace": (lambda: types.SimpleNamespace(a=1), "o.a += 1; return x * o.a"),
    "tensors": (lambda: collections.UserDict(t=Tensor([1.0, 2.0])),
        "o['t'] = o['t'] * 2 + x; return o['t'] * sum(o.values())"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRITES)
def test_what_a_program_writes_is_written_at_each_call(case):
    make, body = WRITES[case]
    eager, compiled = (outcomes(body, make, lambda thing, i: None, mode) for mode in MODES)
    assert compiled == eager and eager[1] != eager[0]


def test_buffers_are_not_changed_by_one_program():
    held = bytearray(b"ab")
    program = ms.jit(lambda x: x * held.extend(b"c") if held.extend(b"c") else x * len(held), fullgraph=True)
    with pytest.raises(TypeError, match="a bytearray is changed in place, which a graph cannot do"):
        program(Tensor([1.0]))
    assert held == b"ab"


GONE_THROUGH = (
    "sum(layer(x) * i for i, layer in enumerate(nest))", "[layer(x) for layer in list(nest)][1]", "list(nest)[0][1](x)",
    "list(zip(nest, nest))[0][1](x)", "sum(map(nest[0], [x, x]))", "functools.reduce(lambda a, cell: cell(a), nest, x)",
    "list(map(lambda cell: cell(x), reversed(nest[0])))[0]", "dict(zip('ab', nest))['b'](x)", "[*nest][0](x)",
)  # fmt: skip


@pytest.mark.parametrize("text", GONE_THROUGH)
def test_cells_that_are_gone_through_stay_cells(text):
    nest = nn.CellList([nn.SequentialCell(nn.ReLU(), nn.Tanh()), nn.SequentialCell(nn.Sigmoid())])
    program = eval(f"lambda x: {text}", {"nest": nest, "functools": functools})
    x = Tensor(np.array([1, -2], np.float32))
    assert np.allclose(ms.jit(program)(x).asnumpy(), program(x).asnumpy(), atol=1e-6)


class Link:
    def __init__(self, value, after=None):
        self.value, self.after = value, after

    def __eq__(self, other):
        return self.value == other.value

    def __lt__(self, other):
        return self.value < other.value


def summed(link):
    total = 0
    while link is not None:
        total, link = total + link.value, link.after
    return total


LONG = {"sorted": lambda link: sorted([link, Link(3)])[0].value, "in": lambda link: link in [Link(7)], "while": summed}


@pytest.mark.parametrize("case", LONG)
def test_chains_of_objects_may_be_long(case):
    link = None
    for i in range(1500):
        link = Link(i % 5, link)
    x = Tensor([1.0, 2.0])
    compiled = ms.jit(lambda x: x * LONG[case](link), fullgraph=True)
    for value in (1, 7, 2):
        link.value = value
        link.after.after.value += 1
        assert compiled(x).tolist() == (x * LONG[case](link)).tolist()


class Folder:
    def __init__(self):
        self.name = "abc"

    def __fspath__(self):
        return self.name

    def __getitem__(self, place):
        return self.name[place]


@pytest.mark.parametrize("text", ("len(os.path.join(folder, 'b'))", "len('--'.join(folder))", "len(os.fspath(folder))"))
def test_a_path_is_no_sequence_of_texts(text):
    folder = Folder()
    program = eval(f"lambda x: x * {text}", {"folder": folder, "os": os})
    compiled, x = ms.jit(program), Tensor([1.0, 2.0])
    for name in ("abc", "ab", "abcd"):
        folder.name = name
        assert compiled(x).tolist() == program(x).tolist()
