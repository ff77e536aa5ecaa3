"""Statements with state: writes to Parameters and buffers, prints, containers, branches, loops, hooks."""

from __future__ import annotations

import random

from tests.fuzz.scopes import SCALAR, SHAPES, VECTOR, Expressions, Scope, Shape

SIZES = {VECTOR: 3, (2, 3): 2, (3, 3): 3}


class Statements(Expressions):
    """Writes the body of one function into ``lines``."""

    def __init__(self, rng: random.Random, avoid: tuple[str, ...] = ()) -> None:
        super().__init__(rng, avoid)
        self.lines: list[str] = []
        self.budget = 0
        self.result: Shape | None = None  # what an early return must give; none: no early returns

    def add(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def body(self, s: Scope, indent: int, count: int) -> None:
        self.budget = count + 4
        for _ in range(count):
            self.statement(s, indent)

    def block(self, s: Scope, indent: int, by_tensor: bool) -> None:
        inner = s.inner(by_tensor)
        for _ in range(self.rng.choice((1, 1, 2))):
            if self.statement(inner, indent):
                return

    def statement(self, s: Scope, indent: int) -> bool:
        """Write one; True when nothing after it in this block can run."""
        self.budget -= 1
        kinds = ["name"] * 4 + ["again"] * 3 + ["item"] * 2 + ["held"] * 2 + ["array"]
        if s.writes:
            kinds += ["assign"] * 4 + ["buffer"] * 2 + ["python"]
        if s.prints:
            kinds += ["print"] * 2
        if s.hooks:
            kinds += ["hook"]
        kinds += self.more_kinds(s)
        if self.budget > 0 and s.inside < 3:
            kinds += ["if"] * 3 + ["python_if", "while", "range", "rows"]
        if s.inside:
            kinds += ["leave"]
        kind = self.rng.choice(kinds)
        return bool(getattr(self, f"write_{kind}")(s, indent))

    def more_kinds(self, s: Scope) -> list[str]:
        """Further kinds of statements that this scope may have."""
        return []

    def write_name(self, s: Scope, indent: int) -> None:
        shape, name = self.rng.choice(SHAPES), self.fresh("a")
        self.add(indent, f"{name} = {self.of(s, shape)}")
        s.names[name] = shape

    def write_again(self, s: Scope, indent: int) -> None:
        name, shape = self.rng.choice([*s.names.items()])
        sign = self.rng.choice(("=", "=", "+=", "-="))
        self.add(indent, f"{name} {sign} {self.of(s, shape)}")
        s.own.discard(name)

    def write_item(self, s: Scope, indent: int) -> None:
        """A write in place, of a tensor that this function made."""
        if not s.own or self.chance(0.3):
            name = self.fresh("u")
            shape = self.rng.choice((VECTOR, VECTOR, (2, 3)))
            self.add(indent, f"{name} = {self.of(s, shape, 1)} * 1.0")
            s.names[name] = shape
            s.own.add(name)
        name = self.rng.choice(sorted(s.own))
        shape = s.names[name]
        if self.chance(0.15):  # another name of the same tensor
            other = self.fresh("u")
            self.add(indent, f"{other} = {name}")
            s.names[other] = shape
        if self.chance(0.5):
            value, sign = self.of(s, shape[1:], 1), self.rng.choice(("=", "=", "+=", "*="))
            self.add(indent, f"{name}[{self.number(-SIZES[shape], SIZES[shape] - 1)}] {sign} {value}")
        else:
            value = self.rng.choice(("0.5", self.of(s, SCALAR, 1)))
            self.add(indent, f"{name}[{self.slice(SIZES[shape])}] = {value}")

    def write_held(self, s: Scope, indent: int) -> None:
        """Tensors in a list or dict."""
        if s.held and self.chance(0.6):
            place = self.rng.choice(sorted(s.held))
            self.add(indent, f"{place} = {self.of(s, s.held[place], 1)}")
        elif self.chance(0.5):
            name = self.fresh("items")
            self.add(indent, f"{name} = [{self.of(s, VECTOR, 1)}, {self.of(s, SCALAR, 1)}]")
            s.held.update({f"{name}[0]": VECTOR, f"{name}[1]": SCALAR, f"{name}[-1]": SCALAR})
        else:
            name = self.fresh("box")
            self.add(indent, f'{name} = {{"k": {self.of(s, VECTOR, 1)}}}')
            s.held[f"{name}['k']"] = VECTOR

    def write_array(self, s: Scope, indent: int) -> None:
        """A NumPy array, changed in place."""
        if not s.arrays:
            s.arrays.append(self.fresh("n"))
            self.add(indent, f"{s.arrays[-1]} = np.array([0.5, -1.25, 2.0], F)")
        else:
            name = self.rng.choice(s.arrays)
            self.add(indent, self.rng.choice((f"{name} += 1.0", f"{name}[0] = 0.25", f"{name} *= -0.5")))

    def write_assign(self, s: Scope, indent: int) -> None:
        name, shape = self.rng.choice([*s.params.items()])
        if self.chance(0.5):
            self.add(indent, f"ops.assign({name}, {self.of(s, shape)})")
        else:
            self.add(indent, f"ops.assign_{self.rng.choice(('add', 'sub'))}({name}, {self.of(s, shape)} * 0.5)")

    def write_buffer(self, s: Scope, indent: int) -> None:
        if not s.buffers:
            return self.write_assign(s, indent)
        name, shape = self.rng.choice([*s.buffers.items()])
        self.add(indent, f"{name} = {name} * 0.5 + {self.of(s, shape, 1)}")

    def write_python(self, s: Scope, indent: int) -> None:
        """State of Python's own."""
        if any(n.startswith("self.") for n in s.integers) and self.chance(0.7):
            self.add(indent, "self.n += 1")
        else:
            self.add(indent, f"trace.append({self.fresh('')})")

    def write_print(self, s: Scope, indent: int) -> None:
        label = self.fresh("p")
        if self.chance(0.3) and "texts" not in self.avoid:
            self.add(indent, f'print("{label}")')
        elif self.chance(0.3) and "texts" not in self.avoid:
            self.add(indent, f'print(f"{label} {{{self.leaf(s, VECTOR)}}}")')
        else:
            self.add(indent, f'print("{label}", {self.of(s, self.rng.choice((SCALAR, VECTOR)), 1)})')

    def write_hook(self, s: Scope, indent: int) -> None:
        name = self.fresh("h")
        self.add(indent, f"{name} = {self.of(s, VECTOR, 1)} * 1.0")
        self.add(indent, f"{name}.register_hook(lambda g: g * {self.rng.choice(NUMBERS_OF_HOOKS)})")
        s.names[name] = VECTOR

    def write_if(self, s: Scope, indent: int) -> None:
        self.add(indent, f"if {self.test(s)}:")
        self.block(s, indent + 1, True)
        if self.chance(0.2):
            self.add(indent, f"elif {self.test(s)}:")
            self.block(s, indent + 1, True)
        if self.chance(0.5):
            self.add(indent, "else:")
            self.block(s, indent + 1, True)

    def write_python_if(self, s: Scope, indent: int) -> None:
        which = self.rng.choice([*s.integers, "flag"])
        self.add(indent, f"if {which} % 2 == {self.number(0, 1)}:")
        self.block(s, indent + 1, False)
        if self.chance(0.5):
            self.add(indent, "else:")
            self.block(s, indent + 1, False)

    def write_while(self, s: Scope, indent: int) -> None:
        counter = self.fresh("k")
        self.add(indent, f"{counter} = 0")
        test = self.test(s)
        self.add(indent, f"while {counter} < {self.number(1, 3)} and ({test}):")
        self.add(indent + 1, f"{counter} = {counter} + 1")
        self.block(s, indent + 1, True)

    def write_range(self, s: Scope, indent: int) -> None:
        index = self.fresh("i")
        self.add(indent, f"for {index} in range({self.number(1, 3)}):")
        inner = s.inner(False)
        inner.loops += 1
        inner.integers.append(index)
        self.block(inner, indent + 1, False)

    def write_rows(self, s: Scope, indent: int) -> None:
        shape = self.rng.choice((VECTOR, (2, 3)))
        row = self.fresh("r")
        self.add(indent, f"for {row} in {self.leaf(s, shape)}:")
        inner = s.inner(False)
        inner.loops += 1
        inner.names[row] = shape[1:]
        self.block(inner, indent + 1, False)

    def write_leave(self, s: Scope, indent: int) -> bool:
        if s.loops and self.chance(0.5):
            self.add(indent, self.rng.choice(("break", "continue")))
            return True
        if self.result is None or self.chance(0.4):
            text = f"stop {self.fresh('')}"
            count = f".format(({self.leaf(s, VECTOR)} > 0.0).sum())" if self.chance(0.3) else ""
            self.add(indent, f'raise ValueError("{text}{" {}" if count else ""}"{count})')
        else:
            self.add(indent, f"return {self.of(s, self.result)}")
        return True


NUMBERS_OF_HOOKS = ("2.0", "0.5", "-1.0")
