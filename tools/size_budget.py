"""The size budget: small files, small functions, a small package.

    python tools/size_budget.py

A file longer than a few screens has usually two subjects, a function longer than one screen has two steps. Blank lines
and comments count (they take room on the screen too); a docstring does not count for its function, so nobody saves on
an example. Nested functions count for themselves and for the function around them. No file is exempt: when a limit
hurts, the code is split, or the limit is changed here, for everybody and with a reason.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE_LINES = 600  # every Python file of the project
FUNCTION_LINES = 60  # functions in msnb/
PACKAGE_BYTES = 8_358_000  # sources in msnb/: compiler, planner, ranks, a chip, a GPU, readers, ONNX, PyTorch
CODE = ("msnb", "tests", "tools", "bench", "extensions")
ENTRIES = {*CODE, "docs", "notebooks", ".ci", "Makefile", "pyproject.toml", ".gitignore", "LICENSE", "README.md",
           "CHANGELOG.md", "CONTRIBUTING.md"}  # fmt: skip

Function = ast.FunctionDef | ast.AsyncFunctionDef


def python_files(folder: Path) -> Iterator[Path]:
    return (p for p in sorted(folder.rglob("*.py")) if "__pycache__" not in p.parts)


def length(function: Function) -> int:
    """Lines of a function from `def` to its end, its docstring aside."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def long_functions(path: Path, limit: int) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, Function) and length(node) > limit:
            yield f"{path}:{node.lineno}: function {node.name} has {length(node)} lines, limit {limit}: split it"


def long_file(path: Path, limit: int) -> Iterator[str]:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    if lines > limit:
        yield f"{path}: {lines} lines, limit {limit}: it has two subjects, split it"


def package_bytes(package: Path) -> int:
    """Size of everything that ships in the package, byte code aside."""
    return sum(p.stat().st_size for p in package.rglob("*") if p.is_file() and "__pycache__" not in p.parts)


def strays(root: Path) -> Iterator[str]:
    """What is kept at the top of the project by mistake: files that another program left where it was started."""
    if (root / ".git").exists():
        kept = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
        for name in sorted({line.partition("/")[0] for line in kept.splitlines()} - ENTRIES):
            yield f"{name} is kept at the top of the project, where only {', '.join(sorted(ENTRIES))} belong"


def excesses(root: Path) -> Iterator[str]:
    """One sentence per broken limit."""
    yield from strays(root)
    for folder in CODE:
        for path in python_files(root / folder):
            yield from long_file(path, FILE_LINES)
            if folder == "msnb":
                yield from long_functions(path, FUNCTION_LINES)
    if (size := package_bytes(root / "msnb")) > PACKAGE_BYTES:
        yield f"msnb/ has {size:,} bytes, limit {PACKAGE_BYTES:,}"


def main() -> int:
    found = list(excesses(ROOT))
    for sentence in found:
        print(sentence.replace(f"{ROOT}/", ""))
    files = list(python_files(ROOT / "msnb"))
    lines = sum(len(p.read_text(encoding="utf-8").splitlines()) for p in files)
    print(f"msnb/: {len(files)} files, {lines:,} lines, {package_bytes(ROOT / 'msnb') / 1000:,.0f} kB")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
