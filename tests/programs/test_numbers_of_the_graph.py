"""``int(t)``, ``float(t)`` and ``not t`` of a compiled function are Python numbers to everything that Python does."""

import itertools

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn, ops

OPERATORS = "+ - * / // % ** & | ^ << >> == != < <= > >= is".split()
NUMBERS = ("a", "b", "n", "m", "p", "q", "2", "True", "1.5")
UNARY = (
    "-({0})", "+({0})", "~({0})", "abs({0})", "not {0}", "int({0})", "float({0})", "bool({0})", "str({0})",
    "round({0})", "sum([{0}, {0}])", "divmod({0}, 2)", "pow({0}, 2)", "[1, 2, 3, 4, 5][int({0})]", "{0} in (0, 1, 2)",
    "({0}, {0})",
    "isinstance({0}, int)", "isinstance({0}, bool)", "isinstance({0}, float)", "type({0}).__name__",
    "{0}.__class__.__name__", "f'{{{0}:>8}}'", "hash({0})", "complex({0})", "x if {0} else -x", "sorted([{0}, 1])",
    "bin(int({0}))", "({0}).real", "hasattr({0}, 'shape')", "{{1, {0}}}", "{{{0}: 5}}", "{{1: 5, 3: 6}}.get({0}, 7)",
    "{0} in {{1, 2}}", "[0] * int({0})", "'ab' * int({0})", "int({0}) * (1, 2)", "2 ** abs(int({0}))",
    "2.0 ** int({0})",
    "int({0}) ** -1 if {0} else 0.0", "7 // int({0})", "7 % {0}", "7 / {0}",
)  # fmt: skip


def written(expression):
    """The expression over bools a and b, ints n and m, floats p and q that the graph computes, and the tensor x."""
    space = {}
    exec(
        "def f(x):\n"
        "    a, b = not x[0] > 2, not x[1] > 0\n"
        "    n, m = int(x[0]), int(x[1])\n"
        "    p, q = float(x[0]), float(x[1])\n"
        f"    return {expression}\n",
        space,
    )
    return space["f"]


def shown(value):
    if isinstance(value, Tensor):
        return str(value.dtype), value.asnumpy().tolist()
    if isinstance(value, (tuple, list)):
        return [shown(v) for v in value]
    return type(value).__name__, repr(value)


def outcome(program, value):
    try:
        return shown(program(Tensor(np.array(value, np.float32))))
    except (ArithmeticError, TypeError, AttributeError, IndexError) as error:
        kind = next(k for k in (ZeroDivisionError, TypeError, AttributeError, IndexError) if isinstance(error, k))
        return kind.__name__, str(error) if kind is ZeroDivisionError else ""


def agree(expression):
    program = written(expression)
    compiled = ms.jit(program)
    for value in ([1.5, -2.0], [3.0, 1.0]):
        assert outcome(compiled, value) == outcome(program, value), (expression, value)


@pytest.mark.parametrize("name", NUMBERS[:6])
def test_one_number(name):
    for template in UNARY:
        agree(template.format(name))


def test_two_numbers():
    """A sample of all pairs and operators; what gives a complex number or a negative power of an int is told apart."""
    pairs = [(l, r) for l, r in itertools.product(NUMBERS, NUMBERS) if {l, r} & set(NUMBERS[:6])]
    every = [f"({l}) {op} ({r})" for (l, r), op in itertools.product(pairs, OPERATORS)]
    every = [e for e in every if not e.endswith(("<< (m)", ">> (m)")) and "**" not in e and " is " not in e]
    seed = int(np.random.default_rng().integers(1 << 31))
    print("seed", seed)
    for expression in np.random.default_rng(seed).choice(every, 120, replace=False):
        agree(str(expression))


def test_a_negative_power_that_only_the_run_knows_is_told():
    program = ms.jit(written("n ** m"))
    assert program(Tensor([3.0, 2.0])) == 9
    with pytest.raises(ValueError, match="an int to a power below 0 is a float in Python"):
        program(Tensor([3.0, -2.0]))


def test_a_division_by_zero_is_caught_as_in_python():
    def program(x):
        count = 0
        for v in x:
            if v > 2:
                count += 1
        try:
            return 1 / count
        except ZeroDivisionError:
            return -1.0

    for value in ([1.0, 1.0], [3.0, 1.0]):
        assert ms.jit(program)(Tensor(value)) == program(Tensor(value))


