"""PyTorch's own samples of its modules, converted: what comes out computes the same, or is a stub that says so."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
common = pytest.importorskip("torch.testing._internal.common_modules")

import msnb as ms  # noqa: E402

SAMPLES, SEED = 8, 20261130
# at least half of the samples are stubs: recurrences that are the whole model, volumes
PARTLY = {"ConvTranspose3d", "GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNCell"}
OTHER = {
    "KLDivLoss": "targets below 0, of which PyTorch makes NaN",
    "ConvTranspose1d": "one example alone is refused",
}


def ours(value: Any) -> Any:
    """PyTorch's tensors as Tensors, in their nesting."""
    if isinstance(value, torch.Tensor):
        return ms.Tensor(value.detach().numpy().copy())
    return type(value)(map(ours, value)) if isinstance(value, (list, tuple)) else value


def leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, (list, tuple)) else [value]


TABLE = [info for info in common.module_db if info.module_cls.__name__ not in OTHER and ".Lazy" not in info.name]


@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
@pytest.mark.parametrize("info", TABLE, ids=lambda info: info.name)
def test_samples(info: Any, training: bool) -> None:
    if training and not info.train_and_eval_differ:
        pytest.skip("no difference")
    torch.manual_seed(SEED)
    samples = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=training)
    tried = compared = 0
    for sample in itertools.islice(samples, SAMPLES):
        made, given = sample.constructor_input, sample.forward_input
        if given.kwargs:
            continue
        try:
            module = info.module_cls(*made.args, **made.kwargs).train(training)
            want = module(*given.args)
            torch.export.export(module, given.args)
        except Exception:  # a sample of an error, or what PyTorch does not export
            continue
        tried += 1
        module = info.module_cls(*made.args, **made.kwargs).train(training)
        found = ms.from_torch(module, *given.args, dynamic=False)
        if found.missing:
            continue
        # the comparison runs the module, which keeps running statistics
        want = module.train(training)(*given.args)
        result = found.cell.set_train(training)(*map(ours, given.args))
        for a, b in zip(leaves(result), leaves(want), strict=True):
            if isinstance(b, torch.Tensor):
                close = np.allclose(np.asarray(a), b.detach().numpy(), atol=2e-4, rtol=2e-4, equal_nan=True)
                assert close, f"{module}\n{found.source}"
        compared += 1
    full = compared * 2 > tried or not tried
    assert full == (info.module_cls.__name__ not in PARTLY), f"{compared} of {tried} were compared"
