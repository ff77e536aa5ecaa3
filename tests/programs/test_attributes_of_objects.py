"""Writes to attributes of objects from outside, whatever their classes do with them: both modes, call after call."""

import copy
import dataclasses
import functools

import pytest

import msnb as ms
from msnb import Tensor, nn
from msnb.graph.capture import register_source


class Plain:
    shared, rows = 0, []

    def __init__(self):
        self.a, self.b, self._p = 1, [1], 1

    @property
    def p(self):
        self.a += 1
        return self._p

    @p.setter
    def p(self, value):
        self._p = value
        self.a += 10

    def grow(self):
        self.a += 1
        return self

    @classmethod
    def count(cls):
        cls.shared += 1
        return cls.shared


class Logged:
    """Its own ``__setattr__`` and ``__delattr__`` write a log."""

    def __init__(self):
        object.__setattr__(self, "log", [])

    def __setattr__(self, name, value):
        self.log.append(name)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        self.log.append(f"-{name}")
        object.__delattr__(self, name)

    def __getattr__(self, name):
        if name.startswith("z"):
            return len(self.log)
        raise AttributeError(name)


class Frozen:
    def __setattr__(self, name, value):
        if name == "no":
            raise AttributeError("frozen")
        self.__dict__[name] = value


class Larger:
    def __set__(self, owner, value):
        owner.__dict__["_d"] = value + 1

    def __get__(self, owner, kind=None):
        return owner.__dict__.get("_d", 0)


class Described:
    d = Larger()


class Slots:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a, self.b = 1, 2


@dataclasses.dataclass
class Row:
    a: int = 1
    more: list = dataclasses.field(default_factory=list)


class Cached:
    def __init__(self):
        self.n = 0

    @functools.cached_property
    def value(self):
        self.n += 1
        return self.n


class Counting(nn.Cell):
    def __init__(self):
        super().__init__()
        self.n = 0

    def __setattr__(self, name, value):
        super().__setattr__(name, value)

    def construct(self, x):
        self.n = self.n + 1
        object.__setattr__(self, "raw", self.n)
        return x * self.n * self.raw


class Held:
    def __init__(self):
        Plain.shared, Plain.rows = 0, []
        self.k, self.plain, self.logged, self.frozen = 1, Plain(), Logged(), Frozen()
        self.described, self.slots, self.row, self.cached, self.cell = Described(), Slots(), Row(), Cached(), Counting()


STATEMENTS = """
h.plain.a += h.k | r = h.plain.p | h.plain.p = h.k | h.plain.p += 1 | h.plain.grow().grow() | r = h.plain.count()
Plain.shared += 1 | h.plain.shared += 1 | Plain.rows.append(h.k) | h.plain.rows = h.plain.rows + [1] | h.plain.new = h.k
setattr(h.plain, f"n{h.k}", h.k) | if hasattr(h.plain, "a"): del h.plain.a | del h.plain._p; h.plain._p = 5
h.plain.__dict__["q"] = h.k; r = h.plain.q | h.plain.__dict__.update(a=h.k); r = h.plain.a | vars(h.plain)["w"] = h.k
vars(h.plain).setdefault("e", []).append(1) | h.logged.x = h.k | h.logged.y = 1; del h.logged.y | r = h.logged.zz
h.logged.x = h.logged.zq; r = h.logged.x | h.logged.x = 5 if x > 1 else 6; r = len(h.logged.log)
h.frozen.a = getattr(h.frozen, "a", 0) + 1; r = h.frozen.a | h.frozen.__dict__["c"] = h.k; r = h.frozen.c
h.described.d = h.described.d + 1; r = h.described.d | h.slots.a += 1; h.slots.b = h.k
h.row.a += 1; h.row.more.append(h.k)
h.row = dataclasses.replace(h.row, a=h.k) | r = h.cached.value + h.cached.value | h.copied = copy.copy(h.plain)
h.copied = copy.deepcopy(h.plain); h.copied.b.append(1) | h.plain, h.row = h.row, h.plain
r = float(h.cell(x)), h.cell.n
for name in ("a", "_p"): setattr(h.plain, name, getattr(h.plain, name) + 1) | h.plain.b = h.plain.b or [2]
h.plain.a = None; r = h.plain.a is None; h.plain.a = h.k | h.plain.a = "s" * h.k; r = len(h.plain.a)
h.plain.t = getattr(h.plain, "t", 0) + h.k; r = h.plain.t | r = sorted(vars(h.plain)) | r = dataclasses.asdict(h.row)
"""
PROGRAMS = [part.strip() for line in STATEMENTS.splitlines() for part in line.split(" | ") if part.strip()]


