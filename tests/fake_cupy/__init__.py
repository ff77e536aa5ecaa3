"""The simulated GPU's array module, posing as CuPy: ``msnb.devices.gpu.simulated_cuda`` says what it does."""

from __future__ import annotations

import sys

from msnb.devices.gpu import simulated_cuda

for _name in ("fake_cupy", "tests.fake_cupy"):
    sys.modules[_name] = simulated_cuda
