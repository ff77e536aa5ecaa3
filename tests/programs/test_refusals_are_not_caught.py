"""What only a capture cannot do is seen by no handler of the program, and nothing half-set is read."""

import contextlib

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, ops
from msnb.base.errors import CaptureError, UndefinedNameError


def run(program, value):
    try:
        return repr(program(Tensor(np.array(value, np.float32))))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


# ---- try statements and managers around what needs values -----------------------------------------------------------


def array_in_a_try(x):
    try:
        return float(x.sum().asnumpy())
    except Exception:
        return "caught"


def any_handler(x):
    try:
        return float(np.sin(x).sum())
    except:  # noqa: E722
        return "caught"


def suppressed(x):
    with contextlib.suppress(Exception):
        return float(x.sum().asnumpy())
    return "suppressed"


class Swallow:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


def swallowed(x):
    with Swallow():
        return x.tolist()
    return "swallowed"


def in_a_call(x):
    def value():
        return {0: 1, 2: 2}[int(x.sum())]

    try:
        return value()
    except (KeyError, TypeError):
        return "caught"


def own_error(x):
    try:
        raise ValueError("mine")
    except ValueError as error:
        return x.sum(), str(error)


def shapes(x):
    try:
        return x + ops.zeros((3, 5))
    except ValueError:
        return x.sum()


TRIED = [array_in_a_try, any_handler, suppressed, swallowed, in_a_call, own_error, shapes]


@pytest.mark.parametrize("program", TRIED, ids=lambda f: f.__name__)
def test_both_modes(program):
    compiled = ms.jit(program)
    for value in ([2.0, -2.0], [1.0, 1.0]):
        assert run(compiled, value) == run(program, value)


def test_a_refused_branch_is_told():
    @ms.jit
    def program(x):
        rows = []
        try:
            if x > 2:
                rows.append(x)
            return len(rows)
        except Exception:
            return -1

    with pytest.raises(CaptureError, match="both must leave the same items"):
        program(Tensor(3.0))


# ---- attributes that one branch or a loop sets ----------------------------------------------------------------------


class Thing:
    pass


def read(x):
    thing = Thing()
    if x > 2:
        thing.v = x * 2
    return thing.v


def has(x):
    thing = Thing()
    if x > 2:
        thing.v = x * 2
    return hasattr(thing, "v")


def default(x):
    thing = Thing()
    if x > 2:
        thing.v = x * 2
    return getattr(thing, "v", 5)


def listed(x):
    thing = Thing()
    if x > 2:
        thing.v = 1
    return len(vars(thing))


def space(x):
    thing = Thing()
    if x > 2:
        thing.v = 1
    return thing.__dict__


def returned(x):
    thing = Thing()
    if x > 2:
        thing.v = 1
    return thing


def nested(x):
    thing = Thing()
    if x > 2:
        thing.v = 1
    if x > 2:
        return thing.v
    return 3


def handled(x):
    thing = Thing()
    if x > 2:
        thing.v = 1
    try:
        return thing.v
    except Exception:
        return 9


def deleted(x):
    thing = Thing()
    thing.v = 3
    if x > 2:
        del thing.v
    return hasattr(thing, "v")


def in_a_loop(x):
    thing, i = Thing(), 0
    while i < x:
        thing.v = getattr(thing, "v", 10) + i
        i += 1
    return thing.v


def local(x):
    if x > 2:
        y = 1
    return "y" in locals()


@pytest.mark.parametrize(
    "program", [has, default, listed, space, returned, deleted, in_a_loop, local],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_what_may_not_be_set_is_refused(program):
    for value in (0.0, 3.0):
        with pytest.raises(UndefinedNameError, match="may have no value here"):
            ms.jit(program)(Tensor(value))


@pytest.mark.parametrize("program", [read, nested], ids=lambda f: f.__name__)
def test_what_may_not_be_set_is_checked_when_it_is_read(program):
    compiled = ms.jit(program, fullgraph=True)
    for value in (0.0, 3.0):
        assert run(compiled, value) == run(program, value)


def test_a_try_must_not_see_the_check():
    with pytest.raises(CaptureError, match="inside a try statement that would see the error"):
        ms.jit(handled)(Tensor(3.0))


def test_what_is_set_again_is_there():
    @ms.jit
    def program(x):
        thing = Thing()
        if x > 2:
            thing.v = 1
        thing.v = 2
        return thing.v, hasattr(thing, "v"), vars(thing)

    assert program(Tensor(0.0)) == program(Tensor(3.0)) == (2, True, {"v": 2})


def test_a_finally_on_the_way_out_hides_no_refusal():
    def program(x):
        rows, y = [], x + 1
        try:
            try:
                while x.sum() < 9:
                    rows.append(y)
                    x = x * 2
            finally:
                y = x if x[0] > y[1] else y * 2
        finally:
            y[0] = 1.0
        return y

    with pytest.raises(CaptureError, match="items before the loop"):
        ms.jit(program, fullgraph=True)(Tensor(np.array([1, 2], np.float32)))


def test_a_loop_that_sets_an_attribute_must_have_run():
    @ms.jit
    def program(x):
        thing, i = Thing(), 0
        while i < x:
            thing.v = i
            i += 1
        return thing.v

    assert program(Tensor(3.0)) == 2
    with pytest.raises(AttributeError, match="'Thing' object has no attribute 'v'"):
        program(Tensor(0.0))


def test_a_loop_does_not_make_attributes_outside():
    held = Thing()

    @ms.jit
    def program(x):
        i = 0
        while i < x:
            held.v = i
            i += 1
        return i

    with pytest.raises(CaptureError, match="exists after the loop if that runs"):
        program(Tensor(0.0))
    assert not hasattr(held, "v")


# ---- sizes that the data tell, numbers of the graph ------------------------------------------------------------------


class Held:
    n = 0


def as_state(x):
    Held.n = len(x[x > 0])
    return Held.n


SIZES = [
    lambda x: len(x[x > 0]),
    lambda x: x[x > 0].shape,
    lambda x: {"n": x[x > 0].size, "l": [len(x[x > 0])]},
    lambda x: f"{len(x[x > 0])} {x[x > 0].shape}",
    lambda x: [i * 2 for i in range(len(x[x > 0]))],
    lambda x: ms.Tensor(len(x[x > 0])),
    lambda x: (isinstance(len(x[x > 0]), int), type(len(x[x > 0])) is int),
    as_state,
    lambda x: x[x > 0] / len(x[x > 0]),
    lambda x: (round(float(x.sum())), round(float(x.sum()), 1), round(int(x.sum()))),
]


@pytest.mark.parametrize("program", SIZES, ids=range(len(SIZES)))
def test_sizes_that_the_data_tell(program):
    compiled = ms.jit(program)
    for value in ([1.0, -2.0, 3.25], [-1.0, 2.0, -3.0]):
        assert run(compiled, value) == run(program, value)


def test_print_of_such_a_size(capsys):
    @ms.jit
    def program(x):
        y = x[x > 0]
        print(len(y), y.shape)
        return y

    assert program(Tensor([1.0, -2.0, 3.0])).asnumpy().tolist() == [1.0, 3.0]
    assert capsys.readouterr().out == "2 (2,)\n"
