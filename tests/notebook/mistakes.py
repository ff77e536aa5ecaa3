"""Programs with one mistake each; the line that a report must name ends in ``# here``."""

NET = """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(3, 4)

    def construct(self, x):
        return self.fc(x)  # here
"""
X = "x = ops.ones((2, 3))\n"

MISTAKES: dict[str, str] = {
    "matmul": "ops.matmul(ops.ones((4, 4)), ops.ones((3, 2)))  # here",
    "broadcast": "ops.ones((2,)) + ops.ones((3,))  # here",
    "channels": "nn.Conv2d(3, 8, 3)(ops.ones((1, 4, 8, 8)))  # here",
    "image without batch": "nn.Conv2d(3, 8, 3)(ops.ones((3, 8, 8)))  # here",
    "in a network": NET + "\nNet()(ops.ones((2, 5)))",
    "in a compiled network": NET + "\nms.jit(Net())(ops.ones((2, 5)))",
    "in a function in a function": "def inner(x):\n    return x @ x  # here\n\n\n"
    "def outer(x):\n    return inner(x) * 2\n\n\nouter(ops.ones((2, 3)))",
    "in a gradient": "def loss(x):\n    return (x @ x).sum()  # here\n\n\nms.grad(loss)(ops.ones((2, 3)))",
    "in a jitted gradient": "def loss(x):\n    return (x @ x).sum()  # here\n\n\n"
    "ms.jit(ms.grad(loss))(ops.ones((2, 3)))",
    "in vmap": "def f(x):\n    return x @ ops.ones((5, 2))  # here\n\n\nms.vmap(f)(ops.ones((2, 3)))",
    "reshape": X + "x.reshape(4, 4)  # here",
    "concat": X + "ops.concat([x, ops.ones((2, 4))])  # here",
    "index": X + "x[5]  # here",
    "axis": X + "x.mean(axis=3)  # here",
    "unknown keyword of a layer": "nn.Dense(in_features=3, out_channels=4)  # here",
    "missing argument of a layer": "nn.Dense(3)  # here",
    "unknown keyword of an optimizer": "nn.Adam(nn.Dense(3, 4).trainable_params(), rate=0.1)  # here",
    "network for an optimizer": "nn.Adam(nn.Dense(3, 4))  # here",
    "attribute of a layer": "nn.Conv2d(3, 8, 3, pad_mode='mirror')  # here",
    "no such function": "ops.sofmax(ops.ones((2,)))  # here",
    "no such layer": "nn.Linaer(3, 4)  # here",
    "no such method": X + "x.summ()  # here",
    "no such name": "ms.Tenser([1.0])  # here",
    "backward": X + "x.backward()  # here",
    "context key": "ms.set_context(mod=ms.GRAPH_MODE)  # here",
    "context value": "ms.set_context(device_target='Gpu')  # here",
    "ragged rows": "ms.Tensor([[1.0, 2.0], [3.0]])  # here",
    "word in a tensor": "ms.Tensor(['one'])  # here",
    "word as operand": X + "x + 'one'  # here",
    "nothing as operand": "ops.relu(None)  # here",
    "bits of floats": "ops.bitwise_and(ms.Tensor([1.5]), ms.Tensor([1.0]))  # here",
    "integer gradient": "ms.grad(lambda x: x * 2)(ms.Tensor([1, 2]))  # here",
    "gradient of nothing": "ms.grad(lambda x: None)(ops.ones((2,)))  # here",
    "truth of many": X + "if x > 0:  # here\n    pass",
    "item of many": X + "x.item()  # here",
    "value in jit": "@ms.jit(fullgraph=True)\ndef f(x):\n    return ops.ones((int(x.sum()),))  # here\n\n\n"
    "f(ops.ones((2,)))",
    "array in jit": "@ms.jit(fullgraph=True)\ndef f(x):\n    return x.asnumpy()  # here\n\n\nf(ops.ones((2,)))",
    "yield in jit": "@ms.jit\ndef f(x):\n    yield x\n\n\nf(ops.ones((2,)))  # here",
    "one branch": "@ms.jit\ndef f(x):\n    if x.sum() > 0:\n        y = x\n    return y  # here\n\n\nf(ops.ones((2,)))",
    "python's own in a network": NET.replace("return self.fc(x)", "return self.fc(x) + undefined")
    + "\nNet()(ops.ones((2, 3)))",
    "python's own in jit": "@ms.jit\ndef f(x):\n    return x + undefined  # here\n\n\nf(ops.ones((2,)))",
    "too many arguments of a network": NET.replace("  # here", "") + "\nNet()(ops.ones((2, 3)), 1)  # here",
    "no super": "class Bad(nn.Cell):\n    def __init__(self):\n        self.fc = nn.Dense(3, 4)  # here\n\n\nBad()",
    "no construct": "class Bad(nn.Cell):\n    pass\n\n\nBad()(ops.ones((2,)))  # here",
    "lost write": X + "x[0][1] = 5.0  # here",
    "memory": "ops.ones((10_000_000, 10_000_000))  # here",
}
