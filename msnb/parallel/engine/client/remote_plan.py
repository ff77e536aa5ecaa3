"""A plan on an engine: its document goes there once, values every time; the parts that come back are joined."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from msnb.base import AttributeValueError, get_context
from msnb.parallel.engine.client.engine_client import BACKENDS, Engine, running
from msnb.parallel.engine.comm.shards import together
from msnb.parallel.program.spmd_program import SpmdProgram


@contextmanager
def engine_for(engine: str | Engine, n: int) -> Iterator[Engine]:
    """The engine itself; for a name, one of ``n`` ranks that runs already, else one for the time of the block.

    Raises:
        ValueError: no such name, or an engine of another number of ranks.
    """
    if isinstance(engine, Engine):
        if engine.n != n:
            raise AttributeValueError(f"the plan is for {n} devices, the engine has {engine.n} ranks.")
        yield engine
        return
    if engine not in BACKENDS:
        legal = ", ".join(map(repr, ("inproc", *BACKENDS)))
        raise AttributeValueError(f"no engine is called {engine!r}; legal: {legal}, or an Engine.")
    found = running(engine, n)
    if found is not None:
        yield found
        return
    with Engine(engine, n) as made:
        yield made


def loaded(engine: Engine, text: str, use: str = "run", often: bool = False) -> str:
    """Make a program ready on an engine for a use, for one step or for many; gives the name that it has there.

    Args:
        engine: the ranks; text: the program's document; use: part of the name; often: many steps are wanted.
    """
    key = f"{use} {get_context('jit_level')} {hashlib.blake2b(text.encode(), digest_size=12).hexdigest()}"
    if key not in engine.plans:
        engine.load(key, text, often)
    return key


def run_on(engine: Engine, program: SpmdProgram, key: str, values: Mapping[int, Any]) -> list[Any]:
    """One step; the whole outputs, then the gradients. New state that the ranks keep is None."""
    rows = engine.run(key, values)
    asked = (*program.outputs, *program.gradients)
    return [
        None if all(part is None for part in column) else together(program, b, column)
        for b, column in zip(asked, zip(*rows))
    ]


def sent_by(engine: Engine) -> dict[str, int]:
    """Bytes that went over the wire since this was last asked, by kind, of all ranks together."""
    out: dict[str, int] = {}
    for rank in engine.stats():
        for (kind, _), (_, nbytes, _) in rank.items():
            if nbytes:
                out[kind] = out.get(kind, 0) + nbytes
    return out
