"""What was asked of the simulated GPU, and the errors that it gives."""

from __future__ import annotations

import types
from dataclasses import dataclass, fields


class CUDARuntimeError(RuntimeError):
    """As ``cupy.cuda.runtime.CUDARuntimeError``: the name of CUDA's status, and what it means here."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status


@dataclass
class Counters:
    """Counts since ``reset``.

    launches: kernels launched by the host, those that a capture recorded included; kernels_run: kernels that ran, by a
    launch or in a graph; functions: array functions, operators and methods; copies are counted in times and bytes.
    """

    launches: int = 0
    kernels_run: int = 0
    functions: int = 0
    captures: int = 0
    graph_launches: int = 0
    synchronisations: int = 0
    uploads: int = 0
    uploaded_bytes: int = 0
    downloads: int = 0
    downloaded_bytes: int = 0
    allocations: int = 0

    def reset(self) -> None:
        """All counts are 0 again."""
        for field in fields(self):
            setattr(self, field.name, 0)

    def up(self, nbytes: int) -> None:
        """A copy from the host."""
        self.uploads += 1
        self.uploaded_bytes += nbytes

    def down(self, nbytes: int) -> None:
        """A copy to the host."""
        self.downloads += 1
        self.downloaded_bytes += nbytes


counters = Counters()

# bfloat16=False: a CuPy before 14; room: bytes of the largest allocation that succeeds
features = types.SimpleNamespace(bfloat16=True, checks=True, room=None)
