"""Where in the user's text something happened.

A place is taken by walking the Python stack to the frames that do not belong to msnb itself. Converted code keeps the
file name and the positions of its source, so the same walk serves eager and graph mode. Walking costs under a
microsecond; turning a frame into line, column and text costs more and is done only when somebody looks.

    frame = (code object, last instruction)  --resolve-->  Where(file, line, col, end_col, function)
"""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import linecache
import os
import sys
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Any

PACKAGE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

_cell_names: dict[str, str] = {}
_typed: dict[str, str] = {}
_CALL_OF_A_MAGIC = "get_ipython()."
_OWN = (PACKAGE_DIR, "<frozen")
_hidden: tuple[str, ...] = _OWN
_between = frozenset({contextlib.__file__, functools.__file__})  # between two of our frames: nobody's text either


def name_file(filename: str, shown: str, typed: str = "") -> None:
    """Give a source file a name for people: the notebook calls ``name_file("<ipython-3>", "cell [3]")``.

    Args:
        filename: as Python knows it.
        shown: as people know it.
        typed: its text before the shell replaced the lines of magics by calls.
    """
    _cell_names[filename] = shown
    _typed[filename] = typed


def is_named(filename: str | None) -> bool:
    """True for a file that ``name_file`` named: a cell."""
    return filename in _cell_names


@dataclass(frozen=True)
class Where:
    """A place in the user's text. Lines count from 1, columns from 0; ``col < 0`` where Python keeps none."""

    file: str
    line: int
    col: int
    end_col: int
    function: str

    @property
    def shown_file(self) -> str:
        """``cell [3]`` in a notebook, else the file's base name."""
        return _cell_names.get(self.file) or os.path.basename(self.file)

    @property
    def text(self) -> str:
        """The source line, without its indentation."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.shown_file} line {self.line}"

    def caret(self) -> str:
        """Three lines: the place, the source line, and a caret under the expression."""
        source = linecache.getline(self.file, self.line).rstrip("\n")
        if not source.strip():
            return f"at {self}"
        magic = self._magic(source)
        if magic:
            return f"at {self}\n    {magic}\n    {'^' * len(magic)}"
        indent = len(source) - len(source.lstrip())
        start = max(self.col - indent, 0)
        length = max(self.end_col - self.col, 1) if self.col >= 0 else len(source.strip())
        length = max(1, min(length, len(source.strip()) - start))
        return f"at {self}\n    {source.strip()}\n    {' ' * start}{'^' * length}"

    def _magic(self, source: str) -> str:
        """The line of a magic as it was typed; nothing where the line is Python."""
        lines = _typed.get(self.file, "").split("\n") if _CALL_OF_A_MAGIC in source else []
        return lines[self.line - 1].strip() if self.line <= len(lines) else ""


def _resolve(code: CodeType, lasti: int, line: int) -> Where:
    """The place of an instruction. Code of two cells is equal where their text is: the file tells them apart."""
    return _resolved(code, code.co_filename, lasti, line)


@functools.lru_cache(maxsize=4096)
def _resolved(code: CodeType, file: str, lasti: int, line: int) -> Where:
    positions = getattr(code, "co_positions", None)
    col, end_col = -1, -1
    if positions is not None:
        found = next(itertools.islice(positions(), lasti // 2, None), None)
        if found is not None and found[2] is not None:
            line, col = found[0] or line, found[2]
            end_col = found[3] if found[1] == found[0] and found[3] is not None else _end_of_line(code, line)
            col, end_col = _characters(code.co_filename, line, col, end_col)
    return Where(code.co_filename, line, col, end_col, code.co_name)


def _end_of_line(code: CodeType, line: int) -> int:
    """An expression of several lines is underlined to the end of its first, a comment apart."""
    return len(linecache.getline(code.co_filename, line).partition("  #")[0].rstrip().encode())


def _characters(file: str, line: int, col: int, end_col: int) -> tuple[int, int]:
    """Python counts UTF-8 bytes; a caret needs characters."""
    raw = linecache.getline(file, line).encode()
    return len(raw[:col].decode(errors="replace")), len(raw[:end_col].decode(errors="replace"))


class Origin:
    """The user's frames at one moment, innermost first, resolved on demand."""

    __slots__ = ("_frames", "_resolved")

    def __init__(self, frames: tuple[tuple[CodeType, int, int], ...]) -> None:
        self._frames = frames
        self._resolved: tuple[Where, ...] | None = None

    @classmethod
    def of(cls, places: tuple[Where, ...]) -> Origin:
        """An origin that was known as text (a parsed graph)."""
        origin = cls(())
        origin._resolved = places
        return origin

    @property
    def places(self) -> tuple[Where, ...]:
        """Innermost place first, then each caller up to the captured function."""
        if self._resolved is None:
            self._resolved = tuple(_resolve(*frame) for frame in self._frames)
        return self._resolved

    @property
    def where(self) -> Where | None:
        """The innermost place, or None."""
        if self._resolved is None:
            return _resolve(*self._frames[0]) if self._frames else None
        return self._resolved[0] if self._resolved else None


