"""Conversion of expressions: names, attributes, items, calls, and/or/not, comparisons, ternaries, f-strings.

What the runtime must see is wrapped in a call of it; everything else stays as it is. Positions are copied to every node
made here, so that a caret points at the user's expression.
"""

from __future__ import annotations

import ast
from typing import Any

from msnb.graph.capture.frontend.ast_templates import expression
from msnb.graph.capture.frontend.scope_analysis import Scope, named, targets

# These look at the frame that calls them, so they are called directly.
FRAME_BUILTINS = frozenset({"locals", "globals", "vars", "dir", "eval", "exec", "super", "breakpoint"})
_COMPARE = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}


def _inner_targets(target: ast.Tuple | ast.List) -> tuple[tuple[int, Any], ...]:
    """The places at which a target is taken apart again, each with its own; those behind a star count from the end."""
    stars = [i for i, part in enumerate(target.elts) if isinstance(part, ast.Starred)]
    return tuple(
        (i - len(target.elts) if stars and i > stars[0] else i, _inner_targets(part))
        for i, part in enumerate(target.elts)
        if isinstance(part, (ast.Tuple, ast.List))
    )


class Expressions(ast.NodeTransformer):
    """The expression half of the converter."""

    scopes: list[Any]
    free: set[str]
    _open: list[str]

    # ---- making code ----

    def rt(self, name: str, at: ast.AST, *args: ast.expr) -> ast.expr:
        """``rt.name(*args)``."""
        function = ast.copy_location(ast.Attribute(self.load("__rt__", at), name, ast.Load()), at)
        return ast.copy_location(ast.Call(function, list(args), []), at)

    def const(self, value: Any, at: ast.AST) -> ast.expr:
        """A constant."""
        return ast.copy_location(ast.Constant(value), at)

    def load(self, name: str, at: ast.AST) -> ast.expr:
        """A plain name, not converted."""
        return ast.copy_location(ast.Name(name, ast.Load()), at)

    # ---- names ----

    def visit_Name(self, node: ast.Name) -> Any:
        is_cell = node.id in ("__rt__", "__class__")
        return node if is_cell or not isinstance(node.ctx, ast.Load) else self._read_name(node)

    def _read_name(self, node: ast.Name) -> Any:
        kind, scope = self._lookup(node.id)
        if kind == "local":
            unsure = scope is not None and node.id in scope.unsure
            return self.rt("name", node, node, self.const(node.id, node)) if unsure else node
        if kind == "free":
            return self.rt("free", node, self.load("__c__", node), self.const(node.id, node))
        return self.rt("glob", node, self.load("__g__", node), self.const(node.id, node))

    def _lookup(self, name: str) -> tuple[str, Any]:
        for scope in reversed(self.scopes):
            if scope.is_class and scope is not self.scopes[-1]:
                continue
            if name in scope.globals:
                return "global", None
            if name in scope.names:
                return "local", scope
        return ("free", None) if name in self.free else ("global", None)

    def store_outside(self, target: ast.expr, value: ast.expr) -> ast.stmt | None:
        """The statement for an assignment to a global or to a variable of an enclosing function; None for locals."""
        if not isinstance(target, ast.Name):
            return None
        scope, name = self.scopes[-1], target.id
        if name in scope.globals:
            made = self.rt("set_glob", target, self.load("__g__", target), self.const(name, target), value)
        elif name in scope.nonlocals:
            cell = expression(f"(lambda: {name})", target)
            made = self.rt("set_cell", target, cell, value)
        else:
            return None
        return ast.copy_location(ast.Expr(made), target)

    # ---- assignments ----

    def visit_Assign(self, node: ast.Assign) -> Any:
        value = node.value if getattr(node.value, "converted", False) else self.visit(node.value)
        if len(node.targets) == 1 and not isinstance(node.targets[0], (ast.Tuple, ast.List)):
            return self._store(node.targets[0], value, node)
        temp = f"__v{id(node) % 10**9}__"
        out: list[Any] = [
            ast.copy_location(ast.Assign([ast.copy_location(ast.Name(temp, ast.Store()), node)], value), node)
        ]
        for target in node.targets:
            out += self._flat(self._store(target, self.load(temp, node.value), node))
        return out

    def _flat(self, made: Any) -> list[Any]:
        return made if isinstance(made, list) else [made]

    def _store(self, target: ast.expr, value: ast.expr, at: ast.AST) -> Any:
        """The statements that put a converted value into a target."""
        if isinstance(target, ast.Attribute):
            owner = self.visit(target.value)
            name = self.const(target.attr, target)
            return ast.copy_location(ast.Expr(self.rt("set_attr", target, owner, name, value)), at)
        if isinstance(target, ast.Subscript):
            owner, key = self.visit(target.value), self.visit(target.slice)
            return ast.copy_location(ast.Expr(self.rt("set_item", target, owner, key, value)), at)
        if isinstance(target, (ast.Tuple, ast.List)):
            return self._unpack(target, value, at)
        outside = self.store_outside(target, value)
        return outside if outside is not None else ast.copy_location(ast.Assign([target], value), at)

    def _unpack(self, target: ast.Tuple | ast.List, value: ast.expr, at: ast.AST) -> list[Any]:
        """Unpack into fresh names, then store each: targets may be attributes, items and tuples again."""
        temps, after = [], []
        for i, element in enumerate(target.elts):
            inner = element.value if isinstance(element, ast.Starred) else element
            if isinstance(inner, ast.Name) and self.store_outside(inner, self.const(None, at)) is None:
                temps.append(element)
                continue
            name = f"__u{i}_{id(element) % 10**9}__"
            stored: ast.expr = ast.copy_location(ast.Name(name, ast.Store()), element)
            if isinstance(element, ast.Starred):
                stored = ast.copy_location(ast.Starred(stored, ast.Store()), element)
            temps.append(stored)
            after += self._flat(self._store(inner, self.load(name, at), at))
        together = ast.copy_location(ast.Tuple(temps, ast.Store()), target)
        return [ast.copy_location(ast.Assign([together], self.rt("unpack", target, value)), at), *after]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self._store(node.target, self.visit(node.value), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        op = self.const(_BINARY[type(node.op)], node)
        value = self.visit(node.value)
        target = node.target
        if isinstance(target, ast.Name):
            old = self.visit(ast.copy_location(ast.Name(target.id, ast.Load()), target))
            return self._store(target, self.rt("inplace", node, op, old, value), node)
        if isinstance(target, ast.Attribute):
            name = self.const(target.attr, target)
            made = self.rt("inplace_attr", node, op, self.visit(target.value), name, value)
        else:
            made = self.rt("inplace_item", node, op, self.visit(target.value), self.visit(target.slice), value)
        return ast.copy_location(ast.Expr(made), node)

    def visit_Delete(self, node: ast.Delete) -> Any:
        out: list[Any] = []
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                made = self.rt("del_attr", target, self.visit(target.value), self.const(target.attr, target))
            elif isinstance(target, ast.Subscript):
                made = self.rt("del_item", target, self.visit(target.value), self.visit(target.slice))
            else:
                if isinstance(target, ast.Name):
                    seen = self.visit(ast.copy_location(ast.Name(target.id, ast.Load()), target))
                    out.append(ast.copy_location(ast.Expr(seen), node))
                out.append(ast.copy_location(ast.Delete([target]), node))
                continue
            out.append(ast.copy_location(ast.Expr(made), node))
        return out

    # ---- reads ----

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        node.value = self.visit(node.value)
        if not isinstance(node.ctx, ast.Load):
            return node
        return self.rt("attr", node, node.value, self.const(node.attr, node))

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        owner, key = self.visit(node.value), self.visit(node.slice)
        if not isinstance(node.ctx, ast.Load):
            node.value, node.slice = owner, key
            return node
        return self.rt("item", node, owner, key)

    def visit_Slice(self, node: ast.Slice) -> Any:
        parts = [self.const(None, node) if p is None else self.visit(p) for p in (node.lower, node.upper, node.step)]
        found = getattr(node, "lower", None) or node.upper or node.step
        at = node if hasattr(node, "lineno") else found or node
        return self.rt("slice", at, *parts)

    def visit_Starred(self, node: ast.Starred) -> Any:
        node.value = self.visit(node.value)
        if isinstance(node.ctx, ast.Load):
            node.value = self.rt("unpack", node.value, node.value)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        if getattr(node, "converted", False):
            return node
        if isinstance(node.func, ast.Name) and node.func.id in FRAME_BUILTINS:
            if self._lookup(node.func.id)[0] == "global" and not (node.args and node.func.id in ("vars", "dir")):
                return self._frame_builtin(node, node.func.id)
        if isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", None) == "__rt__":
            return self.generic_visit_args(node)  # what lowering wrote
        function = self.visit(node.func)
        self.generic_visit_args(node)
        node.args = [function, *node.args]
        node.func = expression("__rt__.call", node)
        return node

    def _frame_builtin(self, node: ast.Call, name: str) -> Any:
        """A call of what reads the frame that calls it."""
        if name == "globals":
            return self.rt("namespace", node, self.load("__g__", node))
        if name == "locals":
            return self.rt("own_names", node, node)
        self.generic_visit_args(node)
        if name == "exec":
            node.args[:1] = [self.rt("executed", text, text) for text in node.args[:1]]
        if name != "eval" or not node.args:
            return node
        here = () if len(node.args) > 1 else (self.load("__g__", node), self.rt("locals", node))
        return self.rt("evaluated", node, *node.args, *here)

    def generic_visit_args(self, node: ast.Call) -> ast.Call:
        """Convert the arguments only."""
        node.args = [self.visit(a) for a in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
            if keyword.arg is None:
                keyword.value = self.rt("unpack_map", keyword.value, keyword.value)
        return node

    def visit_Dict(self, node: ast.Dict) -> Any:
        node.values = [
            self.visit(v) if k is not None else self.rt("unpack_map", v, self.visit(v))
            for k, v in zip(node.keys, node.values)
        ]
        node.keys = [None if k is None else self.visit(k) for k in node.keys]
        return self.rt("new", node, node)

    def visit_List(self, node: ast.List) -> Any:
        self.generic_visit(node)
        return self.rt("new", node, node) if isinstance(node.ctx, ast.Load) else node

    def visit_Set(self, node: ast.Set) -> Any:
        self.generic_visit(node)
        return self.rt("new", node, node)

    # ---- functions and comprehensions ----

    def function(self, node: Any) -> Any:
        """Convert a nested function (the converter knows how)."""
        raise NotImplementedError

    def _defaults(self, args: ast.arguments) -> None:
        args.defaults = [self.visit(d) for d in args.defaults]
        args.kw_defaults = [None if d is None else self.visit(d) for d in args.kw_defaults]

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        self._defaults(node.args)
        return self.function(node)

    def _comprehension(self, node: Any) -> Any:
        first = node.generators[0]
        first.iter = self._iterated(first, self.visit(first.iter))
        self.scopes.append(Scope(targets(node.generators), set(), set(), set()))
        for i, g in enumerate(node.generators):
            if i:
                g.iter = self._iterated(g, self.visit(g.iter))
            g.ifs = [self.rt("truth", t, self.test(t)) for t in g.ifs]
        for name in ("elt", "key", "value"):
            if hasattr(node, name):
                setattr(node, name, self.visit(getattr(node, name)))
        self.scopes.pop()
        return node if isinstance(node, ast.GeneratorExp) else self.rt("new", node, node)

    def _iterated(self, part: ast.comprehension, values: ast.expr) -> ast.expr:
        """What one ``for`` of a comprehension goes through; taken apart if its target is, which Python does unseen."""
        found = self.rt("iterate", part.iter, values)
        if not isinstance(part.target, (ast.Tuple, ast.List)):
            return found
        return self.rt("unpack_each", part.iter, found, self.const(_inner_targets(part.target), part.iter))

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Yield(self, node: ast.Yield) -> Any:
        value = self.const(None, node) if node.value is None else self.visit(node.value)
        handles = ast.copy_location(ast.Tuple([self.load(n, node) for n in self._open], ast.Load()), node)
        node.value = self.rt("yielding", node, value, handles)
        return node

    def visit_YieldFrom(self, node: ast.YieldFrom) -> Any:
        handles = ast.copy_location(ast.Tuple([self.load(n, node) for n in self._open], ast.Load()), node)
        node.value = self.rt("yielding", node, self.rt("iterate", node, self.visit(node.value)), handles)
        return node

    # ---- decisions ----

    def test(self, node: ast.expr) -> ast.expr:
        """An expression of which only the truth matters."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.rt("not_", node, self.test(node.operand))
        found: ast.expr = self._bool(node, "test_") if isinstance(node, ast.BoolOp) else self.visit(node)
        return found

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        return self._bool(node, "")

    def _bool(self, node: ast.BoolOp, prefix: str) -> Any:
        kind = "and" if isinstance(node.op, ast.And) else "or"
        convert = self.test if prefix else self.visit
        names = [self._set_inside(*node.values[i:]) for i in range(len(node.values))]
        result = convert(node.values[-1])
        for i in reversed(range(len(node.values) - 1)):
            begin = self.rt(f"{prefix}{kind}_begin", node.values[i], convert(node.values[i]))
            result = self._short(begin, result, f"{prefix}bool_end", node, names[i + 1])
        return result

    def _short(self, begin: Any, then: ast.expr, end: str, at: ast.AST, names: list[str]) -> Any:
        """``end(then if begin else SKIP)``."""
        skip = expression("__rt__.SKIP", at)
        begin.args += self._carried(names, at)
        made = ast.copy_location(ast.IfExp(begin, then, skip), at)
        return self._named(self.rt(end, at, made, *self._carried(names, at)[1:]), names, at)

    def _set_inside(self, *parts: ast.expr) -> list[str]:
        """The variables of this function that ``:=`` sets there."""
        scope = self.scopes[-1]
        return [name for name in named(*parts) if name not in scope.globals and name not in scope.nonlocals]

    def _carried(self, names: list[str], at: ast.AST) -> list[ast.expr]:
        """What the runtime is given of the variables that ``:=`` sets in a part of an expression: names and values."""
        if not names:
            return []
        inside = self.scopes[-1].names.isdisjoint(names)  # of a comprehension, which has a frame of its own
        return [expression(repr(names), at), expression("None" if inside else "__rt__.locals()", at)]

    def _named(self, value: ast.expr, names: list[str], at: ast.AST) -> Any:
        """``value``, and then the variables as they are behind it."""
        if not names or self.scopes[-1].names.isdisjoint(names):
            return value
        made = expression(f"(None, {', '.join(f'{n} := __rt__.carried({n!r})' for n in names)})[0]", at)
        made.value.elts[0] = value
        return made

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        node.value = self.visit(node.value)
        outside: Any = self.store_outside(node.target, node.value)
        return node if outside is None else outside.value

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return self.rt("not_", node, self.test(node.operand))
        return self.rt("unary", node, self.const(_UNARY[type(node.op)], node), self.visit(node.operand))

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        return self.rt(
            "binary", node, self.const(_BINARY[type(node.op)], node), self.visit(node.left), self.visit(node.right)
        )

    def visit_Compare(self, node: ast.Compare) -> Any:
        ops = [_COMPARE[type(op)] for op in node.ops]
        parts = [self.visit(node.left), *map(self.visit, node.comparators)]
        names = [self._set_inside(*node.comparators[i:]) for i in range(len(ops))]
        result = self._compare(ops[-1], parts[-2] if len(ops) == 1 else None, parts[-1], node)
        for i in reversed(range(len(ops) - 1)):
            left = parts[0] if i == 0 else self.rt("chain_left", node)
            begin = self.rt("chain_begin", node, self.const(ops[i], node), left, parts[i + 1])
            result = self._short(begin, result, "bool_end", node, names[i + 1])
        return result

    def _compare(self, op: str, left: ast.expr | None, right: ast.expr, node: ast.Compare) -> ast.expr:
        """One comparison; ``left`` None: the value that the chain kept."""
        made = self.rt("chain_left", node) if left is None else left
        if op in ("is", "is not", "in", "not in"):
            return self.rt("compare", node, self.const(op, node), made, right)
        return self.rt("binary", node, self.const(op, node), made, right)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        skip = expression("__rt__.SKIP", node)
        other_skip = expression("__rt__.SKIP", node)
        names = self._set_inside(node.body, node.orelse)
        begin = self.rt("tern_begin", node, self.test(node.test), *self._carried(names, node))
        then = ast.copy_location(ast.IfExp(begin, self.visit(node.body), skip), node)
        turn = self._named(self.rt("tern_else", node, *self._carried(names, node)[1:]), names, node)
        other = ast.copy_location(ast.IfExp(turn, self.visit(node.orelse), other_skip), node)
        return self._named(self.rt("tern_end", node, then, other, *self._carried(names, node)[1:]), names, node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        parts: list[ast.expr] = []
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                spec = self.const("", node) if value.format_spec is None else self.visit(value.format_spec)
                conversion = self.const(value.conversion, node)
                inner = self.visit(value.value)
                parts.append(ast.copy_location(ast.Tuple([inner, conversion, spec], ast.Load()), node))
            else:
                parts.append(value)
        return self.rt("fstring", node, *parts)
