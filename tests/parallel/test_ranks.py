"""Real ranks: the numbers of the simulated ones, the bytes that the plan promises, and loss and gradients of the
single device. One MPI job of four ranks serves the whole file."""

from __future__ import annotations

import random

import numpy as np
import pytest
from nets import cases, pictures, small, spread

import msnb as ms
from msnb.parallel.engine.client.engine_client import Engine
from msnb.parallel.engine.client.process_launcher import missing

pytestmark = pytest.mark.skipif(bool(missing("mpi")), reason=f"needs {missing('mpi')}")

NETS = {type(net).__name__: (net, inputs) for net, inputs in cases()}
EXACT, ROUNDED = 1e-10, 1e-5


@pytest.fixture(scope="module")
def engine():
    with Engine("mpi", n=4) as made:
        yield made


def single(net, inputs):
    weights = net.trainable_params()
    loss, grads = ms.value_and_grad(net, None, weights)(*inputs)
    return loss.item(), {p.name: g.asnumpy() for p, g in zip(weights, grads)}


def check(plan, net, inputs, engine, tolerance=EXACT):
    """Equal to the single device within the tolerance, and to the simulated ranks; in bytes exactly."""
    want, want_grads = single(net, inputs)
    simulated, sim_grads = plan.run(*inputs)
    loss, grads = plan.run(*inputs, engine=engine)
    assert abs(float(loss) - want) <= tolerance * max(1.0, abs(want))
    np.testing.assert_allclose(loss, simulated, rtol=1e-12)
    assert set(grads) == set(want_grads)
    for name, g in grads.items():
        np.testing.assert_allclose(g, sim_grads[name], rtol=1e-11, atol=1e-13 * np.abs(g).max(), err_msg=name)
        assert np.linalg.norm(g - want_grads[name]) <= tolerance * max(1e-3, np.linalg.norm(want_grads[name])), name
    promised = {}
    for c in plan.collectives:
        promised[c.kind] = promised.get(c.kind, 0) + c.sent
    assert plan.sent == promised, "bytes counted on the wire and bytes that the plan promises"


@pytest.mark.long
def test_data_parallel_and_random_plans(engine):
    for name in ("MLP", "Words"):
        net, inputs = NETS[name]
        base = ms.parallel.plan(net, *inputs, device_num=4)
        check(ms.parallel.plan(net, *inputs, device_num=4, parallel_mode="data_parallel"), net, inputs, engine)
        rng = random.Random(5)
        check(base.with_choices([rng.randrange(len(s)) for s in base.problem.strategies]), net, inputs, engine)


@pytest.mark.slow
@pytest.mark.parametrize("n, h, w", [(1, 2, 2), (2, 1, 2), (1, 4, 1)])
def test_pieces_of_images(engine, n, h, w):
    """Neighbours exchange the rows that their windows see."""
    net, inputs = pictures()
    check(ms.parallel.plan(net, *inputs, device_num=4, strategies=spread(n, h, w)), net, inputs, engine)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(NETS))
def test_many_plans(engine, name):
    net, inputs = NETS[name]
    base = ms.parallel.plan(net, *inputs, device_num=4)
    for seed in range(8):
        rng = random.Random(seed)
        plan = base.with_choices([rng.randrange(len(s)) for s in base.problem.strategies])
        check(plan, net, inputs, engine)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3])
def test_other_numbers_of_ranks(n):
    net, inputs = NETS["MLP"] if n == 2 else NETS["Chain"]
    inputs = inputs if n == 2 else (ms.Tensor(np.random.default_rng(0).standard_normal((12, 8))),)
    plan = ms.parallel.plan(net, *inputs, device_num=n, parallel_mode="data_parallel")
    with Engine("mpi", n=n) as own:
        want, got = plan.run(*inputs), plan.run(*inputs, engine=own)
    np.testing.assert_array_equal(got[0], want[0])
    for name in want[1]:
        np.testing.assert_array_equal(got[1][name], want[1][name])


