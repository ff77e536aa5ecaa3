"""Plans for many devices, made, explained and run on one machine.

    ms.set_auto_parallel_context(parallel_mode="auto_parallel", device_num=8)
    plan = ms.parallel.plan(net, x, label)         which axis of which operator goes over which devices, and why
    plan.run(x, label)                             the plan on simulated ranks, equal to the single device

    program -> graph -> strategies (axis labels) -> costs (links, roofline) -> search -> plan -> partition -> ranks

The parts stand on different layers (``engine`` knows capture, the planner does not), so they are imported when asked
for.
"""

from typing import TYPE_CHECKING

from msnb.base import missing_names

if TYPE_CHECKING:
    from msnb.parallel.lazy_names import *

missing_names.answer_for(__name__)
