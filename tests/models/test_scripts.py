"""Whole training scripts of the kinds people write: two optimizers, accumulated gradients, gradients of gradients,
gradients through updates, solvers and fixed points, sampling, decoding. Each gives its numbers eagerly and as a graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from running import compilations

import msnb as ms
from msnb import Parameter, Tensor, nn, ops

Script = Callable[[Callable[[Any], Any]], list[Any]]
SCRIPTS: dict[str, Script] = {}


def script(fn: Script) -> Script:
    """``fn(jit)`` gives everything it computed; ``jit`` compiles a function in graph mode."""
    SCRIPTS[fn.__name__] = fn
    return fn


def normal(*shape: int, seed: int = 0) -> Tensor:
    return Tensor(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def weights(*cells: nn.Cell) -> list[Any]:
    return [p.asnumpy() for cell in cells for p in cell.get_parameters()]


def mlp(*sizes: int) -> nn.SequentialCell:
    layers: list[nn.Cell] = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Dense(a, b), nn.Tanh()]
    return nn.SequentialCell(layers[:-1])


@script
def adversaries(jit: Any) -> list[Any]:
    """A GAN: two networks, two optimizers, one step; the discriminator sees detached fakes."""
    generator, judge = mlp(2, 6, 3), mlp(3, 6, 1)
    by_g, by_d = nn.Adam(generator.trainable_params(), 1e-2, beta1=0.5), nn.Adam(judge.trainable_params(), 1e-2)
    bce = nn.BCEWithLogitsLoss()

    def judge_loss(real: Any, fake: Any) -> Any:
        a, b = judge(real), judge(ops.stop_gradient(fake))
        return bce(a, ops.ones_like(a)) + bce(b, ops.zeros_like(b))

    def generator_loss(noise: Any) -> tuple[Any, Any]:
        fake = generator(noise)
        out = judge(fake)
        return bce(out, ops.ones_like(out)), fake

    grad_g = ms.value_and_grad(generator_loss, None, by_g.parameters, has_aux=True)
    grad_d = ms.value_and_grad(judge_loss, None, by_d.parameters)

    @jit
    def step(real: Any) -> Any:
        (loss_g, fake), grads = grad_g(ops.standard_normal((4, 2)))
        by_g(grads)
        loss_d, grads = grad_d(real, fake)
        by_d(grads)
        return loss_g, loss_d

    return [step(normal(4, 3, seed=i)) for i in range(3)] + weights(generator, judge)


@script
def wasserstein(jit: Any) -> list[Any]:
    """A critic with gradient penalty: a gradient inside the loss, at a random point between."""
    critic = mlp(3, 8, 1)
    opt = nn.RMSProp(critic.trainable_params(), 1e-2)
    slope = ms.grad(lambda x: critic(x).sum())

    def loss(real: Any, fake: Any) -> Any:
        t = ops.rand(real.shape[0], 1)
        g = slope(t * real + (1 - t) * fake)
        penalty = ((ops.sqrt((g * g).sum(1) + 1e-12) - 1) ** 2).mean()
        return critic(fake).mean() - critic(real).mean() + 10 * penalty

    grad = ms.value_and_grad(loss, None, opt.parameters)

    @jit
    def step(real: Any, fake: Any) -> Any:
        value, grads = grad(real, fake)
        opt(grads)
        return value

    return [step(normal(4, 3, seed=i), normal(4, 3, seed=9 + i)) for i in range(3)] + weights(critic)


class Accumulating(nn.Cell):
    """Applies the mean of the gradients of every third step."""

    def __init__(self, network: nn.Cell, optimizer: Any, every: int) -> None:
        super().__init__(auto_prefix=False)
        self.network, self.optimizer, self.every = network, optimizer, every
        self.sums = ms.ParameterTuple(p.clone(init=0) for p in optimizer.parameters)
        self.count = Parameter(Tensor(0, ms.int32), name="count", requires_grad=False)
        self.grad = ms.value_and_grad(network, None, optimizer.parameters)

    def construct(self, x: Any, y: Any) -> Any:
        loss, grads = self.grad(x, y)
        for total, grad in zip(self.sums, grads):
            ops.assign_add(total, grad / self.every)
        self.count += 1
        if self.count % self.every == 0:
            self.optimizer(tuple(self.sums))
            for total in self.sums:
                ops.assign(total, ops.zeros_like(total))
        return loss


@script
def accumulation(jit: Any) -> list[Any]:
    net = mlp(3, 4, 2)
    step = Accumulating(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.5), 3)
    step = jit(step)
    return [step(normal(4, 3, seed=i), normal(4, 2, seed=i)) for i in range(7)] + weights(net)


@script
def averaged_weights(jit: Any) -> list[Any]:
    """Some layers are frozen, the others have a moving average beside them."""
    net = mlp(3, 5, 2)
    for param in net[0].get_parameters():
        param.requires_grad = False
    assert len(net.trainable_params()) == 2
    opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    shadow = [p.clone() for p in opt.parameters]
    grad = ms.value_and_grad(lambda x, y: ((net(x) - y) ** 2).mean(), None, opt.parameters)

    @jit
    def step(x: Any, y: Any) -> Any:
        loss, grads = grad(x, y)
        opt(ops.clip_by_global_norm(grads, 0.5))
        for mean, param in zip(shadow, opt.parameters):
            ops.assign(mean, 0.9 * mean + 0.1 * param)
        return loss

    return [step(normal(4, 3, seed=i), normal(4, 2, seed=i)) for i in range(4)] + weights(net) + shadow


@script
def variational(jit: Any) -> list[Any]:
    """A VAE: draws inside the loss, the same in both modes."""
    encoder, decoder = mlp(6, 8, 4), mlp(2, 8, 6)
    opt = nn.Adam([*encoder.trainable_params(), *decoder.trainable_params()], 1e-2)

    def loss(x: Any) -> Any:
        mean, log_var = ops.chunk(encoder(x), 2, axis=1)
        z = mean + ops.exp(0.5 * log_var) * ops.randn_like(mean)
        kl = -0.5 * (1 + log_var - mean**2 - ops.exp(log_var)).sum(1)
        return (((decoder(z) - x) ** 2).sum(1) + kl).mean()

    grad = ms.value_and_grad(loss, None, opt.parameters)

    @jit
    def step(x: Any) -> Any:
        value, grads = grad(x)
        opt(grads)
        return value

    return [step(normal(5, 6, seed=i)) for i in range(3)] + weights(encoder, decoder)


@script
def learning_to_learn(jit: Any) -> list[Any]:
    """MAML on a linear model: the gradient of a loss after an update by gradient."""
    w, b = Parameter(normal(3, 1), name="w"), Parameter(Tensor([0.0]), name="b")
    opt = nn.SGD([w, b], 0.1)

    def loss(w: Any, b: Any, x: Any, y: Any) -> Any:
        return ((x @ w + b - y) ** 2).mean()

    def after(x: Any, y: Any) -> Any:
        fast = [w * 1.0, b * 1.0]
        for _ in range(2):
            grads = ms.grad(loss, (0, 1))(*fast, x[:3], y[:3])
            fast = [p - 0.1 * g for p, g in zip(fast, grads)]
        return loss(*fast, x[3:], y[3:])

    grad = ms.value_and_grad(after, None, opt.parameters)

    @jit
    def step(x: Any, y: Any) -> Any:
        value, grads = grad(x, y)
        opt(grads)
        return value, grads

    return [step(normal(6, 3, seed=i), normal(6, 1, seed=i)) for i in range(3)] + [w.asnumpy(), b.asnumpy()]


@script
def equation(jit: Any) -> list[Any]:
    """A neural ODE: steps of Runge-Kutta, as many as a tensor says, differentiated through."""
    field = mlp(2, 8, 2)
    opt = nn.Adam(field.trainable_params(), 1e-2)

    def solve(state: Any, steps: Any) -> Any:
        h = 1.0 / steps
        for _ in range(steps):
            a = field(state)
            state = state + h * field(state + 0.5 * h * a)
        return state

    grad = ms.value_and_grad(lambda x, n: (solve(x, n) ** 2).mean(), None, opt.parameters)

    @jit
    def step(x: Any, n: Any) -> Any:
        value, grads = grad(x, n)
        opt(grads)
        return value

    return [step(normal(3, 2, seed=i), Tensor(n)) for i, n in enumerate((4, 2, 7))] + weights(field)


@script
def fixed_point(jit: Any) -> list[Any]:
    """An equilibrium layer: iterate until nothing moves, with a gradient through the loop."""
    layer = nn.Dense(3, 3)
    layer.weight.set_data(layer.weight * 0.3)
    opt = nn.SGD(layer.trainable_params(), 0.1)

    def settle(x: Any) -> tuple[Any, Any]:
        z, n = ops.zeros_like(x), 0
        while True:
            new = ops.tanh(layer(z) + x)
            n = n + 1
            if ops.abs(new - z).max() < 1e-4 or n >= 30:
                break
            z = new
        return new, n

    def loss(x: Any) -> tuple[Any, Any]:
        z, n = settle(x)
        return (z**2).sum(), n

    grad = ms.value_and_grad(loss, None, opt.parameters, has_aux=True)

    @jit
    def step(x: Any) -> Any:
        (value, n), grads = grad(x)
        opt(grads)
        return value, n

    return [step(normal(2, 3, seed=i)) for i in range(3)] + weights(layer)


@script
def decoding(jit: Any) -> list[Any]:
    """Greedy decoding: a loop that ends when every sequence has said its end word."""
    cell, head, table = nn.GRUCell(4, 6), nn.Dense(6, 5), nn.Embedding(5, 4, embedding_table="normal")

    @jit
    def decode(state: Any, longest: Any) -> tuple[Any, Any]:
        word = ops.zeros((state.shape[0],), ms.int32)
        said = ops.full((state.shape[0], 12), -1, dtype=ms.int32)
        done = word != 0
        n = 0
        while n < longest and not done.all():
            state = cell(table(word), state)
            word = head(state).argmax(1).astype(ms.int32)
            said[:, n] = ops.where(done, -1, word)
            done = ops.logical_or(done, word == 4)
            n = n + 1
        return said, n

    return [decode(normal(3, 6, seed=i) * 3, Tensor(n)) for i, n in enumerate((5, 9, 0))]


@script
def distillation(jit: Any) -> list[Any]:
    """A teacher that only looks on, a custom loss, one gradient per example by vmap."""

    class Soft(nn.LossBase):
        def __init__(self, temperature: float) -> None:
            super().__init__("mean")
            self.temperature = temperature

        def construct(self, logits: Any, target: Any) -> Any:
            logp = ops.log_softmax(logits / self.temperature, -1)
            p = ops.softmax(target / self.temperature, -1)
            return self.get_loss(-(p * logp).sum(-1))

    teacher, student, soft = mlp(4, 8, 3), mlp(4, 3), Soft(2.0)
    opt = nn.AdamWeightDecay(student.trainable_params(), 1e-2, weight_decay=0.1)
    grad = ms.value_and_grad(lambda x: soft(student(x), ops.stop_gradient(teacher(x))), None, opt.parameters)
    single = ms.vmap(ms.grad(lambda row: soft(student(row.reshape(1, -1)), teacher(row.reshape(1, -1)))))

    @jit
    def step(x: Any) -> Any:
        value, grads = grad(x)
        opt(grads)
        return value, single(x)

    return [step(normal(5, 4, seed=i)) for i in range(3)] + weights(student)


class Lion(nn.Optimizer):
    """An optimizer of one's own: the sign of a momentum."""

    def __init__(self, params: Any, learning_rate: Any, beta: float = 0.9) -> None:
        super().__init__(learning_rate, params, 0.01)
        self.beta = beta
        self.moments = self.slots("moments")

    def update(self, i: int, param: Any, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        moment = self.beta * self.moments[i] + (1 - self.beta) * grad
        ops.assign(param, param - rate * ops.sign(moment))
        ops.assign(self.moments[i], moment)


class Halved(nn.LearningRateSchedule):
    """A schedule of one's own, with a decision on the step."""

    def construct(self, global_step: Any) -> Any:
        if global_step < 2:
            return Tensor(0.1, ms.float32)
        return 0.2 / (1.0 + global_step.astype(ms.float32))


@script
def homemade(jit: Any) -> list[Any]:
    net = mlp(3, 4, 2)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.HuberLoss()), Lion(net.trainable_params(), Halved()))
    step = jit(step.set_train())
    return [step(normal(4, 3, seed=i), normal(4, 2, seed=i)) for i in range(4)] + weights(net)


