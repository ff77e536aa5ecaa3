"""IR text: what it shows, that it reads back, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from random_graphs import Draw

from msnb.base.source_location import Origin, Where
from msnb.core import dtypes
from msnb.core.tensor import Tensor
from msnb.core.types import tensor_type
from msnb.ir.analysis.structural_hash import difference, host_functions, isomorphic, structure_key
from msnb.ir.builder import Const, GraphBuilder, build
from msnb.ir.control_flow import IF, if_
from msnb.ir.graph import Graph
from msnb.ir.text.parser import ParseError, parse
from msnb.ir.text.printer import constants_of, print_graph
from msnb.ops.elementwise.constant import constant

F3 = tensor_type((3,), dtypes.float32)
HEAD = "graph f(x: f32[3]) -> (f32[3])\n  "


def example() -> Graph:
    with GraphBuilder("step") as b:
        x, w, c = b.param(F3, "x"), b.param(F3, "conv1.weight"), b.param(tensor_type((), dtypes.bool_), "training")
        b.scope = "LeNet5/conv1"
        b.origin = Origin.of((Where("cell [3]", 7, 4, 9, "construct"),))
        y = x * w
        then = build("then", [F3], lambda a: a * 2.0, ["a"])
        otherwise = build("else", [F3], lambda a: a, ["a"])
        (z,) = if_(b, c, then, otherwise, [y])
        b.output(z, w + 1)
        b.graph.state = {1: 1}
    return b.graph


EXPECTED = """\
graph step(x: f32[3], conv1.weight: f32[3] state, training: bool[]) -> (f32[3], conv1.weight)
  %1 = multiply(x, conv1.weight) : f32[3]                                 # LeNet5/conv1   cell [3] line 7
  %2 = if(training, %1) : f32[3]                                          # LeNet5/conv1   cell [3] line 7
    then (a: f32[3]): %1 = multiply(a, ~2.0) : f32[3] ; yield %1
    else (a: f32[3]): yield a
  %3 = add(conv1.weight, ~1) : f32[3]                                     # LeNet5/conv1   cell [3] line 7
  return %2, %3"""


def test_text_is_readable_and_exact():
    assert print_graph(example()) == EXPECTED


def test_comments_are_optional_and_read_back():
    assert "#" not in print_graph(example(), where=False)
    node = parse(EXPECTED).nodes[0]
    assert node.scope == "LeNet5/conv1"
    assert str(node.where.where) == "cell [3] line 7"
    assert print_graph(parse(EXPECTED)) == EXPECTED


def test_state_reads_back():
    assert parse(EXPECTED).state == {1: 1}


@pytest.mark.parametrize("start", range(0, 300, 50))
def test_random_programs_read_back(rng, start):
    seed = int(rng.integers(2**31))
    for k in range(50):
        graph = Draw(np.random.default_rng([seed, start, k])).graph()
        text = print_graph(graph)
        again = parse(text, constants_of(graph))
        assert difference(graph, again) is None, f"seed {[seed, start, k]}\n{text}"
        assert print_graph(again).split("#")[0] == text.split("#")[0]
        assert structure_key(graph) == structure_key(again)
        assert isomorphic(graph, graph.copy("another name"))
        assert len(host_functions(graph)) == len(host_functions(again))


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=lambda t: t.name)
def test_every_number_keeps_its_bits(dtype, rng):
    bits = rng.integers(0, 256, (40, dtype.itemsize), np.uint8)
    data = (bits[:, 0] % 2).astype(bool) if dtype is dtypes.bool_ else bits.reshape(-1).view(dtype.numpy)
    graph = Graph("numbers")
    for x in data:
        const = Const(np.asarray(x, dtype.numpy), tensor_type((), dtype))
        graph.outputs.append(graph.add(constant, (), {"value": const}, (const.type,)).out)
    again = parse(print_graph(graph), constants_of(graph))
    found = np.array([v.node.attrs["value"].data for v in again.outputs])
    assert found.tobytes() == data.tobytes()


def test_scalars_are_short():
    graph = build("f", [F3], lambda x: (x * Tensor(0.1), x * 0.1, x * Tensor(np.float64(0.1)), x * Tensor(3)))
    assert [line.split(" : ")[0].strip() for line in print_graph(graph).split("\n")[1:-1]] == [
        "%1 = multiply(x0, 0.1)", "%2 = multiply(x0, ~0.1)", "%3 = multiply(x0, f64(0.1))", "%4 = multiply(x0, 3)",
    ]  # fmt: skip


def test_big_constants_need_the_table():
    graph = build("f", [F3], lambda x: x * np.arange(30, dtype=np.float32).reshape(10, 3))
    text = print_graph(graph)
    assert "const f32[10,3] {" in text
    assert isomorphic(graph, parse(text, constants_of(graph)))
    with pytest.raises(ParseError, match=r"line 2: the constant '[0-9a-f]+' is not in the text"):
        parse(text)


def test_filled_constants_are_short():
    graph = build("f", [F3], lambda x: x * Tensor(np.full((10, 3), -0.0, np.float32)))
    assert "multiply(x0, f32[10,3]{all -0.0}) : f32[10,3]" in print_graph(graph)
    assert isomorphic(graph, parse(print_graph(graph)))


def test_names_inside_names():
    graph = build("f", [F3, F3, F3], lambda a, b, c: a + b * c, ["x", "x", "f32"])
    assert print_graph(graph).startswith("graph f(x: f32[3], x_2: f32[3], `f32`: f32[3])")
    assert isomorphic(graph, parse(print_graph(graph)))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (HEAD + "%1 = adds(x, x) : f32[3]\n  return %1", "line 2: there is no op called 'adds'"),
        (HEAD + "%1 = add(x, y) : f32[3]\n  return %1", "line 2: y is not defined"),
        (HEAD + "%1 = add(x, %7) : f32[3]\n  return %1", "line 2: %7 is not defined"),
        ("graph f(x: g32[3]) -> (f32[3])\n  return x", "line 1: 'g32' is not a type"),
        ("graph f(x: f32[3])\n  return x", "line 1: expected '->'"),
        ("graph f(x: f32[3] state) -> (f32[3])\n  return x", "a state without a new value"),
        (HEAD + "%1, %2 = add(x, x) : f32[3]\n  return %1", "add has 1 result types, 2 names"),
        (HEAD + "%1 = while(x) : f32[3]\n  return %1", "while needs the attribute 'n_carry'"),
        (HEAD + "%1 = call(x, callee=\"g\") : f32[3]\n  return %1", "f calls the graph 'g'"),
        ("graph f(x: f32[3]) -> (f32[3]) §", "line 1: '§' is not IR text"),
        ("", "starts with 'graph name"),
    ],
)  # fmt: skip
def test_wrong_text(text, sentence):
    with pytest.raises(ParseError, match=sentence.replace("(", r"\(")):
        parse(text)


def test_difference_names_the_node():
    a, b = (build("f", [F3], lambda x, k=k: x * k + x) for k in (2.0, 3.0))
    assert "multiply" in difference(a, b)
    assert structure_key(a) != structure_key(b)


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (1, True), (0.0, -0.0), (2.0, Tensor(2.0))])
def test_constants_of_different_kind_differ(one, other):
    a, b = (build("f", [F3], lambda x, k=k: x * k) for k in (one, other))
    assert not isomorphic(a, b)
    assert structure_key(a) != structure_key(b)


def test_aliasing_counts():
    same = build("f", [F3, F3], lambda x, y: x * x)
    other = build("f", [F3, F3], lambda x, y: x * y)
    assert structure_key(same) != structure_key(other)


def test_sharing_of_constants_does_not_count():
    def shared(x):
        c = Tensor(7.0)
        return x * c * c

    a = build("f", [F3], shared)
    b = parse(HEAD + "%1 = multiply(x, 7.0) : f32[3]\n  %2 = multiply(%1, 7.0) : f32[3]\n  return %2")
    assert isomorphic(a, b)


def test_bodies_count():
    a = example()
    b = parse(EXPECTED.replace("multiply(a, ~2.0)", "multiply(a, ~2.5)"))
    assert not isomorphic(a, b)
    assert any(node.op is IF for node in b.nodes)
