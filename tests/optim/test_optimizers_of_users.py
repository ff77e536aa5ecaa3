"""Optimizers that programs write as MindSpore's own are written: the parts that they call, and replace. Both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from msnb import Parameter, Tensor, nn, ops
from msnb.ops import functional as F

_update = ops.MultitypeFuncGraph("update")


@_update.register("Number", "Tensor", "Tensor", "Bool", "Tensor", "Tensor")
def _decayed(decay: float, rate: Any, weight: Any, decays: bool, slope: Any, moment: Any) -> Any:
    step = slope + weight * decay if decays else slope
    ops.assign(moment, moment * 0.9 + step)
    return F.depend(True, ops.assign_sub(weight, rate * moment))


class Momentum(nn.Optimizer):
    """As BERT's AdamWeightDecay is written: flags of its own, a hyper_map, the increased step."""

    def __init__(self, params: Any, rate: Any, decay: float, own_flags: bool) -> None:
        super().__init__(rate, params, decay)
        self.moments = self.parameters.clone(prefix="moments", init="zeros")
        self.decay = decay
        if own_flags:
            self.decay_flags = tuple("bias" not in p.name for p in self.parameters)
            self.hyper_map = ops.HyperMap()

    def construct(self, gradients: Any) -> Any:
        gradients = self.scale_grad(self.flatten_gradients(gradients))
        rate = self.get_lr()
        self.assignadd(self.global_step, self.global_step_increase_tensor)
        part = F.partial(_update, self.decay if self.exec_weight_decay else 0.0, rate)
        done = self.hyper_map(part, self.parameters, self.decay_flags, gradients, self.moments)
        return self.broadcast_params(done)


@pytest.mark.parametrize("own_flags", [True, False])
def test_an_optimizer_written_as_mindspores(mode: int, own_flags: bool) -> None:
    weight = Parameter(Tensor([1.0, -2.0]), name="layer.weight")
    bias = Parameter(Tensor([0.5]), name="layer.bias")
    gamma = Parameter(Tensor([3.0]), name="norm.gamma")
    optimizer = Momentum([weight, bias, gamma], Tensor(0.1), 0.01, own_flags)
    want = {p.name: p.asnumpy().copy() for p in (weight, bias, gamma)}
    decays = {"layer.weight": True, "layer.bias": not own_flags, "norm.gamma": own_flags}
    assert optimizer.decay_flags == tuple(decays.values())
    moments = {name: 0.0 for name in want}
    for _ in range(3):
        optimizer((Tensor([1.0, 1.0]), Tensor([2.0]), Tensor([4.0])))
        for name, slope in zip(want, (np.ones(2), np.full(1, 2.0), np.full(1, 4.0))):
            moments[name] = moments[name] * 0.9 + slope + want[name] * 0.01 * decays[name]
            want[name] = want[name] - 0.1 * moments[name]
    for p in (weight, bias, gamma):
        np.testing.assert_allclose(p.asnumpy(), want[p.name], rtol=1e-5)
    assert int(optimizer.global_step.sum()) == 3


def test_what_an_optimizer_tells_of_itself() -> None:
    w, b = Parameter(Tensor([1.0]), name="w"), Parameter(Tensor([1.0]), name="beta")
    plain = nn.SGD([w, b], 0.1, weight_decay=0.1, loss_scale=4.0)
    assert plain.decay_flags == (True, False) and plain.exec_weight_decay and plain.need_scale
    assert plain.reciprocal_scale == 0.25 and plain.optim_filter == (True, True) and plain.param_length == 2
    assert not (plain.dynamic_weight_decay or plain.use_parallel)
    groups = nn.SGD([{"params": [w], "weight_decay": 0.01}, {"params": [b]}], 0.1)
    assert groups.decay_flags == (True, False) and groups.exec_weight_decay and not groups.need_scale
    scheduled = nn.Momentum([w], 0.1, 0.9, weight_decay=nn.ExponentialDecayLR(0.1, 0.9, 3))
    assert scheduled.dynamic_weight_decay and scheduled.exec_weight_decay
    assert not nn.SGD([w], 0.1).exec_weight_decay
    assert plain.map_reverse(lambda a: a + 1, (1, 2)) == (2, 3)
    assert plain.hyper_map(lambda a: -a, ((1,), 2)) == ((-1,), -2)
    assert "decay_flags" not in dir(plain), "what a subclass calls is not what a user looks for"
