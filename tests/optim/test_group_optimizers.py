"""Optimizers with dicts of settings, against numbers of MindSpore and PyTorch; their schedulers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Parameter, Tensor, nn, ops

optim = ms.experimental.optim
rates = optim.lr_scheduler
GRADIENTS = [[0.5, -1.0, 2.0], [-0.25, 0.5, 1.0], [1.0, 0.0, -0.5], [0.75, 0.3, -0.1]]
BETAS = (0.8, 0.95)
# four steps from [1, -2] with lr 0.05 and [0.5] with lr 0.1; both frameworks agree, but for Adam with its large eps
STEPS: list[tuple[str, dict[str, Any], list[float]]] = [
    ("SGD", {}, [0.9, -1.99, 0.26]),
    ("SGD", {"momentum": 0.5, "dampening": 0.25, "weight_decay": 0.1, "maximize": True}, [1.08912, -1.99853, 0.90754]),
    ("SGD", {"momentum": 0.5, "nesterov": True}, [0.83125, -1.9725, 0.0275]),
    ("Adam", {"eps": 0.01}, [0.90383, -1.94314, 0.24416]),
    ("Adam", {"weight_decay": 0.1, "maximize": True, "betas": BETAS}, [1.11302, -2.01873, 0.76789]),
    ("AdamW", {"eps": 0.01}, [0.86576, -1.92271, 0.20725]),
    (
        "AdamW",
        {"weight_decay": 0.1, "maximize": True, "betas": (0.8, 0.5), "amsgrad": True},
        [1.10464, -2.02363, 0.73342],
    ),
    ("Adadelta", {"rho": 0.5, "eps": 0.001, "weight_decay": 0.1, "maximize": True}, [1.00642, -1.99633, 0.50429]),
    (
        "Adagrad",
        {"lr_decay": 0.1, "initial_accumulator_value": 0.3, "weight_decay": 0.1, "maximize": True},
        [1.05871, -1.99298, 0.60879],
    ),
    ("Adamax", {"weight_decay": 0.1, "maximize": True, "betas": BETAS}, [1.09392, -2.02282, 0.72809]),
    (
        "ASGD",
        {"lambd": 0.1, "alpha": 0.5, "t0": 2.0, "weight_decay": 0.1, "maximize": True},
        [1.05926, -1.93067, 0.68704],
    ),
    ("NAdam", {"weight_decay": 0.1, "momentum_decay": 0.1, "betas": BETAS}, [0.85588, -1.94356, 0.33622]),
    ("RAdam", {"weight_decay": 0.1, "betas": (0.8, 0.75)}, [0.90041, -1.89933, 0.03746]),
    ("RAdam", {"betas": (0.8, 0.999)}, [0.92, -1.93858, 0.05137]),
    ("RMSprop", {"eps": 0.01}, [0.11505, -1.87218, -0.62895]),
    (
        "RMSprop",
        {"alpha": 0.5, "weight_decay": 0.1, "momentum": 0.5, "centered": True, "maximize": True, "eps": 0.01},
        [1.28262, -1.98004, 0.97853],
    ),
    ("Rprop", {"etas": (0.4, 1.5), "step_sizes": (0.001, 0.5), "maximize": True}, [1.1, -2.03, 0.69]),
]
# PyTorch's: MindSpore's kernels of these are on Ascend alone
MINT: list[tuple[str, dict[str, Any], list[float]]] = [
    ("SGD", {"momentum": 0.5, "dampening": 0.25, "weight_decay": 0.1, "maximize": True}, [1.08912, -1.99853, 0.90754]),
    ("SGD", {"momentum": 0.5, "nesterov": True}, [0.83125, -1.9725, 0.0275]),
    ("Adam", {"eps": 0.01, "amsgrad": True, "betas": (0.8, 0.5)}, [0.87657, -1.93646, 0.24322]),
    ("Adam", {"weight_decay": 0.1, "maximize": True, "betas": BETAS}, [1.11302, -2.01873, 0.76789]),
    ("AdamW", {"eps": 0.01, "weight_decay": 0.1, "amsgrad": True, "betas": (0.8, 0.5)}, [0.85769, -1.89763, 0.22865]),
]


def trained(module: Any, name: str, settings: dict[str, Any]) -> tuple[Any, list[float]]:
    w, b = Parameter(Tensor([1.0, -2.0]), name="w"), Parameter(Tensor([0.5]), name="b")
    optimizer = getattr(module, name)([{"params": [w], "lr": 0.05}, {"params": b}], lr=0.1, **settings)
    for g in GRADIENTS:
        assert optimizer((Tensor(g[:2]), Tensor(g[2:])))
    return optimizer, [*w.tolist(), *b.tolist()]


@pytest.mark.parametrize(("name", "settings", "expected"), STEPS)
def test_four_steps(name: str, settings: dict[str, Any], expected: list[float], mode: int) -> None:
    assert trained(optim, name, settings)[1] == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize(("name", "settings", "expected"), MINT)
def test_four_steps_of_mint(name: str, settings: dict[str, Any], expected: list[float], mode: int) -> None:
    assert trained(ms.mint.optim, name, settings)[1] == pytest.approx(expected, abs=2e-5)
    if name == "AdamW":
        assert trained(ms.mint.optim, "FusedAdamW", settings)[1] == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("name", ["Adadelta", "Adam", "RMSprop", "SGD"])
def test_a_parameter_without_a_gradient_stays(name: str, mode: int) -> None:
    w, b = Parameter(Tensor([1.0, -2.0]), name="w"), Parameter(Tensor([0.5]), name="b")
    alone = Parameter(Tensor([0.5]), name="alone")
    both, one = getattr(optim, name)([w, b], lr=0.1), getattr(optim, name)([alone], lr=0.1)
    for g in (0.5, 0.25):
        assert both((None, Tensor([g]))) and one((Tensor([g]),))
    assert w.tolist() == [1, -2] and b.tolist() == alone.tolist() != [0.5]
    both((Tensor([1.0, 1.0]), None))
    assert w.tolist() != [1, -2] and b.tolist() == alone.tolist()
    with pytest.raises(ValueError, match=r"gradient: f32\[3\]"):
        both((None, Tensor([1.0, 2.0, 3.0])))
    with pytest.raises(ValueError, match="gradient: NoneType"):
        nn.SGD([w], 0.1)((None,))


def test_amsgrad_divides_by_the_largest(mode: int) -> None:
    """MindSpore's experimental Adam takes the word and leaves it; here and in PyTorch it is done."""
    values = trained(optim, "Adam", {"amsgrad": True, "betas": (0.8, 0.5)})[1]
    assert values == pytest.approx([0.8745, -1.9358, 0.2417], abs=6e-5)


