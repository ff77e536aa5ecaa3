"""Conversion: a function's tree becomes a tree whose decisions ask the runtime.

    if x > 0:                         t1 = rt.branch(x > 0, rt.locals(), ("y",), ...)
        y = g(x)                      if t1.then:
    else:              ==>                y = rt.call(rt.glob(G, "g"), x)
        y = k                         if t1.symbolic: y, = t1.turn(rt.locals())
                                      if t1.other:
                                          y = rt.glob(G, "k")
                                      if t1.symbolic: y, = t1.join(rt.locals())

With a Python value as test exactly one branch runs, as always. With a tensor both run, each into its own graph:
``turn`` closes the first and puts the variables back, ``join`` merges them. Everything happens in the user's own
frame: no helper functions, so ``super()``, generators, ``nonlocal``, tracebacks and carets stay what they are.
Loops work alike (see ``loops``). Expressions cannot hold statements; there the runtime keeps a stack:

    a and b      rt.and_end(b if rt.and_begin(a) else rt.SKIP)
    x if c else y    rt.tern_end(x if rt.tern_begin(c) else rt.SKIP, y if rt.tern_else() else rt.SKIP)

Reads of globals, free variables, attributes and items go through the runtime and become guards. The result is
compiled under the same file name and positions and shares the closure cells of the original.
"""

from __future__ import annotations
import __future__

import ast
import weakref
from collections import OrderedDict
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, TypeVar

from msnb.base.compile_timing import timed
from msnb.graph.capture.frontend import conversion_cache, expression_converter, function_source
from msnb.graph.capture.frontend.ast_templates import expression, written
from msnb.graph.capture.frontend.jump_lowering import Lowering
from msnb.graph.capture.frontend.liveness import mark
from msnb.graph.capture.frontend.match_lowering import MatchLowering
from msnb.graph.capture.frontend.scope_analysis import Scope, bindings, in_blocks, inner_nonlocals, mangle, params

Tree = TypeVar("Tree", bound=ast.AST)
INJECTED = ("__rt__", "__g__", "__c__")


