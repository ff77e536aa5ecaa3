"""What a person who knows MindSpore (of some version) or PyTorch types first: it works, or the answer is a sentence.

Every snippet runs in both modes; a comparison of shapes or values makes it a test, in graph mode once more inside a
compiled function.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from msnb.common import dtype as mstype, set_seed
from msnb.common.initializer import Normal, initializer
from msnb.nn.metrics import Loss
from msnb.train.callback import CheckpointConfig, LossMonitor, ModelCheckpoint, TimeMonitor

import msnb as ms
from msnb import Model, Parameter, ParameterTuple, Tensor, context, nn, ops
from msnb.dataset import transforms, vision
from msnb.dataset.transforms import c_transforms
from msnb.dataset.vision import c_transforms as c_vision
from msnb.nn import Accuracy, Cell
from msnb.ops import composite as C, functional as F, operations as P
from msnb.train.files.checkpoint import load_checkpoint, load_param_into_net, save_checkpoint

# what the snippets below use beyond that
exec(
    """
from collections import OrderedDict
from msnb.common.api import ms_function
from msnb.common.initializer import HeNormal, TruncatedNormal, XavierUniform
from msnb.common.parameter import Parameter as Parameter2
from msnb.nn.learning_rate_schedule import LearningRateSchedule
from msnb.common.seed import set_seed as set_seed2
from msnb.dataset.engine.datasets import GeneratorDataset
from msnb.dataset.transforms.transforms import Compose
from msnb.dataset.vision.utils import Inter
from msnb.nn.dynamic_lr import piecewise_constant_lr
from msnb.nn.layer.basic import Dense
from msnb.nn.loss.loss import LossBase, MSELoss
from msnb.nn.metrics.metric import Metric
from msnb.nn.optim.momentum import Momentum
from msnb.nn.utils import no_init_parameters
from msnb.nn.wrap.cell_wrapper import TrainOneStepCell
from msnb.nn.wrap.grad_reducer import DistributedGradReducer
from msnb.nn.wrap.loss_scale import DynamicLossScaleUpdateCell
from msnb.ops.operations.comm_ops import ReduceOp
from msnb.train.callback._callback import Callback
from msnb.train.model import ParallelMode
"""
)

RNG = np.random.default_rng(0)
DATA = RNG.standard_normal(60).astype(np.float32)


def t(*shape: int) -> Tensor:
    """Numbers of a shape, the same every time."""
    return Tensor(np.resize(DATA, shape))


def r(*shape: int) -> Tensor:
    """0, 1, 2 ... in a shape."""
    return Tensor(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


def same(found: Any, want: Any) -> bool:
    several = isinstance(found, (tuple, list))
    parts, wants = (found, want) if several else ([found], [want])
    return len(parts) == len(wants) and all(
        np.allclose(np.asarray(p), np.asarray(w), atol=1e-5) for p, w in zip(parts, wants)
    )


# ---- operator classes -------------------------------------------------------------------------------------------

PRIMITIVES = """
ops.MatMul()(t(2, 3), t(3, 4))                               np.matmul(t(2, 3).asnumpy(), t(3, 4).asnumpy())
ops.MatMul(transpose_b=True)(t(2, 3), t(4, 3))               t(2, 3).asnumpy() @ t(4, 3).asnumpy().T
P.BatchMatMul(transpose_a=True)(t(2, 3, 2), t(2, 3, 4))      t(2, 3, 2).asnumpy().swapaxes(1, 2) @ t(2, 3, 4).asnumpy()
P.ReLU()(t(2, 3))                                            np.maximum(t(2, 3).asnumpy(), 0)
ops.ReduceSum(keep_dims=True)(t(2, 3), 1)                    t(2, 3).asnumpy().sum(1, keepdims=True)
ops.ReduceMean()(t(2, 3))                                    t(2, 3).asnumpy().mean()
P.ReduceMax()(t(2, 3), (0, 1))                               t(2, 3).asnumpy().max()
ops.Softmax(axis=0)(t(2, 3))                                 F.softmax(t(2, 3), 0)
ops.LogSoftmax(-1)(t(2, 3))                                  F.log_softmax(t(2, 3), -1)
ops.Concat(axis=1)((t(2, 3), t(2, 4)))                       np.concatenate([t(2, 3).asnumpy(), t(2, 4).asnumpy()], 1)
ops.Stack()([t(2), t(2)])                                    np.stack([t(2).asnumpy(), t(2).asnumpy()])
ops.Split(1, 2)(t(2, 4))                                     np.split(t(2, 4).asnumpy(), 2, 1)
ops.Reshape()(t(2, 3), (3, 2))                               t(2, 3).asnumpy().reshape(3, 2)
ops.Transpose()(t(2, 3), (1, 0))                             t(2, 3).asnumpy().T
ops.ExpandDims()(t(2, 3), 0)                                 t(2, 3).asnumpy()[None]
ops.Squeeze(0)(t(1, 3))                                      t(1, 3).asnumpy()[0]
ops.Tile()(t(2), (3,))                                       np.tile(t(2).asnumpy(), 3)
ops.OneHot()(Tensor([0, 2]), 3, Tensor(1.0), Tensor(0.0))    np.eye(3)[[0, 2]]
ops.Gather()(t(4, 3), Tensor([0, 2]), 0)                     t(4, 3).asnumpy()[[0, 2]]
ops.Argmax(axis=1)(t(4, 3))                                  t(4, 3).asnumpy().argmax(1)
ops.ArgMaxWithValue(axis=1)(t(4, 3))                         [t(4, 3).asnumpy().argmax(1), t(4, 3).asnumpy().max(1)]
ops.TopK(sorted=True)(t(5), 2)[0]                            np.sort(t(5).asnumpy())[:-3:-1]
ops.Select()(t(3) > 0, t(3), -t(3))                          np.abs(t(3).asnumpy())
ops.Fill()(ms.float32, (2, 2), 3)                            np.full((2, 2), 3)
ops.Eye()(2, 3, ms.float32)                                  np.eye(2, 3)
ops.Conv2D(4, 3)(t(1, 2, 5, 5), t(4, 2, 3, 3))               F.conv2d(t(1, 2, 5, 5), t(4, 2, 3, 3))
ops.MaxPool(kernel_size=2, strides=2)(t(1, 2, 4, 4))         F.max_pool2d(t(1, 2, 4, 4), 2, 2)
ops.BiasAdd()(t(2, 3), t(3))                                 t(2, 3).asnumpy() + t(3).asnumpy()
ops.L2Loss()(t(3))                                           (t(3).asnumpy() ** 2).sum() / 2
ops.ReverseV2(axis=[0])(t(2, 3))                             t(2, 3).asnumpy()[::-1]
ops.CumSum()(t(2, 3), 1)                                     t(2, 3).asnumpy().cumsum(1)
ops.LayerNorm(1, 1)(t(2, 3), ops.ones(3), ops.zeros(3))[0]   F.layer_norm(t(2, 3), (3,), eps=1e-7)
ops.Pad(((1, 0), (0, 2)))(t(2, 3))                           np.pad(t(2, 3).asnumpy(), ((1, 0), (0, 2)))
ops.StridedSlice()(t(4, 4), (0, 1), (4, 4), (2, 1))          t(4, 4).asnumpy()[::2, 1:]
ops.Slice()(t(4, 4), (1, 0), (2, 3))                         t(4, 4).asnumpy()[1:3, :3]
ops.Einsum("ij,jk->ik")((t(2, 3), t(3, 4)))                  t(2, 3).asnumpy() @ t(3, 4).asnumpy()
ops.LogicalNot()(t(3) > 0)                                   t(3).asnumpy() <= 0
ops.BroadcastTo((2, 3))(t(3))                                np.broadcast_to(t(3).asnumpy(), (2, 3))
ops.AddN()([t(2), t(2), t(2)])                               3 * t(2).asnumpy()
ops.RealDiv()(t(3), t(3))                                    np.ones(3)
ops.InTopK(2)(Tensor([[1.0, 2.0, 3.0]]), Tensor([0]))        [False]
ops.Range()(0, 5, 2)                                         np.arange(0, 5, 2)
ops.GatherD()(t(2, 3), 1, Tensor([[0], [2]]))                t(2, 3).asnumpy()[[0, 1], [0, 2]][:, None]
ops.LpNorm(axis=[1], p=3)(t(2, 3))                           (np.abs(t(2, 3).asnumpy()) ** 3).sum(1) ** (1 / 3)
ops.SigmoidCrossEntropyWithLogits()(Tensor([0.5]), Tensor([1.0]))   [np.log1p(np.exp(-0.5))]
ops.ResizeBilinear((3, 5))(r(1, 1, 2, 4))[0, 0, :2]          [[0, 0.8, 1.6, 2.4, 3], [8 / 3, 52 / 15, 64 / 15, 76 / 15, 17 / 3]]
ops.ResizeBilinear((3, 5), align_corners=True)(r(1, 1, 2, 4))[0, 0, 1]       [2, 2.75, 3.5, 4.25, 5]
ops.ResizeBilinearV2(half_pixel_centers=True)(r(1, 1, 2, 4), (3, 5))[0, 0, 0]   [0, 0.7, 1.5, 2.3, 3]
ops.ResizeNearestNeighbor((3, 5))(r(1, 1, 2, 4))[0, 0]       [[0, 0, 1, 2, 3], [0, 0, 1, 2, 3], [4, 4, 5, 6, 7]]
ops.ResizeNearestNeighbor((3, 5), align_corners=True)(r(1, 1, 2, 4))[0, 0]   [[0, 1, 2, 2, 3], [4, 5, 6, 6, 7], [4, 5, 6, 6, 7]]
ops.DepthToSpace(2)(r(1, 8, 1, 1))                           [[[[0, 2], [4, 6]], [[1, 3], [5, 7]]]]
ops.SpaceToDepth(2)(r(1, 2, 2, 2)).reshape(8)                [0, 4, 1, 5, 2, 6, 3, 7]
ops.SparseSoftmaxCrossEntropyWithLogits()(t(2, 3), Tensor([0, 1]))   F.cross_entropy(t(2, 3), Tensor([0, 1]))
ops.SoftmaxCrossEntropyWithLogits()(t(2, 3), F.one_hot(Tensor([0, 1]), 3))[0]   F.cross_entropy(t(2, 3), Tensor([0, 1]), reduction="none")
""".strip().splitlines()  # noqa: E501


@pytest.mark.parametrize("line", PRIMITIVES, ids=lambda line: line.split("(")[0])
def test_operator_classes(line: str, mode: int) -> None:
    call, want = re.split(r"\s{3,}", line)
    expected = eval(want)
    assert same(eval(call), expected)
    if mode == ms.GRAPH_MODE:
        assert same(ms.jit(eval(f"lambda: {call}", {**globals()}))(), expected)


class Old(nn.Cell):
    """A network of 2020: operators made in ``__init__``."""

    def __init__(self) -> None:
        super(Old, self).__init__()  # noqa: UP008
        self.weight = Parameter(initializer(Normal(0.1), [3, 4], mstype.float32), name="weight")
        self.matmul, self.relu, self.cast = P.MatMul(), P.ReLU(), P.Cast()
        self.sum = P.ReduceSum(keep_dims=False)
        self.shape, self.reshape = P.Shape(), P.Reshape()

    def construct(self, x: Any) -> Any:
        n = self.shape(x)[0]
        y = self.relu(self.matmul(self.cast(x, mstype.float32), self.weight))
        return self.sum(self.reshape(y, (n, 2, 2)), (1, 2))


class GradWrap(nn.Cell):
    def __init__(self, network: nn.Cell) -> None:
        super().__init__(auto_prefix=False)
        self.network = network
        self.weights = ParameterTuple(network.trainable_params())
        self.grad = C.GradOperation(get_by_list=True)

    def construct(self, x: Any) -> Any:
        return self.grad(self.network, self.weights)(x)


def test_a_network_of_2020(mode: int) -> None:
    set_seed(1)
    net = Old()
    x, w = t(2, 3).asnumpy(), net.weight.asnumpy()
    np.testing.assert_allclose(net(t(2, 3)).asnumpy(), np.maximum(x @ w, 0).sum(1), rtol=1e-5)
    (found,) = GradWrap(net)(t(2, 3))
    np.testing.assert_allclose(found.asnumpy(), x.T @ (x @ w > 0), rtol=1e-5, atol=1e-7)


def test_gradients_clipped_the_old_way(mode: int) -> None:
    clip = C.MultitypeFuncGraph("clip")

    @clip.register("Number", "Tensor")
    def _clip(limit: Any, grad: Any) -> Any:
        return C.clip_by_value(grad, -limit, limit)

    hyper_map = C.HyperMap()

    def fn(x: Any, y: Any) -> Any:
        grads = ms.grad(lambda a, b: (a * b).sum(), (0, 1))(x, y)
        return hyper_map(F.partial(clip, 0.5), grads)

    fn = ms.jit(fn) if mode == ms.GRAPH_MODE else fn
    x, y = fn(Tensor([3.0, 0.25]), Tensor([-2.0, 0.125]))
    assert (x.tolist(), y.tolist()) == ([-0.5, 0.125], [0.5, 0.25])
    assert ops.Map()(ops.square, [Tensor(2.0)])[0].item() == 4.0
    with pytest.raises(TypeError, match=r"clip has no function for \(str\)"):
        clip("a")


# ---- functions, methods, layers ---------------------------------------------------------------------------------

SNIPPETS = """
ms.tensor([1.0, 2.0]).sum().item() == 3
Tensor(shape=(2, 2), dtype=mstype.float32, init=ms.common.initializer.One()).init_data().sum() == 4
Tensor(np.ones(2)).dtype == ms.float64 and Tensor([1.0]).dtype == ms.common.dtype.float32
Tensor.from_numpy(np.ones(2)).shape == ms.from_numpy(np.ones(2)).shape == (2,)
ops.shape(t(2, 3)) == (2, 3) and ops.size(t(2, 3)) == ops.numel(t(2, 3)) == 6 and ops.rank(t(2, 3)) == 2
same(F.dense(t(2, 3), t(4, 3), t(4)), t(2, 3).asnumpy() @ t(4, 3).asnumpy().T + t(4).asnumpy())
same(ops.bias_add(t(2, 3, 2), t(3)), t(2, 3, 2).asnumpy() + t(3).asnumpy()[:, None])
same(ops.l2_normalize(t(3), 0), t(3).asnumpy() / np.linalg.norm(t(3).asnumpy()))
same(ops.fill(ms.int32, (2,), 7), [7, 7]) and ops.fill(ms.int32, (2,), 7).dtype == ms.int32
same(ops.tensor_dot(t(2, 3), t(3, 4), 1), t(2, 3).asnumpy() @ t(3, 4).asnumpy())
ops.argmax(t(2, 3), dim=1).shape == (2,) and ops.sum(t(2, 3), dim=0, keepdim=True).shape == (1, 3)
ops.mean(t(2, 3), axis=1, keep_dims=True).shape == t(2, 3).mean(-1, keep_dims=True).shape == (2, 1)
ops.cat([t(2), t(2)], axis=0).shape == ops.concat((t(2), t(2))).shape == (4,)
same(ops.clip_by_value(t(3), -1, 1), np.clip(t(3).asnumpy(), -1, 1))
same(t(2, 3).view(3, 2), t(2, 3).view((3, 2))) and t(2, 3).view(-1).shape == (6,)
t(2, 3).permute(1, 0).shape == t(2, 3).T.shape == t(2, 3).transpose(1, 0).shape == (3, 2)
same(t(2, 3).masked_fill(t(2, 3) > 0, 0.0), np.minimum(t(2, 3).asnumpy(), 0))
t(2, 3).unsqueeze(0).shape == t(2, 3).expand_dims(0).shape == t(2, 3).broadcast_to((1, 2, 3)).shape
same(t(2, 3).clone(), t(2, 3).copy()) and same(t(2, 3).detach(), t(2, 3).value())
t(2, 3).numel() == 6 and t(2, 3).dim() == 2 and t(2, 3).contiguous().is_contiguous()
t(2, 3).to(ms.float16).dtype == t(2, 3).type(ms.float16).dtype == t(2, 3).half().dtype == ms.float16
t(2, 3).new_zeros((2,)).shape == t(2, 3).new_ones(2).shape == (2,) and t(2).is_floating_point()
same(t(2, 3).itemset((0, 1), 9.0)[0, 1], 9) and same(t(3).fill(2.0), [2, 2, 2])
nn.Dense(3, 4, activation="relu")(t(2, 3)).shape == (2, 4)
nn.Dense(3, 4, weight_init=Normal(0.02), bias_init="zeros")(t(2, 3)).shape == (2, 4)
nn.Dense(3, 4, weight_init=HeNormal(), has_bias=False, activation=nn.ReLU())(t(2, 3)).shape == (2, 4)
nn.SequentialCell([nn.Dense(3, 4), nn.ReLU()])(t(2, 3)).shape == (2, 4)
nn.SequentialCell(OrderedDict([("a", nn.Dense(3, 4)), ("b", nn.ReLU())]))(t(2, 3)).shape == (2, 4)
nn.Conv2d(3, 4, 3, pad_mode="same", weight_init="he_normal")(t(1, 3, 5, 5)).shape == (1, 4, 5, 5)
nn.LSTM(3, 4, num_layers=2, batch_first=True, bidirectional=True)(t(2, 5, 3))[0].shape == (2, 5, 8)
nn.layer.Dense is nn.Dense and nn.optim.Adam is nn.Adam and nn.Parameter is Parameter
same(nn.Pad(((0, 0), (1, 2)))(r(1, 3)), [[0, 0, 1, 2, 0, 0]])
same(nn.Pad(((0, 0), (2, 1)), mode="REFLECT")(r(1, 3)), [[2, 1, 0, 1, 2, 1]])
same(nn.Pad(((0, 0), (2, 1)), mode="SYMMETRIC")(r(1, 3)), [[1, 0, 0, 1, 2, 2]])
same(nn.ResizeBilinear()(r(1, 1, 2, 4), size=(2, 5))[0, 0, 0], [0, 0.8, 1.6, 2.4, 3])
nn.ResizeBilinear(half_pixel_centers=True)(r(1, 1, 2, 4), scale_factor=2).shape == (1, 1, 4, 8)
same(nn.ClipByNorm()(Tensor([3.0, 4.0]), Tensor([1.0])), [0.6, 0.8]) and same(nn.Norm(axis=0)(r(2)), 1)
same(nn.ClipByNorm()(Tensor([0.3, 0.4]), F.cast(F.tuple_to_array((1.0,)), ms.float32)), [0.3, 0.4])
same(nn.OneHot(depth=3)(Tensor([1, 2])), [[0, 1, 0], [0, 0, 1]])
nn.Unfold([1, 2, 2, 1], [1, 1, 1, 1], [1, 2, 2, 1])(r(1, 3, 4, 4)).shape == (1, 12, 2, 2)
same(nn.Unfold([1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1])(r(1, 1, 2, 3))[0, :, 0, 0], [0, 1, 3, 4])
nn.Conv2dBnAct(3, 4, 3, has_bn=True, activation="leakyrelu", weight_init="ones")(r(1, 3, 5, 5)).shape == (1, 4, 5, 5)
nn.DenseBnAct(3, 4, has_bn=True, activation=nn.ReLU())(r(2, 3)).shape == (2, 4) == nn.DenseBnAct(3, 4)(r(2, 3)).shape
F.scalar_to_tensor(3).dtype == ms.float32 and F.tuple_to_array(range(2)).dtype == ms.int32 and F.make_range(2) == (0, 1)
same(ops.range(Tensor(0), Tensor(4), Tensor(2)), [0, 2]) and same(ops.repeat_elements(r(2), 2, 0), [0, 0, 1, 1])
ops.ScalarCast()(3.7, ms.int32) == 3 and ops.ScalarCast()(3, ms.float32) == 3.0
nn.Dense(2, 1).add_flags_recursive(fp16=True)(r(1, 2)).dtype == ms.float16
nn.SequentialCell(nn.Dense(2, 1)).add_flags_recursive(stage=3)[0].stage == 3
nn.Dense(2, 1).set_comm_fusion(2).weight.comm_fusion == 2 and nn.Dense(2, 1).get_flags()["training"] is False
issubclass(nn.CosineDecayLR, LearningRateSchedule) and nn.Metric is ms.train.Metric and nn.Accuracy is Accuracy
ms.Parameter(initializer(XavierUniform(), (2, 3)), name="w").shape == (2, 3) and Parameter2 is Parameter
Parameter(initializer(TruncatedNormal(0.1), [2]), name="w", requires_grad=False).requires_grad is False
""".strip().splitlines()


@pytest.mark.parametrize("line", SNIPPETS, ids=range(len(SNIPPETS)))
def test_snippets(line: str, mode: int) -> None:
    assert eval(line)


TRANSFORMS = """
same(ops.grad(lambda x: (x * x).sum())(t(2)), 2 * t(2).asnumpy())
same(ops.value_and_grad(lambda x: (x * x).sum())(t(2)), [(t(2).asnumpy() ** 2).sum(), 2 * t(2).asnumpy()])
same(ms.value_and_grad(lambda x: ((x * x).sum(), x + 1), has_aux=True)(t(2))[0][1], t(2).asnumpy() + 1)
same(ms.grad(lambda x, y: (x * y).sum(), grad_position=(0, 1))(t(2), t(2)), [t(2), t(2)])
same(ops.GradOperation(get_all=True)(lambda x, y: (x * y).sum())(t(2), t(2)), [t(2), t(2)])
same(C.GradOperation(sens_param=True)(lambda x: x * x)(t(2), ops.ones(2)), 2 * t(2).asnumpy())
same(ms.jit(lambda x: x * 2)(t(2)), 2 * t(2).asnumpy())
same(ms_function(lambda x: x * 2)(t(2)), 2 * t(2).asnumpy()) and ms.ms_function is ms.jit
same(ms.jit(jit_config=None)(lambda x: x + 1)(t(2)), t(2).asnumpy() + 1)
same(ms.jit(lambda xs: xs[0] + xs[1])(ms.mutable((t(2), t(2)))), 2 * t(2).asnumpy())
same(ms.jit(lambda x: x * ms.constexpr(lambda n: n + 1)(3))(t(2)), 4 * t(2).asnumpy())
same(ops.vmap(lambda x: x.sum())(t(2, 3)), t(2, 3).asnumpy().sum(1))
same(ops.jvp(lambda x: x * x, t(2), ops.ones(2))[1], 2 * t(2).asnumpy())
""".strip().splitlines()


@pytest.mark.parametrize("line", TRANSFORMS, ids=range(len(TRANSFORMS)))
def test_transforms(line: str, mode: int) -> None:
    assert eval(line)


@ms.jit_class
class Scale:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, x: Any) -> Any:
        return x * self.factor


def test_a_class_inside_a_compiled_function(mode: int) -> None:
    scale = Scale(3.0)
    fn = ms.jit(lambda x: scale(x))
    assert fn(Tensor([1.0])).tolist() == [3.0]
    scale.factor = 4.0
    assert fn(Tensor([1.0])).tolist() == [4.0]


def test_the_context_by_its_module() -> None:
    context.set_context(mode=context.GRAPH_MODE, device_target="CPU")
    assert context.get_context("mode") == ms.get_context("mode") == ms.GRAPH_MODE == ms.context.GRAPH_MODE
    ms.set_device("CPU")
    assert ms.get_context("device_target") == "CPU"
    assert ms.dtype_to_nptype(ms.float32) is np.float32 and ms.dtype_to_pytype(ms.int8) is int
    assert ms.pytype_to_dtype(float) == mstype.float32 == ms.dtype.float32


def test_a_training_script(tmp_path: Any, mode: int, capsys: pytest.CaptureFixture[str]) -> None:
    class Net(Cell):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Dense(4, 3, weight_init=Normal(0.02))

        def construct(self, x: Any) -> Any:
            return self.fc(x)

    rows = [(RNG.normal(size=4).astype(np.float32), np.int32(i % 3)) for i in range(12)]
    data = ms.dataset.GeneratorDataset(rows, ["data", "label"], shuffle=False)
    data = data.map(operations=c_transforms.TypeCast(mstype.int32), input_columns="label").batch(4, drop_remainder=True)
    net = Net()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    momentum = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    model = Model(net, loss_fn=loss, optimizer=momentum, metrics={"acc": Accuracy()})
    config = CheckpointConfig(save_checkpoint_steps=3, keep_checkpoint_max=2)
    keep = ModelCheckpoint(prefix="net", directory=str(tmp_path), config=config)
    model.train(2, data, callbacks=[LossMonitor(3), TimeMonitor(), keep], dataset_sink_mode=False)
    assert 0 <= model.eval(data, dataset_sink_mode=False)["acc"] <= 1
    assert "loss is" in capsys.readouterr().out
    assert list(tmp_path.glob("net*")) and isinstance(Loss(), ms.train.Metric)
    save_checkpoint(net, str(tmp_path / "all.ckpt"))
    before = net.fc.weight.asnumpy()
    net.fc.weight.set_data(ops.zeros_like(net.fc.weight))
    load_param_into_net(net, load_checkpoint(str(tmp_path / "all.ckpt")))
    np.testing.assert_array_equal(net.fc.weight.asnumpy(), before)
    assert c_vision.Rescale is vision.Rescale and transforms.TypeCast is c_transforms.TypeCast


# ---- sentences --------------------------------------------------------------------------------------------------

SENTENCES = {
    "ms.rewrite": "ms.rewrite is not part of msnb yet.",
    "ms.no_grad": "ms.no_grad is not needed: gradients are recorded inside ms.grad",
    "ms.gard": "module 'msnb' has no attribute 'gard'; did you mean grad",
    "ops.sofmax": "did you mean softmax",
    "ops.CustomOpBuilder": "module 'msnb.ops' has no attribute 'CustomOpBuilder'",
    "ops.Nonsense": "module 'msnb.ops' has no attribute 'Nonsense'",
    "F.sofmax": "did you mean softmax",
    "nn.Module": "PyTorch's nn.Module is called nn.Cell here, and its forward is called construct",
    "nn.Sequential": "nn.SequentialCell",
    "ms.utils.data.DataLoader": "ms.dataset.GeneratorDataset(source, ['x', 'y'], shuffle=True).batch(32)",
    "ms.dataset.DataLoader": "ms.dataset.GeneratorDataset(source, ['x', 'y'], shuffle=True).batch(32)",
    "ms.optim.lr_scheduler.StepLR": "PyTorch's schedulers are the optimizer's learning_rate here: a schedule",
    "nn.CosineAnnealingLR": "PyTorch's schedulers are the optimizer's learning_rate here: a schedule",
    "nn.utils.clip_grad_norm_": "gives new gradients here: gradients = ops.clip_by_global_norm(gradients, limit)",
    "nn.utils.rnn.pack_padded_sequence": "an argument here: nn.LSTM(...)(x, seq_length=lengths)",
    "ms.func.grad": "PyTorch's torch.func is here ms.grad, ms.vmap",
    "nn.LayerNrom": "did you mean LayerNorm",
    "nn.zeros": "module 'msnb.nn' has no attribute 'zeros'; there is ms.zeros and ops.zeros",
    "t(2).backward()": "PyTorch's backward() is a function here: ms.grad(fn)(x)",
    "vision.DecodeVideo": "dataset.vision.DecodeVideo is not part of msnb yet; Pillow and imageio read and write files",
    "vision.RandomCorp": "did you mean RandomCrop",
    "t(2).requires_grad": "ms.grad(fn, grad_position)",
    "t(2).cumsum_(0)": "a Tensor has no cumsum_; write x = x.cumsum(...), or x[...] = x.cumsum(...)",
    "t(2).sofmax": "a Tensor has no attribute 'sofmax'; did you mean softmax",
    "t(2).linspace": "a Tensor has no attribute 'linspace'; there is ms.linspace and ops.linspace",
    "nn.Dense(2, 2).parameters()": "PyTorch's parameters() is called trainable_params() or get_parameters() here",
    "nn.Dense(2, 2).eval()": "PyTorch's eval() is called set_train(False) here",
    "nn.Dense(2, 2).wieght": "Dense has no attribute 'wieght'; did you mean weight",
    "nn.Dense(2, 2).zzz": "Dense has no attribute 'zzz'; it has training, in_channels",
}


@pytest.mark.parametrize("expression", SENTENCES)
def test_what_is_missing_answers(expression: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(SENTENCES[expression])):
        eval(expression)


@pytest.mark.parametrize("statement, sentence", [
    ("from msnb import rewrite", "msnb.rewrite is not part of msnb yet"),
    ("from msnb.train.callback import SummaryLandscape", "ms.show draws trainings, History keeps their numbers"),
    ("from msnb.parallel._utils import _get_device_num", "get_auto_parallel_context('device_num') and friends say it"),
    ("from msnb.dataset import OBSMindDataset", "GeneratorDataset takes any Python object with __getitem__"),
    ("from msnb.dataset.vision import ReadVideo", "GeneratorDataset takes what they give"),
    ("from msnb.rewrite import add", "msnb.rewrite is not part of msnb yet"),
    ("from msnb.nothing import x", "No module named 'msnb.nothing'"),
    ("from msnb import nothing", "cannot import name 'nothing' from 'msnb'"),
    ("from msnb.common.dtype import float33", "cannot import name 'float33'"),
])  # fmt: skip
def test_imports_that_fail_say_why(statement: str, sentence: str) -> None:
    with pytest.raises(ImportError, match=re.escape(sentence)):
        exec(statement)


def test_a_missing_name_is_an_ordinary_attribute_error() -> None:
    assert not hasattr(ms, "rewrite") and not hasattr(nn, "Module") and not hasattr(t(2), "backward")
    assert getattr(ops, "nothing", 3) == 3 and getattr(nn.Dense(2, 2), "parameters", None) is None


@pytest.mark.parametrize("call, sentence", [
    ("ops.ReLU(3)", "ops.ReLU takes 0 attributes, 1 were given"),
    ("ops.MatMul(transpose_c=True)", "has no attribute 'transpose_c'; its attributes: transpose_a, transpose_b"),
    ("ops.Conv2D(4)", "ops.Conv2D needs kernel_size"),
])  # fmt: skip
def test_attributes_of_operator_classes_are_checked(call: str, sentence: str) -> None:
    with pytest.raises(TypeError, match=re.escape(sentence)):
        eval(call)
    assert repr(ops.MatMul(transpose_b=True)) == "MatMul(transpose_a=False, transpose_b=True)"
    assert ops.MatMul is ops.MatMul and ops.ReLU is P.ReLU


def test_an_operator_checks_its_tensors(mode: int) -> None:
    with pytest.raises(ValueError, match="cannot be split into 3 equal parts"):
        ops.Split(0, 3)(t(4))
    with pytest.raises(ValueError, match="the weight has shape"):
        ops.Conv2D(4, 3)(t(1, 2, 5, 5), t(4, 2, 5, 5))
    with pytest.raises(ValueError, match="data_format must be 'NCHW' or 'NHWC', got 'NC'"):
        ops.MaxPool(2, 2, data_format="NC")(t(1, 2, 4, 4))
