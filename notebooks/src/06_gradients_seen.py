# %% [markdown]
# # Gradients, seen
#
# A gradient is a program. It is made from your program by one rule per operator, it runs like any other, and it can be
# looked at. This page draws it, asks what it keeps in memory, finds layers that get no gradient, and mends them.

# %%
# Load msnb and its magics
import numpy as np

import msnb as ms
from msnb import dataset as ds
from msnb import nn, ops

# %load_ext msnb

# %% [markdown]
# ## The chain rule as a picture
# `f` has three steps. Its gradient walks them backwards and multiplies what each step contributes: `cos` for `sin`, the
# other factor for a product. On the left the forward side flows down; on the right the backward side flows up. A dashed
# line is a value that the forward side **keeps** because the backward side reads it.

# %%
# Three steps forward, three steps back
def f(x, w):
    y = x * w
    z = ops.sin(y)
    return (z * z).sum()


x, w = ms.Tensor([0.5, 1.0, 2.0]), ms.Tensor([1.0, -1.0, 0.5])
# %ms_grad --raw f(x, w)

# %% [markdown]
# The raw gradient does what the rules say and nothing clever. After the passes it is shorter: nobody computes `z * z` any
# more, because only its derivative is asked for.

# %%
# The same after the passes
# %ms_grad f(x, w)

# %% [markdown]
# Is it right? A difference quotient knows nothing of rules. It has only about half of the digits, so compare with a
# tolerance.

# %%
# Against a difference quotient, in double precision
def quotient(i, h=1e-6):
    e = np.zeros(3)
    e[i] = h
    exact_x, exact_w = (t.asnumpy().astype(np.float64) for t in (x, w))
    a, b = (float(f(ms.Tensor(exact_x + s * e), ms.Tensor(exact_w))) for s in (1, -1))
    return (a - b) / (2 * h)


by_rule = ms.grad(f)(x, w).asnumpy()
by_quotient = np.array([quotient(i) for i in range(3)])
print("rule and quotient agree:", np.allclose(by_rule, by_quotient, atol=1e-6))

# %% [markdown]
# ## What a gradient costs in memory
# Training needs more memory than prediction because of the dashed lines: the forward side cannot drop what will be read
# again. Address goes up, time to the right; a box is a buffer while it lives. The heavy boxes hold the peak.

# %%
# A tower of tanh: every layer's result is kept until the way back has passed it
def tower(x):
    for _ in range(6):
        x = ops.tanh(x)
    return x.sum()


wide = ops.ones((1024,))
# %ms_mem --gradient tower(wide)

# %%
# Forward alone needs two buffers at a time, however high the tower is
forward, both = ms.show.mem(tower, wide), ms.show.mem(tower, wide, gradient=True)
for name, view in (("forward", forward), ("gradient", both)):
    print(f"{name:9}{view.found.peak_bytes:6} bytes")

# %% [markdown]
# ## A gradient that vanishes
# Eight layers with sigmoids between them. A sigmoid's slope is at most 1/4, so on the way back every layer multiplies the
# gradient by 1/4 or less (and by its weights). The heat map shows the size of every gradient (the root of the mean of its
# squares), darker is larger; what is 10,000 times smaller than where the way back begins is marked **vanishing**.

# %%
# Eight layers, one kind of activation
class Deep(nn.Cell):
    def __init__(self, act, layers=8, width=32):
        super().__init__()
        self.act, self.flatten = act, nn.Flatten()
        sizes = [64] + [width] * (layers - 1)
        self.layers = nn.CellList([nn.Dense(a, b) for a, b in zip(sizes, sizes[1:])])
        self.last = nn.Dense(width, 10)

    def construct(self, x):
        x = self.flatten(x)
        for layer in self.layers:
            x = self.act(layer(x))
        return self.last(x)


ms.set_seed(1)
starved = Deep(nn.Sigmoid())
starved.summary((16, 1, 8, 8))

# %% tags=["nbval-ignore-output"]
# The sizes of all gradients of a batch
images = ms.Tensor(np.random.default_rng(0).random((16, 1, 8, 8)).astype(np.float32))
labels = ms.Tensor(np.arange(16, dtype=np.int32) % 10)
with_loss = nn.WithLossCell(starved, nn.CrossEntropyLoss())
# %ms_grad --norms with_loss(images, labels)

# %%
# The first layer's gradient is a tiny part of the last one's
def sizes(net):
    grads = ms.grad(nn.WithLossCell(net, nn.CrossEntropyLoss()), None, net.trainable_params())(images, labels)
    named = zip(net.trainable_params(), grads)
    return {p.name: float((g * g).mean()) ** 0.5 for p, g in named if p.name.endswith("weight")}


