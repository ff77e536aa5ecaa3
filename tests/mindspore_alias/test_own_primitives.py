"""Operator classes that a program defines itself, functions in a gradient's way, and Python functions as operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb

X = np.array([-1.0, 2.0], np.float32)


def run(fn: Any, *args: Any) -> Any:
    tensors = [msnb.Tensor(a) for a in args]
    return msnb.jit(fn)(*tensors) if msnb.get_context("mode") == msnb.GRAPH_MODE else fn(*tensors)


def test_bases_of_operator_classes(mode: int) -> None:
    from mindspore.ops import PrimitiveWithCheck, PrimitiveWithInfer, prim_attr_register
    from mindspore.ops.primitive import Primitive

    class Add(PrimitiveWithInfer):
        @prim_attr_register
        def __init__(self, note: int = 3) -> None:
            self.init_prim_io_names(inputs=["x", "y"], outputs=["z"])

        def infer_shape(self, x: Any, y: Any) -> Any:
            return x

        def infer_dtype(self, x: Any, y: Any) -> Any:
            return y

    class Softmax(PrimitiveWithCheck):
        @prim_attr_register
        def __init__(self, axis: int = 0) -> None:
            pass

        def check_shape(self, x: Any) -> None:
            if len(x) != 1:
                raise ValueError("one axis")

    class Five(PrimitiveWithInfer):
        def __init__(self) -> None:
            super().__init__("Five")

        def infer_value(self, x: Any) -> Any:
            return 5.0

    class Wrong(Add):
        def __init__(self) -> None:
            PrimitiveWithInfer.__init__(self, "Add")

        def infer_shape(self, x: Any, y: Any) -> Any:
            return [7]

    add, softmax = Add(4), Softmax(-1)
    assert add.init_attrs == {"note": 4} and add.name == "Add" and isinstance(add, Primitive)
    assert add.attrs_noted["input_names"] == ["x", "y"]
    assert run(lambda x: add(x, x), X).tolist() == [-2.0, 4.0]
    assert run(lambda x: softmax(x), X).asnumpy().tolist() == pytest.approx([0.047426, 0.952574], rel=1e-4)
    assert run(msnb.grad(lambda x: add(x, x * x).sum()), X).tolist() == [-1.0, 5.0]
    assert Five()(msnb.Tensor(X)).item() == 5.0
    with pytest.raises(ValueError, match="one axis"):
        run(lambda x: softmax(x), X[None])
    with pytest.raises(ValueError, match=r"infer_shape promised \[7\], the result has \[2\]"):
        run(lambda x: Wrong()(x, x), X)
    with pytest.raises(TypeError, match="no operator of msnb has this name"):
        PrimitiveWithInfer("Strange")(msnb.Tensor(X))


def test_a_function_in_the_way_of_a_gradient(mode: int) -> None:
    from mindspore import ops

    def clipped(dx: Any) -> Any:
        return dx if dx.sum() < 1 else dx * 0 + 1

    clip = ops.InsertGradientOf(clipped)
    assert run(clip, X).tolist() == X.tolist()
    assert run(msnb.grad(lambda x: (clip(x) * 3).sum()), X).tolist() == [1.0, 1.0]
    assert run(msnb.grad(lambda x: (clip(x) * -3).sum()), X).tolist() == [-3.0, -3.0]
    with pytest.raises(TypeError, match="callable"):
        ops.InsertGradientOf(3)


def test_functions_of_arrays(mode: int) -> None:
    from mindspore import float32, ops

    both = ops.PyFunc(lambda a, b: (a + b, a * b), [float32, float32], [(2,), ()], [float32, float32], [(2,), (2,)])
    for call in (lambda x, y: both(x, y), lambda x, y: both((x, y))):
        total, product = run(call, X, np.float32(3.0))
        assert (total.tolist(), product.tolist()) == ([2.0, 5.0], [-3.0, 6.0])
    one = ops.PyFunc(np.exp, [float32], [(2,)], [float32], [(2,)])
    assert isinstance(run(one, X), tuple)
    with pytest.raises(TypeError, match=r"PyFunc takes float32\[2\], float32\[\]"):
        run(lambda x: both(x, x), X)
    with pytest.raises(TypeError, match="as many types as shapes"):
        ops.PyFunc(np.exp, [float32], [], [float32], [(2,)])


def test_plain_primitives_of_a_program(mode: int) -> None:
    from mindspore.ops import Primitive, prim_attr_register

    class Times(Primitive):
        """Arguments are attributes by name, and ``__call__`` computes."""

        @prim_attr_register
        def __init__(self, factor: int = 2) -> None:
            self.init_prim_io_names(["x"], ["y"])

        def __call__(self, x: Any) -> Any:
            return x * self.factor

    class HSwish(Primitive):
        """The operator of that name computes it."""

        @prim_attr_register
        def __init__(self) -> None:
            pass

    class Named(Primitive):
        def __init__(self, factor: int) -> None:
            super().__init__("Named")
            self.factor = factor

        def __call__(self, x: Any) -> Any:
            return x * self.factor

    times = Times(3)
    assert run(times, X).tolist() == [-3.0, 6.0] and times.init_attrs == {"factor": 3} and times.name == "Times"
    assert run(Named(5), X).tolist() == [-5.0, 10.0]
    np.testing.assert_allclose(run(HSwish(), X).asnumpy(), [-1 / 3, 5 / 3], rtol=1e-6)
    assert run(Primitive("ReLU"), X).tolist() == [0.0, 2.0] and isinstance(times, Primitive)
    with pytest.raises(TypeError, match="Nothing computes nothing"):
        run(Primitive("Nothing"), X)


def test_an_operator_with_another_init(mode: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from mindspore.ops import Softmax, prim_attr_register

    def __init__(self: Any, axis: int = -1, note: int = 7) -> None:
        assert self.name == "Softmax"
        self.mine = note

    class Rows(Softmax):
        @prim_attr_register
        def __init__(self, rows: bool) -> None:
            super().__init__(0 if rows else -1)

    x = np.float32([[1.0], [1.0]])
    assert run(Rows(True), x).tolist() == [[0.5], [0.5]]
    monkeypatch.setattr(Softmax, "__init__", prim_attr_register(__init__))
    softmax = Softmax(0)
    assert run(softmax, x).tolist() == [[0.5], [0.5]] and softmax.mine == softmax.note == 7
