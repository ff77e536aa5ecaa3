# %% [markdown]
# # Inside Da Vinci
#
# Ascend is a family of chips for neural networks, Da Vinci the design of its cores. The chip is not here, its arithmetic and its
# habits are: values are those of its float16 matrix unit, seconds come from a model. Everything that is a time on this page is
# **simulated**.
#
# ```
# HBM -> L1 -> L0A, L0B -> cube 16x16x16 -> L0C -> vector unit -> UB -> HBM
# ```
#
# | | |
# |---|---|
# | HBM | the chip's large memory (*high-bandwidth memory*), shared by its 32 cores |
# | L1, L0A, L0B, L0C, UB | small, fast buffers inside a core: for what is used soon, for the two operands of the cube, for its result, and for the vector unit (*unified buffer*) |
# | cube | multiplies a 16x16 block with a 16x16 block, 4,096 products in one cycle |
# | vector unit | everything that works element by element, and sums |
# | MTE1, MTE2, MTE3 | the *memory transfer engines*: L1 to L0, HBM to L1, UB to HBM |

# %%
# Load msnb and its magics
import json
import tempfile
from pathlib import Path

import numpy as np

import msnb as ms
from msnb import nn, ops

# %load_ext msnb

# %% [markdown]
# ## 1 Values
# The cube multiplies 16-bit numbers and adds in 32 bits. So a matrix product rounds its operands to float16, which has three digits
# and ends at 65504; what is beyond is infinite. Work element by element is done in float32, as everywhere.

# %%
# The same lines on two devices
one = ms.Tensor([[1.0]])
for device in ("CPU", "Ascend"):
    with ms.set_context(device_target=device):
        for number in (1 + 2.0**-12, 70000.0):
            x = ms.Tensor([[number]])
            print(f"{device:7} as a product of matrices {ops.matmul(x, one).item():<16} element by element {(x * 1.0).item()}")

# %% [markdown]
# The sum itself does not overflow: it is kept in float32. Ask for a float16 result, and it does.

# %%
# 40 * 1, added up 4096 times
with ms.set_context(device_target="Ascend"):
    for dtype in (ms.float16, ms.float32):
        ones = ops.ones((1, 4096), dtype)
        print(f"{dtype!r:8}", ops.matmul(ones * 40, ones.T).item())

# %% [markdown]
# ## 2 Tiles
# A product is cut into tiles that fit into the buffers. Five queues work on them at once; each waits for data, and for room. A bar
# is a tile that a queue works on: MTE2 brings it from the memory, MTE1 puts it before the cube, the cube multiplies, the vector
# unit takes the sums, MTE3 writes them back. MTE2 has no gaps: this product waits for the memory.

# %%
# One core, two halves per buffer: while the cube multiplies one, the other is filled
ms.show.aicore(256, 512, 256)

# %%
# Without double buffering the queues wait for each other
for halves in (True, False):
    print(ms.show.aicore(256, 512, 256, double_buffering=halves).summary)

# %%
# Blocks of 16 are multiplied whole: 17 rows are two blocks, and 15 rows of the second are padding
for m in (16, 17, 32, 128):
    print(f"{m:4} rows: in {ms.ascend.aicore(m, 512, 128).utilisation:6.1%} of the time the cube does useful work")

# %% [markdown]
# ## 3 Formats
# The cube reads blocks of 16x16, each in one piece, so arrays lie in memory in blocks too. A batch of images is usually NCHW (number,
# channels, height, width); here the channels are cut into C1 pieces of C0 = 16, and it becomes NC1HWC0. Matrices become FRACTAL_NZ,
# filters FRACTAL_Z. What does not fill a block is padded with zeros, which cost memory and time.

# %%
# There and back, and what the padding costs
from msnb.devices.ascend.formats import padded_bytes

image = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
blocks = ms.ascend.to_nc1hwc0(image)
print(image.shape, "->", blocks.shape, "equal after the way back:", np.array_equal(ms.ascend.from_nc1hwc0(blocks, 3), image))
matrix = np.arange(40 * 50).reshape(40, 50)
print(matrix.shape, "->", ms.ascend.to_nz(matrix).shape)
for channels in (3, 16, 64, 65):
    plain, held = 2 * 32 * channels * 56 * 56, padded_bytes((32, channels, 56, 56), "NC1HWC0")
    print(f"{channels:3} channels: {plain / 1e6:6.1f} MB are kept in {held / 1e6:6.1f} MB")

