"""How equal two ways of computing one thing are: to the bit where operations run one by one, to rounding where groups
of them are machine code.

    jit_level O0    eager and graph call the same NumPy body with the same arrays          the same bits
    jit_level O1    generated exp, sin and tanh are good to a few ulp, sums run in         the same numbers,
                    another order                                                           to rounding

At O1 this goes for one program that is run twice, too: an eager gradient is computed by the reference bodies where its
structure is met for the first time in a process, and by machine code from then on.

A sum is wrong by its terms' rounding, not by its own: where the terms cancel, as in the gradient of a scale in front of
a normalisation, nothing of the sum's digits need be right. So the bound at O1 is a part of the largest number of all
gradients, or of all Parameters, and not of each array.

Adam and its kin divide a gradient g by sqrt(v) + eps, where sqrt(v) is about |g|: with eps at its default of 1e-8 the
noise of rounding in a gradient that is truly zero (the bias of attention's keys) becomes a step as large as the
learning rate. With eps = 1e-2 a step changes by at most 2 lr / eps times the change of g, with lr = 1e-2 that is twice
as much as g.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import msnb as ms

LEVELS = ("O0", "O1")
ROUNDING = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}


def exact() -> bool:
    """True where operations run one by one."""
    return bool(ms.get_context("jit_level") == "O0")


def steady(name: str = "eps") -> dict[str, float]:
    """The option that keeps an adaptive optimizer from blowing up rounding; none where there is no rounding to fear."""
    return {} if exact() else {name: 1e-2}


def alike(found: Any, want: Any, what: str = "") -> None:
    """The same numbers: bit for bit at O0, within some ulp of the largest number at O1."""
    found, want = np.asarray(found), np.asarray(want)
    assert found.dtype == want.dtype, what
    if exact() or want.dtype not in ROUNDING:
        np.testing.assert_array_equal(found, want, err_msg=what)
    else:
        bound = ROUNDING[want.dtype] * max(np.abs(want).max(initial=0), 1e-6)
        np.testing.assert_allclose(found, want, rtol=0, atol=bound, err_msg=what)


def largest(numbers: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, float]:
    """For each name the largest number of its kind, which is the first word of the name."""
    sizes: dict[str, float] = {}
    for name, value in numbers.items():
        kind = name.split()[0]
        sizes[kind] = max(sizes.get(kind, 1e-6), float(np.abs(value).max(initial=0)))
    return {name: sizes[name.split()[0]] for name in numbers}
