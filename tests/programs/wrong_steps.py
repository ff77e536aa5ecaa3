"""What newcomers do, and mistakes that only the values show: labels, indices and asserts while the program runs."""

from __future__ import annotations

from typing import Any

import numpy as np
from wrong_operations import V, X, of
from wrong_register import both_modes, wrong

import msnb as ms
from msnb import dataset, nn, ops
from msnb.base.errors import ArgumentError, AttributeValueError, DTypeError, GradientError, IndexOutOfRange, ShapeError
from msnb.base.missing_names import MissingName
from msnb.train import Model

FAR = of(2, dtype=np.int32)  # 1, 2: the second is outside an axis of size 2


# ---- values, while it runs -------------------------------------------------------------------------------------


@wrong(IndexOutOfRange, "a target is class 3, and there are 3 classes.", X, lambda: ms.Tensor([0, 3], ms.int32))
def label_that_is_no_class(logits: Any, labels: Any) -> Any:
    return ops.cross_entropy(logits, labels)  # <- here


@wrong(IndexOutOfRange, "a target is class -1, and there are 3 classes.", X, lambda: ms.Tensor([0, -1], ms.int32))
def negative_label(logits: Any, labels: Any) -> Any:
    logp = ops.log_softmax(logits)
    return ops.nll_loss(logp, labels)  # <- here


@wrong(IndexOutOfRange, "index 2 is outside axis 0 of size 2.", X, FAR)
def index_in_a_branch(x: Any, i: Any) -> Any:
    if x.sum() > 0:
        y = x[i]  # <- here
    else:
        y = x[i * 0]
    return y


@wrong(IndexOutOfRange, "index 2 is outside axis 0 of size 2.", X, FAR)
def index_in_a_while(x: Any, i: Any) -> Any:
    n = x.sum()
    while n > 0:
        x = x + ops.gather(x, i, 0)  # <- here: ops.gather(x, i, 0)
        n = n - 5
    return x


@wrong(IndexOutOfRange, "index 5 is outside axis 0 of size 3.", of(3, 2), lambda: ms.Tensor(np.array([[0], [1], [5]])))
def index_in_a_loop_over_rows(x: Any, rows: Any) -> Any:
    total = ops.zeros((1, 2))
    for i in rows:
        total = total + x[i]  # <- here: x[i]
    return total


@wrong(IndexOutOfRange, "index 2 is outside axis 0 of size 2.", X, FAR)
def index_assignment_while_it_runs(x: Any, i: Any) -> Any:
    y = x * 2
    y[i] = 0.0  # <- here: y[i]
    return y


def pick(x: Any, i: Any) -> Any:
    return ops.relu(x)[i]  # <- here


@wrong(IndexOutOfRange, "index 2 is outside axis 0 of size 2.", X, FAR, at=pick)
def index_in_a_helper(x: Any, i: Any) -> Any:
    return pick(x, i).sum()


@both_modes(IndexOutOfRange, "index 2 is outside axis 0 of size 2.", X, FAR)
def index_under_a_gradient(x: Any, i: Any) -> Any:
    def loss(v: Any) -> Any:
        return (v[i] * v).sum()  # <- here: v[i]

    return ms.grad(loss)(x)


@wrong(AssertionError, "step 2 of 3", X)
def assert_in_a_loop(x: Any) -> Any:
    for i in range(3):
        x = x - 10
        assert x.sum() > -100, f"step {i} of 3"  # <- here: x.sum() > -100 | assert x.sum() > -100, f"step {i} of 3"
    return x


@wrong(AssertionError, "the sum is 21.0", X)
def assert_tells_a_value(x: Any) -> Any:
    y = x.sum()
    assert y < 0, f"the sum is {y}"  # <- here: y < 0 | assert y < 0, f"the sum is {y}"
    return y


@wrong(AssertionError, "", V)
def assert_without_words(x: Any) -> Any:
    assert (x < 0).all()  # <- here
    return x


class Diverged(RuntimeError):
    """An exception with an ``__init__`` of its own."""

    def __init__(self, step: int, reason: str) -> None:
        super().__init__(f"{reason} at step {step}")
        self.step = step


@wrong(Diverged, "too large at step 7", X)
def own_exception_with_its_own_arguments(x: Any) -> Any:
    if x.sum() > 20:
        raise Diverged(7, "too large")  # <- here: raise Diverged(7, "too large")
    return x


@wrong(ValueError, "no way out", X)
def raise_in_both_branches(x: Any) -> Any:
    if x.sum() > 20:
        raise ValueError("no way out")  # <- here: raise ValueError("no way out")
    else:
        raise ValueError("no way in")


