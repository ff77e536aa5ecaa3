"""A name of MindSpore 2.10 that is not built can be imported; whatever uses it says so."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

import msnb as ms
from msnb.as_mindspore import install, uninstall
from msnb.as_mindspore.module_paths import PATHS
from msnb.as_mindspore.placeholders import NAMES, Placeholder, PlaceholderError


@pytest.fixture(autouse=True)
def alias() -> Iterator[None]:
    install()
    yield
    uninstall()


def test_a_program_imports_more_than_it_uses() -> None:
    from mindspore import boost, nn
    from mindspore.train import Callback, SummaryLandscape

    class Mine(boost.AdaSum):
        depth = 2

    class Logged(Callback):
        def begin(self) -> Any:
            return SummaryLandscape("there")

    assert not isinstance(nn.Dense(1, 1), (nn.LARS, SummaryLandscape)), "white lists of layers are written so"
    with pytest.raises(PlaceholderError, match=r"^mindspore.boost.AdaSum is not part of msnb yet"):
        Mine(1)
    with pytest.raises(PlaceholderError, match=r"SummaryLandscape is not part of msnb yet; ms.show draws trainings"):
        Logged().begin()


@pytest.mark.parametrize(
    ("use", "sentence"),
    [
        (lambda m: m.ops.RNNTLoss()(1.0), r"^mindspore.ops.RNNTLoss is not part of msnb yet"),
        (lambda m: m.profiler.EnvProfiler(), r"^mindspore.profiler.EnvProfiler is not part of msnb yet"),
        (lambda m: m.profiler.HostSystem.CPU, r"^mindspore.profiler.HostSystem is not part of msnb yet"),
        (lambda m: m.ops.auto_generate.GroupedMatmul()(1.0), r"^mindspore.ops.auto_generate.GroupedMatmul is not"),
        (lambda m: m.nn.thor[0], r"^mindspore.nn.thor is not part"),
        (lambda m: m.ops.auto_generate.QuantBatchMatmul(), r"^mindspore.ops.auto_generate.QuantBatchMatmul is not"),
    ],
)
def test_every_use_says_what_is_missing(use: Any, sentence: str) -> None:
    import mindspore
    import mindspore.profiler

    with pytest.raises(PlaceholderError, match=sentence):
        use(mindspore)


def test_programs_that_quantize_can_be_imported() -> None:
    from mindspore.common.dtype import QuantDtype, float_, int_
    from mindspore.rewrite import PatternEngine, Replacement
    from mindspore.rewrite.common.namespace import _subtree_black_list
    from mindspore.train.mind_ir_pb2 import ModelProto

    class Engine(PatternEngine):  # a class that stands for a name
        def apply(self, tree: Any) -> bool:
            return True

    for made in (Engine, Replacement, ModelProto):
        with pytest.raises(PlaceholderError, match="is not part of msnb yet"):
            made()
    assert ms.nn.CellList in _subtree_black_list and (QuantDtype.INT8.value(), QuantDtype["UINT16"].value()) == (7, 115)
    assert str(QuantDtype.INT4) == "INT4" and len(QuantDtype) == 32 and isinstance(ms.int8, int_) and float_ is not int_


def test_names_that_nobody_has_are_errors_at_once() -> None:
    with pytest.raises(ImportError, match="Sumary"):
        from mindspore.train import SumaryRecord  # noqa: F401
    with pytest.raises(ImportError, match=r"did you mean mindspore.hal\?"):
        import mindspore.hall  # noqa: F401
    assert not hasattr(ms, "hal"), "msnb itself has no such names"
    assert not hasattr(ms.train, "SummaryLandscape")


@pytest.mark.parametrize("path", NAMES)
def test_nothing_that_is_built_is_called_missing(path: str) -> None:
    module = importlib.import_module(f"mindspore.{path}".rstrip("."))
    for name in NAMES[path].split():
        assert isinstance(getattr(module, name), Placeholder), f"{path}.{name} is here: take it out of the table"
        assert repr(getattr(module, name)) == f"<mindspore.{path}{'.' if path else ''}{name}, not part of msnb>"


def test_every_path_is_importable() -> None:
    for path in PATHS:
        importlib.import_module(path)


def test_dtypes_by_their_further_names() -> None:
    import mindspore
    from mindspore import dtype as mstype

    assert mindspore.float is mstype.single is ms.float32
    assert mindspore.bool is ms.bool_
    assert mstype.long is mindspore.intp is ms.int64
    assert mindspore.Tensor([1, 2], mindspore.short).dtype == ms.int16
    assert ms.uint8 in mstype.number_type
    assert ms.bool_ not in mstype.number_type


def test_arguments_of_an_optimizer_are_kept(mode: int) -> None:
    from mindspore import nn
    from mindspore.nn.optim.optimizer import Optimizer, opt_init_args_register

    class Plain(Optimizer):
        @opt_init_args_register
        def __init__(self, params: Any, learning_rate: Any = 0.5, scale: float = 2.0) -> None:
            super().__init__(learning_rate, params)

        def construct(self, gradients: Any) -> Any:
            for weight, g in zip(self.parameters, gradients):
                weight.set_data(weight - self.get_lr() * g)
            return True

    net = nn.Dense(2, 1)
    made = Plain(net.trainable_params(), scale=3.0)
    assert made.init_learning_rate == 0.5
    assert made.init_args == {"scale": 3.0}
    assert made.init_params["params"][0] is net.weight


def test_a_transform_is_no_operator_class() -> None:
    """Also when it was loaded by a program before."""
    assert callable(ms.ops.jet) and callable(ms.ops.get_grad)
    for name in ("Jet", "GetGrad", "Vmap", "Grad"):
        assert not hasattr(ms.ops, name), name
    assert ms.ops.TensorAdd()(ms.Tensor([1.0]), ms.Tensor([2.0])).tolist() == [3.0]
