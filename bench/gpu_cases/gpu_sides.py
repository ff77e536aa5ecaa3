"""How each framework computes on the GPU: the sides of bench/sides with data there, and steps that do not wait.

precision     PyTorch                         msnb                              JAX
float32       allow_tf32 = False              matmul_precision="highest"        "highest"
tf32          allow_tf32 = True               "high"                            "tensorfloat32"
bfloat16      autocast                        to_float of Dense and Conv2d      operands cast, layer by layer
narrow        operands are bfloat16
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.case import Case, Step
from bench.sides import jax_side, ms_side, torch_side


class TorchSide(torch_side.Side):
    """PyTorch: eagerly, through torch.compile, or that with CUDA graphs."""

    def __init__(self, case: Case, way: str, variant: str, precision: str) -> None:
        super().__init__(case, way, variant)
        self.precision = precision
        self.torch.backends.cuda.matmul.allow_tf32 = self.torch.backends.cudnn.allow_tf32 = precision == "tf32"
        self.torch.backends.cudnn.benchmark = True

    def made(self, function: Callable[..., Any]) -> Callable[..., Any]:
        modes = {"compile": "default", "graphs": "reduce-overhead"}
        return self.torch.compile(function, mode=modes[self.way]) if self.way in modes else function

    def tensors(self, arrays: Any) -> list[Any]:
        return [t.cuda() for t in super().tensors(arrays)]

    def load(self, net: Any) -> Any:
        return super().load(net.cuda())

    def narrow(self, x: Any) -> Any:
        return x.bfloat16() if self.precision == "narrow" and x.dtype == self.torch.float32 else x

    def over(self, function: Callable[..., Any]) -> Step:
        if self.precision != "narrow":
            return super().over(function)
        data = [[self.narrow(t) for t in self.tensors(batch)] for batch in self.case.batches()]
        return lambda i: function(*data[i % len(data)])

    def train(self, loss: Callable[..., Any], optimizer: Any) -> Step:
        if self.precision != "bfloat16":
            return super().train(loss, optimizer)

        def narrow(*batch: Any) -> Any:
            with self.torch.autocast("cuda", self.torch.bfloat16):
                return loss(*batch)

        return super().train(narrow, optimizer)

    def wait(self, made: Any) -> None:
        self.torch.cuda.synchronize()


class JaxSide(jax_side.Side):
    """JAX."""

    def __init__(self, case: Case, way: str, variant: str, precision: str) -> None:
        super().__init__(case, way, variant)
        self.precision = precision
        how = "tensorfloat32" if precision == "tf32" else "highest" if precision == "float32" else "default"
        self.jax.config.update("jax_default_matmul_precision", how)

    def narrow(self, x: Any) -> Any:
        wanted = self.precision in ("narrow", "bfloat16") and x.dtype == self.jnp.float32
        return x.astype(self.jnp.bfloat16) if wanted else x

    def over(self, function: Callable[..., Any]) -> Step:
        data = [[self.jnp.asarray(self.image(a)) for a in batch] for batch in self.case.batches()]
        if self.precision == "narrow":
            data = [[self.narrow(a) for a in batch] for batch in data]
        return lambda i: function(*data[i % len(data)])

    def train(self, loss: Callable[..., Any], optimizer: Any) -> Step:
        import optax

        def train(parameters: Any, state: Any, batch: Any) -> Any:
            value, gradients = self.jax.value_and_grad(loss)(parameters, *batch)
            updates, state = optimizer.update(gradients, state, parameters)
            return optax.apply_updates(parameters, updates), state, value

        run = self.jax.jit(train, donate_argnums=(0, 1))
        parameters = self.parameters()
        kept = [parameters, optimizer.init(parameters)]

        def step(*batch: Any) -> Any:
            kept[0], kept[1], value = run(kept[0], kept[1], batch)
            return value

        return self.over(step)

    def dense(self, x: Any, weight: Any, bias: Any = None) -> Any:
        y = self.narrow(x) @ self.narrow(weight).T
        return y if bias is None else y + self.narrow(bias)

    def conv(self, x: Any, weight: Any, stride: int = 1, padding: int = 0) -> Any:
        return super().conv(self.narrow(x), self.narrow(weight), stride, padding)

    def channels(self, vector: Any) -> Any:
        return super().channels(self.narrow(vector))

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        return super().cross_entropy(logits.astype(self.jnp.float32), labels)

    def wait(self, made: Any) -> None:
        self.jax.block_until_ready(made)


class MsSide(ms_side.Side):
    """msnb: graph mode, or operation by operation."""

    attention_is_one_function = True

    def __init__(self, case: Case, way: str, variant: str, precision: str, device: str = "GPU") -> None:
        super().__init__(case, way, variant, "msnb")
        self.precision = precision
        how = "high" if precision == "tf32" else "highest"
        self.ms.set_context(device_target=device, matmul_precision=how)
        if precision == "bfloat16":
            self.nn = _WideLoss(self.ms)

    def tensors(self, arrays: Any) -> list[Any]:
        made = super().tensors(arrays)
        return [self.narrow(t) for t in made] if self.precision == "narrow" else made

    def narrow(self, x: Any) -> Any:
        wanted = self.precision == "narrow" and x.dtype == self.ms.float32
        return x.astype(self.ms.bfloat16) if wanted else x

    def load(self, net: Any) -> Any:
        if self.precision == "bfloat16":
            for _, cell in net.cells_and_names():
                if isinstance(cell, (self.ms.nn.Dense, self.ms.nn.Conv2d)):
                    cell.to_float(self.ms.bfloat16)
        return super().load(net)

    def over(self, function: Callable[..., Any], *kept: Any) -> Step:
        data = [self.tensors(batch) for batch in self.case.batches()]
        return lambda i: function(*data[i % len(data)])

    def wait(self, made: Any) -> None:
        self.ms.runtime.synchronize()


class _WideLoss:
    """``msnb.nn``, whose cross entropy takes logits of any dtype as float32, as autocast does."""

    def __init__(self, ms: Any) -> None:
        self._ms = ms

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ms.nn, name)

    def CrossEntropyLoss(self) -> Callable[..., Any]:
        entropy, float32 = self._ms.nn.CrossEntropyLoss(), self._ms.float32
        return lambda logits, labels: entropy(logits.astype(float32), labels)


SIDES = {"msnb": MsSide, "torch": TorchSide, "jax": JaxSide}


def ways(graphs: bool, eager_only: bool) -> list[str]:
    """Everybody who takes part, by name: framework and way, msnb first."""
    if eager_only:
        return ["msnb eager", "torch eager"]
    return ["msnb graph", "torch eager", "jax jit", "torch compile", *(["torch graphs"] if graphs else [])]
