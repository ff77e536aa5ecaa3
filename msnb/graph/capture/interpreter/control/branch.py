"""Blocks: capturing a branch into a graph of its own, and joining two of them as an If.

open      a nested builder takes the slot, the journal gets a level
close     the builder leaves the slot, the level's writes are taken back and handed over
join      variables and written locations merge, one If node gives the results, the locations are written again
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from msnb.base.errors import UnsupportedSyntaxError
from msnb.base.source_location import here
from msnb.core import bool_, int32, slot, tensor_type
from msnb.graph.capture.interpreter import program_errors, writes
from msnb.graph.capture.interpreter.capture_engine import Capture
from msnb.graph.capture.interpreter.capture_session import stack
from msnb.graph.capture.interpreter.control.truth_value import as_bool, symbolic_test, truth
from msnb.graph.capture.interpreter.side_effects import deferred, has_effects
from msnb.graph.capture.values.branch_merge import Merge, UndefinedVariable, is_tensor
from msnb.graph.capture.values.mutation_journal import Change
from msnb.ir import control_flow
from msnb.ir.graph import Graph, Value, copy_node
from msnb.ops.definition.record import find

SKIP: Any = type("Skip", (), {"__repr__": lambda self: "<skipped>"})()


class Body:
    """One body under capture: its builder, and after ``close`` the writes it made, but those to the cells of variables
    that its handle carries anyway."""

    def __init__(self, outer: Capture, name: str, carried: frozenset[Any] = frozenset()) -> None:
        self.outer = outer
        self.carried: frozenset[Any] = carried
        self.builder: Capture = outer.body(name)
        self.changes: dict[tuple[Any, ...], Change] = {}
        self.born: dict[int, Any] = {}
        self.dead = False
        outer.session.journal.push(self.builder.graph)
        slot.engine = self.builder

    def close(self) -> None:
        """Back to the outer graph; the writes are taken back."""
        self.born = self.outer.session.journal.levels[-1].born
        changes = self.outer.session.journal.pop()
        self.changes = {key: change for key, change in changes.items() if key not in self.carried}
        slot.engine = self.outer


class Handle:
    """A decision. ``then`` and ``other``: which branches run; ``symbolic``: both, each into a graph."""

    depth: tuple[int, int, int]

    def __init__(self, *readers: Any) -> None:
        self.cells: frozenset[Any] = frozenset(("cell", id(read.__closure__[0])) for read in readers)
        self.then = self.other = self.symbolic = False
        self.outer: Any = None
        self.body: Body | None = None
        self.level: int = 0
        self.expression = False
        self.depth = (0, 0, 0)
        self.decides = True  # False: a function is traced, nothing is decided

    def start(self, outer: Capture) -> None:
        """Enter the stack of open blocks."""
        self.outer = outer
        self.level = len(outer.session.statements.blocks)
        outer.session.statements.blocks.append(self)
        self.depth = len(outer.session.journal.levels), len(stack.items), len(outer.session.statements.attempts)

    def finish(self) -> None:
        """Leave it."""
        del self.outer.session.statements.blocks[self.level :]

    def abandon(self) -> None:
        """An exception left this block."""
        if self.body is not None:
            slot.engine = self.outer

    def failed(self, error: Exception) -> bool:
        """An error left the body. Where a tensor decides whether the body runs, the body ends in raising it: True."""
        if not self.symbolic or self.body is None or slot.engine is None:
            return False
        if program_errors.is_refusal(self.outer.session, error):
            return False
        program_errors.keep_inside(self, error)
        return True


class Branch(Handle):
    """``if``: see the head of ``convert`` for the code around it."""

    then: bool
    other: bool

    def __init__(
        self, names: tuple[str, ...], lines: dict[str, tuple[int, ...]], around: Branch | None, *readers: Any
    ) -> None:
        super().__init__(*readers)
        self.names: tuple[str, ...] = names
        self.around: Branch | None = around  # whose ``else`` ends in this one
        self.lines: dict[str, tuple[int, ...]] = lines

    def decide(self, value: Any, space: dict[str, Any]) -> None:
        """Look at the test."""
        engine = slot.engine
        pred = symbolic_test(value)
        if pred is None:
            self.then = truth(value)
            self.other = not self.then
            return
        assert isinstance(engine, Capture)
        self.then = self.other = self.symbolic = True
        self.pred = pred
        self.begin: dict[str, Any] = grab(self.names, space)
        self.start(engine)
        self.body = Body(engine, "then", self.cells)

    def failed(self, error: Exception) -> bool:
        """As above; if the branch around keeps the error, this one is over."""
        if super().failed(error):
            return True
        if self.around is None or not self.around.failed(error):
            return False
        self.then = self.other = self.symbolic = False
        return True

    def turn(self, space: dict[str, Any]) -> tuple[Any, ...]:
        """The first branch is done: put everything back for the second."""
        assert self.body is not None
        self.first: Body = self.body
        self.left: dict[str, Any] = grab(self.names, space)
        self.first.close()
        self.body: Body = Body(self.outer, "else", self.cells)
        return tuple(self.begin.values())

    def join(self, space: dict[str, Any]) -> tuple[Any, ...]:
        """Both are done: merge."""
        assert self.body is not None
        right = grab(self.names, space)
        self.body.close()
        self.finish()
        values = [(n, self.left[n], right[n], self.lines[n]) for n in self.names if n in self.lines]
        merged = dict(zip(self.lines, join(self.outer, self.pred, self.first, self.body, values)))
        if self.first.dead and self.body.dead and not self.outer.session.calls.recursions:
            self._end()  # a recursion sees by the value to return that all branches end
        return tuple(merged[n] if n in merged else UndefinedVariable(n) for n in self.names)

    def _end(self) -> None:
        """Both raise: nothing behind the branch runs, so the body around it ends here as well."""
        session = self.outer.session
        error = session.statements.raised = session.calls.ends[-1]
        if self.around is None or not self.around.failed(error):
            raise error


SKIPPED = Branch((), {}, None)


def grab(names: tuple[str, ...], space: dict[str, Any]) -> dict[str, Any]:
    """The variables as they are."""
    return {n: space[n] if n in space else UndefinedVariable(n) for n in names}


def join(
    outer: Capture, pred: Any, then: Body, other: Body, values: Sequence[tuple[str, Any, Any, tuple[int, ...]]]
) -> list[Any]:
    """Append the If and give the merged values; merged writes are made again."""
    bodies = (then, other)
    merge = Merge(
        then.builder, other.builder, (then.dead, other.dead), [b.changes for b in bodies], [b.born for b in bodies]
    )
    merge.choose = partial(_chosen, outer, pred)
    flags = [(then_flag, other_flag) for name, then_flag, other_flag, _ in values if name.startswith("__done")]
    merge.gone = any(a is True for a, _ in flags), any(b is True for _, b in flags)
    plans = [merge.plan_if_read(*v) for v in values]
    places = writes.merge_changes(merge, then.changes, other.changes)
    links = list(_links(outer.session.aliases, merge))
    args = align(then.builder, other.builder)
    graphs = then.builder.graph, other.builder.graph
    useful = graphs[0].outputs or any(map(has_effects, graphs))
    results = control_flow.if_(outer, pred, *graphs, args) if useful else ()
    for at, known, flag, yes in links:
        condition = (lambda: as_bool(pred)) if flag is None else partial(results.__getitem__, flag)
        outer.session.aliases.add(results[at], results[known] if isinstance(known, int) else known, condition, yes)
    for plan, write in places:
        write(plan(list(results)))
    return [plan(list(results)) for plan in plans]


def _links(aliases: Any, merge: Merge) -> Iterator[tuple[int, Any, int | None, bool]]:
    """Which results are one object from outside, or each other: (result, object or result, the result that tells it or
    None where the branch does, its truth)."""
    sides = [{at: objects[side] for at, objects in merge.objects.items()} for side in (0, 1)]
    found = [link for builder, ends in zip(merge.builders, sides) for link in aliases.links(builder, ends)]
    known = {(at, id(other)): (at, other) for at, other in found}.values()
    for at, other in sorted(known, key=lambda link: link if isinstance(link[1], int) else (-1, -1)):  # objects first
        others = [ends[other] if isinstance(other, int) else other for ends in sides]
        told = [aliases.told(b, ends[at], x) for b, ends, x in zip(merge.builders, sides, others)]
        if all(isinstance(found, bool) for found in told):
            yield from ((at, other, None, side == 0) for side, found in enumerate(told) if found)
            continue
        for builder, found in zip(merge.builders, told):
            builder.graph.outputs.append(builder.lift_as(found, tensor_type((), bool_)))
        yield at, other, len(merge.builders[0].graph.outputs) - 1, True


def _chosen(outer: Capture, pred: Any, then: Any, other: Any) -> Any:
    """The function or the text of the branch that runs."""
    if isinstance(then, str):
        return deferred(lambda yes, a, b: a if yes else b, (as_bool(pred), then, other))
    return outer.session.interpreter.selected((other, then), find("cast")(as_bool(pred), dtype=int32))


def align(*builders: Capture, keep: int = 0) -> list[Any]:
    """Give all builders the same params for outer values, in one order. Returns those outer values.

    Args:
        keep: that many leading params (loop carries) stay where they are.
    """
    outers: dict[Value, Any] = {}
    for b in builders:
        for outer, _ in b.captured:
            outers.setdefault(outer._value, outer)
    for b in builders:
        own = {outer._value: p for outer, p in b.captured}
        for value in outers:
            if value not in own:
                own[value] = b.graph.add_param(value.type, value.name or "c")
        b.graph.params = [*b.graph.params[:keep], *(own[v] for v in outers)]
        for i, p in enumerate(b.graph.params):
            p.index = i
    return list(outers.values())


def is_plain(graph: Graph) -> bool:
    """Only operations that may as well run when their result is not needed: ``i < n and x[i] > 0`` guards an index."""
    return not any({"control", "effect", "random"} & n.op.traits or _may_fail(n) for n in graph.nodes)


def _may_fail(node: Any) -> bool:
    """Do values decide whether it fails: an index that a tensor tells, a matrix without an inverse?"""
    at_runtime = "indexed" in node.op.traits and len(node.inputs) > 1
    return at_runtime or node.op.family in ("linalg", "factors", "labels", "sparse")


# ---- yield ----


def yielding(value: Any, handles: tuple[Any, ...]) -> Any:
    """``yield`` must not stand in a branch that a tensor decides."""
    if any(getattr(h, "symbolic", False) for h in handles):
        error = UnsupportedSyntaxError(
            "yield stands in a branch or loop that a tensor decides: a graph cannot hand out values half way.",
            hint="collect the values in a tensor, or decide with a Python value.",
        )
        error.where = here(2).where
        raise error
    return value


# ---- and, or, ternary ----


class Variables:
    """The variables that ``:=`` sets in a part of an expression, which a tensor may decide whether it runs.

    Args:
        names: which; space: their values before it, None where they cannot be seen.
    """

    def __init__(self, names: Sequence[str] = (), space: Any = None) -> None:
        self.names: tuple[str, ...] = tuple(names)
        self.hidden: bool = bool(names) and space is None
        self.before: dict[str, Any] = grab(self.names, space or {})
        self.first: dict[str, Any] = self.before
        self.now: dict[str, Any] = self.before

    def begin(self) -> None:
        """A tensor decides.

        Raises:
            UnsupportedSyntaxError: the variables cannot be seen.
        """
        if self.hidden:
            error = UnsupportedSyntaxError(
                f"{self.names[0]} := ... in a comprehension, where a tensor decides whether it runs.",
                hint="write the comprehension as a for loop.",
            )
            error.where, error.breaks = here(3).where, True
            raise error

    def left(self, space: Any) -> None:
        """The part is over."""
        self.now = stack.carried = grab(self.names, space or {})

    def turn(self) -> None:
        """The other part begins with what was there before."""
        self.first, stack.carried = self.now, self.before

    def pairs(self, ran: bool) -> list[tuple[str, Any, Any, tuple[int, ...]]]:
        """What a part that runs leaves, and what there is without it; of two parts what each leaves."""
        first = self.now if ran else self.first
        other = self.before if ran else self.now
        return [(name, first[name], other[name], (0, 0)) for name in self.names]

    def joined(self, value: Any, *values: Any) -> Any:
        """The value of the expression; those of the variables are kept until they are set."""
        stack.carried = dict(zip(self.names, values))
        return value


class ShortCircuit(Handle):
    """``a and b``, ``a or b`` on the stack of open blocks."""

    def __init__(self, kind: str, left: Any, test: bool, *carried: Any) -> None:
        super().__init__()
        self.variables: Variables = Variables(*carried)
        self.expression = True
        self.kind: str = kind
        self.left: Any = left
        self.test: bool = test
        self.right_operand: Any = None

    def begin(self) -> bool:
        """Must the second operand be evaluated?"""
        engine = slot.engine
        pred = symbolic_test(self.left)
        if pred is None:
            go = truth(self.left) == (self.kind == "and")
            stack.items.append(self)
            return go
        assert isinstance(engine, Capture)
        self.variables.begin()
        self.symbolic: bool = True
        self.pred = pred
        self.start(engine)
        self.body: Body = Body(engine, self.kind)
        stack.items.append(self)
        return True

    def end(self, right: Any, space: Any = None) -> Any:
        """The value of the whole expression."""
        self.variables.left(space)
        if not self.symbolic:
            return self.left if right is SKIP else right
        assert self.body is not None
        self.body.close()
        self.finish()
        simple = not self.body.changes and is_plain(self.body.builder.graph) and not self.variables.names
        if simple and (self.test or (_is_bool(self.left) and _is_bool(right))):
            return self._logical(right)
        return self._if(right)

    def _logical(self, right: Any) -> Any:
        assert self.body is not None
        move = inline(self.body.builder, self.outer)
        right = move(right)
        if symbolic_test(right) is None:
            value = truth(right)
            if self.test:
                return self.left if value == (self.kind == "and") else value
        pythonic = self.outer.session.pythonic
        found = find(f"logical_{self.kind}")(as_bool(self.left), as_bool(right))
        return pythonic.mark(found) if pythonic.is_number(self.left) and pythonic.is_number(right) else found

    def _if(self, right: Any) -> Any:
        assert self.body is not None
        body, left = self.body, self.left
        if self.test:
            slot.engine = body.builder
            right = as_bool(right) if symbolic_test(right) is not None else truth(right)
            slot.engine = self.outer
            left = as_bool(left)
        other = Body(self.outer, "short")
        other.close()
        then, orelse, a, b = (body, other, right, left) if self.kind == "and" else (other, body, left, right)
        values = self.variables.pairs(self.kind == "and")
        found = join(self.outer, self.pred, then, orelse, [(f"the value of '{self.kind}'", a, b, ()), *values])
        return self.variables.joined(*found)


def _is_bool(x: Any) -> bool:
    return type(x) is bool or (is_tensor(x) and hasattr(x, "_type") and x._type.dtype.category == 0)


def inline(body: Capture, outer: Capture) -> Callable[[Any], Any]:
    """Move a body's nodes into the outer graph. Returns how to get its values there."""
    seen = {own: outer_value._value for outer_value, own in body.captured}
    for node in body.graph.nodes:
        copy_node(node, outer.graph, seen)

    pythonic = outer.session.pythonic

    def move(x: Any) -> Any:
        value = getattr(x, "_value", None) if is_tensor(x) else None
        if value not in seen:
            return x
        return pythonic.mark(outer.wrap(seen[value])) if pythonic.has(x) else outer.wrap(seen[value])

    return move


