"""`make test` takes a few cases of every test, drawn by the seed of the run."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROGRAM = """
import pytest

@pytest.mark.parametrize("n", range(50))
def test_many(n):
    print("ran", n)

def test_one():
    print("ran alone")
"""


def chosen(folder: Path, *words: str) -> list[str]:
    (folder / "test_program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:nbval", "-p", "tools.case_sample"]
    told = subprocess.run([*command, *words, folder], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [line.lstrip(".") for line in told.splitlines() if "ran" in line]


@pytest.mark.long
def test_a_few_cases_of_each(tmp_path):
    first = chosen(tmp_path, "--cases", "4", "--hypothesis-seed=1")
    assert len(first) == 5 and "ran alone" in first
    assert first == chosen(tmp_path, "--cases", "4", "--hypothesis-seed=1")
    assert first != chosen(tmp_path, "--cases", "4", "--hypothesis-seed=2")
    assert len(chosen(tmp_path)) == 51
