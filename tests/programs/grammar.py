"""A grammar of small programs, drawn by hypothesis as source text.

    program    def helper(x, y, u, n): ...              made like the program itself, but shorter
               def program(x, y, u, n):                 x, y: f64[]   u: f64[3]   n: i64[]
                   a, b, w = 0.5, x * 0.3, u * 1        every name has a value from the start
                   box, items = {"k": x}, [y, a]
                   def inner(p): ...                    reads a and b when it is called
                   statement...
                   return expression

    statement  name = expression | name += expression | a, b = expression, expression | w[place] = expression
               box["k"] = expression | items[0] = expression
               if test: ... elif test: ... else: ...    while counter < 4 and test: ... else: ...
               for i in range(3 | n): ... else: ...     for v in u: ...    for i, (v, v2) in enumerate(zip(u, w)): ...
               break | continue | return expression | assert test, "..." | raise ValueError("...")
    test       expression < expression | a < b < c | test and test | test or test | not test | i % 2 == 0
    expression name | number | item | sum | difference | product with something bounded | quotient | ternary
               -, abs, max, sin, tanh, helper, inner of expressions

Every loop ends: ``while`` counts its rounds and ``range`` is small. Values grow slowly: one factor of a product
is a number or a sine. Functions are called on tensors only: what is a Python number in one mode may be a tensor in the
other. A program may stop with an AssertionError or a ValueError; a shape that does not fit stands only where every run
comes by, since a graph sees all branches.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

HEAD = "def program(x, y, u, n):"
START = ("    a, b, w = 0.5, x * 0.3, u * 1", '    box, items = {"k": x}, [y, a]')
HELD = ('box["k"]', "items[0]", "items[1]")
KINDS = (
    *("leaf", "sum", "sum", "product", "product", "call", "minus", "quotient", "ternary", "total"),
    *("abs", "max", "helper", "inner"),
)
FLOATS = ("x", "y", "a", "b")
COMPARE = ("<", "<=", ">", ">=", "!=", "==")
NUMBERS = ("0.25", "-0.75", "1.5", "2", "-1", "0.1")


class Writer:
    """Writes one program. ``draw`` is hypothesis', so programs shrink; ``budget`` bounds the number of statements."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.lines = []
        self.budget = 12
        self.fresh = 0
        self.floats = list(FLOATS)
        self.integers: list[str] = []
        self.loops = 0
        self.functions: tuple[str, ...] = ("abs", "max")

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def name(self, kind: str) -> str:
        self.fresh += 1
        return f"{kind}{self.fresh}"

    # ---- expressions -----------------------------------------------------------------------------

    def leaf(self) -> str:
        kind = self.pick("float", "float", "float", "number", "item", "integer", "held")
        if kind == "number":
            return str(self.pick(*NUMBERS))
        if kind == "item":
            return f"{self.pick('u', 'w')}[{self.place()}]"
        if kind == "held" and "y" in self.floats:
            return str(self.pick(*HELD))
        if kind == "integer" and self.integers:
            return str(self.pick(*self.integers))
        return str(self.pick(*self.floats))

    def place(self) -> str:
        if self.integers and self.pick(True, False):
            return f"{self.pick(*self.integers)} % 3"
        return str(self.pick("0", "1", "2", "-1"))

    def expression(self, depth: int = 2) -> str:
        kind = self.pick(*KINDS)
        if depth == 0 or kind == "leaf":
            return self.leaf()
        part = self.expression(depth - 1)
        if kind in self.functions:
            rest = {"helper": f", {self.leaf()}, u, n", "max": f", {self.leaf()}"}
            return f"{kind}({part}{rest.get(kind, '')})"
        if kind == "sum":
            return f"({part} {self.pick('+', '-')} {self.expression(depth - 1)})"
        if kind == "product":
            factor = self.pick(*NUMBERS) if self.pick(True, False) else f"sin({self.expression(depth - 1)} + u[0])"
            return f"({part} * {factor})"
        if kind == "call":
            return f"{self.pick('sin', 'tanh')}({part} - w[1])"
        if kind == "minus":
            return f"(-{part})"
        if kind == "quotient":
            return f"({part} / (1.5 + sin(u[2] + {self.leaf()})))"
        if kind == "total":
            return f"(u * {part}).sum()"
        if kind != "ternary":
            return part
        return f"({part} if {self.test(1)} else {self.expression(depth - 1)})"

    def test(self, depth: int = 2) -> str:
        kind = self.pick("compare", "compare", "compare", "chain", "and", "or", "not", "parity")
        if kind == "parity" and self.integers:
            return f"{self.pick(*self.integers)} % 2 == {self.pick('0', '1')}"
        if depth == 0 or kind in ("compare", "parity"):
            return f"{self.expression(1)} {self.pick(*COMPARE)} {self.expression(1)}"
        if kind == "chain":
            return f"{self.expression(1)} < {self.leaf()} {self.pick(*COMPARE)} {self.expression(1)}"
        if kind == "not":
            return f"not ({self.test(depth - 1)})"
        return f"({self.test(depth - 1)} {kind} {self.test(depth - 1)})"

    # ---- statements ------------------------------------------------------------------------------

    def add(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def block(self, indent: int) -> None:
        """One to three statements; nothing follows one that leaves the block."""
        for _ in range(self.pick(1, 2, 3)):
            if self.statement(indent):
                return

    def statement(self, indent: int) -> bool:
        """Write one; True when nothing after it in this block can run."""
        self.budget -= 1
        kinds = ["assign", "assign", "assign", "augment", "swap", "item", "held"]
        if self.budget > 0 and indent < 4:
            kinds += ["if", "if", "if", "while", "range", "range", "rows", "zipped"]
        if indent > 1:
            kinds += ["leave", "leave"]
        kind = self.pick(*kinds)
        if kind == "leave":
            return self.leave(indent)
        getattr(self, f"write_{kind}")(indent)
        return False

    def write_assign(self, indent: int) -> None:
        self.add(indent, f"{self.pick(*self.floats)} = {self.expression()}")

    def write_augment(self, indent: int) -> None:
        self.add(indent, f"{self.pick(*self.floats)} {self.pick('+=', '-=')} {self.expression()}")

    def write_swap(self, indent: int) -> None:
        self.add(indent, f"a, {self.pick('b', 'x')} = {self.expression(1)}, {self.expression(1)}")

    def write_item(self, indent: int) -> None:
        self.add(indent, f"w[{self.place()}] = {self.expression()}")

    def write_held(self, indent: int) -> None:
        self.add(indent, f"{self.pick(*HELD)} = {self.expression()}")

    def write_if(self, indent: int) -> None:
        self.add(indent, f"if {self.test()}:")
        self.block(indent + 1)
        for _ in range(self.pick(0, 0, 1)):
            self.add(indent, f"elif {self.test()}:")
            self.block(indent + 1)
        if self.pick(True, False):
            self.add(indent, "else:")
            self.block(indent + 1)

    def loop(self, indent: int) -> None:
        self.loops += 1
        self.block(indent + 1)
        self.loops -= 1

    def otherwise(self, indent: int) -> None:
        """Now and then an else of the loop; variables of the loop may have no value there."""
        if self.pick(*range(6)) == 3:
            self.add(indent, "else:")
            self.block(indent + 1)

    def write_while(self, indent: int) -> None:
        counter = self.name("k")
        start = self.pick("0", "0", "x * 0")
        self.add(indent, f"{counter} = {start}")
        self.add(indent, f"while {counter} < {self.pick('2', '3', '4')}{self.pick('', f' and {self.test(1)}')}:")
        self.add(indent + 1, f"{counter} = {counter} + 1")
        self.integers += [counter] if start == "0" else []
        self.loop(indent)
        self.integers = [i for i in self.integers if i != counter]
        self.otherwise(indent)

    def write_range(self, indent: int) -> None:
        index = self.name("i")
        self.add(indent, f"for {index} in range({self.pick('2', '3', 'n', 'n')}):")
        self.integers.append(index)
        self.loop(indent)
        self.integers.remove(index)
        self.otherwise(indent)

    def write_rows(self, indent: int) -> None:
        row = self.name("v")
        self.add(indent, f"for {row} in {self.pick('u', 'w')}:")
        self.floats.append(row)
        self.loop(indent)
        self.floats.remove(row)
        self.otherwise(indent)

    def write_zipped(self, indent: int) -> None:
        index, first, second = self.name("i"), self.name("v"), self.name("v")
        self.add(indent, f"for {index}, ({first}, {second}) in enumerate(zip(u, w)):")
        self.floats += [first, second]
        self.integers.append(index)
        self.loop(indent)
        self.floats, self.integers = self.floats[:-2], self.integers[:-1]

    def leave(self, indent: int) -> bool:
        kinds = ["return", "assert", "raise"] + ["break", "continue"] * (2 if self.loops else 0)
        kind = self.pick(*kinds)
        self.fresh += 1
        if kind in ("assert", "raise"):
            self.stop(indent, kind)
            return False
        self.add(indent, f"return {self.expression()} + u[1]" if kind == "return" else kind)
        return True

    def stop(self, indent: int, kind: str) -> None:
        """An error that a tensor decides: one that Python decides comes while the graph is made, before all these."""
        test = f"u[0] + {self.expression(1)} {self.pick('<', '>')} {self.expression(1)}"
        if kind == "assert":
            self.add(indent, f'assert {test}, "claim {self.fresh} does not hold"')
        else:
            self.add(indent, f"if {test}:")
            self.add(indent + 1, f'raise ValueError("stop {self.fresh}")')

    def inner(self) -> None:
        """A function inside the program that sees what its variables are when it is called."""
        kept, self.floats, self.functions = self.floats, ["p", "a", "b", "x"], ("abs", "max")
        self.add(1, "def inner(p):")
        self.add(2, f"if {self.test(1)}:")
        self.add(3, f"return {self.expression(1)}")
        self.add(2, f"return {self.expression(1)}")
        self.floats = kept

    def helper(self) -> None:
        self.lines += [HEAD.replace("program", "helper"), *START]
        self.statement(1)
        self.add(1, f"return {self.expression(1)} + u[1]")
        self.lines += ["", ""]

    def program(self) -> str:
        self.helper()
        self.lines += [HEAD, *START]
        self.inner()
        self.functions = ("abs", "max", "helper", "inner")
        if self.pick(*range(20)) == 7:
            self.add(1, "a = (u + u[:2]).sum()")
        for _ in range(self.pick(2, 3, 4)):
            self.statement(1)
        self.add(1, f"return {self.expression()} + a * b + y + w.sum()")
        return "\n".join(self.lines) + "\n"


@st.composite
def programs(draw: Any) -> str:
    """The source text of one program."""
    return Writer(draw).program()


@st.composite
def arguments(draw: Any) -> tuple[Any, ...]:
    """x, y, u, n: irregular numbers, so that comparisons are seldom ties."""
    number = st.floats(-2.5, 2.5, width=16).map(lambda v: round(v + 0.00371, 5))
    return draw(number), draw(number), [draw(number) for _ in range(3)], draw(st.integers(0, 3))
