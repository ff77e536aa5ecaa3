"""``copy``, dataclasses and attributes of classes: a compiled program runs what the program's own classes do there."""

import collections
import copy
import dataclasses
import functools

import pytest
from both_modes import both

import msnb as ms
from msnb import Tensor, nn

CLASSES = """
def made():
    told.append("made")
    return factor * 2

@dataclass
class Point:
    a: float = 1.0
    r: float = field(default_factory=made)

@dataclass
class Checked:
    a: float
    v: InitVar[float]
    l: list = field(default_factory=list)
    k: float = field(init=False, default=4.0)
    m: float = field(init=False, default_factory=lambda: factor + 1)
    def __post_init__(self, v):
        self.l.append(v * self.a * factor)

@dataclass(frozen=True)
class Frozen:
    t: tuple = field(default_factory=lambda: (factor,))

@dataclass
class Told(Point):
    z: float = 3.0
    def __setattr__(self, name, value):
        told.append(name)
        object.__setattr__(self, name, value)

@dataclass
class Layer(nn.Cell):
    k: float = 2.0
    def __post_init__(self):
        super().__init__()
    def construct(self, x):
        return x * self.k * factor

class Plain:
    count = 0.0
    def __init__(self, a=1.0):
        self.a, self.rows, self.me = a, [a, [a]], self

class Counted(Plain):
    def __copy__(self):
        told.append("copied")
        return Counted(self.a + factor)
    def __deepcopy__(self, memo):
        new = Counted(self.a * factor)
        new.rows = copy.deepcopy(self.rows, memo)
        return new

class Stated(Plain):
    def __getstate__(self):
        return {"a": self.a + factor, "rows": self.rows}
    def __setstate__(self, state):
        self.__dict__.update(state)
        self.a = self.a + 1

class Reduced(Plain):
    def __reduce__(self):
        return Reduced, (self.a * factor,)

class Table(dict):
    pass

class Slots:
    __slots__ = ("a",)

class Shaped(Plain):
    @functools.singledispatchmethod
    def of(self, value):
        return self.a
    @of.register
    def _(self, value: int):
        told.append("int")
        return self.a + factor

class Below(Plain):
    pass

def fill(o, **values):
    for name, value in values.items():
        setattr(o, name, value)
    return o
"""
CASES = """Point().r
Point(2.0).a + Point(r=3.0).r
Checked(1.0, 2.0).l[0] + Checked(1.0, v=3.0).m + Checked(1.0, 2.0).k
Frozen().t[0]
Told().z + Told(1.0, 2.0, 5.0).r
dataclasses.replace(Point(), a=4.0).r
dataclasses.astuple(Frozen())[0][0]
(Point() == Point(2.0)) * 1.0 + len(repr(Point()))
Layer()(x).sum() + Layer(3.0)(x).sum()
copy.copy(counted).a
copy.deepcopy(counted).a * len(copy.deepcopy(counted).rows)
copy.copy(stated).a + copy.deepcopy(stated).a
copy.copy(reduced).a
copy.copy(plain).rows[0]
copy.deepcopy(plain).me.me.a
fill(copy.deepcopy(plain), a=9.0).me.a
fill(copy.copy(plain), a=9.0).me.a
sum(copy.copy(plain).rows[1]) + (copy.copy(plain).rows is plain.rows)
(lambda two: two[0] is two[1])(copy.deepcopy([plain, plain])) * 1.0
copy.copy(table)['u'] + copy.deepcopy(table).z
copy.copy(slots).a + copy.deepcopy([slots])[0].a
copy.copy(ValueError(factor)).args[0]
copy.deepcopy({'k': (plain, x)})['k'][1] * copy.deepcopy(plain).a
shaped.of(1) + shaped.of(1.0)
setattr(Plain, 'count', factor) or below.count
setattr(type(below), 'other', factor) or below.other
setattr(Plain, 'twice', lambda self: self.a * factor) or below.twice()
setattr(Plain, '__len__', lambda self: 3) or len(below)
setattr(Plain, 'shown', property(lambda self: self.a + factor)) or below.shown"""
CHANGES = (
    "factor = 7.0", "plain.a = 5.0; table['u'] = table.z = 3.0; slots.a = 4.0",
    "counted.a = stated.a = reduced.a = shaped.a = 6.0",
)  # fmt: skip


def fresh():
    space = {name: getattr(dataclasses, name) for name in ("dataclass", "field", "InitVar")}
    space |= {"dataclasses": dataclasses, "copy": copy, "functools": functools, "collections": collections}
    return space | {"nn": nn, "ms": ms, "Tensor": Tensor, "told": [], "factor": 2.0, "__name__": "__main__"}


MAKE = """
plain, counted, stated, reduced, shaped, below = Plain(), Counted(), Stated(), Reduced(), Shaped(), Below()
table, slots = Table(u=1.0), Slots()
table.z, slots.a = 1.0, 1.0
"""


@pytest.mark.parametrize("case", CASES.split("\n"))
def test_each_call_runs_what_the_classes_do(case):
    source = f"{CLASSES}{MAKE}\ndef program(x):\n    return x * ({case})\n"

    def left(space):
        found = list(space["told"])
        space["told"].clear()
        return found, space["Plain"].count, hasattr(space["Below"], "other"), space["plain"].a

    eager, graph = both(source, fresh, CHANGES, left)
    assert eager == graph and not isinstance(eager[0][0], str)
