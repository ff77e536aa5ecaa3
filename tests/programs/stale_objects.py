"""Functions, attributes, classes, modules and containers that change between two calls."""

from __future__ import annotations

from stale_register import edit, value_edit

# ---- functions -----------------------------------------------------------------------------------

HELPER = "def helper(x):\n    return x * 2\ndef f(x):\n    return helper(x) + 1\n"
edit("helper redefined", HELPER, "def helper(x):\n    return x * 3\n", "helper was redefined")
edit(
    "helper of a helper redefined",
    "def low(x):\n    return x * 2\ndef helper(x):\n    return low(x) + 1\ndef f(x):\n    return helper(x)\n",
    "def low(x):\n    return x - 2\n",
    "low was redefined",
)
edit("helper redefined by exec", HELPER, "exec('def helper(x): return x * 5')", "helper was redefined")
edit(
    "code of a helper replaced", HELPER, "def other(x):\n    return x * 7\nhelper.__code__ = other.__code__\n", "helper"
)
edit("lambda rebound", "act = lambda x: x * 2\ndef f(x):\n    return act(x)\n", "act = lambda x: x * 4", "act")
edit("helper becomes an op", "act = ops.tanh\ndef f(x):\n    return act(x)\n", "act = ops.sigmoid", "act")
edit(
    "a global of the helper",
    "n = 1\ndef helper(x):\n    return x.reshape((n, -1))\ndef f(x):\n    return helper(x)\n",
    "n = 3",
    "n 1 -> 3",
)
edit(
    "decorator rebound",
    """
    def double(fn):
        return lambda x: fn(x) * 2
    @double
    def helper(x):
        return x + 1
    def f(x):
        return helper(x)
    """,
    """
    def triple(fn):
        return lambda x: fn(x) * 3
    @triple
    def helper(x):
        return x + 1
    """,
    "helper",
)

# ---- objects -------------------------------------------------------------------------------------

CONFIG = "class Config:\n    pass\ncfg = Config()\ncfg.k = 2\ncfg.sub = Config()\ncfg.sub.on = False\n"
edit("attribute that decides", CONFIG + "def f(x):\n    return x * 2 if cfg.k > 5 else x\n", "cfg.k = 7", "cfg.k")
value_edit("attribute as a factor", CONFIG + "def f(x):\n    return x * cfg.k\n", "cfg.k = 7")
edit(
    "nested attribute",
    CONFIG + "def f(x):\n    return x * 2 if cfg.sub.on else x\n",
    "cfg.sub.on = True",
    "cfg.sub.on False -> True",
)
edit(
    "attribute by __dict__",
    CONFIG + "def f(x):\n    return x * 2 if cfg.sub.on else x\n",
    "cfg.sub.__dict__['on'] = True",
    "cfg.sub.on",
)
edit(
    "attribute added",
    CONFIG + "def f(x):\n    return x * 2 if hasattr(cfg, 'extra') else x\n",
    "cfg.extra = 1",
    "extra",
)
edit(
    "attribute with a fallback added",
    CONFIG + "def f(x):\n    return x * getattr(cfg, 'extra', 3)\n",
    "cfg.extra = 5",
    "extra",
)
edit("attribute deleted", CONFIG + "def f(x):\n    return x * cfg.k\n", "del cfg.k", "")
edit(
    "instance swapped",
    CONFIG + "def f(x):\n    return x * 2 if cfg.sub.on else x\n",
    "cfg = Config()\ncfg.sub = Config()\ncfg.sub.on = True\n",
    "cfg",
)
edit(
    "instance of another class",
    CONFIG + "def f(x):\n    return x * 2 if isinstance(cfg, Config) else x\n",
    "class Other:\n    pass\ncfg = Other()\n",
    "cfg",
    "Other",
)
edit(
    "class of an instance changed",
    CONFIG + "class Other(Config):\n    pass\ndef f(x):\n    return x * 2 if isinstance(cfg, Other) else x\n",
    "cfg.__class__ = Other",
    "cfg",
)
edit(
    "slots",
    "class S:\n    __slots__ = ('on',)\ns = S()\ns.on = True\ndef f(x):\n    return x if s.on else -x\n",
    "s.on = False",
    "s.on True -> False",
)
edit(
    "dataclass field",
    """
    import dataclasses
    @dataclasses.dataclass
    class Options:
        power: int = 2
    options = Options()
    def f(x):
        for _ in range(options.power):
            x = x * x
        return x
    """,
    "options.power = 1",
    "options.power 2 -> 1",
)
edit(
    "truth of an object",
    """
        class Switch:
            on = True
            def __bool__(self):
                return self.on
        switch = Switch()
        def f(x):
            return x if switch else -x
    """,
    "switch.on = False",
    "switch.on",
)
edit(
    "length of an object",
    """
        class Bag:
            def __init__(self, n):
                self.n = n
            def __len__(self):
                return self.n
        bag = Bag(2)
        def f(x):
            return ops.zeros((len(bag), 1)) + x
    """,
    "bag.n = 4",
    "bag.n 2 -> 4",
)
edit(
    "attribute by __getattr__",
    """
        table = {'on': True}
        class Lazy:
            def __getattr__(self, name):
                return table[name]
        lazy = Lazy()
        def f(x):
            return x if lazy.on else -x
    """,
    "table['on'] = False",
    "True -> False",
)

