"""Ranks with a GPU each: parts are CuPy arrays, ops their bodies over CuPy, pieces travel through NCCL.

A NCCL that has waited in vain cannot be used again: after a failure the processes begin anew (``renew`` says so).
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from msnb.base import DeviceError
from msnb.devices.gpu.nccl import NcclLink
from msnb.parallel.engine.comm.communicator import Array, Communicator
from msnb.parallel.engine.comm.rank_failures import CollectiveTimeout

_NAP = 2e-5


class NcclComm(Communicator):
    """A rank of a group of GPUs.

    Args:
        link: an ``NcclLink``, or something that behaves like it.
    """

    def __init__(self, rank: int, size: int, timeout: float, link: Any) -> None:
        super().__init__(rank, size, timeout)
        self.link: Any = link
        self.xp: Any = link.xp
        self.lost: list[Any] = []

    @staticmethod
    def of_environment(timeout: float) -> NcclComm:
        """The rank that the launcher began this process as."""
        rank, size, port = (int(os.environ[name]) for name in ("PMI_RANK", "MSNB_RANKS", "MSNB_PORT"))
        return NcclComm(rank, size, timeout, NcclLink(rank, size, port))

    def exchange(self, out: Mapping[int, Array], into: Mapping[int, Array], what: str, deadline: float) -> None:
        """One NCCL group, polled."""
        self.link.begin({r: _bytes(a) for r, a in out.items()}, {r: _bytes(a) for r, a in into.items()})
        try:
            while not self.link.done:
                self.check()
                if time.monotonic() > deadline:
                    raise CollectiveTimeout(f"{what}: another rank did not come before the deadline.")
                time.sleep(_NAP)
        except BaseException:
            self.lost.append((out, into))
            raise

    def renew(self, deadline: float) -> None:
        """Not possible after a failure: a new group needs new processes."""
        raise DeviceError("NCCL cannot go on after a failure; the ranks begin anew.")


def _bytes(a: Array) -> Any:
    return a.reshape(-1).view(np.uint8)
