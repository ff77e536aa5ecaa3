"""Where the control-flow programs enter, and the functions with which they compute.

A program is a plain Python function that runs on NumPy float64 arrays and on tensors alike; the decorator only keeps it
with its inputs. The expected value is what plain Python gives on NumPy; its gradient is a difference of four points

    df/dx = (8 f(x + h) - 8 f(x - h) - f(x + 2h) + f(x - 2h)) / 12h       error about h^4 |f'''''| / 30 + eps |f| / h

so inputs stay away from points where a comparison changes its answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from msnb import ops
from msnb.core.tensor import Tensor


@dataclass(frozen=True)
class Program:
    """A function and the arguments with which every line of it is reached."""

    fn: Callable[..., Any]
    cases: tuple[tuple[Any, ...], ...]

    @property
    def name(self) -> str:
        return self.fn.__name__


PROGRAMS: dict[str, Program] = {}


def program(*cases: tuple[Any, ...]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Keep the function below; each case is a tuple of floats, ints and (nested) lists."""

    def keep(fn: Callable[..., Any]) -> Callable[..., Any]:
        assert fn.__name__ not in PROGRAMS, f"two programs are called {fn.__name__}"
        PROGRAMS[fn.__name__] = Program(fn, cases)
        return fn

    return keep


def _function(name: str) -> Callable[[Any], Any]:
    """ops' function on tensors, NumPy's on arrays, math's on Python numbers."""
    tensor, array, number = getattr(ops, name), getattr(np, name), getattr(math, name)

    def call(x: Any) -> Any:
        if isinstance(x, Tensor):
            return tensor(x)
        return array(x) if isinstance(x, (np.ndarray, np.generic)) else number(x)

    return call


exp, log, sin, cos, tanh, sqrt = map(_function, ("exp", "log", "sin", "cos", "tanh", "sqrt"))
