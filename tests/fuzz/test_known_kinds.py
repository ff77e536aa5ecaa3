"""The net would have caught them: each kind of defect that was found by hand is generated, judged, and found again when
it is planted."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from tests.fuzz.comparison import judge
from tests.fuzz.generator import HEAD, head, program
from tests.fuzz.known_kinds import MADE, MARKS
from tests.fuzz.runner import run_oracle

WAYS = ("eager", "graph O0", "jit O1")
CALLS = "CALLS = [([[0.1, -0.5, 0.3], [0.7, 0.2, -0.4]], [0.1, -0.5, 0.3], 0.2)]\n"
PROGRAMS = {
    "made": """
def main(x, y, t):
    m = Made([0.5, -1.25, 2.0])
    if t > 0.1:
        ops.assign(m.p, y * 2.0)
    m.num *= 2
    return m(y) * m.num + m.p
""",
    "argument": """
def f(x):
    x.register_hook(lambda g: g * 0.5)
    return ops.sin(x).sum()

def main(x, y, t):
    y.register_hook(lambda g: g * -1.0)
    return ms.grad(f)(x), ms.grad(lambda v: (v * v).sum())(y)
""",
    "primitive": """
def main(x, y, t):
    c = Tensor(np.array([1.5, 0.5, 2.0], F))
    u = ops.Unique()(Tensor(np.array([3, 1, 1])))[1].astype(ms.float64)
    return ops.ReduceMax()(x, 0)[0], ops.BatchNorm()(x, c, c, c, c)[0], y * u, y - ops.Dropout(keep_prob=1.0)(y)[1]
""",
    "seeded": """
def main(x, y, t):
    return y + (ops.StandardNormal(seed=3)((3,)) - ops.StandardNormal(seed=3)((3,)))
""",
    "text": """
def main(x, y, t):
    print("p {}".format(y))
    if t > 0.5:
        raise ValueError("stop {}".format((y > 0.0).sum()))
    return "r {}".format((x > 0.0).sum())
""",
    "all": """
def main(x, y, t):
    choose = lambda v, w, i: ops.stack([(v * w).sum(), (v * v * w).sum()])[i]
    return ops.GradOperation(get_all=True)(choose)(x, y, Tensor(np.array(1)))
""",
    "lanes": """
q = Parameter(Tensor(np.array([[0.1, -0.5], [0.7, 0.2]], F)), name="q")

def lanes(p):
    ops.assign(p, p * 0.5 + 0.25)
    return p.sum()

def main(x, y, t):
    return ms.vmap(lanes, in_axes=1)(q)
""",
    "frozen": """
w = Parameter(Tensor(np.array([0.1, -0.5, 0.7], F)), name="w")
w.requires_grad = False

def main(x, y, t):
    return ms.grad(lambda v: (v * w).sum(), 0, [w])(y)