class Converter(expression_converter.Expressions):
    """Rewrites the statements of one function and of the functions nested in it."""

    def __init__(self, freevars: tuple[str, ...], evaluates: bool = True) -> None:
        self.evaluates: bool = evaluates  # annotations, which are texts after ``from __future__ import annotations``
        self.scopes: list[Scope] = []
        self.free: set[str] = set(freevars)
        self._made = 0
        self._open: list[str] = []

    # ---- functions ----

    def function(self, node: function_source.FunctionNode) -> function_source.FunctionNode:
        """The converted function; defaults and decorators belong to the surroundings."""
        if isinstance(node, ast.Lambda):
            self._enter(node.args, [ast.copy_location(ast.Expr(node.body), node.body)])
            node.body = self.visit(node.body)
        else:
            body = Lowering().function(MatchLowering().block(node.body))
            mark(body)
            self._enter(node.args, body)
            opened, self._open = self._open, []
            node.body = self.statements(body)
            self._open = opened
        self.scopes.pop()
        return node

    def _enter(self, args: ast.arguments, body: list[ast.stmt]) -> None:
        bound = bindings(body)
        outside = bound.globals | bound.nonlocals
        names = (set(bound.names) | set(params(args))) - outside
        scope = Scope(names, bound.nonlocals, bound.globals, in_blocks(body) - outside)
        scope.shared = inner_nonlocals(body) & names
        self.scopes.append(scope)

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """A converted statement list."""
        out: list[ast.stmt] = []
        for node in body:
            made = self.visit(node)
            out.extend(made if isinstance(made, list) else [made] if made is not None else [])
        return out

    def visit_FunctionDef(self, node: Any) -> Any:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        self._defaults(node.args)
        self.annotate(node, self.visit if self.evaluates else lambda part: self.const(ast.unparse(part), part))
        return self.function(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def annotate(self, node: Any, made: Callable[[ast.expr], ast.expr | None]) -> None:
        """Put what is made of them in the place of the annotations of a function."""
        node.returns = node.returns and made(node.returns)
        for part in ast.walk(node.args):
            if isinstance(part, ast.arg):
                part.annotation = part.annotation and made(part.annotation)

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """The body of a class is Python; its methods are converted, and so are the values it assigns."""
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.bases = [self.visit(b) for b in node.bases]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        mangle(node.body, node.name)
        bound = bindings(node.body)
        scope = Scope(set(bound.names), bound.nonlocals, bound.globals, set())
        scope.is_class = True
        self.scopes.append(scope)
        node.body = [self._class_statement(n) for n in node.body]
        node.decorator_list.append(expression("__rt__.made_class", node))
        self.scopes.pop()
        return node

    def _class_statement(self, node: ast.stmt) -> Any:
        if isinstance(node, (*function_source.FUNCTIONS, ast.ClassDef)):
            return self.visit(node)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            node.value = self.visit(node.value)
        return node

    # ---- control flow ----

    def _names(self, node: ast.AST, *parts: list[Any]) -> tuple[tuple[str, ...], dict[str, tuple[int, ...]]]:
        """Variables that some parts may bind, and in which lines (0: not there; none: nobody reads it afterwards)."""
        scope = self.scopes[-1]
        found = [bindings(p).names for p in parts]
        every = {n for f in found for n in f if n in scope.names} | scope.shared
        alive: set[str] = getattr(node, "turn", set()) or getattr(node, "live", every)
        lines = {n: tuple(f.get(n, 0) for f in found) for n in sorted(every) if n in alive or n in scope.shared}
        return tuple(sorted(every)), lines

    def _cells(self) -> str:
        """Arguments that read each variable which inner functions may set, and so tell its cell."""
        return "".join(f", lambda: {name}" for name in sorted(self.scopes[-1].shared))

    def _fresh(self, kind: str) -> str:
        self._made += 1
        return f"__{kind}{self._made}__"

    def _assign_names(self, names: tuple[str, ...], call: str, at: ast.AST) -> list[ast.stmt]:
        return written(call, at) if not names else written(f"({', '.join(names)},) = {call}", at)

    def visit_Expr(self, node: ast.Expr) -> Any:
        """``f() if c else None`` as a statement: its value is nobody's."""
        choice = node.value
        if not isinstance(choice, ast.IfExp):
            return self.generic_visit(node)
        then, other = (ast.copy_location(ast.Expr(part), part) for part in (choice.body, choice.orelse))
        return self.visit(ast.copy_location(ast.If(choice.test, [then], [other]), node))

    def visit_If(self, node: ast.If) -> Any:
        """An ``if`` that ends the ``else`` of another stands behind it, not inside: chains of ``elif`` and of early
        returns are long, and Python nests at most 20 ``try``."""
        out: list[ast.stmt] = []
        joins: list[ast.stmt] = []
        before: list[ast.stmt] = []
        around, opened = None, len(self._open)
        while True:
            names, lines = self._names(node, node.body, node.orelse)
            t, given = self._fresh("t"), f"{names!r}, {lines!r}, __rt__.locals(), {around}{self._cells()}"
            made = written(f"{t} = __rt__.branch(None, {given})", node.test)
            made[0].value.args[0] = self.test(node.test)
            if around is not None:
                out += written(f"{t} = __rt__.SKIPPED", node.test)
                made = self._when(f"{around}.other", self._kept_inside(around, before + made, node), node)
            self._open.append(t)
            out += made + self._when(f"{t}.then", self._kept_inside(t, self.statements(node.body), node), node)
            turn = self._assign_names(names, f"{t}.turn(__rt__.locals())", node.test)
            out += self._when(f"{t}.symbolic", turn, node.test)
            join = self._assign_names(names, f"{t}.join(__rt__.locals())", node.test)
            joins = self._when(f"{t}.symbolic", join, node.test) + joins
            if not node.orelse or not isinstance(node.orelse[-1], ast.If):
                break
            before, around, node = self.statements(node.orelse[:-1]), t, node.orelse[-1]
        out += self._when(f"{t}.other", self._kept_inside(t, self.statements(node.orelse), node), node)
        del self._open[opened:]
        return out + joins

    def _when(self, test: str, body: list[ast.stmt], at: ast.AST) -> list[ast.stmt]:
        if not body:
            return []
        made = written(f"if {test}: pass", at)
        made[0].body = body
        return made

    def _kept_inside(self, handle: str, body: list[ast.stmt], at: ast.AST) -> list[ast.stmt]:
        """A body whose errors its handle hears of first."""
        if not body:
            return []
        made = written(f"try: pass\nexcept Exception as __error__:\n    if not {handle}.failed(__error__): raise", at)
        made[0].body = body
        return made

    def visit_While(self, node: ast.While) -> Any:
        names, lines = self._names(node, [*node.body, ast.copy_location(ast.Expr(node.test), node.test)])
        w = self._fresh("w")
        flag = getattr(node, "flag", "")
        walrus = any(isinstance(n, ast.NamedExpr) for n in ast.walk(node.test))
        test = self.test(node.test)
        self._open.append(w)
        body = self.statements(node.body)
        self._open.pop()
        out = written(f"{w} = __rt__.While({names!r}, {lines!r}, {flag!r}, {walrus!r}{self._cells()})", node.test)
        loop = written(f"while {w}.more(__rt__.locals()): pass", node.test)
        take = self._when(f"{w}.load", self._assign_names(names, f"{w}.vars()", node.test), node.test)
        tested = written(f"if {w}.enter or {w}.test(None): pass", node.test)
        tested[0].test.values[1].args[0] = test
        again = self._when(f"{w}.load", self._assign_names(names, f"{w}.vars()", node.test), node.test)
        tested[0].body = again + self._kept_inside(w, body, node) + written(f"{w}.done(__rt__.locals())", node.test)
        loop[0].body = take + tested
        return out + loop + self._when(f"{w}.load", self._assign_names(names, f"{w}.vars()", node.test), node.test)

    def visit_For(self, node: ast.For) -> Any:
        names, lines = self._names(node, [node.target, *node.body])
        f = self._fresh("f")
        flag = getattr(node, "flag", "")
        iterated = self.visit(node.iter)
        item = expression(f"{f}.item()", node.iter)
        item.converted = True
        first: ast.stmt = ast.copy_location(ast.Assign([node.target], item), node.iter)
        body = [first, *node.body]
        if flag:
            guard = written(f"if not {flag}: pass", node.iter)
            guard[0].body, guard[0].live = body, getattr(node, "turn", set())
            body = guard
        self._open.append(f)
        made = self.statements(body)
        self._open.pop()
        out = written(f"{f} = __rt__.For(None, {names!r}, {lines!r}, {flag!r}{self._cells()})", node.iter)
        out[0].value.args[0] = iterated
        loop = written(f"while {f}.more(__rt__.locals()): pass", node.iter)
        take = self._when(f"{f}.load", self._assign_names(names, f"{f}.vars()", node.iter), node.iter)
        loop[0].body = take + self._kept_inside(f, made, node.iter) + written(f"{f}.done(__rt__.locals())", node.iter)
        return out + loop + self._when(f"{f}.load", self._assign_names(names, f"{f}.vars()", node.iter), node.iter)

    def visit_Assert(self, node: ast.Assert) -> Any:
        test = self.test(node.test)
        message = self.visit(node.msg) if node.msg is not None else ast.copy_location(ast.Constant(None), node)
        made = written("__rt__.assert_end(None if __rt__.assert_begin(None) else __rt__.SKIP, False)", node)
        call = made[0].value
        call.args[0].body, call.args[0].test.args[0] = message, test
        call.args[1].value = node.msg is not None
        return made

    def visit_Raise(self, node: ast.Raise) -> Any:
        if node.exc is not None:
            node.exc = self.rt("raising", node.exc, self.visit(node.exc))
        if node.cause is not None:
            node.cause = self.visit(node.cause)
        return node

    def visit_Try(self, node: Any) -> Any:
        """Blocks left open by an exception are closed where it is caught."""
        level = self._fresh("l")
        begin = written("__rt__.attempt(lambda: None)", node)
        begin[0].value.args[0].body = _caught(node)
        node.body = [*begin, *self.statements(node.body), *written(f"__rt__.succeeded({level})", node)]
        for handler in node.handlers:
            if handler.type is not None:
                handler.type = self.visit(handler.type)
            handler.body = written(f"__rt__.unwind({level})", handler) + self.statements(handler.body)
        node.orelse = self.statements(node.orelse)
        node.finalbody = self.statements(node.finalbody)
        return [*written(f"{level} = __rt__.level()", node), node]

    visit_TryStar = visit_Try

    def visit_With(self, node: Any) -> Any:
        if len(node.items) > 1:  # a later context may read what an earlier one gave
            node.body = [ast.copy_location(type(node)(node.items[1:], node.body), node)]
        level, item, first = self._fresh("l"), node.items[0], []
        item.context_expr = self.rt("context", item.context_expr, self.visit(item.context_expr))
        if item.optional_vars is not None:
            given = self._fresh("w")
            first = self._flat(self._store(item.optional_vars, self.load(given, node), node))
            item.optional_vars = ast.copy_location(ast.Name(given, ast.Store()), node)
        node.items, node.body = [item], [*first, *self.statements(node.body)]
        return [*written(f"{level} = __rt__.level()", node), node, *written(f"__rt__.unwind({level})", node)]

    visit_AsyncWith = visit_With


def _caught(node: Any) -> ast.expr:
    """What the handlers of a ``try`` catch, as an expression; with ``finally`` it sees every error."""
    every = ast.copy_location(ast.Name("BaseException", ast.Load()), node)
    if node.finalbody or any(handler.type is None for handler in node.handlers):
        return every
    kinds: list[ast.expr] = [_copied(handler.type) for handler in node.handlers]
    return ast.copy_location(ast.Tuple(kinds, ast.Load()), node)


class Template:
    """A converted function, before it is given a closure."""

    def __init__(self, code: CodeType, free: tuple[str, ...]) -> None:
        self.code: CodeType = code
        self.free: tuple[str, ...] = free


MOST_TEMPLATES = 2048  # 6 to 8 KB each; what is asked for again after it left is converted again
_templates: OrderedDict[CodeType, Template] = OrderedDict()
_converted: weakref.WeakValueDictionary[int, CodeType] = weakref.WeakValueDictionary()  # by id: equal code is not one


def is_converted(code: CodeType) -> bool:
    """True for code that this module made."""
    return _converted.get(id(code)) is code


def _note(code: CodeType) -> None:
    _converted[id(code)] = code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            _note(const)


def template(code: CodeType) -> Template:
    """The converted form of a code object, made once.

    Raises:
        CaptureError: the source cannot be found.
    """
    made = _templates.get(code)
    if made is None:
        return _converted_now(code)
    _templates.move_to_end(code)
    return made


@timed("conversion")
def _converted_now(code: CodeType) -> Template:
    key = conversion_cache.key_of(code)
    known = None if key is None else conversion_cache.read(key)
    made = _templates[code] = _converted_anew(code) if known is None else Template(*known)
    if len(_templates) > MOST_TEMPLATES:
        _templates.popitem(last=False)
    if key is not None and known is None:
        conversion_cache.write(key, made.code, made.free)
    _note(made.code)
    return made


def _converted_anew(code: CodeType) -> Template:
    found = function_source.find(code)
    node = _copied(found.node)
    if not isinstance(node, ast.Lambda):
        node.decorator_list = []
    mangle([getattr(node, field) for field in node._fields if field != "name"], found.class_name)
    converter = Converter(code.co_freevars, not code.co_flags & __future__.annotations.compiler_flag)
    if not isinstance(node, ast.Lambda):
        converter.annotate(node, lambda part: None)
    return _compile(found, converter.function(node), code)


def _copied(node: Tree) -> Tree:
    """A tree to be changed. ``copy.deepcopy`` asks every part whether it has a way of its own, and takes five times as
    long; operators and contexts (``Add``, ``Load``), one object for all trees of Python, stay what they are."""
    made = node.__class__.__new__(node.__class__)
    space = vars(made)
    for name, part in vars(node).items():
        if part.__class__ is list:
            part = [_copied(p) if isinstance(p, ast.AST) and (p._fields or p._attributes) else p for p in part]
        elif isinstance(part, ast.AST) and part._fields:
            part = _copied(part)
        space[name] = part
    return made


def _compile(found: function_source.FunctionSource, node: function_source.FunctionNode, code: CodeType) -> Template:
    free = tuple(sorted({*code.co_freevars, *INJECTED}))
    tree = ast.parse(f"def __outer__({', '.join(free)}): pass")
    outer = tree.body[0]
    assert isinstance(outer, ast.FunctionDef)
    if isinstance(node, ast.Lambda):
        outer.body = [ast.copy_location(ast.Return(node), node)]
    else:
        outer.body = [node] if node.name in free else [ast.Global([node.name]), node]
    ast.fix_missing_locations(tree)
    compiled = compile(tree, found.filename, "exec", dont_inherit=True)
    outer_code = next(c for c in compiled.co_consts if isinstance(c, CodeType))
    inner = next(c for c in outer_code.co_consts if isinstance(c, CodeType) and c.co_name == code.co_name)
    return Template(inner, free)


def make_cell(value: Any) -> Any:
    """A closure cell."""
    return (lambda: value).__closure__[0]  # type: ignore[index]


def twin(fn: FunctionType, runtime: Any, defaults: Any, kwdefaults: Any) -> FunctionType:
    """The converted function with the globals and the very cells of ``fn``."""
    made = template(fn.__code__)
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or ()))
    extra = {"__rt__": runtime, "__g__": fn.__globals__, "__c__": cells}
    closure = tuple(cells[n] if n in cells else make_cell(extra[n]) for n in made.code.co_freevars)
    new = FunctionType(made.code, fn.__globals__, fn.__name__, defaults, closure)
    new.__kwdefaults__ = kwdefaults
    new.__qualname__ = fn.__qualname__
    return new
