"""Mistakes with names and keys: name -> (program, words that lead out)."""

X = "x = ops.ones((2, 3))\n"

MISTAKES: dict[str, tuple[str, str]] = {
    "no such function": ("ops.sofmax(ops.ones((2,)))  # here", "did you mean softmax"),
    "no such layer": ("nn.Linaer(3, 4)  # here", "did you mean Linear"),
    "no such method": (X + "x.summ()  # here", "did you mean sum"),
    "no such name": ("ms.Tenser([1.0])  # here", "did you mean Tensor"),
    "no such view": ("ms.show.gradient(abs)  # here", "did you mean grad"),
    "name in another room": ("ms.Dense(3, 4)  # here", "there is nn.Dense"),
    "backward": (X + "x.backward()  # here", r"ms.grad\(fn\)\(x\)"),
    "device of a tensor": (X + "x.cuda()  # here", "device_target"),
    "gradient of a tensor": (X + "x.requires_grad_()  # here", "ms.grad|Parameter"),
    "context key": ("ms.set_context(mod=ms.GRAPH_MODE)  # here", "did you mean mode"),
    "context value": ("ms.set_context(device_target='Gpu')  # here", "did you mean 'GPU'"),
    "context mode": ("ms.set_context(mode='grph')  # here", "did you mean|GRAPH_MODE"),
    "a GPU that is not there": ("ms.set_context(device_target='GPU')  # here", "CPU|cupy"),
    "unknown key of the context": ("ms.get_context('moed')  # here", "did you mean mode"),
}
