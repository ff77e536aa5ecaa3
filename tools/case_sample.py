"""A plugin of pytest for `make test`: of every parametrized test a few cases, drawn by the run's seed.

    pytest -p tools.case_sample --cases 4 --hypothesis-seed 7 tests

All functions of the tests run, so whatever a commit breaks as a whole is seen; that every case holds is for `make test
ALL=1`. Commits draw differently (`--hypothesis-seed` is the committed content's); the same commit draws the same cases.
"""

from __future__ import annotations

import random
from itertools import groupby

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cases", type=int, default=0, metavar="N", help="at most N cases of each test; 0: all")


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the order: fixtures of a module are made once."""
    count = config.getoption("--cases")
    if count <= 0:
        return
    seed, kept = config.getoption("hypothesis_seed", None), set()
    for name, group in groupby(sorted(items, key=lambda item: item.nodeid), _function):
        cases = [item.nodeid for item in group]
        kept.update(random.Random(f"{seed} {name}").sample(cases, min(count, len(cases))))
    left = [item for item in items if item.nodeid not in kept]
    items[:] = [item for item in items if item.nodeid in kept]
    config.hook.pytest_deselected(items=left)
