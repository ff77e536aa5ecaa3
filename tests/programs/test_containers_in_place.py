"""In-place operators on containers from outside, containers with classes of their own: both modes, call after call."""

import collections
import json

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn
from msnb.base.errors import CaptureError

PROGRAMS = []


def program(fn):
    PROGRAMS.append(fn)
    return fn


class Holder(nn.Cell):
    """What it holds is changed by its program, and its number between the calls."""

    def __init__(self, fn):
        super().__init__()
        self.fn, self.k = fn, 1
        self.rows, self.table, self.pair, self.name = [1, 2, 3], {"a": 1}, (1, 2), "abc"
        self.names, self.queue = {1, 5}, collections.deque([1])
        self.nested = {"a": {"b": [1]}, "t": (1,)}
        self.sums = ()

    def construct(self, x):
        return self.fn(self, x)


class Attributes(dict):
    __getattr__ = dict.get
    __setattr__ = dict.__setitem__


class Config(dict):
    """Entries are attributes; dicts become such, too."""

    def __init__(self, given=None, **more):
        super().__init__()
        for name, value in {**(given or {}), **more}.items():
            setattr(self, name, value)

    def __setattr__(self, name, value):
        if isinstance(value, dict) and not isinstance(value, Config):
            value = Config(value)
        super().__setattr__(name, value)
        super().__setitem__(name, value)

    __setitem__ = __setattr__


class Registry(dict):
    def __init__(self):
        super().__init__()
        self.order = []

    def register(self, fn):
        self[fn.__name__] = fn
        self.order.append(fn.__name__)
        return fn


class Tagged(list):
    def __init__(self, *values):
        super().__init__(values)
        self.tag = len(values)


@program
def list_times(self, x):
    self.rows *= 2
    return x * len(self.rows)


@program
def list_plus(self, x):
    self.rows += [self.k]
    return x * len(self.rows)


@program
def dict_or(self, x):
    self.table |= {f"z{self.k}": self.k}
    return x * len(self.table)


@program
def set_operators(self, x):
    self.names |= {self.k, 77}
    self.names -= {1}
    self.names ^= {5, 9}
    self.names &= {9, 77, self.k}
    return sorted(self.names), x


@program
def deque_plus(self, x):
    self.queue += [self.k]
    return x * len(self.queue)


@program
def tuple_plus(self, x):
    self.pair += (self.k,)
    return x * len(self.pair), self.pair[-1]


@program
def tuple_of_tensors(self, x):
    self.sums += (x.sum(),)
    return len(self.sums), self.sums[-1]


@program
def tuple_times(self, x):
    self.pair *= 2
    return x * len(self.pair)


@program
def text_plus(self, x):
    self.name += "q"
    return x * len(self.name)


@program
def local_alias(self, x):
    rows, pair = self.rows, self.pair
    rows += [9]
    pair += (9,)
    return len(rows), len(self.rows), len(pair), len(self.pair), x


@program
def inside_of_others(self, x):
    self.nested["a"]["b"] += [self.k]
    self.nested["t"] += (1,)
    return len(self.nested["a"]["b"]), len(self.nested["t"]), x


@program
def counters(self, x):
    c = collections.Counter([1, 1, self.k])
    d = c - collections.Counter([1])
    e = +c
    return dict(d), d.total(), e.total(), sum(c.values()), x


@program
def attributes_of_a_dict(self, x):
    c = Attributes(a=self.k)
    c.b = 4
    return x * c.a * c.b * (c.nothing is None), dict(c)


@program
def config(self, x):
    c = Config(a=self.k, b={"c": self.k})
    c.q = x
    return c.a * c.b.c * c["q"], dict(c), c.b


@program
def registry(self, x):
    known = Registry()

    @known.register
    def twice(v):
        return v * 2 * self.k

    return known["twice"](x), known.order


@program
def tagged(self, x):
    rows = Tagged(1, self.k)
    rows.append(x)
    return rows.tag, len(rows), rows[1] * rows[2], rows


@program
def numbers_as_keys(self, x):
    counts = collections.Counter([1, self.k])
    table = {v: k for k, v in {"a": 5, "b": self.k}.items()}
    kinds = [type(key).__name__ for key in (*counts, *table)]
    return dict(counts), table, {(self.k, 1): x}, kinds


@program
def as_json(self, x):
    text = json.dumps({"a": self.k, "b": [self.k, {"c": self.k}]})
    return x * len(text), json.loads(text)


def shown(value):
    if isinstance(value, Tensor):
        return value.asnumpy().tolist()
    if isinstance(value, (tuple, list, collections.deque)):
        return [type(value).__name__, *map(shown, value)]
    if isinstance(value, dict):
        return type(value).__name__, {(type(key).__name__, str(key)): shown(part) for key, part in value.items()}
    return type(value).__name__, repr(value)


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_both_modes(fn):
    found = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        cell, told = Holder(fn), []
        for i, cell.k in enumerate((1, 2, 1, 3, 3)):
            told.append(shown(cell(Tensor(np.array([1.5 + i, -2.0], np.float32)))))
        held = cell.rows, cell.table, cell.pair, cell.name, sorted(cell.names), cell.queue, cell.nested, cell.sums
        found.append((told, shown(held)))
    assert found[0] == found[1]


@pytest.mark.parametrize("value", [3, "text", [1]], ids=repr)
def test_wrong_operands_raise_as_in_python(value):
    def union(names, x):
        names |= value
        return x

    told = []
    for run in (union, ms.jit(union)):
        with pytest.raises(TypeError) as error:
            run({1}, Tensor(1.0))
        told.append(str(error.value))
    assert told[0] == told[1]


def test_a_guard_that_breaks_at_once_is_told():
    net = nn.SequentialCell(nn.Dense(2, 2))

    @ms.jit
    def program(x):
        before = net.training
        net.set_train(not before)
        return net(x), before

    net.set_train(False)
    with pytest.raises(CaptureError, match="held while"):
        program(Tensor(np.ones((1, 2), np.float32)))
