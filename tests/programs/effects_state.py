"""Programs that write: Parameters, tensors, objects, containers and NumPy arrays, and the numbers they give back."""

from __future__ import annotations

import heapq
import queue
from typing import Any

import numpy as np
from effects_register import Box, program, refused

import msnb as ms
from msnb import ops

BOTH = ((1.0,), (-1.0,), (1.0,))


def fail(text: str) -> None:
    raise ValueError(text)


# ---- state -------------------------------------------------------------------------------------------------------


@program(*BOTH)
def assigned_in_a_branch(box: Box, x: Any) -> Any:
    out = box.q * 1
    if x > 0:
        ops.assign(box.p, box.q)
        out = box.p
    return out * 1


@program(*BOTH)
def one_of_two_then_assigned(box: Box, x: Any) -> Any:
    if x > 0:
        a = box.p
    else:
        a = box.q
    ops.assign(box.p, box.p * 3)
    return a * 1


@program(*BOTH)
def one_of_two_is_written(box: Box, x: Any) -> Any:
    if x > 0:
        a = box.p
    else:
        a = box.q
    a[0] = 100.0
    return a * 1, box.p * 1


@program((0.0,), (5.0,), (2.0,))
def assigned_in_a_loop(box: Box, x: Any) -> Any:
    out = box.q * 1
    while x < 3:
        ops.assign(box.p, box.p + 1)
        out = box.p
        x = x + 1
    return out * 1


@program((0.0,), (5.0,))
def assigned_after_a_loop(box: Box, x: Any) -> Any:
    h = box.p
    while x < 3:
        h = h * 2
        x = x + 1
    ops.assign(box.p, h)
    return h * 1


@program((3.0,), (0.0,))
def assigned_in_a_counted_loop(box: Box, x: Any) -> Any:
    for i in range(int(x)):
        if i > 0:
            box.p += 1
    return box.p * 1


@program(*BOTH)
def a_parameter_in_a_ternary(box: Box, x: Any) -> Any:
    a = box.p if x > 0 else box.q
    ops.assign(box.q, box.p)
    return a * 1


@program(*BOTH)
def a_parameter_of_its_own(box: Box, x: Any) -> Any:
    own = ms.Parameter(ms.Tensor([10.0, 20.0]), name="own")
    if x > 0:
        ops.assign(own, box.q)
    own += 1
    return own * 1


@program((0.0,), (5.0,))
def a_parameter_of_each_turn(box: Box, x: Any) -> Any:
    total = box.p * 0
    while x < 3:
        own = ms.Parameter(ms.Tensor([1.0, 2.0]), name="own")
        own += box.p
        total = total + own
        x = x + 1
    return total


@program(*BOTH)
def a_parameter_of_a_tensor(box: Box, x: Any) -> Any:
    own = ms.Parameter(x * 2, name="own")
    own *= 3
    return own * 1


@program(*BOTH)
def the_value_of_a_parameter(box: Box, x: Any) -> Any:
    before = box.p.value() * 1
    ops.assign(box.p, box.p + 1)
    return before, box.p.value() * 1


@program(*BOTH)
def a_tensor_argument(box: Box, x: Any) -> Any:
    y = ops.zeros((2,))
    if x > 0:
        y[0] = 5.0
        a = y
    else:
        a = y + 2
    y[1] = 6.0
    return a * 1, y


@program(*BOTH)
def attributes_in_a_branch(box: Box, x: Any) -> Any:
    if x > 0:
        box.count = 5
        box.part.value = 1
    else:
        box.count += 1
    return x


@program(*BOTH)
def items_in_a_branch(box: Box, x: Any) -> Any:
    if x > 0:
        box.table["a"] = 5
        box.rows.append(1)
    else:
        box.table["a"] = 6
        box.rows.append(2)
    return x


@program(*BOTH)
def only_one_branch_writes_an_item(box: Box, x: Any) -> Any:
    box.table["n"] = box.count
    box.rows = [*box.rows, 1]
    if x > 0:
        box.table["a"] = box.table["a"] + 5
        box.rows[0] = 8
    return x


@program((1.0,), (-1.0,), (-1.0,), (1.0,))
def only_one_branch_writes_unread(box: Box, x: Any) -> Any:
    global WORD
    if x > 0:
        box.part.value = 2
        box.table["a"] = 3
        WORD = 4
    else:
        box.count = 9
    return x


@program((0.0,), (5.0,), (1.0,))
def written_in_a_loop_unread(box: Box, x: Any) -> Any:
    while x < 3:
        box.count = x * 2
        x = x + 1
    return x


