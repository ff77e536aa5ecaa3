"""Messages between this process and its workers: small things through a socket, arrays through shared memory.

    message ──pickle, protocol 5──> bytes without the arrays' content       + the contents, as they lie in memory
                                      │                                          │
    socket     [sizes][bytes]  <──────┘            [contents], if they are small │
    memory                                         one block without a name <────┘  its descriptor goes with the sizes

The block belongs to whoever holds its descriptor or maps it, and has no name: it is gone with the last of them,
however they end. The receiver's arrays lie in it, writable, without a copy.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import socket
import struct
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

_SMALL = 1 << 16  # bytes that are copied through the socket: below this a block costs more than the copy
_ALIGNED = 64
_HEAD = struct.Struct("=QIB")  # bytes of the pickle, number of arrays, whether they are in a block
_SIZE = struct.Struct("=Q")
Dumps = Callable[..., bytes]


class Parcel:
    """A message, packed: sent as often as one likes, its arrays are in memory once.

    Args:
        message: what can be pickled; dumps: ``pickle.dumps``, or what can do more.
    """

    def __init__(self, message: Any, dumps: Dumps = pickle.dumps) -> None:
        buffers: list[pickle.PickleBuffer] = []
        self.data: bytes = dumps(message, protocol=5, buffer_callback=buffers.append)
        self.raws: list[memoryview[int]] = [buffer.raw() for buffer in buffers]
        self.sizes: list[int] = [raw.nbytes for raw in self.raws]
        self.block = _block(self.raws) if sum(self.sizes) >= _SMALL else None
        if self.block is not None:
            self.raws = []

    def send(self, link: socket.socket) -> None:
        """Through a socket; blocks until it is on its way.

        Raises:
            OSError: the other side is gone.
        """
        head = _HEAD.pack(len(self.data), len(self.sizes), self.block is not None)
        if self.block is None:
            link.sendall(head)
        else:
            socket.send_fds(link, [head], [self.block])
        link.sendall(b"".join([*map(_SIZE.pack, self.sizes), self.data, *self.raws]))

    def close(self) -> None:
        """Give the block back, as far as this process holds it."""
        if self.block is not None:
            os.close(self.block)
            self.block = None

    def __enter__(self) -> Parcel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def send(link: socket.socket, message: Any) -> None:
    """A message that goes once; see ``Parcel``."""
    with Parcel(message) as parcel:
        parcel.send(link)


def receive(link: socket.socket, shared: bool = False) -> Any:
    """The next message.

    Args:
        shared: others map the same block: what is written here stays here.

    Raises:
        EOFError: the other side is gone. What reading the pickle raises.
    """
    data, buffers = receive_parts(link, shared)
    return pickle.loads(data, buffers=buffers)


def receive_parts(link: socket.socket, shared: bool = False) -> tuple[bytearray, Sequence[Any]]:
    """The next message, not read yet; see ``receive``."""
    try:
        first, blocks, _, _ = socket.recv_fds(link, _HEAD.size, 1)
    except ConnectionError:
        raise EOFError("the other side is gone") from None
    try:
        length, count, apart = _HEAD.unpack(first + _exactly(link, _HEAD.size - len(first)))
        packed = _exactly(link, count * _SIZE.size)
        sizes = [size for (size,) in _SIZE.iter_unpack(packed)]
        data = _exactly(link, length)
        if apart:
            return data, _mapped(blocks[0], sizes, shared)
        return data, [_exactly(link, size) for size in sizes]
    finally:
        for block in blocks:
            os.close(block)


def _exactly(link: socket.socket, size: int) -> bytearray:
    out = bytearray(size)
    view = memoryview(out)
    while view:
        try:
            got = link.recv_into(view)
        except ConnectionError:
            got = 0
        if not got:
            raise EOFError("the other side is gone")
        view = view[got:]
    return out


# ---- blocks ----


def _offsets(sizes: Sequence[int]) -> list[int]:
    """Where the contents begin, and where the block ends."""
    out = [0]
    for size in sizes:
        out.append(-(-(out[-1] + size) // _ALIGNED) * _ALIGNED)
    return out


def _block(raws: Sequence[memoryview]) -> int:
    """A block of memory with these contents, by its descriptor."""
    *starts, end = _offsets([raw.nbytes for raw in raws])
    block = _nameless()
    try:
        os.truncate(block, end)
        for start, raw in zip(starts, raws):
            while raw:
                written = os.pwrite(block, raw, start)
                raw, start = raw[written:], start + written
    except BaseException:
        os.close(block)
        raise
    return block


def _nameless() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("msnb-rows")
    with tempfile.TemporaryFile() as file:  # unlinked at once; the system keeps it in memory as long as it can
        return os.dup(file.fileno())


def _mapped(block: int, sizes: Sequence[int], shared: bool) -> list[memoryview]:
    *starts, end = _offsets(sizes)
    access = mmap.ACCESS_COPY if shared else mmap.ACCESS_WRITE
    whole: Any = None
    with contextlib.suppress(OSError):  # a process may map so many blocks and no more
        whole = mmap.mmap(block, end, access=access)
    if whole is None:
        whole = bytearray(end)
        os.preadv(block, [whole], 0)
    view = memoryview(whole)
    return [view[start : start + size] for start, size in zip(starts, sizes)]
