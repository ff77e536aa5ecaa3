"""A physics-informed network for Burgers' equation, Adam: the loss holds second derivatives, its gradient third ones.

u_t + u u_x - 0.01 u_xx = 0        u: dense 2, 64, 64, 64, 1 with tanh, at 2000 points
"""

from __future__ import annotations

from typing import Any

from bench.case import Case, Seeded, dense_flops, several

WIDTHS = (2, 64, 64, 64, 1)
POINTS, VISCOSITY, RATE = 2000, 0.01, 1e-3


def _weights() -> list[Any]:
    """Twice the usual ones: derivatives of any size, so that it does not matter where Adam adds its epsilon."""
    seeded = Seeded(0)
    return [2 * w for i, o in zip(WIDTHS, WIDTHS[1:]) for w in seeded.dense(i, o)]


def _points(seeded: Seeded) -> tuple[Any, ...]:
    return seeded.uniform(0, 1, POINTS, 1), seeded.uniform(-1, 1, POINTS, 1)


def _torch(side: Any) -> Any:
    torch, parameters = side.torch, side.parameters()

    def net(t: Any, x: Any) -> Any:
        h = torch.cat([t, x], 1)
        for k in range(0, 6, 2):
            h = torch.tanh(torch.nn.functional.linear(h, parameters[k], parameters[k + 1]))
        return torch.nn.functional.linear(h, parameters[6], parameters[7])

    loss = _torch_functional(torch, net) if side.way == "compile" else _torch_taped(torch, side, net)
    return side.train(loss, side.adam(parameters, RATE))


def _torch_taped(torch: Any, side: Any, net: Any) -> Any:
    def loss(t: Any, x: Any) -> Any:
        t, x = side.leaves(t, x)
        u = net(t, x)
        ut, ux = torch.autograd.grad(u.sum(), (t, x), create_graph=True)
        (uxx,) = torch.autograd.grad(ux.sum(), x, create_graph=True)
        return ((ut + u * ux - VISCOSITY * uxx) ** 2).mean()

    return loss


def _torch_functional(torch: Any, net: Any) -> Any:
    """torch.compile cannot trace autograd.grad inside a loss that is differentiated: torch.func can be."""
    grad = torch.func.grad

    def loss(t: Any, x: Any) -> Any:
        total = lambda t, x: net(t, x).sum()
        u, (ut, ux) = net(t, x), grad(total, (0, 1))(t, x)
        uxx = grad(lambda x: grad(total, 1)(t, x).sum())(x)
        return ((ut + u * ux - VISCOSITY * uxx) ** 2).mean()

    return loss


def _jax(side: Any) -> Any:
    import optax

    jax, jnp = side.jax, side.jnp

    def net(p: Any, t: Any, x: Any) -> Any:
        h = jnp.concatenate([t, x], 1)
        for k in range(0, 6, 2):
            h = jnp.tanh(side.dense(h, p[k], p[k + 1]))
        return side.dense(h, p[6], p[7])

    def reverse(p: Any, t: Any, x: Any) -> Any:
        total = lambda t, x: net(p, t, x).sum()
        ut, ux = jax.grad(total, (0, 1))(t, x)
        return net(p, t, x), ut, ux, jax.grad(lambda x: jax.grad(total, 1)(t, x).sum())(x)

    def forward(p: Any, t: Any, x: Any) -> Any:
        one = jnp.ones_like(x)
        slope = lambda x: jax.jvp(lambda z: net(p, t, z), (x,), (one,))[1]
        u, ut = jax.jvp(lambda z: net(p, z, x), (t,), (one,))
        return (u, ut, *jax.jvp(slope, (x,), (one,)))

    def loss(p: Any, t: Any, x: Any) -> Any:
        u, ut, ux, uxx = (forward if side.variant == "forward" else reverse)(p, t, x)
        return ((ut + u * ux - VISCOSITY * uxx) ** 2).mean()

    return side.train(loss, optax.adam(RATE))


def _ms(side: Any) -> Any:
    ms, nn, ops = side.ms, side.nn, side.ops

    class Net(nn.Cell):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c, self.d = nn.Dense(2, 64), nn.Dense(64, 64), nn.Dense(64, 64), nn.Dense(64, 1)

        def construct(self, t: Any, x: Any) -> Any:
            h = ops.cat((t, x), 1)
            return self.d(ops.tanh(self.c(ops.tanh(self.b(ops.tanh(self.a(h)))))))

    net = side.load(Net())

    def total(t: Any, x: Any) -> Any:
        return net(t, x).sum()

    slopes, slope = ms.grad(total, (0, 1)), ms.grad(total, 1)

    def slope_total(t: Any, x: Any) -> Any:
        return slope(t, x).sum()

    bend = ms.grad(slope_total, 1)

    def reverse(t: Any, x: Any) -> Any:
        return (net(t, x), *slopes(t, x), bend(t, x))

    def forward(t: Any, x: Any) -> Any:
        one = ops.ones_like(x)
        along = lambda x: ms.jvp(lambda z: net(t, z), x, one)[1]
        u, ut = ms.jvp(lambda z: net(z, x), t, one)
        return (u, ut, *ms.jvp(along, x, one))

    def loss(t: Any, x: Any) -> Any:
        u, ut, ux, uxx = (forward if side.variant == "forward" else reverse)(t, x)
        return ((ut + u * ux - VISCOSITY * uxx) ** 2).mean()

    return side.train(loss, nn.Adam(net.trainable_params(), RATE))


CASES = [
    Case(
        "pinn_step",
        "PINN training step, third order",
        {"msnb": _ms, "mindspore": _ms, "torch": _torch, "jax": _jax},
        several(_points),
        _weights,
        flops=4 * dense_flops(POINTS, *WIDTHS),  # u, u_t, u_x, u_xx: at least one sweep each, and their backward
        tolerance=1e-3,
        variants={"jax": ("forward", "reverse"), "msnb": ("forward", "reverse")},
    )
]
