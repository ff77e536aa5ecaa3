"""``match``: both modes take the same case, bind the same names, call the same methods and raise the same errors."""

import collections.abc
import dataclasses
import enum
import re
from random import Random

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor
from msnb.graph.capture import register_source

CLASSES = {
    "a mapping": """class K(collections.abc.Mapping):
    def __init__(self): self.d = {'u': 1., 'w': 2.}
    def __getitem__(self, k): LOG.append(('get', k)); return self.d[k]
    def __iter__(self): LOG.append('iter'); return iter(self.d)
    def __len__(self): LOG.append('len'); return len(self.d)
""",
    "a dict with a get": """class K(dict):
    def __init__(self): super().__init__(u=2.)
    def get(self, k, d=None): LOG.append(('get', k)); return super().get(k, d)
""",
    "a dict with missing items": """class K(dict):
    def __missing__(self, k): LOG.append('missing'); return 5.
""",
    "a chain of dicts": """class K(collections.ChainMap):
    def __init__(self): super().__init__({'u': 2.})
    def __getitem__(self, k): LOG.append(('get', k)); return super().__getitem__(k)
""",
    "a dict of Python": """class K(collections.UserDict):
    def __init__(self): super().__init__({'u': 2.})
    def __contains__(self, k): LOG.append(('in', k)); return super().__contains__(k)
""",
    "a sequence": """class K(collections.abc.Sequence):
    def __init__(self): self.d = [1., 2., 3.]
    def __getitem__(self, k): LOG.append(('get', k)); return self.d[k]
    def __len__(self): LOG.append('len'); return len(self.d)
""",
    "a list of Python": """class K(collections.UserList):
    def __init__(self): super().__init__([2.])
    def __getitem__(self, k): LOG.append(('get', k)); return super().__getitem__(k)
""",
    "an object with an equality": """class K:
    a = 1.
    def __eq__(self, o): LOG.append('eq'); return self.a == o
""",
    "a class that says what it is": """class M(type):
    def __instancecheck__(cls, o): LOG.append('instance'); return FLAG[0] > 1
    def __subclasscheck__(cls, o): LOG.append('subclass'); return FLAG[0] > 1
class K(metaclass=M): pass
""",
    "properties": """class K:
    __match_args__ = ('p', 'q')
    def __init__(self): self.a = 1.; self.t = Tensor(2.)
    @property
    def p(self): LOG.append('p'); return self.a
    @property
    def q(self): LOG.append('q'); return self.t * self.a
""",
    "attributes by a method": """class K:
    a = 1.
    def __getattr__(self, name): LOG.append(name); return self.a
""",
    "an object": "class K:\n    __match_args__ = ('a', 3)\n    a = 1.; b = 2.\n",
    "wrong names": "class K:\n    __match_args__ = ['a']\n    a = 1.\n",
}
CASES = """{'u': v}: r = x * v
{'u': v, **rest}: r = x * v + len(rest)
{}: r = x * 2
[v, *_]: r = x * v
[*_, v]: r = x * v
[v]: r = x * v
[_, *_]: r = x * 3
[1., *v, 3.]: r = x + v[0]
[*v]: r = x + len(v)
1. | 4.: r = x * 5
K(): r = x * 7
K(1.): r = x * 9
K(1., v): r = x * v
K(v, q=w): r = x * v + w
K(a=v) | K(q=v): r = x * v
K(p=1., q=v) if v > 1: r = x - v
K(1., a=2.): r = x
K(1, 2, 3): r = x
K.a: r = x - 1""".split("\n")


SPACE = {"collections": collections, "dataclasses": dataclasses, "enum": enum, "ms": ms, "Tensor": Tensor}


def outcomes(mode, head, body, changes=("pass",), compiled=True):
    """What the calls give, raise and call, with a change between each two."""
    ms.set_context(mode=mode)
    text = head + "\ndef f(x):\n    " + body.replace("\n", "\n    ")
    file = f"<match {mode} {hash(text)}>"
    register_source(file, text)
    space = {**SPACE, "Point": Point, "Sign": Sign, "shown": shown, "LOG": [], "FLAG": [2]}
    exec(compile(text, file, "exec"), space)
    called = ms.jit(space["f"], fullgraph=compiled) if mode == ms.GRAPH_MODE else space["f"]
    found = []
    for change in (*changes, "pass"):
        try:
            given = called(Tensor(np.float32(2))).asnumpy().tolist()
        except (TypeError, ValueError, AttributeError) as error:
            given = type(error).__name__, str(error).split("\n")[0]
        found.append((given, list(space["LOG"])))
        space["LOG"].clear()
        exec(change, space)
    return found


