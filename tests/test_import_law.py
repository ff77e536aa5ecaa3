"""The law of imports covers every room: a new package in msnb/ must be named in the layers of pyproject.toml, else
nobody checks what it imports."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "msnb"
SPLIT = {"graph", "parallel"}  # rooms whose parts stand on different layers; their __init__ imports none of them


def named_modules() -> set[str]:
    """Modules in the `layers` list of the first contract. (tomllib is 3.11; the list is one module per parenthesis.)"""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = re.search(r"^layers = \[(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    return set(re.findall(r"msnb(?:\.\w+)+", block.group(1)))


def parts(folder: Path) -> list[str]:
    """Packages and modules directly inside a package."""
    return sorted(
        p.stem for p in folder.iterdir() if (p.suffix == ".py" and p.stem != "__init__") or (p / "__init__.py").exists()
    )


def rooms() -> list[str]:
    inner = [f"msnb.{room}.{part}" for room in SPLIT if (PACKAGE / room).is_dir() for part in parts(PACKAGE / room)]
    return [f"msnb.{name}" for name in parts(PACKAGE) if name not in SPLIT] + inner


def test_every_room_has_its_layer() -> None:
    assert sorted(set(rooms()) - named_modules()) == []


def test_the_rooms_of_the_first_day_are_there() -> None:
    assert {"msnb.core", "msnb.ops", "msnb.ir"} <= set(rooms())
