"""What each kind of error means and how one gets out of it: the one source of the pages in ``docs/errors``.

A lesson has a program that is wrong and one that is right. Both are run by the tests (the wrong one must raise its
error), ``tools/error_pages.py`` writes them as pages, and ``%ms_error`` shows them in a cell, where no page is at
hand.
"""

from __future__ import annotations

from dataclasses import dataclass

FOLDER = "docs/errors"


@dataclass(frozen=True)
class Lesson:
    """One kind of error.

    Attributes:
        name: the class.
        also: the built-in class that catches it too.
        meaning: what happened, in a few sentences.
        wrong: a program that raises it.
        right: the program mended.
        advice: what else helps.
    """

    name: str
    also: str
    meaning: str
    wrong: str
    right: str
    advice: str

    @property
    def path(self) -> str:
        """Its page, from the top of the repository."""
        return f"{FOLDER}/{self.name}.md"

    @property
    def markdown(self) -> str:
        """Its page."""
        return (
            f"# {self.name}\n\n{self.meaning}\n\n`except {self.also}` catches it too.\n\n"
            f"## It comes from\n\n```python\n{self.wrong}\n```\n\n"
            f"## The way out\n\n```python\n{self.right}\n```\n\n{self.advice}\n"
        )


def _lesson(name: str, also: str, meaning: str, wrong: str, right: str, advice: str) -> Lesson:
    start = "import msnb as ms\n\n"
    return Lesson(name, also, meaning, start + wrong.strip(), start + right.strip(), advice)


