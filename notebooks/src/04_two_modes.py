# %% [markdown]
# # Two modes
#
# PyNative mode runs your Python, operator by operator. Graph mode reads your Python once, makes a graph of it, and from then on
# runs the graph. This page shows what graph mode does with control flow, what it assumes, and how it tells you when an
# assumption no longer holds. It is never silently stale.

# %%
# Load msnb and its magics
import msnb as ms
from msnb import ops

# %load_ext msnb

# %% [markdown]
# ## Python decides, or the tensor decides
# An `if` on a Python value is decided while the graph is made and leaves no trace in it. An `if` on a tensor becomes a node
# with two closed bodies. In a picture, `y=~2` is a constant operand; the `~` says that it is a Python number, which takes the
# dtype of the tensor that it meets.

# %%
# A function with both kinds of decision
def activate(x, leaky):
    if leaky:
        floor = 0.1
    else:
        floor = 0.0
    if x.sum() > 0:
        y = x * 2
    else:
        y = x * floor
    return y


x = ms.Tensor([1.0, -3.0])
# %ms_ir activate(x, True)

# %% [markdown]
# The same holds for loops: a `for` over a Python range is unrolled, a `while` on a tensor stays a loop, with `break`, `continue`
# and early `return` as data flow. On the left the steps counted by the compiled function, on the right by plain Python:

# %%
# Collatz, with an early way out
def collatz(n, limit):
    steps = 0
    while n > 1:
        if steps >= limit:
            return -1
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps = steps + 1
    return steps


compiled = ms.jit(collatz)
limit = ms.Tensor(1000)
starts = [ms.Tensor(n) for n in (6, 7, 27, 97)]
print([int(compiled(n, limit)) for n in starts], [int(collatz(n, limit)) for n in starts])

# %% [markdown]
# ## What a compiled function assumes
# Everything outside that the capture read is a **guard**: arguments' shapes and dtypes, globals, attributes, the code of the
# functions it called. `ms.explain` lists them, each with the line that read it. They are checked at every call (in
# microseconds); if one fails, another version is compiled.

# %%
# A function that leans on a global and on a helper
scale, rounds = 2.0, 2


def helper(x):
    return x * scale


@ms.jit
def model(x):
    for _ in range(rounds):
        x = helper(x)
    return x


print(model(x))
print("\n".join(line for line in ms.explain(model).splitlines() if "guard" in line))

# %% [markdown]
# A number that meets a tensor is an *input*: a new value compiles nothing. A number that decides the shape of the program is
# a guard: a new value compiles again, and says so.

# %%
# A new factor: no new version. A new number of rounds: a new version, with its reason
def versions():
    return [line for line in ms.explain(model).splitlines() if line.startswith("version")]


scale = 10.0
print(model(x), len(versions()))
rounds = 3
print(model(x), len(versions()))
print(versions()[-1])

# %%
# A helper defined again in a later cell is noticed too
def helper(x):
    return x + scale


print(model(x))
print(versions()[-1])

# %% [markdown]
# ## Side effects
# Writing to a Python list from a captured function is done again at every call. What cannot be repeated, such as reading the
# clock, is announced once.

# %%
# A list that grows at every call
seen = []


@ms.jit
def remember(x):
    seen.append(x.sum())
    return x * 2


for k in range(3):
    remember(ms.Tensor([1.0, float(k)]))
print([float(s) for s in seen])

# %% [markdown]
# ## The same mistake, the same sentence

# %%
# A wrong shape, in both modes
def wrong(x):
    w = ops.ones((3, 2))
    return ops.matmul(x, w)


for run in (wrong, ms.jit(wrong)):
    try:
        run(ops.ones((4, 4)))
    except ValueError as error:
        print(error, end="\n\n")

# %%
# Branches that do not fit: told with the variable and both types
@ms.jit
def misfit(x):
    if x.sum() > 0:
        y = x
    else:
        y = ops.concat([x, x])
    return y


try:
    misfit(x)
except Exception as error:
    print(type(error).__name__, error)

# %% [markdown]
# ## `%%ms_graph`
# The magic runs its cell, compiles the function that is named behind it for the arguments behind `--args`, and shows the graph.
# Other magics do the same for one look at a time: `%ms_ir`, `%ms_grad`, `%ms_passes`, ...; a `?` behind any of them gives help.

# %%
# %%ms_graph norm --args x
def norm(v):
    return ops.sqrt((v * v).sum())

# %% [markdown]
# ## Try it
# 1. Call `activate(x, True)` and `activate(x, False)` compiled (`ms.jit(activate)`): how many versions, and why?
# 2. Set `scale` to a string. What happens, and where does the report point?
# 3. Give `misfit` branches that fit, without changing what it means for positive sums.
#
# <details><summary>Solutions</summary>
#
# 1. Two: `leaky` is a Python value that decides something, so its value is a guard. `ms.explain` says `leaky True -> False`.
# 2. The guard `scale is of type float` fails, the function is captured again, and `x + scale` is refused with the operands and
#    the line of `helper` in its cell.
# 3. For example `y = ops.concat([x, x])` in both branches and `return y[:2]` behind them, or a branch `y = x * 0`.
#
# </details>
