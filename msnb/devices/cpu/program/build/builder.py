"""From a graph to the image of a program: lowered, planned, encoded.

graph --Lowering--> tape --Plan--> shared, placed --Table--> rows of numbers, links
"""

from __future__ import annotations

from typing import Any

from msnb.core import StackType, TensorType
from msnb.devices.cpu.program.program_image import FIXED, FRESH, PARAM, Fresh, Image, ProgramTable, Step
from msnb.devices.cpu.program.build.graph_lowering import Lowering
from msnb.devices.cpu.program.build.memory_planner import MemoryPlan
from msnb.devices.cpu.program.build.kernel_providers import enter
from msnb.devices.cpu.program.build.encoder import Slots, InstructionTable
from msnb.devices.cpu.program.build.instructions import MemoryBlock, BufferRef
from msnb.ir.graph import Graph, Value


class ProgramBuild:
    """How a program came about, for those who look into it.

    Attributes:
        image: the program.
        tape: its instructions; choice: how nodes run; plan: the memory plan.
        checks: per instruction that is checked (``checking``) its number.
    """

    graph: Graph

    def __init__(self, graph: Graph, checking: bool = False) -> None:
        enter()
        low = Lowering(graph)
        self.graph, self.tape, self.choice = graph, low.tape, low.choice
        state = [(low.params[p], low.results[j]) for p, j in graph.state.items() if graph.params[p] not in low.results]
        pairs = [(p, r) for p, r in state if isinstance(p, MemoryBlock) and isinstance(r, MemoryBlock)]
        self.plan: MemoryPlan = MemoryPlan(self.tape.instrs, low.commit, pairs)
        slots = Slots(self.plan)
        self.table: InstructionTable = InstructionTable(self.tape, self.plan, slots, checking)
        table = self.table
        self.checks: dict[int, int] = table.checks
        steps = [Step(s.node, _numbers(s.reads, slots), _numbers(s.writes, slots)) for s in self.tape.steps]
        self.image: Image = Image(
            ProgramTable(table.rows, table.words, table.links, table.row_links, table.word_links),
            (slots.count, self.tape.counters, len(self.tape.pools)), self.plan.peak, bool(self.plan.swaps), slots.arena,
            len(low.params), steps=steps,
        )  # fmt: skip
        self._outside(low, slots)
        self._answers(low, slots)

    def _outside(self, low: Lowering, slots: Slots) -> None:
        """What slots point to that never changes, and what arguments point to."""
        found, image = slots.outside, self.image
        image.consts = [(found["const"][i], const) for i, const in enumerate(low.consts) if i in found["const"]]
        for i, t in enumerate(low.bottoms):
            assert isinstance(t, StackType)
            if i in found["bottom"]:
                image.bottoms.append((found["bottom"][i], t))
        for i, buffer in enumerate(low.params):
            param = self.graph.params[i].type
            if buffer is None or not isinstance(param, TensorType):
                continue
            if buffer.kind == "cell":
                image.numbers.append((i, found["cell"].get(i, -1), param.dtype))
            else:
                image.tensors.append((i, found["param"].get(i, -1), param))

    def _answers(self, low: Lowering, slots: Slots) -> None:
        graph, image = self.graph, self.image
        changed = [p for p, j in graph.state.items() if low.results[j] is not graph.params[p]]
        every = len(self.plan.lends) == len(changed)
        lenders = {id(r): p.index for p, r in self.plan.lends if every}
        states = set(graph.state.values())
        places: dict[int, int] = {}
        for j, (value, found) in enumerate(zip(graph.outputs, low.results)):
            if isinstance(found, MemoryBlock):
                if id(found) not in places:
                    places[id(found)] = len(image.fresh)
                    slot, t = slots.outside["result"].get(found.index, -1), value.type
                    assert isinstance(t, TensorType)
                    image.fresh.append(Fresh(slot, t, lenders.get(id(found), -1), j in states))
                image.answers.append((FRESH, places[id(found)]))
            elif isinstance(found, Value) and found.node is None:
                image.answers.append((PARAM, graph.params.index(found)))
            else:
                image.answers.append((FIXED, _constant(found)))


def _numbers(places: tuple[BufferRef | None, ...], slots: Slots) -> tuple[int, ...]:
    return tuple(-1 if p is None else slots.of(p) for p in places)


def _constant(value: Value | None) -> Any:
    if value is None:
        return None
    assert value.node is not None
    return value.node.attrs["value"]
