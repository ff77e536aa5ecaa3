"""Python's own mistakes around tensors, and where the line is when the mistake is deep inside."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from wrong_operations import INTS, V, X, of
from wrong_register import wrong

import msnb as ms
from msnb import ops
from msnb.base.errors import ArgumentError, DTypeError, ShapeError
from msnb.base.missing_names import MissingName

AMBIGUOUS = (
    "The truth value of an array with more than one element is ambiguous: "
    "a tensor with shape [2, 3] has none; use .any() or .all()."
)

# ---- names, arguments, operands --------------------------------------------------------------------------------------


@wrong(NameError, "name 'y' is not defined", X)
def undefined_name(x: Any) -> Any:
    return x + y  # noqa: F821  # <- here: y


@wrong(UnboundLocalError, "cannot access local variable 'y' where it is not associated with a value", X)
def used_before_it_is_set(x: Any) -> Any:
    z = x + y  # noqa: F821  # <- here: y
    y = z
    return y


@wrong(MissingName, "a Tensor has no attribute 'softmaxx'; did you mean softmax?", X)
def unknown_method(x: Any) -> Any:
    return x.softmaxx()  # <- here: x.softmaxx


@wrong(MissingName, "module 'msnb.ops' has no attribute 'reluu'; did you mean relu or rrelu or relu6?", X)
def unknown_function(x: Any) -> Any:
    return ops.reluu(x)  # <- here: ops.reluu


@wrong(ArgumentError, "add: y is None; an operand is a tensor, a number, an array or a list of numbers.", X)
def none_operand(x: Any) -> Any:
    return x + None  # <- here


@wrong(ArgumentError, "multiply: x is the str '2'; an operand is a tensor, a number, an array or a list of numbers.", X)
def string_operand(x: Any) -> Any:
    return "2" * x  # <- here


@wrong(ArgumentError, "add: y is None; an operand is a tensor, a number, an array or a list of numbers.", X)
def none_into_an_op(x: Any) -> Any:
    return ops.add(x, None)  # <- here


@wrong(ArgumentError, "exp: x is the str 'x'; an operand is a tensor, a number, an array or a list of numbers.", X)
def string_into_an_op(x: Any) -> Any:
    return ops.exp("x")  # <- here


@wrong(ArgumentError, "add: y is a dict; an operand is a tensor, a number, an array or a list of numbers.", X)
def dict_into_a_method(x: Any) -> Any:
    return x.add({"a": x})  # <- here


@wrong(ArgumentError, "exp takes the tensors (x), got 2.", X)
def too_many_tensors(x: Any) -> Any:
    return ops.exp(x, x)  # <- here


@wrong(ArgumentError, "add takes the tensors (x, y), got 1.", X)
def too_few_tensors(x: Any) -> Any:
    return ops.add(x)  # <- here


@wrong(ArgumentError, "exp has no attribute 'base'; it takes none.", X)
def wrong_keyword_of_an_op(x: Any) -> Any:
    return ops.exp(x, base=2)  # <- here


@wrong(TypeError, "softmax() got an unexpected keyword argument 'axes'", X)
def wrong_keyword_of_a_function(x: Any) -> Any:
    return ops.softmax(x, axes=1)  # <- here


@wrong(TypeError, "scale() missing 1 required positional argument: 'factor'", X)
def helper_called_with_too_few(x: Any) -> Any:
    return scale(x)  # <- here


@wrong(TypeError, "scale() got an unexpected keyword argument 'by'", X)
def helper_called_with_a_wrong_keyword(x: Any) -> Any:
    return scale(x, by=2)  # <- here


@wrong(TypeError, "'Tensor' object is not callable", X)
def tensor_called(x: Any) -> Any:
    return x(1)  # <- here


@wrong(TypeError, "'NoneType' object is not callable", X)
def none_called(x: Any) -> Any:
    f = None
    return f(x)  # <- here


@wrong(KeyError, "'weight'", X)
def missing_key(x: Any) -> Any:
    table = {"bias": x}
    return table["weight"]  # <- here


@wrong(IndexError, "list index out of range", X)
def list_index(x: Any) -> Any:
    layers = [x, x]
    return layers[2]  # <- here


@wrong(ValueError, "not enough values to unpack (expected 3, got 2)", X)
def unpack_rows(x: Any) -> Any:
    a, b, c = x  # <- here: a, b, c
    return a + b + c


@wrong(ArgumentError, "a 0-d tensor cannot be iterated over.", X)
def iterate_a_number(x: Any) -> Any:
    total = 0.0
    for row in x.sum():  # <- here: for row in x.sum(): | x.sum()
        total = total + row
    return total


@wrong(ArgumentError, "a 0-d tensor has no len().", X)
def length_of_a_number(x: Any) -> Any:
    return len(x.sum()) * x  # <- here: len(x.sum())


@wrong(ShapeError, AMBIGUOUS, X)
def truth_of_many(x: Any) -> Any:
    if x > 0:  # <- here: x > 0
        x = x * 2
    return x


@wrong(ShapeError, AMBIGUOUS, X)
def truth_of_many_in_while(x: Any) -> Any:
    while x < 10:  # <- here: x < 10
        x = x * 2
    return x


@wrong(ShapeError, AMBIGUOUS, X)
def truth_of_many_in_and(x: Any) -> Any:
    return x > 0 and x < 5  # <- here: x > 0 and x < 5 | x > 0


@wrong(ShapeError, AMBIGUOUS, X)
def truth_of_many_in_not(x: Any) -> Any:
    return not x  # <- here


@wrong(ShapeError, AMBIGUOUS, X)
def truth_of_many_in_ternary(x: Any) -> Any:
    return x if x > 0 else -x  # <- here: x > 0 | x if x > 0 else -x


@wrong(ShapeError, AMBIGUOUS, X)
def truth_of_many_in_assert(x: Any) -> Any:
    assert x > 0  # <- here: x > 0 | assert x > 0
    return x


# ---- Python raises ---------------------------------------------------------------------------------------------------


@wrong(ZeroDivisionError, "division by zero", X)
def zero_division(x: Any) -> Any:
    n = 3
    return x * (1 / (n - 3))  # <- here: 1 / (n - 3)


@wrong(AssertionError, "two axes", V)
def assert_on_python(x: Any) -> Any:
    assert x.ndim == 2, "two axes"  # <- here: x.ndim == 2 | assert x.ndim == 2, "two axes"
    return x


@wrong(AssertionError, "must be negative", X)
def assert_on_a_tensor(x: Any) -> Any:
    y = x.sum()
    assert y < 0, "must be negative"  # <- here: y < 0 | assert y < 0, "must be negative"
    return y


class Mine(Exception):
    """An exception of the user."""


@wrong(Mine, "not today", X)
def own_exception(x: Any) -> Any:
    if x.ndim == 2:
        raise Mine("not today")  # <- here
    return x


@wrong(Mine, "too large", X)
def own_exception_on_a_tensor(x: Any) -> Any:
    y = x.sum()
    if y > 3:
        raise Mine("too large")  # <- here
    return y


@wrong(ValueError, "math domain error", X)
def mathematics(x: Any) -> Any:
    return x * math.sqrt(-1.0)  # <- here: math.sqrt(-1.0)


@wrong(RuntimeError, "from within", X)
def caught_and_raised_again(x: Any) -> Any:
    try:
        return x.reshape(7)
    except ValueError:
        raise RuntimeError("from within") from None  # <- here


# ---- deep inside -----------------------------------------------------------------------------------------------------


def scale(x: Any, factor: Any) -> Any:
    return x * factor  # <- here


def twice_removed(x: Any, factor: Any) -> Any:
    return scale(x, factor)


@wrong(ShapeError, "multiply: the shapes [2, 3] and [4] do not broadcast.", X, of(4), at=scale)
def in_a_helper(x: Any, y: Any) -> Any:
    return twice_removed(x, y)


@wrong(ShapeError, "add: the shapes [2, 3] and [4] do not broadcast.", X, of(4))
def in_a_loop(x: Any, y: Any) -> Any:
    for i in range(3):
        if i == 2:
            x = x + y  # <- here
    return x


@wrong(ShapeError, "multiply: the shapes [3] and [4] do not broadcast.", X, of(4))
def in_a_loop_over_a_tensor(x: Any, y: Any) -> Any:
    total = ops.zeros(())
    for row in x:
        total = total + (row * y).sum()  # <- here: row * y
    return total


@wrong(ShapeError, "matmul: the last axis of x has size 3, the axis of y it meets has size 4.", X, of(4))
def in_a_while(x: Any, y: Any) -> Any:
    while x.sum() < 100:
        x = x + (x @ y).sum()  # <- here: x @ y
    return x


@wrong(ShapeError, "multiply: the shapes [2, 3] and [4] do not broadcast.", X, of(4))
def in_a_branch(x: Any, y: Any) -> Any:
    if x.sum() > 0:
        z = (x * y).sum()  # <- here: x * y
    else:
        z = x.sum()
    return z


@wrong(ShapeError, "add: the shapes [2, 3] and [4] do not broadcast.", X, of(4))
def in_a_lambda(x: Any, y: Any) -> Any:
    join = lambda a, b: ops.relu(a) + b  # <- here: ops.relu(a) + b
    return join(x, y)


@wrong(ShapeError, "reshape: f32[2,3] cannot become [4, 2]: it has 6 elements, the new shape 8.", X)
def in_a_comprehension(x: Any) -> Any:
    return ops.stack([x.reshape(n, 2) for n in (3, 4)])  # <- here: x.reshape(n, 2)


@wrong(ShapeError, "subtract: the shapes [2, 3] and [4] do not broadcast.", X, of(4))
def in_a_nested_function(x: Any, y: Any) -> Any:
    def inner(a: Any) -> Any:
        return a - y  # <- here

    return inner(x * 2)


@wrong(ShapeError, "subtract: the shapes [2, 3] and [4] do not broadcast.", X, of(4))
def over_several_lines(x: Any, y: Any) -> Any:
    return ops.add(
        x.exp(),
        x.log() - y,  # <- here: x.log() - y
    )


@wrong(ShapeError, "multiply: the shapes [2, 3] and [4] do not broadcast.", X, of(4))
def after_letters_of_two_bytes(x: Any, y: Any) -> Any:
    größe, länge = x, y
    return ops.exp(größe) + größe * länge  # <- here: größe * länge


@wrong(TypeError, "unsupported operand type(s) for +: 'int' and 'str'", INTS)
def sum_of_a_generator(x: Any) -> Any:
    return ms.Tensor([1, 2]) + sum(n for n in (1, "2"))  # type: ignore[misc]  # <- here: sum(n for n in (1, "2"))


@wrong(ShapeError, "Tensor needs rows of equal length.")
def ragged_list() -> Any:
    return ms.Tensor([[1, 2], [3]])  # <- here


@wrong(DTypeError, "Tensor takes numbers, bools, arrays and nested lists of them, not a list with 'a' in it.")
def tensor_of_words() -> Any:
    return ms.Tensor(["a", "b"])  # <- here


@wrong(ArgumentError, "Tensor needs input_data, or shape and init; the data given are None.")
def tensor_of_none() -> Any:
    return ms.Tensor(None)  # <- here


@wrong(DTypeError, "an array of dtype object has no tensor dtype.", X)
def numpy_of_objects(x: Any) -> Any:
    return x + np.array([None, 1])  # <- here
