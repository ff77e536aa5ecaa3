"""How equal the ways must be, and the sentence that says where they are not.

A number may differ by rounding: by a part of the largest number of its array (and of 1, since terms cancel), and by
what a change of all inputs by a few ulp changes in the oracle, times a factor; where numbers far larger than the
result met on the way, by their last places. What looks like a find is compared with further draws, in which the slopes
that are added change by their last places, too; it is one if it stands in all. NaN and infinity must stand in the same
places.
Shapes, dtypes, containers, printed words, their order, and errors of the program's own must be the same. A program that
msnb refuses with a sentence of its own (control flow on lanes, writes to lists under branches) is counted and no find;
any other error is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz.duals import epsilon
from tests.fuzz.runner import WAYS, Outcome, Step, run_oracle, run_way


class Precision(NamedTuple):
    """What a dtype lets pass.

    Attributes:
        rounding: a part of the largest number of an array.
        wobble: by how many ulp the numbers are changed in the oracle; factor: times what that changes.
        unjudged: by what part of themselves numbers may be off where there is no oracle.
        small: the most that the last places of larger numbers on the way may explain.
        digits: of printed numbers.
    """

    rounding: float
    wobble: int = 8
    factor: float = 100.0
    unjudged: float = 1e-7
    small: float = 1e-3
    digits: float = 1e-3


PRECISIONS = {
    "float64": Precision(1e-9),
    "float32": Precision(1e-3),
    "float16": Precision(2e-2, wobble=2, factor=8.0, unjudged=8e-3, small=0.25, digits=2e-2),
    "bfloat16": Precision(0.12, wobble=2, factor=8.0, unjudged=6e-2, small=0.5, digits=0.12),
}
LARGE = 1e12  # float32 and 1e9 alone would let everything pass
DRAWS = 4  # a find must stand whatever the last places of numbers and of slopes that cancel
REFUSALS = (
    "CaptureError",
    "ConcretizationError",
    "UnsupportedSyntaxError",
    "LostWriteError",
    "UndefinedNameError",
    "GradientError",
)
DTYPE = re.compile(r"^F = \w+\.(\w+)$", re.MULTILINE)
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|inf|nan)|[^\s\d\[\],]+")


@dataclass(frozen=True)
class Find:
    """A difference: of what kind, in which way, and the sentence."""

    kind: str
    way: str
    text: str

    @property
    def mark(self) -> tuple[str, str, str]:
        """What a smaller program must still show; of an unexpected error its words, too."""
        words = re.sub(r"[\d.]+|'[^']*'|\b\w*\d\w*\b", "", self.text)[:60] if self.kind == "error" else ""
        return self.kind, self.way, words


def precision_of(text: str) -> Precision:
    """That of the floats of a program."""
    found = DTYPE.search(text)
    return PRECISIONS[found[1] if found else "float64"]


def shifted(outcome: Outcome, by: Callable[[Any], float]) -> Outcome:
    """Every array of floats off by what ``by`` says of it."""

    def off(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {k: off(v) for k, v in tree.items()}
        if isinstance(tree, list):
            return [off(v) for v in tree]
        floats = isinstance(tree, np.ndarray) and tree.dtype.name in PRECISIONS
        return tree + tree.dtype.type(by(tree)) if floats else tree

    steps = [replace(s, value=off(s.value), state=off(s.state)) for s in outcome.steps]
    return replace(outcome, steps=steps)


def loosened(outcome: Outcome) -> Outcome:
    """Without an oracle it is not known what rounding may change: every number may be off by some parts of itself."""

    def parts(array: Any) -> float:
        return PRECISIONS[array.dtype.name].unjudged * max(1.0, largest(array))

    return shifted(outcome, parts)


def largest(array: Any) -> float:
    """The largest finite number."""
    wide = np.asarray(array, np.float64)
    return float(np.abs(wide[np.isfinite(wide)]).max(initial=0))


def cancelled(outcome: Outcome) -> Outcome:
    """Numbers as large as in a third derivative of softmax(1e9 x) cancel to their last places: those are not judged."""

    def places(array: Any) -> float:
        p = PRECISIONS[array.dtype.name]
        found = p.wobble * epsilon(array.dtype) * outcome.largest
        return found / p.factor if found < p.small or outcome.largest > LARGE else 0.0

    return shifted(outcome, places)


def difference(got: Any, want: Any, wobbled: Any, where: str) -> tuple[str, str] | None:
    """Kind and sentence of the first difference of two trees."""
    if isinstance(want, dict) and isinstance(got, dict) and got.keys() == want.keys():
        pairs = [(got[k], want[k], wobbled[k], f"{where}[{k!r}]") for k in want]
    elif isinstance(want, list) and isinstance(got, list) and len(got) == len(want):
        pairs = [(g, w, b, f"{where}[{i - 1}]") for i, (g, w, b) in enumerate(zip(got, want, wobbled))]
    elif isinstance(want, np.ndarray) and isinstance(got, np.ndarray):
        return unequal(got, want, wobbled, where)
    elif isinstance(got, list | dict | np.ndarray) or isinstance(want, list | dict | np.ndarray) or got != want:
        return "structure", f"{where} is {got!r}, expected {want!r}"
    else:
        return None
    return next((d for p in pairs if (d := difference(*p)) is not None), None)


def unequal(got: Any, want: Any, wobbled: Any, where: str) -> tuple[str, str] | None:
    if got.shape != want.shape:
        return "shape", f"{where} has shape {got.shape}, expected {want.shape}"
    if got.dtype != want.dtype:
        return "dtype", f"{where} is {got.dtype}, expected {want.dtype}"
    if got.dtype.name not in PRECISIONS:
        return None if np.array_equal(got, want) else ("value", f"{where} is {got}, expected {want}")
    p = PRECISIONS[got.dtype.name]
    got, want, wobbled = (np.asarray(a, np.float64) for a in (got, want, wobbled))
    if wobbled.shape != want.shape or not np.array_equal(np.isfinite(want), np.isfinite(wobbled)):
        return None
    with np.errstate(all="ignore"):
        close = np.isfinite(want) & np.isfinite(got)
        bound = p.rounding * max(1.0, largest(want)) + p.factor * np.abs(want - wobbled)
        equal = np.where(close, np.abs(got - want) <= bound, (got == want) | (np.isnan(got) & np.isnan(want)))
    if equal.all():
        return None
    return "value", f"{where} is {got.tolist()}, expected {want.tolist()}"


def unlike(got: str, want: str, wobbled: str, p: Precision) -> bool:
    """Printed texts: the same words, and numbers to the digits that are shown."""
    a, b, c = (NUMBER.findall(t) for t in (got, want, wobbled))
    if len(a) != len(b) or len(b) != len(c):
        return len(b) == len(c)
    for x, y, z in zip(a, b, c):
        try:
            i, j, k = float(x), float(y), float(z)
        except ValueError:
            if x != y:
                return True
            continue
        bound = p.digits * (1 + abs(j)) + p.factor * abs(j - k)
        if not (abs(i - j) <= bound) and not (i != i and j != j) and i != j:
            return True
    return False


def by_step(got: Step, want: Step, wobbled: Step, where: str, p: Precision) -> tuple[str, str] | None:
    if got.error != want.error:
        return "error", f"{where}: {told(got.error)}, expected {told(want.error)}"
    if want.error:
        return None  # a graph checks before it writes or prints, so what came before the error may differ
    if unlike(got.printed, want.printed, wobbled.printed, p):
        return "printed", f"{where} printed {got.printed!r}, expected {want.printed!r}"
    return difference(got.value, want.value, wobbled.value, f"{where}: result") or difference(
        got.state, want.state, wobbled.state, f"{where}: state"
    )


def told(error: tuple[str, str] | None) -> str:
    return "no error" if error is None else f"{error[0]}: {error[1]}"


def compared(got: Outcome, want: Outcome, wobbled: Outcome, way: str, p: Precision) -> Find | None:
    """The first difference of one way from what is expected."""
    for i, (g, w, b) in enumerate(zip(got.steps, want.steps, wobbled.steps)):
        if w.error != b.error:
            return None  # a question of rounding
        if refusal(g.error) or refusal(w.error):
            return None
        found = by_step(g, w, b, f"call {i + 1}", p)
        if found:
            return Find(found[0], way, found[1])
    return None


def refused(outcome: Outcome) -> str:
    """The class of the error with which msnb refused the program; empty if it ran."""
    return refusal(outcome.steps[-1].error) if outcome.steps else ""


def refusal(error: tuple[str, str] | None) -> str:
    """The class of an error that says what a graph or a lane cannot do; empty for any other."""
    if error is None:
        return ""
    return error[0] if error[0] in REFUSALS or "so both must agree" in error[1] else ""


@dataclass
class Verdict:
    finds: list[Find]
    refusals: dict[str, str]
    judged: bool
    unjudged: str


def judge(text: str, ways: tuple[str, ...] = tuple(WAYS)) -> Verdict:
    """Run the program every way and compare: with the oracle, or else with the first way that runs."""
    want, outcomes, p = run_oracle(text), {w: run_way(text, w) for w in ways}, precision_of(text)
    refusals = {w: r for w, o in outcomes.items() if (r := refused(o))}
    if want.unjudged:
        first = next((o for w, o in outcomes.items() if w not in refusals), Outcome())
        want_, wobbled = first, loosened(first)
    else:
        want_, wobbled = want, cancelled(run_oracle(text, p.wobble))
    finds = []
    if wobbled.unjudged == "" and want_.steps:
        finds = [f for w, o in outcomes.items() if (f := compared(o, want_, wobbled, w, p)) is not None]
        for draw in range(1, DRAWS if finds and not want.unjudged else 0):
            wobbled = cancelled(run_oracle(text, p.wobble, draw))
            finds = [f for f in finds if compared(outcomes[f.way], want_, wobbled, f.way, p) is not None]
    if want.unjudged:
        finds += [Find("error", w, f"unexpected {told(e)}") for w, o in outcomes.items() if (e := foreign(o))]
    return Verdict(finds, refusals, not want.unjudged, want.unjudged)


def foreign(outcome: Outcome) -> tuple[str, str] | None:
    """An error that is neither msnb's nor the program's own."""
    last = outcome.steps[-1] if outcome.steps else Step()
    if last.error is None or last.refused or last.error[1].startswith("stop"):
        return None
    return last.error
