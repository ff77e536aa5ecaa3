"""Random programs with state, as plain Python: cells and functions, transforms of them, and a main that calls all.

A function is known by the shapes of its arguments and the tree of shapes that it gives, so transforms can be put on
transforms: three deep, with plain code in between that makes a number of whatever came out.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

from tests.fuzz.known_kinds import MADE
from tests.fuzz.python_forms import PythonForms
from tests.fuzz.scopes import MATRIX, SCALAR, SQUARE, VECTOR, Scope, Shape

HEAD = """import numpy as np

import msnb as ms
from msnb import Parameter, Tensor, nn, ops

F = np.{dtype}
flag = {flag}
trace = []
"""
DTYPES = ("float64", "float64", "float64", "float32", "float32", "float16", "bfloat16")


def head(dtype: str, flag: Any) -> str:
    """The first lines of a program; NumPy knows no bfloat16."""
    text = HEAD.format(dtype=dtype, flag=flag)
    if dtype != "bfloat16":
        return text
    return text.replace("F = np.", "F = ml_dtypes.").replace("import numpy", "import ml_dtypes\nimport numpy")


@dataclass(frozen=True)
class Shapes:
    """A tensor of the results. (Tuples of results are tuples; a shape would look like one.)"""

    shape: Shape


@dataclass(frozen=True)
class Function:
    name: str
    takes: tuple[Shape, ...]
    gives: Any
    weights: tuple[tuple[str, tuple[Shape, ...]], ...] = ()  # text of a list of weights, and their shapes
    plain: bool = True  # no state written, no draws, no prints: vmap may have it


class Generator(PythonForms):
    """One program; its floats are of the given dtype, or of one that is drawn."""

    def __init__(self, seed: int, avoid: tuple[str, ...] = (), dtype: str = "") -> None:
        super().__init__(random.Random(f"msnb {seed}"), avoid)
        self.seed = seed
        drawn = self.rng.choice(DTYPES)
        self.dtype = dtype or drawn
        self.shown: list[str] = []
        self.functions: list[Function] = []
        self.globals: dict[str, Shape] = {}
        self.cells: dict[str, tuple[Shape, Shape]] = {}
        self.cell_weights: dict[str, int] = {}

    # ---- literals --------------------------------------------------------------------------------

    def literal(self, shape: Shape) -> Any:
        if shape:
            return [self.literal(shape[1:]) for _ in range(shape[0])]
        return round(self.rng.uniform(-1.5, 1.5), 2) + 0.00371

    def tensor(self, shape: Shape) -> str:
        return f"Tensor(np.array({round_all(self.literal(shape))}, F))"

    # ---- functions -------------------------------------------------------------------------------

    def scope(self, takes: dict[str, Shape], loose: bool) -> Scope:
        """What a function may do: loose ones write, print and draw."""
        s = Scope(names=dict(takes), cells=dict(self.cells) if self.chance(0.6) else {})
        if loose:
            s.writes, s.prints, s.draws = self.chance(0.6), self.chance(0.4), self.chance(0.3)
            s.hooks = self.chance(0.1)
        else:
            s.draws = self.chance(0.1)
        return s

    def returned(self, s: Scope) -> tuple[str, Any]:
        kinds = {None: ("scalar", "scalar", "vector", "pair", "param"), SCALAR: ("scalar",), VECTOR: ("vector",)}
        kind = self.rng.choice(kinds[self.result])
        made = [f"{n}.sum()" for n in [*s.names][-2:]]
        s.held["(" + " + ".join(made) + ")"] = SCALAR
        if kind == "scalar":
            return f"{self.of(s, SCALAR)} + {' + '.join(made)}", Shapes(SCALAR)
        if kind == "vector":
            return f"{self.of(s, VECTOR)} * {made[-1]}", Shapes(VECTOR)
        if kind == "param" and s.params and "direct" not in self.avoid:
            name, shape = self.rng.choice([*s.params.items()])
            return f"{self.of(s, VECTOR)}, {name}", (Shapes(VECTOR), Shapes(shape))
        return f"{self.of(s, SCALAR)}, {self.of(s, VECTOR)}", (Shapes(SCALAR), Shapes(VECTOR))

    def function_body(self, s: Scope, indent: int) -> Any:
        self.result = self.rng.choice((None, SCALAR, VECTOR))
        if s.hooks and s.names and self.chance(0.5):
            self.write_argument(s, indent)
        self.body(s, indent, self.rng.choice((0, 1, 2, 3)))
        text, gives = self.returned(s)
        self.add(indent, f"return {text}")
        self.lines.append("")
        return gives

    def write_parameter(self) -> None:
        shape = self.rng.choice((VECTOR, VECTOR, SQUARE, SCALAR))
        name = self.fresh("w")
        self.add(0, f'{name} = Parameter({self.tensor(shape)}, name="{name}")')
        if self.chance(0.1):
            self.add(0, f"{name}.requires_grad = False")
        self.globals[name] = shape
        self.shown.append(name)

    def write_plain(self) -> None:
        """A function over global Parameters."""
        takes = {"x": self.rng.choice((VECTOR, VECTOR, MATRIX)), **({"y": VECTOR} if self.chance(0.5) else {})}
        loose = self.chance(0.5)
        s = self.scope(takes, loose)
        s.params = dict(self.globals)
        name = self.fresh("f")
        self.lines.append("")
        if self.chance(0.1):
            self.add(0, "@ms.jit")
        self.add(0, f"def {name}({', '.join(takes)}):")
        gives = self.function_body(s, 1)
        lists = self.weight_lists([*self.globals.items()])
        self.functions.append(
            Function(name, tuple(takes.values()), gives, lists, not loose and not s.draws and not s.cells)
        )

    def weight_lists(self, params: list[tuple[str, Shape]]) -> tuple[tuple[str, tuple[Shape, ...]], ...]:
        """Ways of naming weights: one, all, one twice, another order."""
        if not params:
            return ()
        some = self.rng.sample(params, self.rng.randint(1, len(params)))
        chosen = self.rng.choice((some, some, some + some[:1])) if "twice" not in self.avoid else some
        return ((f"[{', '.join(n for n, _ in chosen)}]", tuple(shape for _, shape in chosen)),)

    def write_cell(self) -> None:
        """A class and one instance of it, with cells inside."""
        number = self.fresh("")
        name = f"net{number}"
        params = {
            f"self.{self.fresh('w')}": self.rng.choice((VECTOR, SQUARE, SCALAR)) for _ in range(self.rng.randint(1, 2))
        }
        self.lines.append("")
        self.add(0, f"class Net{number}(nn.Cell):")
        self.add(1, "def __init__(self):")
        self.add(2, "super().__init__()")
        for attribute, shape in params.items():
            self.add(2, f'{attribute} = Parameter({self.tensor(shape)}, name="{attribute[5:]}")')
        s = self.scope({}, self.chance(0.6))
        s.params = params
        if self.chance(0.3):
            self.add(2, f'self.register_buffer("b", {self.tensor(VECTOR)})')
            s.buffers = {"self.b": VECTOR}
            self.shown.append(f"{name}.b")
        if self.chance(0.3):
            self.add(2, "self.n = 1")
            s.integers.append("self.n")
            self.shown.append(f"{name}.n")
        inner = self.inner_cells(s)
        take = self.rng.choice((VECTOR, MATRIX, MATRIX))
        s.names = {"x": take}
        self.lines.append("")
        self.add(1, "def construct(self, x):")
        gives = self.function_body(s, 2)
        self.lines.append("")
        self.add(0, f"{name} = Net{number}()")
        if self.chance(0.7):
            self.add(0, f"{name}.set_train()")
        self.shown += [f"{name}.{p[5:]}" for p in params] + [f"{name}.{i}" for i in inner]
        lists = self.weight_lists([(f"{name}.{p[5:]}", shape) for p, shape in params.items()])
        if not s.cells and not inner:
            lists += ((f"{name}.trainable_params()", tuple(params.values())),)
        self.functions.append(
            Function(name, (take,), gives, lists, not (s.writes or s.prints or s.draws or inner or s.cells))
        )
        if isinstance(gives, Shapes):
            self.cells[name] = (take, gives.shape)

    def inner_cells(self, s: Scope) -> list[str]:
        """Cells of nn, and what of them is state."""
        shown = []
        made = {
            "dense": (VECTOR, "nn.Dense(3, 3, dtype=ms.{0})", ["dense.weight", "dense.bias"]),
            "norm": (
                MATRIX,
                "nn.BatchNorm1d(3, dtype=ms.{0})",
                ["norm.moving_mean", "norm.moving_variance", "norm.gamma"],
            ),
            "drop": (MATRIX, "nn.Dropout(p=0.5)", []),
        }
        s.cells = {}
        for attribute, (shape, text, state) in made.items():
            if self.chance(0.2):
                self.add(2, f"self.{attribute} = {text.format(self.dtype)}")
                s.cells[f"self.{attribute}"] = (shape, shape)
                shown += state
        for cell, shapes in self.cells.items():
            if self.chance(0.3):
                self.add(2, f"self.{cell} = {cell}")
                s.cells[f"self.{cell}"] = shapes
        return shown

    # ---- transforms ------------------------------------------------------------------------------

    def add_transforms(self, indent: int) -> list[Function]:
        """Chains of transforms, up to three deep, of functions there are."""
        ends = []
        for _ in range(self.rng.randint(1, 2)):
            f = self.rng.choice(self.functions)
            for _ in range(self.rng.choice((1, 1, 2, 2, 3))):
                if elements(f.gives) > 30 or sum(size(t) for t in f.takes) > 40:
                    break
                f = self.transformed(f, indent)
            ends.append(f)
        return ends

    def transformed(self, f: Function, indent: int) -> Function:
        kinds = ["grad"] * 4 + ["value_and_grad", "vjp", "jvp", "jac", "jac", "jit", "all"]
        kinds += ["vmap"] * (3 if f.plain else 0) + (["vmap"] if self.chance(0.1) else [])
        if f.gives == Shapes(SCALAR) and size(f.takes[0]) <= 6:
            kinds.append("hessian")
        return getattr(self, f"by_{self.rng.choice(kinds)}")(f, indent)  # type: ignore[no-any-return]

    def named(self, f: Function, indent: int, text: str, gives: Any, **changed: Any) -> Function:
        name = self.fresh("g")
        self.add(indent, f"{name} = {text}")
        return replace(f, name=name, gives=gives, **changed)

    def wanted(self, f: Function) -> tuple[str, Any]:
        """Position, weights or both; the text of the arguments and the tree of the derivative."""
        places = [str(i) for i in range(len(f.takes))] + (["(0, 1)"] if len(f.takes) > 1 else ["(0,)"])
        place = self.rng.choice(places)
        by_input: Any = (
            tuple(Shapes(f.takes[i]) for i in eval(place)) if place.startswith("(") else Shapes(f.takes[int(place)])
        )
        if not f.weights or self.chance(0.35):
            return place, by_input
        if "nested" in self.avoid and f.name.startswith("g"):
            return place, by_input
        text, shapes = self.rng.choice(f.weights)
        by_weight = tuple(Shapes(shape) for shape in shapes)
        if self.chance(0.5):
            return f"None, {text}", by_weight
        return f"{place}, {text}", (by_input, by_weight)

    def by_grad(self, f: Function, indent: int) -> Function:
        text, gives = self.wanted(f)
        return self.named(f, indent, f"ms.grad({f.name}, {text})", gives)

    def by_value_and_grad(self, f: Function, indent: int) -> Function:
        text, gives = self.wanted(f)
        return self.named(f, indent, f"ms.value_and_grad({f.name}, {text})", (f.gives, gives))

    def by_jit(self, f: Function, indent: int) -> Function:
        return self.named(f, indent, f"ms.jit({f.name})", f.gives)

    def by_jac(self, f: Function, indent: int) -> Function:
        how = self.rng.choice(("jacrev", "jacfwd"))
        gives = mapped(lambda s: Shapes(s.shape + f.takes[0]), f.gives)
        return self.named(f, indent, f"ms.{how}({f.name})", gives)

    def by_hessian(self, f: Function, indent: int) -> Function:
        return self.named(f, indent, f"ms.hessian({f.name})", Shapes(f.takes[0] * 2))

    def by_vmap(self, f: Function, indent: int) -> Function:
        lanes = self.rng.choice((2, 3))
        axes = [self.rng.choice((0, 0, -1, None)) for _ in f.takes]
        if not any(a is not None for a in axes):
            axes[0] = 0
        takes = tuple(t if a is None else (lanes, *t) if a == 0 else (*t, lanes) for t, a in zip(f.takes, axes))
        last = self.chance(0.15)
        gives = mapped(lambda s: Shapes((*s.shape, lanes) if last else (lanes, *s.shape)), f.gives)
        text = str(axes[0]) if len(axes) == 1 else f"({', '.join(map(str, axes))})"
        text += ", out_axes=-1" if last else ""
        return self.named(f, indent, f"ms.vmap({f.name}, in_axes={text})", gives, takes=takes)

    def defined(self, f: Function, indent: int, body: list[str], gives: Any) -> Function:
        name, args = self.fresh("g"), ", ".join("xyz"[: len(f.takes)])
        self.lines.append("")
        self.add(indent, f"def {name}({args}):")
        for line in body:
            self.add(indent + 1, line.replace("ARGS", args))
        self.lines.append("")
        return replace(f, name=name, gives=gives)

    def by_vjp(self, f: Function, indent: int) -> Function:
        weights, gives = "", tuple(Shapes(t) for t in f.takes)
        tree: Any = gives
        if f.weights and self.chance(0.6):
            text, shapes = self.rng.choice(f.weights)
            weights, tree = f", weights={text}", (gives, tuple(Shapes(s) for s in shapes))
        out = "out" if isinstance(f.gives, Shapes) else "out[0]"
        if not isinstance(f.gives, Shapes):
            if not isinstance(f.gives, tuple) or not all(isinstance(g, Shapes) for g in f.gives):
                return self.summed(f, indent)
            ones = "(" + ", ".join(f"ops.cos(out[{i}])" for i in range(len(f.gives))) + ",)"
        else:
            ones = f"ops.cos({out})"
        return self.defined(f, indent, [f"out, pull = ms.vjp({f.name}, ARGS{weights})", f"return pull({ones})"], tree)

    def by_jvp(self, f: Function, indent: int) -> Function:
        v = ", ".join(f"ops.cos({a})" for a in "xyz"[: len(f.takes)])
        body = [f"out, slope = ms.jvp({f.name}, (ARGS,), ({v},))", "return slope"]
        return self.defined(f, indent, body, f.gives)

    def by_all(self, f: Function, indent: int) -> Function:
        """A gradient by every argument, one of them an integer that chooses."""
        s = self.summed(f, indent)
        which = self.number(0, 1)
        both = f"ops.stack([{s.name}(ARGS) * 0.5, {s.name}(ARGS)])[i]"
        body = [
            f"out = ops.GradOperation(get_all=True)(lambda ARGS, i: {both})(ARGS, Tensor(np.array({which})))",
            f"return (*out[:-1], out[-1].astype(ms.{self.dtype}))",
        ]
        return self.defined(s, indent, body, (*map(Shapes, f.takes), Shapes(SCALAR)))

    def summed(self, f: Function, indent: int) -> Function:
        """A number of whatever comes out."""
        terms = [
            self.rng.choice((f"ops.sin(r{p}).sum()", f"(r{p} * r{p}).sum()", f"r{p}.sum()")) for p in paths(f.gives)
        ]
        return self.defined(f, indent, [f"r = {f.name}(ARGS)", f"return {' + '.join(terms)}"], Shapes(SCALAR))

    # ---- the whole -------------------------------------------------------------------------------

    def argument(self, s: Scope, shape: Shape) -> str:
        if len(shape) < 3 and shape in (SCALAR, VECTOR, MATRIX, SQUARE):
            text = self.of(s, shape, 1)
            return f"{text} * 1.0" if text in s.params else text
        parts = [self.argument(s, shape[1:]) for _ in range(shape[0])]
        return f"ops.stack([{', '.join(parts)}])"

    def write_main(self) -> None:
        weight, lanes = self.written_lanes() if self.chance(0.1) else ("", "")
        self.shown += [weight] if lanes else []
        local = [] if self.chance(0.6) else self.functions
        ends = [] if local else self.add_transforms(0)
        self.lines += ["", ""]
        self.add(0, "def main(x, y, t):")
        if local:
            ends = self.add_transforms(1)
        s = self.scope({"x": MATRIX, "y": VECTOR, "t": SCALAR}, True)
        s.params, s.cells = dict(self.globals), {}
        self.result = None
        results = []
        if s.params:
            self.body(s, 1, self.rng.choice((0, 0, 1, 2)))
        for f in [*ends, *([self.rng.choice(self.functions)] if self.chance(0.3) else [])]:
            results.append(self.fresh("r"))
            self.add(1, f"{results[-1]} = {f.name}({', '.join(self.argument(s, t) for t in f.takes)})")
            if s.params and self.chance(0.4):
                self.body(s, 1, 1)
        if lanes:
            results.append(self.fresh("r"))
            self.add(1, f"{results[-1]} = {lanes}")
        if self.chance(0.1) and "texts" not in self.avoid:
            results.append(f'"{{}}".format({self.counted(s)})')
        last = self.rng.choice([*s.names, *s.params])
        self.add(1, f"return {', '.join([*results, last])}")

    def program(self) -> str:
        beginning = head(self.dtype, self.number(0, 1)).splitlines()
        self.lines += beginning
        for _ in range(self.rng.randint(0, 2)):
            self.write_parameter()
        for _ in range(self.rng.randint(1, 3)):
            if self.globals and self.chance(0.5):
                self.write_plain()
            else:
                self.write_cell()
        self.write_main()
        shown = ", ".join(f'"{n}": {n}' for n in dict.fromkeys([*self.shown, "trace"]))
        self.lines += ["", "", "def state():", f"    return {{{shown}}}", "", "", "CALLS = ["]
        for _ in range(2):
            self.add(1, f"({', '.join(str(round_all(self.literal(s))) for s in (MATRIX, VECTOR, SCALAR))}),")
        self.lines += ["]"]
        if any("Made(" in line for line in self.lines):
            self.lines[len(beginning) : len(beginning)] = MADE.splitlines()
        return f"# seed {self.seed}\n" + "\n".join(self.lines) + "\n"


def round_all(value: Any) -> Any:
    return [round_all(v) for v in value] if isinstance(value, list) else round(value, 5)


def size(shape: Shape) -> int:
    out = 1
    for n in shape:
        out *= n
    return out


def mapped(f: Any, tree: Any) -> Any:
    return tuple(mapped(f, t) for t in tree) if isinstance(tree, tuple) else f(tree)


def paths(tree: Any, at: str = "") -> list[str]:
    if isinstance(tree, tuple):
        return [p for i, t in enumerate(tree) for p in paths(t, f"{at}[{i}]")]
    return [at]


def elements(tree: Any) -> int:
    return sum(map(elements, tree)) if isinstance(tree, tuple) else size(tree.shape)


def program(seed: int, avoid: tuple[str, ...] = (), dtype: str = "") -> str:
    """The text of the program of this seed, without some features (see ``AVOIDABLE``)."""
    return Generator(seed, avoid, dtype).program()