_ALL = (
    _lesson(
        "ShapeError", "ValueError",
        "The shapes of the operands do not fit the operator. The report lists every operand with its shape; the "
        "caret is "
        "under the expression that put them together.",
        "x, w = ms.ops.ones((4, 4)), ms.ops.ones((3, 2))\nms.ops.matmul(x, w)",
        "x, w = ms.ops.ones((4, 3)), ms.ops.ones((3, 2))\nms.ops.matmul(x, w)",
        "Most often a transpose is missing, a batch axis was forgotten (`x[None]`), or a flatten kept the batch "
        "axis in. "
        "`%ms_step f(x)` shows the shape after every operator; `net.summary((32, 1, 28, 28))` after every layer.",
    ),
    _lesson(
        "DTypeError", "TypeError",
        "The operator does not take this dtype: a bitwise operator got floats, an index got floats, a label is no int.",
        "ms.ops.bitwise_and(ms.Tensor([1.5]), ms.Tensor([1.0]))",
        "ms.ops.bitwise_and(ms.Tensor([1]), ms.Tensor([3]))",
        "`x.astype(ms.int32)` converts. Python floats give float32, ints int64, NumPy arrays keep their dtype; "
        "what two "
        "dtypes give together is in the notebook `02_tensors`.",
    ),
    _lesson(
        "AttributeValueError", "ValueError",
        "A setting of an operator or layer has a value that is not legal: an axis that the tensor does not have, a pad "
        "mode that does not exist.",
        "ms.nn.Conv2d(3, 8, 3, pad_mode='mirror')",
        "ms.nn.Conv2d(3, 8, 3, pad_mode='same')",
        "The sentence lists the legal values.",
    ),
    _lesson(
        "ArgumentError", "TypeError",
        "The arguments do not fit the signature: too many, too few, an unknown name, or something of another kind.",
        "ms.ops.exp('word')",
        "ms.ops.exp(ms.Tensor([1.0]))",
        "`ms.ops.exp?` shows the signature.",
    ),
    _lesson(
        "IndexOutOfRange", "IndexError",
        "An index lies outside its axis. Axis sizes are known before anything runs, so graph mode tells it too.",
        "ms.ops.ones((3, 2))[5]",
        "ms.ops.ones((3, 2))[2]",
        "Negative indices count from the end. Slices are cut to the axis and never raise. It is a `RuntimeError` too: "
        "that is what MindSpore and PyTorch raise for an index in a tensor (`gather`, `scatter`).",
    ),
    _lesson(
        "LostWriteError", "RuntimeError",
        "A write into a value that nobody keeps. Tensors are values: `x[[0, 1]]`, `x[mask]`, `x + 1` share nothing "
        "with `x`, so `x[[0, 1]][0] = 5` would write into a copy that is gone when the statement ends. NumPy and "
        "PyTorch lose such a write without a word.",
        "x = ms.ops.zeros((2, 3))\nx[[0, 1]][0] = 5",
        "x = ms.ops.zeros((2, 3))\nx[0] = 5\n\nrows = x[[0, 1]]\nrows[:, 2] = 7\nx[[0, 1]] = rows",
        "`x[0][1] = 5`, `x.T[1] = 5` and `x[0].zero_()` write into `x`: what they write into says where it came from. "
        "What a list, a dict or an object keeps is written to as it stands: `layers[0][1] = 5`. A value with a name "
        "is never refused: `row = x[0]; row[1] = 5` changes `row`, and `x` stays as it is.",
    ),
    _lesson(
        "LinAlgError", "ValueError",
        "A matrix has no inverse, or no factors of the kind that is asked for.",
        "ms.ops.cholesky(ms.Tensor([[1.0, 2.0], [2.0, 1.0]]))",
        "x = ms.Tensor([[1.0, 2.0], [2.0, 1.0]])\nms.ops.cholesky(x @ x + 1e-3 * ms.ops.eye(2))",
        "Numbers that are not finite also end here: a decomposition does not converge on them. A small multiple of the "
        "identity makes a covariance definite; `ops.pinv` and least squares need no inverse.",
    ),
    _lesson(
        "IntegerOverflowError", "OverflowError",
        "A Python integer is too large, or too small, for the integer dtype of an operation.",
        "ms.Tensor([1, 2, 3]) + 10**30",
        "ms.Tensor([1.0, 2.0, 3.0]) + 10**30",
        "int64 ends at 2**63 - 1. A float tensor takes the number, rounded.",
    ),
    _lesson(
        "ConditionError", "RuntimeError",
        "A condition that the program set itself does not hold when it runs: `ops.Assert`, `ops.CheckNumerics`.",
        "ms.ops.CheckNumerics()(ms.Tensor([1.0, float('nan')]))",
        "ms.ops.CheckNumerics()(ms.ops.nan_to_num(ms.Tensor([1.0, float('nan')])))",
        "The error shows the first elements of the data that the condition came with.",
    ),
    _lesson(
        "StackError", "RecursionError",
        "Cells call Cells deeper than Python's stack goes, or a Cell calls itself without end.",
        "class Endless(ms.nn.Cell):\n    def construct(self, x):\n        return self(x)\n\nEndless()(ms.Tensor(1.0))",
        "layers = [ms.nn.ReLU() for _ in range(2000)]\nms.nn.SequentialCell(*layers)(ms.ops.ones((2,)))",
        "A list of Cells that are called in a loop needs no stack. `sys.setrecursionlimit` moves the end.",
    ),
    _lesson(
        "OutOfMemoryError", "MemoryError",
        "A result, or the memory plan of a program, is larger than the memory that is free. Nothing was changed.",
        "ms.ops.ones((10_000_000, 10_000_000))",
        "ms.ops.ones((1_000, 1_000))",
        "The sentence names the operator, its operands, the bytes that are needed and those that are free. Smaller "
        "batches, a smaller dtype, or `recompute` for layers whose inputs need not be kept.",
    ),
    _lesson(
        "DeviceError", "RuntimeError",
        "The device is missing, or operands lie on different devices.",
        "from msnb.base.errors import DeviceError\n\nraise DeviceError('no such device here.', hint='set_context')",
        "ms.set_context(device_target='CPU')\nms.ops.ones((2,)) + 1",
        "`%ms_info` lists the devices; the sentence says what to install. (The program above only shows the class: "
        "whether a device is missing depends on the machine.)",
    ),
    _lesson(
        "ContextError", "ValueError",
        "`set_context` got a key it does not know, or a value that is not legal. Nothing was changed.",
        "ms.set_context(mode=7)",
        "ms.set_context(mode=ms.PYNATIVE_MODE)",
        "The sentence lists what is legal.",
    ),
    _lesson(
        "CaptureError", "RuntimeError",
        "Graph mode read the function and cannot make a graph of it. Eager mode runs it as it is. The classes "
        "below are "
        "kinds of it with pages of their own.",
        "from msnb.base.errors import CaptureError\n\nraise CaptureError('graph mode cannot follow this.')",
        "f = ms.jit(lambda x: x * 2)\nf(ms.Tensor([1.0]))",
        "`ms.show.eager(f, x)` shows what the function does in eager mode. (The program above only shows the "
        "class; its "
        "kinds come from real programs.)",
    ),
    _lesson(
        "UnsupportedSyntaxError", "SyntaxError",
        "A statement that graph mode refuses: a graph has nothing like it. `yield` hands out values half way; a "
        "compiled "
        "function gives its whole result when it returns.",
        "@ms.jit\ndef f(x):\n    for k in range(3):\n        yield x * k\n\n\nf(ms.Tensor([1.0]))",
        "@ms.jit\ndef f(x):\n    return [x * k for k in range(3)]\n\n\nf(ms.Tensor([1.0]))",
        "The hint says how to write it. There are few such statements: where a Python value decides, nearly all "
        "of Python "
        "is allowed.",
    ),
    _lesson(
        "ConcretizationError", "TypeError",
        "A program asked for the value of a tensor while it is captured: there is none yet, only its type.",
        "@ms.jit(fullgraph=True)\ndef f(x):\n    return ms.ops.ones((int(x.sum()),))\n\n\nf(ms.Tensor([3.0]))",
        "@ms.jit\ndef f(x, n):\n    return ms.ops.ones((n,)) + x.sum()\n\n\nf(ms.Tensor([3.0]), 3)",
        "Without `fullgraph=True` such a call is a graph break: it runs as Python, as in PyNative mode, and a notice "
        "names the line and what that costs. `ms.vmap`, plans for many devices and exports need the whole program and "
        "always refuse.\n\n"
        "A shape must be a Python number: take it as an argument, or from another tensor's `.shape`. `if` and "
        "`while` on "
        "tensors are fine: they become nodes.",
    ),
    _lesson(
        "DataSizeError", "ValueError",
        "An operation needs a size that only the data tell, such as how many elements a mask selects.",
        "@ms.jit(fullgraph=True)\ndef f(x):\n    return ms.ops.diag(x[x > 0])\n\n\nf(ms.Tensor([3.0, -1.0]))",
        "@ms.jit(fullgraph=True)\ndef f(x):\n    return ms.ops.diag(ms.ops.relu(x))\n\n\nf(ms.Tensor([3.0, -1.0]))",
        "It is a `ConcretizationError`, too: without `fullgraph=True` the call runs as Python.",
    ),
    _lesson(
        "BranchTypeError", "TypeError",
        "Two branches leave a variable, or the result, with values of two kinds, such as a tensor and a number, and a "
        "tensor decides which branch runs: a graph has one type for each value.",
        "@ms.jit\ndef f(x):\n    if x.sum() > 0:\n        return x\n    return 0\n\n\nf(ms.Tensor([1.0]))",
        "@ms.jit\ndef f(x):\n    if x.sum() > 0:\n        return x\n    return ms.ops.zeros_like(x)\n\n\n"
        "f(ms.Tensor([1.0]))",
        "Give both branches a tensor of the same shape and dtype, or decide with a Python value. A 0-d tensor and a "
        "number of no larger kind do agree: the number becomes a tensor.",
    ),
    _lesson(
        "UndefinedNameError", "NameError",
        "A list, dict or object is read where it may not be there, because only one branch makes it, and a tensor "
        "decides which branch runs. (Tensors and numbers are checked when the program runs.)",
        "@ms.jit\ndef f(x):\n    if x.sum() > 0:\n        y = [x]\n    return y\n\n\nf(ms.Tensor([1.0]))",
        "@ms.jit\ndef f(x):\n    y = [x]\n    if x.sum() > 0:\n        y = [-x]\n    return y\n\n\nf(ms.Tensor([1.0]))",
        "Give the name a value before the branch, of the same shape and dtype.",
    ),
    _lesson(
        "GradientError", "RuntimeError",
        "The gradient does not exist or was asked for in a way that has no answer: the function returned no tensor, or "
        "its way back leads through an operator without a rule.",
        "ms.grad(lambda x: 3.0)(ms.Tensor([1.0, 2.0]))",
        "ms.grad(lambda x: (x * 2).sum())(ms.Tensor([1.0, 2.0]))",
        "`ops.stop_gradient` says where no gradient is wanted; `%ms_grad f(x)` shows the gradient's program.",
    ),
    _lesson(
        "VerifyError", "AssertionError",
        "A graph breaks a law of the IR. This is always a defect of a pass or a transform, never of your program.",
        "from msnb.ir.text.parser import parse\nfrom msnb.ir.analysis.verifier import verify\n\n"
        "graph = parse('graph f(x: f32[2]) -> (f32[2])\\n  %1 = exp(x) : f32[2]\\n  return %1')\n"
        "graph.nodes[0].inputs = []\nverify(graph, 'captured')",
        "from msnb.ir.text.parser import parse\nfrom msnb.ir.analysis.verifier import verify\n\n"
        "graph = parse('graph f(x: f32[2]) -> (f32[2])\\n  %1 = exp(x) : f32[2]\\n  return %1')\n"
        "verify(graph, 'captured')",
        "Report it with the graph: `ms.show.passes(f, x).save('report.txt')`. Passes of plug-ins are named in the "
        "message. Until then `ms.set_context(mode=ms.PYNATIVE_MODE)` runs the program.",
    ),
    _lesson(
        "CheckpointError", "ValueError",
        "A checkpoint is damaged, or does not fit the network. The network is unchanged.",
        "net = ms.nn.Dense(2, 3)\nnet.load_state_dict({'weight': ms.ops.ones((5, 5)), 'bias': ms.ops.ones((3,))})",
        "net = ms.nn.Dense(2, 3)\nnet.load_state_dict(ms.nn.Dense(2, 3).state_dict())",
        "The report lists every name that is missing, unexpected or of another shape.",
    ),
    _lesson(
        "DatasetError", "ValueError",
        "A data set is wrong, or a function mapped over one failed. The report says at which row.",
        "def broken(row):\n    raise KeyError('label')\n\n\n"
        "data = ms.dataset.NumpySlicesDataset([1.0, 2.0], column_names=['x'])\n"
        "list(data.map(broken, 'x').create_tuple_iterator())",
        "data = ms.dataset.NumpySlicesDataset([1.0, 2.0], column_names=['x'])\n"
        "list(data.map(lambda x: x * 2, 'x').create_tuple_iterator())",
        "Read one row by hand: `next(iter(data.create_tuple_iterator()))`.",
    ),
)  # fmt: skip

LESSONS: dict[str, Lesson] = {lesson.name: lesson for lesson in _ALL}


def lesson_of(kind: type[BaseException]) -> Lesson | None:
    """The lesson of a class, or of the nearest class above it."""
    return next((LESSONS[base.__name__] for base in kind.__mro__ if base.__name__ in LESSONS), None)


def index() -> str:
    """The page that lists all."""
    lines = ["# Errors", "", "What each kind of error means, a program that raises it, and the way out. In a notebook "
             "`%ms_error` shows the page of the last error.", ""]  # fmt: skip
    lines += [f"- [{m.name}]({m.name}.md): {m.meaning.split('. ')[0].rstrip('.')}." for m in _ALL]
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """File name -> text of every page."""
    return {"README.md": index(), **{f"{m.name}.md": m.markdown for m in _ALL}}
