"""Strategies written with ``shard`` on operators, Cells and functions, as split counts and as Layouts."""

from __future__ import annotations

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.ir.text.printer import print_graph


def data(*shape, seed=0):
    return ms.Tensor(np.random.default_rng(seed).standard_normal(shape))


def weight(*shape, name):
    return ms.Parameter(data(*shape, seed=len(name) + sum(shape)), name=name)


@pytest.fixture(autouse=True)
def _one_device_afterwards():
    yield
    ms.reset_auto_parallel_context()


class Net(nn.Cell):
    """Two products with an activation between them; strategies are given from outside."""

    def __init__(self, first=None, act=None, second=None):
        super().__init__()
        self.w, self.v = weight(8, 16, name="w"), weight(16, 8, name="v")
        self.first, self.act, self.second = ops.MatMul(), ops.ReLU(), ops.MatMul()
        for op, strategy in ((self.first, first), (self.act, act), (self.second, second)):
            if strategy is not None:
                op.shard(strategy)

    def construct(self, x):
        return ops.square(self.second(self.act(self.first(x, self.w)), self.v)).mean()


def planned(net, *inputs, devices=8, mode="semi_auto_parallel", **how):
    return ms.parallel.plan(net, *inputs, device_num=devices, parallel_mode=mode, **how)


def check(plan, net, *inputs):
    want, grads = ms.value_and_grad(net, None, net.trainable_params())(*inputs)
    loss, found = plan.run(*inputs)
    assert float(loss) == pytest.approx(want.item(), rel=1e-10)
    for p, g in zip(net.trainable_params(), grads):
        np.testing.assert_allclose(found[p.name], g.asnumpy(), rtol=1e-9, atol=1e-12 * np.abs(g.asnumpy()).max())


COLUMN, ROW = ((2, 1), (1, 4)), ((2, 4), (4, 1))


@pytest.mark.parametrize("mode", ["semi_auto_parallel", "auto_parallel"])
def test_operators_have_the_strategies_that_were_written(mode):
    net, x = Net(COLUMN, ((2, 4),), ROW), data(16, 8)
    plan = planned(net, x, mode=mode)
    assert plan.strategies["Net/matmul"] == COLUMN
    assert plan.strategies["Net/relu"] == ((2, 4),)
    assert plan.strategies["Net/matmul_2"] == ROW
    check(plan, net, x)


def test_auto_parallel_searches_around_what_is_written():
    """A product split along the contraction is dear here: no search takes it, a shard makes it."""
    x, odd = data(4096, 8), ((1, 8), (8, 1))
    free, net = Net(), Net(first=odd)
    assert planned(free, x, mode="auto_parallel").strategies["Net/matmul"] != odd
    plan = planned(net, x, mode="auto_parallel")
    assert plan.strategies["Net/matmul"] == odd
    assert plan.objective > planned(free, x, mode="auto_parallel").objective


LAYOUT = ms.Layout((2, 4), ("dp", "mp"))


def test_layouts_say_the_device_axes():
    both = LAYOUT("dp", "mp")
    net, x = Net((LAYOUT("dp", "None"), LAYOUT("None", "mp")), (both,), (both, LAYOUT("mp", "None"))), data(16, 8)
    plan = planned(net, x)
    assert [plan.strategies[f"Net/{n}"] for n in ("matmul", "relu", "matmul_2")] == [COLUMN, ((2, 4),), ROW]
    layouts = {p.name: layout.dims for p, layout in plan.program.params.items()}
    assert layouts == {"w": ((), (1, 2)), "v": ((1, 2), ())}, "dp is mesh axis 0, mp are the axes 1 and 2"
    inside = [c.kind for c in plan.collectives if c.where in ("Net/matmul", "Net/relu", "Net/matmul_2")]
    assert inside == ["all_reduce"], "no reshard between them"
    check(plan, net, x)


def test_a_layout_of_the_other_order_takes_the_other_devices():
    turned = ms.Layout((4, 2), ("mp", "dp"))
    net = Net((turned("dp", "None"), turned("None", "mp")))
    plan = planned(net, data(16, 8))
    assert plan.strategies["Net/matmul"] == COLUMN
    assert next(s for n, s in plan.chosen.items() if n.op.name == "matmul").inputs[1].dims == ((), (0, 1))


def test_an_interleaved_axis_is_no_axis_of_devices():
    """MindSpore's way to split a device's own piece once more: (2, 4, 2) are eight devices."""
    layout = ms.Layout((2, 4, 2), ("dp", "mp", "interleaved_parallel"))
    net, x = Net((layout(("dp", "interleaved_parallel"), "None"), layout("None", "mp"))), data(16, 8)
    plan = planned(net, x)
    assert plan.strategies["Net/matmul"] == COLUMN
    check(plan, net, x)


def test_one_input_said_leaves_the_rest_to_the_search():
    plan = planned(Net((None, (1, 8))), data(16, 8))
    assert plan.strategies["Net/matmul"][1] == (1, 8)


