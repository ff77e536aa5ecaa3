"""Gradients where a function has a kink or a tie: the table of docs/numerics.md, row by row, in both modes.

The columns of PyTorch and MindSpore are what PyTorch 2.13.0 and MindSpore 2.10.0 gave on a CPU for the same program. To
write the page anew after a change of this table: ``MSNB_KINKS=write python -m pytest tests/ops/test_kinks.py``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops

PAGE = Path(__file__).resolve().parents[2] / "docs" / "numerics.md"
BEGIN, END = "<!-- kinks -->", "<!-- end of kinks -->"
NAN = float("nan")
SAME = "same"


class Kink(NamedTuple):
    """A row: the op, the point, the function, its inputs, our gradients (one list per input), theirs, the reason."""

    op: str
    point: str
    fn: Callable[..., Any]
    inputs: tuple[list[Any], ...]
    ours: tuple[list[Any], ...]
    pytorch: str
    mindspore: str
    reason: str


def _one(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: fn(x, ms.Tensor([0.0]))


KINKS = (
    Kink("relu", "0", ops.relu, ([0.0],), ([0.0],), SAME, SAME, "the side that is off"),
    Kink("abs, l1_loss", "0", ops.abs, ([0.0],), ([0.0],), SAME, SAME, "the middle of -1 and 1"),
    Kink("leaky_relu(0.2)", "0", ops.leaky_relu, ([0.0],), ([0.2],), "the slope", "the mean of both slopes",
         "x is not above 0"),
    Kink("prelu", "0, weight 0.25", ops.prelu, ([0.0], [0.25]), ([0.25], [0.0]), SAME, SAME, "x is not above 0"),
    Kink("elu", "0", ops.elu, ([0.0],), ([1.0],), SAME, SAME, "for alpha = 1 no kink at all"),
    Kink("elu(alpha=2)", "0", lambda x: ops.elu(x, 2.0), ([0.0],), ([2.0],), SAME, "not measured", "from below: alpha"),
    Kink("celu", "0", ops.celu, ([0.0],), ([1.0],), SAME, SAME, "no kink"),
    Kink("selu", "0", ops.selu, ([0.0],), ([1.7580993],), SAME, "1.0507 (from above)", "from below: scale times alpha"),
    Kink("relu6", "0, 6", ops.relu6, ([0.0, 6.0],), ([0.0, 0.0],), SAME, "0, 1", "outside and on the rim it is off"),
    Kink("hardtanh", "-1, 1", ops.hardtanh, ([-1.0, 1.0],), ([0.0, 0.0],), SAME, "0.5, 0.5",
         "outside and on the rim it is off"),
    Kink("hardsigmoid", "-3, 3", ops.hardsigmoid, ([-3.0, 3.0],), ([0.0, 0.0],), SAME, SAME, "as relu6"),
    Kink("hardswish", "-3, 3", ops.hardswish, ([-3.0, 3.0],), ([0.0, 1.0],), SAME, "-0.5, 1.5", "from outside"),
    Kink("hardshrink", "-0.5, 0.5", ops.hardshrink, ([-0.5, 0.5],), ([0.0, 0.0],), SAME, SAME, "on the rim it is off"),
    Kink("softshrink", "-0.5, 0.5", ops.softshrink, ([-0.5, 0.5],), ([0.0, 0.0],), SAME, SAME, "on the rim it is off"),
    Kink("threshold(1, 0)", "1", lambda x: ops.threshold(x, 1.0, 0.0), ([1.0],), ([0.0],), SAME, SAME,
         "x is not above"),
    Kink("softsign", "0", ops.softsign, ([0.0],), ([1.0],), SAME, SAME, "no kink"),
    Kink("clamp(0, 1)", "0, 1", lambda x: ops.clamp(x, 0, 1), ([0.0, 1.0],), ([1.0, 1.0],), "same; 0, 0 in 2.14", SAME,
         "on a bound x is not held: PPO's clipped ratio learns there"),
    Kink("clamp(0, 1)", "NaN", lambda x: ops.clamp(x, 0, 1), ([NAN],), ([0.0],), SAME, SAME, "neither free nor held"),
    Kink("clamp(x, low, high)", "x = low, x = high", ops.clamp, ([0.0, 1.0], [0.0, 0.0], [1.0, 1.0]),
         ([1.0, 1.0], [0.0, 0.0], [0.0, 0.0]), SAME, SAME, "on a bound x is not held"),
    Kink("clamp(x, low, high)", "low > high", ops.clamp, ([1.0], [2.0], [1.0]), ([0.0], [0.0], [1.0]), SAME,
         "not measured", "the result is high"),
    Kink("clip_by_value(0, 1)", "0, 1", lambda x: ops.clip_by_value(x, 0.0, 1.0), ([0.0, 1.0],), ([1.0, 1.0],),
         "has none", "0.5, 0.5", "one meaning with clamp"),
    Kink("maximum", "x = y", ops.maximum, ([1.0], [1.0]), ([0.5], [0.5]), SAME, SAME, "neither is preferred"),
    Kink("maximum", "x NaN", ops.maximum, ([NAN], [1.0]), ([1.0], [1.0]), SAME, SAME, "both are told"),
    Kink("minimum", "x = y; y NaN", ops.minimum, ([1.0, 1.0], [1.0, NAN]), ([0.5, 1.0], [0.5, 1.0]), SAME, SAME,
         "as maximum"),
    Kink("fmax", "x = y", ops.fmax, ([1.0], [1.0]), ([1.0], [0.0]), SAME, SAME, "x is large enough"),
    Kink("fmin", "x = y", ops.fmin, ([1.0], [1.0]), ([1.0], [0.0]), SAME, "refused", "x is small enough"),
    Kink("max(axis)", "ties", lambda x: ops.max(x, 0)[0], ([1.0, 3.0, 3.0],), ([0.0, 1.0, 0.0],), SAME, SAME,
         "the element whose index is returned"),
    Kink("min(axis)", "two NaN", lambda x: ops.min(x, 0)[0], ([1.0, NAN, NAN],), ([0.0, 1.0, 0.0],), SAME, "1, 0, 0",
         "the element whose index is returned"),
    Kink("max()", "ties", lambda x: x.max(), ([1.0, 3.0, 3.0],), ([0.0, 0.5, 0.5],), SAME, SAME, "no index: shared"),
    Kink("amax", "ties", lambda x: ops.amax(x, 0), ([1.0, 3.0, 3.0],), ([0.0, 0.5, 0.5],), SAME, SAME,
         "no index: shared"),
    Kink("amin", "ties", lambda x: ops.amin(x, 0), ([1.0, 1.0, 3.0],), ([0.5, 0.5, 0.0],), SAME, SAME,
         "no index: shared"),
    Kink("amax", "two NaN", lambda x: ops.amax(x, 0), ([1.0, NAN, NAN],), ([0.0, 0.5, 0.5],), "NaN everywhere",
         "not measured", "the NaNs are the largest"),
    Kink("topk", "ties", lambda x: ops.topk(x, 1)[0], ([2.0, 2.0],), ([1.0, 0.0],), SAME, SAME, "the index returned"),
    Kink("sort (times 1, 2)", "ties", lambda x: ops.sort(x)[0] * ms.Tensor([1.0, 2.0]), ([1.0, 1.0],), ([1.0, 2.0],),
         SAME, SAME, "the order is stable"),
    Kink("cummax (summed)", "ties", lambda x: ops.cummax(x, 0)[0], ([2.0, 2.0],), ([1.0, 1.0],), SAME, "refused",
         "the last of equals"),
    Kink("max_pool2d", "ties", lambda x: ops.max_pool2d(x, 2), ([[[[0.0, 0.0], [0.0, 0.0]]]],),
         ([[[[1.0, 0.0], [0.0, 0.0]]]],), SAME, SAME, "the first"),
    Kink("norm", "0, 0", ops.norm, ([0.0, 0.0],), ([0.0, 0.0],), SAME, "NaN, NaN", "the smallest subgradient"),
    Kink("norm(inf)", "1, -1", lambda x: ops.norm(x, float("inf")), ([1.0, -1.0],), ([0.5, -0.5],), SAME, "1, 0",
         "as amax of abs"),
    Kink("std", "equal elements", ops.std, ([1.0, 1.0],), ([0.0, 0.0],), SAME, "NaN, NaN", "as norm"),
    Kink("median(axis)", "ties", lambda x: ops.median(x, 0)[0], ([1.0, 1.0, 1.0],), ([0.0, 1.0, 0.0],), SAME, SAME,
         "one element is the median"),
    Kink("sqrt", "0", ops.sqrt, ([0.0],), ([float("inf")],), SAME, SAME, "the slope is infinite"),
    Kink("atan2", "0, 0", ops.atan2, ([0.0], [0.0]), ([0.0], [0.0]), SAME, "NaN; NaN", "the origin has no angle"),
    Kink("xlogy", "x = 0, y = 2", ops.xlogy, ([0.0], [2.0]), ([0.6931472], [0.0]), SAME, SAME, "log y: no kink"),
    Kink("xlogy", "x = y = 0", ops.xlogy, ([0.0], [0.0]), ([0.0], [0.0]), "0; NaN", "0; NaN", "the value is 0, too"),
    Kink("vector_norm(0.5)", "0", lambda x: ops.vector_norm(x, 0.5), ([0.0, 1.0],), ([0.0, 1.0],), SAME,
         "not measured", "the middle of -inf and inf"),
    Kink("vector_norm(3)", "0", lambda x: ops.vector_norm(x, 3), ([0.0, 0.0],), ([0.0, 0.0],), SAME, "not measured",
         "the middle of both sides"),
    Kink("prod", "0, 0, 2", ops.prod, ([0.0, 0.0, 2.0],), ([0.0, 0.0, 0.0],), SAME, SAME, "exact: no division"),
    Kink("cumprod (summed)", "0, 0, 2", lambda x: ops.cumprod(x, 0), ([0.0, 0.0, 2.0],), ([1.0, 0.0, 0.0],), SAME,
         "NaN, NaN, 0", "exact: no division"),
    Kink("logaddexp", "x = y", ops.logaddexp, ([1.0], [1.0]), ([0.5], [0.5]), SAME, SAME, "no kink"),
    Kink("remainder", "2 % 1", ops.remainder, ([2.0], [1.0]), ([1.0], [-2.0]), SAME, SAME, "the quotient is constant"),
    Kink("sign, floor, round", "jumps", lambda x: ops.sign(x) + ops.floor(x) + ops.round(x), ([0.0],), ([0.0],), SAME,
         SAME, "constant between jumps"),
    Kink("smooth_l1_loss", "|d| = beta", _one(lambda x, y: ops.smooth_l1_loss(x, y, reduction="sum")), ([1.0],),
         ([1.0],), SAME, SAME, "no kink"),
    Kink("huber_loss", "|d| = delta", _one(ops.huber_loss), ([1.0],), ([1.0],), SAME, SAME, "no kink"),
    Kink("margin_ranking_loss", "at the margin", lambda x, y: ops.margin_ranking_loss(x, y, ms.Tensor([1.0])),
         ([1.0], [1.0]), ([-1.0], [1.0]), SAME, SAME, "a clamp: equal scores still learn"),
    Kink("MarginRankingLoss", "at the margin", lambda x, y: nn.MarginRankingLoss()(x, y, ms.Tensor([1.0])),
         ([1.0], [1.0]), ([-1.0], [1.0]), SAME, "not measured", "as the function"),
    Kink("hinge_embedding_loss", "at the margin", lambda x: ops.hinge_embedding_loss(x, ms.Tensor([-1.0])), ([1.0],),
         ([-1.0],), SAME, "-0.5", "a clamp"),
    Kink("cosine_embedding_loss", "at the margin",
         lambda x: ops.cosine_embedding_loss(x, ms.Tensor([[0.0, 1.0]]), ms.Tensor([-1.0])), ([[1.0, 0.0]],),
         ([[0.0, 1.0]],), SAME, "0, 0.5", "a clamp"),
)  # fmt: skip


def gradients(kink: Kink) -> list[Any]:
    inputs = [ms.Tensor(np.array(x, np.float32)) for x in kink.inputs]
    found = ms.grad(lambda *t: kink.fn(*t).sum(), tuple(range(len(inputs))))(*inputs)
    return [g.asnumpy() for g in found]


@pytest.mark.long
@pytest.mark.parametrize("level", ["O0", "O1"])
def test_every_row(mode: int, level: str) -> None:
    ms.set_context(jit_level=level)
    wrong = []
    with np.errstate(all="ignore"):
        for kink in KINKS:
            for found, want in zip(gradients(kink), kink.ours, strict=True):
                if not np.allclose(found, want, rtol=1e-6, atol=0):
                    wrong.append((kink.op, kink.point, found.tolist(), want))
    assert wrong == []


def test_the_choice_goes_on_through_transforms() -> None:
    """vmap, second derivatives and keepdims see the same index."""
    x = ms.Tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 0.0]])
    one = ms.grad(lambda r: (ops.max(r, 0)[0] ** 2).sum())
    want = [[0.0, 6.0, 0.0], [4.0, 0.0, 0.0]]
    assert ms.vmap(one)(x).tolist() == ms.jit(ms.vmap(one))(x).tolist() == want
    for axis, keepdims in ((1, False), (-1, True)):
        g = ms.grad(lambda t: (ops.max(t, axis, keepdims)[0] ** 2).sum())
        assert g(x).tolist() == ms.jit(g)(x).tolist() == want
    twice = ms.grad(lambda t: ms.grad(lambda u: (ops.min(u, 0)[0] ** 3).sum())(t).sum())
    assert twice(ms.Tensor([2.0, 2.0])).tolist() == [12.0, 0.0]


def table() -> str:
    def shown(values: tuple[list[Any], ...]) -> str:
        lists = [np.asarray(v).ravel() for v in values]
        return "; ".join(", ".join(f"{x:.5g}".replace("nan", "NaN") for x in part) for part in lists)

    lines = ["| operator | point | msnb | PyTorch 2.13 | MindSpore 2.10 | reason |", "|---|---|---|---|---|---|"]
    for k in KINKS:
        lines.append(f"| {k.op} | {k.point} | {shown(k.ours)} | {k.pytorch} | {k.mindspore} | {k.reason} |".replace(
            "|d|", "\\|d\\|"))  # fmt: skip
    return "\n".join(lines)


def test_the_page_holds_this_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    written, tail = rest.split(END)
    if os.environ.get("MSNB_KINKS") == "write":
        PAGE.write_text(f"{head}{BEGIN}\n{table()}\n{END}{tail}", encoding="utf-8")
    else:
        assert written.strip() == table(), "MSNB_KINKS=write python -m pytest tests/ops/test_kinks.py"


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
@pytest.mark.parametrize("order", [-1, 0, 0.5, 1, 1.5, 2, 3])
def test_norms_have_no_slope_at_zero(mode: int, order: float) -> None:
    ms.set_context(mode=mode)
    x = ms.Tensor(np.array([[0.0, 1.0, 0.0], [0.0, 2.0, -3.0]]))
    found = ms.grad(lambda t: ops.vector_norm(t, order, 0).sum())(x).asnumpy()
    assert np.isfinite(found).all()
    assert (found[x.asnumpy() == 0] == 0).all()
    if order > 0:
        assert found[1, 2] == pytest.approx(-1)
