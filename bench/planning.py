"""How long planning takes: a transformer of 96 layers on 64 and on 1,024 devices.

    python bench/planning.py            every case once, against its bar

The bars are those of the whole search: a plan on 64 devices in under 10 seconds, on 1,024 in under 60. Planning runs on
one core, so seconds of the processor are counted, whatever else the machine does. Cases are planned without a memory
limit and with one that binds, layers computed twice among the choices; on all devices at once, and in eight pipeline
stages whose devices the planner shares out.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import msnb as ms
from msnb import nn, ops

BARS = {64: 10.0, 1024: 60.0}
PIPED = {"pipeline_stages": 8, "stage_devices": "auto"}


class Layer(nn.Cell):
    """Norm, attention, norm, MLP, with two skips."""

    def __init__(self, h: int, heads: int) -> None:
        super().__init__()
        self.h, self.heads = h, heads
        self.n1, self.n2 = nn.LayerNorm((h,)), nn.LayerNorm((h,))
        self.qkv, self.out = nn.Dense(h, 3 * h), nn.Dense(h, h)
        self.up, self.down = nn.Dense(h, 4 * h), nn.Dense(4 * h, h)

    def construct(self, x: Any) -> Any:
        b, t, h = x.shape
        q, k, v = (ops.transpose(ops.reshape(part, (b, t, self.heads, h // self.heads)), (0, 2, 1, 3))
                   for part in ops.split(self.qkv(self.n1(x)), self.h, axis=2))  # fmt: skip
        seen = ops.matmul(ops.softmax(ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))), -1), v)
        x = x + self.out(ops.reshape(ops.transpose(seen, (0, 2, 1, 3)), (b, t, h)))
        return x + self.down(ops.gelu(self.up(self.n2(x))))


class Transformer(nn.Cell):
    """A language model, with its loss."""

    def __init__(self, layers: int, h: int = 1024, words: int = 32000) -> None:
        super().__init__()
        self.table = nn.Embedding(words, h)
        self.layers = nn.CellList([Layer(h, 16) for _ in range(layers)])
        self.head = nn.Dense(h, words)

    def construct(self, ids: Any, following: Any) -> Any:
        x = self.table(ids)
        for layer in self.layers:
            x = layer(x)
        z = self.head(x)
        return ops.cross_entropy(ops.reshape(z, (-1, z.shape[-1])), following)


def planned(layers: int, devices: int, piped: bool, limit: float | None = None, **how: Any) -> tuple[float, Any]:
    """Seconds of a processor for planning, capture included, and the plan."""
    rows, micro = devices, 16
    with nn.no_init_parameters():
        net: Any = Transformer(layers)
    net = nn.PipelineCell(net, micro) if piped else net
    rows *= micro if piped else 1
    inputs = ms.parallel.blank((rows, 512), ms.int32), ms.parallel.blank((rows * 512,), ms.int32)
    start = time.process_time()
    plan = ms.parallel.plan(net, *inputs, device_num=devices, memory_limit=limit, **how)
    return time.process_time() - start, plan


def most(plan: Any) -> float:
    """Bytes of the fullest device."""
    rows = plan.memory if isinstance(plan.memory, list) else [plan.memory]
    return max(float(row["total"]) for row in rows)


def main() -> None:
    """Print a line per case."""
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--layers", type=int, default=96)
    args.add_argument("--devices", type=int, nargs="*", default=list(BARS))
    args.add_argument("--stages", choices=("with", "without", "both"), default="both")
    told = args.parse_args()
    for devices in told.devices:
        for piped in {"with": (True,), "without": (False,), "both": (False, True)}[told.stages]:
            free, plan = planned(told.layers, devices, piped, **(PIPED if piped else {}))
            limit = 0.7 * most(plan)
            how = {**(PIPED if piped else {}), "recompute": "auto"}
            bound, other = planned(told.layers, devices, piped, limit, **how)
            for seconds, made, said in ((free, plan, "no limit"), (bound, other, f"{limit / 1e9:.2f} GB")):
                bar = f"{seconds / BARS[devices]:.2f} of the bar" if devices in BARS else ""
                where = f"stages of {made.devices}" if piped else "no stages"
                print(f"{devices:5} devices, {said:>9}: {seconds:6.2f} s {bar:18} {where}, "
                      f"{len(made.again)} layers twice", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
