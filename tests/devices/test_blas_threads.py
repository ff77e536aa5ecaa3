"""runtime_num_threads reaches the thread pool of NumPy's BLAS."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

import msnb as ms
from msnb.devices.cpu import blas_threads as blas

threadpoolctl = pytest.importorskip("threadpoolctl")


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}


def test_the_setting_is_honoured_and_taken_back() -> None:
    before = blas_threads()
    with ms.set_context(runtime_num_threads=2):
        assert blas_threads() == {2}
        with ms.set_context(runtime_num_threads=1):
            assert blas_threads() == {1}
        assert blas_threads() == {2}
    assert blas_threads() == before


def test_without_the_package_the_user_is_told_once(monkeypatch: pytest.MonkeyPatch, notices: list[str]) -> None:
    plain = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "threadpoolctl":
            raise ImportError(name)
        return plain(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr(blas, "_controllers", [])
    ms.set_context(runtime_num_threads=1)
    ms.set_context(runtime_num_threads=3)
    assert len(notices) == 1
    assert "threadpoolctl is not installed" in notices[0]
