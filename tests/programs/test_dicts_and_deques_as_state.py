"""Dicts that make their entries, ordered dicts, counters and deques of limited length as state: both modes."""

import collections
import dataclasses
import json

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn, ops

PROGRAMS = []


def program(fn):
    PROGRAMS.append(fn)
    return fn


@dataclasses.dataclass
class Settings:
    rate: float = 0.5
    steps: int = 0


class Holder(nn.Cell):
    def __init__(self, fn):
        super().__init__()
        self.fn, self.n = fn, 0
        self.last = collections.deque(maxlen=2)
        self.counts, self.groups = collections.defaultdict(int), collections.defaultdict(list)
        self.ordered, self.votes = collections.OrderedDict({0: 0, 1: 0}), collections.Counter()
        self.settings = Settings()

    def construct(self, x):
        return self.fn(self, x)


@program
def mean_of_the_last(self, x):
    self.last.append(x.sum())
    return sum(self.last) / len(self.last), list(self.last)


@program
def stack_of_the_last(self, x):
    self.last.append(x)
    return ops.stack(list(self.last)).sum(0), len(self.last)


@program
def more_than_fit(self, x):
    self.last.append(x)
    first = self.last[0] * 1
    self.last.extend([x + 1, x + 2])
    self.last += [x * 3]
    return first, list(self.last)


@program
def only_written(self, x):
    self.last.append(x)
    self.last.appendleft(x * 2)
    return x


@program
def counted_by_key(self, x):
    self.counts[self.n % 2] += 1
    self.n += 1
    return dict(self.counts)


@program
def grouped_by_key(self, x):
    self.groups[self.n % 2].append(x * self.n)
    self.n += 1
    return {key: sum(values) for key, values in self.groups.items()}


@program
def entries_made_by_reading(self, x):
    self.n += 1
    found = self.counts[f"k{self.n}"]
    return found, len(self.counts), "k1" in self.counts, self.counts.get("none"), sorted(self.counts)


@program
def written_and_copied(self, x):
    self.ordered[self.n % 2] += 1
    self.n += 1
    return dict(self.ordered), self.ordered.copy(), list(self.ordered.values())


@program
def only_copied(self, x):
    return dict(self.ordered), self.ordered.copy(), collections.OrderedDict(self.counts), dict(self.votes)


@program
def moved_to_the_end(self, x):
    self.ordered.move_to_end(self.n % 2)
    self.n += 1
    return list(self.ordered.items())


@program
def as_json(self, x):
    return [json.dumps(d) for d in (self.ordered, self.counts, self.votes)]


@program
def counter_of_names(self, x):
    self.votes.update(["a"] * self.n)
    self.n += 1
    return dict(self.votes), self.votes.most_common(1), sum(self.votes.values())


@program
def copied_by_the_library(self, x):
    self.settings.steps += 1
    return dataclasses.asdict(self.settings), x * self.settings.rate


def shown(value):
    if isinstance(value, Tensor):
        return "Tensor", str(value.dtype), value.asnumpy().tolist()
    if isinstance(value, dict):
        return type(value).__name__, [(key, shown(part)) for key, part in value.items()]
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value).__name__, [shown(part) for part in value]
    return type(value).__name__, value


def told(fn, mode):
    ms.set_context(mode=mode)
    cell, found = Holder(fn), []
    for call in range(7):
        cell.ordered[0] += call
        cell.votes["b"] = call
        cell.settings.rate = call * 0.5
        found.append(shown(cell(Tensor(np.array([call, 1.0], np.float32)))))
        found.append(shown([cell.last, cell.counts, cell.groups, cell.ordered, cell.votes, cell.n]))
    return found


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_both_modes(fn):
    before = ms.get_context("mode")
    try:
        eager = told(fn, ms.PYNATIVE_MODE)
        assert told(fn, ms.GRAPH_MODE) == eager
    finally:
        ms.set_context(mode=before)