@pytest.mark.parametrize("kind", CLASSES)
def test_objects_of_classes(kind):
    head = CLASSES[kind] + "o = K()\n"
    changes = ("pass", "FLAG[0] = 0\nif 'a' in dir(o): o.a = 4.")
    for case in CASES:
        body = f"match o:\n    case {case}\n    case _: r = x * 0\nreturn r"
        eager, graph = (outcomes(mode, head, body, changes, False) for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE))
        assert eager == graph, case


HEAD = """@dataclasses.dataclass
class Point:
    x: float
    y: float
class Sign(enum.Enum):
    A = 1
    B = 2
class Private:
    def __init__(self): self.__a = 1.
    def f(self, x):
        match self:
            case Private(_Private__a=__v): x = x * __v
        for __i in range(2): x = x + __i
        def __g(__k): return __k + __v
        return __g(x)
"""
PROGRAMS = {
    "a number that a tensor is": """match x.sum():
    case 0: y = x * 3
    case 2: y = x * 5; z = 3
    case v if v > 3: y = x * v
    case 1 | 4 | 5: y = x - 1
    case _: y = x + 1
return y""",
    "tensors in a tuple": """match (x, x * 2):
    case (0, _): y = x * 3
    case (2, 5): y = x * 5
    case (a, b) if b > 3: y = x * b + a
    case [*r]: y = x + 1 + r[0]
return y""",
    "a shape": "match x.shape, 3:\n    case ((1, b) | ((), b)): x = x * b\n    case _: x = x + 1\nreturn x",
    "a tree": "match {'a': {'b': [1, {'c': x}]}}:\n    case {'a': {'b': [1 | 2 as k, {'c': w}]}}: return x + w * k",
    "attributes of a tensor": "match x:\n    case Tensor(shape=(), dtype=d) if d == ms.float32: return x + 7",
    "kinds of numbers": """for n in (3.5, 4, True, 'abc', None, b'x'):
    match n:
        case bool(b): x = x + 3
        case float(f) if f > 4: x = x * 100
        case int() | float() as g: x = x + g
        case str() as s if s.startswith('x'): x = x * 11
        case 'abc' | 'abd': x = x + 17
        case None: x = x + 0.5
        case _: x = x - 0.125
return x""",
    "stars": """for rows in ([1, 2, 3, 4], (1,), range(3), [], [1, [2, 3]]):
    match rows:
        case [1, *mid, 5]: x = x * 7
        case [a, *_, b] if a * b == 4: x = x + b
        case [0, 1, k]: x = x + k
        case [1, [*k]]: x = x + len(k)
        case [_]: x = x + 0.25
        case []: x = x * 3
return x""",
    "dataclasses and enums": """match Sign.B:
    case Sign.A: x = x * 5
    case Sign.B: x = x * 7
match Sign.A, Point(x, 3.):
    case (Sign.B, _): x = x - 1
    case (Sign.A, Point(a, y=b)): x = x + a * b
return x""",
    "jumps": """for i in range(5):
    match i:
        case 1: continue
        case 3: break
        case 2: x = x * 3
while x < 50:
    match i:
        case 3 if x > 20: x = x * 2; continue
        case 3: x = x + 1
    x = x + 1
return x""",
    "variables of functions": """k = 1
def g():
    nonlocal k
    match [1, 2]:
        case [1, k]: pass
    return k
return x * g() + k""",
    "private names": "return Private().f(x)",
    "no class": "match 3:\n    case len(): return x",
    "too many places": "match 3:\n    case int(1, 2): return x\n    case _: return x * 2",
    "one attribute twice": "match Point(1., 2.):\n    case Point(1., x=1.): return x\n    case _: return x * 2",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    eager, graph = (outcomes(mode, HEAD, PROGRAMS[name]) for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE))
    assert eager == graph


