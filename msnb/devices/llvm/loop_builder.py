"""Functions of LLVM IR as text, one instruction at a time, with loops: what every emitter of kernels is made of.

    b = LoopBuilder()
    total = b.loop(("0", n, 1), [("float", zero)], lambda i, v: [b.ins(f"fadd float {v[0]}, {x(i)}")])[0]
    text = b.function("float @sum(ptr %x, i64 %n)", "nounwind")

Values that change in a loop are phis, for no pass afterwards would find them in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence


class LoopBuilder:
    """A function under construction: lines of its body, numbered names, and what it refers to outside.

    ``word`` and ``slot`` read what a kernel was called with: ``ptr %slots``, ``ptr %words``.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.entry: list[str] = []
        self.declared: dict[str, str] = {}
        self.block = "entry"
        self._next = 0

    # ---- instructions ----

    def name(self, prefix: str = "%v") -> str:
        """A fresh name."""
        self._next += 1
        return f"{prefix}{self._next}"

    def ins(self, text: str) -> str:
        """Append an instruction with a result; returns its name."""
        out = self.name()
        self.lines.append(f"  {out} = {text}")
        return out

    def do(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        """Begin a block; ``name`` without the percent sign."""
        self.lines.append(f"{name}:")
        self.block = name

    def alloca(self, kind: str) -> str:
        """A variable of the function."""
        out = self.name("%a")
        self.entry.append(f"  {out} = alloca {kind}")
        return out

    def call(self, function: str, result: str, *args: tuple[str, str], flags: str = "", pure: str = "") -> str:
        """Call an intrinsic or a function of libm: ``args`` are (type, value)."""
        self._declare(function, result, args, pure)
        values = ", ".join(f"{t} {v}" for t, v in args)
        return self.ins(f"call {flags + ' ' if flags else ''}{result} @{function}({values})")

    def act(self, function: str, *args: tuple[str, str]) -> None:
        """Call what has no result."""
        self._declare(function, "void", args, "")
        self.do(f"call void @{function}({', '.join(f'{t} {v}' for t, v in args)})")

    def _declare(self, function: str, result: str, args: Sequence[tuple[str, str]], pure: str) -> None:
        kinds = ", ".join(t for t, _ in args)
        self.declared[function] = f"declare {result} @{function}({kinds}){pure}"

    def libm(self, function: str, kind: str, *args: str) -> str:
        """A function of the C library on scalars."""
        return self.call(function, kind, *((kind, a) for a in args), pure=" nounwind willreturn memory(none)")

    # ---- sizes and addresses ----

    def i64(self, op: str, a: str, b: str | int) -> str:
        """Arithmetic of sizes."""
        return self.ins(f"{op} i64 {a}, {b}")

    def product(self, first: str, *others: str) -> str:
        """The product of sizes."""
        for other in others:
            first = self.i64("mul", first, other)
        return first

    def smaller(self, a: str, b: str) -> str:
        """The smaller of two sizes."""
        return self.call("llvm.smin.i64", "i64", ("i64", a), ("i64", b))

    def larger(self, a: str, b: str) -> str:
        """The larger of two sizes."""
        return self.call("llvm.smax.i64", "i64", ("i64", a), ("i64", b))

    def place(self, kind: str, base: str, index: str | int) -> str:
        """The address of element ``index``."""
        return self.ins(f"getelementptr {kind}, ptr {base}, i64 {index}")

    def word(self, i: int) -> str:
        """Word number ``i`` of the call."""
        return self.field("i64", "%words", i)

    def slot(self, i: int) -> str:
        """The data pointer in the slot that word number ``i`` names."""
        return self.field("ptr", "%slots", self.word(i))

    def field(self, kind: str, base: str, i: str | int) -> str:
        """What lies in field number ``i`` of a table of 64-bit fields."""
        return self.ins(f"load {kind}, ptr {self.place('i64', base, i)}")

    # ---- control ----

    def loop(
        self, bounds: tuple[str, str, int], carried: Sequence[tuple[str, str]],
        body: Callable[[str, list[str]], Sequence[str]], counter: str = "i64",
    ) -> list[str]:  # fmt: skip
        """for i in range(low, high, step): carried = body(i, carried).

        Args:
            bounds: low, high, step.
            carried: (type, first value) of what goes from one turn to the next.
            counter: the type of i.
        """
        low, high, step = bounds
        head, inside, after, before = self.name("head"), self.name("loop"), self.name("done"), self.block
        self.do(f"br label %{head}")
        self.label(head)
        i = self.name("%i")
        names = [self.name("%c") for _ in carried]
        at = len(self.lines)
        self.lines += [""] * (1 + len(names))
        self.do(f"br i1 {self.ins(f'icmp slt {counter} {i}, {high}')}, label %{inside}, label %{after}")
        self.label(inside)
        ends = body(i, names)
        following = self.ins(f"add nsw {counter} {i}, {step}")
        last = self.block
        self.do(f"br label %{head}")
        self.lines[at] = f"  {i} = phi {counter} [ {low}, %{before} ], [ {following}, %{last} ]"
        for k, ((kind, first), name, end) in enumerate(zip(carried, names, ends)):
            self.lines[at + 1 + k] = f"  {name} = phi {kind} [ {first}, %{before} ], [ {end}, %{last} ]"
        self.label(after)
        return names

    def when(self, test: str, action: Callable[[], None], other: Callable[[], None] | None = None) -> None:
        """if test: action() else: other()."""
        then, after = self.name("then"), self.name("after")
        otherwise = self.name("else") if other else after
        self.do(f"br i1 {test}, label %{then}, label %{otherwise}")
        self.label(then)
        action()
        self.do(f"br label %{after}")
        if other:
            self.label(otherwise)
            other()
            self.do(f"br label %{after}")
        self.label(after)

    def rarely(self, test: str, kind: str, value: str, other: Callable[[], str], hint: str = ", !prof !0") -> str:
        """``other()`` where the test holds, else ``value``; by the hint it hardly ever holds."""
        then, after, before = self.name("rare"), self.name("after"), self.block
        self.do(f"br i1 {test}, label %{then}, label %{after}{hint}")
        self.label(then)
        found, end = other(), self.block
        self.do(f"br label %{after}")
        self.label(after)
        return self.ins(f"phi {kind} [ {value}, %{before} ], [ {found}, %{end} ]")

    # ---- threads ----

    def thread_count(self, most: str) -> str:
        """How many threads share a task: as many as the call may use, ``most`` at the most, one without a pool."""
        given = self.smaller(self.ins("load i64, ptr %env"), most)
        alone = self.ins(f"icmp eq ptr {self.ins('load ptr, ptr @msnb_parallel')}, null")
        few = self.ins(f"or i1 {alone}, {self.ins(f'icmp slt i64 {given}, 1')}")
        return self.ins(f"select i1 {few}, i64 1, i64 {given}")

    def fork(self, symbol: str, fields: Sequence[tuple[str, str]], threads: str) -> None:
        """The task of these fields on all threads (``shared``), or here where there is one."""
        task = self.alloca(f"[{len(fields)} x i64]")
        for i, (kind, value) in enumerate(fields):
            self.do(f"store {kind} {value}, ptr {self.place('i64', task, i)}")

        def on_all() -> None:
            number, parallel = self.ins(f"trunc i64 {threads} to i32"), self.ins("load ptr, ptr @msnb_parallel")
            self.do(f"call void {parallel}(ptr @{symbol}.part, ptr {task}, i32 {number}, i32 0)")

        here = f"call void @{symbol}.share(ptr {task}, i64 0)"
        self.when(self.ins(f"icmp sgt i64 {threads}, 1"), on_all, lambda: self.do(here))

    def ends(self, total: str, threads: str) -> tuple[str, str]:
        """Where thread %t's share of so many units begins and ends."""
        low, high = (self.i64("udiv", self.i64("mul", t, total), threads) for t in ("%t", self.i64("add", "%t", 1)))
        return low, high

    # ---- text ----

    def function(self, head: str, attributes: str) -> str:
        """The function as text; ``head`` is its type, name and params."""
        return "\n".join([f"define {head} {attributes} {{", "entry:", *self.entry, *self.lines, "}"])


def module(builders: Iterable[LoopBuilder], *texts: str) -> str:
    """A module that may run on several threads: what the builders declare, and the texts."""
    declared = {name: line for builder in builders for name, line in builder.declared.items()}
    threads = ("@msnb_parallel = global ptr null", "@msnb_thread = global ptr null")
    return "\n".join([*threads, *declared.values(), *texts])


def shared(symbol: str, attributes: str, main: LoopBuilder, share: LoopBuilder) -> str:
    """The kernel ``symbol`` made of ``main``, which forks, and thread t's ``share`` of the task."""
    part = LoopBuilder()
    t = part.ins(f"sext i32 {part.ins('call i32 ' + part.ins('load ptr, ptr @msnb_thread') + '()')} to i64")
    part.do(f"call void @{symbol}.share(ptr %task, i64 {t})")
    part.do("ret void")
    heads = {
        f"internal void @{symbol}.share(ptr %task, i64 %t)": share,
        f"internal void @{symbol}.part(ptr %task)": part,
        f"i32 @{symbol}(ptr %slots, ptr %words, ptr %env)": main,
    }
    return "\n".join(builder.function(head, attributes) for head, builder in heads.items())


def units(symbol: str, attributes: str, part: LoopBuilder) -> str:
    """The kernel ``symbol`` around ``part``, which does the units %begin to %end of one thread."""
    head = f"internal void @{symbol}.body(ptr %slots, ptr %words, i64 %begin, i64 %end)"
    return part.function(head, attributes) + parallel(symbol, attributes)


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
