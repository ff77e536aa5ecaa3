"""Lists as keys, arguments by position, axes of lone results: what MindSpore's tests write, in both modes."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import msnb
from msnb import Tensor


def compiled(fn: Any, *inputs: Any) -> Any:
    """fn's results in the mode of the test."""
    return (msnb.jit(fn) if msnb.get_context("mode") == msnb.GRAPH_MODE else fn)(*inputs)


def test_lists_as_keys(mode: int) -> None:
    """MindSpore takes a list that holds more than numbers as a tuple; msnb, as NumPy, as an array."""
    x, rows, mask = Tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]), Tensor([0, 1]), Tensor([True, False])
    zero, one = Tensor(0), Tensor(1)
    cases: list[tuple[Any, Any]] = [
        (lambda t: t[[zero, one]], 1.0), (lambda t: t[[rows, 0]], [0.0, 3.0]), (lambda t: t[[mask, 0]], [0.0]),
        (lambda t: t[[slice(0, 1), 0]], [0.0]), (lambda t: t[[[0, 1], [1, 0]]], [1.0, 3.0]),
        (lambda t: t[[..., 0]], [0.0, 3.0]), (lambda t: t[[1, 0]], [[3.0, 4.0, 5.0], [0.0, 1.0, 2.0]]),
    ]  # fmt: skip
    for fn, wanted in cases:
        assert compiled(fn, x).tolist() == wanted

    def written(t: Tensor) -> Tensor:
        t = t + 0
        t[[rows, 0]] += 9.0
        return t

    assert compiled(written, x).tolist() == [[9.0, 1.0, 2.0], [12.0, 4.0, 5.0]]
    with pytest.raises(IndexError):
        compiled(lambda t: t[[rows, 0, 0]], x)
    importlib.import_module("msnb.as_mindspore").uninstall()
    assert x[[[0, 1], [1, 0]]].shape == (2, 2, 3)


def test_arguments_by_position(mode: int) -> None:
    import mindspore

    x, files = Tensor([1.0, 2.0]), mindspore.ops.auto_generate
    assert compiled(lambda t: files.add_ext(t, t, 2), x).tolist() == [3.0, 6.0]
    assert compiled(lambda t: files.SubExt()(t, t, alpha=2), x).tolist() == [-1.0, -2.0]
    for wrong in (lambda: mindspore.mint.add(x, x, 2), lambda: files.add_ext(x, x, 2, 3),
                  lambda: files.add_ext(x, x, 2, alpha=3)):  # fmt: skip
        with pytest.raises(TypeError):
            wrong()
    lanes = mindspore.ops.vmap(lambda t: t * 2, in_axes=(0,), out_axes=(1,))(Tensor([[1.0, 2.0]]))
    assert lanes.tolist() == [[2.0], [4.0]]
    with pytest.raises(TypeError):
        mindspore.ops.vmap(lambda t: t * 2, in_axes=(0,), out_axes=((1,),))(Tensor([[1.0, 2.0]]))


def test_level_two_compiles_the_whole(mode: int) -> None:
    with msnb.set_context(jit_level="O2"):
        assert compiled(lambda t: t * 2 + 1, Tensor([1.0])).tolist() == [3.0]
        assert msnb.get_context("jit_level") == "O2"
    with pytest.raises(ValueError):
        msnb.set_context(jit_level="O3")
