# %% [markdown]
# # Debugging
#
# Four programs that are wrong: a shape that does not fit, a NaN, a value that is stale, a line that is slow. Each is found
# with a tool that points into the cell, and mended. The order is always the same: *read the report, look at the program, then
# change one thing.*

# %%
# Load msnb and its magics
import time

import numpy as np

import msnb as ms
from msnb import nn, ops

# %load_ext msnb

# %% [markdown]
# ## 1 A shape that does not fit
# A report has up to five parts: the sentence, the operands with their types, a hint, the line with a caret, and a page that
# explains this kind of error. The operands as a table, the page, and the frames inside msnb (rarely needed) are one click away.

# %%
# A network for images of 28 x 28
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, pad_mode="valid")
        self.pool, self.flatten = nn.MaxPool2d(2, 2), nn.Flatten()
        self.fc = nn.Dense(8 * 14 * 14, 10)

    def construct(self, x):
        x = self.pool(ops.relu(self.conv(x)))
        return self.fc(self.flatten(x))


images = ops.ones((4, 1, 28, 28))
net = Net()

# %% tags=["raises-exception"]
# The report: which operands meet, and on which line
net(images)

# %% [markdown]
# The last layer got 1352 columns where its weight has 1568. So the question is: where do 1352 values per image come from? The
# shape after each layer answers it. `summary` needs a network that runs, so ask the part before the mistake; it computes
# nothing, it only follows the types.

# %%
# What arrives at the last layer
class Front(Net):
    def construct(self, x):
        return self.flatten(self.pool(ops.relu(self.conv(x))))


Front().summary((4, 1, 28, 28))

# %% [markdown]
# A valid 3 x 3 convolution makes 26 of 28, half of it is 13: 8 x 13 x 13 = 1352. The 14 was a guess. Mend the number (or choose
# `pad_mode="same"`, then it is 14).

# %%
# Mended
net.fc = nn.Dense(8 * 13 * 13, 10)
net(images).shape

# %% [markdown]
# ## 2 A NaN
# A NaN (*not a number*) is what 0 / 0 gives. A loss becomes NaN after a while, and everything after it too. Where was it born?
# `%ms_step` runs the program node by node and marks the first operator that makes a NaN out of operands that have none. What
# only passes it on is not marked.

# %%
# A softmax written down as in the book
def loss(logits, label):
    e = ops.exp(logits)
    p = e / e.sum(1, keepdims=True)
    return -(label * ops.log(p)).sum(1).mean()


label = ms.Tensor(np.eye(3, dtype=np.float32)[[0, 2]])
calm, wild = ms.Tensor([[1.0, 2.0, 3.0], [1.0, 0.0, 2.0]]), ms.Tensor([[1.0, 2.0, 100.0], [1.0, 0.0, 2.0]])
print("calm", round(float(loss(calm, label)), 4), "  wild", float(loss(wild, label)))

# %%
# Every value on the way; the place where the NaN is born has a heavy border
# %ms_step loss(wild, label)

# %% [markdown]
# `exp(100)` does not fit into float32: it is infinite, and infinity over infinity is the NaN. The quotient is marked, but the
# *reason* stands one step above it, in the column of values. In a program one would walk to the spot:

# %%
# The stepper as an object: run to the next stop, look at the operands
steps = ms.show.step(loss, wild, label)
born = steps.run()
print(born.place, "|", born.op, "|", [np.asarray(t.asnumpy())[0].tolist() for t in born.inputs])

# %% [markdown]
# Softmax does not change when a constant is taken from all logits. Taking the largest one leaves no exponent above 0.

# %%
# Mended: the largest logit becomes 0; the logarithm of the quotient is a difference
def stable(logits, label):
    shifted = logits - logits.max(1, keepdims=True)
    log_p = shifted - ops.log(ops.exp(shifted).sum(1, keepdims=True))
    return -(label * log_p).sum(1).mean()


print("calm", round(float(stable(calm, label)), 4), "  wild", round(float(stable(wild, label)), 4))
print("born NaNs:", ms.show.step(stable, wild, label).run())

# %% [markdown]
# ## 3 A value that is stale
# Graph mode reads a function once. What it reads from outside is guarded, so a changed global is noticed. But a value that
# comes out of code it cannot read (a clock, a file, a random number of NumPy) is read **once**. It says so once, and
# `%ms_explain` lists it.

# %%
# A jitter that should differ from call to call
@ms.jit
def jittered(x):
    return x + np.random.normal()


np.random.seed(0)
a, b = jittered(ms.Tensor([0.0])), jittered(ms.Tensor([0.0]))
print("two calls give the same:", a.tolist() == b.tolist())

# %%
# What the compiled version relies on
# %ms_explain jittered

# %% [markdown]
# Two ways out. The number can be an *argument*: then it is an input of the graph, and a new value compiles nothing. Or it can be a
# draw of msnb's own generator: that is an operator like any other, runs at every call, and gives the same numbers in both modes.

