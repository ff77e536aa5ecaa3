"""What one framework answers: ``python answers.py OUT`` under MindSpore, ``python -m msnb.as_mindspore answers.py OUT``
under the alias.

Every name is called with every pattern in PyNative mode; the pickle OUT holds, by name and pattern, the arrays of the
results and of the gradients, or the class and first words of the error. A library that dies takes one name with it: the
next run goes on behind it.
"""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from patterns import PATTERNS

PLACES = ("ops", "mint", "mint.nn.functional", "mint.linalg", "mint.special", "numpy", "nn")
RANDOM = tuple(
    "rand normal uniform gamma poisson multinomial bernoulli dropout shuffle choice permutation sampler random empty "
    "seed laplace exponential rrelu gumbel".split()
)
"""Parts of the names of draws: two frameworks have two streams."""
OUTSIDE = tuple(
    "print Print all_ reduce_scatter broadcast_ barrier send recv scatter_object jit Send Receive All Collective "
    "Broadcast Custom Reduce grad vmap get_ set_ Neigh derivative jvp vjp jac hook Assert stop depend Depend Pull Push "
    "Map Tensor Summary Histogram ScalarS ImageS Load NPU Inner Gather_ MultitypeFunc Morph silent move_to Partial "
    "partial recompute Ops op_ GradOperation".split()
)
"""Beginnings of names that are no functions of tensors: transforms, communication, tools."""
LIMIT = 20
"""Seconds for one call."""


def shared_names(ms: Any) -> list[str]:
    """Dotted names of functions, of Primitive classes and layers made without arguments, and of Tensor methods."""
    found = []
    for place in PLACES:
        module = importlib.import_module(f"mindspore.{place}")
        for name in sorted(dir(module)):
            word = any(name.startswith(w) for w in OUTSIDE) or any(w in name.lower() for w in RANDOM)
            if not name.startswith("_") and not word and callable(getattr(module, name, None)):
                found.append(f"{place}.{name}")
    methods = [n for n in sorted(dir(ms.Tensor)) if not n.startswith("_") and callable(getattr(ms.Tensor, n))]
    words = (*RANDOM, "init", "flush", "asnumpy", "register", "pin", "to_", "from_", "storage", "set", "assign")
    return found + [f"Tensor.{n}" for n in methods if not any(w in n for w in words)]


def callable_of(ms: Any, name: str) -> Callable[..., Any] | None:
    """The function of a dotted name; of a class what it does when it is made without arguments."""
    place, _, last = name.rpartition(".")
    if place == "Tensor":
        return lambda *args, **kw: getattr(args[0], last)(*args[1:], **kw)
    made = getattr(importlib.import_module(f"mindspore.{place}"), last, None)
    return made() if isinstance(made, type) else made


def tensors(made: Any) -> list[Any]:
    """The tensors in a result, in order; numbers as they are."""
    if isinstance(made, (tuple, list)):
        return [t for part in made for t in tensors(part)]
    return [made]


def array(x: Any) -> Any:
    """A result as an array that can be pickled without the framework."""
    if hasattr(x, "asnumpy"):
        return (x.astype("float32") if str(x.dtype) == "BFloat16" else x).asnumpy()
    return x if np.isscalar(x) else repr(x)[:80]


def lifted(ms: Any, x: Any) -> Any:
    """Arrays as tensors, also inside tuples."""
    if isinstance(x, tuple) and x and isinstance(x[0], str):
        from patterns import ARRAYS

        return tuple(ms.Tensor(ARRAYS[name].copy()) for name in x)
    return ms.Tensor(x) if isinstance(x, np.ndarray) else x


def gradients(ms: Any, fn: Callable[..., Any], operands: list[Any], keywords: dict[str, Any]) -> Any:
    """By every operand of floats, of the results weighed by fixed numbers; None where there is nothing to ask."""
    at = [i for i, x in enumerate(operands) if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size]
    if not at:
        return None

    def loss(*given: Any) -> Any:
        full = [lifted(ms, x) for x in operands]
        for i, x in zip(at, given):
            full[i] = x
        total: Any = ms.Tensor(0.0, ms.float32)
        for k, t in enumerate(tensors(fn(*full, **keywords))):
            if isinstance(t, ms.Tensor) and "loat" in str(t.dtype):
                weight = np.random.default_rng(k).standard_normal(t.shape)
                total = total + (t.astype(ms.float32) * ms.Tensor(weight.astype(np.float32))).sum()
        return total

    found = ms.grad(loss, tuple(range(len(at))))(*(ms.Tensor(operands[i]) for i in at))
    return [array(g) for g in tensors(found)]


def answer(ms: Any, fn: Callable[..., Any], pattern: Any) -> tuple[Any, ...]:
    """("ok", results, gradients) or ("error", class, words)."""
    operands = pattern.arrays()
    try:
        signal.alarm(LIMIT)
        found = [array(t) for t in tensors(fn(*(lifted(ms, x) for x in operands), **pattern.keywords))]
    except BaseException as e:
        return "error", type(e).__name__, str(e)[:300]
    finally:
        signal.alarm(0)
    try:
        signal.alarm(LIMIT)
        return "ok", found, gradients(ms, fn, pattern.arrays(), pattern.keywords)
    except BaseException as e:
        return "ok", found, f"{type(e).__name__}: {str(e)[:300]}"
    finally:
        signal.alarm(0)


def late(*_: Any) -> None:
    raise TimeoutError(f"longer than {LIMIT} s")


def main(out: Path) -> None:
    import mindspore as ms

    ms.set_context(mode=ms.PYNATIVE_MODE, device_target="CPU")
    signal.signal(signal.SIGALRM, late)
    done: dict[str, Any] = {}
    if out.exists():
        with out.open("rb") as f:
            while True:
                try:
                    name, found = pickle.load(f)
                except EOFError:
                    break
                done[name] = found
    names = shared_names(ms) if "MSNB_PEER_NAMES" not in os.environ else os.environ["MSNB_PEER_NAMES"].split(",")
    with out.open("ab") as f:
        for name in names:
            if name in done:
                continue
            mark = f.tell()
            pickle.dump((name, {}), f)  # kept if the library dies here
            f.flush()
            try:
                fn = callable_of(ms, name)
            except BaseException as e:
                found: Any = {"": ("error", type(e).__name__, str(e)[:300])}
            else:
                found = {str(p): answer(ms, fn, p) for p in PATTERNS} if fn is not None else {}
            f.seek(mark)
            f.truncate()
            pickle.dump((name, found), f)
            f.flush()
    print("done", len(names))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
