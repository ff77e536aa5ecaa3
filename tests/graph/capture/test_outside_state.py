"""What a program reads of outside objects that no guard sees into is told: it stays as it was at capture."""

from __future__ import annotations

import datetime
import io
import itertools
import os
import pathlib
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms


class Lucky(random.Random):
    """A generator of the user's own class, with attributes."""


class Holder:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(2)


def ones() -> Iterator[float]:
    while True:
        yield 1.0


RNG, PLAIN, LUCKY, STATE = np.random.default_rng(0), random.Random(0), Lucky(3), np.random.RandomState(1)
PATH, DAY = pathlib.Path("no such file"), datetime.date
COUNT, FILE, STEPS, HOLDER, PATTERN = itertools.count(), io.StringIO("1\n2\n"), ones(), Holder(), re.compile("a")


CASES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "generator": (lambda x: x + RNG.normal(), "numpy.random.Generator.normal()"),
    "array": (lambda x: x + ms.Tensor(RNG.normal(size=2)), "numpy.random.Generator.normal()"),
    "held": (lambda x: x + HOLDER.rng.uniform(), "numpy.random.Generator.uniform()"),
    "old state": (lambda x: x + STATE.normal(), "numpy.random.normal()"),
    "random": (lambda x: x + PLAIN.random(), "random.random()"),
    "method in Python": (lambda x: x + PLAIN.gauss(0, 1), "random.gauss()"),
    "subclass": (lambda x: x + LUCKY.random(), "Lucky.random()"),
    "subclass, method in Python": (lambda x: x + LUCKY.gauss(0, 1), "random.gauss()"),
    "iterator": (lambda x: x + next(COUNT), "next() of an object of itertools.count"),
    "its method": (lambda x: x + COUNT.__next__(), "itertools.count.__next__()"),
    "steps": (lambda x: x + next(STEPS), "next() of an object of builtins.generator"),
    "file": (lambda x: x + float(FILE.readline()), "StringIO.readline()"),
    "path": (lambda x: x + PATH.exists(), "Path.exists()"),
    "path of the system": (lambda x: x + os.path.exists("/nowhere"), "os.path.exists()"),
    "environment": (lambda x: x + int(os.environ.get("MSNB_NO_SUCH", 1)), "os.environ.get()"),
    "environment, function": (lambda x: x + int(os.getenv("MSNB_NO_SUCH", "1")), "os.getenv()"),
    "environment, in": (lambda x: x + ("MSNB_NO_SUCH" in os.environ), "os.environ"),
    "folder": (lambda x: x + len(os.listdir(".")), "os.listdir()"),
    "moment": (lambda x: x + DAY.today().year, "datetime.date.today()"),
    "moment of a module": (lambda x: x + datetime.datetime.now().year, "datetime.datetime.now()"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_stays_as_it_was_is_told(case: str, notices: list[str]) -> None:
    fn, name = CASES[case]
    jitted = ms.jit(lambda x: fn(x))
    first, second = (jitted(ms.Tensor([1.0, 2.0])).tolist() for _ in range(2))
    assert first == second
    (text,) = notices
    assert name in text and "does not run again" in text and "test_outside_state.py line" in text


def test_methods_of_values_are_not_told(notices: list[str]) -> None:
    text, numbers, table = "12", [1, 2], {"a": 2}

    def fn(x: ms.Tensor) -> ms.Tensor:
        found = len(PATTERN.findall("aa")) + int(text.zfill(3)) + numbers.index(2) + table.get("a", 0)
        found += len(PATH.with_suffix(".txt").name) + len(os.path.join("a", "b")) + len(os.fspath(PATH))
        found += int(datetime.timedelta(seconds=7).total_seconds()) + DAY(2020, 1, 1).weekday()
        return x + found + int(np.arange(3).sum()) + (2.5).as_integer_ratio()[0]

    more = len("no such file.txt") + len("a/b") + len("no such file") + 7 + 2
    assert ms.jit(fn)(ms.Tensor([1.0])).tolist() == [1.0 + 2 + 12 + 1 + 2 + 3 + 5 + more] and not notices


def test_a_generator_that_the_program_makes_is_its_own(notices: list[str]) -> None:
    def fn(x: ms.Tensor) -> ms.Tensor:
        return x + sum(v for v in (float(i) for i in range(3)))

    assert ms.jit(fn)(ms.Tensor([1.0])).tolist() == [4.0] and not notices
