"""Every test of this folder sees ``mindspore`` as a view of msnb."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from msnb.as_mindspore import install, uninstall


@pytest.fixture(autouse=True)
def _alias() -> Iterator[None]:
    install()
    yield
    uninstall()


uninstall()  # the import of the package has installed it: only tests of this folder want that
