"""No import cycles, and what they cost is not paid in modules: `import msnb` leaves capture and the passes for later.

The tables that upper modules fill (control flow of gradients and vmap, composites) are full whichever module of the
package is imported first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def said_by(program: str) -> str:
    """What a program prints in an interpreter of its own."""
    head = f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
    done = subprocess.run([sys.executable, "-c", head + program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.long
def test_no_modules_import_each_other() -> None:
    program = (
        "sys.path.insert(0, sys.path[0] + '/tools'); import house; found = house.sources(); "
        "edges = house.edges(found); plain = {s.name for s in found if s.path.stem != '__init__'}; "
        "print(house.cycles({n: {t for t in edges[n] if t in plain} for n in plain}))"
    )
    assert said_by(program) == "[]"


@pytest.mark.long
def test_import_msnb_leaves_capture_and_the_passes_for_later() -> None:
    program = (
        "import msnb; late = ('msnb.graph.capture', 'msnb.graph.compile'); "
        "print([n for n in sys.modules if n.startswith(late)])"
    )
    assert said_by(program) == "[]"


@pytest.mark.long
@pytest.mark.parametrize("first", ["msnb.autodiff.vmap", "msnb.autodiff.reverse_mode"])
def test_rules_of_control_flow_are_there_whoever_comes_first(first: str) -> None:
    program = (
        f"import {first}; from msnb.autodiff.reverse_mode import CONTROL_RULES as pullbacks; "
        "from msnb.autodiff.vmap import CONTROL_RULES as batched; "
        "print(*sorted(op.name for op in pullbacks)); print(*sorted(op.name for op in batched))"
    )
    assert said_by(program).splitlines() == ["call host_call if scan while", "call if scan while"]


@pytest.mark.long
@pytest.mark.parametrize("first", ["msnb.eager.dispatch", "msnb.eager.tape"])
def test_composites_run_as_programs_whoever_comes_first(first: str) -> None:
    assert said_by(f"import {first}; from msnb.eager.dispatch import eager; print(eager.whole.__module__)") == (
        "msnb.eager.inline_cache"
    )
