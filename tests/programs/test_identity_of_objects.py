"""One object stays one object: what a program puts into a second place, in a branch or under a transform, is the same
list, dict, dataclass or tensor there, and later writes through either place are seen in both."""

import dataclasses
from collections import OrderedDict, deque

import numpy as np
import pytest

import msnb as ms
from msnb import Parameter, Tensor, nn, ops


@dataclasses.dataclass
class Setting:
    a: int = 1


class Holder:
    def __init__(self):
        self.items, self.seen, self.cache = [1, 2], [], {}
        self.other = self.last = None
        self.line, self.order, self.spare = deque([1, 2, 3]), OrderedDict(a=1, b=2), 7
        self.setting, self.table, self.tensor = Setting(), {"l": self.items}, Tensor([1.0, 2.0])


def alias_of_a_list(s, x):
    s.other = s.items
    s.other.append(3)
    return x * len(s.items)


def object_in_a_list(s, x):
    s.seen.append(s.setting)
    s.setting.a += 1
    return x * s.seen[0].a


def list_of_a_dict_in_two_places(s, x):
    s.table["l"].append(5)
    s.table["m"] = s.table["l"]
    s.table["m"].append(6)
    return x * len(s.items)


def list_in_a_list(s, x):
    s.seen.append(s.items)
    s.seen[-1].append(1)
    return x * len(s.items)


def default_of_a_dict(s, x):
    s.cache.setdefault("a", {}).setdefault("b", []).append(x)
    return x * len(s.cache["a"]["b"])


def swapped(s, x):
    s.table["l"], s.other = s.seen, s.table["l"]
    s.other.append(1)
    return x * len(s.items)


def object_in_a_dict(s, x):
    s.cache["c"] = s.setting
    s.cache["c"].a += 1
    return x * s.setting.a


def tensor_in_two_places(s, x):
    s.other, s.last = s.tensor, s.tensor
    return x * s.other


def new_list_in_two_places(s, x):
    made = []
    s.other, s.cache["l"] = made, made
    made.append(1)
    s.other.append(x)
    return x * len(s.cache["l"])


def order_of_keys(s, x):
    s.order.move_to_end(next(iter(s.order)))
    s.table["l"] = s.table.pop("l")
    return x * s.order["a"]


def bounded_line(s, x):
    s.line = deque(s.line, maxlen=2)
    return x * s.line[-1]


def doubled_list(s, x):
    s.items *= 2
    return x * len(s.items)


def deleted_attribute(s, x):
    if hasattr(s, "spare"):
        del s.spare
    return x * s.setting.a


PROGRAMS = (
    alias_of_a_list, object_in_a_list, list_of_a_dict_in_two_places, list_in_a_list, default_of_a_dict, swapped,
    object_in_a_dict, tensor_in_two_places, new_list_in_two_places, order_of_keys,
    bounded_line, doubled_list, deleted_attribute,
)  # fmt: skip


def chosen(program, s):
    return lambda x: program(s, x).sum() if x.sum() > 0 else program(s, x).sum() * 2


WAYS = {
    "jit": lambda program, s: ms.jit(lambda x: program(s, x)),
    "jit(grad)": lambda program, s: ms.jit(ms.grad(lambda x: program(s, x).sum())),
    "grad(jit)": lambda program, s: ms.grad(ms.jit(lambda x: program(s, x).sum())),
    "vmap": lambda program, s: ms.jit(lambda x: ms.vmap(lambda y: program(s, x) * y)(x)),
    "jvp": lambda program, s: ms.jit(lambda x: ms.jvp(lambda v: program(s, v).sum(), (x,), (x,))[0]),
    "branch": lambda program, s: ms.jit(chosen(program, s)),
}


def same_places(s):
    places = [s.items, s.seen, s.other, s.last, s.setting, s.tensor, *s.table.values(), *s.cache.values(), *s.seen]
    places = [p for p in places if p is not None]
    kept = s.setting.a, len(s.items), len(s.seen), list(s.order), repr(s.line), hasattr(s, "spare")
    return [[i for i, q in enumerate(places) if q is p] for p in places], kept


def left(program, make):
    s = Holder()
    run, found = make(program, s), []
    for i in range(3):
        run(Tensor(np.ones(2, np.float32) + i))
        found.append(same_places(s))
    return found


# of what two branches make, reorder or delete a tensor decides which is meant: merged place by place, or refused
ALONE = (new_list_in_two_places, order_of_keys, bounded_line, deleted_attribute)
PAIRS = [(p, way) for p in PROGRAMS for way in WAYS if way != "branch" or p not in ALONE]


@pytest.mark.parametrize(("program", "way"), PAIRS)
def test_one_object_stays_one(program, way):
    assert left(program, WAYS[way]) == left(program, lambda program, s: lambda x: program(s, x))


class Lazy(nn.Cell):
    def construct(self, x):
        if not hasattr(self, "scale"):
            self.scale = Parameter(ops.ones(x.shape[1]) * 2, name="scale")
        return (x * self.scale).sum()


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_parameter_made_under_a_gradient(mode):
    ms.set_context(mode=mode)
    net = Lazy()
    for _ in range(2):
        value, slope = ms.value_and_grad(net)(Tensor(np.ones((1, 3), np.float32)))
        assert (float(value), slope.tolist()) == (6.0, [[2.0, 2.0, 2.0]])
    assert isinstance(net.scale, Parameter) and net.scale.asnumpy().tolist() == [2.0, 2.0, 2.0]
