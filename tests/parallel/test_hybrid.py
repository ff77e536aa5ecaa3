"""hybrid_parallel: collectives that programs place themselves, alone, on simulated ranks and on real ones."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import types
from pathlib import Path

import hybrid_program
import numpy as np
import pytest
from hybrid_program import every_collective, part

import msnb as ms
from msnb import communication, nn, ops
from msnb.parallel import PerRank
from msnb.parallel.engine.client.engine_client import Engine
from msnb.parallel.engine.client.process_launcher import environment, missing, mpiexec
from msnb.parallel.engine.comm.rank_failures import RankError

N = 4
HYBRID = {"parallel_mode": "hybrid_parallel", "device_num": N}


@pytest.fixture(autouse=True)
def _one_device_afterwards():
    ms.base.events.forget_notices()
    yield
    ms.reset_auto_parallel_context()


@pytest.fixture
def group():
    communication.init()
    with_names = []

    def make(name, ranks):
        ms.set_auto_parallel_context(**HYBRID)
        communication.create_group(name, ranks)
        with_names.append(name)
        return name

    yield make
    for name in with_names:
        communication.destroy_group(name)


def on_ranks(program, *inputs, n=N):
    return ms.parallel.plan(program, *inputs, parallel_mode="hybrid_parallel", device_num=n)


def tensors(rng, *shape, n=N):
    return PerRank([ms.Tensor(rng.standard_normal(shape)) for _ in range(n)])


def compiled(mode, fn):
    return ms.jit(fn) if mode == "GRAPH_MODE" else fn


# ---- alone ----------------------------------------------------------------------------------------------------------


def test_alone_every_collective_gives_back_what_it_got(mode, rng):
    x = ms.Tensor(rng.standard_normal((4, 3)))
    ops_ = [ops.AllReduce(), ops.AllReduce("max"), ops.AllGather(), ops.ReduceScatter(), ops.Broadcast(0),
            ops.AlltoAll(1, 0, 1)]  # fmt: skip
    for op in ops_:
        np.testing.assert_array_equal(compiled(mode, op)(x).asnumpy(), x.asnumpy())
    (same,) = ops.NeighborExchange([0], [0], [(4, 3)], [(4, 3)], ms.float64)((x,))
    np.testing.assert_array_equal(same.asnumpy(), x.asnumpy())
    slope = compiled(mode, ms.grad(lambda x: (ops.AllReduce()(x) ** 2).sum()))(x)
    np.testing.assert_allclose(slope.asnumpy(), 2 * x.asnumpy(), rtol=1e-12)
    assert (communication.get_rank(), communication.get_group_size()) == (0, 1)


def test_a_process_without_its_peers_says_so():
    ms.set_auto_parallel_context(**HYBRID, global_rank=2)
    assert (communication.get_rank(), communication.get_group_size()) == (2, N)
    x = ms.ops.ones((4, 2))
    for run in (ops.AllReduce(), ms.jit(lambda x: ops.AllReduce()(x))):
        with pytest.raises(RuntimeError, match="a world of 4 ranks runs in a process that is alone .as rank 2"):
            run(x)
    ms.reset_auto_parallel_context()
    assert communication.get_group_size() == 1


@pytest.mark.parametrize("call, piece", [
    (lambda: ops.AllReduce("mean")(ops.ones(2)), "legal: 'sum', 'max', 'min', 'prod'"),
    (lambda: ops.AllReduce(group="odd")(ops.ones(2)), "no group is called 'odd'; legal: 'world_group'"),
    (lambda: ops.AlltoAll(4, 0, 1)(ops.ones((4, 4))), "split_count=4, group 'world_group' has 1 ranks"),
    (lambda: ops.Broadcast(3)(ops.ones(2)), "root 3 is not in the group"),
    (lambda: ops.NeighborExchange([1], [0], [(2,)], [(2,)], ms.float32)((ops.ones(2),)), "1 is no place in a group"),
    (lambda: ops.NeighborExchange([0], [0], [(2,)], [(3,)], ms.float32)((ops.ones(2),)), "send_shapes says"),
    (lambda: ms.grad(lambda x: ops.ReduceScatter("max")(x).sum())(ops.ones(2)), "has no gradient"),
    (lambda: communication.create_group("g", [0, 5]), "different ranks from 0 to 0"),
    (lambda: communication.create_group("world_group", [0]), "this is no name, or it is taken"),
    (lambda: communication.destroy_group("g"), "no group is called 'g'"),
    (lambda: communication.init("gloo"), "legal: 'hccl', 'nccl'"),
    (lambda: communication.get_world_rank_from_group_rank("world_group", 3), "places 0 to 0, not 3"),
    (lambda: communication.get_group_rank_from_world_rank(3, "world_group"), "rank 3 is not in the group"),
])  # fmt: skip
def test_wrong_calls_explain_themselves(call, piece):
    with pytest.raises(ValueError) as told:
        call()
    assert piece in str(told.value)


# ---- simulated ranks ------------------------------------------------------------------------------------------------


def expected(values, rank):
    """What ``every_collective`` gives, by NumPy."""
    n, total = len(values), np.sum(values, axis=0)
    pieces = [np.split(v, n)[rank] for v in values]
    return (total, np.max(values, axis=0), np.concatenate(values), np.split(total, n)[rank], values[1],
            np.concatenate(pieces, 1), values[rank - 1])  # fmt: skip


def test_values_on_simulated_ranks_are_those_of_numpy(rng):
    x = tensors(rng, 8, 3)
    values = [v.asnumpy() for v in x.values]
    plan = on_ranks(every_collective, x)
    for rank, row in enumerate(plan.run()):
        for found, want in zip(row, expected(values, rank), strict=True):
            np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-12)
    promised = {}
    for c in plan.collectives:
        promised[c.kind] = promised.get(c.kind, 0) + c.sent
    assert plan.sent == promised
    assert plan.step_time >= sum(c.seconds for c in plan.collectives) > 0
    assert "4 different programs" in repr(plan), "it asks for its rank, so every rank has a program of its own"


ADJOINTS = {
    "all_reduce": lambda x: ops.AllReduce()(x),
    "all_gather": lambda x: ops.AllGather()(x),
    "reduce_scatter": lambda x: ops.ReduceScatter()(x),
    "all_to_all": lambda x: ops.AlltoAll(N, 0, 1)(x),
    "broadcast": lambda x: ops.Broadcast(2)(x),
    "neighbors": lambda x: ops.NeighborExchange(
        [(communication.get_rank() + 1) % N], [(communication.get_rank() - 1) % N], [(8, 4)], [(8, 4)], ms.float64
    )((x,))[0],
}


@pytest.mark.parametrize("name", sorted(ADJOINTS))
def test_gradients_are_adjoints(name, rng):
    """sum over ranks of <A x, y> = sum over ranks of <x, A^T y>, and A^T is what the gradient gives."""
    op, x, d = ADJOINTS[name], tensors(rng, 8, 4), tensors(rng, 8, 4)
    shape = on_ranks(op, x).run()[0].shape
    y = tensors(rng, *shape)

    def both(x, y, d):
        return ms.grad(lambda x: (op(x) * y).sum())(x), op(d)

    rows = on_ranks(both, x, y, d).run()
    left = sum((row[0] * d_.asnumpy()).sum() for row, d_ in zip(rows, d.values))
    right = sum((row[1] * y_.asnumpy()).sum() for row, y_ in zip(rows, y.values))
    assert float(left) == pytest.approx(float(right), rel=1e-9, abs=1e-9)


def test_the_gradient_of_a_maximum_goes_to_who_had_it(rng):
    x = tensors(rng, 6)
    rows = on_ranks(lambda x: ms.grad(lambda x: ops.AllReduce("max")(x).sum())(x), x).run()
    values = np.stack([v.asnumpy() for v in x.values])
    np.testing.assert_array_equal(np.stack(rows), N * (values == values.max(0)))


def test_groups_of_some_ranks(group, rng):
    even, odd = group("even", [0, 2]), group("odd", [3, 1])
    x = tensors(rng, 2)
    values = [v.asnumpy() for v in x.values]

    def program(x):
        mine = even if communication.get_rank() % 2 == 0 else odd
        return ops.AllGather(mine)(x), ops.full((1,), communication.get_rank(mine))

    rows = on_ranks(program, x).run()
    for rank, (found, place) in enumerate(rows):
        members = [0, 2] if rank % 2 == 0 else [3, 1]
        np.testing.assert_array_equal(found, np.concatenate([values[r] for r in members]))
        assert members[int(place[0])] == rank
    with pytest.raises(ValueError, match="rank 1 is not in the group 'even'"):
        on_ranks(lambda x: ops.AllReduce(group=even)(x), x)
    assert communication.get_world_rank_from_group_rank(odd, 0) == 3
    assert communication.get_group_rank_from_world_rank(1, odd) == 1


def test_ranks_that_wait_for_each_other_for_ever_are_told(rng):
    def some(x):
        return ops.AllReduce()(x) if communication.get_rank() else x

    with pytest.raises(RuntimeError) as told:
        on_ranks(some, tensors(rng, 2)).run()
    assert "rank 1 waits for all_reduce of float64 [2] among ranks [0, 1, 2, 3]" in str(told.value)
    assert "rank 0 has ended" in str(told.value)
    uneven = PerRank([ms.Tensor(np.zeros(2 + (r == 3))) for r in range(N)])
    with pytest.raises(RuntimeError, match=r"rank 3 waits for all_reduce of float64 \[3\]"):
        on_ranks(lambda x: ops.AllReduce()(x), uneven).run()


def test_an_error_of_one_rank_is_its_own(rng):
    table, at = ms.Tensor(np.zeros(3)), PerRank([ms.Tensor([r]) for r in range(N)])
    plan = on_ranks(lambda t, i: ops.AllReduce()(ops.gather(t, i, 0)), table, at)
    with pytest.raises(IndexError) as told:
        plan.run()
    assert told.value.__notes__ == ["on rank 3"]


def test_loops_with_collectives_inside(rng):
    """A power iteration whose matrix is spread by rows."""
    rows = tensors(rng, 2, 8)

    def power(part):
        v = ops.ones(8, dtype=ms.float64)
        for _ in range(3):
            v = ops.AllGather()(part @ v)
        while ops.abs(v).max() > 1.0:
            v = ops.AllGather()(ops.AllReduce("max")(part * 0) @ v + (v / 2)[:2])
        return v

    found = on_ranks(power, rows).run()
    assert all(np.array_equal(found[0], f) for f in found) and np.abs(found[0]).max() <= 1.0


@pytest.mark.parametrize(
    "given, piece",
    [
        (PerRank([ms.Tensor([1.0])] * 3), "PerRank has 3 values, there are 4 ranks"),
        (3, "plan takes a Cell or a function, not int"),
    ],
)
def test_wrong_programs_and_inputs(given, piece):
    with pytest.raises((ValueError, TypeError), match=piece):
        on_ranks(given) if isinstance(given, int) else on_ranks(lambda x: x + 1, given)


def test_more_ranks_than_one_process_runs():
    plan = on_ranks(lambda x: ops.AllReduce()(x), ms.Tensor([1.0, 2.0]), n=128)
    assert plan.collectives[0].group == tuple(range(128)) and plan.step_time > 0
    with pytest.raises(RuntimeError, match="128 ranks are too many for one process; inproc runs up to 64"):
        plan.run()


def test_inputs_of_another_shape():
    plan = on_ranks(lambda x: ops.AllReduce()(x), ms.Tensor([1.0, 2.0]))
    with pytest.raises(ValueError, match=r"x of rank 0 has shape \[3\]"):
        plan.run(ms.Tensor([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("ask, piece", [
    (lambda plan: plan.strategies, "no operator of it is split"),
    (lambda plan: plan.layouts, "what a rank has is whole"),
    (lambda plan: plan.front, "there is one plan"),
    (lambda plan: plan.segments(), "it says itself which gradients are summed"),
    (lambda plan: plan.to_dict(), "a strategy file would be empty"),
    (ms.parallel.Trainer, "engine='mpi', keep=True"),
])  # fmt: skip
def test_what_nobody_decided_says_so_and_where_to_look(ask, piece):
    plan = on_ranks(ops.AllReduce(), ops.ones(2))
    with pytest.raises(AttributeError, match="places its own collectives and has no strategies") as told:
        ask(plan)
    assert piece in str(told.value) and "hint" in str(told.value)
    assert not hasattr(plan, "strategies")


def test_the_program_of_a_rank_is_a_picture():
    plan = on_ranks(lambda x: ops.relu(ops.AllReduce()(x * 2)), ops.ones((4, 8)))
    view = ms.show.plan(plan)
    assert "one program for all ranks" in view.text and "all_reduce" in view.text and "128 B" in view.text
    graph, timeline, memory = view.figures
    assert "all_reduce 128 B over 4" in graph and "simulated" in timeline and "activations" in memory
    assert ms.show.plan(plan, view="timeline").figures == [timeline]
    assert view.data["collectives"][0]["collective"] == "all_reduce"
    with pytest.raises(TypeError, match="legal: 'all', 'graph', 'timeline', 'memory'"):
        ms.show.plan(plan, view="front")
    asks = on_ranks(lambda x: ops.AllReduce()(x * communication.get_rank()), ops.ones(2))
    assert "4 different programs, shown is rank 0" in ms.show.plan(asks).summary


def test_a_run_gives_what_the_program_of_every_rank_returns():
    x = PerRank([ms.Tensor([float(r)]) for r in range(N)])
    rows = on_ranks(lambda x: {"mine": x, "all": [ops.AllReduce()(x)]}, x).run()
    assert [list(row) for row in rows] == [["mine", "all"]] * N
    assert [(float(row["mine"][0]), float(row["all"][0][0])) for row in rows] == [(float(r), 6.0) for r in range(N)]


@pytest.mark.parametrize("how", [{"memory_limit": 1e9}, {"recompute": True}, {"search_mode": "dynamic_programming"},
                                 {"optimizer_level": 1}, {"pipeline_stages": 2}])  # fmt: skip
def test_keywords_of_planned_modes_are_refused(how):
    with pytest.raises(ValueError, match=f"place their own collectives: {next(iter(how))}= says nothing"):
        ms.parallel.plan(ops.AllReduce(), ops.ones(2), **HYBRID, **how)


@pytest.mark.parametrize("how", ["data_parallel", "semi_auto_parallel", "auto_parallel"])
def test_other_modes_place_collectives_themselves(how):
    with pytest.raises(ValueError, match="places collectives itself .all_reduce.; a plan is made of programs"):
        ms.parallel.plan(lambda x: ops.AllReduce()(x * 2).sum(), ops.ones((8, 4)), parallel_mode=how, device_num=N)


# ---- training steps -------------------------------------------------------------------------------------------------


class Line(nn.Cell):
    def __init__(self, dtype=ms.float64):
        super().__init__()
        self.w = ms.Parameter(ms.Tensor(np.linspace(-1, 1, 8).reshape(4, 2), dtype), name="w")

    def construct(self, x, y):
        return ops.mse_loss(ops.matmul(x, self.w), y)


def step_under(mean, made=None):
    """A training step made as hybrid_parallel, and the weights after it on every rank."""
    ms.set_auto_parallel_context(**HYBRID, mirror_mean=mean)
    net = Line() if made is None else made
    return nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))


def new_weights(plan):
    """Per rank the value of w after the step."""
    graph = plan.graphs[0]
    at = next(new for old, new in graph.state.items() if graph.params[old].name.endswith("w"))
    return [row[at] for row in plan.values()]


@pytest.mark.parametrize("mean", [True, False])
def test_training_steps_sum_gradients_and_divide_if_asked(mean, rng):
    x, y = rng.standard_normal((16, 4)), rng.standard_normal((16, 2))
    whole = Line()
    slope = ms.grad(whole, None, [whole.w])(ms.Tensor(x), ms.Tensor(y))[0].asnumpy()
    parts = [PerRank(list(map(ms.Tensor, np.split(a, N)))) for a in (x, y)]
    plan = ms.parallel.plan(step_under(mean), *parts)
    want = Line().w.asnumpy() - 0.1 * slope * (1 if mean else N)
    for w in new_weights(plan):
        np.testing.assert_allclose(w, want, rtol=1e-12, atol=1e-13)
    assert [c.kind for c in plan.collectives] == ["all_reduce"]


def test_data_parallel_adds_up_gradients_only_when_told(rng):
    """A plan's gradients are one device's; mirror_mean=False makes a step with MindSpore's sum."""
    x, y = ms.Tensor(rng.standard_normal((16, 4))), ms.Tensor(rng.standard_normal((16, 2)))
    slope = ms.grad(net := Line(), None, [net.w])(x, y)[0].asnumpy()
    for said, times in ({}, 1), ({"mirror_mean": True}, 1), ({"mirror_mean": False}, N):
        ms.set_auto_parallel_context(parallel_mode="data_parallel", device_num=N, **said)
        net = Line()
        step = ms.jit(nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1)))
        step(x, y)
        np.testing.assert_allclose(net.w.asnumpy(), Line().w.asnumpy() - 0.1 * times * slope, rtol=1e-12, atol=1e-13)
        ms.reset_auto_parallel_context()


