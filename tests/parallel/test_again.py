"""Layers computed twice: their steps are taken again, the numbers stay, and a rank holds less at its peak."""

from __future__ import annotations

import numpy as np
import pytest
from deep import Language, whole_numbers

import msnb as ms
from msnb import nn, ops
from msnb.parallel.engine.rank.rank_executor import RankExecutor
from msnb.parallel.engine.simulated.lockstep_ranks import Ranks
from msnb.parallel.program.program_document import from_text, to_text
from msnb.parallel.program.spmd_program import RunStep


class Layer(nn.Cell):
    def __init__(self, h):
        super().__init__()
        self.up, self.down = nn.Dense(h, 4 * h, dtype=ms.float64), nn.Dense(4 * h, h, dtype=ms.float64)
        self.drop = nn.Dropout(p=0.25)

    def construct(self, x):
        return x + self.drop(self.down(ops.tanh(self.up(x))))


class Net(nn.Cell):
    def __init__(self, layers=4, h=8):
        super().__init__()
        ms.set_seed(2)
        self.layers = nn.CellList([Layer(h) for _ in range(layers)])

    def construct(self, x):
        for layer in self.layers:
            x = layer(x)
        return ops.square(x).mean()


X = ms.Tensor(np.random.default_rng(0).standard_normal((32, 8)))


def planned(**how):
    net = Net()
    net.set_train()
    ms.set_seed(5)
    return net, ms.parallel.plan(net, X, device_num=2, **how)


@pytest.fixture
def peak(monkeypatch):
    """The most bytes that the first rank held between steps of the last run."""
    most = [0]
    comes = RankExecutor._comes_to

    def watched(walk, i):
        comes(walk, i)
        if walk.rank == 0:
            arrays = {id(a): a for row in walk.parts.values() for a in row.values()}
            most[0] = max(most[0], sum(a.nbytes for a in arrays.values()))

    monkeypatch.setattr(RankExecutor, "_comes_to", watched)

    def of(program, args):
        most[0] = 0
        return Ranks(program).run(args), most[0]

    return of


@pytest.mark.long
@pytest.mark.parametrize("how", [{"parallel_mode": "data_parallel"}, {"strategies": {"matmul": ((1, 2), (2, 1))}}])
def test_steps_are_taken_again(how, peak):
    net, plain = planned(**how)
    args = list(plain.given().values())
    want, before = peak(plain.program, args)
    _, plan = planned(recompute=True, **how)
    assert {layer.name for layer in plan.rematerialized} >= {f"Net/layers/{i}" for i in range(4)}
    got, after = peak(plan.program, args)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)  # the same steps on the same parts, random draws among them
    assert after < before
    again = [s for s in plan.program.steps if s.where.endswith(" again")]
    assert {s.node.op.name for s in again if isinstance(s, RunStep)} >= {"matmul", "tanh"}
    plan.run(X)
    assert {c.kind for c in plan.collectives} == set(plan.sent)
    assert sum(c.sent for c in plan.collectives) == sum(plan.sent.values())
    read = from_text(to_text(plan.program))
    for a, b in zip(Ranks(read).run(args), want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_some_layers_only(peak):
    _, plan = planned(recompute=["Net/layers/1"], parallel_mode="data_parallel")
    again = [s.where for s in plan.program.steps if s.where.endswith(" again")]
    assert again and all(where.startswith("Net/layers/1/") for where in again)


def told(step):
    """The network of which every layer but the first says itself that it is computed twice; its training step."""
    net = Net()
    net.set_train()
    for layer in list(net.layers)[1:]:
        layer.recompute()
    ms.set_seed(5)
    return nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9)) if step else net


