"""One call of a library of NVIDIA's, and what has to happen around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msnb.base.settings import get_context
from msnb.ir.graph import Value
from msnb.ir.kernel import Kernel, View

ViewOf = Callable[[Value], View]
FLOATS = frozenset(("float16", "bfloat16", "float32", "float64"))


@dataclass
class LibraryCall:
    """One call of a library.

    Attributes:
        reads: the values whose memory it reads, in order.
        offsets: bytes from there to each operand.
        workspace: bytes of temporary memory.
        how: in words.
        launch: called with the addresses of operands, result, workspace, and the stream.
        before: by number of an operand: the copy that lays it as the library wants it.
        after: the copy from the result as the library lays it to the result as it is wanted.
    """

    reads: Sequence[Value]
    offsets: Sequence[int]
    workspace: int
    how: str
    launch: Callable[[Sequence[int], Sequence[int], int, int], None]
    before: dict[int, Kernel] = field(default_factory=dict)
    after: Kernel | None = None


def precision() -> str:
    """How float32 products are made: "highest" or "high" (TF32), as the context says."""
    return str(get_context("matmul_precision"))
