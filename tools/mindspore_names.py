"""Which names of a MindSpore package resolve here, under the alias: python tools/mindspore_names.py FOLDER [namespace]

FOLDER holds an unpacked wheel of MindSpore (its ``mindspore`` folder is read as text, nothing in it is run). A name
counts when the docstring of its function or class says that it runs on a CPU. With a namespace, its missing names are
listed.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

PLACES = {  # namespace -> folders and files whose documented names are public there
    "ops": ("ops/function", "ops/operations", "ops/auto_generate", "ops/composite", "ops/primitive.py"),
    "nn": ("nn/layer", "nn/loss", "nn/optim", "nn/wrap", "nn/cell.py", "nn/learning_rate_schedule.py", "nn/sparse"),
    "numpy": ("numpy",),
    "mint": ("mint",),
    "scipy": ("scipy",),
    "Tensor": ("common/tensor.py",),
    "train": ("train",),
    "experimental.optim": ("experimental/optim",),
    "nn.probability.distribution": ("nn/probability/distribution",),
    "nn.probability.bijector": ("nn/probability/bijector",),
}
METHODS = ("Tensor",)


def documented(tree: ast.Module, methods: bool) -> Iterator[str]:
    """Public functions and classes (or methods of Tensor) whose docstring names the CPU."""
    body = tree.body
    if methods:
        body = [part for node in body if isinstance(node, ast.ClassDef) and node.name == "Tensor" for part in node.body]
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            platforms = (ast.get_docstring(node) or "").partition("Supported Platforms:")[2][:120]
            if "CPU" in platforms or methods:
                yield node.name


def listed(package: Path) -> set[str]:
    """Every string of a list of names in the package: what it says is public."""
    names: set[str] = set()
    for path in package.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8", errors="replace")).body:
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)) and isinstance(node.value, (ast.List, ast.Call)):
                inside = ast.walk(node.value)
                names |= {c.value for c in inside if isinstance(c, ast.Constant) and isinstance(c.value, str)}
    return names


def public_names(package: Path, namespace: str) -> list[str]:
    """The names of one namespace that run on a CPU."""
    methods, found = namespace in METHODS, set()
    for place in PLACES[namespace]:
        at = package / place
        for path in [at] if at.suffix else sorted(at.rglob("*.py")):
            found |= set(documented(ast.parse(path.read_text(encoding="utf-8", errors="replace")), methods))
    return sorted(found if methods else found & listed(package / namespace.split(".")[0]))


def resolves(namespace: str, name: str) -> bool:
    """Whether the name is there under the alias."""
    try:
        holder = importlib.import_module("mindspore")
        for part in namespace.split("."):
            named = f"{getattr(holder, '__name__', '')}.{part}"
            holder = getattr(holder, part) if hasattr(holder, part) else importlib.import_module(named)
        return getattr(holder, name, None) is not None
    except (ImportError, AttributeError):
        return False


def main(folder: str, wanted: str = "") -> None:
    """Print one line a namespace: how many names resolve; the missing names of the one asked for."""
    importlib.import_module("msnb.as_mindspore").install()
    for namespace in [wanted] if wanted else PLACES:
        names = public_names(Path(folder) / "mindspore", namespace)
        missing = [name for name in names if not resolves(namespace, name)]
        print(f"{namespace:<30} {len(names) - len(missing):>4} of {len(names):>4}")
        if wanted:
            print(*missing)


if __name__ == "__main__":
    main(*sys.argv[1:])