@pytest.mark.long
@pytest.mark.parametrize("step", [False, True], ids=["loss", "step"])
def test_cells_that_say_so_are_planned_so(step, peak):
    """In memory, in time and in steps; a captured step holds the second run already, and is not made a third time."""
    plan = ms.parallel.plan(told(step), X, device_num=2, parallel_mode="data_parallel")
    assert [layer.name.rpartition("Net/")[2] for layer in plan.rematerialized] == ["layers/1", "layers/2", "layers/3"]
    _, plain = planned(parallel_mode="data_parallel")
    assert plan.memory["activations"] < plain.memory["activations"] and plan.step_time > plain.step_time
    got, after = peak(plan.program, list(plan.given().values()))
    want, before = peak(plain.program, list(plain.given().values()))
    np.testing.assert_allclose(got[0], want[0], rtol=1e-12)
    assert step or after < before
    net = told(step)
    assert float(net(X)) == pytest.approx(float(got[0]), rel=1e-12)
    if step:
        state = {plan.program.graph.params[at].name: got[new] for at, new in plan.program.graph.state.items()}
        for p in net.trainable_params():
            np.testing.assert_allclose(state[p.name], p.asnumpy(), rtol=0, atol=1e-12, err_msg=p.name)


class Backbone(nn.Cell):
    """Layers that stand in no list, two named levels below the network."""

    def __init__(self, h=8):
        super().__init__()
        self.layer1, self.layer2, self.layer3, self.layer4 = (Layer(h) for _ in range(4))

    def construct(self, x):
        return self.layer4(self.layer3(self.layer2(self.layer1(x))))


class Deep(nn.Cell):
    def __init__(self):
        super().__init__()
        ms.set_seed(2)
        self.backbone = Backbone()

    def construct(self, x):
        return ops.square(self.backbone(x)).mean()


def deep(said, step=False, pipe=False):
    """A plan of the deep network, of which some Cells say that they are computed twice."""
    net = Deep()
    net.set_train()
    for name in said:
        dict(net.backbone.cells_and_names())[name].recompute()
    ms.set_seed(5)
    program, how = (nn.PipelineCell(net, 2), {"pipeline_stages": 2}) if pipe else (net, {})
    if step:
        program = nn.TrainOneStepCell(program, nn.Momentum(net.trainable_params(), 0.1, 0.9))
    return ms.parallel.plan(program, X, device_num=2, parallel_mode="data_parallel", **how)


def cells_again(program):
    """The Cells of the backbone that have operators in the second run."""
    again = [s.where for s in program.steps if s.where.endswith(" again")]
    return {where.partition("backbone/")[2].rpartition("/")[0] for where in again}


@pytest.mark.long
@pytest.mark.parametrize("step", [False, True], ids=["loss", "step"])
def test_a_cell_deep_inside_is_computed_twice_alone(step):
    plain, some, every = (deep([f"layer{i}" for i in which], step) for which in ((), (2, 3), (1, 2, 3, 4)))
    found = [layer.name.rpartition("Deep/")[2] for layer in some.rematerialized]
    assert found == ["backbone/layer2", "backbone/layer3"]
    again = cells_again(some.program)
    assert {name.split("/")[0] for name in again} == {"layer2", "layer3"} and "layer2/up" in again
    assert every.memory["activations"] < some.memory["activations"] < plain.memory["activations"]
    assert plain.step_time < some.step_time < every.step_time
    args = list(plain.given().values())
    for a, b in zip(Ranks(some.program).run(args), Ranks(plain.program).run(args), strict=True):
        np.testing.assert_array_equal(a, b)


def test_deeper_and_wider_than_a_layer():
    """Inside a layer that is one already, a Cell of it alone; a Cell that holds it, the whole layer."""
    inner, outer, both = (deep(said) for said in (["layer2.up"], [""], ["", "layer2.up"]))
    # a product and its bias leave nothing inside
    assert inner.rematerialized == () and cells_again(inner.program) == set()
    names = [[layer.name for layer in plan.rematerialized] for plan in (outer, both)]
    assert names[0] == names[1] == ["Deep/backbone"]
    assert cells_again(outer.program) == cells_again(both.program) > {"layer1", "layer2/up"}


