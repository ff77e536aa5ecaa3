"""``mint.distributed``: alone, on four simulated ranks (threads), and its mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from msnb.mint import distributed as dist

import msnb as ms
from msnb.parallel.engine.simulated.threaded_ranks import run_ranks

N = 4


def tensor(*values, dtype=ms.float32):
    return ms.Tensor(np.array(values), dtype)


def empty(*shape, dtype=ms.float32):
    return ms.Tensor(np.full(shape, -1), dtype)


def ranks(program):
    return run_ranks(N, lambda rank: program(rank))[0]


def written(call, out):
    assert call is None
    return out.tolist()


@pytest.mark.parametrize(
    ("op", "expected"),
    [("sum", [6, 14]), ("prod", [0, 120]), ("max", [3, 5]), ("min", [0, 2]), ("avg", [1.5, 3.5])],
)
def test_all_reduce_and_reduce(op, expected):
    def program(rank):
        x, y = tensor(rank, rank + 2), tensor(rank, rank + 2)
        dist.all_reduce(x, op)
        dist.reduce(y, 2, op)
        return x.tolist(), y.tolist()

    for rank, (everywhere, at_two) in enumerate(ranks(program)):
        assert everywhere == expected
        assert at_two == (expected if rank == 2 else [rank, rank + 2])


def test_tensors_from_and_to_one_rank():
    def program(rank):
        x, got, part = tensor(10.0 + rank), [empty(1) for _ in range(N)], empty(1)
        dist.broadcast(x, 1)
        dist.gather(tensor(rank), got if rank == 3 else None, 3)
        dist.scatter(part, [tensor(5 * i) for i in range(N)] if rank == 0 else None, 0)
        rows, piece = empty(N), empty(2)
        dist.gather_into_tensor(rows, tensor(rank), 2)
        dist.scatter_tensor(piece, ms.Tensor(np.arange(8, dtype=np.float32)) if rank == 1 else None, 1)
        return x.item(), [g.item() for g in got], part.item(), rows.tolist(), piece.tolist()

    for rank, (x, got, part, rows, piece) in enumerate(ranks(program)):
        assert (x, part, piece) == (11, 5 * rank, [2 * rank, 2 * rank + 1])
        assert got == ([0, 1, 2, 3] if rank == 3 else [-1] * N)
        assert rows == ([0, 1, 2, 3] if rank == 2 else [-1] * N)


def test_tensors_of_all_to_all():
    def program(rank):
        row = tensor(rank, rank + 0.5)
        gathered, uneven = empty(2 * N), empty(6)
        dist.all_gather_into_tensor(gathered, row)
        dist.all_gather_into_tensor_uneven(uneven, ms.Tensor(np.full(rank, rank, np.float32)), [0, 1, 2, 3])
        each = [empty(1 + i) for i in range(N)]
        dist.all_gather(each, ms.Tensor(np.full(1 + rank, rank, np.float32)))
        swapped = [empty(1) for _ in range(N)]
        dist.all_to_all(swapped, [tensor(10 * rank + i) for i in range(N)])
        single = empty(N)
        dist.all_to_all_single(single, tensor(*(10 * rank + i for i in range(N))))
        parts, many = empty(1), empty(rank)
        dist.reduce_scatter(parts, [tensor(rank + i) for i in range(N)])
        dist.reduce_scatter_tensor_uneven(many, ms.Tensor(np.arange(6, dtype=np.float32)), [0, 1, 2, 3], "max")
        return [t.tolist() for t in (gathered, uneven, *each, *swapped, single, parts, many)]

    for rank, found in enumerate(ranks(program)):
        gathered, uneven, *rest = found
        assert gathered == [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5] and uneven == [1, 2, 2, 3, 3, 3]
        assert rest[:N] == [[0], [1] * 2, [2] * 3, [3] * 4]
        came = [10 * i + rank for i in range(N)]
        assert rest[N : 2 * N] == [[c] for c in came] and rest[2 * N] == came
        assert rest[2 * N + 1 :] == [[6 + 4 * rank], [[], [0], [1, 2], [3, 4, 5]][rank]]


def test_rows_of_unequal_parts_change_places():
    sizes = [[1, 0, 2, 1], [0, 1, 1, 2], [2, 2, 0, 0], [1, 1, 1, 1]]

    def program(rank):
        mine = sizes[rank]
        rows = ms.Tensor(np.array([100 * rank + i for i, n in enumerate(mine) for _ in range(n)], np.float32))
        coming = [sizes[r][rank] for r in range(N)]
        out = empty(sum(coming))
        return written(dist.all_to_all_single(out, rows, coming, mine), out)

    for rank, found in enumerate(ranks(program)):
        assert found == [100 * r + rank for r in range(N) for _ in range(sizes[r][rank])]


def test_transfers_in_a_ring_do_not_block():
    def program(rank):
        after, before = (rank + 1) % N, (rank - 1) % N
        a, b, c = empty(1), empty(1), empty(2)
        works = [dist.isend(tensor(rank), after), dist.irecv(a, before)]
        assert not works[1].is_completed()
        assert all(work.wait() for work in works) and works[1].is_completed()
        two = [dist.P2POp(dist.isend, tensor(rank + 0.5), before), dist.P2POp("irecv", b, after),
               dist.P2POp("isend", tensor(rank, rank), before), dist.P2POp("irecv", c, after)]  # fmt: skip
        dist.batch_isend_irecv(two)
        if rank % 2:
            dist.send(tensor(7.0), rank - 1)
            return a.item(), b.item(), c.tolist(), None
        d = empty(1)
        assert dist.recv(d, rank + 1) == rank + 1
        return a.item(), b.item(), c.tolist(), d.item()

    for rank, found in enumerate(ranks(program)):
        after, before = (rank + 1) % N, (rank - 1) % N
        assert found == (before, after + 0.5, [after, after], None if rank % 2 else 7.0)


def test_objects():
    def program(rank):
        every, at_one = [None] * N, [None] * N if rank == 1 else None
        dist.all_gather_object(every, {"rank": rank})
        dist.gather_object(("x" * rank), at_one, 1)
        sent, part = [rank, "a"], [None]
        dist.broadcast_object_list(sent, 2)
        dist.scatter_object_list(part, [i * i for i in range(N)] if rank == 0 else None, 0)
        if rank == 0:
            dist.send_object_list(["hello", 3], 1)
        got = [None]
        if rank == 1:
            dist.recv_object_list(got, 0)
        dist.barrier()
        return every, at_one, sent, part, got

    for rank, (every, at_one, sent, part, got) in enumerate(ranks(program)):
        assert every == [{"rank": r} for r in range(N)] and sent == [2, "a"] and part == [rank * rank]
        assert at_one == (["", "x", "xx", "xxx"] if rank == 1 else None)
        assert got == (["hello", 3] if rank == 1 else [None])


def test_groups():
    def program(rank):
        name = f"group_{rank % 2}_{rank % 2 + 2}"
        for first in (0, 1):
            made = dist.new_group([first, first + 2])
            assert made == (name if first == rank % 2 else "")
        x = tensor(rank)
        dist.all_reduce(x, group=name)
        place = dist.get_rank(name), dist.get_world_size(name), dist.get_process_group_ranks(name)
        other = dist.get_rank(f"group_{1 - rank % 2}_{3 - rank % 2}")
        return x.item(), place, dist.get_group_rank(name, rank), dist.get_global_rank(name, 1), other

    try:
        for rank, (total, place, at, last, other) in enumerate(ranks(program)):
            first = rank % 2
            assert total == 2 * first + 2 and other == -1 and last == first + 2
            assert place == (rank // 2, 2, [first, first + 2]) and at == rank // 2
    finally:
        for first in (0, 1):
            dist.destroy_process_group(f"group_{first}_{first + 2}")


def test_alone():
    dist.init_process_group(world_size=1, rank=0)
    assert dist.is_initialized() and dist.is_available() and dist.get_backend() == "hccl"
    x = tensor(1.0, 2.0)
    work = dist.all_reduce(x, async_op=True)
    assert work.wait() and work.is_completed() and x.tolist() == [1, 2]
    dist.destroy_process_group()
    assert not dist.is_initialized()


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: dist.all_reduce(np.ones(2)), TypeError, "needs a Tensor"),
        (lambda: dist.all_reduce(tensor(1.0), "mean"), ValueError, "'avg'"),
        (lambda: dist.all_reduce(tensor(1, dtype=ms.int32), "avg"), TypeError, "average of int32"),
        (lambda: dist.all_reduce(tensor(1.0), group="nobody"), ValueError, "no group is called"),
        (lambda: dist.broadcast(tensor(1.0), 1), ValueError, "1 is none of the ranks"),
        (lambda: dist.all_gather([], tensor(1.0)), TypeError, "a list of 1 tensors"),
        (lambda: dist.all_gather([empty(2)], tensor(1.0)), ValueError, "shape"),
        (lambda: dist.all_gather_into_tensor(empty(3), tensor(1.0)), ValueError, "3"),
        (lambda: dist.all_to_all_single(empty(2), tensor(1.0, 2.0), [1]), ValueError, "sizes"),
        (lambda: dist.P2POp("send", tensor(1.0), 0), TypeError, "isend or irecv"),
        (lambda: dist.batch_isend_irecv([]), TypeError, "list of P2POp"),
        (lambda: dist.init_process_group(init_method="tcp://x"), ValueError, "init_method"),
        (lambda: dist.init_process_group(world_size=3), ValueError, "rank 0 of 1"),
        (lambda: dist.new_group(timeout=3), ValueError, "no meaning"),
        (lambda: dist.barrier(device_ids=[0]), ValueError, "device_ids"),
    ],
)
def test_mistakes(call, error, said):
    with pytest.raises(error, match=said):
        call()