def test_transposed_operands_are_split_before_they_are_turned():
    product = ops.MatMul(transpose_b=True).shard(((2, 1), (4, 1)))
    plan = planned(lambda x, w: product(x, w), data(8, 16), data(8, 16))
    assert plan.strategies["matmul"] == ((2, 1), (1, 4)) and plan.strategies["transpose"] == ((4, 1),)


def test_a_result_that_is_split_takes_its_sum_by_reduce_scatter():
    product = ops.MatMul().shard(((1, 4), (4, 1)), ((4, 1),))
    x, w = data(8, 16), data(16, 8)
    plan = planned(product, x, w, devices=4)
    assert [c.kind for c in plan.collectives] == ["reduce_scatter"]
    np.testing.assert_allclose(plan.run(x, w), (x @ w).asnumpy(), rtol=1e-12)
    closed = planned(ops.MatMul().shard(((1, 4), (4, 1))), x, w, devices=4)
    assert [c.kind for c in closed.collectives] == ["all_reduce"]


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(8, 16, dtype=ms.float64)
        self.out = nn.Dense(16, 4, dtype=ms.float64)

    def construct(self, x):
        return self.out(ops.relu(self.fc(x)))


def test_cells_say_inputs_results_and_parameters():
    class Whole(nn.Cell):
        def __init__(self):
            super().__init__()
            self.block = Block()

        def construct(self, x):
            return ops.square(self.block(x)).mean()

    net, x = Whole(), data(16, 8)
    assert net.block.shard(((2, 1),), ((8, 1),), parameter_plan={"fc.weight": (4, 1)}) is net.block
    plan = planned(net, x)
    assert plan.strategies["Whole/block/fc/matmul"][0] == (2, 1)
    lies = {p.name: layout.splits(plan.mesh) for p, layout in plan.program.params.items()}
    assert lies["block.fc.weight"] == (4, 1)
    assert plan.strategies["Whole/square"] == ((8, 1),) or plan.layouts["Whole/block/out/add"]["tensor_map"] != [-1, -1]
    check(plan, net, x)
    for name in ("self.block.fc.weight", "block.fc.weight"):  # its own name, as MindSpore's programs write
        net.block.shard(((2, 1),), parameter_plan={name: (2, 1)})
        plan = planned(net, x)
        lies = {p.name: layout.splits(plan.mesh) for p, layout in plan.program.params.items()}
        assert lies["block.fc.weight"] == (2, 1)
    with pytest.raises(KeyError, match="legal: block.fc.weight"):
        net.block.shard(((2, 1),), parameter_plan={"fc.wieght": (4, 1)})


def test_what_a_cell_asks_for_stops_at_operators_that_cannot():
    class Soft(nn.Cell):
        def construct(self, x):
            return ops.softmax(x, axis=-1) + x

    plan = planned(Soft().shard(((1, 4),)), data(8, 8), devices=4)
    assert plan.strategies["Soft/add"][1] == (1, 4)
    with pytest.raises(ValueError, match="size 7"):
        planned(Soft().shard(((1, 4),)), data(8, 7), devices=4)


def test_functions():
    f = ms.shard(lambda x, w: ops.relu(x @ w), in_strategy=((1, 4), (4, 1)))
    x, w = data(8, 16), data(16, 8)
    plan = planned(f, x, w, devices=4)
    assert plan.strategies["matmul"] == ((1, 4), (4, 1))
    np.testing.assert_allclose(plan.run(x, w), f(x, w).asnumpy(), rtol=1e-12)


def test_strategies_by_name_go_before_those_in_the_program():
    net = Net(COLUMN)
    rows = ((8, 1), (1, 1))
    assert planned(net, data(16, 8), strategies={"Net/matmul": rows}).strategies["Net/matmul"] == rows
    by_layout = planned(net, data(16, 8), strategies={"Net/matmul": (LAYOUT("dp", "None"), LAYOUT("None", "mp"))})
    assert by_layout.strategies["Net/matmul"] == COLUMN


def test_marks_change_no_program():
    from msnb.graph.capture import trace

    x = data(16, 8)
    plain, marked = (trace(ms.value_and_grad(net, 0), (x,), {}).graph for net in (Net(), Net(COLUMN, ((2, 4),), ROW)))
    assert print_graph(plain) == print_graph(marked)
    assert [n.op.name for n in marked.nodes if n.marks] == ["matmul", "relu", "matmul"]
    assert not any(n.marks for n in plain.nodes)


@pytest.mark.parametrize("compiled", [False, True])
def test_on_one_device_they_are_ignored_and_that_is_told_once(compiled, capsys):
    ms.base.events.forget_notices()
    net, x = Net(COLUMN), data(16, 8)
    run = ms.jit(net) if compiled else net
    want = Net()(x).item()
    assert run(x).item() == want and run(x).item() == want
    assert capsys.readouterr().err.count("they are ignored") == 1


