"""The text of a chain's kernel in LLVM IR; see `chain_kernel`, which calls it where there is a compiler."""

from __future__ import annotations

from msnb.dataset.chains.kernel_kind import AT, CALL, KernelKind
from msnb.devices.cpu.llvm.jit import Library, attributes
from msnb.devices.llvm.loop_builder import LoopBuilder, module, units

_LANES = 8
_ROUNDING = "0x4168000000000000"  # 1.5 * 2**23: added to it, a small float has its whole number in the lowest bits


def library(kind: KernelKind) -> Library:
    """The kernel of a kind, compiled or from the cache."""
    body = _Kernel(kind).b
    return Library(module([body], units("msnb_chain", attributes(), body)))


class _Kernel:
    """The loops over images, rows and columns."""

    def __init__(self, kind: KernelKind) -> None:
        self.kind, self.b = kind, LoopBuilder()
        b = self.b
        call = {name: b.word(i) for i, name in enumerate(CALL)}
        self.jobs, self.table, self.border, self.lines = (
            b.ins(f"inttoptr i64 {call[name]} to ptr") for name in ("jobs", "table", "border", "lines")
        )
        self.height, self.width, self.entries = call["height"], call["width"], call["line"]
        b.loop(("%begin", "%end", 1), [], self._image)
        b.do("ret void")

    def _image(self, i: str, _: list[str]) -> list[str]:
        b = self.b
        base = b.place("i64", self.jobs, b.i64("mul", i, len(AT)))
        self.word = {name: b.field("i64", base, at) for name, at in AT.items()}
        self.line = b.place("float", self.lines, b.i64("mul", i, self.entries) if self.kind.blends else 0)
        self.source, self.out = self._pointer("source"), self._pointer("out")
        self.stride = b.i64("mul", self.word["width"], self.kind.channels)
        b.loop(("0", self.height, 1), [], self._blended_row if self.kind.blends else self._picked_row)
        return []

    def _pointer(self, name: str) -> str:
        return self.b.ins(f"inttoptr i64 {self.word[name]} to ptr")

    def _entry(self, name: str, index: str) -> str:
        """An entry of a table of places, as i64."""
        place = self.b.place("i32", self._pointer(name), index)
        return self.b.ins(f"sext i32 {self.b.ins(f'load i32, ptr {place}')} to i64")

    def _weight(self, name: str, index: str) -> str:
        return self.b.ins(f"load float, ptr {self.b.place('float', self._pointer(name), index)}")

    # ---- picked ----

    def _picked_row(self, y: str, _: list[str]) -> list[str]:
        b = self.b
        row = self._entry("y_low", y)
        outside = b.ins(f"icmp slt i64 {row}, 0")
        start = b.place("i8", self.source, b.i64("mul", b.larger(row, "0"), self.stride))

        def pixel(x: str, _: list[str]) -> list[str]:
            column = self._entry("x_low", x)
            none = b.ins(f"or i1 {outside}, {b.ins(f'icmp slt i64 {column}, 0')}")
            inside = b.place("i8", start, b.i64("mul", column, self.kind.channels))
            place = b.ins(f"select i1 {none}, ptr {self.border}, ptr {inside}")
            for c in range(self.kind.channels):
                value = b.ins(f"load i8, ptr {b.place('i8', place, c)}")
                self._store(y, x, c, b.ins(f"zext i8 {value} to i64"))
            return []

        b.loop(("0", self.width, 1), [], pixel)
        return []

    # ---- blended ----

    def _blended_row(self, y: str, _: list[str]) -> list[str]:
        b = self.b
        low, high = (self._source_row(self._entry(name, y)) for name in ("y_low", "y_high"))
        weight = self._weight("y_weight", y)
        begin, end = (b.i64("mul", self.word[name], self.kind.channels) for name in ("begin", "end"))
        whole = b.i64("sub", end, b.i64("srem", b.i64("sub", end, begin), _LANES))
        many = f"<{_LANES} x float>"
        first = b.ins(f"insertelement {many} poison, float {weight}, i64 0")
        wide = b.ins(f"shufflevector {many} {first}, {many} poison, <{_LANES} x i32> zeroinitializer")
        b.loop((begin, whole, _LANES), [], lambda i, _: self._mix(low, high, wide, i, _LANES))
        b.loop((whole, end, 1), [], lambda i, _: self._mix(low, high, weight, i, 1))
        for c in range(self.kind.channels):  # the border's pixel
            value = b.ins(f"load i8, ptr {b.place('i8', self.border, c)}")
            place = b.place("float", self.line, b.i64("add", self.stride, c))
            b.do(f"store float {b.ins(f'uitofp i8 {value} to float')}, ptr {place}")
        b.loop(("0", self.width, 1), [], lambda x, _: self._pixel(y, x))
        return []

    def _source_row(self, row: str) -> str:
        inside = self.b.place("i8", self.source, self.b.i64("mul", row, self.stride))
        test = self.b.ins(f"icmp slt i64 {row}, 0")
        return self.b.ins(f"select i1 {test}, ptr {self._pointer('row')}, ptr {inside}")

    def _mix(self, low: str, high: str, weight: str, i: str, lanes: int) -> list[str]:
        """Entries of the line, from ``i`` on."""
        b, floats, bytes_ = self.b, *((f"<{lanes} x {t}>" if lanes > 1 else t) for t in ("float", "i8"))
        ends = []
        for row in (low, high):
            loaded = b.ins(f"load {bytes_}, ptr {b.place('i8', row, i)}, align 1")
            ends.append(b.ins(f"uitofp {bytes_} {loaded} to {floats}"))
        between = self._between(floats, ends, weight)
        b.do(f"store {floats} {between}, ptr {b.place('float', self.line, i)}, align 4")
        return []

    def _between(self, kind: str, ends: list[str], weight: str) -> str:
        low, high = ends
        part = self.b.ins(f"fmul {kind} {self.b.ins(f'fsub {kind} {high}, {low}')}, {weight}")
        return self.b.ins(f"fadd {kind} {low}, {part}")

    def _pixel(self, y: str, x: str) -> list[str]:
        b = self.b
        low, high = (b.i64("mul", self._entry(name, x), self.kind.channels) for name in ("x_low", "x_high"))
        weight = self._weight("x_weight", x)
        for c in range(self.kind.channels):
            places = [b.place("float", self.line, b.i64("add", p, c)) for p in (low, high)]
            ends = [b.ins(f"load float, ptr {place}") for place in places]
            rounded = b.ins(f"fadd float {self._between('float', ends, weight)}, {_ROUNDING}")
            bits = b.ins(f"and i32 {b.ins(f'bitcast float {rounded} to i32')}, 255")
            self._store(y, x, c, b.ins(f"zext i32 {bits} to i64"))
        return []

    # ---- results ----

    def _store(self, y: str, x: str, c: int, value: str) -> None:
        """What the table has for a value, where it belongs."""
        b, kind = self.b, f"i{8 * self.kind.size}"
        found = b.ins(f"load {kind}, ptr {b.place(kind, self.table, b.i64('add', value, 256 * c))}")
        if self.kind.first:
            row = b.i64("add", b.i64("mul", self.height, c), y)
            place = b.i64("add", b.i64("mul", row, self.width), x)
        else:
            pixel = b.i64("add", b.i64("mul", y, self.width), x)
            place = b.i64("add", b.i64("mul", pixel, self.kind.channels), c)
        b.do(f"store {kind} {found}, ptr {b.place(kind, self.out, place)}")
