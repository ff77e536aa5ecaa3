"""Statements in the forms of Python that programs of others have: what runs them must follow Python to the letter.

copied      copy(), clone(), value() of a Parameter, stop_gradient: written in place afterwards, or its source is
listed      comprehensions, sum, map, zip, enumerate, starred and swapped targets, dictionaries that are walked
inner       functions and generators defined inside: defaults, *args, **kwargs, nonlocal
chosen      conditional expressions, walrus, chained comparisons, and, or, not
tried       try, except, else, finally around a branch that raises
walked      for and while with else, zip, enumerate, reversed; while True with a break
"""

from __future__ import annotations

from tests.fuzz.integers import Integers
from tests.fuzz.scopes import MATRIX, SCALAR, SHAPES, VECTOR, Scope, Shape


class PythonForms(Integers):
    """Writes them."""

    def more_kinds(self, s: Scope) -> list[str]:
        flat = ["copied", "copied", "listed", "listed", "inner", "chosen"]
        return [*super().more_kinds(s), *flat, *(["tried", "walked"] if self.budget > 0 and s.inside < 3 else [])]

    def write_copied(self, s: Scope, indent: int) -> None:
        name, shape = self.fresh("c"), self.rng.choice((VECTOR, VECTOR, MATRIX))
        params = [n for n, of in s.params.items() if of == shape]
        if params and self.chance(0.5):
            source = self.rng.choice(params)
            text = self.rng.choice((f"{source}.value()", f"{source}.copy()", f"{source}.value() * 1.0"))
        else:
            source = self.leaf(s, shape)
            text = self.rng.choice((f"{source}.copy()", f"{source}.clone()", f"ops.stop_gradient({source})"))
        self.add(indent, f"{name} = {text}")
        owned = text.endswith(("copy()", "clone()", "1.0"))
        if owned and self.chance(0.6):
            self.add(indent, f"{name}[{self.number(-2, 1)}] = {self.of(s, shape[1:], 1)}")
        if source in s.params and s.writes:
            self.add(indent, f"ops.assign({source}, {self.of(s, shape, 1)})")
        elif source in s.own and self.chance(0.5):
            self.add(indent, f"{source}[0] = {self.of(s, shape[1:], 1)}")
        s.names[name] = shape
        if owned:
            s.own.add(name)

    def write_listed(self, s: Scope, indent: int) -> None:
        m, v, w, name = self.of(s, MATRIX, 1), self.leaf(s, VECTOR), self.of(s, VECTOR, 1), self.fresh("a")
        k = self.number(2, 3)
        forms: list[tuple[str, Shape]] = [
            (f"ops.stack([row * k for k, row in enumerate({m})])", MATRIX),
            (f"sum([{v} * k for k in range({k})], {w})", VECTOR),
            (f"sum(row * 0.5 for row in {m})", VECTOR),
            (f"ops.stack([*map(ops.sin, {m})])", MATRIX),
            (f"ops.stack([a * b for a, b in zip({m}, ({v}, {w}))])", MATRIX),
            (f"ops.stack(tuple(e * e for e in {v} if True))", VECTOR),
            (f"[{v}, {w}, {v} * 0.5][{self.number(-3, 2)}]", VECTOR),
            (f"[{v}, {w}][::-1][0]", VECTOR),
            (f"sum(v.sum() * len(k) for k, v in {{'a': {v}, 'bb': {w}}}.items())", SCALAR),
            (f"{{k: r * k for k, r in enumerate({m})}}[1]", VECTOR),
            (f"(lambda a, b={w}: a - b)({v})", VECTOR),
            (f"max([({v}).sum(), ({w}).sum()], key=lambda e: len(e.shape))", SCALAR),
        ]
        if self.chance(0.6):
            text, shape = self.rng.choice(forms)
            self.add(indent, f"{name} = {text}")
        else:
            other, shape = self.fresh("a"), VECTOR
            self.add(indent, self.rng.choice((f"{name}, {other} = {m}", f"{name}, *{other} = ({v}, {w})")))
            if f"*{other}" in self.lines[-1]:
                self.add(indent, f"{other} = {other}[-1]")
            self.add(indent, f"{name}, {other} = {other} * 1.0, {name}")
            s.names[other] = VECTOR
        s.names[name] = shape

    def write_inner(self, s: Scope, indent: int) -> None:
        name, made, shape = self.fresh("h"), self.fresh("a"), self.rng.choice((VECTOR, MATRIX))
        taken = self.leaf(s, shape)
        inside = s.inner(False)
        inside.names = {**s.names, "v": shape}
        result, other = self.of(inside, shape, 2), self.of(s, shape, 1)
        if self.chance(0.25):
            self.add(indent, f"def {name}(v):")
            self.add(indent + 1, f"for k in range({self.number(1, 3)}):")
            self.add(indent + 2, f"yield {result} * k")
            self.add(indent, f"{made} = sum({name}({taken}), {other})")
        elif self.chance(0.3):
            count = self.fresh("n")
            self.add(indent, f"{count} = 0")
            self.add(indent, f"def {name}(v):")
            self.add(indent + 1, f"nonlocal {count}")
            self.add(indent + 1, f"{count} += 1")
            self.add(indent + 1, f"return {result}")
            self.add(indent, f"{made} = ({name}({taken}) - {name}({other})) * {count}")
        else:
            self.add(indent, f"def {name}(v, *more, by=0.5, **named):")
            self.add(indent + 1, f"return {result} * by + sum(more) * len(named)")
            rest = self.rng.choice(
                (f"{other}, by=2.0, k=1", f"*[{other}, {taken}]", "**{'by': -1.0, 'z': 2}", "by=1.5")
            )
            self.add(indent, f"{made} = {name}({taken}, {rest})")
        s.names[made] = shape

    def write_chosen(self, s: Scope, indent: int) -> None:
        name, shape = self.fresh("a"), self.rng.choice(SHAPES)
        a, b = self.of(s, shape, 1), self.of(s, shape, 1)
        low = self.of(s, SCALAR, 1)
        tests = [
            self.test(s), f"not {low} > 0.1", f"-0.3 < {low} < 0.4", f"{self.test(s)} or {low} < -0.2",
            f"flag and {low} > 0.2", f"({self.fresh('z')} := {low}) > 0.1",
        ]  # fmt: skip
        self.add(indent, f"{name} = {a} if {self.rng.choice(tests)} else {b}")
        s.names[name] = shape

    def write_tried(self, s: Scope, indent: int) -> None:
        name, shape = self.fresh("a"), self.rng.choice((VECTOR, SCALAR))
        self.add(indent, f"{name} = {self.of(s, shape, 1)}")
        s.names[name] = shape
        inner = s.inner(True)
        self.add(indent, "try:")
        self.add(indent + 1, f"{name} = {self.of(inner, shape)}")
        by = self.test(inner) if self.chance(0.1) else f"{self.rng.choice([*s.integers, 'flag'])} % 2 == 0"
        self.add(indent + 1, f"if {by}:")
        self.add(indent + 2, 'raise ValueError("no")')
        self.add(indent + 1, f"{name} = {name} + {self.of(inner, shape, 1)}")
        self.add(indent, self.rng.choice(("except ValueError:", "except (KeyError, ValueError) as error:")))
        self.add(indent + 1, f"{name} = {name} * {self.of(inner, shape, 1)}")
        if self.chance(0.4):
            self.add(indent, "else:")
            self.add(indent + 1, f"{name} = {name} - 0.25")
        if self.chance(0.4):
            self.add(indent, "finally:")
            self.add(indent + 1, f"{name} = {name} * 0.5")

    def write_walked(self, s: Scope, indent: int) -> None:
        row, k = self.fresh("r"), self.fresh("i")
        m, v = self.leaf(s, MATRIX), self.leaf(s, VECTOR)
        heads: list[tuple[str, dict[str, Shape], list[str]]] = [
            (f"for {k}, {row} in enumerate({m}):", {row: VECTOR}, [k]),
            (f"for {row}, {k} in zip({m}, (2, 1)):", {row: VECTOR}, [k]),
            (f"for {k} in reversed(range({self.number(1, 3)})):", {}, [k]),
            (f"for {row} in [{v}, {self.leaf(s, VECTOR)}]:", {row: VECTOR}, []),
            ("while True:", {}, []),
        ]
        head, names, integers = self.rng.choice(heads)
        endless = head.startswith("while")
        if endless:
            self.add(indent, f"{k} = 0")
        self.add(indent, head)
        inner = s.inner(endless)
        inner.loops += 1
        inner.names.update(names)
        inner.integers += integers
        if endless:
            self.add(indent + 1, f"{k} += 1")
            self.add(indent + 1, f"if {k} >= {self.number(1, 3)} or {self.test(s)}:")
            self.add(indent + 2, "break")
        self.block(inner, indent + 1, endless)
        if not endless and self.chance(0.4):
            self.add(indent, "else:")
            self.block(s.inner(False), indent + 1, False)