# %% [markdown]
# ## 4 Kernels
# A **kernel** is what the chip runs in one go. A batch norm (which brings every channel to mean 0 and spread 1) is a dozen operators
# here, and two sweeps over memory on the chip: what reads the same elements becomes one kernel, and sums are appended to the
# convolution before them. `(+4)` says that four more operators are in a kernel; `cube`, `vector`, `memory` are the microseconds that
# each unit needs, and the slowest of them binds the kernel. A kernel of the kind `convert` brings rows into
# the blocks of section 3, or back.


# %%
# A block of a ResNet: which operators became which kernels
class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(64, 64, 3), nn.BatchNorm2d(64)
        self.conv2, self.norm2 = nn.Conv2d(64, 64, 3), nn.BatchNorm2d(64)

    def construct(self, x):
        y = self.norm2(self.conv2(ops.relu(self.norm1(self.conv1(x)))))
        return ops.relu(x + y)


block = Block()
block.set_train()
x = ms.parallel.blank((32, 64, 56, 56))
ms.ascend.profile(block, x, mode="graph")

# %% [markdown]
# ## 5 The sink
# A graph is handed over whole (it is *sunk*), and the chip starts its kernels by itself. An eager program is launched by the host,
# operator by operator, which takes far longer than a small kernel runs: the first batches all take the same time.

# %%
# What a launch costs
chip = ms.ascend.profile(block, x, mode="graph").chip
print(f"a kernel of a graph starts in {chip.launch * 1e6:.0f} us, an operator of an eager program in {chip.eager * 1e6:.0f} us (model)")

# %%
# The same block, sunk and launched, by batch
for batch in (1, 8, 64):
    x = ms.parallel.blank((batch, 64, 56, 56))
    sunk, launched = (ms.ascend.profile(block, x, mode=mode) for mode in ("graph", "eager"))
    print(f"batch {batch:3}: {sunk.seconds * 1e6:4.0f} us in {len(sunk.kernels)} kernels, eager {launched.seconds * 1e6:5.0f} us "
          f"in {len(launched.kernels)}: {launched.seconds / sunk.seconds:4.1f} times as long (simulated)")

# %%
# A trace to look at with a browser: open such a file in ui.perfetto.dev
with tempfile.TemporaryDirectory() as folder:
    sunk.trace(Path(folder) / "block.json")
    events = json.loads((Path(folder) / "block.json").read_text())["traceEvents"]
print(events[0]["args"]["name"], len(events), "events")

# %% [markdown]
# ## 6 Memory
# What lives when is known before anything runs. A program that does not fit says what it needs and which tensors are in the way.

# %%
# Too large a batch
try:
    ms.ascend.profile(block, ms.parallel.blank((32768, 64, 56, 56)))
except RuntimeError as error:
    print(error.message())
else:
    raise AssertionError("this batch was meant to be too large")

# %% [markdown]
# ## Try it
# 1. Tiles of 64x64x64 in `ms.show.aicore(256, 512, 256, tile=(64, 64, 64))`: which queue decides now, and why? Why are tiles of
#    64x256x128 refused?
# 2. `nn.Conv2d(64, 64, 3, group=64)` in the block: every channel is filtered for itself. What becomes of the cube?
# 3. Which batch still fits into the memory of one chip?
#
# <details><summary>Solutions</summary>
#
# 1. MTE2 even more than before: smaller tiles are read more often (every row of tiles reads all of the second matrix again), so the
#    cube waits for the memory. The other tile needs more than half of L0B, and one half is being filled while the other is read.
# 2. It has a 64th of the work to do, but not a 64th of the time: 15 of 16 channels of a block that it multiplies are zeros, and the
#    convolution is bound by the memory.
# 3. Halve the batch of the last cell until it fits, or divide: the report says what the program needs, and it grows with the batch.
#
# </details>
