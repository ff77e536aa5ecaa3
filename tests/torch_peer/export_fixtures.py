"""Writes ``tests/train/exported_programs/*.json``: graphs that PyTorch exported, for tests that run without it.

    python tests/torch_peer/export_fixtures.py

What says nothing about the program (strides, devices, the exporter's stack traces) is left out.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F

FOLDER = Path(__file__).resolve().parent.parent / "train" / "exported_programs"


class Residual(nn.Module):
    def __init__(self, inside: int, out: int, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inside, out, 3, stride, 1, bias=False)
        self.norm = nn.BatchNorm2d(out)
        self.short = nn.Sequential(nn.Conv2d(inside, out, 1, stride), nn.BatchNorm2d(out)) if stride > 1 else None

    def forward(self, x: Any) -> Any:
        return F.relu(self.norm(self.conv(x)), inplace=True) + (x if self.short is None else self.short(x))


class Convolutions(nn.Module):
    """Blocks of one class with other constants, an Identity between them, a buffer, results in a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(Residual(3, 4, 2), nn.Identity(), Residual(4, 4), Residual(4, 4), Residual(4, 8, 2))
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(8, 5)
        self.scale = nn.Parameter(torch.ones(5))
        self.register_buffer("shift", torch.ones(5))

    def forward(self, x: Any) -> Any:
        y = torch.flatten(F.adaptive_avg_pool2d(self.body(x), 1), 1)
        scores = self.head(self.drop(y)) * self.scale + self.shift
        return {"scores": scores, "parts": (y[:, :2], y.view(y.size(0), 2, -1))}


class Recurrences(nn.Module):
    """Layers of steps, whose results are unpacked."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.LSTM(5, 6, 2, batch_first=True, bidirectional=True)
        self.second = nn.GRU(12, 4, batch_first=True)

    def forward(self, x: Any) -> Any:
        y, (h, _) = self.first(x)
        return self.second(y)[0][:, -1], h


class Views(nn.Module):
    """Writes through views of many kinds, of views, twice; views that are read after what they show was written."""

    def forward(self, x: Any) -> Any:
        y, z = x * 1.0, x * 2.0
        flat, part = y.view(-1), y[1]
        flat.add_(1)
        part.mul_(2).sub_(1)
        y[1:].t()[:, 0].fill_(4.0)
        y.unsqueeze(0).permute(2, 0, 1)[0, 0, 1].fill_(9.0)
        flat[3:5] = part[:2]
        turned = z.transpose(0, 1)
        turned.mul_(2)
        turned.add_(1)
        turned[0].mul_(2).add_(3)
        first, second = z.chunk(2)
        z.narrow(1, 1, 2).neg_()
        return y, flat * 1, part + 0, z, turned, first * second


def by_rows(input: Any, weight: Any, offs: Any) -> Any:
    """Every row times the matrix of its group."""
    group = torch.searchsorted(offs, torch.arange(len(input)), right=True)
    return (input[:, None] @ weight[group])[:, 0]


# as the library of that name registers it
torch.library.custom_op("transformers::grouped_mm_fallback", by_rows, mutates_args=(),
                        schema="(Tensor input, Tensor weight, Tensor offs) -> Tensor")  # fmt: skip
torch.library.register_fake("transformers::grouped_mm_fallback", lambda x, w, _: x.new_empty(x.shape[0], w.shape[2]))


class Modes(nn.Module):
    """Parts without gradients, whose names are those of values around them; a part with gradients in one."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        y = self.layer(x)
        z = y * 2 + 1
        with torch.no_grad():
            still = self.layer(y) * 3 + z
            with torch.enable_grad():
                inner = self.layer(still) * 2
        with torch.no_grad():
            more = self.layer(z) * 3
        with torch.autocast("cpu", enabled=False):
            plain = z * y + 1
        return y * still + inner + more * z + plain


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Any, places: Any) -> Any:
        return x + self.layer(places)


class Experts(nn.Module):
    """Layers that are called with a buffer of a module around them, and by two modules; rows in groups, each through an
    expert of its own; a mask that takes nothing of its tensor; a normed weight; a count that is said twice; nothing at
    the end of a row.
    """

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("places", torch.ones(6, 4))
        self.first, self.second = Inner(), Inner()
        self.router, self.weight = nn.Linear(4, 3), nn.Parameter(torch.ones(3, 4, 5))
        self.out = nn.utils.parametrizations.weight_norm(nn.Conv1d(5, 2, 1), dim=2)

    def forward(self, x: Any) -> Any:
        x = self.second(self.first(x, self.places), self.places) + self.first.layer(x)
        best = self.router(x).argmax(-1)
        order = best.argsort(stable=True)
        ends = torch.bincount(best, minlength=3).cumsum(0)
        y = torch.ops.transformers.grouped_mm_fallback(x[order], self.weight, ends)[order.argsort(stable=True)]
        mask = x.new_ones((6, 6), dtype=torch.bool).tril()
        doubled = torch.repeat_interleave(y, 2, dim=0, output_size=12)
        return torch.cat([torch.empty(0), self.out(y.t()[None])[0]], -2), mask, doubled


