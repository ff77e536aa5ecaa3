"""The structure of msnb/ is what docs/architecture.md and tools/house.py say it is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tools import house

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def steps() -> list[tuple[str, str]]:
    """(files, functions) of the rows of the four walks."""
    rows = re.findall(r"^\| [^|]+ \| ([^|]*\.py[^|]*) \| ([^|]+) \| [^|]+ \|$", PAGE, re.MULTILINE)
    return [(files.strip(), functions.strip()) for files, functions in rows]


@pytest.mark.parametrize("files, functions", steps())
def test_every_file_and_function_of_a_walk_is_there(files: str, functions: str) -> None:
    paths, folder = [], ROOT / "msnb"
    for name in re.findall(r"[\w/]+\.py", files):  # a bare name stands in the folder of the one before it
        path = (ROOT / "msnb" / name) if (ROOT / "msnb" / name).exists() else folder / name
        assert path.exists(), name
        paths, folder = [*paths, path], path.parent
    texts = "".join(path.read_text(encoding="utf-8") for path in paths)
    for name in re.findall(r"`(\w+(?:\.\w+)?)`", functions.partition(": ")[0]):
        for part in name.split("."):
            assert re.search(rf"^ *(def|class) {part}\b", texts, re.MULTILINE), name


def test_the_walks_are_read() -> None:
    assert len(steps()) >= 30


def test_the_package_table_names_every_package() -> None:
    table = PAGE[PAGE.index("## Packages") : PAGE.index("## Four walks")]
    named = set(re.findall(r"`(\w+)/", table))
    assert {p.parent.name for p in (ROOT / "msnb").glob("*/__init__.py")} <= named | {"graph", "numpy"}


def test_cycles_are_found_and_only_cycles() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": {"e2"}, "e2": {"e"}, "f": set()}
    assert sorted(house.cycles(graph)) == [["a", "b", "c"], ["e", "e2"]]
    assert house.cycles({"a": {"b"}, "b": set()}) == []


def test_complexity_counts_branches_of_the_function_alone() -> None:
    text = "def f(x):\n if x and x > 1:\n  return [a for a in x if a]\n def g(y):\n  if y: pass\n return 0\n"
    outer = ast.parse(text).body[0]
    assert isinstance(outer, ast.FunctionDef)
    assert house.complexity(outer) == 4  # if, and, comprehension, and one


def test_long_waits_are_found_by_either_spelling() -> None:
    text = """
import queue, threading
from concurrent.futures import ThreadPoolExecutor as Pool, ThreadPoolExecutor
from somewhere import Event
a = threading.Thread(target=print), queue.SimpleQueue(), threading.Lock(), Event()
def f():
    with ThreadPoolExecutor(2): pass
"""
    inside, outside = (house.Source(ROOT, name, ast.parse(text), text) for name in ("msnb.base.threads.x", "msnb.x"))
    assert house.long_waits([inside]) == []
    assert house.long_waits([outside]) == ["msnb.x:5 Thread", "msnb.x:7 ThreadPoolExecutor"]


def test_words_of_names() -> None:
    assert house.words_of("MindIRFile") == {"mind", "ir", "file"} and house.words_of("as_3d") == {"as", "3", "d"}
    assert "rematerialization" in house.glossary() and "flumph" not in house.glossary()


def test_a_table_of_op_names_is_seen() -> None:
    text = 'A = ("add", "exp", "sum")\nB = ("add", "left", "right")\n'
    define = ast.parse('define("add", x)\nunary("exp")\nbinary("sum")\n')
    home = house.Source(ROOT / "x.py", "msnb.ops.x", define, "")
    user = house.Source(ROOT / "y.py", "msnb.ir.y", ast.parse(text), text)
    assert house.op_tables([home, user]) == ["msnb.ir.y: A"]
