"""Networks, Parameters, optimizers, gradients, devices and the context: scripts that run under either mode."""

from __future__ import annotations

from typing import Any

import numpy as np
from wrong_operations import X, of
from wrong_register import both_modes

import msnb as ms
from msnb import nn, ops
from msnb.base.errors import (
    ArgumentError,
    AttributeValueError,
    ContextError,
    DeviceError,
    DTypeError,
    GradientError,
    IndexOutOfRange,
    ShapeError,
)
from msnb.base.missing_names import MissingName


class Net(nn.Cell):
    """A layer, and something after it."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(3, 4)
        self.scale = ms.Parameter(np.ones(5, np.float32), name="scale")

    def construct(self, x: Any) -> Any:
        y = self.dense(x)
        return y * self.scale  # <- here


class Outer(nn.Cell):
    """A Cell around a Cell."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.SequentialCell(nn.ReLU(), Net())

    def construct(self, x: Any) -> Any:
        return self.inner(x)


class Layers(nn.Cell):
    """Ready-made layers alone."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(4, 2)
        self.conv = nn.Conv2d(3, 8, 3)

    def construct(self, x: Any) -> Any:
        if x.ndim == 2:
            return self.dense(x)
        return self.conv(x)


class Plain(nn.Cell):
    """Takes two tensors."""

    def construct(self, x: Any, y: Any) -> Any:
        return x + y


class NoInit(nn.Cell):
    """Forgets super().__init__()."""

    def __init__(self) -> None:
        self.dense = nn.Dense(3, 4)  # <- here: self.dense


class Empty(nn.Cell):
    """Has no construct."""


class BadGradient(nn.Cell):
    """Two inputs, one gradient."""

    def construct(self, x: Any, y: Any) -> Any:
        return x * y

    def bprop(self, x: Any, y: Any, out: Any, dout: Any) -> Any:
        return (dout * y,)


class Typo(nn.Cell):
    """Reads what it does not have."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(3, 4)

    def construct(self, x: Any) -> Any:
        return self.dens(x)  # <- here: self.dens


@both_modes(ShapeError, "multiply: the shapes [2, 4] and [5] do not broadcast.", X, at=Net)
def in_a_cell(x: Any) -> Any:
    return Net()(x)


@both_modes(ShapeError, "multiply: the shapes [2, 4] and [5] do not broadcast.", X, at=Net)
def in_a_nested_cell(x: Any) -> Any:
    return Outer()(x)


@both_modes(MissingName, "Typo has no attribute 'dens'; did you mean dense?", X, at=Typo)
def attribute_that_is_not_there(x: Any) -> Any:
    return Typo()(x)


@both_modes(ShapeError, "Dense: the last axis of x must be in_channels=4, not 3.", X)
def dense_of_another_width(x: Any) -> Any:
    return nn.Dense(4, 2)(x)  # <- here


@both_modes(ShapeError, "conv2d: x has 1 channels, the weight expects 3.", of(1, 1, 8, 8))
def conv_of_other_channels(x: Any) -> Any:
    return nn.Conv2d(3, 8, 3)(x)  # <- here


@both_modes(ShapeError, "conv2d needs x (batch, channels, rows, columns) and a weight of 4 axes.", of(8, 8))
def flatten_missing(x: Any) -> Any:
    return nn.Conv2d(3, 8, 3)(x)  # <- here


@both_modes(ArgumentError, "Plain is called as Plain(x, y): missing a required argument: 'y'.", X)
def cell_called_with_too_few(x: Any) -> Any:
    return Plain()(x)  # <- here


@both_modes(ArgumentError, "Plain is called as Plain(x, y): too many positional arguments.", X)
def cell_called_with_too_many(x: Any) -> Any:
    return Plain()(x, x, x)  # <- here


@both_modes(ArgumentError, "Plain is called as Plain(x, y): missing a required argument: 'y'.", X)
def cell_called_with_a_wrong_keyword(x: Any) -> Any:
    return Plain()(x, z=x)  # <- here


@both_modes(AttributeError, "NoInit: call super().__init__() in __init__ before assigning NoInit.dense.", at=NoInit)
def forgot_super_init() -> Any:
    return NoInit()


@both_modes(
    NotImplementedError,
    "Empty has no construct(); write `def construct(self, x): ...` (PyTorch calls it forward).",
    X,
)
def forgot_construct(x: Any) -> Any:
    return Empty()(x)  # <- here


@both_modes(ShapeError, "parameter scale has shape [5], the new data [3].")
def set_data_shape() -> Any:
    Net().scale.set_data(np.ones(3))  # <- here


@both_modes(
    TypeError,
    "Net.scale is a Parameter and cannot become a float; use self.scale.set_data(...) or ops.assign, or "
    "`del` it first.",
)
def number_over_a_parameter() -> Any:
    net = Net()
    net.scale = 5.0  # <- here: net.scale


@both_modes(ShapeError, "Net.scale is a Parameter of shape [5], the value assigned has shape [3].")
def tensor_of_another_shape_over_a_parameter() -> Any:
    net = Net()
    net.scale = ms.Tensor(np.ones(3))  # <- here: net.scale


@both_modes(ShapeError, "assign: a value of shape [3] does not fit a variable of [5].")
def assign_shape() -> Any:
    ops.assign(Net().scale, ms.Tensor(np.ones(3)))  # <- here


@both_modes(ArgumentError, "Dense: missing a required argument: 'out_channels'.")
def layer_without_sizes() -> Any:
    return nn.Dense(3)  # <- here


@both_modes(ValueError, "in_channels must be at least 1, got -3.")
def layer_of_a_negative_size() -> Any:
    return nn.Dense(-3, 4)  # <- here


