"""Trees from text: what conversion puts between the user's statements, at the positions of the user's own text."""

from __future__ import annotations

import ast
from typing import Any


def written(text: str, at: ast.AST) -> list[Any]:
    """The statements that ``text`` says, at the place of ``at``; who wrote the text knows of which kinds they are."""
    made: list[Any] = ast.parse(text).body
    for statement in made:
        for child in ast.walk(statement):
            ast.copy_location(child, at)
    return made


def expression(text: str, at: ast.AST) -> Any:
    """The expression that ``text`` says, at the place of ``at``."""
    return written(text, at)[0].value