def is_own(filename: str) -> bool:
    """True for msnb's own files and Python's frozen ones, whatever else ``hide_frames`` hides from reports."""
    return filename.startswith(_OWN)


def is_internal(filename: str) -> bool:
    """True for files of msnb itself and for code that Python made up (``<string>`` of dataclasses and the like)."""
    found = _internal.get(filename)
    if found is None:
        if len(_internal) > 4096:
            _internal.clear()
        found = _internal[filename] = filename.startswith(_hidden)
    return found


_internal: dict[str, bool] = {}


def hide_frames(prefix: str) -> None:
    """Files below ``prefix`` are nobody's text either: the notebook names the folder of IPython."""
    global _hidden
    if prefix not in _hidden:
        _hidden = (*_hidden, prefix)
        _internal.clear()


def here(depth: int = 1, limit: int = 8) -> Origin:
    """The user's frames from here outwards, at most ``limit`` of them, skipping msnb's own."""
    return Origin(users_frames(sys._getframe(depth), limit))


def users_frames(
    frame: FrameType | None, limit: int = 8, end: CodeType | None = None
) -> tuple[tuple[CodeType, int, int], ...]:
    """(code, last instruction, line) of the user's frames from ``frame`` outwards, up to one of ``end``."""
    frames: list[tuple[CodeType, int, int]] = []
    known = _internal.get  # a capture asks this of a hundred thousand frames
    while frame is not None and len(frames) < limit:
        code = frame.f_code
        if code is end:
            break
        internal = known(code.co_filename)
        if internal is None:
            internal = is_internal(code.co_filename)
        if not internal and code.co_filename not in _between:
            frames.append((code, frame.f_lasti, frame.f_lineno))
        frame = frame.f_back
    return tuple(frames)


def users_frame(tb: TracebackType | None) -> Where | None:
    """The innermost frame of a traceback that belongs to the user."""
    found: Where | None = None
    while tb is not None:
        code = tb.tb_frame.f_code
        if not is_internal(code.co_filename) and code.co_filename not in _between:
            found = Origin(((code, tb.tb_lasti, tb.tb_lineno),)).where
        tb = tb.tb_next
    return found


def raised_at(error: Exception, where: Where) -> Exception:
    """``error`` with a frame at ``where`` as the innermost of its traceback.

    A program that runs compiled has no Python frames of its own: without this an ``assert`` of the user would end in
    our executor. The frame belongs to ``raise error`` compiled under the user's file name and position.
    """
    tree = ast.parse("raise error")
    raw = linecache.getline(where.file, where.line)
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr)):
            node.lineno = node.end_lineno = where.line
            node.col_offset, node.end_col_offset = (len(raw[: max(c, 0)].encode()) for c in (where.col, where.end_col))
    code = compile(tree, where.file, "exec").replace(co_name=where.function)
    try:
        exec(code, {"error": error.with_traceback(None)})
    except Exception as raised:
        assert raised.__traceback__ is not None
        return raised.with_traceback(raised.__traceback__.tb_next)
    raise AssertionError("raise error did not raise")


# ---- tracebacks of the user's frames alone ----

HIDDEN = "__tracebackhide__"


def is_full() -> bool:
    """True where the user wants to see all frames."""
    return os.environ.get("MSNB_TRACEBACK") == "full"


def without_internals(tb: TracebackType | None) -> TracebackType | None:
    """A traceback of the user's frames alone; None where no frame is msnb's, or none is the user's."""
    frames = []
    while tb is not None:
        frames.append(tb)
        tb = tb.tb_next
    if not any(f.tb_frame.f_code.co_filename.startswith(PACKAGE_DIR) for f in frames):
        return None
    kept: TracebackType | None = None
    for f in reversed(frames):
        if not is_internal(f.tb_frame.f_code.co_filename):
            kept = TracebackType(kept, f.tb_frame, f.tb_lasti, f.tb_lineno)
    return kept


def mark_frames(frame: FrameType | None) -> None:
    """Mark the modules of msnb on the stack, so that a test runner leaves their frames out."""
    if "_pytest" not in sys.modules or is_full():
        return
    while frame is not None:
        if frame.f_code.co_filename.startswith(PACKAGE_DIR):
            frame.f_globals[HIDDEN] = True
        frame = frame.f_back


def mark_modules() -> None:
    """Mark all modules of msnb, loaded now or later: Python's own errors pass through them too."""
    if "_pytest" in sys.modules and not is_full():
        for name, module in tuple(sys.modules.items()):
            if name == "msnb" or name.startswith("msnb."):
                vars(module)[HIDDEN] = True
        sys.meta_path.insert(0, _MarkingFinder())


class _MarkingLoader(SourceFileLoader):
    """Loads a module with the mark in it."""

    def exec_module(self, module: ModuleType) -> None:
        vars(module)[HIDDEN] = True
        super().exec_module(module)


class _MarkingFinder(MetaPathFinder):
    """Finds the modules of msnb that are loaded late."""

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname.startswith("msnb.") else None
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _MarkingLoader(fullname, spec.loader.path)
        return spec
