"""``ms.parallel.Trainer``: a training step on real ranks that keep their parts of weights and optimizer state.

    plan = ms.parallel.plan(step, x, y, device_num=4)          step: forward, gradient and optimizer in one Cell
    with ms.parallel.Trainer(plan, engine="mpi", folder="ckpt", every=10) as trainer:
        losses = trainer.run(batches)                          data and rates go to the ranks, weights stay there

When a rank fails, all ranks begin anew, read the last snapshot and take the steps since then again: the losses are
those of a run in which nothing failed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from msnb.base import AttributeValueError, events
from msnb.core import Tensor, slot
from msnb.parallel.engine.client.engine_client import Engine
from msnb.parallel.engine.client.remote_plan import engine_for, loaded, run_on
from msnb.parallel.engine.comm.private_folder import private_folder
from msnb.parallel.engine.comm.rank_failures import RankError
from msnb.parallel.engine.comm.shards import together
from msnb.parallel.engine.executable_plan import Runnable
from msnb.parallel.engine.rank.sharded_checkpoint import conclude, unfinished
from msnb.parallel.sharding.layout import whole

if TYPE_CHECKING:
    from msnb.parallel.program.spmd_program import SpmdProgram

Batches = Sequence[tuple[Any, ...]] | Callable[[int], tuple[Any, ...]]
_KEPT = 2  # snapshots
_FAILURES = count()  # every failure is announced, also one with the words of another


class Trainer:
    """Steps of a plan on ranks.

    Args:
        plan: of a Cell that makes a whole step (``nn.TrainOneStepCell``), in pipeline stages or not.
        engine: "mpi", "ipp" or an Engine.
        folder: for snapshots; a temporary one by default.
        every: steps between snapshots.
        retries: how often one step may fail before its error is raised.

    Attributes:
        done: steps taken; plan, engine, folder: as given.

    Raises:
        ValueError: an engine of another number of ranks than the plan has devices, one that is no process of its own, a
            plan of a loss alone, or a number that is not legal.
    """

    def __init__(self, plan: Runnable, engine: str | Engine = "mpi", folder: str | Path | None = None,
                 every: int = 10, retries: int = 2) -> None:  # fmt: skip
        if every < 1 or retries < 0:
            raise AttributeValueError(f"every={every}, retries={retries}: legal are at least 1 and at least 0.")
        self.plan: Runnable = plan
        self.program: SpmdProgram = plan.program
        self.every: int = every
        self.retries: int = retries
        if self.program.gradients:
            raise AttributeValueError("Trainer takes steps; this plan gives a loss and its gradients, and no new "
                                      "weights.", hint="plan nn.TrainOneStepCell(net, optimizer).")  # fmt: skip
        if engine == "inproc":
            raise AttributeValueError(
                "Trainer keeps weights on real ranks; legal: 'mpi', 'ipp', 'nccl' or an Engine.",
                hint="here ms.jit and Model.train run a step as its plan.",
            )
        graph = self.program.graph
        kept = set(self.program.params) | {graph.params[at] for at in graph.state}
        self.names: dict[int, str] = _names([(i, p.name) for i, p in enumerate(graph.params) if p in kept])
        self._stack, self._wanted = ExitStack(), engine
        self._given = None if folder is None else str(folder)
        self.done: int = 0
        self.last: str = ""
        self._saved = -1

    def __enter__(self) -> Trainer:
        try:
            self._begin()
        except BaseException:
            self._stack.close()
            raise
        return self

    def _begin(self) -> None:
        self.engine: Engine = self._stack.enter_context(engine_for(self._wanted, self.program.size))
        self.folder: str = self._given or self._temporary()
        self.engine.start()
        self.key: str = loaded(self.engine, self.plan.document, f"train {id(self)}", often=True)
        others = set(range(len(self.program.graph.params))) - set(self.names)
        self.engine.ask(self.key, "give", self.plan.given((), others))

    def _temporary(self) -> str:
        """A folder that goes with this block, or with this process."""
        folder = private_folder("snapshots")
        self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
        self._stack.enter_context(self.engine.temporary(folder))
        return folder

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:  # fmt: skip
        """The ranks forget. One that died since the last snapshot took nothing with it: whoever asks the engine next
        hears of it."""
        try:
            if self.engine.started and not self.engine.failed:
                with suppress(RankError):
                    self.engine.drop(self.key)
        finally:
            self.engine.plans.pop(self.key, None)
            self._stack.close()

    def step(self, *inputs: Any) -> Any:
        """One step.

        Args:
            inputs: as the program takes them.

        Returns:
            Its result (the loss), as NumPy; several as a tuple.

        Raises:
            RankError: a rank failed; nothing is recovered (``run`` does).
        """
        made = run_on(self.engine, self.program, self.key, self.plan.given(inputs, set(self.names)))
        self.done += 1
        state = set(self.program.graph.state.values())
        results = [v for i, v in enumerate(made[: len(self.program.graph.outputs)]) if i not in state]
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, batches: Batches, steps: int | None = None) -> list[Any]:
        """Steps over batches, through failures.

        Args:
            batches: a sequence of tuples of inputs, or a function of the step's number: steps are taken again after a
                failure, so an iterator that can be read once is not enough.
            steps: how many; by default the length of the sequence.

        Returns:
            The result of every step.

        A snapshot is taken before the first step and behind the last, so a rank that dies between two calls loses
        nothing either.

        Raises:
            RankError: a step failed more often than ``retries``, or the first snapshot of all did.
        """
        asked = batches if callable(batches) else batches.__getitem__
        n = len(batches) if steps is None and not callable(batches) else int(steps or 0)
        first, furthest, failed = self.done, self.done, 0
        results: list[Any] = [None] * n
        error: RankError | None = None
        while n and (self.done - first < n or self._saved != self.done):
            try:
                self._prepare(error, first, first + n)
                error = None
                if self.done - first < n:
                    results[self.done - first - 1] = self.step(*asked(self.done - first))
            except RankError as failure:
                error, failed = failure, failed + 1
                if failed > self.retries or self._saved < first:
                    raise
            if error is None and self.done > furthest:
                furthest, failed = self.done, 0
        return results

    def _prepare(self, error: RankError | None, first: int, end: int) -> None:
        """Go back after an error; take a snapshot before the first step, every so many, and behind the last: what came
        before the next call's batches cannot be taken again."""
        if error is not None:
            self._again(error)
        due = self.done % self.every == 0 or self.done == end
        if self._saved < first or (due and self._saved != self.done):
            self.save()

    def _again(self, error: RankError) -> None:
        """Make the ranks ready and go back to the last snapshot."""
        at = self.done
        how = self.engine.recover()
        self.load(self.last)
        why = error.sentence.rstrip(".")
        events.notice(f"step {at + 1} failed ({why}); the ranks were {how}, training goes on after step {self.done}.",
                      key=f"ranks failed {next(_FAILURES)}")  # fmt: skip

    # ---- weights ----

    def save(self, folder: str | Path | None = None) -> str:
        """Write a sharded checkpoint; gives its folder.

        Args:
            folder: where; by default a new one in the Trainer's, where the last two are kept.
        """
        target = str(folder or Path(self.folder, f"step-{self.done:06}"))
        part = unfinished(target)
        try:
            self.engine.ask(self.key, "save", part, self.names)
            made = conclude(part, target, self.program, self.names, self.done)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        if folder is None:
            self.last = made
            self._saved = self.done
            for old in sorted(Path(self.folder).glob("step-" + "[0-9]" * 6))[:-_KEPT]:
                shutil.rmtree(old, ignore_errors=True)
        return made

    def load(self, folder: str | Path) -> None:
        """Read a sharded checkpoint, of this mesh or another.

        Raises:
            RankError: it does not fit the program, or is not whole.
        """
        self.done = self.engine.ask(self.key, "load", str(folder), self.names)[0]

    def weights(self) -> dict[str, Any]:
        """The whole values of what the ranks keep, by name."""
        rows = self.engine.ask(self.key, "take")
        graph = self.program.graph
        out = {}
        for i, name in self.names.items():
            p = graph.params[i]
            layout = self.program.params.get(p) or whole(getattr(p.type, "ndim", 0))
            out[name] = together(self.program, (p, layout), [row.get(i) for row in rows])
        return out

    def write_back(self) -> None:
        """Give the network (and its optimizer) in this process the values that the ranks have."""
        values = self.weights()
        owners = self.plan.captured.owners(self.plan.args, {})
        for i, name in self.names.items():
            if isinstance(owners[i], Tensor):
                slot.engine.assign(owners[i], Tensor(np.asarray(values[name])))


def _names(params: list[tuple[int, str]]) -> dict[int, str]:
    """A name of its own for every param."""
    seen: dict[str, int] = {}
    out = {}
    for i, name in params:
        seen[name] = seen.get(name, 0) + 1
        out[i] = name if seen[name] == 1 else f"{name}_{seen[name]}"
    return out
