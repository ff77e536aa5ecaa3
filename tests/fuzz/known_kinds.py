"""Statements for kinds of defects that were found by hand once: each was invisible to random programs before.

made        a Cell that the function makes: what is assigned to its Parameter, and its numbers, are read back
argument    a hook on an argument of a function that is differentiated
primitive   operator classes whose number of results counts: ReduceMax, Unique, BatchNorm, Dropout
seeded      two operator objects of one seed draw the same
text        a text with a tensor in it: printed, returned, raised
all         GradOperation(get_all=True) with an integer that only chooses
lanes       vmap of a function that writes its argument
frozen      weights with requires_grad=False that are listed nevertheless
"""

from __future__ import annotations

from tests.fuzz.scopes import MATRIX, SCALAR, VECTOR, Scope
from tests.fuzz.statements import NUMBERS_OF_HOOKS, Statements

MADE = """
class Made(nn.Cell):
    def __init__(self, v):
        super().__init__()
        self.p = Parameter(Tensor(np.array(v, F)), name="p")
        self.num = 3

    def construct(self, x):
        return x * self.p
"""
MARKS = {
    "made": "Made(", "argument": "x.register_hook(", "primitive": "ops.Reduce", "seeded": "ops.StandardNormal(",
    "text": ".format(", "all": "ops.GradOperation(get_all=True)", "lanes": "def lanes",
    "frozen": "requires_grad = False",
}  # fmt: skip
"""What of a program shows that it has the kind."""


class KnownKinds(Statements):
    """Writes them; which transforms exist is the generator's."""

    def more_kinds(self, s: Scope) -> list[str]:
        return ["made", "primitive", "seeded", *(["text"] if s.prints and "texts" not in self.avoid else [])]

    def write_made(self, s: Scope, indent: int) -> None:
        cell, name = self.fresh("m"), self.fresh("a")
        self.add(indent, f"{cell} = Made([0.5, -1.25, {self.number(1, 3)}.0])")
        value = self.of(s, VECTOR, 1)
        if self.chance(0.4):
            self.add(indent, f"if {self.test(s)}:")
            self.add(indent + 1, f"ops.assign({cell}.p, {value})")
        else:
            self.add(indent, f"ops.assign({cell}.p, {value})")
        self.add(indent, f"{cell}.num *= 2")
        self.add(indent, f"{name} = {cell}({self.of(s, VECTOR, 1)}) * {cell}.num + {cell}.p")
        s.names[name] = VECTOR

    def write_argument(self, s: Scope, indent: int) -> None:
        """The first statement of a function: what comes before it has been used without the hook."""
        name = self.rng.choice([*s.names])
        self.add(indent, f"{name}.register_hook(lambda g: g * {self.rng.choice(NUMBERS_OF_HOOKS)})")

    def write_primitive(self, s: Scope, indent: int) -> None:
        m, v, name = self.of(s, MATRIX, 1), self.of(s, VECTOR, 1), self.fresh("a")
        constant = "Tensor(np.array([1.5, 0.5, 2.0], F))"
        text, shape = self.rng.choice(
            [
                (f"ops.ReduceMax()({m}, 0)", VECTOR),
                (f"ops.ReduceMin(keep_dims=False)({m}, 0)", VECTOR),
                (f"({v} * ops.Unique()(Tensor(np.array([3, 1, 1])))[1].astype(ms.{self.dtype}))", VECTOR),
                (f"ops.BatchNorm()({m}, {', '.join([constant] * 4)})[0]", MATRIX),
                *([(f"({v} - ops.Dropout(keep_prob=1.0)({v})[1])", VECTOR)] if s.draws else []),
            ]
        )
        self.add(indent, f"{name} = {text}")
        s.names[name] = shape

    def write_seeded(self, s: Scope, indent: int) -> None:
        seed, name = self.number(1, 9), self.fresh("a")
        half = f".astype(ms.{self.dtype})" if self.dtype not in ("float32", "float64") else ""
        draws = [f"ops.StandardNormal(seed={seed})((3,)){half}" for _ in range(2)]
        self.add(indent, f"{name} = {self.of(s, VECTOR, 1)} + ({draws[0]} - {draws[1]})")
        s.names[name] = VECTOR

    def counted(self, s: Scope) -> str:
        """A whole number that a tensor knows: its text does not depend on rounding."""
        return f"({self.leaf(s, VECTOR)} > 0.0).sum()"

    def write_text(self, s: Scope, indent: int) -> None:
        name = self.fresh("s")
        shown = self.counted(s) if self.chance(0.5) else self.leaf(s, self.rng.choice((SCALAR, VECTOR)))
        self.add(indent, f'{name} = "p{name[1:]} {{}}".format({shown})')
        self.add(indent, f"print({name})")

    def written_lanes(self) -> tuple[str, str]:
        """A function that writes its argument, at module level, and the text of its call under vmap."""
        weight, name = self.fresh("q"), self.fresh("lanes")
        self.add(0, f'{weight} = Parameter({self.tensor(MATRIX)}, name="{weight}")')
        self.lines.append("")
        self.add(0, f"def {name}(p):")
        self.add(1, f"ops.assign(p, p * {self.rng.choice(('0.5', '-1.5'))} + 0.25)")
        self.add(1, "return ops.sin(p).sum()")
        self.lines.append("")
        return weight, f"ms.vmap({name}, in_axes={self.rng.choice('01')})({weight})"

    def tensor(self, shape: tuple[int, ...]) -> str:
        raise NotImplementedError