# ---- classes -------------------------------------------------------------------------------------

MODEL = """
class Base:
    n = 1
    def step(self, x):
        return x * 2
    @property
    def width(self):
        return self.n
    @staticmethod
    def still(x):
        return x + 1
    @classmethod
    def made(cls, x):
        return x.reshape((cls.n, -1))
class Child(Base):
    pass
net = Child()
"""
edit(
    "monkey-patched method", MODEL + "def f(x):\n    return net.step(x)\n", "Base.step = lambda self, x: x * 3", "step"
)
edit(
    "method overridden in the subclass",
    MODEL + "def f(x):\n    return net.step(x)\n",
    "Child.step = lambda self, x: x * 3",
    "step",
)
edit("method on the instance", MODEL + "def f(x):\n    return net.step(x)\n", "net.step = lambda x: x * 3", "step")
edit("class attribute", MODEL + "def f(x):\n    return x.reshape((net.n, -1))\n", "Base.n = 3", "n", "1 -> 3")
edit(
    "class attribute overridden", MODEL + "def f(x):\n    return x.reshape((net.n, -1))\n", "Child.n = 3", "n", "1 -> 3"
)
edit(
    "class attribute read from the class",
    MODEL + "def f(x):\n    return x.reshape((Child.n, -1))\n",
    "Base.n = 3",
    "n",
    "1 -> 3",
)
edit(
    "instance attribute hides the class's",
    MODEL + "def f(x):\n    return x.reshape((net.n, -1))\n",
    "net.n = 3",
    "n",
    "1 -> 3",
)
edit("what a property reads", MODEL + "def f(x):\n    return x.reshape((net.width, -1))\n", "net.n = 3", "n", "1 -> 3")
edit(
    "property replaced",
    MODEL + "def f(x):\n    return x.reshape((net.width, -1))\n",
    "Base.width = property(lambda self: 3)",
    "width",
)
edit(
    "static method replaced",
    MODEL + "def f(x):\n    return net.still(x)\n",
    "Base.still = staticmethod(lambda x: x - 1)",
    "still",
)
edit("what a class method reads", MODEL + "def f(x):\n    return Child.made(x)\n", "Child.n = 3", "n", "1 -> 3")
edit(
    "class redefined",
    "class Rule:\n    def apply(self, x):\n        return x + 1\ndef f(x):\n    return Rule().apply(x)\n",
    "class Rule:\n    def apply(self, x):\n        return x - 1\n",
    "Rule was redefined",
)
edit(
    "__call__ replaced",
    """
        class Act:
            def __call__(self, x):
                return x * 2
        act = Act()
        def f(x):
            return act(x)
    """,
    "Act.__call__ = lambda self, x: x * 5",
    "__call__",
)
edit(
    "operator replaced",
    """
        class Scale:
            def __mul__(self, x):
                return x * 2
        scale = Scale()
        def f(x):
            return scale * x
    """,
    "Scale.__mul__ = lambda self, x: x * 5",
    "__mul__",
)
edit(
    "method of super replaced",
    """
        class A:
            def go(self, x):
                return x + 1
        class B(A):
            def go(self, x):
                return super().go(x) * 2
        b = B()
        def f(x):
            return b.go(x)
    """,
    "A.go = lambda self, x: x - 1",
    "go",
)

# ---- modules -------------------------------------------------------------------------------------

