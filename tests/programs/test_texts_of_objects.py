"""Texts of a program's own objects say the same in a compiled program as in Python."""

import functools
from collections import ChainMap, UserDict, UserList, deque
from dataclasses import dataclass, field

import pytest

import msnb as ms
from msnb import nn
from msnb.base import source_text
from msnb.graph.capture.frontend import function_source


class Both:
    def __init__(self, x):
        self.x = x

    def __str__(self):
        return f"str of {self.x}"

    def __repr__(self):
        return f"repr of {self.x}"


class OnlyText:
    def __init__(self, x):
        self.x = x

    def __str__(self):
        return f"only {self.x}"


class Quiet:
    """Its ``__repr__`` is for people who debug: no text of a program asks for it."""

    def __init__(self, x):
        self.x = x

    def __str__(self):
        return f"quiet {self.x}"

    def __repr__(self):
        raise RuntimeError("nobody asks")


class Formatted:
    def __init__(self, x):
        self.x = x

    def __format__(self, spec):
        return f"<{spec}> {self.x}"


@dataclass
class Row:
    x: object
    count: int = 3
    rest: list = field(default_factory=list)


@dataclass(frozen=True)
class Hidden:
    x: object
    secret: int = field(default=3, repr=False)


class Problem(Exception):
    def __str__(self):
        return f"problem with {self.args[0]}"


def written_after(x):
    row, texts = Row(x), []
    texts.append(f"{row}")
    row.x = x + 1
    return " ".join([*texts, str(row)])


def caught(x):
    try:
        raise Problem(x)
    except Problem as error:
        return f"{error} {str(error)}"


