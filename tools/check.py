"""Everything that CI runs, with a plain summary at the end.

    python tools/check.py              all parts; of each test three cases, one of the other Pythons and one of the
                                       packages that may be missing: drawn by the committed content
    python tools/check.py --all        every case of every test, and all of those
    python tools/check.py --fast       two minutes: some files of tests, and of those what is not slow; no notebooks
    python tools/check.py --only lint  ruff, mypy, import-linter, size budget

Parts of one process run two at a time, the longest first, and say what they said when they have ended; then come, one
after the other, those whose workers use the whole machine.

All parts run even when an early one fails: one round shows everything that is wrong. The exit status is non-zero as
soon as one part failed.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.other_python import UNTRIED

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable


def content_seed() -> int | None:
    """The seed of all random checks of a run: that of the committed content. Every commit meets draws of its own, and
    whoever checks the same content again, anywhere, meets the same ones. None outside of a repository: every run draws.
    """
    if shutil.which("git") is None:
        return None
    told = subprocess.run(["git", "rev-parse", "HEAD^{tree}"], cwd=ROOT, capture_output=True, text=True, check=False)
    return int(told.stdout[:8], 16) if told.returncode == 0 else None


SEED = content_seed()
OTHERS = [v for v in ("3.10", "3.11", "3.12", "3.13") if v != f"{sys.version_info[0]}.{sys.version_info[1]}"]
WITH_NBVAL = [PYTHON, "-m", "pytest", "-q", *([] if SEED is None else [f"--hypothesis-seed={SEED}"])]
PYTEST = [*WITH_NBVAL, "-p", "no:nbval"]  # importing it takes seconds, in each worker


@dataclass(frozen=True)
class Part:
    """One command of the check: its name in the summary and how it is run."""

    name: str
    command: list[str]
    lint: bool = False
    env: dict[str, str] = field(default_factory=dict)
    skipped: str = ""

    @property
    def wide(self) -> bool:
        """Whether it has workers of its own."""
        return "-n" in self.command


# threads of BLAS spin while they wait: several workers with several threads each would only slow each other down
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

# users run graphs as native programs; the tests take the reference bodies unless told otherwise
NATIVE = {"MSNB_JIT_LEVEL": "O1", **ONE_THREAD}

# operators, integers and casts with all their cases: what the simulated GPU computes in half a minute
ON_A_GPU = ("operators", "integers_by_value", "integer_overflow", "kinks", "cast_bits", "contract", "diagonals")

# tests of what computes nothing on the CPU, or has a compiler of its own
ANY_LEVEL = ("api", "browser", "dataset", "devices/gpu", "ir", "kills", "mutation", "site")


def program(name: str) -> str:
    """A console script of the environment we run in, whatever the caller's PATH says."""
    return str(Path(PYTHON).parent / name)


def no_node() -> str:
    """Why the extension is not built again: its built files are committed, so nobody needs Node."""
    lacking = [name for name in ("node", "npm") if shutil.which(name) is None]
    return f"no {' and no '.join(lacking)}" if lacking else ""


def _without(package: str, workers: str, skipped: str) -> Part:
    """Networks on a machine that lacks a package which makes them fast."""
    command = [*PYTEST, "-n", workers, "-m", "not slow and not long", "tests/nn", "tests/models", "tests/train"]
    return Part(f"tests, no {package}", command, env={"MSNB_TEST_WITHOUT": package, **NATIVE}, skipped=skipped)


def _python(version: str, workers: str, skipped: str) -> Part:
    """What depends on Python's own bytecode and words, under another Python."""
    folders = ["tests/programs", "tests/graph/capture", "tests/api", "tests/eager", "tests/models"]
    command = [PYTHON, "tools/other_python.py", version, *PYTEST[3:], "-n", workers, "-m", "not slow and not long"]
    return Part(f"tests, Python {version}", [*command, *folders], env=ONE_THREAD, skipped=skipped)


