"""LLVM IR with loops, as text: what hand-written kernels are made of.

    c = Code()
    total = c.loop("0", n, "1", [("float", zero)], lambda i, v: [c.ins(f"fadd float {v[0]}, {x(i)}")])[0]

Lanes of a vector beyond the data are masked off, so nothing is read or written there.
Values that change in a loop are phis, for no pass afterwards would find them in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


class Code:
    """A function under construction."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self._next = 0
        self._block = "entry"

    def ins(self, text: str) -> str:
        """Append an instruction with a result; returns its name."""
        self._next += 1
        self.lines.append(f"  %t{self._next} = {text}")
        return f"%t{self._next}"

    def do(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")
        self._block = name

    def fresh(self, prefix: str) -> str:
        """A name for a block."""
        self._next += 1
        return f"{prefix}{self._next}"

    def i64(self, op: str, a: str, b: str) -> str:
        """Integer arithmetic."""
        return self.ins(f"{op} i64 {a}, {b}")

    def smaller(self, a: str, b: str) -> str:
        """The smaller of two integers."""
        return self.call("llvm.smin.i64", "i64", ("i64", a), ("i64", b))

    def larger(self, a: str, b: str) -> str:
        """The larger of two integers."""
        return self.call("llvm.smax.i64", "i64", ("i64", a), ("i64", b))

    def at(self, kind: str, base: str, index: str) -> str:
        """The address of element ``index``."""
        return self.ins(f"getelementptr {kind}, ptr {base}, i64 {index}")

    def call(self, function: str, result: str, *args: tuple[str, str]) -> str:
        """Call an intrinsic that has a result; ``args`` are (type, value)."""
        self._declare(function, result, args)
        return self.ins(f"call {result} @{function}({', '.join(f'{t} {v}' for t, v in args)})")

    def act(self, function: str, *args: tuple[str, str]) -> None:
        """Call an intrinsic that has none."""
        self._declare(function, "void", args)
        self.do(f"call void @{function}({', '.join(f'{t} {v}' for t, v in args)})")

    def _declare(self, function: str, result: str, args: Sequence[tuple[str, str]]) -> None:
        kinds = ", ".join(t.replace(" immarg", "") for t, _ in args)
        self.declared[function] = f"declare {result} @{function}({kinds})"

    def splat(self, vector: str, kind: str, value: str) -> str:
        """A vector of one value."""
        first = self.ins(f"insertelement {vector} poison, {kind} {value}, i64 0")
        lanes = vector[1:].split(" ")[0]
        return self.ins(f"shufflevector {vector} {first}, {vector} poison, <{lanes} x i32> zeroinitializer")

    def loop(
        self,
        begin: str,
        end: str,
        step: str,
        carried: Sequence[tuple[str, str]],
        body: Callable[[str, list[str]], Sequence[str]],
    ) -> list[str]:
        """``for i in range(begin, end, step)``: body(i, values) gives the next values; returns the last ones."""
        head, inner, out, before = self.fresh("head"), self.fresh("body"), self.fresh("done"), self._block
        self.do(f"br label %{head}")
        self.label(head)
        place = len(self.lines)
        i, values = f"%i.{head}", [f"%c{k}.{head}" for k in range(len(carried))]
        self.do(f"br i1 {self.ins(f'icmp slt i64 {i}, {end}')}, label %{inner}, label %{out}")
        self.label(inner)
        after = list(body(i, values))
        following = self.i64("add", i, step)
        self.do(f"br label %{head}")
        latch = self._block
        phis = [f"  {i} = phi i64 [ {begin}, %{before} ], [ {following}, %{latch} ]"]
        for (kind, first), name, value in zip(carried, values, after):
            phis.append(f"  {name} = phi {kind} [ {first}, %{before} ], [ {value}, %{latch} ]")
        self.lines[place:place] = phis
        self.label(out)
        return values

    def function(self, head: str, attributes: str) -> str:
        """The function as text; ``head`` is its type, name and params."""
        return "\n".join([f"define {head} {attributes} {{", "entry:", *self.lines, "}"])


def parallel(symbol: str, attributes: str) -> str:
    """The kernel ``symbol`` around ``symbol.body(slots, words, begin, end)``: units 0..words[0] on words[1] threads."""
    return f"""
define internal void @{symbol}.part(ptr %task) {attributes} {{
  %which = load ptr, ptr @msnb_thread
  %t32 = call i32 %which()
  %t = sext i32 %t32 to i64
  %slots = load ptr, ptr %task
  %p1 = getelementptr i64, ptr %task, i64 1
  %words = load ptr, ptr %p1
  %p2 = getelementptr i64, ptr %task, i64 2
  %threads = load i64, ptr %p2
  %units = load i64, ptr %words
  %a0 = mul i64 %t, %units
  %a = udiv i64 %a0, %threads
  %t1 = add i64 %t, 1
  %b0 = mul i64 %t1, %units
  %b = udiv i64 %b0, %threads
  call void @{symbol}.body(ptr %slots, ptr %words, i64 %a, i64 %b)
  ret void
}}
define i32 @{symbol}(ptr %slots, ptr %words, ptr %env) {attributes} {{
  %task = alloca [3 x i64]
  %allowed = load i64, ptr %env
  %p1 = getelementptr i64, ptr %words, i64 1
  %worth = load i64, ptr %p1
  %less = icmp slt i64 %worth, %allowed
  %threads = select i1 %less, i64 %worth, i64 %allowed
  %fork = load ptr, ptr @msnb_parallel
  %can = icmp ne ptr %fork, null
  %several = icmp sgt i64 %threads, 1
  %many = and i1 %can, %several
  br i1 %many, label %together, label %alone
together:
  store ptr %slots, ptr %task
  %q1 = getelementptr i64, ptr %task, i64 1
  store ptr %words, ptr %q1
  %q2 = getelementptr i64, ptr %task, i64 2
  store i64 %threads, ptr %q2
  %n32 = trunc i64 %threads to i32
  call void %fork(ptr @{symbol}.part, ptr %task, i32 %n32, i32 0)
  ret i32 0
alone:
  %units = load i64, ptr %words
  call void @{symbol}.body(ptr %slots, ptr %words, i64 0, i64 %units)
  ret i32 0
}}
"""
