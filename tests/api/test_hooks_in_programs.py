"""A hook on a tensor where no gradient is under way: the gradients by that tensor see it, in a program too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms

X, Y = [1.0, -2.0], [[1.0, 2.0], [3.0, 4.0]]


def square(v: Any) -> Any:
    return (v * v).sum()


def before(y: Any) -> Any:
    y.register_hook(lambda g: g * -1.0)
    return ms.grad(square)(y), ms.value_and_grad(square)(y)[1]


def twice(y: Any) -> Any:
    y.register_hook(lambda g: g * 2.0)
    y.register_hook(lambda g: g + 1.0)
    return ms.grad(square)(y)


def inside(y: Any) -> Any:
    def f(v: Any) -> Any:
        v.register_hook(lambda g: g * 3.0)
        return (v * v).sum()

    return ms.grad(f)(y)


def both(y: Any) -> Any:
    def f(v: Any) -> Any:
        v.register_hook(lambda g: g * 3.0)
        return (v * v).sum()

    y.register_hook(lambda g: g * 5.0)
    return ms.grad(f)(y), ms.grad(square)(y)


def made_here(y: Any) -> Any:
    z = y * 1.0
    z.register_hook(lambda g: g * 7.0)
    return ms.grad(square)(z), ms.grad(square)(y)


def removed(y: Any) -> Any:
    handle = y.register_hook(lambda g: g * 2.0)
    handle.remove()
    return ms.grad(square)(y)


def passed_through(y: Any) -> Any:
    y.register_hook(lambda g: g * 2.0)
    z = y * 3.0
    return ms.grad(lambda v: (v * z).sum())(y)


@pytest.mark.parametrize("level", ["O0", "O1"])
@pytest.mark.parametrize(
    ("program", "factor"),
    [(before, -1), (inside, 3), (both, (15, 5)), (made_here, (7, 1)), (removed, 1), (passed_through, None),
     (twice, None)],
    ids=lambda v: getattr(v, "__name__", ""),
)  # fmt: skip
def test_a_program_and_plain_python_agree(program: Any, factor: Any, level: str) -> None:
    def numbers(run: Any) -> list[Any]:
        found = run(ms.Tensor(X))
        return [np.array(v.asnumpy()) for v in (found if isinstance(found, tuple) else (found,))]

    with ms.set_context(jit_level=level):
        plain, compiled = numbers(program), numbers(ms.jit(program))
        again = numbers(ms.jit(program))
    for a, b, c in zip(plain, compiled, again):
        np.testing.assert_allclose(b, a)
        np.testing.assert_allclose(c, a)
    if factor is not None:
        factors = factor if isinstance(factor, tuple) else (factor,) * len(plain)
        for value, by in zip(plain, factors):
            np.testing.assert_allclose(value, 2.0 * by * np.array(X))


def test_a_hook_from_outside_and_one_of_the_program(mode: int) -> None:
    y = ms.Tensor(X)
    handle = y.register_hook(lambda g: g * 10.0)
    run = ms.jit(lambda v: ms.grad(square)(v))
    assert run(y).tolist() == [20.0, -40.0]
    handle.remove()
    assert run(y).tolist() == [2.0, -4.0]


@pytest.mark.parametrize("jitted", [False, True])
def test_a_tensor_tells_its_hooks(jitted: bool) -> None:
    counts = []

    def f(x):
        y = x * x
        y.register_hook(lambda g: g * 2)
        handle = y.register_hook(lambda g: g * 3)
        counts.append(len(y.hooks()))
        handle.remove()
        counts.append(len(y.hooks()))
        y.add_(2.0)
        counts.append(len(y.hooks()))
        y.register_hook(lambda g: g * 5)
        counts.append(len(y.hooks()))
        return y.sum()

    slope = ms.jit(ms.grad(f)) if jitted else ms.grad(f)
    assert slope(ms.Tensor([3.0])).tolist() == [60] and counts[:4] == [2, 1, 0, 1]
    x, w = ms.Tensor([1.0]), ms.Parameter([1.0], name="w")
    handles = [x.register_hook(lambda g: g), w.register_hook(lambda g: g)]
    assert len(x.hooks()) == len(w.hooks()) == 1
    for handle in handles:
        handle.remove()
    assert x.hooks() == w.hooks() == ()
    with pytest.raises(RuntimeError, match="a hook on still, whose gradient nobody takes"):
        ms.Parameter([1.0], name="still", requires_grad=False).register_hook(lambda g: g)
