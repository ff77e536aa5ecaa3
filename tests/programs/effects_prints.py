"""Programs that print, raise and make texts: the same in both modes, in order, in the branch taken, at each call."""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Any

import numpy as np
from effects_register import Box, Part, program

import msnb as ms
from msnb import ops

BOTH = ((1.0,), (-1.0,), (1.0,))


def say(text: str) -> None:
    print("said", text)


def fail(text: str) -> None:
    raise ValueError(text)


# ---- print -------------------------------------------------------------------------------------------------------


@program(*BOTH)
def constant_in_a_branch(box: Box, x: Any) -> Any:
    print("before")
    if x > 0:
        print("positive")
    else:
        print("negative", end="!\n")
    print("after", x, sep=": ")
    return x


@program(*BOTH)
def only_one_branch_prints(box: Box, x: Any) -> Any:
    if x > 0:
        print("positive")
    return x * 2


@program((0.0,), (3.0,), (5.0,))
def print_in_a_while(box: Box, x: Any) -> Any:
    while x < 4:
        print("turn")
        if x > 2:
            print("late", f"{x}")
        x = x + 1
    print("done")
    return x


@program((0.0,), (3.0,))
def print_in_a_counted_loop(box: Box, x: Any) -> Any:
    for i in range(int(x)):
        print("i", i)
    for k in range(2):
        print("k", k)
    return x


@program(*BOTH)
def print_in_a_called_function(box: Box, x: Any) -> Any:
    if x > 0:
        say("a")
        say(f"{x}")
    elif x < -5:
        say("never")
    else:
        say("b")
    return x


@program(*BOTH)
def print_in_and(box: Box, x: Any) -> Any:
    def loud(word: str, value: Any) -> Any:
        print(word)
        return value

    if loud("left", x > 0) and loud("right", x > 5):
        print("both")
    return x


@program(*BOTH)
def print_in_a_ternary(box: Box, x: Any) -> Any:
    def loud(word: str, value: Any) -> Any:
        print(word)
        return value

    return loud("yes", x) if x > 0 else loud("no", -x)


@program(*BOTH)
def print_what_changes_later(box: Box, x: Any) -> Any:
    rows = [1, 2]
    array = np.array([1, 2])
    print(rows, array)
    rows.append(3)
    array += 1
    print(rows, array)
    return x


@program(*BOTH)
def print_an_object(box: Box, x: Any) -> Any:
    print(Part(x), box.part, [x, x], {"x": x}, (1, x))
    return x


@program(*BOTH)
def print_a_parameter_before_and_after(box: Box, x: Any) -> Any:
    print(box.p * 1)
    if x > 0:
        ops.assign(box.p, box.p + 1)
        print("now", box.p * 1)
    print(f"{box.p * 1}")
    return x


@program(*BOTH)
def print_to_a_stream(box: Box, x: Any) -> Any:
    print("a", file=sys.stdout, flush=True)
    if x > 0:
        sys.stdout.write("written\n")
    return x


@program(*BOTH)
def logs(box: Box, x: Any) -> Any:
    log = logging.getLogger("msnb.tests.effects")
    if x > 0:
        log.warning("hot %s", x)
    else:
        log.error("cold")
    return x


@program(*BOTH)
def warns(box: Box, x: Any) -> Any:
    if x > 0:
        warnings.warn("too hot", RuntimeWarning)
    return x


@program((2.0,))
def print_in_nested_branches(box: Box, x: Any) -> Any:
    if x > 0:
        if x > 1:
            print("large")
        else:
            print("small")
        print("end of positive")
    return x


# ---- raise -------------------------------------------------------------------------------------------------------


@program(*BOTH)
def raise_in_a_branch(box: Box, x: Any) -> Any:
    if x > 0:
        raise ValueError(f"got {x}")
    return x


@program(*BOTH)
def raise_first_or_second(box: Box, x: Any) -> Any:
    if x > 0:
        raise TypeError("first")
    raise TypeError("second")


@program(*BOTH)
def raise_after_a_print(box: Box, x: Any) -> Any:
    print("before", x)
    raise KeyError("gone")


@program(*BOTH)
def raise_with_a_tensor(box: Box, x: Any) -> Any:
    raise RuntimeError("value %s" % x, "and {:>8}".format(str(x)))  # noqa: UP031, UP032


@program(*BOTH)
def raise_in_a_called_function(box: Box, x: Any) -> Any:
    if x > 0:
        fail("deep")
    return x


@program(*BOTH)
def python_raises_in_a_branch(box: Box, x: Any) -> Any:
    if x > 0:
        return x + box.table["missing"]
    return x


@program(*BOTH)
def division_by_zero_in_a_branch(box: Box, x: Any) -> Any:
    n = 0
    if x > 0:
        return x + 1 / n
    return x


