"""Texts of what holds tensors say the same in a compiled program as in Python."""

from collections import Counter, OrderedDict, defaultdict, namedtuple
from types import SimpleNamespace

import pytest

import msnb as ms

Pair = namedtuple("Pair", "left right")


class Named(dict):
    pass


class CodedError(ValueError):
    def __init__(self, x, code=1):
        super().__init__(x)
        self.code = code


def counted(x):
    found = defaultdict(int)
    found["a"] += x
    return f"{found}"


def written_after(x):
    found = OrderedDict(a=x)
    text = f"{found}"
    found["a"] = x + 1
    return f"{text} {found}"


TEXTS = {
    "ordered": lambda x: f"{OrderedDict(a=x)}",
    "default": counted,
    "own dict": lambda x: f"{Named(a=x)}",
    "counter": lambda x: f"{Counter(a=x)}",
    "mutable": lambda x: f"{ms.mutable({'a': x})}",
    "views": lambda x: f"{dict(a=x).values()} {dict(a=x).items()} {dict(a=x).keys()}",
    "slice": lambda x: f"{slice(x, None)}",
    "error": lambda x: f"{ValueError(x)} {CodedError(x, 3)!r} {str(KeyError(1))}",
    "namespace": lambda x: f"{SimpleNamespace(a=x)}",
    "frozen": lambda x: f"{frozenset([x])} { {x} }",
    "named": lambda x: f"{Pair(x, 2)}",
    "nested": lambda x: f"{[OrderedDict(a=[x])]} {Pair(slice(x), {1: x})!r}",
    "percent": lambda x: "%s %r" % (OrderedDict(a=x), Pair(x, x)),  # noqa: UP031
    "written": written_after,
    "join map": lambda x: ",".join(map(str, [x, x + 1])),
    "join generator": lambda x: "-".join(f"{v}" for v in OrderedDict(a=x).values()),
    "join strings": lambda x: ",".join(c for c in "abc"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_program_says_what_python_says(name):
    compiled = ms.jit(TEXTS[name])
    for number in (2.0, 3.0):
        x = ms.Tensor(number)
        assert compiled(x) == TEXTS[name](x)


def test_printed_containers_have_the_values_of_the_call(capfd):
    @ms.jit
    def told(x):
        print(OrderedDict(a=x), SimpleNamespace(b=x * 2))
        return x

    for number in (1.0, 2.0):
        told(ms.Tensor(number))
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all(f"value= {n}.)" in line and f"value= {2 * n}.)" in line for n, line in zip((1, 2), lines))