def test_float32_within_a_hundred_thousandth(engine):
    ms.set_seed(0)
    net = ms.nn.SequentialCell(ms.nn.Dense(32, 64, activation="relu"), ms.nn.Dense(64, 16))
    x = ms.Tensor(np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32))
    y = ms.Tensor(np.arange(64) % 16)

    class Loss(ms.nn.Cell):
        def __init__(self):
            super().__init__()
            self.net = net

        def construct(self, x, y):
            return ms.ops.cross_entropy(self.net(x), y)

    loss = Loss()
    check(ms.parallel.plan(loss, x, y, device_num=4, parallel_mode="data_parallel"), loss, (x, y), engine, ROUNDED)


def test_half_precision_in_bits_and_bytes(engine):
    """Gradients of a float16 product are summed in float32: the ranks' values are the simulated ones, bit for bit."""
    net = ms.nn.Dense(16, 8).to_float(ms.float16)
    x = ms.Tensor(np.random.default_rng(0).standard_normal((32, 16)).astype(np.float32))
    plan = ms.parallel.plan(lambda x: ms.ops.square(net(x).astype("float32")).mean(), x, device_num=4,
                            parallel_mode="data_parallel")  # fmt: skip
    (loss, grads), (same, alike) = plan.run(), plan.run(engine=engine)
    assert loss == same and all(np.array_equal(grads[name], alike[name]) for name in grads)
    assert plan.sent == {"all_reduce": sum(c.sent for c in plan.collectives)}
    assert {c.nbytes for c in plan.collectives if c.phase == "backward"} == {8 * 4, 16 * 8 * 4}


def test_forward_only_and_wrong_engines(engine):
    net = ms.nn.Dense(8, 4, dtype=ms.float64)
    x = ms.Tensor(np.random.default_rng(0).standard_normal((16, 8)))
    plan = ms.parallel.plan(net, x, device_num=4, strategies={"matmul": ((1, 4), (4, 1))})
    np.testing.assert_allclose(plan.run(x, engine="mpi"), net(x).asnumpy(), rtol=1e-12)  # finds the one that runs
    small = ms.parallel.plan(net, x, device_num=2)
    with pytest.raises(ValueError, match="the plan is for 2 devices, the engine has 4 ranks"):
        small.run(x, engine=engine)
    with pytest.raises(ValueError, match="legal: 'mpi', 'ipp', 'nccl'"):
        Engine("gloo")
    with pytest.raises(ValueError, match="legal: 1 to 64"):
        Engine("mpi", n=0)
    with pytest.raises(TypeError, match="a function of a module"):
        engine.map(lambda comm: 0)


def test_health_stats_and_what_programs_print(engine, capsys):
    def told(x):
        ms.ops.print("sum", x.sum())
        return x.sum()

    assert engine.health() == dict.fromkeys(range(4), "idle")
    x = ms.Tensor(np.arange(8.0))
    plan = ms.parallel.plan(told, x, device_num=4)
    assert float(plan.run(x, engine=engine)) == 28.0
    assert capsys.readouterr().out == "sum 28.0\n"



@pytest.mark.parametrize("level", ["O0", pytest.param("O1", marks=pytest.mark.long)])
def test_ranks_compute_as_the_client_does(engine, level):
    """Reference bodies at "O0", native code at "O1": the numbers of the single device's reference up to rounding."""
    net, inputs = small()
    plan = ms.parallel.plan(net, *inputs, device_num=4, parallel_mode="data_parallel")
    with ms.set_context(jit_level="O0"):
        want, grads = single(net, inputs)
    with ms.set_context(jit_level=level):
        loss, found = plan.run(*inputs, engine=engine)
    assert abs(float(loss) - want) <= ROUNDED * abs(want)
    for name, g in grads.items():
        assert np.linalg.norm(found[name] - g) <= ROUNDED * np.linalg.norm(g), name
