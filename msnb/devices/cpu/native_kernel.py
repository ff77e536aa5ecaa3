"""Recipes: how one node runs natively, and who gives them.

    node --provider(node, view_of)--> Recipe            asked of every node, in order of the providers
    type(recipe).prepare(recipes)                       once for all recipes of one class: compile them together
    recipe.calls(ins, outs, temps) --> [Call, ...]      slot numbers in; instructions out

A Call is a native function and the words it is given:

    i32 f(ptr slots, ptr words, ptr env)      nounwind; slots[i] is the data pointer of slot i; words: int64
    env[0] threads it may use (at least 1)    env[1] not zero: someone wants the program to stop
    returns OK, DECLINED (these values are not for me: the reference body runs instead, so results need not have been
    written, and operands must be as they were), STOPPED, or FAILED

Words are numbers, but for addresses: those are Links, which are resolved when the program is loaded, so that a program
can be kept on disk and loaded by another process (``image``, ``disk``).

Data is dense and row-major. Arena memory is aligned to 64 bytes, params and results at least to their elements. A weak
scalar (a Python number) lies in its slot as one element of its type's dtype. A size of zero is never given to a recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from msnb.ir.graph import Node, Value
from msnb.ir.kernel.strided_views import View

OK, DECLINED, STOPPED, FAILED = 0, 1, 2, 3

ViewOf = Callable[[Value], View]
"""``view_of(value)``: how the value lies in its dense base (``ir.kernel.strided_views``): base, shape, strides and
offset in elements. For a value that is no view, the value itself as it is. What has been looked through this way need
not be computed."""


class Relocation:
    """Words of a call that hold addresses: what they are is known when a program is loaded.

    Attributes:
        width: how many words.
        threads: how many threads it was made for; 1 for what takes as many as there are.
    """

    width = 1
    threads = 1

    def words(self) -> Sequence[int]:
        """The words, in this process; valid as long as the link lives."""
        raise NotImplementedError

    def data(self) -> tuple[Any, ...]:
        """How to make the link again in another process: a kind (``disk.LINKS``), then strings, ints and tuples."""
        raise NotImplementedError


class KernelCall(NamedTuple):
    """One native call: the function, and its words."""

    function: Relocation
    words: tuple[int | Relocation, ...]

    def resolved(self) -> tuple[int, list[int]]:
        """The function's address and the words in this process; valid as long as the call lives."""
        words = [w for word in self.words for w in (word.words() if isinstance(word, Relocation) else (word,))]
        return self.function.words()[0], words


class NativeKernel:
    """How one node runs natively.

    Attributes:
        reads: the values whose slots ``calls`` is given, None for the node's inputs. A recipe that absorbs a transpose
            reads the base of the view instead.
        temps: bytes of temporary memory (aligned to 64 bytes), alive during this node only.
        inplace: pairs (i of reads, j of outputs) that may be one memory: each element is read before it is written.
            Both have the same number of bytes. Not for a recipe that may decline.
        declines: a call may return DECLINED.
        guard: how the recipe is taken apart into what may decline and what cannot fail; None for most.
        joins: a joint kernel of this node and its reader may be faster than both.
        refused: set by ``prepare`` where it turned out that there is no code; the reference body runs.
    """

    reads: tuple[Value, ...] | None = None
    temps: tuple[int, ...] = ()
    inplace: tuple[tuple[int, int], ...] = ()
    declines: bool = False
    guard: Guard | None = None
    joins: bool = True
    refused: bool = False

    @classmethod
    def prepare(cls, recipes: Sequence[Any]) -> None:
        """Called once per program with all its recipes of this class, before any ``calls``: the moment to compile."""

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """The native calls of this node, for these slot numbers."""
        raise NotImplementedError


class Guard(NamedTuple):
    """A recipe that may decline, in two parts: a program runs the first one before anything is written for good.

    Attributes:
        check: reads ``indices`` and writes ``size`` bytes for ``rest``; it may decline.
        node: of the first operand and the indices: raises the error for values that ``check`` declines.
        indices, size: what ``check`` is given, and how much it leaves.
        rest: reads ``reads`` and what ``check`` left; it cannot fail.
    """

    check: NativeKernel
    node: Node
    indices: tuple[Value, ...]
    size: int
    rest: NativeKernel
    reads: tuple[Value, ...]


Provider = Callable[[Node, ViewOf], "NativeKernel | None"]

PROVIDERS: list[Provider] = []
"""Who is asked, in this order. A provider says None to what it does not know; it never raises."""


Joiner = Callable[[Node, Node, ViewOf], "NativeKernel | None"]

JOINERS: list[Joiner] = []
"""Who may run a node together with its only reader, a group: given both, a recipe in the group's place, or None."""


def find_joint(node: Node, reader: Node, view_of: ViewOf) -> NativeKernel | None:
    """The first recipe for ``reader`` that does the work of ``node``, which nothing else reads, on its way."""
    return next((r for r in (join(node, reader, view_of) for join in JOINERS) if r is not None), None)


def find_recipe(node: Node, view_of: ViewOf) -> NativeKernel | None:
    """The first recipe that a provider has for ``node``; None: the reference body runs."""
    for provider in PROVIDERS:
        found = provider(node, view_of)
        if found is not None:
            return found
    return None
