"""A case on the GPU: a program of bench/cases, its precision, who takes part, and the bar that it is held against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.case import Batch, Case, Seeded

COPY, BEST, PEER = "of copy bandwidth", "best peer's time / ours", "torch eager's time / ours"


@dataclass(frozen=True)
class GpuCase:
    """One row of the table.

    Attributes:
        name: what `--only` selects, from its beginning on.
        case: the program, its data and the least work; its `programs` name the frameworks.
        precision: "float32" (no rounding of operands), "tf32" or "bfloat16" (products and convolutions).
        measure: what the bar is about; bar: the least that it should be.
        graphs: PyTorch takes part with CUDA graphs, too (`mode="reduce-overhead"`).
        variants: framework -> how its program is written.
    """

    name: str
    case: Case
    precision: str = "float32"
    measure: str = BEST
    bar: float = 1.0
    graphs: bool = False
    variants: tuple[tuple[str, str], ...] = ()

    def variant(self, framework: str) -> str:
        """How a framework's program is written."""
        return dict(self.variants).get(framework, "")


def once(make: Callable[[Seeded], Batch]) -> Callable[[], list[Batch]]:
    """One batch: where batches are large, four of them would only take time to make."""
    return lambda: [make(Seeded(1))]
