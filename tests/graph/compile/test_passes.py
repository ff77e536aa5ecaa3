"""Every pass and every law: its examples, and random programs whose values must not change by a bit."""

from __future__ import annotations

import numpy as np
import pytest
from random_programs import Program, arguments

import msnb as ms
from msnb.devices.device import ArrayDevice
from msnb.graph.compile import PASSES, Log, compile_graph
from msnb.graph.compile.passes.algebraic_simplification import LAWS
from msnb.graph.compile.rewriting.rewrite_rule import REFUSED
from msnb.ir.analysis.structural_hash import difference
from msnb.ir.analysis.verifier import verify
from msnb.ir.text.parser import parse
from msnb.ir.text.printer import constants_of, print_graph
from msnb.ops.definition.record import REGISTRY

CASES = [(name, i) for name, record in PASSES.items() for i in range(len(record.cases))]


@pytest.mark.parametrize(("name", "i"), CASES, ids=[f"{n}-{i}" for n, i in CASES])
def test_examples(name, i):
    record = PASSES[name]
    case = record.cases[i]
    before, after = case.graph(), parse(case.after)
    verify(before, record.needs)
    verify(after)
    source = print_graph(before)
    log = Log(keep=True)
    got = record.run(before, log)
    if not record.name.startswith("dce"):
        verify(got)
        got = PASSES["dce"].run(got, Log())
        after = PASSES["dce"].run(after, Log())
    verify(got, "hardware_independent")
    assert difference(got, after) is None, f"{case.about}\n{print_graph(got)}\nexpected\n{print_graph(after)}"
    assert print_graph(before) == source, "a pass must not change its input"
    assert bool(log.history) == (case.before != case.after)
    assert all(str(rewrite) for rewrite in log.history)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_laws_are_complete(law):
    assert law.cases
    assert all(op in REGISTRY for op in law.ops)
    assert any(case.before != case.after for case in law.cases)
    assert law.text
    assert law.exact == (not law.differs)


def test_law_names_are_unique_and_refusals_have_reasons():
    assert len({law.name for law in LAWS}) == len(LAWS)
    assert all(REFUSED.values())


def same_bits(a, b) -> bool:
    """Equal in shape, dtype and bits; one NaN is as good as another."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return a.tobytes() == b.tobytes()
    nan = np.isnan(a)
    return bool((nan == np.isnan(b)).all()) and a[~nan].tobytes() == b[~nan].tobytes()


def same_numbers(a, b) -> bool:
    """Equal in shape, dtype and value; zeros of either sign are equal."""
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


class OtherZeros(ArrayDevice):
    """The reference with the other sign for every zero that ``maximum`` and ``minimum`` give.

    ``maximum(0.0, -0.0)`` is either zero, here as in NumPy and PyTorch, and a division by it tells which.
    """

    def kernel(self, op, types, attrs):
        body = super().kernel(op, types, attrs)
        if op.name not in ("maximum", "minimum"):
            return body

        def other(*args):
            out = np.asarray(body(*args))
            return np.where(out == 0, -out, out) if out.dtype.kind == "f" else out

        return other


def promised(out, one, other):
    """A result with zeros where two references differ."""
    out = np.array(out)
    out[~((one == other) | (one != one) & (other != other))] = 0
    return out


@pytest.mark.long
@pytest.mark.parametrize(("start", "level"), [(0, "O0"), (1, "O0"), (2, "O0"), (3, "O0"), (4, "O1")])
def test_random_programs_keep_every_bit(rng, start, level):
    ms.set_context(jit_level=level)
    equal = same_bits if level == "O0" else same_numbers
    seed = int(rng.integers(2**31))
    for k in range(40):
        draw = np.random.default_rng([seed, start, k])
        graph = Program(draw).main()
        verify(graph)
        args = arguments(draw)
        with np.errstate(all="ignore"):
            expected = ArrayDevice("reference", np).compile(graph)(args)
            other = expected if level == "O0" else OtherZeros("other zeros", np).compile(graph)(args)
            with ms.set_context(verify_graphs=True):
                compiled = compile_graph(graph, keep_stages=True)
            got = compiled(args)
        again = parse(print_graph(compiled.graph), constants_of(compiled.graph))
        assert difference(compiled.graph, again) is None
        message = f"seed {[seed, start, k]}\n{print_graph(graph)}\n\nbecame\n{print_graph(compiled.graph)}"
        for e, o, g in zip(expected, other, got, strict=True):
            assert equal(promised(e, e, o), promised(g, e, o)), message
        verify(compiled.graph, "hardware_independent")