@program(*BOTH)
def an_array_outside(box: Box, x: Any) -> Any:
    y = x + box.array.sum()
    box.array[0] = 9
    box.array += 1
    box.array.sort()
    return y, x + ms.Tensor(box.array)


@program(*BOTH)
def an_array_inside_of_a_branch(box: Box, x: Any) -> Any:
    if x > 0:
        a = np.zeros(2)
        a += 3
        a[0] = 1
        y = ms.Tensor(a)
    else:
        y = ops.zeros((2,), ms.float64)
    return y


@program(*BOTH)
def code_of_others_changes_a_list(box: Box, x: Any) -> Any:
    heapq.heappush(box.rows, 3)
    heapq.heappush(box.rows, 1)
    own = [4, 2]
    heapq.heapify(own)
    return x + box.rows[0], own


@program(*BOTH)
def code_of_others_changes_an_array(box: Box, x: Any) -> Any:
    own = np.arange(3.0)
    np.copyto(own[1:], 7.0)
    np.negative(box.array, out=box.array)
    return x + ms.Tensor(own)


@program(*BOTH)
def an_array_of_each_call(box: Box, x: Any) -> Any:
    return np.arange(3), x


@program(*BOTH)
def an_array_beside_an_error(box: Box, x: Any) -> Any:
    a = np.array([1, 2])
    if x > 0:
        raise ValueError("no")
    else:
        a += 1
    return x + ms.Tensor(a)


# ---- numbers -----------------------------------------------------------------------------------------------------


@program(*BOTH)
def python_numbers(box: Box, x: Any) -> Any:
    return int(x), float(x), bool(x), not bool(x), int(x) + 2, int(x) > 0, int(x) / 4


@program(*BOTH)
def a_number_of_two(box: Box, x: Any) -> Any:
    k = 1
    if x > 0:
        k = 2
    box.count = k
    return k, x


@program(*BOTH)
def identity_of_numbers(box: Box, x: Any) -> Any:
    a, b = box.count, box.table["a"]
    return a is b, a is not b


# ---- refused -----------------------------------------------------------------------------------------------------


@refused("a NumPy array is changed in place in a branch")
def array_in_a_branch(box: Box, x: Any) -> Any:
    a = np.array([1, 2])
    if x > 0:
        a += 10
    return x + ms.Tensor(a)


@refused("a NumPy array is changed in place in a branch")
def view_in_a_branch(box: Box, x: Any) -> Any:
    a = box.array[:2]
    if x > 0:
        a.sort()
    return x + ms.Tensor(a)


@refused("a NumPy array is changed in place in a loop")
def array_in_a_loop(box: Box, x: Any) -> Any:
    a = np.array([0])
    while x < 3:
        a += 1
        x = x + 1
    return ms.Tensor(a)


@refused("is a list that is written to")
def one_of_two_lists(box: Box, x: Any) -> Any:
    left, right = [x], [x + 1]
    a = left if x > 0 else right
    a.append(x)
    return left, right


@program((0.0,), (5.0,))
def a_value_of_an_unknown_turn(box: Box, x: Any) -> Any:
    out = box.q * 1
    total = box.q * 1
    while x < 3:
        ops.assign(box.p, box.p + 1)
        total = total + out
        out = box.p
        x = x + 1
    return total


@refused("inside a try statement that would see the error")
def caught_outside_of_the_branch(box: Box, x: Any) -> Any:
    try:
        if x > 0:
            fail("inner")
        y = x
    except ValueError:
        y = x * 10
    return y


@refused("inside an and, or, or if expression")
def raise_in_a_ternary(box: Box, x: Any) -> Any:
    return fail("inner") if x > 0 else x


@refused("exists after one branch and not after the other")
def deleted_in_a_branch(box: Box, x: Any) -> Any:
    if x > 0:
        del box.count
    return x


@refused("is called where a tensor decides whether it runs")
def an_opaque_object_in_a_branch(box: Box, x: Any) -> Any:
    if x > 0:
        QUEUE.put(1)
    return x


@refused("items after the if branch")
def code_of_others_in_a_branch(box: Box, x: Any) -> Any:
    if x > 0:
        heapq.heappush(box.rows, 1)
    return x


QUEUE = queue.SimpleQueue()
WORD = 0


@refused("inside a try statement that would see the error")
def an_assert_that_is_caught(box: Box, x: Any) -> Any:
    try:
        assert x > 0
    except AssertionError:
        x = x * 10
    return x
