"""A small network and its training, for tests of views of trainings."""

from __future__ import annotations

import numpy as np

import msnb as ms
from msnb import nn, ops
from msnb.notebook.training.gradient_flow import FlowView


class Small(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Dense(3, 5), nn.Dense(5, 2)

    def construct(self, x):
        return self.b(ops.tanh(self.a(x)))


def rows(count=6):
    rng = np.random.default_rng(0)
    return [
        (rng.standard_normal((4, 3)).astype(np.float32), rng.integers(0, 2, 4).astype(np.int32)) for _ in range(count)
    ]


def trained(*callbacks, epochs=2, **options):
    ms.set_seed(1)
    net = Small()
    model = ms.Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1), metrics={"accuracy", "loss"})
    made = [c(net) if isinstance(c, type) and issubclass(c, FlowView) else c for c in callbacks]
    model.fit(epochs, rows(), rows(2), callbacks=made, **options)
    return net, made


def seen():
    view = ms.show.curves()
    trained(view)
    return view
