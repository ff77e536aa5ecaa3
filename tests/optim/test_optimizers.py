"""Optimizers against their formulas in float64 NumPy, in both modes, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Parameter, Tensor, nn, ops
from msnb.api.graph_mode import compiled_cell

Array = np.ndarray[Any, Any]
STEPS, RATE = 5, 0.1


def sgd(momentum: float = 0.0, dampening: float = 0.0, nesterov: bool = False, decay: float = 0.0) -> Any:
    def step(p: Array, g: Array, s: dict[str, Any], t: int) -> Array:
        g = g + decay * p
        if not momentum:
            return p - RATE * g
        s["v"] = g if t == 1 else momentum * s["v"] + (1 - dampening) * g
        return p - RATE * (g + momentum * s["v"] if nesterov else s["v"])

    return step


def adam(nesterov: bool = False, amsgrad: bool = False, decay: float = 0.0) -> Any:
    def step(p: Array, g: Array, s: dict[str, Any], t: int) -> Array:
        g = g + decay * p
        s["m"] = 0.8 * s.get("m", 0) + 0.2 * g
        s["v"] = 0.9 * s.get("v", 0) + 0.1 * g**2
        m = 0.8 * s["m"] + 0.2 * g if nesterov else s["m"]
        s["h"] = np.maximum(s.get("h", 0), s["v"])
        v = s["h"] if amsgrad else s["v"]
        return p - RATE * np.sqrt(1 - 0.9**t) / (1 - 0.8**t) * m / (np.sqrt(v) + 1e-3)

    return step


def decoupled(kind: str, decay: float) -> Any:
    def step(p: Array, g: Array, s: dict[str, Any], t: int) -> Array:
        s["m"] = 0.8 * s.get("m", 0) + 0.2 * g
        s["v"] = 0.9 * s.get("v", 0) + 0.1 * g**2
        one, two = (1, 1) if kind == "AdamWeightDecay" else (1 - 0.8**t, 1 - 0.9**t)
        u = s["m"] / one / (np.sqrt(s["v"] / two) + 1e-3) + decay * p
        ratio = np.linalg.norm(p) / np.linalg.norm(u) if kind == "Lamb" else 1.0
        return p - RATE * ratio * u

    return step


def rmsprop(momentum: float = 0.0, centered: bool = False) -> Any:
    def step(p: Array, g: Array, s: dict[str, Any], t: int) -> Array:
        s["s"] = 0.7 * s.get("s", 0) + 0.3 * g**2
        s["a"] = 0.7 * s.get("a", 0) + 0.3 * g
        spread = s["s"] - s["a"] ** 2 if centered else s["s"]
        s["m"] = momentum * s.get("m", 0) + RATE * g / np.sqrt(spread + 1e-3)
        return p - s["m"]

    return step


def adagrad(p: Array, g: Array, s: dict[str, Any], t: int) -> Array:
    s["h"] = s.get("h", 0.5) + g**2
    return p - RATE * g / np.sqrt(s["h"])


def adamax(p: Array, g: Array, s: dict[str, Any], t: int) -> Array:
    s["m"] = 0.8 * s.get("m", 0) + 0.2 * g
    s["u"] = np.maximum(0.9 * s.get("u", 0), np.abs(g) + 1e-3)
    return p - RATE / (1 - 0.8**t) * s["m"] / s["u"]


def adadelta(p: Array, g: Array, s: dict[str, Any], t: int) -> Array:
    s["a"] = 0.7 * s.get("a", 0) + 0.3 * g**2
    d = np.sqrt(s.get("b", 0) + 1e-3) / np.sqrt(s["a"] + 1e-3) * g
    s["b"] = 0.7 * s.get("b", 0) + 0.3 * d**2
    return p - RATE * d


def rprop(p: Array, g: Array, s: dict[str, Any], t: int) -> Array:
    same = np.sign(g * s.get("g", 0))
    s["d"] = np.clip(s.get("d", RATE) * np.choose(same.astype(int) + 1, [0.5, 1.0, 1.2]), 0.06, 0.11)
    s["g"] = np.where(same < 0, 0, g)
    return p - np.sign(s["g"]) * s["d"]


BETAS = {"beta1": 0.8, "beta2": 0.9, "eps": 1e-3}
METHODS: dict[str, tuple[Any, Any]] = {
    "sgd": (lambda p: nn.SGD(p, RATE), sgd()),
    "sgd momentum": (lambda p: nn.SGD(p, RATE, 0.5, 0.25), sgd(0.5, 0.25)),
    "sgd nesterov": (lambda p: nn.SGD(p, RATE, 0.5, nesterov=True), sgd(0.5, nesterov=True)),
    "sgd decay": (lambda p: nn.SGD(p, RATE, weight_decay=0.2), sgd(decay=0.2)),
    "momentum": (lambda p: nn.Momentum(p, RATE, 0.5), sgd(0.5)),
    "momentum nesterov": (lambda p: nn.Momentum(p, RATE, 0.5, use_nesterov=True), sgd(0.5, nesterov=True)),
    "adam": (lambda p: nn.Adam(p, RATE, **BETAS), adam()),
    "adam nesterov": (lambda p: nn.Adam(p, RATE, use_nesterov=True, **BETAS), adam(nesterov=True)),
    "adam amsgrad": (lambda p: nn.Adam(p, RATE, use_amsgrad=True, **BETAS), adam(amsgrad=True)),
    "adam decay": (lambda p: nn.Adam(p, RATE, weight_decay=0.2, **BETAS), adam(decay=0.2)),
    "adamweightdecay": (
        lambda p: nn.AdamWeightDecay(p, RATE, weight_decay=0.2, **BETAS), decoupled("AdamWeightDecay", 0.2)
    ),
    "adamw": (lambda p: nn.AdamW(p, RATE, weight_decay=0.2, **BETAS), decoupled("AdamW", 0.2)),
    "lamb": (lambda p: nn.Lamb(p, RATE, weight_decay=0.2, **BETAS), decoupled("Lamb", 0.2)),
    "rmsprop": (lambda p: nn.RMSProp(p, RATE, 0.7, epsilon=1e-3), rmsprop()),
    "rmsprop momentum": (lambda p: nn.RMSProp(p, RATE, 0.7, 0.5, 1e-3), rmsprop(0.5)),
    "rmsprop centered": (lambda p: nn.RMSProp(p, RATE, 0.7, epsilon=1e-3, centered=True), rmsprop(centered=True)),
    "adamax": (lambda p: nn.AdaMax(p, RATE, **BETAS), adamax),
    "adadelta": (lambda p: nn.Adadelta(p, RATE, 0.7, 1e-3), adadelta),
    "rprop": (lambda p: nn.Rprop(p, RATE, step_sizes=(0.06, 0.11)), rprop),
    "adagrad": (lambda p: nn.Adagrad(p, 0.5, RATE), adagrad),
}  # fmt: skip


def parameters(dtype: Any = ms.float64) -> list[ms.Parameter]:
    rng = np.random.default_rng(11)
    return [ms.Parameter(ms.Tensor(rng.standard_normal(s), dtype), name=f"p{i}") for i, s in enumerate([(2, 3), (4,)])]


def gradients(t: int) -> list[Array]:
    rng = np.random.default_rng(100 + t)
    return [rng.standard_normal(s) for s in [(2, 3), (4,)]]


@pytest.mark.parametrize("name", METHODS)
def test_formulas(mode: int, name: str) -> None:
    make, step = METHODS[name]
    params = parameters()
    want, states = [p.asnumpy() for p in params], [{}, {}]
    optimizer = make(params)
    for t in range(1, STEPS + 1):
        optimizer([ms.Tensor(g) for g in gradients(t)])
        want = [step(p, g, s, t) for p, g, s in zip(want, gradients(t), states)]
    for p, w in zip(params, want):
        np.testing.assert_allclose(p.asnumpy(), w, rtol=1e-5, atol=1e-7)
    assert int(optimizer.global_step) == STEPS


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16, ms.float32])
def test_dtypes_stay(mode: int, dtype: Any) -> None:
    params = parameters(dtype)
    for make in (lambda p: nn.Adam(p, 0.01), lambda p: nn.SGD(p, nn.WarmUpLR(0.1, 2), 0.9), lambda p: nn.Lamb(p, 0.01)):
        optimizer = make(params)
        optimizer([ms.Tensor(g, dtype) for g in gradients(1)])
        assert {p.dtype for p in optimizer.get_parameters() if p is not optimizer.global_step} == {dtype}


@pytest.mark.parametrize("make", [nn.Adam, nn.AdaMax])
def test_small_gradients_move_half_floats(mode: int, make: Any) -> None:
    w = ms.Parameter(ms.Tensor([0.1, -0.2], ms.float16), name="w")
    make([w], 1e-3)([ms.Tensor([2e-5, 0.03], ms.float16)])  # the square of the first is 0 in float16
    np.testing.assert_allclose(w.asnumpy(), [0.099, -0.201], atol=1e-4)


def stepped(optimizer: Any, w: Any, n: int) -> list[float]:
    """The learning rates that n steps of SGD with gradient 1 show."""
    rates = []
    for _ in range(n):
        before = float(w)
        optimizer([ms.Tensor([1.0])])
        rates.append(round(before - float(w), 5))
    return rates


def test_kinds_of_learning_rates(mode: int) -> None:
    for rate, want in (
        (0.5, [0.5] * 3),
        (ms.Tensor(0.25), [0.25] * 3),
        ([0.5, 0.25], [0.5, 0.25, 0.25]),
        (nn.piecewise_constant_lr([1, 3], [0.5, 0.125]), [0.5, 0.125, 0.125]),
        (nn.InverseDecayLR(0.5, 1.0, 1), [0.5, 0.25, 0.16667]),
    ):
        w = ms.Parameter(ms.Tensor([0.0]), name="w")
        assert stepped(nn.SGD([w], rate), w, 3) == want


def test_a_new_number_counts_from_the_next_step(mode: int) -> None:
    w = ms.Parameter(ms.Tensor([0.0]), name="w")
    optimizer = nn.SGD([w], 0.5)
    assert stepped(optimizer, w, 1) == [0.5]
    optimizer.learning_rate = 0.125
    assert stepped(optimizer, w, 1) == [0.125]
    optimizer.weight_decay = 1.0
    before = float(w)
    optimizer([ms.Tensor([0.0])])
    assert abs(float(w) - before * 0.875) < 1e-6
    by_tensor = nn.SGD([w], ms.Tensor(0.5))
    by_tensor.learning_rate.set_data(ms.Tensor(0.25))
    assert stepped(by_tensor, w, 1) == [0.25]


def test_a_new_learning_rate_never_compiles() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    seen: list[Any] = []
    ms.base.events.subscribe("compiled", lambda **data: seen.append(data))
    w = ms.Parameter(ms.Tensor([0.0]), name="w")
    optimizer = nn.Adam([w], 0.5)
    for rate in (0.5, 0.25, 0.125, 0.1):
        optimizer.learning_rate = rate
        optimizer([ms.Tensor([1.0])])
    assert len(seen) == 1
    ms.base.events.listeners["compiled"].pop()


def test_groups_have_settings_of_their_own(mode: int) -> None:
    a, b, c = (ms.Parameter(ms.Tensor([1.0]), name=n) for n in "abc")
    optimizer = nn.SGD(
        [{"params": [a], "lr": 0.5}, {"params": [b], "weight_decay": 1.0}, {"params": [c], "lr": [0.25, 0.5]}],
        learning_rate=0.125,
    )
    for _ in range(2):
        optimizer([ms.Tensor([1.0])] * 3)
    assert float(a) == 0.0 and float(c) == 0.25
    assert abs(float(b) - ((1 - 0.125 * 2) * 0.875 - 0.125)) < 1e-6
    optimizer.param_groups[0].learning_rate = 1.0
    optimizer([ms.Tensor([1.0])] * 3)
    assert float(a) == -1.0


def test_centred_gradients(mode: int) -> None:
    w = ms.Parameter(ms.Tensor(np.zeros((2, 2))), name="w")
    optimizer = nn.SGD([{"params": [w], "grad_centralization": True}], 1.0)
    optimizer([ms.Tensor(np.array([[1.0, 3.0], [2.0, 2.0]]))])
    assert w.tolist() == [[1.0, -1.0], [0.0, 0.0]]


def test_norms_do_not_decay_unless_grouped() -> None:
    gamma, weight = (ms.Parameter(ms.Tensor([1.0]), name=n) for n in ("bn.gamma", "fc.weight"))
    nn.SGD([gamma, weight], 0.5, weight_decay=1.0)([ms.Tensor([0.0])] * 2)
    assert (float(gamma), float(weight)) == (1.0, 0.5)
    nn.SGD([{"params": [gamma], "weight_decay": 1.0}], 0.5)([ms.Tensor([0.0])])
    assert float(gamma) == 0.5


def test_loss_scale_divides(mode: int) -> None:
    w = ms.Parameter(ms.Tensor([0.0]), name="w")
    nn.Momentum([w], 0.5, 0.9, loss_scale=4.0)([ms.Tensor([8.0])])
    assert float(w) == -1.0


def test_state_is_named_and_not_trained() -> None:
    optimizer = nn.Adam(parameters())
    names = [p.name for p in optimizer.get_parameters()]
    assert names == ["p0", "p1", "global_step", "moment1.p0", "moment1.p1", "moment2.p0", "moment2.p1"]
    assert [p.name for p in optimizer.trainable_params()] == ["p0", "p1"]


@pytest.mark.parametrize(
    "call, error, said",
    [
        (lambda p: nn.SGD([], 0.1), ValueError, "at least one Parameter"),
        (lambda p: nn.SGD(p[0], 0.1), TypeError, "a list of Parameters or of dicts"),
        (lambda p: nn.SGD([p[0].value()], 0.1), TypeError, r"pass net.trainable_params\(\)"),
        (lambda p: nn.SGD([p[0], p[0]], 0.1), ValueError, "p0 was given twice"),
        (lambda p: nn.SGD([p[0], {"params": p}], 0.1), ValueError, "do not mix"),
        (lambda p: nn.SGD([{"params": p, "rate": 1}], 0.1), KeyError, "no key 'rate'; legal: params, lr"),
        (lambda p: nn.SGD([{"params": []}], 0.1), TypeError, "at least one Parameter"),
        (lambda p: nn.SGD(p, -0.1), ValueError, "learning_rate must be at least 0"),
        (lambda p: nn.SGD(p, "fast"), TypeError, "learning_rate must be a number, got 'fast'"),
        (lambda p: nn.SGD(p, 0.1, nesterov=True), ValueError, "needs a momentum above 0"),
        (lambda p: nn.Adam(p, beta1=1.0), ValueError, "beta1 must be from 0 to below 1"),
        (lambda p: nn.SGD(p, 0.1)([ms.Tensor([1.0])]), TypeError, "got 1 gradients for 2 parameters"),
        (lambda p: nn.SGD(p, 0.1)([p[0], p[0]]), ValueError, "the gradient of p1 does not fit"),
    ],
)
def test_refusals(call: Any, error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        call(parameters())


def test_a_wrong_gradient_changes_nothing(mode: int) -> None:
    params = parameters()
    before = [p.asnumpy() for p in params]
    optimizer = nn.Adam(params)
    with pytest.raises(ValueError):
        optimizer([ms.Tensor(gradients(1)[0]), ms.Tensor([1.0])])
    assert all((p.asnumpy() == b).all() for p, b in zip(params, before)) and int(optimizer.global_step) == 0


@pytest.mark.parametrize("make", [nn.Adam, nn.Momentum], ids=["Adam", "Momentum"])
def test_an_eager_step_runs_as_one_program_where_machine_code_is_on(make):
    def trained(level):
        ms.set_context(mode=ms.PYNATIVE_MODE, jit_level=level)
        w = Parameter(np.ones((3, 4), np.float32), name="w")
        optimizer = make([w], 0.1) if make is nn.Adam else make([w], 0.1, 0.9)
        for k in range(3):
            optimizer((Tensor(np.full((3, 4), 1.0 + k, np.float32)),))
        optimizer.learning_rate = 0.5
        optimizer((Tensor(np.ones((3, 4), np.float32)),))
        return w.asnumpy(), compiled_cell(optimizer)

    before = ms.get_context("jit_level")
    try:
        (one, program), (other, none) = trained("O1"), trained("O0")
    finally:
        ms.set_context(jit_level=before)
    np.testing.assert_allclose(one, other, rtol=1e-5)
    assert none is None
    assert len(program.versions) == 1, "a new learning rate compiles nothing"


class Written(nn.Optimizer):
    """An optimizer with its own construct, of MindSpore's parts."""

    def __init__(self, params: Any, learning_rate: Any, weight_decay: float = 0.0, loss_scale: float = 1.0) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.moment = self._parameters.clone(prefix="moment", init="zeros")

    @nn.Optimizer.target.setter
    def target(self, value: str) -> None:
        self._set_base_target(value)

    def construct(self, gradients: Any) -> Any:
        gradients = self.flatten_gradients(gradients)
        gradients = self.decay_weight(gradients)
        gradients = self.gradients_centralization(gradients)
        gradients = self.scale_grad(gradients)
        rate = self.get_lr()
        self.assignadd(self.global_step, self.global_step_increase_tensor)
        for i, p in enumerate(self.parameters):
            ops.assign(p, p - (rate[i] if self.is_group_lr else rate) * gradients[i])
        return True


