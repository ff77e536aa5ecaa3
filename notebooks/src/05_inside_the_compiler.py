# %% [markdown]
# # Inside the compiler
#
# One function on its way from Python to machine code. Every stage can be looked at, and every stage is checked: the numbers must
# stay.
#
# ```
# source -> graph -> passes -> groups -> loops -> LLVM IR -> machine code
# ```

# %%
# Load msnb and its magics; O1 asks for machine code
import time

import numpy as np

import msnb as ms
from msnb import ops

ms.set_context(mode=ms.GRAPH_MODE, jit_level="O1")
# %load_ext msnb

# %% [markdown]
# ## 1 The source
# A layer and a penalty, written down without any care: a factor 1, the same product three times, a value that nobody uses.

# %%
# The function of this page
def layer(x, w, b, training=True):
    scaled = x * 1.0
    if training:
        unused = ops.exp(scaled)
    y = ops.relu(scaled * w + b)
    penalty = (scaled * w) * (scaled * w)
    return (y + penalty * 0.01).sum()


rng = np.random.default_rng(0)
x = ms.Tensor(rng.standard_normal((64, 256)).astype(np.float32))
w, b = (ms.Tensor(rng.standard_normal(256).astype(np.float32)) for _ in range(2))

# %% [markdown]
# ## 2 The graph
# The function is read once. Operators become nodes; what is plain Python (the `if` on a Python value) is decided now and leaves no
# trace. Each node knows its line: hover over a box, or read the right-hand column of the text.

# %%
# As captured: one node per operator, in the order of the source
# %ms_ir layer(x, w, b)

# %% [markdown]
# ## 3 Passes
# A **pass** makes a graph of a graph by a law. Move the slider: every position is a stage or a single rewrite, with its law, its
# reason, and the program before and after it. `stages` below the picture is a table: how often a pass rewrote something, how many
# nodes are left, and the largest difference of the results to those as captured, on these very inputs. Laws that know nothing of
# the hardware keep every bit: there the difference is 0.

# %%
# Stage by stage, those that changed something
# %ms_passes --only-changed layer(x, w, b)

# %%
# What is left
# %ms_ir --optimised layer(x, w, b)

# %% [markdown]
# The factor 1 is gone (the law *times one*), the three equal products are one (*common subexpressions*), the exponential that nobody
# read is no more (*dead code*). Side by side, with a heavy border around what only one of the two has:

# %%
# What changed from the captured graph to the simplified one
captured, simplified = ms.show.ir(layer, x, w, b), ms.show.ir(layer, x, w, b, optimised=True)
ms.show.compare(captured, simplified)

# %% [markdown]
# ## 4 A law that is none
# How does one notice a wrong pass? By the numbers. Here is one that somebody might believe in: `sqrt(x * x)` is `x`. For positive
# numbers it is true.

# %%
# A pass of our own: its law in one line, and what it does to a node
from msnb.graph.compile import Pass, pipeline, register_pass
from msnb.graph.compile.rewriting.rewriter import sweep_module


def rule():
    def rewrite(sweep, node):
        if node.op.name != "sqrt" or node.inputs[0].node is None:
            return None
        square = node.inputs[0].node
        if square.op.name == "multiply" and square.inputs[0] is square.inputs[1]:
            return sweep.accept(node, [square.inputs[0]], "the root of a square, they say")
        return None

    return rewrite


def run(graph, log):
    return sweep_module(graph, "roots", rule, log)


register_pass(Pass("roots", "The root of a square is its base.", "captured", "captured", (), run))
pipeline.EXTRA.append("roots")


def length(v):
    return ops.sqrt(v * v).sum()


positive, mixed = ms.show.passes(length, ops.abs(b)), ms.show.passes(length, b)
pipeline.EXTRA.remove("roots")
for name, view in (("positive numbers", positive), ("mixed signs", mixed)):
    gaps = {row[0]: float(row[3]) for row in view.rows if row[3]}
    print(f"{name}: wrong after 'roots': {gaps['roots'] > 1e-3}")

# %% [markdown]
# The check needs inputs that reach the mistake: with positive ones nothing shows. So the passes of msnb are tested with random
# programs on nasty inputs (zeros of both signs, NaN, infinities), not with one example.

# %% [markdown]
# ## 5 Groups
# Run as it stands, every operator reads arrays from memory and writes one back. What walks over the same indices can go in one loop
# instead: element 7 of `relu(x * w + b)` needs element 7 of `x` and of the rest, nothing else. The last pass puts such neighbours
# into a group, the sum at the end included.

# %%
# Memory traffic, counted by hand: every operand read once, every result written once
cost = ms.show.profile(layer, x, w, b)
one_by_one = sum(c.bytes for c in cost.ops)
together = 4 * (64 * 256 + 256 + 256 + 1)
print(f"one by one {one_by_one:,} bytes, as one group {together:,} bytes: {one_by_one / together:.1f} times less")

# %% tags=["nbval-ignore-output"]
# The program that runs: each box says how. (What is generated depends on the version of the code generator)
code = ms.show.kernels(layer, x, w, b)
code

