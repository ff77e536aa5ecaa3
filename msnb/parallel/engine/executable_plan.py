"""Something that is planned and can be run: on simulated ranks or on real ones."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from msnb.base import AttributeValueError
from msnb.core import Tensor, TensorType, pytree
from msnb.parallel.engine.client.engine_client import Engine
from msnb.parallel.engine.client.remote_plan import engine_for, loaded, run_on, sent_by
from msnb.parallel.engine.simulated.lockstep_ranks import Ranks
from msnb.parallel.planner.cost_graph_builder import CostGraphBuilder
from msnb.parallel.planner.rematerialization import Layer
from msnb.parallel.plans.plan import NO_ORIGIN, Plan, PlanOrigin
from msnb.parallel.program.optimizer_sharding import gradients_of
from msnb.parallel.program.program_document import to_text
from msnb.parallel.program.spmd_program import SpmdProgram


class Runnable:
    """A plan that knows its program and the program's inputs.

    Attributes:
        captured: the program that was planned; args: what it was planned with.
        sent: bytes that a rank sent in the last run (the mean, where ranks differ), by kind of collective.
    """

    captured: Any = None
    args: tuple[Any, ...] = ()
    sent: dict[str, float]
    _written: tuple[SpmdProgram, str] | None = None

    @property
    def program(self) -> SpmdProgram:
        """The steps of every rank."""
        raise NotImplementedError

    @property
    def document(self) -> str:
        """The steps as one document (``msnb.parallel.program.program_document``), which processes read: written once
        per program."""
        program = self.program
        if self._written is None or self._written[0] is not program:
            self._written = program, to_text(program)
        return self._written[1]

    def run(self, *inputs: Any, engine: str | Engine = "inproc") -> Any:
        """Run the plan, on simulated ranks or on real ones.

        Args:
            inputs: as the program takes them (those it was planned with by default), of the same shapes.
            engine: "inproc", all ranks in this process (up to 64); "mpi", "ipp" or "nccl", processes of their own,
                begun for this run unless as many of them run already; or a ``ms.parallel.Engine``.

        Returns:
            Without training what the program returns. With training (loss, {weight: gradient}). Tensors, as of every
            other call.

        Raises:
            ValueError: an unknown engine, or inputs of other shapes.
            RuntimeError: RankError: a rank failed, and what happened on every rank.
        """
        values = self.values(list(self.given(inputs).values()), engine)
        n = len(self.program.graph.outputs)
        if not self.program.gradients:
            return as_tensors(self.captured.told(values[:n], inputs or self.args, {}))
        state = set(self.program.graph.state.values())
        loss = next(v for i, v in enumerate(values[:n]) if i not in state)
        named = {w.name: gradient for w, gradient in zip(self.program.weights, values[n:])}
        return as_tensors(loss), {name: as_tensors(gradient) for name, gradient in named.items()}

    def values(self, args: Sequence[Any], engine: str | Engine = "inproc", often: bool = False) -> list[Any]:
        """All results of the program, state among them, then its gradients.

        ``sent`` becomes the bytes that a rank sent (on real ranks the mean of what they counted), by kind.

        Args:
            args: an array or number per param of the program; engine: as ``run`` takes it.
            often: more calls will follow, so real ranks compile the program first, where this process would.
        """
        if engine == "inproc":
            ranks = Ranks(self.program)
            made = ranks.run(args)
            self.sent = ranks.sent
            return made
        with engine_for(engine, self.program.size) as real:
            key = loaded(real, self.document, "call" if often else "run", often)
            real.stats()
            made = run_on(real, self.program, key, dict(enumerate(args)))
            self.sent = {kind: n / self.program.size for kind, n in sent_by(real).items()}
        return made

    def given(self, inputs: tuple[Any, ...] = (), without: Container[int] = ()) -> dict[int, Any]:
        """Number of a param of the program -> its value at this moment, as an array or a number.

        Args:
            inputs: as the program takes them (those it was planned with by default); without: params not asked for.

        Raises:
            ValueError: inputs of other shapes.
        """
        need_as_many(inputs, self.args)
        owners = self.captured.owners(inputs or self.args, {})
        out = {}
        for i, (p, owner) in enumerate(zip(self.program.graph.params, owners)):
            if i in without:
                continue
            value = owner._host() if isinstance(owner, Tensor) else owner
            if isinstance(p.type, TensorType) and not p.type.weak and np.shape(value) != p.type.shape:
                raise AttributeValueError(f"{p.name} has shape {list(np.shape(value))}, the plan is for {p.type!r}.")
            out[i] = value
        return out


def need_as_many(inputs: tuple[Any, ...], planned: tuple[Any, ...]) -> None:
    """Raise ValueError unless a run gets no inputs, or as many as the program was planned with."""
    if inputs and len(inputs) != len(planned):
        raise AttributeValueError(f"the program was planned with {len(planned)} inputs, this run got {len(inputs)}.")


def as_tensors(result: Any) -> Any:
    """What ranks computed, as users know results: the arrays in it become Tensors."""
    leaves, shape = pytree.flatten(result)
    made = [Tensor(leaf) if isinstance(leaf, (np.ndarray, np.generic)) else leaf for leaf in leaves]
    return pytree.unflatten(shape, made)


class RunnablePlan(Plan, Runnable):
    """A plan that can be run."""

    def __init__(self, problem: CostGraphBuilder, choices: list[int], mode: str,
                 rematerialized: Sequence[Layer] = (), origin: PlanOrigin = NO_ORIGIN) -> None:  # fmt: skip
        super().__init__(problem, choices, mode, rematerialized, origin)
        self.captured: Any = origin.captured
        self.args: tuple[Any, ...] = origin.args

    @cached_property
    def replica(self) -> Plan | None:
        """What one device runs in data_parallel mode, unless copies share their update; None in other modes."""
        apart = self.mode == "data_parallel" and self.mesh.size > 1 and not self.problem.prices.sharding.level
        if not apart or self._origin.replica is None or not gradients_of(self.problem.joint):
            return None
        one = self._origin.replica()
        if one is None or not self.rematerialized:
            return one
        return one.computing_twice(one.alike(self.rematerialized, one.choices))
