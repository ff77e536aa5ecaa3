"""What a program computes from nothing is worked out once, when the program is built."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.devices.inspection import NodeLowering

pytest.importorskip("llvmlite")
from msnb.devices.codegen import constant_evaluation


@pytest.fixture(autouse=True)
def _machine_code(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MSNB_CACHE_DIR", "")
    with ms.set_context(jit_level="O1"):
        yield


def run(fn: Callable[..., Any], *arrays: Any) -> tuple[Any, Any]:
    """The result, and the program."""
    jitted = ms.jit(fn)
    out = jitted(*map(ms.Tensor, arrays))
    return out, jitted.versions[0].compiled.executable


def masked(x: Any) -> Any:
    """Attention's mask: ones, cut to a triangle, where something else than machine code made it in every step."""
    mask = ops.triu(ops.ones((200, 200), ms.bool_), 1)
    return ops.masked_fill(x, mask, 0.0) @ ops.eye(200) + ops.arange(200)


def test_a_mask_is_known_before_the_program_runs(rng: np.random.Generator) -> None:
    x = rng.standard_normal((200, 200)).astype(np.float32)
    out, program = run(masked, x)
    np.testing.assert_allclose(out.asnumpy(), np.tril(x) + np.arange(200), rtol=1e-6, atol=1e-5)
    assert not {"ones", "triu", "eye", "arange"}.intersection(program.host_steps)
    ways: list[NodeLowering] = ms.base.device_registry.device("CPU").ways_of(program)
    assert "known before the program runs" in [w.how for w in ways]


def test_it_is_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    monkeypatch.setenv("MSNB_CACHE_DIR", str(tmp_path))
    x = ms.Tensor(rng.standard_normal((200, 200)).astype(np.float32))
    found = [ms.jit(lambda x: masked(x)) for _ in range(2)]
    one, other = (f(x).asnumpy() for f in found)
    assert [f.versions[0].compiled.recalled for f in found] == [False, True]
    np.testing.assert_array_equal(one, other)


def test_results_may_be_known_too() -> None:
    def fn(x: Any) -> Any:
        return ops.arange(300), ops.eye(3), x + 1

    jitted = ms.jit(fn)
    first = jitted(ms.Tensor([1.0]))
    first[0].asnumpy()
    first[0][0] = 7
    numbers, eye, _ = jitted(ms.Tensor([1.0]))
    np.testing.assert_array_equal(numbers.asnumpy(), np.arange(300))
    np.testing.assert_array_equal(eye.asnumpy(), np.eye(3))


def test_inside_loops(rng: np.random.Generator) -> None:
    x = rng.standard_normal(200)

    def fn(x: Any) -> Any:
        k = ms.Tensor(0)
        while k < 3:
            x = x + ops.arange(200) * ops.linspace(0.0, 1.0, 200)
            k = k + 1
        return x

    out, program = run(fn, x)
    np.testing.assert_allclose(out.asnumpy(), x + 3 * np.arange(200) * np.linspace(0, 1, 200), rtol=1e-5)
    assert "arange" not in program.host_steps


def test_what_is_too_large_or_fails_is_left_to_the_run() -> None:
    large = constant_evaluation.MOST // 8 + 1
    out, program = run(lambda x: ops.arange(large) + x.astype(ms.int64).sum(), np.zeros(2))
    np.testing.assert_array_equal(out.asnumpy(), np.arange(large))
    assert not program.built.choice.given._known
    singular = np.zeros((20, 20), np.float32)
    with pytest.raises(Exception, match="[Ss]ingular"):
        run(lambda x: ops.inverse(ms.Tensor(singular)) + x, np.ones((20, 20), np.float32))


def test_draws_are_drawn_in_every_run() -> None:
    jitted = ms.jit(lambda x: x + ops.rand(500))
    x = ms.Tensor(np.zeros(500, np.float32))
    one, other = (jitted(x).asnumpy() for _ in range(2))
    assert not np.array_equal(one, other)