@program((0.0,), (2.0,), (9.0,))
def raise_in_a_loop(box: Box, x: Any) -> Any:
    while x < 4:
        print("at", x)
        if x > 2:
            raise StopAsyncIteration(f"at {x}")
        x = x + 1
    return x


@program(*BOTH)
def raise_in_both(box: Box, x: Any) -> Any:
    if x > 0:
        raise ValueError("no way out")
    else:
        raise KeyError("no way in")


@program(*BOTH)
def caught_inside_of_the_branch(box: Box, x: Any) -> Any:
    y = x
    if x > 0:
        try:
            fail("inner")
        except ValueError as error:
            print("caught", error)
            y = x * 10
    return y


@program(*BOTH)
def caught_around_everything(box: Box, x: Any) -> Any:
    try:
        fail("always")
    except ValueError as error:
        print("caught", error)
    if x > 0:
        print("go on")
    return x


@program(*BOTH)
def raise_from_another(box: Box, x: Any) -> Any:
    if x > 0:
        try:
            fail("cause")
        except ValueError as cause:
            raise RuntimeError(f"effect {x}") from cause
    return x


@program(*BOTH)
def assert_in_a_branch(box: Box, x: Any) -> Any:
    if x > 0:
        assert x > 5, f"too small: {x}"
    return x


@program(*BOTH)
def checks_in_order(box: Box, x: Any) -> Any:
    if x > 0:
        raise ValueError("first")
    assert x < -5, "second"
    raise KeyError("third")


@program(*BOTH)
def raise_where_the_other_goes_on(box: Box, x: Any) -> Any:
    if x > 0:
        y = box.p
    else:
        raise ValueError("no")
    ops.assign(box.p, box.p * 2)
    return y * 1


# ---- texts -------------------------------------------------------------------------------------------------------


@program(*BOTH)
def texts(box: Box, x: Any) -> Any:
    return "{} {k}".format(x, k=x), "%s|%r" % (x, x), str(x), repr(x), f"{x}", "{:>4}".format(3)  # noqa: UP031, UP032


@program(*BOTH)
def texts_of_containers(box: Box, x: Any) -> Any:
    return str([x, 1]), repr((x,)), f"{ {'k': x} }", ", ".join([str(x), "b"]), (f"{x}" + "k").upper(), f"{x}"[:2]


@program(*BOTH)
def text_in_an_attribute(box: Box, x: Any) -> Any:
    box.table["text"] = f"v {x}"
    return format(x), f"<{str(x):>6}>"


# ---- jumps, nesting, gradients -----------------------------------------------------------------------------------


@program((0.0,), (3.0,), (9.0,))
def break_and_continue(box: Box, x: Any) -> Any:
    while x < 6:
        x = x + 1
        if x == 2:
            print("skip")
            continue
        if x > 4:
            print("leave")
            break
        print("turn", x)
    else:
        print("ran out")
    return x


@program((0.0,), (3.0,), (9.0,))
def return_out_of_a_loop(box: Box, x: Any) -> Any:
    while x < 6:
        print("at", x)
        if x > 3:
            print("return")
            return x * 10
        x = x + 1
    print("end")
    return x


@program((2.0,), (0.0,))
def loops_in_loops(box: Box, x: Any) -> Any:
    for i in range(int(x)):
        print("row", i)
        for k in range(i + 1):
            if k > 0:
                print("cell", i, k)
            box.count += 1
    return x


@program(*BOTH)
def a_gradient_of_what_prints(box: Box, x: Any) -> Any:
    def loss(w: Any) -> Any:
        print("forward")
        if w > 0:
            print("positive", w)
        return w * w

    print("before")
    found = ms.grad(loss)(x)
    print("after", found)
    return found


@program(*BOTH)
def with_a_context(box: Box, x: Any) -> Any:
    class Manager:
        def __enter__(self) -> Any:
            print("enter")
            return self

        def __exit__(self, *error: Any) -> None:
            print("exit")

    if x > 0:
        with Manager():
            print("inside")
    return x


@program(*BOTH)
def a_global_and_an_enclosing_variable(box: Box, x: Any) -> Any:
    seen = 0

    def note() -> None:
        nonlocal seen
        global TOLD
        seen += 1
        if x > 0:
            TOLD = 1
            seen = seen + 10

    note()
    note()
    print("seen", seen)
    return x


@program((1.0,), (-1.0,), (7.0,))
def elif_chain_with_errors(box: Box, x: Any) -> Any:
    if x > 5:
        print("large")
        fail("too large")
    elif x > 0:
        print("fine")
    else:
        assert x > 0, f"{x} is not positive"
    print("end")
    return x


@program(*BOTH)
def an_error_class_of_its_own(box: Box, x: Any) -> Any:
    if x > 0:
        raise Mine(x, note="n")
    return x


class Mine(Exception):
    def __init__(self, value: Any, note: str = "") -> None:
        super().__init__(f"{value} {note}")
        self.note = note


TOLD = 0