@both_modes(AssertionError, "negative", X)
def assert_under_a_gradient(x: Any) -> Any:
    def loss(v: Any) -> Any:
        y = v.sum()
        assert y < 0, "negative"  # <- here: y < 0 | assert y < 0, "negative"
        return y * y

    return ms.grad(loss)(x)


# ---- networks that do not fit their data ------------------------------------------------------------------------


@both_modes(ShapeError, "conv2d: x has 8 channels, the weight expects 3.", of(2, 8, 8, 3))
def channels_last(images: Any) -> Any:
    return nn.Conv2d(3, 4, 3)(images)  # <- here


@both_modes(DTypeError, "conv2d needs a floating-point x.", of(2, 3, 8, 8, dtype=np.uint8))
def images_of_bytes(images: Any) -> Any:
    return nn.Conv2d(3, 4, 3)(images)  # <- here


@both_modes(ShapeError, "Dense: the last axis of x must be in_channels=256, not 8.", of(2, 1, 8, 8))
def forgot_to_flatten(images: Any) -> Any:
    net = nn.SequentialCell(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Dense(256, 10))
    return net(images)  # <- here


@both_modes(ArgumentError, "Dense takes a Tensor, not ndarray.")
def numpy_into_a_layer() -> Any:
    return nn.Dense(3, 2)(np.ones((2, 3), np.float32))  # <- here


@both_modes(IndexOutOfRange, "index 10 is outside axis 0 of size 10.")
def word_outside_the_vocabulary() -> Any:
    return nn.Embedding(10, 4)(ms.Tensor([[1, 10]]))  # <- here


@both_modes(ShapeError, "BatchNorm2d(3) needs x of 4 axes with 3 channels on axis 1.", of(2, 4, 8, 8))
def batch_norm_channels(x: Any) -> Any:
    return nn.BatchNorm2d(3)(x)  # <- here


@both_modes(ShapeError, "layer_norm: the last axes of x must be [4] (normalized_shape).", X)
def layer_norm_shape(x: Any) -> Any:
    return nn.LayerNorm((4,))(x)  # <- here


@both_modes(ShapeError, "LSTM: the last axis of x must be input_size=3, not 7.", of(5, 2, 7))
def lstm_input(x: Any) -> Any:
    return nn.LSTM(3, 4)(x)  # <- here


@both_modes(AttributeValueError, "embed_dim=10 does not divide into 3 heads.")
def heads_that_do_not_divide() -> Any:
    return nn.MultiheadAttention(10, 3)  # <- here


@both_modes(
    ShapeError,
    "cross_entropy: class indices have shape [2, 3] where [2] is expected.",
    X,
    of(2, 3, dtype=np.int32),
)
def labels_already_one_hot(logits: Any, labels: Any) -> Any:
    return nn.CrossEntropyLoss()(logits, labels)  # <- here


