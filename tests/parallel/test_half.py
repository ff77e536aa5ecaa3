"""Programs in 16 bits: sums of gradients over devices are taken in float32, and everybody counts the same bytes."""

from __future__ import annotations

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.parallel.planner.cost_model import WEIGHT, TimeModel

N = 8
DATA = {"parallel_mode": "data_parallel", "device_num": N}


@pytest.fixture(autouse=True)
def _one_device_afterwards():
    yield
    ms.reset_auto_parallel_context()


class Half(nn.Cell):
    """A product and a bias in float16, their weights in float32."""

    def __init__(self):
        super().__init__()
        ms.set_seed(0)
        self.dense = nn.Dense(16, 32).to_float(ms.float16)

    def construct(self, x):
        return ops.square(self.dense(x).astype("float32")).mean()


def rows(seed, *shape):
    return ms.Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def of_gradients(plan):
    return [c for c in plan.collectives if c.phase == "backward"]


def trained(level, steps=8, **context):
    """What each step of a network in mixed precision gives, and the weights at the end."""
    ms.reset_auto_parallel_context()
    ms.set_auto_parallel_context(**context)
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Dense(16, 32), nn.ReLU(), nn.Dense(32, 4))
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    step = ms.jit(ms.amp.build_train_network(net, optimizer, nn.CrossEntropyLoss(), level=level))
    out = []
    for i in range(steps):
        made = step(rows(i, 32, 16), ms.Tensor(np.arange(i, i + 32) % 4))
        out.append([float(v) for v in (made if isinstance(made, tuple) else (made,))])
    return np.array(out), [p.asnumpy().astype(np.float64) for p in net.trainable_params()]


@pytest.mark.parametrize("level", ["O2", "O3"])
def test_mixed_precision_with_a_loss_scale_trains_as_on_one_device(level):
    """The scale begins where float16 overflows: the same steps are skipped, the scale takes the same way, and what is
    left is rounding: a sum of eight float32 terms in another order, then one rounding to float16 (2**-11)."""
    want, weights = trained(level)
    found, split = trained(level, **DATA)
    if level == "O2":
        assert 0 < want[:, 1].sum() < len(want), "some steps overflow, some do not"
        np.testing.assert_array_equal(found[:, 1:], want[:, 1:])
    np.testing.assert_allclose(found[:, 0], want[:, 0], rtol=2e-4)
    for a, b in zip(split, weights):
        assert np.linalg.norm(a - b) <= 2**-10 * np.linalg.norm(b)


def _down(x):
    return ops.sum_to(x, shape=(2,))


def test_sums_of_half_precision_are_made_in_single(mode):
    x = ms.Tensor(np.ones((5000, 2)), ms.float16)
    add_up = ms.jit(_down) if mode == ms.GRAPH_MODE else _down
    total = add_up(x)
    assert total.dtype is ms.float16 and total.tolist() == [5000.0, 5000.0]  # in float16 2048 + 1 is 2048


def test_search_timeline_plan_and_ranks_count_the_same_bytes(monkeypatch):
    plan = ms.parallel.plan(Half(), rows(0, 64, 16), **DATA)
    promised = {}
    for c in plan.collectives:
        promised[c.kind] = promised.get(c.kind, 0) + c.sent
    plan.run()
    assert plan.sent == promised
    found = sorted(c.nbytes for c in of_gradients(plan))
    assert found == [32 * 4, 16 * 32 * 4]
    assert sorted(nbytes for _, nbytes, _, _, _ in plan.timeline.gradients) == found

    counted = []

    def count(model, axes, nbytes, role):
        counted.extend([nbytes] if axes and role == WEIGHT else [])
        return 0.0

    monkeypatch.setattr(TimeModel, "_gradient", count)
    for node, strategy in plan.chosen.items():
        plan.problem.prices.model.node(plan.problem.calls[node], strategy, plan.problem.prices.circumstances(node)[0])
    assert sorted(counted) == found


@pytest.mark.long
@pytest.mark.parametrize("keys, size", [
    ({}, 4),
    ({"cast_before_mirror": True}, 2),
    ({"cast_before_mirror": False}, 4),
    ({"gradient_fp32_sync": False}, 2),
    ({"cast_before_mirror": True, "gradient_fp32_sync": False}, 2),
    ({"cast_before_mirror": True, "force_fp32_communication": True}, 4),
])  # fmt: skip
def test_which_gradients_are_summed_in_16_bits(keys, size):
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", device_num=N, **keys)
    plan = ms.parallel.plan(Half(), rows(0, 64, 16), strategies={"matmul": ((N, 1), (1, 1))})
    loss, grads = plan.run()
    assert 16 * 32 * size in [c.nbytes for c in of_gradients(plan)]
    assert sum(plan.sent.values()) == sum(c.sent for c in plan.collectives)
    net = Half()
    want_loss, want = ms.value_and_grad(net, None, net.trainable_params())(rows(0, 64, 16))
    assert float(loss) == pytest.approx(want_loss.item(), rel=1e-3)
    for p, g in zip(net.trainable_params(), want):  # eight additions in float16 round by 2**-11 each
        assert np.linalg.norm(grads[p.name] - g.asnumpy()) <= 2**-8 * np.linalg.norm(g.asnumpy())


@pytest.mark.parametrize("forced, size", [(False, 2), (True, 4)])
def test_sums_of_activations_are_in_their_dtype_unless_forced(forced, size):
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", device_num=N, force_fp32_communication=forced)
    x, w = ms.Tensor(np.ones((8, 16)), ms.float16), ms.Tensor(np.ones((16, 4)), ms.float16)
    plan = ms.parallel.plan(ops.matmul, x, w, strategies={"matmul": ((1, N), (N, 1))})
    (only,) = plan.collectives
    assert only.nbytes == 8 * 4 * size
    np.testing.assert_array_equal(plan.run(), np.full((8, 4), 16.0))


def test_keys_that_contradict_each_other():
    with pytest.raises(ValueError, match="contradict each other"):
        ms.set_auto_parallel_context(cast_before_mirror=True, gradient_fp32_sync=True)


def test_the_groups_shown_are_those_of_the_global_rank():
    net, x = nn.Dense(16, 32), rows(0, 64, 16)
    plan = ms.parallel.plan(net, x, device_num=4, strategies={"matmul": ((2, 2), (2, 1))}, training=False)
    assert [c.group for c in plan.collectives] == [(0, 1)]
    ms.set_auto_parallel_context(device_num=4, global_rank=3)
    assert [c.group for c in plan.collectives] == [(2, 3)]