def test_half_precision_is_reduced_in_single_and_weights_of_one_rank_are_not():
    ms.set_auto_parallel_context(**HYBRID)
    weights = [ms.Parameter(ops.ones(2), name="a"), ms.Parameter(ops.ones(2), name="b", layerwise_parallel=True)]
    reducer = nn.DistributedGradReducer(weights, mean=True)
    grads = [ms.Tensor(np.array([30000.0, r]), ms.float16) for r in range(N)]
    rows = ms.parallel.plan(lambda g: reducer((g, -g)), PerRank(grads)).run()
    for rank, (together, own) in enumerate(rows):
        assert together.dtype == ms.float16
        np.testing.assert_array_equal(together, [30000.0, 1.5])  # in float16 the sum, 120000, would be infinite
        np.testing.assert_array_equal(own, -grads[rank].asnumpy())
    with pytest.raises(ValueError, match="degree=0 is not legal"):
        nn.DistributedGradReducer(weights, degree=0)


def test_an_overflow_on_one_rank_is_skipped_on_all():
    ms.set_auto_parallel_context(**HYBRID, mirror_mean=True)
    net = Line(ms.float32)
    update = nn.DynamicLossScaleUpdateCell(1024.0, 2, 100)
    step = nn.TrainOneStepWithLossScaleCell(net, nn.SGD(net.trainable_params(), 0.1), update)
    x = PerRank([ms.Tensor(np.full((2, 4), 1e30 if r == 2 else 1.0, np.float32)) for r in range(N)])
    plan = ms.parallel.plan(step, x, ms.Tensor(np.zeros((2, 2), np.float32)))
    for _, overflow, scale in plan.run():
        assert bool(overflow) and float(scale) == 1024.0
    for w in new_weights(plan):
        np.testing.assert_array_equal(w, Line(ms.float32).w.asnumpy())


