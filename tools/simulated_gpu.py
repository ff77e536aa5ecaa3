"""A plugin of pytest: tests that name no device run on the simulated GPU, with generated code.

    pytest -p tools.simulated_gpu tests/ops/test_operators.py

The tests were written for the CPU: what fails here is a wrong number, a foreign error or a missing kernel of the GPU's,
or the test states something of the CPU; such a test stands in ``OF_THE_CPU``. Kernels run thread by thread, slowly.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

OF_THE_CPU: dict[str, str] = {
    "test_key_value_cache.py": "a GPU tells wrong indices when values come down, when the write is done",
    "test_what_is_refused": "the same: nobody looks at the values",
    "test_places_outside_are": "the same",
    "test_operands_of_two_devices": "the sentence names the CPU as the device of the session",
    "test_residuals.py": "graphs are called with arrays of the host",
    "test_frozen_programs.py": "frozen programs are native programs of the CPU",
}
"""What is left out, by a part of its name, and why."""


def pytest_configure(config: pytest.Config) -> None:
    """Another default device; an error of an eager operation is raised by it, not behind it."""
    from msnb.base.settings import KNOBS, reset_context

    for name, value in (("device_target", "SimulatedGPU"), ("pynative_synchronize", True), ("jit_level", "O1")):
        KNOBS[name] = replace(KNOBS[name], default=value)
    reset_context()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what states something of the CPU."""
    left = [item for item in items if any(name in item.nodeid for name in OF_THE_CPU)]
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=left)
