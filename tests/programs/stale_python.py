"""Python's own ways of reading the outside: built-ins, special methods, views of containers, the standard library."""

from __future__ import annotations

from stale_register import edit, value_edit

DATA = """
import collections, contextlib, copy, dataclasses, functools, itertools, math, operator, types
items = [1, 2, 3]
flags = [True, True]
table = {"a": 1, "b": 2}
names = ["a", "b"]
which = "on"
text = "3"
class Config:
    on = True
    def __init__(self):
        self.k = 1
cfg = same = Config()
nest = {"a": cfg}
@dataclasses.dataclass
class Point:
    x: int
    y: int
point = Point(1, 2)
@contextlib.contextmanager
def scaled(v):
    yield v if cfg.k == 1 else v + 1
def value_of(v):
    with scaled(v) as found:
        return found == v
def pick(v):
    return v > 1
"""


def reads(what: str, expression: str, change: str, *reason: str) -> None:
    """``expression`` decides between two branches of a program."""
    edit(what, DATA + f"def f(x):\n    return x * 2 if {expression} else x - 1\n", change, *reason)


edit(
    "a cached function redefined",
    "import functools\n@functools.cache\ndef k():\n    return 2\ndef f(x):\n    return x * k()\n",
    "@functools.cache\ndef k():\n    return 3\n",
    "k",
)
edit(
    "a jitted function redefined",
    "@ms.jit\ndef k(x):\n    return x * 2\ndef f(x):\n    return k(x)\n",
    "@ms.jit\ndef k(x):\n    return x * 3\n",
    "k",
)

# ---- containers that msnb's own functions, and C code, look into ---------------------------------------------------

HELD = DATA + """
a, b, c, new = (ms.Tensor([1.0, 2.0, 3.0]) * k for k in (1, 2, 3, 5))
held = {"a": a, "more": [b, c]}
sizes = [1, 3]
numbers = [1.0, 2.0, 3.0]
rows = [[1, 2], [3]]
@dataclasses.dataclass
class Batch:
    a: object
batch = Batch(a)
Pair = collections.namedtuple("Pair", "a")
pair = Pair(a)
class Scaled(nn.Cell):
    def construct(self, held):
        return held["a"] * held["more"][0]
class Ruled(Scaled):
    def bprop(self, held, out, dout):
        return ({"a": dout, "more": [dout, dout]},)
watched = Scaled()
watched.register_forward_pre_hook(lambda cell, args: None)
half = Scaled().to_float(ms.float16)
again = Scaled()
again.recompute()
ruled = Ruled()
def square(held):
    return (held["a"] ** 2 * held["more"][0]).sum()
"""


def holds(what: str, expression: str, change: str) -> None:
    """A tensor in a container is an input: its exchange gives a new result, and nothing is compiled again."""
    value_edit(f"held: {what}", HELD + f"def f(x):\n    return {expression}\n", change)


def sizes(what: str, expression: str, change: str, *reason: str) -> None:
    """Numbers and lengths in a container are fixed by guards."""
    edit(f"held: {what}", HELD + f"def f(x):\n    return {expression}\n", change, *reason)


