"""Both engines in one program, and what people do with networks besides training them: shared and tied layers, hooks,
gradients of their own, copies, rates that change, groups, Model.
"""

from __future__ import annotations

import copy
from collections import deque
from typing import Any

import numpy as np
import pytest
from running import built, close, compilations, state, training_step
from zoo import MLP

import msnb as ms
from msnb import nn, ops
from msnb.train import Callback, Model
from tests.levels import exact, steady


def data(seed: int = 0, rows: int = 5) -> tuple[ms.Tensor, ms.Tensor]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 6)).astype(np.float32)
    return ms.Tensor(x), ms.Tensor(rng.integers(0, 4, rows).astype(np.int32))


def network(**options: Any) -> MLP:
    ms.set_seed(1)
    return MLP(**options)


def loss_of(net: nn.Cell) -> Any:
    ce = nn.CrossEntropyLoss()
    return lambda x, y: ce(net(x), y)


def gradients(fn: Any, net: nn.Cell, *args: Any) -> list[Any]:
    return [g.asnumpy() for g in ms.grad(fn, None, net.trainable_params())(*args)]


# ---- both engines in one program --------------------------------------------------------------------------------


def test_a_jitted_function_inside_an_eager_gradient() -> None:
    net, (x, y) = network(p=0.0).set_train(), data()
    inner = ms.jit(lambda a: net(a) * 2)
    ce = nn.CrossEntropyLoss()
    mixed = gradients(lambda a, b: ce(inner(a).tanh(), b), net, x, y)
    plain = gradients(lambda a, b: ce((net(a) * 2).tanh(), b), net, x, y)
    for found, want in zip(mixed, plain):
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-7)
    assert len(inner.versions) == 1
    with compilations() as again:
        gradients(lambda a, b: ce(inner(a).tanh(), b), net, x, y)
    assert again == []


def test_an_eager_function_that_calls_jitted_cells() -> None:
    first, second = nn.Dense(6, 4), nn.Dense(4, 2)
    fast, x = ms.jit(first), data()[0]

    def fn(a: Any) -> Any:
        h = fast(a)
        h = h * 2 if float(h.sum()) > 0 else h * 3  # Python's own decision on a value
        return second(ops.relu(h)).sum()

    for sign in (1.0, -1.0):
        factor = 2 if float(first(x * sign).sum()) > 0 else 3
        want = ms.grad(lambda a: second(ops.relu(first(a) * factor)).sum(), None, first.trainable_params())(x * sign)
        found = ms.grad(fn, None, first.trainable_params())(x * sign)
        for g, w in zip(found, want):
            np.testing.assert_allclose(g.asnumpy(), w.asnumpy(), rtol=1e-5, atol=1e-7)


def test_a_cell_shared_by_two_functions() -> None:
    """Two compiled programs see one Parameter: an update through one is there for the other."""
    net, (x, y) = network(p=0.0), data()
    predict = ms.jit(lambda a: net(a))
    opt = nn.SGD(net.trainable_params(), 0.1)
    step = ms.jit(training_step(loss_of(net), opt))
    before = predict(x).asnumpy()
    step(x, y)
    after = predict(x).asnumpy()
    assert (before != after).any()
    np.testing.assert_allclose(after, net(x).asnumpy(), rtol=1e-6)
    assert len(predict.versions) == len(step.versions) == 1


EFFECTS: dict[str, tuple[Any, Any]] = {
    "append": (lambda: [0], lambda box: box.append(3)),
    "entries": (lambda: {"a": 0}, lambda box: box.update(a=box["a"] + 1, b=2)),
    "keywords": (lambda: [3, 1, 2], lambda box: box.sort(key=lambda v: -v, reverse=True)),
    "set": (lambda: {0}, lambda box: box.add(3)),
    "deque": (lambda: deque([0], maxlen=3), lambda box: box.append(3)),
    "pop": (lambda: [5, 6, 7, 8, 9], lambda box: box.pop()),
    "item": (lambda: [1, 2, 3], lambda box: box.__setitem__(1, box[1] + 1)),
}


