"""What only graph mode refuses: it must know shapes and structure before it knows values."""

from __future__ import annotations

from typing import Any

import numpy as np
from wrong_operations import V, X, of
from wrong_register import both_modes, only_graph

import msnb as ms
from msnb import ops
from msnb.base.errors import (
    BranchTypeError,
    CaptureError,
    ConcretizationError,
    DTypeError,
    ShapeError,
    UndefinedNameError,
    UnsupportedSyntaxError,
)

# ---- values that do not exist yet ------------------------------------------------------------------------------------


@only_graph(ConcretizationError, "the value of this tensor (f32[2,3]) is not known while the function is captured.", X)
def asks_for_numpy(x: Any) -> Any:
    return ms.Tensor(x.asnumpy() * 2)  # <- here: x.asnumpy


@only_graph(ConcretizationError, "the value of this tensor (f32[2,3]) is not known while the function is captured.", X)
def asks_for_a_list(x: Any) -> Any:
    return x * len(x.tolist())  # <- here: x.tolist


@only_graph(ConcretizationError, "the value of this tensor (f32[2,3]) is not known while the function is captured.", X)
def calls_numpy(x: Any) -> Any:
    return ms.Tensor(np.exp(x))  # <- here: np.exp(x)


@only_graph(
    ConcretizationError,
    "Python needs the value of a tensor as an index or size, and it is not known while the function is captured.",
    X,
)
def size_from_a_tensor(x: Any) -> Any:
    n = (x[:, 0] == x[:, 0]).sum()  # what only the data tell; an integer that is given would be read, and guarded
    return ops.zeros((n, 3)) + x  # <- here: ops.zeros((n, 3))


@only_graph(
    ConcretizationError,
    "what this text says needs the value of a tensor, which is not known while the function is captured.",
    X,
    lambda: ms.Tensor(1),
)
def texts_indexed_by_a_tensor(x: Any, n: Any) -> Any:
    texts = ["sum", "mean"]
    return getattr(x, texts[n])()  # <- here: getattr(x, texts[n])


@only_graph(
    ConcretizationError,
    "going through a range whose bound is a tensor outside of a for statement needs the value of a "
    "tensor, which is not known while the function is captured.",
    X,
    lambda: ms.Tensor(3),
)
def list_of_a_tensor_range(x: Any, n: Any) -> Any:
    return [x * i for i in range(n)][0]  # <- here: [x * i for i in range(n)]


@only_graph(
    ConcretizationError,
    "Python needs the value of a tensor as an index or size, and it is not known while the function is captured.",
    X,
)
def axis_from_a_tensor(x: Any) -> Any:
    axis = (x[0, :1] == x[0, :1]).sum()
    return x.sum(axis=int(axis))  # <- here


# ---- branches that differ --------------------------------------------------------------------------------------------


@only_graph(
    ShapeError,
    "y is a tensor f32[2,3] after the if branch and a tensor f32[3] after the else branch; a tensor "
    "decides which runs, so both must agree.",
    X,
)
def branches_of_two_shapes(x: Any) -> Any:
    if x.sum() > 0:
        y = x
    else:
        y = x.sum(0)
    return y  # <- here: y


@only_graph(
    DTypeError,
    "y is a tensor f32[2,3] after the if branch and a tensor i32[2,3] after the else branch; a tensor "
    "decides which runs, so both must agree.",
    X,
)
def branches_of_two_dtypes(x: Any) -> Any:
    if x.sum() > 0:
        y = x
    else:
        y = x.astype(ms.int32)
    return y  # <- here: y


@only_graph(
    ShapeError,
    "the return value is a tensor f32[2,3] after the if branch and a tensor f32[] after the else branch; "
    "a tensor decides which runs, so both must agree.",
    X,
)
def returns_of_two_shapes(x: Any) -> Any:
    if x.sum() > 0:  # <- here: x.sum() > 0
        return x
    return x.sum()


@only_graph(
    BranchTypeError,
    "the return value is a tuple after the if branch and a tensor f32[2,3] after the else branch; a "
    "tensor decides which runs, so both must agree.",
    X,
)
def returns_a_pair_or_one(x: Any) -> Any:
    if x.sum() > 0:  # <- here: x.sum() > 0
        return x, x
    return x


@only_graph(
    CaptureError,
    "the return value is a tensor f32[2,3] after the if branch and None after the else branch; a tensor "
    "decides which runs, so both must agree.",
    X,
)
def returns_none_sometimes(x: Any) -> Any:
    if x.sum() > 0:  # <- here: x.sum() > 0
        return x


@only_graph(
    ConcretizationError,
    "what this text says needs the value of a tensor, which is not known while the function is captured.",
    X,
)
def length_of_one_of_two_strings(x: Any) -> Any:
    if x.sum() > 0:
        name = "plus"
    else:
        name = "minus"
    return x * len(name)  # <- here: len(name)