class Ternary(Handle):
    """``a if c else b``."""

    def __init__(self, *carried: Any) -> None:
        super().__init__()
        self.variables: Variables = Variables(*carried)
        self.expression = True

    def begin(self, value: Any) -> bool:
        """Is the first value wanted?"""
        stack.items.append(self)
        pred = symbolic_test(value)
        if pred is None:
            self.then: bool = truth(value)
            return self.then
        assert isinstance(slot.engine, Capture)
        self.variables.begin()
        self.symbolic: bool = True
        self.pred = pred
        self.start(slot.engine)
        self.body = Body(self.outer, "then")
        return True

    def turn(self, space: Any = None) -> bool:
        """Is the second value wanted?"""
        self.variables.left(space)
        if not self.symbolic:
            return not self.then
        assert self.body is not None
        self.first: Body = self.body
        self.first.close()
        self.variables.turn()
        self.body: Body = Body(self.outer, "else")
        return True

    def end(self, then: Any, other: Any, space: Any = None) -> Any:
        """The value."""
        self.variables.left(space)
        if not self.symbolic:
            return then if self.then else other
        assert self.body is not None
        self.body.close()
        self.finish()
        whole = "the value of 'if else'", then, other, ()
        found = join(self.outer, self.pred, self.first, self.body, [whole, *self.variables.pairs(False)])
        return self.variables.joined(*found)
