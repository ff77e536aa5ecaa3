"""Kernels of a program for another batch are the machine code that is there already."""

from __future__ import annotations

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from tests.devices.cpu.codegen_programs import buffers, native, traced

pytest.importorskip("llvmlite")


def _compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    from msnb.devices.cpu.llvm import jit

    done: list[str] = []
    plain = jit.machine_code
    monkeypatch.setattr(jit, "machine_code", lambda text, key: (done.append(text), plain(text, key))[1])
    return done


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ops.softmax(x * 2.0 + 1.0, -1),
        lambda x: ops.exp(x).sum(0) * 3.0,
        lambda x: (x - x.mean(-1, keep_dims=True)) / (x.var(-1, keepdims=True) + 1e-5) ** 0.5,
    ],
    ids=["softmax", "column sums", "norm"],
)
def test_another_number_of_rows_needs_no_machine_code(function, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    before = ms.Tensor(rng.normal(size=(24, 33)).astype(np.float32))
    first = native(traced(function, before))
    done = _compilations(monkeypatch)
    for rows in (17, 40, 101):
        x = ms.Tensor(rng.normal(size=(rows, 33)).astype(np.float32))
        program = native(traced(function, x))
        np.testing.assert_allclose(program(buffers([x]))[0], function(x).asnumpy(), rtol=2e-5, atol=1e-6)
    assert not done and first is not None


def test_code_lives_as_long_as_a_program_that_uses_it() -> None:
    x, y = (ms.Tensor(np.full((n, 5), 0.5, np.float32)) for n in (7, 9))
    first = native(traced(lambda x: ops.tanh(x).sum(1), x))
    second = native(traced(lambda x: ops.tanh(x).sum(1), y))
    del first
    np.testing.assert_allclose(second(buffers([y]))[0], np.full(9, 5 * np.tanh(0.5)), rtol=1e-6)


def test_a_dense_layer_in_training_compiles_two_batches_only(monkeypatch: pytest.MonkeyPatch) -> None:
    net, before = nn.Dense(12, 5), ms.get_context("jit_level")
    ms.set_context(jit_level="O1")
    try:
        gradient = ms.value_and_grad(lambda x: ops.tanh(net(x)).mean(), None, net.trainable_params())
        step = ms.jit(lambda x: gradient(x))
        for rows in (20, 24):
            step(ops.ones((rows, 12)))
        done = _compilations(monkeypatch)
        for rows in (21, 28, 30):
            loss, _ = step(ops.ones((rows, 12)))
            np.testing.assert_allclose(loss.asnumpy(), ops.tanh(net(ops.ones((rows, 12)))).mean().asnumpy(), rtol=1e-5)
        assert len(done) <= 3  # the mean over all elements has its extent in the text
    finally:
        ms.set_context(jit_level=before)
