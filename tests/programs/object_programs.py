"""Random programs in which tensors become one object, and come apart again, and are written in place.

def f(p, q): ...            writes to its arguments and gives one of them, or a new tensor
def h(p), hw(p, q)          conditions with branches in them; hw writes
class Net(nn.Cell):
    def construct(self, x):
        y = ...; z = ...    z may be an attribute, an item of a list or dict, a global
        def g(): ...        writes to the variables of construct and sets them
        def g2(w): ...
        statements          assignments, writes, branches, loops, calls, early ends
        return x, y, z
"""

from __future__ import annotations

import re
from random import Random

NAMES = ("x", "y", "z")
TESTS = ("y[0] > 2", "z[1] > y[1]", "x[0] < 3", "y.sum() > 9", "z[0] < 4", "y is z", "x is not self.p")
CALLS = ("h(y)", "h(z)", "hw(x, z)", "(not h(x) or y[1] > 1)", "(h(y) and z[0] > 1)")
ENDS = ("return p", "return q", "return p if p[0] > q[0] else q", "return p * 2", "return q + p")
PLACES = ("z", "a.z", "rows[0]", "d['z']", "GZ", "self.o.z")
CONDITIONS = """def h(p):
    if p[0] > 2: return p[1] > 1
    return p.sum() < 8
def hw(p, q):
    if p[0] > q[1]: p[2] += 1.
    else: q[0] -= 1.
    return q[0] < p[0]"""


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