@pytest.mark.parametrize("name", EFFECTS)
@pytest.mark.parametrize("inside", ["function", "gradient", "jitted gradient"])
def test_what_a_program_writes_it_writes_at_every_call(mode: int, name: str, inside: str) -> None:
    """The container is the user's: what the program found at its first call must not come back at the next."""
    make, effect = EFFECTS[name]
    box, want = make(), make()

    def fn(x: Any) -> Any:
        effect(box)
        return (x * x).sum()

    program = fn if inside == "function" else ms.value_and_grad(fn)
    program = ms.jit(program) if inside != "gradient" else program
    for _ in range(3):
        program(ms.Tensor([1.0, 2.0]))
        effect(want)
        assert box == want
    if isinstance(box, list):
        box.append(100)
        want.append(100)
        program(ms.Tensor([1.0, 2.0]))
        effect(want)
        assert box == want


def test_appending_where_a_tensor_decides(mode: int) -> None:
    seen: list[Any] = [0]

    def fn(x: Any) -> Any:
        if x.sum() > 0:
            seen.append(1)
        else:
            seen.append(2)
        return x * len(seen)

    fn = ms.jit(fn) if mode == ms.GRAPH_MODE else fn
    results = [float(fn(ms.Tensor(v))) for v in (1.0, -1.0, 1.0)]
    assert [int(v) for v in seen] == [0, 1, 2, 1]
    assert results == [2.0, -3.0, 4.0]


# ---- hooks and gradients of one's own ---------------------------------------------------------------------------


def test_hooks_fire_every_step(mode: int) -> None:
    net, (x, y) = network(p=0.0), data()
    seen: list[str] = []
    forward = net.first.register_forward_hook(lambda cell, inputs, output: seen.append("forward"))
    net.last.register_backward_hook(lambda cell, grad_in, grad_out: seen.append("backward"))
    grad = ms.value_and_grad(loss_of(net), None, net.trainable_params())
    for _ in range(3):
        grad(x, y)
    assert seen.count("backward") == 3
    if mode == ms.PYNATIVE_MODE:
        assert seen == ["forward", "backward"] * 3
    forward.remove()
    del seen[:]
    grad(x, y)
    assert seen == ["backward"]


def test_the_first_layer_is_watched_too(mode: int) -> None:
    """Nobody wants a gradient of the data, and words cannot have one: the hooks are called all the same."""
    words, seen = ms.Tensor([[1, 2]]), {}
    net = nn.SequentialCell(nn.Embedding(5, 3), nn.Dense(3, 2))
    dense = nn.Dense(3, 2)
    for name, cell in (("words", net[0]), ("second", net[1]), ("first", dense)):
        calls = seen.setdefault(name, [])
        cell.register_backward_hook(lambda _, grad_in, grad_out, calls=calls: calls.append((grad_in, grad_out)))
    weights = [*net.trainable_params(), *dense.trainable_params()]
    x = ms.Tensor(np.float32([[1.0, 2.0, 3.0]]))
    grad = ms.grad(lambda w, a: net(w).sum() + dense(a).sum(), None, weights)
    for _ in range(2):
        grad(words, x)
    assert {name: len(calls) for name, calls in seen.items()} == {"words": 2, "second": 2, "first": 2}
    assert seen["words"][0][0] == (None,) and seen["words"][0][1][0].shape == (1, 2, 3)
    (into,), (out,) = seen["first"][1]
    np.testing.assert_allclose(into.asnumpy(), dense.weight.asnumpy().sum(0, keepdims=True), rtol=1e-6)
    assert out.tolist() == [[1.0, 1.0]]


def test_a_hook_changes_what_it_sees(mode: int) -> None:
    net, (x, y) = network(p=0.0), data()
    want = gradients(loss_of(net), net, x, y)
    net.first.register_forward_hook(lambda cell, inputs, output: output * 1.0)
    handle = net.first.register_backward_hook(lambda cell, grad_in, grad_out: tuple(g * 10 for g in grad_in))
    found = ms.grad(loss_of(net), 0)(x, y).asnumpy()
    handle.remove()
    np.testing.assert_allclose(found, 10 * ms.grad(loss_of(net), 0)(x, y).asnumpy(), rtol=1e-5)
    for g, w in zip(gradients(loss_of(net), net, x, y), want):
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-7)


