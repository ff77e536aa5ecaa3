# %% [markdown]
# # Quickstart: one program, two modes
#
# LeNet-5 learns to read 1,797 scanned digits. The same lines run operator by operator (PyNative) and, after **one changed
# line**, as one compiled graph. Both see the same batches, draw the same random numbers and give the same losses.
#
# What you meet on the way: a `Cell`, a data set, a training step made of `value_and_grad` and an optimizer, the program as
# the framework sees it (its IR), and the gradient of that program, which is a program too.

# %%
# Load msnb and its magics
import numpy as np

import msnb as ms
from msnb import dataset as ds
from msnb import nn, ops

# %load_ext msnb

# %% [markdown]
# ## The data
# The scans are 8x8; `size=32` enlarges them to LeNet's input. A data set is a chain: every step gives a new one, nothing is
# read before it is needed.

# %%
# The digits: scaled to 0..1, channels first, shuffled, in batches of 32
def digits(usage, batch=32):
    data = ds.DigitsDataset(usage, size=32, shuffle=usage == "train")
    data = data.map([ds.vision.Rescale(1 / 255, 0), ds.vision.HWC2CHW()], "image")
    data = data.map(ds.transforms.TypeCast("int32"), "label")
    return data.batch(batch, drop_remainder=usage == "train")


train_set, test_set = digits("train"), digits("test")
print(train_set.get_dataset_size(), "batches to train on,", test_set.get_dataset_size(), "to test on")

# %% [markdown]
# ## The network
# A `Cell` owns its parameters; `construct` says what it computes.

# %%
# LeNet-5
class LeNet5(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.flatten(self.pool(self.relu(self.conv2(x))))
        x = self.relu(self.fc2(self.relu(self.fc1(x))))
        return self.fc3(x)


LeNet5()

# %% [markdown]
# ## Training
# `WithLossCell` puts the loss behind the network, `TrainOneStepCell` adds the gradients and the optimizer. Called in graph
# mode, a Cell is compiled on its first call: here the whole step (forward, backward, update) becomes one program.

# %%
# The training loop: the same for both modes
def accuracy(net):
    net.set_train(False)
    hits = sum(int((net(x).argmax(1) == y).sum()) for x, y in test_set)
    return hits / 359


def fit(mode, epochs=5):
    ms.set_context(mode=mode)  # <- the one line
    ms.set_seed(7)
    net = LeNet5()
    optimizer = nn.Adam(net.trainable_params(), learning_rate=0.002)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer).set_train()
    losses = [float(step(x, y)) for _ in range(epochs) for x, y in train_set]
    return net, step, losses, accuracy(net)

# %% tags=["nbval-ignore-output"]
# Train in PyNative mode
eager_net, _, eager_losses, eager_accuracy = fit(ms.PYNATIVE_MODE)
print(f"loss {eager_losses[0]:.3f} -> {eager_losses[-1]:.3f}, {eager_accuracy:.1%} of the test digits read")

# %% tags=["nbval-ignore-output"]
# Train in graph mode
graph_net, graph_step, graph_losses, graph_accuracy = fit(ms.GRAPH_MODE)
print(f"loss {graph_losses[0]:.3f} -> {graph_losses[-1]:.3f}, {graph_accuracy:.1%} of the test digits read")

# %% [markdown]
# The two curves lie on each other. The first losses agree to the last digits of float32; compiled code rounds in another
# order, and training makes much of little: after 200 steps single losses differ in the second or third digit, while both
# networks read the digits equally well. (With `ms.set_context(jit_level="O0")` the compiled graph runs on the same kernels as
# the eager program, and the two runs agree to the last bit.)

# %%
# The same losses
apart = [abs(a - b) for a, b in zip(eager_losses, graph_losses)]
print(len(apart), "steps; in the first 20 the largest difference is below 1e-5:", max(apart[:20]) < 1e-5)
print("more than 90% of the digits read in both modes:", min(eager_accuracy, graph_accuracy) > 0.9)

# %% [markdown]
# ## The program, seen
# Nothing is hidden: this is the network as graph mode captured it, each line with the Cell it came from. The picture and the
# text stay in the saved notebook.

# %%
# LeNet's forward pass as IR
image = ms.Tensor(np.zeros((1, 1, 32, 32), np.float32))
# %ms_ir graph_net(image)

# %% [markdown]
# Its gradient with respect to the parameters is a program of the same kind, made from the first by the rules in the op
# records. Its lower half walks back through the layers; the long lines are the values that it needs again.

# %%
# The gradient of the network, as IR
# %ms_grad graph_net(image)

# %% [markdown]
# ## What was compiled, and why
# Every compiled version lists what it assumed. When an assumption fails, the function is compiled again and says why; a new
# learning rate or batch is no reason.

# %%
# One version for all training steps
step_text = ms.explain(graph_step)
print(step_text.splitlines()[1])
print(sum(line.startswith("version") for line in step_text.splitlines()), "version for", len(graph_losses), "steps")

# %% tags=["nbval-ignore-output"]
# For the command line: the curves as data
from IPython.display import display

display(
    {
        "application/vnd.msnb.quickstart+json": {
            "losses": {"PyNative": eager_losses, "Graph": graph_losses},
            "accuracy": {"PyNative": eager_accuracy, "Graph": graph_accuracy},
        },
        "text/plain": "losses and accuracies of both modes, as data",
    },
    raw=True,
)
