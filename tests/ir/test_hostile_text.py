"""Text that is not what it seems: every loop of the parser ends, every number is what it says, every law is checked."""

from __future__ import annotations

import numpy as np
import pytest

from msnb.base.errors import VerifyError
from msnb.ir.analysis.verifier import verify
from msnb.ir.text.parser import ParseError, parse
from msnb.ops.definition.attribute_checks import KINDS, misfit
from msnb.ops.definition.record import REGISTRY, REQUIRED

GOOD = """\
graph f(x: f32[3], w: f32[3] state, c: bool[]) -> (f32[3], w)
  %1 = add(x, w) : f32[3]
  %2 = if(c, %1) : f32[3]
    then (a: f32[3]): %1 = add(a, 2.0) : f32[3] ; yield %1
    else (a: f32[3]): %1 = slice(a, begin=(0,), end=(3,), step=(1,)) : f32[3] ; yield %1
  %3 = sum(%2, axis=0, keepdims=False) : f32[]
  return %2, %1"""


def test_the_good_text_is_good() -> None:
    verify(parse(GOOD))


@pytest.mark.parametrize("length", range(0, len(GOOD), 1))
def test_a_text_that_ends_anywhere_ends_the_parser(length: int) -> None:
    text = GOOD[:length]
    try:
        graph = parse(text, {})
    except ParseError as error:
        assert str(error).strip()
    else:
        assert "return" in text
        with pytest.raises(VerifyError) if len(graph.outputs) < 2 else _nothing():
            verify(graph)


class _nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...


@pytest.mark.parametrize(
    "text", ["graph f(x: f32[2", "graph f(x: f32[", "graph f(x: stack<f32[2]", "graph f(x: f32[2]) -> (f32[2",
             "graph f() -> ()\n  %1 = const f32[3]{1.0", "graph f() -> ()\n  %1 = full(shape=(1, ", "graph f() -> ()\n"]
)  # fmt: skip
def test_the_end_in_the_middle(text: str) -> None:
    with pytest.raises(ParseError, match=r"line \d+: (the text ends|expected)"):
        parse(text, {})


@pytest.mark.parametrize(("old", "new", "sentence"), [
    ("%2 = if(c", "%1 = if(c", "%1 is defined twice"),
    ("w: f32[3] state", "x: f32[3] state", "two params are called x"),
    ("-> (f32[3], w)", "-> (f32[4], w)", r"f gives f32\[3\] where its head says f32\[4\]"),
    ("-> (f32[3], w)", "-> (f32[3], w, f32[3])", "has 3 results in its head and gives 2"),
    ("-> (f32[3], w)", "-> (w, w)", "the state w has two new values"),
    ("keepdims=False", "axis=1", "the attribute 'axis' is given twice"),
    ("f32[3], w: ", "f32[-3], w: ", "expected a size, 0 or more, found '-3'"),
    ("f32[3], w: ", "f32[2.5], w: ", "expected a size"),
    ("add(a, 2.0)", "add(a, i32(2.5))", "2.5 is no element of i32"),
    ("add(a, 2.0)", "add(a, i8(300))", "an array of i8 cannot be made"),
    ("add(a, 2.0)", "add(a, f16(1e30))", "a number is too large for f16"),
    ("add(a, 2.0)", "add(a, f32[3]{1.0, 2.0})", "has 3 elements, 2 are written"),
    ("add(a, 2.0)", "add(a, f32[1000000000000]{all 0.0})", "take more than 64 MB"),
    ("begin=(0,)", "begin=" + "(" * 500, "nested more than 100 levels deep"),
    ("a: f32[3]): %1 = s", "a: " + "stack<" * 5000 + "f32[3]): %1 = s", "nested more than 100 levels deep"),
    ("begin=(0,)", "begin=slice(1)", "a slice has a start, a stop and a step"),
    ("begin=(0,)", 'begin="\\x"', "a string cannot be made"),
])  # fmt: skip
def test_what_the_parser_refuses(old: str, new: str, sentence: str) -> None:
    assert old in GOOD
    with pytest.raises((ParseError, VerifyError), match=sentence):
        verify(parse(GOOD.replace(old, new, 1), {}))


def test_two_graphs_of_one_name() -> None:
    text = "graph f(x: f32[3]) -> (f32[3])\n  return x\n\n"
    with pytest.raises(ParseError, match="two graphs called 'f'"):
        parse(text + text)


def test_a_stored_constant_is_of_its_type() -> None:
    text = "graph f() -> (f32[3])\n  %1 = const f32[3] {0123456789abcdef}\n  return %1"
    parse(text, {"0123456789abcdef": np.zeros(3, np.float32)})
    for wrong in (np.zeros(4, np.float32), np.zeros(3), "text"):
        with pytest.raises(ParseError, match=r"the stored constant is no f32\[3\]"):
            parse(text, {"0123456789abcdef": wrong})


@pytest.mark.parametrize(("old", "new", "law"), [
    ("keepdims=False", "keepdims=1", "the attribute 'keepdims' is 1, not True or False"),
    ("keepdims=False", 'keepdims="yes"', "not True or False"),
    ("keepdims=False", "keep=False", "it has no attribute 'keep'; it takes axis, keepdims"),
    ("axis=0", "axis=2.0", "the attribute 'axis' is 2.0, not an int, ints or None"),
    ("axis=0", "axis=9223372036854775808", "not an int, ints or None"),
    ("step=(1,)", "step=(None,)", "the attribute 'step'"),
    ("if(c, %1)", "if(x, %1)", r"what it tests is f32\[3\], not one number"),
    ("add(x, w)", "add(x)", "its types are refused: add takes the tensors"),
])  # fmt: skip
def test_what_the_verifier_refuses(old: str, new: str, law: str) -> None:
    assert old in GOOD
    with pytest.raises(VerifyError, match=law):
        verify(parse(GOOD.replace(old, new, 1), {}))


def test_every_attribute_of_the_library_has_a_kind_that_its_defaults_and_examples_are_of() -> None:
    for op in REGISTRY.values():
        for name, default in op.attrs.items():
            assert name in KINDS or not op.infer.__module__.startswith("msnb."), f"{op.name}: {name}"
            assert default is REQUIRED or not misfit(op, name, default), f"{op.name}: {name}={default!r}"
        for example in op.examples:
            for name, value in example.attrs.items():
                value = tuple(value) if isinstance(value, list) else value
                assert not misfit(op, name, value), f"{op.name}: {name}={value!r}"
