# %% [markdown]
# # On a GPU
#
# One line moves a program to a GPU. What happens then can be seen on any machine: where there is no GPU, this page runs on a
# **simulated** one, which executes the same generated kernels thread by thread on the processor at hand, and watches what they
# touch. It says nothing about speed; times on this page are **predicted** from data sheets, or left out.
#
# ```
# program -> graph -> fused groups -> loops -> LLVM IR -> PTX -> the driver's machine code -> launches, recorded as one CUDA graph
#                                                  \-> threads of the simulated GPU
# ```

# %%
import numpy as np

import msnb as ms
from msnb import nn, ops

# %load_ext msnb

# %% tags=["nbval-ignore-output"]
# The GPU of this machine, or the simulated one. (Which it is differs between machines, so this output is not compared.)
try:
    ms.set_context(device_target="GPU")
except RuntimeError as reason:
    print(str(reason).splitlines()[0])
    ms.set_context(device_target="SimulatedGPU")
print("device:", ms.get_context("device_target"))

# %% [markdown]
# What follows shows the simulated GPU, so that the page is the same everywhere. On your own GPU, take `"GPU"` instead: nothing else
# changes.

# %%
ms.set_context(device_target="SimulatedGPU", mode=ms.GRAPH_MODE, jit_level="O1")

# %% [markdown]
# ## 1 The same program
# A network and its training step, as in every other notebook. The values are those of the CPU, but for the order of sums.


# %%
def trained(device):
    with ms.set_context(device_target=device):
        ms.set_seed(1)
        rng = np.random.default_rng(0)
        net = nn.SequentialCell(nn.Dense(16, 8), nn.ReLU(), nn.LayerNorm((8,)), nn.Dense(8, 3))
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), nn.Adam(net.trainable_params(), 0.01))
        x = ms.Tensor(rng.normal(size=(12, 16)).astype(np.float32))
        y = ms.Tensor(rng.integers(0, 3, 12).astype(np.int32))
        return [round(step(x, y).item(), 4) for _ in range(4)]


print("CPU ", trained("CPU"))
print("GPU ", trained("SimulatedGPU"))

# %% [markdown]
# ## 2 From operations to one kernel
# Seven operations become one loop nest. It is the same for a CPU and a GPU: what differs is how it is laid over the machine. The
# last line of the text says how: blocks, and threads in a block. A thread has four neighbouring elements (16 bytes, the widest load).


# %%
def chain(x, w, b):
    return ops.tanh(x * w + b) * ops.sigmoid(x) + ops.relu(x)


kernels = ms.show.kernels(chain, *(ops.ones((4096,)) * k for k in (1, 2, 3)))
(kernel,) = kernels.listings
loops, launch = kernel.kernel.split("\n; launch ")
print(loops)
print(launch.split(": ", 1)[1])

# %% [markdown]
# LLVM IR is what the code generator writes, PTX (NVIDIA's portable assembly) is what LLVM makes of it. Both need no GPU.

# %%
lines = [line for line in kernel.code.splitlines() if "sreg" in line or "load <" in line or "store <" in line]
print("\n".join(line.strip() for line in lines if not line.startswith("declare")))

# %%
loads = [line.strip() for line in kernel.assembly.splitlines() if "ld.global" in line or "st.global" in line]
print("\n".join(line.split("\t")[0] for line in loads))

# %% [markdown]
# Where `ptxas`, NVIDIA's assembler, is found (in a CUDA toolkit, or by `pip install nvidia-cuda-nvcc-cu12`), the view also says what
# the machine needs: registers of a thread, what was spilled from them, shared memory of a block, and the *occupancy*: how many of
# the threads that a multiprocessor has room for can be there at once.

# %% tags=["nbval-ignore-output"]
# differs with the version of ptxas, and where there is none
for function, told in kernel.facts:
    print(told)

# %% [markdown]
# Occupancy is arithmetic: 65,536 registers of a multiprocessor over the registers of a block, its memory, its threads.

# %%
from msnb.devices.gpu.chips import A100, H100, T4, occupancy

for registers in (32, 64, 128, 255):
    found = occupancy(H100, threads=256, registers=registers, shared=0)
    print(f"{registers:4} registers a thread: {found.blocks} blocks at once, {found.share:.0%} of the threads; limit: {found.limit}")

# %% [markdown]
# ## 3 Sums: threads that work together
# A softmax needs the maximum and the sum of a row. A team of threads shares out a row, keeps it in registers, and passes partial
# results around: inside a warp (32 threads) by *shuffles*, between warps through shared memory, with a barrier before anybody reads.

# %%
rows = ms.show.kernels(lambda x: ops.softmax(x, -1), ops.ones((64, 1024)))
(softmax,) = rows.listings
print(softmax.kernel.split("\n; launch ")[0])
print([word for word in ("shfl.sync", "bar.sync", "barrier.sync", "ld.shared", "st.shared") if word in softmax.assembly])

