"""What the patterns of a ``match`` statement name, taken out of them: see ``interpreter.match_statement``."""

from __future__ import annotations

import ast


class Names(ast.NodeTransformer):
    """Takes the expressions out of patterns.

    Args:
        holder: the name of the variable that will hold them.
    """

    def __init__(self, holder: str) -> None:
        self.holder = holder
        self.found: list[ast.expr] = []

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.MatchClass:
        """``case Point(...)``: the class."""
        node.cls = self._named(node.cls)
        node.patterns = [self.visit(p) for p in node.patterns]
        node.kwd_patterns = [self.visit(p) for p in node.kwd_patterns]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """``case Kind.SLOW``: the value."""
        return self._named(node)

    def _named(self, node: ast.expr) -> ast.expr:
        self.found.append(node)
        holder = ast.copy_location(ast.Name(self.holder, ast.Load()), node)
        return ast.copy_location(ast.Attribute(holder, f"v{len(self.found) - 1}", ast.Load()), node)
