"""Elementary functions where the GPU has an instruction for their heart.

    exp     y = x log2(e), l = what y was rounded by:     2^y (1 + l ln2)         2^y is one instruction, off by 2 ulp
    a / b   inside of functions: div.full, off by 2 ulp   (a division that the program writes is rounded exactly)
    a / b   where all elements have one b: its reciprocal r is taken once, q = a r is corrected by what is left of a

Sources: https://docs.nvidia.com/cuda/parallel-thread-execution/#floating-point-instructions-ex2; P. Markstein,
"Computation of elementary functions on the IBM RISC System/6000 processor", 1990, for quotients without a division.
"""

from __future__ import annotations

from msnb.devices.llvm.math_functions import Maths

LOG2_E, LOG2_E_LOW, LN2 = 1.4426950216293335, 1.925963033500e-08, 0.6931471805599453
FAR = 200.0
LARGE = 2.0**64


class DeviceMaths(Maths):
    """The functions of float32 on a GPU; those of float64 are the host's formulas."""

    def div(self, a: str, b: str) -> str:
        """a / b, off by 2 ulp at most."""
        return super().div(a, b) if self.kind != "float" else self._each("div.full", a, b)

    def quotients(self, a: str, b: str) -> str:
        """a / b for one b, the same in all lanes: as a division rounds, but one unit off where a is below 2^-100 or the
        quotient below 2^-126.

        A power of two brings b to where its reciprocal has all its digits. Where zeros or infinities meet, what is
        corrected is no number; where nothing is left of a it may lose the sign of a zero: q is the answer then.
        """
        lanes, self.e.lanes = self.e.lanes, 1
        one = DeviceMaths(self.e, self.kind)
        size = one.fabs(b)
        small, large = one.test("olt", size, one.c(1 / LARGE)), one.test("ogt", size, one.c(LARGE))
        scale = one.pick(small, one.c(LARGE), one.pick(large, one.c(1 / LARGE), one.c(1.0)))
        near = one.mul(b, scale)
        numbers = [one.op("fdiv", one.c(1.0), near), near, scale]
        self.e.lanes = lanes
        r, near, scale = [self.e.splat(self.kind, x) for x in numbers]
        q = self.mul(a, r)
        left = self.fma(q, near, self._minus(a), exact=True)
        better = self.fma(self._minus(left), r, q, exact=True)
        return self.mul(self.pick(self.test("one", better, q), better, q), scale)

    def _minus(self, x: str) -> str:
        return self.e.ins(f"fneg {self.t} {x}")

    def exp(self, x: str) -> str:
        """e^x."""
        x = self._extreme("minimum", self._most(x, -FAR), FAR)
        y = self.mul(x, self.c(LOG2_E))
        low = self.fma(x, self.c(LOG2_E_LOW), self.fma(x, self.c(LOG2_E), self._minus(y), exact=True))
        return self.mul(self._each("ex2.approx.f", y), self.fma(low, self.c(LN2), self.c(1.0)))

    def _most(self, x: str, low: float) -> str:
        """The larger of both; NaN stays."""
        return self._extreme("maximum", x, low)

    def _extreme(self, name: str, x: str, bound: float) -> str:
        function = f"llvm.{name}.{self.e.suffix(self.kind)}"
        return self.e.call(function, self.t, (self.t, x), (self.t, self.c(bound)))

    def _each(self, name: str, *operands: str) -> str:
        """An instruction for one float, on each element of the thread."""
        lanes, e = self.e.lanes, self.e
        columns = [[self._part(v, k) for v in operands] for k in range(lanes)]
        e.lanes = 1
        found = [e.call(f"llvm.nvvm.{name}", "float", *(("float", v) for v in column)) for column in columns]
        e.lanes = lanes
        return self._joined(found)

    def _part(self, value: str, k: int) -> str:
        if self.e.lanes == 1 or value.startswith("splat"):
            return value if self.e.lanes == 1 else value[value.index("float ") + 6 : -1]
        return self.e.ins(f"extractelement {self.t} {value}, i64 {k}")

    def _joined(self, parts: list[str]) -> str:
        if self.e.lanes == 1:
            return parts[0]
        found = "poison"
        for k, part in enumerate(parts):
            found = self.e.ins(f"insertelement {self.t} {found}, float {part}, i64 {k}")
        return found
