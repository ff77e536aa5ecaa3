"""Discrete Fourier transforms of few numbers, as straight code on vectors: what the passes of a long one are made of.

    2, 4, 8        of the even and of the odd numbers, put together: X[k] = E[k] + w^k O[k]
    odd, r         with a_j = x_j + x_(r-j), b_j = x_j - x_(r-j), j to (r-1)/2:
                   X[k], X[r-k] = x_0 + sum of cos(2 pi jk/r) a_j  -+  i sum of sin(2 pi jk/r) b_j

Products and sums are one rounding where the CPU has such an instruction, as in every sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msnb.devices.llvm import Emitter

RADICES = (8, 4, 2, 3, 5, 7, 11, 13)
"""The lengths that there is code for."""
Complex = tuple[str, str]
"""Registers of real and imaginary parts."""


class Butterfly:
    """Arithmetic of complex numbers in registers of an emitter.

    Args:
        e: whose lanes they have.
        kind: LLVM's name of a part.
    """

    def __init__(self, e: Emitter, kind: str) -> None:
        self.e: Emitter = e
        self.kind: str = kind

    def op(self, name: str, a: str, b: str) -> str:
        """A sum, difference or product of parts."""
        return self.e.ins(f"f{name} contract {self.e.t(self.kind)} {a}, {b}")

    def scaled(self, x: str, factor: float) -> str:
        """A part times a constant."""
        return self.op("mul", x, self.e.real(factor, self.kind))

    def both(self, name: str, x: Complex, y: Complex) -> Complex:
        """A sum or difference."""
        return self.op(name, x[0], y[0]), self.op(name, x[1], y[1])

    def times(self, x: Complex, w: Complex) -> Complex:
        """A product."""
        real = self.op("sub", self.op("mul", x[0], w[0]), self.op("mul", x[1], w[1]))
        return real, self.op("add", self.op("mul", x[0], w[1]), self.op("mul", x[1], w[0]))

    def transform(self, xs: Sequence[Complex]) -> list[Complex]:
        """The transform of as many numbers as one of ``RADICES`` says."""
        if len(xs) == 1:
            return list(xs)
        return self._odd(xs) if len(xs) % 2 else self._even(xs)

    def _even(self, xs: Sequence[Complex]) -> list[Complex]:
        even, odd = self.transform(xs[0::2]), self.transform(xs[1::2])
        turned = [self._turned(x, k, len(xs)) for k, x in enumerate(odd)]
        return [self.both(name, x, y) for name in ("add", "sub") for x, y in zip(even, turned)]

    def _turned(self, x: Complex, k: int, n: int) -> Complex:
        """x exp(-2 pi i k / n) for k below n / 2 and n up to 8."""
        if k == 0:
            return x
        if 4 * k == n:
            return x[1], self.e.ins(f"fneg {self.e.t(self.kind)} {x[0]}")
        total, rest = self.op("add", *x), self.op("sub", x[1], x[0])
        half = math.sqrt(0.5)
        return (self.scaled(total, half), self.scaled(rest, half)) if k == 1 else (
            self.scaled(rest, half), self.scaled(total, -half))  # fmt: skip

    def _odd(self, xs: Sequence[Complex]) -> list[Complex]:
        r = len(xs)
        pairs = [(self.both("add", xs[j], xs[-j]), self.both("sub", xs[j], xs[-j])) for j in range(1, r // 2 + 1)]
        first = xs[0]
        for a, _ in pairs:
            first = self.both("add", first, a)
        out = [first] * r
        for k in range(1, r // 2 + 1):
            real, imag = xs[0], ("", "")
            for j, (a, b) in enumerate(pairs, 1):
                angle = 2 * math.pi * (j * k % r) / r
                cosine = math.cos(angle)
                real = self.both("add", real, (self.scaled(a[0], cosine), self.scaled(a[1], cosine)))
                turned = (self.scaled(b[1], math.sin(angle)), self.scaled(b[0], -math.sin(angle)))
                imag = self.both("add", imag, turned) if imag[0] else turned
            out[k], out[-k] = self.both("add", real, imag), self.both("sub", real, imag)
        return out