class _Writer:
    def __init__(self, random: Random, end: str, is_method: bool) -> None:
        self.random, self.end, self.is_method = random, end, is_method
        self.loops = 0
        self.counters = 0

    def test(self) -> str:
        return self.random.choice((*TESTS, *CALLS) if self.is_method else TESTS[:6])

    def block(self, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(depth)
            if lines and lines[-1].split()[0] in ("return", "break", "continue"):
                break
        return lines or ["pass"]

    def statement(self, depth: int) -> list[str]:
        kinds = "write write set set twice add fill choice swap several row leave".split()
        kinds += ["call", "inner", "parameter"] if self.is_method else []
        kinds += ["branch", "branch", "range", "while", "try"] if depth else []
        return getattr(self, "write_" + self.random.choice(kinds))(depth)

    def names(self) -> tuple[str, str, str]:
        choice = self.random.choice
        return choice(NAMES), choice((*NAMES, "self.p") if self.is_method else NAMES), choice(NAMES)

    def write_write(self, depth: int) -> list[str]:
        return [f"{self.names()[0]}[{self.random.randint(0, 2)}] += {self.random.randint(1, 3)}."]

    def write_set(self, depth: int) -> list[str]:
        a, b, _ = self.names()
        return [f"{a} = {b}" if self.random.random() < 0.6 else f"{a} = {b} * 2"]

    def write_twice(self, depth: int) -> list[str]:
        a, b, c = self.names()
        return [f"t = {b} + 1; {a} = t; {c} = t"]

    def write_add(self, depth: int) -> list[str]:
        return [f"{self.names()[0]} += {self.random.randint(1, 2)}."]

    def write_fill(self, depth: int) -> list[str]:
        a, b, _ = self.names()
        return [f"{a}[:] = {b} + 1."]

    def write_choice(self, depth: int) -> list[str]:
        a, b, c = self.names()
        return [f"{a} = {b} if {self.test()} else {c}"]

    def write_swap(self, depth: int) -> list[str]:
        a, _, c = self.names()
        return [f"{a}, {c} = {c}, {a}"]

    def write_several(self, depth: int) -> list[str]:
        a, b, c = self.names()
        loop, items = f"for v in [{a}, {b}]: v[0] += 1.", f"r = [{a}, {b}]; r[0][1] = 3.; {c} = r[1]"
        return [self.random.choice((loop, items, f"r = ({a}, {b}); {a} = r[1]; {c} = r[0]"))]

    def write_row(self, depth: int) -> list[str]:
        a, b, _ = self.names()
        return [f"for v in {b}: {a}[0] += v"]

    def write_leave(self, depth: int) -> list[str]:
        if depth > 2:
            return []
        return [self.random.choice(("break", "continue")) if self.loops else self.end]

    def write_call(self, depth: int) -> list[str]:
        a, b, c = self.names()
        return [self.random.choice((f"{a} = f({b}, {c})", f"{a}, {c} = f2({b}, {c})", f"f({a}, {c})"))]

    def write_inner(self, depth: int) -> list[str]:
        a, b, _ = self.names()
        return [self.random.choice(("g()", f"{a} = g()", f"{a} = g2({b})"))]

    def write_parameter(self, depth: int) -> list[str]:
        return [self.random.choice(("self.p[1] += 1.", "self.p += 1."))]

    def write_branch(self, depth: int) -> list[str]:
        lines = [f"if {self.test()}:", *_indented(self.block(depth - 1))]
        return lines + (["else:", *_indented(self.block(depth - 1))] if self.random.random() < 0.6 else [])

    def write_try(self, depth: int) -> list[str]:
        if self.loops:
            return []
        return ["try:", *_indented(self.block(depth - 1)), "finally:", f"    {self.names()[0]}[2] += 1."]

    def _turn(self, depth: int) -> list[str]:
        self.loops += 1
        lines = self.block(depth - 1)
        self.loops -= 1
        return _indented(lines)

    def write_range(self, depth: int) -> list[str]:
        return [f"for i{depth} in range({self.random.randint(1, 2)}):", *self._turn(depth)]

    def write_while(self, depth: int) -> list[str]:
        self.counters += 1
        n = f"n{self.counters}"
        more = f" and {self.test()}" if self.random.random() < 0.3 else ""
        head = [f"{n} = 0 * x[0]", f"while {n} < {self.random.randint(1, 3)}{more}:", f"    {n} = {n} + 1"]
        return head + self._turn(depth)


def _function(random: Random, end: str) -> list[str]:
    lines = _Writer(random, end, False).block(2)
    return _indented([re.sub(r"\b[xyz]\b", lambda m: "q" if m[0] == "y" else "p", line) for line in lines])


def program(random: Random) -> str:
    """The source of a module with ``Net``."""
    ends = random.choice(ENDS), random.choice(ENDS), random.choice(("p, q", "q, p", "p, p", "q, p + 1"))
    functions = ["def f(p, q):", *_function(random, ends[0]), "    " + ends[1]]
    functions += ["def f2(p, q):", *_function(random, "return p, q"), f"    return {ends[2]}", CONDITIONS]
    place = random.choice(PLACES)
    inner = [f"def g():\n            nonlocal x, y{', z' if place == 'z' else ''}"]
    inner += [*_indented(_Writer(random, "return y", False).block(2)), f"    return {random.choice((*NAMES, 'z * 2'))}"]
    inner += ["def g2(w):", "    nonlocal y", f"    {random.choice(('w[1] += 1.', 'y[1] += 1.'))}"]
    inner += [f"    {random.choice(('y = w', 'y = w * 2', 'z[0] = 2.'))}", f"    return {random.choice('wyz')}"]
    begin = random.choice((["y = x", "z = x + 1"], ["y = z = x"]))
    body = _Writer(random, "return x, y, z", True).block(3)
    lines = [*begin, *inner, *body, "y[2] -= 5.", "z[0] -= 7.", "return x, y, z"]
    method = ["class Net(nn.Cell):", "    def construct(self, x):", *_indented(_indented(lines))]
    source = "\n".join([*functions, *method])
    if place == "GZ":
        source = re.sub(r"( +)nonlocal x, y", r"\1global GZ; nonlocal x, y", source)
        source = source.replace("construct(self, x):", "construct(self, x):\n        global GZ")
    return source if place == "z" else re.sub(r"\bz\b(?!')", place, source)
