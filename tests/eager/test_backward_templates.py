"""Backward programs with symbolic sizes: every tape of a form gets the gradients of its own sizes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base import device_registry
from msnb.eager import backward_program, backward_templates

SIZES = [5, 9, 12, 7, 20, 8, 3, 16, 2, 1, 0, 33, 11, 4, 6, 64, 10]
"""8, 16 and 6 are sizes of weights too."""


@pytest.fixture(autouse=True)
def early(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Templates from the fifth use on, in PyNative mode."""
    before = ms.get_context("mode"), ms.get_context("jit_level")
    ms.set_context(mode=ms.PYNATIVE_MODE, jit_level="O1")
    monkeypatch.setattr(backward_program, "USES", 4)
    monkeypatch.setattr(backward_program, "SIZES", 3)
    monkeypatch.setattr(backward_program, "_programs", OrderedDict())
    backward_program._forms.clear()
    yield
    backward_program._forms.clear()
    ms.set_context(mode=before[0], jit_level=before[1])


def served() -> int:
    """How many structures have a program from one with symbols."""
    return sum(isinstance(p._given, backward_program.BoundGraph) for p, _ in backward_program._programs.values())


def by_itself(gradient: Callable[..., Any], *args: Any) -> Any:
    """The same with no template."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backward_program, "_from_template", lambda *_: None)
        patch.setattr(backward_program, "_programs", OrderedDict())
        return gradient(*args)


def flat(tree: Any) -> list[Any]:
    return [t for each in tree for t in flat(each)] if isinstance(tree, (tuple, list)) else [tree]


def same(found: Any, expected: Any, where: Any = "") -> None:
    for a, b in zip(flat(found), flat(expected), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), where
        largest = float(np.abs(b.asnumpy()).max(initial=1.0))  # sums of large numbers may cancel
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-4, atol=2e-6 * (9 + largest), err_msg=str(where))


def tensor(rng: np.random.Generator, *shape: int) -> ms.Tensor:
    return ms.Tensor(rng.standard_normal(shape).astype(np.float32))


def check(gradient: Callable[..., Any], make: Callable[[int], tuple[Any, ...]], sizes: Any = SIZES) -> int:
    """Compare at every size; how many were served by a template."""
    before = served()
    for n in sizes:
        args = make(n)
        same(gradient(*args), by_itself(gradient, *args), n)
    return served() - before


WEIGHT = np.random.default_rng(3).standard_normal((16, 8)).astype(np.float32)
LAYERS: dict[str, Callable[[Any, Any], Any]] = {  # of (n, 8), to the same
    "dense": lambda x, w: ops.tanh(x @ w[:8] + w[0]),
    "twice": lambda x, w: ops.relu(ops.matmul(x, w.T)) @ w,
    "broadcast": lambda x, w: x * w[1] + ops.broadcast_to(w[2], x.shape),
    "column": lambda x, w: x * x[:, :1] + x.mean(0, keep_dims=True),
    "reshaped": lambda x, w: ops.sin(x.reshape(-1)).reshape((x.shape[0], 8)),
    "halves": lambda x, w: ops.concat([x.reshape((x.shape[0] * 2, 4)) * 2, ops.ones((x.shape[0] * 2, 4))], 1)[::2],
    "joined": lambda x, w: ops.concat([x, x * 2, w], 0)[: x.shape[0]],
    "rolled": lambda x, w: ops.concat([x[1:], x[:1]], 0) if x.shape[0] else x,
    "mask": lambda x, w: ops.where(x > 0.1, x, x * 0.3),
    "softmax": lambda x, w: ops.softmax(x, -1) + ops.log_softmax(x, 1) * 0.1,
    "norm": lambda x, w: (x - x.mean(1, keep_dims=True)) / (x.std(1, keepdims=True) + 1.0),
    "gram": lambda x, w: ops.matmul(ops.matmul(x, x.T) * 0.01, x),
    "batched": lambda x, w: ops.matmul(x.reshape((x.shape[0], 2, 4)), w[:4, :4]).reshape((x.shape[0], 8)),
    "stacked": lambda x, w: ops.stack([x, x * w[3]], 1).sum(1),
    "gathered": lambda x, w: x + w[ms.Tensor(np.arange(x.shape[0]) % 16, ms.int32)],
}  # fmt: skip


def chain(names: list[str]) -> Callable[[Any, Any], Any]:
    def loss(x: Any, w: Any) -> Any:
        for name in names:
            x = LAYERS[name](x, w)
        return (x * x).sum()

    return loss


@pytest.mark.parametrize("name", LAYERS)
def test_every_size_of_a_layer(name: str, rng: np.random.Generator) -> None:
    w = ms.Tensor(WEIGHT)
    found = check(ms.value_and_grad(chain([name]), (0, 1)), lambda n: (tensor(rng, n, 8), w))
    assert found >= 8 or name in ("gathered", "joined", "rolled", "halves"), "it is not swept"


@pytest.mark.parametrize("trial", range(6))
def test_random_networks(trial: int, rng: np.random.Generator) -> None:
    w = ms.Tensor(WEIGHT)
    names = [str(s) for s in rng.choice(list(LAYERS), 4)]
    sizes = [int(n) for n in rng.choice([*range(13), 16, 24, 32], 14)]
    print(names, sizes)
    check(ms.value_and_grad(chain(names), (0, 1)), lambda n: (tensor(rng, n, 8), w), sizes)


def test_two_sizes_that_were_equal_may_part(rng: np.random.Generator) -> None:
    gradient = ms.value_and_grad(lambda x, y: (ops.matmul(x, y.T) * 0.1).sum() + (x.mean(0) * y.mean(0)).sum(), (0, 1))
    pairs = [(k, k) for k in (4, 6, 9, 12, 15)] + [(5, 7), (15, 4), (9, 9), (10, 11), (3, 8), (8, 3), (1, 5), (5, 1)]
    for n, m in pairs:
        args = tensor(rng, n, 8), tensor(rng, m, 8)
        same(gradient(*args), by_itself(gradient, *args), (n, m))
    assert served() >= 3


def test_batch_and_length(rng: np.random.Generator) -> None:
    w = ms.Parameter(ms.Tensor(WEIGHT[:8]), name="w")

    def loss(x: Any) -> Any:
        y = ops.tanh(x.reshape((-1, 8)) @ w).reshape(x.shape)
        return (y[:, -1] * y.mean(1)).sum() + y[:, 1:].sum() + (ops.softmax(y, 1) * x).sum()

    gradient = ms.value_and_grad(loss, 0, [w])
    for n, m in [(3, 5), (4, 9), (7, 6), (9, 4), (5, 5), (6, 11), (12, 2), (2, 12), (1, 6), (6, 1),
                 (8, 8), (8, 3), (20, 15), (18, 22), (30, 25), (25, 30)]:  # fmt: skip
        x = tensor(rng, n, m, 8)
        same(gradient(x), by_itself(gradient, x), (n, m))
    assert served() >= 3


@pytest.mark.parametrize("frozen", [False, True])
def test_a_network_with_a_loss_in_both_modes(frozen: bool, rng: np.random.Generator) -> None:
    net = nn.SequentialCell(nn.Dense(8, 16), nn.ReLU(), nn.Dense(16, 6))
    entropy = nn.CrossEntropyLoss()
    weights = net.trainable_params()
    if frozen:
        weights[0].requires_grad = False
        weights = net.trainable_params()
    gradient = ms.value_and_grad(lambda x, y: entropy(net(x), y), None, weights)
    compiled = ms.jit(gradient)
    for n in [n for n in SIZES if n]:
        x, y = tensor(rng, n, 8), ms.Tensor(rng.integers(0, 6, n), ms.int32)
        found = gradient(x, y)
        same(found, by_itself(gradient, x, y), n)
        same(found, compiled(x, y), n)
    assert served() >= 8


def test_integers_that_are_no_sizes(rng: np.random.Generator) -> None:
    gradient = ms.grad(lambda x: (x[: x.shape[0] // 2] ** 2).sum() + (x[x.shape[0] % 3 :] * 3).sum())
    check(gradient, lambda n: (tensor(rng, n, 8),))
    turned = ms.grad(lambda x, k: (ops.roll(x, k, 0) * ops.arange(x.shape[0]).reshape((-1, 1))).sum())
    for n, k in [(5, 1), (6, 2), (7, 3), (8, 2), (9, 4), (10, 1), (11, 5), (12, 3), (5, 2)]:
        x = tensor(rng, n, 8)
        same(turned(x, k), by_itself(turned, x, k), (n, k))


def test_derivatives_of_higher_order(rng: np.random.Generator) -> None:
    first = ms.grad(lambda x: (ops.tanh(x) * x.mean(0)).sum())
    second = ms.grad(lambda x: (first(x) ** 2).sum())
    check(second, lambda n: (tensor(rng, n, 4),), [n for n in SIZES if n])


def test_transposed_values_that_a_tape_saved(rng: np.random.Generator) -> None:
    w = ms.Tensor(WEIGHT[:8])
    gradient = ms.grad(lambda x, w: ops.exp((x @ w).T * 0.1).sum() + (x.T[:3] ** 3).sum(), (0, 1))
    turned = iter(range(100))

    def given(n: int) -> tuple[Any, ...]:
        x = rng.standard_normal((n, 8)).astype(np.float32)
        return ms.Tensor(np.asfortranarray(x) if next(turned) % 2 else x).T.T, w

    assert check(gradient, given) >= 8


def test_errors_are_those_of_the_forward_pass(rng: np.random.Generator) -> None:
    w = ms.Tensor(WEIGHT[:8])
    gradient = ms.grad(lambda x: ops.tanh(x @ w).sum())
    check(gradient, lambda n: (tensor(rng, n, 8),))
    with pytest.raises(ValueError, match="matmul"):
        gradient(tensor(rng, 5, 7))


def test_without_fusion_there_is_none(rng: np.random.Generator) -> None:
    ms.set_context(jit_level="O0")
    gradient = ms.grad(lambda x: ops.tanh(x).sum())
    assert check(gradient, lambda n: (tensor(rng, n, 8),)) == 0


def test_a_device_that_makes_no_templates_does_not_compile_every_size(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_registry.current(), "template", lambda *_: None)
    monkeypatch.setenv("MSNB_CACHE_DIR", "")
    gradient = ms.grad(lambda x: ops.tanh(x * 2).sum())
    assert check(gradient, lambda n: (tensor(rng, n, 8),), range(3, 40)) <= backward_templates.FIRST


def test_programs_of_earlier_runs_do_not_use_up_what_may_be_compiled(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MSNB_CACHE_DIR", str(tmp_path))
    gradient = ms.grad(lambda x: (ops.sin(x) * 0.25).sum())
    for _ in range(backward_templates.FIRST + 3):  # each run leaves one more size on disk
        backward_program._forms.clear()
        backward_program._programs.clear()
        assert check(gradient, lambda n: (tensor(rng, n, 8),), [n + 2 for n in range(20)]) >= 8


def test_settings_that_change_forget_templates(rng: np.random.Generator) -> None:
    gradient = ms.grad(lambda x: (ops.exp(x) * 0.5).sum())
    assert check(gradient, lambda n: (tensor(rng, n, 8),)) >= 8
    ms.set_context(matmul_precision=ms.get_context("matmul_precision"), jit_level="O1")
    for n in (21, 22):
        x = tensor(rng, n, 8)
        same(gradient(x), by_itself(gradient, x))


def test_constants_of_a_template_are_checked(rng: np.random.Generator) -> None:
    def loss(x: Any, w: Any, axis: int) -> Any:
        return (ops.cumsum(x @ w, axis) ** 2).sum() + ops.softmax(x, axis)[:, 0].sum()

    gradient = ms.value_and_grad(loss, (0, 1))
    cases = [(n, 8, 0) for n in (5, 9, 12, 7, 20)]
    cases += [(11, 8, 1), (13, 6, 0), (14, 8, 0), (12, 6, 1), (15, 5, 0), (16, 8, 1), (22, 6, 0), (21, 8, 0)]
    for n, width, axis in cases:
        args = tensor(rng, n, width), tensor(rng, width, width), axis
        same(gradient(*args), by_itself(gradient, *args), (n, width, axis))
    assert served() >= 3
