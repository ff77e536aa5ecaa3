"""A text of numbers from outside is a ``str`` to all of Python, and a tensor may decide between two texts."""

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn

MODES = [ms.PYNATIVE_MODE, ms.GRAPH_MODE]


class Numbered(nn.Cell):
    """Its number changes from call to call; a text holds it."""

    def __init__(self, program):
        super().__init__()
        self.k, self.program = 1, program
        self.table = {"l1": 1.0, "l2": 2.0}

    def construct(self, x):
        return self.program(self, x, f"l{self.k}")


def by_class(cell, x, name):
    match name:
        case str():
            return x
        case _:
            return x * 100


def by_value(cell, x, name):
    match {"key": name}:
        case {"key": "l1"}:
            return x * 2
        case {"key": str() as other}:
            return x * len(other)


def member(cell, x, name):
    return x * (2 if name in "l1l3" else 3) * (5 if name in cell.table else 7) * (11 if "1" in name else 13)


def its_class(cell, x, name):
    return x * (2 if name.__class__ is str and type(name) is str and isinstance(name, str) else 3)


def joined(cell, x, name):
    return x * len(str.join("-", [name, "b"]))


def in_order(cell, x, name):
    return x * (2 if name < "l15" else 3) * (5 if name >= "l2" else 7) * sorted([name, "l15"]).index(name)


def evaluated(cell, x, name):
    y = x + 1
    return y * eval(f"{cell.k} + 1") + eval("y * cell.k") + eval("len(name)")


def evaluated_in(cell, x, name):
    return x * eval("k * step", {"k": cell.k, "step": 2}) * len(locals())


PROGRAMS = [by_class, by_value, member, its_class, joined, in_order, evaluated, evaluated_in]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_name_with_a_number_is_a_str(program):
    found = {}
    for mode in MODES:
        ms.set_context(mode=mode)
        cell = Numbered(program)
        found[mode] = []
        for cell.k in (1, 2, 1, 12):
            found[mode].append(cell(Tensor(np.array([1.5, 2.0], np.float32))).asnumpy().tolist())
    assert found[ms.PYNATIVE_MODE] == found[ms.GRAPH_MODE]
    assert found[ms.GRAPH_MODE][0] == found[ms.GRAPH_MODE][2]


WRONG = [
    lambda cell, x, name: name + 1,
    lambda cell, x, name: 1 + name,
    lambda cell, x, name: name - 1,
    lambda cell, x, name: name > 3,
    lambda cell, x, name: 3 in name,
    lambda cell, x, name: name["a"],
    lambda cell, x, name: name.nosuch,
    lambda cell, x, name: x * name,
    lambda cell, x, name: eval(name + "("),
]


@pytest.mark.parametrize("program", WRONG, ids=range(len(WRONG)))
def test_errors_name_a_str(program):
    told = []
    for mode in MODES:
        ms.set_context(mode=mode)
        with pytest.raises(Exception) as error:
            Numbered(program)(Tensor(np.ones(2, np.float32)))
        told.append((error.type, str(error.value).splitlines()[0]))
    assert told[0] == told[1]


def test_exec_says_that_it_runs_once(notices):
    @ms.jit
    def program(x):
        space = {}
        exec("y = 2", space)
        return x * space["y"]

    assert float(program(Tensor(3.0))) == 6.0
    assert any("exec() ran while the function was captured" in text for text in notices)


class Tag:
    text = "none"


def said(x):
    print("hot" if x > 1 else "cold")
    return x


def with_a_value(x):
    if x > 1:
        y = x * 3
        text = f"big {y:.1f} {[y, 2]}"
    else:
        text = "small"
    return text, text.upper(), [text], {"a": text + "!"}, "%s|%-8s" % (text, text), f"{text:>30}"  # noqa: UP031


def of_three(x):
    if x > 1:
        text = "big"
    elif x > 0:
        text = "mid"
    else:
        text = "small"
    return text


def added(x):
    text = "a"
    for i in range(3):
        text = text + ("b" if x > i else "c")
    return text


def number_in_it(x):
    n, text = 3, ""
    if x > 1:
        n = n + int(x)
        text = f"{n}+"
    return text or "nothing"


def as_state(x):
    Tag.text = "big" if x > 1 else "small"
    return x


def in_an_error(x):
    raise ValueError("it is " + ("hot" if x > 1 else "cold"))


def looked_at(x):
    text = "a" if x > 1 else "b"
    return x * 10 if text == "a" else x


CHOICES = [said, with_a_value, of_three, added, number_in_it, as_state, in_an_error, looked_at]


def _outcome(program, value, capsys):
    try:
        result = repr(program(Tensor(np.float32(value))))
    except ValueError as error:
        result = repr(error)
    return result, Tag.text, capsys.readouterr().out


@pytest.mark.parametrize("program", CHOICES)
def test_a_tensor_decides_between_texts(program, capsys):
    compiled = ms.jit(program)
    for value in (0.0, 2.0, 0.5, 7.0):
        assert _outcome(program, value, capsys) == _outcome(compiled, value, capsys)


KEPT = {
    "one of two texts": lambda x, rows: rows.append("up" if x.sum() > 0 else "down"),
    "a text of a tensor": lambda x, rows: rows.append((1, f"{(x * 2).sum():.1f}")),
    "one of two functions": lambda x, rows: rows.append(abs if x.sum() > 0 else ms.ops.relu),
    "a function that is called": lambda x, rows: [rows.append(abs if x.sum() > 0 else ms.ops.relu), rows[-1](x)],
}
WAYS = {
    "grad": lambda loss, x: ms.grad(loss)(x),
    "second gradient": lambda loss, x: ms.grad(lambda x: (ms.grad(loss)(x) * x).sum())(x),
    "vjp": lambda loss, x: ms.jvp(loss, x, x)[1],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", KEPT)
def test_what_a_loss_leaves_that_a_tensor_decides(case, way):
    found = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        rows = []

        def loss(x, rows=rows):
            KEPT[case](x, rows)
            return (x * x).sum()

        called = ms.jit(lambda x, loss=loss: WAYS[way](loss, x))
        results = [called(Tensor(np.array([i, 1], np.float32))).tolist() for i in (1, -3, 2)]
        told = [row(Tensor(-2.0)).item() if callable(row) else row for row in rows]
        found.append((results, told))
    assert found[0] == found[1] and len(set(map(str, found[0][1]))) > 1
