"""What every rank of a test does with its ``comm``: each collective, on odd sizes and dtypes, held against NumPy."""

from __future__ import annotations

import numpy as np


def host(a):
    return a.get() if hasattr(a, "get") else np.asarray(a)


def arrays(size, dtype):
    rng = np.random.default_rng(7)
    return [(rng.standard_normal((2 * size, 3)) * 4).astype(dtype) for _ in range(size)]


def check(comm, dtypes):
    """Every collective in the world, and in the groups of even and odd ranks."""
    up, rank = comm.xp.asarray, comm.rank
    for group in (list(range(comm.size)), list(range(rank % 2, comm.size, 2))):
        p, i = len(group), group.index(rank)
        for dtype in dtypes:
            all_ = arrays(comm.size, dtype)
            own = [all_[r] for r in group]
            total = own[0]
            for a in own[1:]:
                total = total + a
            same = np.testing.assert_array_equal
            same(host(comm.all_reduce(up(own[i]), group)), total)
            same(host(comm.all_reduce(up(own[i]), group, "max")), np.max(np.stack(own), axis=0))
            same(host(comm.all_gather(up(own[i]), group, 1)), np.concatenate(own, 1))
            same(host(comm.reduce_scatter(up(own[i][: 2 * p]), group)), np.split(total[: 2 * p], p)[i])
            pieces = [np.split(a[: 2 * p], p)[i] for a in own]
            same(host(comm.all_to_all(up(own[i][: 2 * p]), group, 0, 1)), np.concatenate(pieces, 1))
            same(host(comm.broadcast(up(own[i]), group[-1], group)), own[-1])
        same(host(comm.all_reduce(up(np.float64(rank)), group)), np.float64(sum(group)))
        assert host(comm.all_reduce(up(np.array([rank == group[0]])), group, "any"))[0]
    if comm.size > 1:
        follow(comm, up)
    comm.barrier()
    return {kind: s.bytes for (kind, members), s in comm.stats.items() if len(members) == comm.size}


def follow(comm, up):
    """A message round the ring."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    mine = up(np.full((3, 1), comm.rank, np.int32))
    if comm.rank % 2 == 0:
        comm.send(mine, right)
    got = comm.recv(mine, left)
    if comm.rank % 2:
        comm.send(mine, right)
    np.testing.assert_array_equal(host(got), np.full((3, 1), left))


def on_mpi(comm):
    import ml_dtypes

    return check(comm, [np.float32, np.float16, ml_dtypes.bfloat16, np.int64, np.complex64])


def unequal(comm, kind):
    """Rank 0 brings more than the others, or takes part in another collective."""
    if kind == "collective" and comm.rank == 0:
        return comm.all_reduce(np.zeros(4))
    return comm.all_gather(np.zeros(8 if kind == "size" and comm.rank == 0 else 4))