found = sizes(starved)
ratio = found["layers.0.weight"] / found["last.weight"]
print("first layer / last layer: less than a millionth:", ratio < 1e-6)

# %% [markdown]
# ## Watched over a training
# `ms.show.flow` follows every layer's gradient, `ms.show.curves` the training; both are callbacks of `Model`, and both leave
# one picture in the saved notebook. In a live notebook the curves grow while the network learns.

# %%
# The digits, and a training of some epochs
def digits(usage):
    data = ds.DigitsDataset(usage, size=8, shuffle=usage == "train")
    data = data.map([ds.vision.Rescale(1 / 255, 0), ds.vision.HWC2CHW()], "image")
    return data.map(ds.transforms.TypeCast("int32"), "label").batch(32, drop_remainder=True)


def train(net, *callbacks, epochs=3):
    model = ms.Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 0.003), metrics={"accuracy"})
    model.fit(epochs, digits("train"), digits("test"), callbacks=list(callbacks))
    return model.eval(digits("test"))["accuracy"]


# %% tags=["nbval-ignore-output"]
# Starved: it learns next to nothing. (There are ten digits: an accuracy of 0.1 is guessing)
ms.set_seed(1)
flow = ms.show.flow(starved, every=4)
accuracy_starved = train(starved, ms.show.curves("eight layers, sigmoids"), flow)
flow

# %% [markdown]
# ## Mended
# Two changes let the gradient through: an activation whose slope is 1 where it is active, and a way around each layer
# (`x + act(layer(x))`): on the way back the sum hands the gradient on as it is.

# %% tags=["nbval-ignore-output"]
# A way around every layer but the first
class Residual(Deep):
    def construct(self, x):
        x = self.act(self.layers[0](self.flatten(x)))
        for layer in self.layers[1:]:
            x = x + self.act(layer(x))
        return self.last(x)


ms.set_seed(1)
fed = Residual(nn.ReLU())
flow_fed = ms.show.flow(fed, every=4)
accuracy_fed = train(fed, ms.show.curves("eight layers, ReLUs and ways around"), flow_fed)
flow_fed

# %%
# What it changed
print("starved reads fewer than half of the digits:", accuracy_starved < 0.5)
print("mended reads more than 85%:                 ", accuracy_fed > 0.85)
last = {layer: values[-1] for layer, values in flow_fed.sizes.items()}
print("all layers within a factor of 1,000:        ", max(last.values()) / min(last.values()) < 1000)

# %% [markdown]
# ## A gradient that explodes
# A recurrent network multiplies with the same matrix again and again. If that matrix stretches, so does the gradient, once
# per step. Here is the plainest case: 60 steps, stretched by 1.6 each.

# %%
# The gradient of a long product
def unrolled(x, steps=60):
    for _ in range(steps):
        x = x * 1.6
    return x.sum()


for steps in (10, 30, 60):
    print(f"{steps} steps: gradient {float(ms.grad(lambda v: unrolled(v, steps))(ms.Tensor([1.0]))[0]):.3g}")

# %% [markdown]
# No rule is wrong here; the function really is that steep. A step of that length would destroy the weights, so one bounds its
# *length* and keeps its *direction*: clipping by the norm of all gradients together.

# %%
# Clipped: same direction, length 1
huge = (ms.Tensor([3e9, 4e9]), ms.Tensor([0.0]))
clipped = ops.clip_by_global_norm(huge, 1.0)
print([[round(v, 3) for v in g.tolist()] for g in clipped])

# %% [markdown]
# ## What to take home
# - A gradient is a graph, made by one rule per operator; passes shorten it.
# - Training needs memory for what is kept between forward and backward.
# - *Vanishing* and *exploding* are statements about a product of many factors; look at the sizes by layer
#   (`%ms_grad --norms`, `ms.show.flow`) before changing anything.
#
# ## Try it
# 1. Give `Deep` a `nn.Tanh()`: which layers starve now, and how many digits are read?
# 2. Give `Residual` sigmoids: does the way around suffice?
# 3. `%ms_mem --gradient` of `tower` with 12 layers: predict the peak first.
#
# <details><summary>Solutions</summary>
#
# 1. None is marked. The first layer's gradient begins some hundred times below the last one's, grows during the training, and more
#    than half of the digits are read: the slope of a tanh is 1 in its middle, four times a sigmoid's.
# 2. No layer is marked any more, and the network learns, but more slowly than with ReLUs: what goes around a layer arrives,
#    what goes through it is still divided by four or more.
# 3. With `n` layers `n + 1` buffers are held: `13 * 4 KB`, 53,248 bytes.
#
# </details>