class States(nn.Module):
    """States that the caller gives, in a pair and in a dict; cells; a pool whose divisor is no layer's; a wide norm."""

    def __init__(self) -> None:
        super().__init__()
        self.steps, self.cell, self.plain = nn.LSTM(5, 4), nn.GRUCell(5, 4), nn.RNN(5, 3, nonlinearity="relu")
        self.pool, self.norm = nn.AvgPool1d(2, ceil_mode=True), nn.RMSNorm((2, 4), 1e-3, elementwise_affine=False)

    def forward(self, x: Any, state: Any, more: Any) -> Any:
        y, (h, c) = self.steps(x, state)
        for step in x:
            more = {"h": self.cell(step, more["h"])}
        sums = F.avg_pool2d(y[None], 2, ceil_mode=True, divisor_override=3)
        return self.norm(y), h * c, more["h"], self.plain(x)[0], self.pool(y), sums


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        n, t, _ = x.shape
        q, k, v = (part.view(n, t, 2, 4).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).reshape(n, t, 8))


class Attention(nn.Module):
    """A loop over equal blocks, tied weights, open sizes on two axes."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(11, 8), nn.Embedding(16, 8)
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(8, 11, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids: Any) -> Any:
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Effects(nn.Module):
    """Writes into parts, a branch, a loop, a buffer that is written."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        self.calls += 1
        y = x * 1.0
        y[:, 1:3] *= 2
        first = y[0]
        y[0, 1] = 5.0
        z = torch.cond(x.sum() > 0, lambda v: self.layer(v), lambda v: v - 1, (y,))
        return z + first, first * 1.0


def state_inputs() -> tuple[Any, ...]:
    """What ``States`` takes."""
    return torch.randn(3, 2, 5), (torch.randn(1, 2, 4), torch.randn(1, 2, 4)), {"h": torch.randn(2, 4)}


def programs() -> dict[str, tuple[nn.Module, tuple[Any, ...], Any]]:
    """Name -> (module, inputs, open axes)."""
    batch, length = torch.export.Dim("batch", min=2, max=64), torch.export.Dim("length", min=2, max=16)
    return {
        "convolutions": (Convolutions().eval(), (torch.randn(2, 3, 12, 12),), ({0: batch},)),
        "recurrences": (Recurrences().eval(), (torch.randn(2, 7, 5),), ({0: batch},)),
        "states": (States().eval(), state_inputs(), None),
        "attention": (Attention().eval(), (torch.randint(0, 11, (2, 5)),), ({0: batch, 1: length},)),
        "experts": (Experts().eval(), (torch.randn(6, 4),), None),
        "modes": (Modes().eval(), (torch.randn(3, 4),), None),
        "views": (Views().eval(), (torch.randn(4, 3),), None),
        "effects": (Effects().eval(), (torch.randn(3, 4),), None),
    }  # fmt: skip


def page_of(exported: Any) -> Any:
    """The JSON of an exported program."""
    buffer = io.BytesIO()
    torch.export.save(exported, buffer)
    with zipfile.ZipFile(buffer) as archive:
        name = next(name for name in archive.namelist() if name.endswith("models/model.json"))
        return json.loads(archive.read(name))


def slim(page: Any) -> Any:
    """The page without what says nothing about the program."""
    module = page["graph_module"]
    module["module_call_graph"] = [row for row in module["module_call_graph"] if row["fqn"] == ""]
    _slim_graph(module["graph"])
    return {"graph_module": {name: module[name] for name in ("graph", "signature", "module_call_graph")},
            "schema_version": page["schema_version"], "torch_version": page["torch_version"]}  # fmt: skip


def _slim_graph(graph: Any) -> None:
    graph["tensor_values"] = {name: {key: meta[key] for key in ("dtype", "sizes")}
                              for name, meta in graph["tensor_values"].items()}  # fmt: skip
    for node in graph["nodes"]:
        meta = node["metadata"]
        node["metadata"] = {"nn_module_stack": meta["nn_module_stack"]} if "nn_module_stack" in meta else {}
        for row in node["inputs"]:
            for value in row["arg"].values():
                if isinstance(value, dict) and "graph" in value:
                    _slim_graph(value["graph"])


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, (module, inputs, axes) in programs().items():
        page = slim(page_of(torch.export.export(module, inputs, dynamic_shapes=axes)))
        (FOLDER / f"{name}.json").write_text(json.dumps(page, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