holds("stack of a list", "ops.stack(held['more'])", "held['more'][1] = new")
holds("a dict exchanged", "ops.stack(list(held.values())[1])", "held = {'a': new, 'more': [c, b]}")
holds("sum of tensors", "ops.add_n(held['more'])", "held['more'].reverse()")
holds("gradient by a dict", "ms.grad(square)(held)['a']", "held = {'a': new, 'more': [c, b]}")
holds("value and gradient", "ms.value_and_grad(square)(held)[0]", "held['a'] = new")
holds("pullback", "ms.vjp(square, held)[0]", "held['a'] = new")
holds("lanes", "ms.vmap(square)(held)", "held['more'] = [c, b]")
holds("recomputed", "ms.recompute(square, held)", "held['a'] = new")
holds("gradient by a dataclass", "ms.grad(lambda t: (t.a ** 2).sum())(batch).a", "batch.a = new")
holds("gradient by a named tuple", "ms.grad(lambda t: (t.a ** 2).sum())(pair).a", "pair = Pair(new)")
holds("what comes along", "ms.grad(lambda x: (x.sum(), held), has_aux=True)(x)[1][0]['a']", "held['a'] = new")
holds("what a mapped function hands on", "ms.vmap(lambda x: held['more'])(x)[0]", "held['more'][0] = new")
holds("a hooked Cell", "watched(held)", "held['a'] = new")
holds("a Cell in half precision", "half(held)", "held['a'] = new")
holds("a Cell computed again", "again(held)", "held['more'][0] = new")
holds("a Cell with its own gradient", "ms.grad(lambda t: ruled(t).sum())(held)['a'] + ruled(held)", "held['a'] = new")
holds("map of a built-in over rows", "x * max(map(max, rows))", "rows[1][0] = 8")
holds("norm of gradients", "ops.clip_by_global_norm(held['more'], 1.0)[0]", "held['more'][1] = new")
sizes("a shape", "x.reshape(sizes)", "sizes[:] = [3, 1]", "sizes")
sizes("a shape in a list", "ops.reshape(x, [sizes][0])", "sizes = [3, 1]", "sizes")
sizes("a longer list", "ops.stack(held['more'])", "held['more'].append(x)", "more")
sizes("positions", "x[sizes[:1]]", "sizes[0] = 2", "sizes")
sizes("rows of positions", "x[rows[0]]", "rows[0] = [0, 1]", "rows")
sizes("a tensor of a list", "x * ms.Tensor(rows[0])[0]", "rows[0] = [5, 1, 1]", "rows")
sizes("an operand", "x + numbers", "numbers[1] = 7.0", "numbers")
sizes("an array of a list", "x * np.array(numbers)", "numbers[0] = 4.0", "numbers")
sizes("NumPy over rows", "x * np.sum([rows[0], rows[0]])", "rows[0][0] = 4", "rows")
sizes("map of len over rows", "x * len(list(map(len, rows)))", "rows.append([8])", "rows")
sizes("a built-in as key", "x * sorted(rows, key=len)[0][0]", "rows[0].extend([5, 5]); rows[1] = [1, 1]", "rows")
sizes("rows chained", "x * sum(itertools.chain.from_iterable(rows))", "rows[1].append(4)", "rows")


MATCH = """
def f(x):
    match subject:
        case {"w": w, "k": 1}:
            return x * w
        case [Mine(k=1), *_]:
            return x + 1
        case Mine(k=1):
            return x + 2
        case Kinds.on:
            return x + 3
    return x
class Mine:
    k = 1
class Kinds:
    on = 5
"""
TABLE = MATCH + "subject = {'w': ms.Tensor([2.0]), 'k': 1}\n"
edit("match: a constant in a dict", TABLE, "subject['k'] = 2", "k")
value_edit("match: a tensor in a dict", TABLE, "subject['w'] = ms.Tensor([3.0])")
edit("match: another length", MATCH + "subject = [Mine(), 1]\n", "subject.clear()", "subject")
edit("match: an attribute", MATCH + "subject = Mine()\nsubject.k = 1\n", "subject.k = 2", "k")
edit("match: a class redefined", MATCH + "subject = Mine()\nsubject.k = 1\n", "class Mine: pass", "Mine")
edit("match: a dotted constant", MATCH + "subject = 5\n", "Kinds.on = 6", "on")


# ---- built-ins ----------------------------------------------------------------------------------------------------