MODULE = """
import types
settings = types.ModuleType('settings')
settings.n = 1
exec('def act(x):\\n    return x * 2\\n', settings.__dict__)
"""
edit(
    "module attribute",
    MODULE + "def f(x):\n    return x.reshape((settings.n, -1))\n",
    "settings.n = 3",
    "settings.n 1 -> 3",
)
edit(
    "module function replaced",
    MODULE + "def f(x):\n    return settings.act(x)\n",
    "settings.act = lambda x: x * 3",
    "settings.act",
)
edit(
    "module swapped",
    MODULE + "def f(x):\n    return settings.act(x)\n",
    "settings = types.ModuleType('settings')\nsettings.act = lambda x: x - 3\n",
    "settings",
)

# ---- containers ----------------------------------------------------------------------------------

ITEMS = """
items = [1, 2, 3]
weights = [x, x * 2]
table = {'a': 1, 'b': 2}
nested = {'layers': [{'n': 1}]}
kinds = {'a'}
steps = [lambda x: x + 1, lambda x: x * 2]
"""
edit(
    "list item that decides",
    ITEMS + "def f(x):\n    return x.reshape((items[0], -1))\n",
    "items[0] = 3",
    "items[0] 1 -> 3",
)
value_edit("list item as a factor", ITEMS + "def f(x):\n    return x * items[1]\n", "items[1] = 9")
edit("list length", ITEMS + "def f(x):\n    return x * len(items)\n", "items.append(1)", "len(items) 3 -> 4")
edit(
    "list gone through",
    ITEMS + "def f(x):\n    for i in items:\n        x = x + i\n    return x\n",
    "items.append(10)",
    "len(items) 3 -> 4",
)
edit("list in a comprehension", ITEMS + "def f(x):\n    return sum([x * i for i in items])\n", "del items[0]", "items")
value_edit(
    "list of tensors with another item", ITEMS + "def f(x):\n    return weights[0] + weights[1]\n", "weights[1] = x * 5"
)
edit("list of tensors that grew", ITEMS + "def f(x):\n    return sum(weights)\n", "weights.append(x)", "weights")
edit(
    "list of functions",
    ITEMS + "def f(x):\n    for step in steps:\n        x = step(x)\n    return x\n",
    "steps[1] = lambda x: x * 3",
    "steps[1]",
)
edit(
    "list of functions reordered",
    ITEMS + "def f(x):\n    for step in steps:\n        x = step(x)\n    return x\n",
    "steps.reverse()",
    "steps[0]",
)
edit(
    "list swapped for a tuple",
    ITEMS + "def f(x):\n    return x * 2 if isinstance(items, list) else x\n",
    "items = (1, 2, 3)",
    "items",
)
edit(
    "dict entry that decides",
    ITEMS + "def f(x):\n    return x.reshape((table['a'], -1))\n",
    "table['a'] = 3",
    "table['a'] 1 -> 3",
)
value_edit("dict entry as a factor", ITEMS + "def f(x):\n    return x * table['b']\n", "table['b'] = 9")
edit(
    "dict keys gone through",
    ITEMS + "def f(x):\n    for name in table:\n        x = x * 2\n    return x\n",
    "table['c'] = 3",
    "keys of table",
)
edit("dict key asked for", ITEMS + "def f(x):\n    return x * 2 if 'c' in table else x\n", "table['c'] = 3", "table")
edit("dict.get that found nothing", ITEMS + "def f(x):\n    return x * table.get('c', 5)\n", "table['c'] = 3", "table")
edit("dict entry deleted", ITEMS + "def f(x):\n    return x * table['b']\n", "del table['b']", "")
edit("dict values summed", ITEMS + "def f(x):\n    return x * sum(table.values())\n", "table['c'] = 30", "table")
edit(
    "nested container",
    ITEMS + "def f(x):\n    return x.reshape((nested['layers'][0]['n'], -1))\n",
    "nested['layers'][0]['n'] = 3",
    "nested['layers'][0]['n'] 1 -> 3",
)
edit("set member", ITEMS + "def f(x):\n    return x * 2 if 'b' in kinds else x\n", "kinds.add('b')", "kinds")
edit("empty list gets an item", "items = []\ndef f(x):\n    return x * 2 if items else x\n", "items.append(0)", "items")
value_edit("maximum of a list", ITEMS + "def f(x):\n    return x * max(items)\n", "items[2] = 30")