# %% [markdown]
# ## 6 Loops
# A group becomes nested loops in a small language of its own, the same for every target. `a0`, `a1`, ... are the arrays it reads, `b0`
# the one it writes, `i0` and `i1` the loop variables; what lives only inside the loop (`%0`, `%1`, ...) has no array.

# %% tags=["nbval-ignore-output"]
# The loops of the first kernel
print(code.listings[0].kernel if code.listings else "no machine code here: llvmlite is not installed")

# %%
# One kernel for the whole function
print("kernels:", len(code.listings), "  loads of x:", code.listings[0].kernel.count("load a0"))

# %% [markdown]
# ## 7 LLVM IR
# LLVM is the compiler library behind many languages (C, Rust, Swift). The loops are written in its language, with vectors as wide as
# the processor has them (this is where machines begin to differ). Look for the first line with `fmul` and the first with `fadd`:
# those are `x * w` and `+ b` for many elements at once.

# %% tags=["nbval-ignore-output"]
# The inner loop: from the first load of a vector to the jump back
lines = code.listings[0].code.splitlines()
first = next(i for i, line in enumerate(lines) if "load <" in line)
print("\n".join(lines[first - 2 : first + 22]))

# %% [markdown]
# ## 8 Machine code
# LLVM turns it into instructions. `vmovups` loads a vector of floats; `vfmadd` multiplies and adds in one go; `zmm` registers hold
# 16 floats, `ymm` registers 8. (On other processors the names are others.)

# %% tags=["nbval-ignore-output"]
# The same inner loop as assembly
assembly = code.listings[0].assembly.splitlines()
busy = [i for i, line in enumerate(assembly) if "fmadd" in line or "mulps" in line or "fmul" in line]
print("\n".join(assembly[max(busy[0] - 6, 0) : busy[0] + 24]) if busy else "\n".join(assembly[:30]))

# %% [markdown]
# ## 9 And it runs
# Machine code adds up in another order than NumPy and multiplies and adds without rounding in between: so results agree to the last
# digits, not in every bit. (At `jit_level="O0"` both modes give the same bits.)

# %%
# Compiled against eager
compiled = ms.jit(layer)
in_graph_mode = float(compiled(x, w, b))
with ms.set_context(mode=ms.PYNATIVE_MODE, jit_level="O0"):
    one_by_one_result = float(layer(x, w, b))
print("equal to six digits:", abs(in_graph_mode / one_by_one_result - 1) < 1e-6)

# %% tags=["nbval-ignore-output"]
# Measured: the best of 200 calls each, interleaved
def measured():
    times = {"compiled": [], "eager": []}
    for _ in range(200):
        start = time.perf_counter()
        compiled(x, w, b)
        times["compiled"].append(time.perf_counter() - start)
        with ms.set_context(mode=ms.PYNATIVE_MODE, jit_level="O0"):
            start = time.perf_counter()
            layer(x, w, b)
            times["eager"].append(time.perf_counter() - start)
    return {name: min(found) for name, found in times.items()}


best = measured()
ratio = best["eager"] / best["compiled"]
print(f"eager {best['eager'] * 1e6:.0f} us, compiled {best['compiled'] * 1e6:.0f} us: {ratio:.1f} times faster")

# %% [markdown]
# ## 10 When is it compiled again?
# A compiled version relies on what was read while it was made. New *values* compile nothing; another *shape* or another Python
# value that decides something does, and says so.

# %%
# Four calls, three versions, and why
fresh = ms.jit(layer)
fresh(x, w, b)
fresh(x, w * 2, b)
fresh(x[:32], w, b)
fresh(x, w, b, training=False)
for version, calls, *_, reason in ms.show.explain(fresh).rows:
    print(f"version {version}, called {calls} times: {reason}")

# %% [markdown]
# ## What to take home
# - Every stage is a program that one can read: graph, groups, loops, LLVM IR, assembly.
# - A pass is a law and a check. `%ms_passes` shows both.
# - Most of the speed comes from memory that is not touched; the rest from vectors and threads.
#
# ## Try it
# 1. `%ms_kernels --gradient layer(x, w, b)`: how many kernels has the gradient by `x`? Where is the sum?
# 2. Take the sum out of `layer` and return `y + penalty * 0.01`: what changes in the loops?
# 3. Write the pass `exp(log(x)) -> x` and find an input that shows it is no law.
# 4. `%ms_roofline layer(x, w, b)`: which limit does a single operator meet?
#
# <details><summary>Solutions</summary>
#
# 1. One. The gradient of a sum is 1 for every element, whatever the sum is; so nobody computes it.
# 2. `reduce sum` is gone, and `store` has moved into the loop: `b0[256 i0 + i1]` instead of `b0[0]`, an array instead of a number.
# 3. As section 4, with `node.op.name != "exp"` and `node.inputs[0].node.op.name == "log"`; what is taken is `log`'s operand,
#    `node.inputs[0].node.inputs[0]`. A negative input shows the mistake: the logarithm is NaN there, and so is its exponential.
# 4. Memory, every one of them: they do at most one operation per 8 bytes, and the machine can do several in that time.
#
# </details>