@only_graph(
    CaptureError,
    "name is the Python str 'plus' after the if branch and None after the else branch; "
    "a tensor decides which runs, so both must agree.",
    X,
)
def branches_of_a_string_and_none(x: Any) -> Any:
    name = None
    if x.sum() > 0:
        name = "plus"
    return x * 2, name  # <- here: name


@only_graph(
    ShapeError,
    "the value of 'if else' is a tensor f32[2,3] after the if branch and a tensor f32[3] after the else "
    "branch; a tensor decides which runs, so both must agree.",
    X,
)
def ternary_of_two_shapes(x: Any) -> Any:
    return x if x.sum() > 0 else x[0]  # <- here


@only_graph(
    UndefinedNameError,
    "'y' may have no value here: only the if branch gives it one (line -1), and a tensor decides which runs.",
    X,
)
def name_of_one_branch(x: Any) -> Any:
    if x.sum() > 0:
        y = [x * 2]
    return y  # <- here


@only_graph(
    UndefinedNameError,
    "'y' may have no value here: only the else branch gives it one (line -3), and a tensor decides which runs.",
    X,
)
def name_beside_a_branch_that_returns(x: Any) -> Any:
    if x.sum() < 0:
        pass
    elif x.sum() > 1:
        y = [x * 2]
    else:
        return x
    return y  # <- here


@only_graph(
    UndefinedNameError,
    "'y' may have no value here: only the else branch gives it one (line -1), and a tensor decides which runs.",
    X,
)
def name_beside_a_branch_that_continues(x: Any) -> Any:
    for i in range(2):
        if x.sum() > 1:
            y = [x]
        elif x.sum() > i:
            continue
        else:
            y = [x - 1]
    return y  # <- here


@only_graph(
    UndefinedNameError,
    "'y' may have no value here: only the else branch gives it one (line -2), and a tensor decides which runs.",
    X,
)
def name_of_the_other_branch(x: Any) -> Any:
    if x.sum() < 0:
        z = x
    else:
        y = [x * 2]
        z = y[0]
    return z + y[0]  # <- here: y


@only_graph(
    CaptureError,
    "the list has 2 items after the if branch and 1 after the else branch; a tensor decides which runs, "
    "so both must leave the same items.",
    X,
)
def list_grows_in_a_branch(x: Any) -> Any:
    found = [x]
    if x.sum() > 0:  # <- here: x.sum() > 0
        found.append(x * 2)
    return found[0]


# ---- loops that change -----------------------------------------------------------------------------------------------


@only_graph(
    ShapeError,
    "x is a tensor f32[3] before the loop and a tensor f32[6] after a turn of it; a tensor decides how "
    "often the loop runs, so it must stay the same.",
    V,
)
def loop_changes_a_shape(x: Any) -> Any:
    n = x.sum()
    while n > 0:  # <- here: n > 0
        x = ops.concat((x, x))
        n = n - 5
    return x


@only_graph(
    DTypeError,
    "x is a tensor f32[3] before the loop and a tensor f64[3] after a turn of it; a tensor decides how "
    "often the loop runs, so it must stay the same.",
    V,
)
def loop_changes_a_dtype(x: Any) -> Any:
    n = x.sum()
    while n > 0:  # <- here: n > 0
        x = x.astype(ms.float64) * 2
        n = n - 5
    return x


@only_graph(
    CaptureError,
    "last is None before the loop and a tensor f32[3] after a turn of it; a tensor decides how often the "
    "loop runs, so it must stay the same.",
    V,
)
def loop_changes_a_kind(x: Any) -> Any:
    n, last = x.sum(), None
    while n > 0:  # <- here: n > 0
        last = x * 2
        n = n - 5
    return last


@only_graph(
    CaptureError,
    "the list has 1 items before the loop and 2 items after a turn of it; a tensor decides how often the "
    "loop runs, so it must keep its size.",
    V,
)
def list_grows_in_a_loop(x: Any) -> Any:
    found, n = [x], x.sum()
    while n > 0:  # <- here: n > 0
        found.append(x * n)
        n = n - 5
    return found[0]


def halved(x: Any) -> Any:
    if x.sum() < 1:
        return x
    return halved(ops.concat((x, x[:1])) / 4)  # <- here


@only_graph(
    CaptureError,
    "halved calls itself without end while it is captured.",
    of(4),
    at=halved,
)
def recursion_of_other_shapes(x: Any) -> Any:
    return halved(x)


# ---- syntax ----------------------------------------------------------------------------------------------------------


def parts(x: Any) -> Any:
    if x.sum() > 0:
        yield x  # <- here
    yield x * 2


@only_graph(
    UnsupportedSyntaxError,
    "yield stands in a branch or loop that a tensor decides: a graph cannot hand out values half way.",
    X,
    at=parts,
)
def yield_in_a_branch(x: Any) -> Any:
    return sum(parts(x))


@both_modes(
    UnsupportedSyntaxError,
    "rows is a generator: a compiled function gives its whole result when it returns.",
    X,
)
def results_one_by_one(x: Any) -> Any:
    def rows(v: Any) -> Any:
        yield v

    return list(ms.jit(rows)(x))  # <- here: ms.jit(rows)(x)
