# %% [markdown]
# # Real ranks
#
# A parallel plan says which **rank** (one of several processes that work together, numbered from 0) holds what and who talks to whom.
# Here it leaves the simulator: four processes run it. They talk through MPI, the *message passing interface* of most large
# computers; we count what they send, train on them, and kill one on the way.
#
# ```
# network -> plan -> one JSON document -> four processes, each walks its own steps
#                                         where a step needs others: a collective, before a deadline
# ```
#
# This page needs `pip install msnb[ranks]` (an MPI, mpi4py, ipyparallel); nothing has to be set up on the system.

# %%
# A small network, a whole training step with its optimizer, and data
import json
import os
import signal
import tempfile

import numpy as np

import msnb as ms
from msnb import nn

# %load_ext msnb

# %% [markdown]
# ## 1 The plan
# Two layers. Each product is cut in two along the rows of the batch and in two along its output features; so the four ranks form a
# grid of two by two. Weights, and what Adam remembers about them, lie where their layer wants them.

# %%
# The plan of a whole step: forward, gradient, Adam
def make_step():
    ms.set_seed(0)
    net = nn.SequentialCell(nn.Dense(16, 32, activation="tanh", dtype=ms.float64), nn.Dense(32, 8, dtype=ms.float64))
    loss = nn.WithLossCell(net, nn.CrossEntropyLoss())
    return nn.TrainOneStepCell(loss, nn.Adam(net.trainable_params(), 0.03))


def data(i):
    x = np.random.default_rng(i).standard_normal((32, 16))
    return ms.Tensor(x), ms.Tensor(x[:, :8].argmax(1))


plan = ms.parallel.plan(make_step(), *data(0), device_num=4, strategies={"matmul": ((2, 1), (1, 2))})
for c in plan.collectives[:8]:
    print(f"{c.phase:9} {c.kind:14} ranks {c.group}  {c.nbytes:6} bytes in, {c.sent:6} sent   {c.where}")
print("...", len(plan.collectives), "collectives in a step")

# %% [markdown]
# ## 2 Four processes
# `%ms_cluster start` starts an MPI job of four. They are engines of ipyparallel, so `%%px` runs a cell on all of them; and they are
# an `ms.parallel.Engine`, so plans run on them.

# %%
# Start
# %ms_cluster start -n 4 -o ranks

# %%
# %%px --no-stream
from mpi4py import MPI
world = MPI.COMM_WORLD
print(f"rank {world.rank} of {world.size}; the ranks add up to {world.allreduce(world.rank)}")

# %% [markdown]
# What goes to them is one document. It holds the program as text, the layouts, the steps, and who talks to whom. The simulator, the
# ranks in this process and the processes read the same one.

# %%
# The document
from msnb.parallel.program.program_document import to_text

document = json.loads(to_text(plan.program))
print(list(document))
print("groups along mesh axis 0:", document["groups"]["0"])
print("groups along mesh axis 1:", document["groups"]["1"])
print(*document["graph"]["text"].split("\n")[1:4], sep="\n")

# %% [markdown]
# ## 3 The same numbers, the same bytes
# One step on simulated ranks and one on the real ones. What each rank adds up comes in the order of the ranks, not in the order of
# arrival; so the results agree. And what the ranks count on the wire is what the plan promised.

# %%
# Simulated and real
simulated = float(plan.run(*data(0)))
real = float(plan.run(*data(0), engine=ranks))
promised = sum(c.sent for c in plan.collectives)
print(f"loss {simulated:.12f} simulated, {real:.12f} on four processes")
print(f"bytes that a rank sends: {promised} promised, {sum(plan.sent.values()):.0f} counted")

# %% [markdown]
# ## 4 Training, and a killed rank
# A `Trainer` leaves weights and Adam's state on the ranks; only data travel. Every two steps each rank writes its parts to a snapshot.
#
# Before the sixth step we kill rank 2 the hard way. MPI then ends the whole job: that is its law. The client notices, starts the ranks
# again, has them read the last snapshot, and takes the lost step once more.

# %%
# Eight steps, and a rank killed on the way
victims = [2]


def batches(i):
    if i == 5 and victims:
        os.kill(ranks.pids[victims.pop()], signal.SIGKILL)
    return data(i)


with ms.parallel.Trainer(plan, engine=ranks, every=2) as trainer:
    losses = [float(loss) for loss in trainer.run(batches, steps=8)]
print("losses", " ".join(f"{x:.6f}" for x in losses))

# %% [markdown]
# The same eight steps on a single device, where nobody was killed:

# %%
# The single device
step = make_step()
alone = [float(step(*data(i))) for i in range(8)]
print("losses", " ".join(f"{x:.6f}" for x in alone))
print("largest relative difference below 1e-6:", max(abs(a / b - 1) for a, b in zip(losses, alone)) < 1e-6)

# %% [markdown]
# ## 5 Another mesh
# A snapshot knows how its parts lie. Ranks that lie otherwise read the pieces they need. Here the second half of a training runs on
# four ranks that split the sum inside of each product instead.

# %%
# The plan changes, the snapshot stays
with tempfile.TemporaryDirectory() as folder:
    with ms.parallel.Trainer(plan, engine=ranks) as first:
        half = [float(x) for x in first.run(data, steps=4)]
        saved = first.save(folder + "/half")
    other = ms.parallel.plan(make_step(), *data(0), device_num=4, strategies={"matmul": ((1, 4), (4, 1))})
    with ms.parallel.Trainer(other, engine=ranks) as second:
        second.load(saved)
        half += [float(x) for x in second.run(lambda i: data(4 + i), steps=4)]
before, after = ({v.name: layout.splits(p.mesh) for v, layout in p.program.params.items()} for p in (plan, other))
for name in ("0.weight", "moment1.0.weight"):
    print(f"{name:17} was split {before[name]}, is split {after[name]}")
print("largest relative difference below 1e-6:", max(abs(a / b - 1) for a, b in zip(half, alone)) < 1e-6)

# %% [markdown]
# ## 6 The end
# Nothing stays behind.

# %%
# Stop
# %ms_cluster stop

# %% [markdown]
# ## Try it
# 1. Split the batch four ways (`ms.parallel.plan(make_step(), *data(0), device_num=4, parallel_mode="data_parallel")`) and compare
#    the bytes that are sent.
# 2. Kill a rank without a `Trainer` (start the ranks again first) and read the error. What makes them ready again?
# 3. Run a plan from a shell: `plan.run(*data(0), engine="mpi")` starts a job of MPI.
#
# <details><summary>Solutions</summary>
#
# 1. 9,720 bytes instead of 10,880: only gradients are summed, nothing is sent on the way forward. For a network as small as this one
#    that is the cheaper way.
# 2. `os.kill(ranks.pids[2], signal.SIGKILL)` and then `plan.run(*data(0), engine=ranks)`: the error names the rank and says that MPI
#    ended the others with it; `ranks.recover()` starts all four anew.
# 3. The loss is the same; starting the job takes longer than the step.
#
# </details>
