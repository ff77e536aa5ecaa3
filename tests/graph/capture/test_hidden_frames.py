"""Files that are hidden from reports are no part of the framework: what they are given are plain values."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import msnb as ms
from msnb.base import source_location

SECONDS = 0.001


def test_a_function_of_a_hidden_file_is_given_plain_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_location, "_hidden", (*source_location._hidden, threading.__file__))
    event = threading.Event()

    @ms.jit
    def waits(x: Any) -> Any:
        event.wait(SECONDS)
        return x * 2

    assert source_location.is_internal(threading.__file__) and not source_location.is_own(threading.__file__)
    assert waits(ms.Tensor([1.0])).tolist() == [2.0]
