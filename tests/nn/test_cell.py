"""Cell: what it owns, its names, calling it, its hooks, its state."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.api.transforms.custom_gradient import InsertGradientOf


class Scale(nn.Cell):
    def __init__(self, factor: float = 2.0) -> None:
        super().__init__()
        self.w = ms.Parameter(ms.Tensor([factor]))

    def construct(self, x: Any) -> Any:
        return x * self.w


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first = Scale()
        self.second = Scale(3.0)
        self.branches = [Scale(), Scale()]
        self.bias = ms.Parameter(ms.Tensor([1.0]), requires_grad=False)

    def construct(self, x: Any, offset: Any = 0.0) -> Any:
        return self.second(self.first(x)) + self.bias + offset


def names(cell: nn.Cell) -> list[str]:
    return [p.name for p in cell.get_parameters()]


def test_names_are_paths() -> None:
    net = Net()
    paths = ["bias", "first.w", "second.w", "branches.0.w", "branches.1.w"]
    assert [n for n, _ in net.parameters_and_names()] == paths == names(net)
    assert [n for n, _ in net.cells_and_names()] == ["", "first", "second", "branches.0", "branches.1"]
    assert list(net.name_cells()) == ["first", "second", "branches.0", "branches.1"]
    assert [p.name for p in net.trainable_params()] == paths[1:]
    assert [p.name for p in net.untrainable_params()] == ["bias"]
    assert list(net.parameters_dict()) == paths
    assert [p.name for p in net.get_parameters(expand=False)] == ["bias"]


def test_the_first_parent_gives_the_names() -> None:
    net = Net()
    outer = nn.SequentialCell(net)
    assert names(outer)[0] == "0.bias"
    nn.SequentialCell(net, Scale())
    assert names(net)[0] == "0.bias"


def test_a_parameter_added_later_knows_its_place() -> None:
    net = Net()
    net.first.extra = ms.Parameter(ms.Tensor([0.0]))
    net.branches[0].extra = ms.Parameter(ms.Tensor([0.0]), name="mine")
    assert net.first.extra.name == "first.extra" and net.branches[0].extra.name == "branches.0.mine"


def test_tied_weights_count_once_and_keep_their_name() -> None:
    net = Net()
    net.second.w = net.first.w
    assert names(net).count("first.w") == 1 and "second.w" not in names(net)
    twin = copy.deepcopy(net)
    assert twin.second.w is twin.first.w and twin.first.w is not net.first.w


def test_two_parameters_of_one_name_are_refused() -> None:
    cell = nn.Cell()
    cell.a = ms.Parameter(ms.Tensor([0.0]), name="w")
    with pytest.raises(ValueError, match="parameter called 'w' already"):
        cell.b = ms.Parameter(ms.Tensor([0.0]), name="w")


def test_a_copy_is_a_root_with_values_of_its_own() -> None:
    net = Net()
    twin = copy.deepcopy(net.first)
    assert twin.w.name == "w"
    twin.w.set_data(ms.Tensor([9.0]))
    assert net.first.w.tolist() == [2.0]
    whole = copy.deepcopy(net)
    assert names(whole) == names(net) and whole(ms.Tensor([1.0])).tolist() == net(ms.Tensor([1.0])).tolist()
    again = pickle.loads(pickle.dumps(nn.Dense(2, 3)))
    assert names(again) == ["weight", "bias"]


def test_calling(mode: int) -> None:
    net = Net()
    assert net(ms.Tensor([1.0])).tolist() == [7.0]
    assert net(ms.Tensor([1.0]), offset=1.0).tolist() == [8.0]
    net.first.w.set_data(ms.Tensor([0.0]))
    assert net(ms.Tensor([1.0])).tolist() == [1.0]


def test_wrong_arity_names_the_signature(mode: int) -> None:
    with pytest.raises(TypeError, match=r"Net is called as Net\(x, offset=0.0\): missing a required argument: 'x'."):
        Net()()
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        Net()(ms.Tensor([1.0]), y=1)


def test_a_type_error_inside_construct_is_not_about_arity() -> None:
    class Wrong(nn.Cell):
        def construct(self, x: Any) -> Any:
            return len(3)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="has no len"):
        Wrong()(1)


def test_mistakes_of_a_beginner() -> None:
    class Forgot(nn.Cell):
        def __init__(self) -> None:
            self.w = ms.Parameter(ms.Tensor([1.0]))

    class Empty(nn.Cell):
        def __init__(self) -> None:
            pass

    with pytest.raises(AttributeError, match=r"call super\(\).__init__\(\) in __init__ before assigning Forgot.w"):
        Forgot()
    with pytest.raises(AttributeError, match=r"call super\(\).__init__\(\)"):
        Empty()(1)
    with pytest.raises(NotImplementedError, match="has no construct"):
        nn.Cell()(1)
    net = Net()
    with pytest.raises(TypeError, match="Net.bias is a Parameter and cannot become a float"):
        net.bias = 1.0
    with pytest.raises(TypeError, match="Net.first is a Cell"):
        net.first = ops.relu
    with pytest.raises(AttributeError, match="Net has no attribute 'third'; it has training, first, second"):
        net.third
    with pytest.raises(ValueError, match="cannot contain itself"):
        net.me = net


def test_attributes_by_call() -> None:
    net = nn.Cell()
    net.insert_child_to_cell("part", Scale())
    net.insert_param_to_cell("p", ms.Parameter(ms.Tensor([1.0])))
    assert names(net) == ["p", "part.w"]
    for call, error in (
        (lambda: net.insert_child_to_cell("p", Scale()), KeyError),
        (lambda: net.insert_param_to_cell("part", ms.Parameter(ms.Tensor([1.0]))), KeyError),
        (lambda: net.insert_child_to_cell("", Scale()), KeyError),
        (lambda: net.insert_child_to_cell("a.b", Scale()), KeyError),
        (lambda: net.insert_child_to_cell(3, Scale()), TypeError),  # type: ignore[arg-type]
        (lambda: net.insert_child_to_cell("other", 3), TypeError),  # type: ignore[arg-type]
        (lambda: net.insert_param_to_cell("a.b", ms.Parameter(ms.Tensor([1.0]))), KeyError),
        (lambda: net.insert_param_to_cell("q", 3), TypeError),  # type: ignore[arg-type]
    ):
        with pytest.raises(error):
            call()
    net.update_parameters_name("top.")
    assert names(net) == ["top.p", "top.part.w"]
    net.insert_child_to_cell("later", None)
    assert net.later is None and [path for path, _ in net.cells_and_names()] == ["", "part"]
    first, second = Scale(), Scale()
    net.insert_child_to_cell("later", first)
    net.insert_child_to_cell("later", second)
    assert net.later is second
    net.insert_child_to_cell("later", None)
    del net.p
    assert names(net) == ["top.part.w"]


def test_empty_containers_and_lists_that_are_added(mode: int) -> None:
    class Net(nn.Cell):
        def __init__(self, count: int) -> None:
            super().__init__()
            self.cells = nn.SequentialCell([nn.ReLU() for _ in range(count)])

        def construct(self, x: ms.Tensor) -> ms.Tensor:
            return self.cells(x) if self.cells else x - 1

    assert [Net(count)(ms.Tensor([-1.0])).item() for count in (0, 1)] == [-2, 0]
    cells = nn.CellList([nn.ReLU()])
    cells += [nn.Tanh(), Scale()]
    assert len(cells) == 3 and names(cells) == ["2.w"]
    del cells[:]
    assert not cells
    with pytest.raises(TypeError, match="CellList holds Cells, not int"):
        cells += [3]


def test_flags_reach_every_cell() -> None:
    net = Net().set_train()
    assert all(cell.training for _, cell in net.cells_and_names())
    net.set_train(False)
    assert not any(cell.training for _, cell in net.cells_and_names())
    seen: list[str] = []
    assert net.apply(lambda cell: seen.append(cell.cls_name)) is net
    assert seen == ["Scale"] * 4 + ["Net"]
    net.recompute()
    net.shard(((1, 1),))
    assert net.recompute_config == {"mode": True} and net._sharding.inputs == ((1, 1),)


def test_training_is_read_at_every_call(mode: int) -> None:
    class Doubled(nn.Cell):
        def construct(self, x: Any) -> Any:
            return x * 2 if self.training else x

    cell, x = Doubled(), ms.Tensor([1.0])
    assert [cell(x).item(), cell.set_train()(x).item(), cell.set_train(False)(x).item()] == [1.0, 2.0, 1.0]


def test_to_float_computes_short_and_keeps_parameters(mode: int) -> None:
    net = nn.SequentialCell(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Dense(32, 3)).to_float(ms.float16)
    y = net(ops.ones((1, 1, 4, 4)))
    assert y.dtype is ms.float16 and all(p.dtype is ms.float32 for p in net.get_parameters())
    with pytest.raises(TypeError, match="to_float takes one of"):
        net.to_float(ms.int32)


def test_forward_hooks(mode: int) -> None:
    net, x = Scale(), ms.Tensor([1.0])
    pre = net.register_forward_pre_hook(lambda cell, args: (args[0] + 1,))
    post = net.register_forward_hook(lambda cell, args, out: out * 10)
    assert net(x).tolist() == [40.0]
    pre.remove()
    assert net(x).tolist() == [20.0]
    post.remove()
    post.remove()
    assert net(x).tolist() == [2.0]
    with pytest.raises(TypeError, match="a hook must be callable"):
        net.register_forward_hook(3)  # type: ignore[arg-type]


def test_a_compiled_function_is_no_hook(mode: int) -> None:
    net, compiled = nn.Dense(1, 1), ms.jit(lambda *args: args[-1])
    places = [getattr(net, f"register_{name}") for name in ("forward_hook", "forward_pre_hook", "backward_hook")]
    places += [net.register_backward_pre_hook, net.weight.register_hook, ms.Tensor([1.0]).register_hook]
    for register in (*places, ms.ops.HookBackward):
        with pytest.raises(TypeError, match="without @jit"):
            register(compiled)

    def fn(x: Any) -> Any:
        y = x * x
        y.register_hook(compiled)
        return y

    with pytest.raises(TypeError, match="without @jit"):
        ms.grad(fn)(ms.Tensor([3.0]))
    tripled = InsertGradientOf(ms.jit(lambda dx: 3 * dx))
    assert ms.grad(lambda x: tripled(x * x))(ms.Tensor([3.0])).tolist() == [18]


def test_backward_hooks_see_and_change_gradients(mode: int) -> None:
    net, seen = Net(), []
    net.first.register_backward_pre_hook(lambda cell, douts: (douts[0] * 2,))

    def hook(cell: Any, grad_in: Any, grad_out: Any) -> Any:
        seen.append((cell.cls_name, grad_in[0].tolist(), grad_out[0].tolist()))
        return (grad_in[0] * 10,)

    net.first.register_backward_hook(hook)
    assert ms.grad(lambda x: net(x).sum())(ms.Tensor([1.0])).tolist() == [120.0]
    assert seen == [("Scale", [12.0], [6.0])]


def test_a_gradient_of_ones_own(mode: int) -> None:
    class Clip(nn.Cell):
        def construct(self, x: Any, y: Any) -> Any:
            return x * y

        def bprop(self, x: Any, y: Any, out: Any, dout: Any) -> Any:
            return dout * 7, out

    cell = Clip()
    dx, dy = ms.grad(lambda x, y: cell(x, y).sum(), (0, 1))(ms.Tensor([2.0]), ms.Tensor([3.0]))
    assert (dx.tolist(), dy.tolist()) == ([7.0], [6.0])

    class Behind(Clip):
        def bprop(self, x: Any, y: Any, out: Any, dout: Any) -> Any:
            return dout * 7, out, out, dout

    behind = Behind()
    found = ms.grad(lambda x, y: behind(x, y).sum(), (0, 1))(ms.Tensor([2.0]), ms.Tensor([3.0]))
    assert [g.tolist() for g in found] == [[7.0], [6.0]]


def test_a_compiled_class(mode: int) -> None:
    @ms.jit(fullgraph=True)
    class Twice(nn.Cell):
        def __init__(self, k: float) -> None:
            super(Twice, self).__init__()  # noqa: UP008
            self.w = ms.Parameter(ms.Tensor([k]))

        def construct(self, x: Any) -> Any:
            return x * self.w * 2

    for k in (1.0, 2.0):
        net = Twice(k)
        assert net(ms.Tensor([3.0])).tolist() == [6.0 * k] and isinstance(net, Twice)
        assert ms.grad(lambda x, net=net: net(x).sum())(ms.Tensor([3.0])).tolist() == [2.0 * k]


def test_buffers_and_state() -> None:
    net = Net()
    net.register_buffer("table", ms.Tensor([1.0, 2.0]))
    net.register_buffer("cache", ms.Tensor([0.0]), persistent=False)
    assert [n for n, _ in net.named_buffers()] == ["table", "cache"] and len(list(net.buffers())) == 2
    assert list(net.state_dict()) == ["bias", "first.w", "second.w", "branches.0.w", "branches.1.w", "table"]
    for call in (
        lambda: net.register_buffer("a.b", None),
        lambda: net.register_buffer("first", ms.Tensor([1.0])),
    ):
        with pytest.raises(KeyError):
            call()
    with pytest.raises(TypeError, match="must be a Tensor or None"):
        net.register_buffer("p", ms.Parameter(ms.Tensor([1.0])))


def test_loading_is_all_or_nothing() -> None:
    net, other = Net(), Net()
    other.first.w.set_data(ms.Tensor([5.0]))
    state = {name: value.asnumpy() for name, value in other.state_dict().items()}
    bad = {**state, "second.w": np.zeros(2, np.float32)}
    with pytest.raises(ValueError, match="nothing was loaded") as e:
        net.load_state_dict(bad)
    assert "second.w: the network has f32[1], the dict f32[2]" in str(e.value) and net.first.w.tolist() == [2.0]
    with pytest.raises(ValueError, match="unexpected: zzz"):
        net.load_state_dict({**state, "zzz": np.zeros(1)})
    del state["bias"]
    assert repr(net.load_state_dict(net.state_dict())) == "<All keys matched successfully>"
    assert net.load_state_dict(state, strict=False) == (["bias"], []) and net.first.w.tolist() == [5.0]


def test_repr_shows_the_tree() -> None:
    net = nn.SequentialCell(nn.Dense(2, 3), nn.SequentialCell(nn.ReLU()))
    assert repr(net) == (
        "SequentialCell(\n"
        "  (0): Dense(in_channels=2, out_channels=3, has_bias=True)\n"
        "  (1): SequentialCell(\n"
        "    (0): ReLU()\n"
        "  )\n"
        ")"
    )


def test_a_cell_with_slots(mode: int) -> None:
    class Slotted(nn.Cell):
        __slots__ = ("inner", "late", "scale")

        def __init__(self) -> None:
            super().__init__()
            self.scale = ms.Parameter(np.ones(2, np.float32) * 2)
            self.inner = nn.Dense(2, 2, weight_init="ones", has_bias=False)

        def construct(self, x: Any) -> Any:
            return self.inner(x * self.scale)

    class Further(Slotted):
        pass

    x = ms.Tensor([[1.0, 2.0]])
    for net in (Slotted(), Further(), copy.deepcopy(Further()), copy.copy(Further())):
        assert [p.name for p in net.get_parameters()] == ["scale", "inner.weight"]
        assert net(x).tolist() == [[6.0, 6.0]]
        grads = ms.grad(lambda v, net=net: net(v).sum(), None, net.trainable_params())(x)
        assert grads[0].tolist() == [2.0, 4.0]
        assert not hasattr(net, "late")
        del net.inner
        with pytest.raises(AttributeError, match="inner"):
            net.inner