def written(statement):
    space = {**globals(), "copy": copy}
    lines = [statement] if statement.startswith(("for", "if")) else statement.split("; ")
    body = "".join(f"    {line}\n" for line in lines)
    exec(f"def f(x, h):\n    r = 0\n{body}    return r\n", space)
    return space["f"]


def left(value, seen=()):
    if isinstance(value, (list, tuple)):
        return [left(part, seen) for part in value]
    if isinstance(value, dict):
        return {key: left(part, seen) for key, part in value.items()}
    if isinstance(value, (nn.Cell, Slots)):
        return getattr(value, "n", None), getattr(value, "raw", None), getattr(value, "a", None)
    if not hasattr(value, "__dict__") or id(value) in seen:
        return type(value).__name__, str(value) if isinstance(value, (int, float, str)) else ""
    return type(value).__name__, left(dict(sorted(vars(value).items())), (*seen, id(value)))


@pytest.mark.parametrize("statement", PROGRAMS)
def test_both_modes(statement):
    program, found = written(statement), []
    for run in (program, ms.jit(program)):
        held, told = Held(), []
        for held.k in (1, 2, 2, 3):
            result = run(Tensor(float(held.k)), held)
            told.append((left(result), left(held), Plain.shared, list(Plain.rows)))
        found.append(told)
    assert found[0] == found[1]


def test_what_a_class_refuses_is_refused():
    frozen = Frozen()

    def program(x):
        try:
            frozen.no = 1
        except AttributeError as error:
            return str(error)
        return x

    assert ms.jit(program)(Tensor(1.0)) == program(Tensor(1.0)) == "frozen"


class Settings:
    def __init__(self):
        self.a, self.rows = 1.0, [1]


LOOKS = {
    "length": "o.n = 2\nreturn x * len(vars(o))",
    "names": "o.n = 2\nreturn x * sum(name != 'a' for name in vars(o)) * ('n' in o.__dict__)",
    "a write after the look": "space = vars(o)\no.n = 2\nreturn x * len(space) * space['n']",
    "a name that grows": "setattr(o, f'k{len(vars(o))}', 1)\nreturn x * len(vars(o))",
    "pop": "o.n = 1\no.__dict__.pop('n')\nreturn x * len(vars(o))",
    "items": "o.rows = o.rows + [1]\nreturn x * len(o.__dict__['rows']) * vars(o)['a']",
    "through the dict": "space = vars(o)\nspace['a'] = space['a'] + 1\no.b = 2\nreturn x * o.a * len(space)",
}


@pytest.mark.parametrize("way", ("plain", "grad", "vmap"))
@pytest.mark.parametrize("case", LOOKS)
def test_all_attributes_of_an_object_that_the_program_writes(case, way):
    lines = "\n    ".join(LOOKS[case].split("\n"))
    space, source, file = {}, f"def program(x, o):\n    {lines}\n", f"<attributes {case}>"
    register_source(file, source)
    exec(compile(source, file, "exec"), space)
    program, x, found = space["program"], Tensor([1.0, 2.0]), []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        held = Settings()
        called = {
            "plain": lambda x: program(x, held),
            "grad": lambda x: ms.grad(lambda x: program(x, held).sum())(x),
            "vmap": lambda x: ms.vmap(lambda x: program(x, held))(x),
        }[way]
        called = ms.jit(called) if mode == ms.GRAPH_MODE else called
        found.append([])
        for i in range(3):
            held.a += i
            found[-1].append((called(x).tolist(), vars(held).copy()))
    assert found[0] == found[1]
