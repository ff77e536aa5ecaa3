"""Mixed precision: who computes in half at which level, the same in both modes; lists, dtypes, wrong arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base import events
from msnb.base.errors import ArgumentError, AttributeValueError

HALVES = (ms.float16, ms.bfloat16)


class Net(nn.Cell):
    """A layer of each kind, an operator of one's own, a weight of one's own."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 4, 3, pad_mode="valid"), nn.BatchNorm2d(4)
        self.flat, self.dense, self.drop = nn.Flatten(), nn.Dense(4 * 16, 8), nn.Dropout(p=0.3)
        self.layer_norm, self.out = nn.LayerNorm((8,)), nn.Dense(8, 3)
        self.scale = ms.Parameter(ms.ops.ones((3,)), name="scale")
        self.mix = ms.Parameter(ms.Tensor(np.eye(3, dtype=np.float32)), name="mix")

    def construct(self, x: Any) -> Any:
        x = ops.relu(self.norm(self.conv(x)))
        x = self.layer_norm(self.drop(self.dense(self.flat(x))))
        return ops.matmul(self.out(x) * self.scale, self.mix)


def images() -> ms.Tensor:
    return ms.Tensor(np.random.default_rng(5).normal(size=(8, 1, 6, 6)).astype(np.float32))


LABELS = ms.Tensor(np.arange(8, dtype=np.int32) % 3)


def seen_dtypes(net: nn.Cell, x: Any) -> dict[str, tuple[Any, Any]]:
    """What dtypes enter and leave every layer."""
    seen: dict[str, tuple[Any, Any]] = {}
    handles = []
    for name, cell in net.cells_and_names():
        # a hook sees what the caller hands in and what the caller gets
        def note(cell: Any, args: Any, out: Any, name: str = name) -> None:
            seen[name] = (args[0].dtype, out.dtype)

        handles.append(cell.register_forward_hook(note))
    net(x)
    for handle in handles:
        handle.remove()
    return seen


def ops_of(net: nn.Cell, x: Any) -> dict[str, set[Any]]:
    """The dtypes that results of each op have."""
    found: dict[str, set[Any]] = {}

    def note(op: Any, outputs: Any, **rest: Any) -> None:
        for out in outputs if isinstance(outputs, tuple) else (outputs,):
            found.setdefault(op.name, set()).add(out.dtype)

    with events.listening("op", note):
        net(x)
    return found


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_o1_halves_the_white_list(half: Any) -> None:
    net = ms.amp.auto_mixed_precision(Net(), "O1", half)
    found = ops_of(net, images())
    assert found["conv2d"] == {half} and found["matmul"] == {half} and found["relu"] == {half}
    assert set(seen_dtypes(net, images()).values()) == {(ms.float32, ms.float32)}
    assert all(p.dtype is ms.float32 for p in net.get_parameters())


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_o2_leaves_the_norms(half: Any) -> None:
    net = ms.amp.auto_mixed_precision(Net(), "O2", half)
    seen = seen_dtypes(net, images())
    assert seen.pop("") == (ms.float32, ms.float32)
    assert set(seen.values()) == {(half, half)}
    dense, norm = net.dense, net.layer_norm
    assert (dense._compute_dtype, norm._compute_dtype, net.norm._compute_dtype) == (half, ms.float32, ms.float32)
    assert ops_of(net, images())["matmul"] == {half}  # a weight of the network's own is used in half too


def test_o3_halves_everything() -> None:
    net = ms.amp.auto_mixed_precision(Net(), "O3")
    assert {c._compute_dtype for _, c in net.cells_and_names()} == {ms.float16}
    assert net(images()).dtype is ms.float32
    state = net.norm.moving_mean.asnumpy().copy()
    net.set_train()(images())
    assert net.norm.moving_mean.dtype is ms.float32 and not np.array_equal(net.norm.moving_mean.asnumpy(), state)


