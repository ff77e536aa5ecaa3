"""Globals, closures, arguments, defaults, arrays and tensors that change between two calls."""

from __future__ import annotations

from stale_register import edit, value_edit

DECIDES = "def f(x):\n    if k > 5:\n        return x * k\n    return x + k\n"

# ---- globals -------------------------------------------------------------------------------------

edit("global that decides", "k = 2\n" + DECIDES, "k = 7", "k > 5", "False -> True")
edit("global float that decides", "k = 2.5\n" + DECIDES, "k = 7.5", "k > 5")
value_edit("global factor", "k = 2\ndef f(x):\n    return x * k\n", "k = 7")
value_edit("global float factor", "rate = 0.1\ndef f(x):\n    return x - rate * x\n", "rate = 0.01")
edit("global as a size", "n = 2\ndef f(x):\n    return ops.zeros((n, 3)) + x\n", "n = 4", "n 2 -> 4")
edit(
    "global as a trip count",
    "n = 2\ndef f(x):\n    for i in range(n):\n        x = x * 2\n    return x\n",
    "n = 3",
    "n 2 -> 3",
)
edit("global flag", "flag = True\ndef f(x):\n    return x * 2 if flag else x\n", "flag = False", "flag True -> False")
edit(
    "global string",
    "how = 'sum'\ndef f(x):\n    return x.sum() if how == 'sum' else x.mean()\n",
    "how = 'mean'",
    "how 'sum' -> 'mean'",
)
edit(
    "None becomes a tensor",
    "bias = None\ndef f(x):\n    return x if bias is None else x + bias\n",
    "bias = ms.Tensor([1.0, 1.0, 1.0])",
    "bias",
)
edit(
    "a tensor becomes None",
    "bias = ms.Tensor([1.0, 1.0, 1.0])\ndef f(x):\n    return x if bias is None else x + bias\n",
    "bias = None",
    "bias",
)
edit("int becomes float", "k = 2\ndef f(x):\n    return x.astype(ms.int32) * k\n", "k = 2.5", "k", "float")
edit("global dtype", "kind = ms.float32\ndef f(x):\n    return x.astype(kind)\n", "kind = ms.float16", "kind")
edit(
    "global range",
    "steps = range(2)\ndef f(x):\n    for i in steps:\n        x = x + i\n    return x\n",
    "steps = range(3)",
    "steps",
)
edit("global slice", "part = slice(0, 2)\ndef f(x):\n    return x[part]\n", "part = slice(1, 3)", "part")
edit(
    "enum",
    """
    import enum
    class Kind(enum.Enum):
        LEFT = 1
        RIGHT = 2
    kind = Kind.LEFT
    def f(x):
        return x * 2 if kind is Kind.LEFT else -x
    """,
    "kind = Kind.RIGHT",
    "kind",
)
edit("deleted global", "k = 2\ndef f(x):\n    return x * k\n", "del k", "")
edit("built-in name taken", "def f(x):\n    return x * max(2, 3)\n", "def max(a, b):\n    return a - b\n", "max")
edit(
    "tuple of another length",
    "sizes = (1, 2)\ndef f(x):\n    for s in sizes:\n        x = x * s\n    return x\n",
    "sizes = (1, 2, 3)",
    "sizes",
)
edit(
    "named tuple field that decides",
    """
    from collections import namedtuple
    Box = namedtuple("Box", "low high")
    box = Box(1, 2)
    def f(x):
        return x if box.high > 5 else -x
    """,
    "box = Box(1, 9)",
    "box",
)
value_edit("NumPy scalar factor", "k = np.float32(2)\ndef f(x):\n    return x * float(k)\n", "pass")
value_edit("complex factor", "k = 2j\ndef f(x):\n    return x * k\n", "k = 3 + 1j")
value_edit(
    "expression of globals", "a, b = 2.0, 3.0\ndef f(x):\n    return x * (a / b + abs(a - b) ** 2)\n", "a, b = 5.0, 7.0"
)
edit(
    "expression that decides",
    "a, b = 2, 3\ndef f(x):\n    if a * b + 1 > 10:\n        return x\n    return -x\n",
    "b = 9",
    "a * b",
)

# ---- tensors and arrays --------------------------------------------------------------------------

value_edit(
    "global tensor rebound",
    "w = ms.Tensor([1.0, 2.0, 3.0])\ndef f(x):\n    return x * w\n",
    "w = ms.Tensor([5.0, 5.0, 6.0])",
)
value_edit(
    "global tensor written by index", "w = ms.Tensor([1.0, 2.0, 3.0])\ndef f(x):\n    return x * w\n", "w[1] = 9.0"
)
edit(
    "global tensor of another shape",
    "w = ms.Tensor([1.0, 2.0, 3.0])\ndef f(x):\n    return x * w\n",
    "w = ms.Tensor([2.0])",
    "w",
    "f32[3] -> f32[1]",
)
edit(
    "global tensor of another dtype",
    "w = ms.Tensor([1.0, 2.0, 3.0])\ndef f(x):\n    return x * w\n",
    "w = w.astype(ms.float16)",
    "w",
    "f16[3]",
)
value_edit("array written in place", "w = np.ones(3, np.float32)\ndef f(x):\n    return x * ms.Tensor(w)\n", "w[0] = 5")
value_edit("array operand written in place", "w = np.ones(3, np.float32)\ndef f(x):\n    return x * w\n", "w *= 3")
edit(
    "array of another shape",
    "w = np.ones(3, np.float32)\ndef f(x):\n    return x * w\n",
    "w = np.ones((2, 3), np.float32)",
    "w",
    "[2, 3]",
)

