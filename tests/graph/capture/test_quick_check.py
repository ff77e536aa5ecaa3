"""The quick check says yes only where the exact guards do, and stays fast where nothing changed."""

from __future__ import annotations

import enum
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import msnb as ms
from msnb import nn, ops
from msnb.graph.capture.guards import fast_check


class Mode(str, enum.Enum):
    A = "a"


class Odd(str):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


PLAIN = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.0, -0.0, 1.0, 2.5]), st.sampled_from(["", "a"]),
    st.just(Mode.A),
)  # fmt: skip


def same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and (str.__eq__(a, b) is True if isinstance(a, str) else a == b)


@pytest.mark.long
@settings(max_examples=40)
@given(st.lists(PLAIN, min_size=1, max_size=9), st.data())
def test_it_agrees_with_the_exact_guards(values: list[Any], data: Any) -> None:
    """Python reads every value (as text): a new one must compile again, the same one must not."""
    box, row = SimpleNamespace(**{f"v{i}": v for i, v in enumerate(values)}), list(values)

    def f(x: Any) -> Any:
        told = []
        for i in range(len(values)):
            for v in (getattr(box, f"v{i}"), row[i]):
                told.append((type(v).__name__, v, 3 if v else 4, "none" if v is None else v == 1))
        return x, told

    run, x = ms.jit(f), ms.Tensor([1.0])
    assert repr(run(x)[1]) == repr(f(x)[1])
    at = data.draw(st.integers(0, len(values) - 1))
    new = data.draw(st.one_of(PLAIN, st.just(Odd("a"))))
    where = data.draw(st.sampled_from(["attribute", "item"]))
    if where == "attribute":
        setattr(box, f"v{at}", new)
    else:
        row[at] = new
    assert repr(run(x)[1]) == repr(f(x)[1])
    version, exact = run.versions[0], run.versions[0].captured
    passes = isinstance(version.check((x,), {}), tuple)
    assert passes and all(g.holds((x,), {}) for g in exact.guards)
    if same(new, values[at]):
        assert len(run.versions) == 1


class Layer(nn.Cell):
    kind = "plain"

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c, self.d, self.e = 1, "x", True, None, 2.5
        self.w = ms.Parameter(ms.Tensor([1.0]))

    def helper(self, x: Any) -> Any:
        return x * 2

    def construct(self, x: Any) -> Any:
        flags = len(type(self.a).__name__) + len(self.b) * 10 + len(self.kind) * 100 + (0.5 if self.c else 0.25)
        return self.helper(x) * self.w + flags + self.a * self.e + (1000 if self.d is None else 2000)


def change_number(net: Layer) -> None:
    net.a = 12345


def change_to_an_equal_of_another_type(net: Layer) -> None:
    net.a = True  # type: ignore[assignment]


def hide_a_method(net: Layer) -> None:
    net.__dict__["helper"] = lambda x: x * 7


def change_a_class_attribute(net: Layer) -> None:
    type(net).kind = "another kind"


def hide_a_class_attribute(net: Layer) -> None:
    net.kind = "of its own"


def redefine_a_method(net: Layer) -> None:
    type(net).helper = lambda self, x: x * 5  # type: ignore[method-assign]


def make_a_property(net: Layer) -> None:
    type(net).a = property(lambda self: 999999)  # type: ignore[assignment]


def move_an_attribute_to_the_class(net: Layer) -> None:
    value = net.__dict__.pop("b")
    type(net).b = value + "more"  # type: ignore[attr-defined]


def another_class(net: Layer) -> None:
    net.__class__ = type("Other", (type(net),), {"helper": lambda self, x: x * 11})


def another_weight(net: Layer) -> None:
    net.w = ms.Parameter(ms.Tensor([10.0, 20.0]))


CHANGES = [
    change_number, change_to_an_equal_of_another_type, hide_a_method, change_a_class_attribute, hide_a_class_attribute,
    redefine_a_method, make_a_property, move_an_attribute_to_the_class, another_class, another_weight,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda c: c.__name__)
def test_changes_of_a_network_are_seen(change: Any) -> None:
    fresh = type("Fresh", (Layer,), {"__module__": __name__})
    net, x = fresh(), ms.Tensor([3.0])
    run = ms.jit(net)
    run(x)
    change(net)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    want = net(x)
    assert run(x).tolist() == want.tolist()


def test_an_attribute_that_moves_to_the_class_unchanged_compiles_nothing() -> None:
    fresh = type("Fresh", (Layer,), {"__module__": __name__})
    net, x = fresh(), ms.Tensor([3.0])
    run = ms.jit(net)
    run(x)
    fresh.b = net.__dict__.pop("b")  # type: ignore[attr-defined]
    run(x)
    assert len(run.versions) == 1


def test_written_tensors_must_stay_different_objects() -> None:
    pair = [ms.Parameter(ms.Tensor([1.0]), name="p"), ms.Parameter(ms.Tensor([2.0]), name="q")]

    @ms.jit
    def f(x: Any) -> Any:
        ops.assign(pair[0], pair[0] + x)
        return pair[0] * 1, pair[1] * 1

    assert [t.item() for t in f(ms.Tensor([1.0]))] == [2.0, 2.0]
    pair[1] = pair[0]
    assert [t.item() for t in f(ms.Tensor([1.0]))] == [3.0, 3.0]


def test_the_exact_check_is_not_made_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    before = fast_check.quick_check
    monkeypatch.setattr(
        "msnb.graph.capture.guards.exact_check.quick_check",
        lambda guards, inputs, objects, known, exact: before(
            guards, inputs, objects, known, lambda: made.append(1) or exact()
        ),
    )
    net = nn.SequentialCell(nn.Dense(3, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Dense(3, 1))
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Adam(net.trainable_params(), 0.1)).set_train()
    run, x, y = ms.jit(step), ops.ones((4, 3)), ops.ones((4, 1))
    for _ in range(4):
        run(x, y)
    assert not made
    step.optimizer.learning_rate = 0.01
    run(x, y)
    assert not made  # a number that is an input
    net.set_train(False)
    run(x, y)
    assert made and len(run.versions) == 2


def test_many_guards_in_one_container() -> None:
    flags = SimpleNamespace(**{f"f{i}": i % 3 == 0 for i in range(50)})
    words, numbers = [f"w{i}" for i in range(50)], tuple(range(50))

    def f(x: Any) -> Any:
        on = sum(1 for i in range(50) if getattr(flags, f"f{i}"))
        return x * on + len("".join(words[i] for i in range(50))) + sum(1 for i in range(50) if numbers[i] > 10)

    run, x = ms.jit(f), ms.Tensor([1.0])
    assert run(x).tolist() == f(x).tolist()
    for i in (0, 17, 49):
        setattr(flags, f"f{i}", not getattr(flags, f"f{i}"))
        words[i] = words[i] + "longer"
        assert run(x).tolist() == f(x).tolist()
    words.append("one more")
    assert run(x).tolist() == f(x).tolist()
    assert np.isfinite(run(x).asnumpy()).all()