@both_modes(AttributeValueError, "pad_mode must be 'valid', 'same' or 'pad', got 'full'.")
def layer_pad_mode() -> Any:
    return nn.Conv2d(3, 8, 3, pad_mode="full")  # <- here


@both_modes(
    AttributeValueError,
    "there is no activation 'rleu'; legal: celu, elu, fast_gelu, gelu, glu, hardtanh, hshrink, hsigmoid, hswish, "
    "leakyrelu, logsigmoid, logsoftmax, mish, prelu, relu, relu6, rrelu, selu, sigmoid, silu, softmax, softmax2d, "
    "softmin, softplus, softshrink, softsign, tanh, tanhshrink.",
)
def layer_activation() -> Any:
    return nn.Dense(3, 4, activation="rleu")  # <- here


# ---- optimizers ------------------------------------------------------------------------------------------------------


@both_modes(
    AttributeValueError,
    "For 'Optimizer', the argument parameters must not be empty: it needs at least one Parameter.",
)
def optimizer_of_nothing() -> Any:
    return nn.SGD(nn.ReLU().trainable_params(), 0.1)  # <- here


@both_modes(TypeError, "an optimizer takes a list of Parameters or of dicts, not Net; pass net.trainable_params().")
def optimizer_of_a_cell() -> Any:
    return nn.Adam(Net(), 0.1)  # <- here


@both_modes(ValueError, "learning_rate must be at least 0, got -0.1.")
def optimizer_learning_rate() -> Any:
    return nn.SGD(Net().trainable_params(), -0.1)  # <- here


@both_modes(ArgumentError, "SGD got 1 gradients for 3 parameters.")
def optimizer_with_too_few_gradients() -> Any:
    step = nn.SGD(Net().trainable_params(), 0.1)
    return step((ms.Tensor(np.ones(5, np.float32)),))  # <- here


# ---- gradients, vmap -------------------------------------------------------------------------------------------------


@both_modes(
    DTypeError,
    "argument 0 has dtype Int32: gradients exist for floating-point tensors only.",
    of(3, dtype=np.int32),
)
def gradient_of_integers(x: Any) -> Any:
    return ms.grad(lambda v: v.sum())(x)  # <- here


@both_modes(IndexOutOfRange, "grad_position 1 is outside the 1 arguments of this call of <lambda>.", X)
def grad_position_out_of_range(x: Any) -> Any:
    return ms.grad(lambda v: v.sum(), grad_position=1)(x)  # <- here


@both_modes(ShapeError, "multiply: the shapes [2, 3] and [4] do not broadcast.", X, of(4))
def gradient_of_a_wrong_program(x: Any, y: Any) -> Any:
    def loss(v: Any) -> Any:
        return (v * y).sum()  # <- here: v * y

    return ms.grad(loss)(x)


@both_modes(GradientError, "the function returned str: there is no tensor to differentiate.", X)
def gradient_of_a_string(x: Any) -> Any:
    return ms.grad(lambda v: "loss")(x)  # <- here


@both_modes(ArgumentError, "grad takes a function or a Cell, not a Tensor.", X)
def gradient_of_no_function(x: Any) -> Any:
    return ms.grad(x)(x)  # <- here: ms.grad(x)


@both_modes(GradientError, "bprop gave 1 gradients for 2 inputs.", X)
def bprop_with_one_gradient(x: Any) -> Any:
    net = BadGradient()
    return ms.grad(net, grad_position=(0, 1))(x, x)  # <- here


@both_modes(AttributeValueError, "vmap: the batch axis 2 does not exist in an argument f32[2,3].", X)
def vmap_axis(x: Any) -> Any:
    return ms.vmap(lambda v: v * 2, in_axes=2)(x)  # <- here


@both_modes(ShapeError, "vmap: the batch sizes differ: 2 and 4.", X, of(4))
def vmap_sizes(x: Any, y: Any) -> Any:
    return ms.vmap(lambda a, b: a.sum() * b)(x, y)  # <- here


# ---- context, devices ------------------------------------------------------------------------------------------------


@both_modes(
    ContextError,
    "set_context has no key 'device'; did you mean device_id? Legal: deterministic, device_id, device_target, "
    "jit_level, matmul_precision, max_call_depth, mode, pynative_synchronize, runtime_num_threads, save_graphs, "
    "save_graphs_path, soc_version, verify_graphs.",
)
def context_key() -> Any:
    ms.set_context(device="CPU")  # <- here


@both_modes(
    ContextError,
    "set_context(mode='static') is not legal; legal: GRAPH_MODE (0), PYNATIVE_MODE (1), 'graph' or 'pynative'.",
)
def context_mode() -> Any:
    ms.set_context(mode="static")  # <- here


@both_modes(ContextError, "set_context(device_target='TPU') is not legal; legal: Ascend, CPU, GPU, SimulatedGPU.")
def context_device() -> Any:
    ms.set_context(device_target="TPU")  # <- here


@both_modes(DeviceError, "the GPU cannot be used: CuPy is not installed.")
def device_that_is_missing() -> Any:
    ms.set_context(device_target="GPU")  # <- here


@both_modes(
    TypeError,
    "jit has no option 'level'; it takes backend, capture_mode, compile_once, dynamic, fullgraph, "
    "hash_args, input_signature, jit_config, jit_level, mode, name.",
)
def jit_option() -> Any:
    return ms.jit(level="fast")(len)  # <- here: ms.jit(level="fast")


@both_modes(TypeError, "jit compiles a function, method or Cell, not int.")
def jit_of_no_function() -> Any:
    return ms.jit(3)  # <- here


@both_modes(DTypeError, "to_float takes one of float16, bfloat16, float32, float64, got int32.")
def to_float_of_an_int() -> Any:
    return Net().to_float(ms.int32)  # <- here