def drawn_files(share: int = 12) -> list[str]:
    """One file of tests in so many, of each folder, drawn by the seed of the run."""
    found: list[str] = []
    for folder in sorted({path.parent for path in (ROOT / "tests").rglob("test_*.py")} - {ROOT / "tests" / "browser"}):
        files = sorted(str(path.relative_to(ROOT)) for path in folder.glob("test_*.py"))
        found += random.Random(f"{SEED} {folder.name}").sample(files, -(-len(files) // share))
    return found


def drawn_of(names: Sequence[str], whole: bool, skipped: str) -> Iterator[tuple[str, str]]:
    """Each name, and why it is skipped: the seed of the run draws one."""
    drawn = random.Random(SEED).choice(names)
    yield from ((name, skipped or ("" if whole or name == drawn else "not drawn")) for name in names)


def parts(fast: bool, whole: bool = False) -> list[Part]:
    workers = os.environ.get("TEST_WORKERS", "2")
    sample = ["-p", "tools.case_sample", "--cases", "0" if whole else "3"]
    choice = [*sample, *(["-m", "not slow and not long", *drawn_files()] if fast else ["tests"])]
    skipped = "FAST=1" if fast else ""
    one_each = ["-n", workers, "--dist", "loadfile"]  # the cells of a notebook belong to one kernel
    nbval = ["-p", "tools.kernel_starts", "--nbval", "--nbval-current-env", "--nbval-kernel-startup-timeout", "600"]
    nbval += ["--nbval-sanitize-with", "tests/nbval_sanitize.cfg", "notebooks/"]
    notebooks = [*WITH_NBVAL, *one_each, *nbval]
    # compiled, those where the level matters
    compiled = [*sample[:3], "8" if whole else "3", "--ignore=tests/test_tools.py"]
    compiled += [f"--ignore=tests/{name}" for name in ANY_LEVEL]
    return [
        Part("JupyterLab (browser)", [*PYTEST, "tests/browser"], env=ONE_THREAD, skipped=skipped),
        Part("style (ruff)", [PYTHON, "-m", "ruff", "check", "."], lint=True),
        Part("types (mypy --strict)", [PYTHON, "-m", "mypy", "--strict", "msnb"], lint=True),
        Part("layers (import-linter)", [program("lint-imports"), "--no-cache"], lint=True),
        Part("stubs", [PYTHON, "tools/stubs.py"], lint=True),
        Part("size budget", [PYTHON, "tools/size_budget.py"], lint=True),
        Part("structure (house)", [PYTHON, "tools/house.py"], lint=True),
        Part("tests (pytest)", [*PYTEST, "-n", workers, *choice, "--ignore=tests/browser"], env=ONE_THREAD),
        Part(
            "tests, compiled (O1)", [*PYTEST, "-n", workers, "-m", "not slow", *compiled, "tests"],
            env=NATIVE, skipped=skipped,
        ),  # fmt: skip
        Part(
            "tests, simulated GPU", [*PYTEST, "-n", workers, "-p", "tools.simulated_gpu", "-m", "not slow and not long",
                                     *(f"tests/ops/test_{name}.py" for name in ON_A_GPU)],
            env=ONE_THREAD, skipped=skipped,
        ),  # fmt: skip
        *(_without(name, workers, why) for name, why in drawn_of(("llvmlite", "onednn-cpu-gomp"), whole, skipped)),
        *(_python(version, workers, why) for version, why in drawn_of(OTHERS, whole, skipped)),
        Part("docstring examples", [*PYTEST, "--doctest-modules", "msnb"], skipped=skipped),
        Part("notebooks (nbval)", notebooks, env={"MSNB_NBVAL": "1", **ONE_THREAD}, skipped=skipped),
        Part("extension (rebuilt)", [PYTHON, "tools/lab_extension.py"], skipped=skipped or no_node()),
    ]


@dataclass(frozen=True)
class Outcome:
    part: Part
    status: int | None  # None: not run
    seconds: float

    @property
    def word(self) -> str:
        if self.status == UNTRIED:
            return "not run (see above)"
        if self.status is None:
            return f"not run ({self.part.skipped})"
        return "ok" if self.status == 0 else f"FAILED (exit {self.status})"


    @property
    def failed(self) -> bool:
        return self.status not in (None, 0, UNTRIED)


def run(part: Part) -> Outcome:
    if part.skipped:
        return Outcome(part, None, 0.0)
    title = f"\n=== {part.name}: {' '.join(part.command)}"
    if part.wide:
        print(title, flush=True)
    start = time.perf_counter()
    out, err = (None, None) if part.wide else (subprocess.PIPE, subprocess.STDOUT)
    env = {**os.environ, **part.env}
    done = subprocess.run(
        part.command, cwd=ROOT, env=env, check=False, stdout=out, stderr=err, text=True, errors="replace"
    )
    if not part.wide:
        print(f"{title}\n{done.stdout}", end="", flush=True)
    return Outcome(part, done.returncode, time.perf_counter() - start)


def run_all(chosen: Sequence[Part]) -> list[Outcome]:
    """The outcomes in the order of the parts."""
    with ThreadPoolExecutor(2) as pool:
        single = {part.name: pool.submit(run, part) for part in chosen if not part.wide}
    return [run(part) if part.wide else single[part.name].result() for part in chosen]


def summary(outcomes: list[Outcome], seconds: float) -> str:
    rows = [f"  {o.part.name:<26}{o.word:<20}{o.seconds:7.1f} s" for o in outcomes]
    failed = [o.part.name for o in outcomes if o.failed]
    verdict = "FAILED: " + ", ".join(failed) if failed else "all parts that ran passed"
    return "\n".join(["", "summary", *rows, f"  {'total':<46}{seconds:7.1f} s", verdict])


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run what CI runs.")
    parser.add_argument("--fast", action="store_true", help="some files of tests, without what is slow")
    parser.add_argument("--all", action="store_true", help="every case of every test")
    parser.add_argument("--only", choices=["lint"], help="only the static checks")
    options = parser.parse_args(argv)
    chosen = [p for p in parts(options.fast, options.all) if p.lint or options.only is None]
    with tempfile.TemporaryDirectory(prefix="msnb-check-") as empty:  # what a user's cache holds decides nothing
        os.environ["MSNB_CACHE_DIR"] = empty
        start = time.perf_counter()
        outcomes = run_all(chosen)
    print(summary(outcomes, time.perf_counter() - start), flush=True)
    return 1 if any(o.failed for o in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
