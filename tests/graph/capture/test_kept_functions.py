"""Converted functions on disk: found again by their code, good for that code only, never trusted when damaged."""

from __future__ import annotations

import importlib.util
import linecache
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import msnb as ms
from msnb.base import disk_cache
from msnb.graph.capture.frontend import converter, function_source

TEXT = """
def choose(x, factor=2):
    names = {"one", "two", "three"}
    if x.sum() > 0 and "one" in {"one", "two", "three", "four"}:
        y = x * factor
    else:
        y = -x
    return y, [len(names) for _ in range(2)]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MSNB_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels"


def load(path: Path, text: str = TEXT) -> Any:
    """The function of a module whose file holds this text."""
    path.write_text(text)
    linecache.clearcache()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    exec(compile(text, str(path), "exec"), vars(module))
    return module.choose


def as_new() -> None:
    """Forget what this process has converted."""
    converter._templates.clear()


def answers(fn: Any) -> list[Any]:
    jitted = ms.jit(fn)
    out = [jitted(ms.Tensor([v, 1.0])) for v in (1.0, -3.0)]
    return [(y.tolist(), n) for y, n in out]


def conversions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    done: list[str] = []
    plain = function_source.find
    monkeypatch.setattr(function_source, "find", lambda code: (done.append(code.co_name), plain(code))[1])
    return done


def test_the_source_is_not_read_again(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fn = load(tmp_path / "kept_module.py")
    want = answers(fn)
    as_new()
    done = conversions(monkeypatch)
    assert answers(fn) == want == [([2.0, 2.0], [3, 3]), ([3.0, -1.0], [3, 3])]
    assert "choose" not in done and list(folder.glob("*.c"))


def test_edited_text_is_converted_anew(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(load(tmp_path / "kept_module.py"))
    done = conversions(monkeypatch)
    for text in (TEXT.replace("-x", "x + 1"), "\n" + TEXT):
        as_new()
        fn = load(tmp_path / "kept_module.py", text)
        assert answers(fn)[1][0] == ([-2.0, 2.0] if "x + 1" in text else [3.0, -1.0])
    assert done.count("choose") == 2


@pytest.mark.parametrize("damage", ["cut", "empty", "nonsense"])
def test_a_broken_entry_is_made_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    fn = load(tmp_path / "kept_module.py")
    want = answers(fn)
    for entry in folder.glob("*.c"):
        if damage == "nonsense":
            disk_cache.write(entry.stem, b"nonsense", disk_cache.FUNCTION)
        else:
            entry.write_bytes(entry.read_bytes()[:-5] if damage == "cut" else b"")
    as_new()
    done = conversions(monkeypatch)
    assert answers(fn) == want and "choose" in done


def test_a_mistake_is_shown_where_it_is(folder: Path, tmp_path: Path) -> None:
    text = TEXT.replace("y = -x", "y = x @ x @ ms_missing")
    for _ in range(2):
        as_new()
        with pytest.raises(NameError, match="ms_missing") as told:
            answers(load(tmp_path / "kept_module.py", text))
        assert [e.lineno + 1 for e in told.traceback if e.path == tmp_path / "kept_module.py"][-1:] == [7]


@pytest.mark.slow
def test_another_process_finds_all_of_them(folder: Path, tmp_path: Path) -> None:
    load(tmp_path / "kept_module.py")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import msnb as ms, kept_module;"
        " from msnb.graph.capture.frontend import function_source as source; asked = []; plain = source.find;"
        " source.find = lambda c: (asked.append(c.co_name), plain(c))[1];"
        " ms.jit(kept_module.choose)(ms.Tensor([1.0])); print(*asked)"
    )
    run = lambda: subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], check=True, capture_output=True, text=True,
        cwd=Path(__file__).parents[3],
    ).stdout.split()  # fmt: skip
    assert "choose" in run()
    assert run() == []  # sets of strings lie in another order there, and count the same


def test_a_long_text_of_ours_is_kept_too(folder: Path) -> None:
    from msnb.graph.capture.frontend import conversion_cache

    text = "def f(x):\n" + "    x = x + 1\n" * 1000 + "    return x\n"
    for _ in range(2):
        space: dict[str, Any] = {}
        exec(conversion_cache.compiled(text, "<guards>"), space)
        assert space["f"](1) == 1001
    (entry,) = folder.glob("*.c")
    disk_cache.write(entry.stem, b"nonsense", disk_cache.FUNCTION)
    assert conversion_cache.compiled(text, "<guards>").co_filename == "<guards>"
    assert conversion_cache.compiled("x = 1", "<guards>").co_names == ("x",) and len(list(folder.glob("*.c"))) == 1