# ---- arguments -----------------------------------------------------------------------------------

ARGS = """
args = (x,)
def f(x, *rest, **named):
    for r in rest:
        x = x * r
    for r in named.values():
        x = x + r
    return x
"""
edit("argument of another dtype", ARGS, "args = (x.astype(ms.float16),)", "x", "f16[3]", call="f(*args)")
edit("argument of another shape", ARGS, "args = (ms.Tensor([1.0]),)", "x", "f32[1]", call="f(*args)")
edit("argument of another rank", ARGS, "args = (ms.Tensor([[1.0], [2.0]]),)", "x", "f32[2,1]", call="f(*args)")
value_edit("argument of another value", ARGS, "args = (x * 3,)", call="f(*args)")
value_edit("number of another value", ARGS + "args = (x, 2.0)\n", "args = (x, 3.5)", call="f(*args)")
edit(
    "number becomes an int",
    ARGS + "args = (x.astype(ms.int32), 2.5)\n",
    "args = (x.astype(ms.int32), 2)",
    "float -> int",
    call="f(*args)",
)
edit("more arguments", ARGS, "args = (x, 2.0)", "1 -> 2", call="f(*args)")
edit("a keyword argument more", ARGS + "named = {}\n", "named = {'a': 2.0}", "", call="f(x, **named)")
edit(
    "flag argument",
    "flag = True\ndef f(x, flag):\n    return x if flag else -x\n",
    "flag = False",
    "flag True -> False",
    call="f(x, flag)",
)
edit(
    "string argument",
    "how = 'a'\ndef f(x, how):\n    return x if how == 'a' else -x\n",
    "how = 'b'",
    "how 'a' -> 'b'",
    call="f(x, how)",
)
edit(
    "None argument becomes a tensor",
    "m = None\ndef f(x, m=None):\n    return x if m is None else x * m\n",
    "m = x",
    "m",
    call="f(x, m)",
)
edit(
    "int argument as a shape",
    "n = 3\ndef f(x, n):\n    return x.reshape((n, -1))\n",
    "n = 1",
    "n 3 -> 1",
    call="f(x, n)",
)
value_edit("int argument as a factor", "n = 3\ndef f(x, n):\n    return x * n\n", "n = 1", call="f(x, n)")
edit(
    "tuple argument of another length", "t = (x, x)\ndef f(t):\n    return sum(t)\n", "t = (x, x, x)", "t", call="f(t)"
)
edit(
    "dict argument with another key",
    "d = {'a': x}\ndef f(d):\n    return d['a'] * (2 if 'b' in d else 3)\n",
    "d = {'a': x, 'b': x}",
    "d",
    call="f(d)",
)
edit(
    "dataclass argument",
    """
    import dataclasses
    @dataclasses.dataclass
    class Batch:
        data: object
        masked: bool
    b = Batch(x, False)
    def f(b):
        return b.data * 2 if b.masked else b.data
    """,
    "b = Batch(x, True)",
    "b.masked False -> True",
    call="f(b)",
)

# ---- defaults, closures, partial -----------------------------------------------------------------

edit(
    "changed default",
    "def helper(x, n=2):\n    return x.reshape((n, -1))\ndef f(x):\n    return helper(ops.concat((x, x)))\n",
    "helper.__defaults__ = (3,)",
    "n",
    "2 -> 3",
)
value_edit(
    "changed default factor",
    "def helper(x, k=2.0):\n    return x * k\ndef f(x):\n    return helper(x)\n",
    "helper.__defaults__ = (3.0,)",
)
edit(
    "changed keyword default",
    "def helper(x, *, up=True):\n    return x + 1 if up else x - 1\ndef f(x):\n    return helper(x)\n",
    "helper.__kwdefaults__ = {'up': False}",
    "up True -> False",
)
edit(
    "closure that decides",
    """
    def make():
        k = 2
        def f(x):
            return x * k if k > 5 else x + k
        def put(value):
            nonlocal k
            k = value
        return f, put
    f, put = make()
    """,
    "put(7)",
    "k > 5",
)
value_edit(
    "closure factor shared by two functions",
    """
    def make():
        k = 2.0
        def helper(x):
            return x + k
        def f(x):
            return helper(x) * k
        def put(value):
            nonlocal k
            k = value
        return f, put
    f, put = make()
    """,
    "put(7.0)",
)
edit(
    "closure function rebound",
    """
    def make():
        inner = lambda x: x * 2
        def f(x):
            return inner(x) + 1
        def put(value):
            nonlocal inner
            inner = value
        return f, put
    f, put = make()
    """,
    "put(lambda x: x * 3)",
    "inner",
)
edit(
    "partial rebound",
    """
        import functools
        def scale(x, n):
            return x.reshape((n, -1))
        p = functools.partial(scale, n=1)
        def f(x):
            return p(x)
    """,
    "p = functools.partial(scale, n=3)",
    "p",
)
value_edit(
    "partial with another factor",
    """
        import functools
        def scale(x, k):
            return x * k
        p = functools.partial(scale, k=2.0)
        def f(x):
            return p(x)
    """,
    "p = functools.partial(scale, k=3.0)",
)
value_edit(
    "function made for each call",
    "def f(x, act):\n    return act(x) * 2\n",
    "pass",
    call="[f(x, lambda v: v + i) for i in range(3)]",
)
value_edit(
    "object made for each call",
    """
        class Batch:
            def __init__(self, data, k):
                self.data, self.k = data, k
        def f(b):
            return b.data * b.k
        n = 1
    """,
    "n = 5",
    call="f(Batch(x + n, n))",
)
