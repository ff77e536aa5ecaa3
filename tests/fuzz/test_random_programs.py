"""Random programs with state: eager, graph, jit and an oracle over NumPy see the same.

The sample here is drawn anew from the seed of the run; ``make fuzz`` runs many more. What was found once is a case:
a small program in ``cases/``, judged like any other, so its expectation is what plain Python and NumPy give.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msnb.devices.cpu.eager import kernel_cache
from tests.fuzz import oracle
from tests.fuzz.alarms import alarmed
from tests.fuzz.comparison import DTYPE, PRECISIONS, judge
from tests.fuzz.duals import HALVES, PRIMITIVES, call
from tests.fuzz.generator import DTYPES, head, program
from tests.fuzz.oracle_transforms import grad, hessian, jvp, vmap
from tests.fuzz.runner import run_oracle
from tests.fuzz.shrinker import shrink

CASES = sorted((Path(__file__).parent / "cases").glob("*.py"))
SAMPLE = 40


@pytest.mark.slow
def test_programs_do_the_same_every_way(rng: np.random.Generator) -> None:
    """A sample; a failure prints the program, which `python -m tests.fuzz --only SEED` makes small."""
    first = int(rng.integers(2**31))
    for seed in range(first, first + SAMPLE):
        text = program(seed)
        verdict = judge(text, ("eager", "kernels", "graph O0", "jit O1"))
        assert not verdict.finds, f"{verdict.finds}\n\n{text}\n(python -m tests.fuzz --only {seed} shrinks it)"


@pytest.mark.parametrize("way", ["eager", "kernels", "graph O0", "jit O1"])
def test_alarms_leave_no_trace(rng: np.random.Generator, way: str) -> None:
    """A sample of programs whose calls a signal handler ends at random moments; `--alarms` of the command runs more."""
    first = int(rng.integers(2**31))
    for seed in range(first, first + 4):
        found, _ = alarmed(program(seed), way, rng, 4)
        assert found is None, f"{found}\n\n{program(seed)}\n(python -m tests.fuzz --only {seed} --alarms)"


@pytest.mark.parametrize("case", CASES, ids=[c.stem for c in CASES])
def test_what_was_found_once(case: Path) -> None:
    text = case.read_text()
    verdict = judge(text)
    assert not verdict.finds and not verdict.unjudged, verdict
    assert set(verdict.refusals) <= set(allowed(text)), verdict.refusals


def allowed(text: str) -> list[str]:
    """Ways that a case lets msnb refuse with a sentence: a line `# refused: eager, native`."""
    lines = [line for line in text.splitlines() if line.startswith("# refused: ")]
    return [way.strip() for line in lines for way in line[len("# refused: ") :].split(",")]


# ---- the oracle itself ---------------------------------------------------------------------------

SHAPED = {
    "sum": {"axis": 0}, "cumsum": {"axis": 1}, "reshape": {"shape": (3, 2)}, "get": {"index": (slice(None), -1)},
    "where": {"cond": np.array([[True, False, True], [False, True, True]])}, "astype": {"dtype": np.float64},
    "set": {"index": (1, slice(None, None, -1))}, "stack": {"axis": 1}, "cat": {"axis": 0},
}  # fmt: skip
SMOOTH = sorted(name for name, (_, rules) in PRIMITIVES.items() if rules)
BINARY = ("add", "sub", "mul", "div", "maximum", "minimum", "where", "stack", "cat")


def operands(name: str, rng: np.random.Generator) -> list[np.ndarray]:
    x, y = rng.uniform(0.3, 2.0, (2, 2, 3))
    if name == "matmul":
        return [x, y.T]
    return [x, y[0]] if name == "set" else [x, y] if name in BINARY else [x]


@pytest.mark.parametrize("name", SMOOTH)
def test_slopes_of_the_oracle_are_differences(name: str, rng: np.random.Generator) -> None:
    """Every primitive, in every argument: the slope in a random direction is a difference quotient, to h^2."""
    args, h = operands(name, rng), 1e-6
    ways = [rng.normal(size=a.shape) for a in args]

    def f(*tensors: oracle.Tensor) -> oracle.Tensor:
        return oracle.boxed(call(name, *(t.v for t in tensors), **SHAPED.get(name, {})))

    def value(step: float) -> np.ndarray:
        return f(*(oracle.boxed(a + step * w) for a, w in zip(args, ways))).asnumpy()

    boxes, slopes = tuple(map(oracle.boxed, args)), tuple(map(oracle.boxed, ways))
    slope = jvp(f, boxes, slopes)[1].asnumpy()
    np.testing.assert_allclose(slope, (value(h) - value(-h)) / (2 * h), rtol=1e-6, atol=1e-8)


def test_the_oracle_nests(rng: np.random.Generator) -> None:
    """Derivatives of derivatives, by inputs and by weights, and lanes."""
    x = oracle.boxed(rng.normal(size=3))
    w = oracle.Parameter(oracle.boxed(rng.normal(size=3)), name="w")
    f = lambda x: (oracle.ops.sin(x) * w * w).sum()
    s, c, p = np.sin(x.v), np.cos(x.v), w.v
    np.testing.assert_allclose(hessian(f)(x).v, np.diag(-s * p * p))
    np.testing.assert_allclose(grad(lambda x: grad(f, None, w)(x).sum())(x).v, 2 * p * c)
    np.testing.assert_allclose(vmap(grad(f))(oracle.boxed(np.stack([x.v, x.v * 2]))).v[0], c * p * p)
    got = grad(f, 0, [w, w])(x)
    np.testing.assert_allclose([got[0].v, got[1][0].v, got[1][1].v], [c * p * p, 2 * p * s, 2 * p * s])


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_the_oracle_rounds_halves_once(dtype: np.dtype) -> None:
    """A sum of halves is that of the numbers, rounded; with a float beside them it is a float."""
    x = np.array([1.0, 3e-3, 3e-3, 3e-3]).astype(dtype)
    assert call("sum", x) == np.sum(x.astype(np.float64)).astype(dtype)
    assert call("mul", x, 0.1).dtype == call("div", 1.0, x).dtype == dtype
    assert call("add", x, np.ones(4, np.float32)).dtype == np.float32
    assert call("astype", x, dtype=np.float32).dtype == np.float32


# ---- the generator and the shrinker --------------------------------------------------------------


def test_a_seed_is_a_program() -> None:
    assert program(7) == program(7) != program(8)


def test_floats_are_of_every_dtype() -> None:
    drawn = {found[1] for seed in range(60) if (found := DTYPE.search(program(seed)))}
    assert drawn == set(DTYPES) == set(PRECISIONS)


STRIDED = """
def main(x, y, t):
    q = ops.stack([y, y * 2.0, x[0]])
    return q.T @ q, x @ q[::-1], ops.softmax(q.T, 0), ops.conv1d(x[None], q[:2, 1:][:, :, None])

