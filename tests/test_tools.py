"""The project's own tools: what they measure, draw and say, and that each of them can say no."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tools import check, kernel_starts, lab_extension, make_venv, other_python, quickstart, size_budget

LOSSES = [2.3 / (1 + i) for i in range(100)]
DATA = {"losses": {"PyNative": LOSSES, "Graph": LOSSES}, "accuracy": {"PyNative": 0.9, "Graph": 0.91}}


def notebook_with(*sources: str) -> Any:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])


def saved(folder: Path, *sources: str) -> Path:
    path = folder / "n.ipynb"
    nbformat.write(notebook_with(*sources), path)
    return path


SHOW = f"from IPython.display import display\ndisplay({{'{quickstart.MIME}': {DATA!r}}}, raw=True)"


# --------------------------------------------------------------------------- quickstart


@pytest.mark.long
def test_quickstart_runs_a_notebook_and_finds_its_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "build" / "executed.ipynb"
    notebook = quickstart.execute(saved(tmp_path, "import sys\nprint(sys.executable)", SHOW), target)
    assert quickstart.quickstart_data(notebook) == DATA
    stored = nbformat.read(target, as_version=4)
    assert stored.cells[0].outputs[0].text.strip() == sys.executable
    assert [cell.execution_count for cell in stored.cells] == [1, 2]
    assert "[ 1/2] print(sys.executable)" in capsys.readouterr().out


@pytest.mark.long
def test_a_failing_cell_is_named_and_the_rest_is_saved(tmp_path: Path) -> None:
    target = tmp_path / "executed.ipynb"
    with pytest.raises(quickstart.QuickstartError, match=r"cell 2 .*(?s:.*)ZeroDivisionError"):
        quickstart.execute(saved(tmp_path, "a = 1", "a / 0", "b = 2"), target)
    assert [cell.execution_count for cell in nbformat.read(target, as_version=4).cells] == [1, 2, None]


@pytest.mark.long
def test_main_fails_without_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(quickstart, "ROOT", tmp_path)
    monkeypatch.setattr(quickstart, "NOTEBOOK", saved(tmp_path, "1 + 1"))
    monkeypatch.setattr(quickstart, "EXECUTED", tmp_path / "build" / "n.ipynb")
    assert quickstart.main() == 1
    assert f"none of its outputs has the type {quickstart.MIME}" in capsys.readouterr().err


def test_main_fails_without_the_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(quickstart, "ROOT", tmp_path)
    monkeypatch.setattr(quickstart, "NOTEBOOK", tmp_path / "absent.ipynb")
    monkeypatch.setattr(quickstart, "EXECUTED", tmp_path / "build" / "n.ipynb")
    assert quickstart.main() == 1
    assert "there is no" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], r'\["losses"\]\["PyNative"\]'),
        ({"losses": {"PyNative": [1.0]}}, r'\["accuracy"\]\["PyNative"\]'),
        ({"losses": {"PyNative": [1.0]}, "accuracy": {"PyNative": 0.5}}, r'\["losses"\]\["Graph"\]'),
        ({**DATA, "losses": {"PyNative": [float("nan")], "Graph": [1.0]}}, "finite"),
        ({**DATA, "losses": {"PyNative": [], "Graph": [1.0]}}, "finite"),
        ({**DATA, "accuracy": {"PyNative": 97.0, "Graph": 0.97}}, "0..1, got 97.0"),
    ],
)
def test_wrong_data_are_refused(data: Any, words: str) -> None:
    with pytest.raises(quickstart.QuickstartError, match=words):
        quickstart.check_data(data)


def test_the_report_gives_curves_numbers_and_accuracies() -> None:
    text = quickstart.report(DATA, "utf-8")
    assert "PyNative mode: loss over 100 steps, 2.3000 -> 0.0230" in text
    assert "Graph mode: loss over 100 steps, 2.3000 -> 0.0230" in text
    assert "90.00%" in text and "91.00%" in text
    assert "largest difference between the two loss curves: 0.0e+00 in the first 20 steps, 0.0e+00 in all" in text
    assert text.count("|") == 2 * quickstart.HEIGHT


def test_the_report_says_how_far_the_modes_differ() -> None:
    assert quickstart.difference({"PyNative": [1.0, 2.0], "Graph": [1.0, 2.5]}).endswith("5.0e-01 in all")
    assert "different numbers of steps: 1 and 2" in quickstart.difference({"PyNative": [1.0], "Graph": [1.0, 2.0]})


def test_a_curve_falls_as_its_values_fall() -> None:
    rows = quickstart.curve([1.0, 0.5, 0.0], 0.0, 1.0, quickstart.blocks_for("utf-8"))
    assert [sum(row[column] == "█" for row in rows) for column in range(3)] == [6, 3, 0]
    assert quickstart.blocks_for("ascii").isascii() and quickstart.blocks_for(None).isascii()


def test_resampling_keeps_the_mean() -> None:
    values = [float(i * i % 17) for i in range(640)]
    short = quickstart.resample(values, 64)
    assert len(short) == 64
    assert sum(short) / 64 == pytest.approx(sum(values) / 640)
    assert quickstart.resample([1.0, 2.0], 64) == [1.0, 2.0]


# --------------------------------------------------------------------------- size budget


def test_the_budget_names_long_files_and_functions(tmp_path: Path) -> None:
    package = tmp_path / "msnb"
    package.mkdir()
    body = "\n".join(["    x = 1"] * size_budget.FUNCTION_LINES)
    (package / "long.py").write_text(f"def f():\n{body}\n" + "\n" * size_budget.FILE_LINES)
    (package / "fine.py").write_text('def f():\n    """' + "\n" * 100 + '"""\n' + "    x = 1\n" * 58)
    found = list(size_budget.excesses(tmp_path))
    assert len(found) == 2
    assert "long.py: 661 lines, limit 600" in found[0]
    assert "long.py:1: function f has 61 lines, limit 60" in found[1]


def test_the_budget_weighs_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "msnb").mkdir()
    (tmp_path / "msnb" / "data.bin").write_bytes(b"x" * 1001)
    monkeypatch.setattr(size_budget, "PACKAGE_BYTES", 1000)
    assert list(size_budget.excesses(tmp_path)) == ["msnb/ has 1,001 bytes, limit 1,000"]


def test_the_budget_names_what_another_program_left(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "kernel_meta").mkdir()
    for name in ("README.md", "kernel_meta/fused.info"):
        (tmp_path / name).write_text("x")
    (tmp_path / "msnb").mkdir()
    assert list(size_budget.excesses(tmp_path)) == []
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    [sentence] = size_budget.excesses(tmp_path)
    assert sentence.startswith("kernel_meta is kept at the top of the project")


# --------------------------------------------------------------------------- check and make_venv


def fake(name: str, code: str, **more: Any) -> check.Part:
    return check.Part(name, [sys.executable, "-c", code], **more)


def test_every_part_runs_and_one_failure_fails_all(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    chosen = [fake("bad", "raise SystemExit(3)"), fake("good", "print('good ran')"), fake("slow", "", skipped="FAST=1")]
    monkeypatch.setattr(check, "parts", lambda *_: chosen)
    assert check.main([]) == 1
    out = capfd.readouterr().out
    assert "good ran" in out
    assert "FAILED (exit 3)" in out and "not run (FAST=1)" in out and out.rstrip().endswith("FAILED: bad")
    monkeypatch.setattr(check, "parts", lambda *_: chosen[1:])
    assert check.main([]) == 0


def test_fast_leaves_out_slow_tests_and_says_so() -> None:
    slow = {part.name: part for part in check.parts(fast=False, whole=True)}
    fast = {part.name: part for part in check.parts(fast=True)}
    assert slow.keys() == fast.keys()
    assert {part.skipped for name, part in slow.items() if name != "extension (rebuilt)"} == {""}
    levels = ["tests, compiled (O1)", "tests, simulated GPU", "tests, no llvmlite", "tests, no onednn-cpu-gomp"]
    levels += [f"tests, Python {version}" for version in check.OTHERS]
    left_out = ["JupyterLab (browser)", *levels, "docstring examples", "notebooks (nbval)", "extension (rebuilt)"]
    assert [name for name, part in fast.items() if part.skipped] == left_out
    assert "not slow and not long" in fast["tests (pytest)"].command
    assert "not slow" not in slow["tests (pytest)"].command


def test_cases_are_drawn_and_all_of_them_run_on_demand() -> None:
    def cases(*how: bool) -> list[str]:
        commands = [part.command for part in check.parts(*how) if "tools.case_sample" in part.command]
        return [command[command.index("--cases") + 1] for command in commands]

    assert cases(False) == ["3", "3"] and cases(False, True) == ["0", "8"] and cases(True) == ["3", "3"]


def test_the_quick_run_draws_files_of_every_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "SEED", 1)
    first = check.drawn_files()
    assert first == check.drawn_files() and all((check.ROOT / name).exists() for name in first)
    folders = {path.parent for path in (check.ROOT / "tests").rglob("test_*.py")} - {check.ROOT / "tests" / "browser"}
    assert {(check.ROOT / name).parent for name in first} == folders
    monkeypatch.setattr(check, "SEED", 2)
    assert first != check.drawn_files()


def test_what_could_not_be_tried_does_not_fail(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    absent = fake("other", f"raise SystemExit({other_python.main('2.0')})")
    monkeypatch.setattr(check, "parts", lambda *_: [absent])
    assert check.main([]) == 0
    out = capfd.readouterr().out
    assert "there is no Python 2.0 here" in out and "not run (see above)" in out


def test_another_python_is_one_that_starts() -> None:
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert other_python.works(sys.executable, here)
    assert not other_python.works(sys.executable, "2.0")
    assert not other_python.works("no such program", here)


def test_a_kernel_that_dies_at_its_start_is_started_again() -> None:
    answers = [RuntimeError("Kernel died before replying"), RuntimeError("Kernel died before replying"), "kernel"]

    def start(*_: Any) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert kernel_starts.persistent(start)("python") == "kernel"
    answers[:] = [RuntimeError("Kernel died before replying")] * kernel_starts.STARTS
    with pytest.raises(RuntimeError, match="died"):
        kernel_starts.persistent(start)("python")
    answers[:] = [RuntimeError("no answer within 600 seconds"), "kernel"]
    with pytest.raises(RuntimeError, match="no answer"):
        kernel_starts.persistent(start)("python")


def test_without_node_the_extension_is_not_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check.shutil, "which", lambda name: None if name == "npm" else name)
    found = {part.name: part.skipped for part in check.parts(fast=False)}
    assert found["extension (rebuilt)"] == "no npm"
    monkeypatch.setattr(check.shutil, "which", lambda name: name)
    assert not any(part.skipped for part in check.parts(fast=False, whole=True))


def test_one_other_python_and_one_missing_package_are_drawn() -> None:
    left = [part.name for part in check.parts(fast=False) if part.skipped == "not drawn"]
    assert len([name for name in left if "Python" in name]) == len(check.OTHERS) - 1
    assert len([name for name in left if "tests, no " in name]) == 1


def test_committed_files_that_differ_are_named(tmp_path: Path) -> None:
    first, second = {"same": "x", "old": "x", "changed": "x"}, {"same": "x", "new": "x", "changed": "y"}
    for folder, names in (("a", first), ("b", second)):
        (tmp_path / folder).mkdir()
        for name, text in names.items():
            (tmp_path / folder / name).write_text(text)
    assert lab_extension.differences(tmp_path / "a", tmp_path / "a") == []
    told = lab_extension.differences(tmp_path / "a", tmp_path / "b")
    assert [sentence.split()[0] for sentence in told] == ["old", "new", "changed"]


def test_a_machine_without_venv_is_told_the_package() -> None:
    assert make_venv.missing() is None
    no_ensurepip = make_venv.missing(find=lambda name: None if name == "ensurepip" else object())
    assert no_ensurepip is not None and "apt-get install -y python3-venv" in no_ensurepip
    old = make_venv.missing(version=(3, 8, 10))
    assert old is not None and "3.10 or later" in old and "3.8.10" in old


def test_half_an_environment_is_not_whole(tmp_path: Path) -> None:
    assert not make_venv.is_whole(str(tmp_path / "absent"))
    assert make_venv.is_whole(sys.prefix)
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    assert not make_venv.is_whole(str(bare))


@pytest.mark.parametrize("extras, status", [("notebook", 0), ("notebook,dev", 0), ("notebook,dev", 1)])
def test_a_finished_environment_has_a_stamp_per_extra(tmp_path, monkeypatch, extras: str, status: int) -> None:
    def install(venv: str, extras: str) -> None:
        if status:
            raise subprocess.CalledProcessError(status, ["pip", "install"])

    monkeypatch.setattr(make_venv, "make", lambda venv: None)
    monkeypatch.setattr(make_venv, "install", install)
    assert make_venv.main(str(tmp_path), extras) == status
    assert {p.name for p in tmp_path.iterdir()} == (
        {f".installed.{e}" for e in extras.split(",")} if not status else set()
    )
