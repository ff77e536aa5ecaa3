"""The cases, one file per family. `find("lenet32")` knows `lenet_step_32`."""

from __future__ import annotations

from bench.case import Case
from bench.cases import (
    attention,
    axis,
    contrast,
    conv,
    dispatch,
    elementwise,
    gru,
    guards,
    inference,
    lenet,
    loop,
    lstm,
    matmul,
    mlp,
    norm,
    pinn,
    resnet,
    rnn,
    sparse,
    transformer,
)

FAMILIES = (
    dispatch, elementwise, norm, matmul, conv, mlp, lenet, rnn, gru, lstm, pinn, loop, transformer, resnet, guards,
    attention, contrast, inference, sparse, axis,
)  # fmt: skip
CASES: dict[str, Case] = {case.name: case for family in FAMILIES for case in family.CASES}


def _plain(name: str) -> str:
    return name.lower().replace("_step", "").replace("_", "").replace("-", "")


def find(word: str) -> list[str]:
    """Names of the cases that a word means: the case itself, else all of the family that begins so."""
    exact = [name for name in CASES if word == name or _plain(word) == _plain(name)]
    return exact or [name for name in CASES if name.startswith(word)]