def test_state_is_called_as_in_checkpoints_of_mindspore() -> None:
    made = trained(optim, "AdamW", {})[0]
    parts = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
    assert [*made.parameters_dict()] == ["w", "b", *(f"{part}.{p}" for part in parts for p in "wb"), "state_step"]
    assert int(made.global_step) == 4
    fresh = optim.AdamW([Parameter(Tensor([1.0, -2.0]), name="w"), Parameter(Tensor([0.5]), name="b")])
    fresh.load_state_dict(made.state_dict())
    assert fresh.exp_avg[1].tolist() == made.exp_avg[1].tolist()
    fused = trained(ms.mint.optim, "AdamW", {})[0]
    assert fused.global_step.tolist() == [3.0]


def test_groups_are_dicts_that_a_program_reads_and_writes(mode: int) -> None:
    w, b = Parameter(Tensor([1.0]), name="w"), Parameter(Tensor([1.0]), name="b")
    optimizer = optim.SGD([w], lr=0.5, momentum=0.5)
    optimizer.add_param_group({"params": [b], "lr": 0.25, "momentum": 0.0})
    assert optimizer.group_start_id == [0, 1, 2]
    assert [p.name for p in optimizer.lrs] == ["learning_rate_group_0", "learning_rate_group_1"]
    assert "momentum: 0.0" in repr(optimizer)
    optimizer((Tensor([1.0]), Tensor([1.0])))
    assert (w.tolist(), b.tolist()) == ([0.5], [0.75])
    optimizer.param_groups[1]["lr"] = 0.5
    ops.assign(optimizer.param_groups[0]["lr"], 0.0)
    optimizer((Tensor([1.0]), Tensor([1.0])))
    assert (w.tolist(), b.tolist()) == ([0.5], [0.25])


