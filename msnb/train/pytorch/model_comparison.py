"""Two networks, one of PyTorch and one made of it, run on the same inputs and compared layer by layer.

    layer            class          difference
    features.0       Conv2d            2.1e-07
    features.1       BatchNorm2d       3.0e-02    <- the first that differs

A difference is the largest of all elements, over the largest of PyTorch's. Gradients are those of the sum of all
outputs, each weighted with a number that is drawn by a seed.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from msnb.api import value_and_grad
from msnb.base.settings import set_context
from msnb.core import Tensor
from msnb.ops import mul, sum as sum_of

TOLERANCE, GRADIENT_TOLERANCE, NEGLIGIBLE, SEED = 1e-4, 1e-3, 1e-3, 7
_MODES = (("layer", "class", "difference"), ("gradient of", "", "difference"))


@dataclass(frozen=True)
class Difference:
    """One row: a layer or a weight, and how far both are apart."""

    name: str
    kind: str
    value: float


@dataclass
class Comparison:
    """What was compared.

    Attributes:
        layers: in the order in which PyTorch finished them; the network itself last.
        gradients: of the weights.
    """

    layers: list[Difference] = field(default_factory=list)
    gradients: list[Difference] = field(default_factory=list)

    @property
    def first_difference(self) -> Difference | None:
        """The first layer that gives other numbers, or else the first weight whose gradient differs; None where the
        network and all gradients agree (inside it, rows may be in another order)."""
        layer = next((row for row in self.layers if not row.value <= TOLERANCE), None)
        weight = next((row for row in self.gradients if not row.value <= GRADIENT_TOLERANCE), None)
        return (layer or weight) if weight or not self.layers[-1].value <= TOLERANCE else None

    @property
    def same(self) -> bool:
        """Whether nothing differs: outputs to 1e-4, gradients to 1e-3 of the largest element."""
        return self.first_difference is None

    def _tables(self) -> Iterator[tuple[tuple[str, str, str], list[Difference]]]:
        yield _MODES[0], self.layers
        if self.gradients:
            yield _MODES[1], self.gradients

    def __str__(self) -> str:
        lines = []
        for head, rows in self._tables():
            width = max([len(row.name) for row in rows] + [len(head[0])])
            kinds = max([len(row.kind) for row in rows] + [len(head[1])])
            lines.append(f"{head[0]:{width}}  {head[1]:{kinds}}  {head[2]}")
            for row in rows:
                mark = "    <- the first that differs" if row is self.first_difference else ""
                lines.append(f"{row.name:{width}}  {row.kind:{kinds}}  {row.value:10.1e}{mark}")
        return "\n".join(line.rstrip() for line in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tables = ""
        for head, rows in self._tables():
            body = "".join(self._row(row) for row in rows)
            names = "".join(f"<th>{name}</th>" for name in head)
            tables += f"<table><tr>{names}</tr>{body}</table>"
        verdict = "no difference" if self.same else "they differ"
        return f"<div><div>PyTorch and msnb: {verdict}</div>{tables}</div>"

    def _row(self, row: Difference) -> str:
        first = row is self.first_difference
        mark = " \N{LEFTWARDS ARROW} the first that differs" if first else ""
        style = ' style="font-weight:bold"' if first else ""
        cells = f"<td>{html.escape(row.name)}</td><td>{html.escape(row.kind)}</td><td>{row.value:.1e}{mark}</td>"
        return f"<tr{style}>{cells}</tr>"


def compare_models(
    cell: Any, modules: Mapping[str, str], weights: Mapping[str, str], model: Any, inputs: Any,
) -> Comparison:  # fmt: skip
    """Run both and compare.

    Args:
        cell: the network here. modules: paths of the model's modules -> paths of Cells.
        weights: names of the model's weights -> names of those of the network, whose gradients are compared.
        model: the ``torch.nn.Module``. inputs: its inputs.

    Raises:
        What the networks raise.
    """
    torch = sys.modules["torch"]
    given = _own_inputs(list(inputs))
    found = Comparison()
    with set_context(mode="pynative"), _without_dropout(cell, model):
        theirs, names, result = _torch_outputs(torch, model, inputs)
        rows, own = _own_differences(cell, modules, given, theirs)
        found.layers = [Difference(path, names[path], rows[path]) for path in names if path in rows]
        found.layers.append(Difference("(all)", type(model).__name__, _apart(own, result)))
        if weights:
            found.gradients = _gradients(torch, cell, weights, model, inputs, given)
    return found


def _own_inputs(value: Any) -> Any:
    """Inputs, their tensors as Tensors."""
    if hasattr(value, "detach"):
        return Tensor(value.detach().cpu().numpy())
    if isinstance(value, dict):
        return {key: _own_inputs(part) for key, part in value.items()}
    return type(value)(map(_own_inputs, value)) if type(value) in (list, tuple) else value


@contextmanager
def _without_dropout(cell: Any, model: Any) -> Iterator[None]:
    """All layers but norms as in evaluation: two frameworks draw other numbers, and norms draw none."""
    training, own = [module for module in model.modules() if module.training], cell.training
    try:
        for module in training:
            module.training = hasattr(module, "running_mean")
        if own:
            cell.set_train(False)
            for part in cell.cells():
                _train_norms(part)
        yield
    finally:
        for module in training:
            module.training = True
        cell.set_train(own)


def _train_norms(cell: Any) -> None:
    for part in (cell, *cell.cells()):
        if hasattr(part, "running_mean"):
            part.set_train(True)
        elif part is not cell:
            _train_norms(part)


def _torch_outputs(torch: Any, model: Any, inputs: Any) -> tuple[dict[str, Any], dict[str, str], Any]:
    """(outputs of all modules, their classes, the result)."""
    outputs: dict[str, Any] = {}
    names: dict[str, str] = {}

    def note(path: str) -> Any:
        def hook(module: Any, _: Any, output: Any) -> None:
            if path not in outputs:
                outputs[path], names[path] = _arrays(output), type(module).__name__
        return hook  # fmt: skip

    handles = [module.register_forward_hook(note(path)) for path, module in model.named_modules()]
    state = torch.random.get_rng_state()
    try:
        with torch.no_grad():
            result = model(*inputs)
    finally:
        torch.random.set_rng_state(state)
        for handle in handles:
            handle.remove()
    return outputs, names, _arrays(result)


def _own_differences(
    cell: Any, modules: Mapping[str, str], inputs: list[Any], theirs: dict[str, Any]
) -> tuple[dict[str, float], Any]:
    """(how far each module's first results are apart, the network's result); what was compared is let go at once."""
    rows: dict[str, float] = {}

    def note(path: str) -> Any:
        def hook(module: Any, _: Any, output: Any) -> None:
            if path in theirs:
                pairs = _paired(_arrays(output), theirs.pop(path))
                if pairs[0]:
                    rows[path] = _apart(*pairs)
        return hook  # fmt: skip

    cells = dict(cell.cells_and_names())
    handles = [cells[own].register_forward_hook(note(path)) for path, own in modules.items() if own in cells]
    try:
        result = cell(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return rows, _arrays(result)


def _arrays(output: Any) -> list[Any]:
    """All tensors of a result as arrays of NumPy, copied: later layers may write into them."""
    if hasattr(output, "detach"):
        output = output.resolve_conj() if hasattr(output, "resolve_conj") else output  # PyTorch's may be lazy
        return [np.array(output.detach().cpu().numpy())]
    if isinstance(output, Tensor):
        return [np.array(output.asnumpy())]
    if isinstance(output, Mapping):
        return [array for value in output.values() for array in _arrays(value)]
    return [array for value in output for array in _arrays(value)] if isinstance(output, (tuple, list)) else []


def _paired(ours: list[Any], theirs: list[Any]) -> tuple[list[Any], list[Any]]:
    """The results of a layer that both have: a class here gives what others read: the nearest of one shape."""
    if len(ours) == len(theirs) == 1:
        return ours, theirs
    left, pairs = list(theirs), []
    for mine in ours:
        alike = (i for i, other in enumerate(left) if other.shape == mine.shape)
        at = min(alike, key=lambda i: _apart([mine], [left[i]]), default=None)
        if at is not None:
            pairs.append((mine, left.pop(at)))
    return [a for a, _ in pairs], [b for _, b in pairs]


def _apart(ours: list[Any], theirs: list[Any], least: float = 1e-12) -> float:
    """The largest difference of all elements over the largest element (or ``least``); infinite where shapes differ."""
    if len(ours) != len(theirs) or any(a.shape != b.shape for a, b in zip(ours, theirs, strict=True)):
        return float("inf")
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        if a.size:
            apart = np.abs(a.astype(np.float64) - b.astype(np.float64))
            worst = max(worst, float(apart.max()) / max(float(np.abs(b).max()), least))
    return worst


def _gradients(
    torch: Any, cell: Any, names: Mapping[str, str], model: Any, inputs: Any, given: list[Any]
) -> list[Difference]:
    """The gradients of all weights that want one."""
    factors: list[Any] = []
    theirs = _torch_gradients(torch, model, inputs, factors)
    if not theirs:
        return []
    ours = _own_gradients(cell, given, factors)
    own_name = {name: names[other] for name, weight in model.named_parameters()
                for other, same in model.named_parameters(remove_duplicate=False)
                if same is weight and names.get(other) in ours}  # fmt: skip
    # a gradient that is zero but for rounding (of a key's bias before a softmax) is measured by those of the others
    least = max(NEGLIGIBLE * max(float(np.abs(array).max()) for array in theirs.values() if array.size), 1e-12)
    return [Difference(name, "", _apart([ours[own_name[name]]], [array], least))
            for name, array in theirs.items() if name in own_name]  # fmt: skip


def _torch_gradients(torch: Any, model: Any, inputs: Any, factors: list[Any]) -> dict[str, Any]:
    """By name; ``factors`` gets the numbers that weight the outputs."""
    leaves = [tensor for tensor in _leaves(torch, model(*inputs)) if tensor.is_floating_point()]
    rng = np.random.default_rng(SEED)
    factors += [rng.standard_normal(tuple(tensor.shape)).astype(np.float32) for tensor in leaves]
    weights = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    loss = sum((tensor * torch.from_numpy(factor).to(tensor.dtype)).sum() for tensor, factor in zip(leaves, factors))
    if not weights or not getattr(loss, "requires_grad", False):
        return {}
    found = torch.autograd.grad(loss, list(weights.values()), allow_unused=True)
    return {name: np.zeros(tuple(weight.shape)) if gradient is None else gradient.cpu().numpy()
            for (name, weight), gradient in zip(weights.items(), found, strict=True)}  # fmt: skip


def _own_gradients(cell: Any, given: list[Any], factors: list[Any]) -> dict[str, Any]:
    own = [parameter for parameter in cell.get_parameters() if parameter.requires_grad]

    def total(*operands: Any) -> Any:
        results = [tensor for tensor in _tensors(cell(*operands)) if tensor.is_floating_point()]
        return sum((sum_of(mul(tensor, Tensor(factor).astype(tensor.dtype)))
                    for tensor, factor in zip(results, factors, strict=True)), Tensor(0.0))  # fmt: skip

    gradients: Any = value_and_grad(total, None, own)
    _, ours = gradients(*given)
    return {parameter.name: gradient.asnumpy() for parameter, gradient in zip(own, ours, strict=True)}


def _leaves(torch: Any, output: Any) -> Iterator[Any]:
    if isinstance(output, torch.Tensor):
        yield output
    elif isinstance(output, Mapping):
        for value in output.values():
            yield from _leaves(torch, value)
    elif isinstance(output, (tuple, list)):
        for value in output:
            yield from _leaves(torch, value)


def _tensors(output: Any) -> Iterator[Any]:
    if isinstance(output, Tensor):
        yield output
    elif isinstance(output, Mapping):
        for value in output.values():
            yield from _tensors(value)
    elif isinstance(output, (tuple, list)):
        for value in output:
            yield from _tensors(value)