def test_the_branch_that_a_tensor_takes_is_the_only_one_that_is_differentiated():
    @ms.jit(fullgraph=True)
    def f(x):
        match x.sum():
            case 0.0:
                return x * 3
            case v if v > 4:
                return x * v
        return x.sqrt()

    slopes = [ms.grad(f)(Tensor(np.float32(value))).asnumpy().item() for value in (0, 5, 4)]
    assert slopes == [3, 10, 0.25]


class Draw:
    """A random subject, and patterns that each part of it may match."""

    def __init__(self, seed):
        self.random = Random(seed)
        self.names = 0

    def name(self):
        self.names += 1
        return f"n{self.names}"

    def subject(self, depth=3):
        """As a tree: a text, or a kind and parts."""
        if depth == 0 or self.random.random() < 0.2:
            return self.random.choice(("1", "2", "0.5", "'a'", "None", "True", "b'x'", "Sign.A"))
        parts = [self.subject(depth - 1) for _ in range(self.random.randrange(4))]
        return self.random.choice(("list", "tuple", "dict", "Point")), [*parts, "1", "2"][: max(len(parts), 2)]

    def pattern(self, tree):
        """Mostly what the tree is."""
        if self.random.random() < 0.25:
            other = (self.name(), "_", "1", "(1 | 2 | None)", "int()", "str() | bytes()", "[*_]", "{}", "Point()")
            return f"({self.random.choice(other)})"
        if self.random.random() < 0.1:
            return f"({self.pattern(tree)}) as {self.name()}"
        if isinstance(tree, str):
            return tree
        kind, parts = tree
        found = [self.pattern(part) for part in parts]
        if kind == "dict":
            entries = [f"'{key}': {part}" for key, part in zip("abcd", found)]
            rest = [f"**{self.name()}"] * (self.random.random() < 0.3)
            return "{" + ", ".join(self.random.sample(entries, self.random.randint(0, len(entries))) + rest) + "}"
        if kind == "Point":
            return self.random.choice((f"Point({found[0]}, {found[1]})", f"Point({found[0]})", f"Point(y={found[1]})"))
        if self.random.random() < 0.4:
            start = self.random.randint(0, len(found))
            stop = self.random.randint(start, len(found))
            found[start:stop] = [self.random.choice(("*_", f"*{self.name()}"))]
        return f"[{', '.join(found)}]"

    def program(self):
        tree = self.subject()
        text = f"match {text_of(tree)}:\n"
        for i in range(4):
            found = self.pattern(tree)
            guard = self.random.choice(("", "", " if len(LOG) % 2"))
            names = ", ".join(sorted({*re.findall(r"\bn\d+\b", found)}))
            text += f"    case ({found}){guard}: LOG.append(({i}, shown([{names}])))\n"
        return text + "    case _: LOG.append('none')\nreturn x"


def text_of(tree):
    """A subject as Python writes it."""
    if isinstance(tree, str):
        return tree
    kind, parts = tree[0], [text_of(part) for part in tree[1]]
    if kind == "dict":
        return "{" + ", ".join(f"'{key}': {part}" for key, part in zip("abcd", parts)) + "}"
    if kind == "Point":
        return f"Point({parts[0]}, {parts[1]})"
    return f"{kind}([{', '.join(parts)}])"


def shown(value):
    """What ``==`` compares."""
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [shown(part) for part in value]
    if isinstance(value, dict):
        return {key: shown(part) for key, part in value.items()}
    return ("Point", shown(value.x), shown(value.y)) if isinstance(value, Point) else repr(value)


@dataclasses.dataclass
class Point:
    """A class of patterns."""

    x: object
    y: object


class Sign(enum.Enum):
    """Names of constants."""

    A = 1


def test_random_patterns():
    first = int(np.random.default_rng().integers(1 << 31))
    print("seed", first)
    matched = 0
    for seed in range(first, first + 120):
        body = Draw(seed).program()
        try:
            compile("match 1:\n" + body.partition("\n")[2].rpartition("\n")[0], "", "exec")
        except SyntaxError:
            continue  # cases behind one that takes everything
        eager, graph = (outcomes(mode, "", body) for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE))
        assert eager == graph, (seed, body)
        matched += eager[0][1] != ["none"]
    assert matched > 40