def state():
    return {}

CALLS = [([[0.1, -0.5, 0.3], [0.7, 0.2, -0.4]], [0.1, -0.5, 0.3], 0.2)]
"""


@pytest.mark.parametrize("dtype", sorted(PRECISIONS))
def test_products_that_read_views_as_dense_are_found(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they once did in half precision: the kernels of eager mode, in any dtype."""
    text = head(dtype, 0) + STRIDED
    verdict = judge(text)
    assert verdict.judged and not verdict.finds and not verdict.refusals, verdict

    def dense(self: Any, key: Any) -> Any:
        return prepared(self, self._dense)

    prepared = kernel_cache.EagerKernel._prepared
    monkeypatch.setattr(kernel_cache.EagerKernel, "_prepared", dense)
    assert [f.way for f in judge(text, ("eager", "native", "kernels")).finds] == ["kernels"]


@pytest.mark.long
def test_the_oracle_judges_most_programs(rng: np.random.Generator) -> None:
    first = int(rng.integers(2**31))
    outcomes = [run_oracle(program(seed)) for seed in range(first, first + 60)]
    unjudged = [o.unjudged for o in outcomes if o.unjudged]
    assert len(unjudged) < 25, f"from seed {first}: {unjudged}"


def test_shrinking_keeps_what_is_needed() -> None:
    text = (
        "F = 1\ndef main(x, y, t):\n    a = x + 1\n    b = a * y\n    if t > 0:\n        b = b * wrong(a, y)\n"
        "    return a, b\ndef state():\n    return {}\nCALLS = []\n"
    )
    small = shrink(text, lambda t: "wrong(" in t)
    assert small == "F = 1\n\ndef main(x, y, t):\n    b = wrong(a, y)\n\ndef state():\n    pass\nCALLS = []\n"