# %%
# Mended, in both ways
@ms.jit
def with_argument(x, shift):
    return x + shift


@ms.jit
def with_draw(x):
    return x + ops.standard_normal((1,))


ms.set_seed(0)
zero = ms.Tensor([0.0])
print("argument:", [round(float(with_argument(zero, shift)[0]), 3) for shift in (0.1, -0.7, 0.3)])
print("draw:    ", len({float(with_draw(zero)[0]) for _ in range(3)}), "different values in 3 calls")
print("compiled:", len(with_argument.versions), "and", len(with_draw.versions), "version")

# %% [markdown]
# ## 4 A line that is slow
# Before measuring, count. `%ms_profile` adds up operators, flops (additions, multiplications and the like) and bytes per line of
# the cell; these follow from the program alone and are the same on every machine. Open `lines` below the picture. (A program of
# hundreds of operators is drawn in groups of neighbours; a click opens one.)

# %%
# Distances between all pairs of points
def distances(points):
    rows = []
    for i in range(points.shape[0]):
        d = points - points[i]
        rows.append(ops.sqrt((d * d).sum(1)))
    return ops.stack(rows)


points = ms.Tensor(np.random.default_rng(0).standard_normal((64, 8)).astype(np.float32))
# %ms_profile distances(points)

# %% [markdown]
# A loop over a Python range is unrolled: 64 rounds, so 64 times each operator, each on a few numbers. The work itself is small;
# what costs is the number of operators. The mended version lets one operator do all pairs: a new axis on each side, and
# broadcasting does the rest.

# %%
# Mended: one operator for all pairs
def all_pairs(points):
    d = points[:, None] - points[None]
    return ops.sqrt((d * d).sum(-1))


print("same result:", np.allclose(distances(points).asnumpy(), all_pairs(points).asnumpy(), atol=1e-6))
# %ms_profile all_pairs(points)

# %%
# Operators and memory, before and after
for fn in (distances, all_pairs):
    count = sum(c.nodes for c in ms.show.profile(fn, points).lines)
    print(f"{fn.__name__:10} {count:4} operators, peak {ms.show.mem(fn, points).found.peak_bytes:7} bytes")

# %% [markdown]
# Nothing is free: the difference of all pairs is a tensor of 64 x 64 x 8, and it needs memory. Now the clock may speak. (Times
# differ from run to run, so this output is not compared.)

# %% tags=["nbval-ignore-output"]
# Measured: the best of 20 calls
def best(fn):
    times = []
    for _ in range(20):
        start = time.perf_counter()
        fn(points)
        times.append(time.perf_counter() - start)
    return min(times)


print(f"{best(distances) / best(all_pairs):.0f} times faster")

# %% tags=["nbval-ignore-output"]
# And against what this machine could do at best: the sloped part is the memory's limit, the flat part the arithmetic's
# %ms_roofline --times all_pairs(points)

# %% [markdown]
# ## 5 Is it the compiler?
# Hardly ever, but one can ask. `%ms_diff` runs a program through both engines in lockstep and names the first operator whose
# values differ; `%ms_passes` repeats the check after every pass.

# %%
# Both engines, node by node
# %ms_diff stable(wild, label)

# %% [markdown]
# ## What to take home
# | symptom | ask | it answers |
# |---|---|---|
# | an error | the report, `%ms_error` | which operands, which line, which way out |
# | NaN | `%ms_step` | where it is born, and out of which values |
# | a value that does not change | `%ms_explain` | what was read once, what is guarded |
# | slow | `%ms_profile`, `%ms_roofline --times` | how many operators per line, how far from the machine's limit |
# | out of memory | `%ms_mem` | who holds the peak |
# | doubt | `%ms_diff`, `%ms_passes` | the first operator, the first pass that differs |
#
# ## Try it
# 1. In `loss`, which operator is marked for logits of -200? Why does `stable` survive?
# 2. `jittered` with `time.time()` instead of NumPy: what does `%ms_explain` say?
# 3. `all_pairs` needs a large difference tensor; with `|a - b|^2 = |a|^2 - 2 a.b + |b|^2` it does not. Write it, compare the
#    peaks, and look at the diagonal.
#
# <details><summary>Solutions</summary>
#
# 1. The division again, but it divides 0 by 0: every `exp(-200)` is too small for float32. In `stable` the largest exponent is 0,
#    so the sum of the exponentials is at least 1.
# 2. `at capture only: time.time()`, with the line: the clock was read once, while the function was captured.
# 3. The peak falls from 262,144 bytes to 33,280:
#
#    ```python
#    def by_products(points):
#        squares = (points * points).sum(1)
#        d2 = squares[:, None] - 2 * ops.matmul(points, points.T) + squares[None]
#        return ops.sqrt(ops.clip(d2, 0.0, None))
#    ```
#
#    It has a price: on the diagonal nearly equal numbers are subtracted, and what rounding leaves (about 1e-6) has a root of
#    0.001. Without the `clip` it may even be negative, and the root NaN.
#
# </details>
