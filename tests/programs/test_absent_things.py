"""What a compiled program did not find (an attribute, an entry, an item, a name) is looked for again at each call."""

import pytest

import msnb as ms
from msnb import Tensor, nn


class Held:
    pass


HELD, ROWS, TABLE = Held(), [1, 2], {"a": 1}


class Network(nn.Cell):
    def construct(self, x):
        return x * 2 if hasattr(self, "flag") else x


NETWORK = Network()


def asked(x):
    return x * 2 if hasattr(HELD, "flag") else x


def tried(x):
    try:
        return x * HELD.flag
    except AttributeError:
        return x * 7


def of_the_class(x):
    return x * 2 if hasattr(type(HELD), "shared") else x


def of_a_network(x):
    return NETWORK(x)


def by_default(x):
    return x * getattr(HELD, "flag", 5)


def an_item(x):
    try:
        return x * ROWS[3]
    except IndexError:
        return x * 7


def an_entry(x):
    try:
        return x * TABLE["z"]
    except KeyError:
        return x * 7


def a_name(x):
    try:
        return x * LATER
    except NameError:
        return x * 7


def unpacked(x):
    try:
        _, b = ROWS
        return x * b
    except ValueError:
        return x * 7


def deleted(x):
    if hasattr(HELD, "flag"):
        del HELD.flag
        return x * 2
    return x


PROGRAMS = [asked, tried, of_the_class, of_a_network, by_default, an_item, an_entry, a_name, unpacked, deleted]


def put_in():
    HELD.flag = NETWORK.flag = Held.shared = 3
    ROWS[:], TABLE["z"] = [1, 2, 3, 9], 4
    globals()["LATER"] = 5


def take_out():
    for owner, name in ((HELD, "flag"), (NETWORK, "flag"), (Held, "shared")):
        if name in vars(owner):
            delattr(owner, name)
    ROWS[:] = [1, 3]
    TABLE.pop("z", None)
    globals().pop("LATER", None)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_both_modes(program):
    found = []
    for run in (program, ms.jit(program)):
        take_out()
        told = []
        for change in (None, put_in, None, take_out, None, put_in, take_out):
            if change is not None:
                change()
            told.append(float(run(Tensor(1.0))))
        found.append(told)
    take_out()
    assert found[0] == found[1]
