"""The interpreter: one small native function that runs every program.

A program is a table of instructions, six words each; the function walks it without the GIL:

    KERNEL address words host resume     call f(slots, words, env)           HOST id          let Python run a step
    JUMP target / JUMP_IF / JUMP_UNLESS target slot bits float               LOOP counter step stop target
    COPY dst src bytes / ZERO dst bytes / SWAP a b (pointers) / MOVE a b     SET counter value
    LEA dst src bytes (a pointer behind another) / ROW dst src counter stride         COMMIT / RETURN
    PUSH dst src value bytes pool / POP dst top src / RELEASE top pool           and PUSH_STACK, POP_STACK: entries that
                                                                                 are stacks

Whatever needs Python (a step without native code, a signal handler, more memory for stacks) makes the function *return*
with a code, its place saved in ``env``; Python does the work and calls it again. So errors and Ctrl-C arise in Python,
in the calling thread, without callbacks. It returns at least every 50 ms (PAUSED), except behind COMMIT: from there on
parameters are written, and nothing may stop it.

A stack is a linked list: a node is {below, next free, ..., data at byte 64}, a bottom node is below itself and holds
zeros. Nodes come from chunks that Python hands in (``bump`` .. ``limit``), or from the free list of their size.

    env: 0 threads   1 stop request   2 place   3 id   4 kernel's code   5 bump   6 limit   7 wanted bytes
         8 pause (ns)
         16 threads, 17 zero: the env of kernels behind COMMIT     32... counters, then heads of free lists
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable

from msnb.devices.cpu.llvm.jit import Library
from msnb.devices.llvm.loop_builder import LoopBuilder

WORDS = 6
NAMES = ("RETURN", "KERNEL", "HOST", "JUMP", "JUMP_IF", "JUMP_UNLESS", "COPY", "ZERO", "SWAP", "MOVE", "LEA", "ROW",
         "SET", "LOOP", "PUSH", "POP", "RELEASE", "COMMIT", "PUSH_STACK", "POP_STACK")  # fmt: skip
(RETURN, KERNEL, HOST, JUMP, JUMP_IF, JUMP_UNLESS, COPY, ZERO, SWAP, MOVE, LEA, ROW, SET, LOOP, PUSH, POP, RELEASE,
 COMMIT, PUSH_STACK, POP_STACK) = range(len(NAMES))  # fmt: skip
DONE, TO_HOST, PAUSED, STOPPED, GROW, FAILED = range(6)
THREADS, STOP, PLACE, ID, CODE, BUMP, LIMIT, WANTED, PAUSE, COMMIT_ENV, FREE = 0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32
PAUSE_NS = 50_000_000
HEADER = 64


class _Text(LoopBuilder):
    """LLVM IR in the making."""

    # ---- what instructions are made of ----

    def operand(self, i: int) -> str:
        """Operand ``i`` of the instruction."""
        return self.field("i64", "%at", i)

    def data(self, number: str) -> str:
        """The pointer of a slot."""
        return self.field("ptr", "%slots", number)

    def point(self, number: str, pointer: str) -> None:
        """Set the pointer of a slot."""
        self.do(f"store ptr {pointer}, ptr {self.place('ptr', '%slots', number)}")

    def env(self, index: int | str, base: str = "%env") -> str:
        """Where a word of the environment is."""
        return self.ins(f"getelementptr i64, ptr {base}, i64 {index}")

    def get(self, index: int | str) -> str:
        return self.ins(f"load i64, ptr {self.env(index)}")

    def put(self, index: int | str, value: str) -> None:
        self.do(f"store i64 {value}, ptr {self.env(index)}")

    def go(self, target: str) -> None:
        """Go on at an instruction."""
        self.do(f"store i64 {target}, ptr %pc")
        self.do("br label %dispatch")

    def next(self) -> None:
        self.go(self.ins("add i64 %now, 1"))

    def leave(self, code: int, place: str) -> None:
        """Return to Python, to go on at ``place``."""
        self.put(PLACE, place)
        self.do(f"ret i32 {code}")

    def behind(self, pointer: str, count: str | int) -> str:
        return self.ins(f"getelementptr i8, ptr {pointer}, i64 {count}")

    def copy(self, dst: str, src: str, count: str) -> None:
        self.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {dst}, ptr {src}, i64 {count}, i1 false)")

    def branch(self, condition: str, then: str) -> None:
        """Branch to ``then`` or fall through."""
        other = self.name("else")
        self.do(f"br i1 {condition}, label %{then}, label %{other}")
        self.label(other)


def _kernel(t: _Text) -> None:
    address, words = (t.ins(f"inttoptr i64 {t.operand(i)} to ptr") for i in (1, 2))
    env = t.ins("load ptr, ptr %kernel_env")
    t.do(f"%code = call i32 {address}(ptr %slots, ptr {words}, ptr {env})")
    t.branch(t.ins("icmp ne i32 %code, 0"), "trouble")
    t.do(f"store i64 {t.ins('add i64 %now, 1')}, ptr %pc")
    t.do("br label %poll")
    t.label("trouble")
    t.put(ID, t.operand(3))
    t.put(CODE, t.ins("sext i32 %code to i64"))
    resume = t.operand(4)
    t.branch(t.ins("icmp eq i32 %code, 1"), "declined")
    t.put(PLACE, "%now")
    stopped = t.ins("icmp eq i32 %code, 2")
    t.do(f"ret i32 {t.ins(f'select i1 {stopped}, i32 {STOPPED}, i32 {FAILED}')}")
    t.label("declined")
    t.leave(TO_HOST, resume)


def _host(t: _Text) -> None:
    t.put(ID, t.operand(1))
    t.leave(TO_HOST, t.ins("add i64 %now, 1"))


def _jump(t: _Text) -> None:
    """Backwards only after a look whether to stop."""
    target = t.operand(1)
    t.do(f"store i64 {target}, ptr %pc")
    t.do(f"br i1 {t.ins(f'icmp sle i64 {target}, %now')}, label %poll, label %dispatch")


def _choose(t: _Text, when: str) -> None:
    """A value counts as true when it is not zero; a float of either sign of zero is zero."""
    pointer, bits, float_ = t.data(t.operand(2)), t.operand(3), t.operand(4)
    join = t.name("join")
    cases = " ".join(f"i64 {n}, label %{join}.{n}" for n in (16, 32, 64))
    t.do(f"switch i64 {bits}, label %{join}.8 [{cases}]")
    for n in (8, 16, 32, 64):
        t.label(f"{join}.{n}")
        found = t.ins(f"load i{n}, ptr {pointer}, align 1")
        twice = t.ins(f"shl i{n} {found}, {t.ins(f'trunc i64 {float_} to i{n}') if n < 64 else float_}")
        t.do(f"%{join}.v{n} = icmp ne i{n} {twice}, 0")
        t.do(f"br label %{join}")
    t.label(join)
    phi = ", ".join(f"[%{join}.v{n}, %{join}.{n}]" for n in (8, 16, 32, 64))
    true = t.ins(f"phi i1 {phi}")
    after, target = t.ins("add i64 %now, 1"), t.operand(1)
    a, b = (target, after) if when == "true" else (after, target)
    t.go(t.ins(f"select i1 {true}, i64 {a}, i64 {b}"))


def _copy(t: _Text) -> None:
    dst, src = t.data(t.operand(1)), t.data(t.operand(2))
    skip = t.name("same")
    t.branch(t.ins(f"icmp eq ptr {dst}, {src}"), skip)
    t.copy(dst, src, t.operand(3))
    t.do(f"br label %{skip}")
    t.label(skip)
    t.next()


def _zero(t: _Text) -> None:
    t.do(f"call void @llvm.memset.p0.i64(ptr {t.data(t.operand(1))}, i8 0, i64 {t.operand(2)}, i1 false)")
    t.next()


def _swap(t: _Text) -> None:
    a, b = (t.place("ptr", "%slots", t.operand(i)) for i in (1, 2))
    x, y = t.ins(f"load ptr, ptr {a}"), t.ins(f"load ptr, ptr {b}")
    t.do(f"store ptr {y}, ptr {a}")
    t.do(f"store ptr {x}, ptr {b}")
    t.next()


def _move(t: _Text) -> None:
    t.point(t.operand(1), t.data(t.operand(2)))
    t.next()


def _lea(t: _Text) -> None:
    t.point(t.operand(1), t.behind(t.data(t.operand(2)), t.operand(3)))
    t.next()


def _row(t: _Text) -> None:
    counter = t.get(t.operand(3))
    t.point(t.operand(1), t.behind(t.data(t.operand(2)), t.ins(f"mul i64 {counter}, {t.operand(4)}")))
    t.next()


def _set(t: _Text) -> None:
    t.put(t.operand(1), t.operand(2))
    t.next()


def _loop(t: _Text) -> None:
    counter = t.operand(1)
    moved = t.ins(f"add i64 {t.get(counter)}, {t.operand(2)}")
    t.put(counter, moved)
    over = t.ins(f"icmp eq i64 {moved}, {t.operand(3)}")
    after = t.ins("add i64 %now, 1")
    t.do(f"store i64 {t.ins(f'select i1 {over}, i64 {after}, i64 {t.operand(4)}')}, ptr %pc")
    t.do("br label %poll")


def _push(t: _Text, stack: bool) -> None:
    """A node from the free list of its size, else from the chunk; without room Python is asked for a new chunk."""
    size = t.operand(4)
    pool = t.env(t.operand(5))
    head = t.ins(f"load ptr, ptr {pool}")
    name = t.name("push")
    t.do(f"br i1 {t.ins(f'icmp eq ptr {head}, null')}, label %{name}.new, label %{name}.old")
    t.label(f"{name}.old")
    t.do(f"store ptr {t.ins('load ptr, ptr ' + t.behind(head, 8))}, ptr {pool}")
    t.do(f"br label %{name}.go")
    t.label(f"{name}.new")
    bump = t.get(BUMP)
    wide = t.ins(f"add i64 {size}, {HEADER + 63}")
    end = t.ins(f"add i64 {bump}, {t.ins(f'and i64 {wide}, -64')}")
    t.do(f"br i1 {t.ins(f'icmp ugt i64 {end}, {t.get(LIMIT)}')}, label %{name}.grow, label %{name}.take")
    t.label(f"{name}.grow")
    t.put(WANTED, t.ins(f"sub i64 {end}, {bump}"))
    t.leave(GROW, "%now")
    t.label(f"{name}.take")
    t.put(BUMP, end)
    fresh = t.ins(f"inttoptr i64 {bump} to ptr")
    t.do(f"br label %{name}.go")
    t.label(f"{name}.go")
    node = t.ins(f"phi ptr [{head}, %{name}.old], [{fresh}, %{name}.take]")
    t.do(f"store ptr {t.data(t.operand(2))}, ptr {node}")
    value = t.data(t.operand(3))
    if stack:
        t.do(f"store ptr {value}, ptr {t.behind(node, HEADER)}")
    else:
        t.copy(t.behind(node, HEADER), value, size)
    t.point(t.operand(1), node)
    t.next()


def _pop(t: _Text, stack: bool) -> None:
    node = t.data(t.operand(3))
    t.point(t.operand(1), t.ins(f"load ptr, ptr {node}"))
    top = t.behind(node, HEADER)
    t.point(t.operand(2), t.ins(f"load ptr, ptr {top}") if stack else top)
    t.next()


def _release(t: _Text) -> None:
    """Back to the free list, unless it is the bottom."""
    node = t.behind(t.data(t.operand(1)), -HEADER)
    keep = t.name("bottom")
    t.branch(t.ins(f"icmp eq ptr {t.ins(f'load ptr, ptr {node}')}, {node}"), keep)
    pool = t.env(t.operand(2))
    t.do(f"store ptr {t.ins(f'load ptr, ptr {pool}')}, ptr {t.behind(node, 8)}")
    t.do(f"store ptr {node}, ptr {pool}")
    t.do(f"br label %{keep}")
    t.label(keep)
    t.next()


def _commit(t: _Text) -> None:
    t.put(COMMIT_ENV, t.get(THREADS))
    t.put(COMMIT_ENV + 1, "0")
    t.do(f"store ptr {t.env(COMMIT_ENV)}, ptr %kernel_env")
    t.next()


_BODIES: tuple[Callable[[_Text], None], ...] = (
    lambda t: t.leave(DONE, "%now"), _kernel, _host, _jump, lambda t: _choose(t, "true"), lambda t: _choose(t, "false"),
    _copy, _zero, _swap, _move, _lea, _row, _set, _loop, lambda t: _push(t, False), lambda t: _pop(t, False), _release,
    _commit, lambda t: _push(t, True), lambda t: _pop(t, True),
)  # fmt: skip


_COUNTING = (
    "@msnb_ticks = internal global i64 0",
    "define i32 @msnb_count(i32 %which, ptr %time) nounwind {",
    "  %old = load i64, ptr @msnb_ticks",
    "  %new = add i64 %old, 100000",
    "  store i64 %new, ptr @msnb_ticks",
    "  store i64 0, ptr %time",
    "  %rest = getelementptr i8, ptr %time, i64 8",
    "  store i64 %new, ptr %rest",
    "  ret i32 0",
    "}",
)
"""A clock that counts looks at it, where the C library has none."""


def text() -> str:
    """The interpreter in LLVM IR."""
    t = _Text()
    t.label("entry")
    for name, kind in (("pc", "i64"), ("kernel_env", "ptr"), ("time", "{ i64, i64 }"), ("end", "i64")):
        t.do(f"%{name} = alloca {kind}")
    t.do("store ptr %env, ptr %kernel_env")
    t.do(f"store i64 {t.get(PLACE)}, ptr %pc")
    t.do("%clock = load ptr, ptr @msnb_clock")
    t.do("%which = load i32, ptr @msnb_clock_id")
    t.do(f"store i64 {t.ins(f'add i64 {_clock(t)}, {t.get(PAUSE)}')}, ptr %end")
    t.do("br label %dispatch")
    t.label("dispatch")
    t.do("%now = load i64, ptr %pc")
    t.do(f"%at = getelementptr i64, ptr %table, i64 {t.ins(f'mul i64 %now, {WORDS}')}")
    cases = " ".join(f"i64 {i}, label %op{i}" for i in range(len(_BODIES)))
    t.do(f"switch i64 {t.ins('load i64, ptr %at')}, label %op0 [{cases}]")
    for i, body in enumerate(_BODIES):
        t.label(f"op{i}")
        body(t)
    _poll(t)
    head = ["@msnb_clock = global ptr null", "@msnb_clock_id = global i32 0", *_COUNTING,
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
            "define i32 @msnb_run(ptr %table, ptr %slots, ptr %env) nounwind {"]  # fmt: skip
    return "\n".join([*head, *t.lines, "}"])


def _clock(t: _Text) -> str:
    """Nanoseconds on a coarse clock."""
    t.ins("call i32 %clock(i32 %which, ptr %time)")
    seconds = t.ins("load i64, ptr %time")
    rest = t.ins(f"load i64, ptr {t.ins('getelementptr i8, ptr %time, i64 8')}")
    return t.ins(f"add i64 {t.ins(f'mul i64 {seconds}, 1000000000')}, {rest}")


def _poll(t: _Text) -> None:
    """Between instructions: has someone asked to stop, is it time to let Python have a look?"""
    t.label("poll")
    t.do("%next = load i64, ptr %pc")
    committed = t.ins(f"icmp ne ptr {t.ins('load ptr, ptr %kernel_env')}, %env")
    t.branch(committed, "dispatch")
    t.branch(t.ins(f"icmp ne i64 {t.get(STOP)}, 0"), "stopped")
    late = t.ins(f"icmp sgt i64 {_clock(t)}, {t.ins('load i64, ptr %end')}")
    t.branch(late, "paused")
    t.do("br label %dispatch")
    t.label("stopped")
    t.leave(STOPPED, "%next")
    t.label("paused")
    t.leave(PAUSED, "%next")


class Machine:
    """The loaded interpreter.

    Attributes:
        run: ``run(table, slots, env) -> code``, addresses in; it releases the GIL.
    """

    def __init__(self) -> None:
        self._library = Library(text())
        address = self._library.address
        clock, which = _system_clock()
        ctypes.c_void_p.from_address(address("msnb_clock")).value = clock or address("msnb_count")
        ctypes.c_int32.from_address(address("msnb_clock_id")).value = which
        kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        self.run: Callable[[int, int, int], int] = kind(address("msnb_run"))


def _system_clock() -> tuple[int | None, int]:
    """``clock_gettime`` and the number of its cheapest monotonic clock."""
    try:
        found = ctypes.CDLL(None).clock_gettime
    except (AttributeError, OSError, TypeError):
        return None, 0
    which = {"linux": 6, "darwin": 5}.get(sys.platform, 1)
    return ctypes.cast(found, ctypes.c_void_p).value, which


@functools.lru_cache(maxsize=1)
def machine() -> Machine:
    """The interpreter, loaded once."""
    return Machine()
