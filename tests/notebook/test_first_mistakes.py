"""What a newcomer sees of 120 mistakes, with nothing but ``import msnb``: the line, a way out, no frame of msnb.

In a kernel with and without the extension, in plain Python and under pytest. Twelve lines at most.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels import executed
from tests.notebook.mistakes import MISTAKES

SOURCES = {name: source for name, (source, _) in MISTAKES.items()}
ROOT = Path(__file__).resolve().parents[2]
START = "import msnb as ms\nfrom msnb import nn, ops\n"
INTERNAL = re.compile(rf"{re.escape(str(ROOT))}/msnb/|(?<!\w)msnb/\w+/\w+.*\.py")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
PLAIN = """
import contextlib, io, json, sys
import msnb
found = {}
for path in sys.argv[1:]:
    try:
        exec(compile(open(path).read(), path, "exec"), {"__name__": "__main__"})
    except BaseException as error:
        with contextlib.redirect_stderr(io.StringIO()) as out:
            sys.excepthook(type(error), error, error.__traceback__.tb_next)
        found[path] = out.getvalue()
print(json.dumps(found))
"""


def test_there_are_120_of_them() -> None:
    assert len(MISTAKES) >= 120
    assert all(source.count("  # here") == 1 and way_out for source, way_out in MISTAKES.values())


def line_of(source: str) -> int:
    """The line that the report must name."""
    return next(n for n, line in enumerate(source.split("\n"), 1) if line.endswith("# here"))


def text_of(source: str) -> str:
    """That line as it stands."""
    return source.split("\n")[line_of(source) - 1].partition("  # here")[0].strip()


def environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}


@pytest.mark.long
def test_plain_python_shows_the_users_lines(tmp_path: Path) -> None:
    import linecache

    paths = {}
    for k, (name, source) in enumerate(SOURCES.items()):
        path = tmp_path / f"mistake_{k}.py"
        path.write_text(START + source + "\n", encoding="utf-8")
        paths[str(path)] = name
    command = [sys.executable, "-c", PLAIN, *paths]
    run = subprocess.run(command, capture_output=True, text=True, env=environment(), cwd=tmp_path, check=True)
    found = {paths[path]: text for path, text in json.loads(run.stdout.strip().split("\n")[-1]).items()}
    assert set(found) == set(SOURCES)
    linecache.clearcache()
    for name, text in found.items():
        where = line_of(START + SOURCES[name])
        assert not INTERNAL.search(text), f"{name}: {text}"
        assert re.search(rf"line {where}\b", text), f"{name}, line {where}: {text}"
        assert text.rstrip().count("\n") < 12, f"{name}: {text}"
        assert re.search(MISTAKES[name][1], text), f"{name}, no way out: {text}"


@pytest.mark.long
def test_the_environment_asks_for_all_frames(tmp_path: Path) -> None:
    path = tmp_path / "mistake.py"
    path.write_text(START + SOURCES["in a network"] + "\n", encoding="utf-8")
    short = subprocess.run([sys.executable, path], capture_output=True, text=True, env=environment(), check=False)
    full = {**environment(), "MSNB_TRACEBACK": "full"}
    long = subprocess.run([sys.executable, path], capture_output=True, text=True, env=full, check=False)
    assert short.returncode == long.returncode == 1
    assert "cell.py" not in short.stderr and "cell.py" in long.stderr


@pytest.mark.long
def test_pytest_shows_the_users_lines(tmp_path: Path) -> None:
    tests = []
    for k, source in enumerate(SOURCES.values()):
        body = "\n".join(f"    {line}" if line else "" for line in source.strip("\n").split("\n"))
        tests.append(f"def test_{k}():\n{body}\n")
    path = tmp_path / "test_mistakes.py"
    path.write_text(START + "\n\n" + "\n\n".join(tests), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:nbval"]
    command += ["--rootdir", str(tmp_path)]
    run = subprocess.run([*command, path], capture_output=True, text=True, env=environment(), cwd=tmp_path, check=False)
    assert f"{len(SOURCES)} failed" in run.stdout, run.stdout[-3000:]
    frames = re.findall(r"^(\S+\.py):(\d+): ", run.stdout, re.MULTILINE)
    assert {file for file, _ in frames} == {"test_mistakes.py"}
    lines = {int(line) for _, line in frames}
    wanted = {n for n, line in enumerate(path.read_text().split("\n"), 1) if line.endswith("# here")}
    assert wanted - lines == set()


@pytest.mark.slow
@pytest.mark.parametrize("first", ["", "%load_ext msnb\n"], ids=["import", "load_ext"])
def test_a_kernel_shows_the_users_lines(first: str) -> None:
    names = list(SOURCES)
    cells = executed(first + START, *(SOURCES[name].strip("\n") for name in names), allow_errors=True)[1:]
    for name, cell, number in zip(names, cells, range(2, len(cells) + 2)):
        errors = [out for out in cell.outputs if out.output_type == "error"]
        assert len(errors) == 1, name
        text = COLOURS.sub("", "\n".join(errors[0].traceback))
        assert not INTERNAL.search(text), f"{name}: {text}"
        assert text_of(SOURCES[name]) in text, f"{name}: {text}"
        assert re.search(rf"cell \[{number}\] line|In\[{number}\]", text), f"{name}: {text}"
        text += "".join(out.get("text", "") for out in cell.outputs)  # how a function is called stands below
        own = text.startswith("-----")  # what never entered msnb is IPython's, with its lines around the user's
        assert own or text.rstrip().count("\n") < 12, f"{name}: {text}"
        assert re.search(MISTAKES[name][1], text), f"{name}, no way out: {text}"


@pytest.mark.slow
def test_notices_are_no_errors_and_a_missing_return_is_named() -> None:
    net = "class Net(nn.Cell):\n    def construct(self, x):\n        x * 2\n\n" + 2 * "Net()(ops.ones((2,)))\n"
    _, cell, change = executed(START, net, "ms.set_context(mode=ms.GRAPH_MODE)")
    assert [out.output_type for out in cell.outputs] == ["display_data"]
    assert "construct of Net (cell [2] line 2) has no return" in cell.outputs[0].data["text/plain"]
    assert "color" in cell.outputs[0].data["text/html"]
    assert change.outputs[0].data["text/plain"] == "graph mode on CPU"
