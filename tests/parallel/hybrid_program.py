"""What every real rank of a test does when its program places its own collectives."""

from __future__ import annotations

import numpy as np
from msnb.communication import create_group, get_group_size, get_rank

import msnb as ms
from msnb import nn, ops


def every_collective(x):
    """One program that uses all of them."""
    n = get_group_size()
    total = ops.AllReduce()(x)
    largest = ops.AllReduce(ops.ReduceOp.MAX)(x)
    swapped = ops.AlltoAll(n, 0, 1)(x)
    right, left = (get_rank() + 1) % n, (get_rank() - 1) % n
    (came,) = ops.NeighborExchange([right], [left], [tuple(x.shape)], [tuple(x.shape)], ms.float64)((x,))
    return total, largest, ops.AllGather()(x), ops.ReduceScatter()(x), ops.Broadcast(1)(x), swapped, came


def part(rank):
    return np.arange(32.0).reshape(8, 4) * (rank + 1) - 7.0


def eagerly(comm, graph):
    """The same program as eager and compiled code on a rank, and a gradient through it."""
    x, run = ms.Tensor(part(comm.rank)), ms.jit(every_collective) if graph else every_collective
    values = [y.asnumpy() for y in run(x)]
    create_group("even", range(0, comm.size, 2))
    if comm.rank % 2 == 0:
        values.append(ops.AllReduce("sum", "even")(x).asnumpy())

    def loss(x):
        return (ops.AllReduce()(x) * x).sum()

    slope = ms.grad(loss)
    return values, (ms.jit(slope) if graph else slope)(x).asnumpy()


def training(comm, steps):
    """``Model.train`` of replicas that begin with weights of their own and are given those of rank 0."""
    ms.set_auto_parallel_context(parallel_mode="data_parallel", device_num=comm.size, mirror_mean=True,
                                 parameter_broadcast=True)  # fmt: skip
    try:
        ms.set_seed(comm.rank)
        net = nn.Dense(4, 1, dtype=ms.float64)
        first = net.weight.asnumpy()
        model = ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.05))
        rows = [(ms.Tensor(part(comm.rank) / 50), ms.Tensor(part(comm.rank)[:, :1])) for _ in range(steps)]
        model.train(1, rows)
        return first, net.weight.asnumpy()
    finally:
        ms.reset_auto_parallel_context()


def in_place(comm):
    """PyTorch's way: results are written into tensors, objects travel, transfers wait for one another."""
    from msnb.mint import distributed as dist

    rank, size = dist.get_rank(), dist.get_world_size()
    total, rows, came = ms.Tensor([1.0 + rank]), ms.ops.zeros(size), ms.ops.zeros((1 << 18,))
    dist.all_reduce(total)
    dist.all_gather_into_tensor(rows, ms.Tensor([float(rank)]))
    works = [dist.isend(ms.Tensor(np.full(1 << 18, rank, np.float32)), (rank + 1) % size),
             dist.irecv(came, (rank - 1) % size)]  # fmt: skip
    for work in works:
        work.wait()
    names = [None] * size
    dist.all_gather_object(names, f"rank {rank}")
    return total.item(), rows.tolist(), came.asnumpy()[[0, -1]].tolist(), names
