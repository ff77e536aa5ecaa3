"""Help on operators is made of their records: what ``?``, ``help`` and ``inspect`` show of a record is its own."""

from __future__ import annotations

import doctest
import inspect
import pydoc

import pytest

import msnb as ms
from msnb.ops.definition.record import REGISTRY, Op

PUBLIC = sorted(name for name, value in vars(ms.ops).items() if isinstance(value, Op) and name[0] != "_")


def test_there_are_public_records() -> None:
    assert len(PUBLIC) > 100


@pytest.mark.parametrize("name", sorted({op.name for op in REGISTRY.values()}))
def test_a_record_explains_itself(name: str) -> None:
    op = REGISTRY[name]
    text = inspect.getdoc(op)
    assert text is not None and text.startswith(op.doc) and "Returns:" in text
    signature = inspect.signature(op)
    assert [p.name for p in signature.parameters.values()] == [n.lstrip("*") for n in op.inputs] + list(op.attrs)
    assert all(f"    {p}: " in text for p in (*op.inputs, *op.attrs))


def test_examples_run_and_give_what_they_say() -> None:
    without, failed = [], []
    for op in {id(getattr(ms.ops, name)): getattr(ms.ops, name) for name in PUBLIC}.values():
        if ">>>" not in op.__doc__:
            without.append(op.name)
        test = doctest.DocTestParser().get_doctest(op.__doc__, {}, op.name, None, 0)
        if doctest.DocTestRunner(verbose=False).run(test, out=lambda text: None).failed:
            failed.append(op.name)
    assert failed == []
    assert without == ["index"]  # users write x[...]; its spec is made of that


def test_the_class_keeps_its_own_words() -> None:
    assert "The record of one operation" in str(Op.__doc__)
    assert "infer" in inspect.signature(Op).parameters


def test_help_shows_arguments_and_example() -> None:
    text = pydoc.plain(pydoc.render_doc(ms.ops.matmul))
    assert "Matrix product" in text and "y: a tensor" in text and ">>> " in text and "ShapeError" in text


def test_reading_help_inside_a_program_adds_nothing_to_it() -> None:
    REGISTRY["sinh"].__dict__.pop("__doc__", None)

    @ms.jit
    def program(x: ms.Tensor) -> ms.Tensor:
        assert ms.ops.sinh.__doc__
        return x + 1

    assert program(ms.Tensor([1.0])).tolist() == [2.0]
    assert len(program.versions[0].captured.graph.nodes) <= 2
