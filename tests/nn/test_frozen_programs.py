"""Evaluation of a loaded network: weights are constants, batch norms are folded, and nothing is ever stale."""

import copy

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.graph.compile.affine_folding import fold_affine
from msnb.ir.text.parser import parse
from msnb.train.files.graph_freezing import frozen


class Block(nn.Cell):
    """Convolution, batch norm and relu, a residual, a product."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 32, 3, has_bias=True), nn.BatchNorm2d(32)
        self.point, self.second = nn.Conv2d(32, 32, 1), nn.BatchNorm2d(32)
        self.dense = nn.Dense(32, 5)

    def construct(self, x):
        y = ops.relu(self.norm(self.conv(x)))
        y = ops.relu(self.second(self.point(y)) + y)
        return self.dense(y.mean((2, 3)))


@pytest.fixture
def loaded(tmp_path):
    """A network with statistics that are not 0 and 1, written and read again."""
    rng = np.random.default_rng(3)
    net = Block()
    for p in net.get_parameters():
        p.set_data(ms.Tensor(rng.uniform(0.5, 1.5, p.shape).astype(np.float32)))
    net.set_train(False)
    x = ms.Tensor(rng.standard_normal((2, 3, 24, 24)).astype(np.float32))
    path = str(tmp_path / "net.mindir")
    ms.export(net, x, file_name=path)
    return net, nn.GraphCell(ms.load(path)), x


def near(a, b) -> bool:
    a, b = a.asnumpy(), b.asnumpy()
    return bool(np.abs(a - b).max() <= 1e-5 * np.abs(b).max())


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def mode(request):
    before = {name: ms.get_context(name) for name in ("mode", "jit_level")}
    ms.set_context(mode=request.param, jit_level="O1")  # operation by operation nothing is frozen
    yield request.param
    ms.set_context(**before)


def ordinary(cell, x):
    """The program with weights that are inputs."""
    return ms.jit(lambda x: cell.graph.run(cell.weights, (x,)))(x)


def test_evaluation_gives_what_the_network_gives(loaded, mode):
    net, cell, x = loaded
    for _ in range(3):
        assert near(cell(x), net(x)) and near(cell(x), ordinary(cell, x))
    (program,) = cell._frozen._programs.values()
    assert program is not None and program._run is not None


def test_other_sizes_are_refused_with_the_same_words(loaded, mode):
    _, cell, x = loaded
    cell(x)
    with pytest.raises(ValueError, match="the graph's input x is"):
        cell(x[:1])


def _set(p):
    p.set_data(p * 2)


def _assign(p):
    ops.assign(p, p * 2)


def _write(p):
    p[0] = p[0] * 3


def _add(p):
    p += 1.0


def _jitted(p):
    @ms.jit
    def step():
        p.set_data(p * 2)

    step()
    step()


@pytest.mark.parametrize("change", [_set, _assign, _write, _add, _jitted])
@pytest.mark.parametrize("which", ["conv.weight", "norm.moving_mean", "dense.bias"])
def test_a_weight_that_changes_is_seen(loaded, mode, change, which):
    _, cell, x = loaded
    first = cell(x)
    p = next(p for p in cell.get_parameters() if p.name == which)
    for _ in range(3):
        change(p)
        assert near(cell(x), ordinary(cell, x))
        assert near(cell(x), ordinary(cell, x))
    assert not near(cell(x), first)


def test_memory_that_others_may_write_into_is_read_at_every_call(loaded, mode):
    _, cell, x = loaded
    p = next(p for p in cell.get_parameters() if p.name == "dense.bias")
    shared = np.zeros(5, np.float32)
    p.set_data(ms.Tensor.from_numpy(shared))
    cell(x)
    shared += 7
    assert near(cell(x), ordinary(cell, x))


def test_an_array_of_a_weight_that_is_still_held_is_read_at_every_call(loaded, mode):
    _, cell, x = loaded
    cell(x)
    array = cell.weights[0].asnumpy()
    for _ in range(2):
        array *= 2
        assert near(cell(x), ordinary(cell, x))
    del array
    assert near(cell(x), ordinary(cell, x)) and near(cell(x), ordinary(cell, x))


def test_it_trains_between_evaluations(loaded, mode):
    _, cell, x = loaded
    optimizer = nn.Adam(cell.trainable_params(), 0.01)
    step = ms.value_and_grad(lambda x: (cell(x) ** 2).mean(), None, optimizer.parameters)
    for train in (True, False):
        cell.set_train(False)
        before = cell(x)
        cell.set_train(train)
        for _ in range(2):
            loss, grads = step(x)
            assert all(np.abs(g.asnumpy()).max() > 0 for g in grads[-2:])
            optimizer(grads)
        cell.set_train(False)
        assert near(cell(x), ordinary(cell, x)) and near(cell(x), ordinary(cell, x))
        assert not near(cell(x), before)


def test_a_copy_has_weights_of_its_own(loaded, mode):
    _, cell, x = loaded
    first = cell(x)
    twin = copy.deepcopy(cell)
    twin.weights[0].set_data(twin.weights[0] * 2)
    assert near(twin(x), ordinary(twin, x)) and near(cell(x), first)


def test_hooks_are_called(loaded, mode):
    _, cell, x = loaded
    cell(x)
    seen = []
    cell.register_forward_hook(lambda net, args, out: seen.append(out.shape))
    cell(x)
    assert seen == [(2, 5)]


def _folded(text: str):
    graph = fold_affine(parse(text))
    return [node.op.name for node in graph.nodes if node.op.name != "constant"], str(graph)


CONV = "  %1 = conv2d(x, f32[2,3,1,1]{all 2.0}) : f32[1,2,4,4]\n"


def test_scales_and_shifts_become_part_of_the_convolution():
    names, _ = _folded(
        f"graph f(x: f32[1,3,4,4]) -> (f32[1,2,4,4])\n{CONV}"
        "  %2 = subtract(%1, f32[2,1,1]{all 3.0}) : f32[1,2,4,4]\n"
        "  %3 = multiply(%2, f32[2,1,1]{all 0.5}) : f32[1,2,4,4]\n"
        "  %4 = relu(%3) : f32[1,2,4,4]\n  return %4"
    )
    assert names == ["conv2d", "add", "relu"]


def test_a_result_with_other_readers_stays_as_it_is():
    text = (
        f"graph f(x: f32[1,3,4,4]) -> (f32[1,2,4,4])\n{CONV}"
        "  %2 = multiply(%1, f32[2,1,1]{all 0.5}) : f32[1,2,4,4]\n"
        "  %3 = add(%2, %1) : f32[1,2,4,4]\n  return %3"
    )
    assert _folded(text)[0] == ["conv2d", "multiply", "add"]


@pytest.mark.parametrize("number", ["0.0", "inf", "nan"])
def test_numbers_that_would_hide_others_are_not_folded(number):
    text = (
        f"graph f(x: f32[1,3,4,4]) -> (f32[1,2,4,4])\n{CONV}"
        f"  %2 = multiply(%1, f32[2,1,1]{{all {number}}}) : f32[1,2,4,4]\n  return %2"
    )
    assert _folded(text)[0] == ["conv2d", "multiply"]


def test_numbers_per_pixel_are_not_folded():
    text = (
        f"graph f(x: f32[1,3,4,4]) -> (f32[1,2,4,4])\n{CONV}"
        "  %2 = multiply(%1, f32[4,4]{all 0.5}) : f32[1,2,4,4]\n  return %2"
    )
    assert _folded(text)[0] == ["conv2d", "multiply"]


def test_groups_steps_and_random_numbers_agree(mode):
    seed = 11
    rng = np.random.default_rng(seed)
    for groups, kernel, stride in ((1, 3, 2), (4, 1, 1), (32, 3, 1), (1, 1, 2)):

        class Net(nn.Cell):
            def __init__(self, groups=groups, kernel=kernel, stride=stride) -> None:
                super().__init__()
                self.conv = nn.Conv2d(32, 64, kernel, stride, group=groups)
                self.norm = nn.BatchNorm2d(64)

            def construct(self, x):
                return ops.relu(self.norm(self.conv(x)))

        net = Net()
        for p in net.get_parameters():
            p.set_data(ms.Tensor(rng.uniform(0.2, 1.5, p.shape).astype(np.float32)))
        net.set_train(False)
        x = ms.Tensor(rng.standard_normal((2, 32, 12, 12)).astype(np.float32))
        cell = nn.GraphCell(frozen(net, [x]))
        assert near(cell(x), net(x)), (seed, groups, kernel, stride)
