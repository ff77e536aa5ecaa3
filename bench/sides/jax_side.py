"""JAX: the whole step as one jitted function that gives parameters and optimizer state back in donated buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.case import Case, Step


class Side:
    """What the programs of all cases need of JAX.

    JAX works in the background: every step ends with block_until_ready on all that it made. Networks are plain
    functions of (parameters, batch). `nhwc` is the variant with channels last, which XLA may run quicker.
    """

    def __init__(self, case: Case, way: str, variant: str) -> None:
        import jax

        self.jax, self.jnp, self.case, self.variant = jax, jax.numpy, case, variant
        self.nhwc = variant == "nhwc"

    def made(self, function: Callable[..., Any]) -> Any:
        return self.jax.jit(function)

    def parameters(self) -> list[Any]:
        return [self.jnp.asarray(self.kernel(w)) for w in self.case.initial(self.variant)]

    def kernel(self, weight: Any) -> Any:
        return weight.transpose(2, 3, 1, 0).copy() if self.nhwc and weight.ndim == 4 else weight

    def image(self, array: Any) -> Any:
        return array.transpose(0, 2, 3, 1).copy() if self.nhwc and array.ndim == 4 else array

    def over(self, function: Callable[..., Any]) -> Step:
        data = [[self.jnp.asarray(self.image(a)) for a in batch] for batch in self.case.batches()]
        wait = self.jax.block_until_ready
        return lambda i: wait(function(*data[i % len(data)]))

    def pulled(self, function: Callable[..., Any], wanted: int) -> Step:
        def both(*batch: Any) -> Any:
            out, pull = self.jax.vjp(function, *batch[:wanted])
            return (out, *pull(batch[-1]))

        return self.over(self.made(both))

    def train(self, loss: Callable[..., Any], optimizer: Any) -> Step:
        """`loss(parameters, *batch)`; the parameters live in the closure between steps."""
        import optax

        def train(parameters: Any, state: Any, batch: Any) -> Any:
            value, gradients = self.jax.value_and_grad(loss)(parameters, *batch)
            updates, state = optimizer.update(gradients, state, parameters)
            return optax.apply_updates(parameters, updates), state, value

        run = self.jax.jit(train, donate_argnums=(0, 1))
        parameters = self.parameters()
        kept = [parameters, optimizer.init(parameters)]

        def step(*batch: Any) -> Any:
            kept[0], kept[1], value = self.jax.block_until_ready(run(kept[0], kept[1], batch))
            return value

        return self.over(step)

    # ---------------------------------------------------------------- layers

    def dense(self, x: Any, weight: Any, bias: Any = None) -> Any:
        y = x @ weight.T
        return y if bias is None else y + bias

    def conv(self, x: Any, weight: Any, stride: int = 1, padding: int = 0) -> Any:
        names = ("NHWC", "HWIO", "NHWC") if self.nhwc else ("NCHW", "OIHW", "NCHW")
        pads = [(padding, padding)] * 2
        return self.jax.lax.conv_general_dilated(x, weight, (stride, stride), pads, dimension_numbers=names)

    def channels(self, vector: Any) -> Any:
        """A vector over channels, shaped so that it meets an image."""
        return vector.reshape((1, 1, 1, -1) if self.nhwc else (1, -1, 1, 1))

    def spread(self, size: Any, rest: Any) -> tuple[Any, ...]:
        """One setting for both directions of an image, another for batch and channels."""
        return (rest, size, size, rest) if self.nhwc else (rest, rest, size, size)

    def max_pool(self, x: Any, kernel: int, stride: int, padding: int = 0) -> Any:
        window, steps = self.spread(kernel, 1), self.spread(stride, 1)
        pads = self.spread((padding, padding), (0, 0))
        return self.jax.lax.reduce_window(x, -self.jnp.inf, self.jax.lax.max, window, steps, pads)

    def layer_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        apart = x - x.mean(-1, keepdims=True)
        return apart * self.jax.lax.rsqrt((apart**2).mean(-1, keepdims=True) + 1e-5) * scale + shift

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        import optax

        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
