# %% [markdown]
# # Quickstart: one program, two modes
#
# LeNet-5 learns to read 1,797 scanned digits. The same lines run operator by operator (PyNative) and, after **one changed
# line**, as one compiled graph. Both see the same batches, draw the same random numbers and give the same losses.
#
# What you meet on the way: a `Cell` (a layer or a network), a data set, a training step made of a network, a loss and an
# optimizer, the program as the framework sees it (its **IR**, for *intermediate representation*), and the gradient of that
# program, which is a program too.
#
# Run the cells from top to bottom with Shift + Enter. Nothing has to be understood at once: the next pages take up every word.

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
# read before it is needed. A *batch* is what the network sees at once: here 32 images.

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
# The *loss* says how wrong the answers are, its *gradient* in which direction every parameter makes it worse, and the
# *optimizer* takes a small step the other way. `WithLossCell` puts the loss behind the network, `TrainOneStepCell` adds the
# gradients and the optimizer. Called in graph mode, a Cell is compiled on its first call: here the whole step (forward,
# backward, update) becomes one program.

# %%
# The training loop: the same for both modes
def accuracy(net):
    net.set_train(False)
    found = [(net(x).argmax(1) == y).tolist() for x, y in test_set]
    return np.mean(sum(found, []))


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
# The two curves lie on each other:

# %% tags=["nbval-ignore-output"]
# Loss over steps, in both modes
curves = ms.show.curves("LeNet-5, two modes", log=True)
for eager_loss, graph_loss in zip(eager_losses, graph_losses):
    curves.record(loss_PyNative=eager_loss, loss_Graph=graph_loss)
curves

# %% [markdown]
# The first losses agree to the last digits of float32; compiled code rounds in another order, and training makes much of
# little: after 200 steps single losses differ in the second or third digit, while both networks read the digits equally well.
# (With `ms.set_context(jit_level="O0")` the compiled graph runs on the same kernels as the eager program, and the two runs
# agree to the last bit.)

# %%
# The same losses
apart = [abs(a - b) for a, b in zip(eager_losses, graph_losses)]
print(len(apart), "steps; in the first 10 the largest difference is below 1e-5:", max(apart[:10]) < 1e-5)
print("more than 90% of the digits read in both modes:", min(eager_accuracy, graph_accuracy) > 0.9)

# %% [markdown]
# ## The program, seen
# Nothing is hidden: this is the network as graph mode captured it. A box is an operator, below its name the type of its
# result: `f32[1,6,28,28]` is a grid of 1 x 6 x 28 x 28 numbers in float32. Frames are the Cells that the operators came from;
# click a frame's title to close it, hover a box to see its line in the cell. The picture goes on where its edge is shaded:
# scroll in it. Picture and text (below it, behind `text`) stay in the saved notebook.

# %%
# LeNet's forward pass as IR
image = ms.Tensor(np.zeros((1, 1, 32, 32), np.float32))
# %ms_ir graph_net(image)

# %% [markdown]
# Its gradient with respect to the parameters is a program of the same kind, made from the first by one rule per operator. The
# left side is the network as before; the right side walks back through the layers, from the bottom up. The dashed lines are
# the values that it needs again.

# %%
# The gradient of the network, as IR
# %ms_grad graph_net(image)

# %% [markdown]
# ## What was compiled, and why
# Every compiled version lists what it assumed: the shapes and types of its inputs, the Python values that decided something.
# When an assumption fails, the function is compiled again and says why; a new learning rate or a new batch is no reason.

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

# %% [markdown]
# ## Try it
# 1. Train for one epoch, then for ten: how many of the test digits are read?
# 2. Make the learning rate a hundred times larger. What do the losses do?
# 3. Which layer of LeNet holds most of the parameters? (`graph_net.summary((1, 1, 32, 32))` counts.)
#
# <details><summary>Solutions</summary>
#
# 1. `fit(ms.GRAPH_MODE, epochs=1)[-1]` is far below `fit(ms.GRAPH_MODE, epochs=10)[-1]`: the first epochs matter most, and
#    after five there is little left to gain.
# 2. With `learning_rate=0.2` in `fit` the steps are too long: the loss jumps up and then stays where guessing is (about
#    `log(10)`, 2.3). Nothing is broken, only the step is too large.
# 3. `fc1`, 400 x 120 + 120 = 48,120 of 61,706: the first product behind the convolutions.
#
# </details>
