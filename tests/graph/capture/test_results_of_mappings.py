"""Results of compiled functions that are dicts of a program's own class, as those of model libraries are."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass, fields
from typing import Any

import msnb as ms
from msnb import nn


class Output(OrderedDict[str, Any]):
    """Fields are entries as well; what would part the two is refused."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            if getattr(self, field.name) is not None:
                self[field.name] = getattr(self, field.name)

    def update(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("no update")

    def copy(self) -> Any:
        raise TypeError("no copy")

    def __getitem__(self, key: Any) -> Any:
        return dict(self.items())[key] if isinstance(key, str) else tuple(self.values())[key]

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        super().__setattr__(key, value)


@dataclass
class Hidden(Output):
    last: Any = None
    layers: Any = None
    unused: Any = None


class Inner(nn.Cell):
    def construct(self, x: Any) -> Any:
        return Hidden(last=x * 2, layers=(x, x + 1))


class Outer(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()
        self.seen: OrderedDict[str, int] = OrderedDict(a=1)

    def construct(self, x: Any) -> Any:
        found = self.inner(x)
        self.seen["b"] = self.seen["a"] + 1
        counts: defaultdict[str, int] = defaultdict(int, n=3)
        counts["m"] += 1
        return Hidden(last=found[0] + found.last, layers=found["layers"]), counts


def test_a_result_of_a_class_of_its_own_comes_back_whole(mode: int) -> None:
    net = Outer()
    for n in (1.0, 2.0, 3.0):
        found, counts = net(ms.Tensor([n]))
        assert type(found) is Hidden and list(found) == ["last", "layers"]
        assert found.last is found[0] is found["last"]
        assert (found.last.item(), found.layers[1].item(), found.unused) == (4 * n, n + 1, None)
        assert type(counts) is defaultdict and counts == {"n": 3, "m": 1} and counts["none"] == 0
    assert list(net.seen.items()) == [("a", 1), ("b", 2)]
