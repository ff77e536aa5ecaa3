"""The public names of msnb are the list in ``public_names.txt``, no name less and none by accident.

The packages show what their modules list in ``__all__`` (``from msnb.ops.nn.loss import *``); a helper that slips into
such a list, or a name that falls out of one, is seen here. A new name is meant:

    python tests/api/test_public_names.py        writes the list anew
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("public_names.txt")
PROGRAM = """
import json, sys, types
from importlib import import_module
sys.path.insert(0, sys.argv[1])
packages = ["msnb", *("msnb." + p for p in (
    "amp", "dataset", "dataset.audio", "dataset.text", "dataset.transforms", "dataset.vision", "nn", "nn.initializer",
    "numpy", "ops", "optim", "train"))]
print(json.dumps([
    f"{p}.{name}" for p in packages for name, value in sorted(vars(import_module(p)).items())
    if not name.startswith("_") and not isinstance(value, types.ModuleType)]))
"""


def public_names() -> list[str]:
    """Of a fresh interpreter: names that other tests ask for, such as ``ops.ReLU``, are made when first read."""
    run = subprocess.run([sys.executable, "-c", PROGRAM, str(ROOT)], capture_output=True, text=True, check=True)
    return list(json.loads(run.stdout))


@cache
def stars() -> list[tuple[str, str]]:
    """(module, the module that it imports everything from)"""
    return [
        (str(path.relative_to(ROOT)), str(node.module))
        for path in sorted((ROOT / "msnb").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
    ]


@cache
def listed(module: str) -> list[str] | None:
    """The ``__all__`` of a module, or of a stub that type checkers alone read."""
    spec, stub = find_spec(module), ROOT / f"{module.replace('.', '/')}.pyi"
    origin = str(stub) if spec is None else spec.origin
    assert origin is not None
    for node in ast.parse(Path(origin).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return None


@pytest.mark.long
def test_the_public_names_are_those_of_the_list() -> None:
    want, have = set(LIST.read_text(encoding="utf-8").split()), set(public_names())
    assert sorted(want - have) == [], "names that users had are gone"
    assert sorted(have - want) == [], f"new public names: if they are meant, run python {Path(__file__).name}"


@pytest.mark.long
def test_everything_means_what_a_module_lists() -> None:
    found = stars()
    assert len(found) > 40
    assert [pair for pair in found if not pair[0].endswith("__init__.py")] == []
    assert [pair for pair in found if not listed(pair[1])] == []


@pytest.mark.long
def test_no_two_modules_list_one_name() -> None:
    """The later import would win without a word."""
    for package in sorted({path for path, _ in stars()}):
        names = [name for path, module in stars() if path == package for name in listed(module) or ()]
        assert sorted({name for name in names if names.count(name) > 1}) == [], package


def test_helpers_stay_inside() -> None:
    import msnb as ms

    with pytest.raises(AttributeError):
        ms.ops.operand_lines
    with pytest.raises(AttributeError):
        ms.nn.need_channels


@pytest.mark.parametrize("path", ["amp", "runtime", "mint.optim", "mint.distributed"])
def test_modules_show_nothing_that_they_import(path: str) -> None:
    import msnb as ms

    module = ms
    for part in path.split("."):
        module = getattr(module, part)
    assert [name for name in dir(module) if name[:1] != "_"] == sorted(module.__all__)


if __name__ == "__main__":
    LIST.write_text("\n".join(public_names()) + "\n", encoding="utf-8")
