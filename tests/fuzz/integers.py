"""Statements over whole numbers of every width: made, written in place, and used as numbers, places, tests and texts.

What wraps around in NumPy wraps around everywhere, so the oracle is exact here. They meet the floats of the program
by casts and as places only: what mixtures of dtypes give is another question.
"""

from __future__ import annotations

from tests.fuzz.known_kinds import KnownKinds
from tests.fuzz.scopes import SCALAR, VECTOR, Scope

WIDTHS = {"int8": 127, "uint8": 255, "int16": 32000, "int32": 2**31 - 1, "int64": 2**40}
"""The dtypes, and the largest number that is written down."""


class Integers(KnownKinds):
    """Writes them; a name of whole numbers is a vector of three."""

    def more_kinds(self, s: Scope) -> list[str]:
        return [*super().more_kinds(s), "wholes", "wholes"]

    def write_wholes(self, s: Scope, indent: int) -> None:
        dtype, name = self.rng.choice([*WIDTHS]), self.fresh("j")
        self.add(indent, f"{name} = {self.made_whole(s, dtype)}")
        for _ in range(self.rng.randint(1, 2)):
            self.change(s, indent, name, dtype)
        self.use(s, indent, name)

    def made_whole(self, s: Scope, dtype: str) -> str:
        if self.chance(0.3):
            return f"({self.leaf(s, VECTOR)} > {self.rng.choice(('0.3', '-0.2'))}).astype(ms.{dtype})"
        numbers = [self.rng.choice((0, 1, 2, 3, 5, 7, self.rng.randint(0, WIDTHS[dtype]))) for _ in range(3)]
        if dtype[0] != "u":
            numbers = [self.rng.choice((1, 1, -1)) * n for n in numbers]
        return f"Tensor(np.array({numbers}, np.{dtype}))"

    def change(self, s: Scope, indent: int, name: str, dtype: str) -> None:
        """Another value of the same dtype."""
        k, other = self.number(1, 7), self.made_whole(s, dtype)
        forms = [
            f"{name} + {k}", f"{name} * {k}", f"{name} - {other}", f"{name} * {other}", f"{name} // {k}",
            f"{name} % {k}", f"ops.maximum({name}, {other})", f"ops.where({name} > {other}, {name}, {k})",
            f"ops.abs({name})", f"{name}[::-1]", f"-{name}", f"ops.cumsum({name}, 0).astype(ms.{dtype})",
            f"ops.cat([{name}[1:], {other}[:1]])", f"ops.stack([{name}, {other}, {name}]).T[::-1] @ {name}",
            f"ops.stack([{name}, {other}]).sum(0).astype(ms.{dtype})", f"({name} & {other}) | {name}[::-1]",
            f"{name} ^ {k}",
        ]  # fmt: skip
        if self.chance(0.2):
            sign = self.rng.choice(("=", "+=", "*="))
            self.add(indent, f"{name}[{self.rng.choice(('0', '-1', '1:', '::2'))}] {sign} {k}")
        else:
            self.add(indent, f"{name} = {self.rng.choice(forms)}")

    def use(self, s: Scope, indent: int, name: str) -> None:
        if s.prints and self.chance(0.2):
            self.add(indent, f'print("{self.fresh("p")}", {name})')
        v, made = self.of(s, VECTOR, 1), self.fresh("a")
        place = f"({name} % 3).astype(ms.{self.rng.choice(('int32', 'int64'))})"
        small = f"({name} % 5).astype(ms.{self.dtype}) * 0.25"
        options = [
            (f"{v} + {small}", VECTOR),
            (f"{v}[{place}]", VECTOR),
            (f"ops.gather({v}, {place}, 0)", VECTOR),
            (f"ops.where({name} > {self.number(0, 3)}, {v}, {self.leaf(s, VECTOR)})", VECTOR),
            (f"(({name} % 4).sum() % 7).astype(ms.{self.dtype}) * 0.125", SCALAR),
            (f"{v}[{place}[{self.number(-3, 2)}]]", SCALAR),
        ]
        text, shape = self.rng.choice(options)
        self.add(indent, f"{made} = {text}")
        s.names[made] = shape
