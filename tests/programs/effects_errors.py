"""Programs that raise errors of msnb's classes: they are the program's own, and come only where it comes to them."""

from __future__ import annotations

from typing import Any

from effects_register import Box, program, refused

from msnb.base.errors import AttributeValueError, ShapeError

BOTH = ((1.0,), (-1.0,), (1.0,))


class OwnError(ShapeError):
    """A class of the user's that is one of ours."""

    def __init__(self) -> None:
        super().__init__("own")


@program(*BOTH)
def an_error_of_our_classes_in_a_branch(box: Box, x: Any) -> Any:
    if "p" in ("p", "q") and not (x > 0).all():
        raise ShapeError(f"{x} is no size", hint=f"more than {x}")
    return x


@program((1.0,), (2.0,), (4.0,))
def an_error_of_our_classes_in_a_loop(box: Box, x: Any) -> Any:
    while x < 4:
        if x > 1:
            raise AttributeValueError("over")
        x = x + 3
    return x


@program(*BOTH)
def an_error_of_a_class_of_ours_by_its_class(box: Box, x: Any) -> Any:
    if x > 0:
        raise OwnError
    return x


@program(*BOTH, failing=True)
def our_error_after_a_print(box: Box, x: Any) -> Any:
    print("first", x)
    raise ShapeError("always")


@program(*BOTH)
def an_error_found_by_us_is_stated_again(box: Box, x: Any) -> Any:
    if x > 0:
        try:
            x.reshape(7)
        except ShapeError as error:
            raise error
    return x


@refused("inside a try statement that would see the error")
def our_error_caught_outside_of_the_branch(box: Box, x: Any) -> Any:
    try:
        if x > 0:
            raise ShapeError("inner")
        y = x
    except ValueError:
        y = x * 10
    return y