def test_own_optimizers_and_half_precision(mode: int) -> None:
    class Halves(optim.Optimizer):
        def construct(self, gradients: Any) -> Any:
            for start, group in zip(self.group_start_id, self.param_groups):
                for i, p in enumerate(group["params"]):
                    ops.assign(p, p - group["lr"] * 0.5 * gradients[start + i])

    w = Parameter(Tensor([1.0]), name="w")
    Halves([w], {"lr": 0.5})((Tensor([2.0]),))
    assert w.tolist() == [0.5]
    half = Parameter(Tensor([[1.0]], ms.float16), name="h")
    for cls in (optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop, optim.NAdam, optim.ASGD):
        cls([half], lr=0.1)((Tensor([[1.0]], ms.float16),))
        assert half.dtype == ms.float16
        assert np.isfinite(half.asnumpy()).all()
    empty = Parameter(Tensor(np.zeros((0, 2), np.float32)), name="e")
    optim.Adam([empty])((Tensor(np.zeros((0, 2), np.float32)),))


def test_a_compiled_step_follows_its_scheduler(mode: int) -> None:
    net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    optimizer = optim.SGD(net.trainable_params(), lr=0.5)
    scheduler = rates.StepLR(optimizer, 1, gamma=0.5)
    gradient = ms.value_and_grad(lambda x: net(x).sum(), None, optimizer.parameters)

    def step(x: Tensor) -> Tensor:
        value, gradients = gradient(x)
        optimizer(gradients)
        return value

    run = ms.jit(step) if mode == ms.GRAPH_MODE else step
    for rate in (0.5, 0.25, 0.125):
        before = net.bias.tolist()[0]
        run(ops.ones((1, 2)))
        assert before - net.bias.tolist()[0] == pytest.approx(rate)
        scheduler.step()


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda o: rates.StepLR(o, 2, gamma=0.5), [0.2, 0.2, 0.1, 0.1, 0.05, 0.05, 0.025]),
        (lambda o: rates.LinearLR(o, 0.25, 0.75, 4), [0.05, 0.075, 0.1, 0.125, 0.15, 0.15, 0.15]),
        (lambda o: rates.ExponentialLR(o, 0.9), [0.2, 0.18, 0.162, 0.1458, 0.13122, 0.118098, 0.106288]),
        (lambda o: rates.PolynomialLR(o, 4, 2.0), [0.2, 0.1125, 0.05, 0.0125, 0.0, 0.0, 0.0]),
        (lambda o: rates.MultiplicativeLR(o, lambda e: 0.9), [0.2, 0.18, 0.162, 0.1458, 0.13122, 0.118098, 0.106288]),
        (lambda o: rates.LambdaLR(o, [lambda e: 0.5 * e]), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
        (lambda o: rates.MultiStepLR(o, [2, 4, 4], 0.5), [0.2, 0.2, 0.1, 0.1, 0.025, 0.025, 0.025]),
        (lambda o: rates.ConstantLR(o, 0.5, 3), [0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.2]),
        (lambda o: rates.CyclicLR(o, 0.1, 0.5, 3, 2, mode="triangular2"),
         [0.1, 0.233333, 0.366667, 0.5, 0.3, 0.1, 0.166667]),
        (lambda o: rates.CyclicLR(o, 0.1, 0.5, 2, mode="exp_range", gamma=0.9),
         [0.1, 0.28, 0.424, 0.2458, 0.1, 0.218098, 0.312576]),
        (lambda o: rates.CosineAnnealingWarmRestarts(o, 2, 2, 0.01),
         [0.2, 0.105, 0.2, 0.172175, 0.105, 0.037825, 0.2]),
        (lambda o: rates.CosineAnnealingLR(o, 3, 0.01), [0.2, 0.1525, 0.0575, 0.01, 0.0575, 0.1525, 0.2]),
        (lambda o: rates.SequentialLR(o, [rates.ConstantLR(o, 0.1, 2), rates.ExponentialLR(o, 0.9)], [3]),
         [0.02, 0.02, 0.2, 0.2, 0.18, 0.162, 0.1458]),
    ],
)  # fmt: skip
def test_rates_of_schedulers(make: Any, expected: list[float], mode: int) -> None:
    optimizer = optim.SGD([Parameter(Tensor([1.0]), name="w")], lr=0.2)
    scheduler = make(optimizer)
    seen = [float(scheduler.get_last_lr()[0])]
    for _ in range(6):
        scheduler.step()
        seen.append(float(scheduler.get_last_lr()[0]))
    assert seen == pytest.approx(expected, abs=1e-6)


