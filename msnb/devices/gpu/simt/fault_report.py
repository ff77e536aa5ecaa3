"""What a fault says: kernel, block, thread, access, what is wrong and what was expected.

The native runtime leaves eight numbers (which fault, an address, which access, the record it met, of what kind that
record is, block, thread, epoch). Here they become a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from msnb.devices.gpu.simt import native_runtime as native
from msnb.devices.gpu.simt.access_watch import Access
from msnb.devices.gpu.simt.module_text import KernelFault

Size = tuple[int, int, int]
_DID = {native.LOAD: "loads", native.STORE: "stores", native.ATOMIC: "updates"}
_DONE = {native.LOAD: "has loaded", native.STORE: "has stored", native.ATOMIC: "has updated"}


@dataclass(frozen=True)
class MemoryRegion:
    """Memory that a launch may touch.

    Args:
        start, size: in bytes.
        title: how a fault calls it.
        flags: of the native runtime: writable, shared.
    """

    start: int
    size: int
    title: str
    flags: int


@dataclass(frozen=True)
class LaunchFacts:
    """What a sentence needs to know of a launch."""

    kernel: str
    grid: Size
    block: Size
    regions: Sequence[MemoryRegion]
    sites: Sequence[Access]
    granule_bits: int


def coordinates(number: int, size: Size) -> Size:
    """Number ``number`` of a grid or a block as x, y, z."""
    return number % size[0], number // size[0] % size[1], number // size[0] // size[1]


def fault_of(runtime: native.NativeRuntime, facts: LaunchFacts) -> KernelFault:
    """The error for the fault that ended a launch."""
    what, address, site, record, which, block, thread, _ = (int(v) for v in runtime.fault)
    at = f"block {coordinates(block, facts.grid)}"
    if what == native.STUCK:
        return KernelFault(f"kernel {facts.kernel}, {at}: {_stuck(runtime, facts)}")
    access = facts.sites[site]
    head = f"kernel {facts.kernel}, {at}, thread {coordinates(thread, facts.block)}"
    if what == native.NO_LANE:
        text = f"takes its value from lane {address % 32}, which the mask does not name; expected a lane of the mask."
        return KernelFault(f"{head} {text}", operands=(access.text,))
    if what in (native.RACE, native.BLOCK_RACE, native.UNWRITTEN, native.NO_ROOM):
        address <<= facts.granule_bits
    where, does = place_of(address, facts.regions), f"{_DID[access.kind]} {access.size} bytes"
    if what == native.RACE:
        text = (
            f"{does} at {where}, which {_other(record, which, thread, facts)} {_since(facts)}: a race; {_WANT_BARRIER}"
        )
    elif what == native.BLOCK_RACE:
        text = f"{does} at {where}, which {_other_block(record, which, block, facts)}: a race; {_WANT_BLOCK}"
    elif what == native.UNWRITTEN:
        text = f"{does} at {where}, which no thread of the block has written; expected a store first."
    elif what == native.CROOKED:
        text = f"{does} at {where}: the address {address:#x} is not aligned; expected a multiple of {access.align}."
    elif what == native.READ_ONLY:
        text = f"{does} at {where}, which the launch may only read; expected an output or scratch memory."
    elif what == native.OUTSIDE:
        text = f"{does} at {where}: out of bounds; expected an address inside a buffer of the launch."
    else:
        text = "touches more memory than the simulator can watch; expected a smaller launch, or checks=False."
    return KernelFault(f"{head} {text}", operands=(access.text,))


_WANT_BARRIER = "expected a barrier between the two."
_WANT_BLOCK = "expected that what one block writes, no other block touches in the same launch."


def _since(facts: LaunchFacts) -> str:
    waits = any(s.kernel == facts.kernel and s.kind < 0 for s in facts.sites)
    return "since the last barrier" if waits else "in the same launch"


def _other(record: int, which: int, thread: int, facts: LaunchFacts) -> str:
    first, second = (record >> 10) & 1023, record & 1023
    other = first if first != thread else second
    return f"thread {coordinates(other, facts.block)} {_DONE[which]}"


def _other_block(record: int, which: int, block: int, facts: LaunchFacts) -> str:
    other = (record >> 40) - 1
    name = f"block {coordinates(other, facts.grid)}" if other != block else "another block"
    return f"{name} {_DONE[which]}"


def place_of(address: int, regions: Sequence[MemoryRegion]) -> str:
    """An address as people say it: which byte of what, or how far from what."""
    for region in regions:
        if region.start <= address < region.start + region.size:
            return f"byte {address - region.start} of {region.title}"
    if not regions:
        return f"{address:#x}"

    def gap(region: MemoryRegion) -> int:
        return region.start - address if address < region.start else address - region.start - region.size

    near = min(regions, key=gap)
    side = "before" if address < near.start else "behind the end of"
    return f"{address:#x}, {gap(near)} bytes {side} {near.title}"


def _stuck(runtime: native.NativeRuntime, facts: LaunchFacts) -> str:
    """Why nobody can go on."""
    count = int(np.prod(facts.block))
    state = runtime.threads("state")[:count]
    site = runtime.threads("site")[:count]
    waiting = np.flatnonzero(state == native.AT_BARRIER)
    asking = np.flatnonzero((state == native.AT_SHUFFLE) | (state == native.AT_WARP_BARRIER))
    if len(asking):
        return _unanswered(runtime, facts, int(asking[0]))
    gone = int(np.flatnonzero(state == native.ENDED)[0])
    text = facts.sites[int(site[waiting[0]])].text
    return (
        f"barrier reached by {len(waiting)} of {count} threads: thread {coordinates(gone, facts.block)} has ended "
        f"while others wait at `{text}`; expected all threads of the block there."
    )


def _unanswered(runtime: native.NativeRuntime, facts: LaunchFacts, thread: int) -> str:
    count = int(np.prod(facts.block))
    state, mask, site = (runtime.threads(name) for name in ("state", "mask", "site"))
    named = int(mask[thread]) & 0xFFFFFFFF
    text = facts.sites[int(site[thread])].text
    head = f"thread {coordinates(thread, facts.block)} waits at `{text}`, whose mask {named:#010x} names lane"
    for lane in (i for i in range(32) if named >> i & 1):
        other = (thread & ~31) + lane
        if other >= count:
            return (
                f"{head} {lane}, which does not exist: the block has {count} threads; expected a mask of lanes that do."
            )
        where = f"thread {coordinates(other, facts.block)}"
        if state[other] == native.ENDED:
            return f"{head} {lane}, and {where} has ended; expected all lanes of the mask there."
        if state[other] == native.AT_BARRIER:
            return f"{head} {lane}, and {where} waits at a barrier; expected all lanes of the mask there."
        if mask[other] != mask[thread] or state[other] != state[thread] or site[other] != site[thread]:
            return f"{head} {lane}, and {where} waits at another shuffle or mask; expected all lanes of the mask there."
    return f"{head}s that do not come."
