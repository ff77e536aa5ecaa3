"""A number that a compiled function reads of a tensor (``float(t)``, ``t.item()``) makes the tensors that it makes in
PyNative mode: the same dtype, never a number where a Tensor is asked for."""

import numpy as np
import pytest

import msnb as ms
import msnb.numpy as mnp
from msnb import Tensor, ops

MADE = (
    "Tensor(f)", "Tensor(n)", "Tensor(b)", "Tensor(f, ms.float16)", "Tensor([f, n])", "Tensor([b, True])",
    "ms.tensor(f)",
    "ops.full((2,), f)", "ops.full((2,), n)", "ops.full((2,), b)", "ops.full_like(x, n)", "ops.linspace(0.0, f, 3)",
    "ops.logspace(f, g, 2).dtype", "ops.where(x > 0, f, g)", "ops.clamp(x, f, g)", "ops.scalar_to_tensor(f)",
    "mnp.full((2,), f)",
    "mnp.array(f)", "mnp.array([f, n])", "mnp.asarray(n)", "mnp.asarray(b)", "ms.Parameter(Tensor(f), name='q')",
    "ops.roll(x, n, 0)", "x.astype(ms.float16) * f", "ops.sqrt(Tensor(f))", "x ** n", "ops.maximum(x, f)",
    "mnp.multiply(n, n)", "mnp.add(b, n)", "mnp.multiply(x.astype(ms.float16), f)", "mnp.sqrt(f)",
)  # fmt: skip
ITEMS = (
    "x * x.sum().item()", "x.sum().item()", "x.item(0) + x.item((1,))", "(x > 0).any().item()", "x.argmax().item()",
    "[10, 20][x.argmax().item()]", "x * 2 if x.sum().item() > 1 else x * 3", "f'{x.sum().item():.3f}'",
    "[v.item() for v in x]",
    "x.astype(ms.float16).sum().item()", "x.astype(ms.int8).sum().item()", "isinstance(x[0].item(), float)",
    "{x[0].item(): 1}",
    "max(x[0].item(), x[1].item())", "Tensor([x[0].item(), 2.0]) * x",
)  # fmt: skip


def shown(value):
    if isinstance(value, Tensor):
        return type(value).__name__, str(value.dtype), value.asnumpy().astype(np.float32).tolist()
    if isinstance(value, (list, tuple)):
        return [shown(v) for v in value]
    return type(value).__name__, repr(value)


def program(text, numbers="float(x[0]), float(x[1]) + 5, int(x[0]), bool(x[0] > 2)"):
    space = {"ms": ms, "mnp": mnp, "ops": ops, "Tensor": Tensor}
    exec(f"def f(x):\n    f, g, n, b = {numbers}\n    return {text}\n", space)
    return space["f"]


@pytest.mark.parametrize("text", (*MADE, *ITEMS))
def test_both_modes(text):
    eager, compiled = program(text), ms.jit(program(text))
    for value in ([1.5, -2.0], [2.5, 1.0]):
        x = Tensor(np.array(value, np.float32))
        assert shown(compiled(x)) == shown(eager(x))


@pytest.mark.parametrize("text", MADE)
def test_numbers_of_sizes(text):
    numbers = "x.shape[0] / 2, x.shape[0] * 1.5, len(x), x.shape[0] > 2"
    eager, compiled = program(text, numbers), ms.jit(program(text, numbers))
    for size in (2, 3, 4, 2):
        x = Tensor(np.linspace(0, 1, size).astype(np.float32))
        assert shown(compiled(x)) == shown(eager(x))


def test_an_item_is_part_of_one_program():
    compiled = ms.jit(lambda x: x * x.sum().item(), fullgraph=True)
    assert compiled(Tensor([1.0, 2.0])).tolist() == [3.0, 6.0]
    with pytest.raises(ValueError, match=r"item\(\) needs a tensor of one element, this one has shape \[2\]"):
        ms.jit(lambda x: x.item())(Tensor([1.0, 2.0]))
