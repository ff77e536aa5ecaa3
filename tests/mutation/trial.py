"""One file, one reader: what happened, in a word."""

from __future__ import annotations

import contextlib
import functools
import io
import random
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

SECONDS, WAITING = 5.0, 60.0  # of computing, on a machine that runs ``_loop`` in 25 ms; of a clock on the wall


class Late(BaseException):
    """The reader takes longer than any reader may."""


@dataclass(frozen=True)
class Format:
    """A kind of file.

    Attributes:
        name: on the command line.
        seeds: good files, by name; ``load`` takes them all.
        load: the reader, which is given the folder.
        change: a new set of files from good ones.
        errors: what the reader may refuse with.
        bombs: files that ask for much, by name; each is refused or read within the limits.
    """

    name: str
    seeds: Callable[[], list[dict[str, bytes]]]
    load: Callable[[Path], Any]
    change: Callable[[random.Random, dict[str, bytes]], dict[str, bytes]]
    errors: tuple[type[BaseException], ...]
    bombs: Callable[[], dict[str, dict[str, bytes]]] = dict


def _loop() -> float:
    """Seconds of computing that a fixed piece of Python takes here and now."""
    start = time.process_time()
    table: dict[str, list[int]] = {}
    for number in range(100_000):
        table.setdefault(str(number & 1023), []).append(number)
    return time.process_time() - start


@functools.cache
def _seconds() -> float:
    """``SECONDS`` of a machine of that pace, on this one: a slow or loaded machine gets more, a fast one no less."""
    return SECONDS * max(1.0, _loop() / 0.025)


def _late(number: int, frame: FrameType | None) -> None:
    raise Late


def tried(form: Format, files: dict[str, bytes], folder: Path) -> str:
    """ "read", "refused", or what went wrong: "foreign ..." or "late"."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    kinds = {signal.SIGALRM: (signal.ITIMER_REAL, WAITING), signal.SIGPROF: (signal.ITIMER_PROF, _seconds())}
    before = {number: signal.signal(number, _late) for number in kinds}
    for clock, seconds in kinds.values():
        signal.setitimer(clock, seconds)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            form.load(folder)
        return "read"
    except form.errors as error:
        return "refused" if str(error).strip() else "foreign: an error without a word"
    except Late:
        return "late"
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        return f"foreign {type(error).__name__}: {str(error)[:90]} ({Path(at.filename).name}:{at.lineno})"
    finally:
        for number, (clock, _) in kinds.items():
            signal.setitimer(clock, 0)
            signal.signal(number, before[number])
        for name in files:
            (folder / name).unlink(missing_ok=True)


def changed(form: Format, seeds: list[dict[str, bytes]], seed: int, number: int) -> dict[str, bytes]:
    """The files of this number under this seed."""
    rng = random.Random(f"{form.name}/{seed}/{number}")
    return form.change(rng, rng.choice(seeds))