def test_auto_goes_by_operators(mode: int) -> None:
    class Ops(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = ms.Parameter(ops.ones((4, 4)), name="w")

        def construct(self, x: Any, wide: Any) -> Any:
            y = ops.matmul(x, self.w)  # white
            return y, ops.exp(y), y + x, ops.matmul(wide, wide), ops.where(x > 0, ops.relu(y), y)

    net = ms.amp.auto_mixed_precision(Ops(), "auto", ms.bfloat16)
    double = ms.Tensor(np.eye(2))
    found = [y.dtype for y in net(ops.ones((4, 4)), double)]
    assert found == [ms.bfloat16, ms.float32, ms.float32, ms.float64, ms.bfloat16]


def test_o0_changes_nothing() -> None:
    net, same = Net(), Net()
    for p, q in zip(net.get_parameters(), same.get_parameters()):
        q.set_data(p)
    assert ms.amp.auto_mixed_precision(same, "O0") is same
    assert same(images()).asnumpy().tobytes() == net(images()).asnumpy().tobytes()


@pytest.mark.parametrize("level", ["O1", "O2", "O3", "auto"])
@pytest.mark.parametrize("half", HALVES, ids=str)
def test_both_modes_train_alike(level: str, half: Any) -> None:
    found, states = [], []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        ms.set_seed(2)
        net = ms.amp.auto_mixed_precision(Net(), level, half)
        step = nn.TrainOneStepCell(
            nn.WithLossCell(net, nn.CrossEntropyLoss()), nn.Momentum(net.trainable_params(), 0.05, 0.9)
        ).set_train()
        found.append([float(step(images(), LABELS)) for _ in range(5)])
        states.append({p.name: p.asnumpy() for p in net.get_parameters()})
    tolerance = 2e-2 if half is ms.float16 else 1e-1
    np.testing.assert_allclose(found[0], found[1], rtol=tolerance)
    assert found[0][-1] < found[0][0]
    for name, value in states[0].items():
        assert value.dtype == np.float32
        np.testing.assert_allclose(value, states[1][name], atol=tolerance, err_msg=name)


def test_gradients_come_back_in_float32(mode: int) -> None:
    net = ms.amp.auto_mixed_precision(Net(), "O2")
    loss = nn.CrossEntropyLoss()
    weights = net.trainable_params()
    _, grads = ms.value_and_grad(lambda x: loss(net(x), LABELS), None, weights)(images())
    assert all(g.dtype is ms.float32 for g in grads) and all(np.isfinite(g.asnumpy()).all() for g in grads)
    exact = Net()
    for p, q in zip(net.get_parameters(), exact.get_parameters()):
        q.set_data(p)
    _, want = ms.value_and_grad(lambda x: loss(exact(x), LABELS), None, exact.trainable_params())(images())
    for g, w in zip(grads, want):
        # a value near zero may fall on the other side of a relu: compared as vectors
        wrong, size = np.linalg.norm(g.asnumpy() - w.asnumpy()), np.linalg.norm(w.asnumpy())
        assert wrong <= 0.25 * size + 1e-2


def test_another_level_compiles_another_program() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    net, x = nn.Dense(2, 2), ops.ones((1, 2))
    assert net(x).dtype is ms.float32
    net.to_float(ms.float16)
    assert net(x).dtype is ms.float16
    net.to_float(ms.float32)
    assert net(x).dtype is ms.float32
    assert ms.amp.auto_mixed_precision(net, "O3")(x).dtype is ms.float32


def test_a_rule_reaches_branches_loops_and_gradients(mode: int) -> None:
    class Deep(nn.Cell):
        def construct(self, x: Any) -> Any:
            if x.sum() > 0:
                y = ops.matmul(x, x)
            else:
                y = ops.matmul(x, x + 1)
            for _ in range(2):
                y = ops.matmul(y, x)
            dx = ms.grad(lambda a: ops.matmul(a, a).sum())(x)
            return y, dx, ms.vmap(lambda row: row * 2)(y)

    net = ms.amp.auto_mixed_precision(Deep(), "auto")
    y, dx, doubled = net(ops.ones((3, 3)) + 2**-11)
    assert y.dtype is ms.float16 and doubled.dtype is ms.float16
    assert dx.tolist() == [[6.0] * 3] * 3  # 1 + 2^-11 is 1 in half
    assert float(y[0, 0]) == 27.0


def test_a_jitted_function_inside_follows_the_rule(mode: int) -> None:
    product = ms.jit(lambda a: ops.matmul(a, a))

    class Outer(nn.Cell):
        def construct(self, x: Any) -> Any:
            return product(x)

    x = ops.ones((2, 2))
    assert product(x).dtype is ms.float32
    assert ms.amp.auto_mixed_precision(Outer(), "auto")(x).dtype is ms.float16
    assert product(x).dtype is ms.float32


def test_lists_are_copies_and_can_be_changed(mode: int) -> None:
    white, black = ms.amp.get_white_list(), ms.amp.get_black_list()
    white.clear()
    assert ms.amp.get_white_list() and nn.Dense in ms.amp.get_white_list()
    net = ms.amp.custom_mixed_precision(Net(), white_list=[nn.Conv2d])
    assert net.conv._compute_dtype is ms.float16 and net.dense._compute_dtype is None
    net = ms.amp.custom_mixed_precision(Net(), black_list=[*black, nn.Dense, ops.ReLU], dtype=ms.bfloat16)
    assert net.dense._compute_dtype is ms.float32 and net.conv._compute_dtype is ms.bfloat16
    assert net(images()).dtype is ms.float32
    exp = ms.amp.custom_mixed_precision(nn.SequentialCell(nn.Dense(2, 2)), white_list=[ops.Exp, ops.matmul])
    assert exp(ops.ones((1, 2))).dtype is ms.float32


def test_cast_inputs_goes_through_trees() -> None:
    cell, x, i = nn.ReLU(), ms.Tensor([1.0]), ms.Tensor([1])
    found = cell.cast_inputs((x, {"a": [x, 3]}, i), ms.bfloat16)
    assert found[0].dtype is ms.bfloat16 and found[1]["a"][0].dtype is ms.bfloat16 and found[1]["a"][1] == 3
    assert found[2] is i


def test_a_copy_of_a_network_keeps_its_precision(mode: int) -> None:
    import copy

    net = ms.amp.auto_mixed_precision(nn.SequentialCell(nn.Dense(2, 2), nn.LayerNorm((2,))), "O2")
    twin = copy.deepcopy(net)
    assert twin[0]._compute_dtype is ms.float16 and twin[1]._compute_dtype is ms.float32
    assert twin(ops.ones((1, 2))).dtype is ms.float32


NET = nn.Dense(2, 2)
WRONG = [
    (lambda: ms.amp.auto_mixed_precision(3, "O1"), ArgumentError, "takes a Cell, not a int"),
    (lambda: ms.amp.auto_mixed_precision(NET, "O5"), AttributeValueError, "amp_level='O5' is not legal; legal: 'O0'"),
    (lambda: ms.amp.auto_mixed_precision(NET, "O1", ms.float32), TypeError, "one of float16, bfloat16, got float32"),
    (lambda: ms.amp.custom_mixed_precision(NET), AttributeValueError, "either white_list= or black_list="),
    (lambda: ms.amp.custom_mixed_precision(NET, white_list=[], black_list=[]), AttributeValueError, "either"),
    (lambda: ms.amp.custom_mixed_precision(NET, white_list=nn.Dense), ArgumentError, "is a list of Cell classes"),
    (lambda: ms.amp.custom_mixed_precision(NET, white_list=["Dense"]), ArgumentError, "neither a Cell class nor"),
    (lambda: ms.amp.custom_mixed_precision(NET, black_list=[ops.Softmax]), ArgumentError, "several operators"),
    (lambda: NET.to_float(ms.int32), TypeError, "to_float takes one of"),
    (lambda: NET.cast_inputs((NET,), ms.int8), TypeError, "cast_inputs takes one of"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_wrong_arguments(case: int) -> None:
    call, error, sentence = WRONG[case]
    with pytest.raises(error, match=sentence):
        call()


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_layers_of_three_dimensions_are_in_the_lists(mode: int, level: str) -> None:
    x = ms.Tensor(np.linspace(1.0, 2.0, 16, dtype=np.float32).reshape(1, 2, 2, 2, 2) + 1e-4)
    ones = ms.ops.ones((1, 2, 1, 1, 1)) * 1.0001
    make = [lambda: nn.Conv3d(2, 1, 1, weight_init=ones, pad_mode="valid"),
            lambda: nn.Conv3dTranspose(2, 1, 1, weight_init=ones.reshape(2, 1, 1, 1, 1), pad_mode="valid")]  # fmt: skip
    for layer in make:
        exact = layer()(x).asnumpy()
        half = ms.amp.auto_mixed_precision(nn.SequentialCell(layer()), level)(x).asnumpy()
        assert np.array_equal(half, half.astype(np.float16)) and not np.array_equal(half, exact)
    norm = ms.amp.auto_mixed_precision(nn.SequentialCell(nn.BatchNorm3d(2)), level)(x)
    assert np.array_equal(norm.asnumpy(), nn.BatchNorm3d(2)(x).asnumpy()) is (level == "O1")
    assert {nn.Conv3d, nn.Conv3dTranspose} < set(ms.amp.get_white_list()) and nn.BatchNorm3d in ms.amp.get_black_list()