reads("any", "any(flags)", "flags[:] = [False, False]", "flags")
reads("all", "all(flags)", "flags.append(False)", "flags")
reads("sum", "sum(items) > 10", "items.append(10)", "items")
reads("min", "min(items) > 0", "items.append(-1)", "items")
reads("sorted", "sorted(items)[0] == 1", "items.append(0)", "items")
reads("sorted with a key", "sorted(items, key=lambda v: -v)[0] == 3", "items.append(9)", "items")
reads("map", "list(map(pick, items))[0]", "items[0] = 2", "items[0]")
reads("map over a redefined function", "list(map(pick, items))[0]", "def pick(v):\n    return True\n", "pick")
reads("filter", "len(list(filter(pick, items))) == 2", "items.append(7)", "items")
reads("zip", "[a * b for a, b in zip(items, items)][0] == 1", "items[0] = 2", "items[0]")
reads("enumerate", "[i * v for i, v in enumerate(items)][-1] == 6", "items[2] = 9", "items[2]")
reads("reversed", "next(iter(reversed(items))) == 3", "items.append(4)", "items")
reads("int of a text", "int(text) == 3", "text = '4'", "text")
reads("round of a number", "round(items[0] / 2) == 0", "items[0] = 5", "items[0]")
reads("getattr by a global name", "getattr(cfg, which)", "which = 'k'\ncfg.k = 0\n", "which")
reads("vars", "vars(cfg)['k'] == 1", "cfg.k = 2", "k")
reads("__dict__", "cfg.__dict__['k'] == 1", "cfg.k = 2", "k")
reads("globals", "globals()['text'] == '3'", "text = '4'", "text")
reads("type of an object", "type(cfg) is Config", "class Config:\n    pass\n", "Config")
reads("name of the class", "cfg.__class__.__name__ == 'Config'", "Config.__name__ = 'Other'", "__name__")
reads("instance attribute deleted", "cfg.k == 1", "del cfg.k\nConfig.k = 5\n", "k")
reads("attribute becomes a property", "cfg.on", "Config.on = property(lambda self: False)", "on")
reads("method bound by hand", "cfg.on is True", "cfg.on = types.MethodType(lambda self: 1, cfg)", "on")
reads("tuple of types", "isinstance(text, (str, type(items)))", "text = 3", "text")

# ---- views and methods of containers --------------------------------------------------------------------------------

reads("negative index", "items[-1] == 3", "items.append(4)", "")
reads("slice of a list", "sum(items[1:]) == 5", "items[1] = 7", "items[1]")
reads("equal lists", "items == [1, 2, 3]", "items[1] = 7", "items")
reads("member of a list", "3 in items", "items.remove(3)", "items")
reads("index of an item", "names.index('b') == 1", "names.insert(0, 'c')", "names")
reads("count of an item", "items.count(1) == 1", "items.append(1)", "items")
reads("joined text", "'-'.join(names) == 'a-b'", "names.append('c')", "names")
reads("text in a text", "'o' in which", "which = 'off'", "which")
reads("starting text", "which.startswith('on')", "which = 'off'", "which")
reads("dict.items", "[k for k, v in table.items() if v > 1] == ['b']", "table['a'] = 5", "table")
reads("dict.keys", "'c' in table.keys()", "table['c'] = 5", "table")
reads("dict.values", "max(table.values()) == 2", "table['b'] = 5", "table")
reads("dict.get with a default", "table.get('a', 9) == 1", "table['a'] = 5", "table")
reads("equal dicts", "table == {'a': 1, 'b': 2}", "table['b'] = 5", "table")
reads("dict in two stars", "dict(**table)['a'] == 1", "table['a'] = 5", "table")
reads("list in a star", "max(*items) == 3", "items[0] = 8", "items")
reads("unpacked list", "(lambda a, *rest: len(rest))(*items) == 2", "items.append(4)", "items")
reads("set of a list", "len(set(items)) == 3", "items[0] = 2", "items")
reads("tuple of a list", "tuple(items) == (1, 2, 3)", "items[0] = 2", "items")
reads("truth of a dict", "bool(table)", "table.clear()", "table")

# ---- special methods ------------------------------------------------------------------------------------------------

SPECIAL = """
class Box:
    def __init__(self, n):
        self.n = n
    def __getitem__(self, key):
        return self.n + key
    def __contains__(self, key):
        return key == self.n
    def __eq__(self, other):
        return self.n == other
    def __lt__(self, other):
        return self.n < other
    def __neg__(self):
        return -self.n
    def __iter__(self):
        return iter([self.n, 2])
    def __add__(self, other):
        return self.n + other
    def __radd__(self, other):
        return other - self.n
    def __int__(self):
        return self.n
    def __enter__(self):
        return self.n
    def __exit__(self, *error):
        return None
    def __str__(self):
        return f"box of {self.n}"
box = Box(1)
"""
SPECIAL_READS = {
    "__getitem__": "box[1] == 2",
    "__contains__": "1 in box",
    "__eq__": "box == 1",
    "__lt__": "box < 2",
    "__neg__": "-box == -1",
    "__iter__": "[v for v in box][0] == 1",
    "__add__": "box + 1 == 2",
    "__radd__": "1 + box == 0",
    "__int__": "int(box) == 1",
    "__str__": "str(box) == 'box of 1'",
}
for method, expression in SPECIAL_READS.items():
    program = SPECIAL + f"def f(x):\n    return x * 2 if {expression} else x - 1\n"
    edit(f"what {method} reads", program, "box.n = 5", "n")