class Clipped(nn.Cell):
    """Its gradient is cut to [-limit, limit]."""

    def __init__(self, limit: float) -> None:
        super().__init__()
        self.limit = limit

    def construct(self, x: Any) -> Any:
        return x * x

    def bprop(self, x: Any, out: Any, dout: Any) -> Any:
        return ((2 * x * dout).clip(-self.limit, self.limit),)


def test_a_cell_with_its_own_gradient(mode: int) -> None:
    net, x = Clipped(1.0), ms.Tensor([0.25, -3.0, 2.0])
    fn = ms.grad(lambda a: (net(a * 1.0) * 1.0).sum())
    assert fn(x).tolist() == [0.5, -1.0, 1.0]
    net.limit = 5.0
    assert fn(x).tolist() == [0.5, -5.0, 4.0]


# ---- parameters that are shared, copied, saved ------------------------------------------------------------------


class Tied(nn.Cell):
    """The table that reads words also scores them."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(7, 4)
        self.mix = nn.Dense(4, 4)
        self.score = nn.Dense(4, 7, has_bias=False)
        self.score.weight = self.embed.embedding_table

    def construct(self, words: Any) -> Any:
        return self.score(ops.tanh(self.mix(self.embed(words))))


def test_parameters_tied_between_two_layers(mode: int) -> None:
    ms.set_seed(2)
    net, words = Tied(), ms.Tensor([[1, 2, 5]])
    weights = net.trainable_params()
    assert len(weights) == 3 and net.score.weight is net.embed.embedding_table
    ce = nn.CrossEntropyLoss()
    loss = lambda a: ce(net(a).reshape(-1, 7), a.reshape(-1))
    grads = dict(zip((p.name for p in weights), ms.grad(loss, None, weights)(words)))
    table = next(p for p in weights if p is net.embed.embedding_table)
    start, way = table.asnumpy(), np.random.default_rng(0).normal(size=table.shape)
    values = []
    for t in (1e-2, -1e-2):
        table.set_data(ms.Tensor((start + t * way).astype(np.float32)))
        values.append(float(loss(words)))
    assert float((grads[table.name].asnumpy() * way).sum()) == pytest.approx((values[0] - values[1]) / 2e-2, rel=2e-2)
    opt = nn.SGD(weights, 0.1)
    training_step(loss, opt)(words)
    assert net.score.weight is net.embed.embedding_table


class Counting(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.total = ms.Parameter(ms.Tensor([1.0]), name="total", requires_grad=False)
        self.all = [self.total]

    def construct(self, x: Any) -> Any:
        total = self.total
        self.total += x
        total -= 1
        self.all[0] *= 3
        return total * 2


def test_in_place_operators_of_a_parameter(mode: int) -> None:
    net = Counting()
    param = net.total
    assert [net(ms.Tensor([2.0])).item() for _ in range(2)] == [12.0, 42.0]
    assert param is net.total is net.all[0] and param.item() == 21.0


def test_a_copy_is_another_network(mode: int) -> None:
    net, (x, y) = network(p=0.0), data()
    twin = copy.deepcopy(net)
    np.testing.assert_array_equal(net(x).asnumpy(), twin(x).asnumpy())
    assert [p.name for p in twin.get_parameters()] == [p.name for p in net.get_parameters()]
    before = net(x).asnumpy()
    training_step(loss_of(twin), nn.SGD(twin.trainable_params(), 0.5))(x, y)
    np.testing.assert_array_equal(net(x).asnumpy(), before)
    assert (twin(x).asnumpy() != before).any()


def test_state_dict_round_trip(mode: int) -> None:
    net, (x, y) = network(p=0.0), data()
    kept = {name: value.asnumpy() for name, value in net.state_dict().items()}
    before = net(x).asnumpy()
    training_step(loss_of(net), nn.SGD(net.trainable_params(), 0.5))(x, y)
    assert (net(x).asnumpy() != before).any()
    net.load_state_dict({name: ms.Tensor(value) for name, value in kept.items()})
    np.testing.assert_array_equal(net(x).asnumpy(), before)


# ---- rates and groups -------------------------------------------------------------------------------------------

RATES: dict[str, Any] = {
    "number": lambda: 0.1,
    "list": lambda: [0.1, 0.05, 0.01],
    "cosine": lambda: nn.CosineDecayLR(0.01, 0.1, 4),
    "exponential": lambda: nn.ExponentialDecayLR(0.1, 0.9, 2, is_stair=True),
    "warm up": lambda: nn.WarmUpLR(0.1, 2),
    "polynomial": lambda: nn.PolynomialDecayLR(0.1, 0.01, 4, 0.5),
}


def after_steps(mode: int, make: Any, steps: int = 4) -> dict[str, Any]:
    with ms.set_context(mode=mode):
        net, (x, y) = network().set_train(), data()
        opt = make(net)
        step = training_step(loss_of(net), opt)
        step = ms.jit(step) if mode == ms.GRAPH_MODE else step
        ms.set_seed(4)
        losses = [step(x, y)]
        with compilations() as again:
            losses += [step(x, y) for _ in range(steps - 1)]
        assert again == []
        return {f"loss {i}": v.asnumpy() for i, v in enumerate(losses)} | state(net, opt)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("method", [nn.SGD, nn.Adam])
def test_schedules(rate: str, method: Any) -> None:
    make = lambda net: method(net.trainable_params(), RATES[rate]())
    eager = after_steps(ms.PYNATIVE_MODE, make)
    close(after_steps(ms.GRAPH_MODE, make), eager, 1e-6)
    if rate != "number":
        other = after_steps(ms.PYNATIVE_MODE, lambda net: method(net.trainable_params(), 0.1))
        assert any((other[name] != value).any() for name, value in eager.items())


def grouped(net: MLP) -> list[dict[str, Any]]:
    weights = [p for p in net.trainable_params() if "weight" in p.name]
    others = [p for p in net.trainable_params() if "weight" not in p.name]
    return [{"params": weights, "weight_decay": 0.1, "lr": nn.CosineDecayLR(0.01, 0.1, 4)},
            {"params": others, "lr": 0.02}, {"order_params": net.trainable_params()}]  # fmt: skip


@pytest.mark.parametrize("method", [nn.SGD, nn.Momentum, nn.Adam, nn.AdamWeightDecay])
def test_groups(method: Any) -> None:
    more = (0.9,) if method is nn.Momentum else ()
    make = lambda net: method(grouped(net), 0.05, *more)
    eager = after_steps(ms.PYNATIVE_MODE, make)
    close(after_steps(ms.GRAPH_MODE, make), eager, 1e-6)


def test_order_params_is_the_order_of_gradients(mode: int) -> None:
    """Groups sorted by kind, gradients in the order of the network: weights of equal shape would not even complain."""
    first, second, bias = (ms.Parameter(ops.zeros((2,)), name=name) for name in ("first", "second", "bias"))
    groups = [{"params": [bias], "lr": 0.5}, {"params": [second, first]}]
    opt = nn.SGD([*groups, {"order_params": [first, second, bias]}], 1.0)
    assert [p.name for p in opt.parameters] == ["first", "second", "bias"]
    opt(tuple(ops.full((2,), float(k)) for k in (1, 2, 3)))
    assert [p.tolist()[0] for p in (first, second, bias)] == [-1.0, -2.0, -1.5]
    for order, lack in (([first, bias], "missing or twice"), ([first, second, bias, bias], "missing or twice"),
                        ([first, second, ms.Parameter(ops.zeros(2), name="other")], "other is in no group")):
        with pytest.raises(ValueError, match=f"every Parameter of the groups once: .*{lack}"):
            nn.SGD([*groups, {"order_params": order}], 1.0)


def test_another_rate_does_not_compile() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    net, (x, y) = network().set_train(), data()
    opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), opt)
    step(x, y)
    with compilations() as seen:
        for rate in (0.0, 0.05):
            before = net.last.weight.asnumpy()
            opt.learning_rate = rate
            opt.moments[0].set_data(ops.zeros_like(opt.moments[0]))
            step(x, y)
            assert (before != net.last.weight.asnumpy()).any() == (rate > 0)
    assert seen == []


# ---- Model ------------------------------------------------------------------------------------------------------


class Losses(Callback):
    def __init__(self) -> None:
        self.seen: list[float] = []

    def step_end(self, run_context: Any) -> None:
        self.seen.append(float(run_context.original_args().net_outputs))


def trained_by_model(mode: int) -> tuple[list[float], dict[str, Any], dict[str, Any], Any]:
    with ms.set_context(mode=mode):
        net, losses = network(), Losses()
        opt = nn.Adam(net.trainable_params(), nn.ExponentialDecayLR(0.02, 0.9, 3), **steady())
        model = Model(net, nn.CrossEntropyLoss(), opt, metrics={"accuracy", "loss"})
        rows = [tuple(t.asnumpy() for t in data(seed, 8)) for seed in range(3)]
        ms.set_seed(6)
        with compilations() as seen:
            model.train(2, rows, callbacks=losses)
        assert len(seen) == (1 if mode == ms.GRAPH_MODE or not exact() else 0)  # O1 compiles an eager optimizer
        return losses.seen, state(net, opt), model.eval(rows), model.predict(rows[0][0]).asnumpy()


def test_model_trains_alike_in_both_modes() -> None:
    eager, graph = trained_by_model(ms.PYNATIVE_MODE), trained_by_model(ms.GRAPH_MODE)
    assert len(eager[0]) == 6
    np.testing.assert_allclose(graph[0], eager[0], rtol=1e-6)
    close(graph[1], eager[1], 1e-6)
    assert graph[2] == pytest.approx(eager[2], rel=1e-6)
    np.testing.assert_allclose(graph[3], eager[3], rtol=1e-5, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("name", ["lenet", "convolutions", "lstm", "encoder", "resnet"])
def test_model_and_a_loop_by_hand(name: str, mode: int) -> None:
    """Model's step is the step that one writes oneself, dropout and running statistics included."""
    hand, loss, batches = built(name)
    opt = nn.Adam(hand.trainable_params(), 1e-2, **steady())
    step = training_step(loss, opt)
    ms.set_seed(8)
    want = [float(step(*batch)) for batch in batches * 2]
    net, _, _ = built(name)
    classes = {"lenet": nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"),
               "convolutions": nn.CrossEntropyLoss(label_smoothing=0.1)}  # fmt: skip
    losses = Losses()
    adam = nn.Adam(net.trainable_params(), 1e-2, **steady())
    model = Model(net, classes.get(name, nn.CrossEntropyLoss()), adam)
    ms.set_seed(8)
    model.train(2, [tuple(t.asnumpy() for t in batch) for batch in batches], callbacks=losses)
    np.testing.assert_allclose(losses.seen, want, rtol=1e-6)
    close(state(net), state(hand), 1e-6)


def test_training_goes_on_in_the_other_mode(tmp_path: Any) -> None:
    """Two steps as a graph, a checkpoint, two eager steps: the numbers of four steps in one go."""

    def steps(net: nn.Cell, opt: nn.Cell, count: int) -> list[float]:
        step = training_step(loss_of(net), opt)
        return [float(step(*data())) for _ in range(count)]

    def fresh() -> tuple[nn.Cell, nn.Cell]:
        net = network(p=0.0).set_train()
        return net, nn.Adam(net.trainable_params(), nn.ExponentialDecayLR(0.05, 0.9, 1))

    straight = steps(*fresh(), 4)
    net, opt = fresh()
    with ms.set_context(mode=ms.GRAPH_MODE):
        found = steps(net, opt, 2)
    both = nn.CellList([net, opt])
    ms.save_checkpoint(both, str(tmp_path / "half.ckpt"))
    net, opt = fresh()
    ms.load_param_into_net(nn.CellList([net, opt]), ms.load_checkpoint(str(tmp_path / "half.ckpt")))
    found += steps(net, opt, 2)
    np.testing.assert_allclose(found, straight, rtol=1e-6)
