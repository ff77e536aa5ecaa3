"""Mistakes with layers and networks: name -> (program, words that lead out)."""

NET = """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(3, 4)

    def construct(self, x):
        return self.fc(x)  # here
"""
QUIET = NET.replace("  # here", "")

MISTAKES: dict[str, tuple[str, str]] = {
    "channels": ("nn.Conv2d(3, 8, 3)(ops.ones((1, 4, 8, 8)))  # here", "in_channels of the layer must equal it"),
    "channels last": ("nn.Conv2d(3, 8, 3)(ops.ones((1, 8, 8, 3)))  # here", "NCHW"),
    "image without batch": ("nn.Conv2d(3, 8, 3)(ops.ones((3, 8, 8)))  # here", r"x.expand_dims\(0\)"),
    "array for a layer": ("import numpy as np\nnn.Dense(3, 4)(np.ones((2, 3)))  # here", r"ms.Tensor\("),
    "list for a layer": ("nn.Dense(3, 4)([1.0, 2.0, 3.0])  # here", r"ms.Tensor\("),
    "in a network": (NET + "\nNet()(ops.ones((2, 5)))", "in_channels=3"),
    "in a compiled network": (NET + "\nms.jit(Net())(ops.ones((2, 5)))", "in_channels=3"),
    "images into a dense layer": ("nn.Dense(784, 10)(ops.ones((8, 28, 28)))  # here", "flatten"),
    "window larger than the image": ("nn.MaxPool2d(9, 9)(ops.ones((1, 1, 4, 4)))  # here", "hint: "),
    "kernel larger than the image": ("nn.Conv2d(1, 1, 9, pad_mode='valid')(ops.ones((1, 1, 4, 4)))  # here", "hint: "),
    "groups": ("nn.Conv2d(3, 8, 3, group=2)  # here", "divi"),
    "norm of other channels": ("nn.BatchNorm2d(3)(ops.ones((2, 4, 5, 5)))  # here", "4|num_features"),
    "norm of other sizes": ("nn.LayerNorm((4,))(ops.ones((2, 3)))  # here", r"\(3,\)|\[3\]|normalized_shape"),
    "embedding of floats": ("nn.Embedding(4, 2)(ops.ones((3,)))  # here", "int32|integer"),
    "step of a recurrent layer": ("nn.LSTM(4, 8)(ops.ones((2, 5, 3)))  # here", "input_size|4"),
    "heads": ("nn.MultiheadAttention(10, 3)  # here", "divi"),
    "unknown activation": ("nn.Dense(3, 4, activation='relo')  # here", "relu"),
    "unknown initializer": ("nn.Dense(3, 4, weight_init='xavier')  # here", "xavier_uniform|XavierUniform"),
    "dropout of two": ("nn.Dropout(p=2.0)  # here", "0|1"),
    "attribute of a layer": ("nn.Conv2d(3, 8, 3, pad_mode='mirror')  # here", "'valid', 'same' or 'pad'"),
    "padding without its mode": ("nn.Conv2d(3, 8, 3, padding=1)  # here", "pad_mode='pad'"),
    "unknown keyword of a layer": ("nn.Dense(in_features=3, out_channels=4)  # here", "did you mean in_channels"),
    "missing argument of a layer": ("nn.Dense(3)  # here", r"Dense\(in_channels, out_channels"),
    "sizes as words": ("nn.Dense('3', 4)  # here", "int"),
    "size of zero": ("nn.Dense(0, 4)  # here", "positive|at least 1|> 0"),
    "keyword of a network": (QUIET + "\nNet()(y=ops.ones((2, 3)))  # here", r"Net\(x\)|did you mean"),
    "too many arguments of a network": (QUIET + "\nNet()(ops.ones((2, 3)), 1)  # here", "construct says which"),
    "argument of a constructor": (QUIET + "\nNet(3)  # here", "takes 1 positional argument"),
    "no super": (
        "class Bad(nn.Cell):\n    def __init__(self):\n        self.fc = nn.Dense(3, 4)  # here\n\n\nBad()",
        r"super\(\).__init__\(\)",
    ),
    "no construct": ("class Bad(nn.Cell):\n    pass\n\n\nBad()(ops.ones((2,)))  # here", "def construct"),
    "member that is not there": (
        NET.replace("self.fc(x)  # here", "self.fc1(x)  # here") + "\nNet()(ops.ones((2, 3)))",
        "did you mean fc",
    ),
    "no return before a loss": (
        QUIET.replace("return self", "self")
        + "\nnn.CrossEntropyLoss()(Net()(ops.ones((2, 3))), ms.Tensor([0, 1]))  # here",
        "return",
    ),
    "layers in a list of another kind": ("nn.SequentialCell([nn.Dense(3, 4), 'relu'])  # here", "Cell"),
    "list as a network": ("nn.SequentialCell(nn.Dense(3, 4), None)  # here", "Cell"),
    "layers that do not fit": (
        "net = nn.SequentialCell(nn.Dense(3, 4), nn.ReLU(), nn.Dense(5, 2))\nnet(ops.ones((2, 3)))  # here",
        "in_channels=5",
    ),
}
