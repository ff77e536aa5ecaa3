"""Cells, Parameters, optimizers, seeds and counters between two calls."""

from __future__ import annotations

from stale_register import edit, value_edit

NET = """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="w")
        self.act = nn.ReLU()
        self.twice = False
        self.rate = 0.5
        self.n = 1
    def construct(self, x):
        y = self.act(x * self.w - 1) * self.rate
        return y * 2 if self.twice else y
net = f = Net()
"""
value_edit("Parameter.set_data", NET, "net.w.set_data(ms.Tensor([5.0, 5.0, 5.0]))")
value_edit("Parameter replaced", NET, "net.w = ms.Parameter(ms.Tensor([7.0, 5.0, 5.0]), name='w')")
value_edit("Cell attribute as a factor", NET, "net.rate = 0.25")
edit("Parameter of another shape", NET, "net.w = ms.Parameter(ms.Tensor([2.0]), name='w')", "w", "f32[3] -> f32[1]")
edit("Cell attribute that decides", NET, "net.twice = True", "twice False -> True")
edit("child replaced", NET, "net.act = nn.Tanh()", "act")
edit("construct replaced", NET, "Net.construct = lambda self, x: x * self.w", "construct")
edit("hook added later", NET, "net.act.register_forward_hook(lambda cell, args, out: out * 3)", "hook")
edit(
    "hook taken away",
    NET + "handle = net.act.register_forward_hook(lambda cell, args, out: out * 3)\n",
    "handle.remove()",
    "hook",
)
SLOPE = NET + "f = lambda x: ms.value_and_grad(lambda v: (v * net.w).sum(), 0, net.trainable_params())(x)\n"
edit("gradient hook added later", SLOPE, "net.w.register_hook(lambda g: g * 2)", "hook")
edit(
    "gradient hook added to another",
    SLOPE + "net.w.register_hook(lambda g: g * 2)\n",
    "net.w.register_hook(lambda g: g + 1)",
    "hook",
)
edit(
    "gradient hook taken away",
    SLOPE + "handle = net.w.register_hook(lambda g: g * 2)\n",
    "handle.remove()",
    "hook",
)
edit("gradient hook of a tensor", "f = ms.grad(lambda v: (v * v).sum())\n", "x.register_hook(lambda g: g * 2)", "hook")
edit(
    "set_train",
    """
        net = f = nn.SequentialCell(nn.BatchNorm1d(3))
        batch = ms.Tensor([[1.0, 2.0, 3.0], [3.0, 5.0, 9.0]])
        net.set_train(False)
    """,
    "net.set_train(True)",
    "training False -> True",
    call="f(batch)",
)
edit("cells appended", "net = f = nn.SequentialCell(nn.ReLU())\n", "net.append(nn.Tanh())", "")
edit(
    "cell list grown",
    """
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.layers = nn.CellList([nn.ReLU(), nn.Tanh()])
        def construct(self, x):
            for layer in self.layers:
                x = layer(x)
            return x
    net = f = Net()
    """,
    "net.layers.append(nn.Sigmoid())",
    "",
)
edit(
    "requires_grad read by the program",
    """
        w = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name='w')
        def f(x):
            return x * w if w.requires_grad else x
    """,
    "w.requires_grad = False",
    "requires_grad True -> False",
)
value_edit(
    "parameter written by the program",
    """
        w = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name='w')
        def f(x):
            ops.assign(w, w + x)
            return w * 1
    """,
    "w.set_data(ms.Tensor([0.0, 0.0, 0.0]))",
)
value_edit("epoch number", "epoch = 0\ndef f(x):\n    return x * (0.9 ** epoch)\n", "epoch = 1")
TRAIN = """
w = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="w")
rule = optim.SGD([w], learning_rate=0.1)
slope = ms.value_and_grad(lambda x: ((x * w) ** 2).sum(), None, weights=[w])
def f(x):
    value, gradients = slope(x)
    rule(gradients)
    return value, w * 1
"""
value_edit("learning rate of an optimizer", TRAIN, "rule.learning_rate = 0.5")
value_edit(
    "learning rate of one's own step",
    TRAIN.replace("rule(gradients)", "w.set_data(w - rate * gradients[0])") + "rate = 0.1\n",
    "rate = 0.5",
)
value_edit(
    "seed", "ms.set_seed(3)\ndrop = nn.Dropout(p=0.5).set_train()\ndef f(x):\n    return drop(x)\n", "ms.set_seed(4)"
)
value_edit(
    "a global counter that the function moves",
    "calls = 0\ndef f(x):\n    global calls\n    calls += 1\n    return x * calls\n",
    "calls = 10",
)
value_edit(
    "an attribute that the function moves",
    """
        class Count:
            n = 0
        count = Count()
        count.n = 0
        def f(x):
            count.n += 1
            return x * count.n
    """,
    "count.n = 10",
)
value_edit(
    "a list item that the function moves",
    "seen = [0]\ndef f(x):\n    seen[0] = seen[0] + 1\n    return x * seen[0]\n",
    "seen[0] = 10",
)
value_edit(
    "a tensor that the function rebinds",
    "state = x * 0\ndef f(x):\n    global state\n    state = state + x\n    return state * 2\n",
    "state = x * 5",
)
value_edit(
    "a list that the function appends to",
    "log = []\ndef f(x):\n    log.append(1)\n    return x * 2\n",
    "log.clear()",
    call="(f(x), len(log))",
)