# %% [markdown]
# ## 4 Thread by thread, under watch
# The simulated GPU runs every thread of every block, and knows who wrote what since the last barrier. A kernel that is wrong is
# *found*, not just different now and then. Here is one written by hand: each thread puts its element into shared memory and reads
# its neighbour's. Two things are wrong with it.

# %%
from msnb.devices.gpu.simt import KernelFault, SimtModule

NEIGHBOUR = """
@tile = internal addrspace(3) global [64 x float] undef, align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

define ptx_kernel void @neighbour(ptr %x, ptr %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %from = getelementptr float, ptr %x, i64 %i
  %v = load float, ptr %from, align 4
  %mine = getelementptr float, ptr addrspace(3) @tile, i64 %i
  store float %v, ptr addrspace(3) %mine, align 4
  BARRIER
  %next = add i64 %i, 1
  %j = WRAPPED
  %theirs = getelementptr float, ptr addrspace(3) @tile, i64 %j
  %w = load float, ptr addrspace(3) %theirs, align 4
  %to = getelementptr float, ptr %out, i64 %i
  store float %w, ptr %to, align 4
  ret void
}
"""
WAIT, WRAP = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)", "and i64 %next, 63"


def run(barrier, wrapped):
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    module = SimtModule(NEIGHBOUR.replace("BARRIER", barrier).replace("WRAPPED", wrapped))
    places = [a.ctypes.data for a in (x, out)]
    try:
        module.launch("neighbour", (1, 1, 1), (64, 1, 1), places, buffers=[(p, 256, True) for p in places])
        print("no fault:", out[:3], "...", out[-2:])
    except KernelFault as fault:
        print(fault.message().split(";")[0], "\n")


run("", WRAP)  # nobody waits
run(WAIT, "add i64 %next, 0")  # the last thread looks behind the end
run(WAIT, WRAP)

# %% [markdown]
# ## 5 A training step as one CUDA graph
# The first call of a program launches its steps one by one; from the second on they are recorded and launched as *one* CUDA graph,
# so the host does next to nothing. What a step runs, in order, with the bytes that it moves and the time that an H100 would need:

# %%
net = nn.SequentialCell(nn.Dense(64, 128), nn.ReLU(), nn.LayerNorm((128,)), nn.Dense(128, 10))
optimizer = nn.Adam(net.trainable_params(), 0.01)
entropy = nn.CrossEntropyLoss()
gradient = ms.value_and_grad(lambda x, y: entropy(net(x), y), None, optimizer.parameters)


def step(x, y):
    loss, gradients = gradient(x, y)
    optimizer(gradients)
    return loss


images, labels = ops.ones((32, 64)), ops.zeros((32,), ms.int32)
timeline = ms.show.timeline(step, images, labels)
timeline

# %%
# launches that a call of the step needs: the first one, and those behind it
from msnb.devices.gpu.simulated_cuda import counters

fast = ms.jit(step)
for call in range(3):
    launches, graphs = counters.launches, counters.graph_launches
    fast(images, labels)
    print(f"call {call}: {counters.launches - launches} kernels launched or recorded, {counters.graph_launches - graphs} graphs launched")

# %% [markdown]
# ## 6 How fast could it be?
# A kernel cannot be faster than the memory brings its operands: bytes over bandwidth. So the fewer bytes a program moves, the
# faster it is, and that can be counted without a GPU. A chain of elementwise operations, as one kernel and one kernel each:

# %%
size = 1 << 22
fused = ms.show.timeline(chain, *(ops.ones((size,)) * k for k in (1, 2, 3)))
apart = (4 * 3 + 3 * 2) * 4 * size  # four operations with two operands and a result, three with one operand
for chip in (T4, A100, H100):
    one = chip.seconds(fused.moved) * 1e6
    many = 7 * chip.seconds(apart / 7) * 1e6
    print(f"{chip.name:5} {chip.bandwidth / 1e12:.2f} TB/s   one kernel {one:6.0f} microseconds, one by one {many:6.0f}")

# %% [markdown]
# The roofline shows which operations wait for memory, and which for arithmetic.

# %%
ms.show.roofline(lambda x, w: ops.softmax(x @ w, -1), ops.ones((512, 512)), ops.ones((512, 512)))

# %% [markdown]
# ## 7 What comes next
# - `ms.show.timeline(f, x, times=True)` measures every step on a real GPU, between CUDA events.
# - `make test-gpu` and `make bench-gpu` hold a GPU against the CPU and against PyTorch and JAX; `python -m bench.gpu_roofline` needs none.
# - [docs/gpu.md](../docs/gpu.md) says how it works, file by file, and what its limits are.
