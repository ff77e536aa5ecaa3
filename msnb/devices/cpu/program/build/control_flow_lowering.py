"""Control flow and stacks as instructions.

    while:  copy first values into carried buffers        scan:  the same, with a counter; a row of x is a pointer into
      top:  condition;  unless true jump end                     x, a row of y a pointer into y, so that nothing is
            body;  copy new values into the carried                gathered or stacked
            release popped entries;  jump top
      end:                                                if:    both branches copy into the buffers of the results

The copies say what must be where; the memory plan makes most of them vanish (``memory``). New values are copied as one
parallel assignment: a carried buffer is written when no other copy reads it any more, a cycle goes through a temporary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msnb.core import StackType, TensorType, Type
from msnb.devices.cpu.program import bytecode as m
from msnb.devices.cpu.program.build.instructions import BufferRef, InstructionList, Label, NotLowerable
from msnb.devices.cpu.program.build.kernel_selection import Choice
from msnb.ir import Graph, Node, Value, control_flow as control

Spot = BufferRef | None
ASSERTS = ("assert", "is set")


def size_of(t: Type) -> int:
    """Bytes of a value; a stack is a pointer."""
    return t.nbytes if isinstance(t, TensorType) else 8


class ControlFlowLowering:
    """The part of a lowering that knows control flow."""

    tape: InstructionList
    choice: Choice
    places: dict[Value, Spot]
    graph: Callable[[Graph, Sequence[Spot]], list[Spot]]
    place: Callable[[Value], Spot]
    sure: Callable[[Value], BufferRef]
    bottom: Callable[[StackType], BufferRef]
    callee: Callable[[Node], Graph]
    CONTROL = frozenset((control.IF, control.WHILE, control.SCAN, control.CALL))

    def control(self, node: Node) -> None:
        """The instructions of a control node."""
        args = [self.place(v) for v in node.inputs]
        if node.op is control.IF:
            results = self._if(node, args)
        elif node.op is control.WHILE:
            results = self._while(node, args)
        elif node.op is control.SCAN:
            results = self._scan(node, args)
        else:
            results = self.graph(self.callee(node), args)
        self.places.update(zip(node.outputs, results))

    # ---- values that change their place ----

    def _fresh(self, t: Type, name: str) -> Spot:
        """A place for a value of this type that several instructions write."""
        if isinstance(t, TensorType):
            return BufferRef(self.tape.buffer(t.nbytes, name))
        return BufferRef(self.tape.pointer(8, name)) if isinstance(t, StackType) else None

    def _put(self, dst: Spot, src: Spot, t: Type) -> None:
        if dst is None or src is None:
            return
        if isinstance(t, StackType):
            self.tape.emit(m.MOVE, [src], [dst])
        else:
            self.tape.copy(dst, src, size_of(t))

    def _carried(self, node: Node, args: Sequence[Spot], names: Sequence[Value]) -> list[Spot]:
        """Buffers with the first values of a loop."""
        found = []
        for value, arg, named in zip(node.outputs, args, names):
            found.append(self._fresh(value.type, named.name or "carried"))
            self._put(found[-1], arg, value.type)
        return found

    def _carry_on(self, carry: Sequence[Spot], outs: Sequence[Spot], types: Sequence[Type]) -> None:
        """carry := outs, all at once."""
        todo = [(d, s, t) for d, s, t in zip(carry, outs, types) if d is not None and s is not None and d != s]
        while todo:
            read = [s.buffer for _, s, _ in todo]
            free = next((i for i, (d, s, _) in enumerate(todo) if read.count(d.buffer) == (d.buffer is s.buffer)), None)
            if free is None:
                todo = self._set_aside(todo)
                continue
            d, s, t = todo.pop(free)
            self._put(d, s, t)

    def _set_aside(self, todo: list[tuple[BufferRef, BufferRef, Type]]) -> list[tuple[BufferRef, BufferRef, Type]]:
        """Every buffer waits for another: one is copied aside, and who wanted it reads the copy."""
        first, _, t = todo[0]
        aside = self._fresh(t, "set aside")
        assert aside is not None
        self._put(aside, first, t)
        return [(d, BufferRef(aside.buffer, s.offset) if s.buffer is first.buffer else s, x) for d, s, x in todo]

    # ---- loops ----

    def _while(self, node: Node, args: Sequence[Spot]) -> list[Spot]:
        cond, body = node.graphs
        n = node.attrs["n_carry"]
        carry = self._carried(node, args[:n], body.params)
        self._enter(carry)
        top, end = Label(), Label()
        self.tape.label(top)
        with _Region(self):
            (pred,) = self.graph(cond, [*carry, *args[n:]])
            kept = [c for c in carry if c is not None]
            self.tape.emit(m.JUMP_UNLESS, [self._told(pred), *kept], [], end, *_bits(cond.outputs[0].type))
        with _Region(self):
            outs = self.graph(body, [*carry, *args[n:]])
            self._carry_on(carry, outs, [v.type for v in node.outputs])
        self.tape.emit(m.JUMP, kept, [], top)
        self.tape.end_loop()
        self.tape.label(end)
        return carry

    def _enter(self, carry: Sequence[Spot]) -> None:
        loop = self.tape.begin_loop()
        for place in carry:
            if place is not None:
                place.buffer.home = loop

    def _told(self, pred: Spot) -> BufferRef:
        assert pred is not None
        return pred

    def _scan(self, node: Node, args: Sequence[Spot]) -> list[Spot]:
        body, attrs = node.graphs[0], node.attrs
        n, many, length = attrs["n_carry"], attrs["n_xs"], attrs["length"]
        ys = [self._fresh(v.type, v.name or "rows") for v in node.outputs[n:]]
        carry = self._carried(node, args[:n], body.params)
        if not length:
            return [*carry, *ys]
        counter = self.tape.counter()
        start, step, stop = (length - 1, -1, -1) if attrs["reverse"] else (0, 1, length)
        stacked = [y for y in ys if y is not None]
        self.tape.emit(m.SET, [], stacked, counter, start)
        self._enter(carry)
        top = Label()
        self.tape.label(top)
        rows = [self._row(x, p, counter) for x, p in zip(args[n : n + many], body.params[n:])]
        targets = [self._row(y, v, counter, True) for y, v in zip(ys, body.outputs[n:])]
        with _Region(self):
            outs = self.graph(body, [*carry, *rows, *args[n + many :]])
            for target, out, v in zip(targets, outs[n:], body.outputs[n:]):
                self._put(target, out, v.type)
            self._carry_on(carry, outs[:n], [v.type for v in node.outputs[:n]])
        kept = [c for c in carry if c is not None]
        self.tape.emit(m.LOOP, [*stacked, *kept], [], counter, step, stop, top)
        self.tape.end_loop()
        return [*carry, *ys]

    def _row(self, whole: Spot, value: Value, counter: int, ours: bool = False) -> Spot:
        """A pointer to the row of this turn; into ``ours``, other values may be written as well."""
        if whole is None:
            return None
        size = size_of(value.type)
        made = self.tape.pointer(size, value.name or "row")
        made.valid = self.tape.loop if ours else None
        self.tape.emit(m.ROW, [whole], [BufferRef(made)], counter, size)
        return BufferRef(made)

    # ---- branches ----

    def _if(self, node: Node, args: Sequence[Spot]) -> list[Spot]:
        results = [self._fresh(v.type, v.name or "chosen") for v in node.outputs]
        other, end = Label(), Label()
        self.tape.emit(m.JUMP_UNLESS, [self._told(args[0])], [], other, *_bits(node.inputs[0].type))
        for i, branch in enumerate(node.graphs):
            with _Region(self):
                outs = self.graph(branch, args[1:])
                for result, out, v in zip(results, outs, node.outputs):
                    self._put(result, out, v.type)
            if i == 0:
                self.tape.emit(m.JUMP, [r for r in results if r is not None], [], end)
                self.tape.label(other)
        self.tape.label(end)
        return results

    def skip_if_holds(self, node: Node, spots: Sequence[Spot]) -> Label | None:
        """Jump over the step of an assert that holds."""
        if node.op is not control.HOST_CALL or node.attrs["fn"].name not in ASSERTS or not spots or spots[0] is None:
            return None
        end = Label()
        self.tape.emit(m.JUMP_IF, [spots[0]], [], end, *_bits(node.inputs[0].type))
        return end

    # ---- stacks ----

    popped: list[tuple[BufferRef, int]] | None = None

    def stack(self, node: Node) -> None:
        """The instructions of a stack op."""
        out = node.outputs[0]
        assert isinstance(out.type, StackType)
        made = BufferRef(self.tape.pointer(8, node.op.name))
        if node.op is control.STACK_NEW:
            self.tape.emit(m.MOVE, [self.bottom(out.type)], [made])
        elif node.op is control.STACK_PUSH:
            self._push(node, made, out.type.element)
        else:
            self._pop(node, made, out.type.element)
        self.places[out] = made

    def _push(self, node: Node, made: BufferRef, element: Type) -> None:
        op = m.PUSH_STACK if isinstance(element, StackType) else m.PUSH
        below, value, size = self.sure(node.inputs[0]), self.sure(node.inputs[1]), size_of(element)
        self.tape.emit(op, [below, value], [made], size, self.tape.pool(_rounded(size)))

    def _pop(self, node: Node, made: BufferRef, element: Type) -> None:
        source, size = self.sure(node.inputs[0]), size_of(element)
        op = m.POP_STACK if isinstance(element, StackType) else m.POP
        entry = top = BufferRef(self.tape.pointer(size, "top"))
        if op == m.POP_STACK:
            entry = BufferRef(self.tape.pointer(size, "entry"))
            self.tape.emit(m.LEA, [source], [entry], m.HEADER)
        self.tape.emit(op, [source], [made, top])
        if self.popped is not None and self.choice.linear:
            self.popped.append((entry, self.tape.pool(_rounded(size))))
        self.places[node.outputs[1]] = top


class _Region:
    """A body: entries that were popped in it can be used again at its end."""

    def __init__(self, flow: ControlFlowLowering) -> None:
        self.flow = flow

    def __enter__(self) -> None:
        self.outer, self.flow.popped = self.flow.popped, []

    def __exit__(self, kind: object, *rest: object) -> None:
        if kind is None:
            for place, pool in self.flow.popped or ():
                self.flow.tape.emit(m.RELEASE, [place], [], pool)
        self.flow.popped = self.outer


def _rounded(size: int) -> int:
    return -(-size // m.HEADER) * m.HEADER


def _bits(t: Type) -> tuple[int, int]:
    """How wide a predicate is, and whether a sign bit does not count."""
    if not isinstance(t, TensorType) or t.dtype.is_complex:
        raise NotLowerable(f"a test of type {t}")
    return 8 * t.dtype.itemsize, int(t.dtype.is_float)
