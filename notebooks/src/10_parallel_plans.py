# %% [markdown]
# # Parallel plans
#
# One network, several devices: which axis of which operator goes over which device, and who sends what to whom? Frameworks answer
# on a cluster. Here the answer comes on a laptop: a **plan** can be looked at, explained, timed on a simulated Ascend cluster,
# changed, and run, with all devices in this process. Its numbers are true; its seconds are simulated and say so.
#
# Three ways to a plan: every device takes a part of the batch (**data parallel**), people say how some operators are split
# (**semi-automatic**), a search says it (**automatic**). The example is a small language model: it reads words (as numbers) and
# guesses the next one.
#
# Three words that come again and again: a **collective** is an operation of several devices together (an *all-reduce* adds up what
# all have, and gives the sum to all); a **strategy** says into how many parts each axis of each operand is cut; a **layout** says
# which device holds which part of a tensor.

# %%
# What this page needs
import json
import random
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

import msnb as ms
from msnb import nn, ops

# %load_ext msnb

# %%
# A transformer, as one writes it for one device
class Block(nn.Cell):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.wq, self.wk, self.wv, self.wo = (self.weight(width, width) for _ in range(4))
        self.w_up, self.w_down = self.weight(width, 4 * width), self.weight(4 * width, width)
        self.q, self.k, self.v, self.o, self.up, self.down = (ops.MatMul() for _ in range(6))

    def weight(self, rows, columns):
        return ms.Parameter(ops.randn(rows, columns) * rows**-0.5)

    def split(self, x):
        batch, length, width = x.shape
        return x.reshape(batch, length, self.heads, width // self.heads).transpose(0, 2, 1, 3)

    def construct(self, x):
        h = self.norm1(x)
        q, k, v = self.split(self.q(h, self.wq)), self.split(self.k(h, self.wk)), self.split(self.v(h, self.wv))
        a = ops.softmax(ops.matmul(q, k.swapaxes(-1, -2)) * q.shape[-1] ** -0.5, -1)
        x = x + self.o(ops.matmul(a, v).transpose(0, 2, 1, 3).reshape(x.shape), self.wo)
        return x + self.down(ops.relu(self.up(self.norm2(x), self.w_up)), self.w_down)


class Language(nn.Cell):
    def __init__(self, words, width, heads, blocks):
        super().__init__()
        self.table = nn.Embedding(words, width)
        self.blocks = nn.SequentialCell(*[Block(width, heads) for _ in range(blocks)])
        self.head = nn.Dense(width, words, has_bias=False)

    def construct(self, ids, following):
        return ops.cross_entropy(self.head(self.blocks(self.table(ids))).reshape(-1, self.head.out_channels),
                                 following.reshape(-1))


def small():
    ms.set_seed(1)
    return Language(words=64, width=32, heads=4, blocks=2)


text = np.random.default_rng(0).integers(0, 64, (8, 17))
ids, following = ms.Tensor(text[:, :-1]), ms.Tensor(text[:, 1:])

# %% [markdown]
# ## 1 Data parallel: one line
# A training step, compiled with `jit`. Nothing in it knows about devices.

# %%
# Four steps on one device
def training(net):
    gradient = ms.value_and_grad(net, None, net.trainable_params())
    optimizer = nn.Adam(net.trainable_params(), 0.01)

    @ms.jit
    def step(ids, following):
        loss, grads = gradient(ids, following)
        optimizer(grads)
        return loss

    return step


step = training(small())
one_device = [step(ids, following).item() for _ in range(4)]
print([f"{loss:.4f}" for loss in one_device])

# %%
# The same four steps on eight devices
ms.set_auto_parallel_context(parallel_mode="data_parallel", device_num=8)

step = training(small())
eight_devices = [step(ids, following).item() for _ in range(4)]
print([f"{loss:.4f}" for loss in eight_devices])
print("equal:", np.allclose(one_device, eight_devices, rtol=1e-5))

# %% [markdown]
# The step was captured once, planned once, and ran on eight **ranks**: eight sets of arrays in this process, in lockstep, with
# collectives between them. Each rank held one sentence of the eight. Gradient and optimizer are in the plan too.
#
# What a rank sends is not estimated, it is counted. The plan promised the bytes before:

# %%
# What goes over the wires in a step
def wires(plan):
    sent = Counter()
    for c in plan.collectives:
        sent[f"{c.kind}, {c.phase}"] += c.sent
    for what, n in sorted(sent.items()):
        print(f"{what:26}{n:>14,} bytes per device")


wires(step.plan)
print("counted while it ran:    ", f"{sum(step.plan.sent.values()):,}")

# %% [markdown]
# Almost everything is the sum of the gradients: each device has the gradient of its own sentence for **every** weight. So this
# traffic is as large as the network, however small the batch is.
#
# The plan as a picture. The eight devices are a grid of 2 x 2 x 2, its axes are called `a`, `b` and `c`. `[abc, -]` is a tensor whose
# first axis is cut over all three (eight parts) and whose second is whole on every device; `whole` is a tensor that every device
# has. Colours are layouts, a heavy border says that something is sent. Below the program: when a device computes and sends, what
# its memory holds, who holds which part of one tensor, and ways to sum the gradients in buckets (sent as soon as they are full).

# %%
# One look at the plan
ms.show.plan(step.plan)

# %% [markdown]
# ## 2 Semi-automatic: say what you know
# Megatron's idea: split the first product of a pair by its columns and the second by its rows. Between them nobody needs anything
# from anybody, and after the second the devices add up what they have. In attention the columns of Q, K and V are the heads.
#
# ```
#         x  (whole)      W_up [ | | | ]           W_down [---]          sum over devices
#                         each device a quarter           [---]
# ```
#
# A strategy is one split count per axis, per input. Six operators are told; what stands between them follows.

# %%
# Six strategies per block
def megatron(net, devices):
    columns, rows = ((1, 1, 1), (1, devices)), ((1, 1, devices), (devices, 1))
    for block in net.blocks:
        for product in (block.q, block.k, block.v, block.up):
            product.shard(columns)
        for product in (block.o, block.down):
            product.shard(rows)
    return net


ms.reset_auto_parallel_context()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", device_num=4)
step = training(megatron(small(), 4))
four_devices = [step(ids, following).item() for _ in range(4)]
print("equal:", np.allclose(one_device, four_devices, rtol=1e-5))

# %%
# What followed from it: the heads went over the devices, through reshape and transpose
for name, strategy in step.plan.strategies.items():
    if "blocks/0" in name and "norm" not in name:
        print(f"{name.split('/', 3)[-1]:14}{strategy}")

# %%
# Two sums per block on the way forward
for c in step.plan.collectives:
    if c.phase == "forward" and "blocks" in c.where:
        print(f"{c.kind:12} over {len(c.group)} devices, {c.nbytes:,} bytes, behind {c.where}")

# %% [markdown]
# With a `Layout` one names the device axes instead of counting: here the eight devices are a grid of two by four; the batch is cut
# over its axis `dp`, the columns over its axis `mp`. Operators that name the same axis agree about which devices are meant.

# %%
# Names instead of counts
layout = ms.Layout((2, 4), ("dp", "mp"))
first = ops.MatMul().shard((layout("dp", "None"), layout("None", "mp")))
second = ops.MatMul().shard((layout("dp", "mp"), layout("mp", "None")))

plan = ms.parallel.plan(lambda x, w, v: second(first(x, w), v), ops.ones((64, 32)), ops.ones((32, 128)), ops.ones((128, 32)),
                        device_num=8)
print(plan.strategies)
print([(c.kind, len(c.group)) for c in plan.collectives])

# %% [markdown]
# Not everything can be split. A strategy that does not fit is told with the operator, the axis, the sizes, and what is legal.

# %%
# Three mistakes
w = ops.ones((32, 96))
for strategy in (((5, 1), (1, 1)), ((2, 2), (4, 1)), ((8, 1), (1, 8))):
    try:
        ms.parallel.plan(ops.MatMul().shard(strategy), ops.ones((64, 32)), w, device_num=8)
    except ValueError as error:
        print(error, "\n")

# %% [markdown]
# ## 3 Automatic: let it be searched
# The search knows for every operator all ways to split it, and what each costs: the work of one device, the collectives, the
# reshards between neighbours, forward and backward, on the links of an Ascend 910 server. It finds the cheapest whole.
#
# Now a model of a serious width, planned and not run. What is best depends on the **batch**: the gradients that data parallel has
# to add up stay as many, while the activations that split products (*tensor parallel*) have to add up grow with it.

# %%
# One search per batch size, eight devices
ms.reset_auto_parallel_context()
wide = Language(words=8192, width=1024, heads=16, blocks=1)


def planned(batch, mode):
    ids = ms.Tensor(np.zeros((batch, 256), np.int32))
    return ms.parallel.plan(wide, ids, ids, device_num=8, parallel_mode=mode)


plans = {batch: (planned(batch, "data_parallel"), planned(batch, "auto_parallel")) for batch in (8, 64)}
for batch, (data, auto) in plans.items():
    print(f"batch {batch:3}: data parallel {data.step_time * 1e3:6.2f} ms, {data.memory['total'] / 1e6:5.0f} MB per device;"
          f"   found {auto.step_time * 1e3:6.2f} ms, {auto.memory['total'] / 1e6:5.0f} MB   (simulated)")

# %%
# What was found, for the products with weights
products = {"matmul": "Q", "matmul_6": "O", "matmul_7": "up", "matmul_8": "down"}
for batch, (_, auto) in plans.items():
    said = {products[name.split("/")[-1]]: s for name, s in auto.strategies.items()
            if "blocks" in name and name.split("/")[-1] in products}
    said["head"] = next(s for name, s in auto.strategies.items() if name.endswith("head/matmul"))
    print(f"batch {batch}:")
    for name, strategy in said.items():
        print(f"    {name:5}{strategy}")

# %% [markdown]
# A split of the first axis, `((8, 1, 1), (1, 1))`, is data parallel; columns in `up` and then rows in `down` are Megatron's pair. With
# few sentences the search takes Megatron's pair where the weights are widest, with many sentences data parallel. Nobody told it
# either of them.
#
# ## 4 Why?
# A plan answers for every operator: these were the candidates, this is what each would cost, alone (`own`) and to bring its operands
# and results to where the neighbours have them (`reshard`). The arrow is the one that was taken.

# %%
# The candidates of one product
few = plans[8][1]
up = next(name for name in few.strategies if name.endswith("matmul_7"))
print(few.explain(up, most=6))

# %%
# When: compute and network of one device (simulated)
ms.show.plan(few, view="timeline")

# %% [markdown]
# ## 5 A plan is a file
# MindSpore's schema, so it can be read, changed by hand and loaded again. What is changed is checked like everything that people
# write.

# %%
# Save, change one line, load
path = Path(tempfile.mkdtemp()) / "strategy.json"
few.save(path)
saved = json.loads(path.read_text())
print(up, saved["parallel_strategy_item"][up])

saved["parallel_strategy_item"][up]["parallel_strategy"] = [[8, 1, 1], [1, 1]]
path.write_text(json.dumps(saved))
changed = few.load(path)
print("step", f"{few.step_time * 1e3:.3f} ms -> {changed.step_time * 1e3:.3f} ms (simulated)")

# %% [markdown]
# The context can do both by itself: `strategy_ckpt_save_file` writes the plan of a step, `strategy_ckpt_load_file` takes it from
# there instead of searching again.
#
# ## 6 Trust
# A plan is right when it computes what one device computes. So the last cell takes strategies at random, sensible or not, and
# compares loss and every gradient.

# %%
# Ten plans that nobody would choose
net = small()
loss, gradients = ms.value_and_grad(net, None, net.trainable_params())(ids, following)
plan = ms.parallel.plan(net, ids, following, device_num=8)
rng = random.Random(0)
worst = 0.0
for _ in range(10):
    odd = plan.with_choices([rng.randrange(len(choices)) for choices in plan.problem.strategies])
    value, found = odd.run()
    for parameter, g in zip(net.trainable_params(), gradients):
        worst = max(worst, np.linalg.norm(found[parameter.name] - g.asnumpy()) / np.linalg.norm(g.asnumpy()))
print("largest difference of a gradient, relative to its norm, below 1e-5:", worst < 1e-5)

# %% [markdown]
# What is next: the same plan on real processes, one per rank, started from the notebook; and inside one of the devices, where a
# product becomes tiles.
#
# ## Try it
# 1. Which part of a data-parallel step does not shrink when the batch does? Plan `wide` with batches of 8, 16 and 32 and look.
# 2. Megatron over eight devices: `training(megatron(small(), 8))` in a context of `device_num=8`. Look at `wires`: what is sent that
#    four devices did not send, and why?
# 3. `ms.show.plan(few, view="mesh")` and `view="memory"`: who holds what, and what takes most of the memory?
#
# <details><summary>Solutions</summary>
#
# 1. The sum of the gradients: it has the size of the network. `planned(batch, "data_parallel").collectives` sends the same bytes
#    for every batch, only the work shrinks.
# 2. Far more all-gathers on the way forward. There are four heads, so columns that are cut eight ways fit no longer to whole heads:
#    pairs of devices put their halves together before the heads are taken apart.
# 3. Weights, gradients and what Adam remembers: of a wide model they outweigh the activations of a small batch.
#
# </details>
