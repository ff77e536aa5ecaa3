"""Chains of ``elif`` and of early returns that are longer than Python nests blocks, and what follows branches that all
raise."""

import numpy as np
import pytest
from both_modes import cell_outcome

import msnb as ms

LONG = 40
ELIF = "".join(f"{'el' * (i > 0)}if {{0}} == {i}: y = x + {i}\n" for i in range(LONG)) + "else: y = x - 1"
EARLY = "y = x\n" + "".join(f"if {{0}} == {i}: return y + {i}, x\ny = y * 1.5\n" for i in range(LONG))
RAISES = (
    "if {0} == 0: y = x * 2\n"
    + "".join(f"elif {{0}} == {i}: raise ValueError('{i}')\n" for i in range(1, LONG))
    + "else: y = x + [1, 2][int(len(x.shape)) + 3]"
)
MATCH = "match {0}:\n" + "".join(f"    case {i}: y = x + {i}\n" for i in range(LONG)) + "    case k: y = x - k"


def outcome(mode, program, test, first):
    body = (program.format(test) + "\nreturn y, x").replace("\n", "\n        ")
    try:
        return cell_outcome(mode, body, [first, 1.0, 1.0])
    except (ValueError, IndexError, KeyError, TypeError) as error:
        return type(error), str(error).split("\n")[0]


@pytest.mark.parametrize("first", [0, 1, LONG - 1, LONG + 3])
@pytest.mark.parametrize("test", ["x[0]", "int(x.shape[0]) + self.k"])
@pytest.mark.parametrize("program", [ELIF, EARLY, RAISES, MATCH], ids=["elif", "early", "raises", "match"])
def test_both_modes_take_the_same_branch(program, test, first):
    test = test.replace("self.k", str(int(first) - 3))
    eager, graph = (outcome(mode, program, test, first) for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE))
    assert len(eager) == len(graph)
    for a, b in zip(eager, graph):
        assert np.array_equal(a, b), (eager, graph)


def test_an_error_behind_a_branch_that_a_tensor_decides_ends_all_that_stands_in_its_else():
    @ms.jit(fullgraph=True)
    def f(x, k):
        if x[0] > 0:
            y = x * 2
        elif k == 1:
            y = x * 3
        elif k == 2:
            raise ValueError("two")
        elif k == 3 and [][k]:
            y = x * 4
        else:
            y = x * 5
        return y

    above, below = ms.Tensor([1.0]), ms.Tensor([-1.0])
    for k, factor, error in ((1, 3, None), (2, None, ValueError), (3, None, IndexError), (4, 5, None)):
        assert f(above, k).asnumpy().tolist() == [2]
        if error is None:
            assert f(below, k).asnumpy().tolist() == [-factor]
        else:
            with pytest.raises(error):
                f(below, k)


ALL_RAISE = "if {0} > 5: raise ValueError('a')\nelif {0} < -2: raise KeyError('b')\nelse: raise TypeError('c')\n"
INSIDE = ALL_RAISE.strip().replace("\n", "\n    ")
DEAD = {
    "at the end": ALL_RAISE + "y = absent",
    "in a branch": "y = x\nif x[1] > 0:\n    y = x * 2\n    " + INSIDE + "\n    y = absent",
    "in a branch that gives nothing": "if x[1] > 1: y = x\nelse:\n    " + INSIDE,
    "in a loop": "y = x[0] * 0\nwhile y < 3:\n    y = y + 1\n    " + INSIDE + "\n    y = absent",
    "in a function": f"def g(v):\n    {INSIDE}\nif x[1] > 1: y = x\nelse: y = g(x)",
}


@pytest.mark.parametrize("first", [7, -4, 1])
@pytest.mark.parametrize("name", DEAD)
def test_nothing_behind_branches_that_all_raise_is_looked_at(name, first):
    eager, graph = (outcome(mode, DEAD[name], "x[0]", first) for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE))
    assert eager == graph
    assert eager[0] in (ValueError, KeyError, TypeError)
