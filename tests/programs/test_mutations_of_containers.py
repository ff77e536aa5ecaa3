"""Every method that changes a list, dict, set or deque, on what a program holds outside: what it gives, what a later
read of it gives, and what is left, call after call and in both modes."""

import collections

import pytest

import msnb as ms
from msnb import Tensor


class Rows(list):
    pass


class Doubled(list):
    """Its own methods stand before those of ``list``."""

    writes = 0

    def append(self, value):
        super().append(value * 2)

    def __setitem__(self, key, value):
        self.writes += 1
        super().__setitem__(key, value)

    def __delitem__(self, key):
        self.writes += 10
        super().__delitem__(key)


class Table(dict):
    pass


class Logged(dict):
    def __init__(self, *args):
        super().__init__(*args)
        self.log = []

    def __setitem__(self, key, value):
        self.log.append(key)
        super().__setitem__(key, value)

    def __delitem__(self, key):
        self.log.append(f"-{key}")
        super().__delitem__(key)

    def __getitem__(self, key):
        self.log.append("?")
        return super().__getitem__(key)

    def update(self, *args, **more):
        super().update(*args, **more)
        super().update(z=1)


class Twice(set):
    def add(self, value):
        super().add(value * 2)


class Computed(dict):
    def __missing__(self, key):
        self[key] = key * 2
        return self[key]


class Box:
    def __init__(self):
        self.held, self.count = {}, 0

    def __setitem__(self, key, value):
        self.count += 1
        self.held[key] = value

    def __delitem__(self, key):
        self.count += 10
        del self.held[key]


class Held:
    def __init__(self):
        self.k = 1
        self.l, self.other = [3, 1, 2], [9]
        self.d, self.t = {"a": 1, "b": 2}, Table(a=1)
        self.s, self.more = {1, 2, 3}, {2, 9}
        self.q, self.short = collections.deque([1, 2, 3]), collections.deque([1, 2, 3], maxlen=4)
        self.o = collections.OrderedDict(a=1, b=2, c=3)
        self.lists, self.ints = collections.defaultdict(list, a=[1]), collections.defaultdict(int)
        self.c, self.r, self.m = collections.Counter("aab"), Rows([1, 2]), Computed(a=1)
        self.deep = {"x": [1, {"y": [2]}]}
        self.doubled, self.logged, self.twice, self.box = Doubled([1, 2]), Logged(), Twice([1]), Box()


STATEMENTS = """
h.l.append(h.k) | h.l.extend([h.k, 2]) | h.l.extend(h.other) | h.l.insert(1, h.k) | h.l.remove(1) if 1 in h.l else 0
h.l.pop()  if h.l else 0 | h.l.pop(0) if h.l else 0 | h.l.clear() | h.l.sort() | h.l.sort(key=lambda v: -v)
h.l.reverse() | h.l.__setitem__(0, h.k) | h.l.__iadd__([1]) | h.l.copy().append(1) | h.l[0] += h.k
h.l[-1:] = [4, 5] | del h.l[:1] | h.l[::2] = [0] * len(h.l[::2]) | h.l[1:1] = [h.k] | h.l[:] = [v + 1 for v in h.l]
h.l, h.other = h.other, h.l | h.l = [*h.l, 2] | h.l = sorted(h.l) | h.x = h.l; h.x.append(7)
d = h.d; d.update(z=h.k) | h.d.update({"a": h.k}) | h.d.update([("q", h.k)]) | h.d.pop("a", None)
h.d.popitem() if h.d else 0 | h.d.setdefault("z", []).append(h.k) | h.d.setdefault("a", 5) | h.d.clear()
h.d["a"] = h.d.get("a", 0) + 1 | h.d.pop("b", 0) | h.d = {**h.d, "k": h.k} | h.t["w"] = h.k | h.s.add(h.k + 5)
h.s.discard(1) | h.s.update([7, h.k]) | h.s.update(h.more, [1]) | h.s.difference_update(h.more)
h.s.intersection_update(h.more) | h.s.symmetric_difference_update(h.more) | h.s.clear() | h.q.append(h.k)
h.q.appendleft(h.k) | h.q.extend([1, h.k]) | h.q.extendleft([1, h.k]) | h.q.pop() if h.q else 0
h.q.popleft() if h.q else 0 | h.q.rotate(1) | h.q.rotate(-1) | h.q.insert(1, h.k) | h.q.remove(2) if 2 in h.q else 0
h.q.reverse() | h.q.clear() | h.q[0] = h.k | h.short.append(h.k) | h.short.appendleft(h.k) | h.short.extend([7, 8])
h.short.rotate(1) | h.short += [5] | h.q = collections.deque(h.q, maxlen=2)
h.o.move_to_end("a") if "a" in h.o else 0 | h.o.popitem(last=False) if h.o else 0 | h.o.update(z=h.k)
h.o["a"] = h.o.pop("a", 0) | h.lists["a"].append(h.k) | h.lists["n"].append(h.k) | h.lists[h.k].append(1)
h.lists.get("zz") | h.ints["a"] += 1 | h.ints[h.k] += h.k | h.c.update("ab") | h.c.subtract("a") | h.c["new"] += 1
h.c.pop("b", 0) | h.r.append(h.k) | h.r *= 2 | h.r += [3] | h.r.insert(0, h.k) | h.t.update(q=h.k) | h.m["zz"]
h.deep["x"][1]["y"].append(h.k) | h.deep["x"].append({"w": h.k}) | h.deep["x"][1].update(t=h.k)
h.deep["x"][0] += 1 | h.doubled.append(h.k) | h.doubled[0] = h.k | h.doubled.append(5); del h.doubled[0]
h.doubled += [h.k] | h.logged["k"] = h.k; del h.logged["k"]; h.logged["q"] = 1; h.logged["q"]
h.logged.update(a=h.k) | h.twice.add(h.k) | h.box["k"] = h.k; h.box["z"] = 1; del h.box["z"]
[h.l.pop() for v in list(h.l)] | [h.d.update({v: 5}) for v in list(h.d)]
"""
PROGRAMS = [part.strip() for line in STATEMENTS.splitlines() for part in line.split(" | ") if part.strip()]
READ = (
    "(len(h.l), len(h.d), sorted(h.s), list(h.q), list(h.short), list(h.o), dict(h.c), list(h.r), sum(h.r), dict(h.t), "
    "list(h.doubled), sorted(h.twice), len(h.logged), h.box.count)"
)


def written(statement, read):
    space = {"collections": collections}
    last = statement.rpartition("; ")
    gives = f"r = {last[2]}" if not any(word in last[2] for word in ("= ", "del ")) else last[2]
    body = "; ".join(part for part in (last[0], gives) if part)
    exec(f"def f(x, h):\n    r = 0\n    {body}\n    return r, {read}\n", space)
    return space["f"]


def left(h):
    shown = {name: list(v.items()) if isinstance(v, dict) else v for name, v in vars(h).items()}
    box, logged = h.box, h.logged
    plain = {name: sorted(v) if isinstance(v, set) else v for name, v in sorted(shown.items()) if name != "box"}
    return repr((plain, h.doubled.writes, logged.log, box.held, box.count))


@pytest.mark.parametrize("read", ["0", READ], ids=["alone", "read"])
@pytest.mark.parametrize("statement", PROGRAMS)
def test_both_modes(statement, read):
    program, found = written(statement, read), []
    for run in (program, ms.jit(program)):
        held, told = Held(), []
        for held.k in (1, 2, 2, 3):
            result = run(Tensor(1.0), held)
            told.append((repr(result), left(held)))
        found.append(told)
    assert found[0] == found[1]
