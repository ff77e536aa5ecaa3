"""What a program reads of its classes, and what classes make: each call of a compiled program sees it anew."""

import dataclasses
import functools
import operator

import pytest

import msnb as ms
from msnb import Tensor


class Base:
    scale = 2.0

    def who(self):
        return self.__class__.scale


class One(Base):
    scale = 3.0


class Two(Base):
    scale = 4.0


@dataclasses.dataclass
class Options:
    a: float = 1.0
    rows: list = dataclasses.field(default_factory=list)
    seed: dataclasses.InitVar[int] = 1

    def __post_init__(self, seed):
        self.b = self.a * Base.scale + seed


class Weight(float):
    times = 2.0

    def scaled(self):
        return self * self.times + self.times**self


class Held:
    """What changes between calls."""

    def __init__(self):
        Base.scale, One.scale, Two.scale, Weight.times = 2.0, 3.0, 4.0, 2.0
        self.one, self.options, self.weight = One(), Options(), Weight(1.5)
        self.root, self.kept = type("Root", (), {}), []


def base(held, i):
    Base.scale = i + 5.0


def one(held, i):
    One.scale = i * 3.0


CASES = {
    "class of an object": (one, lambda h: type(h.one).scale + h.one.__class__().who()),
    "what comes after init": (base, lambda h: Options(2.0, seed=3).b),
    "a changed copy": (base, lambda h: dataclasses.replace(h.options, a=3.0, seed=2).b),
    "an object of another class": (lambda h, i: setattr(h.one, "__class__", (One, Two)[i % 2]), lambda h: h.one.who()),
    "a derived number": (lambda h, i: setattr(h, "weight", Weight(i)), lambda h: h.weight.scaled()),
    "an attribute of its class": (lambda h, i: setattr(Weight, "times", i + 0.5), lambda h: Weight(2.0).scaled()),
    "sorted by an attribute": (one, lambda h: sorted([One, Two], key=operator.attrgetter("scale"))[0].scale),
    "an attribute of each": (one, lambda h: sum(map(operator.attrgetter("scale"), (One, Two)))),
    "a method of each": (one, lambda h: sum(map(operator.methodcaller("who"), (h.one, Two())))),
    "an item of each": (lambda h, i: h.options.rows.append((i, 2)),
        lambda h: sum(map(operator.itemgetter(0), h.options.rows)) + 1),
    "reduced": (one, lambda h: functools.reduce(lambda a, kind: a + kind.scale, (One, Two), 0.0)),
    "classes derived": (
        lambda h, i: h.kept.append(type(f"Made{i}", (h.root,), {})), lambda h: len(h.root.__subclasses__()) + 1),
}  # fmt: skip


@pytest.mark.parametrize("way", ("plain", "grad"))
@pytest.mark.parametrize("case", CASES)
def test_each_call_sees_the_class(case, way):
    change, read = CASES[case]
    found = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        held = Held()

        def program(x, held=held):
            return x * read(held)

        called = program if way == "plain" else lambda x: ms.grad(lambda x: program(x).sum())(x)
        called = ms.jit(called) if mode == ms.GRAPH_MODE else called
        found.append([])
        for i in range(4):
            if i:
                change(held, i)
            found[-1].append(called(Tensor([1.0, 2.0])).tolist())
    assert found[0] == found[1] and any(value != found[0][0] for value in found[0])


def test_replace_of_no_dataclass_is_refused():
    with pytest.raises(TypeError, match="dataclass"):
        ms.jit(lambda x: x * dataclasses.replace(3, a=1))(Tensor([1.0]))