def test_a_cell_deep_inside_a_stage():
    plan = deep(["layer2", "layer4"], pipe=True)
    found = [layer.name.rpartition("Deep/")[2] for layer in plan.rematerialized]
    assert found == ["backbone/layer2", "backbone/layer4"]
    assert {name.split("/")[0] for name in cells_again(plan.program)} == {"layer2", "layer4"}
    plain = deep([], pipe=True)
    args = list(plain.given().values())
    for a, b in zip(Ranks(plan.program).run(args), Ranks(plain.program).run(args), strict=True):
        np.testing.assert_array_equal(a, b)


def kernels(plan, layer, end=""):
    """Kernels of a layer's forward run, or of its second one: name and simulated seconds."""
    mine = [e for e in plan.timeline.events if e[0] == "compute" and e[3].startswith(f"{layer}/")]
    return [(what[: len(what) - len(end)], b - a) for _, a, b, what in mine if what.endswith(" again") == bool(end)]


@pytest.mark.parametrize("mode", ["data_parallel", "auto_parallel"])
def test_a_second_run_is_made_of_the_kernels_of_the_first(mode):
    """Fused alike, and as long. The last two are not taken again: the product and the sum that make what leaves the
    layer; and the norm that begins it is fused with the layer before it in the first run only."""
    def language(**how):
        args = whole_numbers(16, 64), whole_numbers(16 * 64)
        return ms.parallel.plan(Language(3), *args, device_num=4, max_split=1, parallel_mode=mode, **how)

    plain, twice = language(), language(recompute=True)
    for i in (1, 2):
        layer = f"Language/layers/{i}"
        first, second = kernels(plain, layer), kernels(twice, layer, " again")
        assert [name for name, _ in second] == [f"{layer}/n1/mean", *(name for name, _ in first[:-2])]
        assert [seconds for _, seconds in second[1:]] == pytest.approx([seconds for _, seconds in first[:-2]])
        mine = [e for e in twice.timeline.events if e[3].startswith((f"{layer}/", f"gradient of {layer}/"))]
        begins = min(a for _, a, _, what in mine if what.startswith("gradient"))
        assert max(b for _, _, b, what in mine if what.endswith(" again")) <= begins * (1 + 1e-12)
    alone = sum(layer.seconds for layer in twice.rematerialized)  # as the search counts: operator by operator
    assert plain.step_time < twice.step_time < plain.step_time + alone


# ---- in stages -------------------------------------------------------------------------------------------------------

SCHEDULES = [pytest.param("gpipe", marks=pytest.mark.long), "1f1b", pytest.param("interleaved", marks=pytest.mark.long)]


def piped(scheduler="1f1b", step=False, said=False, **how):
    """Eight layers in two stages, four micro-batches."""
    net = Net(8)
    net.set_train()
    for layer in net.layers if said else ():
        layer.recompute()
    ms.set_seed(5)
    pipe = nn.PipelineCell(net, 4)
    program = nn.TrainOneStepCell(pipe, nn.Momentum(net.trainable_params(), 0.1, 0.9)) if step else pipe
    how = {"device_num": 2, "parallel_mode": "data_parallel", **how}
    return ms.parallel.plan(program, X, pipeline_stages=2, pipeline_scheduler=scheduler, **how)


def held(program, args):
    """The results, and the most bytes of activations that a rank of every stage held between two steps."""
    most = [0] * len(program.teams)

    class Watched(RankExecutor):
        def _comes_to(self, i):
            super()._comes_to(i)
            arrays = {id(a): a.nbytes for v, row in self.parts.items() if not v.is_param for a in row.values()}
            most[self.recipe.team] = max(most[self.recipe.team], sum(arrays.values()))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("msnb.parallel.engine.simulated.lockstep_ranks.RankExecutor", Watched)
        return Ranks(program).run(args), np.array(most)


def activations(plan):
    return np.array([row["activations"] for row in plan.memory])


