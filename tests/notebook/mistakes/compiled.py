"""Mistakes in compiled functions and gradients: name -> (program, words that lead out)."""

X = "x = ops.ones((2, 3))\n"
TRANSPOSE = "a transpose of one of them"


def whole(body: str) -> str:
    """A function that must be one program."""
    return f"@ms.jit(fullgraph=True)\ndef f(x):\n    {body}  # here\n\n\nf(ops.ones((2,)))"


MISTAKES: dict[str, tuple[str, str]] = {
    "in a function in a function": (
        "def inner(x):\n    return x @ x  # here\n\n\ndef outer(x):\n    return inner(x) * 2\n\n\n"
        "outer(ops.ones((2, 3)))",
        TRANSPOSE,
    ),
    "five calls deep": (
        "def f(x, k):\n    if k:\n        return f(x, k - 1)\n    return x @ x  # here\n\n\nf(ops.ones((2, 3)), 5)",
        TRANSPOSE,
    ),
    "in a gradient": (
        "def loss(x):\n    return (x @ x).sum()  # here\n\n\nms.grad(loss)(ops.ones((2, 3)))",
        TRANSPOSE,
    ),
    "in a jitted gradient": (
        "def loss(x):\n    return (x @ x).sum()  # here\n\n\nms.jit(ms.grad(loss))(ops.ones((2, 3)))",
        TRANSPOSE,
    ),
    "in vmap": (
        "def f(x):\n    return x @ ops.ones((5, 2))  # here\n\n\nms.vmap(f)(ops.ones((2, 3)))",
        TRANSPOSE,
    ),
    "vmap of unequal sizes": (
        "ms.vmap(lambda x, y: x + y)(ops.ones((2, 3)), ops.ones((4, 3)))  # here",
        "in_axes|size",
    ),
    "vmap of a number": ("ms.vmap(lambda x: x * 2)(3.0)  # here", "in_axes|Tensor"),
    "integer gradient": ("ms.grad(lambda x: x * 2)(ms.Tensor([1, 2]))  # here", "convert it with .astype"),
    "gradient of nothing": ("ms.grad(lambda x: None)(ops.ones((2,)))  # here", "return"),
    "gradient of a value": ("ms.grad(ops.ones((2,)))  # here", "function"),
    "position that is not there": ("ms.grad(lambda x: x * 2, 1)(ops.ones((2,)))  # here", "grad_position|argument"),
    "network as weights": (
        "net = nn.Dense(3, 2)\nms.value_and_grad(lambda x: net(x).sum(), None, net)(ops.ones((2, 3)))  # here",
        r"net.trainable_params\(\)",
    ),
    "value in jit": (whole("return ops.ones((int(x.sum()),))"), "keep it a tensor"),
    "array in jit": (whole("return x.asnumpy()"), "use tensor operations"),
    "list in jit": (whole("return x * len(x.tolist())"), "use tensor operations|keep it a tensor"),
    "yield in jit": ("@ms.jit\ndef f(x):\n    yield x\n\n\nf(ops.ones((2,)))  # here", "return a list"),
    "async in jit": ("@ms.jit\nasync def f(x):\n    return x\n\n\nf(ops.ones((2,)))  # here", "uncompiled"),
    "one branch": (
        "@ms.jit\ndef f(x):\n    if x.sum() > 0:\n        y = [x]\n    return y  # here\n\n\nf(ops.ones((2,)))",
        "give y a value before the branch",
    ),
    "branches of two types": (
        "@ms.jit\ndef f(x):\n    if x.sum() > 0:\n        y = x\n    else:\n"
        "        y = x[:1]\n    return y  # here\n\n\nf(ops.ones((2,)))",
        "hint: ",
    ),
    "jit of a value": ("ms.jit(3)  # here", "function"),
    "keyword of jit": ("ms.jit(mode='graph', level=3)(abs)  # here", "did you mean|legal|jit"),
    "python's own in a network": (
        "class Net(nn.Cell):\n    def construct(self, x):\n        return x + undefined  # here\n\n\n"
        "Net()(ops.ones((2,)))",
        "name 'undefined' is not defined",
    ),
    "python's own in jit": (
        "@ms.jit\ndef f(x):\n    return x + undefined  # here\n\n\nf(ops.ones((2,)))",
        "name 'undefined' is not defined",
    ),
    "python's own in a gradient": (
        "def f(x):\n    return x * [1, 2][5]  # here\n\n\nms.grad(f)(ops.ones((2,)))",
        "list index out of range",
    ),
    "arguments of a compiled function": ("@ms.jit\ndef f(x):\n    return x\n\n\nf()  # here", "missing 1 required"),
}
