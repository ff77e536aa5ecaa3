# %% [markdown]
# # Gradients are programs
#
# Many frameworks note every operation on a tape and play it backwards. msnb turns the *program* into another program that
# computes its gradient. You can read that program, differentiate it again, batch it, compile it.

# %%
# Load msnb and its magics
import numpy as np

import msnb as ms
from msnb import nn, ops

# %load_ext msnb

# %% [markdown]
# ## A first gradient
# The *derivative* of `f` by `x` says how fast `f` grows when `x` grows; of a function of many numbers, the derivatives by all
# of them together are its *gradient*. `ms.grad(f)` is a function that gives the derivative of `f` with respect to its first
# argument; `value_and_grad(f, (0, 1))` gives the value of `f`, and the derivatives by its arguments 0 and 1.

# %%
# d/dx of sin(x) * y + x, by both arguments
def f(x, y):
    return ops.sin(x) * y + x


x, y = ms.Tensor(0.5), ms.Tensor(2.0)
value, (dx, dy) = ms.value_and_grad(f, (0, 1))(x, y)
print(f"f = {float(value):.4f}   df/dx = {float(dx):.4f} (cos(x) y + 1)   df/dy = {float(dy):.4f} (sin x)")

# %% [markdown]
# ## The program of a gradient
# First the function as captured, then its gradient. Open `text` below the picture: each line of the gradient carries the line of
# the cell that it belongs to. Nothing of the sum is left, because only the derivative was asked for: `cos(x) * y + 1`.

# %%
# The function
# %ms_ir f(x, y)

# %%
# Its gradient by x
# %ms_grad f(x, y)

# %% [markdown]
# ## Second order, and third
# The gradient is a function like any other, so `grad` takes it again. The matrix of all second derivatives is the *Hessian*; with
# it, Newton's method jumps to the bottom of the best-fitting bowl in every step.

# %%
# Derivatives of x**4 at 2: 32, 48, 48
def fourth(x):
    return x**4


d1, d2, d3 = ms.grad(fourth), ms.grad(ms.grad(fourth)), ms.grad(ms.grad(ms.grad(fourth)))
print([float(d(ms.Tensor(2.0))) for d in (d1, d2, d3)])

# %%
# Newton's method on a valley
def valley(p):
    return (1 - p[0]) ** 2 + 10 * (p[1] - p[0] ** 2) ** 2


p = ms.Tensor(np.array([-1.0, 1.5]))
for _ in range(8):
    p = p - ops.solve(ms.hessian(valley)(p), ms.grad(valley)(p))
print("minimum at", np.round(p.asnumpy(), 6))

# %% [markdown]
# ## Control flow
# Branches and loops that depend on tensors are differentiated as such. The loop below has no fixed number of rounds: it takes
# roots until the number is near one, and its gradient goes back through as many rounds as there were.

# %%
# A loop whose length depends on the data
def roots(x):
    while x > 1.5:
        x = ops.sqrt(x)
    return x


print([round(float(ms.grad(roots)(ms.Tensor(a))), 5) for a in (1.2, 2.0, 20.0)])

# %% [markdown]
# In graph mode the loop is a `while` node with a closed body. Its gradient is a `while` too: the forward loop pushes what the
# backward loop will need on a stack, and counts its turns; the backward loop takes as many turns and pops.

# %%
# The gradient of the loop
# %ms_grad roots(ms.Tensor(20.0))

# %% [markdown]
# ## Forward mode, batches, Jacobians
# `jvp` carries one direction *forward* along with the value, `vjp` one weighting of the results *backward*. `vmap` turns a function
# of one example into a function of a whole batch. The *Jacobian* has the derivative of every result by every input.

# %%
# Four transforms
value, slope = ms.jvp(ops.tanh, ms.Tensor(0.5), ms.Tensor(1.0))
value, pull = ms.vjp(ops.tanh, ms.Tensor(0.5))
print(f"jvp {float(slope):.6f}   vjp {float(pull(ms.Tensor(1.0))[0]):.6f}")

weights, rows = ms.Tensor([1.0, -1.0]), ms.Tensor([[1.0, 2.0], [2.0, 1.0], [4.0, 3.0]])
per_example = ms.vmap(ms.grad(lambda w, r: (w * r).sum() ** 2), in_axes=(None, 0))
print("gradient per example:", per_example(weights, rows).tolist())
print("Jacobian of x*x:", ms.jacrev(lambda v: v * v)(ms.Tensor([1.0, 3.0])).tolist())

# %% [markdown]
# ## Stop, hook, replace
# `stop_gradient` cuts a path; a hook sees a gradient on its way and may change it; a Cell may bring its own `bprop`.

# %%
# Three ways to intervene
print("cut:     ", ms.grad(lambda v: v * ops.stop_gradient(v))(ms.Tensor(3.0)))


def hooked(v):
    w = v * v
    w.register_hook(lambda g: ops.clip(g, -1, 1))
    return 100 * w


print("clipped: ", ms.grad(hooked)(ms.Tensor(3.0)))


class Sign(nn.Cell):
    """The sign, with the gradient of the identity (a straight-through estimator)."""

    def construct(self, v):
        return ops.sign(v)

    def bprop(self, v, out, dout):
        return (dout,)


sign = Sign()
print("own rule:", ms.grad(lambda v: 5 * sign(v))(ms.Tensor(-0.3)))

# %% [markdown]
# ## The same in graph mode
# All of it is compiled when it is called in graph mode.

# %%
# One line, the same numbers
with ms.set_context(mode=ms.GRAPH_MODE):
    print("graph:", [float(d(ms.Tensor(2.0))) for d in (d1, d2, d3)], round(float(ms.grad(roots)(ms.Tensor(20.0))), 5))
    print("graph:", ms.grad(hooked)(ms.Tensor(3.0)), ms.grad(lambda v: 5 * sign(v))(ms.Tensor(-0.3)))

# %% [markdown]
# ## Try it
# 1. Differentiate `ops.relu` at -1, 0 and 1. What is the derivative where there is a kink?
# 2. Why is `ms.grad(roots)` at 2.0 equal to 0.35355? (How many rounds does the loop take there?)
# 3. `fourth` once more: what is the fifth derivative, and what does its picture look like?
# 4. In `hooked`, why is the gradient 6 and not 600?
#
# <details><summary>Solutions</summary>
#
# 1. 0, 0 and 1: at the kink any number between the slopes of both sides would do, and 0 is what one takes.
# 2. One round: the derivative of the square root is `1 / (2 * sqrt(2))`. At 1.2 there is no round, hence 1.
# 3. 0. `%ms_grad` of the fourth derivative shows `24 * (0 * x**0)`: a factor 0 stays, because 0 times a NaN is no 0.
# 4. The hook sees the gradient of `w`, which is 100, and clips it to 1; behind it comes the rule of the square, `2 v = 6`.
#
# </details>
