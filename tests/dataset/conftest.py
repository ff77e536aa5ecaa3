"""Tests of this folder set seeds and defaults; every test starts without any."""

import pytest

from msnb.core import random as core_random
from msnb.dataset.pipeline import config


@pytest.fixture(autouse=True)
def fresh_settings(monkeypatch):
    monkeypatch.setattr(config, "_state", config._State())
    monkeypatch.setattr(core_random, "_seed", None)
