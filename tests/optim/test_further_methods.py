"""FTRL, AdaFactor, ASGD and kin against numbers of MindSpore 2.10, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Parameter, Tensor, nn

GRADIENTS = [[0.5, -1.0, 2.0], [-0.25, 0.5, 1.0], [1.0, 0.0, -0.5], [0.75, 0.3, -0.1]]
STEPS: list[tuple[str, dict[str, Any], list[float]]] = [
    ("ASGD", {"lambd": 0.1, "alpha": 0.5, "t0": 2.0, "weight_decay": 0.1}, [0.72877, -1.82904, 0.23588]),
    ("FTRL", {"learning_rate": 0.1}, [0.28238, -1.36966, 0.3048]),
    ("FTRL", {"learning_rate": 0.1, "l2": 0.2, "weight_decay": 0.1, "loss_scale": 2.0, "lr_power": -0.3},
     [0.06253, -0.73064, 0.13663]),
    ("LazyAdam", {"learning_rate": 0.1, "weight_decay": 0.1}, [0.6996, -1.77789, 0.203]),
    ("AdamOffload", {"learning_rate": 0.1, "use_nesterov": True}, [0.60323, -1.81479, 0.11934]),
    ("ProximalAdagrad", {"accum": 0.3, "l1": 0.1, "l2": 0.2, "learning_rate": 0.1, "weight_decay": 0.1},
     [0.71276, -1.78916, 0.35165]),
    ("AdaFactor", {}, [0.99151, -1.99834, 0.49783]),
    ("AdaFactor", {"learning_rate": 0.1, "relative_step": False, "scale_parameter": False, "beta1": None,
                   "weight_decay": 0.1}, [0.68446, -1.94879, 0.36981]),
    ("AdaFactor", {"warmup_init": True, "clip_threshold": 0.5, "decay_rate": 0.5, "eps": (0.001, 0.1)},
     [1.0, -2.0, 0.5]),
    ("AdaFactor", {"learning_rate": 0.1, "relative_step": False, "compression": True}, [0.91562, -1.98301, 0.47827]),
]


@pytest.mark.parametrize(("name", "settings", "expected"), STEPS)
def test_four_steps(name: str, settings: dict[str, Any], expected: list[float], mode: int) -> None:
    w, b = Parameter(Tensor([[1.0, -2.0]]), name="w"), Parameter(Tensor([0.5]), name="b")
    optimizer = getattr(nn, name)([w, b], **settings)
    for g in GRADIENTS:
        assert optimizer((Tensor([g[:2]]), Tensor(g[2:])))
    assert [*w.tolist()[0], *b.tolist()] == pytest.approx(expected, abs=2e-5)


def test_l1_draws_weights_to_zero_on_both_sides(mode: int) -> None:
    """MindSpore's kernel on the CPU draws negative sums away from 0: its sign of l1 is that of positive ones."""
    w = Parameter(Tensor([1.0, -1.0]), name="w")
    optimizer = nn.FTRL([w], learning_rate=0.1, l1=0.1, l2=0.2)
    for _ in range(3):
        optimizer((Tensor([0.5, -0.5]),))
    assert w.tolist() == pytest.approx([0.227645, -0.227645], abs=2e-6)


def test_half_precision_and_groups(mode: int) -> None:
    for name in ("ASGD", "FTRL", "ProximalAdagrad", "LazyAdam"):
        half, other = Parameter(Tensor([1.0], ms.float16), name="h"), Parameter(Tensor([1.0]), name="o")
        optimizer = getattr(nn, name)([{"params": [half], "lr": 0.5}, {"params": [other]}], learning_rate=0.001)
        optimizer((Tensor([1.0], ms.float16), Tensor([1.0])))
        assert half.dtype == ms.float16
        assert abs(1.0 - float(half)) > abs(1.0 - float(other)) > 0.0
    matrix = Parameter(Tensor(np.ones((2, 3, 2), np.float16)), name="m")
    nn.AdaFactor([matrix])((Tensor(np.ones((2, 3, 2), np.float16)),))
    assert np.isfinite(matrix.asnumpy()).all()


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        (lambda p: nn.AdaFactor([p], 0.1), ValueError, "one of both"),
        (lambda p: nn.AdaFactor([p], relative_step=False), ValueError, "one of both"),
        (lambda p: nn.AdaFactor([p], 0.1, relative_step=False, warmup_init=True), ValueError, "needs relative_step"),
        (lambda p: nn.AdaFactor([p], eps=0.1), ValueError, "eps are two numbers"),
        (lambda p: nn.AdaFactor([p], decay_rate=1.0), ValueError, "below 1"),
        (lambda p: nn.FTRL([p], lr_power=0.5), ValueError, "at most 0"),
        (lambda p: nn.FTRL([p], l1=-1.0), ValueError, "l1 must be at least 0"),
        (lambda p: nn.ProximalAdagrad([p], accum=-1.0), ValueError, "accum must be at least 0"),
        (lambda p: nn.ASGD([p], t0=1), TypeError, "t0 must be a float"),
    ],
)
def test_wrong_settings(wrong: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        wrong(Parameter(Tensor([1.0]), name="p"))


def test_state_has_the_names_of_mindspore() -> None:
    p = Parameter(Tensor([1.0]), name="p")
    assert nn.AdaMax([p]).moment1[0] is not None
    assert nn.Rprop([p]).prev[0].tolist() == [0.0]
    assert nn.Adadelta([p]).accum_update[0].tolist() == [0.0]


@pytest.mark.parametrize("way", ["use_lazy", "use_offload"])
def test_adam_by_the_words_of_its_relatives(way: str, mode: int) -> None:
    def stepped(**words: Any) -> list[float]:
        w = ms.Parameter([1.0, -2.0], name="w")
        ms.nn.Adam([w], learning_rate=0.1, **words)([ms.Tensor([3.0, 0.5])])
        return w.tolist()  # type: ignore[no-any-return]

    assert stepped(**{way: True}) == stepped()
    w = [ms.Parameter([1.0], name="w")]
    with pytest.raises(ValueError, match="Adam takes one of use_lazy, use_offload, use_amsgrad"):
        ms.nn.Adam(w, use_amsgrad=True, **{way: True})
    with pytest.raises(TypeError, match="is a bool"):
        ms.nn.Adam(w, **{way: 1})
