"""An operator from another package: found by name, imported when used, and then an operator like any other."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest

import msnb as ms
from msnb.base import plugins
from msnb.base.errors import DTypeError
from msnb.ops.definition.record import REGISTRY, find
from tests.levels import LEVELS, alike

LATITUDES = np.array([[0.5, -1.25, 1.0], [0.0, 0.25, -0.75]])


def test_it_is_found_without_being_imported(install: Callable[..., None]) -> None:
    install("op_example")
    listed = plugins.found("msnb.ops")
    assert [(p.name, p.package, p.loaded, p.error) for p in listed] == [("mercator", "op_example 1.5", False, "")]
    assert "msnb_op_example" not in sys.modules
    assert ms.ops.mercator is find("mercator")
    assert listed[0].loaded and "mercator" in REGISTRY


def test_a_program_text_that_names_it_loads_it(install: Callable[..., None]) -> None:
    install("op_example")
    assert find("mercator").attrs == {"radius": 1.0}


def test_value_and_gradient(install: Callable[..., None], mode: int) -> None:
    install("op_example")

    def height(x: ms.Tensor) -> ms.Tensor:
        return ms.ops.mercator(x, radius=2.0).sum()

    x = ms.Tensor(LATITUDES)
    np.testing.assert_allclose(ms.ops.mercator(x).asnumpy(), np.arcsinh(np.tan(LATITUDES)), rtol=1e-15)
    np.testing.assert_allclose(ms.grad(height)(x).asnumpy(), 2 / np.cos(LATITUDES), rtol=1e-12)
    second = ms.grad(lambda v: ms.grad(height)(v).sum())(x)
    np.testing.assert_allclose(second.asnumpy(), 2 * np.sin(LATITUDES) / np.cos(LATITUDES) ** 2, rtol=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_both_modes_give_the_same_bits(install: Callable[..., None], level: str) -> None:
    """The same bits, or equal to rounding where a group of operations is machine code."""
    install("op_example")
    ms.set_context(jit_level=level)

    def program(x: ms.Tensor) -> ms.Tensor:
        return ms.ops.mercator(x * 0.5, radius=3.0) + 1

    x = ms.Tensor(LATITUDES.astype(np.float32))
    alike(ms.jit(program)(x).asnumpy(), program(x).asnumpy())


def test_its_errors_teach(install: Callable[..., None]) -> None:
    install("op_example")
    with pytest.raises(DTypeError, match=r"mercator does not take complex64 tensors[\s\S]*x: c64\[1\]"):
        ms.ops.mercator(ms.Tensor(np.complex64([1])))
    with pytest.raises(TypeError, match="mercator has no attribute 'zoom'; it takes radius"):
        ms.ops.mercator(ms.Tensor([1.0]), zoom=2)


def test_the_record_is_complete(install: Callable[..., None]) -> None:
    install("op_example")
    record = find("mercator")
    for field in ("doc", "grad", "scalar", "axes", "work", "examples", "wrong", "traits", "body", "infer", "attrs"):
        assert getattr(record, field), field


def test_names_that_nobody_offers(install: Callable[..., None]) -> None:
    with pytest.raises(AttributeError, match="module 'msnb.ops' has no attribute 'mercator'"):
        ms.ops.mercator
    with pytest.raises(KeyError):
        find("mercator")
    assert not hasattr(ms.ops, "__wrapped__")


def test_a_broken_plug_in_is_named_once_and_does_no_harm(install: Callable[..., None], notices: list[str]) -> None:
    install("broken_plug", "import not_there_at_all", "[msnb.ops]\nspoiled = broken_plug:spoiled\n")
    for _ in range(2):
        with pytest.raises(
            AttributeError, match=r"'spoiled' .the plug-in of broken_plug 1.5 is broken.*not_there_at_all"
        ):
            ms.ops.spoiled
    assert notices == [
        "the plug-in 'spoiled' (msnb.ops) of broken_plug 1.5 is left out: "
        "ModuleNotFoundError: No module named 'not_there_at_all'"
    ]
    assert (ms.Tensor([1.0]) + 1).tolist() == [2.0]


def test_a_plug_in_cannot_take_the_name_of_an_op(install: Callable[..., None], notices: list[str]) -> None:
    code = "from msnb.ops.definition.record import REGISTRY, register\nadd = register(REGISTRY['add'])\n"
    install("greedy_plug", code, "[msnb.ops]\nadd2 = greedy_plug:add\n")
    before = REGISTRY["add"]
    assert not hasattr(ms.ops, "add2")
    assert REGISTRY["add"] is before and "an op called 'add' exists already" in notices[0]


def test_two_packages_with_the_same_name(install: Callable[..., None], notices: list[str]) -> None:
    install("one_plug", "def twice(x): return x + x", "[msnb.ops]\ntwice = one_plug:twice\n")
    install("two_plug", "def twice(x): return 2 * x", "[msnb.ops]\ntwice = two_plug:twice\n")
    assert ms.ops.twice(ms.Tensor([2.0])).tolist() == [4.0]
    assert notices == ["the plug-in 'twice' (msnb.ops) of two_plug 1.5 is left out: one_plug 1.5 offers the same name"]


def test_load_imports_everything_and_reports(install: Callable[..., None], notices: list[str]) -> None:
    install("op_example")
    install("broken_plug", "1 / 0", "[msnb.devices]\nBroken = broken_plug:make\n")
    assert {p.name: p.error for p in plugins.load()} == {
        "mercator": "",
        "Broken": "ZeroDivisionError: division by zero",
    }
    assert len(notices) == 1
    with pytest.raises(ValueError, match="no group 'msnb.magic' of plug-ins; legal: msnb.ops"):
        plugins.found("msnb.magic")