@pytest.mark.long
@pytest.mark.parametrize("scheduler", SCHEDULES)
@pytest.mark.parametrize("step", [False, True], ids=["loss", "step"])
def test_stages_compute_their_layers_twice(scheduler, step):
    """The same bits, what a stage keeps falls, and by what the plan says but for masks and what is on its way."""
    plain, twice = piped(scheduler, step), piped(scheduler, step, recompute=True)
    args = list(plain.given().values())
    want, before = held(plain.program, args)
    got, after = held(twice.program, args)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)
    fall = activations(plain) - activations(twice)
    assert (fall > 0).all() and (before - after > 0.8 * fall).all()
    assert twice.step_time > plain.step_time and f"{len(twice.rematerialized)} layers computed twice" in twice.explain()
    again = [s for s in twice.program.steps if s.where.endswith(" again")]
    assert len({(s.team, s.where) for s in again}) < len(again)  # once per micro-batch
    twice.run(X)
    assert {kind: n * 2 for kind, n in twice.sent.items()} == {"send": sum(c.total for c in twice.collectives)}
    read = from_text(to_text(twice.program))
    for a, b in zip(Ranks(read).run(args), want, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.long
@pytest.mark.parametrize("scheduler", SCHEDULES)
@pytest.mark.parametrize("step", [False, True], ids=["loss", "step"])
def test_stages_of_cells_that_say_so(scheduler, step):
    names = [f"Net/layers/{i}" for i in range(8)]
    told, asked = piped(scheduler, step, said=True), piped(scheduler, step, recompute=names)
    assert [x.name for x in told.rematerialized] == [x.name for x in asked.rematerialized] == names
    assert told.memory == asked.memory and told.step_time == asked.step_time
    got, most = held(told.program, list(told.given().values()))
    want, limit = held(asked.program, list(asked.given().values()))
    np.testing.assert_allclose(got[0], want[0], rtol=1e-12)
    assert (most <= limit).all()


@pytest.mark.long
@pytest.mark.parametrize("scheduler", SCHEDULES)
def test_a_limit_says_which_layers_of_a_stage_are_computed_twice(scheduler):
    free, every = piped(scheduler), piped(scheduler, recompute=True)
    totals = [max(row["total"] for row in plan.memory) for plan in (every, free)]
    last = 0
    for share in (1.0, 0.6, 0.2, 0.0):
        limit = totals[0] + share * (totals[1] - totals[0])
        plan = piped(scheduler, recompute="auto", memory_limit=limit)
        assert max(row["total"] for row in plan.memory) <= limit
        assert last <= len(plan.rematerialized) <= len(every.rematerialized)
        last = len(plan.rematerialized)
    assert last > 0 and piped(scheduler, recompute="auto").rematerialized == ()
    np.testing.assert_array_equal(float(plan.run(X)[0]), float(free.run(X)[0]))
    with pytest.raises(ValueError, match="fits into memory|needs .* GB"):
        piped(scheduler, recompute="auto", memory_limit=0.5 * totals[0])


@pytest.mark.long
def test_layers_of_stages_by_name_and_from_a_file(tmp_path):
    plan = piped(recompute=["Net/layers/1", "Net/layers/6"])
    assert [x.name for x in plan.rematerialized] == ["Net/layers/1", "Net/layers/6"]
    plan.save(tmp_path / "plan.json")
    read = plan.load(tmp_path / "plan.json")
    assert read.rematerialized == plan.rematerialized and read.memory == plan.memory
    for wrong in (["Net/layers/9"], "all", 3):
        with pytest.raises(ValueError, match="legal: "):
            piped(recompute=wrong)


@pytest.mark.long
def test_stages_of_several_devices_computed_twice():
    """Collectives inside a layer are sent again."""
    how = {"device_num": 4, "parallel_mode": "semi_auto_parallel", "strategies": {"matmul": ((1, 2), (2, 1))}}
    plain, twice = piped(**how), piped(recompute=True, **how)
    args = list(plain.given().values())
    for a, b in zip(held(twice.program, args)[0], held(plain.program, args)[0], strict=True):
        np.testing.assert_array_equal(a, b)
    counts = [sum(c.kind != "send" for c in plan.collectives) for plan in (plain, twice)]
    assert counts[1] > counts[0]
    twice.run(X)
    sent: dict[str, int] = {}
    for c in twice.collectives:
        sent[c.kind] = sent.get(c.kind, 0) + c.total
    assert {kind: n * 4 for kind, n in twice.sent.items()} == sent
