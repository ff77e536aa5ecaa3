"""Dispatch: what one small op costs in eager mode, with and without a gradient being wanted.

A chain of 100 additions of 4x4 tensors; the figure is per op. `msnb recorded` runs inside a gradient's recording and
includes noting the op, not the backward sweep; `msnb gradient` is the whole of value_and_grad over the chain, per op.
"""

from __future__ import annotations

from harness import Unavailable, per_call, run_case

LENGTH = 100


def _chain(start: object, other: object) -> object:
    value = start
    for _ in range(LENGTH):
        value = value + other  # type: ignore[operator]
    return value


def theirs() -> dict[str, float]:
    import numpy as np

    a, b = np.ones((4, 4), np.float32), np.ones((4, 4), np.float32)
    assert float(_chain(a, b)[0, 0]) == LENGTH + 1  # type: ignore[index]
    return {"add": per_call(lambda: _chain(a, b)) / LENGTH}


def ours() -> dict[str, float]:
    import numpy as np

    import msnb as ms
    from msnb.eager.gradient import Recording

    a, b = ms.Tensor(np.ones((4, 4), np.float32)), ms.Tensor(np.ones((4, 4), np.float32))
    assert float(_chain(a, b)[0, 0]) == LENGTH + 1  # type: ignore[index]
    found = {"add": per_call(lambda: _chain(a, b)) / LENGTH}

    def recorded() -> None:
        with Recording([a]) as tape:
            _chain(tape.inputs[0], b)
        tape.release()

    found["add, recorded"] = per_call(recorded) / LENGTH
    gradient = ms.grad(_chain)
    found["add, with its gradient"] = per_call(lambda: gradient(a, b)) / LENGTH
    return found


def torch() -> dict[str, float]:
    try:
        import torch as th
    except ImportError as error:
        raise Unavailable("torch is not installed") from error
    th.set_num_threads(1)
    a, b = th.ones(4, 4), th.ones(4, 4)
    found = {"add": per_call(lambda: _chain(a, b)) / LENGTH}
    w = th.ones(4, 4, requires_grad=True)
    found["add, recorded"] = per_call(lambda: _chain(w, b)) / LENGTH

    def gradient() -> None:
        w.grad = None
        _chain(w, b).sum().backward()  # type: ignore[attr-defined]

    found["add, with its gradient"] = per_call(gradient) / LENGTH
    return found


if __name__ == "__main__":
    run_case("Dispatch of one small op", {"numpy": theirs, "msnb": ours, "torch": torch}, baseline="numpy")
