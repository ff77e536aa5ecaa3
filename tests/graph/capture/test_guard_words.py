"""What a guard says of the value it stands for."""

import math

import numpy as np

import msnb as ms


def test_a_module_is_told_by_name_not_by_its_place_on_disk():
    @ms.jit
    def scaled(x):
        return x * np.pi + math.pi

    scaled(ms.Tensor([1.0]))
    told = ms.explain(scaled)
    assert "np is module numpy" in told
    assert "site-packages" not in told