class Step(nn.Cell):
    """A training step in one Cell."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Dense(3, 2)
        self.optimizer = nn.Momentum(self.net.trainable_params(), 0.1, 0.9)
        self.loss = nn.CrossEntropyLoss()
        self.value_and_grad = ms.value_and_grad(self.forward, None, self.optimizer.parameters)

    def forward(self, x: Any, y: Any) -> Any:
        return self.loss(self.net(x), y)  # <- here: self.loss(self.net(x), y)

    def construct(self, x: Any, y: Any) -> Any:
        loss, grads = self.value_and_grad(x, y)
        self.optimizer(grads)
        return loss


@both_modes(
    ShapeError,
    "cross_entropy: class indices have shape [3] where [2] is expected.",
    X,
    of(3, dtype=np.int32),
    at=Step,
)
def training_step_on_another_batch(x: Any, y: Any) -> Any:
    return Step()(x, y)


@both_modes(IndexOutOfRange, "a target is class 2, and there are 2 classes.", X, FAR, at=Step)
def training_step_on_a_wrong_label(x: Any, y: Any) -> Any:
    return Step()(x, y)


@both_modes(ShapeError, "Dense: the last axis of x must be in_channels=5, not 3.")
def model_of_another_width() -> Any:
    rows = dataset.NumpySlicesDataset((np.ones((8, 3), np.float32), np.zeros(8, np.int32)), ["x", "y"]).batch(4)
    net = nn.Dense(5, 2)
    model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1))
    model.train(1, rows)  # <- here: model.train(1, rows)


# ---- other people's words ------------------------------------------------------------------------------------------


@both_modes(
    MissingName,
    "PyTorch's backward() is a function here: ms.grad(fn)(x), or ms.value_and_grad(fn, None, params).",
    X,
)
def backward_of_a_tensor(x: Any) -> Any:
    loss = x.sum()
    return loss.backward()  # <- here: loss.backward


@both_modes(MissingName, "PyTorch's optimizer.step() is a call here: optimizer(gradients).")
def step_of_an_optimizer() -> Any:
    optimizer = nn.SGD(nn.Dense(3, 2).trainable_params(), 0.1)
    return optimizer.step()  # <- here: optimizer.step


class Torch(nn.Cell):
    """Computes in forward."""

    def forward(self, x: Any) -> Any:
        return x


@both_modes(
    NotImplementedError,
    "Torch has no construct(); write `def construct(self, x): ...` (PyTorch calls it forward).",
    X,
)
def forward_instead_of_construct(x: Any) -> Any:
    return Torch()(x)  # <- here


@both_modes(TypeError, "'int' object is not callable", X)
def size_of_pytorch(x: Any) -> Any:
    return x.size(0)  # <- here


@both_modes(AttributeValueError, "transpose: perm (0, 0) does not name each of the 2 axes once.", X)
def permute_names_an_axis_twice(x: Any) -> Any:
    return x.permute(0, 0)  # <- here


@both_modes(ArgumentError, "SGD is called as SGD(gradients): missing a required argument: 'gradients'.")
def gradients_forgotten() -> Any:
    step = nn.SGD(nn.Dense(3, 2).trainable_params(), 0.1)
    return step()  # <- here


@both_modes(AttributeValueError, "one_hot: depth is the number of classes, an int of at least 1, got -1.")
def one_hot_depth() -> Any:
    return ops.one_hot(ms.Tensor([0, 1]), -1)  # <- here


@both_modes(ValueError, "Dropout needs 0 <= p < 1, got p=1.5.")
def dropout_layer_rate() -> Any:
    return nn.Dropout(p=1.5)  # <- here


# ---- gradients of one's own -----------------------------------------------------------------------------------------


class NarrowGradient(nn.Cell):
    """Its gradient has lost an axis."""

    def construct(self, x: Any) -> Any:
        return x * 2

    def bprop(self, x: Any, out: Any, dout: Any) -> Any:
        return (dout.sum(0),)


class ShortGradient(nn.Cell):
    """Its gradient takes the input alone."""

    def construct(self, x: Any) -> Any:
        return x * 2

    def bprop(self, x: Any) -> Any:
        return (x,)


@both_modes(GradientError, "bprop gave a gradient of shape [3] for an input of shape [2, 3].", X)
def bprop_of_another_shape(x: Any) -> Any:
    return ms.grad(NarrowGradient())(x)  # <- here


@both_modes(
    ArgumentError,
    "bprop takes 3 arguments here: the inputs of construct (1), its result, and the gradient of that; "
    "this one is bprop(x).",
    X,
)
def bprop_of_another_signature(x: Any) -> Any:
    return ms.grad(ShortGradient())(x)  # <- here


# ---- numbers out of tensors ------------------------------------------------------------------------------------------


@wrong(ShapeError, "int() needs a tensor of one element, this one has shape [2, 3].", X)
def int_of_many(x: Any) -> Any:
    return int(x)  # <- here


@wrong(ShapeError, "float() needs a tensor of one element, this one has shape [2, 3].", X)
def float_of_many(x: Any) -> Any:
    return x * float(x)  # <- here: float(x)


@wrong(DTypeError, "only a tensor of one integer can be an index, this is f32[].", X)
def range_of_a_float(x: Any) -> Any:
    for _ in range(x.sum()):  # <- here: range(x.sum())
        x = x * 2
    return x


@wrong(ShapeError, "reshape: f32[4] cannot become [3]: it has 4 elements, the new shape 3.", X)
def selected_and_reshaped(x: Any) -> Any:
    return x[x > 2].reshape(3)  # <- here: x[x > 2].reshape(3)


@both_modes(ArgumentError, "where: y is None; an operand is a tensor, a number, an array or a list of numbers.")
def where_of_two() -> Any:
    return ops.where(ops.ones((2,)) > 0, 1.0)  # <- here


@both_modes(ShapeError, "matmul: the leading axes [2] and [3] do not broadcast.")
def batches_of_two_sizes() -> Any:
    return ops.bmm(ops.ones((2, 3, 4)), ops.ones((3, 4, 5)))  # <- here


@both_modes(
    ValueError,
    "there is no initializer 'normall'; legal: he_normal, he_uniform, identity, normal, one, ones, "
    "orthogonal, truncated_normal, truncatednormal, uniform, xavier_normal, xavier_uniform, zero, zeros.",
)
def unknown_initializer() -> Any:
    return nn.Dense(3, 4, weight_init="normall")  # <- here


@both_modes(TypeError, "learning_rate must be a number, got '0.1'.")
def learning_rate_in_words() -> Any:
    return nn.SGD(nn.Dense(3, 4).trainable_params(), "0.1")  # <- here