WITH = SPECIAL + "def f(x):\n    with box as n:\n        return x * 2 if n == 1 else x\n"
edit("what __enter__ reads", WITH, "box.n = 5", "n")

# ---- the standard library -------------------------------------------------------------------------------------------

reads("functools.reduce", "functools.reduce(lambda a, b: a + b, items) == 6", "items[0] = 2", "items")
reads("itertools.chain", "list(itertools.chain(items, items))[-1] == 3", "items[2] = 4", "items")
reads("operator.itemgetter", "operator.itemgetter(0)(items) == 1", "items[0] = 2", "items")
reads("math on a global", "math.floor(items[0] / 2) == 0", "items[0] = 5", "items[0]")
reads("copied object", "copy.copy(cfg).k == 1", "cfg.k = 2", "k")
reads("counted list", "collections.Counter(names)['a'] == 1", "names.append('a')", "names")
reads("cached helper of a global", "(lambda: cfg.k)() == 1", "cfg.k = 2", "cfg.k")
value_edit("factor through math", DATA + "def f(x):\n    return x * math.sqrt(items[0])\n", "items[0] = 4")
value_edit(
    "factor through reduce",
    DATA + "def f(x):\n    return x * functools.reduce(lambda a, b: a + b, items)\n",
    "items[0] = 4",
)
WRAPPED = """
def logged(fn):
    @functools.wraps(fn)
    def call(*args):
        return fn(*args)
    return call
@logged
def helper(x):
    return x * 2
def f(x):
    return helper(x)
"""
edit("wrapped helper", DATA + WRAPPED, "@logged\ndef helper(x):\n    return x * 3\n", "redefined")
edit(
    "generator function",
    DATA + "def rows(x):\n    for i in items:\n        yield x * i\ndef f(x):\n    return sum(rows(x))\n",
    "items.append(4)",
    "items",
)
edit(
    "class body in the function",
    DATA + "def f(x):\n    class Local:\n        n = len(items)\n    return x * Local.n\n",
    "items.append(4)",
    "items",
)
edit("walrus", DATA + "def f(x):\n    return x * n if (n := len(items)) > 3 else x\n", "items.append(4)", "items")
edit(
    "global read in a nested function",
    DATA + "def f(x):\n    def inner(y):\n        return y * 2 if cfg.k == 1 else y\n    return inner(x)\n",
    "cfg.k = 2",
    "cfg.k",
)
edit(
    "exception decides",
    DATA + "def f(x):\n    try:\n        return x * table['c']\n    except KeyError:\n        return x\n",
    "table['c'] = 5",
    "table",
)
reads("dataclasses.replace", "dataclasses.replace(point, y=0).x == 1", "point.x = 5", "x")
reads("equal dataclasses", "point == Point(1, 2)", "point.y = 5", "y")
reads("equality by identity", "cfg == same", "same = Config()", "same")
reads("identity", "cfg is same", "same = Config()", "same")
reads("deep copy", "copy.deepcopy(nest)['a'].k == 1", "cfg.k = 2", "k")
reads("context manager function", "value_of(3)", "cfg.k = 2", "k")
reads("class attribute of an object made inside", "Config().on", "Config.on = False", "on")
reads("operator.attrgetter", "operator.attrgetter('k')(cfg) == 1", "cfg.k = 2", "k")
reads("keyword of a partial", "functools.partial(dict, a=items[0])()['a'] == 1", "items[0] = 2", "items[0]")
reads("static function of a module", "math.prod(items) == 6", "items[0] = 2", "items")
MADE = """
class Rule:
    n = 1
    def __init__(self, k):
        self.k = k
    def go(self, x):
        return x * self.k
def f(x):
    return Rule(2).go(x)
"""
edit("method of an object made inside", MADE, "Rule.go = lambda self, x: x - self.k", "go")
edit(
    "__init__ of an object made inside",
    MADE,
    "def __init__(self, k):\n    self.k = 5 * k\nRule.__init__ = __init__\n",
    "__init__",
)
