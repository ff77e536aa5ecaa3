"""Finding the library, and what happens where there is none."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from msnb.base import events
from msnb.devices.cpu import thread_pool
from msnb.devices.cpu.onednn import c_api as c, primitives, shared_library
from msnb.devices.cpu.onednn.provider import recipe
from tests.devices.cpu.onednn_runs import run


@pytest.fixture()
def anew() -> Iterator[None]:
    """The library is looked for again in the test, and after it."""
    for cached in (shared_library.load, c.api):
        cached.cache_clear()
    events.forget_notices()
    yield
    for cached in (shared_library.load, c.api):
        cached.cache_clear()


def told(capsys: Any) -> str:
    assert c.api() is None
    assert run("matmul", [np.ones((2, 2), np.float32)] * 2, recipe) is None
    text: str = capsys.readouterr().err
    assert text.count("msnb:") == 1
    return text


@pytest.mark.skipif(find_spec("llvmlite") is None, reason="what is missing first is llvmlite")
def test_without_the_wheel(monkeypatch: pytest.MonkeyPatch, capsys: Any, anew: None) -> None:
    def missing(name: str) -> Any:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(thread_pool, "pointers", lambda: (1, 1))
    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    assert "pip install onednn-cpu-gomp" in told(capsys)


def test_on_another_machine(monkeypatch: pytest.MonkeyPatch, capsys: Any, anew: None) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert "its wheel exists for Linux on x86-64" in told(capsys)


def test_without_libgomp(monkeypatch: pytest.MonkeyPatch, capsys: Any, anew: None) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(thread_pool, "pointers", lambda: (None, None))
    assert "libgomp1" in told(capsys)


needs = pytest.mark.skipif(c.api() is None, reason="oneDNN is not installed")


@needs
def test_a_version_that_is_too_old(monkeypatch: pytest.MonkeyPatch, capsys: Any, anew: None) -> None:
    monkeypatch.setattr(shared_library, "_OLDEST", (3, 999))
    assert "or a later 3.x is needed" in told(capsys)


@needs
def test_errors_are_sentences() -> None:
    found = c.api()
    assert found is not None
    with pytest.raises(c.OneDNNError, match="the arguments do not fit one another"):
        c.Desc(found, (2, 3), c.F32, (0, -1))


@needs
def test_primitives_are_made_once_per_description_and_thread_count(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = primitives.Layout((300, 300), (300, 1))
    first = primitives.matmul(layout, layout, layout)
    assert first is not None and first is primitives.matmul(layout, layout, layout)
    monkeypatch.setattr(thread_pool, "count", lambda: first.threads + 1)
    other = primitives.matmul(layout, layout, layout)
    assert other is not None and other.threads == first.threads + 1
    small = primitives.matmul(layout, layout, layout, work=10.0)
    assert small is not None and small.threads == 1


@needs
def test_no_primitive_where_the_shapes_do_not_fit() -> None:
    a, b = primitives.Layout((3, 4), (4, 1)), primitives.Layout((5, 6), (6, 1))
    assert primitives.matmul(a, b, primitives.Layout((3, 6), (6, 1))) is None


@needs
def test_bias_and_what_follows_in_one_primitive() -> None:
    import ctypes

    from msnb.devices.cpu.onednn.trampoline import Operand, PrimitiveRun, function

    rng = np.random.default_rng(1)
    x, w, b, r = (rng.standard_normal(s).astype(np.float32) for s in ((5, 7), (7, 3), (1, 3), (5, 3)))
    out, layout = np.zeros((5, 3), np.float32), lambda a: primitives.Layout(a.shape, (a.shape[1], 1))
    post = (("add", layout(r)), ("tanh", 0.0, 0.0))
    made = primitives.matmul(layout(x), layout(w), layout(out), layout(b), post, work=1.0)
    assert made is not None
    arrays = {c.SRC: x, c.WEIGHTS: w, c.BIAS: b, c.POST_OP | 2: r, c.DST: out}
    if made.scratch:
        arrays[c.SCRATCHPAD] = np.zeros(made.scratch + 64, np.uint8)
    slots = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays.values()))
    bound = PrimitiveRun(made, {n: Operand(i) for i, n in enumerate(arrays)})
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    words, env = (ctypes.c_int64 * bound.width)(*bound.words()), (ctypes.c_int64 * 8)(1)
    assert kind(function().words()[0])(slots, words, env) == 0
    np.testing.assert_allclose(out, np.tanh(x @ w + b + r), rtol=1e-5, atol=1e-6)