TEXTS = {
    "conversions": lambda x: f"{Both(x)} {Both(x)!r} {Both(x)!s} {Both(x)!a}",
    "in lists": lambda x: f"{[Both(x)]} {(Both(x),)!r:>40} {str([Both(x)])} {ascii([{1: Both(x)}])}",
    "only str": lambda x: f"{OnlyText(x)} {str(OnlyText(x))}",
    "asked once": lambda x: f"{Quiet(x)} {Quiet(x)!s:>20} " + str(Quiet(x)) + format(Quiet(x)),
    "asked by a template": lambda x: "{} {!s}".format(Quiet(x), Quiet(x)),  # noqa: UP032
    "format method": lambda x: f"{Formatted(x):abc} {Formatted(x)}" + format(Formatted(x), ">3"),
    "template": lambda x: "{} {!r} {!s:>30} {{}}".format(Both(x), Both(x), Both(x)),  # noqa: UP032
    "fields": lambda x: "{p.x} {q[0]} {r[k]} {p.x!s:>20}".format(p=Both(x), q=[x], r={"k": x}),
    "numbered": lambda x: "{0} {1!r} {0}".format(x, Both(x)),  # noqa: UP032
    "nested format": lambda x: "{:{w}.{p}f}".format(x, w=10, p=2),
    "percent": lambda x: "%s %r %s" % (Both(x), Both(x), [Both(x)]),  # noqa: UP031
    "by name": lambda x: "%(a)s %(b)5.2f" % {"a": Both(x), "b": x},  # noqa: UP031
    "dataclass": lambda x: f"{Row(x)} {[Row(x, rest=[x, Row(1)])]!r}",
    "written": written_after,
    "error": caught,
    "holders": lambda x: f"{ChainMap({'a': x}, {'b': Both(x)})} {UserDict(a=x)} {UserList([Both(x)])}",
    "partial": lambda x: f"{functools.partial(max, x, key=Row(x))}",
    "bounded": lambda x: f"{deque([x, Both(x)], maxlen=3)}",
}
WRONG = {
    "spec": lambda x: f"{Both(x):>30}",
    "mixed": lambda x: "{0} {}".format(x, x),  # noqa: F523, F525
    "too few": lambda x: "{} {}".format(x),  # noqa: F524
    "no attribute": lambda x: "{p.y}".format(p=Both(x)),  # noqa: UP032
    "conversion": lambda x: "{!z}".format(x),
    "no strings": lambda x: ",".join([Both(x)]),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_of_objects_is_that_of_python(name):
    compiled = ms.jit(TEXTS[name])
    for number in (2.0, 3.0):
        x = ms.Tensor(number)
        assert compiled(x) == TEXTS[name](x)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_template_is_refused_with_the_words_of_python(name):
    x = ms.Tensor(2.0)
    with pytest.raises(Exception) as expected:
        WRONG[name](x)
    with pytest.raises(type(expected.value)) as found:
        ms.jit(WRONG[name])(x)
    assert str(expected.value).splitlines()[0] in str(found.value)


def test_a_dataclass_is_told_when_its_text_is_gone(monkeypatch):
    monkeypatch.setattr(source_text, "KEPT", {})
    monkeypatch.setattr(function_source, "KEPT", {})
    x = ms.Tensor(2.0)
    assert ms.jit(lambda x: f"{Row(x)} {Hidden(x)} {str([Row(x)])}")(x) == f"{Row(x)} {Hidden(x)} {str([Row(x)])}"


def test_a_dataclass_that_holds_itself():
    def ring(x):
        row = Row(x)
        row.rest.append(row)
        return f"{row}"

    x = ms.Tensor(2.0)
    assert ms.jit(ring)(x) == ring(x)
    row = Row(3.0)

    @ms.jit
    def outside(x):
        return f"{row} {x}"

    for count in (4, 5):
        row.count = count
        assert outside(x) == f"{row} {x}"


def test_the_text_of_a_function_is_found_after_many_others():
    space = {}
    exec("def first(x):\n    return x + 1\n", space)
    for number in range(400):
        exec(f"def passing_{number}(): return {number}", {})
    assert ms.jit(space["first"])(ms.Tensor(2.0)).item() == 3.0


def test_prints_of_objects_come_once(capsys):
    def say(x):
        print("a", Both(x), [Both(x)], Row(x), Quiet(x), sep="|", end="!\n")
        return x + 1

    x = ms.Tensor(2.0)
    say(x)
    eager = capsys.readouterr().out
    ms.jit(say)(x)
    assert capsys.readouterr().out == eager


class ByName(nn.Cell):
    """Finds its parts by names that are written from numbers of its own, which are guarded and not constants."""

    def __init__(self):
        super().__init__()
        self.k = 1
        for i in range(3):
            setattr(self, f"layer{i}", nn.Dense(1, 1, weight_init=float(i + 1), bias_init="zeros"))
        made = {f"l{i}": nn.Dense(1, 1, weight_init=i + 5.0, has_bias=False) for i in range(3)}
        self.cells_by_name = nn.CellDict(made)
        self.table = {"layer1": 2.0, "layer2": 3.0}

    def construct(self, x):
        name = "layer" + str(self.k)
        found = [getattr(self, name)(x), hasattr(self, name), getattr(self, "q" + str(self.k), 5), self.table[name]]
        found += [self.cells_by_name[f"l{self.k}"](x), int(str(self.k)) + 1, float(f"{self.k}.5"), int(name[-1])]
        found += [isinstance(name, str), isinstance(name, (int, list)), type(name) is str]
        found += [name < "z", "z" >= name, sorted([name, "a"])]
        made = {name: x, f"q{self.k}": 1}
        made[f"z{self.k}"] = x + 1
        found += [made, dict(**{name: 5}), name in made, [key for key in made if key.startswith("z")], {name}]
        setattr(self, "kept" + str(self.k), f"{x} {name}")
        return [*found, getattr(self, f"kept{self.k}"), name]


def plain(value):
    if isinstance(value, ms.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list) else value


def test_names_that_are_written_from_numbers():
    found = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        net, x = ByName(), ms.Tensor([[2.0]])
        found.append([plain(net(x))])
        net.k = 2
        found[-1].append(plain(net(x)))
    ms.set_context(mode=ms.PYNATIVE_MODE)
    assert found[0] == found[1] and found[0][0] != found[0][1]
    assert found[0][0][:4] == [[[4.0]], True, 5, 2.0]


def test_a_name_with_a_tensor_in_it_needs_its_value():
    class Net(nn.Cell):
        def construct(self, x):
            return getattr(self, f"layer{x}")

    ms.set_context(mode=ms.GRAPH_MODE)
    with pytest.raises(TypeError, match="not known"):
        ms.jit(Net(), fullgraph=True)(ms.Tensor(1))
    ms.set_context(mode=ms.PYNATIVE_MODE)
