"""A plan written as text and read again runs to the same bits; what cannot be written is refused with a sentence."""

from __future__ import annotations

import dataclasses
import json
import random

import numpy as np
import pytest
from nets import cases

import msnb as ms
from msnb.parallel.engine.simulated.lockstep_ranks import Ranks
from msnb.parallel.program.program_document import from_text, to_text
from msnb.parallel.program.spmd_program import MoveStep, RunStep, SpmdProgram

NETS = {type(net).__name__: (net, inputs) for net, inputs in cases()}


@pytest.mark.parametrize("name", sorted(NETS))
def test_read_again_it_runs_to_the_same_bits(name):
    net, inputs = NETS[name]
    base = ms.parallel.plan(net, *inputs, device_num=4)
    for seed in (None, 1, 2):
        rng = random.Random(seed)
        choices = base.choices if seed is None else [rng.randrange(len(s)) for s in base.problem.strategies]
        plan = base.with_choices(choices)
        again = from_text(to_text(plan.program))
        one, two = Ranks(plan.program), Ranks(again)
        args = list(plan.given(inputs).values())
        for a, b in zip(one.run(args), two.run(args), strict=True):
            np.testing.assert_array_equal(a, b)
        assert one.sent == two.sent
        assert again.collectives() == plan.collectives
        assert to_text(again) == to_text(plan.program), "writing what was read changes nothing"


def test_a_plan_writes_its_document_once_per_program():
    net, inputs = NETS["MLP"]
    plan = ms.parallel.plan(net, *inputs, device_num=2)
    assert plan.document == to_text(plan.program) and plan.document is plan.document
    other = plan.with_choices([0] * len(plan.choices))
    assert other.document == to_text(other.program)


def test_every_field_of_steps_and_programs_is_written():
    """A new field must be added to the document too: this test is the list of those that are."""
    place = {"phase", "where", "late", "team"}
    assert {f.name for f in dataclasses.fields(RunStep)} == place | {
        "node", "call", "strategy", "operands", "results", "wide",
    }  # fmt: skip
    assert {f.name for f in dataclasses.fields(MoveStep)} == place | {"value", "moves", "source", "target"}
    assert {f.name for f in dataclasses.fields(SpmdProgram)} == {
        "teams", "graph", "steps", "params", "anywhere", "outputs", "weights", "gradients", "trains", "homes",
    }  # fmt: skip


def test_the_document_names_who_talks_to_whom():
    net, inputs = NETS["MLP"]
    plan = ms.parallel.plan(net, *inputs, device_num=4, parallel_mode="data_parallel")
    data = json.loads(to_text(plan.program))
    assert data["groups"]["0,1"] == [[0, 1, 2, 3]] and data["version"] == 2
    assert data["graph"]["text"].startswith("graph ")


def test_control_flow_and_big_constants():
    table = np.random.default_rng(0).standard_normal((6, 5))

    def f(x):
        y = ms.ops.matmul(x, ms.Tensor(table))
        if y.sum() > 0:
            y = y * 2.0
        return y.sum()

    x = ms.Tensor(np.random.default_rng(1).standard_normal((8, 6)))
    plan = ms.parallel.plan(f, x, device_num=4)
    got = Ranks(from_text(to_text(plan.program))).run(list(plan.given((x,)).values()))[0]
    assert float(got) == pytest.approx(f(x).item(), rel=1e-12)


def test_what_is_no_plan():
    with pytest.raises(ValueError, match="this is no plan"):
        from_text("hello")
    with pytest.raises(ValueError, match="version is 99"):
        from_text('{"format": "msnb plan", "version": 99}')