def test_recursion_and_any_give_numbers():
    def program(x):
        def factorial(n):
            return 1 if n < 1 else n * factorial(n - 1)

        return factorial(int(x[0])), any(v > 2 for v in x), all(v > -3 for v in x), not x.any()

    for value in ([1.0, 1.0], [4.0, -5.0]):
        assert repr(ms.jit(program)(Tensor(value))) == repr(program(Tensor(value)))


class Small:
    k, name = 3, "a"

    def __call__(self, x):
        return x

    def go(self, x):
        return x * self.k


class Large(Small):
    k, z = 4, 1

    def go(self, x):
        return x + self.k


SMALL, LARGE = Small(), Large()
DENSE, OTHER, RELU = nn.Dense(2, 2, weight_init="ones"), nn.Dense(2, 2, weight_init="zeros"), nn.ReLU()


def of_objects(x):
    c = SMALL if x[0] > 2 else LARGE
    return c.k * x, c.go(x), c.name, isinstance(c, Small), getattr(c, "k")


def kind_of_objects(x):
    c = SMALL if x[0] > 2 else LARGE
    return type(c).__name__, isinstance(c, Large), hasattr(c, "z"), getattr(c, "z", 5)


def of_cells(x):
    c = DENSE if x[0] > 2 else OTHER
    return c(x[None]), c.weight * 1, type(c).__name__, hasattr(c, "weight")


def kind_of_cells(x):
    c = DENSE if x[0] > 2 else RELU
    return isinstance(c, nn.Dense), hasattr(c, "weight"), str(c)[:4]


def as_statement(x):
    rows = []
    rows.append(x) if x[0] > -9 else rows.append(-x)
    print("large") if x[0] > 2 else print("small") if x[1] > 0 else None
    return rows[0]


def written_to_a_parameter(x):
    WEIGHT.set_data(WEIGHT + 1) if x[0] > 2 else None
    return WEIGHT * 1


WEIGHT = ms.Parameter(Tensor([1.0, 2.0]), name="weight")
CHOSEN = [kind_of_objects, of_cells, kind_of_cells, as_statement, written_to_a_parameter]


@pytest.mark.parametrize("program", CHOSEN, ids=lambda f: f.__name__)
def test_one_of_several_objects(program, capsys):
    found = []
    for run in (program, ms.jit(program)):
        WEIGHT.set_data(ops.ones(2))
        values = ([1.5, -2.0], [3.0, 1.0], [1.0, 2.0])
        found.append([shown(run(Tensor(np.array(v, np.float32)))) for v in values] + [capsys.readouterr().out])
    assert found[0] == found[1]


def test_attributes_of_one_of_several_objects():
    compiled = ms.jit(of_objects, fullgraph=True)
    for value in ([1.5, -2.0], [3.0, 1.0]):
        x = Tensor(np.array(value, np.float32))
        assert shown(compiled(x)) == shown(of_objects(x))


BESIDE = {
    "max": lambda x, y: max(y, x * 1.5) - x, "min": lambda x, y: min(x * 100, y, x) * x,
    "where": lambda x, y: ms.ops.where(x > 1, x, y), "masked_fill": lambda x, y: x.masked_fill(x < 1, y),
    "loss": lambda x, y: ms.ops.l1_loss(x, y), "dist": lambda x, y: ms.ops.dist(x, y),
    "atleast_1d": lambda x, y: ms.ops.atleast_1d(y), "kron": lambda x, y: ms.ops.kron(x, y),
    "xlogy": lambda x, y: ms.ops.xlogy(x, y), "ldexp": lambda x, y: ms.ops.ldexp(x, y),
    "floats": lambda x, y: ms.ops.smooth_l1_loss(x, y), "power": lambda x, y: ms.ops.float_power(x, y),
}  # fmt: skip


@pytest.mark.parametrize("name", BESIDE)
def test_a_number_beside_tensors_of_each_precision(name):
    program = BESIDE[name]
    for dtype in (ms.float16, ms.bfloat16, ms.float32, ms.float64):
        for first, second in ((0.25, 0.1), (3, 2)):
            x, big = Tensor(0.00371).astype(dtype), Tensor(0.0)
            eager = program(x, second)
            compiled = ms.jit(lambda x, big: program(x, first if big > 1 else second))(x, big)
            assert compiled.dtype == eager.dtype, (dtype, second)
            near = 1e-2 if dtype in (ms.float16, ms.bfloat16) else 1e-6 if eager.dtype != ms.float64 else 1e-12
            wanted = eager.astype(ms.float64).asnumpy()
            assert np.allclose(compiled.astype(ms.float64).asnumpy(), wanted, rtol=near, atol=0), (dtype, second)