def test_compiled_programs_follow_and_a_new_strategy_compiles_again():
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", device_num=8)
    net, x = Net(COLUMN), data(16, 8)
    step = ms.jit(ms.value_and_grad(net, None, net.trainable_params()))
    first = step(x)[0].item()
    assert step.plan.strategies["Net/matmul"] == COLUMN
    net.first.shard(((8, 1), (1, 1)))
    assert step(x)[0].item() == pytest.approx(first, rel=1e-12)
    assert step.plan.strategies["Net/matmul"] == ((8, 1), (1, 1))


# ---- wrong ones ------------------------------------------------------------------------------------------------------

WRONG = {
    "does not divide": (((3, 1), (1, 2)), ["Net/matmul", "axis 0 of input 0", "size 16", "legal: 1, 2"]),
    "too many devices": (((8, 1), (1, 8)), ["Net/matmul", "needs 64 devices, there are 8"]),
    "contraction": (((1, 2), (4, 1)), ["axis 1 of input 0 and axis 0 of input 1", "size 8", "both 2 ways or both 4"]),
    "rank": (((2, 1, 1), (1, 4)), ["input 0 of matmul has shape [16, 8]", "one count per axis"]),
    "layout of another mesh": ((ms.Layout((2, 2), ("a", "b"))("a", "None"), None), ["has 4 devices, the plan has 8"]),
    "device axis twice": ((LAYOUT("dp", "None"), LAYOUT("None", "dp")), ["one device axis would split two axes"]),
    "device axes differ": ((LAYOUT("None", "dp"), LAYOUT("mp", "None")), ["are split 2 and 4 ways"]),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("how", ["plan", "jit"])
def test_wrong_strategies_teach(what, how):
    strategy, pieces = WRONG[what]
    net, x = Net(strategy), data(16, 8)
    with pytest.raises(ValueError) as told:
        if how == "plan":
            planned(net, x)
        else:
            ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", device_num=8)
            ms.jit(net)(x)
    assert all(piece in str(told.value) for piece in pieces), str(told.value)


@pytest.mark.parametrize("given, piece", [
    ("(2, 1)", "one entry per tensor"),
    (((2, 0),), "ints of at least 1"),
    (((2, 1.0),), "ints of at least 1"),
    ((2, 1), "a tuple of ints"),
])
def test_what_is_no_strategy_is_refused_where_it_is_written(given, piece):
    for write in (ops.MatMul().shard, nn.Dense(2, 2).shard, lambda s: ms.shard(ops.relu, s)):
        with pytest.raises(TypeError, match=piece):
            write(given)


def test_pixels_are_split():
    x, w = data(4, 2, 8, 8), data(4, 2, 3, 3)
    how = ((1, 1, 2, 4), (1, 1, 1, 1))
    assert planned(ops.Conv2D(4, 3, pad_mode="same").shard(how), x, w).strategies["conv2d"] == how
    assert planned(ops.MaxPool(2, 2).shard(((1, 1, 1, 2),)), x).strategies["max_pool2d"] == ((1, 1, 1, 2),)


def test_the_name_of_mindspore_0():
    assert planned(ops.ReLU().set_strategy(((2, 4),)), data(8, 8)).strategies["relu"] == ((2, 4),)


@pytest.mark.parametrize("axis, split, own", [(-1, (2, 4), (2,)), (0, (4, 2), (2,)), (-1, (8,), (8,))])
def test_one_hot_is_split_as_its_result(axis, split, own):
    """MindSpore's strategy of OneHot is that of the result; one count per axis of the indices says these alone."""
    one_hot = ops.OneHot(axis).shard((split, (), ()))
    labels = ms.Tensor(np.arange(16, dtype=np.int32) % 8)
    plan = planned(lambda i: one_hot(i, 8, ms.Tensor(1.0), ms.Tensor(0.0)), labels)
    assert next(iter(plan.strategies.values()))[0] == own
    last = list(plan.chosen.values())[-1]
    assert last.outputs[0].splits(plan.mesh) == split or len(split) == 1
    np.testing.assert_array_equal(plan.run(), one_hot(labels, 8, ms.Tensor(1.0), ms.Tensor(0.0)).asnumpy())


def test_too_many_entries():
    with pytest.raises(TypeError, match="in_strategy has 3 entries, the call has 2 tensors"):
        planned(Net(((1, 1), (1, 1), (1, 1))), data(16, 8))
    with pytest.raises(TypeError, match="out_strategy has 2 entries, the call has 1 results"):
        planned(ops.ReLU().shard(((1, 1),), ((1, 1), (1, 1))), data(16, 8))


def test_results_that_no_strategy_gives():
    with pytest.raises(ValueError, match=r"no strategy of matmul has .*result 0 split \(1, 8\); the splits of its in"):
        planned(ops.MatMul().shard(((8, 1), (1, 1)), ((1, 8),)), data(16, 8), data(8, 16))
