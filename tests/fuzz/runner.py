"""Runs one program every way and keeps all that can be seen of it: results, printed text, state, errors.

    oracle     the text over NumPy (tests/fuzz/oracle.py)
    wobbled    the oracle once more with every number changed by a few ulp: what that changes, rounding may change
    eager      as it stands                            graph O0/O1    the same under mode=GRAPH_MODE
    jit O0/O1  ms.jit of main                          native         eager at O1, as users have it
    kernels    eager at O1 with compiled kernels for the smallest tensors

A program's ``main`` is called once for each entry of CALLS, so state goes on from call to call, and what was compiled
at the first call meets other numbers (and the other branch) at the second.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import itertools
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import msnb as ms
from tests.fuzz import oracle
from tests.fuzz.duals import Largest
from tests.small_kernels import native_when_small

FOLDER = tempfile.TemporaryDirectory(prefix="msnb-fuzz-")
NUMBERS = itertools.count()
SEED = 11
SECONDS = 60

WAYS: dict[str, tuple[int, str, bool]] = {
    "eager": (ms.PYNATIVE_MODE, "O0", False),
    "native": (ms.PYNATIVE_MODE, "O1", False),
    "kernels": (ms.PYNATIVE_MODE, "O1", False),
    "graph O0": (ms.GRAPH_MODE, "O0", False),
    "graph O1": (ms.GRAPH_MODE, "O1", False),
    "jit O0": (ms.PYNATIVE_MODE, "O0", True),
    "jit O1": (ms.PYNATIVE_MODE, "O1", True),
}


class Late(BaseException):
    """The program took too long."""


@dataclass
class Step:
    """One call of main."""

    value: Any = None
    error: tuple[str, str] | None = None  # class and sentence
    refused: bool = False  # an error of msnb itself
    printed: str = ""
    state: dict[str, Any] = field(default_factory=dict)


@dataclass
class Outcome:
    steps: list[Step] = field(default_factory=list)
    unjudged: str = ""  # the oracle's reason for having no opinion
    largest: float = 0.0  # of the numbers that the oracle computed on the way


def load(text: str) -> Any:
    """The module of this text, from a file of its own."""
    path = Path(FOLDER.name) / f"program_{next(NUMBERS)}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain(tree: Any, where: str = "") -> Any:
    """Arrays in place of tensors."""
    if isinstance(tree, dict):
        return {k: plain(v) for k, v in tree.items()}
    if isinstance(tree, tuple | list):
        return ["list" if isinstance(tree, list) else type(tree).__name__, *map(plain, tree)]
    if isinstance(tree, ms.Tensor):
        value = tree.asnumpy()
        if tuple(tree.shape) != value.shape:
            raise AssertionError(f"a tensor says shape {tuple(tree.shape)} and holds {value.shape}")
        return np.array(value)
    if isinstance(tree, oracle.Tensor):
        return np.array(tree.asnumpy())
    return tree


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """So many seconds of this process's processor time, whatever else the machine does; ten times that for a wait."""

    def late(*_: Any) -> None:
        raise Late

    timers = ((signal.ITIMER_PROF, signal.SIGPROF, seconds), (signal.ITIMER_REAL, signal.SIGALRM, 10 * seconds))
    before = [(alarm, signal.signal(alarm, late)) for _, alarm, _ in timers]
    for timer, _, length in timers:
        signal.setitimer(timer, length)
    try:
        yield
    finally:
        for timer, _, _ in timers:
            signal.setitimer(timer, 0)
        for alarm, handler in before:
            signal.signal(alarm, handler)


def sentence(error: BaseException) -> str:
    text = str(getattr(error, "sentence", "") or error)
    return text.splitlines()[0] if text else ""


def step(run: Callable[..., Any], make: Callable[[Any], Any], values: Any, state: Callable[[], Any]) -> Step:
    out, printed = Step(), io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            out.value = plain(run(*map(make, values)))
    except oracle.Unjudged:
        raise
    except (Exception, Late) as error:
        out.error = (type(error).__name__, sentence(error))
        out.refused = isinstance(error, ms.MsnbError)
    out.printed = printed.getvalue()
    try:
        out.state = plain(state())
    except Exception as error:
        out.error = out.error or (type(error).__name__, sentence(error))
    return out


def steps(module: Any, main: Callable[..., Any], tensor: Any) -> Outcome:
    outcome = Outcome()

    def make(value: Any) -> Any:
        return tensor(np.array(value, module.F))

    for values in module.CALLS:
        found = step(main, make, values, module.state)
        if tensor is oracle.Tensor and (Largest.overflowed or oracle.World.tied):
            break  # this call and those behind it are not judged
        outcome.steps.append(found)
        if found.error:
            break
    return outcome


def run_way(text: str, way: str) -> Outcome:
    mode, level, outside = WAYS[way]
    kernels = native_when_small() if way == "kernels" else contextlib.nullcontext()
    with ms.set_context(mode=mode, jit_level=level), kernels, contextlib.redirect_stderr(io.StringIO()):
        try:
            with limited(SECONDS):
                ms.set_seed(SEED)
                module = load(text)
                return steps(module, ms.jit(module.main) if outside else module.main, ms.Tensor)
        except (Exception, Late) as error:
            return Outcome(
                [Step(error=(type(error).__name__, sentence(error)), refused=isinstance(error, ms.MsnbError))]
            )


def run_oracle(text: str, wobble: int = 0, draw: int = 0) -> Outcome:
    """What must come; with ``wobble`` every number is changed by that many ulp at most, by how much says the draw."""
    Largest.seen, Largest.overflowed = 0.0, False
    text = text.replace("import msnb as ms", "from tests.fuzz import oracle as ms\nprint = ms.printed")
    text = text.replace("from msnb import", "from tests.fuzz.oracle import")
    text = text.replace("trace = []", "trace = ms.Trace()")
    with ms.set_context(mode=ms.PYNATIVE_MODE, jit_level="O0"):
        ms.set_seed(SEED)
        oracle.World.begin(wobble, draw)
        try:
            module = load(text)
            outcome = steps(module, module.main, oracle.Tensor)
        except oracle.Unjudged as reason:
            return Outcome(unjudged=str(reason))
        except (Exception, Late) as error:
            return Outcome(unjudged=f"{type(error).__name__}: {error}")
        finally:
            oracle.World.begin(0)
    last = outcome.steps[-1].error if outcome.steps else None
    if last and not (last[0] == "ValueError" and last[1].startswith("stop")):
        outcome.unjudged = f"{last[0]}: {last[1]}"
    outcome.largest = Largest.seen
    return outcome