# ---- real ranks -----------------------------------------------------------------------------------------------------

needs_mpi = pytest.mark.skipif(bool(missing("mpi")), reason=f"needs {missing('mpi')}")


@pytest.fixture(scope="module")
def engine():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        with Engine("mpi", n=N) as made:
            yield made


@pytest.mark.long
@needs_mpi
def test_real_ranks_do_what_simulated_ones_do(engine):
    x = PerRank([ms.Tensor(part(r)) for r in range(N)])
    plan = on_ranks(every_collective, x)
    here, sent = plan.run(), plan.sent
    there = plan.run(engine=engine)
    for mine, theirs in zip(here, there, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(a, b)
    assert plan.sent == sent


@needs_mpi
@pytest.mark.parametrize("graph", [False, True])
def test_functions_of_real_ranks_call_collectives(engine, graph):
    values = [part(r) for r in range(N)]
    for rank, (found, slope) in enumerate(engine.map(hybrid_program.eagerly, graph)):
        for a, b in zip(found, expected(values, rank)):
            np.testing.assert_allclose(a, b, rtol=1e-12)
        if rank % 2 == 0:
            np.testing.assert_allclose(found[-1], values[0] + values[2], rtol=1e-12)
        np.testing.assert_allclose(slope, 2 * np.sum(values, axis=0), rtol=1e-12)


@needs_mpi
def test_real_ranks_write_into_tensors(engine):
    for rank, found in enumerate(engine.map(hybrid_program.in_place)):
        assert found == (10.0, [0, 1, 2, 3], [(rank - 1) % N] * 2, [f"rank {r}" for r in range(N)])


JOB = """
import msnb as ms
from msnb.communication import get_group_size, get_rank, init, release

init()
rank, size = get_rank(), get_group_size()
total = ms.ops.AllReduce()(ms.Tensor([1.0 + rank]))
print(f"rank {rank} of {size}: {total.tolist()}", flush=True)
release()
assert get_group_size() == 1
"""


@needs_mpi
@pytest.mark.slow
def test_init_joins_the_job_of_a_launcher(tmp_path):
    """mpiexec -n 2 python -m mpi4py train.py, as from a shell."""
    (tmp_path / "train.py").write_text(JOB)
    command = [str(mpiexec()), "-n", "2", sys.executable, "-m", "mpi4py", str(tmp_path / "train.py")]
    made = subprocess.run(command, env=environment(1), capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr
    lines = re.findall(r"rank \d of 2: \[3\.0\]", made.stdout)  # ranks may write at once, into one line
    assert sorted(lines) == ["rank 0 of 2: [3.0]", "rank 1 of 2: [3.0]"]


@needs_mpi
def test_a_function_that_ranks_cannot_import_is_told_and_hangs_nobody(engine, monkeypatch):
    nowhere = types.ModuleType("only_here")
    exec("def f(comm): return comm.rank", vars(nowhere))
    monkeypatch.setitem(sys.modules, "only_here", nowhere)
    with pytest.raises(RankError, match="No module named 'only_here'"):
        engine.map(nowhere.f)
    assert engine.recover() == "recovered"


@needs_mpi
def test_replicas_in_processes_of_their_own_begin_and_stay_alike(engine):
    rows = engine.map(hybrid_program.training, 3)
    first, last = zip(*rows)
    assert len({f.tobytes() for f in first}) == N
    assert len({w.tobytes() for w in last}) == 1 and not np.array_equal(first[0], last[0])


def test_batch_norm_asks_all_ranks(rng):
    """Each rank has its part of a batch: the result, the gradients and the running statistics of the whole batch."""
    parts = [rng.standard_normal((2, 3, 4, 5)) * (r + 1) + r for r in range(N)]
    pulls = [rng.standard_normal((2, 3, 4, 5)) for _ in range(N)]
    inputs = [PerRank([ms.Tensor(a) for a in side]) for side in (parts, pulls)]

    def program(net):
        def of(x, pull):
            value, back = ms.vjp(net, x)
            return value, back(pull)[0], net.moving_mean * 1, net.moving_variance * 1

        return of

    found = on_ranks(program(nn.SyncBatchNorm(3, dtype=ms.float64).set_train()), *inputs).run()
    alone = program(nn.BatchNorm2d(3, dtype=ms.float64).set_train())
    want = alone(ms.Tensor(np.concatenate(parts)), ms.Tensor(np.concatenate(pulls)))
    for r, (value, slope, mean, variance) in enumerate(found):
        own = slice(2 * r, 2 * r + 2)
        np.testing.assert_allclose(value, want[0].asnumpy()[own], atol=1e-10)
        np.testing.assert_allclose(slope, want[1].asnumpy()[own], atol=1e-10)
        np.testing.assert_allclose(mean, want[2].asnumpy(), atol=1e-10)
        np.testing.assert_allclose(variance, want[3].asnumpy(), atol=1e-10)


def test_batch_norm_of_some_ranks(rng):
    parts = [rng.standard_normal((2, 3, 2, 2)) + r for r in range(N)]
    net = nn.SyncBatchNorm(3, dtype=ms.float64, process_groups=[[0, 1], [2, 3]]).set_train()
    found = on_ranks(lambda x: net(x), PerRank([ms.Tensor(a) for a in parts])).run()
    for pair in (0, 2):
        both = nn.BatchNorm2d(3, dtype=ms.float64).set_train()(ms.Tensor(np.concatenate(parts[pair : pair + 2])))
        np.testing.assert_allclose(np.concatenate(found[pair : pair + 2]), both.asnumpy(), atol=1e-10)
    with pytest.raises(ValueError, match="in two of process_groups"):
        nn.SyncBatchNorm(3, process_groups=[[0, 1], [1, 2]])
    with pytest.raises(ValueError, match="rank 2 is in none"):
        on_ranks(nn.SyncBatchNorm(3, process_groups=[[0, 1]]).set_train(), PerRank([ms.Tensor(a) for a in parts])).run()


# ---- what plans offer -----------------------------------------------------------------------------------------------


class Averaging(nn.Cell):
    """A step of its own: the gradient of a rank's part, averaged by the program itself."""

    def __init__(self):
        super().__init__()
        ms.set_seed(1)
        self.fc = nn.Dense(3, 2, dtype=ms.float64)
        self.optimizer = nn.Momentum(self.fc.trainable_params(), 0.1, 0.9)
        self.sum = ops.AllReduce()

    def construct(self, x):
        weights = self.fc.trainable_params()
        loss, grads = ms.value_and_grad(lambda x: (self.fc(x) ** 2).mean(), None, weights)(x)
        self.optimizer(tuple(self.sum(g) / N for g in grads))
        return loss


def test_state_goes_on_from_run_to_run(rng):
    """Each rank holds its own; the network's is untouched until it is written back."""
    parts, step = tensors(rng, 4, 3), Averaging()
    before = {p.name: p.asnumpy().copy() for p in step.get_parameters()}
    plan = on_ranks(step, parts)
    once = plan.run()
    np.testing.assert_array_equal(plan.run(), once)
    losses = [np.mean(plan.run(keep=True)) for _ in range(3)]
    assert losses[0] == np.mean(once) != losses[1]
    for p in step.get_parameters():
        np.testing.assert_array_equal(p.asnumpy(), before[p.name])
    alone, whole = Averaging(), ms.Tensor(np.concatenate([x.asnumpy() for x in parts.values]))
    alone.sum = lambda g: g * N  # one device with the whole batch: the mean of the parts' means
    want = [float(alone(whole)) for _ in range(3)]
    np.testing.assert_allclose(losses, want, rtol=1e-10)
    plan.write_back(rank=2)
    for p, q in zip(step.get_parameters(), alone.get_parameters()):
        np.testing.assert_allclose(p.asnumpy(), q.asnumpy(), rtol=1e-10, atol=1e-13, err_msg=p.name)


def test_memory_and_explanations(rng, tmp_path):
    plan = on_ranks(Averaging(), tensors(rng, 4, 3))
    assert plan.memory["weights"] == 8 * 8 and plan.memory["optimizer"] >= 8 * 8
    assert plan.memory["activations"] >= 4 * 3 * 8
    assert plan.memory["total"] == sum(n for name, n in plan.memory.items() if name != "total")
    assert "among ranks 0, 1, 2, 3: " in plan.explain("all_reduce") and "simulated" in plan.explain("all_reduce")
    assert "no other rank takes part" in plan.explain("matmul")
    file = tmp_path / "plan.json"
    for call, piece in ((lambda: plan.explain("matmull"), "legal: "), (lambda: plan.save(file), "no strategies"),
                        (lambda: plan.load(file), "auto_parallel")):  # fmt: skip
        with pytest.raises(ValueError) as told:
            call()
        assert piece in str(told.value)