""",
}


def text_of(kind: str, dtype: str = "float64") -> str:
    shown = "q" if kind == "lanes" else "trace"
    body = (MADE if kind == "made" else "") + PROGRAMS[kind].replace("float64", dtype)
    return head(dtype, 0) + body + f'\ndef state():\n    return {{"{shown}": {shown}}}\n\n' + CALLS


# ---- what was wrong once, put in again ------------------------------------------------------------------------------


def forgetful_assign(old: Any) -> Any:
    return lambda p, value: old(p, p.value() if p.name == "p" else value)


def one_less(old: Any) -> Any:
    def operation(get_all: bool = False) -> Any:
        return lambda fn: lambda *args: old(get_all=get_all)(fn)(*args)[:-1]

    return operation


def with_indices(old: Any) -> Any:
    return lambda: lambda x, axis: (old()(x, axis), axis)


def seedless(old: Any) -> Any:
    seeds = itertools.count(1)
    return lambda seed: old(seed=next(seeds))


def of_values(old: Any) -> Any:
    def vmap(fn: Callable[..., Any], in_axes: Any = 0) -> Any:
        return lambda p: old(fn, in_axes=in_axes)(ms.Parameter(p.value()))

    return vmap


def thawed(old: Any) -> Any:
    def grad(fn: Any, place: Any, weights: Any) -> Any:
        for w in weights:
            w.requires_grad = True
        return old(fn, place, weights)

    return grad


PLANTED: dict[str, tuple[Any, str, Callable[[Any], Any]]] = {
    "made": (ms.ops, "assign", forgetful_assign),
    "argument": (ms.Tensor, "register_hook", lambda old: lambda self, hook: None),
    "primitive": (ms.ops, "ReduceMax", with_indices),
    "seeded": (ms.ops, "StandardNormal", seedless),
    "text": (ms.Tensor, "__format__", lambda old: lambda self, spec: "<not known>"),
    "all": (ms.ops, "GradOperation", one_less),
    "lanes": (ms, "vmap", of_values),
    "frozen": (ms, "grad", thawed),
}


@pytest.mark.parametrize("kind", MARKS)
def test_a_kind_is_judged_and_found_when_planted(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = text_of(kind)
    verdict = judge(text, WAYS)
    assert not verdict.finds and verdict.judged and not verdict.refusals, verdict
    owner, name, plant = PLANTED[kind]
    monkeypatch.setattr(owner, name, plant(getattr(owner, name)))
    assert judge(text, ("eager",)).finds, "planted and not found"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kind", sorted(set(MARKS) - {"seeded"}))
def test_a_kind_is_judged_in_half_precision(kind: str, dtype: str) -> None:
    verdict = judge(text_of(kind, dtype), WAYS)
    assert not verdict.finds and verdict.judged and not verdict.refusals, verdict


WHOLE = """
def main(x, y, t):
    j = Tensor(np.array([100, 3, -7], np.int8))
    j[::2] += 100
    k = ops.cumsum(j, 0).astype(ms.int8) * j
    u = Tensor(np.array([250, 3, 7], np.uint8)) * 2 - 9
    i = (j % 3).astype(ms.int32)
    return j, k, u // 2, u ^ 5, (u & 3) | u[::-1], j.sum(), y[i], ops.gather(y, i, 0), ops.stack([k, j, k]).T @ j, -u

def state():
    return {}

"""


def test_whole_numbers_are_judged_to_the_last() -> None:
    text = head("float32", 0) + WHOLE + CALLS
    verdict = judge(text)
    assert not verdict.finds and verdict.judged and not verdict.refusals, verdict
    assert judge(
        text.replace("F = np.float32", "F = np.float32\nlost = ms.__name__ == 'msnb'").replace(
            "+= 100", "+= 100 - lost"
        )
    ).finds


def test_every_kind_is_generated() -> None:
    texts = [program(seed) for seed in range(300)]
    rare = {kind: count for kind, mark in MARKS.items() if (count := sum(mark in t for t in texts)) < 6}
    assert not rare


def test_what_a_lane_prints_and_writes_is_not_judged() -> None:
    body = "def f(v):\n    {}\n    return v * 2.0\n\ndef main(x, y, t):\n    return ms.vmap(f)(x)\n"
    for statement in ('print("once")', "trace.append(1)"):
        text = HEAD.format(dtype="float64", flag=0) + body.format(statement) + "\ndef state():\n    return {}\n" + CALLS
        assert "lanes of vmap" in run_oracle(text).unjudged


def test_last_places_of_huge_numbers_are_not_judged() -> None:
    """The third derivative of a steep softmax: 1e27 minus 1e27, of which the oracle keeps 2^38 and msnb nothing."""
    text = HEAD.format(dtype="float64", flag=0) + (
        "def main(x, y, t):\n    return ms.jacfwd(ms.jacfwd(ms.grad(lambda v: ops.softmax(v * 1e9, -1).sum())))(y)\n"
        "\ndef state():\n    return {}\n"
    ) + CALLS  # fmt: skip
    verdict = judge(text, ("eager", "jit O1"))
    assert verdict.judged and not verdict.finds
    assert np.isfinite(run_oracle(text).largest) and run_oracle(text).largest > 1e12