def numbers(value: Any) -> list[Any]:
    """All numbers in a nested result."""
    if isinstance(value, (tuple, list)):
        return [x for part in value for x in numbers(part)]
    return [value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)]


def run(name: str, mode: int, whole: bool = True) -> list[Any]:
    ms.set_context(mode=mode)
    ms.set_seed(21)
    compiled = mode == ms.GRAPH_MODE and whole
    jit: Any = ms.jit if compiled else lambda fn: fn
    made: list[Any] = []

    def keep(fn: Any) -> Any:
        made.append(jit(fn))
        return made[-1]

    found = numbers(SCRIPTS[name](keep))
    if compiled:
        assert [len(fn.versions) for fn in made] == [1]
    return found


@pytest.mark.parametrize("whole", [True, False], ids=["whole step", "by parts"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_gives_the_same_numbers(name: str, whole: bool) -> None:
    """As a graph: the whole step, or only the Cells and gradients that it calls (with Python between them)."""
    eager, graph = run(name, ms.PYNATIVE_MODE), run(name, ms.GRAPH_MODE, whole)
    assert len(eager) == len(graph) > 2
    for i, (found, want) in enumerate(zip(graph, eager)):
        size = max(np.abs(want).max(initial=0), 1e-3)
        np.testing.assert_allclose(found, want, rtol=0, atol=2e-6 * size, err_msg=f"number {i} of {name}")
    assert all(np.isfinite(x).all() for x in eager)


@pytest.mark.parametrize("name", ["adversaries", "accumulation", "equation", "homemade"])
def test_a_second_run_compiles_nothing_after_its_first_step(name: str) -> None:
    with compilations() as seen:
        run(name, ms.GRAPH_MODE)
    assert seen == ["first call"]
