"""What a type checker must know of msnb: read by ``test_types.py``, never run."""

# ruff: noqa
from typing_extensions import assert_type

import msnb as ms
from msnb import Tensor, nn, ops
from msnb.base.settings import ContextChange

x = ms.Tensor([1.0, 2.0])


def f(x: Tensor, k: int) -> Tensor:
    return x * k


@ms.jit
def g(x: Tensor, deep: bool = False) -> Tensor:
    return x


class Net(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return x

    @ms.jit
    def step(self, x: Tensor) -> Tensor:
        return x


net = Net()
assert_type(ops.matmul(x, x), Tensor)
assert_type(ops.relu(x), Tensor)
assert_type(ops.add(x, 1), Tensor)
assert_type(ops.exp(x), Tensor)
assert_type(ops.equal(x, x), Tensor)
assert_type(ops.concat([x, x]), Tensor)
assert_type(ops.stack([x, x]), Tensor)
assert_type(ops.conv2d(x, x), Tensor)
assert_type(ops.softmax(x), Tensor)
assert_type(ops.mean(x), Tensor)
assert_type(ops.reshape(x, (2, 1)), Tensor)
assert_type(ops.transpose(x, (1, 0)), Tensor)
assert_type(ops.zeros((2, 2)), Tensor)
assert_type(ops.ones((2, 2)), Tensor)
assert_type(ops.argsort(x), Tensor)
assert_type(ops.einsum("i,i->", x, x), Tensor)
assert_type(ops.hsplit(x, 2), tuple[Tensor, ...])
assert_type(ops.split(x, 1), tuple[Tensor, ...])
assert_type(ops.cummax(x, 0), tuple[Tensor, Tensor])
assert_type(ops.tensor_scatter_add(x, x, x), Tensor)
assert_type(ops.cross_entropy(x, x), Tensor)
assert_type(x.sum(), Tensor)
assert_type(x.mean(0), Tensor)
assert_type(x.T, Tensor)
assert_type(x.mT, Tensor)
assert_type(x.reshape(1, 2), Tensor)
assert_type(x.exp(), Tensor)
assert_type(x.add(1, alpha=2), Tensor)
assert_type(x.astype(ms.float16), Tensor)
assert_type(x.float(), Tensor)
assert_type(x.argmax(), Tensor)
assert_type(x.detach(), Tensor)
assert_type(x.ndimension(), int)
assert_type(x.split(1), tuple[Tensor, ...])
assert_type(x.add_(1), Tensor)
assert_type(x + 1, Tensor)
assert_type(2 / x, Tensor)
assert_type(x @ x, Tensor)
assert_type(x == x, Tensor)
assert_type(x != 1, Tensor)
assert_type(x > 0, Tensor)
assert_type(-x, Tensor)
assert_type(x[0], Tensor)
assert_type(x.shape, tuple[int, ...])
assert_type(x.shape[0] // 2, int)
assert_type(x.dtype, ms.DType)
assert_type(nn.Dense(2, 3)(x), Tensor)
assert_type(net(x), Tensor)
assert_type(net.step(x), Tensor)
assert_type(g(x), Tensor)
assert_type(g(x, deep=True), Tensor)
assert_type(g.explain(), str)
assert_type(ms.jit(f).explain(timing=True), str)
assert_type(ms.jit(f)(x, 2), Tensor)
assert_type(ms.grad(f)(x, 2), Tensor)
assert_type(ms.grad(f, (0, 1))(x, 2), tuple[Tensor, ...])
assert_type(ms.grad(ms.grad(f))(x, 2), Tensor)
assert_type(ms.value_and_grad(f)(x, 2), tuple[Tensor, Tensor])
assert_type(ms.value_and_grad(net, None, net.trainable_params())(x), tuple[Tensor, tuple[Tensor, ...]])
assert_type(ms.vmap(f)(x, 2), Tensor)
assert_type(ms.zeros((2, 2)), Tensor)
assert_type(ms.set_context(mode="graph").__enter__(), ContextChange)
assert_type(net.trainable_params(), list[ms.Parameter])

# wrong: every line below must be reported
x.summ()  # wrong
x.shape_of  # wrong
ops.reul(x)  # wrong
ops.matmul(x)  # wrong
ops.relu(x, x)  # wrong
ops.exp(x, axis=1)  # wrong
ops.softmax(x, axes=1)  # wrong
x.exp(1)  # wrong
x.reshape(1, 2).sume()  # wrong
nn.Dense(4)  # wrong
nn.Dense("a", 2)  # wrong
nn.Dens(1, 2)  # wrong
ms.set_context(mod=1)  # wrong
ms.set_context(mode=3.5)  # wrong
ms.set_context(device_target=1)  # wrong
ms.Tenser([1.0])  # wrong
ms.jit(f)(x)  # wrong
ms.grad(f)(x)  # wrong
ms.vmap(f)(x, "2")  # wrong
g(x, depth=True)  # wrong
ms.show.irr(f, x)  # wrong
net(x).sum().undefined  # wrong