def test_an_epoch_by_its_number(mode: int) -> None:
    optimizer = optim.SGD([Parameter(Tensor([1.0]), name="w")], lr=1.0)
    for make, expected in (
        (lambda o: rates.MultiStepLR(o, [2, 4], 0.5), [0.25, 1.0, 0.5]),
        (lambda o: rates.CosineAnnealingWarmRestarts(o, 2, 2), [0.5, 0.5, 0.853553]),
        (lambda o: rates.LinearLR(o, 0.5, 1.0, 4), [1.0, 0.625, 0.875]),
    ):
        scheduler: Any = make(optimizer)
        seen = []
        for epoch in (4, 1, 3):
            scheduler.step(epoch)
            seen.append(float(scheduler.get_last_lr()[0]))
        assert seen == pytest.approx(expected, abs=1e-6)


def test_a_plateau_reduces_the_rate(mode: int) -> None:
    optimizer = optim.SGD([Parameter(Tensor([1.0]), name="w")], lr=0.2)
    scheduler = rates.ReduceLROnPlateau(optimizer, "max", 0.5, 0, 0.1, "abs", cooldown=2, min_lr=0.08)
    seen = []
    for value in (1.0, 0.9, 0.95, 0.95, 0.97, 0.5, 1.2):
        scheduler.step(Tensor(value))
        seen.append(round(float(scheduler.get_last_lr()[0]), 6))
    assert seen == [0.2, 0.1, 0.1, 0.1, 0.08, 0.08, 0.08]


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        (lambda p: optim.SGD([], lr=0.1), ValueError, "at least one Parameter"),
        (lambda p: optim.SGD([p, p], lr=0.1), ValueError, "twice"),
        (lambda p: optim.SGD([{"params": {p}}], lr=0.1), TypeError, "set has no order"),
        (lambda p: optim.SGD([Tensor(1.0)], lr=0.1), TypeError, "takes Parameters"),
        (lambda p: optim.SGD([p], lr=-1.0), ValueError, "lr must be at least 0"),
        (lambda p: optim.SGD([p], lr=Tensor([0.1, 0.2])), ValueError, "one number"),
        (lambda p: optim.SGD([p], lr="fast"), TypeError, "lr must be a number"),
        (lambda p: optim.SGD([p], lr=0.1, nesterov=True), ValueError, "needs a momentum"),
        (lambda p: optim.Adagrad([p], lr=0.0), ValueError, "lr must be above 0"),
        (lambda p: optim.Adam([p], betas=(0.9, 1.0)), ValueError, r"betas\[1\] must be from 0 to below 1"),
        (lambda p: optim.Adam([{"params": [p], "betas": 0.9}]), ValueError, "betas are two numbers"),
        (lambda p: optim.ASGD([p], t0=1), TypeError, "t0 must be a float"),
        (lambda p: optim.Rprop([p], etas=(1.0, 1.2)), ValueError, "below 1 and one above 1"),
        (lambda p: optim.Adam([p]).add_param_group([p]), TypeError, 'a dict with "params"'),
        (lambda p: optim.Adam([p])((Tensor([1.0]), Tensor([1.0]))), TypeError, "2 gradients for 1"),
        (lambda p: optim.Optimizer([p], {"lr": 0.1})(()), NotImplementedError, "has no construct"),
        (lambda p: ms.mint.optim.FusedAdamW([p]).add_param_group(
            {"params": Parameter(Tensor([1.0]), name="q"), "amsgrad": True}), ValueError, "same amsgrad"),
        (lambda p: rates.StepLR(nn.SGD([p]), 1), TypeError, "an optimizer with groups"),
        (lambda p: rates.StepLR(optim.SGD([p], lr=0.1), 1.5), TypeError, "step_size must be an int"),
        (lambda p: rates.LinearLR(optim.SGD([p], lr=0.1), 0.0), ValueError, "above 0 to 1"),
        (lambda p: rates.LambdaLR(optim.SGD([p], lr=0.1), [abs, abs]), ValueError, "2 were given for 1 groups"),
        (lambda p: rates.StepLR(optim.SGD([p], lr=0.1), 1, last_epoch=3), KeyError, "initial_lr"),
        (lambda p: rates.CyclicLR(optim.SGD([p], lr=0.1), 0.1, 0.2, mode="round"), ValueError, "exp_range"),
        (lambda p: rates.ReduceLROnPlateau(optim.SGD([p], lr=0.1), factor=1.0), ValueError, "below 1"),
    ],
)  # fmt: skip
def test_wrong_settings(wrong: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        wrong(Parameter(Tensor([1.0]), name="p"))
