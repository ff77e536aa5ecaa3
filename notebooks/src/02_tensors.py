# %% [markdown]
# # Tensors
#
# A tensor is a grid of numbers: its **shape** says how many there are along each axis (`[2, 3]` is two rows of three), its
# **dtype** what kind of numbers they are (`float32`, `int64`, ...), the same for all of them. This page shows how to make one,
# what happens when two dtypes meet, how indexing works, and the one law that avoids most surprises: **values, not views**.

# %%
# Load msnb and its magics: with them, errors name the cell and the line
import numpy as np

import msnb as ms
from msnb import ops

# %load_ext msnb

# %% [markdown]
# ## Making one
# Python floats give float32, ints give int64; NumPy arrays keep their dtype.

# %%
# From numbers, lists and arrays
print(repr(ms.Tensor(1.5)))
print(repr(ms.Tensor([[1, 2], [3, 4]])))
print(repr(ms.Tensor(np.linspace(0, 1, 5))))

# %%
# From nothing
ops.zeros((2, 3)), ops.full((2,), 7, dtype=ms.int32), ops.arange(5)

# %% [markdown]
# ## When dtypes meet
# Categories are ordered: bool < int < float < complex. A tensor of a higher category wins *as it is*, so int64 with float16 is
# float16. Within a category the result is the smallest dtype that holds both, so int8 with uint8 is int16. A Python number is
# *weak*: it never widens a tensor, unless it comes from a higher category.

# %%
# The dtype of a sum
def sum_dtype(a, b):
    return (a + b).dtype


i8, u8 = ms.Tensor([1], ms.int8), ms.Tensor([1], ms.uint8)
i64, f16, bf16 = (ms.Tensor([1], t) for t in (ms.int64, ms.float16, ms.bfloat16))
for name, found in {
    "int8 + uint8": sum_dtype(i8, u8),
    "int64 + float16": sum_dtype(i64, f16),
    "float16 + bfloat16": sum_dtype(f16, bf16),
    "int8 + 1": sum_dtype(i8, 1),
    "int8 + 1.5": sum_dtype(i8, 1.5),
    "float16 + 1.5": sum_dtype(f16, 1.5),
}.items():
    print(f"{name:20} {found!r}")

# %% [markdown]
# Division of integers gives float32, and so does their mean: `Tensor([1, 2]).mean()` is 1.5. (MindSpore gives the integer 1
# there; that is one of the few places where msnb leaves its example.)

# %%
# True division and mean
ms.Tensor([7]) / ms.Tensor([2]), ms.Tensor([1, 2]).mean()

# %% [markdown]
# ## Indexing
# Ints, slices with any step, `...`, `None`, boolean masks, integer arrays, and any mix of them: as in NumPy.

# %%
# Reading
x = ops.arange(12).reshape(3, 4)
print(x[1], x[:, ::-2], x[x > 8], x[[0, 2], [1, 3]], x[..., None].shape, sep="\n")

# %% [markdown]
# Writing gives the *object* a new value. What was taken out before does not change: a slice is a value of its own.

# %%
# Values, not views
row = x[0]
x[0, 1:3] = 100
x[x == 7] = -1
print(x)
print("taken before:", row)

# %% [markdown]
# ## To NumPy and back
# `asnumpy()` gives an array that shares memory with the tensor; NumPy's functions take tensors, and its operators too.

# %%
# Tensors speak NumPy's protocols
host = x.asnumpy()
print(type(host).__name__, np.asarray(x).sum(), np.from_dlpack(x).dtype, (np.ones(2) + ms.Tensor([1.0, 2.0])).tolist())

# %% [markdown]
# ## Errors teach
# What was expected, what came, and the way out. The same mistake gives the same sentence in both modes.

# %%
# A shape that does not fit
try:
    ms.Tensor([[1.0, 2.0]]) + ms.Tensor([1.0, 2.0, 3.0])
except ValueError as error:
    print(error)

# %%
# An index that does not exist
try:
    x[5]
except IndexError as error:
    print(error)

# %% [markdown]
# ## Try it
# 1. What are the dtypes of `Tensor([True]) + Tensor([True])` and of `Tensor([True]) + 1`? Guess first.
# 2. `x[x > 8]` has as many elements as there are hits. How many of `ops.arange(100)` are divisible by 7?
# 3. Take a column out of `x`, change `x`, and look at the column again. What would NumPy have done?
#
# <details><summary>Solutions</summary>
#
# 1. Bool (two of a kind stay what they are: it is *or*), and Int64: the Python number comes from a higher category.
# 2. `n = ops.arange(100)`, then `n[n % 7 == 0].shape` is `(15,)`.
# 3. The column is as it was. In NumPy a slice is a *view*: it would have changed with `x`.
#
# </details>
