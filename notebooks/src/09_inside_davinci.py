# %% [markdown]
# # Inside Da Vinci
#
# The Ascend chip is not here, its arithmetic and its habits are: values are those of its float16 matrix unit, seconds come from a
# model. Everything that is a time on this page is **simulated**.
#
# ```
# HBM -> L1 -> L0A, L0B -> cube 16x16x16 -> L0C -> vector unit -> UB -> HBM
# ```

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
# The cube multiplies 16-bit numbers and adds in 32 bits. So a product rounds its operands, and what is beyond 65504 is infinite.

# %%
# The same line on two devices
a, b = ms.Tensor([[1 + 2.0**-12, 70000.0]]), ms.Tensor([[1.0], [0.001]])
for device in ("CPU", "Ascend"):
    with ms.set_context(device_target=device):
        print(f"{device:7}", ops.matmul(a, b).item(), (a * 1.0).tolist())

# %% [markdown]
# The sum itself does not overflow: it is kept in float32. Ask for a float16 result, and it does.

# %%
# 4096 times 1 * 40
with ms.set_context(device_target="Ascend"):
    ones = ops.ones((1, 4096), ms.float16)
    print(ops.matmul(ones * 40, ones.T).item(), ops.matmul((ones * 40).astype(ms.float32), ones.astype(ms.float32).T).item())

# %% [markdown]
# ## 2 Tiles
# A product is cut into tiles that fit into the buffers. Five queues work on them at once; each waits for data, and for room.

# %%
# One core, two halves per buffer: while the cube multiplies one, the other is filled
ms.show.aicore(256, 512, 256)

# %%
# Without double buffering the queues wait for each other
for halves in (True, False):
    print(ms.show.aicore(256, 512, 256, double_buffering=halves).summary)

# %%
# Blocks of 16 are multiplied whole: of 17 rows, 15 are padding
for m in (16, 17, 32, 128):
    print(f"{m:4} rows: {ms.ascend.aicore(m, 512, 128).utilisation:6.1%} of the cube does useful work")

# %% [markdown]
# ## 3 Formats
# The cube reads blocks of 16x16, each in one piece. Images become NC1HWC0, matrices FRACTAL_NZ, filters FRACTAL_Z. What does not fill
# a block is padded with zeros, which cost memory and time.

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
# A batch norm is a dozen operators here, and two sweeps over memory on the chip: what reads the same elements becomes one kernel, sums
# are appended to the convolution before.


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
# A graph is handed over whole: 4 us per kernel. An eager program is launched operator by operator: 40 us each, which small kernels do
# not hide.

# %%
# The same block, sunk and launched, by batch
for batch in (1, 8, 64):
    x = ms.parallel.blank((batch, 64, 56, 56))
    sunk, launched = (ms.ascend.profile(block, x, mode=mode) for mode in ("graph", "eager"))
    print(f"batch {batch:3}: {sunk.seconds * 1e6:7.0f} us in {len(sunk.kernels)} kernels, eager {launched.seconds * 1e6:7.0f} us "
          f"in {len(launched.kernels)}: {launched.seconds / sunk.seconds:.1f} times as long (simulated)")

# %%
# A trace for ui.perfetto.dev
with tempfile.TemporaryDirectory() as folder:
    sunk.trace(Path(folder) / "block.json")
    events = json.loads((Path(folder) / "block.json").read_text())["traceEvents"]
print(events[0]["args"]["name"], len(events), "events")

# %% [markdown]
# ## 6 Memory
# What lives when is known before anything runs. A program that does not fit says which tensors are in the way.

# %%
# Too large a batch
try:
    ms.ascend.profile(block, ms.parallel.blank((8192, 64, 56, 56)))
except RuntimeError as error:
    print(error.message())

# %% [markdown]
# ## Try it
# - Tiles of 64x256x128 in `ms.show.aicore`: which queue decides now?
# - `nn.Conv2d(64, 64, 3, group=64)` in the block: what becomes of the cube?