@pytest.mark.parametrize("grouped", [False, True])
def test_an_optimizer_of_mindspores_parts_is_sgd(mode: int, grouped: bool) -> None:
    def trained(make: Any) -> tuple[Any, Any]:
        ms.set_seed(3)
        net = nn.SequentialCell(nn.Dense(3, 4), nn.Dense(4, 1))
        params: Any = net.trainable_params()
        schedule = nn.ExponentialDecayLR(0.1, 0.5, 2)
        if grouped:
            params = [{"params": params[:2], "lr": schedule, "weight_decay": 0.1},
                      {"params": params[2:]}]  # fmt: skip
        made = make(params, schedule)
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), made)
        for k in range(4):
            step(ops.ones((2, 3)) * (k + 1.0), ops.ones((2, 1)))
        return made, [p.asnumpy() for p in net.trainable_params()]

    mine, found = trained(lambda params, rate: Written(params, rate, weight_decay=0.01))
    theirs, want = trained(lambda params, rate: nn.SGD(params, rate, weight_decay=0.01))
    assert int(mine.global_step) == int(theirs.global_step) == 4
    assert (mine.dynamic_lr, mine.is_group_lr) == (True, grouped)
    for a, b in zip(found, want):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert mine.get_lr_parameter(mine.parameters[0]) is not None
    with pytest.raises(ValueError, match="is not a parameter of this Written"):
        mine.get_lr_parameter(theirs.parameters[0])
    mine.target = "CPU"
    with pytest.raises(ValueError, match="cannot move them"):
        mine.target = "GPU"


def test_gradients_over_the_loss_scale() -> None:
    net = nn.Dense(2, 1)
    made = Written(net.trainable_params(), 0.1, loss_scale=4.0)
    assert [g.tolist() for g in made.scale_grad((ms.Tensor([8.0]), ms.Tensor([2.0])))] == [[2.0], [0.5]]
    assert made.get_lr() == 0.1
    assert made.get_weight_decay() == 0.0
    grouped = Written([{"params": [net.weight], "grad_centralization": True}, {"params": [net.bias]}], 0.1)
    first, second = grouped.gradients_centralization((ms.Tensor([[1.0, 3.0]]), ms.Tensor([5.0])))
    assert (first.tolist(), second.tolist()) == ([[-1.0, 1.0]], [5.0])
