"""NCCL between processes with a GPU each, through CuPy: groups of sends and receives on a stream of their own.

Source: https://docs.cupy.dev/en/stable/reference/distributed.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class NcclLink:
    """A process's way to the other GPUs.

    Args:
        rank, size: which of how many; the rank is the number of the GPU too.
        port: of this machine, where rank 0 tells the others how to meet.

    Raises:
        ImportError, RuntimeError: there is no CuPy, no NCCL, or no such GPU.
    """

    def __init__(self, rank: int, size: int, port: int) -> None:
        import cupy
        from cupy.cuda import nccl
        from cupyx.distributed import init_process_group

        self.xp, self._nccl = cupy, nccl
        cupy.cuda.Device(rank).use()
        self._backend: Any = init_process_group(size, rank, backend="nccl", host="127.0.0.1", port=port)
        self._stream: Any = cupy.cuda.Stream(non_blocking=True)

    def begin(self, out: Mapping[int, Any], into: Mapping[int, Any]) -> None:
        """Send bytes to peers and receive from peers; the arrays are to live until ``done``."""
        self._stream.wait_event(self.xp.cuda.get_current_stream().record())  # what makes the arrays comes first
        self._nccl.groupStart()
        try:
            for peer, array in out.items():
                self._backend.send(array, peer, self._stream)
            for peer, array in into.items():
                self._backend.recv(array, peer, self._stream)
        finally:
            self._nccl.groupEnd()

    @property
    def done(self) -> bool:
        """Whether all that was begun has ended."""
        return bool(self._stream.done)
